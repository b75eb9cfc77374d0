package pgxstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestASingleVerdict reads what the function answers, and refuses what it never does: no
// limit may be read as none.
func TestASingleVerdict(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said []string
		want pgxstore.Verdict
	}{
		"nothing":      {nil, pgxstore.Verdict{Outcome: "reserved"}},
		"passed":       {[]string{"reserved", "", "", "", "passed"}, pgxstore.Verdict{Outcome: "reserved", Passed: true}},
		"held":         {[]string{"held", "rsv_1", "", "", ""}, pgxstore.Verdict{Outcome: "held", Held: "rsv_1"}},
		"both used up": {[]string{"both_used_up", "", "500", "2", ""}, pgxstore.Verdict{Outcome: "both_used_up", Limits: coupon.Limits{MaxUses: 500, MaxUsesPerUser: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := pgxstore.SingleVerdict(c.said...)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v, other than wanted: %s", err, diff)
			}
		})
	}
	for name, said := range map[string][]string{
		"too few": {"reserved"}, "too many": {"reserved", "", "", "", "", ""},
		"a limit of words": {"used_up", "", "five", "", ""}, "a customer's of words": {"used_up", "", "5", "two", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v, err := pgxstore.SingleVerdict(said...); err == nil {
				t.Errorf("it was read as %v", v)
			}
		})
	}
}
