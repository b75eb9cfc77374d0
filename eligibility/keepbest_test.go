package eligibility_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
)

// With KeepBest the cheapest cart decides which of the coupons that exclude each other are kept.
func TestKeepBestOfASet(t *testing.T) {
	t.Parallel()
	s := sound() // phones for 50.00
	s.question.Conflicts = eligibility.KeepBest
	a, b, c := member("A", "a", amountOff(400)), member("B", "a", nil), member("C", "c", amountOff(300))
	exclusive, old := member("E", "", amountOff(900)), member("O", "", expired)
	equal, poor := member("D", "", amountOff(800)), member("P", "a", budgetOf(499))
	for about, test := range map[string]struct {
		set  []eligibility.Candidate
		want []string
	}{
		"the better of a group":                      {[]eligibility.Candidate{a, b, c}, []string{"A not_combinable(B) 700", "B 500", "C 300"}},
		"an exclusive coupon that takes more":        {[]eligibility.Candidate{a, exclusive, b, c}, []string{"A not_combinable(E) 700", "B not_combinable(E) 800", "C not_combinable(E) 800", "E 900"}},
		"of equal totals the fewest coupons":         {[]eligibility.Candidate{b, c, equal}, []string{"B not_combinable(D) 800", "C not_combinable(D) 800", "D 800"}},
		"a coupon that is refused alone is not kept": {[]eligibility.Candidate{old, a}, []string{"A 400", "O coupon_expired not_combinable(A)"}},
		"a coupon over its budget alone is not kept": {[]eligibility.Candidate{poor, a}, []string{"A 400", "P budget_exhausted not_combinable(A)"}},
	} {
		for range 2 {
			got, err := eligibility.EvaluateSet(test.set, s.cart, s.question)
			require.NoError(t, err, about)
			words := outcomes(got.Coupons)
			for i, o := range got.Coupons {
				if o.Instead > 0 {
					words[i] += fmt.Sprint(" ", o.Instead)
				}
			}
			if diff := gocmp.Diff(test.want, words); diff != "" {
				t.Errorf("%s (-want +got):\n%s", about, diff)
			}
			slices.Reverse(test.set) // the order does not matter
		}
	}
	checked, err := eligibility.CheckSet([]eligibility.Candidate{b, c, a}, pricing.EUR(), s.question)
	require.NoError(t, err)
	require.Equal(t, []string{"A not_combinable(B)", "B not_combinable(A)", "C 0"}, outcomes(checked))
}

// The oracle of KeepBest evaluates the set without all coupons that exclude others but one of each group,
// or but one exclusive coupon.
func TestKeepBestIsTheBestChoice(t *testing.T) {
	t.Parallel()
	for seed := range testsize.Of(3_000, 10_000) {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		set, cart := smallSet(r)
		for i := range set {
			if r.IntN(2) == 0 {
				set[i].Coupon.Group = fmt.Sprint("g", r.IntN(3))
			}
		}
		q := sound().question
		q.Conflicts = eligibility.KeepBest
		got, err := eligibility.EvaluateSet(set, cart, q)
		require.NoError(t, err)
		want := bestChoice(t, set, cart, q)
		require.Equal(t, want.discount, got.Quote.Discount, "seed %d", seed)
		require.Equal(t, want.applied, applied(got), "seed %d", seed)
	}
}

type choiceMade struct {
	discount int64
	applied  []string
}

func applied(r eligibility.SetResult) (ids []string) {
	for _, o := range r.Coupons {
		if o.Decision.Allowed() {
			ids = append(ids, o.CouponID)
		}
	}
	return ids
}

func bestChoice(t *testing.T, set []eligibility.Candidate, cart pricing.Cart, q eligibility.Question) (best choiceMade) {
	t.Helper()
	q.Conflicts = eligibility.RefuseAll
	var usable []int
	for i := range set {
		alone := q
		alone.Usage = set[i].Usage
		r, err := eligibility.Evaluate(set[i].Coupon, cart, alone)
		require.NoError(t, err)
		if r.Decision.Allowed() {
			usable = append(usable, i)
		}
	}
	best.discount = -1
	for choice := range 1 << len(usable) {
		var chosen []eligibility.Candidate
		var left []*eligibility.Candidate
		for bit, i := range usable {
			if choice>>bit&1 == 1 {
				left = append(left, &set[i])
			}
		}
		compatible := !slices.ContainsFunc(left, func(a *eligibility.Candidate) bool {
			return slices.ContainsFunc(left, func(b *eligibility.Candidate) bool { return exclude(a, b) })
		})
		whole := true // no usable coupon fits besides
		for _, i := range usable {
			whole = whole && slices.ContainsFunc(left, func(b *eligibility.Candidate) bool { return b == &set[i] || exclude(&set[i], b) })
		}
		if !compatible || !whole {
			continue
		}
		for i := range set {
			if !slices.Contains(usable, i) || slices.Contains(left, &set[i]) {
				chosen = append(chosen, set[i])
			}
		}
		r, err := eligibility.EvaluateSet(chosen, cart, q)
		require.NoError(t, err)
		made := choiceMade{r.Quote.Discount, applied(r)}
		if cmp.Or(cmp.Compare(best.discount, made.discount), cmp.Compare(len(made.applied), len(best.applied)), slices.Compare(made.applied, best.applied)) < 0 {
			best = made
		}
	}
	return best
}

// A set with more choices than KeepBest compares still costs at most what the best coupons of its groups
// cost.
func TestKeepBestOfManyChoices(t *testing.T) {
	t.Parallel()
	s := sound()
	s.question.Conflicts = eligibility.KeepBest
	var set []eligibility.Candidate
	for i := range pricing.MaxCoupons {
		set = append(set, member(fmt.Sprintf("C%02d", i), fmt.Sprint("g", i/3), amountOff(int64(10+i%7))))
	}
	got, err := eligibility.EvaluateSet(set, s.cart, s.question)
	require.NoError(t, err)
	require.Len(t, applied(got), 11)
	most := map[string]int64{}
	for _, c := range set {
		most[c.Coupon.Group] = max(most[c.Coupon.Group], c.Coupon.Discount.Amount().Minor())
	}
	sum := int64(0)
	for _, m := range most {
		sum += m
	}
	require.Equal(t, sum, got.Quote.Discount)
}
