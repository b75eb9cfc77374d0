package quote

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// Validate names all that is wrong with a request for the price of a cart. It sets the step of the cart, like
// [Quoter.CheckCart].
func (q *Quoter) Validate(r *Request) error {
	var faults validation.Error
	faults.Merge("", q.CheckCart(&r.Cart))
	faults.Merge("", CheckCodes(r.Codes, r.Conflicts))
	faults.Merge("facts", r.Facts.Validate())
	return faults.Err()
}

// CheckCart names all that is wrong with a cart, also IDs of lines that neither the JSON of a quote nor a store
// keeps. It sets the step of the cart to the step in which the processor charges its currency. A step of the host
// is kept if it is a multiple of the processor's step.
func (q *Quoter) CheckCart(cart *pricing.Cart) error {
	var faults validation.Error
	switch step := q.Abilities.AmountStep[cart.Currency]; {
	case step <= 1 || cart.Step < 0:
	case cart.Step <= 1:
		cart.Step = step
	case cart.Step%step != 0:
		faults.Add("step", validation.Mismatch, fmt.Sprintf(
			"the processor charges %s in steps of %s", cart.Currency, cart.Currency.Format(step)))
	}
	faults.Merge("", cart.Validate())
	faults.Merge("", redemption.CheckLines(len(cart.Lines), func(i int) *pricing.Line { return &cart.Lines[i] }))
	return faults.Err()
}

// CheckCodes refuses more codes than a cart can have coupons, a code that is given twice in any spelling, and
// an unknown policy. Two codes may still name the same coupon, which only a look-up finds out.
func CheckCodes(codes []string, policy eligibility.ConflictPolicy) error {
	var faults validation.Error
	faults.Merge("", policy.Validate())
	if len(codes) > pricing.MaxCoupons {
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes are allowed", pricing.MaxCoupons))
		return faults.Err()
	}
	keys := make([]string, len(codes))
	for i, typed := range codes {
		keys[i] = strings.TrimSpace(typed)
		if code, err := coupon.TypedCode(typed); err == nil && !coupon.IsID(keys[i]) {
			keys[i] = code.String()
		}
		if first := slices.Index(keys[:i], keys[i]); first >= 0 {
			faults.Add(fmt.Sprintf("codes[%d]", i), validation.Mismatch, fmt.Sprintf("is the same as codes[%d]", first))
		}
	}
	return faults.Err()
}

// amountLine is the ID of the only line in a cart for an amount.
const amountLine = "amount"

// AmountCart returns a cart that costs an amount, for a request [OfAmount]. It refuses an amount that the
// processor cannot charge.
func (q *Quoter) AmountCart(amount pricing.Money) (pricing.Cart, error) {
	var faults validation.Error
	if amount.Minor() <= 0 {
		faults.Add("amount", validation.TooSmall, "an amount is greater than 0")
	}
	if amount.Currency().IsZero() {
		faults.Add("currency", validation.Required, "an amount is in a currency")
	}
	if err := faults.Err(); err != nil {
		return pricing.Cart{}, err
	}
	if err := catalog.OnStep(q.Abilities, "amount", amount); err != nil {
		return pricing.Cart{}, err
	}
	cart := pricing.Cart{Currency: amount.Currency(), Lines: []pricing.Line{{
		ID: amountLine, Kind: pricing.Device, ItemID: amountLine, Quantity: 1, UnitPrice: amount.Minor(),
	}}}
	err := q.CheckCart(&cart)
	return cart, err
}

// digest collects the values of a fingerprint.
type digest struct{ fingerprint.Digest }

func (d *digest) cart(c *pricing.Cart, prices bool) {
	d.Text(c.Currency.Code())
	d.Number(int64(len(c.Lines)))
	for i := range c.Lines {
		l := &c.Lines[i]
		d.Text(l.ID)
		d.Text(l.Kind.String())
		d.Number(int64(l.ClassOf()))
		d.Text(l.ItemID)
		d.Text(l.Categories.String())
		d.Number(l.Quantity)
		d.Number(int64(l.Recurs))
		if prices {
			d.Number(l.UnitPrice)
		}
	}
}

// Fingerprint returns a text that changes with everything on which the quote depends.
func (d *Decision) Fingerprint() string {
	var sum digest
	sum.cart(&d.Request.Cart, true)
	sum.Number(int64(len(d.Terms)))
	for i := range d.Terms {
		sum.Text(d.Terms[i].ID)
		sum.Text(d.Terms[i].Code.String())
		sum.Number(d.Terms[i].Revision)
	}
	if step := d.Request.Cart.Step; step > 1 {
		sum.Number(step)
	}
	return sum.Sum()
}

// Fingerprint returns a text that tells whether two requests with one key are the same. The prices of a
// cart are left out: they are the catalog's, and may change between the requests. An amount is part of the
// request. A code is added as a look-up finds it, so an ID is added as the code that reads like it. The order of
// the codes is added only where it can change the answer.
func (r *Request) Fingerprint(about Subject) string {
	var d digest
	if about == OfAmount {
		d.Text("amount")
		d.Text(r.Cart.Currency.Code())
		d.Number(r.Cart.Lines[0].UnitPrice)
	} else {
		d.Text("cart")
		d.cart(&r.Cart, false)
	}
	keys := make([]string, len(r.Codes))
	for i, typed := range r.Codes {
		keys[i] = typed
		if code, err := coupon.TypedCode(typed); err == nil {
			if generated, is := codes.AsGenerated(code); is {
				code = generated
			}
			keys[i] = code.String()
		}
	}
	keepFirst := len(keys) > 1 && r.Conflicts == eligibility.KeepFirst
	if !keepFirst {
		slices.Sort(keys)
	}
	d.Number(int64(len(keys)))
	for _, key := range keys {
		d.Text(key)
	}
	if r.SkipRefused {
		d.Number(1)
	}
	if keepFirst {
		d.Number(2)
	}
	if len(keys) > 1 && r.Conflicts == eligibility.KeepBest {
		d.Number(3)
	}
	if !r.Facts.IsZero() {
		facts, _ := json.Marshal(r.Facts) // no error: the facts have only texts
		d.Text(string(facts))
	}
	return d.Sum()
}
