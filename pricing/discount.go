package pricing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// These constants limit the terms of a discount.
const (
	// MaxDiscountUnits is the maximum of the terms that count units.
	MaxDiscountUnits = 1_000_000
	// MaxTiers is the maximum number of tiers of a [Tiered] discount.
	MaxTiers = 32
	// MaxCurrencies is the maximum number of currencies of a discount.
	MaxCurrencies = 32
)

// DiscountTerms are the terms of a [Discount]. [NewDiscount] checks them. Amounts are in minor
// units of their currency.
type DiscountTerms struct {
	// Type is the type of the discount. It is required.
	Type DiscountType
	// Lane is the lane of the discount. A zero Lane means [DiscountType.DefaultLane].
	Lane Lane
	// Percent is the percentage of a [Percentage], [CheapestUnits] or [BuyXGetY] discount.
	Percent Percent
	// Currency is the currency of Amount, MaxDiscount and Tiers. It is required if one of them
	// is an amount.
	Currency Currency
	// Amount is the amount of a [FixedAmount], [FixedAmountPerUnit] or [FixedUnitPrice]
	// discount.
	Amount int64
	// MaxDiscount is the maximum of the discount. A MaxDiscount of 0 means that there is no
	// maximum.
	MaxDiscount int64
	// Others are the amounts in other currencies. Every entry has the amounts that the discount
	// has in Currency. A discount with tiers has no Others. NewDiscount sorts Others by the code of
	// the currency.
	Others []CurrencyTerms
	// MaxUnits limits a discount of the first four types to the cheapest eligible units of which it
	// can take something. A MaxUnits of 0 means that there is no limit.
	MaxUnits int64
	// Units is how many of the cheapest units a [CheapestUnits] discount covers. Units that cost
	// nothing do not count.
	Units int64
	// BuyQuantity and GetQuantity are the units to buy and the discounted units of one
	// application of a [BuyXGetY] discount. Units that cost nothing count as neither.
	BuyQuantity int64
	GetQuantity int64
	// MaxApplications is the maximum number of applications of a [BuyXGetY] discount. A
	// MaxApplications of 0 means that there is no maximum.
	MaxApplications int64
	// TierBasis tells what Tiers compare.
	TierBasis TierBasis
	// Tiers are the steps of a [Tiered] discount, in ascending order of From.
	Tiers []Tier
}

// CurrencyTerms are the amounts of a discount in one currency, in minor units.
type CurrencyTerms struct {
	Currency    Currency
	Amount      int64
	MaxDiscount int64
}

// Tier is one step of a [Tiered] discount. It has a Percent or an Amount.
type Tier struct {
	// From is the least amount in minor units, or the least number of units, of the tier.
	From int64
	// Percent is the percentage that the tier takes off.
	Percent Percent
	// Amount is the amount that the tier takes off, in minor units.
	Amount int64
}

// Equal reports whether t and u are the same terms. Package go-cmp uses Equal to compare values.
func (t DiscountTerms) Equal(u DiscountTerms) bool {
	others, tiers := slices.Equal(t.Others, u.Others), slices.Equal(t.Tiers, u.Tiers)
	return others && tiers && t.Type == u.Type && t.Lane == u.Lane && t.Percent == u.Percent &&
		t.Currency == u.Currency && t.Amount == u.Amount && t.MaxDiscount == u.MaxDiscount &&
		t.MaxUnits == u.MaxUnits && t.Units == u.Units && t.BuyQuantity == u.BuyQuantity &&
		t.GetQuantity == u.GetQuantity && t.MaxApplications == u.MaxApplications && t.TierBasis == u.TierBasis
}

// Discount is an immutable discount. The zero Discount takes nothing off. [PercentOff] and
// [AmountOff] make the simplest discounts. [NewDiscount] makes every discount. Use
// [Discount.Equal] to compare discounts. See [Discount.MarshalJSON] for the JSON form of a
// discount.
type Discount struct {
	_       [0]func() // makes the type not comparable with ==
	kind    DiscountType
	lane    Lane
	percent Percent
	amount  Money
	more    *DiscountTerms // nil for a percentage or a fixed amount without more terms
}

// PercentOff returns a discount of the given percentage. For the zero Percent, PercentOff
// returns the zero Discount.
func PercentOff(p Percent) Discount {
	if p.IsZero() {
		return Discount{}
	}
	return Discount{kind: Percentage, lane: OrderLane, percent: p}
}

// AmountOff returns a discount of the given fixed amount. AmountOff returns a
// [*validation.Error] if the amount is 0 or less, or has no currency.
func AmountOff(m Money) (Discount, error) {
	switch {
	case m.Currency().IsZero():
		return Discount{}, validation.New("currency", validation.Required, "a fixed amount needs a currency")
	case m.Minor() <= 0:
		return Discount{}, validation.New("", validation.TooSmall, "a fixed amount is greater than 0")
	}
	return Discount{kind: FixedAmount, lane: OrderLane, amount: m}, nil
}

