package pricing

import "fmt"

// refundFaults lists everything that Recompute stumbled over.
func refundFaults(q *Quote, before Refunded, now Returns) error {
	var faults ValidationError
	if !q.explained() {
		faults.Add("quote", FieldMismatch, "the units are not those of the coupons")
	}
	before.faults(q, &faults)
	if len(now.Lines) > MaxLines {
		faults.Add("returns", FieldTooLong, tooManyLines())
		return faults.Err()
	}
	now.formFaults(&faults)
	first := make(map[int]int, len(now.Lines))
	for i, l := range now.Lines {
		if now.All {
			break
		}
		earlier, twice := first[l.Line]
		switch {
		case l.Line < 0 || l.Line >= len(q.Lines):
			faults.Add(returnPath(i, "line"), FieldUnknown, fmt.Sprintf("the quote has %d lines", len(q.Lines)))
			continue
		case twice:
			faults.Add(returnPath(i, "line"), FieldMismatch, fmt.Sprintf("the line is also that of returns[%d]", earlier))
		case now.Shipping && q.Lines[l.Line].ClassOf() == ShippingClass:
			faults.Add(returnPath(i, "line"), FieldMismatch, "all shipping is returned")
		}
		if !twice {
			first[l.Line] = i
		}
		l.quantityFaults(i, q.Lines[l.Line].Quantity-before.units(l.Line), &faults)
	}
	if len(faults.Fields) == 0 { // only what is left can be wrong
		faults.Add(now.widest(), FieldTooLarge, "nothing is left to be returned")
	}
	return faults.Err()
}

func returnPath(i int, field string) string { return fmt.Sprintf("returns[%d].%s", i, field) }

// widest names the field that returns all that is left.
func (n Returns) widest() string {
	if n.All {
		return "all"
	}
	return "shipping"
}

// formFaults checks the fields that do not depend on the quote, but for the lines.
func (n Returns) formFaults(faults *ValidationError) {
	switch {
	case n.All && len(n.Lines) > 0:
		faults.Add("returns", FieldNotAllowed, "everything is returned")
	case !n.All && !n.Shipping && len(n.Lines) == 0:
		faults.Add("returns", FieldRequired, "nothing is returned")
	}
	if n.All && n.Shipping {
		faults.Add("shipping", FieldNotAllowed, "everything is returned")
	}
}

func (l LineReturn) quantityFaults(i int, left int64, faults *ValidationError) {
	field := returnPath(i, "quantity")
	switch {
	case l.Whole && l.Quantity != 0:
		faults.Add(field, FieldNotAllowed, "the whole line is returned")
	case !l.Whole && l.Quantity < 1:
		faults.Add(field, FieldTooSmall, "a quantity is at least 1")
	case l.Quantity > left, left < 1:
		faults.Add(field, FieldTooLarge, fmt.Sprintf("%d units are left", left))
	}
}

// faults checks the lengths and the units.
func (r *Refunded) faults(q *Quote, faults *ValidationError) {
	if len(r.Units) > len(q.Lines) {
		faults.Add("before.units", FieldTooLong, fmt.Sprintf("the quote has %d lines", len(q.Lines)))
	}
	if len(r.Discounts) > len(q.Coupons) {
		faults.Add("before.discounts", FieldTooLong, fmt.Sprintf("the quote has %d coupons", len(q.Coupons)))
	}
	for i, n := range r.Units[:min(len(r.Units), len(q.Lines))] {
		switch field := fmt.Sprintf("before.units[%d]", i); {
		case n < 0:
			faults.Add(field, FieldTooSmall, "a number of units is not negative")
		case n > q.Lines[i].Quantity:
			faults.Add(field, FieldTooLarge, fmt.Sprintf("the line has %d units", q.Lines[i].Quantity))
		}
	}
}

// beforeFaults tells what settle stumbled over.
func (r *Refund) beforeFaults(q *Quote, before *Refunded) error {
	var faults ValidationError
	for c := range before.Discounts {
		field, earlier := fmt.Sprintf("before.discounts[%d]", c), before.Discounts[c]
		switch {
		case earlier < 0:
			faults.Add(field, FieldTooSmall, "a discount is not negative")
		case earlier > r.work.returned[c]+r.work.lost(q, c, before):
			faults.Add(field, FieldTooLarge, "the coupon has not taken back as much")
		default:
			offStep(field, earlier, q.Currency, q.Step, &faults)
		}
	}
	if len(faults.Fields) == 0 {
		faults.Add("before.amount", FieldMismatch, "must be the list price of the units less the discounts")
	}
	return faults.Err()
}
