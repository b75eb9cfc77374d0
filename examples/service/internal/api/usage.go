package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

type redemptionPage struct {
	Items []redemptionView `json:"items"`
	Total int64            `json:"total"`
	// AtLeast is whether there are more than Total: the store stopped counting.
	AtLeast bool   `json:"atLeast"`
	Next    string `json:"next"`
}

// redemptionView is a redemption as administrators see it.
type redemptionView struct {
	ID            string            `json:"id"`
	CustomerID    string            `json:"customerId"`
	CustomerEmail string            `json:"customerEmail"`
	State         redemption.State  `json:"state"`
	Origin        redemption.Origin `json:"origin"`
	OrderID       string            `json:"orderId,omitempty"`
	SessionID     string            `json:"sessionId,omitempty"`
	Points        int64             `json:"points"`
	// AwaitingPayment and OverLimit are what somebody may have to look at.
	AwaitingPayment bool      `json:"awaitingPayment"`
	OverLimit       bool      `json:"overLimit"`
	CreatedAt       time.Time `json:"createdAt"`
	CompletedAt     time.Time `json:"completedAt,omitzero"`
	ReleasedAt      time.Time `json:"releasedAt,omitzero"`
}

func (a *API) redemptions(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("after", "pageSize")
	list := store.UseList{
		CouponID: r.PathValue("id"), After: q.text("after"),
		PageSize: q.number("pageSize", store.DefaultPageSize, store.MaxPageSize),
	}
	if err := q.faults.Err(); err != nil {
		return err
	}
	page, err := a.redemptionsOf(r.Context(), list)
	if err != nil {
		return err
	}
	customers := make([]string, len(page.Items))
	for i, item := range page.Items {
		customers[i] = item.CustomerID
	}
	emails, err := a.Shop.Emails(r.Context(), customers)
	if err != nil {
		return err
	}
	view := redemptionPage{Items: make([]redemptionView, len(page.Items)), Total: page.Total, AtLeast: page.AtLeast, Next: page.Next}
	for i, item := range page.Items {
		var found store.Settled
		if item.OrderID != "" {
			if found, err = a.Orders.Order(r.Context(), store.OrderKey{ID: item.OrderID}); err != nil {
				return err
			}
		}
		view.Items[i] = redemptionView{
			ID: item.ID, CustomerID: item.CustomerID, CustomerEmail: emails[item.CustomerID],
			State: item.State, Origin: item.Origin, OrderID: item.OrderID, SessionID: found.Order.SessionID, Points: item.Points,
			AwaitingPayment: found.Order.State == redemption.OrderAwaitingPayment, OverLimit: item.OverLimit,
			CreatedAt: item.CreatedAt, CompletedAt: item.CompletedAt, ReleasedAt: item.ReleasedAt,
		}
	}
	writeJSON(w, http.StatusOK, view)
	return nil
}

// redemptionsOf returns a page of a coupon's redemptions. Those of one that was deleted
// are kept; where there are none, there has to be the coupon.
func (a *API) redemptionsOf(ctx context.Context, list store.UseList) (store.UsePage, error) {
	page, err := a.Service.Uses(ctx, list)
	if err == nil && page.Total == 0 {
		_, err = a.Service.Get(ctx, list.CouponID)
	}
	return page, err
}

type usageView struct {
	Days []usageDay `json:"days"`
	// Complete is false when there were too many redemptions to count them all; the
	// oldest are missing then.
	Complete bool `json:"complete"`
}

// usageDay counts one day in UTC: redemptions completed on it, and reservations
// made on it that are still live.
type usageDay struct {
	Date      string `json:"date"`
	Completed int    `json:"completed"`
	Reserved  int    `json:"reserved"`
}

const (
	usageDays = 30
	// maxUsagePages bounds how many pages of redemptions one chart reads.
	maxUsagePages = 100
)

// usage counts the last days, also those on which nothing happened.
func (a *API) usage(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	q.only("days")
	days := q.number("days", usageDays, 366)
	if err := q.faults.Err(); err != nil {
		return err
	}
	today := a.Now().UTC().Truncate(24 * time.Hour)
	view := usageView{Days: make([]usageDay, days)}
	shown := map[string]*usageDay{}
	for i := range view.Days {
		view.Days[i].Date = today.AddDate(0, 0, i+1-days).Format(time.DateOnly)
		shown[view.Days[i].Date] = &view.Days[i]
	}
	count := func(at time.Time) *usageDay {
		return cmp.Or(shown[at.UTC().Format(time.DateOnly)], new(usageDay))
	}
	list := store.UseList{CouponID: r.PathValue("id"), PageSize: store.MaxPageSize}
	for range maxUsagePages {
		page, err := a.redemptionsOf(r.Context(), list)
		if err != nil {
			return err
		}
		for _, item := range page.Items {
			switch item.State {
			case redemption.Completed:
				count(item.CompletedAt).Completed++
			case redemption.Reserved:
				count(item.CreatedAt).Reserved++
			case redemption.Released:
			}
		}
		if list.After = page.Next; list.After == "" {
			break
		}
	}
	view.Complete = list.After == ""
	writeJSON(w, http.StatusOK, view)
	return nil
}
