package coupon

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// MaxAmounts is the maximum number of currencies in [Amounts] and in a [MoneySet].
const MaxAmounts = pricing.MaxCurrencies

// Amounts are amounts of money as an administrator typed them, by ISO 4217 currency code, such as Amounts{"EUR":
// "20.00", "USD": "22.00"}. The empty code stands for the currency of the coupon. An amount is a decimal number in
// major units. [New] and [Coupon.Apply] check the amounts.
type Amounts map[string]string

// NewAmounts returns the given amounts as text.
func NewAmounts(amounts ...pricing.Money) Amounts {
	if len(amounts) == 0 {
		return nil
	}
	texts := make(Amounts, len(amounts))
	for _, m := range amounts {
		texts[m.Currency().Code()] = m.Currency().Format(m.Minor())
	}
	return texts
}

// IsZero reports whether there are no amounts.
func (a Amounts) IsZero() bool { return len(a) == 0 }

// has reports whether there is an amount in the coupon's own currency.
func (a Amounts) has(own pricing.Currency) bool {
	for code := range a {
		if c, err := pricing.ParseCurrency(code); code == "" || err == nil && c == own {
			return true
		}
	}
	return false
}

// MarshalJSON returns a JSON object of decimal strings, such as {"EUR":"20.00","USD":"22.00"}, or a JSON string for an
// amount in the currency of the coupon alone, or null.
func (a Amounts) MarshalJSON() ([]byte, error) {
	if own, alone := a[""]; alone && len(a) == 1 {
		return json.Marshal(own)
	}
	if len(a) == 0 {
		return []byte("null"), nil
	}
	return json.Marshal(map[string]string(a))
}

// UnmarshalJSON reads the JSON that [Amounts.MarshalJSON] returns, also with JSON numbers. If an amount is neither text
// nor a number, or a code is given twice, the error is a [*validation.Error] that names each such amount by its code.
// *a then holds the other amounts.
func (a *Amounts) UnmarshalJSON(data []byte) error {
	*a = nil
	switch {
	case bytes.Equal(data, []byte("null")):
		return nil
	case len(data) == 0 || data[0] != '{':
		var number pricing.Number
		if err := strictjson.Value(data, &number); err != nil {
			return err
		}
		*a = Amounts{"": string(number)}
		return nil
	}
	read := Amounts{}
	err := strictjson.Each(data, func(code string, raw json.RawMessage) error {
		var number *pricing.Number
		err := strictjson.Value(raw, &number)
		if err == nil && number == nil {
			err = fieldFault(validation.Required, "an amount is required")
		}
		if err == nil {
			read[code] = string(*number)
		}
		return err
	})
	if *a = read; err == nil && len(read) == 0 {
		return fieldFault(validation.Required, "at least one currency is required, or null")
	}
	return err
}

// money returns the amounts in minor units. Each must be from least to most. Without the coupon's
// currency, only the form of its own amount is checked. The missing currency has its own fault.
func (a Amounts) money(field string, own pricing.Currency, least, most int64, faults *validation.Error) []pricing.Money {
	switch {
	case len(a) == 0:
		return nil
	case len(a) > MaxAmounts:
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d currencies are allowed", MaxAmounts))
		return nil
	}
	var valid []pricing.Money
	seen := map[pricing.Currency]bool{}
	for _, code := range slices.Sorted(maps.Keys(a)) {
		path, c := field, own
		if code != "" {
			path = strings.TrimPrefix(field+"."+strictjson.Shown(code), ".")
			var err error
			if c, err = pricing.ParseCurrency(code); err != nil {
				faults.Add(path, validation.Unknown, "must be an ISO 4217 currency code")
				continue
			}
		}
		minor, err := amount(a[code], c, least)
		switch {
		case err != nil:
			faults.At(path, err)
		case c.IsZero():
		case seen[c]: // the same currency in another letter case, or the coupon's own currency
			faults.Add(path, validation.Mismatch, "the currency is given twice")
		case minor > most:
			faults.Add(path, validation.TooLarge, "at most "+pricing.NewMoney(most, c).String())
		default:
			valid = append(valid, pricing.NewMoney(minor, c))
		}
		seen[c] = true
	}
	return valid
}

// minimum returns the minimum purchases. A single 0 in the coupon's currency means no minimum.
func (a Amounts) minimum(field string, own pricing.Currency, faults *validation.Error) MoneySet {
	if text, alone := a[""]; alone && len(a) == 1 {
		switch n, err := pricing.Number(text).Decimal(); {
		case err == nil && n.IsZero():
			return MoneySet{}
		case err == nil && n.Sign() < 0:
			faults.Add(field, validation.TooSmall, "a minimum purchase is not negative")
			return MoneySet{}
		}
	}
	return NewMoneySet(a.money(field, own, 1, MaxMinPurchase, faults)...)
}

// maximum returns the maximum purchases. Unlike a minimum, a maximum of 0 is refused.
func (a Amounts) maximum(field string, own pricing.Currency, faults *validation.Error) MoneySet {
	return NewMoneySet(a.money(field, own, 1, MaxMinPurchase, faults)...)
}

// maxDecimals is the largest number of decimals of any currency.
const maxDecimals = 4

// amount parses an amount of at least least minor units. Without a currency, amount checks only the
// form and the sign.
func amount(text string, c pricing.Currency, least int64) (minor int64, err error) {
	n, err := pricing.Number(text).Decimal()
	switch {
	case err != nil:
		return 0, err
	case n.Sign() < 0, n.Sign() == 0 && least > 0:
		return 0, fieldFault(validation.TooSmall, "an amount is greater than 0")
	case c.IsZero() && !n.Truncate(maxDecimals).Equal(n):
		return 0, fieldFault(validation.TooManyDecimals, fmt.Sprintf("at most %d decimals are allowed", maxDecimals))
	case c.IsZero():
		return 0, nil
	}
	return c.Parse(text)
}

