package offers_test

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/pricing"
)

// loop is what a team would write: decide about every coupon.
func loop(coupons []*coupon.Coupon, cart pricing.Cart, q eligibility.Question, r *eligibility.SetResult) (best *coupon.Coupon, discount int64) {
	var set [1]eligibility.Candidate
	for _, c := range coupons {
		set[0].Coupon = c
		if err := r.Reevaluate(set[:], cart, q); err != nil {
			continue
		}
		if d := r.Coupons[0].Discount; d > discount || d == discount && d > 0 && c.ID < best.ID {
			best, discount = c, d
		}
	}
	return best, discount
}

func build(tb testing.TB, coupons []*coupon.Coupon) *offers.Index {
	tb.Helper()
	x, err := offers.New(slices.Values(coupons), offers.Limits{})
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func quantile(times []time.Duration, part float64) time.Duration {
	slices.Sort(times)
	return times[int(float64(len(times)-1)*part)]
}

func BenchmarkBest(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000, 1_000_000} {
		shop := newShop(1)
		coupons := shop.coupons(n)
		x := build(b, coupons)
		carts := make([]pricing.Cart, 1000)
		for i := range carts {
			carts[i] = shop.cart(50)
		}
		q := shop.question()
		b.Run(fmt.Sprintf("index of %d", n), func(b *testing.B) {
			var s offers.Search
			var times []time.Duration
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				if _, _, err := s.Best(x, offers.Query{Cart: carts[i%len(carts)], Question: q}); err != nil {
					b.Fatal(err)
				}
				if len(times) < 100_000 {
					times = append(times, time.Since(start))
				}
			}
			b.ReportMetric(float64(quantile(times, 0.5).Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(quantile(times, 0.99).Nanoseconds())/1e3, "p99-µs")
		})
		b.Run(fmt.Sprintf("loop over %d", n), func(b *testing.B) {
			var r eligibility.SetResult
			for i := 0; b.Loop(); i++ {
				loop(coupons, carts[i%len(carts)], q, &r)
			}
		})
	}
}

func BenchmarkBuild(b *testing.B) {
	const n = 1_000_000
	coupons := newShop(1).coupons(n)
	targets := 0
	for _, c := range coupons {
		targets += max(1, c.Scope.Devices.Len(), c.Scope.Categories.Len())
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	x := build(b, coupons)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(x)
	for b.Loop() {
		// An index takes the memory of the one before: what a system needs to give a process new memory is not measured.
		b.StopTimer()
		runtime.GC()
		b.StartTimer()
		runtime.KeepAlive(build(b, coupons))
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(targets), "B/target")
	b.ReportMetric(float64(targets)/float64(n), "targets/coupon")
}

// BenchmarkUpdate changes coupons with 1 to 20 targets, one at a time, and by turns.
func BenchmarkUpdate(b *testing.B) {
	shop := newShop(1)
	coupons := shop.coupons(1_000_000)
	x := build(b, coupons)
	changes := []struct {
		name   string
		change func(c *coupon.Coupon)
	}{
		{"limits", func(c *coupon.Coupon) { c.Limits.MaxUses++ }},
		{"percentage", func(c *coupon.Coupon) { c.Discount = shop.discount(false) }},
		{"paused", func(c *coupon.Coupon) { c.State = coupon.Inactive }},
		{"new", func(c *coupon.Coupon) { c.ID = coupon.IDPrefix + strconv.FormatUint(shop.Uint64(), 36) }},
	}
	one := func(b *testing.B, change func(c *coupon.Coupon)) time.Duration {
		b.Helper()
		var c *coupon.Coupon
		for c == nil || c.Scope.AppliesTo == coupon.All {
			c = coupons[shop.IntN(len(coupons))]
		}
		changed := *c
		change(&changed)
		start := time.Now()
		next, err := x.With(&changed)
		took := time.Since(start)
		if err != nil {
			b.Fatal(err)
		}
		x = next
		return took
	}
	run := func(name string, change func(i int) func(c *coupon.Coupon)) {
		b.Run(name, func(b *testing.B) {
			times := make([]time.Duration, 0, b.N)
			b.ReportAllocs()
			for i := range b.N {
				times = append(times, one(b, change(i)))
			}
			b.ReportMetric(float64(quantile(times, 0.5).Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(quantile(times, 0.99).Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(float64(quantile(times, 1).Nanoseconds())/1e3, "max-µs")
		})
	}
	for _, of := range changes {
		run(of.name, func(int) func(c *coupon.Coupon) { return of.change })
	}
	run("by turns", func(i int) func(c *coupon.Coupon) { return changes[i%len(changes)].change })
}

func BenchmarkSet(b *testing.B) {
	for _, of := range []struct {
		coupons int
		widest  int64 // in percent; three wide coupons of 40 % make carts free
		carts   string
	}{
		{1_000, 40, "of 50 lines"},
		{1_000_000, 40, "of 50 lines"},
		{100_000, 15, "of 50 lines"},
		{1_000_000, 40, "of mixed sizes"},
		{100_000, 15, "of mixed sizes"},
	} {
		b.Run(fmt.Sprintf("up to 3 of %d, wide ones of %d %%, carts %s", of.coupons, of.widest, of.carts), func(b *testing.B) {
			shop := newShop(1)
			shop.widest = of.widest
			x := build(b, shop.coupons(of.coupons))
			q := shop.question()
			var s offers.Search
			var times []time.Duration
			var nodes, proved int
			for b.Loop() {
				cart := shop.cart(50)
				if of.carts == "of mixed sizes" {
					cart = shop.mixedCart()
				}
				start := time.Now()
				set, err := s.Set(x, offers.Query{Cart: cart, Question: q}, offers.SetOptions{MaxCoupons: 3})
				if err != nil {
					b.Fatal(err)
				}
				times, nodes = append(times, time.Since(start)), nodes+set.Nodes
				if set.Proved {
					proved++
				}
			}
			b.ReportMetric(float64(quantile(times, 0.5).Nanoseconds())/1e3, "p50-µs")
			b.ReportMetric(float64(quantile(times, 0.99).Nanoseconds())/1e3, "p99-µs")
			b.ReportMetric(float64(nodes)/float64(len(times)), "nodes")
			b.ReportMetric(100*float64(proved)/float64(len(times)), "%proved")
		})
	}
}
