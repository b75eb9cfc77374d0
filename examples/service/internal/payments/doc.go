// Package payments is the processor side of the reference service: a simulated
// processor with a payment page, or Stripe.
//
// The simulated processor stands where a real one would stand. Its page is reached
// by the customer's browser, and what happens there comes back as a signed webhook
// over HTTP, so that the service behind it does not know the difference. As at Stripe, a
// customer who has paid returns when the webhook was answered, or after ten seconds.
package payments
