package offers

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// form tells what the key of an entry means. A target has one list for each form. Each coupon is in one or
// two of the lists before byMinimum. The other lists hold coupons with a threshold again.
type form uint8

// These constants are the forms. Keys of money are in minor units of the list's currency.
const (
	// byRatio has coupons that take at most a ratio of the eligible subtotal. The key is the ratio.
	byRatio form = iota
	// byUnit has coupons that take at most an amount for each eligible unit. The key is the amount.
	byUnit
	// byPieces has coupons that take a ratio of the price of a number of units. The key is the ratio
	// times the number, in parts of 10,000.
	byPieces
	// byPrice has coupons that lower the price of each unit. A lower price has a greater key.
	byPrice
	// byCap has coupons that take at most an amount and at most a ratio of the eligible subtotal. The
	// key is the amount. The greatest ratio halves from each of these forms to the next; see ratioOf.
	byCap
	// byMinimum has coupons with a minimum purchase, byQuantity with a minimum quantity, and byContents
	// with an amount of required units. A lower minimum has a greater key.
	byMinimum  = byCap + capForms
	byQuantity = byMinimum + 1
	byContents = byQuantity + 1

	capForms = 8
)

// one is the ratio of the whole. A ratio of 1 is a ten-thousandth of a percent.
const one = 1_000_000

// bound is the greatest discount of a coupon in one currency, whatever the cart.
type bound struct {
	ratio  int64 // of the eligible subtotal, in parts of one
	cap    int64 // in minor units
	unit   int64 // of each eligible unit, in minor units
	pieces int64 // number of units with a discount
	each   int64 // of the price of these units, in parts of one
	price  int64 // of a unit below which nothing is taken off
}

// boundsOf returns the bound of a coupon that accepts the currency. Values that are not restricted are
// [math.MaxInt64]. A coupon with tiers of percentages and of amounts has two bounds, and its discount is at
// most the greater bound.
func boundsOf(c *coupon.Coupon, in pricing.Currency) (b, second bound, two bool) {
	b = bound{ratio: one, cap: math.MaxInt64, unit: math.MaxInt64, pieces: math.MaxInt64}
	if c.Discount.Type().HasPercent() {
		b.ratio = c.Discount.Percent().Of(one)
	}
	if c.Discount.Simple() {
		if c.Discount.Type() == pricing.FixedAmount {
			b.cap = c.Discount.Amount().Minor()
		}
		return b, b, false
	}
	t := c.Discount.Terms()
	b.amounts(&t, in)
	b.each = b.ratio
	if t.MaxUnits > 0 {
		b.pieces = t.MaxUnits
	}
	switch t.Type { //nolint:exhaustive // the other types have no further terms
	case pricing.CheapestUnits:
		b.pieces = t.Units
	case pricing.BuyXGetY:
		if t.MaxApplications > 0 {
			b.pieces = t.MaxApplications * t.GetQuantity
		}
		if c.Buys.IsZero() { // the cheapest units cost at most their share of all units
			b.ratio = min(one, (b.ratio*t.GetQuantity+t.BuyQuantity+t.GetQuantity-1)/(t.BuyQuantity+t.GetQuantity))
		}
	case pricing.Tiered:
		return b.tiers(t.Tiers)
	}
	return b, b, false
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

// tiers returns the bound of the tiers with percentages and that of the tiers with amounts.
func (b *bound) tiers(tiers []pricing.Tier) (first, second bound, two bool) {
	first, second = *b, *b
	first.ratio = 0
	most := int64(0)
	for _, t := range tiers {
		if t.Percent.IsZero() {
			most = max(most, t.Amount)
		} else {
			first.ratio = max(first.ratio, t.Percent.Of(one))
		}
	}
	second.cap = min(b.cap, most)
	if first.ratio == 0 {
		return second, second, false
	}
	return first, second, most > 0
}

// product returns a*b, or math.MaxInt64 if the product is greater. a and b must not be negative.
func product(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b)) //nolint:gosec // not negative
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// part returns a ratio of an amount, rounded half up to a step as in package pricing. The amount must be a
// multiple of the step.
func part(amount, ratio, step int64) int64 {
	if step > 1 {
		amount /= step
	}
	high, low := bits.Mul64(uint64(amount), uint64(ratio)) //nolint:gosec // not negative
	low, carry := bits.Add64(low, one/2, 0)
	quotient, _ := bits.Div64(high+carry, low, one) // ratio <= one, so that the high word is below one
	return int64(quotient) * step                   //nolint:gosec // at most the amount
}

