package eligibility_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// member is a coupon of a set: 10 % off phones, of a group.
func member(code, group string, change func(*eligibility.Candidate)) eligibility.Candidate {
	s := sound()
	key, err := coupon.ParseCode(code)
	if err != nil {
		panic(err)
	}
	c := eligibility.Candidate{Coupon: &s.coupon, Usage: s.question.Usage}
	c.Coupon.ID, c.Coupon.Code, c.Coupon.Group = coupon.IDPrefix+strings.ToLower(code), key, group
	if change != nil {
		change(&c)
	}
	return c
}

func amountOff(minor int64) func(*eligibility.Candidate) {
	return func(c *eligibility.Candidate) {
		discount, err := pricing.AmountOff(pricing.NewMoney(minor, pricing.EUR()))
		if err != nil {
			panic(err)
		}
		c.Coupon.Discount = discount
	}
}

func expired(c *eligibility.Candidate) { c.Coupon.ExpiresAt = noon }

func both(first, second func(*eligibility.Candidate)) func(*eligibility.Candidate) {
	return func(c *eligibility.Candidate) {
		first(c)
		second(c)
	}
}

func percentInItemLane(percent string) func(*eligibility.Candidate) {
	return func(c *eligibility.Candidate) {
		p, err := pricing.ParsePercent(percent)
		if err != nil {
			panic(err)
		}
		if c.Coupon.Discount, err = pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: p}); err != nil {
			panic(err)
		}
	}
}

func budgetOf(minor int64) func(*eligibility.Candidate) {
	return func(c *eligibility.Candidate) {
		c.Coupon.Limits.Budget = coupon.NewMoneySet(pricing.NewMoney(minor, pricing.EUR()))
	}
}

// outcome is an outcome in one line, such as "TEN 500" or "TEN not_combinable(ONE)".
func outcome(o eligibility.Outcome) string {
	words := []string{o.Code.String()}
	for _, reason := range o.Decision.Reasons() {
		word := reason.Code.String()
		if by := reason.Params.ExcludedBy; by != nil {
			word += "(" + strings.Join(by, ",") + ")"
		}
		words = append(words, word)
	}
	if o.Decision.Allowed() {
		words = append(words, fmt.Sprint(o.Discount))
	}
	return strings.Join(words, " ")
}

func outcomes(list []eligibility.Outcome) (lines []string) {
	for _, o := range list {
		lines = append(lines, outcome(o))
	}
	return lines
}

