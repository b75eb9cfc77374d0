package pricing

import "fmt"

// checkCoupons checks that the coupons and the groups of units explain the discounts of the
// lines. The amounts of the lines have no faults.
func (q Quote) checkCoupons() error {
	var faults ValidationError
	if len(q.Coupons) > MaxCoupons {
		faults.Add("coupons", FieldTooLong, fmt.Sprintf("at most %d coupons are allowed", MaxCoupons))
		return faults.Err()
	}
	if len(q.Coupons) > 1 || len(q.groups) > 0 {
		q.groupFaults(&faults)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	for i := range q.Coupons {
		q.couponFaults(i, &faults)
	}
	if len(q.Coupons) == 0 && q.Discount != 0 {
		faults.Add("coupons", FieldRequired, "a discount is that of a coupon")
	}
	return faults.Err()
}

// groupFaults checks the groups of units of every line, and what each coupon takes off them.
func (q *Quote) groupFaults(faults *ValidationError) {
	row, coupons := 0, len(q.Coupons)
	for i := range q.Lines {
		l := &q.Lines[i]
		units, total, fits := int64(0), int64(0), true
		for _, g := range l.groups {
			if fits = fits && g.Quantity >= 1 && g.Quantity <= l.Quantity-units && g.UnitPrice >= 0 && g.UnitPrice <= l.UnitPrice; !fits {
				break
			}
			units += g.Quantity
			total += g.Quantity * g.UnitPrice // at most the subtotal
			fits = (row+1)*coupons <= len(q.amounts) && q.explains(row, l, g)
			row++
		}
		if !fits || units != l.Quantity || total != l.Total {
			faults.Add(linePath(i, "units"), FieldMismatch, "the units are not those of the line's total and of the coupons")
			return
		}
	}
	if row != len(q.groups) || row*coupons != len(q.amounts) {
		faults.Add("lines", FieldMismatch, "the units are not those of the lines")
	}
}

// explains reports whether the amounts of a row are what a group of units lacks to the list
// price, and whether only coupons that cover the line give anything.
func (q *Quote) explains(row int, l *QuotedLine, g UnitGroup) bool {
	rest := l.UnitPrice - g.UnitPrice
	for _, amount := range q.amounts[row*len(q.Coupons):][:len(q.Coupons)] {
		if amount < 0 || amount > rest || !onStep(amount, q.Step) {
			return false
		}
		rest -= amount
	}
	return rest == 0
}

// couponFaults checks one coupon against the lines and the allocations.
func (q *Quote) couponFaults(i int, faults *ValidationError) {
	c := &q.Coupons[i]
	if i > 0 && compareCoupons(q.Coupons[i-1], *c) >= 0 {
		faults.Add(couponPath(i, "id"), FieldMismatch, "coupons are sorted by lane and then by ID")
	}
	var subtotal, quantity int64
	for j := range q.Lines {
		if q.Covers(i, j) {
			if !q.Lines[j].Eligible {
				faults.Add(couponPath(i, "lines"), FieldMismatch, fmt.Sprintf("line %d is not eligible", j))
				return
			}
			subtotal += q.Lines[j].Subtotal
			quantity += q.Lines[j].Quantity
		}
	}
	amount, err := q.allocated(i)
	if err != nil {
		faults.Merge("", err)
	}
	for _, sum := range [...]struct {
		field     string
		got, want int64
	}{
		{"eligibleSubtotal", c.EligibleSubtotal, subtotal}, {"eligibleQuantity", c.EligibleQuantity, quantity}, {"discount", c.Amount, amount},
	} {
		if sum.got != sum.want {
			faults.Add(couponPath(i, sum.field), FieldMismatch, "is not the sum of the lines")
		}
	}
}

// allocated returns what the lines give to a coupon. A line that the coupon does not cover gives
// nothing.
func (q *Quote) allocated(coupon int) (sum int64, err error) {
	if len(q.groups) == 0 {
		return q.Discount, nil
	}
	row := 0
	for j := range q.Lines {
		for _, g := range q.Lines[j].groups {
			amount := q.amounts[row*len(q.Coupons)+coupon]
			if amount > 0 && !q.Covers(coupon, j) {
				return 0, invalid(couponPath(coupon, "lines"), FieldMismatch, fmt.Sprintf("line %d is discounted and not covered", j))
			}
			sum += amount * g.Quantity
			row++
		}
	}
	return sum, nil
}
