package stripeprocessor

import (
	"fmt"
	"math"
	"strings"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// charge describes how Stripe counts a currency: the exponent of its minor units, and a step. Charged
// amounts are multiples of the step, in these minor units.
type charge struct {
	exponent int
	step     int64
}

// Stripe's currencies that do not have two decimals, or that restrict them
// (https://docs.stripe.com/currencies). HUF and TWD have two decimals for charges.
const (
	zeroDecimal   = "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF"
	wholeOnly     = "ISK UGX"             // two decimals, which must be 00
	threeDecimals = "BHD JOD KWD OMR TND" // three decimals, of which the last must be 0
)

// chargeOf returns how Stripe charges the currency. ok is false for unlisted currencies without exactly
// two decimals. How Stripe reads amounts in them is unknown.
func chargeOf(c pricing.Currency) (how charge, ok bool) {
	switch code := c.Code(); {
	case code == "":
		return charge{}, false
	case strings.Contains(zeroDecimal, code):
		return charge{exponent: 0, step: 1}, true
	case strings.Contains(wholeOnly, code):
		return charge{exponent: 2, step: 100}, true
	case strings.Contains(threeDecimals, code):
		return charge{exponent: 3, step: 10}, true
	}
	return charge{exponent: 2, step: 1}, c.Exponent() == 2
}

// money converts amounts of one currency between our minor units (ISO 4217) and
// Stripe's.
type money struct {
	currency pricing.Currency
	charge   charge
}

func moneyOf(c pricing.Currency) (money, error) {
	how, ok := chargeOf(c)
	if !ok {
		var faults validation.Error
		faults.Add("currency", validation.Unknown, fmt.Sprintf("Stripe does not charge in %q", c.Code()))
		return money{}, faults.Err()
	}
	return money{currency: c, charge: how}, nil
}

// code returns the currency as Stripe writes it.
func (m money) code() string { return strings.ToLower(m.currency.Code()) }

// factors returns two factors: our minor units times multiply, divided by divide, are Stripe's minor
// units. At least one of them is 1.
func (m money) factors() (multiply, divide int64) {
	switch shift := m.charge.exponent - m.currency.Exponent(); {
	case shift > 0:
		return pow10(shift), 1
	default:
		return 1, pow10(-shift)
	}
}

func pow10(n int) int64 {
	result := int64(1)
	for range n {
		result *= 10
	}
	return result
}

// step returns the step of chargeable amounts in our minor units.
func (m money) step() int64 {
	multiply, divide := m.factors()
	return max(m.charge.step*divide/multiply, 1)
}

// toStripe converts an amount. The amount must be at least 0 and a multiple of the step.
func (m money) toStripe(minor int64) (int64, error) {
	multiply, divide := m.factors()
	var faults validation.Error
	switch {
	case minor%m.step() != 0:
		faults.Add("", validation.TooManyDecimals, fmt.Sprintf("Stripe charges %s in steps of %s", m.currency, m.currency.Format(m.step())))
	case minor > math.MaxInt64/multiply:
		faults.Add("", validation.Overflow, "the amount is too large")
	}
	return minor * multiply / divide, faults.Err()
}

// atMost returns a message with the greatest amount that Stripe charges.
func (m money) atMost() string {
	return fmt.Sprintf("Stripe takes at most %s %s", m.currency.Format(m.fromStripe(maxStripeAmount/m.charge.step*m.charge.step)), m.currency)
}

// fromStripe converts an amount reported by Stripe. Stripe charges no amounts finer than our minor
// unit; such an amount is rounded up. An amount that overflows becomes the greatest or the least int64.
// That number is not a multiple of a step above 1, so it never equals the amount of an order.
func (m money) fromStripe(amount int64) int64 {
	multiply, divide := m.factors()
	if multiply > 1 {
		up := amount / multiply // division rounds negative amounts up already
		if amount%multiply > 0 {
			up++
		}
		return up
	}
	switch {
	case amount > math.MaxInt64/divide:
		return math.MaxInt64
	case amount < math.MinInt64/divide:
		return math.MinInt64
	}
	return amount * divide
}

// parseCurrency parses a currency in Stripe's spelling. It returns the zero value for an unknown
// currency.
func parseCurrency(code string) money {
	c, err := pricing.ParseCurrency(code)
	if err != nil {
		return money{}
	}
	m, err := moneyOf(c)
	if err != nil {
		return money{}
	}
	return m
}

// minimumTable holds Stripe's minimum charges in major units, by settlement
// currency (https://docs.stripe.com/currencies).
const minimumTable = "AED 2.00, AUD 0.50, BGN 1.00, BRL 0.50, CAD 0.50, CHF 0.50, CZK 15.00, DKK 2.50, " +
	"EUR 0.50, GBP 0.30, HKD 4.00, HUF 175.00, INR 0.50, JPY 50, KRW 50, MXN 10, MYR 2.00, NOK 3.00, " +
	"NZD 0.50, PLN 2.00, RON 2.00, SEK 3.00, SGD 0.50, THB 10, USD 0.50"

// minimumCharges returns the minimum charges that are checked before a call, in our minor units.
func minimumCharges(o Options) map[pricing.Currency]int64 {
	table := map[pricing.Currency]int64{}
	for entry := range strings.SplitSeq(minimumTable, ", ") {
		code, amount, _ := strings.Cut(entry, " ")
		c, err := pricing.ParseCurrency(code)
		if err != nil || !o.SettlementCurrency.IsZero() && c != o.SettlementCurrency {
			continue
		}
		if minor, err := c.Parse(amount); err == nil {
			table[c] = minor
		}
	}
	for c, minor := range o.MinimumCharge {
		table[c] = minor
		if minor == 0 {
			delete(table, c)
		}
	}
	return table
}
