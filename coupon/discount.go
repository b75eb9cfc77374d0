package coupon

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxGroupLength is the maximum length of the name of a group, in code points.
const MaxGroupLength = MaxTagLength

// TierDraft describes a [pricing.Tier]. Amounts are decimal numbers in major units of the coupon's currency. In JSON,
// they are decimal strings or numbers.
type TierDraft struct {
	// From is the least amount or the least number of units of the tier. An empty From means 0.
	From pricing.Number `json:"from"`
	// Percent is the percentage, and Amount the amount, that the tier takes off. A tier has one of them.
	Percent pricing.Number `json:"percent,omitzero"`
	Amount  pricing.Number `json:"amount,omitzero"`
}

// quantity is a number of units. A 0 in Go means a missing quantity. In JSON, a 0 is refused.
type quantity int64

// UnmarshalJSON reads a whole number other than 0. JSON null stands for a missing quantity.
func (q *quantity) UnmarshalJSON(data []byte) error {
	var n Optional[int64]
	if err := strictjson.Value(data, &n); err != nil {
		return err
	}
	if n.value == 0 && !n.cleared {
		return fieldFault(validation.TooSmall, "must be at least 1")
	}
	*q = quantity(n.value)
	return nil
}

// furtherTerms returns the JSON names of all terms of a discount except type and value.
func furtherTerms() []string {
	return []string{
		"lane", "maxDiscount", "maxUnits", "units", "buyQuantity", "getQuantity", "maxApplications", "buys", "tierBasis", "tiers",
	}
}

// discount returns the discount of the draft. A zero currency has its own fault.
func (d *Draft) discount(c pricing.Currency, faults *validation.Error) pricing.Discount {
	kind := d.DiscountType
	if kind != 0 && kind <= pricing.Tiered {
		return d.discountOfType(c, faults)
	}
	d.valueFaults(c, faults) // the type decides which terms are allowed
	if kind == 0 {
		faults.Add("discountType", validation.Required, "a discount type is required, such as PERCENTAGE or FIXED_AMOUNT")
	} else {
		faults.Add("discountType", validation.Unknown, "is no type of a discount")
	}
	d.furtherFaults(c, faults)
	return pricing.Discount{}
}

// discountOfType returns the discount of a draft with a known type.
func (d *Draft) discountOfType(c pricing.Currency, faults *validation.Error) pricing.Discount {
	var own, more validation.Error
	t := d.discountTerms(c, &own)
	discount, err := pricing.NewDiscount(t)
	more.Merge("", err)
	known := newUnread(own.Fields)
	for _, f := range more.Fields {
		f = d.ownAmountFault(f, c)
		if !known.explains(f.Path) && d.judgeable(f.Path, c) && !slices.Contains(own.Fields, f) {
			own.Add(f.Path, f.Code, f.Message)
		}
	}
	if err := own.Err(); err != nil || c.IsZero() {
		faults.Merge("", err)
		return pricing.Discount{}
	}
	return discount
}

// ownAmountFault returns the fault of a discount. If amounts are given in other currencies alone, it asks for
// the amount in the coupon's currency.
func (d *Draft) ownAmountFault(f validation.Field, c pricing.Currency) validation.Field {
	missing := validation.Field{Code: validation.Required, Message: ownAmountMessage}
	switch {
	case f.Path == "discountValue" && f.Code == validation.Required && len(d.Amount) > 0 && !d.Amount.has(c):
		missing.Path = "discountValue." + c.Code()
	case strings.HasPrefix(f.Path, "maxDiscount.") && f.Code == validation.NotAllowed && !d.MaxDiscount.has(c):
		missing.Path = "maxDiscount." + c.Code()
	default:
		return f
	}
	return missing
}

// judgeable reports whether a term of the discount can be checked. Amounts cannot be checked without a
// currency. The bounds of tiers cannot be checked without a basis.
func (d *Draft) judgeable(field string, c pricing.Currency) bool {
	switch {
	case c.IsZero():
		return field != "maxDiscount" && slices.Contains(furtherTerms(), field)
	case d.TierBasis == 0:
		return !strings.HasPrefix(field, "tiers[") || !strings.HasSuffix(field, ".from")
	}
	return true
}

