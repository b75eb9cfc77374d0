package pricing

// cheapestUnits is a percentage of what the cheapest units cost, rounded half up once.
func (a *application) cheapestUnits(units int64) int64 {
	a.keepCheapest(a.terms.Discount.more.Units, units)
	return a.percentage()
}
