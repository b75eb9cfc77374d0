// Package pricingtest helps a host to test its own code around prices: it makes
// carts and discounts for property tests with [pgregory.net/rapid], the awkward
// ones first, and it judges priced carts against the rules of package pricing by
// an independent computation in big rational numbers.
//
// A property of a host reads:
//
//	func TestOurCheckout(t *testing.T) {
//		rapid.Check(t, func(t *rapid.T) {
//			cart := pricingtest.Cart(pricingtest.CartOptions{}).Draw(t, "cart")
//			discount := pricingtest.Discount(cart.Currency).Draw(t, "discount")
//			eligible := pricingtest.Eligible(cart).Draw(t, "eligible")
//			quote := ourCheckout(cart, discount, eligible)
//			pricingtest.CheckQuote(t, cart, discount, eligible, quote)
//		})
//	}
//
// Carts for a processor that charges in steps have CartOptions.Step, and discounts
// for them are drawn with [DiscountFor].
//
// Everything generated is valid: pricing it never fails. The generators hold no
// state and may be used from many goroutines.
package pricingtest
