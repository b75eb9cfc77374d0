package eligibility

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// ConflictPolicy tells what happens to coupons of a set that exclude each other. The zero
// ConflictPolicy is [RefuseAll].
type ConflictPolicy uint8

// These constants are the policies.
const (
	// RefuseAll refuses all coupons that exclude each other. The order of the coupons does not
	// matter.
	RefuseAll ConflictPolicy = iota
	// KeepFirst keeps the first coupon and refuses the later coupons that it excludes. The order of
	// the set decides.
	KeepFirst
	// KeepBest keeps the coupons with which the cart costs least: one coupon of each group, or one coupon
	// without a group. Among equal totals it keeps the fewest coupons, then those with the least IDs. The
	// order of the coupons does not matter. If there are more than 1,000 choices, KeepBest starts with the
	// coupons that take off most alone, and exchanges one coupon at a time while the cart costs less.
	// [CheckSet] knows no prices and refuses all coupons that exclude each other.
	KeepBest
)

// String returns the JSON name of the policy: "refuse_all", "keep_first" or "keep_best". For an
// unknown policy, String returns the empty string.
func (p ConflictPolicy) String() string {
	switch p {
	case RefuseAll:
		return "refuse_all"
	case KeepFirst:
		return "keep_first"
	case KeepBest:
		return "keep_best"
	}
	return ""
}

// ParseConflictPolicy returns the policy with the given JSON name; see [ConflictPolicy.String].
// ParseConflictPolicy returns a [*validation.Error] for an unknown or empty name.
func ParseConflictPolicy(text string) (ConflictPolicy, error) {
	for p := RefuseAll; p <= KeepBest; p++ {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, conflictFault("")
}

// Validate returns nil for a policy that is one of the constants. Otherwise Validate returns a
// [*validation.Error] for the field "conflicts".
func (p ConflictPolicy) Validate() error {
	if p > KeepBest {
		return conflictFault("conflicts")
	}
	return nil
}

func conflictFault(field string) error {
	var faults validation.Error
	faults.Add(field, validation.Unknown, fmt.Sprintf("must be %s, %s or %s", RefuseAll, KeepFirst, KeepBest))
	return faults.Err()
}
