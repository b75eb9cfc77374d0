package coupon

import "github.com/couponkit/couponkit/validation"

func containsNotFaults(s Scope, faults *validation.Error) {
	if !s.IsZero() {
		s.faults("containsNot.", faults)
	}
}
