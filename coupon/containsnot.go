package coupon

import "github.com/couponkit/couponkit/validation"

// scopeOf returns the scope of a draft, or the zero Scope if there is no draft. It reports invalid
// entries of lists, whose paths begin with the prefix.
func scopeOf(d *ScopeDraft, prefix string, faults *validation.Error) Scope {
	if d == nil {
		return Scope{}
	}
	return d.scope(prefix, faults)
}

func containsNotFaults(s Scope, faults *validation.Error) {
	if !s.IsZero() {
		s.faults("containsNot.", faults)
	}
}