func TestWhichCouponsApplyTogether(t *testing.T) {
	t.Parallel()
	s := sound() // phones for 50.00
	for about, c := range map[string]struct {
		set  []eligibility.Candidate
		want []string
	}{
		"one exclusive coupon":     {[]eligibility.Candidate{member("A", "", nil)}, []string{"A 500"}},
		"two groups":               {[]eligibility.Candidate{member("A", "a", nil), member("B", "b", nil)}, []string{"A 500", "B 500"}},
		"exclusive coupons":        {[]eligibility.Candidate{member("A", "", nil), member("B", "", nil)}, []string{"A not_combinable(B)", "B not_combinable(A)"}},
		"one of two is exclusive":  {[]eligibility.Candidate{member("A", "", nil), member("B", "b", nil)}, []string{"A not_combinable(B)", "B not_combinable(A)"}},
		"one group":                {[]eligibility.Candidate{member("A", "a", nil), member("B", "a", nil), member("C", "c", nil)}, []string{"A not_combinable(B)", "B not_combinable(A)", "C 500"}},
		"three of one group":       {[]eligibility.Candidate{member("A", "a", nil), member("B", "a", nil), member("C", "a", nil)}, []string{"A not_combinable(B,C)", "B not_combinable(A,C)", "C not_combinable(A,B)"}},
		"a refused one of a group": {[]eligibility.Candidate{member("A", "a", expired), member("B", "a", nil)}, []string{"A coupon_expired not_combinable(B)", "B 500"}},
		"two refused ones":         {[]eligibility.Candidate{member("A", "", expired), member("B", "", expired)}, []string{"A coupon_expired", "B coupon_expired"}},
		"one that takes nothing off alone": {
			[]eligibility.Candidate{member("A", "", func(c *eligibility.Candidate) {
				c.Coupon.Scope.Devices, c.Coupon.Conditions.MinPurchase = coupon.NewItems("gift"), least(0)
			}), member("B", "", nil)}, []string{"A no_discount not_combinable(B)", "B 500"},
		},
		"nothing is left": {
			[]eligibility.Candidate{member("A", "a", amountOff(2000)), member("B", "b", percentInItemLane("100"))},
			[]string{"A no_discount", "B 5000"},
		},
		"the order lane sees what the item lane left": {
			[]eligibility.Candidate{member("A", "a", nil), member("B", "b", percentInItemLane("50"))}, []string{"A 250", "B 2500"},
		},
		"a budget counts the discount in the set": {
			[]eligibility.Candidate{member("A", "a", budgetOf(250)), member("B", "b", percentInItemLane("50"))}, []string{"A 250", "B 2500"},
		},
		"a budget that is too small": {
			[]eligibility.Candidate{member("A", "a", budgetOf(249)), member("B", "b", percentInItemLane("50"))}, []string{"A budget_exhausted", "B 2500"},
		},
		"the budget of a refused coupon": {
			[]eligibility.Candidate{member("A", "a", both(budgetOf(499), expired)), member("B", "b", percentInItemLane("50"))},
			[]string{"A coupon_expired budget_exhausted", "B 2500"},
		},
		"each has its own uses": {
			[]eligibility.Candidate{member("A", "a", func(c *eligibility.Candidate) { c.Usage.Reserved = 5 }), member("B", "b", nil)},
			[]string{"A usage_limit_reached", "B 500"},
		},
		"each has its own mirror": {
			[]eligibility.Candidate{member("A", "a", func(c *eligibility.Candidate) { c.MirrorInvalid = true }), member("B", "b", nil)},
			[]string{"A processor_out_of_sync", "B 500"},
		},
		"two of one group that are over their budgets alone": {
			[]eligibility.Candidate{member("A", "a", budgetOf(499)), member("B", "a", budgetOf(499))}, []string{"A budget_exhausted", "B budget_exhausted"},
		},
		"one of a group that is over its budget alone": {
			[]eligibility.Candidate{member("A", "a", budgetOf(499)), member("B", "a", nil)}, []string{"A budget_exhausted not_combinable(B)", "B 500"},
		},
		"over its budget alone, beside a refused one of its group": {
			[]eligibility.Candidate{member("A", "a", budgetOf(250)), member("B", "b", percentInItemLane("50")), member("C", "a", expired)},
			[]string{"A 250", "B 2500", "C coupon_expired"},
		},
		"two budgets, of which the last is enough to refuse": { // 50.00 on each of two lanes
			[]eligibility.Candidate{member("A", "a", both(percentInItemLane("100"), budgetOf(4999))), member("B", "b", both(amountOff(400), budgetOf(300)))},
			[]string{"A budget_exhausted", "B budget_exhausted"},
		},
		"a budget that fits when the last one is gone": { // A and B take all, in one lane: half each
			[]eligibility.Candidate{member("A", "a", both(percentInItemLane("100"), budgetOf(5000))), member("B", "b", both(percentInItemLane("100"), budgetOf(2499)))},
			[]string{"A 5000", "B budget_exhausted"},
		},
		"the last of two that take all": {
			[]eligibility.Candidate{member("A", "a", percentInItemLane("100")), member("B", "b", percentInItemLane("100"))}, []string{"A 5000", "B no_discount"},
		},
		"two that take all, within half of it each": {
			[]eligibility.Candidate{member("A", "a", both(percentInItemLane("100"), budgetOf(2500))), member("B", "b", both(percentInItemLane("100"), budgetOf(2500)))},
			[]string{"A 2500", "B 2500"},
		},
		"the item lane is in vain before all is taken": {
			[]eligibility.Candidate{member("A", "a", percentInItemLane("30")), member("B", "b", amountOff(9000))}, []string{"A no_discount", "B 5000"},
		},
		"but not if it keeps a budget": {
			[]eligibility.Candidate{member("A", "a", percentInItemLane("30")), member("B", "b", both(amountOff(9000), budgetOf(3500)))}, []string{"A 1500", "B 3500"},
		},
		"no coupon": {nil, nil},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			cart := s.cart
			cart.Lines = append(slices.Clone(cart.Lines), pricing.Line{ID: "G", Kind: pricing.Device, ItemID: "gift", Quantity: 1})
			got, err := eligibility.EvaluateSet(c.set, cart, s.question)
			require.NoError(t, err)
			if diff := cmp.Diff(c.want, outcomes(got.Coupons)); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			require.NoError(t, got.Quote.Validate())
		})
	}
}

