package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Customer is the person who wants to use the coupon. An empty ID means no known user.
type Customer struct {
	// ID is the user ID for the limit per user.
	ID string
	// Email is compared with the coupon's allow-list. Letter case does not matter.
	Email string
}

// Usage counts the uses of the coupon, as the store reports them. Completed redemptions
// and live reservations both count toward the limits.
type Usage struct {
	// Completed and Reserved are the counts for all customers.
	Completed int64
	Reserved  int64
	// CompletedByCustomer and ReservedByCustomer are the counts for this customer. Both
	// are ignored without a customer.
	CompletedByCustomer int64
	ReservedByCustomer  int64
	// CustomerHoldsReservation is true if one of the live reservations is the
	// customer's own and usable for this purchase. The customer's own reservation does
	// not count against the limits. A [coupon.PointsRedeemable] coupon requires such a
	// reservation.
	CustomerHoldsReservation bool
}

// Question is the input of a decision, besides the coupon and the cart.
type Question struct {
	// At is the instant for which the coupon's dates are checked. A zero At refuses
	// every coupon that has a start or an end.
	At time.Time
	// Customer is the person who wants to use the coupon.
	Customer Customer
	// Usage counts the uses of the coupon.
	Usage Usage
	// MirrorInvalid is true if the processor reports the coupon's mirror as missing or
	// inactive.
	MirrorInvalid bool
	// AllowAnonymous allows a general coupon without a customer, for a preview before
	// sign-in. If it is false, a missing customer is refused with user_required.
	AllowAnonymous bool
}

// Check decides everything that does not depend on a cart: state, dates, mirror, limits
// and customer (specification 4.4). It does not allocate, except for an e-mail address
// with characters outside ASCII.
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

// checkLimits compares the counted uses with the limits. The customer's own reservation
// does not count. The limit per user applies only to a known customer.
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

// Result is a decision and the price of the cart.
type Result struct {
	// Decision tells whether the coupon applies.
	Decision Decision
	// Quote includes the discount if the coupon applies. After a refusal it has list
	// prices. The covered lines are marked in both cases.
	Quote pricing.Quote

	eligible []bool // memory that Reevaluate keeps
}

// Evaluate decides about a coupon for a cart and prices the cart (specification 4.5,
// 4.6, 7). A refusal is in the result's decision, and the error is nil. A malformed
// cart is a [*pricing.ValidationError]. The caller must have validated the coupon with
// [coupon.Coupon.Validate].
func Evaluate(c coupon.Coupon, cart pricing.Cart, q Question) (Result, error) {
	r := Result{eligible: make([]bool, 0, min(len(cart.Lines), pricing.MaxLines))}
	if err := r.Reevaluate(c, cart, q); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Reevaluate evaluates into r as [Evaluate] does, and reuses the memory of r.
// Reevaluate allocates nothing if r has already held as many lines. After an error the
// quote is empty and the decision has no meaning. While Reevaluate runs, no other
// goroutine may use r or its quote.
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

// CheckCurrency adds currency_mismatch to a decision if the coupon has an amount in
// another currency than the cart. Use it after [Check], which does not see the cart.
func (d Decision) CheckCurrency(c coupon.Coupon, cart pricing.Currency) Decision {
	if !fitsCurrency(&c, cart) {
		d.facts.cartCurrency = cart
		d.refuse(coupon.CurrencyMismatch)
	}
	return d
}
