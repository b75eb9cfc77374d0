package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

func TestConflictPolicies(t *testing.T) {
	t.Parallel()
	for p, name := range map[eligibility.ConflictPolicy]string{eligibility.RefuseAll: "refuse_all", eligibility.KeepFirst: "keep_first", eligibility.KeepBest: "keep_best"} {
		require.Equal(t, name, p.String())
		require.NoError(t, p.Validate())
		read, err := eligibility.ParseConflictPolicy(name)
		require.NoError(t, err)
		require.Equal(t, p, read)
	}
	for _, name := range []string{"", "KEEP_FIRST", "keep_least"} {
		_, err := eligibility.ParseConflictPolicy(name)
		require.ErrorIs(t, err, validation.ErrInvalid, name)
	}
	const unknown = eligibility.KeepBest + 1
	require.Empty(t, unknown.String())
	q := sound().question
	q.Conflicts = unknown
	_, err := eligibility.EvaluateSet(nil, sound().cart, q)
	require.EqualError(t, err, "invalid input: conflicts: must be refuse_all, keep_first or keep_best")
	_, err = eligibility.CheckSet(nil, pricing.EUR(), q)
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// With KeepFirst the order of the set decides which of the coupons that exclude each other is kept.
func TestKeepFirstOfASet(t *testing.T) {
	t.Parallel()
	s := sound() // phones for 50.00
	s.question.Conflicts = eligibility.KeepFirst
	a, b, c := member("A", "a", nil), member("B", "a", nil), member("C", "c", nil)
	exclusive, old := member("E", "", nil), member("O", "", expired)
	poor := member("P", "a", budgetOf(499))
	for about, test := range map[string]struct {
		set  []eligibility.Candidate
		want []string
	}{
		"the first of a group":                       {[]eligibility.Candidate{a, b, c}, []string{"A 500", "B not_combinable(A)", "C 500"}},
		"the other first":                            {[]eligibility.Candidate{b, c, a}, []string{"A not_combinable(B)", "B 500", "C 500"}},
		"an exclusive coupon first":                  {[]eligibility.Candidate{exclusive, a, c}, []string{"A not_combinable(E)", "C not_combinable(E)", "E 500"}},
		"an exclusive coupon last":                   {[]eligibility.Candidate{c, a, exclusive}, []string{"A 500", "C 500", "E not_combinable(A,C)"}},
		"an excluded coupon excludes nobody":         {[]eligibility.Candidate{a, exclusive, c}, []string{"A 500", "C 500", "E not_combinable(A,C)"}},
		"a coupon that is refused alone is not kept": {[]eligibility.Candidate{old, a}, []string{"A 500", "O coupon_expired not_combinable(A)"}},
		"a coupon over its budget alone is not kept": {[]eligibility.Candidate{poor, a}, []string{"A 500", "P budget_exhausted not_combinable(A)"}},
	} {
		got, err := eligibility.EvaluateSet(test.set, s.cart, s.question)
		require.NoError(t, err, about)
		if diff := cmp.Diff(test.want, outcomes(got.Coupons)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", about, diff)
		}
	}
	checked, err := eligibility.CheckSet([]eligibility.Candidate{b, c, a}, pricing.EUR(), s.question)
	require.NoError(t, err)
	require.Equal(t, []string{"A not_combinable(B)", "B 0", "C 0"}, outcomes(checked))
}
