package quote

import (
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/pricing"
)

// ours measures this repository's pricing with all checks.
type ours struct {
	cart     pricing.Cart
	discount pricing.Discount
	quote    pricing.Quote
}

// reused reuses the result of the call before.
type reused struct{ ours }

func newReused(b Basket) (Pricing, error) {
	o, err := newOurs(b)
	return &reused{o}, err
}

func (r *reused) Price() error {
	return r.quote.Reprice(r.cart, pricing.Terms{Discount: r.discount})
}

// fresh makes a new result for each call, like the convenient function.
type fresh struct{ ours }

func newFresh(b Basket) (Pricing, error) {
	o, err := newOurs(b)
	return &fresh{o}, err
}

func (f *fresh) Price() (err error) {
	f.quote, err = pricing.Price(f.cart, pricing.Terms{Discount: f.discount})
	return err
}

func newOurs(b Basket) (ours, error) {
	o := ours{cart: pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, len(b.Lines))}}
	for i, l := range b.Lines {
		o.cart.Lines[i] = pricing.Line{
			ID: fmt.Sprintf("line-%d", i), Kind: pricing.Device, ItemID: fmt.Sprintf("device-%d", i%7),
			Quantity: l.Quantity, UnitPrice: l.Price,
		}
	}
	if b.Percent == 0 {
		var err error
		o.discount, err = pricing.AmountOff(pricing.NewMoney(b.Amount, pricing.EUR()))
		return o, err
	}
	percent, err := pricing.PercentFromDecimal(decimal.New(b.Percent, -4))
	o.discount = pricing.PercentOff(percent)
	return o, err
}

func (o *ours) Answer() Answer {
	a := Answer{Discounts: make([]int64, len(o.quote.Lines)), Total: o.quote.Total}
	for i, l := range o.quote.Lines {
		a.Discounts[i] = l.Discount
	}
	return a
}
