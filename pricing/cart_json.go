package pricing

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

const (
	// maxCartDocument bounds a cart in JSON, in bytes, as MaxQuoteDocument does a quote.
	maxCartDocument = MaxQuoteDocument
	// maxFaultyEntries is how many entries of a list that cannot be read are reported. Those
	// behind them are not read.
	maxFaultyEntries = 1_000
)

type cartDocument struct {
	Currency string             `json:"currency"`
	Step     string             `json:"step,omitempty"`
	Lines    []cartLineDocument `json:"lines"`
}

type cartLineDocument struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Class      string   `json:"class,omitempty"`
	ItemID     string   `json:"itemId"`
	Categories []string `json:"categories,omitempty"`
	Quantity   int64    `json:"quantity"`
	UnitPrice  string   `json:"unitPrice"`
	Recurs     string   `json:"recurs,omitempty"`
}

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
	d := cartDocument{Currency: c.Currency.Code(), Lines: make([]cartLineDocument, len(c.Lines))}
	if c.Step != 0 {
		d.Step = c.Currency.Format(c.Step)
	}
	for i := range c.Lines {
		l := &c.Lines[i]
		d.Lines[i] = cartLineDocument{
			ID: l.ID, Kind: l.Kind.String(), Class: l.Class.String(), ItemID: l.ItemID,
			Categories: l.Categories.Names(), Quantity: l.Quantity,
			UnitPrice: c.Currency.Format(l.UnitPrice), Recurs: l.Recurs.String(),
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
	o, err := readObject(data, "currency", "step", "lines")
	if err != nil {
		return err
	}
	var read Cart
	read.Currency, _ = requiredWord(&o, "currency", ParseCurrency)
	read.Step, _ = o.amount("step", read.Currency)
	o.required("lines")
	read.Lines = o.lines(read.Currency)
	judged := read
	if judged.Currency.IsZero() {
		judged.Currency = EUR() // none has its fault already; no amount was read
	}
	o.faults.Merge("", judged.Validate())
	if err := o.faults.Err(); err != nil {
		return err
	}
	*c = read
	return nil
}

// lines reads the lines of a cart, at most MaxLines.
func (o *object) lines(c Currency) []Line {
	var lines []Line
	o.list("lines", MaxLines, func(raw json.RawMessage) error {
		line, err := readLine(raw, c)
		lines = append(lines, line)
		return err
	})
	return lines
}

// readLine reads a line. What it reports is valid in the line that it returns, so that
// the cart's Validate finds no fault in it that would only be reported a second time.
func readLine(data []byte, c Currency) (Line, error) {
	line := Line{Kind: Plan, Quantity: 1}
	o, err := readObject(data, "id", "kind", "class", "itemId", "categories", "quantity", "unitPrice", "recurs")
	if err != nil {
		return line, err
	}
	line.ID, _ = o.text("id")
	line.ItemID, _ = o.text("itemId")
	kind, known := requiredWord(&o, "kind", ParseLineKind)
	class, _ := word(&o, "class", ParseClass)
	if known {
		line.Kind, line.Class = kind, class
	}
	line.Categories = o.categories("categories")
	o.required("quantity")
	if quantity, ok := o.whole("quantity"); ok {
		line.Quantity = quantity
	}
	o.required("unitPrice")
	line.UnitPrice, _ = o.amount("unitPrice", c)
	line.Recurs, _ = word(&o, "recurs", ParseInterval)
	return line, o.faults.Err()
}

// categories reads a list of names, which may be absent.
func (o *object) categories(name string) Categories {
	before := len(o.faults.Fields)
	names := o.texts(name, MaxCategories)
	if len(o.faults.Fields) > before {
		return Categories{}
	}
	read, err := NewCategories(names...)
	o.faults.Merge(name, err)
	return read
}

// errLineAlone is no [*validation.Error]: the program is wrong, and not its input.
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
