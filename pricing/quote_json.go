package pricing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxQuoteDocument is the maximum size of a [Quote] in JSON, in bytes. Every quote of a
// valid cart fits into MaxQuoteDocument bytes.
const MaxQuoteDocument = 40 << 20

// quoteDocument is the stored form of a Quote. Values whose text has rules of
// its own are kept as text, so that each fault is reported with its path.
type quoteDocument struct {
	Currency         string        `json:"currency"`
	Step             Number        `json:"step,omitempty"`
	Subtotal         Number        `json:"subtotal"`
	EligibleSubtotal Number        `json:"eligibleSubtotal"`
	Discount         Number        `json:"discount"`
	Shipping         Number        `json:"shipping"`
	Total            Number        `json:"total"`
	Lines            lineDocuments `json:"lines"`
}

type lineDocument struct {
	ID         string        `json:"id"`
	Kind       string        `json:"kind"`
	Class      string        `json:"class,omitempty"`
	ItemID     string        `json:"itemId"`
	Categories categoryNames `json:"categories,omitempty"`
	Quantity   json.Number   `json:"quantity"`
	UnitPrice  Number        `json:"unitPrice"`
	Recurs     string        `json:"recurs,omitempty"`
	Eligible   bool          `json:"eligible"`
	Subtotal   Number        `json:"subtotal"`
	Discount   Number        `json:"discount"`
	Total      Number        `json:"total"`
	Units      unitDocuments `json:"units"`
}

// maxUnitGroups is one more than a line can have: enough to see that a document
// has too many.
const maxUnitGroups = 3

// readAtOnce is how many bytes of a list are read at once, whatever they hold: so many
// cannot ask for more than some megabytes.
const readAtOnce = 64 << 10

// lineDocuments and unitDocuments are bounded while they are read: a short text
// could otherwise ask for millions.
type (
	lineDocuments []lineDocument
	unitDocuments []unitDocument
	categoryNames []string
)

func (c *categoryNames) UnmarshalJSON(data []byte) (err error) {
	*c, err = readList[string]("categories", data, MaxCategories)
	return err
}

func (l *lineDocuments) UnmarshalJSON(data []byte) (err error) {
	*l, err = readList[lineDocument]("lines", data, MaxLines)
	return err
}

func (u *unitDocuments) UnmarshalJSON(data []byte) (err error) {
	*u, err = readList[unitDocument]("units", data, maxUnitGroups)
	return err
}

type unitDocument struct {
	Quantity  json.Number `json:"quantity"`
	UnitPrice Number      `json:"unitPrice"`
}

