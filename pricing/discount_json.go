package pricing

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/internal/jsonobject"
)

// discountDocument is the JSON form of a discount.
type discountDocument struct {
	Type            DiscountType      `json:"discountType"`
	Value           string            `json:"discountValue,omitempty"`
	Currency        Currency          `json:"currency,omitzero"`
	Values          map[string]string `json:"discountValues,omitempty"`
	Lane            Lane              `json:"lane,omitzero"`
	MaxDiscount     string            `json:"maxDiscount,omitempty"`
	MaxDiscounts    map[string]string `json:"maxDiscounts,omitempty"`
	MaxUnits        int64             `json:"maxUnits,omitzero"`
	Units           int64             `json:"units,omitzero"`
	BuyQuantity     int64             `json:"buyQuantity,omitzero"`
	GetQuantity     int64             `json:"getQuantity,omitzero"`
	MaxApplications int64             `json:"maxApplications,omitzero"`
	TierBasis       TierBasis         `json:"tierBasis,omitzero"`
	Tiers           []tierDocument    `json:"tiers,omitempty"`
}

type tierDocument struct {
	From    json.RawMessage `json:"from"`
	Percent Percent         `json:"percent,omitzero"`
	Amount  string          `json:"amount,omitempty"`
}

// MarshalJSON returns the discount as JSON, such as one of these:
//
//	{"discountType":"PERCENTAGE","discountValue":"12.5","currency":"EUR","maxDiscount":"50.00"}
//	{"discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR",
//	 "discountValues":{"USD":"11.00"}}
//	{"discountType":"CHEAPEST_UNITS","discountValue":"100","units":1}
//	{"discountType":"BUY_X_GET_Y","discountValue":"100","buyQuantity":2,"getQuantity":1}
//	{"discountType":"TIERED","currency":"EUR","tierBasis":"AMOUNT",
//	 "tiers":[{"from":"50.00","percent":"10"},{"from":"100.00","amount":"15.00"}]}
//
// A field with its default value is omitted. "discountValues" and "maxDiscounts" are the amounts
// in other currencies. The "from" of a tier by quantity is a JSON number. For the zero Discount,
// MarshalJSON returns null.
func (d Discount) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	t := d.Terms()
	w := discountDocument{
		Type: t.Type, Value: d.Value(), MaxUnits: t.MaxUnits, Units: t.Units,
		BuyQuantity: t.BuyQuantity, GetQuantity: t.GetQuantity, MaxApplications: t.MaxApplications, TierBasis: t.TierBasis,
	}
	if t.Lane != t.Type.DefaultLane() {
		w.Lane = t.Lane
	}
	if t.hasMoney() {
		w.Currency = t.Currency
	}
	if t.MaxDiscount > 0 {
		w.MaxDiscount = t.Currency.Format(t.MaxDiscount)
	}
	w.Values, w.MaxDiscounts = map[string]string{}, map[string]string{}
	for _, o := range t.Others {
		if o.Amount > 0 {
			w.Values[o.Currency.Code()] = o.Currency.Format(o.Amount)
		}
		if o.MaxDiscount > 0 {
			w.MaxDiscounts[o.Currency.Code()] = o.Currency.Format(o.MaxDiscount)
		}
	}
	for _, tier := range t.Tiers {
		w.Tiers = append(w.Tiers, tier.document(&t))
	}
	return json.Marshal(w)
}

func (tier Tier) document(t *DiscountTerms) tierDocument {
	d := tierDocument{From: json.RawMessage(formatMinor(tier.From, 0)), Percent: tier.Percent}
	if t.TierBasis == ByAmount {
		d.From = json.RawMessage(`"` + t.Currency.Format(tier.From) + `"`)
	}
	if tier.Amount > 0 {
		d.Amount = t.Currency.Format(tier.Amount)
	}
	return d
}

// UnmarshalJSON reads the JSON form that [Discount.MarshalJSON] writes. Amounts and percentages
// may also be JSON numbers. For invalid input, UnmarshalJSON returns a [*ValidationError] that
// lists every invalid field, and leaves its receiver unchanged. The JSON value null leaves the
// discount unchanged.
func (d *Discount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	o, err := readObject(data, "discountType", "discountValue", "currency", "discountValues", "lane", "maxDiscount",
		"maxDiscounts", "maxUnits", "units", "buyQuantity", "getQuantity", "maxApplications", "tierBasis", "tiers")
	if err != nil {
		return err
	}
	t := o.discountTerms()
	read, err := NewDiscount(t)
	o.mergeNew(err)
	if err := o.faults.Err(); err != nil {
		return err
	}
	*d = read
	return nil
}

