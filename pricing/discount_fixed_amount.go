package pricing

// fixedAmount returns the amount, or the cost of the counted units if that is less.
func (a *application) fixedAmount() int64 { return min(a.amount, a.atCost()) }
