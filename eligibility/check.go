package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Customer is the person who wants to use the coupon. An empty ID means that the customer is not
// a known user.
type Customer struct {
	// ID is the customer's user ID. The coupon's limit per user applies to this ID.
	ID string
	// Email is the e-mail address that is compared with the coupon's allow-list. The comparison
	// of e-mail addresses ignores letter case.
	Email string
}

// Usage contains the numbers of uses of the coupon, as the store reports them. Completed
// redemptions and live reservations both count toward the coupon's limits.
type Usage struct {
	// Completed is the number of completed redemptions of all customers. Reserved is the number
	// of live reservations of all customers.
	Completed int64
	Reserved  int64
	// CompletedByCustomer is the number of completed redemptions of this customer.
	// ReservedByCustomer is the number of live reservations of this customer. Both numbers are
	// ignored if the customer's ID is empty.
	CompletedByCustomer int64
	ReservedByCustomer  int64
	// CustomerHoldsReservation is true if the customer has a live reservation that is usable for
	// this purchase. The customer's own reservation does not count against the limits. A
	// [coupon.PointsRedeemable] coupon requires that the customer has a usable reservation.
	CustomerHoldsReservation bool
}

// Question contains the input of a decision, apart from the coupon and the cart.
type Question struct {
	// At is the instant that is compared with the coupon's start and end. If At is zero, every
	// coupon that has a start or an end is refused.
	At time.Time
	// Customer is the person who wants to use the coupon.
	Customer Customer
	// Usage contains the numbers of uses of the coupon.
	Usage Usage
	// MirrorInvalid is true if the coupon's copy at the payment processor is missing or inactive.
	// The processor reports this state.
	MirrorInvalid bool
	// AllowAnonymous allows a [coupon.General] coupon without a customer, for a preview before
	// sign-in. If AllowAnonymous is false, a missing customer is refused with the reason
	// user_required.
	AllowAnonymous bool
}

// Check makes the part of the decision that does not depend on a cart (specification 4.4). Check
// considers the customer and the coupon's state, dates, limits and copy at the payment processor.
// Check allocates memory only for an e-mail address with characters outside ASCII.
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

// Result contains a decision and the price of the cart.
type Result struct {
	// Decision tells whether the customer may use the coupon for the cart.
	Decision Decision
	// Quote is the price of the cart. If the coupon applies, the prices of the Quote include the
	// discount. If the coupon is refused, the Quote has list prices. The Quote marks the lines
	// that the coupon covers, even if the coupon is refused.
	Quote pricing.Quote

	eligible []bool // memory that Reevaluate keeps
}

// Evaluate decides whether a customer may use a coupon for a cart, and prices the cart
// (specification 4.5, 4.6, 7). If the coupon is refused, the Decision in the Result contains the
// reasons, and the error is nil. For a malformed cart, Evaluate returns a
// [*pricing.ValidationError]. The caller must validate the coupon with [coupon.Coupon.Validate]
// before calling Evaluate.
func Evaluate(c coupon.Coupon, cart pricing.Cart, q Question) (Result, error) {
	r := Result{eligible: make([]bool, 0, min(len(cart.Lines), pricing.MaxLines))}
	if err := r.Reevaluate(c, cart, q); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Reevaluate does the same as [Evaluate], but stores the result in r and reuses the memory of r.
// Reevaluate allocates no memory if r has already held as many lines as the cart has. If
// Reevaluate returns an error, the Quote in r is empty and the Decision in r has no meaning.
// While Reevaluate runs, no other goroutine may use r or its Quote.
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

// CheckCurrency returns the decision after a comparison of the currencies of coupon and cart.
// CheckCurrency adds the reason currency_mismatch if the coupon has an amount in a different
// currency than the cart. Callers of [Check] need CheckCurrency because Check does not know the
// cart.
func (d Decision) CheckCurrency(c coupon.Coupon, cart pricing.Currency) Decision {
	if !fitsCurrency(&c, cart) {
		d.facts.cartCurrency = cart
		d.refuse(coupon.CurrencyMismatch)
	}
	return d
}
