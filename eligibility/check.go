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
	// Spent is the sum of the discounts of paid and open orders. Check compares Spent with the
	// coupon's budget. The discount of an order that the new order would replace does not count.
	Spent coupon.Amounts
}

// Question is the input of [Check] and [Evaluate], apart from the coupon and the cart.
type Question struct {
	// At is the time at which the coupon must be valid, usually the current time. If At is zero,
	// every coupon with a start or an end is refused.
	At time.Time
	// Customer is the person who wants to use the coupon.
	Customer Customer
	// Usage tells how often the coupon was used.
	Usage Usage
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
}

// Check decides whether a customer may use a coupon, without looking at a cart (specification 4.4).
// Check considers the customer and the coupon's state, dates, limits and mirror. Check allocates
// memory only for an e-mail address with non-ASCII characters.
func Check(c coupon.Coupon, q Question) (d Decision) {
	d.check(&c, &q)
	return d
}

// check is Check of a zero Decision, without copies.
func (d *Decision) check(c *coupon.Coupon, q *Question) {
	f := &d.facts
	f.couponID, f.startsAt, f.expiresAt, f.limits, f.at = c.ID, c.StartsAt, c.ExpiresAt, c.Limits, q.At
	f.pointsRequired, f.minPurchase, f.currency = c.PointsRequired, c.MinPurchase, c.Currency
	if c.State != coupon.Active {
		d.refuse(coupon.CouponInactive)
	}
	if !c.StartsAt.IsZero() && q.At.Before(c.StartsAt) {
		d.refuse(coupon.CouponNotStarted)
	}
	if !c.ExpiresAt.IsZero() && (q.At.IsZero() || !q.At.Before(c.ExpiresAt)) {
		d.refuse(coupon.CouponExpired)
	}
	d.checkSchedule(c, q)
	if q.MirrorInvalid {
		d.refuse(coupon.ProcessorOutOfSync)
	}
	d.checkLimits(&c.Limits, q)
	d.checkPeriods(c, q)
	d.checkBudgets(c, q)
	d.checkCustomer(c, q)
}

