package pricing

// percentage is a percentage of what the counted units cost, rounded half up once.
func (a *application) percentage() int64 { return a.terms.Discount.percent.Of(a.atCost()) }
