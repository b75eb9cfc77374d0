package simulation_test

import (
	"errors"
	"fmt"

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

func discountOf(c coupon.Snapshot) (pricing.Discount, error) {
	if !c.Terms.IsZero() { // it has a cap
		t := c.Terms.Terms()
		if t.Type != c.DiscountType || t.MaxDiscount == 0 || t.MaxUnits != 0 || len(t.Others) != 0 || c.Terms.Value() != c.DiscountValue {
			return pricing.Discount{}, fmt.Errorf("its terms are %+v", t)
		}
		return c.Terms, nil
	}
	if c.DiscountType == pricing.FixedAmount {
		amount, err := pricing.ParseMoney(c.DiscountValue, c.Currency)
		if err != nil {
			return pricing.Discount{}, err
		}
		return pricing.AmountOff(amount)
	}
	percent, err := pricing.ParsePercent(c.DiscountValue)
	return pricing.PercentOff(percent), err
}

// covers reads the selections of each kind (contract section 3).
func covers(c coupon.Snapshot, l pricing.Line) bool {
	selected := map[pricing.LineKind]coupon.Items{
		pricing.Plan: c.PlanIDs, pricing.Device: c.DeviceIDs, pricing.Accessory: c.AccessoryIDs, pricing.Shipping: {},
	}[l.Kind]
	switch {
	case l.Kind == pricing.Shipping:
		return false
	case c.AppliesTo == coupon.Specific:
		return selected.Has(l.ItemID)
	case c.AppliesTo == coupon.Subscription && l.Kind != pricing.Plan, c.AppliesTo == coupon.Product && l.Kind == pricing.Plan:
		return false
	}
	return c.AppliesTo == coupon.All || selected.Len() == 0 || selected.Has(l.ItemID)
}
