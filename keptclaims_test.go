package couponkit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/memstore"
)

// A customer sees the page of a payment, goes back, and reserves without one of the coupons. Nobody else
// gets what is missing before the first payment has ended: the customer may pay it in the other tab.
func TestAReplacedOrderThatCanBePaidKeepsWhatTheNewOneDoesNotTake(t *testing.T) {
	t.Parallel()
	for _, paid := range []bool{false, true} {
		ctx := t.Context()
		s, err := couponkit.New(memstore.New())
		require.NoError(t, err)
		for code, uses := range map[string]coupon.Optional[int]{"MINE": coupon.Clear[int](), "LAST": coupon.Set(1)} {
			_, err := s.Create(ctx, coupon.Draft{Code: code, Name: code, DiscountType: pricing.Percentage, Percent: "10", Group: code, MaxUses: uses})
			require.NoError(t, err)
		}
		cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: "chair", ItemID: "chair", Quantity: 1, UnitPrice: 20_00}}}
		reserve := func(id, customer string, codes ...string) (couponkit.Reserved, error) {
			return s.Reserve(ctx, couponkit.ReserveRequest{OrderID: id, Hold: time.Hour, QuoteRequest: couponkit.QuoteRequest{
				Cart: cart, Customer: eligibility.Customer{ID: customer}, Codes: codes,
			}})
		}
		first, err := reserve("first", "ann", "mine", "last")
		require.NoError(t, err)
		_, err = s.BeginPayment(ctx, "first")
		require.NoError(t, err)
		_, err = s.AttachPayment(ctx, couponkit.Payment{OrderID: "first", ID: "pay_1", URL: "https://pay.example/1"})
		require.NoError(t, err)
		second, err := reserve("second", "ann", "mine")
		require.NoError(t, err)
		require.Equal(t, "first", second.Order.Replaces)

		_, err = reserve("other", "bob", "last")
		require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
		third, err := reserve("third", "ann", "mine", "last") // what is kept is the customer's
		require.NoError(t, err)
		require.Equal(t, []string{"second", "first"}, []string{third.Order.Replaces, third.Order.Awaits})
		require.Zero(t, third.Order.Kept)
		second, err = reserve("fourth", "ann", "mine")
		require.NoError(t, err)
		require.Equal(t, "third", second.Order.Replaces)
		_, err = reserve("other", "bob", "last")
		require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
		if paid {
			o, err := s.Record(ctx, couponkit.Payment{OrderID: "first", ID: "pay_1", Status: couponkit.PaymentPaid, Amount: first.Order.Total()})
			require.NoError(t, err)
			require.Equal(t, []any{redemption.OrderPaid, couponkit.FlagNone}, []any{o.Order.State, o.Flag})
			continue
		}
		_, err = s.Record(ctx, couponkit.Payment{OrderID: "first", ID: "pay_1", Status: couponkit.PaymentEnded})
		require.NoError(t, err)
		_, err = s.BeginPayment(ctx, "fourth")
		require.NoError(t, err)
		_, err = reserve("other", "bob", "last")
		require.NoError(t, err)
	}
}

// Points of a replaced order go back with the end of its payment, and not before: the customer would have
// both the points and the discount if they paid it after all. This holds, too, if a second order has taken them
// over, and a third one does not take them.
func TestAReplacedOrderThatCanBePaidKeepsItsPoints(t *testing.T) {
	t.Parallel()
	for i := range 4 {
		paid, between := i%2 > 0, i/2 > 0
		ctx, points := t.Context(), new(ledger)
		points.Credit("ann", 100)
		s, err := couponkit.New(memstore.New(), couponkit.WithPoints(points))
		require.NoError(t, err)
		_, err = s.Create(ctx, coupon.Draft{Code: "MINE", Name: "Mine", DiscountType: pricing.Percentage, Percent: "10", Group: "mine"})
		require.NoError(t, err)
		_, err = s.Create(ctx, coupon.Draft{
			Code: "POINTS", Name: "Points", DiscountType: pricing.Percentage, Percent: "10", Group: "points",
			Distribution: coupon.PointsRedeemable, PointsRequired: 60,
		})
		require.NoError(t, err)
		ann := eligibility.Customer{ID: "ann"}
		request := couponkit.ExchangeRequest{Key: "once", Coupon: "points", Customer: ann}
		exchange, err := s.ExchangePoints(ctx, request)
		require.NoError(t, err)
		reserve := func(id string, codes ...string) redemption.Order {
			r, err := s.Reserve(ctx, couponkit.ReserveRequest{OrderID: id, Hold: time.Hour, QuoteRequest: couponkit.QuoteRequest{
				Customer: ann, Codes: codes,
				Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: "chair", ItemID: "chair", Quantity: 1, UnitPrice: 20_00}}},
			}})
			require.NoError(t, err)
			return r.Order
		}
		first := reserve("first", "mine", "points")
		_, err = s.AttachPayment(ctx, couponkit.Payment{OrderID: "first", ID: "pay_1", URL: "https://pay.example/1"})
		require.NoError(t, err)
		if between {
			require.Equal(t, "first", reserve("between", "mine", "points").Replaces)
		}
		require.Equal(t, map[bool]string{false: "first", true: "between"}[between], reserve("second", "mine").Replaces)
		require.ErrorIs(t, s.CancelExchange(ctx, "ann", exchange.ExchangeID), couponkit.ErrPaymentOpen)
		_, err = s.ExchangePoints(ctx, request)
		require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
		require.NotErrorIs(t, err, couponkit.ErrReservationClosed)
		_, err = s.Sweep(ctx, 0)
		require.NoError(t, err)
		require.EqualValues(t, 40, points.Balance("ann"))

		last := couponkit.Payment{OrderID: "first", ID: "pay_1", Status: couponkit.PaymentEnded}
		if paid {
			last.Status, last.Amount = couponkit.PaymentPaid, first.Total()
		}
		o, err := s.Record(ctx, last)
		require.NoError(t, err)
		require.Equal(t, couponkit.FlagNone, o.Flag)
		_, err = s.Sweep(ctx, 0)
		require.NoError(t, err)
		require.Equal(t, map[bool]int64{false: 100, true: 40}[paid], points.Balance("ann"))
		again, err := s.ExchangePoints(ctx, request)
		require.ErrorIs(t, err, map[bool]error{false: couponkit.ErrReservationClosed}[paid])
		require.Equal(t, map[bool]string{true: "first"}[paid], again.OrderID)
	}
}