// furtherFaults checks the terms of a discount whose type is missing. It reports terms that are invalid
// for every type.
func (d *Draft) furtherFaults(c pricing.Currency, faults *validation.Error) {
	maximums := NewMoneySet(d.MaxDiscount.money("maxDiscount", c, 1, math.MaxInt64, faults)...)
	if _, own := maximums.In(c); !own && !c.IsZero() && len(d.MaxDiscount) > 0 && len(maximums.list) == len(d.MaxDiscount) {
		faults.Add("maxDiscount."+c.Code(), validation.Required, ownAmountMessage)
	}
	for i, tier := range d.Tiers {
		tier.tier(fmt.Sprintf("tiers[%d].", i), d.TierBasis, c, faults)
	}
	for _, term := range [...]struct {
		field string
		value int64
	}{
		{"maxUnits", d.MaxUnits},
		{"units", d.Units},
		{"buyQuantity", d.BuyQuantity},
		{"getQuantity", d.GetQuantity},
		{"maxApplications", d.MaxApplications},
	} {
		switch {
		case term.value < 0:
			faults.Add(term.field, validation.TooSmall, "must be at least 1")
		case term.value > pricing.MaxDiscountUnits:
			faults.Add(term.field, validation.TooLarge, fmt.Sprintf("must be at most %d", pricing.MaxDiscountUnits))
		}
	}
}

// bought returns the scope of the bought items. Only a discount of type BUY_X_GET_Y has this scope.
func (d *Draft) bought(faults *validation.Error) Scope {
	if d.Buys == nil {
		return Scope{}
	}
	scope := d.Buys.scope("buys.", faults)
	switch kind := d.DiscountType; {
	case kind == pricing.BuyXGetY:
		return scope
	case kind != 0 && kind <= pricing.Tiered:
		buysNotAllowed(kind, faults)
	}
	return Scope{}
}

func buysNotAllowed(kind pricing.DiscountType, faults *validation.Error) {
	faults.Add("buys", validation.NotAllowed, fmt.Sprintf("a discount of type %s has no scope of what is bought", kind))
}

// valueFaults checks the value of a discount whose type is missing. A percentage is not checked as an
// amount.
func (d *Draft) valueFaults(c pricing.Currency, faults *validation.Error) {
	value := d.value()
	if text, alone := value[""]; alone && len(value) == 1 {
		if _, err := pricing.ParsePercent(text); err == nil {
			c = pricing.Currency{}
		}
	}
	value.money("discountValue", c, 1, math.MaxInt64, faults)
	if len(value) == 0 && !newUnread(d.Unread).names("discountType") { // the type may be one without a value
		faults.Add("discountValue", validation.Required, "a discount value is required")
	}
}

// value returns the field discountValue of JSON. A percentage has no currency.
func (d *Draft) value() Amounts {
	if d.Percent != "" {
		return Amounts{"": d.Percent}
	}
	return d.Amount
}

// setValue sets the percentage or the amounts from the field discountValue of JSON.
func (d *Draft) setValue(value Amounts) {
	if text, alone := value[""]; alone && len(value) == 1 && !d.DiscountType.HasAmount() {
		d.Percent = text
	} else {
		d.Amount = value
	}
}

// discountTerms converts the terms of the discount to minor units.
func (d *Draft) discountTerms(c pricing.Currency, faults *validation.Error) pricing.DiscountTerms {
	t := pricing.DiscountTerms{
		Type: d.DiscountType, Lane: d.Lane, Currency: c, MaxUnits: d.MaxUnits, Units: d.Units,
		BuyQuantity: d.BuyQuantity, GetQuantity: d.GetQuantity, MaxApplications: d.MaxApplications, TierBasis: d.TierBasis,
	}
	var values []pricing.Money
	switch kind := d.DiscountType; {
	case d.Percent == "" && len(d.Amount) == 0:
		if kind != pricing.Tiered {
			faults.Add("discountValue", validation.Required, "a discount value is required")
		}
	case kind == pricing.Tiered:
		faults.Add("discountValue", validation.NotAllowed, "a tiered discount has the values of its tiers")
	case kind.HasPercent() && len(d.Amount) > 0:
		faults.Add("discountValue", validation.NotAllowed, fmt.Sprintf("a discount of type %s has a percentage, and no amount", kind))
	case kind.HasAmount() && d.Percent != "":
		faults.Add("discountValue", validation.NotAllowed, fmt.Sprintf("a discount of type %s has an amount, and no percentage", kind))
	case kind.HasPercent():
		var err error
		t.Percent, err = pricing.ParsePercent(d.Percent)
		faults.At("discountValue", err)
	default:
		values = d.Amount.money("discountValue", c, 1, math.MaxInt64, faults)
	}
	maximums := d.MaxDiscount.money("maxDiscount", c, 1, math.MaxInt64, faults)
	setAmounts(&t, NewMoneySet(values...), NewMoneySet(maximums...))
	for i, tier := range d.Tiers {
		t.Tiers = append(t.Tiers, tier.tier(fmt.Sprintf("tiers[%d].", i), t.TierBasis, c, faults))
	}
	return t
}

