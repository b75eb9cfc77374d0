package pgxstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

var ann = eligibility.Customer{ID: "ann", Email: "ann@example.org"}

// codesToQuote makes coupons that all apply to one cart, and returns the request of them all.
func codesToQuote(tb testing.TB, s store.Store, change func(*coupon.Coupon)) (*couponkit.Service, couponkit.QuoteRequest) {
	tb.Helper()
	service, err := couponkit.New(s, couponkit.WithProcessor(fakeprocessor.New(fakeprocessor.Options{})))
	require.NoError(tb, err)
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 10 {
		cart.Lines = append(cart.Lines, pricing.Line{ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 100_00})
	}
	percent, err := pricing.ParsePercent("1")
	require.NoError(tb, err)
	request := couponkit.QuoteRequest{Cart: cart, Customer: ann}
	for i := range pricing.MaxCoupons {
		c := newCoupon(tb, fmt.Sprint("C", i), coupon.Limits{MaxUses: 100, MaxUsesPerUser: 2})
		c.Group, c.Mirror = c.ID, coupon.Mirror{Unsupported: true, Revision: 1}
		c.Discount = pricing.PercentOff(percent)
		change(&c)
		create(tb, s, c)
		request.Codes = append(request.Codes, c.Code.String())
	}
	return service, request
}

// Quotes take as many round trips with one code as with 32, and at most two: one for coupons that
// limit what a look-up counts, a second one for coupons with further counters, or if a limit is
// reached and the customer's open orders decide.
func TestQuotesLookUpAtOnce(t *testing.T) {
	t.Parallel()
	utc, err := calendar.ParseZone("UTC")
	require.NoError(t, err)
	everyLimit := func(c *coupon.Coupon) {
		c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1_000_000_00, pricing.EUR()))
		c.Limits.Periods = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Day, Zone: utc, MaxUses: 3}}
		c.Conditions.FirstOrder = true
	}
	for name, test := range map[string]struct {
		change func(*coupon.Coupon)
		trips  int64
		open   bool // an open order of the customer holds all
	}{
		"plain":                       {func(*coupon.Coupon) {}, 1, false},
		"limits of every kind":        {everyLimit, 2, false},
		"an open order holds the use": {func(c *coupon.Coupon) { c.Limits.MaxUses = 1 }, 2, true},
		"limits of every kind, an open order holds the use": {func(c *coupon.Coupon) {
			everyLimit(c)
			c.Limits.MaxUses, c.Limits.MaxUsesPerUser = 1, 1
		}, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c conversation
			s := newStore(t, c.on(t, shared.NewCopy(t)), pgxstore.Options{})
			service, request := codesToQuote(t, s, test.change)
			if test.open {
				_, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{
					Cart: request.Cart, Codes: request.Codes, Customer: request.Customer, Key: "other tab", SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
				})
				require.NoError(t, err)
			}
			all := request.Codes
			for warm := range 2 { // statements are prepared first
				for _, codes := range [][]string{all[:1], all[:8], all, slices.Concat(all[:16], []string{"cpn_C17", "cpn_none", "N0NE", "none"})} {
					request.Codes, request.SkipRefused = codes, true
					before := c.trips.Load()
					q, err := service.Quote(t.Context(), request)
					require.NoError(t, err)
					require.NotEmpty(t, q.Terms)
					if trips := c.trips.Load() - before; warm == 1 && trips != test.trips {
						t.Errorf("%d codes: %d round trips, want %d", len(codes), trips, test.trips)
					}
				}
			}
		})
	}
}

// A look-up sums the parts of a coupon's counter, however the coupon is named, with identities and without.
func TestLookUpSumsTheParts(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(*pgxpool.Config) {})
	s := newStore(t, pool, pgxstore.Options{})
	spread, unused := create(t, s, newCoupon(t, "SPREAD", coupon.Limits{})), create(t, s, newCoupon(t, "UNUSED", coupon.Limits{}))
	_, err := pool.Exec(t.Context(), `INSERT INTO couponkit.counters (counter, part, reserved, completed) VALUES ($1, 1, 3, 40), ($1, 2, -1, 60), ($2, 0, 1, 2)`,
		eligibility.CouponUses(spread.ID), eligibility.CustomerUses(spread.ID, "ann"))
	require.NoError(t, err)
	for name, names := range map[string][]store.Name{
		"a code": store.ByCode(spread.Code), "an ID": store.ByID(spread.ID),
		"codes": store.ByCode(spread.Code, unused.Code), "IDs": store.ByID(spread.ID, unused.ID),
		"both": slices.Concat(store.ByCode(spread.Code), store.ByID(unused.ID)),
	} {
		for _, identities := range [][]string{nil, {"bob", "ann"}} {
			answer, err := s.LookUp(t.Context(), store.LookUp{Names: names, Identities: identities})
			require.NoError(t, err, name)
			want := []eligibility.Count{{}, {Reserved: 1, Completed: 2}}[:len(identities)]
			for i, found := range answer.Coupons {
				require.Len(t, found.ByCustomer, len(identities), name)
				if i > 0 {
					require.Zero(t, found.Coupon.ReservedCount+found.Coupon.UsedCount, name)
					continue
				}
				require.Equal(t, [...]int64{2, 100}, [...]int64{found.Coupon.ReservedCount, found.Coupon.UsedCount}, name)
				require.Equal(t, want, append([]eligibility.Count{}, found.ByCustomer...), name)
			}
		}
	}
}

// BenchmarkQuoteCodes is a whole quote with 1, 8 and 32 codes.
func BenchmarkQuoteCodes(b *testing.B) {
	for _, p := range places() {
		service, request := codesToQuote(b, newStore(b, p.pool(b), pgxstore.Options{}), func(*coupon.Coupon) {})
		all := request.Codes
		for _, n := range []int{1, 8, len(all)} {
			b.Run(fmt.Sprint(p.name, "/codes=", n), func(b *testing.B) {
				request.Codes = all[:n]
				var took []time.Duration
				for b.Loop() {
					begin := time.Now()
					_, err := service.Quote(b.Context(), request)
					took = append(took, time.Since(begin))
					require.NoError(b, err)
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			})
		}
	}
}

// BenchmarkLookUp is the look-up of one code.
func BenchmarkLookUp(b *testing.B) {
	pool := postgrestest.NewPool(b, shared.NewCopy(b), func(*pgxpool.Config) {})
	s := newStore(b, pool, pgxstore.Options{})
	c := create(b, s, newCoupon(b, "TEN", coupon.Limits{}))
	var took []time.Duration
	for b.Loop() {
		begin := time.Now()
		_, err := store.Find(b.Context(), s, store.LookUp{Names: store.ByCode(c.Code), CustomerID: "ann", Identities: []string{"ann"}, Email: "ann@example.org"})
		took = append(took, time.Since(begin))
		require.NoError(b, err)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
}
