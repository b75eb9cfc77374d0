package coupon

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// fieldAmount is an amount in minor units, by its field.
type fieldAmount struct {
	field string
	minor int64
}

// mistakenAmounts reports amounts above the maximum of the discount or above the budget. found tells whether there are
// any.
func (c *Coupon) mistakenAmounts(faults *validation.Error) (found bool) {
	above := func(a, most fieldAmount, reason string) bool {
		if a.minor <= most.minor {
			return false
		}
		contradict(faults, reason, a.field, most.field)
		found = true
		return true
	}
	t := c.Discount.Terms()
	for _, in := range append([]pricing.CurrencyTerms{{Currency: c.Currency, Amount: t.Amount, MaxDiscount: t.MaxDiscount}}, t.Others...) {
		maximum := fieldAmount{amountPath("maxDiscount", in.Currency, c.Currency), unlimited(in.MaxDiscount)}
		minor, _ := c.Limits.Budget.In(in.Currency)
		budget := fieldAmount{amountPath("budget", in.Currency, pricing.Currency{}), unlimited(minor)}
		if in.MaxDiscount > 0 && above(maximum, budget, "the maximum is above the budget") {
			continue
		}
		for _, a := range c.amountsOff(in) {
			if above(a, maximum, "the amount is above the maximum") || above(a, budget, "the amount is above the budget") {
				break
			}
		}
	}
	return found
}

// amountsOff returns the amounts that the discount takes off in a currency.
func (c *Coupon) amountsOff(in pricing.CurrencyTerms) (amounts []fieldAmount) {
	t := c.Discount.Terms()
	if t.Type.HasAmount() && t.Type != pricing.FixedUnitPrice {
		amounts = append(amounts, fieldAmount{amountPath("discountValue", in.Currency, c.Currency), in.Amount})
	}
	for i, tier := range t.Tiers { // whose amounts are in one currency
		amounts = append(amounts, fieldAmount{fmt.Sprintf("tiers[%d].amount", i), tier.Amount})
	}
	return amounts
}

// impossiblePurchase reports terms that no purchase meets in any currency of the coupon. A minimum purchase or a budget
// without which a further currency is possible is one of them.
func (c *Coupon) impossiblePurchase(faults *validation.Error) {
	in := contents{within: c.contents(c.Conditions.ContainsNot), without: c.contents(Scope{})}
	fields := c.impossible(in)
	if fields == nil {
		return
	}
	noMinimum, noMaximum, noBudget := *c, *c, *c
	noMinimum.Conditions.MinPurchase, noMaximum.Conditions.MaxPurchase, noBudget.Limits.Budget = MoneySet{}, MoneySet{}, MoneySet{}
	for _, term := range [...]struct {
		field   string
		without *Coupon
	}{{"minPurchase", &noMinimum}, {"maxPurchase", &noMaximum}, {amountPath("budget", c.Currency, pricing.Currency{}), &noBudget}} {
		if !slices.Contains(fields, term.field) && term.without.impossible(in) == nil {
			fields = append(fields, term.field)
		}
	}
	contradict(faults, "no purchase gets a discount", fields...)
}

// impossible returns the fields that contradict each other in each currency, or nil if a purchase is possible in one of
// them.
func (c *Coupon) impossible(units contents) (fields []string) {
	for _, in := range c.currencies() {
		p, terms := c.purchase(in, units)
		contradictory := contradicting(p, terms, (*purchase).possible)
		if contradictory == nil {
			return nil
		}
		for _, field := range contradictory {
			if !slices.Contains(fields, field) {
				fields = append(fields, field)
			}
		}
	}
	return fields
}

// currencies returns the coupon's currency and the others in which it has all its amounts.
func (c *Coupon) currencies() []pricing.Currency {
	all := []pricing.Currency{c.Currency}
	named := c.Discount.Currencies()
	for _, m := range slices.Concat(c.Conditions.MinPurchase.list, c.Conditions.MaxPurchase.list, c.Limits.Budget.list) {
		named = append(named, m.Currency())
	}
	for _, in := range named {
		if !slices.Contains(all, in) && c.Accepts(in) {
			all = append(all, in)
		}
	}
	return all
}

// purchase is what the terms ask of the eligible lines of a cart. Amounts are in minor units of the cart's currency.
// Bounds are inclusive. Units are those with a price above 0.
type purchase struct {
	discount             pricing.DiscountTerms // Amount and MaxDiscount are in the currency of the cart
	anyDiscount          bool                  // the value of the discount does not matter
	minAmount, maxAmount int64                 // the eligible subtotal
	minUnits, maxUnits   int64
	budget               int64
	contents             []content // what the cart contains, of which one is enough
	content                        // one of them
	anyContents          bool      // nothing is required
	anyBought            bool      // BUY_X_GET_Y: no unit has to be bought
}

