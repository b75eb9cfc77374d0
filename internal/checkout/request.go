package checkout

import (
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// validate returns all faults of a request. It builds the cart for a request with an amount.
func (c *Reserver) validate(r *Request) (err error) {
	var faults validation.Error
	if r.About == quote.OfAmount {
		r.Cart, err = c.Quoter.AmountCart(r.Amount)
	} else {
		err = c.checkCart(r.Cart)
	}
	faults.Merge("", redemption.CheckOrderID(r.OrderID))
	faults.Merge("", c.checkHold(r.Hold))
	faults.Merge("", err)
	faults.Merge("", c.CheckRequest(r))
	return faults.Err()
}

// checkCart refuses a cart that is empty or cannot be priced. It also refuses a cart that the processor
// would refuse at any price: too many lines, or lines that recur in different intervals.
func (c *Reserver) checkCart(cart pricing.Cart) error {
	var faults validation.Error
	faults.Merge("", c.Quoter.CheckCart(cart))
	if len(cart.Lines) == 0 {
		faults.Add("lines", validation.Required, "the cart is empty")
	}
	if c.Quoter.Abilities.OneInterval {
		faults.Merge("", processor.CheckIntervals(len(cart.Lines), func(i int) pricing.Interval { return cart.Lines[i].Recurs }))
	}
	c.checkLength(&faults, len(cart.Lines))
	return faults.Err()
}

// checkLength refuses more lines than the processor takes.
func (c *Reserver) checkLength(faults *validation.Error, lines int) {
	if most := c.Quoter.Abilities.MaxLines; most > 0 && lines > most {
		faults.Add("lines", validation.TooLong, fmt.Sprintf("the processor takes at most %d lines", most))
	}
}

// CheckRequest names all that is wrong with a request, apart from the cart and the amount.
func (c *Reserver) CheckRequest(r *Request) error {
	var faults validation.Error
	if c.Quoter.Abilities.NeedsSuccessURL && r.PayNow && r.SuccessURL == "" {
		faults.Add("successUrl", validation.Required, "the processor needs an address to return to")
	}
	faults.Merge("", redemption.CheckRequest(r.Key, r.Metadata))
	faults.Merge("", quote.CheckCodes(r.Codes, r.Conflicts))
	faults.Merge("facts", r.Facts.Validate())
	return faults.Err()
}

// checkSession refuses an order that the processor refuses because its lines have several unit prices.
// It must be called before an earlier order is replaced.
func (c *Reserver) checkSession(o redemption.Order) error {
	var faults validation.Error
	if c.Quoter.Abilities.MaxLines > 0 {
		c.checkLength(&faults, c.SessionLines(o))
	}
	return faults.Err()
}

// Totals are the fields of couponkit.Totals.
type Totals struct {
	Subtotal int64
	Discount int64
	Shipping int64
	Total    int64
}

// compare refuses a quote whose totals differ from the totals that the customer saw.
func (t *Totals) compare(q *pricing.Quote) error {
	if t == nil || *t == (Totals{q.Subtotal, q.Discount, q.Shipping, q.Total}) {
		return nil
	}
	var refused coupon.Rejection
	for _, total := range [...]struct {
		field               string
		submitted, computed int64
	}{
		{"subtotal", t.Subtotal, q.Subtotal},
		{"discount", t.Discount, q.Discount},
		{"shipping", t.Shipping, q.Shipping},
		{"total", t.Total, q.Total},
	} {
		if total.submitted != total.computed {
			refused.Reasons = append(refused.Reasons, coupon.Reason{
				Code: coupon.CartTotalsInvalid,
				Params: coupon.Params{
					Field:     total.field,
					Submitted: coupon.Amount{Money: pricing.NewMoney(total.submitted, q.Currency)},
					Computed:  coupon.Amount{Money: pricing.NewMoney(total.computed, q.Currency)},
				},
			})
		}
	}
	return &refused
}