// MarshalJSON returns the quote as JSON for storage:
//
//	{"currency":"EUR","subtotal":"30.00","eligibleSubtotal":"30.00",
//	 "discount":"10.00","shipping":"0.00","total":"20.00",
//	 "lines":[{"id":"A","kind":"plan","itemId":"basic","quantity":3,
//	   "unitPrice":"10.00","recurs":"month","eligible":true,"subtotal":"30.00",
//	   "discount":"10.00","total":"20.00",
//	   "units":[{"quantity":2,"unitPrice":"6.67"},{"quantity":1,"unitPrice":"6.66"}]}]}
//
// Amounts are strings in major units, with all decimals of the currency. The step is
// written like an amount, such as "step":"0.010". A step of 0 and the interval [Once] are
// omitted. [Quote.UnmarshalJSON] restores the quote without loss.
//
// MarshalJSON returns a [*ValidationError] in these cases:
//
//   - The quote is invalid; see [Quote.Validate]. IDs of any length are accepted.
//   - An ID or an ItemID is not valid UTF-8.
//   - The JSON has more than [MaxQuoteDocument] bytes.
func (q Quote) MarshalJSON() ([]byte, error) {
	var faults ValidationError
	faults.Merge("", q.checkAmounts())
	for i := range q.Lines {
		q.Lines[i].textFaults(i, &faults)
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(q.document())
	if err == nil && len(text) > MaxQuoteDocument {
		return nil, tooLongQuote()
	}
	return text, err
}

func tooLongQuote() error {
	return invalid("", FieldTooLong, fmt.Sprintf("a quote has at most %d bytes", MaxQuoteDocument))
}

func (q Quote) document() quoteDocument {
	amount := func(minor int64) Number { return Number(q.Currency.Format(minor)) }
	d := quoteDocument{
		Currency: q.Currency.Code(), Subtotal: amount(q.Subtotal), EligibleSubtotal: amount(q.EligibleSubtotal),
		Discount: amount(q.Discount), Shipping: amount(q.Shipping), Total: amount(q.Total),
		Lines: make([]lineDocument, len(q.Lines)),
	}
	if q.Step != 0 {
		d.Step = amount(q.Step)
	}
	var groups []UnitGroup
	for i := range q.Lines {
		l := &q.Lines[i]
		groups = l.AppendUnits(groups[:0])
		units := make([]unitDocument, len(groups))
		for j, g := range groups {
			units[j] = unitDocument{Quantity: integer(g.Quantity), UnitPrice: amount(g.UnitPrice)}
		}
		d.Lines[i] = lineDocument{
			ID: l.ID, Kind: l.Kind.String(), Class: l.Class.String(), ItemID: l.ItemID,
			Categories: l.Categories.Names(), Quantity: integer(l.Quantity),
			UnitPrice: amount(l.UnitPrice), Recurs: l.Recurs.String(), Eligible: l.Eligible,
			Subtotal: amount(l.Subtotal), Discount: amount(l.Discount), Total: amount(l.Total), Units: units,
		}
	}
	return d
}

func integer(n int64) json.Number { return json.Number(formatMinor(n, 0)) }

// UnmarshalJSON reads and checks the JSON form that [Quote.MarshalJSON] writes. Unknown
// fields are ignored. The JSON value null leaves the quote unchanged.
//
// UnmarshalJSON returns a [*ValidationError] and leaves its receiver unchanged in these
// cases:
//
//   - The JSON or a field of the quote is malformed.
//   - The quote is invalid; see [Quote.Validate]. IDs of any length are accepted.
//   - The units of a line do not match the total of the line.
//   - The JSON has more than [MaxQuoteDocument] bytes.
func (q *Quote) UnmarshalJSON(data []byte) error {
	if len(data) > MaxQuoteDocument {
		return tooLongQuote()
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var document quoteDocument
	if err := json.Unmarshal(data, &document); err != nil {
		return jsonFault(err)
	}
	loaded, err := document.quote()
	if err != nil {
		return err
	}
	if err := loaded.checkAmounts(); err != nil {
		return err
	}
	if err := document.checkUnits(loaded); err != nil {
		return err
	}
	*q = loaded
	return nil
}

// readList reads a JSON array of at most that many entries; its faults carry the
// path of the entry.
func readList[T any](field string, data []byte, most int) ([]T, error) {
	if jsonKind(data) != "array" {
		return nil, invalid(field, FieldMalformed, "must be a list")
	}
	if len(data) <= readAtOnce {
		var list []T
		if err := json.Unmarshal(data, &list); err == nil && len(list) <= most {
			return list, nil
		}
	}
	return readEntries[T](field, data, most)
}

// readEntries is readList for what is long, or has a fault to be named: one entry at a
// time.
func readEntries[T any](field string, data []byte, most int) ([]T, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	_, _ = decoder.Token() // the bracket that jsonKind saw
	var list []T
	for decoder.More() {
		if len(list) == most {
			return nil, invalid(field, FieldTooLong, fmt.Sprintf("at most %d entries are allowed", most))
		}
		var entry T
		if err := decoder.Decode(&entry); err != nil {
			var faults ValidationError
			faults.Merge(fmt.Sprintf("%s[%d]", field, len(list)), jsonFault(err))
			return nil, faults.Err()
		}
		list = append(list, entry)
	}
	return list, nil
}

// jsonFault turns an error of encoding/json into a fault of the field that it
// names. Faults from within stay as they are.
func jsonFault(err error) error {
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.Is(err, ErrInvalid):
		return err
	case errors.As(err, &mistyped):
		return invalid(mistyped.Field, FieldMalformed, "cannot be a JSON "+mistyped.Value)
	}
	return invalid("", FieldMalformed, err.Error())
}

// quoteReader collects the faults of a document's fields.
type quoteReader struct {
	currency Currency
	faults   ValidationError
}

func (r *quoteReader) amount(field string, text Number) int64 {
	minor, err := scaledText(string(text), r.currency.Exponent())
	r.faults.At(field, err)
	return minor
}

func (r *quoteReader) integer(field string, text json.Number) int64 {
	n, err := scaledText(string(text), 0)
	r.faults.At(field, err)
	return n
}

func (d *quoteDocument) quote() (Quote, error) {
	var r quoteReader
	if d.Currency != "" { // the zero Quote has none
		currency, err := ParseCurrency(d.Currency)
		if err != nil {
			return Quote{}, err
		}
		r.currency = currency
	}
	q := Quote{
		Currency:         r.currency,
		Subtotal:         r.amount("subtotal", d.Subtotal),
		EligibleSubtotal: r.amount("eligibleSubtotal", d.EligibleSubtotal),
		Discount:         r.amount("discount", d.Discount),
		Shipping:         r.amount("shipping", d.Shipping),
		Total:            r.amount("total", d.Total),
	}
	if d.Step != "" {
		q.Step = r.amount("step", d.Step)
	}
	q.Lines = make([]QuotedLine, len(d.Lines))
	for i := range d.Lines {
		of := quoteReader{currency: r.currency}
		q.Lines[i] = of.line(&d.Lines[i])
		q.Lines[i].Step = q.Step
		if err := of.faults.Err(); err != nil {
			r.faults.Merge(fmt.Sprintf("lines[%d]", i), err)
		}
	}
	return q, r.faults.Err()
}

func (r *quoteReader) line(d *lineDocument) QuotedLine {
	kind, err := ParseLineKind(d.Kind)
	r.faults.At("kind", err)
	var class Class
	if d.Class != "" {
		class, err = ParseClass(d.Class)
		r.faults.At("class", err)
	}
	categories, err := NewCategories(d.Categories...)
	r.faults.Merge("categories", err)
	recurs, err := ParseInterval(d.Recurs)
	r.faults.At("recurs", err)
	return QuotedLine{
		Line: Line{
			ID: d.ID, Kind: kind, Class: class, ItemID: d.ItemID, Categories: categories, Recurs: recurs,
			Quantity:  r.integer("quantity", d.Quantity),
			UnitPrice: r.amount("unitPrice", d.UnitPrice),
		},
		Eligible: d.Eligible,
		Subtotal: r.amount("subtotal", d.Subtotal),
		Discount: r.amount("discount", d.Discount),
		Total:    r.amount("total", d.Total),
	}
}

// checkUnits compares the stored units with those of the loaded lines.
func (d *quoteDocument) checkUnits(loaded Quote) error {
	var faults ValidationError
	var stored, computed []UnitGroup
	for i := range d.Lines {
		stored, computed = stored[:0], loaded.Lines[i].AppendUnits(computed[:0])
		for j, u := range d.Lines[i].Units {
			of := quoteReader{currency: loaded.Currency}
			stored = append(stored, UnitGroup{
				Quantity:  of.integer("quantity", u.Quantity),
				UnitPrice: of.amount("unitPrice", u.UnitPrice),
			})
			if err := of.faults.Err(); err != nil {
				faults.Merge(fmt.Sprintf("lines[%d].units[%d]", i, j), err)
			}
		}
		if !slices.Equal(stored, computed) {
			faults.Add(linePath(i, "units"), FieldMismatch, "the units are not those of the line's total")
		}
	}
	return faults.Err()
}
