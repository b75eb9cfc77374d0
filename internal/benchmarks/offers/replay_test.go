package offers_test

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/replay"
	"github.com/couponkit/couponkit/pricing"
)

// limit gives coupons limits that are usual: one use for each customer, uses and budgets.
func (s *shop) limit(coupons []*coupon.Coupon, carts int) {
	for _, c := range coupons {
		if s.IntN(2) == 0 {
			c.Limits.MaxUsesPerUser = 1
		}
		if s.IntN(3) == 0 {
			c.Limits.MaxUses = 1 + s.Int64N(int64(carts))/100
		}
		if s.IntN(5) == 0 {
			c.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(1000*(1+s.Int64N(int64(carts))), pricing.EUR()))
		}
	}
}

// BenchmarkReplay replays carts of 1 to 10 lines, by a customer for each five carts, against 1,000 coupons. Run it
// with -benchtime 1000000x.
func BenchmarkReplay(b *testing.B) {
	shop := newShop(1)
	var events [4_096]replay.Event
	for i := range events {
		events[i] = replay.Event{Cart: shop.cart(1 + shop.IntN(10)), Facts: eligibility.Facts{Country: "DE", Channel: "web"}}
	}
	for _, most := range []int{1, 3} {
		for _, limited := range []bool{false, true} {
			b.Run(fmt.Sprintf("up to %d of 1000/limits %v", most, limited), func(b *testing.B) {
				coupons := newShop(1).coupons(1_000)
				if limited {
					shop.limit(coupons, b.N)
				}
				items := func(n int) iter.Seq2[int, error] {
					return func(yield func(int, error) bool) {
						for i := range n {
							if !yield(i, nil) {
								return
							}
						}
					}
				}
				customers := max(1, b.N/5)
				read := func(i int) (replay.Event, error) {
					e := events[i%len(events)]
					e.At = noon.Add(time.Duration(i) * time.Second)
					e.Customer.ID = fmt.Sprint("u", i*7919%customers)
					return e, nil
				}
				start := time.Now()
				r, err := replay.Run(items(b.N), read, slices.Values(coupons), replay.Options{
					MaxCoupons: most, Workers: runtime.GOMAXPROCS(0),
				})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.N)/time.Since(start).Seconds(), "carts/s")
				b.ReportMetric(float64(r.Unproved), "unproved")
			})
		}
	}
}
