package pricing

// countsLines reports whether the discount counts all units of its lines, each for what it
// costs. Then subtotals are enough to compute it, and the units need not be told apart.
func (d *Discount) countsLines() bool {
	return (d.kind == Percentage || d.kind == FixedAmount) && (d.more == nil || d.more.MaxUnits == 0)
}

// ofLines returns a discount that counts lines, in minor units.
func (d *Discount) ofLines(q *Quote, c *QuotedCoupon) int64 {
	base, off := c.EligibleSubtotal, int64(0)
	terms, _ := d.in(q.Currency)
	switch {
	case d.kind == FixedAmount:
		off = min(terms.Amount, base)
	case q.Step > 1:
		off = d.percent.Of(base/q.Step) * q.Step
	default:
		off = d.percent.Of(base)
	}
	if terms.MaxDiscount > 0 {
		off = min(off, terms.MaxDiscount/max(q.Step, 1)*max(q.Step, 1))
	}
	return off
}
