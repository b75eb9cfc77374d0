package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// onStep reports whether an amount is a multiple of the step. A step of 0 or 1 allows every amount.
func onStep(minor, step int64) bool { return step <= 1 || minor%step == 0 }

// normalStep replaces a step of 1 by 0, as [Price] does. 0 means no step.
func normalStep(step int64) int64 {
	if step == 1 {
		return 0
	}
	return step
}

func stepFaults(step int64, faults *validation.Error) {
	if step < 0 {
		faults.Add("step", validation.TooSmall, "a step is not negative")
	}
}

// offStep adds a fault if an amount is not a multiple of the step. It skips negative amounts, which
// have their own fault.
func offStep(field string, minor int64, c Currency, step int64, faults *validation.Error) {
	if minor >= 0 && !onStep(minor, step) {
		faults.Add(field, validation.TooManyDecimals, stepMessage(c, step))
	}
}

func stepMessage(c Currency, step int64) string {
	return fmt.Sprintf("amounts are multiples of %s here", c.Format(step))
}
