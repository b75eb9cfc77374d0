package stripeprocessor

import (
	"maps"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Abilities returns what Stripe can do:
//
//   - minimum charges by currency; see [Options].SettlementCurrency
//   - steps of the currencies that Stripe charges in steps
//   - sessions of 31 minutes to 23 hours 59 minutes
//   - one interval for all recurring lines
//   - a total of 0 and any number of lines
//
// [Processor.CreateSession] merges lines beyond Stripe's maximum, but refuses more than
// 20 recurring lines.
func (p *Processor) Abilities() processor.Abilities {
	return processor.Abilities{
		MinimumCharge:      maps.Clone(p.minimum),
		AmountStep:         amountSteps(),
		MinSessionLifetime: minSessionLifetime,
		MaxSessionLifetime: maxSessionLifetime,
		MirrorsExpiry:      p.options.MirrorExpiry,
		NeedsSuccessURL:    true,
		OneInterval:        true,
		CheckCoupon:        p.CheckCoupon,
	}
}

func amountSteps() map[pricing.Currency]int64 {
	steps := map[pricing.Currency]int64{}
	for _, c := range pricing.Currencies() {
		if m, err := moneyOf(c); err == nil && m.step() > 1 {
			steps[c] = m.step()
		}
	}
	return steps
}