// checkLimits compares the counted uses with the limits. The customer's own reservation
// does not count. The limit per user applies only to a known customer.
func (d *Decision) checkLimits(l *coupon.Limits, q *Question) {
	known, own := q.Customer.known(), int64(0)
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
	if q.Customer.Guest && c.Distribution != coupon.General {
		d.refuse(coupon.UserRequired)
		return
	}
	if !q.Customer.known() {
		if !q.AllowAnonymous || c.Distribution != coupon.General {
			d.refuse(coupon.UserRequired)
			return
		}
		d.checkTags(c, q)
		return
	}
	d.checkTags(c, q)
	d.checkFirstOrder(c, q)
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

// Result contains a decision and the priced cart.
type Result struct {
	// Decision tells whether the customer may use the coupon for the cart.
	Decision Decision
	// Quote is the priced cart. If the coupon is allowed, the prices include the discount. If the
	// coupon is refused, the Quote has list prices. Lines that the coupon covers are marked as
	// eligible, even if the coupon is refused.
	Quote pricing.Quote

	eligible []bool // memory that Reevaluate keeps
	bought   []bool
}

// Evaluate decides whether a customer may use a coupon for a cart, and prices the cart
// (specification 4.5, 4.6, 7). If the coupon is refused, the Decision contains the reasons, and the
// error is nil. Evaluate returns a [*pricing.ValidationError] if the cart is invalid. Evaluate also
// returns a [*pricing.ValidationError] if the coupon's fixed amount is not a multiple of the cart's
// step. The coupon must be valid; see [coupon.Coupon.Validate].
func Evaluate(c coupon.Coupon, cart pricing.Cart, q Question) (Result, error) {
	r := Result{eligible: make([]bool, 0, min(len(cart.Lines), pricing.MaxLines))}
	if err := r.Reevaluate(c, cart, q); err != nil {
		return Result{}, err
	}
	return r, nil
}

// Reevaluate is like [Evaluate] but stores the result in its receiver and reuses its memory.
// Repeated calls with carts of the same size allocate no memory. On error, the Quote is empty and
// the Decision must not be used. While Reevaluate runs, no other goroutine may use the Result or
// its Quote.
func (r *Result) Reevaluate(c coupon.Coupon, cart pricing.Cart, q Question) error {
	r.Decision = Decision{}
	r.Decision.check(&c, &q)
	r.eligible = appendLines(r.eligible[:0], &c.Scope, cart.Lines)
	on := coverageOf(&c, cart, r.eligible)
	if !c.Buys.IsZero() {
		r.bought = appendLines(r.bought[:0], &c.Buys, cart.Lines)
		on.bought = r.bought
	}
	if err := r.Quote.Reprice(cart, on.terms(&c)); err != nil {
		return err
	}
	r.Decision.checkCart(&c, on)
	if r.Decision.checkDiscount(&c, on, r.Quote.Discount); r.Decision.Allowed() {
		return nil
	}
	return r.Quote.Reprice(cart, pricing.Terms{Eligible: r.eligible})
}

// coverage is what a coupon covers of a cart. The sums are those of a valid cart only.
type coverage struct {
	currency pricing.Currency
	eligible []bool // one for each line
	bought   []bool // nil without a scope of its own for what is bought
	covered  bool   // at least one line is eligible
	fits     bool   // the amounts of the coupon can be compared with those of the cart
	subtotal int64  // the list price of the eligible lines
	units    int64  // in the eligible lines, but for those that cost nothing
}

func coverageOf(c *coupon.Coupon, cart pricing.Cart, eligible []bool) coverage {
	on := coverage{currency: cart.Currency, eligible: eligible, fits: fitsCurrency(c, cart.Currency)}
	for i := range cart.Lines {
		if l := &cart.Lines[i]; eligible[i] {
			on.covered = true
			if l.UnitPrice > 0 {
				on.subtotal += l.UnitPrice * l.Quantity
				on.units += l.Quantity
			}
		}
	}
	return on
}

// terms are those of the coupon on the cart. Without comparable amounts it takes nothing off.
func (on coverage) terms(c *coupon.Coupon) pricing.Terms {
	t := pricing.Terms{ID: c.ID, Group: c.Group, Discount: c.Discount, Eligible: on.eligible, Bought: on.bought}
	if !on.fits {
		t.Discount, t.Bought = pricing.Discount{}, nil
	} else if c.RefundPolicy == pricing.Rebill {
		least, _ := c.Minimum(on.currency)
		t.Refund = pricing.RefundTerms{Policy: pricing.Rebill, MinPurchase: least, MinQuantity: c.Conditions.MinQuantity}
	}
	return t
}

// minimum is the least eligible subtotal, which may be that of the first tier.
func (on coverage) minimum(c *coupon.Coupon) int64 {
	least, _ := c.Minimum(on.currency)
	if basis, from := c.Discount.FirstTier(); basis == pricing.ByAmount {
		least = max(least, from)
	}
	return least
}

// minimumUnits is the least number of eligible units, which may be that of the first tier.
func (on coverage) minimumUnits(c *coupon.Coupon) int64 {
	least := c.Conditions.MinQuantity
	if basis, from := c.Discount.FirstTier(); basis == pricing.ByQuantity {
		least = max(least, from)
	}
	return least
}

// belowFirstTier reports whether the cart does not reach the first tier of the discount.
func (on coverage) belowFirstTier(c *coupon.Coupon) bool {
	switch basis, from := c.Discount.FirstTier(); basis {
	case pricing.ByAmount:
		return on.subtotal < from
	case pricing.ByQuantity:
		return on.units < from
	}
	return false
}

// fitsCurrency reports whether the coupon has all its amounts in the currency of a cart. A
// percentage without a maximum, a minimum purchase and a budget has no amounts.
func fitsCurrency(c *coupon.Coupon, cart pricing.Currency) bool {
	if _, budgeted := c.Limits.Budget.In(cart); !budgeted && !c.Limits.Budget.IsZero() {
		return false
	}
	_, minimum := c.Minimum(cart)
	return minimum && c.Discount.Accepts(cart)
}

// checkCart compares the coupon with the list prices of the cart.
func (d *Decision) checkCart(c *coupon.Coupon, on coverage) {
	d.facts.eligibleSubtotal, d.facts.cartCurrency = on.subtotal, on.currency
	if least := on.minimum(c); on.fits && on.subtotal < least {
		d.facts.minPurchase, d.facts.currency = least, on.currency
		d.refuse(coupon.MinimumPurchaseNotMet)
	}
	d.checkQuantity(on.minimumUnits(c), on.units)
	if !on.covered {
		d.refuse(coupon.NoEligibleItems)
	}
	if !on.fits {
		d.refuse(coupon.CurrencyMismatch)
	}
}

// checkDiscount looks at what the coupon takes off the cart.
func (d *Decision) checkDiscount(c *coupon.Coupon, on coverage, discount int64) {
	if on.fits && on.covered {
		d.checkTaken(c, on, discount)
		d.checkBudget(c, pricing.NewMoney(discount, on.currency))
	}
}

// checkTaken refuses a coupon that takes nothing off. A cart below the first tier has a reason of its
// own.
func (d *Decision) checkTaken(c *coupon.Coupon, on coverage, discount int64) {
	if discount == 0 && !on.belowFirstTier(c) {
		d.refuse(coupon.NoDiscount)
	}
}

// CheckCurrency returns the decision for a cart in the given currency. If the coupon cannot be used
// in the given currency, the decision gets the reason currency_mismatch. A coupon with amounts, such
// as a fixed amount, a minimum purchase or a budget, needs a cart in one of their currencies.
// [Evaluate] checks the currency itself, but [Check] does not.
func (d Decision) CheckCurrency(c coupon.Coupon, cart pricing.Currency) Decision {
	if !fitsCurrency(&c, cart) {
		d.facts.cartCurrency = cart
		d.refuse(coupon.CurrencyMismatch)
	}
	return d
}
