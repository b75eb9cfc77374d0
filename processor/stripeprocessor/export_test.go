package stripeprocessor

import (
	"time"

	"github.com/couponkit/couponkit/pricing"
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
	return lines, planned.total + planned.discount, nil
}

// ParseSignature is the parser of the signature's header.
func ParseSignature(header string) bool {
	_, _, ok := parseSignature(header)
	return ok
}

// StripeName cuts a name as for Stripe.
func StripeName(name string) (string, bool) { return stripeName(name) }

// ToStripe returns an amount in Stripe's minor units. charged is false for currencies
// that Stripe does not charge.
func ToStripe(c pricing.Currency, minor int64) (amount int64, charged bool, err error) {
	m, err := moneyOf(c)
	if err != nil {
		return 0, false, nil //nolint:nilerr // that is what charged tells
	}
	amount, err = m.toStripe(minor)
	return amount, true, err
}

// FromStripe returns an amount of Stripe's in our minor units.
func FromStripe(c pricing.Currency, amount int64) int64 {
	m, err := moneyOf(c)
	if err != nil {
		return 0
	}
	return m.fromStripe(amount)
}

// Pause is the pause after the n-th attempt, with the defaults filled in.
func Pause(r Retry, n int, wished time.Duration) time.Duration {
	return r.withDefaults().pause(n, wished)
}
