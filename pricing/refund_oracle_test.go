package pricing_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
)

// The oracle of refunds follows docs/refunds.md unit by unit. It reads the recorded allocations
// of a quote and uses no other function of the package that computes.

// soldUnit is one unit of a quote.
type soldUnit struct {
	line, unit int
	list, paid int64
	off        []int64 // by coupon
	returned   bool
}

type refundOracle struct {
	q        pricing.Quote
	units    []*soldUnit // in the order in which they are returned
	refunded int64
	given    []int64
}

func newRefundOracle(q pricing.Quote) *refundOracle {
	o := &refundOracle{q: q, given: make([]int64, len(q.Coupons))}
	byUnit := map[[2]int]*soldUnit{}
	for i, l := range q.Lines {
		for unit := range int(l.Quantity) {
			u := &soldUnit{line: i, unit: unit, list: l.UnitPrice, paid: l.UnitPrice, off: make([]int64, len(q.Coupons))}
			byUnit[[2]int{i, unit}] = u
			o.units = append(o.units, u)
		}
	}
	for _, a := range q.Allocations() {
		for unit := range int(a.Quantity) {
			u := byUnit[[2]int{a.Line, int(a.Unit) + unit}]
			u.off[a.Coupon] = a.Amount
			u.paid -= a.Amount
		}
	}
	slices.SortStableFunc(o.units, func(a, b *soldUnit) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return int(b.paid - a.paid)
	})
	return o
}

// give returns units and tells what is refunded, and what each coupon takes back.
func (o *refundOracle) give(counts map[int]int64) (amount int64, discounts []int64) {
	listed := int64(0)
	for _, u := range o.units {
		if !u.returned && counts[u.line] > 0 {
			counts[u.line]--
			u.returned = true
			listed += u.list
		}
	}
	wants, sum := make([]*big.Rat, len(o.given)), int64(0)
	discounts = make([]int64, len(o.given))
	for c := range o.given {
		discounts[c] = o.q.Coupons[c].Discount - o.earned(c) - o.given[c]
		sum += discounts[c]
	}
	step := max(o.q.Step, 1)
	if sum > listed {
		for c := range wants {
			wants[c] = rat(discounts[c] / step)
		}
		for c, part := range shareOut(rat(listed/step), wants) {
			discounts[c] = part.Num().Int64() * step
		}
	} else {
		amount = listed - sum
	}
	o.refunded += amount
	for c := range o.given {
		o.given[c] += discounts[c]
	}
	return amount, discounts
}

// earned is what the rest of the order still earns from a coupon.
func (o *refundOracle) earned(coupon int) int64 {
	c := o.q.Coupons[coupon]
	kept, list, units, cost := int64(0), int64(0), int64(0), int64(0)
	var rest []*soldUnit
	for _, u := range o.units {
		if u.returned {
			continue
		}
		kept += u.off[coupon]
		if o.q.Covers(coupon, u.line) {
			list += u.list
			if u.list > 0 {
				units++
			}
			cost += u.list
			for other := range o.q.Coupons {
				if o.q.Coupons[other].Terms.Lane() < c.Terms.Lane() {
					cost -= u.off[other]
				}
			}
		}
		rest = append(rest, u)
	}
	terms := c.Terms.Terms()
	switch {
	case c.Refund.Policy != pricing.Rebill:
		return kept
	case list < c.Refund.MinPurchase || units < c.Refund.MinQuantity:
		return 0
	case terms.Type == pricing.Tiered:
		return min(kept, o.byTier(terms, c, list, units, cost))
	case terms.Type == pricing.BuyXGetY:
		return o.byPurchase(terms, coupon, rest)
	}
	return kept
}

func (o *refundOracle) byTier(terms pricing.DiscountTerms, c pricing.QuotedCoupon, list, units, cost int64) int64 {
	basis, recorded := units, c.EligibleQuantity
	if terms.TierBasis == pricing.ByAmount {
		basis, recorded = list, c.EligibleSubtotal
	}
	if basis < terms.Tiers[0].From {
		return 0
	}
	earned := c.Discount
	for i, tier := range terms.Tiers {
		last := i+1 == len(terms.Tiers)
		lowest := last || terms.Tiers[i+1].From > basis // it, or a higher one, is reached
		ofTheOrder := tier.From <= recorded && (last || terms.Tiers[i+1].From > recorded)
		if tier.From > recorded || !lowest || ofTheOrder {
			continue
		}
		off := min(tier.Amount, cost)
		step := max(o.q.Step, 1)
		if !tier.Percent.IsZero() {
			exact := new(big.Rat).Mul(rat(cost/step), tier.Percent.Decimal().Rat())
			off = roundedHalfUp(exact.Quo(exact, rat(100))).Num().Int64() * step
		}
		if terms.MaxDiscount > 0 {
			off = min(off, terms.MaxDiscount/step*step)
		}
		earned = min(earned, off)
	}
	return earned
}

