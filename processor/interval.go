package processor

import (
	"fmt"

	"github.com/couponkit/couponkit/pricing"
)

// CheckIntervals asks for the billing interval of each of a number of lines, those of a
// cart or of a session, and names the lines that differ from the first that recurs: what
// a processor with [Abilities.OneInterval] refuses. Lines that are paid once may stand
// anywhere. It returns nil, or a *pricing.ValidationError with a pricing.FieldMismatch at
// lines[i].recurs for each line that differs. An interval that does not exist is another
// check's to name.
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
