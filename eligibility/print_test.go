package eligibility_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
)

// A failed test shows what was decided, and not the memory that results keep.
func TestDecisionsArePrintedShort(t *testing.T) {
	t.Parallel()
	s := sound()
	allowed, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
	require.NoError(t, err)
	s.coupon.State, s.question.At = coupon.Inactive, s.coupon.ExpiresAt
	refused := eligibility.Check(&s.coupon, s.question)
	set, err := eligibility.EvaluateSet([]eligibility.Candidate{{Coupon: &s.coupon}}, s.cart, s.question)
	require.NoError(t, err)
	const codes = "refused: coupon_inactive, coupon_expired"
	for got, want := range map[string]string{
		allowed.Decision.String():     "allowed",
		refused.String():              codes,
		fmt.Sprintf("%+v", refused):   codes,
		fmt.Sprintf("%#v", refused):   "eligibility.Decision(" + codes + ")",
		fmt.Sprintf("%v", allowed):    "allowed; " + allowed.Quote.String(),
		fmt.Sprintf("%#v", allowed):   "eligibility.Result(allowed; " + allowed.Quote.String() + ")",
		fmt.Sprintf("%+v", set):       fmt.Sprintf("%s (%s) %s; %s", s.coupon.ID, s.coupon.Code, codes, set.Quote),
		fmt.Sprintf("%#v", set):       fmt.Sprintf("eligibility.SetResult(%s)", set),
		eligibility.Result{}.String(): "allowed;  0 - 0 + 0 = 0",
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
