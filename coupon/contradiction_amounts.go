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

// fieldAmount is an amount in minor units, with the name of its field.
type fieldAmount struct {
	field string
	minor int64
}

// mistakenAmounts reports amounts above the maximum discount or above the budget. found reports whether
// there are any.
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

// amountsOff returns the amounts of the discount in a currency.
func (c *Coupon) amountsOff(in pricing.CurrencyTerms) (amounts []fieldAmount) {
	t := c.Discount.Terms()
	if t.Type.HasAmount() && t.Type != pricing.FixedUnitPrice {
		amounts = append(amounts, fieldAmount{amountPath("discountValue", in.Currency, c.Currency), in.Amount})
	}
	for i, tier := range t.Tiers { // tiers have amounts in one currency only
		amounts = append(amounts, fieldAmount{fmt.Sprintf("tiers[%d].amount", i), tier.Amount})
	}
	return amounts
}

// impossiblePurchase reports terms that no purchase can meet in any currency of the coupon. A minimum
// purchase, an amount of required units or a budget counts as such a term if it makes a further currency impossible.
func (c *Coupon) impossiblePurchase(faults *validation.Error) {
	in := contents{within: c.contents(c.Conditions.ContainsNot), without: c.contents(Scope{})}
	fields := c.impossible(in)
	if fields == nil {
		return
	}
	noMinimum, noMaximum, noContained, noBudget := *c, *c, *c, *c
	noMinimum.Conditions.MinPurchase, noMaximum.Conditions.MaxPurchase = MoneySet{}, MoneySet{}
	noContained.Conditions.Contains.MinPurchase, noBudget.Limits.Budget = MoneySet{}, MoneySet{}
	for _, term := range [...]struct {
		field   string
		without *Coupon
	}{
		{"minPurchase", &noMinimum},
		{"maxPurchase", &noMaximum},
		{"contains", &noContained},
		{amountPath("budget", c.Currency, pricing.Currency{}), &noBudget},
	} {
		if !slices.Contains(fields, term.field) && term.without.impossible(in) == nil {
			fields = append(fields, term.field)
		}
	}
	contradict(faults, "no purchase gets a discount", fields...)
}

// impossible returns the contradicting fields of each currency. It returns nil if a purchase is
// possible in one of them.
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

// currencies returns the coupon's currency and every other currency in which the coupon has all its
// amounts.
func (c *Coupon) currencies() []pricing.Currency {
	all := []pricing.Currency{c.Currency}
	named := c.Discount.Currencies()
	k := &c.Conditions
	for _, m := range slices.Concat(k.MinPurchase.list, k.MaxPurchase.list, k.Contains.MinPurchase.list, c.Limits.Budget.list) {
		named = append(named, m.Currency())
	}
	for _, in := range named {
		if !slices.Contains(all, in) && c.Accepts(in) {
			all = append(all, in)
		}
	}
	return all
}

// purchase describes the eligible lines of a cart that meets the terms. Amounts are in minor units of
// the cart's currency. Bounds are inclusive. Only units with a price above 0 count.
type purchase struct {
	discount             pricing.DiscountTerms // Amount and MaxDiscount are in the currency of the cart
	anyDiscount          bool                  // ignore the value of the discount
	minAmount, maxAmount int64                 // bounds of the eligible subtotal
	minUnits, maxUnits   int64
	budget               int64
	contents             []content // possible contents of the cart; one must fit
	content                        // the entry of contents that is tried now
	contained            int64     // least list price of the required units
	anyContents          bool      // ignore the required contents
	anyBought            bool      // BUY_X_GET_Y: ignore the bought units
}

// content describes a cart's contents besides amounts and numbers of units.
type content struct {
	separate  bool  // BUY_X_GET_Y: eligible units exist that do not count as bought
	elsewhere bool  // BUY_X_GET_Y: units exist that count as bought and are not eligible
	required  int64 // eligible units that must be in the cart
	bought    int64 // units that must be in the cart, that count as bought and are not eligible
	boughtToo bool  // the required units all count as bought
	noneToo   bool  // BUY_X_GET_Y: no required unit counts as bought, and bought units are eligible
	divisible bool  // required units may be split between required and bought
}

