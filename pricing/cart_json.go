package pricing

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// maxCartDocument is the maximum size of a cart in JSON, in bytes.
const maxCartDocument = MaxQuoteDocument

// cartDocument is a cart in JSON. Its lines are decoded after the currency.
type cartDocument[Lines any] struct {
	Currency string  `json:"currency"`
	Step     *Number `json:"step,omitempty"`
	Lines    Lines   `json:"lines"`
}

type cartLineDocument struct {
	ID         string        `json:"id"`
	Kind       string        `json:"kind"`
	Class      string        `json:"class,omitempty"`
	ItemID     string        `json:"itemId"`
	Categories categoryNames `json:"categories,omitempty"`
	Quantity   json.Number   `json:"quantity"`
	UnitPrice  *Number       `json:"unitPrice"`
	Recurs     string        `json:"recurs,omitempty"`
}

// categoryNames is a list of at most MaxCategories names.
type categoryNames []string

// MaxEntries returns [MaxCategories].
func (categoryNames) MaxEntries() int { return MaxCategories }

var (
	cartReader = strictjson.For[cartDocument[json.RawMessage]]()
	lineReader = strictjson.For[cartLineDocument]()
)

// MarshalJSON returns the cart as JSON:
//
//	{"currency":"KWD","step":"0.010",
//	 "lines":[{"id":"A","kind":"plan","itemId":"basic","quantity":3,
//	   "unitPrice":"10.000","recurs":"month"}]}
//
// A line may also have "class" and "categories", a list of names. Amounts are strings in
// major units, with all decimals of the currency. A step, class or set of categories that is
// zero and the interval [Once] are omitted. [Cart.UnmarshalJSON] restores the cart without loss.
//
// MarshalJSON returns a [*validation.Error] in these cases:
//
//   - The cart is invalid; see [Cart.Validate].
//   - An ID or an ItemID is not valid UTF-8.
func (c Cart) MarshalJSON() ([]byte, error) {
	var faults validation.Error
	faults.Merge("", c.Validate())
	for i := range c.Lines[:min(len(c.Lines), MaxLines)] {
		c.Lines[i].textFaults(i, &faults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	d := cartDocument[[]cartLineDocument]{Currency: c.Currency.Code(), Lines: make([]cartLineDocument, len(c.Lines))}
	if c.Step != 0 {
		d.Step = new(c.Currency.Number(c.Step))
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		d.Lines[i] = cartLineDocument{
			ID: l.ID, Kind: l.Kind.String(), Class: l.Class.String(), ItemID: l.ItemID,
			Categories: l.Categories.Names(), Quantity: integer(l.Quantity),
			UnitPrice: new(c.Currency.Number(l.UnitPrice)), Recurs: l.Recurs.String(),
		}
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads the JSON form that [Cart.MarshalJSON] writes, by these rules:
//
//   - An amount is a JSON string or a JSON number in major units. For a cart in EUR, the
//     JSON number 10 means 10.00 EUR.
//   - A quantity is a JSON number.
//   - The cart fields "currency" and "lines" are required.
//   - The line fields "kind", "quantity" and "unitPrice" are required.
//   - The fields "step", "id", "class", "itemId", "categories" and "recurs" are optional. An optional field that
//     is absent or null is read as its zero value.
//
// For invalid input, UnmarshalJSON returns a [*validation.Error] and leaves its receiver
// unchanged. The validation.Error lists unknown, repeated and malformed JSON fields, and the
// errors of [Cart.Validate]. UnmarshalJSON stops reading after [MaxLines] lines or after
// 1,000 malformed lines. JSON of more than 40 MiB is refused.
func (c *Cart) UnmarshalJSON(data []byte) error {
	if len(data) > maxCartDocument {
		return validation.New("", validation.TooLong, fmt.Sprintf("a cart has at most %d bytes", maxCartDocument))
	}
	var d cartDocument[json.RawMessage]
	var r reader
	if !r.read(cartReader.Object(data, &d)) {
		return r.faults.Err()
	}
	r.required("currency", d.Currency != "")
	r.currency = word(&r, "currency", d.Currency, ParseCurrency)
	read := Cart{Currency: r.currency, Step: r.optionalAmount("step", d.Step)}
	r.required("lines", d.Lines != nil)
	read.Lines = list(&r, "lines", d.Lines, MaxLines, func(raw json.RawMessage) (Line, error) { return readLine(raw, r.currency) })
	judged := read
	if judged.Currency.IsZero() {
		judged.Currency = EUR() // the missing currency has its fault already, and no amount was read
	}
	r.faults.Merge("", judged.Validate())
	if err := r.faults.Err(); err != nil {
		return err
	}
	*c = read
	return nil
}

// readLine reads a line. A field with a fault gets a valid value in the returned line, so that the
// cart's Validate does not report the fault a second time.
func readLine(data []byte, c Currency) (Line, error) {
	line := Line{Kind: Plan, Quantity: 1}
	r := reader{currency: c}
	var d cartLineDocument
	if !r.read(lineReader.Object(data, &d)) {
		return line, r.faults.Err()
	}
	line.ID, line.ItemID = d.ID, d.ItemID
	r.required("kind", d.Kind != "")
	kind, class := word(&r, "kind", d.Kind, ParseLineKind), word(&r, "class", d.Class, ParseClass)
	if kind != "" {
		line.Kind, line.Class = kind, class
	}
	line.Categories = r.categories(d.Categories)
	r.required("quantity", d.Quantity != "")
	if quantity, ok := r.whole("quantity", d.Quantity); ok {
		line.Quantity = quantity
	}
	r.required("unitPrice", d.UnitPrice != nil)
	line.UnitPrice = r.optionalAmount("unitPrice", d.UnitPrice)
	line.Recurs = word(&r, "recurs", d.Recurs, ParseInterval)
	return line, r.faults.Err()
}

// errLineAlone is a programming error, not a [*validation.Error].
func errLineAlone() error {
	return errors.New("a line does not know its currency: read or write the whole cart, a pricing.Cart")
}

// MarshalJSON always returns an error, because a line does not contain the currency of its
// price. Marshal the whole [Cart] or [Quote] instead. A struct that embeds Line needs its
// own MarshalJSON method.
func (l Line) MarshalJSON() ([]byte, error) { return nil, errLineAlone() }

// UnmarshalJSON returns an error for all JSON except null, because a line does not contain
// the currency of its price. The JSON value null leaves the line unchanged. Unmarshal the
// whole [Cart] instead.
func (l *Line) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	return errLineAlone()
}