// NewDiscount returns the discount with the given terms. If the terms are invalid, NewDiscount
// returns a [*validation.Error] that lists every invalid field by its JSON name; see
// [Discount.MarshalJSON].
func NewDiscount(t DiscountTerms) (Discount, error) {
	if t.Lane == 0 {
		t.Lane = t.Type.DefaultLane()
	}
	if err := t.validate(); err != nil {
		return Discount{}, err
	}
	if !t.hasMoney() {
		t.Currency = Currency{} // no amount uses the currency
	}
	d := Discount{kind: t.Type, lane: t.Lane, percent: t.Percent, amount: NewMoney(t.Amount, t.Currency)}
	if !t.Type.HasAmount() {
		d.amount = Money{}
	}
	if !t.Equal(DiscountTerms{Type: t.Type, Lane: t.Lane, Percent: t.Percent, Amount: t.Amount, Currency: d.amount.currency}) {
		more := t // most discounts need no copy of their terms
		more.Others, more.Tiers = slices.Clone(t.Others), slices.Clone(t.Tiers)
		slices.SortFunc(more.Others, func(a, b CurrencyTerms) int { return cmp.Compare(a.Currency.Code(), b.Currency.Code()) })
		d.more = &more
	}
	return d, nil
}

// Terms returns the terms of the discount. The caller may modify the returned value.
func (d Discount) Terms() DiscountTerms {
	if d.more == nil {
		return DiscountTerms{Type: d.kind, Lane: d.lane, Percent: d.percent, Currency: d.amount.currency, Amount: d.amount.minor}
	}
	t := *d.more
	t.Others, t.Tiers = slices.Clone(t.Others), slices.Clone(t.Tiers)
	return t
}

// IsZero reports whether d is the zero Discount.
func (d Discount) IsZero() bool { return d.kind == 0 }

// Equal reports whether d and e are the same discount. Package go-cmp uses Equal to compare
// values.
func (d Discount) Equal(e Discount) bool {
	if d.kind != e.kind || d.lane != e.lane || d.percent != e.percent || d.amount != e.amount {
		return false
	}
	return d.more == e.more || d.more != nil && e.more != nil && d.more.Equal(*e.more)
}

// Type returns the discount type. For the zero Discount, Type returns 0.
func (d Discount) Type() DiscountType { return d.kind }

// Lane returns the lane of the discount. For the zero Discount, Lane returns 0.
func (d Discount) Lane() Lane { return d.lane }

// Percent returns the percentage of a discount whose type has one. For any other discount,
// Percent returns the zero Percent.
func (d Discount) Percent() Percent { return d.percent }

// Amount returns the amount of a discount whose type has one, in the discount's first currency.
// For any other discount, Amount returns the zero Money.
func (d Discount) Amount() Money { return d.amount }

// Currencies returns the currencies of the discount's amounts, the first currency first. If the
// discount has no amounts, it fits every currency, and Currencies returns nil.
func (d Discount) Currencies() []Currency {
	t := d.Terms()
	if !t.hasMoney() {
		return nil
	}
	all := []Currency{t.Currency}
	for _, o := range t.Others {
		all = append(all, o.Currency)
	}
	return all
}

// FirstTier returns the basis and the From of the lowest tier of a [Tiered] discount. A purchase
// below it gets no discount. For any other discount, FirstTier returns zeros.
func (d Discount) FirstTier() (basis TierBasis, from int64) {
	if d.kind != Tiered {
		return 0, 0
	}
	return d.more.TierBasis, d.more.Tiers[0].From
}

// UnitsPerApplication returns how many units a [BuyXGetY] discount needs to apply once: those to buy and those to get.
// For any other discount, UnitsPerApplication returns zeros.
func (d Discount) UnitsPerApplication() (buy, get int64) {
	if d.kind != BuyXGetY {
		return 0, 0
	}
	return d.more.BuyQuantity, d.more.GetQuantity
}

// Value returns the JSON field "discountValue", such as "12.5" or "10.00". For the zero
// Discount and for a [Tiered] discount, Value returns the empty string.
func (d Discount) Value() string {
	switch {
	case d.kind.HasPercent():
		return d.percent.String()
	case d.kind.HasAmount():
		return d.amount.Amount()
	}
	return ""
}

