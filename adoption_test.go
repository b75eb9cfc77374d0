package couponkit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestAnOrderThatIsKnownFromItsPaymentAlone gets its cart and its uses when it is reserved, and stays paid.
func TestAnOrderThatIsKnownFromItsPaymentAlone(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	require.Equal(t, couponkit.FlagUnknownOrder, s.record(paid("1")).Flag)
	s.now = s.now.Add(time.Minute)
	r, err := s.Reserve(t.Context(), wants("1", ann))
	require.NoError(t, err)
	require.Equal(t, []any{redemption.OrderPaid, "pay_1", ann.ID, couponkit.FlagNone, true, false, redemption.Completed},
		[]any{r.Order.State, r.Order.SessionID, r.Order.CustomerID, r.Flag, r.Changed, r.Replayed, r.Uses[0].State})
	require.Equal(t, pricing.NewMoney(9_00, pricing.EUR()), r.Order.Total())
	s.uses(c, 0, 1)
	found, err := s.store.Order(t.Context(), store.OrderKey{ID: "1"})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(r.Order, found.Order))
	for range 2 {
		again, err := s.Reserve(t.Context(), wants("1", ann))
		require.ErrorIs(t, err, couponkit.ErrOrderPaid)
		require.Equal(t, []any{r.Order.Version, true}, []any{again.Order.Version, again.Replayed})
		require.False(t, s.record(paid("1")).Changed)
	}
	_, err = s.BeginPayment(t.Context(), "1")
	require.ErrorIs(t, err, couponkit.ErrOrderPaid)
	list, err := s.Orders(t.Context(), store.OrderList{CustomerID: ann.ID})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)
	_, err = s.Reserve(t.Context(), wants("2", bob))
	require.ErrorIs(t, err, coupon.ErrUsageLimitReached, "the paid order has the use")
}

// TestWhatIsNotAdopted: a refused request, another customer's order, and an order of which staff has refunded
// a part, stay as they are.
func TestWhatIsNotAdopted(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("0", bob)
	s.record(paid("1"))
	_, err := s.Reserve(t.Context(), wants("1", ann))
	require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
	require.Equal(t, couponkit.FlagUnknownOrder, s.record(paid("1")).Flag)
	_, err = s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}})
	require.NoError(t, err)
	r := wants("1", ann)
	r.Codes = nil
	_, err = s.Reserve(t.Context(), r)
	require.ErrorIs(t, err, store.ErrKeyReused)

	other := paid("2")
	other.Amount = pricing.NewMoney(8_00, pricing.EUR())
	s.record(other)
	r.OrderID = "2"
	adopted, err := s.Reserve(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagAmountMismatch, adopted.Flag)
}

// coupon creates ONE, with a change.
func (s *till) coupon(change func(*coupon.Draft)) {
	d := coupon.Draft{Code: "ONE", Name: "n", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "1.00"}, StartsAt: "2026-11-01"}
	change(&d)
	_, err := s.Create(s.t.Context(), d)
	require.NoError(s.t, err)
}

// TestWhoHasPaidIsCountedInAnyOrder: the payer of an order has used its coupons, whether it was paid or reserved first.
func TestWhoHasPaidIsCountedInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, paymentFirst := range []bool{false, true} {
		s := newTill(t)
		s.coupon(func(d *coupon.Draft) { d.MaxUsesPerUser = coupon.Set(1) })
		p := paid("1")
		p.Payer = processor.Payer{Email: bob.Email}
		if paymentFirst {
			s.record(p)
		}
		s.reserve("1", ann)
		if !paymentFirst {
			s.record(p)
		}
		_, err := s.Reserve(t.Context(), wants("2", bob))
		require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached, paymentFirst)
	}
}

// TestTaxOfAnOrderThatWasPaidFirst: the lines are known when the payment is told again.
func TestTaxOfAnOrderThatWasPaidFirst(t *testing.T) {
	t.Parallel()
	for _, paymentFirst := range []bool{false, true} {
		s := newTill(t)
		s.two(pricing.Tax{Amount: 2_00, Lines: []pricing.LineTax{{LineID: "1", Amount: 2_00}, {LineID: "2"}}}, paymentFirst)
		require.Equal(t, int64(12_00), s.one().Amount(), paymentFirst)
	}
}

// TestTheObserverOfAnAdoptedOrder sees its flag.
func TestTheObserverOfAnAdoptedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Record(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(1_00, pricing.EUR())})
	require.NoError(t, err)
	w.holding(t, 0) // adopted: amount_mismatch
	require.Equal(t, couponkit.FlagAmountMismatch, w.attempts[len(w.attempts)-1].Flag)
}
