package api

import (
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility/replay"
)

// These numbers bound the orders of a replay.
const (
	replayOrders    = 1_000
	maxReplayOrders = 10_000
)

type replayView struct {
	replay.Report
	// SVG is the histogram as an image.
	SVG string `json:"svg"`
}

// replay tells what a coupon would have changed in the last orders, as if it had been switched on, valid all the
// time and given without a code. Customers keep what they had, unless the coupon is cheaper. One replay runs at a
// time.
func (a *API) replay(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("orders")
	orders := q.number("orders", replayOrders, maxReplayOrders)
	if err := q.faults.Err(); err != nil {
		return err
	}
	c, err := a.Service.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	c.State, c.StartsAt, c.ExpiresAt = coupon.Active, time.Time{}, time.Time{}
	select {
	case a.replays <- struct{}{}:
		defer func() { <-a.replays }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	report, err := a.Service.Replay(r.Context(), orders, slices.Values([]*coupon.Coupon{&c}), replay.Options{
		Workers: runtime.GOMAXPROCS(0), Keep: true,
	})
	if err != nil {
		return err
	}
	var svg strings.Builder
	if err := report.WriteSVG(&svg); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, replayView{report, svg.String()})
	return nil
}
