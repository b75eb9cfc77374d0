package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// MaxQuoteDocument is the maximum size of a [Quote] in JSON, in bytes. Every quote of a
// valid cart fits into MaxQuoteDocument bytes.
const MaxQuoteDocument = 40 << 20

// quoteDocument is the stored form of a Quote. Values whose text has rules of
// its own are kept as text, so that each fault is reported with its path.
type quoteDocument struct {
	Version          int             `json:"version"`
	Currency         string          `json:"currency"`
	Step             Number          `json:"step,omitempty"`
	Subtotal         Number          `json:"subtotal"`
	EligibleSubtotal Number          `json:"eligibleSubtotal"`
	Discount         Number          `json:"discount"`
	Shipping         Number          `json:"shipping"`
	Total            Number          `json:"total"`
	Lines            lineDocuments   `json:"lines"`
	Coupons          couponDocuments `json:"coupons,omitempty"`
}

// These lists are read up to the maximum of their entries.
type (
	lineDocuments   []lineDocument
	couponDocuments []couponDocument
	unitDocuments   []unitDocument
	amounts         []Number
)

// MaxEntries returns [MaxLines].
func (lineDocuments) MaxEntries() int { return MaxLines }

// MaxEntries returns [MaxCoupons].
func (couponDocuments) MaxEntries() int { return MaxCoupons }

// MaxEntries returns one more than a line can have: enough to see that a document has too many.
// Every coupon cuts a line's units at most twice.
func (unitDocuments) MaxEntries() int { return 2*MaxCoupons + 2 }

// MaxEntries returns [MaxCoupons].
func (amounts) MaxEntries() int { return MaxCoupons }

var quoteReader = strictjson.For[quoteDocument]()

// QuoteVersion is the version of the JSON form of a [Quote].
const QuoteVersion = 1

type couponDocument struct {
	ID               string       `json:"id"`
	Group            string       `json:"group,omitempty"`
	Discount         Number       `json:"discount"`
	EligibleSubtotal Number       `json:"eligibleSubtotal"`
	EligibleQuantity json.Number  `json:"eligibleQuantity"`
	Terms            Discount     `json:"terms"`
	Lines            lineIndexes  `json:"lines,omitzero"`
	BoughtLines      lineIndexes  `json:"boughtLines,omitzero"`
	Refund           *refundTerms `json:"refund,omitempty"`
}

// lineIndexes are the lines of a mask; nil is no mask.
type lineIndexes []int

// UnmarshalJSON reads the indexes. An empty list is a mask.
func (l *lineIndexes) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	read := lineIndexes{}
	err := strictjson.List(data, MaxLines, func(raw json.RawMessage) error {
		var r reader
		var n json.Number
		r.faults.Merge("", strictjson.Value(raw, &n))
		r.required("", n != "")
		i, _ := r.whole("", n)
		read = append(read, lineOf(i))
		return r.faults.Err()
	})
	*l = read
	return err
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

type unitDocument struct {
	Quantity  json.Number `json:"quantity"`
	UnitPrice Number      `json:"unitPrice"`
	Discounts amounts     `json:"discounts,omitempty"`
}

// MarshalJSON returns the quote as JSON for storage:
//
//	{"version":1,"currency":"EUR","subtotal":"30.00","eligibleSubtotal":"30.00",
//	 "discount":"10.00","shipping":"0.00","total":"20.00",
//	 "lines":[{"id":"A","kind":"plan","itemId":"basic","quantity":3,
//	   "unitPrice":"10.00","recurs":"month","eligible":true,"subtotal":"30.00",
//	   "discount":"10.00","total":"20.00",
//	   "units":[{"quantity":2,"unitPrice":"6.67"},{"quantity":1,"unitPrice":"6.66"}]}],
//	 "coupons":[{"id":"cpn_1","discount":"10.00","eligibleSubtotal":"30.00",
//	   "eligibleQuantity":3,"terms":{"discountType":"FIXED_AMOUNT",…}}]}
//
// With several coupons, "discounts" of each group of units lists what each coupon takes off one
// unit, in the order of "coupons". The "lines" and "boughtLines" of a coupon are the indexes of
// the lines that it covers and of those that count as bought. Without "lines", a coupon covers
// the eligible lines. A coupon with [RefundTerms] has a "refund", such as
// {"policy":"rebill","minPurchase":"50.00","minQuantity":2}.
//
// Amounts are strings in major units, with all decimals of the currency. The step is
// written like an amount, such as "step":"0.010". A step of 0 and the interval [Once] are
// omitted. [Quote.UnmarshalJSON] restores the quote without loss.
//
// MarshalJSON returns a [*validation.Error] in these cases:
//
//   - The quote is invalid; see [Quote.Validate]. IDs of any length are accepted.
//   - An ID or an ItemID is not valid UTF-8.
//   - The JSON has more than [MaxQuoteDocument] bytes.
func (q Quote) MarshalJSON() ([]byte, error) {
	var faults validation.Error
	err := q.checkAmounts()
	faults.Merge("", err)
	if err == nil {
		faults.Merge("", q.checkCoupons())
	}
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
	return validation.New("", validation.TooLong, fmt.Sprintf("a quote has at most %d bytes", MaxQuoteDocument))
}

