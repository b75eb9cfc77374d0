package pricing

// unitPrice returns the sum over the counted units of the cost above the price.
func (a *application) unitPrice() (sum int64) {
	for i, s := range a.segments {
		t := &a.takings[i]
		t.each = max(0, s.left-a.amount)
		sum += t.counted * t.each
	}
	return sum
}