// mergeNew merges faults of fields that have none yet.
func (o *object) mergeNew(err error) {
	known := make(map[string]bool, len(o.faults.Fields))
	for _, f := range o.faults.Fields {
		known[f.Field] = true
	}
	var more ValidationError
	more.Merge("", err)
	for _, f := range more.Fields {
		if !known[f.Field] {
			o.faults.Add(f.Field, f.Code, f.Message)
		}
	}
}

func (o *object) discountTerms() DiscountTerms {
	var t DiscountTerms
	t.Type, _ = requiredWord(o, "discountType", ParseDiscountType)
	t.Lane, _ = word(o, "lane", ParseLane)
	t.Currency, _ = word(o, "currency", ParseCurrency)
	t.MaxDiscount = o.positive("maxDiscount", t.Currency)
	switch n, given := o.number("discountValue"); {
	case !given:
		if t.Type == 0 {
			o.required("discountValue")
		}
	case t.Type.HasPercent():
		var err error
		t.Percent, err = ParsePercent(string(n))
		o.faults.At("discountValue", err)
	case t.Type.HasAmount():
		t.Amount = o.positive("discountValue", t.Currency)
	case t.Type == Tiered:
		o.faults.Add("discountValue", FieldNotAllowed, "a tiered discount has the values of its tiers")
	default:
		o.amount("discountValue", Currency{})
	}
	t.Others = o.others()
	for field, target := range map[string]*int64{
		"maxUnits": &t.MaxUnits, "units": &t.Units, "buyQuantity": &t.BuyQuantity,
		"getQuantity": &t.GetQuantity, "maxApplications": &t.MaxApplications,
	} {
		if n, ok := o.whole(field); ok {
			if *target = n; n == 0 {
				o.faults.Add(field, FieldTooSmall, "must be at least 1")
			}
		}
	}
	t.TierBasis, _ = word(o, "tierBasis", ParseTierBasis)
	t.Tiers = o.tiers(&t)
	if _, given := o.value("currency"); given && t.Type != 0 && !t.hasMoney() && len(o.faults.Fields) == 0 {
		o.faults.Add("currency", FieldNotAllowed, "only an amount has a currency")
	}
	return t
}

// positive reads an amount greater than 0.
func (o *object) positive(name string, c Currency) int64 {
	minor, ok := o.amount(name, c)
	switch {
	case ok && c.IsZero():
		return 1 // which is no amount, but one that has no fault of its own
	case ok && minor <= 0:
		o.faults.Add(name, FieldTooSmall, "must be greater than 0")
	}
	return minor
}

// others reads the amounts in other currencies, sorted by currency.
func (o *object) others() []CurrencyTerms {
	terms := map[Currency]CurrencyTerms{}
	for _, field := range [...]string{"discountValues", "maxDiscounts"} {
		raw, ok := o.value(field)
		if !ok {
			continue
		}
		seen := map[Currency]bool{}
		err := jsonobject.Members(raw, func(code string, raw json.RawMessage) {
			path := field + "." + jsonobject.Shown(code)
			c, err := ParseCurrency(code)
			if err != nil {
				o.faults.At(path, err)
				return
			}
			if seen[c] {
				o.faults.Add(path, FieldMismatch, "the currency is given twice")
				return
			}
			seen[c] = true
			of := object{members: map[string]json.RawMessage{path: raw}}
			minor := of.positive(path, c)
			o.faults.Merge("", of.faults.Err())
			entry := terms[c]
			if entry.Currency = c; field == "discountValues" {
				entry.Amount = minor
			} else {
				entry.MaxDiscount = minor
			}
			terms[c] = entry
		})
		if err != nil {
			o.faults.Add(field, FieldMalformed, "must be an object of amounts by currency")
		}
	}
	sorted := slices.SortedFunc(maps.Keys(terms), func(a, b Currency) int { return int(a.entry) - int(b.entry) })
	var others []CurrencyTerms
	for _, c := range sorted {
		others = append(others, terms[c])
	}
	return others
}

// tiers reads the tiers, whose amounts are in the discount's currency.
func (o *object) tiers(t *DiscountTerms) (tiers []Tier) {
	o.list("tiers", MaxTiers, func(raw json.RawMessage) error {
		tier, err := readTier(raw, t)
		tiers = append(tiers, tier)
		return err
	})
	return tiers
}

func readTier(text []byte, t *DiscountTerms) (Tier, error) {
	var tier Tier
	o, err := readObject(text, "from", "percent", "amount")
	if err != nil {
		return tier, err
	}
	o.required("from")
	if t.TierBasis == ByQuantity {
		tier.From, _ = o.whole("from")
	} else {
		tier.From, _ = o.amount("from", t.Currency)
	}
	if n, ok := o.number("percent"); ok {
		tier.Percent, err = ParsePercent(string(n))
		o.faults.At("percent", err)
	}
	tier.Amount = o.positive("amount", t.Currency)
	return tier, o.faults.Err()
}
