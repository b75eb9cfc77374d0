// Package stripemock holds the calls of package stripeprocessor against Stripe's own
// description of its API: stripe-mock checks every request (names, types, enumerations
// and required parameters, and the version of the API, strictly), and the stateful
// account of package stripefake answers it. It is a module of its own so that nobody
// who uses the adapter inherits stripe-mock.
package stripemock
