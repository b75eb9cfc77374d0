package eligibility_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// The set oracle decides about a set by the four steps of the contract (section 2, several coupons),
// with a decision about each coupon alone and with the price of whole sets.
type setOracle struct {
	set    []eligibility.Candidate // in the order of the request
	cart   pricing.Cart
	q      eligibility.Question
	left   map[string]*eligibility.Candidate
	reason map[string]string // by ID, of those that are refused
}

func (o *setOracle) refuse(id, reason string) {
	delete(o.left, id)
	o.reason[id] = reason
}

// alone decides about one coupon, whose budget may be put aside.
func (o *setOracle) alone(t *testing.T, c eligibility.Candidate, aside bool) eligibility.Decision {
	t.Helper()
	q := o.q
	q.Usage, q.MirrorInvalid = c.Usage, c.MirrorInvalid
	of := *c.Coupon
	if aside {
		of.Limits.Budget = coupon.MoneySet{}
	}
	r, err := eligibility.Evaluate(&of, o.cart, q)
	require.NoError(t, err)
	return r.Decision
}

// price prices the cart with those that are left, but for one.
func (o *setOracle) price(t *testing.T, without string) pricing.Quote {
	t.Helper()
	var terms []pricing.Terms
	for id, c := range o.left {
		if id == without {
			continue
		}
		one := pricing.Terms{ID: id, Group: c.Coupon.Group, Discount: c.Coupon.Discount, Eligible: eligibility.Lines(c.Coupon.Scope, o.cart.Lines)}
		if !c.Coupon.Buys.IsZero() {
			one.Bought = eligibility.Lines(c.Coupon.Buys, o.cart.Lines)
		}
		terms = append(terms, one)
	}
	quote, err := pricing.Price(o.cart, terms...)
	require.NoError(t, err)
	return quote
}

// over returns the coupons of a quote that exceed their budget.
func (o *setOracle) over(quote pricing.Quote) (ids []string) {
	for _, c := range quote.Coupons {
		of := o.left[c.ID]
		budget, limited := of.Coupon.Limits.Budget.In(quote.Currency)
		spent, _ := of.Usage.Spent.In(quote.Currency)
		if limited && c.Discount > max(budget-spent, 0) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// atZero reports whether a unit that has a price is left at 0.
func atZero(quote pricing.Quote) bool {
	for i, l := range quote.Lines {
		for _, u := range quote.Units(i) {
			if l.UnitPrice > 0 && u.UnitPrice == 0 {
				return true
			}
		}
	}
	return false
}

func exclude(a, b *eligibility.Candidate) bool {
	return a.Coupon.ID != b.Coupon.ID && (a.Coupon.Group == "" || b.Coupon.Group == "" || a.Coupon.Group == b.Coupon.Group)
}

// decide returns the quote with the coupons that are left.
func (o *setOracle) decide(t *testing.T) pricing.Quote {
	t.Helper()
	o.left, o.reason = map[string]*eligibility.Candidate{}, map[string]string{}
	for i := range o.set {
		c := &o.set[i]
		if d := o.alone(t, *c, true); d.Allowed() {
			o.left[c.Coupon.ID] = c
		} else {
			o.reason[c.Coupon.ID] = d.Headline().String()
		}
	}
	o.conflicts(t)
	for {
		quote := o.price(t, "")
		if over := o.over(quote); len(over) > 0 {
			o.refuse(over[len(over)-1], "budget_exhausted")
			continue
		}
		last := ""
		for _, c := range quote.Coupons {
			without := o.price(t, c.ID)
			if c.Discount == 0 || atZero(quote) && len(o.left) > 1 && without.Total == quote.Total && len(o.over(without)) == 0 {
				last = c.ID
			}
		}
		if last == "" {
			return quote
		}
		o.refuse(last, "no_discount")
	}
}

// conflicts refuses the coupons that exclude each other.
func (o *setOracle) conflicts(t *testing.T) {
	t.Helper()
	var excluding, poor []*eligibility.Candidate
	for i := range o.set {
		switch c := &o.set[i]; {
		case o.left[c.Coupon.ID] == nil:
		case !o.alone(t, *c, false).Allowed():
			poor = append(poor, c)
		case o.q.Conflicts == eligibility.KeepFirst && slices.ContainsFunc(excluding, func(e *eligibility.Candidate) bool { return exclude(c, e) }):
		default:
			excluding = append(excluding, c)
		}
	}
	for i := range o.set {
		c := &o.set[i]
		if slices.ContainsFunc(excluding, func(e *eligibility.Candidate) bool { return exclude(c, e) }) && o.left[c.Coupon.ID] != nil {
			o.refuse(c.Coupon.ID, "not_combinable")
		}
	}
	poor = slices.DeleteFunc(poor, func(c *eligibility.Candidate) bool { return o.left[c.Coupon.ID] == nil })
	for _, c := range poor {
		if slices.ContainsFunc(poor, func(e *eligibility.Candidate) bool { return exclude(c, e) }) {
			o.refuse(c.Coupon.ID, "budget_exhausted")
		}
	}
}

// smallSet is a small cart with gifts, samples and equal prices, and up to five coupons whose
// discounts often take all.
func smallSet(r *rand.Rand) ([]eligibility.Candidate, pricing.Cart) {
	cart := pricing.Cart{Currency: pricing.EUR()}
	for i := range 1 + r.IntN(3) {
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprint("i", i), Quantity: 1 + r.Int64N(3), UnitPrice: []int64{0, 1, 5, 5, 10, 33}[r.IntN(6)],
		})
	}
	var set []eligibility.Candidate
	for i := range 1 + r.IntN(5) {
		c := member(fmt.Sprintf("C%d", i), []string{"", "a", "b", "c", "d", "e", "f"}[min(r.IntN(14), 6)], nil)
		c.Coupon = unconditional(c.Coupon)
		if r.IntN(3) > 0 {
			c.Coupon.Group = fmt.Sprint("g", i)
		}
		c.Coupon.Scope, c.Coupon.Discount = randomScope(r), randomDiscount(r)
		if c.Coupon.Discount.Type() == pricing.BuyXGetY && r.IntN(2) == 0 {
			c.Coupon.Buys = randomScope(r)
		}
		if r.IntN(3) == 0 {
			budgetOf(1 + r.Int64N(12))(&c)
		}
		if r.IntN(8) == 0 {
			expired(&c)
		}
		set = append(set, c)
	}
	r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
	return set, cart
}

