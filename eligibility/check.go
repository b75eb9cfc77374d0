package eligibility

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Usage tells how often a coupon was used, as counted by the store. Completed uses and reserved
// uses both count toward the coupon's limits.
type Usage struct {
	// Completed is the number of completed uses by all customers. Reserved is the number of
	// reserved uses by all customers.
	Completed int64
	Reserved  int64
	// CompletedByCustomer is the number of completed uses by this customer. ReservedByCustomer is
	// the number of reserved uses by this customer. For an anonymous customer, CompletedByCustomer
	// and ReservedByCustomer are ignored.
	CompletedByCustomer int64
	ReservedByCustomer  int64
	// CustomerHoldsReservation is true if the customer holds a reserved use for this purchase. The
	// customer's own reserved use does not count toward the limits. A [coupon.PointsRedeemable]
	// coupon is refused if the customer holds no reserved use.
	CustomerHoldsReservation bool
	// Orders is the number of the customer's orders that are paid or still open. An order that the
	// new order would replace does not count.
	Orders int64
	// Periods contains the number of uses for each entry of [coupon.Limits].Periods, in the same
	// order. The uses count in the period that contains Question.At. A reserved use that the
	// customer holds for this purchase does not count.
	Periods []int64
	// ByCode is the number of uses by the code by which the coupon came, completed and reserved. A
	// reserved use that the customer holds for this purchase does not count.
	ByCode int64
	// Spent is the sum of the discounts of paid and open orders. Check compares Spent with the
	// coupon's budget. The discount of an order that the new order would replace does not count.
	Spent coupon.MoneySet
}

// Question is the input of [Check], [Evaluate] and [EvaluateSet], apart from the coupons and the cart.
type Question struct {
	// At is the time at which the coupon must be valid, usually the current time. If At is zero,
	// every coupon with a start or an end is refused.
	At time.Time
	// Customer is the person who wants to use the coupon.
	Customer Customer
	// Facts are what the host knows about the purchase. [Check] does not judge a fact that is not
	// given, because the purchase may come later.
	Facts Facts
	// Usage tells how often the coupon was used.
	Usage Usage
	// Code is the code by which the coupon came. The zero Code restricts nothing.
	Code coupon.IssuedCode
	// MirrorInvalid is true if the coupon's mirror at the payment processor is missing or inactive.
	// If MirrorInvalid is true, the coupon is refused.
	MirrorInvalid bool
	// AllowAnonymous lets an anonymous customer use a [coupon.General] coupon, for example in a
	// preview before sign-in. If AllowAnonymous is false, an anonymous customer is refused with the
	// reason user_required.
	AllowAnonymous bool
	// Conflicts tells [EvaluateSet] and [CheckSet] what happens to coupons that exclude each other.
	// [Check] and [Evaluate] ignore Conflicts.
	Conflicts ConflictPolicy

	early bool // set if the question comes before the purchase
}

// notYet reports whether a missing fact may still be given later.
func (q *Question) notYet(fact string) bool { return q.early && fact == "" }

// Check decides whether a customer may use a coupon, without looking at a cart (specification 4.4).
// Check considers the customer and the coupon's state, dates, limits and mirror. If the coupon is
// allowed, Check allocates memory only for an e-mail address with non-ASCII characters.
func Check(c *coupon.Coupon, q Question) (d Decision) {
	q.early = true
	d.check(c, &q.Code, &q)
	return d
}

// check implements Check for a zero Decision. It ignores the Code of the question.
func (d *Decision) check(c *coupon.Coupon, code *coupon.IssuedCode, q *Question) {
	d.couponID = c.ID
	if c.State != coupon.Active {
		d.refuse(coupon.CouponInactive, nil)
	}
	if !c.StartsAt.IsZero() && q.At.Before(c.StartsAt) {
		d.refuse(coupon.CouponNotStarted, startsLater(c.StartsAt))
	}
	if !c.ExpiresAt.IsZero() && (q.At.IsZero() || !q.At.Before(c.ExpiresAt)) {
		d.refuse(coupon.CouponExpired, hasExpired(c.ExpiresAt))
	}
	if q.MirrorInvalid {
		d.refuse(coupon.ProcessorOutOfSync, nil)
	}
	d.checkConditions(c, q)
	d.checkLimits(&c.Limits, q)
	d.checkPeriods(c, q)
	d.checkBudgets(c, q)
	d.checkCustomer(c, q)
	d.checkCode(code, q)
}

// These types keep the values for the parameters of check's reasons.
type (
	startsLater time.Time
	hasExpired  time.Time
	costsPoints int64
)

func (r startsLater) params() coupon.Params { return coupon.Params{StartsAt: time.Time(r)} }
func (r hasExpired) params() coupon.Params  { return coupon.Params{ExpiresAt: time.Time(r)} }
func (r costsPoints) params() coupon.Params { return coupon.Params{PointsRequired: int64(r)} }

// checkCustomer decides whether the customer may have the coupon at all. If the customer has to sign
// in, it adds only that reason.
func (d *Decision) checkCustomer(c *coupon.Coupon, q *Question) {
	anonymous := !q.Customer.known() && !q.AllowAnonymous
	if anonymous || c.Distribution != coupon.General && (q.Customer.Guest || !q.Customer.known()) {
		d.refuse(coupon.UserRequired, nil)
		return
	}
	d.checkCustomerConditions(c, q)
	switch c.Distribution {
	case coupon.UserSpecific:
		if !c.AllowedUserEmails.Has(q.Customer.Email) {
			d.refuse(coupon.UserNotAllowed, nil)
		}
	case coupon.PointsRedeemable:
		if !q.Usage.CustomerHoldsReservation {
			d.refuse(coupon.PointsNotRedeemed, costsPoints(c.PointsRequired))
		}
	case coupon.General:
	}
}

// Result contains a decision and the priced cart.
type Result struct {
	// Decision tells whether the customer may use the coupon for the cart.
	Decision Decision
	// Quote is the priced cart. If the coupon is allowed, the prices include the discount. If the
	// coupon is refused, the Quote has list prices. Lines that the coupon covers are marked as
	// eligible, even if the coupon is refused.
	Quote pricing.Quote
}

// Evaluate decides whether a customer may use a coupon for a cart, and prices the cart
// (specification 4.5, 4.6, 7). It is [EvaluateSet] of a set of one coupon. If the coupon is refused,
// the Decision contains the reasons, and the error is nil. Evaluate returns a
// [*validation.Error] if the cart is invalid. Evaluate also returns a
// [*validation.Error] if the coupon's fixed amount is not a multiple of the cart's step. The
// coupon must be valid; see [coupon.Coupon.Validate].
func Evaluate(c *coupon.Coupon, cart pricing.Cart, q Question) (Result, error) {
	// Allocate all memory for a set of one coupon at once.
	var memory struct {
		members [1]member
		coupons [1]Outcome
		terms   [1]pricing.Terms
	}
	var r SetResult
	r.members, r.Coupons, r.terms = memory.members[:0], memory.coupons[:0], memory.terms[:0]
	set := [...]Candidate{{Coupon: c, Code: q.Code, Usage: q.Usage, MirrorInvalid: q.MirrorInvalid}}
	q.Conflicts = RefuseAll
	if err := r.Reevaluate(set[:], cart, q); err != nil {
		return Result{}, err
	}
	return Result{Decision: r.Coupons[0].Decision, Quote: r.Quote}, nil
}
