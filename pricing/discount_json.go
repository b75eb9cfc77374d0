package pricing

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/internal/jsonobject"
	"github.com/couponkit/couponkit/validation"
)

// discountDocument is the JSON form of a discount.
type discountDocument struct {
	Type            DiscountType   `json:"discountType"`
	Value           any            `json:"discountValue,omitempty"`
	Currency        Currency       `json:"currency,omitzero"`
	Lane            Lane           `json:"lane,omitzero"`
	MaxDiscount     any            `json:"maxDiscount,omitempty"`
	MaxUnits        int64          `json:"maxUnits,omitzero"`
	Units           int64          `json:"units,omitzero"`
	BuyQuantity     int64          `json:"buyQuantity,omitzero"`
	GetQuantity     int64          `json:"getQuantity,omitzero"`
	MaxApplications int64          `json:"maxApplications,omitzero"`
	TierBasis       TierBasis      `json:"tierBasis,omitzero"`
	Tiers           []tierDocument `json:"tiers,omitempty"`
}

type tierDocument struct {
	From    json.RawMessage `json:"from"`
	Percent Percent         `json:"percent,omitzero"`
	Amount  string          `json:"amount,omitempty"`
}

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
func (d Discount) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	t := d.Terms()
	w := discountDocument{
		Type: t.Type, MaxUnits: t.MaxUnits, Units: t.Units,
		BuyQuantity: t.BuyQuantity, GetQuantity: t.GetQuantity, MaxApplications: t.MaxApplications, TierBasis: t.TierBasis,
	}
	if t.Lane != t.Type.DefaultLane() {
		w.Lane = t.Lane
	}
	if t.hasMoney() {
		w.Currency = t.Currency
	}
	w.Value = t.amounts(t.Amount, func(o CurrencyTerms) int64 { return o.Amount })
	if t.Type.HasPercent() {
		w.Value = t.Percent.String()
	}
	w.MaxDiscount = t.amounts(t.MaxDiscount, func(o CurrencyTerms) int64 { return o.MaxDiscount })
	for _, tier := range t.Tiers {
		w.Tiers = append(w.Tiers, tier.document(&t))
	}
	return json.Marshal(w)
}

// amounts returns an amount in Currency as text, and amounts in several currencies as texts by
// currency. For an amount of 0, amounts returns nil.
func (t *DiscountTerms) amounts(own int64, of func(CurrencyTerms) int64) any {
	if own == 0 {
		return nil
	}
	texts := map[string]string{t.Currency.Code(): t.Currency.Format(own)}
	for _, o := range t.Others {
		if minor := of(o); minor > 0 {
			texts[o.Currency.Code()] = o.Currency.Format(minor)
		}
	}
	if len(texts) == 1 {
		return t.Currency.Format(own)
	}
	return texts
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
// may also be JSON numbers. For invalid input, UnmarshalJSON returns a [*validation.Error] that
// lists every invalid field, and leaves its receiver unchanged. The JSON value null leaves the
// discount unchanged.
func (d *Discount) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	o, err := readObject(data, "discountType", "discountValue", "currency", "lane", "maxDiscount",
		"maxUnits", "units", "buyQuantity", "getQuantity", "maxApplications", "tierBasis", "tiers")
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
		known[f.Path] = true
	}
	var more validation.Error
	more.Merge("", err)
	for _, f := range more.Fields {
		if !known[f.Path] {
			o.faults.Add(f.Path, f.Code, f.Message)
		}
	}
}

func (o *object) discountTerms() DiscountTerms {
	var t DiscountTerms
	t.Type, _ = requiredWord(o, "discountType", ParseDiscountType)
	t.Lane, _ = word(o, "lane", ParseLane)
	t.Currency, _ = word(o, "currency", ParseCurrency)
	var values map[Currency]int64
	switch raw, given := o.value("discountValue"); {
	case !given:
		if t.Type == 0 {
			o.required("discountValue")
		}
	case t.Type.HasPercent():
		if n, ok := o.number("discountValue"); ok {
			var err error
			t.Percent, err = ParsePercent(string(n))
			o.faults.At("discountValue", err)
		}
	case t.Type.HasAmount():
		values = o.amounts("discountValue", t.Currency)
	case t.Type == Tiered:
		o.faults.Add("discountValue", validation.NotAllowed, "a tiered discount has the values of its tiers")
	case jsonKind(raw) != "object":
		o.amount("discountValue", Currency{})
	}
	t.setAmounts(values, o.amounts("maxDiscount", t.Currency))
	for field, target := range map[string]*int64{
		"maxUnits": &t.MaxUnits, "units": &t.Units, "buyQuantity": &t.BuyQuantity,
		"getQuantity": &t.GetQuantity, "maxApplications": &t.MaxApplications,
	} {
		if n, ok := o.whole(field); ok {
			if *target = n; n == 0 {
				o.faults.Add(field, validation.TooSmall, "must be at least 1")
			}
		}
	}
	t.TierBasis, _ = word(o, "tierBasis", ParseTierBasis)
	t.Tiers = o.tiers(&t)
	if _, given := o.value("currency"); given && t.Type != 0 && !t.hasMoney() && len(o.faults.Fields) == 0 {
		o.faults.Add("currency", validation.NotAllowed, "only an amount has a currency")
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
		o.faults.Add(name, validation.TooSmall, "must be greater than 0")
	}
	return minor
}

// amounts reads amounts greater than 0 by currency: an amount in the given currency, or an object with
// one member for each currency.
func (o *object) amounts(name string, own Currency) map[Currency]int64 {
	amounts := map[Currency]int64{}
	raw, ok := o.value(name)
	switch {
	case !ok:
	case jsonKind(raw) != "object":
		amounts[own] = o.positive(name, own)
	default:
		_ = jsonobject.Members(raw, func(code string, raw json.RawMessage) { // well-formed
			path := name + "." + jsonobject.Shown(code)
			c, err := ParseCurrency(code)
			if _, twice := amounts[c]; twice && err == nil {
				err = validation.New("", validation.Mismatch, "the currency is given twice")
			}
			if err != nil {
				o.faults.At(path, err)
				return
			}
			of := object{members: map[string]json.RawMessage{path: raw}}
			amounts[c] = of.positive(path, c)
			o.faults.Merge("", of.faults.Err())
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
