package pricing

// tiered returns the percentage or the amount of the highest reached tier. The result is at most the
// cost of the eligible units.
func (a *application) tiered() int64 {
	tier := a.terms.Discount.more.tier(a.coupon.EligibleSubtotal, a.coupon.EligibleQuantity)
	if tier == nil {
		for i := range a.takings {
			a.takings[i].counted = 0
		}
		return 0
	}
	cost := a.atCost()
	if tier.Percent.IsZero() {
		return min(inSteps(tier.Amount, a.step), cost)
	}
	return tier.Percent.Of(cost)
}

// tier returns the highest tier that the list price or the number of the eligible units reaches. It
// returns nil if no tier is reached.
func (t *DiscountTerms) tier(list, units int64) *Tier {
	if i := t.tierIndex(list, units); i >= 0 {
		return &t.Tiers[i]
	}
	return nil
}

// tierIndex returns the index of the tier that the method tier returns, or -1.
func (t *DiscountTerms) tierIndex(list, units int64) int {
	basis := units
	if t.TierBasis == ByAmount {
		basis = list
	}
	i := len(t.Tiers) - 1
	for i >= 0 && t.Tiers[i].From > basis {
		i--
	}
	return i
}
