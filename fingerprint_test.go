package couponkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// TestAKeyOfAnotherRequest holds contract 5.2: whatever of the lines, the code or the amount
// differs makes another request of it.
func TestAKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	plan := func() couponkit.CheckoutRequest {
		r := couponkit.CheckoutRequest{Cart: phones(), Customer: ann, Key: "k"}
		r.Cart.Lines[0].Kind, r.Cart.Lines[0].Recurs = pricing.Plan, pricing.Monthly
		return r
	}
	for name, differ := range map[string]func(*couponkit.CheckoutRequest){
		"quantity":    func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].Quantity++ },
		"line ID":     func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].ID = "Z" },
		"item":        func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].ItemID = "tablet" },
		"kind":        func(r *couponkit.CheckoutRequest) { r.Cart.Lines[1].Kind = pricing.Accessory },
		"interval":    func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].Recurs = pricing.Yearly },
		"fewer lines": func(r *couponkit.CheckoutRequest) { r.Cart.Lines = r.Cart.Lines[:1] },
		"currency":    func(r *couponkit.CheckoutRequest) { r.Cart.Currency = usd },
		"code":        func(r *couponkit.CheckoutRequest) { r.Code = "TEN" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(t, tenOff())
			w.checkout(t, plan())
			r := plan()
			differ(&r)
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, store.ErrKeyReused)
			r = plan()
			r.Cart.Lines[0].UnitPrice++ // the catalogue's
			require.True(t, w.checkout(t, r).Replayed)
		})
	}
	for name, differ := range map[string]func(*couponkit.PaymentLinkRequest){
		"amount":             func(r *couponkit.PaymentLinkRequest) { r.Amount = pricing.NewMoney(10_01, pricing.EUR()) },
		"currency of a link": func(r *couponkit.PaymentLinkRequest) { r.Amount = pricing.NewMoney(10_00, usd) },
		"code of a link":     func(r *couponkit.PaymentLinkRequest) { r.Code = "TEN" },
		"cart":               func(r *couponkit.PaymentLinkRequest) { r.Mode, r.Cart = couponkit.SubscriptionLink, phones() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(t, tenOff())
			r := couponkit.PaymentLinkRequest{
				CheckoutRequest: couponkit.CheckoutRequest{Customer: ann, Key: "k"},
				Mode:            couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
			}
			_, err := w.PaymentLink(t.Context(), r)
			require.NoError(t, err)
			differ(&r)
			_, err = w.PaymentLink(t.Context(), r)
			require.ErrorIs(t, err, store.ErrKeyReused)
		})
	}
}
