// Package stripefake is a Stripe account in memory: an http.Handler that answers the
// calls of package stripeprocessor as Stripe does, and remembers.
//
// # Idea
//
// Stripe's own stub, stripe-mock, checks the shape of parameters and keeps no state:
// it cannot show that a lost answer, a crash or an edit in the dashboard is healed.
// This package keeps coupons, promotion codes, sessions and idempotency keys, obeys
// the rules that Stripe documents or was seen to obey (frozen terms, one active
// promotion code for a text, permanently inactive codes, saved answers of a key,
// pages, bounds), and goes wrong on command: it loses answers, fails, is busy.
//
// What staff do in the dashboard and customers on the payment page are methods of
// [Account]. Events are signed as Stripe signs them, and delivered over HTTP to a
// webhook with [Account.Deliver].
//
// It is meant for tests and demonstrations. It is not Stripe: it knows the parameters
// that package stripeprocessor sends and refuses others, computes no taxes, and holds
// no cards. All methods may be called from many goroutines at once.
package stripefake
