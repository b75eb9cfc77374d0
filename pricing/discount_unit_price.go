package pricing

// unitPrice is the sum of what the counted units cost above the price.
func (a *application) unitPrice() (sum int64) {
	for i, s := range a.segments {
		t := &a.takings[i]
		t.each = max(0, s.left-a.amount)
		sum += t.counted * t.each
	}
	return sum
}
