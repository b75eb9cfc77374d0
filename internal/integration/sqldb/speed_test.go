package next_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	oldredemption "github.com/couponkit/couponkit/redemption"
	oldstore "github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	old "github.com/couponkit/couponkit/store/sqlstore"
)

var (
	rounds  = flag.Int("rounds", 0, "rounds of TestSpeed; 0 skips it")
	seconds = flag.Duration("seconds", 3*time.Second, "how long a cell of TestSpeed runs")
	callers = flag.Int("callers", 64, "callers of TestSpeed")
	drivers = flag.String("driver", "modernc", "driver of TestSpeed")
	only    = flag.String("only", "", "one way of TestSpeed")
)

// TestSpeed measures reservations of a hot coupon with limits on SQLite, synchronous FULL,
// by the old store and by this one in turns.
func TestSpeed(t *testing.T) {
	if *rounds == 0 {
		t.Skip("only by -rounds")
	}
	ways := map[string]func(*testing.T) float64{"old": speedOfOld, "new": speedOfNew}
	measured := map[string][]float64{}
	names := []string{"old", "new"}
	if *only != "" {
		names = []string{*only}
	}
	for round := range *rounds {
		for _, name := range names {
			t.Run(fmt.Sprintf("round %d %s", round, name), func(t *testing.T) { measured[name] = append(measured[name], ways[name](t)) })
		}
		slices.Reverse(names)
	}
	var ratios []float64
	for i := range measured["new"] {
		if len(measured["old"]) > i {
			ratios = append(ratios, measured["new"][i]/measured["old"][i])
		}
	}
	t.Logf("%s, %d callers: old %.0f, new %.0f a second, ratio %.2f (medians of %d rounds)",
		*drivers, *callers, median(measured["old"]), median(measured["new"]), median(ratios), *rounds)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}

// perSecond lets callers call as fast as they can, after a quarter of the time to warm up.
func perSecond(t *testing.T, call func(ctx context.Context, caller, n int) error) float64 {
	t.Helper()
	var done atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	errs := make([]error, *callers)
	for caller := range *callers {
		all.Go(func() {
			for n := 0; !stop.Load() && errs[caller] == nil; n++ {
				errs[caller] = call(t.Context(), caller, n)
				done.Add(1)
			}
		})
	}
	time.Sleep(*seconds / 4)
	before, begun := done.Load(), time.Now()
	time.Sleep(*seconds)
	rate := float64(done.Load()-before) / time.Since(begun).Seconds()
	stop.Store(true)
	all.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	return rate
}

// nameOf is as random as customers are; prefixes of IDs grow with time, as a service's.
func nameOf(caller, n int) (prefix, name string) {
	x := uint64(caller)*0x9e3779b97f4a7c15 + uint64(n)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	return fmt.Sprintf("%014x", time.Now().UnixMicro()), fmt.Sprintf("%016x%04x%06x", x^x>>29, caller, n)
}

func speedOfNew(t *testing.T) float64 {
	t.Helper()
	s := databases()[*drivers](t).store(t, sqlstore.Options{})
	c := hotCoupon(1_000_000_000, 5)
	create(t, s, c)
	return perSecond(t, func(ctx context.Context, caller, n int) error {
		prefix, name := nameOf(caller, n)
		_, err := s.Reserve(ctx, checkoutOf(c, "customer-"+name, prefix, name))
		return err
	})
}

func speedOfOld(t *testing.T) float64 {
	t.Helper()
	d := databases()[*drivers](t)
	db := d.connect(t)
	require.NoError(t, old.Migrate(t.Context(), db, old.Dialect(d.dialect), ""))
	s, err := old.New(db, old.Dialect(d.dialect), old.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	c := hotCoupon(1_000_000_000, 5)
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	snapshot := c.Snapshot()
	return perSecond(t, func(ctx context.Context, caller, n int) error {
		prefix, name := nameOf(caller, n)
		now := time.Now().UTC().Truncate(time.Microsecond)
		r := oldstore.Reservation{Redemption: oldredemption.Redemption{
			ID: oldredemption.IDPrefix + prefix + name, Key: "key-" + name, CouponID: c.ID, CustomerID: "customer-" + name,
			State: oldredemption.Reserved, Origin: oldredemption.FromCheckout, OrderID: "ord_" + prefix + name,
			Deadline: now.Add(time.Hour), CreatedAt: now, UpdatedAt: now,
		}}
		quote := shopQuote()
		r.Order = &oldstore.Order{
			ID: r.Redemption.OrderID, Key: r.Redemption.Key, Fingerprint: "cart", CustomerID: r.Redemption.CustomerID,
			State: oldstore.OrderOpen, CouponID: c.ID, Coupon: &snapshot, ReservationID: r.Redemption.ID,
			DiscountAmount: quote.Discount, Quote: quote, Deadline: r.Redemption.Deadline, CreatedAt: now, UpdatedAt: now,
		}
		_, err := s.Reserve(ctx, r)
		return err
	})
}
