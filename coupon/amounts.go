package coupon

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// MaxAmounts is the maximum number of currencies in [Amounts].
const MaxAmounts = 32

// Amounts is an immutable set of amounts of money with at most one amount for each currency. The
// zero Amounts is empty.
type Amounts struct{ list []pricing.Money }

// NewAmounts returns the set of the given amounts. If two amounts have the same currency, the set
// contains their sum. NewAmounts ignores amounts without a currency.
func NewAmounts(amounts ...pricing.Money) Amounts {
	var list []pricing.Money
	for _, m := range amounts {
		at, found := slices.BinarySearchFunc(list, m.Currency(), byCurrency)
		switch {
		case m.Currency().IsZero():
		case found:
			list[at] = pricing.NewMoney(list[at].Minor()+m.Minor(), m.Currency())
		default:
			list = slices.Insert(list, at, m)
		}
	}
	return Amounts{list: list}
}

func byCurrency(m pricing.Money, c pricing.Currency) int {
	return cmp.Compare(m.Currency().Code(), c.Code())
}

// IsZero reports whether the set is empty.
func (a Amounts) IsZero() bool { return len(a.list) == 0 }

// Slice returns a copy of the amounts, sorted by currency code.
func (a Amounts) Slice() []pricing.Money { return slices.Clone(a.list) }

// All yields the amounts, sorted by currency code.
func (a Amounts) All() iter.Seq[pricing.Money] { return slices.Values(a.list) }

// In returns the amount in the given currency, in minor units. If the set has no amount in the
// currency, found is false.
func (a Amounts) In(c pricing.Currency) (minor int64, found bool) {
	at, found := slices.BinarySearchFunc(a.list, c, byCurrency)
	if !found {
		return 0, false
	}
	return a.list[at].Minor(), true
}

// Equal reports whether a and b contain the same amounts.
func (a Amounts) Equal(b Amounts) bool { return slices.Equal(a.list, b.list) }

// GoString formats the amounts for the messages of failed tests.
func (a Amounts) GoString() string { return fmt.Sprintf("coupon.Amounts(%v)", a.list) }

// MarshalJSON returns a JSON object of decimal strings, such as {"EUR":"1000.00"}. For the empty
// set, MarshalJSON returns null.
func (a Amounts) MarshalJSON() ([]byte, error) {
	if a.IsZero() {
		return []byte("null"), nil
	}
	texts := make(map[string]string, len(a.list))
	for _, m := range a.list {
		texts[m.Currency().Code()] = m.Currency().Format(m.Minor())
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads the JSON that [Amounts.MarshalJSON] returns. JSON null sets *a to the empty
// set. UnmarshalJSON returns a [*pricing.ValidationError] that names every invalid amount by its
// currency code. If UnmarshalJSON fails, *a stays unchanged.
func (a *Amounts) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		*a = Amounts{}
		return nil
	}
	var amounts []pricing.Money
	err := strictjson.Each(data, func(code string, raw json.RawMessage) error {
		m, err := readAmount(code, raw)
		amounts = append(amounts, m)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(amounts) == 0:
		return fieldFault(pricing.FieldRequired, "at least one currency is required, or null")
	}
	*a = NewAmounts(amounts...)
	return nil
}

func readAmount(code string, raw json.RawMessage) (pricing.Money, error) {
	currency, err := pricing.ParseCurrency(code)
	if err != nil {
		return pricing.Money{}, unknown("must be an ISO 4217 currency code")
	}
	var number pricing.Number
	if err := strictjson.Value(raw, &number); err != nil {
		return pricing.Money{}, err
	}
	minor, err := currency.Parse(string(number))
	if err != nil {
		var fault pricing.ValidationError
		fault.At("", err)
		return pricing.Money{}, fault.Err()
	}
	return pricing.NewMoney(minor, currency), nil
}

// positive checks that every amount is at least one minor unit.
func (a Amounts) positive(faults *pricing.ValidationError, field string, most int64) {
	if len(a.list) > MaxAmounts {
		faults.Add(field, pricing.FieldTooLong, fmt.Sprintf("at most %d currencies", MaxAmounts))
		return
	}
	for _, m := range a.list {
		path := field + "." + m.Currency().Code()
		switch {
		case m.Minor() < 1:
			faults.Add(path, pricing.FieldTooSmall, "an amount is greater than 0")
		case m.Minor() > most:
			faults.Add(path, pricing.FieldTooLarge, "at most "+pricing.NewMoney(most, m.Currency()).String())
		}
	}
}
