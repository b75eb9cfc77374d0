package pricing

import "slices"

// buyXGetY returns a percentage of the cost of the discounted units, rounded half up once. The
// discounted units are the cheapest units of the coupon's lines with a price above 0.
func (a *application) buyXGetY(units int64) int64 {
	t := a.terms.Discount.more
	most := units / t.GetQuantity
	if t.MaxApplications > 0 {
		most = min(most, t.MaxApplications)
	}
	if a.terms.Bought == nil {
		most = min(most, units/(t.BuyQuantity+t.GetQuantity))
	} else {
		most = a.applications(most)
	}
	if most == 0 {
		for i := range a.takings {
			a.takings[i].counted = 0
		}
		return 0
	}
	a.keepCheapest(most*t.GetQuantity, units)
	return a.percentage()
}

// applications returns how often the offer applies, up to most. Each application must leave enough
// bought units besides the discounted units.
func (a *application) applications(most int64) int64 {
	t := a.terms.Discount.more
	bought := int64(0)
	for _, s := range a.segments {
		if s.left > 0 && a.isBought(s.line) {
			bought += s.quantity
		}
	}
	shares := a.byPrice()
	slices.SortFunc(shares, share.compare)
	low, high := int64(0), min(most, bought/t.BuyQuantity)
	for low < high {
		k := low + (high-low+1)/2
		if bought-a.boughtAmong(shares, k*t.GetQuantity) >= k*t.BuyQuantity {
			low = k
		} else {
			high = k - 1
		}
	}
	return low
}

func (a *application) isBought(line int) bool {
	return a.terms.Bought[line] && a.quote.Lines[line].ClassOf() != ShippingClass
}

// boughtAmong returns how many of the first n units belong to lines that count as bought.
func (a *application) boughtAmong(shares []share, n int64) (bought int64) {
	for _, s := range shares {
		if n == 0 {
			break
		}
		units := min(n, a.takings[s.line].counted)
		n -= units
		if a.isBought(a.segments[s.line].line) {
			bought += units
		}
	}
	return bought
}