// content is what a cart contains beside amounts and numbers of units.
type content struct {
	separate  bool  // BUY_X_GET_Y: an eligible unit need not count as bought
	elsewhere bool  // BUY_X_GET_Y: what is bought need not be eligible
	required  int64 // eligible units that have to be in the cart
	bought    int64 // units that have to be in the cart, that count as bought and are not eligible
	boughtToo bool  // the required units all count as bought
	noneToo   bool  // BUY_X_GET_Y: none of them does, and what is bought is eligible
	divisible bool  // any of the required units may be units as in bought instead
}

// contents are the contents that carts can have, with and without what they must not contain.
type contents struct{ within, without []content }

// contents returns what the cart of a purchase contains if it has no unit of the excluded scope. The required units are
// those that disturb least: they are not eligible and do not count as bought, if possible.
func (c *Coupon) contents(excluded Scope) []content {
	exists := func(inside []Scope, outside ...Scope) bool {
		_, found := Example(inside, append(outside, excluded)...)
		return found
	}
	scope, buys, required := []Scope{c.Scope}, []Scope{c.Buys}, []Scope{c.Conditions.Contains.Scope}
	var free content
	if !c.Buys.IsZero() {
		free.separate, free.elsewhere = exists(scope, c.Buys), exists(buys, c.Scope)
	}
	if c.Conditions.Contains.IsZero() || !exists(required) || exists(required, c.Scope, c.Buys) {
		return []content{free}
	}
	eligible, bought := free, free
	eligible.required, bought.bought = c.Conditions.Contains.Quantity, c.Conditions.Contains.Quantity
	eligible.boughtToo = !exists(required, c.Buys)
	if !exists(required, c.Scope) {
		eligible.noneToo = !c.Buys.IsZero() && !free.elsewhere && !exists(append(required, c.Buys))
		return []content{eligible}
	}
	eligible.divisible = true
	if exists(append(required, c.Scope)) {
		return []content{bought, eligible}
	}
	return []content{bought}
}

// purchase returns what the coupon asks of a purchase in a currency, and the terms that are given.
func (c *Coupon) purchase(in pricing.Currency, units contents) (p purchase, terms []term[purchase]) {
	p = purchase{
		discount: c.Discount.Terms(), minAmount: 1, maxAmount: math.MaxInt64, minUnits: 1, maxUnits: math.MaxInt64, budget: math.MaxInt64,
		contents: units.within,
	}
	add := func(field string, relax func(*purchase)) {
		terms = append(terms, term[purchase]{[]string{field}, relax})
	}
	value := "discountValue"
	for _, o := range p.discount.Others {
		if o.Currency == in {
			p.discount.Amount, p.discount.MaxDiscount, value = o.Amount, o.MaxDiscount, amountPath("discountValue", in, c.Currency)
		}
	}
	switch p.discount.Type { //nolint:exhaustive // the other types have nothing but a value
	case pricing.Tiered:
		value = "tiers"
	case pricing.CheapestUnits:
		add("units", func(p *purchase) { p.discount.Units = 1 })
	case pricing.BuyXGetY:
		add("buyQuantity", func(p *purchase) { p.anyBought = true })
		add("getQuantity", func(p *purchase) { p.discount.GetQuantity = 1 })
	}
	add(value, func(p *purchase) { p.anyDiscount = true })
	bound := func(field string, value int64, of func(*purchase) *int64) {
		if without := *of(&p); value > 0 {
			*of(&p) = value
			add(field, func(p *purchase) { *of(p) = without })
		}
	}
	least, _ := c.Minimum(in)
	most, _ := c.Maximum(in)
	budget, _ := c.Limits.Budget.In(in)
	bound(amountPath("minPurchase", in, c.Currency), least, func(p *purchase) *int64 { return &p.minAmount })
	bound(amountPath("maxPurchase", in, c.Currency), most, func(p *purchase) *int64 { return &p.maxAmount })
	bound("minQuantity", c.Conditions.MinQuantity, func(p *purchase) *int64 { return &p.minUnits })
	bound("maxQuantity", c.Conditions.MaxQuantity, func(p *purchase) *int64 { return &p.maxUnits })
	if !c.Conditions.Contains.IsZero() {
		add("contains", func(p *purchase) { p.anyContents = true })
	}
	if !c.Conditions.ContainsNot.IsZero() {
		add("containsNot", func(p *purchase) { p.contents = units.without })
	}
	bound(amountPath("budget", in, pricing.Currency{}), budget, func(p *purchase) *int64 { return &p.budget })
	return p, terms
}

