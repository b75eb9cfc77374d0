package redemption

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Charge is what the processor has charged for an order. All amounts are in minor units. The zero
// Charge is one that nobody knows.
type Charge struct {
	Currency pricing.Currency
	// Amount is the amount without the tax that the processor has added.
	Amount int64
	// Tax is the tax that the processor has added to Amount.
	Tax pricing.Tax
}

// IsZero reports whether the charge is unknown.
func (c Charge) IsZero() bool { return c.Currency.IsZero() && c.Amount == 0 && c.Tax.IsZero() }

// Equal reports whether c and d are the same charge.
func (c Charge) Equal(d Charge) bool {
	return c.Currency == d.Currency && c.Amount == d.Amount && c.Tax.Equal(d.Tax)
}

// Clone returns a copy of the charge that shares no memory with the original.
func (c Charge) Clone() Charge {
	c.Tax = c.Tax.Clone()
	return c
}

// Total returns what the customer has paid, including the tax that the processor has added. It is
// at least 0, and at most math.MaxInt64.
func (c Charge) Total() int64 {
	switch sum := c.Amount + c.Tax.Amount; {
	case c.Amount > 0 && c.Tax.Amount > math.MaxInt64-c.Amount:
		return math.MaxInt64
	case c.Amount < 0 && c.Tax.Amount < math.MinInt64-c.Amount:
		return 0
	default:
		return max(0, sum)
	}
}

// Paid returns what the customer has paid for the order, including the tax that the processor has
// added. If nobody knows the charge, it is the total of the quote.
func (o Order) Paid() int64 {
	if o.Charge.IsZero() {
		return o.Quote.Total
	}
	return o.Charge.Total()
}

// PaidCurrency returns the currency in which the customer has paid. If nobody knows the charge, it is
// the currency of the quote. It is zero if the order has no quote, either.
func (o Order) PaidCurrency() pricing.Currency {
	if o.Charge.IsZero() {
		return o.Quote.Currency
	}
	return o.Charge.Currency
}

// CheckCharge checks whether the charge of a paid order is that of its quote. CheckCharge returns a
// [*validation.Error] that names every field that is not:
//
//   - The charge is unknown (charge).
//   - The currency or the amount is another one (charge.currency, charge.amount).
//   - The tax does not belong to the quote (charge.tax.amount, charge.tax.lines[1].lineId); see
//     [pricing.Quote.CheckTax].
//
// CheckCharge returns nil for an order that is not paid, and for an order without a quote.
func (o Order) CheckCharge() error {
	var faults validation.Error
	switch {
	case !o.State.Paid() || o.Quote.Currency.IsZero():
		return nil
	case o.Charge.IsZero() && o.Quote.Total == 0:
		return nil // there was nothing to pay
	case o.Charge.IsZero():
		faults.Add("charge", validation.Required, "nobody knows what was charged")
		return faults.Err()
	}
	if o.Charge.Currency != o.Quote.Currency {
		faults.Add("charge.currency", validation.Mismatch, "the order is in "+o.Quote.Currency.Code())
	} else if o.Charge.Amount != o.Quote.Total {
		faults.Add("charge.amount", validation.Mismatch, "the order costs "+o.Quote.Currency.Format(o.Quote.Total))
	}
	faults.Merge("charge.tax", o.Quote.CheckTax(o.Charge.Tax))
	return faults.Err()
}

// Differs reports whether two charges that are known have different amounts. Taxes by line may be
// known of only one of them.
func (c Charge) Differs(d Charge) bool {
	same := c.Currency == d.Currency && c.Amount == d.Amount && c.Tax.Amount == d.Tax.Amount
	return !c.IsZero() && !d.IsZero() && !same
}

// faults reports a charge that a store could not return. A wrong amount is not a fault, because the
// charge has happened.
func (c Charge) faults(faults *validation.Error) {
	if c.IsZero() {
		return
	}
	if c.Currency.IsZero() {
		faults.Add("charge.currency", validation.Required, "is required")
	}
	amountFault(faults, "charge.amount", c.Amount)
	amountFault(faults, "charge.tax.amount", c.Tax.Amount)
	if len(c.Tax.Lines) > pricing.MaxLines {
		faults.Add("charge.tax.lines", validation.TooLong, fmt.Sprintf("at most %d lines", pricing.MaxLines))
		return
	}
	for i, l := range c.Tax.Lines {
		field := fmt.Sprintf("charge.tax.lines[%d].", i)
		textFault(faults, field+"lineId", l.LineID, maxLineID, false)
		amountFault(faults, field+"amount", l.Amount)
	}
}

// maxLineID is the maximum length of a line's ID, in bytes. All IDs in carts are shorter.
const maxLineID = 4 * MaxIDLength

func amountFault(faults *validation.Error, field string, amount int64) {
	if amount < -math.MaxInt64 {
		faults.Add(field, validation.TooSmall, "must be at least -(2^63 - 1)")
	}
}

type chargeDocument struct {
	Currency  pricing.Currency  `json:"currency"`
	Amount    pricing.Number    `json:"amount"`
	Tax       pricing.Number    `json:"tax,omitempty"`
	LineTaxes []lineTaxDocument `json:"lineTaxes,omitempty"`
}

type lineTaxDocument struct {
	LineID string         `json:"lineId"`
	Amount pricing.Number `json:"amount"`
}

// MarshalJSON returns the charge as JSON. Amounts are strings in major units. A tax of 0 and taxes
// by line that the processor did not report are absent.
//
//	{"currency":"EUR","amount":"90.00","tax":"18.00","lineTaxes":[{"lineId":"A","amount":"18.00"}]}
func (c Charge) MarshalJSON() ([]byte, error) {
	amount := func(minor int64) pricing.Number { return pricing.Number(c.Currency.Format(minor)) }
	d := chargeDocument{Currency: c.Currency, Amount: amount(c.Amount)}
	if c.Tax.Amount != 0 {
		d.Tax = amount(c.Tax.Amount)
	}
	for _, l := range c.Tax.Lines {
		d.LineTaxes = append(d.LineTaxes, lineTaxDocument{l.LineID, amount(l.Amount)})
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads the JSON form that [Charge.MarshalJSON] writes. For a malformed amount,
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged.
func (c *Charge) UnmarshalJSON(data []byte) error {
	var d chargeDocument
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	var faults validation.Error
	amount := func(field string, text pricing.Number) int64 {
		minor, err := d.Currency.Parse(string(text))
		faults.Merge(field, err)
		return minor
	}
	read := Charge{Currency: d.Currency, Amount: amount("amount", d.Amount)}
	if d.Tax != "" {
		read.Tax.Amount = amount("tax", d.Tax)
	}
	for i, l := range d.LineTaxes {
		read.Tax.Lines = append(read.Tax.Lines, pricing.LineTax{
			LineID: l.LineID, Amount: amount(fmt.Sprintf("lineTaxes[%d].amount", i), l.Amount),
		})
	}
	if err := faults.Err(); err != nil {
		return err
	}
	*c = read
	return nil
}
