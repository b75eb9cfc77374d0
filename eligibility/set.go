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
	priced   []int // for each coupon of Quote its index in Coupons

	// The cart without one of the coupons, and the same for its coupons.
	without       pricing.Quote
	pricedWithout []int
}

// EvaluateSet decides which coupons of a set a customer may use together for a cart, and prices
// the cart with these coupons. The Customer, the time, AllowAnonymous and Conflicts are those of the
// question. The Usage and MirrorInvalid of the question are ignored, because each candidate has
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
// EvaluateSet returns a [*pricing.ValidationError] in the cases of [Evaluate], for more than
// [pricing.MaxCoupons] coupons, for a coupon that is in the set twice, and for an unknown
// ConflictPolicy.
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
	beyond, err := r.refuseAlone(cart)
	if err != nil {
		return r.fault(set, cart, err)
	}
	r.exclude(set, q.Conflicts, &beyond)
	if err := r.price(cart); err != nil {
		return r.fault(set, cart, err)
	}
	return nil
}

// CheckSet decides which coupons of a set a customer may use together, without looking at a cart.
// CheckSet considers what [Check] and [Decision.CheckCurrency] consider, and which coupons can be
// combined; see [EvaluateSet]. The outcomes are sorted by CouponID. The order of the set does not
// change them, except with [KeepFirst].
func CheckSet(set []Candidate, cart pricing.Currency, q Question) ([]Outcome, error) {
	var r SetResult
	if err := r.begin(set, q); err != nil {
		return nil, err
	}
	for i := range r.Coupons {
		r.Coupons[i].Decision = r.Coupons[i].Decision.CheckCurrency(r.set[i].Coupon, cart)
	}
	r.exclude(set, q.Conflicts, &excesses{})
	return r.Coupons, nil
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

// begin sorts the set and decides about each coupon without a cart.
func (r *SetResult) begin(set []Candidate, q Question) error {
	if !wellFormed(set) || q.Conflicts.Validate() != nil {
		return setFaults(set, q.Conflicts)
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
func setFaults(set []Candidate, policy ConflictPolicy) error {
	var faults pricing.ValidationError
	faults.Merge("", policy.Validate())
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

// excesses tell for each coupon that exceeds its budget alone what it would take off, in minor
// units. For any other coupon the entry is 0.
type excesses [pricing.MaxCoupons]int64

// refuseAlone adds the reasons that depend on what a coupon takes off alone. A budget is a reason
// only of a coupon that is refused anyway. A coupon is priced alone only where that can matter.
func (r *SetResult) refuseAlone(cart pricing.Cart) (beyond excesses, err error) {
	for i := range r.set {
		c, on, d := &r.set[i].Coupon, r.coverage[i], &r.Coupons[i].Decision
		if !on.fits || !on.covered || d.Allowed() && !r.meetsAny(i) && !r.mayTakeMore(i) {
			continue
		}
		if err := r.Quote.Reprice(cart, on.terms(c)); err != nil {
			return beyond, err
		}
		discount := r.Quote.Discount
		if d.checkTaken(c, on, discount); d.Allowed() && d.exceeds(c, pricing.NewMoney(discount, on.currency)) {
			beyond[i] = discount
		} else if !d.Allowed() {
			d.checkBudget(c, pricing.NewMoney(discount, on.currency))
		}
	}
	return beyond, nil
}

// mayTakeMore reports whether a coupon may take more off beside other coupons than alone. The others
// can make its cheapest units free, so that it counts units that cost more.
func (r *SetResult) mayTakeMore(i int) bool {
	d := &r.set[i].Coupon.Discount
	return len(r.set) > 1 && d.Lane() == pricing.OrderLane && d.Type() == pricing.Percentage && !d.Simple()
}

// exclude refuses the coupons that cannot be combined with a coupon that is not refused alone.
func (r *SetResult) exclude(set []Candidate, policy ConflictPolicy, beyond *excesses) {
	if !r.conflicts() { // as usual
		return
	}
	var excluding, left [pricing.MaxCoupons]bool
	for at := range set {
		i := r.index(set[at].Coupon.ID)
		excluding[i] = r.Coupons[i].Decision.Allowed() && beyond[i] == 0 && (policy != KeepFirst || !r.meets(i, &excluding))
	}
	for i := range r.set {
		if r.meets(i, &excluding) {
			r.refuseExcluded(i, &excluding)
		}
		left[i] = r.Coupons[i].Decision.Allowed()
	}
	for i, discount := range beyond[:len(r.set)] {
		if discount > 0 && (!left[i] || r.meets(i, &left)) {
			r.refuseBudget(i, discount)
		}
	}
}

// refuseExcluded refuses a coupon that cannot be combined with the excluding coupons.
func (r *SetResult) refuseExcluded(i int, excluding *[pricing.MaxCoupons]bool) {
	d := &r.Coupons[i].Decision
	d.facts.excludedBy = nil
	for j := range r.set {
		if excluding[j] && r.conflict(i, j) {
			d.facts.excludedBy = append(d.facts.excludedBy, r.Coupons[j].Code.String())
		}
	}
	slices.Sort(d.facts.excludedBy)
	d.refuse(coupon.NotCombinable)
}

// refuseBudget refuses a coupon whose discount exceeds its budget.
func (r *SetResult) refuseBudget(i int, discount int64) {
	r.Coupons[i].Decision.checkBudget(&r.set[i].Coupon, pricing.NewMoney(discount, r.coverage[i].currency))
}

// meets reports whether a coupon cannot be combined with one of the others.
func (r *SetResult) meets(i int, others *[pricing.MaxCoupons]bool) bool {
	for j := range r.set {
		if others[j] && r.conflict(i, j) {
			return true
		}
	}
	return false
}

// meetsAny reports whether a coupon cannot be combined with any other of the set.
func (r *SetResult) meetsAny(i int) bool {
	for j := range r.set {
		if r.conflict(i, j) {
			return true
		}
	}
	return false
}

// conflicts reports whether any two coupons cannot be combined.
func (r *SetResult) conflicts() bool {
	for i := range r.set {
		if r.meetsAny(i) {
			return true
		}
	}
	return false
}

func (r *SetResult) conflict(i, j int) bool {
	return i != j && !pricing.Combinable(r.set[i].Coupon.Group, r.set[j].Coupon.Group)
}

// index returns the position of a coupon of the set.
func (r *SetResult) index(couponID string) int {
	i, _ := slices.BinarySearchFunc(r.Coupons, couponID, func(o Outcome, id string) int { return cmp.Compare(o.CouponID, id) })
	return i
}

// price prices the cart with the coupons that are not refused, and refuses those that exceed their
// budget or have no effect.
func (r *SetResult) price(cart pricing.Cart) error {
	for again := true; again; {
		r.priced = r.use(r.priced, -1)
		if len(r.terms) == 0 {
			return r.listPrices(cart)
		}
		err := r.Quote.Reprice(cart, r.terms...)
		if err == nil {
			again, err = r.refuseLast(cart)
		}
		if err != nil {
			return err
		}
	}
	for at, i := range r.priced {
		r.Coupons[i].Discount = r.Quote.Coupons[at].Amount
	}
	return nil
}

// use makes the terms of the coupons that are not refused, but for one of them. The terms have the
// order of the coupons in a quote. It returns the indexes of their coupons.
func (r *SetResult) use(indexes []int, but int) []int {
	indexes, r.terms = indexes[:0], r.terms[:0]
	for lane := pricing.ItemLane; lane <= pricing.OrderLane; lane++ {
		for i, c := range r.set {
			if i != but && c.Coupon.Discount.Lane() == lane && r.Coupons[i].Decision.Allowed() {
				indexes, r.terms = append(indexes, i), append(r.terms, r.coverage[i].terms(&c.Coupon))
			}
		}
	}
	return indexes
}

// refuseLast refuses the last coupon that exceeds its budget. If no coupon does, refuseLast refuses
// the last one without an effect. It goes on as long as the quote tells what comes next, and reports
// whether the cart has to be priced again.
func (r *SetResult) refuseLast(cart pricing.Cart) (again bool, err error) {
	if at := r.lastOverBudget(&r.Quote, r.priced); at >= 0 {
		r.refuseBudget(r.priced[at], r.Quote.Coupons[at].Amount)
		return true, nil
	}
	for at := len(r.priced) - 1; at >= 0; at-- {
		d := &r.Coupons[r.priced[at]].Decision
		switch effect := r.Quote.Effect(at); {
		case effect == pricing.Nothing: // the other coupons take off the same
			d.refuse(coupon.NoDiscount)
			again = true
		case r.Quote.Coupons[at].Amount == 0:
			d.refuse(coupon.NoDiscount)
			return true, nil
		case effect == pricing.Redundant, effect == pricing.Uncertain && r.Quote.ReachesZero():
			needless, err := r.needless(cart, r.priced[at])
			if err != nil {
				return false, err
			}
			if needless {
				d.refuse(coupon.NoDiscount)
				r.Quote, r.without = r.without, r.Quote
				r.priced, r.pricedWithout = r.pricedWithout, r.priced
				again, at = false, len(r.priced)
			}
		}
	}
	return again, nil
}

// needless prices the cart without a coupon. It reports whether the total is then the same, and no
// budget is exceeded.
func (r *SetResult) needless(cart pricing.Cart, couponIndex int) (bool, error) {
	r.pricedWithout = r.use(r.pricedWithout, couponIndex)
	if err := r.without.Reprice(cart, r.terms...); err != nil {
		return false, err
	}
	return r.without.Total == r.Quote.Total && r.lastOverBudget(&r.without, r.pricedWithout) < 0, nil
}

// lastOverBudget returns the position of the last coupon in a quote that exceeds its budget, or -1.
// The indexes are those of the quote's coupons.
func (r *SetResult) lastOverBudget(q *pricing.Quote, indexes []int) int {
	for at, i := range slices.Backward(indexes) {
		if r.Coupons[i].Decision.exceeds(&r.set[i].Coupon, pricing.NewMoney(q.Coupons[at].Amount, q.Currency)) {
			return at
		}
	}
	return -1
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
