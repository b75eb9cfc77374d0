package pgxstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// Automatic coupons take no further round trip: quotes look them up together with the codes, at most twice.
func TestQuotesLookUpAutomaticCouponsAtOnce(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*coupon.Coupon)
		trips  int64
		open   bool // an open order of the customer holds the automatic coupons
	}{
		"plain": {func(*coupon.Coupon) {}, 1, false},
		"a budget": {func(c *coupon.Coupon) {
			c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1_000_000_00, c.Currency))
		}, 2, false},
		"an open order holds the use": {func(c *coupon.Coupon) { c.Limits.MaxUses = 1 }, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c conversation
			s := newStore(t, c.on(t, shared.NewCopy(t)), pgxstore.Options{})
			_, request := codesToQuote(t, s, func(*coupon.Coupon) {})
			for i := range 40 {
				a := newCoupon(t, fmt.Sprint("AUTOMATIC", i), coupon.Limits{MaxUses: 100, MaxUsesPerUser: 2})
				a.Code, a.Automatic, a.Group, a.Mirror = coupon.Code{}, true, fmt.Sprint("automatic", i%4), coupon.Mirror{Unsupported: true, Revision: 1}
				test.change(&a)
				create(t, s, a)
			}
			current := couponkit.NewOffers(s, offers.Limits{})
			_, err := current.Update(t.Context())
			require.NoError(t, err)
			service, err := couponkit.New(s, couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})), couponkit.WithAutomatic(current))
			require.NoError(t, err)
			if test.open {
				made, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: request.Cart, Customer: request.Customer, Key: "other tab"})
				require.NoError(t, err)
				require.Len(t, made.Uses, 4)
			}
			all := request.Codes
			for warm := range 2 { // statements are prepared first
				for _, n := range []int{0, 1, 8} {
					request.Codes = all[:n]
					before := c.trips.Load()
					q, err := service.Quote(t.Context(), request)
					require.NoError(t, err)
					require.Len(t, q.Terms, n+4)
					if trips := c.trips.Load() - before; warm == 1 && trips != test.trips {
						t.Errorf("%d codes: %d round trips, want %d", n, trips, test.trips)
					}
				}
			}
		})
	}
}

// BenchmarkAutomaticCheckout compares checkouts by turns: without a coupon, with a coupon by its code, and with the same
// coupon found among 1,000 automatic ones.
func BenchmarkAutomaticCheckout(b *testing.B) {
	for _, p := range places() {
		b.Run(p.name, func(b *testing.B) { automaticCheckouts(b, p) })
	}
}

func automaticCheckouts(b *testing.B, p place) {
	b.Helper()
	s := newStore(b, p.pool(b), pgxstore.Options{})
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 5 {
		cart.Lines = append(cart.Lines, pricing.Line{ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprint("item", i*40), Quantity: 2, UnitPrice: 40_00})
	}
	for i := range 1_000 {
		c := newCoupon(b, fmt.Sprint("AUTOMATIC", i), coupon.Limits{MaxUses: 1_000_000, MaxUsesPerUser: 1})
		c.Automatic, c.Mirror = i != 999, coupon.Mirror{Unsupported: true, Revision: 1}
		percent, err := pricing.ParsePercent(fmt.Sprint(1 + i%20))
		require.NoError(b, err)
		if c.Discount = pricing.PercentOff(percent); i%10 != 9 {
			c.Scope = coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(fmt.Sprint("item", i%200))}
		}
		create(b, s, c)
	}
	current := couponkit.NewOffers(s, offers.Limits{})
	_, err := current.Update(b.Context())
	require.NoError(b, err)
	processor := couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{}))
	plain, err := couponkit.New(s, processor)
	require.NoError(b, err)
	with, err := couponkit.New(s, processor, couponkit.WithAutomatic(current))
	require.NoError(b, err)
	took, customers := [3][]time.Duration{}, 0
	checkout := func(way int, by *couponkit.Service, codes ...string) {
		customers++
		begin := time.Now()
		made, err := by.Checkout(b.Context(), couponkit.CheckoutRequest{Cart: cart, Codes: codes, Customer: eligibility.Customer{ID: fmt.Sprint("c", customers)}})
		took[way] = append(took[way], time.Since(begin))
		require.NoError(b, err)
		require.Len(b, made.Uses, min(way, 1))
	}
	for b.Loop() {
		checkout(0, plain)
		checkout(1, plain, "AUTOMATIC999")
		checkout(2, with)
	}
	for way, name := range []string{"none-µs", "code-µs", "automatic-µs"} {
		slices.Sort(took[way])
		b.ReportMetric(float64(took[way][len(took[way])/2].Microseconds()), name)
	}
}
