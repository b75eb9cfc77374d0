// Package pricingtest helps callers to test code that prices carts.
//
// It generates carts and discounts for property tests with [pgregory.net/rapid],
// including edge cases. It checks quotes against the rules of package pricing with an
// independent computation in rational numbers.
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
// [Discount] draws every type of discount. Draw with [SimpleDiscount] for code that handles
// percentages and fixed amounts only.
//
// Set CartOptions.Step for a processor that charges in steps. Draw discounts for such
// carts with [DiscountFor].
//
// Every generated cart is valid. Generators are safe for concurrent use.
package pricingtest
