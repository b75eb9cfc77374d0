package pricing

// percentage returns a percentage of the cost of the counted units, rounded half up once.
func (a *application) percentage() int64 { return a.terms.Discount.percent.Of(a.atCost()) }
