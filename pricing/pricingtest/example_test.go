package pricingtest_test

import (
	"fmt"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// printer shows what a test would report.
type printer struct{}

func (printer) Helper() {}

func (printer) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func ExampleCheckQuote() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, Quantity: 1, UnitPrice: 1000},
		{Kind: pricing.Device, Quantity: 1, UnitPrice: 1000},
	}}
	percent, _ := pricing.ParsePercent("0.05")
	discount := pricing.PercentOff(percent)
	quote, _ := pricing.Price(cart, pricing.Terms{Discount: discount})
	pricingtest.CheckQuote(printer{}, cart, discount, nil, quote)

	// Somebody gives the spare cent to the later line.
	quote.Lines[0].Discount, quote.Lines[0].Total = 0, 1000
	quote.Lines[1].Discount, quote.Lines[1].Total = 1, 999
	pricingtest.CheckQuote(printer{}, cart, discount, nil, quote)
	// Output:
	// tie: line 0 has a discount of 0, want 1: its remainder, 1/2, has rank 1 of the spare units, which are 1
	// tie: line 1 has a discount of 1, want 0: its remainder, 1/2, has rank 2 of the spare units, which are 1
}

func ExampleCheckUnits() {
	quote := pricing.Quote{Lines: []pricing.QuotedLine{{Line: pricing.Line{Quantity: 3}, Total: 2000}}}
	pricingtest.CheckUnits(printer{}, quote, 0, quote.Units(0))
	pricingtest.CheckUnits(printer{}, quote, 0, []pricing.UnitGroup{{Quantity: 3, UnitPrice: 667}})
	// Output: units: total: got 2000, want 2001
}

// The generators are drawn from within [pgregory.net/rapid.Check]; Example shows
// one draw.
func ExampleCart() {
	cart := pricingtest.Cart(pricingtest.CartOptions{
		Currency: pricing.EUR(), Kinds: []pricing.LineKind{pricing.Device}, MinLines: 2, MaxLines: 2, MaxTotal: 100_000,
	}).Example(1)
	fmt.Println(cart.Currency, len(cart.Lines), cart.Validate())
	// Output: EUR 2 <nil>
}