func (o *refundOracle) byPurchase(terms pricing.DiscountTerms, coupon int, rest []*soldUnit) int64 {
	// Without a scope of what is bought, other covered units count; else the quote's document
	// names the lines.
	counts := boughtLines(o.q, coupon)
	var free []*soldUnit
	bought := int64(0)
	for _, u := range rest {
		if counts[u.line] && u.list > 0 {
			bought++
		}
		if u.off[coupon] > 0 {
			free = append(free, u)
		}
	}
	slices.SortStableFunc(free, func(a, b *soldUnit) int {
		if a.off[coupon] != b.off[coupon] {
			return int(b.off[coupon] - a.off[coupon])
		}
		switch {
		case counts[a.line] == counts[b.line]:
			return 0
		case counts[a.line]:
			return 1
		}
		return -1
	})
	best := int64(0)
	for n := 1; n <= len(free); n++ {
		others, sum := bought, int64(0)
		for _, u := range free[:n] {
			sum += u.off[coupon]
			if counts[u.line] {
				others--
			}
		}
		times := (int64(n) + terms.GetQuantity - 1) / terms.GetQuantity
		if others >= times*terms.BuyQuantity {
			best = sum
		}
	}
	return best
}

// refundCase is a quote of a random cart whose coupons have random policies and thresholds. It
// may have been stored.
func refundCase(t fataler, r *rand.Rand, policies bool) pricing.Quote {
	t.Helper()
	cart, terms := randomCase(r)
	for i := range terms {
		terms[i].Refund.Policy = pricing.Keep
		if policies && r.IntN(3) > 0 {
			terms[i].Refund.Policy = pricing.Rebill
		}
		if r.IntN(3) == 0 {
			terms[i].Refund.MinPurchase = r.Int64N(100) * max(cart.Step, 1)
		}
		if r.IntN(3) == 0 {
			terms[i].Refund.MinQuantity = r.Int64N(8)
		}
	}
	q, err := pricing.Price(cart, terms...)
	if err != nil {
		t.Fatalf("%+v of %+v is refused: %v", terms, cart, err)
	}
	if r.IntN(2) == 0 {
		q = stored(t, q)
	}
	return q
}

// TestRefundOracle: the refunds of random quotes, 50,000 in the long form, in random steps, are those of the slow
// implementation.
func TestRefundOracle(t *testing.T) {
	t.Parallel()
	const shards = 4
	cases := testsize.Of(4_000, 50_000)
	for shard := range shards {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			var refund pricing.Refund
			for seed := shard; seed < cases; seed += shards {
				r := rand.New(rand.NewPCG(uint64(seed), 42))
				checkRefundOracle(t, &refund, refundCase(t, r, true), r, seed)
			}
		})
	}
}

func checkRefundOracle(t *testing.T, refund *pricing.Refund, q pricing.Quote, r *rand.Rand, seed int) {
	t.Helper()
	oracle := newRefundOracle(q)
	var before pricing.Refunded
	for left := unitsLeft(q, before); sumOfUnits(left) > 0; left = unitsLeft(q, before) {
		now := randomReturns(r, q, left)
		if err := refund.Recompute(&q, before, now); err != nil {
			t.Fatalf("case %d, %+v after %+v: %v", seed, now, before, err)
		}
		counts := map[int]int64{}
		for _, l := range refund.Lines {
			counts[l.Line] = l.Quantity
		}
		amount, discounts := oracle.give(counts)
		if got := couponParts(*refund); amount != refund.Amount || !slices.Equal(discounts, got) {
			t.Fatalf("case %d, %+v after %+v of %+v: refunded %d, the oracle %d\nparts (-oracle +got):\n%s",
				seed, now, before, q, refund.Amount, amount, cmp.Diff(discounts, got))
		}
		before.Add(*refund)
	}
}

func couponParts(r pricing.Refund) []int64 {
	parts := make([]int64, len(r.Coupons))
	for i, c := range r.Coupons {
		parts[i] = c.Discount
	}
	return parts
}

func unitsLeft(q pricing.Quote, before pricing.Refunded) []int64 {
	left := make([]int64, len(q.Lines))
	for i, l := range q.Lines {
		left[i] = l.Quantity
		if i < len(before.Units) {
			left[i] -= before.Units[i]
		}
	}
	return left
}

func sumOfUnits(units []int64) (sum int64) {
	for _, n := range units {
		sum += n
	}
	return sum
}

// randomReturns returns something of what is left.
func randomReturns(r *rand.Rand, q pricing.Quote, left []int64) (now pricing.Returns) {
	if r.IntN(6) == 0 {
		return pricing.Returns{All: true}
	}
	shipping := int64(0)
	for i, l := range q.Lines {
		if l.ClassOf() == pricing.ShippingClass {
			shipping += left[i]
		}
	}
	now.Shipping = shipping > 0 && r.IntN(4) == 0
	for _, i := range r.Perm(len(left)) {
		switch ship := q.Lines[i].ClassOf() == pricing.ShippingClass; {
		case left[i] == 0 || ship && now.Shipping || r.IntN(3) == 0:
		case r.IntN(4) == 0:
			now.Lines = append(now.Lines, pricing.LineReturn{Line: i, Whole: true})
		default:
			now.Lines = append(now.Lines, pricing.LineReturn{Line: i, Quantity: 1 + r.Int64N(left[i])})
		}
	}
	if len(now.Lines) == 0 && !now.Shipping {
		return pricing.Returns{All: true}
	}
	return now
}
