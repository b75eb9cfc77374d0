package pricing

import (
	"fmt"
	"strings"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/couponkit/couponkit/validation"
)

// iso4217 lists the currencies of ISO 4217 in code order, each with its exponent. It has list one, and
// codes withdrawn since 2023 so that stored orders still load. It has no metals, test codes or funds
// without an exponent.
//
// The exponents are ISO's. The exponents in golang.org/x/text are CLDR's, which follow daily practice
// (AFN, IRR, LAK: 0 decimals where ISO has 2). Its list lacks newer codes (MRU, SLE, UYW, VED, VES,
// XAD, XCG, ZWG).
const iso4217 = "" +
	"AED2AFN2ALL2AMD2ANG2AOA2ARS2AUD2AWG2AZN2BAM2BBD2BDT2BGN2BHD3BIF0" +
	"BMD2BND2BOB2BOV2BRL2BSD2BTN2BWP2BYN2BZD2CAD2CDF2CHE2CHF2CHW2CLF4" +
	"CLP0CNY2COP2COU2CRC2CUC2CUP2CVE2CZK2DJF0DKK2DOP2DZD2EGP2ERN2ETB2" +
	"EUR2FJD2FKP2GBP2GEL2GHS2GIP2GMD2GNF0GTQ2GYD2HKD2HNL2HRK2HTG2HUF2" +
	"IDR2ILS2INR2IQD3IRR2ISK0JMD2JOD3JPY0KES2KGS2KHR2KMF0KPW2KRW0KWD3" +
	"KYD2KZT2LAK2LBP2LKR2LRD2LSL2LYD3MAD2MDL2MGA2MKD2MMK2MNT2MOP2MRU2" +
	"MUR2MVR2MWK2MXN2MXV2MYR2MZN2NAD2NGN2NIO2NOK2NPR2NZD2OMR3PAB2PEN2" +
	"PGK2PHP2PKR2PLN2PYG0QAR2RON2RSD2RUB2RWF0SAR2SBD2SCR2SDG2SEK2SGD2" +
	"SHP2SLE2SLL2SOS2SRD2SSP2STN2SVC2SYP2SZL2THB2TJS2TMT2TND3TOP2TRY2" +
	"TTD2TWD2TZS2UAH2UGX0USD2USN2UYI0UYU2UYW4UZS2VED2VES2VND0VUV0WST2" +
	"XAD2XAF0XCD2XCG2XOF0XPF0YER2ZAR2ZMW2ZWG2ZWL2"

const currencyEntry = 4 // three letters and a digit

// Currency is a currency of ISO 4217. Currency values are comparable with ==. The zero
// Currency stands for no currency. The zero Currency has an empty code and the exponent 0.
type Currency struct {
	entry uint8 // 1-based position in iso4217; 0 means no currency
}

// AUD returns the Australian dollar.
func AUD() Currency { return findCurrency("AUD") }

// CAD returns the Canadian dollar.
func CAD() Currency { return findCurrency("CAD") }

// CHF returns the Swiss franc.
func CHF() Currency { return findCurrency("CHF") }

// CNY returns the Chinese yuan.
func CNY() Currency { return findCurrency("CNY") }

// DKK returns the Danish krone.
func DKK() Currency { return findCurrency("DKK") }

// EUR returns the euro. The euro is the default currency of a coupon.
func EUR() Currency { return findCurrency("EUR") }

// GBP returns the pound sterling.
func GBP() Currency { return findCurrency("GBP") }

// JPY returns the Japanese yen. Amounts in yen have no decimals.
func JPY() Currency { return findCurrency("JPY") }

// NOK returns the Norwegian krone.
func NOK() Currency { return findCurrency("NOK") }

// PLN returns the Polish zloty.
func PLN() Currency { return findCurrency("PLN") }

// SEK returns the Swedish krona.
func SEK() Currency { return findCurrency("SEK") }

// USD returns the US dollar.
func USD() Currency { return findCurrency("USD") }

// ParseCurrency returns the currency with the given ISO 4217 code. The code is not
// case-sensitive. ParseCurrency returns a [*validation.Error] for an unknown code. Functions
// such as [USD] return the most common currencies.
func ParseCurrency(code string) (Currency, error) {
	if len(code) == 3 {
		if c := findCurrency(strings.ToUpper(code)); !c.IsZero() {
			return c, nil
		}
	}
	return Currency{}, validation.New("currency", validation.Unknown, fmt.Sprintf("unknown ISO 4217 currency %.16q", code))
}

func findCurrency(code string) Currency {
	low, high := 0, len(iso4217)/currencyEntry
	for low < high {
		mid := (low + high) / 2
		switch at := iso4217[mid*currencyEntry:][:3]; {
		case at == code:
			return Currency{entry: uint8(mid + 1)}
		case at < code:
			low = mid + 1
		default:
			high = mid
		}
	}
	return Currency{}
}

// Currencies returns all currencies that this package knows, sorted by code. The caller
// may modify the returned slice.
func Currencies() []Currency {
	all := make([]Currency, len(iso4217)/currencyEntry)
	for i := range all {
		all[i].entry = uint8(i + 1)
	}
	return all
}

// Equal reports whether c and d are the same currency. Package go-cmp uses Equal to compare
// values.
func (c Currency) Equal(d Currency) bool { return c == d }

// IsZero reports whether c is the zero Currency.
func (c Currency) IsZero() bool { return c.entry == 0 }

// Code returns the ISO 4217 code of the currency in three upper-case letters, such as
// "EUR". For the zero Currency, Code returns the empty string.
func (c Currency) Code() string {
	if c.entry == 0 {
		return ""
	}
	at := int(c.entry-1) * currencyEntry
	return iso4217[at : at+3]
}

// Exponent returns the number of decimals of the currency. For example, the exponent is
// 0 for JPY, 2 for EUR, 3 for KWD and 4 for CLF.
func (c Currency) Exponent() int {
	if c.entry == 0 {
		return 0
	}
	return int(iso4217[int(c.entry)*currencyEntry-1] - '0')
}

// String returns the ISO 4217 code of the currency, such as "EUR".
func (c Currency) String() string { return c.Code() }

// GoString returns the text that package fmt prints for %#v, such as
// "pricing.Currency(EUR)".
func (c Currency) GoString() string { return fmt.Sprintf("pricing.Currency(%s)", c) }

// Symbol returns the symbol of the currency in the given locale. The symbol of the US
// dollar is "US$" or "$", depending on the locale. For a currency without a known symbol,
// Symbol returns the ISO 4217 code.
func (c Currency) Symbol(locale language.Tag) string {
	unit, err := currency.ParseISO(c.Code())
	if err != nil {
		return c.Code()
	}
	return message.NewPrinter(locale).Sprint(currency.Symbol(unit))
}

// MarshalText returns the ISO 4217 code of the currency. For the zero Currency,
// MarshalText returns empty text.
func (c Currency) MarshalText() ([]byte, error) { return []byte(c.Code()), nil }

// UnmarshalText parses a currency code, like [ParseCurrency]. Empty text becomes the zero
// Currency. On error, UnmarshalText leaves its receiver unchanged.
func (c *Currency) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = Currency{}
		return nil
	}
	parsed, err := ParseCurrency(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}
