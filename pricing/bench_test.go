package pricing_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// benchmarkCart has lines of many prices, so that their shares leave remainders
// in no order.
func benchmarkCart(lines int) pricing.Cart {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, lines)}
	for i := range cart.Lines {
		cart.Lines[i] = pricing.Line{
			ID: "line-" + strconv.Itoa(i), Kind: pricing.Device, ItemID: "device-" + strconv.Itoa(i%7),
			Quantity: int64(1 + i%4), UnitPrice: int64(199 + i*7919%20_000),
		}
	}
	return cart
}

func benchmarkDiscounts(tb testing.TB) map[string]pricing.Discount {
	tb.Helper()
	percent, err := pricing.ParsePercent("12.5")
	require.NoError(tb, err)
	fixed, err := pricing.AmountOff(pricing.NewMoney(777, pricing.EUR()))
	require.NoError(tb, err)
	return map[string]pricing.Discount{"percentage": pricing.PercentOff(percent), "fixed": fixed}
}

var benchmarkSizes = []int{1, 10, 100, 1000}

// BenchmarkQuote prices a cart into a reused quote. internal/benchmarks/quote has it
// beside the bare sums and what other libraries take.
func BenchmarkQuote(b *testing.B) {
	discounts := benchmarkDiscounts(b)
	for _, kind := range []string{"percentage", "fixed"} {
		for _, size := range benchmarkSizes {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				cart, discount := benchmarkCart(size), discounts[kind]
				var q pricing.Quote
				b.ReportAllocs()
				for b.Loop() {
					if err := q.Reprice(cart, pricing.Terms{Discount: discount}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// inSteps is the cart with prices that are multiples of a step.
func inSteps(cart pricing.Cart, step int64) pricing.Cart {
	cart.Step, cart.Lines = step, slices.Clone(cart.Lines)
	for i := range cart.Lines {
		cart.Lines[i].UnitPrice *= step
	}
	return cart
}

// BenchmarkQuoteInSteps is BenchmarkQuote for a processor that charges in steps.
func BenchmarkQuoteInSteps(b *testing.B) {
	discounts := benchmarkDiscounts(b)
	for _, kind := range []string{"percentage", "fixed"} {
		for _, size := range benchmarkSizes {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				cart, discount := inSteps(benchmarkCart(size), 7), discounts[kind]
				var q pricing.Quote
				b.ReportAllocs()
				for b.Loop() {
					if err := q.Reprice(cart, pricing.Terms{Discount: discount}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// adversarialCart has unit prices laid out so that, with two minor units to give,
// every pivot of the selection is the worst. The selection begins at the last line.
func adversarialCart(lines int) pricing.Cart {
	cart := benchmarkCart(lines)
	place := make([]int, lines)
	for i := range place {
		place[i] = i
	}
	for high := lines - 1; high >= 0; high-- {
		mid := high / 2
		l := &cart.Lines[lines-1-place[mid]]
		l.Quantity, l.UnitPrice = 1, int64(lines-high)
		place[mid], place[high] = place[high], place[mid]
	}
	return cart
}

// BenchmarkQuoteLargest prices carts of the most lines: an ordinary one and one
// made to be slow.
func BenchmarkQuoteLargest(b *testing.B) {
	for name, cart := range map[string]pricing.Cart{
		"ordinary": benchmarkCart(pricing.MaxLines), "adversarial": adversarialCart(pricing.MaxLines),
	} {
		b.Run(name, func(b *testing.B) {
			discount := amountOff(b, "0.02", "EUR")
			var q pricing.Quote
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Reprice(cart, pricing.Terms{Discount: discount}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// severalCoupons are two coupons of the item lane and one of the order lane.
func severalCoupons(tb testing.TB) []pricing.Terms {
	tb.Helper()
	perUnit, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.FixedAmountPerUnit, Amount: 25, Currency: pricing.EUR()})
	require.NoError(tb, err)
	item, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: percent(tb, "10")})
	require.NoError(tb, err)
	return []pricing.Terms{
		{ID: "a", Group: "a", Discount: perUnit},
		{ID: "b", Group: "b", Discount: item},
		{ID: "c", Group: "c", Discount: pricing.PercentOff(percent(tb, "12.5"))},
	}
}

// BenchmarkCombined prices a cart with one and with three coupons into a reused quote.
func BenchmarkCombined(b *testing.B) {
	for _, coupons := range []int{1, 2, 3} {
		for _, size := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("coupons=%d/lines=%d", coupons, size), func(b *testing.B) {
				cart, terms := benchmarkCart(size), severalCoupons(b)[3-coupons:]
				var q pricing.Quote
				b.ReportAllocs()
				for b.Loop() {
					if err := q.Reprice(cart, terms...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// manyCoupons are n coupons, of both lanes by turns.
func manyCoupons(tb testing.TB, n int) []pricing.Terms {
	tb.Helper()
	terms := make([]pricing.Terms, n)
	for i := range terms {
		terms[i] = severalCoupons(tb)[i%3]
		terms[i].ID, terms[i].Group = "coupon-"+strconv.Itoa(i), strconv.Itoa(i)
	}
	return terms
}

// BenchmarkManyCoupons prices a cart of 10 lines with more and more coupons into a reused quote.
func BenchmarkManyCoupons(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, pricing.MaxCoupons} {
		b.Run(fmt.Sprintf("coupons=%d", n), func(b *testing.B) {
			cart, terms := benchmarkCart(10), manyCoupons(b, n)
			var q pricing.Quote
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Reprice(cart, terms...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTypes prices a cart with one coupon of each type into a reused quote.
func BenchmarkTypes(b *testing.B) {
	for name, d := range goldenDiscounts(b) {
		b.Run(name, func(b *testing.B) {
			cart, terms := benchmarkCart(10), pricing.Terms{ID: "a", Discount: d}
			var q pricing.Quote
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Reprice(cart, terms); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// refundedOrder is an order of 100 lines with three coupons, of which a refund returns one unit.
func refundedOrder(tb testing.TB, policy pricing.RefundPolicy) (pricing.Quote, pricing.Refunded, pricing.Returns) {
	tb.Helper()
	terms := severalCoupons(tb)
	for i := range terms {
		terms[i].Refund = pricing.RefundTerms{Policy: policy, MinPurchase: 1000}
	}
	q, err := pricing.Price(benchmarkCart(100), terms...)
	require.NoError(tb, err)
	now := pricing.Returns{Lines: []pricing.LineReturn{{Line: 50, Quantity: 1}}}
	first, err := q.Refund(pricing.Refunded{}, now)
	require.NoError(tb, err)
	var before pricing.Refunded
	before.Add(first)
	return q, before, now
}

// BenchmarkRefund refunds one more unit of an order of 100 lines with three coupons, into a reused
// refund. BenchmarkCombined prices the same cart.
func BenchmarkRefund(b *testing.B) {
	for _, policy := range []pricing.RefundPolicy{pricing.Keep, pricing.Rebill} {
		priced, before, now := refundedOrder(b, policy)
		for name, q := range map[string]pricing.Quote{"priced": priced, "read": stored(b, priced)} {
			b.Run(fmt.Sprintf("%s/%s", policy, name), func(b *testing.B) {
				var refund pricing.Refund
				b.ReportAllocs()
				for b.Loop() {
					if err := refund.Recompute(&q, before, now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// A refund of the benchmark allocates nothing into a reused result.
func TestRefundingAnOrderAllocatesNothing(t *testing.T) {
	for _, policy := range []pricing.RefundPolicy{pricing.Keep, pricing.Rebill} {
		priced, before, now := refundedOrder(t, policy)
		for name, q := range map[string]pricing.Quote{"priced": priced, "read": stored(t, priced)} {
			var refund pricing.Refund
			require.NoError(t, refund.Recompute(&q, before, now))
			require.Positive(t, refund.Amount)
			n := testing.AllocsPerRun(100, func() { _ = refund.Recompute(&q, before, now) })
			require.Zero(t, n, "%s/%s", policy, name)
		}
	}
}
