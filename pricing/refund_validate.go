package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// refundFaults returns all faults of an input that Recompute rejected.
func refundFaults(q *Quote, before Refunded, now Returns) error {
	var faults validation.Error
	if !q.explained() {
		faults.Add("quote", validation.Mismatch, "the units are not those of the coupons")
	}
	before.faults(q, &faults)
	if len(now.Lines) > MaxLines {
		faults.Add("returns", validation.TooLong, tooManyLines())
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
			faults.Add(returnPath(i, "line"), validation.Unknown, fmt.Sprintf("the quote has %d lines", len(q.Lines)))
			continue
		case twice:
			faults.Add(returnPath(i, "line"), validation.Mismatch, fmt.Sprintf("the line is also that of returns[%d]", earlier))
		case now.Shipping && q.Lines[l.Line].ClassOf() == ShippingClass:
			faults.Add(returnPath(i, "line"), validation.Mismatch, "all shipping is returned")
		}
		if !twice {
			first[l.Line] = i
		}
		l.quantityFaults(i, q.Lines[l.Line].Quantity-before.units(l.Line), &faults)
	}
	if len(faults.Fields) == 0 { // only the remaining quantities can be wrong
		faults.Add(now.widest(), validation.TooLarge, "nothing is left to be returned")
	}
	return faults.Err()
}

func returnPath(i int, field string) string { return fmt.Sprintf("returns[%d].%s", i, field) }

// widest returns the name of the field that returns everything left.
func (n Returns) widest() string {
	if n.All {
		return "all"
	}
	return "shipping"
}

// formFaults checks the fields that do not depend on the quote. It does not check the lines.
func (n Returns) formFaults(faults *validation.Error) {
	switch {
	case n.All && len(n.Lines) > 0:
		faults.Add("returns", validation.NotAllowed, "everything is returned")
	case !n.All && !n.Shipping && len(n.Lines) == 0:
		faults.Add("returns", validation.Required, "nothing is returned")
	}
	if n.All && n.Shipping {
		faults.Add("shipping", validation.NotAllowed, "everything is returned")
	}
}

func (l LineReturn) quantityFaults(i int, left int64, faults *validation.Error) {
	field := returnPath(i, "quantity")
	switch {
	case l.Whole && l.Quantity != 0:
		faults.Add(field, validation.NotAllowed, "the whole line is returned")
	case !l.Whole && l.Quantity < 1:
		faults.Add(field, validation.TooSmall, "a quantity is at least 1")
	case l.Quantity > left, left < 1:
		faults.Add(field, validation.TooLarge, fmt.Sprintf("only %d left", left))
	}
}

// faults checks the lengths and the units.
func (r *Refunded) faults(q *Quote, faults *validation.Error) {
	if len(r.Units) > len(q.Lines) {
		faults.Add("before.units", validation.TooLong, fmt.Sprintf("the quote has %d lines", len(q.Lines)))
	}
	if len(r.Discounts) > len(q.Coupons) {
		faults.Add("before.discounts", validation.TooLong, fmt.Sprintf("the quote has %d coupons", len(q.Coupons)))
	}
	for i, n := range r.Units[:min(len(r.Units), len(q.Lines))] {
		switch field := fmt.Sprintf("before.units[%d]", i); {
		case n < 0:
			faults.Add(field, validation.TooSmall, "a number of units is not negative")
		case n > q.Lines[i].Quantity:
			faults.Add(field, validation.TooLarge, fmt.Sprintf("the line has %d units", q.Lines[i].Quantity))
		}
	}
}

// beforeFaults returns the faults that made settle fail.
func (r *Refund) beforeFaults(q *Quote, before *Refunded) error {
	var faults validation.Error
	for c := range before.Discounts {
		field, earlier := fmt.Sprintf("before.discounts[%d]", c), before.Discounts[c]
		switch {
		case earlier < 0:
			faults.Add(field, validation.TooSmall, "a discount is not negative")
		case earlier > r.work.returned[c]+r.work.lost(q, c, before):
			faults.Add(field, validation.TooLarge, "the coupon has not taken back as much")
		default:
			offStep(field, earlier, q.Currency, q.Step, &faults)
		}
	}
	if len(faults.Fields) == 0 {
		faults.Add("before.amount", validation.Mismatch, "must be the list price of the units less the discounts")
	}
	return faults.Err()
}
