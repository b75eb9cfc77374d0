package processor

import (
	"fmt"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// CheckIntervals checks that all recurring lines of a session have the same billing interval. Use
// CheckIntervals for processors with [Abilities].OneInterval. The function recurs must return the
// billing interval of the line with the given index. CheckIntervals calls recurs with each index
// from 0 to lines-1.
//
// CheckIntervals returns nil or a *validation.Error. The error contains a
// validation.Mismatch for each line whose interval differs from the interval of the first
// recurring line. For example, the field name for the third line is lines[2].recurs.
// CheckIntervals ignores lines that are paid once and lines with an unknown interval.
func CheckIntervals(lines int, recurs func(line int) pricing.Interval) error {
	var faults validation.Error
	first := pricing.Once
	for i := range lines {
		switch interval := recurs(i); {
		case interval == pricing.Once || interval > pricing.Yearly:
		case first == pricing.Once:
			first = interval
		case interval != first:
			faults.Add(fmt.Sprintf("lines[%d].recurs", i), validation.Mismatch,
				fmt.Sprintf("the processor takes one billing interval at once, and another line recurs every %s", first))
		}
	}
	return faults.Err()
}
