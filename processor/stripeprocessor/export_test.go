package stripeprocessor

import (
	"time"

	"github.com/couponkit/couponkit/processor"
)

// PlannedLine is a line as it would be sent, in Stripe's minor units.
type PlannedLine struct {
	Name       string
	Recurs     bool
	Quantity   int64
	UnitAmount int64
}

// PlanLines returns the lines that a request would be sent with, and what they must
// sum to, without sending it.
func (p *Processor) PlanLines(r processor.SessionRequest) (lines []PlannedLine, sum int64, err error) {
	planned, err := p.plan(r)
	if err != nil {
		return nil, 0, err
	}
	for _, l := range planned.lines {
		lines = append(lines, PlannedLine{Name: l.name, Recurs: l.recurs != 0, Quantity: l.quantity, UnitAmount: l.unitAmount})
	}
	return lines, planned.subtotal, nil
}

// ParseSignature is the parser of the signature's header.
func ParseSignature(header string) bool {
	_, _, ok := parseSignature(header)
	return ok
}

// StripeName cuts a name as for Stripe.
func StripeName(name string) (string, bool) { return stripeName(name) }

// Pause is the pause after the n-th attempt, with the defaults filled in.
func Pause(r Retry, n int, wished time.Duration) time.Duration {
	return r.withDefaults().pause(n, wished)
}
