package coupon_test

import (
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// purchaseOf returns a cart and a question for which [eligibility.Evaluate] allows an active coupon. If the
// coupon's dates and schedule allow no instant, or if purchaseOf finds no cart, found is false. It
// finds a cart for every coupon that [coupon.New] has made.
//
// It tries carts in an order that depends on the coupon alone: a few lines for each kind of goods that
// the coupon tells apart, with quantities and prices at which its terms change.
func purchaseOf(c coupon.Coupon) (cart pricing.Cart, q eligibility.Question, found bool) {
	q = eligibility.Question{Customer: eligibility.Customer{ID: "customer"}}
	if q.At, found = validInstant(c); !found {
		return pricing.Cart{}, eligibility.Question{}, false
	}
	for entry := range c.AllowedUserEmails.All() {
		q.Customer.Email = entry
		if domain, whole := strings.CutPrefix(entry, "*"); whole {
			q.Customer.Email = "somebody" + domain
		}
		break
	}
	for q.Facts.Channel = range c.Conditions.Channels.All() {
		break
	}
	for q.Facts.Country = range c.Conditions.Countries.All() {
		break
	}
	tags := c.Conditions.CustomerTags
	q.Customer.Tags = slices.Clone(tags.All)
	for _, tag := range tags.Any {
		if !slices.Contains(tags.None, tag) {
			q.Customer.Tags = append(q.Customer.Tags, tag)
			break
		}
	}
	if c.Distribution == coupon.PointsRedeemable {
		q.Usage = eligibility.Usage{Reserved: 1, ReservedByCustomer: 1, CustomerHoldsReservation: true}
	}
	for cart := range carts(c) {
		result, err := eligibility.Evaluate(&c, cart, q)
		if err == nil && result.Decision.Allowed() && result.Quote.Discount > 0 {
			return cart, q, true
		}
	}
	return pricing.Cart{}, eligibility.Question{}, false
}

// validInstant returns an instant at which the coupon is valid and its schedule is open.
func validInstant(c coupon.Coupon) (at time.Time, found bool) {
	from := c.StartsAt
	if from.IsZero() {
		if from = c.CreatedAt; !c.ExpiresAt.IsZero() && !from.Before(c.ExpiresAt) {
			from = c.ExpiresAt.Add(-16 * 24 * time.Hour)
		}
	}
	at, found = c.Conditions.Schedule.Next(from)
	return at, found && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt))
}

// mostCarts is how many carts purchaseOf tries before it gives up.
const mostCarts = 200_000

// carts yields carts to try.
func carts(c coupon.Coupon) iter.Seq[pricing.Cart] {
	return func(yield func(pricing.Cart) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		lines, all := linesOfEachKind(c), termsOf(c)
		for range mostCarts {
			terms := oneOf(random, all)
			cart := pricing.Cart{Currency: terms.currency}
			for _, line := range lines {
				for range random.IntN(3) {
					line.Quantity, line.UnitPrice = small(random, terms.quantities), small(random, terms.prices)
					cart.Lines = append(cart.Lines, line)
				}
			}
			terms.complete(&cart, random.IntN(ways))
			random.Shuffle(len(cart.Lines), func(i, j int) { cart.Lines[i], cart.Lines[j] = cart.Lines[j], cart.Lines[i] })
			if !yield(cart) {
				return
			}
		}
	}
}

