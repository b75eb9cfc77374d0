package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// onStep reports whether an amount is a multiple of the step, where there is one.
func onStep(minor, step int64) bool { return step <= 1 || minor%step == 0 }

// normalStep writes a step in the one form that [Price] gives it: 0 is no step.
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

// offStep adds a fault when an amount is off the step. A negative amount has a fault
// of its own.
func offStep(field string, minor int64, c Currency, step int64, faults *validation.Error) {
	if minor >= 0 && !onStep(minor, step) {
		faults.Add(field, validation.TooManyDecimals, stepMessage(c, step))
	}
}

func stepMessage(c Currency, step int64) string {
	return fmt.Sprintf("amounts are multiples of %s here", c.Format(step))
}
