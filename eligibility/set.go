package eligibility

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Candidate is one of several coupons that a customer wants to use together.
type Candidate struct {
	Coupon coupon.Coupon
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
}

// SetResult contains the decisions about a set of coupons and the priced cart.
type SetResult struct {
	// Coupons has one entry for each coupon of the set, sorted by CouponID.
	Coupons []Outcome
	// Quote is the cart priced with the coupons that apply. If all coupons are refused, the Quote has
	// list prices, and all lines that a coupon of the set covers are marked as eligible.
	Quote pricing.Quote

	// Memory that Reevaluate keeps. The first two have an entry for each coupon, as Coupons has.
	set      []*Candidate
	coverage []coverage
	eligible []bool
	bought   []bool
	terms    []pricing.Terms
	of       []int // the coupons of the terms
}

// EvaluateSet decides which coupons of a set a customer may use together for a cart, and prices
// the cart with these coupons. The Customer, the time and AllowAnonymous are those of the
// question. The Usage and MirrorInvalid of the question are ignored, because each candidate has
// its own. The order of the set does not change the result.
//
// A coupon is refused for the reasons for which [Evaluate] refuses it alone, and in these cases:
//
//   - The coupon cannot be combined with another coupon that is not refused alone. Both coupons get
//     the reason not_combinable. A coupon without a group is exclusive. Of one group, at most one
//     coupon can be used.
//   - The other coupons leave nothing that the coupon could take off.
//
// A coupon that is refused alone excludes no other coupon. A coupon's budget is compared with what
// the coupon takes off together with the others.
//
// EvaluateSet returns a [*pricing.ValidationError] in the cases of [Evaluate], for more than
// [pricing.MaxCoupons] coupons, and for a coupon that is in the set twice.
func EvaluateSet(set []Candidate, cart pricing.Cart, q Question) (SetResult, error) {
	var r SetResult
	if err := r.Reevaluate(set, cart, q); err != nil {
		return SetResult{}, err
	}
	return r, nil
}

// Reevaluate is like [EvaluateSet] but stores the result in its receiver and reuses its memory.
// Repeated calls with carts and sets of the same size allocate no memory, unless coupons exclude
// each other. On error, the result must not be used. While Reevaluate runs, no other goroutine may
// use the SetResult or its Quote.
func (r *SetResult) Reevaluate(set []Candidate, cart pricing.Cart, q Question) error {
	if err := r.begin(set, q); err != nil {
		return err
	}
	r.cover(cart)
	for i := range r.Coupons {
		if !r.Coupons[i].Decision.Allowed() {
			if err := r.alone(i, cart); err != nil {
				return r.fault(set, cart, err)
			}
		}
	}
	if err := r.exclude(func(i int) error { return r.alone(i, cart) }); err != nil {
		return r.fault(set, cart, err)
	}
	if err := r.price(cart); err != nil {
		return r.fault(set, cart, err)
	}
	return nil
}

// CheckSet decides which coupons of a set a customer may use together, without looking at a cart.
// CheckSet considers what [Check] and [Decision.CheckCurrency] consider, and which coupons can be
// combined; see [EvaluateSet]. The outcomes are sorted by CouponID. The order of the set does not
// change them.
func CheckSet(set []Candidate, cart pricing.Currency, q Question) ([]Outcome, error) {
	var r SetResult
	if err := r.begin(set, q); err != nil {
		return nil, err
	}
	for i := range r.Coupons {
		r.Coupons[i].Decision = r.Coupons[i].Decision.CheckCurrency(r.set[i].Coupon, cart)
	}
	_ = r.exclude(func(int) error { return nil }) // without a cart, nothing fails
	return r.Coupons, nil
}

// Err returns nil if no coupon of the set is refused; see [SetErr].
func (r *SetResult) Err() error { return SetErr(r.Coupons) }

// SetErr returns nil if no coupon is refused. If one coupon is refused, SetErr returns its
// [*coupon.Rejection]. If several coupons are refused, SetErr returns [coupon.Rejections].
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

// begin sorts the set and decides about each coupon without a cart.
func (r *SetResult) begin(set []Candidate, q Question) error {
	if !wellFormed(set) {
		return setFaults(set)
	}
	r.set = r.set[:0]
	for i := range set {
		r.set = append(r.set, &set[i])
	}
	slices.SortFunc(r.set, func(a, b *Candidate) int { return cmp.Compare(a.Coupon.ID, b.Coupon.ID) })
	r.Coupons = slices.Grow(r.Coupons[:0], len(set))
	for _, c := range r.set {
		q.Usage, q.MirrorInvalid = c.Usage, c.MirrorInvalid
		r.Coupons = append(r.Coupons, Outcome{CouponID: c.Coupon.ID, Code: c.Coupon.Code})
		r.Coupons[len(r.Coupons)-1].Decision.check(&c.Coupon, &q)
	}
	return nil
}

// wellFormed reports whether the set is not too large and has no coupon twice.
func wellFormed(set []Candidate) bool {
	for i := range set {
		for j := range set[:i] {
			if i >= pricing.MaxCoupons || set[i].Coupon.ID == set[j].Coupon.ID {
				return false
			}
		}
	}
	return true
}

// setFaults says what is not well formed.
func setFaults(set []Candidate) error {
	var faults pricing.ValidationError
	if len(set) > pricing.MaxCoupons {
		faults.Add("coupons", pricing.FieldTooLong, fmt.Sprintf("at most %d coupons are allowed", pricing.MaxCoupons))
		return faults.Err()
	}
	for i := range set {
		for j := range set[:i] {
			if set[i].Coupon.ID == set[j].Coupon.ID {
				faults.Add(fmt.Sprintf("coupons[%d].id", i), pricing.FieldMismatch, fmt.Sprintf("the coupon is also coupons[%d]", j))
				break
			}
		}
	}
	return faults.Err()
}

