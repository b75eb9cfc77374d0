package pricing

// fixedAmount is the amount, but at most what the counted units cost.
func (a *application) fixedAmount() int64 { return min(a.amount, a.atCost()) }
