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
)

// String returns the JSON name of the policy: "refuse_all" or "keep_first". For an unknown policy,
// String returns the empty string.
func (p ConflictPolicy) String() string {
	switch p {
	case RefuseAll:
		return "refuse_all"
	case KeepFirst:
		return "keep_first"
	}
	return ""
}

// ParseConflictPolicy returns the policy with the given JSON name, "refuse_all" or "keep_first".
// ParseConflictPolicy returns a [*validation.Error] for an unknown or empty name.
func ParseConflictPolicy(text string) (ConflictPolicy, error) {
	for p := RefuseAll; p <= KeepFirst; p++ {
		if p.String() == text {
			return p, nil
		}
	}
	return 0, conflictFault("")
}

// Validate returns nil for a policy that is one of the constants. Otherwise Validate returns a
// [*validation.Error] for the field "conflicts".
func (p ConflictPolicy) Validate() error {
	if p > KeepFirst {
		return conflictFault("conflicts")
	}
	return nil
}

func conflictFault(field string) error {
	var faults validation.Error
	faults.Add(field, validation.Unknown, fmt.Sprintf("must be %s or %s", RefuseAll, KeepFirst))
	return faults.Err()
}
