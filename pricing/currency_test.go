package pricing_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	xcurrency "golang.org/x/text/currency"
	"golang.org/x/text/language"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// exponentsBesideCLDR are the exponents of ISO 4217 where golang.org/x/text has
// another (CLDR counts the decimals in daily use).
var exponentsBesideCLDR = map[string]int{
	"AFN": 2, "ALL": 2, "AMD": 2, "COP": 2, "GYD": 2, "IDR": 2, "IQD": 3, "IRR": 2, "KPW": 2, "LAK": 2, "LBP": 2,
	"MGA": 2, "MMK": 2, "MNT": 2, "MUR": 2, "PKR": 2, "RSD": 2, "SLL": 2, "SOS": 2, "SYP": 2, "TZS": 2, "UZS": 2, "YER": 2,
}

// unknownToCLDR are currencies that golang.org/x/text does not have.
var unknownToCLDR = map[string]int{
	"MRU": 2, "SLE": 2, "UYW": 4, "VED": 2, "VES": 2, "XAD": 2, "XCG": 2, "ZWG": 2,
}

// withdrawn are currencies that golang.org/x/text counts as legal tender
// somewhere and that ISO 4217 has replaced: MRO by MRU, VEF by VES.
var withdrawn = map[string]bool{"MRO": true, "VEF": true}

// named are the currencies that have a function of their own.
var named = map[string]func() pricing.Currency{
	"AUD": pricing.AUD,
	"CAD": pricing.CAD,
	"CHF": pricing.CHF,
	"CNY": pricing.CNY,
	"DKK": pricing.DKK,
	"EUR": pricing.EUR,
	"GBP": pricing.GBP,
	"JPY": pricing.JPY,
	"NOK": pricing.NOK,
	"PLN": pricing.PLN,
	"SEK": pricing.SEK,
	"USD": pricing.USD,
}

func TestNamedCurrencies(t *testing.T) {
	t.Parallel()
	for code, constructor := range named {
		want, err := pricing.ParseCurrency(code)
		require.NoError(t, err)
		if got := constructor(); got != want || got.Code() != code {
			t.Errorf("pricing.%s() is %#v, want %#v", code, got, want)
		}
	}
}

// Every difference from golang.org/x/text is one of those listed above, and all
// of those listed are differences.
func TestCurrencyTableAgainstCLDR(t *testing.T) {
	t.Parallel()
	exponents, unknown, known := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, c := range pricing.Currencies() {
		known[c.Code()] = true
		unit, err := xcurrency.ParseISO(c.Code())
		if err != nil {
			unknown[c.Code()] = c.Exponent()
			continue
		}
		if places, _ := xcurrency.Standard.Rounding(unit); places != c.Exponent() {
			exponents[c.Code()] = c.Exponent()
		}
	}
	if diff := cmp.Diff(exponentsBesideCLDR, exponents); diff != "" {
		t.Errorf("exponents that differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(unknownToCLDR, unknown); diff != "" {
		t.Errorf("currencies that x/text lacks (-want +got):\n%s", diff)
	}
	missing := map[string]bool{}
	for tender := xcurrency.Query(); tender.Next(); {
		if code := tender.Unit().String(); !known[code] {
			missing[code] = true
		}
	}
	if diff := cmp.Diff(withdrawn, missing); diff != "" {
		t.Errorf("legal tender that we lack (-want +got):\n%s", diff)
	}
}

func TestCurrenciesAreSortedAndFound(t *testing.T) {
	t.Parallel()
	all := pricing.Currencies()
	require.Greater(t, len(all), 150)
	require.Less(t, len(all), 255, "a currency is held in one byte")
	for i, c := range all {
		if i > 0 && all[i-1].Code() >= c.Code() {
			t.Errorf("%s is not after %s", c, all[i-1])
		}
		if found := currency(t, c.Code()); found != c || c.IsZero() || !c.Equal(found) {
			t.Errorf("%s: found %s", c, found)
		}
		if e := c.Exponent(); e < 0 || e > 4 {
			t.Errorf("%s: exponent %d", c, e)
		}
	}
}

func TestExponents(t *testing.T) {
	t.Parallel()
	got := map[string]int{}
	want := map[string]int{"JPY": 0, "KRW": 0, "CLP": 0, "EUR": 2, "USD": 2, "HUF": 2, "KWD": 3, "BHD": 3, "TND": 3, "CLF": 4, "UYW": 4}
	for code := range maps.Keys(want) {
		got[code] = currency(t, code).Exponent()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseCurrency(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"EUR", "eur", "Eur"} {
		if c, err := pricing.ParseCurrency(code); err != nil || c != pricing.EUR() {
			t.Errorf("%s: %s, %v", code, c, err)
		}
	}
	for _, code := range []string{"", "E", "EU", "EURO", "XXX", "XAU", "DEM", "BTC", "EU2", "€", "\u212aWD", "ſEK", "   ", "AAA", "ZZZ"} {
		c, err := pricing.ParseCurrency(code)
		wantField(t, err, "currency", validation.Unknown)
		if !c.IsZero() {
			t.Errorf("%q: an error and %s", code, c)
		}
	}
}

func TestNoCurrency(t *testing.T) {
	t.Parallel()
	var none pricing.Currency
	if !none.IsZero() || none.Code() != "" || none.String() != "" || none.Exponent() != 0 || none.Symbol(language.English) != "" {
		t.Errorf("the zero Currency is %q with %d decimals and symbol %q", none.Code(), none.Exponent(), none.Symbol(language.English))
	}
}

func TestSymbols(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ code, locale, want string }{
		{"EUR", "de", "€"},
		{"EUR", "en", "€"},
		{"EUR", "und", "€"},
		{"USD", "en-US", "$"},
		{"USD", "en-CA", "US$"},
		{"USD", "fr-CA", "$\u00a0US"},
		{"CAD", "en-CA", "$"},
		{"CAD", "en-US", "CA$"},
		{"JPY", "ja", "￥"},
		{"JPY", "en", "¥"},
		{"GBP", "en-GB", "£"},
		{"KWD", "en", "KWD"}, // no symbol in English
		{"EUR", "tlh", "€"},  // a locale without data
		// Currencies that golang.org/x/text does not know are shown by their code.
		{"SLE", "en", "SLE"},
		{"XCG", "nl", "XCG"},
		{"ZWG", "en-ZW", "ZWG"},
	} {
		if got := currency(t, c.code).Symbol(language.Make(c.locale)); got != c.want {
			t.Errorf("%s in %s: got %q, want %q", c.code, c.locale, got, c.want)
		}
	}
	for _, c := range pricing.Currencies() {
		if c.Symbol(language.English) == "" {
			t.Errorf("%s has an empty symbol", c)
		}
	}
}

func TestCurrencyText(t *testing.T) {
	t.Parallel()
	type document struct {
		Currency pricing.Currency `json:"currency"`
	}
	for _, c := range []pricing.Currency{pricing.EUR(), {}} {
		text, err := json.Marshal(document{c})
		require.NoError(t, err)
		if want := fmt.Sprintf(`{"currency":%q}`, c.Code()); string(text) != want {
			t.Errorf("got %s, want %s", text, want)
		}
		loaded := document{currency(t, "JPY")}
		require.NoError(t, json.Unmarshal(text, &loaded))
		if loaded.Currency != c {
			t.Errorf("loaded %q, want %q", loaded.Currency, c)
		}
	}
	kept := pricing.EUR()
	wantField(t, kept.UnmarshalText([]byte("XXX")), "currency", validation.Unknown)
	if kept != pricing.EUR() {
		t.Errorf("an unknown code changed the currency to %q", kept)
	}
}