// String returns text such as "12.5 %", "10.00 EUR", "10.00 EUR or 11.00 USD", or "no discount".
func (d Discount) String() string {
	switch d.kind {
	case Percentage:
		return d.percent.String() + " %"
	case FixedAmount:
		return d.amounts()
	case FixedAmountPerUnit:
		return d.amounts() + " off each unit"
	case FixedUnitPrice:
		return d.amounts() + " for each unit"
	case CheapestUnits:
		return fmt.Sprintf("%s %% off the cheapest %d", d.percent, d.more.Units)
	case BuyXGetY:
		return fmt.Sprintf("buy %d, get %d at %s %% off", d.more.BuyQuantity, d.more.GetQuantity, d.percent)
	case Tiered:
		if n := len(d.more.Tiers); n != 1 {
			return fmt.Sprintf("%d tiers", n)
		}
		return "1 tier"
	}
	return "no discount"
}

// amounts returns the amount in every currency of the discount, the first currency first.
func (d *Discount) amounts() string {
	texts := []string{d.amount.String()}
	if d.more != nil {
		for _, o := range d.more.Others {
			texts = append(texts, NewMoney(o.Amount, o.Currency).String())
		}
	}
	return strings.Join(texts, " or ")
}

// GoString returns the text that package fmt prints for %#v, such as "pricing.Discount(12.5
// %)".
func (d Discount) GoString() string { return fmt.Sprintf("pricing.Discount(%s)", d) }

// free reports whether the discount is a percentage without more terms. Such a discount fits every
// currency and step.
func (d *Discount) free() bool { return d.more == nil && !d.kind.HasAmount() }

// in returns the amounts of the discount in a currency.
func (d *Discount) in(c Currency) (terms CurrencyTerms, ok bool) {
	if d.more == nil {
		return CurrencyTerms{Amount: d.amount.minor}, d.free() || d.amount.currency == c
	}
	if !d.more.hasMoney() {
		return CurrencyTerms{}, true
	}
	if d.more.Currency == c {
		return CurrencyTerms{c, d.more.Amount, d.more.MaxDiscount}, true
	}
	for _, o := range d.more.Others {
		if o.Currency == c {
			return o, true
		}
	}
	return CurrencyTerms{}, false
}

// Simple reports whether the discount is a percentage or a fixed amount without further terms.
func (d Discount) Simple() bool {
	return d.more == nil && d.lane == d.kind.DefaultLane() && d.kind <= FixedAmount
}

// MaxUnits returns the maximum number of units with a discount; see [DiscountTerms].MaxUnits.
func (d Discount) MaxUnits() int64 {
	if d.more == nil {
		return 0
	}
	return d.more.MaxUnits
}

// Accepts reports whether the discount can be used for carts in the given currency; see
// [Discount.Fits].
func (d Discount) Accepts(c Currency) bool {
	_, ok := d.in(c)
	return ok
}

// Fits checks that the discount can be used for carts in the given currency. Fits returns a
// [*validation.Error] if the discount has amounts, but none in that currency. A discount without
// amounts fits every currency.
func (d Discount) Fits(c Currency) error {
	if _, ok := d.in(c); !ok {
		return validation.New("currency", validation.Mismatch,
			fmt.Sprintf("a discount in %s cannot be taken off a cart in %s", joined(d.Currencies()), c))
	}
	return nil
}

// joined returns the codes of currencies, such as "EUR or USD".
func joined(all []Currency) string {
	codes := make([]string, len(all))
	for i, c := range all {
		codes[i] = c.Code()
	}
	return strings.Join(codes, " or ")
}

// FitsCart checks that the discount can be used for the cart. FitsCart returns a
// [*validation.Error] if the discount does not fit the cart's currency; see [Discount.Fits].
// FitsCart also returns a [*validation.Error] if an amount that the discount takes off, or a unit
// price, is not a multiple of the cart's step.
func (d Discount) FitsCart(c Cart) error {
	if err := d.Fits(c.Currency); err != nil {
		return err
	}
	if !d.onStep(c.Currency, c.Step) {
		return validation.New("discount", validation.TooManyDecimals, stepMessage(c.Currency, c.Step))
	}
	return nil
}

// fits makes the checks of FitsCart without messages and allocations, for the hot path.
func (d *Discount) fits(c *Cart) bool {
	if d.more == nil {
		return !d.kind.HasAmount() || d.amount.currency == c.Currency && onStep(d.amount.minor, c.Step)
	}
	_, ok := d.in(c.Currency)
	return ok && d.onStep(c.Currency, c.Step)
}

// onStep reports whether the amounts in a currency are multiples of the step. A cap may be any amount.
func (d *Discount) onStep(c Currency, step int64) bool {
	if step <= 1 {
		return true
	}
	if terms, _ := d.in(c); d.kind.HasAmount() && !onStep(terms.Amount, step) {
		return false
	}
	if d.kind != Tiered {
		return true
	}
	return !slices.ContainsFunc(d.more.Tiers, func(t Tier) bool { return !onStep(t.Amount, step) })
}
