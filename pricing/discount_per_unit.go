package pricing

// amountPerUnit is the sum of the amount, but at most the unit's cost, over the counted units.
func (a *application) amountPerUnit() (sum int64) {
	for i, s := range a.segments {
		t := &a.takings[i]
		t.each = min(a.amount, s.left)
		sum += t.counted * t.each
	}
	return sum
}