func (q Quote) document() quoteDocument {
	amount := q.Currency.Number
	d := quoteDocument{
		Version: QuoteVersion, Coupons: q.couponDocuments(),
		Currency: q.Currency.Code(), Subtotal: amount(q.Subtotal), EligibleSubtotal: amount(q.EligibleSubtotal),
		Discount: amount(q.Discount), Shipping: amount(q.Shipping), Total: amount(q.Total),
		Lines: make([]lineDocument, len(q.Lines)),
	}
	if q.Step != 0 {
		d.Step = amount(q.Step)
	}
	coupons := len(q.Coupons)
	for i := range q.Lines {
		l := &q.Lines[i]
		groups, amounts := q.rows(i)
		units := make([]unitDocument, len(groups))
		for j, g := range groups {
			units[j] = unitDocument{Quantity: integer(g.Quantity), UnitPrice: amount(g.UnitPrice)}
			if coupons > 1 {
				for _, off := range amounts[j*coupons:][:coupons] {
					units[j].Discounts = append(units[j].Discounts, amount(off))
				}
			}
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

func (q Quote) couponDocuments() []couponDocument {
	documents := make([]couponDocument, len(q.Coupons))
	for i := range q.Coupons {
		c := &q.Coupons[i]
		documents[i] = couponDocument{
			ID: c.ID, Group: c.Group, Terms: c.Discount, Discount: q.Currency.Number(c.Amount),
			EligibleSubtotal: q.Currency.Number(c.EligibleSubtotal), EligibleQuantity: integer(c.EligibleQuantity),
			Lines: indexesOf(c.eligible), BoughtLines: indexesOf(c.bought), Refund: q.refundTerms(c.Refund),
		}
	}
	return documents
}

func indexesOf(mask []bool) lineIndexes {
	if mask == nil {
		return nil
	}
	indexes := lineIndexes{}
	for i, set := range mask {
		if set {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// UnmarshalJSON reads and checks the JSON form that [Quote.MarshalJSON] writes. Unknown
// fields are ignored. The JSON value null leaves the quote unchanged.
//
// UnmarshalJSON returns a [*validation.Error] and leaves its receiver unchanged in these
// cases:
//
//   - The JSON or a field of the quote is malformed.
//   - The quote is invalid; see [Quote.Validate]. IDs of any length are accepted.
//   - The version is missing or unknown.
//   - The units of a line do not match the total of the line, or the coupons do not match the
//     units.
//   - The JSON has more than [MaxQuoteDocument] bytes.
func (q *Quote) UnmarshalJSON(data []byte) error {
	if len(data) > MaxQuoteDocument {
		return tooLongQuote()
	}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var document quoteDocument
	if err := quoteReader.Stored(data, &document); err != nil {
		return err
	}
	loaded, err := document.quote()
	if err != nil {
		return err
	}
	if err := loaded.checkAmounts(); err != nil {
		return err
	}
	if err := document.readUnits(&loaded); err != nil {
		return err
	}
	if err := loaded.checkCoupons(); err != nil {
		return err
	}
	*q = loaded
	return nil
}

func (d *quoteDocument) quote() (Quote, error) {
	var r reader
	r.version(d.Version, QuoteVersion)
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
		of := reader{currency: r.currency}
		q.Lines[i] = of.line(&d.Lines[i])
		if err := of.faults.Err(); err != nil {
			r.faults.Merge(fmt.Sprintf("lines[%d]", i), err)
		}
	}
	for i := range d.Coupons {
		of := reader{currency: r.currency}
		q.Coupons = append(q.Coupons, of.coupon(&d.Coupons[i], len(q.Lines)))
		if err := of.faults.Err(); err != nil {
			r.faults.Merge(fmt.Sprintf("coupons[%d]", i), err)
		}
	}
	return q, r.faults.Err()
}

func (r *reader) coupon(d *couponDocument, lines int) QuotedCoupon {
	nameFaults("id", d.ID, &r.faults)
	nameFaults("group", d.Group, &r.faults)
	if d.Terms.IsZero() {
		r.faults.Add("terms", validation.Required, "the terms of the discount are required")
	}
	return QuotedCoupon{
		ID: d.ID, Group: d.Group, Discount: d.Terms, Amount: r.amount("discount", d.Discount),
		EligibleSubtotal: r.amount("eligibleSubtotal", d.EligibleSubtotal),
		EligibleQuantity: r.integer("eligibleQuantity", d.EligibleQuantity),
		eligible:         r.mask("lines", d.Lines, lines), bought: r.mask("boughtLines", d.BoughtLines, lines),
		Refund: r.refund(d.Refund),
	}
}

// mask returns the mask of the lines; ascending indexes are their one form.
func (r *reader) mask(field string, indexes lineIndexes, lines int) []bool {
	if indexes == nil {
		return nil
	}
	mask, last := make([]bool, lines), -1
	for _, i := range indexes {
		if i <= last || i >= lines {
			r.faults.Add(field, validation.Mismatch, "must be indexes of lines in ascending order")
			return mask
		}
		mask[i], last = true, i
	}
	return mask
}

func (r *reader) line(d *lineDocument) QuotedLine {
	kind, err := ParseLineKind(d.Kind)
	r.faults.At("kind", err)
	return QuotedLine{
		Line: Line{
			ID: d.ID, Kind: kind, Class: word(r, "class", d.Class, ParseClass), ItemID: d.ItemID,
			Categories: r.categories(d.Categories), Recurs: word(r, "recurs", d.Recurs, ParseInterval),
			Quantity:  r.integer("quantity", d.Quantity),
			UnitPrice: r.amount("unitPrice", d.UnitPrice),
		},
		Eligible: d.Eligible,
		Subtotal: r.amount("subtotal", d.Subtotal),
		Discount: r.amount("discount", d.Discount),
		Total:    r.amount("total", d.Total),
	}
}

// readUnits reads the groups of units. If they are those of lines whose units are treated alike,
// the quote does not keep them.
func (d *quoteDocument) readUnits(q *Quote) error {
	var faults validation.Error
	var derived []UnitGroup
	alike, coupons := len(q.Coupons) < 2, len(q.Coupons)
	for i := range d.Lines {
		first, l, before := len(q.groups), &q.Lines[i], len(faults.Fields)
		for j := range d.Lines[i].Units {
			of := reader{currency: q.Currency}
			q.groups = append(q.groups, of.unit(&d.Lines[i].Units[j], q, l))
			if err := of.faults.Err(); err != nil {
				faults.Merge(fmt.Sprintf("lines[%d].units[%d]", i, j), err)
			}
		}
		derived = l.derive(derived[:0], q.Step)
		q.ends = append(q.ends, len(q.groups))
		if same := slices.Equal(q.groups[first:], derived); !same {
			alike = false
			if coupons == 0 && len(faults.Fields) == before {
				faults.Add(linePath(i, "units"), validation.Mismatch, "the units are not those of the line's total")
			}
		}
	}
	if err := faults.Err(); err != nil || alike {
		q.groups, q.ends, q.amounts = nil, nil, nil
		return err
	}
	return nil
}

// unit reads a group of units, and what each coupon takes off one unit.
func (r *reader) unit(d *unitDocument, q *Quote, l *QuotedLine) UnitGroup {
	g := UnitGroup{Quantity: r.integer("quantity", d.Quantity), UnitPrice: r.amount("unitPrice", d.UnitPrice)}
	off := amounts{q.Currency.Number(l.UnitPrice - g.UnitPrice)}
	switch len(q.Coupons) {
	case 0:
		return g
	case 1:
	default:
		off = d.Discounts
	}
	if len(off) != len(q.Coupons) {
		r.faults.Add("discounts", validation.Mismatch, "there is one entry for each coupon")
		return g
	}
	for i, text := range off {
		q.amounts = append(q.amounts, r.amount(fmt.Sprintf("discounts[%d]", i), text))
	}
	return g
}
