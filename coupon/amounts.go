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
const MaxAmounts = pricing.MaxCurrencies

// Amounts is an immutable set of amounts of money with one amount for each currency, such as a
// budget. The zero Amounts is empty.
type Amounts struct{ list []pricing.Money }

// NewAmounts returns the set of the given amounts. NewAmounts accepts every argument. If an amount
// has no currency, or two amounts have the same currency, the set is invalid. [New],
// [Coupon.Apply] and [Coupon.Validate] refuse invalid sets.
func NewAmounts(amounts ...pricing.Money) Amounts {
	if len(amounts) == 0 {
		return Amounts{}
	}
	list := slices.Clone(amounts)
	slices.SortStableFunc(list, func(a, b pricing.Money) int { return byCurrency(a, b.Currency()) })
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
// set, MarshalJSON returns null. If a currency is missing or given twice, MarshalJSON returns a
// [*pricing.ValidationError].
func (a Amounts) MarshalJSON() ([]byte, error) {
	if a.IsZero() {
		return []byte("null"), nil
	}
	var faults pricing.ValidationError
	a.currencyFaults(&faults, "")
	if err := faults.Err(); err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(a.list))
	for _, m := range a.list {
		texts[m.Currency().Code()] = m.Currency().Format(m.Minor())
	}
	return json.Marshal(texts)
}

// UnmarshalJSON reads the JSON that [Amounts.MarshalJSON] returns. Amounts may also be JSON
// numbers. JSON null sets *a to the empty set. UnmarshalJSON returns a [*pricing.ValidationError]
// that names each of these faults by its currency code:
//
//   - The currency is unknown or given twice.
//   - The amount is malformed, too large, or has more decimals than its currency.
//
// If UnmarshalJSON fails, *a stays unchanged.
func (a *Amounts) UnmarshalJSON(data []byte) error {
	var read amountsInPart
	if err := read.UnmarshalJSON(data); err != nil {
		return err
	}
	*a = Amounts(read)
	return nil
}

// amountsInPart is a set of amounts that after an error keeps the amounts that could be read.
type amountsInPart Amounts

func (a *amountsInPart) UnmarshalJSON(data []byte) error {
	*a = amountsInPart{}
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	var (
		amounts []pricing.Money
		members int
		seen    = map[pricing.Currency]bool{}
	)
	err := strictjson.Each(data, func(code string, raw json.RawMessage) error {
		members++
		m, err := readAmount(code, raw)
		switch {
		case err != nil:
			return err
		case seen[m.Currency()]: // in other letter case
			return fieldFault(pricing.FieldMismatch, "the currency is given twice")
		}
		seen[m.Currency()] = true
		amounts = append(amounts, m)
		return nil
	})
	*a = amountsInPart(NewAmounts(amounts...))
	if err == nil && members == 0 {
		return fieldFault(pricing.FieldRequired, "at least one currency is required, or null")
	}
	return err
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

// currencyFaults checks that every amount has a currency of its own. It returns the amounts that
// have one.
func (a Amounts) currencyFaults(faults *pricing.ValidationError, field string) []pricing.Money {
	valid := make([]pricing.Money, 0, len(a.list))
	same := func(i, j int) bool {
		return j >= 0 && j < len(a.list) && a.list[i].Currency() == a.list[j].Currency()
	}
	for i, m := range a.list {
		switch {
		case same(i, i-1): // has the fault already
		case m.Currency().IsZero():
			faults.Add(field, pricing.FieldRequired, "an amount needs a currency")
		case same(i, i+1):
			faults.Add(amountPath(field, m.Currency()), pricing.FieldMismatch, "the currency is given twice")
		default:
			valid = append(valid, m)
		}
	}
	return valid
}

// faults checks the currencies, and that every amount is at least one minor unit and at most the
// given number of them. If own is a currency, an amount in it is refused, because it has a field of
// its own. faults returns the valid amounts.
func (a Amounts) faults(faults *pricing.ValidationError, field string, own pricing.Currency, most int64) []pricing.Money {
	if len(a.list) > MaxAmounts {
		faults.Add(field, pricing.FieldTooLong, fmt.Sprintf("at most %d currencies are allowed", MaxAmounts))
		return nil
	}
	var valid []pricing.Money
	for _, m := range a.currencyFaults(faults, field) {
		path := amountPath(field, m.Currency())
		switch {
		case m.Currency() == own:
			faults.Add(path, pricing.FieldNotAllowed, "the amount in the coupon's currency has a field of its own")
		case m.Minor() < 1:
			faults.Add(path, pricing.FieldTooSmall, "an amount is greater than 0")
		case m.Minor() > most:
			faults.Add(path, pricing.FieldTooLarge, "at most "+pricing.NewMoney(most, m.Currency()).String())
		default:
			valid = append(valid, m)
		}
	}
	return valid
}

// amountPath returns the path of an amount in a field of [Amounts].
func amountPath(field string, c pricing.Currency) string {
	if field == "" {
		return c.Code()
	}
	return field + "." + c.Code()
}
