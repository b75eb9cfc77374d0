package eligibility

import (
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Candidate is one of several coupons that a customer wants to use together.
type Candidate struct {
	// Coupon must be valid; see [coupon.Coupon.Validate]. It is not changed.
	Coupon *coupon.Coupon
	// Code is the code by which the coupon came. The zero Code restricts nothing.
	Code coupon.IssuedCode
	// Usage tells how often the coupon was used.
	Usage Usage
	// MirrorInvalid is true if the coupon's mirror at the payment processor is missing or inactive.
	MirrorInvalid bool
}

// Outcome is the result for one coupon of a set.
type Outcome struct {
	CouponID string
	Code     coupon.Code
	// Decision tells whether the customer may use the coupon together with the others.
	Decision Decision
	// Discount is what the coupon takes off the cart, in minor units. The Discount of a refused
	// coupon is 0.
	Discount int64
	// Instead is what the best choice with this coupon would take off the cart, in minor units. With
	// [KeepBest], a coupon has an Instead if it is usable alone and not kept. Otherwise Instead is 0.
	Instead int64
}

// SetResult contains the decisions about a set of coupons and the priced cart.
type SetResult struct {
	// Coupons has one entry for each coupon of the set, sorted by CouponID.
	Coupons []Outcome
	// Quote is the cart priced with the coupons that apply. If all coupons are refused, the Quote has
	// list prices, and all lines that a coupon of the set covers are marked as eligible.
	Quote pricing.Quote

	members     []member // in the order of Coupons
	conflicting bool     // at least two members conflict
	masks       []bool   // memory for the coverage of all members
	terms       []pricing.Terms
	priced      indexes // coupons of Quote

	// The cart priced without one coupon, and the indexes of its coupons.
	without       *pricing.Quote
	pricedWithout indexes
}

// indexes has, for each coupon of a quote, its index in the Coupons of a SetResult.
type indexes [pricing.MaxCoupons]uint8

// member is a coupon of a set in a cart.
type member struct {
	at        uint8 // index in the set
	conflicts bool  // it conflicts with another coupon of the set
	alone     int64 // its discount alone, if it was priced
	beyond    int64 // its discount alone if that exceeds its budget, otherwise 0
	on        coverage
}

// evaluation fills a SetResult. The SetResult does not refer to the set, so that the caller can keep
// the set on the stack.
type evaluation struct {
	*SetResult

	set  []Candidate
	cart *pricing.Cart
}

// candidate returns the candidate of outcome i.
func (e *evaluation) candidate(i int) *Candidate { return &e.set[e.members[i].at] }

// coupon returns the coupon of outcome i.
func (e *evaluation) coupon(i int) *coupon.Coupon { return e.candidate(i).Coupon }

// EvaluateSet decides which coupons of a set a customer may use together for a cart, and prices
// the cart with these coupons. The Customer, the time, AllowAnonymous and Conflicts are those of the
// question. The Code, Usage and MirrorInvalid of the question are ignored, because each candidate has
// its own. The order of the set does not change the result, except with [KeepFirst].
//
// EvaluateSet refuses coupons in this order. A refused coupon never comes back, and the cart is
// priced again after each refusal.
//
//  1. A coupon is refused for the reasons for which [Evaluate] refuses it alone, apart from its
//     budget.
//  2. Coupons that exclude each other are not_combinable; see [ConflictPolicy]. A coupon without a
//     group is exclusive. Of one group, at most one coupon can be used. A coupon that is refused
//     alone excludes no other coupon. Neither does a coupon that exceeds its budget alone. Of
//     such coupons that exclude each other, all are budget_exhausted.
//  3. While a coupon takes off more than the rest of its budget, the last such coupon by lane and ID
//     is budget_exhausted.
//  4. While a coupon takes nothing off, or changes nothing, the last such coupon by lane and ID is
//     no_discount. A coupon changes nothing if the other coupons lead to the same total within their
//     budgets. This is checked only if a unit with a price is left at 0.
//
// EvaluateSet returns a [*validation.Error] in the cases of [Evaluate], for more than
// [pricing.MaxCoupons] coupons, for a candidate without a coupon, for a coupon that is in the set
// twice, and for an unknown ConflictPolicy.
func EvaluateSet(set []Candidate, cart pricing.Cart, q Question) (SetResult, error) {
	var r SetResult
	if err := r.Reevaluate(set, cart, q); err != nil {
		return SetResult{}, err
	}
	return r, nil
}

// Reevaluate is like [EvaluateSet] but stores the result in its receiver and reuses its memory.
// Repeated calls with carts and sets of the same size allocate no memory, unless a coupon is refused.
// On error, the result must not be used. While Reevaluate runs, no other goroutine may use the
// SetResult or its Quote.
func (r *SetResult) Reevaluate(set []Candidate, cart pricing.Cart, q Question) error {
	e := evaluation{r, set, &cart}
	err := e.begin(&q)
	if err != nil {
		return err
	}
	if err = e.refuseAlone(); err == nil {
		if q.Conflicts == KeepBest && e.conflicting {
			err = e.keepBest(&q)
		} else {
			e.exclude(q.Conflicts)
		}
	}
	if err == nil {
		err = e.price()
	}
	if err != nil {
		return e.fault(err)
	}
	return nil
}

// CheckSet decides which coupons of a set a customer may use together, without looking at a cart.
// CheckSet considers what [Check] and [Decision.CheckCurrency] consider, and which coupons can be
// combined; see [EvaluateSet]. The outcomes are sorted by CouponID. The order of the set does not
// change them, except with [KeepFirst].
func CheckSet(set []Candidate, cart pricing.Currency, q Question) ([]Outcome, error) {
	e := evaluation{new(SetResult), set, nil}
	if err := e.begin(&q); err != nil {
		return nil, err
	}
	for i := range e.Coupons {
		e.Coupons[i].Decision = e.Coupons[i].Decision.CheckCurrency(e.coupon(i), cart)
	}
	if q.Conflicts == KeepBest {
		q.Conflicts = RefuseAll
	}
	e.exclude(q.Conflicts)
	return e.Coupons, nil
}

// Err returns nil if no coupon of the set is refused; see [SetErr].
func (r *SetResult) Err() error { return SetErr(r.Coupons) }

// SetErr returns nil if no coupon is refused. If one coupon is refused, SetErr returns its
// [*coupon.Rejection]. If several coupons are refused, SetErr returns [coupon.Rejections] in the order of the
// outcomes.
func SetErr(outcomes []Outcome) error {
	var refused coupon.Rejections
	for i := range outcomes {
		if d := &outcomes[i].Decision; !d.Allowed() {
			refused = append(refused, &coupon.Rejection{CouponID: outcomes[i].CouponID, Reasons: d.Reasons()})
		}
	}
	switch len(refused) {
	case 0:
		return nil
	case 1:
		return refused[0]
	}
	return refused
}

// begin sorts the set and decides about each coupon without a cart. It overwrites the parts of the
// question that are about one coupon.
func (e *evaluation) begin(q *Question) error {
	if !wellFormed(e.set) || q.Conflicts.Validate() != nil {
		return setFaults(e.set, q.Conflicts)
	}
	e.members, e.Coupons = slices.Grow(e.members[:0], len(e.set)), slices.Grow(e.Coupons[:0], len(e.set))
	for i := range e.set {
		e.members = append(e.members, member{})
		at := i
		for ; at > 0 && e.set[i].Coupon.ID < e.set[e.members[at-1].at].Coupon.ID; at-- {
			e.members[at].at = e.members[at-1].at
		}
		e.members[at].at = uint8(i)
	}
	e.findConflicts()
	for i := range e.members {
		c := e.candidate(i)
		q.Usage, q.MirrorInvalid, q.early = c.Usage, c.MirrorInvalid, false
		e.Coupons = append(e.Coupons, Outcome{CouponID: c.Coupon.ID, Code: c.Coupon.Code})
		e.Coupons[i].Decision.check(c.Coupon, &c.Code, q)
	}
	return nil
}

// wellFormed reports whether the set has an allowed size, and every candidate a different coupon.
func wellFormed(set []Candidate) bool {
	for i := range set {
		if set[i].Coupon == nil {
			return false
		}
		for j := range set[:i] {
			if i >= pricing.MaxCoupons || set[i].Coupon.ID == set[j].Coupon.ID {
				return false
			}
		}
	}
	return true
}

// setFaults returns the faults of a set that is not well formed.
func setFaults(set []Candidate, policy ConflictPolicy) error {
	var faults validation.Error
	faults.Merge("", policy.Validate())
	if len(set) > pricing.MaxCoupons {
		faults.Add("coupons", validation.TooLong, fmt.Sprintf("at most %d coupons are allowed", pricing.MaxCoupons))
		return faults.Err()
	}
	for i := range set {
		if set[i].Coupon == nil {
			faults.Add(fmt.Sprintf("coupons[%d]", i), validation.Required, "a coupon is required")
			continue
		}
		for j := range set[:i] {
			if set[j].Coupon != nil && set[i].Coupon.ID == set[j].Coupon.ID {
				faults.Add(fmt.Sprintf("coupons[%d].id", i), validation.Mismatch, fmt.Sprintf("the coupon is also coupons[%d]", j))
				break
			}
		}
	}
	return faults.Err()
}

// fault returns all faults of the cart and of the coupons' amounts. If the set has only one coupon, its
// path is empty.
func (e *evaluation) fault(err error) error {
	var faults validation.Error
	faults.Merge("", e.cart.Validate())
	for i := range e.set {
		path := ""
		if len(e.set) > 1 {
			path = fmt.Sprintf("coupons[%d]", i)
		}
		if c := e.set[i].Coupon; c.Accepts(e.cart.Currency) && !e.cart.Currency.IsZero() {
			faults.Merge(path, c.Discount.FitsCart(*e.cart))
		}
	}
	if all := faults.Err(); all != nil {
		return all
	}
	return err
}
