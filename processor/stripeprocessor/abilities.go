package stripeprocessor

import (
	"maps"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// Abilities tells what Stripe can do: minimum charges by currency (see
// [Options].SettlementCurrency), the steps of currencies that it does not charge to
// the last decimal, sessions of 31 minutes to 23 hours and 59 minutes, and [Processor.CheckCoupon].
// A total of 0 is possible, and what recurs does so in one interval. There is no bound of
// lines: those that Stripe would not take are merged, but for more than 20 things that
// recur, which are refused.
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
