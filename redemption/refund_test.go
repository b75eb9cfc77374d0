package redemption_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// paidOrder is a paid order of units at 10.00 each, of which the coupon cpn takes half.
func paidOrder(t *testing.T, units int64, restore coupon.Restore) (redemption.Order, []redemption.Use) {
	t.Helper()
	half, err := pricing.ParsePercent("50")
	require.NoError(t, err)
	q, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: "book", Quantity: units, UnitPrice: 1000},
	}}, pricing.Terms{ID: "cpn", Discount: pricing.PercentOff(half)})
	require.NoError(t, err)
	o := redemption.Order{
		ID: "ord", CustomerID: "ann", State: redemption.OrderPaid, SessionID: "cs", Quote: q, CreatedAt: at(0), UpdatedAt: at(0), Version: 1,
		Claims: []eligibility.Claim{{Counter: eligibility.CustomerOrders("ann"), Amount: 1}},
	}
	return o, []redemption.Use{{
		ID: "use", CouponID: "cpn", OrderID: "ord", CustomerID: "ann", State: redemption.Completed, Origin: redemption.FromPoints,
		Discount: q.Discount, ExchangeID: "x", Points: 5, PointsState: redemption.PointsDebited, Restore: restore, Version: 1, CreatedAt: at(0), UpdatedAt: at(0),
		Claims: []eligibility.Claim{
			{Counter: eligibility.CouponUses("cpn"), Amount: 1, Limit: 1},
			{Counter: eligibility.CustomerUses("cpn", "ann"), Amount: 1},
			{Counter: eligibility.Budget("cpn", "EUR"), Amount: q.Discount, Limit: 5000},
		},
	}}
}

func refundOf(key string, units int64, seconds int) redemption.Event {
	e := redemption.Event{
		Kind: redemption.Refunded, OrderID: "ord", At: at(seconds),
		Refund: redemption.RefundRequest{Key: key, Returns: pricing.Returns{All: true}},
	}
	if units > 0 {
		e.Refund.Returns = pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: units}}}
	}
	return e
}

// What uses hold and when points are given back, after one of two units and after both.
func TestRefundsGiveBack(t *testing.T) {
	t.Parallel()
	type held struct {
		uses, budget int64
		points       redemption.PointsState
	}
	for restore, want := range map[coupon.Restore][2]held{
		coupon.RestoreFull:   {{1, 1000, redemption.PointsDebited}, {0, 0, redemption.PointsRefundDue}},
		coupon.RestoreAlways: {{0, 500, redemption.PointsRefundDue}, {0, 0, redemption.PointsRefunded}},
		coupon.RestoreNever:  {{1, 1000, redemption.PointsDebited}, {1, 1000, redemption.PointsDebited}},
	} {
		o, uses := paidOrder(t, 2, restore)
		for i, e := range []redemption.Event{refundOf("one", 1, 10), refundOf("two", 0, 20)} {
			next, changed, err := o.After(e, uses...)
			require.NoError(t, err)
			require.Equal(t, [...]redemption.OrderState{redemption.OrderPartlyRefunded, redemption.OrderRefunded}[i], next.State)
			require.Equal(t, o.Version+1, next.Version)
			require.Len(t, next.Refunds, i+1)
			require.Equal(t, int64(500), next.Refunds[i].Result.Amount)
			require.Equal(t, e.At, next.Refunds[i].At)
			holds := redemption.Holdings(next, changed...)
			got := held{holds[eligibility.CouponUses("cpn")].Completed, holds[eligibility.Budget("cpn", "EUR")].Completed, changed[0].PointsState}
			require.Equal(t, want[i], got, "%s after refund %d", restore, i)
			require.Equal(t, got.uses, holds[eligibility.CustomerUses("cpn", "ann")].Completed)
			require.Equal(t, int64(1), holds[eligibility.CustomerOrders("ann")].Completed, "an order stays an order")
			require.Equal(t, got.uses == 0, !changed[0].RestoredAt.IsZero())
			require.Equal(t, redemption.Completed, changed[0].State)
			again, same, err := next.After(e, changed...)
			require.NoError(t, err)
			require.Equal(t, next.Version, again.Version, "a repeated key")
			require.Equal(t, changed, same)
			if changed[0].PointsState == redemption.PointsRefundDue {
				changed[0], err = changed[0].After(redemption.Event{Kind: redemption.PointsGivenBack, UseID: "use", At: e.At})
				require.NoError(t, err)
			}
			o, uses = next, changed
		}
	}
}

// What else happens to an order that was refunded changes nothing, but a payment that tells of
// identities: they hold what the order still holds.
func TestEventsAfterARefund(t *testing.T) {
	t.Parallel()
	o, uses := paidOrder(t, 2, coupon.RestoreAlways)
	o, uses, err := o.After(refundOf("one", 1, 10), uses...)
	require.NoError(t, err)
	for kind := attached; kind <= lapsed; kind++ {
		next, _, err := o.After(event(kind, "cs", 3000), uses...)
		require.Equal(t, redemption.OrderPartlyRefunded, next.State, kind)
		if kind == attached {
			require.NoError(t, err) // its URL
			continue
		}
		require.Equal(t, o.Version, next.Version, kind)
		if kind == cancel || kind == lapsed {
			require.ErrorIs(t, err, redemption.ErrIllegal)
		}
	}
	learned := event(paid, "cs", 3000)
	learned.Learned = []string{eligibility.AliasIdentity("card")}
	next, changed, err := o.After(learned, uses...)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPartlyRefunded, next.State)
	holds := redemption.Holdings(next, changed...)
	require.Zero(t, holds[eligibility.CustomerUses("cpn", learned.Learned[0])].Taken(), "what was given back is not claimed again")
	require.Equal(t, int64(1), holds[eligibility.CustomerOrders(learned.Learned[0])].Completed)
}