// setAmounts sets the amounts and the maximums of a discount.
func setAmounts(t *pricing.DiscountTerms, values, maximums MoneySet) {
	both := NewMoneySet(append(values.Slice(), maximums.list...)...)
	for i, m := range both.list {
		in := pricing.CurrencyTerms{Currency: m.Currency()}
		in.Amount, _ = values.In(in.Currency)
		in.MaxDiscount, _ = maximums.In(in.Currency)
		switch {
		case i > 0 && both.list[i-1].Currency() == in.Currency:
		case in.Currency == t.Currency:
			t.Amount, t.MaxDiscount = in.Amount, in.MaxDiscount
		default:
			t.Others = append(t.Others, in)
		}
	}
}

func (t TierDraft) tier(path string, basis pricing.TierBasis, c pricing.Currency, faults *validation.Error) pricing.Tier {
	var tier pricing.Tier
	var err error
	switch {
	case t.From == "":
	case basis == pricing.ByQuantity:
		tier.From, err = t.From.Int64()
	case basis == pricing.ByAmount && !c.IsZero():
		tier.From, err = c.Parse(string(t.From))
	default:
		_, err = t.From.Decimal()
	}
	faults.At(path+"from", err)
	if t.Percent != "" {
		tier.Percent, err = pricing.ParsePercent(string(t.Percent))
		faults.At(path+"percent", err)
	}
	if t.Amount != "" {
		tier.Amount, err = amount(string(t.Amount), c, 1)
		faults.At(path+"amount", err)
	}
	return tier
}

// WithDiscount returns the draft with another discount. If the discount has amounts, the draft gets their currency.
// Minimum purchases and budgets of the draft stay as they are.
func (d Draft) WithDiscount(discount pricing.Discount) Draft {
	t := discount.Terms()
	d.DiscountType, d.Percent, d.Amount, d.Lane, d.Buys = t.Type, "", nil, 0, nil
	d.MaxUnits, d.Units, d.BuyQuantity, d.GetQuantity = t.MaxUnits, t.Units, t.BuyQuantity, t.GetQuantity
	d.MaxApplications, d.TierBasis, d.Tiers = t.MaxApplications, t.TierBasis, nil
	if t.Lane != t.Type.DefaultLane() {
		d.Lane = t.Lane
	}
	if t.Type.HasPercent() {
		d.Percent = t.Percent.String()
	}
	values, maximums := discountAmounts(&t)
	d.Amount, d.MaxDiscount = values.text(t.Currency), maximums.text(t.Currency)
	if currencies := discount.Currencies(); len(currencies) > 0 {
		d.Currency = t.Currency.Code()
	}
	d.Tiers = tierDrafts(&t)
	return d
}

// discountAmounts returns the amounts of a discount, and its maximums.
func discountAmounts(t *pricing.DiscountTerms) (values, maximums MoneySet) {
	for _, in := range append([]pricing.CurrencyTerms{{Currency: t.Currency, Amount: t.Amount, MaxDiscount: t.MaxDiscount}}, t.Others...) {
		if in.Amount > 0 {
			values.list = append(values.list, pricing.NewMoney(in.Amount, in.Currency))
		}
		if in.MaxDiscount > 0 {
			maximums.list = append(maximums.list, pricing.NewMoney(in.MaxDiscount, in.Currency))
		}
	}
	return NewMoneySet(values.list...), NewMoneySet(maximums.list...)
}

func tierDrafts(t *pricing.DiscountTerms) (drafts []TierDraft) {
	for _, tier := range t.Tiers {
		drafts = append(drafts, tierDraft(tier, t))
	}
	return drafts
}

func tierDraft(tier pricing.Tier, t *pricing.DiscountTerms) TierDraft {
	draft := TierDraft{From: pricing.Number(strconv.FormatInt(tier.From, 10))}
	if t.TierBasis == pricing.ByAmount {
		draft.From = pricing.Number(t.Currency.Format(tier.From))
	}
	if tier.Amount > 0 {
		draft.Amount = pricing.Number(t.Currency.Format(tier.Amount))
	} else {
		draft.Percent = pricing.Number(tier.Percent.String())
	}
	return draft
}

// combiningFaults checks the group and the scope of the bought items.
func (t *Terms) combiningFaults(faults *validation.Error) {
	labelFaults(faults, "group", t.Group)
	if t.Buys.IsZero() {
		return
	}
	if kind := t.Discount.Type(); kind != 0 && kind != pricing.BuyXGetY {
		buysNotAllowed(kind, faults)
		return
	}
	t.Buys.faults("buys.", faults)
}