// listing returns the form and the key under which a coupon with the bound is listed.
func (b *bound) listing() (form, uint32) {
	switch {
	case b.cap < math.MaxInt64:
		halvings := bits.Len64(one) - bits.Len64(uint64(b.ratio))        //nolint:gosec // at least 1
		return byCap + form(min(halvings, capForms-1)), saturated(b.cap) //nolint:gosec // not negative
	case b.pieces < math.MaxInt64:
		return byPieces, saturated(product((b.each+piece-1)/piece, b.pieces))
	case b.unit < math.MaxInt64:
		return byUnit, saturated(b.unit)
	case b.price > 0:
		return byPrice, ^saturated(b.price)
	}
	return byRatio, uint32(b.ratio) //nolint:gosec // at most one
}

// piece is the ratio that a key of the form byPieces counts.
const piece = one / 10_000

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

// listed is an entry with the kind of its list.
type listed struct {
	listKind
	entry entry
}

// listKind tells which entries are in one list.
type listKind struct {
	form form
	size size
}

func (k listKind) compare(l listKind) int { return cmp.Compare(k.position(), l.position()) }

// position returns the position of the kind in the order of all kinds.
func (k listKind) position() int { return int(k.form)*int(2*ofCategories) + int(k.size) }

// kindAt returns the kind at a position.
func kindAt(at int) listKind {
	return listKind{form(at / int(2*ofCategories)), size(at % int(2*ofCategories))} //nolint:gosec // a position
}

// size is a class of the number of items or categories that a coupon covers.
type size uint8

// sizes has the greatest numbers of the classes. The last class has no greatest number.
var sizes = [...]int{1, 4, 10, 20} // never changed

// ofCategories is the first class of coupons for categories.
const ofCategories = size(len(sizes)) + 1

func sizeOf(targets int) (s size) {
	for int(s) < len(sizes) && targets > sizes[s] {
		s++
	}
	return s
}

// appendListed appends the entries of a coupon for a currency. The coupon has an entry for each of its
// bounds and thresholds. scope is the hashed set of its scope, and targets the number of targets in it.
func appendListed(dst []listed, c *coupon.Coupon, in pricing.Currency, slot uint32, scope hashedSet, targets int) []listed {
	id, of := idPrefix(c.ID), sizeOf(targets)
	if byCategory(&c.Scope) {
		of += ofCategories
	}
	add := func(f form, key uint32) {
		dst = append(dst, listed{listKind{f, of}, entry{rank{key, slot, id}, scope}})
	}
	b, second, two := boundsOf(c, in)
	add(b.listing())
	if two {
		add(second.listing())
		if last := len(dst) - 1; dst[last] == dst[last-1] {
			dst = dst[:last]
		}
	}
	minimum, quantity := eligibility.Minimums(c, in)
	if minimum > 0 {
		add(byMinimum, ^saturated(minimum))
	}
	if quantity > 0 {
		add(byQuantity, ^saturated(quantity))
	}
	if least, _ := c.Conditions.Contains.MinPurchase.In(in); least > 0 {
		add(byContents, ^saturated(least))
	}
	return dst
}

// hints leave coupons out early. They never leave out a coupon that could be used.
type hints struct {
	least uint16 // encoded minimum purchase, rounded down
	from  uint16 // days between which the coupon can be valid, both inclusive
	until uint16
	gate  uint16 // hashed set of countries and channels
}

// hintsOf returns the hints of a coupon in a currency.
func hintsOf(c *coupon.Coupon, in pricing.Currency) hints {
	minimum, _ := eligibility.Minimums(c, in)
	h := hints{least: coarse(minimum), until: math.MaxUint16, gate: gateOf(c)}
	if !c.StartsAt.IsZero() {
		h.from = dayOf(c.StartsAt)
	}
	if !c.ExpiresAt.IsZero() {
		h.until = dayOf(c.ExpiresAt.Add(-1))
	}
	return h
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

// The gate of a coupon has a bit for each hash of a country and of a channel. The first bit of the countries stands
// for a purchase without a country. The first bit of the channels stands for a purchase without a channel.
const (
	countryBits = 10
	channelBits = 6
	countryGate = 1<<countryBits - 1
	channelGate = (1<<channelBits - 1) << countryBits
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