// A coupon that its budget refuses alone and beside others misses less beside the others.
func TestWhatABudgetMissesIsOfTheSet(t *testing.T) {
	t.Parallel()
	s := sound()
	small, other := member("A", "a", budgetOf(249)), member("B", "b", percentInItemLane("50"))
	for want, set := range map[string][]eligibility.Candidate{"2.51": {small}, "0.01": {small, other}} {
		got, err := eligibility.EvaluateSet(set, s.cart, s.question)
		require.NoError(t, err)
		reasons := got.Coupons[0].Decision.Reasons()
		require.Len(t, reasons, 1)
		require.Equal(t, coupon.BudgetExhausted, reasons[0].Code)
		require.Equal(t, want, reasons[0].Params.Missing.Decimal().String())
	}
}

// drawSet draws coupons for a cart, of a few groups, and what is known about their uses.
func drawSet(t *rapid.T) ([]eligibility.Candidate, pricing.Cart, eligibility.Question) {
	first := drawSituation(t)
	set := []eligibility.Candidate{{Coupon: &first.coupon, Usage: first.question.Usage, MirrorInvalid: first.question.MirrorInvalid}}
	for range rapid.IntRange(0, 5).Draw(t, "others") {
		c := candidateFor(t, first.cart)
		set = append(set, c)
	}
	for i := range set {
		c := set[i].Coupon
		c.ID, c.Group = fmt.Sprintf("cpn_%d", i), rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"}).Draw(t, "group")
	}
	return set, first.cart, first.question
}

// candidateFor draws a coupon that as often as not has no condition.
func candidateFor(t *rapid.T, cart pricing.Cart) eligibility.Candidate {
	c := rapid.OneOf(coupontest.For(cart), coupontest.Coupon()).Draw(t, "coupon")
	if rapid.Bool().Draw(t, "without conditions") {
		return eligibility.Candidate{Coupon: unconditional(&c)}
	}
	return eligibility.Candidate{Coupon: &c, Usage: coupontest.Usage(c.Limits).Draw(t, "usage")}
}

// unconditional is the coupon without conditions and limits.
func unconditional(terms *coupon.Coupon) *coupon.Coupon {
	c := *terms
	c.State, c.Limits, c.Conditions, c.StartsAt, c.ExpiresAt = coupon.Active, coupon.Limits{}, coupon.Conditions{}, noon.AddDate(-200, 0, 0), noon.AddDate(5000, 0, 0)
	c.Distribution, c.AllowedUserEmails, c.PointsRequired = coupon.General, coupon.EmailSet{}, 0
	return &c
}

// bytesOf is everything that a result says.
func bytesOf(t *rapid.T, r eligibility.SetResult) string {
	quote, err := json.Marshal(r.Quote)
	if err != nil {
		t.Fatal(err)
	}
	text := string(quote)
	for _, o := range r.Coupons {
		reasons, err := json.Marshal(o.Decision.Reasons())
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("\n%s %s %d %s", o.CouponID, o.Code, o.Discount, reasons)
	}
	return text
}

func TestPermutationsOfASetGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	var reused eligibility.SetResult
	rapid.Check(t, func(t *rapid.T) {
		set, cart, q := drawSet(t)
		first, err := eligibility.EvaluateSet(set, cart, q)
		if err != nil {
			t.Fatal(err)
		}
		want := bytesOf(t, first)
		if err := reused.Reevaluate(rapid.Permutation(set).Draw(t, "permutation"), cart, q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, bytesOf(t, reused)); diff != "" {
			t.Errorf("another order gives another result (-first +permuted):\n%s", diff)
		}
	})
}

func TestASetAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set, cart, q := drawSet(t)
		got, err := eligibility.EvaluateSet(set, cart, q)
		if err != nil {
			t.Fatal(err)
		}
		var groups []string
		sum, covered := int64(0), make([]bool, len(cart.Lines))
		for i, o := range got.Coupons {
			c := set[i].Coupon // drawn in the order of the IDs
			checkDecision(t, o.Decision)
			sum += o.Discount
			if o.Decision.Allowed() != (o.Discount > 0) {
				t.Errorf("%s", outcome(o))
			}
			if budget, limited := c.Limits.Budget.In(cart.Currency); limited && o.Discount > budget {
				t.Errorf("%s exceeds its budget of %d", outcome(o), budget)
			}
			if o.Decision.Allowed() {
				groups = append(groups, c.Group)
				for j, l := range eligibility.Lines(c.Scope, cart.Lines) {
					covered[j] = covered[j] || l
				}
			}
		}
		apart := len(groups) < 2 || !slices.Contains(groups, "") && len(slices.Compact(slices.Sorted(slices.Values(groups)))) == len(groups)
		if sum != got.Quote.Discount || !apart {
			t.Errorf("groups %q with %d of %d", groups, sum, got.Quote.Discount)
		}
		for j, l := range got.Quote.Lines {
			if len(groups) > 0 && l.Eligible != covered[j] || l.Total < 0 {
				t.Errorf("line %d is eligible: %t, for %d", j, l.Eligible, l.Total)
			}
		}
		checkExclusions(t, set, cart, q, got)
	})
}

// checkExclusions decides about each coupon alone: those that are refused alone exclude nobody.
func checkExclusions(t *rapid.T, set []eligibility.Candidate, cart pricing.Cart, q eligibility.Question, got eligibility.SetResult) {
	alone := make([]eligibility.Decision, len(set))
	for i, c := range set {
		q.Usage, q.MirrorInvalid = c.Usage, c.MirrorInvalid
		r, err := eligibility.Evaluate(c.Coupon, cart, q)
		if err != nil {
			t.Fatal(err)
		}
		alone[i] = r.Decision
	}
	for i, o := range got.Coupons {
		excluded := false
		for j := range set {
			a, b := set[i].Coupon.Group, set[j].Coupon.Group
			excluded = excluded || i != j && alone[j].Allowed() && (a == "" || b == "" || a == b)
		}
		if o.Decision.Has(coupon.NotCombinable) != excluded {
			t.Errorf("%s, but it is excluded: %t", outcome(o), excluded)
		}
		rest, same := o.Decision.Without(coupon.NotCombinable), alone[i].Allowed()
		if alone[i].Without(coupon.BudgetExhausted).Allowed() { // what it takes off beside the others decides
			same = same || rest.Without(coupon.BudgetExhausted).Without(coupon.NoDiscount).Allowed()
		}
		if !same && !rest.Equal(alone[i]) {
			t.Errorf("together %v, alone %v", rest.Err(), alone[i].Err())
		}
	}
}

func TestASetOfOneIsThatCouponAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		alone, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		if err != nil {
			t.Fatal(err)
		}
		got, err := eligibility.EvaluateSet([]eligibility.Candidate{
			{Coupon: &s.coupon, Usage: s.question.Usage, MirrorInvalid: s.question.MirrorInvalid},
		}, s.cart, s.question)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(alone.Quote, got.Quote); diff != "" || !got.Coupons[0].Decision.Equal(alone.Decision) {
			t.Errorf("%v and %v (-alone +set):\n%s", alone.Decision.Err(), got.Err(), diff)
		}
	})
}

func TestTheBoundsOfASet(t *testing.T) {
	t.Parallel()
	s := sound()
	var set []eligibility.Candidate
	for i := range pricing.MaxCoupons {
		set = append(set, member(fmt.Sprintf("C%d", i), fmt.Sprintf("g%d", i), amountOff(1)))
	}
	got, err := eligibility.EvaluateSet(set, s.cart, s.question)
	require.NoError(t, err)
	require.Equal(t, int64(pricing.MaxCoupons), got.Quote.Discount)
	for about, c := range map[string]struct {
		set  []eligibility.Candidate
		cart pricing.Cart
		want string
	}{
		"33 coupons":       {append(slices.Clone(set), member("ONE", "one", nil)), s.cart, "coupons: at most 32 coupons are allowed"},
		"no coupon":        {[]eligibility.Candidate{set[0], {}}, s.cart, "coupons[1]: a coupon is required"},
		"the same twice":   {[]eligibility.Candidate{set[0], set[1], set[0]}, s.cart, "coupons[2].id: the coupon is also coupons[0]"},
		"a malformed cart": {set[:2], pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: -1}}}, "lines[0].quantity"},
		"off the step":     {set[:2], pricing.Cart{Currency: pricing.EUR(), Step: 5, Lines: []pricing.Line{{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 9000}}}, "coupons[1]."},
	} {
		_, err := eligibility.EvaluateSet(c.set, c.cart, s.question)
		require.ErrorIs(t, err, validation.ErrInvalid, about)
		require.ErrorContains(t, err, c.want, about)
	}
	_, err = eligibility.CheckSet([]eligibility.Candidate{set[0], set[0]}, pricing.EUR(), s.question)
	require.ErrorIs(t, err, validation.ErrInvalid)
}

