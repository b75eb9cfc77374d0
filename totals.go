package couponkit

import (
	"encoding/json"
	"errors"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Totals contains the sums that a customer was shown, in minor units of the cart's currency; see
// [Quote.Totals].
//
// Use [ParseTotals] and [Totals.JSON] to read and write Totals as JSON. Both functions need the
// currency because it determines the number of decimals. Package encoding/json cannot pass a
// currency, so it returns an error for Totals.
type Totals struct {
	Subtotal int64
	Discount int64
	Shipping int64
	Total    int64
}

// Totals returns the sums of the quote, for use as [CheckoutRequest].Expected.
func (q Quote) Totals() Totals {
	return Totals{Subtotal: q.Subtotal, Discount: q.Discount, Shipping: q.Shipping, Total: q.Total}
}

// ParseTotals reads a client's totals in the currency of the cart. The JSON has this form:
//
//	{"subtotal":"30.00","discount":"10.00","shipping":"4.90","total":"24.90"}
//
// All four amounts are required. Each amount is a JSON string or a JSON number. An amount with too
// many decimals for the currency is malformed. [Service.Checkout] compares the totals with the
// cart.
//
// ParseTotals returns a [*validation.Error] that names every missing, unknown, repeated or
// malformed field. The currency must not be the zero value.
func ParseTotals(data []byte, c pricing.Currency) (Totals, error) {
	var given struct{ subtotal, discount, shipping, total pricing.Number }
	var faults validation.Error
	if c.IsZero() {
		faults.Add("currency", validation.Required, "totals need a currency")
		return Totals{}, faults.Err()
	}
	faults.Merge("", strictjson.Object(data, map[string]any{
		"subtotal": &given.subtotal, "discount": &given.discount, "shipping": &given.shipping, "total": &given.total,
	}))
	unread := map[string]bool{}
	for _, f := range faults.Fields {
		unread[f.Path] = true
	}
	if unread[""] { // it is not an object
		return Totals{}, faults.Err()
	}
	amount := func(field string, n pricing.Number) int64 {
		if unread[field] {
			return 0
		}
		minor, err := c.Parse(string(n))
		faults.At(field, err)
		return minor
	}
	t := Totals{
		Subtotal: amount("subtotal", given.subtotal), Discount: amount("discount", given.discount),
		Shipping: amount("shipping", given.shipping), Total: amount("total", given.total),
	}
	if err := faults.Err(); err != nil {
		return Totals{}, err
	}
	return t, nil
}

// JSON returns the totals in the form that [ParseTotals] reads. Every amount has exactly the
// currency's number of decimals. A client that is written in Go can send this JSON to the host. For
// the zero currency, JSON returns a [*validation.Error].
func (t Totals) JSON(c pricing.Currency) ([]byte, error) {
	if c.IsZero() {
		var faults validation.Error
		faults.Add("currency", validation.Required, "totals need a currency")
		return nil, faults.Err()
	}
	return json.Marshal(struct {
		Subtotal string `json:"subtotal"`
		Discount string `json:"discount"`
		Shipping string `json:"shipping"`
		Total    string `json:"total"`
	}{c.Format(t.Subtotal), c.Format(t.Discount), c.Format(t.Shipping), c.Format(t.Total)})
}

func errTotalsAlone() error {
	return errors.New("totals do not know their currency: use couponkit.ParseTotals and Totals.JSON")
}

// MarshalJSON always returns an error. Use [Totals.JSON] instead.
func (t Totals) MarshalJSON() ([]byte, error) { return nil, errTotalsAlone() }

// UnmarshalJSON returns an error for any JSON value except null. Use [ParseTotals] instead. The
// value null leaves the totals unchanged.
func (t *Totals) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return errTotalsAlone()
}
