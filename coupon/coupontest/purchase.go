package coupontest

import (
	"iter"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Purchase returns a cart and a question for which [eligibility.Evaluate] allows an active coupon. The
// cart is small: it has at most six lines, and costs little more than the coupon requires. If the
// coupon's dates and schedule allow no instant, or if Purchase finds no cart, found is false. Purchase
// finds a cart for nearly every coupon that [coupon.New] has made: it searches, and the terms of a coupon
// may depend on each other in many ways.
func Purchase(c coupon.Coupon) (cart pricing.Cart, q eligibility.Question, found bool) {
	q = eligibility.Question{Customer: eligibility.Customer{ID: "customer"}}
	if q.At, found = instant(c); !found {
		return pricing.Cart{}, eligibility.Question{}, false
	}
	for entry := range c.AllowedUserEmails.All() {
		q.Customer.Email = entry
		if domain, whole := strings.CutPrefix(entry, "*"); whole {
			q.Customer.Email = "somebody" + domain
		}
		break
	}
	q.Facts = factsFor(c.Conditions)
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
	for _, tries := range []iter.Seq[pricing.Cart]{carts(c), drawnCarts(c)} {
		for cart := range tries {
			result, err := eligibility.Evaluate(c, cart, q)
			if err == nil && result.Decision.Allowed() && result.Quote.Discount > 0 {
				return cart, q, true
			}
		}
	}
	return pricing.Cart{}, eligibility.Question{}, false
}

// instant returns an instant at which the coupon is valid and its schedule is open.
func instant(c coupon.Coupon) (at time.Time, found bool) {
	from := c.StartsAt
	if from.IsZero() {
		if from = c.CreatedAt; !c.ExpiresAt.IsZero() && !from.Before(c.ExpiresAt) {
			from = c.ExpiresAt.Add(-16 * 24 * time.Hour)
		}
	}
	at, found = c.Conditions.Schedule.Next(from)
	return at, found && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt))
}

// carts yields carts to try.
func carts(c coupon.Coupon) iter.Seq[pricing.Cart] {
	return func(yield func(pricing.Cart) bool) {
		for _, in := range cartCurrencies(c) {
			for _, sold := range soldLines(c) {
				for _, units := range unitGroups(c, in) {
					cart := pricing.Cart{Currency: in}
					for _, group := range units {
						sold.Quantity, sold.UnitPrice = group.Quantity, group.UnitPrice
						cart.Lines = append(cart.Lines, sold)
					}
					for _, whole := range withBought(c, withRequired(c, cart)) {
						if !yield(whole) {
							return
						}
					}
				}
			}
		}
	}
}

// drawnCarts yields carts with a few units of each kind that the coupon tells apart, for terms that
// depend on each other in several ways. It always yields the same carts.
func drawnCarts(c coupon.Coupon) iter.Seq[pricing.Cart] {
	const tries = 50_000
	return func(yield func(pricing.Cart) bool) {
		random, lines := rand.New(rand.NewPCG(1, 2)), linesOfEachKind(c)
		for range tries {
			in := cartCurrencies(c)
			cart := pricing.Cart{Currency: in[random.IntN(len(in))]}
			quantities, prices := telling(c, cart.Currency)
			for _, line := range lines {
				for range random.IntN(3) {
					line.Quantity, line.UnitPrice = quantities[random.IntN(len(quantities))], prices[random.IntN(len(prices))]
					cart.Lines = append(cart.Lines, line)
				}
			}
			if !yield(cart) {
				return
			}
		}
	}
}