// contents has the possible contents of carts: within excludes the forbidden items, without does not.
type contents struct{ within, without []content }

// contents returns the possible contents of a cart without units of the excluded scope. If possible,
// the required units are not eligible and do not count as bought, because they then change neither the
// discount nor its conditions.
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

// purchase returns the coupon's conditions on a purchase in a currency, and the terms that are set.
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
	most, _ := c.Conditions.MaxPurchase.In(in)
	budget, _ := c.Limits.Budget.In(in)
	bound(amountPath("minPurchase", in, c.Currency), least, func(p *purchase) *int64 { return &p.minAmount })
	bound(amountPath("maxPurchase", in, c.Currency), most, func(p *purchase) *int64 { return &p.maxAmount })
	bound("minQuantity", c.Conditions.MinQuantity, func(p *purchase) *int64 { return &p.minUnits })
	bound("maxQuantity", c.Conditions.MaxQuantity, func(p *purchase) *int64 { return &p.maxUnits })
	if !c.Conditions.Contains.IsZero() {
		p.contained, _ = c.Conditions.Contains.MinPurchase.In(in)
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
		if content.required > 0 && content.bought == 0 { // otherwise a bought unit may cost the amount
			one.minAmount = max(one.minAmount, p.contained)
		}
		return one.discounted()
	})
}

// divided moves required units from required to bought, as many as the budget allows. Fewer eligible
// units are then needed, and the discount applies more often. If the discount counts all eligible
// units, divided moves all required units.
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

// discounted reports whether a purchase with the content gets a discount above 0 within the budget.
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

// exists reports whether any purchase is within the bounds. A unit costs at least 1.
func (p purchase) exists() bool {
	return p.minUnits <= p.maxUnits && max(p.minAmount, p.minUnits) <= p.maxAmount
}

// takes reports whether a discount above 0 can be within the budget. The units that the discount counts
// can cost every amount from low to high.
func (p purchase) takes(low, high int64) bool {
	return p.anyDiscount || max(p.off(low), 1) <= min(p.budget, p.off(high))
}

// off returns the discount on units that cost the given amount together.
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

// unlimited replaces a limit of 0, which means no limit, by the greatest int64.
func unlimited(limit int64) int64 {
	if limit == 0 {
		return math.MaxInt64
	}
	return limit
}

// with returns the purchase with at least the given number of units.
func (p purchase) with(units int64) purchase {
	p.minUnits = max(p.minUnits, units)
	return p
}

// cheapest returns the least and the greatest possible cost of the n cheapest units together.
func (p purchase) cheapest(n int64) (low, high int64) {
	low, high = max(p.minAmount, p.minUnits), p.maxAmount
	if n < math.MaxInt64 && p.with(n+1).exists() {
		low = min(low, n) // the other units have the rest of the cost
	}
	if p.minUnits > n {
		each, rest := p.maxAmount/p.minUnits, p.maxAmount%p.minUnits
		high = n*each + max(0, n-(p.minUnits-rest))
	}
	return low, high
}

// leastPerUnit returns the least discount of an amount off each unit. There are two candidates. Either
// one unit costs as much as possible and the others cost 1, or all units cost 1.
func (p purchase) leastPerUnit() int64 {
	others := p.minUnits - 1
	least := others + min(max(p.minAmount-others, 1), p.discount.Amount)
	if n := unlimited(p.discount.MaxUnits); n < math.MaxInt64 && p.with(n+1).exists() {
		least = min(least, n)
	}
	return least
}

// leastAbovePrice returns the least discount of a unit price. It is 1 unless the greatest number of
// units at that price misses the minimum purchase.
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

// buyGet reports whether a BUY_X_GET_Y discount can apply once.
func (p purchase) buyGet() bool {
	t := &p.discount
	bought, apart := t.BuyQuantity, int64(0) // eligible units of one application; apart is how many of them cannot be bought
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

// buyGetGives reports whether a BUY_X_GET_Y discount is above 0 for some number of applications. units
// returns the number of eligible units for a number of applications. At most apart of these units are
// outside the scope of bought units.
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
	// More applications need more units, so each unit can cost less.
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

// fewestApplications returns how often a BUY_X_GET_Y discount applies if there is one eligible unit
// more than it needs, and as few units as possible count as bought.
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
