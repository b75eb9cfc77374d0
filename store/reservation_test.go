package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func reservation(tb testing.TB) store.Reservation {
	tb.Helper()
	o := order(tb)
	return store.Reservation{
		Redemption: redemption.Redemption{
			ID: o.ReservationID, Key: o.Key, CouponID: o.CouponID, CustomerID: o.CustomerID, State: redemption.Reserved,
			Origin: redemption.FromCheckout, OrderID: o.ID, Deadline: minute(30), CreatedAt: minute(0), UpdatedAt: minute(0),
		},
		CouponRevision: 3, Order: &o,
	}
}

func TestReservationValidate(t *testing.T) {
	t.Parallel()
	byPoints := func(r *store.Reservation) {
		r.Order, r.Redemption.OrderID = nil, ""
		r.Redemption.Origin, r.Redemption.Points, r.Redemption.PointsState = redemption.FromPoints, 250, redemption.PointsPending
	}
	for name, test := range map[string]struct {
		change func(*store.Reservation)
		fields []string // that are at fault
	}{
		"a checkout": {func(*store.Reservation) {}, nil},
		"by points":  {byPoints, nil},
		"by points that were debited": {func(r *store.Reservation) {
			byPoints(r)
			r.Redemption.PointsState = redemption.PointsDebited
		}, []string{"pointsState"}},
		"by points that are due back": {func(r *store.Reservation) {
			byPoints(r)
			r.Redemption.PointsState = redemption.PointsRefundDue
		}, []string{"pointsState"}},
		"a checkout alone":          {func(r *store.Reservation) { r.Order = nil }, []string{"order"}},
		"over the limit":            {func(r *store.Reservation) { r.Redemption.OverLimit = true }, []string{"state"}},
		"waiting for its payment":   {func(r *store.Reservation) { r.Redemption.AwaitingPayment = true }, []string{"state"}},
		"leaving before it began":   {func(r *store.Reservation) { r.Redemption.LeavingUntil = minute(9) }, []string{"state"}},
		"completed before it began": {func(r *store.Reservation) { r.Redemption.CompletedAt = minute(1) }, []string{"state"}},
		"released before it began":  {func(r *store.Reservation) { r.Redemption.ReleasedAt = minute(1) }, []string{"state"}},
		"another order's":           {func(r *store.Reservation) { r.Redemption.OrderID = "o2" }, []string{"order"}},
		"another reservation's":     {func(r *store.Reservation) { r.Order.ReservationID = "rsv_2" }, []string{"order"}},
		"another coupon's order":    {func(r *store.Reservation) { r.Order.CouponID = "cpn_2" }, []string{"order"}},
		"another customer's order":  {func(r *store.Reservation) { r.Order.CustomerID = "bob" }, []string{"order"}},
		"an order of another key":   {func(r *store.Reservation) { r.Order.Key = "k2" }, []string{"order"}},
		"an order of no state":      {func(r *store.Reservation) { r.Order.State = 0 }, []string{"order.state"}},
		"record and order at fault": {func(r *store.Reservation) {
			r.Redemption.ID, r.Order.DiscountAmount = "", r.Order.DiscountAmount+1
		}, []string{"id", "order.discountAmount", "order"}},
		"completed": {func(r *store.Reservation) {
			r.Redemption.State, r.Redemption.SessionID = redemption.Completed, "cs_1"
			r.Redemption.CompletedAt, r.Redemption.Deadline = minute(1), r.Redemption.CompletedAt
		}, []string{"state"}},
		"released": {func(r *store.Reservation) {
			r.Redemption.State, r.Redemption.ReleasedAt = redemption.Released, minute(1)
			r.Redemption.Deadline = r.Redemption.CompletedAt
		}, []string{"state"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reservation(t)
			test.change(&r)
			err := r.Validate()
			if test.fields == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, pricing.ErrInvalid)
			var faults *pricing.ValidationError
			require.ErrorAs(t, err, &faults)
			var fields []string
			for _, f := range faults.Fields {
				fields = append(fields, f.Field)
			}
			if diff := cmp.Diff(test.fields, fields); diff != "" {
				t.Errorf("fields at fault (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTakeOverValidate(t *testing.T) {
	t.Parallel()
	sound := store.TakeOver{ReservationID: "rsv_1", Order: order(t), At: minute(1)}
	require.NoError(t, sound.Validate())
	faulty := sound
	faulty.At, faulty.Order.Key, faulty.Order.State = time.Time{}, "", 0
	require.ErrorIs(t, faulty.Validate(), pricing.ErrInvalid)
	require.Equal(t, []string{"order.key required", "order.state unknown", "at required"}, faultsIn(faulty.Validate()))
}

func TestAttachmentValidate(t *testing.T) {
	t.Parallel()
	sound := store.Attachment{
		OrderID: "ord_1", SessionID: strings.Repeat("s", redemption.MaxIDLength),
		SessionURL: strings.Repeat("u", store.MaxMetadataLength), At: minute(1),
	}
	require.NoError(t, sound.Validate())
	for name, test := range map[string]struct {
		faulty store.Attachment
		faults []string
	}{
		"nothing":    {store.Attachment{}, []string{"sessionId required", "at required"}},
		"too long":   {store.Attachment{SessionID: sound.SessionID + "s", SessionURL: sound.SessionURL + "u"}, []string{"sessionId too_long", "sessionUrl too_long", "at required"}},
		"no text":    {store.Attachment{SessionID: "cs\x00", SessionURL: "\xff", At: minute(1)}, []string{"sessionId malformed", "sessionUrl malformed"}},
		"no instant": {store.Attachment{SessionID: "cs_1"}, []string{"at required"}},
		"no session": {store.Attachment{SessionURL: "https://pay.example", At: minute(1)}, []string{"sessionId required"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.faulty.Validate()
			require.ErrorIs(t, err, pricing.ErrInvalid)
			require.Equal(t, test.faults, faultsIn(err))
		})
	}
}
