package pricing

// amountPerUnit returns the sum over the counted units of the amount, or of the unit's cost if that is
// less.
func (a *application) amountPerUnit() (sum int64) {
	for i, s := range a.segments {
		t := &a.takings[i]
		t.each = min(a.amount, s.left)
		sum += t.counted * t.each
	}
	return sum
}
