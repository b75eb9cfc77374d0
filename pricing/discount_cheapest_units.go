package pricing

// cheapestUnits returns a percentage of the cost of the cheapest units, rounded half up once.
func (a *application) cheapestUnits(units int64) int64 {
	a.keepCheapest(a.terms.Discount.more.Units, units)
	return a.percentage()
}
