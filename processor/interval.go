package processor

import (
	"fmt"

	"github.com/couponkit/couponkit/pricing"
)

// CheckIntervals checks that all recurring lines of a session have the same billing interval.
// Processors with [Abilities.OneInterval] need this check. The parameter lines is the number of
// lines. The parameter recurs is a function that returns the billing interval of a line by its
// index. The index of the first line is 0.
//
// CheckIntervals returns nil if all recurring lines have the same billing interval. Otherwise,
// CheckIntervals returns a *pricing.ValidationError. This error contains a pricing.FieldMismatch
// for each line whose billing interval differs from that of the first recurring line. The
// FieldMismatch of the line with the index i has the field name lines[i].recurs. CheckIntervals
// ignores lines that are paid once and lines with an unknown interval.
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