// possible reports whether a purchase gets a discount above 0 within the budget.
func (p *purchase) possible() bool {
	return slices.ContainsFunc(p.contents, func(content content) bool {
		if p.anyContents {
			content.required, content.bought, content.boughtToo, content.noneToo, content.divisible = 0, 0, false, false, false
		}
		if content.divisible {
			content = p.divided(content)
		}
		one := p.with(content.required)
		one.content = content
		return one.discounted()
	})
}

// divided returns the content with as many of the required units bought elsewhere as the budget allows: fewer eligible
// units have to be in the cart, and the discount applies more often. If the discount counts all eligible units, it is
// best that all required units are bought.
func (p purchase) divided(c content) content {
	t := &p.discount
	most := min(p.maxUnits, p.maxAmount)
	n := sort.Search(int((c.required+p.minUnits)/t.BuyQuantity), func(i int) bool {
		counted := int64(i+1) * t.GetQuantity
		return counted >= most || p.off(counted) > p.budget
	})
	c.bought = int64(n+1)*t.BuyQuantity - 1
	if !c.separate {
		c.bought += int64(n+1)*t.GetQuantity - max(p.minUnits, int64(n)*t.GetQuantity+1)
	}
	c.bought = min(max(c.bought, 0), c.required)
	c.required -= c.bought
	return c
}

// discounted reports whether a purchase with one content gets a discount above 0 within the budget.
func (p purchase) discounted() bool {
	t := &p.discount
	switch {
	case !p.exists():
		return false
	case p.anyDiscount && t.Type != pricing.BuyXGetY:
		return true
	}
	switch t.Type {
	case pricing.Percentage, pricing.FixedAmount:
		return p.takes(p.cheapest(unlimited(t.MaxUnits)))
	case pricing.FixedAmountPerUnit:
		return p.takes(p.leastPerUnit(), math.MaxInt64)
	case pricing.FixedUnitPrice:
		return t.Amount <= p.maxAmount-p.minUnits && p.takes(p.leastAbovePrice(), math.MaxInt64)
	case pricing.CheapestUnits:
		return p.takes(p.cheapest(t.Units))
	case pricing.BuyXGetY:
		return p.buyGet()
	case pricing.Tiered:
		return p.tiers()
	}
	return true
}

// exists reports whether a purchase is within the bounds. A unit costs at least 1.
func (p purchase) exists() bool {
	return p.minUnits <= p.maxUnits && max(p.minAmount, p.minUnits) <= p.maxAmount
}

// takes reports whether a discount above 0 is within the budget. What the discount counts gives from low to high, and
// every amount between them.
func (p purchase) takes(low, high int64) bool {
	return p.anyDiscount || max(p.off(low), 1) <= min(p.budget, p.off(high))
}

// off returns what the discount takes off units that cost an amount together.
func (p purchase) off(amount int64) int64 {
	t := &p.discount
	switch {
	case !t.Percent.IsZero():
		amount = t.Percent.Of(amount)
	case t.Type == pricing.FixedAmount || t.Type == pricing.Tiered:
		amount = min(amount, t.Amount)
	}
	return min(amount, unlimited(t.MaxDiscount))
}

// unlimited reads a limit of 0 as none.
func unlimited(limit int64) int64 {
	if limit == 0 {
		return math.MaxInt64
	}
	return limit
}

// with returns the purchase with at least the given units.
func (p purchase) with(units int64) purchase {
	p.minUnits = max(p.minUnits, units)
	return p
}

// cheapest returns the least and the greatest amount that the n cheapest units can cost together.
func (p purchase) cheapest(n int64) (low, high int64) {
	low, high = max(p.minAmount, p.minUnits), p.maxAmount
	if n < math.MaxInt64 && p.with(n+1).exists() {
		low = min(low, n) // the other units cost the rest
	}
	if p.minUnits > n {
		each, rest := p.maxAmount/p.minUnits, p.maxAmount%p.minUnits
		high = n*each + max(0, n-(p.minUnits-rest))
	}
	return low, high
}

