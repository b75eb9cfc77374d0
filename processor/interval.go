package processor

import (
	"fmt"

	"github.com/couponkit/couponkit/pricing"
)

// CheckIntervals checks that all recurring lines have the same interval, for a
// processor with [Abilities.OneInterval]. recurs returns the interval of a line,
// counted from 0. CheckIntervals returns nil or a *pricing.ValidationError. The error
// has a pricing.FieldMismatch at lines[i].recurs for each line that differs from the
// first recurring line. Lines that are paid once and unknown intervals are ignored.
func CheckIntervals(lines int, recurs func(line int) pricing.Interval) error {
	var faults pricing.ValidationError
	first := pricing.Once
	for i := range lines {
		switch interval := recurs(i); {
		case interval == pricing.Once || interval > pricing.Yearly:
		case first == pricing.Once:
			first = interval
		case interval != first:
			faults.Add(fmt.Sprintf("lines[%d].recurs", i), pricing.FieldMismatch,
				fmt.Sprintf("the processor takes one billing interval at once, and another line recurs every %s", first))
		}
	}
	return faults.Err()
}