func randomScope(r *rand.Rand) coupon.Scope {
	if r.IntN(2) == 0 {
		return coupon.Scope{AppliesTo: coupon.All}
	}
	return coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(fmt.Sprint("i", r.IntN(3)), fmt.Sprint("i", r.IntN(3)))}
}

func randomDiscount(r *rand.Rand) pricing.Discount {
	percent, err := pricing.ParsePercent([]string{"100", "100", "50", "33.3333", "10", "1"}[r.IntN(6)])
	if err != nil {
		panic(err)
	}
	d := pricing.DiscountTerms{Type: pricing.Percentage + pricing.DiscountType(r.IntN(int(pricing.Tiered))), Currency: pricing.EUR()}
	amount := []int64{1, 3, 5, 20}[r.IntN(4)]
	switch {
	case d.Type.HasPercent():
		d.Percent = percent
	case d.Type.HasAmount():
		d.Amount = amount
	default:
		d.TierBasis, d.Tiers = pricing.ByQuantity, []pricing.Tier{{From: 1 + r.Int64N(3), Percent: percent}, {From: 5, Amount: amount}}
	}
	switch d.Type { //nolint:exhaustive // the other types count all units
	case pricing.CheapestUnits:
		d.Units = 1 + r.Int64N(3)
	case pricing.BuyXGetY:
		d.BuyQuantity, d.GetQuantity = 1+r.Int64N(2), 1+r.Int64N(2)
	case pricing.Percentage:
		d.Lane = pricing.ItemLane + pricing.Lane(r.IntN(2))
	}
	if d.Type <= pricing.FixedUnitPrice && r.IntN(3) == 0 {
		d.MaxUnits = 1 + r.Int64N(3)
	}
	discount, err := pricing.NewDiscount(d)
	if err != nil {
		panic(err)
	}
	return discount
}

// TestSetOracle: small sets are decided as the oracle decides them, with both policies, and in every
// order of the set unless the order decides. Each coupon that applies takes something off. Without
// it the total is another, a budget is exceeded, or no unit is left at 0.
func TestSetOracle(t *testing.T) {
	t.Parallel()
	cases := 6_000
	if testing.Short() {
		cases = 2_000
	}
	var reused eligibility.SetResult
	reasons := map[string]int{}
	for seed := range cases {
		r := rand.New(rand.NewPCG(uint64(seed), 48))
		set, cart := smallSet(r)
		o := setOracle{set: set, cart: cart, q: sound().question}
		o.q.Conflicts = eligibility.ConflictPolicy(seed % 2)
		quote := o.decide(t)
		require.NoError(t, reused.Reevaluate(set, cart, o.q))
		if diff := cmp.Diff(o.lines(quote), decided(reused)); diff != "" || reused.Quote.Total != quote.Total {
			t.Fatalf("case %d, %v of %+v (-oracle +got):\n%s", seed, set, cart, diff)
		}
		for _, reason := range o.reason {
			reasons[reason]++
		}
		for i, c := range quote.Coupons {
			without := o.price(t, c.ID)
			if c.Discount == 0 || len(quote.Coupons) > 1 && atZero(quote) && without.Total == quote.Total && len(o.over(without)) == 0 {
				t.Fatalf("case %d: coupon %d applies and changes nothing", seed, i)
			}
		}
		if o.q.Conflicts == eligibility.KeepFirst {
			continue
		}
		r.Shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		again, err := eligibility.EvaluateSet(set, cart, o.q)
		require.NoError(t, err)
		if diff := cmp.Diff(outcomes(reused.Coupons), outcomes(again.Coupons)); diff != "" {
			t.Fatalf("case %d, in another order (-first +again):\n%s", seed, diff)
		}
	}
	for _, reason := range []string{"coupon_expired", "budget_exhausted", "not_combinable", "no_discount"} {
		require.Positive(t, reasons[reason], reason)
	}
}

