package pricing

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/internal/appendjson"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/validation"
)

// discountDocument is the JSON form of a discount. Fields that depend on the type or the currency are
// decoded last.
type discountDocument[Tiers any] struct {
	Type            string          `json:"discountType"`
	Value           json.RawMessage `json:"discountValue,omitempty"`
	Currency        *string         `json:"currency,omitempty"`
	Lane            string          `json:"lane,omitempty"`
	MaxDiscount     json.RawMessage `json:"maxDiscount,omitempty"`
	MaxUnits        json.Number     `json:"maxUnits,omitempty"`
	Units           json.Number     `json:"units,omitempty"`
	BuyQuantity     json.Number     `json:"buyQuantity,omitempty"`
	GetQuantity     json.Number     `json:"getQuantity,omitempty"`
	MaxApplications json.Number     `json:"maxApplications,omitempty"`
	TierBasis       string          `json:"tierBasis,omitempty"`
	Tiers           Tiers           `json:"tiers,omitempty"`
}

type tierDocument struct {
	From    json.RawMessage `json:"from"`
	Percent *Number         `json:"percent,omitempty"`
	Amount  *Number         `json:"amount,omitempty"`
}

var (
	discountReader = strictjson.For[discountDocument[json.RawMessage]]()
	tierReader     = strictjson.For[tierDocument]()
)

// MarshalJSON returns the discount as JSON, such as one of these:
//
//	{"discountType":"PERCENTAGE","discountValue":"12.5","currency":"EUR","maxDiscount":"50.00"}
//	{"discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR"}
//	{"discountType":"FIXED_AMOUNT","discountValue":{"EUR":"10.00","USD":"11.00"},"currency":"EUR"}
//	{"discountType":"CHEAPEST_UNITS","discountValue":"100","units":1}
//	{"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1}
//	{"discountType":"TIERED","currency":"EUR","tierBasis":"AMOUNT",
//	 "tiers":[{"from":"50.00","percent":"10"},{"from":"100.00","amount":"15.00"}]}
//
// A field with its default value is omitted. Amounts in several currencies are an object with one
// member for each currency. The "from" of a tier by quantity is a JSON number. For the zero
// Discount, MarshalJSON returns null.
func (d Discount) MarshalJSON() ([]byte, error) { return d.appendJSON(nil) }

