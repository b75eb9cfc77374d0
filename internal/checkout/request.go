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

// validate returns all faults of a request. It builds the cart for a request with an amount, and sets the step of
// any other cart.
//
// A cart may not be empty. The processor refuses some carts at any price: those with too many lines, or with lines
// that recur in different intervals.
func (c *Reserver) validate(r *Request) error {
	var faults validation.Error
	faults.Merge("", redemption.CheckOrderID(r.OrderID))
	faults.Merge("", c.checkHold(r.Hold))
	if r.About == quote.OfAmount {
		cart, err := c.Quoter.AmountCart(r.Amount)
		faults.Merge("", err)
		r.Cart = cart
	} else {
		faults.Merge("", c.Quoter.CheckCart(&r.Cart))
		if len(r.Cart.Lines) == 0 {
			faults.Add("lines", validation.Required, "the cart is empty")
		}
		if c.Quoter.Abilities.OneInterval {
			faults.Merge("", processor.CheckIntervals(len(r.Cart.Lines), func(i int) pricing.Interval { return r.Cart.Lines[i].Recurs }))
		}
		c.checkLength(&faults, len(r.Cart.Lines))
	}
	faults.Merge("", c.CheckRequest(r))
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