func TestRefundsThatAreRefused(t *testing.T) {
	t.Parallel()
	o, uses := paidOrder(t, 3, coupon.RestoreFull)
	for _, state := range []redemption.OrderState{redemption.OrderOpen, redemption.OrderAwaitingPayment, redemption.OrderCancelled} {
		unpaid := o
		unpaid.State = state
		_, _, err := unpaid.After(refundOf("a", 1, 10), uses...)
		require.ErrorIs(t, err, redemption.ErrIllegal, state)
	}
	o, uses, err := o.After(refundOf("a", 1, 10), uses...)
	require.NoError(t, err)
	_, _, err = o.After(refundOf("a", 2, 10), uses...)
	require.ErrorIs(t, err, redemption.ErrOtherRefund)
	require.ErrorIs(t, err, redemption.ErrIllegal)
	same, _, err := o.After(refundOf("b", 3, 10), uses...)
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.ErrorContains(t, err, "returns[0].quantity")
	require.Equal(t, o.Version, same.Version)
	_, err = uses[0].After(redemption.Event{Kind: redemption.Refunded, UseID: "use", At: at(10)})
	require.ErrorIs(t, err, redemption.ErrIllegal)
}

// After MaxRefunds refunds, only everything that is left is refunded.
func TestTheMostRefunds(t *testing.T) {
	t.Parallel()
	o, uses := paidOrder(t, redemption.MaxRefunds+2, coupon.RestoreFull)
	var err error
	for i := range redemption.MaxRefunds {
		o, uses, err = o.After(refundOf(fmt.Sprint(i), 1, 10), uses...)
		require.NoError(t, err)
	}
	_, _, err = o.After(refundOf("more", 1, 10), uses...)
	require.ErrorIs(t, err, validation.ErrInvalid)
	o, _, err = o.After(refundOf("rest", 2, 10), uses...)
	require.NoError(t, err)
	require.Equal(t, redemption.OrderRefunded, o.State)
	require.Equal(t, o.Quote.Total, o.Refunded().Amount)
}

// Nothing is given back twice, and never more than was paid, whatever refunds come in whatever
// order and however often.
func TestRefundsGiveBackOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 42))
		o, uses := paidOrder(t, 1+r.Int64N(6), coupon.Restore(r.IntN(3)))
		due := 0
		for i := range 20 {
			before := uses[0].PointsState
			next, changed, err := o.After(refundOf(fmt.Sprint(r.IntN(8)), r.Int64N(3), i), uses...)
			if err != nil {
				continue
			}
			if changed[0].PointsState != before {
				due++
				changed[0].PointsState = redemption.PointsRefunded
			}
			for _, c := range changed[0].Claims {
				require.GreaterOrEqual(t, c.Held(), int64(0))
			}
			require.NoError(t, changed[0].Validate())
			require.LessOrEqual(t, next.Refunded().Amount, next.Quote.Total)
			o, uses = next, changed
		}
		require.LessOrEqual(t, due, 1)
		if o.State == redemption.OrderRefunded {
			require.Equal(t, o.Quote.Total, o.Refunded().Amount)
		}
	}
}

func TestRefundEvents(t *testing.T) {
	t.Parallel()
	require.NoError(t, refundOf("a", 1, 10).Validate())
	empty := redemption.Event{Kind: redemption.Refunded, At: at(1), UseID: "use"}
	require.Equal(t, map[string]validation.Code{
		"useId": validation.NotAllowed, "orderId": validation.Required,
		"refund.key": validation.Required,
	}, codesOf(t, empty.Validate()))
	foreign := event(paid, "cs", 1)
	foreign.Refund.Key = "a"
	require.Equal(t, map[string]validation.Code{"refund": validation.NotAllowed}, codesOf(t, foreign.Validate()))
	require.NoError(t, redemption.CheckRefundKey("a"))
	require.Error(t, redemption.CheckRefundKey(""))
	turned := refundOf("a", 0, 10)
	turned.Refund.Returns = pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}, Shipping: true}
	o, uses := paidOrder(t, 2, coupon.RestoreFull)
	_, _, err := o.After(turned, uses...)
	require.ErrorIs(t, err, validation.ErrInvalid, "there is no shipping")
	copied := o.Clone()
	copied, _, err = copied.After(refundOf("a", 1, 10), uses...)
	require.NoError(t, err)
	clone := copied.Clone()
	clone.Refunds[0].Result.Lines[0].Quantity = 7
	require.Equal(t, int64(1), copied.Refunds[0].Result.Lines[0].Quantity)
}

func codesOf(t *testing.T, err error) map[string]validation.Code {
	t.Helper()
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	codes := map[string]validation.Code{}
	for _, f := range faults.Fields {
		codes[f.Path] = f.Code
	}
	return codes
}
