// Package killtest kills a shop at random steps, in tests.
//
// A shop runs inside the test, one [Life] after the other. Each message to its database and each request
// to its payment provider is a step. At one step, drawn by the seed, the shop dies: before the step takes
// effect, or after it and before the answer. From then on nothing that it does reaches the outside.
//
// A [World] is what lives on: the provider, the customers and the time. Its customers have several tabs,
// pay, pay slowly, cancel and return units. Requests are late or lost. Webhooks are lost, late, repeated
// and out of order. The world looks for two payments that can be paid for one coupon of one use. When
// everything has settled, it compares the provider with couponkit.
package killtest
