package coupontest

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Purchase returns a cart and a question for which [eligibility.Evaluate] allows an active coupon. The
// cart is small: it has at most four lines, and costs little more than the coupon requires. If the
// coupon's dates and schedule allow no instant, or if Purchase finds no cart, found is false. Purchase
// finds a cart for every coupon that [coupon.New] has made.
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
	for cart := range carts(c) {
		result, err := eligibility.Evaluate(c, cart, q)
		if err == nil && result.Decision.Allowed() && result.Quote.Discount > 0 {
			return cart, q, true
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
func carts(c coupon.Coupon) func(yield func(pricing.Cart) bool) {
	return func(yield func(pricing.Cart) bool) {
		for _, in := range cartCurrencies(c) {
			for _, avoided := range [][]coupon.Scope{{c.Buys}, nil} {
				sold, found := c.Scope.Example(avoided...)
				if !found {
					continue
				}
				for _, units := range unitGroups(c, in) {
					cart := pricing.Cart{Currency: in}
					for _, group := range units {
						sold.Quantity, sold.UnitPrice = group.Quantity, group.UnitPrice
						cart.Lines = append(cart.Lines, sold)
					}
					if !yield(cart) || !c.Buys.IsZero() && !yield(withBought(c, cart)) {
						return
					}
				}
			}
		}
	}
}

// cartCurrencies returns the coupon's currency and all others that the coupon names.
func cartCurrencies(c coupon.Coupon) []pricing.Currency {
	all := append([]pricing.Currency{c.Currency}, c.Discount.Currencies()...)
	for _, m := range slices.Concat(c.Conditions.MinPurchase.Slice(), c.Limits.Budget.Slice()) {
		all = append(all, m.Currency())
	}
	return all
}

// withBought adds what has to be bought to a cart. The units cost as much as the dearest unit that is
// discounted.
func withBought(c coupon.Coupon, cart pricing.Cart) pricing.Cart {
	bought, found := c.Buys.Example(c.Scope)
	if !found {
		bought, _ = c.Buys.Example()
	}
	bought.Quantity, bought.UnitPrice = c.Discount.Terms().BuyQuantity, 1
	for _, l := range cart.Lines[:max(len(cart.Lines)-1, 1)] {
		bought.UnitPrice = max(bought.UnitPrice, l.UnitPrice)
	}
	cart.Lines = append(slices.Clone(cart.Lines), bought)
	return cart
}

// unitGroups returns groups of units to try, the cheapest first.
func unitGroups(c coupon.Coupon, in pricing.Currency) (tries [][]pricing.UnitGroup) {
	t := c.Discount.Terms()
	minimum, _ := c.Minimum(in)
	counts, amounts := []int64{0, t.GetQuantity, t.GetQuantity + 1, t.BuyQuantity + t.GetQuantity, t.MaxUnits + 1, t.Units + 1}, []int64{0}
	percents := []pricing.Percent{t.Percent}
	for _, tier := range t.Tiers {
		percents = append(percents, tier.Percent)
		if t.TierBasis == pricing.ByQuantity {
			counts = append(counts, tier.From)
		} else {
			amounts = append(amounts, tier.From)
		}
	}
	needs := []int64{1}
	for _, p := range percents {
		if !p.IsZero() {
			needs = append(needs, decimal.NewFromInt(50).DivRound(p.Decimal(), 10).Ceil().IntPart())
		}
	}
	for _, count := range counts {
		count = max(count, c.Conditions.MinQuantity, 1)
		counted := []int64{max(t.MaxUnits, t.Units, t.GetQuantity)}
		if t.Type == pricing.BuyXGetY {
			counted = append(counted, applications(t, count)*t.GetQuantity)
		}
		for _, amount := range amounts {
			for _, need := range needs {
				amount := max(amount, minimum, need)
				for _, counted := range counted {
					tries = append(tries, apart(count, counted, need, amount))
				}
				if t.Type == pricing.FixedUnitPrice {
					tries = append(tries, above(count, t, in, amount))
				}
			}
		}
	}
	return tries
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

// above returns one unit that costs just more than the fixed unit price, and others that cost less.
func above(count int64, t pricing.DiscountTerms, in pricing.Currency, amount int64) []pricing.UnitGroup {
	price := t.Amount
	for _, o := range t.Others {
		if o.Currency == in {
			price = o.Amount
		}
	}
	rest := max(amount-price-1, 0)
	full, part := rest/price, rest%price
	return groups(
		pricing.UnitGroup{Quantity: count - 1 - full, UnitPrice: 1}, pricing.UnitGroup{Quantity: 1, UnitPrice: part},
		pricing.UnitGroup{Quantity: full, UnitPrice: price}, pricing.UnitGroup{Quantity: 1, UnitPrice: price + 1},
	)
}

// groups returns the groups that have units.
func groups(all ...pricing.UnitGroup) []pricing.UnitGroup {
	return slices.DeleteFunc(all, func(g pricing.UnitGroup) bool { return g.Quantity < 1 })
}