// MoneySet is an immutable set of amounts of money, one for each currency. The zero MoneySet is empty.
type MoneySet struct{ list []pricing.Money }

// NewMoneySet returns the set of the given amounts. [Coupon.Validate] refuses a set in which an amount has no currency,
// or two amounts have the same currency.
func NewMoneySet(amounts ...pricing.Money) MoneySet {
	if len(amounts) == 0 {
		return MoneySet{}
	}
	list := slices.Clone(amounts)
	slices.SortStableFunc(list, func(a, b pricing.Money) int { return cmp.Compare(a.Currency().Code(), b.Currency().Code()) })
	return MoneySet{list: list}
}

// IsZero reports whether the set is empty.
func (s MoneySet) IsZero() bool { return len(s.list) == 0 }

// Slice returns a copy of the amounts, sorted by currency code.
func (s MoneySet) Slice() []pricing.Money { return slices.Clone(s.list) }

// All yields the amounts, sorted by currency code.
func (s MoneySet) All() iter.Seq[pricing.Money] { return slices.Values(s.list) }

// In returns the amount in the given currency, in minor units. If the set has no amount in the currency, found is
// false.
func (s MoneySet) In(c pricing.Currency) (minor int64, found bool) {
	for i := range s.list {
		if s.list[i].Currency() == c {
			return s.list[i].Minor(), true
		}
	}
	return 0, false
}

// accepts reports whether the set is empty or has an amount in the given currency.
func (s MoneySet) accepts(c pricing.Currency) bool {
	_, found := s.In(c)
	return found || s.IsZero()
}

// Equal reports whether s and t contain the same amounts.
func (s MoneySet) Equal(t MoneySet) bool { return slices.Equal(s.list, t.list) }

// String returns the amounts with their currencies, sorted by currency code, such as "5.00 EUR, 6.00 USD". For the empty
// set, String returns the empty text.
func (s MoneySet) String() string {
	texts := make([]string, len(s.list))
	for i, m := range s.list {
		texts[i] = m.String()
	}
	return strings.Join(texts, ", ")
}

// GoString formats the set for the messages of failed tests.
func (s MoneySet) GoString() string { return fmt.Sprintf("coupon.MoneySet(%v)", s.list) }

// MarshalJSON returns a JSON object of decimal strings by currency code, or null for the empty set.
func (s MoneySet) MarshalJSON() ([]byte, error) { return NewAmounts(s.list...).MarshalJSON() }

// UnmarshalJSON reads the JSON that [MoneySet.MarshalJSON] returns, also with JSON numbers. The error is a
// [*validation.Error] that names each invalid amount by its currency code. *s then stays unchanged.
func (s *MoneySet) UnmarshalJSON(data []byte) error {
	var texts Amounts
	if err := texts.UnmarshalJSON(data); err != nil {
		return err
	}
	if _, bare := texts[""]; bare {
		return fieldFault(validation.Malformed, byCurrencyMessage)
	}
	var faults validation.Error
	amounts := texts.money("", pricing.Currency{}, 0, math.MaxInt64, &faults)
	if err := faults.Err(); err != nil {
		return err
	}
	*s = NewMoneySet(amounts...)
	return nil
}

// text returns the set as text. A single amount in the coupon's own currency gets an empty code.
func (s MoneySet) text(own pricing.Currency) Amounts {
	if len(s.list) == 1 && s.list[0].Currency() == own {
		return Amounts{"": own.Format(s.list[0].Minor())}
	}
	return NewAmounts(s.list...)
}

// appendMember appends the amounts as a member of a JSON object, if there are any.
func (s MoneySet) appendMember(dst []byte, name string, own pricing.Currency) []byte {
	if len(s.list) == 0 {
		return dst
	}
	return appendMember(dst, name, s.text(own))
}

// faults checks the amounts. Each must have another currency, and one must be in the coupon's currency.
// Each must be from 1 to most minor units.
func (s MoneySet) faults(faults *validation.Error, field string, own pricing.Currency, most int64) {
	if len(s.list) > MaxAmounts {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d currencies are allowed", MaxAmounts))
		return
	}
	for i, m := range s.list {
		path := amountPath(field, m.Currency(), own)
		switch {
		case m.Currency().IsZero():
			faults.Add(field, validation.Required, "an amount needs a currency")
		case i > 0 && s.list[i-1].Currency() == m.Currency():
			faults.Add(path, validation.Mismatch, "the currency is given twice")
		case m.Minor() < 1:
			faults.Add(path, validation.TooSmall, "an amount is greater than 0")
		case m.Minor() > most:
			faults.Add(path, validation.TooLarge, "at most "+pricing.NewMoney(most, m.Currency()).String())
		}
	}
	if _, found := s.In(own); !found && !s.IsZero() && !own.IsZero() {
		faults.Add(field+"."+own.Code(), validation.Required, ownAmountMessage)
	}
}

const byCurrencyMessage = "must be an object of amounts by currency"

const ownAmountMessage = "an amount in the coupon's currency is required"

// amountPath returns the JSON path of an amount. The path of the amount in the coupon's own currency is
// the field's name.
func amountPath(field string, c, own pricing.Currency) string {
	if c == own {
		return field
	}
	return field + "." + c.Code()
}