// leastPerUnit returns the least discount of an amount off each unit. It is that of one unit that costs as much as
// possible, if the others cost 1, or that of units that all cost 1.
func (p purchase) leastPerUnit() int64 {
	others := p.minUnits - 1
	least := others + min(max(p.minAmount-others, 1), p.discount.Amount)
	if n := unlimited(p.discount.MaxUnits); n < math.MaxInt64 && p.with(n+1).exists() {
		least = min(least, n)
	}
	return least
}

// leastAbovePrice returns the least discount of a unit price. It is 1, unless even the most units at that price do not
// reach the minimum purchase.
func (p purchase) leastAbovePrice() int64 {
	high, low := bits.Mul64(uint64(p.discount.Amount), uint64(p.maxUnits)) //nolint:gosec // not negative
	if high > 0 || low >= uint64(p.minAmount) {                            //nolint:gosec // not negative
		return 1
	}
	least := p.minAmount - int64(low) //nolint:gosec // below minAmount
	if n := unlimited(p.discount.MaxUnits); n < p.maxUnits {
		least = min(least, n)
	}
	return least
}

// buyGet reports whether an application of a BUY_X_GET_Y discount is possible.
func (p purchase) buyGet() bool {
	t := &p.discount
	bought, apart := t.BuyQuantity, int64(0) // eligible units of an application, and those that cannot be bought
	if p.elsewhere || p.anyBought {
		bought = 0
	} else if p.noneToo {
		apart = p.required
	}
	units := func(n int64) int64 { return n*bought + max(n*t.GetQuantity, apart) }
	if p = p.with(units(1)); !p.exists() {
		return false
	}
	low, _ := p.cheapest(min(p.fewestApplications(), unlimited(t.MaxApplications)) * t.GetQuantity)
	return p.anyDiscount || p.takes(low, math.MaxInt64) && p.buyGetGives(units, apart)
}

// buyGetGives reports whether a BUY_X_GET_Y discount is above 0 for some number of applications. units are the eligible
// units of so many. Of these, some may be apart: they cannot be bought.
func (p purchase) buyGetGives(units func(applications int64) int64, apart int64) bool {
	t := &p.discount
	most := unlimited(t.MaxApplications)
	gives := func(n int64) bool {
		n = min(n, most)
		larger := p.with(units(n))
		_, high := larger.cheapest(n * t.GetQuantity)
		return n > 0 && larger.exists() && p.off(high) > 0
	}
	enough := int64(sort.Search(1<<20, func(amount int) bool { return p.off(int64(amount)) > 0 }))
	n := int64(sort.Search(int(p.minUnits), func(n int) bool { return units(int64(n)+1) > p.minUnits }))
	full := apart / t.GetQuantity
	if apart > 0 && (gives(full+1) || gives(min(full, (min(p.maxUnits, p.maxAmount)-apart)/t.BuyQuantity))) {
		return true
	}
	// More applications count more units, so that each can cost less.
	for n = max(n, 1); ; {
		if gives(n) {
			return true
		}
		price := (enough + n*t.GetQuantity - 1) / (n * t.GetQuantity)
		if price <= 1 || n >= most {
			return false
		}
		n = (enough-1)/((price-1)*t.GetQuantity) + 1
		if gives(min(n-1, max(full, 1))) {
			return true
		}
	}
}

// fewestApplications returns how often a BUY_X_GET_Y discount applies if as few units as possible count as bought, and
// if there is one more eligible unit than it counts.
func (p purchase) fewestApplications() int64 {
	t := &p.discount
	n, boughtToo := p.bought/t.BuyQuantity, p.minUnits
	if p.separate && p.boughtToo {
		boughtToo = p.required
	}
	if !p.separate || p.boughtToo {
		n = max(n, (boughtToo+p.bought)/(t.BuyQuantity+t.GetQuantity))
	}
	if t.GetQuantity > 1 {
		n = min(n, p.minUnits/t.GetQuantity)
	}
	return max(n, 1)
}

// tiers reports whether a tier gives a discount.
func (p purchase) tiers() bool {
	t := &p.discount
	for i, tier := range t.Tiers {
		of, end := p, int64(math.MaxInt64)
		if i+1 < len(t.Tiers) {
			end = t.Tiers[i+1].From - 1
		}
		if t.TierBasis == pricing.ByAmount {
			of.minAmount, of.maxAmount = max(p.minAmount, tier.From), min(p.maxAmount, end)
		} else {
			of.minUnits, of.maxUnits = max(p.minUnits, tier.From), min(p.maxUnits, end)
		}
		of.discount.Percent, of.discount.Amount = tier.Percent, tier.Amount
		if of.exists() && of.takes(max(of.minAmount, of.minUnits), of.maxAmount) {
			return true
		}
	}
	return false
}
