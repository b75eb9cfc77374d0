package simulation_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/redemption"
)

// reports collects what a check reports.
type reports struct{ faults []error }

func (*reports) Helper() {}

func (r *reports) Errorf(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// checkOrder holds the quote of an order to the terms that the order keeps, by contract
// sections 2 and 3 and without the code of packages pricing and eligibility.
func checkOrder(o redemption.Order) error {
	cart := pricing.Cart{Currency: o.Quote.Currency, Step: o.Quote.Step}
	eligible := make([]bool, len(o.Quote.Lines))
	byAmount := len(o.Quote.Lines) == 1 && o.Quote.Lines[0].ItemID == "amount"
	if len(o.Coupons) > 1 && !byAmount {
		return checkSeveral(o)
	}
	for i, l := range o.Quote.Lines {
		cart.Lines = append(cart.Lines, l.Line)
		eligible[i] = l.Eligible
		if len(o.Coupons) > 0 && !byAmount {
			eligible[i] = covers(o.Coupons[0], l.Line)
		}
	}
	var discount pricing.Discount
	if len(o.Coupons) > 0 && !byAmount {
		var err error
		if discount, err = discountOf(o.Coupons[0]); err != nil {
			return err
		}
		if o.Quote.Discount == 0 {
			return fmt.Errorf("it uses coupon %s for no discount", o.Coupons[0].ID)
		}
	}
	r := &reports{}
	pricingtest.CheckQuote(r, cart, discount, eligible, o.Quote)
	return errors.Join(r.faults...)
}

// checkSeveral holds what each coupon of an order takes off to contract sections 2 and 3. In its
// lane a coupon sees what its lines cost at the entry of the lane. It takes less only if it shares
// a unit that costs nothing in the end.
func checkSeveral(o redemption.Order) error {
	q, step := o.Quote, max(o.Quote.Step, 1)
	taken := make([][]int64, len(q.Coupons)) // off each line
	for c := range q.Coupons {
		taken[c] = make([]int64, len(q.Lines))
	}
	for _, a := range q.Allocations() {
		taken[a.Coupon][a.Line] += a.Amount * a.Quantity
	}
	sum := int64(0)
	for c, k := range q.Coupons {
		at := slices.IndexFunc(o.Coupons, func(own coupon.Snapshot) bool { return own.ID == k.ID })
		if at < 0 || k.Discount == 0 {
			return fmt.Errorf("coupon %s takes %d off, and is not among those of the order", k.ID, k.Discount)
		}
		discount, err := discountOf(o.Coupons[at])
		if err != nil {
			return err
		}
		base, own, shares := int64(0), int64(0), false
		for i, l := range q.Lines {
			own += taken[c][i]
			if !covers(o.Coupons[at], l.Line) {
				continue
			}
			base += l.Subtotal
			for other := range taken {
				if q.Coupons[other].Terms.Lane() < discount.Lane() {
					base -= taken[other][i]
				}
			}
			units := q.Units(i)
			shares = shares || l.Subtotal > 0 && units[len(units)-1].UnitPrice == 0
		}
		off := discount.Percent().Of(base/step) * step
		if discount.Type() == pricing.FixedAmount {
			off = min(discount.Amount().Minor(), base)
		}
		if most := discount.Terms().MaxDiscount; most > 0 {
			off = min(off, most/step*step)
		}
		if own != k.Discount || k.Discount > off || k.Discount < off && !shares {
			return fmt.Errorf("coupon %s takes %d off, which are %d off its lines, of %d: want %d", k.ID, k.Discount, own, base, off)
		}
		sum += k.Discount
	}
	if len(q.Coupons) != len(o.Coupons) || sum != q.Discount {
		return fmt.Errorf("%d coupons take %d off, want %d coupons and %d", len(q.Coupons), sum, len(o.Coupons), q.Discount)
	}
	return q.Validate()
}

func discountOf(c coupon.Snapshot) (pricing.Discount, error) {
	if t := c.Discount.Terms(); t.MaxUnits != 0 || len(t.Others) != 0 || t.Type != pricing.Percentage && t.Type != pricing.FixedAmount {
		return pricing.Discount{}, fmt.Errorf("its terms are %+v", t)
	}
	return c.Discount, nil
}

// covers reads the selections of each kind (contract section 3).
func covers(c coupon.Snapshot, l pricing.Line) bool {
	selected := map[pricing.LineKind]coupon.Items{
		pricing.Plan: c.Scope.Plans, pricing.Device: c.Scope.Devices, pricing.Accessory: c.Scope.Accessories, pricing.Shipping: {},
	}[l.Kind]
	switch {
	case l.Kind == pricing.Shipping:
		return false
	case c.Scope.AppliesTo == coupon.Specific:
		return selected.Has(l.ItemID)
	case c.Scope.AppliesTo == coupon.Subscription && l.Kind != pricing.Plan, c.Scope.AppliesTo == coupon.Product && l.Kind == pricing.Plan:
		return false
	}
	return c.Scope.AppliesTo == coupon.All || selected.Len() == 0 || selected.Has(l.ItemID)
}
