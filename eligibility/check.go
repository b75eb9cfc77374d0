package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Customer is who wants to use the coupon. Without an ID it is nobody: no
// signed-in user, or one that does not exist.
type Customer struct {
	// ID is whose uses the per-user limit counts.
	ID string
	// Email is compared with the allow-list, in any letter case.
	Email string
}

// Usage is how often the coupon was used, as the store counts it at the instant
// of the question. Completed redemptions and live reservations each take a place.
type Usage struct {
	// Completed and Reserved count over all customers.
	Completed int64
	Reserved  int64
	// CompletedByCustomer and ReservedByCustomer count this customer's; without a
	// customer they are not read.
	CompletedByCustomer int64
	ReservedByCustomer  int64
	// CustomerHoldsReservation tells that one of the live reservations is the
	// customer's own and can be used for this purchase: it does not count against
	// him, and it is what a [coupon.PointsRedeemable] coupon asks for.
	CustomerHoldsReservation bool
}

// Question is everything but coupon and cart that a decision depends on.
type Question struct {
	// At is the instant for which the dates are checked. Without it no coupon that
	// has dates is allowed: not one that starts, and not one that ends.
	At time.Time
	// Customer is who asks.
	Customer Customer
	// Usage of the coupon.
	Usage Usage
	// MirrorInvalid tells that the processor was asked and that the coupon's mirror
	// is missing or not active there.
	MirrorInvalid bool
	// AllowAnonymous lets a question without a customer pass for coupons that do
	// not depend on one: a preview before sign-in. Without it, user_required.
	AllowAnonymous bool
}

// Check decides what does not depend on a cart: state, dates, mirror, limits,
// customer (specification 4.4). It allocates nothing, however long the coupon's
// allow-list is; only an e-mail address outside ASCII costs its normalising.
func Check(c coupon.Coupon, q Question) Decision {
	d := Decision{facts: facts{
		couponID: c.ID, startsAt: c.StartsAt, expiresAt: c.ExpiresAt, limits: c.Limits,
		pointsRequired: c.PointsRequired, minPurchase: c.MinPurchase, currency: c.Currency,
	}}
	if c.State != coupon.Active {
		d.refuse(coupon.CouponInactive)
	}
	if !c.StartsAt.IsZero() && q.At.Before(c.StartsAt) {
		d.refuse(coupon.CouponNotStarted)
	}
	if !c.ExpiresAt.IsZero() && (q.At.IsZero() || !q.At.Before(c.ExpiresAt)) {
		d.refuse(coupon.CouponExpired)
	}
	if q.MirrorInvalid {
		d.refuse(coupon.ProcessorOutOfSync)
	}
	d.checkLimits(c.Limits, &q)
	d.checkCustomer(&c, &q)
	return d
}

// checkLimits compares the places taken with the limits. The customer's own
// reservation is not among them; nobody has no reservation, and no uses that his
// limit could count.
func (d *Decision) checkLimits(l coupon.Limits, q *Question) {
	known, own := q.Customer.ID != "", int64(0)
	if known && q.Usage.CustomerHoldsReservation {
		own = 1
	}
	if full(l.MaxUses, q.Usage.Completed, q.Usage.Reserved, own) {
		d.refuse(coupon.UsageLimitReached)
	}
	if known && full(l.MaxUsesPerUser, q.Usage.CompletedByCustomer, q.Usage.ReservedByCustomer, own) {
		d.refuse(coupon.UserUsageLimitReached)
	}
}

// full reports whether a limit, of which 0 is none, leaves no place. It subtracts
// so that no figure overflows; figures below 0 count as 0.
func full(limit, completed, reserved, own int64) bool {
	return limit > 0 && max(max(reserved, 0)-own, 0) >= limit-max(completed, 0)
}

func (d *Decision) checkCustomer(c *coupon.Coupon, q *Question) {
	if q.Customer.ID == "" {
		if !q.AllowAnonymous || c.Distribution != coupon.General {
			d.refuse(coupon.UserRequired)
		}
		return
	}
	switch c.Distribution {
	case coupon.UserSpecific:
		if !c.AllowedUserEmails.Has(q.Customer.Email) {
			d.refuse(coupon.UserNotAllowed)
		}
	case coupon.PointsRedeemable:
		if !q.Usage.CustomerHoldsReservation {
			d.refuse(coupon.PointsNotRedeemed)
		}
	case coupon.General:
	}
}

// Result is a cart priced with a coupon, or without it when it was refused.
type Result struct {
	// Decision tells whether the coupon applies.
	Decision Decision
	// Quote is discounted when the decision is to allow, else it has the list prices
	// and tells all the same which lines the coupon covers.
	Quote pricing.Quote

	eligible []bool // memory that Reevaluate keeps
}

// Evaluate decides with the cart and prices it (specification 4.5, 4.6, 7). A
// malformed cart is a [*pricing.ValidationError] that names every offending field;
// a refusal is no error here but in the result's decision. The coupon is one that
// [coupon.Coupon.Validate] accepts.
func Evaluate(c coupon.Coupon, cart pricing.Cart, q Question) (Result, error) {
	r := Result{eligible: make([]bool, 0, min(len(cart.Lines), pricing.MaxLines))}
	if err := r.Reevaluate(c, cart, q); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Reevaluate is [Evaluate] into r, reusing its memory: once r has held a cart of
// this many lines, nothing is allocated. It must not run while another goroutine
// reads r or its quote. After an error the quote is empty, and the decision must
// not be read: it may be to allow.
func (r *Result) Reevaluate(c coupon.Coupon, cart pricing.Cart, q Question) error {
	r.Decision = Check(c, q)
	r.eligible = AppendLines(r.eligible[:0], c.Scope, cart.Lines)
	fits := fitsCurrency(&c, cart.Currency)
	discount := c.Discount
	if !fits || !r.Decision.Allowed() {
		discount = pricing.Discount{}
	}
	if err := r.Quote.Reprice(cart, discount, r.eligible); err != nil {
		return err
	}
	if r.checkCart(&c, fits); r.Decision.Allowed() || r.Quote.Discount == 0 {
		return nil
	}
	return r.Quote.Reprice(cart, pricing.Discount{}, r.eligible)
}

// fitsCurrency reports whether the coupon's amounts can be compared with a cart
// of the currency; a percentage without a minimum purchase has no amounts.
func fitsCurrency(c *coupon.Coupon, cart pricing.Currency) bool {
	return c.Currency == cart || c.Discount.Type() == pricing.Percentage && c.MinPurchase == 0
}

func (r *Result) checkCart(c *coupon.Coupon, fits bool) {
	d, base := &r.Decision, r.Quote.EligibleSubtotal
	d.facts.eligibleSubtotal, d.facts.cartCurrency = base, r.Quote.Currency
	covered := false
	for _, e := range r.eligible {
		covered = covered || e
	}
	if fits && base < c.MinPurchase {
		d.refuse(coupon.MinimumPurchaseNotMet)
	}
	if !covered {
		d.refuse(coupon.NoEligibleItems)
	}
	if fits && covered && c.Discount.InSteps(base, r.Quote.Step) == 0 {
		d.refuse(coupon.NoDiscount)
	}
	if !fits {
		d.refuse(coupon.CurrencyMismatch)
	}
}

// CheckCurrency adds currency_mismatch to a decision that was made without a
// cart, when amounts of the coupon cannot be compared with the currency.
func (d Decision) CheckCurrency(c coupon.Coupon, cart pricing.Currency) Decision {
	if !fitsCurrency(&c, cart) {
		d.facts.cartCurrency = cart
		d.refuse(coupon.CurrencyMismatch)
	}
	return d
}
