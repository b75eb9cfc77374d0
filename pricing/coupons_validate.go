package pricing

import (
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

const unexplainedMessage = "the units are not those of the coupons"

// checkCoupons checks that the coupons and the groups of units explain the discounts of the
// lines. The amounts of the lines have no faults.
func (q Quote) checkCoupons() error {
	var faults validation.Error
	if len(q.Coupons) > MaxCoupons {
		faults.Add("coupons", validation.TooLong, fmt.Sprintf("at most %d coupons are allowed", MaxCoupons))
		return faults.Err()
	}
	var amounts [MaxCoupons]int64
	q.groupFaults(amounts[:len(q.Coupons)], &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	for i := range q.Coupons {
		q.couponFaults(i, amounts[i], &faults)
	}
	if len(q.Coupons) == 0 && q.Discount != 0 {
		faults.Add("coupons", validation.Required, "a discount is that of a coupon")
	}
	return faults.Err()
}

// groupFaults checks the groups of units of every line, and the discount of each coupon on them. It
// adds each coupon's discounts to sums.
func (q *Quote) groupFaults(sums []int64, faults *validation.Error) {
	var room rowRoom
	if !q.explained() {
		faults.Add("coupons", validation.Mismatch, unexplainedMessage)
		return
	}
	for i := range q.Lines {
		l := &q.Lines[i]
		if len(q.Coupons) == 0 && l.Discount == 0 || l.Quantity < 1 {
			continue
		}
		groups, amounts := q.rows(i, &room)
		if !q.explain(i, groups, amounts, sums) {
			faults.Add(linePath(i, "units"), validation.Mismatch, "the units are not those of the line's total and of the coupons")
		}
	}
}

// explain checks the groups of a line. They must add up to the line's units and total. The difference
// to the list price must be the discounts of the coupons that cover the line. explain adds these
// discounts to sums.
func (q *Quote) explain(line int, groups []UnitGroup, amounts, sums []int64) bool {
	l, coupons := &q.Lines[line], len(q.Coupons)
	units, total := int64(0), int64(0)
	for j, g := range groups {
		if g.Quantity < 1 || g.Quantity > l.Quantity-units || g.UnitPrice < 0 || g.UnitPrice > l.UnitPrice {
			return false
		}
		units += g.Quantity
		total += g.Quantity * g.UnitPrice // at most the subtotal
		rest := l.UnitPrice - g.UnitPrice
		for c, amount := range amounts[j*coupons:][:coupons] {
			if amount < 0 || amount > rest || !onStep(amount, q.Step) || amount > 0 && !q.Covers(c, line) {
				return false
			}
			rest -= amount
			sums[c] += amount * g.Quantity
		}
		if rest != 0 && coupons > 0 {
			return false
		}
	}
	return units == l.Quantity && total == l.Total
}

// couponFaults checks one coupon against the lines and the allocations.
func (q *Quote) couponFaults(i int, amount int64, faults *validation.Error) {
	c := &q.Coupons[i]
	if i > 0 && compareCoupons(q.Coupons[i-1], *c) >= 0 {
		faults.Add(couponPath(i, "id"), validation.Mismatch, "coupons are sorted by lane and then by ID")
	}
	if !c.Refund.valid() || c.Refund.Policy == 0 {
		var own validation.Error
		c.Refund.faults(&own)
		if c.Refund.Policy == 0 {
			own.Add("refund.policy", validation.Required, refundPolicyMessage)
		}
		faults.Merge(fmt.Sprintf("coupons[%d]", i), own.Err())
	}
	var subtotal, quantity int64
	for j := range q.Lines {
		if q.Covers(i, j) {
			if !q.Lines[j].Eligible {
				faults.Add(couponPath(i, "lines"), validation.Mismatch, fmt.Sprintf("line %d is not eligible", j))
				return
			}
			subtotal += q.Lines[j].Subtotal
			quantity += q.Lines[j].pricedUnits()
		}
	}
	for _, sum := range [...]struct {
		field     string
		got, want int64
	}{
		{"eligibleSubtotal", c.EligibleSubtotal, subtotal}, {"eligibleQuantity", c.EligibleQuantity, quantity}, {"discount", c.Discount, amount},
	} {
		if sum.got != sum.want {
			faults.Add(couponPath(i, sum.field), validation.Mismatch, "is not the sum of the lines")
		}
	}
}
