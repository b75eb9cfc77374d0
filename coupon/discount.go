package coupon

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// MaxGroupLength is the maximum length of the name of a group, in code points.
const MaxGroupLength = 64

// TierDraft describes a [pricing.Tier]. Amounts are in major units.
type TierDraft struct {
	// From is the least amount or the least number of units of the tier.
	From decimal.Decimal
	// Percent is the percentage, and Amount the amount, that the tier takes off. A tier has one
	// of them.
	Percent decimal.Decimal
	Amount  decimal.Decimal
}

// UnmarshalJSON reads a JSON object with the fields from, percent and amount.
func (t *TierDraft) UnmarshalJSON(data []byte) error {
	var read TierDraft
	err := strictjson.Object(data, map[string]any{
		"from": (*exact)(&read.From), "percent": (*exact)(&read.Percent), "amount": (*exact)(&read.Amount),
	})
	if err != nil {
		return err
	}
	*t = read
	return nil
}

// MarshalJSON returns a JSON object with the fields from, percent and amount.
func (t TierDraft) MarshalJSON() ([]byte, error) {
	var faults pricing.ValidationError
	w := struct {
		From    string `json:"from"`
		Percent string `json:"percent,omitzero"`
		Amount  string `json:"amount,omitzero"`
	}{
		decimalText(t.From, true, "from", &faults), decimalText(t.Percent, given(t.Percent), "percent", &faults),
		decimalText(t.Amount, given(t.Amount), "amount", &faults),
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

// DiscountDraft holds the terms of a discount beyond its type and value. The zero value of a field
// means that it is not given. [pricing.DiscountTerms] explains the terms.
type DiscountDraft struct {
	// Lane is the lane of the discount. A zero Lane means the lane of the type.
	Lane pricing.Lane `json:"lane,omitzero"`
	// DiscountValues are the amounts of the discount in other currencies.
	DiscountValues Amounts `json:"discountValues,omitzero"`
	// MaxDiscount is the maximum of the discount in the coupon's currency, and MaxDiscounts are
	// the maximums in other currencies.
	MaxDiscount  decimal.Decimal `json:"-"`
	MaxDiscounts Amounts         `json:"maxDiscounts,omitzero"`
	// MaxUnits limits the discount to the cheapest units.
	MaxUnits int64 `json:"maxUnits,omitzero"`
	// Units is the number of units of a discount on the cheapest units.
	Units int64 `json:"units,omitzero"`
	// BuyQuantity, GetQuantity and MaxApplications are terms of a discount of type BUY_X_GET_Y.
	BuyQuantity     int64 `json:"buyQuantity,omitzero"`
	GetQuantity     int64 `json:"getQuantity,omitzero"`
	MaxApplications int64 `json:"maxApplications,omitzero"`
	// Buys is the scope of what has to be bought for a discount of type BUY_X_GET_Y. Without
	// Buys, the units are bought from the scope of the coupon.
	Buys *ScopeDraft `json:"buys,omitzero"`
	// TierBasis and Tiers are terms of a tiered discount.
	TierBasis pricing.TierBasis `json:"tierBasis,omitzero"`
	Tiers     []TierDraft       `json:"tiers,omitempty"`
}

// quantity is a number of units whose 0 in Go means that it is not given. In JSON, a 0 is refused.
type quantity int64

// UnmarshalJSON reads a whole number other than 0. JSON null stands for a missing quantity.
func (q *quantity) UnmarshalJSON(data []byte) error {
	var n Optional[int64]
	if err := strictjson.Value(data, &n); err != nil {
		return err
	}
	if n.value == 0 && !n.cleared {
		return fieldFault(pricing.FieldTooSmall, "must be at least 1")
	}
	*q = quantity(n.value)
	return nil
}

// targets returns the targets of the JSON fields.
func (d *DiscountDraft) targets() map[string]any {
	return map[string]any{
		"lane": &d.Lane, "discountValues": (*amountsInPart)(&d.DiscountValues), "maxDiscount": (*exact)(&d.MaxDiscount),
		"maxDiscounts": (*amountsInPart)(&d.MaxDiscounts), "maxUnits": (*quantity)(&d.MaxUnits), "units": (*quantity)(&d.Units),
		"buyQuantity": (*quantity)(&d.BuyQuantity), "getQuantity": (*quantity)(&d.GetQuantity), "maxApplications": (*quantity)(&d.MaxApplications),
		"buys": &d.Buys, "tierBasis": &d.TierBasis, "tiers": &d.Tiers,
	}
}

// simple reports whether the draft has no such terms.
func (d *DiscountDraft) simple() bool {
	return d.Lane == 0 && d.DiscountValues.IsZero() && !given(d.MaxDiscount) && d.MaxDiscounts.IsZero() &&
		d.MaxUnits == 0 && d.Units == 0 && d.BuyQuantity == 0 && d.GetQuantity == 0 && d.MaxApplications == 0 &&
		d.TierBasis == 0 && len(d.Tiers) == 0
}

// discount returns the discount that the type, the value and the further terms describe. If the
// currency is missing, it has a fault already.
func (d *DiscountDraft) discount(kind pricing.DiscountType, value decimal.Decimal, c pricing.Currency, faults *pricing.ValidationError) pricing.Discount {
	if kind == 0 || kind > pricing.Tiered || c.IsZero() || kind <= pricing.FixedAmount && d.simple() {
		return draftDiscount(kind, value, c, faults)
	}
	var own pricing.ValidationError
	t := d.terms(kind, value, c, &own)
	discount, err := pricing.NewDiscount(t)
	known := map[string]bool{}
	for _, f := range own.Fields {
		known[f.Field] = true
	}
	var more pricing.ValidationError
	more.Merge("", err)
	for _, f := range more.Fields {
		if !known[f.Field] {
			own.Add(f.Field, f.Code, f.Message)
		}
	}
	faults.Merge("", own.Err())
	return discount
}

// terms converts the draft to minor units.
func (d *DiscountDraft) terms(kind pricing.DiscountType, value decimal.Decimal, c pricing.Currency, faults *pricing.ValidationError) pricing.DiscountTerms {
	t := pricing.DiscountTerms{
		Type: kind, Lane: d.Lane, Currency: c, MaxUnits: d.MaxUnits, Units: d.Units,
		BuyQuantity: d.BuyQuantity, GetQuantity: d.GetQuantity, MaxApplications: d.MaxApplications, TierBasis: d.TierBasis,
	}
	switch {
	case kind == pricing.Tiered && given(value):
		faults.Add("discountValue", pricing.FieldNotAllowed, "a tiered discount has the values of its tiers")
	case kind == pricing.Tiered || !given(value):
	case kind.HasPercent():
		var err error
		t.Percent, err = pricing.PercentFromDecimal(value)
		faults.At("discountValue", err)
	default:
		t.Amount = positive(value, c, "discountValue", faults)
	}
	if given(d.MaxDiscount) {
		t.MaxDiscount = positive(d.MaxDiscount, c, "maxDiscount", faults)
	}
	others := map[pricing.Currency]pricing.CurrencyTerms{}
	for _, m := range d.DiscountValues.faults(faults, "discountValues", c, math.MaxInt64) {
		others[m.Currency()] = pricing.CurrencyTerms{Currency: m.Currency(), Amount: m.Minor()}
	}
	for _, m := range d.MaxDiscounts.faults(faults, "maxDiscounts", c, math.MaxInt64) {
		of := others[m.Currency()]
		of.Currency, of.MaxDiscount = m.Currency(), m.Minor()
		others[m.Currency()] = of
	}
	for _, other := range pricing.Currencies() {
		if of, named := others[other]; named {
			t.Others = append(t.Others, of)
		}
	}
	for i, tier := range d.Tiers {
		t.Tiers = append(t.Tiers, tier.tier(i, t.TierBasis, c, faults))
	}
	return t
}

// positive returns an amount greater than 0 in minor units.
func positive(value decimal.Decimal, c pricing.Currency, field string, faults *pricing.ValidationError) int64 {
	amount, err := pricing.MoneyFromDecimal(value, c)
	faults.At(field, err)
	if err == nil && amount.Minor() <= 0 {
		faults.Add(field, pricing.FieldTooSmall, "an amount is greater than 0")
	}
	return amount.Minor()
}

func (t TierDraft) tier(i int, basis pricing.TierBasis, c pricing.Currency, faults *pricing.ValidationError) pricing.Tier {
	path := func(field string) string { return fmt.Sprintf("tiers[%d].%s", i, field) }
	var tier pricing.Tier
	if basis == pricing.ByQuantity {
		text, err := pricing.DecimalText(t.From)
		if err == nil {
			tier.From, err = pricing.Number(text).Int64()
		}
		faults.At(path("from"), err)
	} else {
		from, err := pricing.MoneyFromDecimal(t.From, c)
		faults.At(path("from"), err)
		tier.From = from.Minor()
	}
	if given(t.Percent) {
		var err error
		tier.Percent, err = pricing.PercentFromDecimal(t.Percent)
		faults.At(path("percent"), err)
	}
	if given(t.Amount) {
		tier.Amount = positive(t.Amount, c, path("amount"), faults)
	}
	return tier
}

// discountDraft returns the terms of a discount beyond its type and value, and the scope of what
// is bought.
func discountDraft(d pricing.Discount, buys Scope) DiscountDraft {
	t := d.Terms()
	draft := DiscountDraft{
		MaxUnits: t.MaxUnits, Units: t.Units, BuyQuantity: t.BuyQuantity, GetQuantity: t.GetQuantity,
		MaxApplications: t.MaxApplications, TierBasis: t.TierBasis,
	}
	if t.Lane != t.Type.DefaultLane() {
		draft.Lane = t.Lane
	}
	if !buys.IsZero() {
		of := buys.Draft()
		draft.Buys = &of
	}
	if t.MaxDiscount > 0 {
		draft.MaxDiscount = pricing.NewMoney(t.MaxDiscount, t.Currency).Decimal()
	}
	var values, maximums []pricing.Money
	for _, o := range t.Others {
		if o.Amount > 0 {
			values = append(values, pricing.NewMoney(o.Amount, o.Currency))
		}
		if o.MaxDiscount > 0 {
			maximums = append(maximums, pricing.NewMoney(o.MaxDiscount, o.Currency))
		}
	}
	draft.DiscountValues, draft.MaxDiscounts = NewAmounts(values...), NewAmounts(maximums...)
	for _, tier := range t.Tiers {
		draft.Tiers = append(draft.Tiers, tierDraft(tier, &t))
	}
	return draft
}

func tierDraft(tier pricing.Tier, t *pricing.DiscountTerms) TierDraft {
	draft := TierDraft{From: decimal.NewFromInt(tier.From)}
	if t.TierBasis == pricing.ByAmount {
		draft.From = pricing.NewMoney(tier.From, t.Currency).Decimal()
	}
	if !tier.Percent.IsZero() {
		draft.Percent = tier.Percent.Decimal()
	}
	if tier.Amount > 0 {
		draft.Amount = pricing.NewMoney(tier.Amount, t.Currency).Decimal()
	}
	return draft
}

// combiningFaults checks the group and the scope of what is bought.
func (c Coupon) combiningFaults(faults *pricing.ValidationError) {
	labelFaults(faults, "group", c.Group, MaxGroupLength)
	if c.Buys.IsZero() {
		return
	}
	if kind := c.Discount.Type(); kind != 0 && kind != pricing.BuyXGetY {
		faults.Add("buys", pricing.FieldNotAllowed, fmt.Sprintf("a discount of type %s has no scope of what is bought", kind))
		return
	}
	c.Buys.faults("buys.", faults)
}

// minimumFaults checks the minimum purchases.
func (c Coupon) minimumFaults(faults *pricing.ValidationError) {
	switch {
	case c.MinPurchase < 0:
		faults.Add("minPurchase", pricing.FieldTooSmall, "a minimum purchase is not negative")
	case c.MinPurchase > MaxMinPurchase:
		faults.Add("minPurchase", pricing.FieldTooLarge, "at most "+pricing.NewMoney(MaxMinPurchase, c.Currency).String())
	case c.MinPurchase == 0 && !c.MinPurchases.IsZero():
		faults.Add("minPurchase", pricing.FieldRequired, "a coupon with minimum purchases has one in its own currency")
	}
	c.MinPurchases.faults(faults, "minPurchases", c.Currency, MaxMinPurchase)
}

// Minimum returns the minimum purchase for a cart in the given currency, in minor units. ok is
// false if the coupon has a minimum purchase, but none in that currency.
func (c *Coupon) Minimum(cart pricing.Currency) (minor int64, ok bool) { // a copy would take longer than the rest
	switch {
	case c.MinPurchase == 0 && c.MinPurchases.IsZero():
		return 0, true
	case c.Currency == cart:
		return c.MinPurchase, true
	}
	return c.MinPurchases.In(cart)
}
