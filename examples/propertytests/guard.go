// Package propertytests is a rule of a host's own, built on couponkit, and shows
// how the host tests it with couponkit's generators. Read guard_test.go and
// mistakes_test.go beside it.
//
// # The rule
//
// A shop sells some items with little margin. Whatever coupon a customer has, no
// unit of such an item may become cheaper than its floor. A [Guard] prices a cart
// with a coupon as eligibility.Evaluate does, and takes the coupon off every line
// that it would push below its floor. Taking a line out moves a fixed amount to
// the other lines, which may then be too cheap in turn: that is the mistake which
// an example with two lines does not show, and a property does.
//
// # Writing a property
//
// A test by example says what comes out of one cart. A property says what holds
// for all, and rapid looks for a cart on which it does not hold and shrinks it to
// the smallest:
//
//  1. Draw the input from the generators: pricingtest.Cart, then coupontest.SimpleFor,
//     a coupon that has a chance to apply to that cart, and coupontest.Question,
//     a customer, an instant and usage figures. They make the awkward cases often:
//     free lines, one cent beside ten thousand, 999 units, boundaries of dates,
//     limits and minimums.
//  2. Bound them to what your code must handle with pricingtest.CartOptions, and
//     no further: a currency without decimals is a customer somewhere.
//  3. Draw your own input from them where it should meet them. Here floors are
//     drawn near the prices of the cart's items; unrelated floors would hardly
//     ever matter.
//  4. State what must hold. What couponkit promises of prices is one call,
//     pricingtest.CheckQuote: it computes the quote anew. What your rule promises
//     is yours to write, best without the words of the implementation.
//  5. See it fail. A property that also accepts a broken rule shows nothing:
//     mistakes_test.go keeps broken guards, each with the property that must
//     catch it. And count how many of the situations put the rule to work.
package propertytests

import (
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Item names what a line sells: IDs are unique within a kind.
type Item struct {
	Kind pricing.LineKind
	ID   string
}

// Guard keeps units from becoming too cheap. It is not changed by its methods, so
// that many goroutines may use it. The zero value guards nothing.
type Guard struct {
	// Currency of the floors.
	Currency pricing.Currency
	// Floors are the least prices of one unit, in minor units. Items that are not
	// listed may become free.
	Floors map[Item]int64
}

// Offer is what a customer is shown.
type Offer struct {
	// Quote has the list prices when the coupon is refused.
	Quote pricing.Quote
	// Refused is nil, or a [*coupon.Rejection].
	Refused error
	// Guarded tells for each line whether the coupon was taken off it.
	Guarded []bool
}

// Quote prices the cart with the coupon as far as the floors allow. A coupon that
// they leave without effect is refused as no_discount. A malformed cart is a
// [*validation.Error], and so is one in another currency than that of the
// floors.
func (g Guard) Quote(c coupon.Coupon, cart pricing.Cart, q eligibility.Question) (Offer, error) {
	if len(g.Floors) > 0 && cart.Currency != g.Currency {
		var fault validation.Error
		fault.Add("currency", validation.Mismatch, fmt.Sprintf("the floors are in %s", g.Currency))
		return Offer{}, fault.Err()
	}
	result, err := eligibility.Evaluate(&c, cart, q)
	if err != nil {
		return Offer{}, fmt.Errorf("price the cart: %w", err)
	}
	offer := Offer{Quote: result.Quote, Refused: result.Decision.Err(), Guarded: make([]bool, len(cart.Lines))}
	if offer.Refused != nil {
		return offer, nil
	}
	return offer, g.enforce(&offer, c, cart)
}

// enforce prices the cart again without the lines that are too cheap, until no line is. Every round
// removes a line for good, so it ends.
func (g Guard) enforce(offer *Offer, c coupon.Coupon, cart pricing.Cart) error {
	eligible := eligibility.Lines(c.Scope, cart.Lines)
	for g.exclude(offer, eligible) {
		if err := offer.Quote.Reprice(cart, pricing.Terms{Discount: c.Discount, Eligible: eligible}); err != nil {
			return fmt.Errorf("price the cart again: %w", err)
		}
	}
	if offer.Quote.Discount == 0 {
		offer.Refused = coupon.Reject(c.ID, coupon.NoDiscount, coupon.Params{})
	}
	return nil
}

// exclude marks lines that are too cheap as not eligible. It reports whether there were any.
func (g Guard) exclude(offer *Offer, eligible []bool) (found bool) {
	for i, line := range offer.Quote.Lines {
		if g.tooCheap(line) {
			eligible[i], offer.Guarded[i], found = false, true, true
		}
	}
	return found
}

// tooCheap reports whether the cheapest unit is below the floor. A list price below the floor is the
// shop's own decision.
func (g Guard) tooCheap(line pricing.QuotedLine) bool {
	floor, guarded := g.Floors[Item{Kind: line.Kind, ID: line.ItemID}]
	return guarded && line.Discount > 0 && line.Total/line.Quantity < floor
}
