package pricing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// MaxQuoteDocument is the maximum size of a [Quote] in JSON, in bytes. Every quote of a
// valid cart fits into MaxQuoteDocument bytes.
const MaxQuoteDocument = 40 << 20

// quoteDocument is the stored form of a Quote. Values with rules for their text are decoded as text, so
// that each fault is reported with its path.
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

// Decoding of these lists stops at their maximum number of entries.
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

// MaxEntries returns the maximum number of groups of a line plus one. A longer list is thus noticed.
// Every coupon splits a line's units at most twice.
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

// lineIndexes are the indexes of the lines in a mask; nil means no mask.
type lineIndexes []int

// UnmarshalJSON reads the indexes. An empty list is an empty mask, not a missing mask.
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
	return q.AppendJSON(nil)
}

func tooLongQuote() error {
	return validation.New("", validation.TooLong, fmt.Sprintf("a quote has at most %d bytes", MaxQuoteDocument))
}

// AppendJSON appends the JSON of [Quote.MarshalJSON] to dst. The quote must be valid; see [Quote.Validate]. Its
// IDs must be valid UTF-8. AppendJSON does not check that again. It returns a [*validation.Error] if the units
// are not those of the coupons, or if the JSON has more than [MaxQuoteDocument] bytes.
func (q *Quote) AppendJSON(dst []byte) (_ []byte, err error) {
	if !q.explained() {
		return nil, validation.New("coupons", validation.Mismatch, unexplainedMessage)
	}
	begin := len(dst)
	dst = appendjson.IntMember(append(dst, '{'), "version", QuoteVersion)
	dst = appendjson.TextMember(dst, "currency", q.Currency.Code())
	if q.Step != 0 {
		dst = q.appendAmount(dst, "step", q.Step)
	}
	dst = q.appendAmount(dst, "subtotal", q.Subtotal)
	dst = q.appendAmount(dst, "eligibleSubtotal", q.EligibleSubtotal)
	dst = q.appendAmount(dst, "discount", q.Discount)
	dst = q.appendAmount(dst, "shipping", q.Shipping)
	dst = q.appendAmount(dst, "total", q.Total)
	dst = append(appendjson.Name(dst, "lines"), '[')
	for i := range q.Lines {
		dst = q.appendLine(appendjson.Next(dst), i)
	}
	dst = append(dst, ']')
	if len(q.Coupons) > 0 {
		dst = append(appendjson.Name(dst, "coupons"), '[')
		for i := range q.Coupons {
			if dst, err = q.appendCoupon(appendjson.Next(dst), &q.Coupons[i]); err != nil {
				return nil, err
			}
		}
		dst = append(dst, ']')
	}
	if dst = append(dst, '}'); len(dst)-begin > MaxQuoteDocument {
		return nil, tooLongQuote()
	}
	return dst, nil
}

// appendAmount appends an amount as a Number.
func (q *Quote) appendAmount(dst []byte, name string, minor int64) []byte {
	return appendNumber(appendjson.Name(dst, name), minor, q.Currency)
}

func appendNumber(dst []byte, minor int64, c Currency) []byte {
	return append(appendMinor(append(dst, '"'), minor, c.Exponent()), '"')
}

// appendLine appends a line in the form of lineDocument.
func (q *Quote) appendLine(dst []byte, line int) []byte {
	l := &q.Lines[line]
	dst = appendjson.TextMember(append(dst, '{'), "id", l.ID)
	dst = appendjson.TextMember(dst, "kind", l.Kind.String())
	dst = appendjson.OptionalText(dst, "class", l.Class.String())
	dst = appendjson.TextMember(dst, "itemId", l.ItemID)
	if names := l.Categories.Names(); len(names) > 0 {
		dst = append(appendjson.Name(dst, "categories"), '[')
		for _, name := range names {
			dst = appendjson.Text(appendjson.Next(dst), name)
		}
		dst = append(dst, ']')
	}
	dst = appendjson.IntMember(dst, "quantity", l.Quantity)
	dst = q.appendAmount(dst, "unitPrice", l.UnitPrice)
	dst = appendjson.OptionalText(dst, "recurs", l.Recurs.String())
	dst = strconv.AppendBool(appendjson.Name(dst, "eligible"), l.Eligible)
	dst = q.appendAmount(dst, "subtotal", l.Subtotal)
	dst = q.appendAmount(dst, "discount", l.Discount)
	dst = q.appendAmount(dst, "total", l.Total)
	return append(q.appendUnits(dst, line), '}')
}

// appendUnits appends the groups of a line in the form of unitDocuments.
func (q *Quote) appendUnits(dst []byte, line int) []byte {
	coupons := len(q.Coupons)
	var room rowRoom
	groups, amounts := q.rows(line, &room)
	dst = append(appendjson.Name(dst, "units"), '[')
	for j, g := range groups {
		dst = appendjson.IntMember(append(appendjson.Next(dst), '{'), "quantity", g.Quantity)
		dst = q.appendAmount(dst, "unitPrice", g.UnitPrice)
		if coupons > 1 {
			dst = append(appendjson.Name(dst, "discounts"), '[')
			for _, off := range amounts[j*coupons:][:coupons] {
				dst = appendNumber(appendjson.Next(dst), off, q.Currency)
			}
			dst = append(dst, ']')
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// appendCoupon appends a coupon in the form of couponDocument.
func (q *Quote) appendCoupon(dst []byte, c *QuotedCoupon) (_ []byte, err error) {
	dst = appendjson.TextMember(append(dst, '{'), "id", c.ID)
	dst = appendjson.OptionalText(dst, "group", c.Group)
	dst = q.appendAmount(dst, "discount", c.Discount)
	dst = q.appendAmount(dst, "eligibleSubtotal", c.EligibleSubtotal)
	dst = appendjson.IntMember(dst, "eligibleQuantity", c.EligibleQuantity)
	if dst, err = c.Terms.appendJSON(appendjson.Name(dst, "terms")); err != nil {
		return nil, err
	}
	dst = appendMask(dst, "lines", c.eligible)
	dst = appendMask(dst, "boughtLines", c.bought)
	if refund := q.refundTerms(c.Refund); refund != nil {
		if dst, err = appendjson.Value(appendjson.Name(dst, "refund"), refund); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendMask appends the line indexes of a mask. It appends nothing if the mask is nil.
func appendMask(dst []byte, name string, mask []bool) []byte {
	if mask == nil {
		return dst
	}
	dst = append(appendjson.Name(dst, name), '[')
	for i, set := range mask {
		if set {
			dst = strconv.AppendInt(appendjson.Next(dst), int64(i), 10)
		}
	}
	return append(dst, ']')
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
	if d.Currency != "" { // the zero Quote has no currency
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
		ID: d.ID, Group: d.Group, Terms: d.Terms, Discount: r.amount("discount", d.Discount),
		EligibleSubtotal: r.amount("eligibleSubtotal", d.EligibleSubtotal),
		EligibleQuantity: r.integer("eligibleQuantity", d.EligibleQuantity),
		eligible:         r.mask("lines", d.Lines, lines), bought: r.mask("boughtLines", d.BoughtLines, lines),
		Refund: r.refund(d.Refund),
	}
}

// mask returns the mask of the lines. The indexes must be ascending, so that each mask has one form.
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

// readUnits reads the groups of units. The quote does not keep groups that follow from the lines.
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

// unit reads a group of units and the discount of each coupon on one unit.
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
