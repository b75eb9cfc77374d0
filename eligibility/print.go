package eligibility

import (
	"fmt"
	"slices"
	"strings"
)

// String returns "allowed", or "refused:" with the codes of the reasons.
func (d Decision) String() string {
	if d.Allowed() {
		return "allowed"
	}
	codes := make([]string, len(d.reasons))
	for i, r := range slices.SortedStableFunc(slices.Values(d.reasons), compare) {
		codes[i] = r.code.String()
	}
	return "refused: " + strings.Join(codes, ", ")
}

// GoString formats the decision for the messages of failed tests; see [Decision.String].
func (d Decision) GoString() string { return fmt.Sprintf("eligibility.Decision(%s)", d) }

// String returns the decision and the quote for logs and failed tests.
func (r Result) String() string { return fmt.Sprintf("%s; %s", r.Decision, r.Quote) }

// GoString formats the result for the messages of failed tests; see [Result.String].
func (r Result) GoString() string { return fmt.Sprintf("eligibility.Result(%s)", r) }

// String returns the decision about each coupon and the quote, for logs and failed tests.
func (r SetResult) String() string {
	var text strings.Builder
	for _, c := range r.Coupons {
		fmt.Fprintf(&text, "%s (%s) %s; ", c.CouponID, c.Code, c.Decision)
	}
	return text.String() + r.Quote.String()
}

// GoString formats the result for the messages of failed tests; see [SetResult.String].
func (r SetResult) GoString() string { return fmt.Sprintf("eligibility.SetResult(%s)", r) }
