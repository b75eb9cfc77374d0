package offers

import (
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// form tells what the key of an entry means. A target has one list for each form. The lists before
// byMinimum hold every coupon once. The others hold coupons with a threshold again.
type form uint8

// These constants are the forms. Keys of money are in minor units of the list's currency.
const (
	// byRatio has coupons that take at most a ratio of the eligible subtotal. The key is the ratio.
	byRatio form = iota
	// byUnit has coupons that take at most an amount for each eligible unit. The key is the amount.
	byUnit
	// byPrice has coupons that lower the price of each unit. A lower price has a greater key.
	byPrice
	// byCap has coupons that take at most an amount and at most a ratio of the eligible subtotal. The
	// key is the amount. The greatest ratio halves from each of these forms to the next; see ratioOf.
	byCap
	// byMinimum has coupons with a minimum purchase, and byQuantity with a minimum quantity. A lower
	// minimum has a greater key.
	byMinimum  = byCap + capForms
	byQuantity = byMinimum + 1

	capForms = 8
)

// one is the ratio of the whole. A ratio of 1 is a ten-thousandth of a percent.
const one = 1_000_000

// bound is the greatest discount of a coupon in one currency, whatever the cart.
type bound struct {
	ratio int64 // of the eligible subtotal, in parts of one
	cap   int64 // in minor units
	unit  int64 // of each eligible unit, in minor units
	price int64 // of a unit below which nothing is taken off
}

// boundOf returns the bound of a coupon that accepts the currency. Amounts that are not restricted are
// [math.MaxInt64].
func boundOf(c *coupon.Coupon, in pricing.Currency) bound {
	b := bound{one, math.MaxInt64, math.MaxInt64, 0}
	if c.Discount.Type().HasPercent() {
		b.ratio = c.Discount.Percent().Of(one)
	}
	if c.Discount.Simple() {
		if c.Discount.Type() == pricing.FixedAmount {
			b.cap = c.Discount.Amount().Minor()
		}
		return b
	}
	t := c.Discount.Terms()
	b.amounts(&t, in)
	switch t.Type {
	case pricing.BuyXGetY:
		if c.Buys.IsZero() { // the cheapest units cost at most their share of all units
			b.ratio = min(one, (b.ratio*t.GetQuantity+t.BuyQuantity+t.GetQuantity-1)/(t.BuyQuantity+t.GetQuantity))
		}
	case pricing.Tiered:
		b.tiers(t.Tiers)
	case pricing.Percentage, pricing.FixedAmount, pricing.FixedAmountPerUnit, pricing.FixedUnitPrice, pricing.CheapestUnits:
	}
	return b
}

// amounts adds the amounts in a currency to the bound.
func (b *bound) amounts(t *pricing.DiscountTerms, in pricing.Currency) {
	amount, most := t.Amount, t.MaxDiscount
	for _, o := range t.Others {
		if o.Currency == in {
			amount, most = o.Amount, o.MaxDiscount
		}
	}
	switch t.Type { //nolint:exhaustive // the other types have no amount
	case pricing.FixedAmount:
		b.cap = amount
	case pricing.FixedAmountPerUnit:
		b.unit = amount
		if t.MaxUnits > 0 {
			b.cap = product(amount, t.MaxUnits)
		}
	case pricing.FixedUnitPrice:
		b.price = amount
	}
	if most > 0 {
		b.cap = min(b.cap, most)
	}
}

// tiers adds the greatest of the tiers to the bound.
func (b *bound) tiers(tiers []pricing.Tier) {
	ratio, most := int64(0), int64(0)
	for _, t := range tiers {
		if t.Percent.IsZero() {
			ratio, most = one, max(most, t.Amount)
		} else {
			ratio, most = max(ratio, t.Percent.Of(one)), math.MaxInt64
		}
	}
	b.ratio, b.cap = ratio, min(b.cap, most)
}

// product returns a*b, or math.MaxInt64 if the product is greater. a and b must not be negative.
func product(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // not negative
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// part returns an upper bound of a ratio of an amount in a cart with a step. The result is rounded up to
// a step.
func part(amount, ratio, step int64) int64 {
	high, low := bits.Mul64(uint64(amount), uint64(ratio)) //nolint:gosec // not negative
	quotient, rest := bits.Div64(high, low, one)           // ratio <= one, so that the high word is below one
	p := int64(quotient)                                   //nolint:gosec // at most the amount
	if rest > 0 {
		p++
	}
	if step > 1 {
		if over := p % step; over > 0 {
			p += step - over
		}
	}
	return min(p, amount)
}

// listing returns the form and the key under which a coupon with the bound is listed.
func (b *bound) listing() (form, uint32) {
	switch {
	case b.cap < math.MaxInt64:
		halvings := bits.Len64(one) - bits.Len64(uint64(b.ratio))        //nolint:gosec // at least 1
		return byCap + form(min(halvings, capForms-1)), saturated(b.cap) //nolint:gosec // not negative
	case b.unit < math.MaxInt64:
		return byUnit, saturated(b.unit)
	case b.price > 0:
		return byPrice, ^saturated(b.price)
	}
	return byRatio, uint32(b.ratio) //nolint:gosec // at most one
}

// ratioOf returns the greatest ratio in lists of a form byCap+n.
func ratioOf(f form) int64 {
	if f == byCap {
		return one
	}
	return 1<<(bits.Len64(one)-int(f-byCap)) - 1
}

// saturated returns an amount as a key. The greatest key stands for itself and all greater amounts.
func saturated(amount int64) uint32 { return uint32(min(amount, math.MaxUint32)) } //nolint:gosec // not negative

// amount returns the amount of a key. It returns math.MaxInt64 for the greatest key.
func amount(key uint32) int64 {
	if key == math.MaxUint32 {
		return math.MaxInt64
	}
	return int64(key)
}

// listed is an entry with the form of its list.
type listed struct {
	form  form
	entry entry
}

// appendListed appends the entries of a coupon for a currency. The coupon has one entry by its discount,
// and one for each threshold. scope is the hashed set of its scope.
func appendListed(dst []listed, c *coupon.Coupon, in pricing.Currency, slot uint32, scope uint64) []listed {
	minimum, quantity := thresholds(c, in)
	e := entry{
		rank: rank{slot: slot, id: idPrefix(c.ID)}, scope: scope, least: coarse(minimum),
		until: math.MaxUint16, gate: gateOf(c),
	}
	if byCategory(&c.Scope) {
		e.gate |= categoryGate
	}
	if !c.StartsAt.IsZero() {
		e.from = dayOf(c.StartsAt)
	}
	if !c.ExpiresAt.IsZero() {
		e.until = dayOf(c.ExpiresAt.Add(-1))
	}
	b := boundOf(c, in)
	f, key := b.listing()
	e.key = key
	dst = append(dst, listed{f, e})
	if minimum > 0 {
		e.key = ^saturated(minimum)
		dst = append(dst, listed{byMinimum, e})
	}
	if quantity > 0 {
		e.key = ^saturated(quantity)
		dst = append(dst, listed{byQuantity, e})
	}
	return dst
}

// thresholds returns the least eligible subtotal and the least number of eligible units.
func thresholds(c *coupon.Coupon, in pricing.Currency) (minimum, quantity int64) {
	minimum, _ = c.Minimum(in)
	quantity = c.Conditions.MinQuantity
	switch basis, from := c.Discount.FirstTier(); basis {
	case pricing.ByAmount:
		minimum = max(minimum, from)
	case pricing.ByQuantity:
		quantity = max(quantity, from)
	}
	return minimum, quantity
}

// coarse encodes an amount in 16 bits. Of two amounts, the greater never has the lesser code.
func coarse(amount int64) uint16 {
	const digits = 11                                             // significant binary digits
	shift := max(bits.Len64(uint64(amount))-digits, 0)            //nolint:gosec // not negative
	return uint16(int64(shift)<<(digits-1) + amount>>uint(shift)) //nolint:gosec // at most 53 << 10 + 2047
}

// dayOf returns the day of an instant, from 0 in the year 2000 and before. A later instant never has an
// earlier day.
func dayOf(at time.Time) uint16 {
	const first, seconds = 946_684_800, 86_400
	return uint16(min(max((at.Unix()-first)/seconds, 0), math.MaxUint16))
}

// The gate of an entry has a bit for each hashed country and channel, and says whether the hashed set has
// categories. The first bit of countries and of channels stands for a fact that is not given.
const (
	countryBits  = 9
	channelBits  = 6
	countryGate  = 1<<countryBits - 1
	channelGate  = (1<<channelBits - 1) << countryBits
	categoryGate = 1 << 15
)

func gateOf(c *coupon.Coupon) uint16 {
	gate := uint16(countryGate | channelGate)
	if c.Conditions.Countries.Len() > 0 {
		gate &^= countryGate
		for country := range c.Conditions.Countries.All() {
			gate |= countryBit(country)
		}
	}
	if c.Conditions.Channels.Len() > 0 {
		gate &^= channelGate
		for channel := range c.Conditions.Channels.All() {
			gate |= channelBit(channel)
		}
	}
	return gate
}

func countryBit(country string) uint16 {
	if country == "" {
		return 1
	}
	return 2 << (hashID(country) % (countryBits - 1))
}

func channelBit(channel string) uint16 {
	if channel == "" {
		return 1 << countryBits
	}
	return 2 << countryBits << (hashID(channel) % (channelBits - 1))
}

// idPrefix returns the beginning of a coupon ID after [coupon.IDPrefix], as a number in the order of IDs.
func idPrefix(id string) (prefix uint64) {
	rest, found := strings.CutPrefix(id, coupon.IDPrefix)
	if !found { // only an invalid coupon
		return 0
	}
	for i := range min(len(rest), 8) {
		prefix |= uint64(rest[i]) << (56 - 8*i)
	}
	return prefix
}