func TestASetWithoutACart(t *testing.T) {
	t.Parallel()
	got, err := eligibility.CheckSet([]eligibility.Candidate{
		member("E", "", func(c *eligibility.Candidate) {
			c.Coupon.Currency, c.Coupon.Conditions.MinPurchase = usd, coupon.NewMoneySet(pricing.NewMoney(5000, usd))
		}), member("B", "b", nil), member("A", "a", expired), member("D", "d", nil), member("C", "d", nil),
	}, pricing.EUR(), sound().question)
	require.NoError(t, err)
	require.Equal(t, []string{"A coupon_expired", "B 0", "C not_combinable(D)", "D not_combinable(C)", "E currency_mismatch not_combinable(B,C,D)"}, outcomes(got))
	refused := coupon.RejectionsOf(eligibility.SetErr(got))
	require.Len(t, refused, 4)
	require.Equal(t, coupon.IDPrefix+"a", refused[0].CouponID)
	require.ErrorIs(t, refused, coupon.ErrExpired)
	require.ErrorIs(t, refused, coupon.ErrNotCombinable)
	require.EqualError(t, refused, "coupons refused: coupon_expired, not_combinable, not_combinable, currency_mismatch, not_combinable")
	require.NoError(t, eligibility.SetErr(got[1:2]))
	require.EqualError(t, eligibility.SetErr(got[:2]), "coupon refused: coupon_expired")
	require.Nil(t, coupon.RejectionsOf(nil))
	require.Len(t, coupon.RejectionsOf(refused[0]), 1)
}