func oneOf[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// small takes a number, or draws a small one.
func small(random *rand.Rand, from []int64) int64 {
	if random.IntN(3) == 0 {
		return 1 + random.Int64N(20)
	}
	return oneOf(random, from)
}

// linesOfEachKind returns a line for each set of the coupon's scopes that cover it alone.
func linesOfEachKind(c coupon.Coupon) (lines []pricing.Line) {
	scopes := slices.DeleteFunc([]coupon.Scope{c.Scope, c.Buys, c.Conditions.Contains.Scope}, coupon.Scope.IsZero)
	for covering := 1; covering < 1<<len(scopes); covering++ {
		inside, outside := []coupon.Scope{}, []coupon.Scope{c.Conditions.ContainsNot}
		for i, s := range scopes {
			if covering&(1<<i) != 0 {
				inside = append(inside, s)
			} else {
				outside = append(outside, s)
			}
		}
		if line, found := coupon.Example(inside, outside...); found {
			lines = append(lines, line)
		}
	}
	return lines
}

// cartTerms are what a coupon asks of the eligible lines of a cart in one currency. Quantities and prices are
// those at which its terms change.
type cartTerms struct {
	currency           pricing.Currency
	scope              coupon.Scope
	minUnits           int64
	minimum, maximum   int64 // purchase; 0 is none
	unitPrice          int64 // of FIXED_UNIT_PRICE
	quantities, prices []int64
}

// termsOf returns the terms in the coupon's currency, and in all others that the coupon names.
func termsOf(c coupon.Coupon) (all []cartTerms) {
	currencies := append([]pricing.Currency{c.Currency}, c.Discount.Currencies()...)
	k := c.Conditions
	for _, m := range slices.Concat(k.MinPurchase.Slice(), k.MaxPurchase.Slice(), k.Contains.MinPurchase.Slice(), c.Limits.Budget.Slice()) {
		currencies = append(currencies, m.Currency())
	}
	for _, in := range currencies {
		t := termsIn(c, in)
		all = append(all, t)
		if contained, _ := k.Contains.MinPurchase.In(in); contained > t.minimum { // the eligible lines may have to cost it
			t.minimum = contained
			all = append(all, t)
		}
	}
	return all
}

func termsIn(c coupon.Coupon, in pricing.Currency) cartTerms {
	d, k := c.Discount.Terms(), c.Conditions
	t := cartTerms{currency: in, scope: c.Scope, minUnits: k.MinQuantity, unitPrice: d.Amount}
	for _, o := range d.Others {
		if o.Currency == in {
			t.unitPrice = o.Amount
		}
	}
	t.minimum, _ = c.Minimum(in)
	t.maximum, _ = c.Conditions.MaxPurchase.In(in)
	t.quantities = []int64{
		1, 2, 3, d.BuyQuantity, d.GetQuantity, d.GetQuantity + 1, d.BuyQuantity + d.GetQuantity, d.MaxApplications * d.BuyQuantity, d.MaxApplications * d.GetQuantity, d.Units, d.Units + 1, d.MaxUnits, d.MaxUnits + 1,
		k.MinQuantity, k.MaxQuantity, k.Contains.Quantity, k.Contains.Quantity - 1,
	}
	t.prices = []int64{1, 2, 3, 5, 10, t.unitPrice, t.unitPrice + 1, t.minimum, t.maximum / 2}
	contained, _ := k.Contains.MinPurchase.In(in)
	t.prices = append(t.prices, contained)
	percents := []pricing.Percent{d.Percent}
	for _, tier := range d.Tiers {
		percents = append(percents, tier.Percent)
		if d.TierBasis == pricing.ByAmount {
			t.prices = append(t.prices, tier.From)
		} else {
			t.quantities = append(t.quantities, tier.From)
		}
	}
	for _, p := range percents {
		if p.IsZero() {
			continue
		}
		need := decimal.NewFromInt(50).DivRound(p.Decimal(), 10).Ceil().IntPart() // the least that gives something
		for _, units := range []int64{1, 2, 3, d.MaxUnits, d.Units, d.GetQuantity, d.MaxApplications * d.GetQuantity, k.MinQuantity} {
			if units > 0 {
				t.prices = append(t.prices, (need+units-1)/units)
			}
		}
	}
	none := func(n int64) bool { return n < 1 }
	t.quantities, t.prices = slices.DeleteFunc(t.quantities, none), slices.DeleteFunc(t.prices, none)
	return t
}

// ways is the number of ways to complete a cart.
const ways = 7

// complete adds the units that the eligible lines lack, and changes what they cost, in one of several ways:
// not at all; by a dearer unit; by units that cost the fixed unit price; or by units that cost alike, in the
// last line or in all, so that the lines cost the minimum or the maximum.
func (t cartTerms) complete(cart *pricing.Cart, way int) {
	var eligible, others []pricing.Line
	units, amount := int64(0), int64(0)
	for _, l := range cart.Lines {
		if !t.scope.Covers(&l) {
			others = append(others, l)
			continue
		}
		eligible, units, amount = append(eligible, l), units+l.Quantity, amount+l.Quantity*l.UnitPrice
	}
	if len(eligible) == 0 {
		return
	}
	last := &eligible[len(eligible)-1]
	if lacking := t.minUnits - units; lacking > 0 {
		last.Quantity, units, amount = last.Quantity+lacking, t.minUnits, amount+lacking*last.UnitPrice
	}
	missing, added := t.minimum-amount, *last
	switch {
	case way == 1 && missing > 0:
		last.Quantity--
		added.Quantity, added.UnitPrice = 1, added.UnitPrice+missing
		eligible = append(eligible, added)
	case way == 2 && missing > 0 && t.unitPrice > 0:
		added.Quantity, added.UnitPrice = (missing+t.unitPrice-1)/t.unitPrice, t.unitPrice
		eligible = append(eligible, added)
	case way == 3:
		eligible = costingAlike(eligible, max(t.minimum, units))
	case way == 4:
		eligible = costingAlike(eligible, t.maximum)
	case way == 5:
		eligible = append(eligible[:len(eligible)-1], costingAlike([]pricing.Line{added}, t.minimum-amount+added.Quantity*added.UnitPrice)...)
	case way == 6:
		eligible = append(eligible[:len(eligible)-1], costingAlike([]pricing.Line{added}, t.maximum-amount+added.Quantity*added.UnitPrice)...)
	}
	cart.Lines = others
	for _, l := range eligible {
		if l.Quantity > 0 {
			cart.Lines = append(cart.Lines, l)
		}
	}
}

// costingAlike returns the lines with unit prices that differ by one minor unit at most, so that they cost the amount
// together. A unit costs at least 1.
func costingAlike(lines []pricing.Line, amount int64) (all []pricing.Line) {
	units := int64(0)
	for _, l := range lines {
		units += l.Quantity
	}
	price, dearer := max(amount, units)/units, max(amount, units)%units
	for _, l := range lines {
		more := l
		more.Quantity, more.UnitPrice = min(l.Quantity, dearer), price+1
		dearer -= more.Quantity
		l.Quantity, l.UnitPrice = l.Quantity-more.Quantity, price
		all = append(all, more, l)
	}
	return all
}