// appendJSON appends the JSON of [Discount.MarshalJSON] to dst.
func (d Discount) appendJSON(dst []byte) ([]byte, error) {
	if d.IsZero() {
		return append(dst, "null"...), nil
	}
	t := d.Terms()
	dst = appendjson.TextMember(append(dst, '{'), "discountType", t.Type.String())
	if t.Type.HasPercent() {
		dst = appendjson.TextMember(dst, "discountValue", t.Percent.String())
	} else {
		dst = t.appendAmounts(dst, "discountValue", t.Amount, func(o CurrencyTerms) int64 { return o.Amount })
	}
	if t.hasMoney() {
		dst = appendjson.TextMember(dst, "currency", t.Currency.Code())
	}
	if t.Lane != t.Type.DefaultLane() {
		dst = appendjson.OptionalText(dst, "lane", t.Lane.String())
	}
	dst = t.appendAmounts(dst, "maxDiscount", t.MaxDiscount, func(o CurrencyTerms) int64 { return o.MaxDiscount })
	dst = appendjson.OptionalInt(dst, "maxUnits", t.MaxUnits)
	dst = appendjson.OptionalInt(dst, "units", t.Units)
	dst = appendjson.OptionalInt(dst, "buyQuantity", t.BuyQuantity)
	dst = appendjson.OptionalInt(dst, "getQuantity", t.GetQuantity)
	dst = appendjson.OptionalInt(dst, "maxApplications", t.MaxApplications)
	dst = appendjson.OptionalText(dst, "tierBasis", t.TierBasis.String())
	if len(t.Tiers) > 0 {
		var err error
		tiers := make([]tierDocument, len(t.Tiers))
		for i, tier := range t.Tiers {
			tiers[i] = tier.document(&t)
		}
		if dst, err = appendjson.Value(appendjson.Name(dst, "tiers"), tiers); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// optional returns a number, or "" for 0, which JSON then omits.
func optional(n int64) json.Number {
	if n == 0 {
		return ""
	}
	return integer(n)
}

// quoted returns the digits of a number as a JSON string.
func quoted(digits string) json.RawMessage { return json.RawMessage(`"` + digits + `"`) }

// appendAmounts writes an amount in Currency as text, and amounts in several currencies as texts by
// currency. An amount of 0 is left out.
func (t *DiscountTerms) appendAmounts(dst []byte, name string, own int64, of func(CurrencyTerms) int64) []byte {
	if own == 0 {
		return dst
	}
	in := make([]CurrencyTerms, 0, 1+len(t.Others))
	in = append(in, CurrencyTerms{Currency: t.Currency, Amount: own})
	for _, o := range t.Others {
		if minor := of(o); minor > 0 {
			in = append(in, CurrencyTerms{Currency: o.Currency, Amount: minor})
		}
	}
	if dst = appendjson.Name(dst, name); len(in) == 1 {
		return appendNumber(dst, own, t.Currency)
	}
	slices.SortFunc(in, func(a, b CurrencyTerms) int { return cmp.Compare(a.Currency.Code(), b.Currency.Code()) })
	dst = append(dst, '{')
	for _, o := range in {
		dst = appendNumber(appendjson.Name(dst, o.Currency.Code()), o.Amount, o.Currency)
	}
	return append(dst, '}')
}

func (tier Tier) document(t *DiscountTerms) tierDocument {
	d := tierDocument{From: json.RawMessage(integer(tier.From))}
	if t.TierBasis == ByAmount {
		d.From = quoted(t.Currency.Format(tier.From))
	}
	if !tier.Percent.IsZero() {
		d.Percent = new(Number(tier.Percent.String()))
	}
	if tier.Amount > 0 {
		d.Amount = new(t.Currency.Number(tier.Amount))
	}
	return d
}

// UnmarshalJSON reads the JSON form that [Discount.MarshalJSON] writes. Amounts and percentages
// may also be JSON numbers. For invalid input, UnmarshalJSON returns a [*validation.Error] that
// lists every invalid field, and leaves its receiver unchanged. The JSON value null leaves the
// discount unchanged.
func (d *Discount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var document discountDocument[json.RawMessage]
	var r reader
	if !r.read(discountReader.Object(data, &document)) {
		return r.faults.Err()
	}
	t := r.discountTerms(&document)
	read, err := NewDiscount(t)
	r.mergeNew(err)
	if err := r.faults.Err(); err != nil {
		return err
	}
	*d = read
	return nil
}

// mergeNew merges the faults of fields that have no fault yet.
func (r *reader) mergeNew(err error) {
	known := make(map[string]bool, len(r.faults.Fields))
	for _, f := range r.faults.Fields {
		known[f.Path] = true
	}
	var more validation.Error
	more.Merge("", err)
	for _, f := range more.Fields {
		if !known[f.Path] {
			r.faults.Add(f.Path, f.Code, f.Message)
		}
	}
}

func (r *reader) discountTerms(d *discountDocument[json.RawMessage]) DiscountTerms {
	var t DiscountTerms
	r.required("discountType", d.Type != "")
	t.Type = word(r, "discountType", d.Type, ParseDiscountType)
	t.Lane = word(r, "lane", d.Lane, ParseLane)
	if d.Currency != nil {
		r.currency = word(r, "currency", *d.Currency, ParseCurrency)
	}
	t.Currency = r.currency
	var values map[Currency]int64
	switch {
	case d.Value == nil:
		if t.Type == 0 {
			r.required("discountValue", false)
		}
	case t.Type.HasPercent():
		t.Percent = r.percent("discountValue", r.number("discountValue", d.Value))
	case t.Type.HasAmount():
		values = r.amounts("discountValue", d.Value)
	case t.Type == Tiered:
		r.faults.Add("discountValue", validation.NotAllowed, "a tiered discount has the values of its tiers")
	case d.Value[0] != '{':
		form := reader{}
		form.optionalAmount("discountValue", form.number("discountValue", d.Value))
		r.faults.Merge("", form.faults.Err())
	}
	t.setAmounts(values, r.amounts("maxDiscount", d.MaxDiscount))
	for _, count := range [...]struct {
		field  string
		text   json.Number
		target *int64
	}{
		{"maxUnits", d.MaxUnits, &t.MaxUnits},
		{"units", d.Units, &t.Units},
		{"buyQuantity", d.BuyQuantity, &t.BuyQuantity},
		{"getQuantity", d.GetQuantity, &t.GetQuantity},
		{"maxApplications", d.MaxApplications, &t.MaxApplications},
	} {
		if n, ok := r.whole(count.field, count.text); ok {
			if *count.target = n; n == 0 {
				r.faults.Add(count.field, validation.TooSmall, "must be at least 1")
			}
		}
	}
	t.TierBasis = word(r, "tierBasis", d.TierBasis, ParseTierBasis)
	t.Tiers = list(r, "tiers", d.Tiers, MaxTiers, func(raw json.RawMessage) (Tier, error) { return readTier(raw, &t) })
	if d.Currency != nil && t.Type != 0 && !t.hasMoney() && len(r.faults.Fields) == 0 {
		r.faults.Add("currency", validation.NotAllowed, "only an amount has a currency")
	}
	return t
}

// number reads a number, bare or as text. It returns nil if the member is absent.
func (r *reader) number(field string, raw json.RawMessage) (n *Number) {
	if raw != nil {
		r.faults.Merge(field, strictjson.Value(raw, &n))
	}
	return n
}

func (r *reader) percent(field string, n *Number) (p Percent) {
	if n != nil {
		var err error
		p, err = ParsePercent(string(*n))
		r.faults.At(field, err)
	}
	return p
}

// positive reads an amount greater than 0.
func (r *reader) positive(field string, n *Number) int64 {
	before := len(r.faults.Fields)
	minor := r.optionalAmount(field, n)
	switch {
	case n == nil || len(r.faults.Fields) > before:
	case r.currency.IsZero():
		return 1 // the amount is missing; 1 causes no second fault
	case minor <= 0:
		r.faults.Add(field, validation.TooSmall, "must be greater than 0")
	}
	return minor
}

// amounts reads amounts greater than 0 by currency. The JSON is an amount in the discount's own
// currency, or an object with one member for each currency.
func (r *reader) amounts(field string, raw json.RawMessage) map[Currency]int64 {
	amounts := map[Currency]int64{}
	switch {
	case raw == nil:
	case raw[0] != '{':
		amounts[r.currency] = r.positive(field, r.number(field, raw))
	default:
		_ = strictjson.Members(raw, func(code string, raw json.RawMessage) { // raw is well-formed JSON, so there is no error
			path := field + "." + strictjson.Shown(code)
			c, err := ParseCurrency(code)
			if _, twice := amounts[c]; twice && err == nil {
				err = validation.New("", validation.Mismatch, "the currency is given twice")
			}
			if err != nil {
				r.faults.At(path, err)
				return
			}
			of := reader{currency: c}
			amounts[c] = of.positive(path, of.number(path, raw))
			r.faults.Merge("", of.faults.Err())
		})
	}
	return amounts
}

// setAmounts sets the amounts and the maximums of the discount, each by currency.
func (t *DiscountTerms) setAmounts(values, maximums map[Currency]int64) {
	t.Amount, t.MaxDiscount = values[t.Currency], maximums[t.Currency]
	currencies := maps.Clone(values)
	if currencies == nil {
		currencies = map[Currency]int64{}
	}
	maps.Copy(currencies, maximums)
	delete(currencies, t.Currency)
	for _, c := range slices.SortedFunc(maps.Keys(currencies), func(a, b Currency) int { return int(a.entry) - int(b.entry) }) {
		t.Others = append(t.Others, CurrencyTerms{Currency: c, Amount: values[c], MaxDiscount: maximums[c]})
	}
}

// readTier reads a tier, whose amounts are in the discount's currency.
func readTier(data []byte, t *DiscountTerms) (tier Tier, err error) {
	r := reader{currency: t.Currency}
	var d tierDocument
	if !r.read(tierReader.Object(data, &d)) {
		return tier, r.faults.Err()
	}
	r.required("from", d.From != nil)
	if t.TierBasis == ByQuantity && d.From != nil {
		var from json.Number
		r.faults.Merge("from", strictjson.Value(d.From, &from))
		tier.From, _ = r.whole("from", from)
	} else {
		tier.From = r.optionalAmount("from", r.number("from", d.From))
	}
	tier.Percent = r.percent("percent", d.Percent)
	tier.Amount = r.positive("amount", d.Amount)
	return tier, r.faults.Err()
}