// linesOfEachKind returns a line for each set of the coupon's scopes that cover it alone.
func linesOfEachKind(c coupon.Coupon) (lines []pricing.Line) {
	scopes := slices.DeleteFunc([]coupon.Scope{c.Scope, c.Buys, c.Conditions.Contains.Scope}, coupon.Scope.IsZero)
	for covering := range 1 << len(scopes) {
		inside, outside := []coupon.Scope{}, []coupon.Scope{c.Conditions.ContainsNot}
		for i, s := range scopes {
			if covering&(1<<i) != 0 {
				inside = append(inside, s)
			} else {
				outside = append(outside, s)
			}
		}
		if line, found := coupon.Example(inside, outside...); found && len(inside) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// telling returns quantities and unit prices at which the terms of a coupon change.
func telling(c coupon.Coupon, in pricing.Currency) (quantities, prices []int64) {
	t, k := c.Discount.Terms(), c.Conditions
	minimum, _ := c.Minimum(in)
	maximum, _ := c.Maximum(in)
	quantities = []int64{1, 2, 3, t.BuyQuantity, t.GetQuantity, t.Units, t.MaxUnits + 1, k.MinQuantity, k.MaxQuantity, k.Contains.Quantity, k.Contains.Quantity - 1}
	prices = []int64{1, 2, 3, 5, 10, t.Amount, t.Amount + 1, unitPrice(t, in) + 1, minimum, maximum / 2}
	if !t.Percent.IsZero() {
		need := leastAmount(t.Percent)
		prices = append(prices, need, (need+1)/2, (need+2)/3)
	}
	for _, tier := range t.Tiers {
		quantities, prices = append(quantities, tier.From), append(prices, tier.From)
	}
	unusable := func(n int64) bool { return n < 1 || n > coupon.MaxQuantity }
	return slices.DeleteFunc(quantities, unusable), slices.DeleteFunc(prices, unusable)
}

// cartCurrencies returns the coupon's currency and all others that the coupon names.
func cartCurrencies(c coupon.Coupon) []pricing.Currency {
	all := append([]pricing.Currency{c.Currency}, c.Discount.Currencies()...)
	for _, m := range slices.Concat(c.Conditions.MinPurchase.Slice(), c.Conditions.MaxPurchase.Slice(), c.Limits.Budget.Slice()) {
		all = append(all, m.Currency())
	}
	return all
}

// soldLines returns lines that the coupon covers, and that the cart may contain: at first those that do not
// count as bought.
func soldLines(c coupon.Coupon) (lines []pricing.Line) {
	for _, scope := range []coupon.Scope{c.Scope, c.Conditions.Contains.Scope, c.Buys} {
		for _, avoided := range []coupon.Scope{c.Buys, {}} {
			line, found := coupon.Example([]coupon.Scope{c.Scope, scope}, avoided, c.Conditions.ContainsNot)
			if found && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// withRequired returns the cart with and without the units that it has to contain.
func withRequired(c coupon.Coupon, cart pricing.Cart) []pricing.Cart {
	required, excluded := c.Conditions.Contains, c.Conditions.ContainsNot
	carts := []pricing.Cart{cart}
	with := func(quantity int64, inside []coupon.Scope, outside ...coupon.Scope) (found bool) {
		line, found := coupon.Example(inside, append(outside, excluded)...)
		if found && quantity > 0 {
			line.Quantity, line.UnitPrice = quantity, 1
			larger := cart
			larger.Lines = append([]pricing.Line{line}, cart.Lines...)
			carts = append(carts, larger)
		}
		return found
	}
	scope, eligible := []coupon.Scope{required.Scope}, []coupon.Scope{required.Scope, c.Scope}
	if with(required.Quantity, scope, c.Scope, c.Buys) {
		return carts
	}
	missing := required.Quantity
	for i := range cart.Lines {
		if required.Scope.Covers(&cart.Lines[i]) {
			missing -= cart.Lines[i].Quantity
		}
	}
	with(missing, scope, c.Scope)
	with(required.Quantity, scope, c.Scope)
	with(required.Quantity, eligible, c.Buys)
	with(required.Quantity, eligible)
	return carts
}

// withBought returns each cart with and without what has to be bought. The units cost as much as the
// dearest unit that is discounted.
func withBought(c coupon.Coupon, carts []pricing.Cart) (all []pricing.Cart) {
	if c.Buys.IsZero() {
		return carts
	}
	bought, found := c.Buys.Example(c.Scope, c.Conditions.ContainsNot)
	if !found {
		bought, _ = c.Buys.Example(c.Conditions.ContainsNot)
	}
	t := c.Discount.Terms()
	for _, cart := range carts {
		all = append(all, cart)
		units := int64(0)
		bought.UnitPrice = 1
		for i, l := range cart.Lines {
			if units += l.Quantity; i < max(len(cart.Lines)-1, 1) {
				bought.UnitPrice = max(bought.UnitPrice, l.UnitPrice)
			}
		}
		applications := units / t.GetQuantity
		if t.MaxApplications > 0 {
			applications = min(applications, t.MaxApplications)
		}
		applications = max(applications, 1)
		tries := []int64{1, applications}
		for n := int64(2); n < applications; n *= 2 {
			tries = append(tries, n)
		}
		for _, n := range tries {
			bought.Quantity = n * t.BuyQuantity
			larger := cart
			larger.Lines = append(slices.Clone(cart.Lines), bought)
			all = append(all, larger)
		}
	}
	return all
}

// unitGroups returns groups of units to try, the cheapest first.
func unitGroups(c coupon.Coupon, in pricing.Currency) (tries [][]pricing.UnitGroup) {
	t := c.Discount.Terms()
	minimum, _ := c.Minimum(in)
	maximum, _ := c.Maximum(in)
	counts, amounts := unitCounts(c, in), []int64{0}
	percents := []pricing.Percent{t.Percent}
	for _, tier := range t.Tiers {
		percents = append(percents, tier.Percent)
		if t.TierBasis == pricing.ByAmount {
			amounts = append(amounts, tier.From)
		}
	}
	needs := []int64{1}
	for _, p := range percents {
		if !p.IsZero() {
			needs = append(needs, leastAmount(p))
		}
	}
	for _, count := range counts {
		counted := []int64{max(t.MaxUnits, t.Units, t.GetQuantity)}
		if t.Type == pricing.BuyXGetY {
			counted = append(counted, applications(t, count)*t.GetQuantity, count/t.GetQuantity*t.GetQuantity)
			for _, n := range []int64{(c.Conditions.Contains.Quantity - count) / t.BuyQuantity, max(count, c.Conditions.Contains.Quantity) / (t.BuyQuantity + t.GetQuantity)} {
				counted = append(counted, max(n, 1)*t.GetQuantity)
			}
		}
		for _, amount := range amounts {
			for _, need := range needs {
				amount := max(amount, minimum, need)
				for _, counted := range counted {
					tries = append(tries, apart(count, counted, need, amount), evenly(count, counted, need, amount))
				}
				if t.Type == pricing.FixedUnitPrice {
					price := unitPrice(t, in)
					tries = append(tries, above(count, price, amount), dear(t.MaxUnits, price, amount), evenly(count, 0, amount, amount))
				}
			}
		}
		if maximum > 0 {
			tries = append(tries, evenly(count, 0, maximum, maximum))
		}
	}
	return tries
}

// leastAmount returns the least amount of which a percentage is more than nothing.
func leastAmount(p pricing.Percent) int64 {
	return decimal.NewFromInt(50).DivRound(p.Decimal(), 10).Ceil().IntPart()
}

// unitCounts returns numbers of units to try, in ascending order.
func unitCounts(c coupon.Coupon, in pricing.Currency) (counts []int64) {
	t, k := c.Discount.Terms(), c.Conditions
	least := max(k.MinQuantity, 1)
	counts = []int64{1, t.GetQuantity, t.GetQuantity + 1, t.BuyQuantity + t.GetQuantity, t.MaxUnits + 1, t.Units + 1, k.Contains.Quantity, k.Contains.Quantity - t.BuyQuantity, k.MaxQuantity}
	for _, tier := range t.Tiers {
		if t.TierBasis == pricing.ByQuantity {
			counts = append(counts, tier.From)
		}
	}
	counts = append(counts, dividedCounts(c, in)...)
	for _, count := range slices.Clone(counts) {
		counts = append(counts, max(count, least), max(count, least, k.Contains.Quantity), least-k.Contains.Quantity)
	}
	if each := t.BuyQuantity + t.GetQuantity; each > 0 {
		if most, _ := c.Maximum(in); most > 0 { // the units cost as little as they can
			enough := leastAmount(t.Percent)
			counts = append(counts, t.MaxApplications*t.GetQuantity, t.MaxApplications*each)
			for n := int64(1); ; {
				counts = append(counts, n*t.GetQuantity, n*each)
				price := (enough + n*t.GetQuantity - 1) / (n * t.GetQuantity)
				if price <= 1 {
					break
				}
				n = (enough-1)/((price-1)*t.GetQuantity) + 1
			}
		}
		for _, count := range slices.Clone(counts) {
			counts = append(counts, (count+each-1)/each*each)
		}
	}
	slices.Sort(counts)
	return slices.DeleteFunc(slices.Compact(counts), func(n int64) bool { return n < 1 || k.MaxQuantity > 0 && n > k.MaxQuantity })
}

// dividedCounts returns numbers of units with which a BUY_X_GET_Y discount applies as often as the budget
// and the maximums allow, if all other units that the cart has to contain are bought elsewhere.
func dividedCounts(c coupon.Coupon, in pricing.Currency) (counts []int64) {
	t, required := c.Discount.Terms(), c.Conditions.Contains.Quantity
	if c.Buys.IsZero() || required == 0 {
		return nil
	}
	budget, limited := c.Limits.Budget.In(in)
	most, _ := c.Maximum(in)
	n := int64(1 + sort.Search(int((required+c.Conditions.MinQuantity)/t.BuyQuantity), func(i int) bool {
		units := int64(i+1) * t.GetQuantity
		return most > 0 && units >= most || c.Conditions.MaxQuantity > 0 && units >= c.Conditions.MaxQuantity ||
			limited && t.MaxDiscount == 0 && t.Percent.Of(units) > budget
	}))
	least := required - n*t.BuyQuantity + 1
	return []int64{least, least - n*t.GetQuantity + max(c.Conditions.MinQuantity, (n-1)*t.GetQuantity+1), (n - 1) * t.GetQuantity, (n-1)*t.GetQuantity + 1}
}

// applications returns how often a BUY_X_GET_Y discount applies to units that are bought and discounted.
func applications(t pricing.DiscountTerms, units int64) int64 {
	n := units / (t.BuyQuantity + t.GetQuantity)
	if t.MaxApplications > 0 {
		n = min(n, t.MaxApplications)
	}
	return n
}

// apart returns units of which the counted cheapest cost as little as they can, but at least the need
// together. One unit costs the rest of the amount.
func apart(count, counted, need, amount int64) []pricing.UnitGroup {
	if counted == 0 || counted >= count {
		return groups(pricing.UnitGroup{Quantity: count - 1, UnitPrice: 1}, pricing.UnitGroup{Quantity: 1, UnitPrice: max(amount-(count-1), 1)})
	}
	dear := max(need-(counted-1), 1)
	rest := amount - (counted - 1) - dear*(count-counted)
	return groups(
		pricing.UnitGroup{Quantity: counted - 1, UnitPrice: 1}, pricing.UnitGroup{Quantity: count - counted, UnitPrice: dear},
		pricing.UnitGroup{Quantity: 1, UnitPrice: max(rest, dear)},
	)
}

// evenly returns units of which the counted cheapest cost the need together, while the others cost as little
// as they can. One unit costs the rest of the amount.
func evenly(count, counted, need, amount int64) []pricing.UnitGroup {
	if counted == 0 || counted > count {
		counted = count
	}
	need = max(need, counted)
	each, dearer := need/counted, need%counted
	top := each
	if dearer > 0 {
		top++
	}
	others := count - counted
	rest := amount - need - top*others
	if rest <= 0 || others == 0 {
		return groups(pricing.UnitGroup{Quantity: counted - dearer, UnitPrice: each}, pricing.UnitGroup{Quantity: dearer + others, UnitPrice: top})
	}
	return groups(
		pricing.UnitGroup{Quantity: counted - dearer, UnitPrice: each}, pricing.UnitGroup{Quantity: dearer + others - 1, UnitPrice: top},
		pricing.UnitGroup{Quantity: 1, UnitPrice: top + rest},
	)
}

// unitPrice returns the fixed unit price in a currency.
func unitPrice(t pricing.DiscountTerms, in pricing.Currency) int64 {
	for _, o := range t.Others {
		if o.Currency == in {
			return o.Amount
		}
	}
	return t.Amount
}

// above returns one unit that costs just more than the fixed unit price, and others that cost less.
func above(count, price, amount int64) []pricing.UnitGroup {
	rest := max(amount-price-1, 0)
	full, part := rest/price, rest%price
	others := count - 1 - full
	if part > 0 {
		others--
	}
	return groups(
		pricing.UnitGroup{Quantity: others, UnitPrice: 1}, pricing.UnitGroup{Quantity: 1, UnitPrice: part},
		pricing.UnitGroup{Quantity: full, UnitPrice: price}, pricing.UnitGroup{Quantity: 1, UnitPrice: price + 1},
	)
}

// dear returns units that cost just more than the fixed unit price, and one that costs the rest of the
// amount.
func dear(counted, price, amount int64) []pricing.UnitGroup {
	if counted == 0 || counted > (amount-price-1)/(price+1) {
		return nil
	}
	return groups(pricing.UnitGroup{Quantity: counted, UnitPrice: price + 1}, pricing.UnitGroup{Quantity: 1, UnitPrice: amount - counted*(price+1)})
}

// groups returns the groups that have units. A unit costs something.
func groups(all ...pricing.UnitGroup) []pricing.UnitGroup {
	return slices.DeleteFunc(all, func(g pricing.UnitGroup) bool { return g.Quantity < 1 || g.UnitPrice < 1 })
}