// cover finds the lines of each coupon, and compares the coupons with the list prices.
func (r *SetResult) cover(cart pricing.Cart) {
	n := len(cart.Lines)
	r.eligible = slices.Grow(r.eligible[:0], n*len(r.set))
	r.bought = slices.Grow(r.bought[:0], n*len(r.set))
	r.coverage = slices.Grow(r.coverage[:0], len(r.set))
	for i, c := range r.set {
		r.eligible = appendLines(r.eligible, &c.Coupon.Scope, cart.Lines)
		on := coverageOf(&c.Coupon, cart, r.eligible[i*n:][:n:n])
		if first := len(r.bought); !c.Coupon.Buys.IsZero() {
			r.bought = appendLines(r.bought, &c.Coupon.Buys, cart.Lines)
			on.bought = r.bought[first:len(r.bought):len(r.bought)]
		}
		r.coverage = append(r.coverage, on)
		r.Coupons[i].Decision.checkCart(&c.Coupon, on)
	}
}

// alone prices the cart with one coupon, for the reasons that depend on the discount.
func (r *SetResult) alone(i int, cart pricing.Cart) error {
	c, on := &r.set[i].Coupon, r.coverage[i]
	if !on.fits || !on.covered {
		return nil
	}
	if err := r.Quote.Reprice(cart, on.terms(c)); err != nil {
		return err
	}
	r.Coupons[i].Decision.checkDiscount(c, on, r.Quote.Discount)
	return nil
}

// exclude refuses the coupons that cannot be combined with a coupon that is not refused alone.
// The function alone adds the reasons of a coupon that were left out so far.
func (r *SetResult) exclude(alone func(int) error) error {
	if !r.conflicts() { // as usual
		return nil
	}
	var allowed, met [pricing.MaxCoupons]bool
	for i := range r.set {
		met[i] = r.Coupons[i].Decision.Allowed() && r.meets(i, func(int) bool { return true })
	}
	for i := range r.set {
		if met[i] {
			if err := alone(i); err != nil {
				return err
			}
		}
		allowed[i] = r.Coupons[i].Decision.Allowed()
	}
	for i := range r.set {
		if !r.meets(i, func(j int) bool { return allowed[j] }) {
			continue
		}
		d := &r.Coupons[i].Decision
		d.facts.excludedBy = nil
		for j := range r.set {
			if allowed[j] && r.conflict(i, j) {
				d.facts.excludedBy = append(d.facts.excludedBy, r.Coupons[j].Code.String())
			}
		}
		slices.Sort(d.facts.excludedBy)
		d.refuse(coupon.NotCombinable)
	}
	return nil
}

// meets reports whether a coupon cannot be combined with one of the others.
func (r *SetResult) meets(i int, other func(int) bool) bool {
	for j := range r.set {
		if r.conflict(i, j) && other(j) {
			return true
		}
	}
	return false
}

// conflicts reports whether any two coupons cannot be combined.
func (r *SetResult) conflicts() bool {
	for i := range r.set {
		for j := range i {
			if r.conflict(i, j) {
				return true
			}
		}
	}
	return false
}

func (r *SetResult) conflict(i, j int) bool {
	return i != j && !pricing.Combinable(r.set[i].Coupon.Group, r.set[j].Coupon.Group)
}

// price prices the cart with the coupons that are not refused. A coupon that turns out to take
// nothing off, or more than its budget has, is refused, and the others are priced without it.
func (r *SetResult) price(cart pricing.Cart) error {
	for {
		r.terms, r.of = r.terms[:0], r.of[:0]
		for i, c := range r.set {
			r.Coupons[i].Discount = 0
			if r.Coupons[i].Decision.Allowed() {
				r.terms, r.of = append(r.terms, r.coverage[i].terms(&c.Coupon)), append(r.of, i)
			}
		}
		if len(r.terms) == 0 {
			return r.listPrices(cart)
		}
		if err := r.Quote.Reprice(cart, r.terms...); err != nil {
			return err
		}
		if r.checkDiscounts() {
			return nil
		}
	}
}

// checkDiscounts looks at what each coupon takes off, and reports whether all of them apply.
func (r *SetResult) checkDiscounts() bool {
	all := true
	for i := range r.Quote.Coupons {
		quoted := &r.Quote.Coupons[i]
		for _, at := range r.of {
			if o := &r.Coupons[at]; o.CouponID == quoted.ID {
				o.Discount = quoted.Amount
				o.Decision.checkDiscount(&r.set[at].Coupon, r.coverage[at], quoted.Amount)
				all = all && o.Decision.Allowed()
			}
		}
	}
	return all
}

// listPrices prices the cart without a discount. A line is eligible if a coupon covers it.
func (r *SetResult) listPrices(cart pricing.Cart) error {
	if len(r.set) == 0 {
		return r.Quote.Reprice(cart)
	}
	n := len(cart.Lines)
	union := r.eligible[:n:n]
	for at, covered := range r.eligible {
		union[at%n] = union[at%n] || covered
	}
	return r.Quote.Reprice(cart, pricing.Terms{Eligible: union})
}

// fault names everything that is wrong with the cart and with the amounts of the coupons.
func (r *SetResult) fault(set []Candidate, cart pricing.Cart, err error) error {
	var faults pricing.ValidationError
	faults.Merge("", cart.Validate())
	for i := range set {
		if c := &set[i].Coupon; fitsCurrency(c, cart.Currency) && !cart.Currency.IsZero() {
			faults.Merge(fmt.Sprintf("coupons[%d]", i), c.Discount.FitsCart(cart))
		}
	}
	if all := faults.Err(); all != nil {
		return all
	}
	return err
}