func TestDecidingASetAllocatesNothing(t *testing.T) {
	s := filled(sound(), 10)
	for about, set := range map[string][]eligibility.Candidate{
		"three":           {member("A", "a", nil), member("B", "b", percentInItemLane("20")), member("C", "c", amountOff(500))},
		"most that apply": manyMembers(pricing.MaxCoupons, func(c *eligibility.Candidate) { percentInItemLane("1")(c) }),
	} {
		var r eligibility.SetResult
		require.NoError(t, r.Reevaluate(set, s.cart, s.question))
		if n := testing.AllocsPerRun(100, func() {
			if err := r.Reevaluate(set, s.cart, s.question); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", about, n)
		}
	}
}

// A refusal allocates its reasons: their list, what explains each of them, and the codes that exclude a
// coupon.
func TestARefusalAllocatesItsReasonsAlone(t *testing.T) {
	s := filled(sound(), 10)
	for about, set := range map[string][]eligibility.Candidate{
		"two of three": {member("A", "a", expired), member("B", "b", budgetOf(1)), member("C", "c", nil)},
		"every reason": {member("A", "a", hopeless)},
		"excluded":     manyMembers(pricing.MaxCoupons, func(c *eligibility.Candidate) { c.Coupon.Group = "one" }),
	} {
		var r eligibility.SetResult
		require.NoError(t, r.Reevaluate(set, s.cart, s.question))
		reasons := 0
		for _, o := range r.Coupons {
			reasons += len(o.Decision.Reasons())
		}
		n := testing.AllocsPerRun(100, func() {
			if err := r.Reevaluate(set, s.cart, s.question); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s: %d reasons, %v allocations", about, reasons, n)
		require.Positive(t, reasons, about)
		require.LessOrEqual(t, n, float64(3*reasons), about)
	}
}

// BenchmarkEvaluateSet decides about one, three and the most coupons that apply, on carts of 10 to
// 1,000 lines, into a reused result.
func BenchmarkEvaluateSet(b *testing.B) {
	for _, n := range []int{1, 3, pricing.MaxCoupons} {
		for _, lines := range []int{10, 100, 1000} {
			b.Run(fmt.Sprintf("coupons=%d/lines=%d", n, lines), func(b *testing.B) {
				benchmarkSet(b, manyMembers(n, nil), lines)
			})
		}
	}
}

// BenchmarkRefuseSet decides about coupons that are hopeless, and reads the reasons.
func BenchmarkRefuseSet(b *testing.B) {
	for _, n := range []int{1, 3, pricing.MaxCoupons} {
		b.Run(fmt.Sprintf("coupons=%d", n), func(b *testing.B) { benchmarkSet(b, manyMembers(n, hopeless), 10) })
	}
}

// hopeless gives a coupon every reason that a coupon can have at once.
func hopeless(c *eligibility.Candidate) {
	expired(c)
	budgetOf(1)(c)
	c.Coupon.State, c.MirrorInvalid = coupon.Inactive, true
	c.Coupon.AllowedUserEmails = coupon.EmailSet{}
	c.Coupon.Conditions = coupon.Conditions{
		MinPurchase: least(1 << 40), MinQuantity: 1 << 20, CustomerTags: coupon.CustomerTags{All: []string{"gold"}}, FirstOrder: true, Schedule: mondays(),
	}
	c.Coupon.Limits.Periods = []coupon.PeriodLimit{{Per: coupon.PerCustomer, Period: calendar.Day, Zone: mondays().Zone, MaxUses: 1}}
	c.Usage.Completed, c.Usage.CompletedByCustomer, c.Usage.Orders, c.Usage.Periods = 10, 2, 1, []int64{1}
}

func TestEveryReasonOfASet(t *testing.T) {
	t.Parallel()
	s := filled(sound(), 10)
	got, err := eligibility.EvaluateSet(manyMembers(3, hopeless), s.cart, s.question)
	require.NoError(t, err)
	for _, o := range got.Coupons {
		require.Equal(t, []string{
			"coupon_inactive", "coupon_expired", "outside_schedule", "processor_out_of_sync", "usage_limit_reached",
			"user_usage_limit_reached", "period_limit_reached", "budget_exhausted", "minimum_purchase_not_met", "minimum_quantity_not_met",
			"user_not_allowed", "customer_tags_not_met", "not_first_order",
		}, names(o.Decision.Reasons()))
	}
}

// manyMembers are coupons of groups of their own.
func manyMembers(n int, change func(*eligibility.Candidate)) (set []eligibility.Candidate) {
	kinds := []func(*eligibility.Candidate){nil, percentInItemLane("20"), amountOff(500)}
	for i := range n {
		c := member(fmt.Sprintf("C%02d", i), fmt.Sprintf("g%d", i), kinds[i%len(kinds)])
		if change != nil {
			change(&c)
		}
		set = append(set, c)
	}
	return set
}

func benchmarkSet(b *testing.B, set []eligibility.Candidate, lines int) {
	b.Helper()
	s := filled(sound(), lines)
	var r eligibility.SetResult
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Reevaluate(set, s.cart, s.question); err != nil {
			b.Fatal(err)
		}
		for i := range r.Coupons {
			if d := &r.Coupons[i].Decision; !d.Allowed() && len(d.Reasons()) == 0 {
				b.Fatal("refused without a reason")
			}
		}
	}
}

// A coupon that takes nothing off alone is refused, although another coupon makes the units free that
// cost too little.
func TestACouponThatTakesNothingOffAloneStaysRefused(t *testing.T) {
	t.Parallel()
	s := sound()
	s.cart.Lines = append(s.cart.Lines, pricing.Line{ID: "G", Kind: pricing.Accessory, ItemID: "pin", Quantity: 1, UnitPrice: 4})
	one, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.Percentage, Percent: s.coupon.Discount.Percent(), MaxUnits: 1})
	require.NoError(t, err)
	cheapest := member("A", "a", func(c *eligibility.Candidate) {
		c.Coupon.Discount, c.Coupon.Scope, c.Coupon.Conditions.MinPurchase = one, coupon.Scope{AppliesTo: coupon.All}, least(0)
	})
	pin := member("B", "b", both(percentInItemLane("100"), func(c *eligibility.Candidate) {
		c.Coupon.Scope, c.Coupon.Conditions.MinPurchase = coupon.Scope{AppliesTo: coupon.Specific, Accessories: coupon.NewItems("pin")}, least(0)
	}))
	got, err := eligibility.EvaluateSet([]eligibility.Candidate{cheapest, pin}, s.cart, s.question)
	require.NoError(t, err)
	require.Equal(t, []string{"A no_discount", "B 4"}, outcomes(got.Coupons))
}