// lines tells for each coupon what it takes off or why it is refused, sorted by ID.
func (o *setOracle) lines(quote pricing.Quote) (lines []string) {
	for id, reason := range o.reason {
		lines = append(lines, id+" "+reason)
	}
	for _, c := range quote.Coupons {
		lines = append(lines, fmt.Sprintf("%s %d", c.ID, c.Discount))
	}
	slices.Sort(lines)
	return lines
}

// decided is what a result says, with the reason that decided. A coupon that is refused for an earlier
// step can have reasons of later steps, too.
func decided(r eligibility.SetResult) (lines []string) {
	for _, o := range r.Coupons {
		word := fmt.Sprint(o.Discount)
		if d := o.Decision; !d.Allowed() {
			word = d.Headline().String()
			if d.Has(coupon.NotCombinable) && d.Without(coupon.NotCombinable).Without(coupon.BudgetExhausted).Allowed() {
				word = "not_combinable"
			}
		}
		lines = append(lines, o.CouponID+" "+word)
	}
	slices.Sort(lines)
	return lines
}

// excludes reports whether a coupon has excluded another before it was refused itself.
func excludes(all eligibility.SetResult, c eligibility.Outcome) bool {
	return slices.ContainsFunc(all.Coupons, func(o eligibility.Outcome) bool {
		return slices.ContainsFunc(o.Decision.Reasons(), func(r coupon.Reason) bool {
			return slices.Contains(r.Params.ExcludedBy, c.Code.String())
		})
	})
}

// applying are the coupons that apply, with their discounts.
func applying(r eligibility.SetResult) []string {
	return outcomes(slices.DeleteFunc(slices.Clone(r.Coupons), func(o eligibility.Outcome) bool { return !o.Decision.Allowed() }))
}

// refusedAlone reports whether the coupon of an outcome is also refused alone, its budget aside.
func refusedAlone(t *testing.T, set []eligibility.Candidate, cart pricing.Cart, q eligibility.Question, c eligibility.Outcome) bool {
	t.Helper()
	i := slices.IndexFunc(set, func(other eligibility.Candidate) bool { return other.Coupon.ID == c.CouponID })
	one, of := set[i], *set[i].Coupon
	of.Limits.Budget, one.Coupon = coupon.MoneySet{}, &of
	alone, err := eligibility.EvaluateSet([]eligibility.Candidate{one}, cart, q)
	require.NoError(t, err)
	return alone.Err() != nil
}

// TestARefusedCouponChangesNothingForOthers: a set without a coupon that is refused alone or for
// its budget has the same coupons that apply, with the same discounts, as the set with it.
func TestARefusedCouponChangesNothingForOthers(t *testing.T) {
	t.Parallel()
	cases := 6_000
	if testing.Short() {
		cases = 2_000
	}
	q := sound().question
	for seed := range cases {
		set, cart := smallSet(rand.New(rand.NewPCG(uint64(seed), 49)))
		all, err := eligibility.EvaluateSet(set, cart, q)
		require.NoError(t, err)
		for _, o := range all.Coupons {
			if o.Decision.Allowed() || o.Decision.Has(coupon.NotCombinable) || excludes(all, o) {
				continue
			}
			if !o.Decision.Has(coupon.BudgetExhausted) && !refusedAlone(t, set, cart, q, o) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(set), func(c eligibility.Candidate) bool { return c.Coupon.ID == o.CouponID })
			without, err := eligibility.EvaluateSet(rest, cart, q)
			require.NoError(t, err)
			if diff := cmp.Diff(applying(all), applying(without)); diff != "" || without.Quote.Total != all.Quote.Total {
				t.Fatalf("case %d: without %s (-with +without):\n%s\n%v\n%+v", seed, outcome(o), diff, set, cart)
			}
		}
	}
}
