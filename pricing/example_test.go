package pricing_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shopspring/decimal"
	"golang.org/x/text/language"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// The examples ignore errors of constant input only.

func ExamplePrice() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 1000},
		{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}
	ten, err := pricing.AmountOff(pricing.NewMoney(1000, cart.Currency))
	if err != nil {
		fmt.Println(err)
		return
	}
	quote, err := pricing.Price(cart, pricing.Terms{Discount: ten})
	if err != nil {
		fmt.Println(err)
		return
	}
	amount := quote.Currency.Format
	fmt.Println("subtotal", amount(quote.Subtotal), "discount", amount(quote.Discount),
		"shipping", amount(quote.Shipping), "total", amount(quote.Total))
	for i, line := range quote.Lines {
		for _, unit := range quote.Units(i) {
			fmt.Println(line.ID, unit.Quantity, "at", amount(unit.UnitPrice))
		}
	}
	// Output:
	// subtotal 30.00 discount 10.00 shipping 4.90 total 24.90
	// A 2 at 6.67
	// A 1 at 6.66
	// S 1 at 4.90
}

// Only the lines that the caller names are discounted.
func ExamplePrice_eligible() {
	percent, _ := pricing.ParsePercent("33.33")
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Plan, ItemID: "basic", Quantity: 1, UnitPrice: 999, Recurs: pricing.Monthly},
		{Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 49900},
	}}
	quote, err := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent), Eligible: []bool{true, false}})
	fmt.Println(quote.EligibleSubtotal, quote.Discount, quote.Total, err)
	// Output: 999 333 50566 <nil>
}

// Every fault of the input is listed, each with its path.
func ExamplePrice_malformed() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, Quantity: 0, UnitPrice: -5},
	}}
	_, err := pricing.Price(cart, pricing.Terms{})
	if faults, ok := errors.AsType[*validation.Error](err); ok {
		for _, fault := range faults.Fields {
			fmt.Println(fault.Path, fault.Code, fault.Message)
		}
	}
	// Output:
	// lines[0].quantity too_small a quantity is at least 1
	// lines[0].unitPrice too_small a price is not negative
}

// A quote that is repriced reuses its memory.
func ExampleQuote_Reprice() {
	half, _ := pricing.ParsePercent("50")
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, 1)}
	var quote pricing.Quote
	for _, price := range []int64{100, 101} {
		cart.Lines[0] = pricing.Line{Kind: pricing.Accessory, Quantity: 1, UnitPrice: price}
		if err := quote.Reprice(cart, pricing.Terms{Discount: pricing.PercentOff(half)}); err != nil {
			fmt.Println(err)
		}
		fmt.Println(quote.Discount, quote.Total)
	}
	// Output:
	// 50 50
	// 51 50
}

func ExampleQuote_Clone() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 1, UnitPrice: 100}}}
	var working pricing.Quote
	_ = working.Reprice(cart, pricing.Terms{})
	kept := working.Clone()
	cart.Lines[0].UnitPrice = 250
	_ = working.Reprice(cart, pricing.Terms{})
	fmt.Println(kept.Lines[0].Total, working.Lines[0].Total, kept.Equal(working))
	// Output: 100 250 false
}

// A quote is stored as JSON and checked again when it is loaded.
func ExampleQuote_UnmarshalJSON() {
	var quote pricing.Quote
	err := json.Unmarshal([]byte(`{"version":1,"currency":"EUR","subtotal":"5.00","eligibleSubtotal":"5.00",
		"discount":"1.00","shipping":"0.00","total":"3.00","lines":[
		{"id":"A","kind":"device","itemId":"case","quantity":1,"unitPrice":"5.00","eligible":true,
		 "subtotal":"5.00","discount":"1.00","total":"4.00","units":[{"quantity":1,"unitPrice":"4.00"}]}]}`), &quote)
	fmt.Println(err)
	// Output: invalid input: total: is 3.00, but the lines add up to 4.00
}

func ExampleQuote_MarshalJSON() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Device, ItemID: "case", Quantity: 2, UnitPrice: 250},
	}}
	one, _ := pricing.AmountOff(pricing.NewMoney(101, pricing.EUR()))
	quote, _ := pricing.Price(cart, pricing.Terms{ID: "cpn_1", Discount: one})
	text, err := json.MarshalIndent(quote, "", " ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//  "version": 1,
	//  "currency": "EUR",
	//  "subtotal": "5.00",
	//  "eligibleSubtotal": "5.00",
	//  "discount": "1.01",
	//  "shipping": "0.00",
	//  "total": "3.99",
	//  "lines": [
	//   {
	//    "id": "A",
	//    "kind": "device",
	//    "itemId": "case",
	//    "quantity": 2,
	//    "unitPrice": "2.50",
	//    "eligible": true,
	//    "subtotal": "5.00",
	//    "discount": "1.01",
	//    "total": "3.99",
	//    "units": [
	//     {
	//      "quantity": 1,
	//      "unitPrice": "2.00"
	//     },
	//     {
	//      "quantity": 1,
	//      "unitPrice": "1.99"
	//     }
	//    ]
	//   }
	//  ],
	//  "coupons": [
	//   {
	//    "id": "cpn_1",
	//    "discount": "1.01",
	//    "eligibleSubtotal": "5.00",
	//    "eligibleQuantity": 2,
	//    "terms": {
	//     "discountType": "FIXED_AMOUNT",
	//     "discountValue": "1.01",
	//     "currency": "EUR"
	//    }
	//   }
	//  ]
	// } <nil>
}

func ExampleQuote_Validate() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 1, UnitPrice: 100}}}
	quote, _ := pricing.Price(cart, pricing.Terms{})
	fmt.Println(quote.Validate())
	quote.Lines[0].Discount = 20
	fmt.Println(quote.Validate())
	// Output:
	// <nil>
	// invalid input: lines[0].total: must be the subtotal less the discount
}

func ExampleQuote_Units() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{Kind: pricing.Device, Quantity: 3, UnitPrice: 1000}}}
	ten, _ := pricing.AmountOff(pricing.NewMoney(1000, pricing.EUR()))
	quote, _ := pricing.Price(cart, pricing.Terms{Discount: ten})
	for _, unit := range quote.Units(0) {
		fmt.Println(unit.Quantity, "at", unit.UnitPrice)
	}
	// Output:
	// 2 at 667
	// 1 at 666
}

func ExampleQuote_AppendUnits() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, Quantity: 3, UnitPrice: 5}, {Kind: pricing.Accessory, Quantity: 2, UnitPrice: 5},
	}}
	four, _ := pricing.AmountOff(pricing.NewMoney(4, pricing.EUR()))
	quote, _ := pricing.Price(cart, pricing.Terms{Discount: four})
	buffer := make([]pricing.UnitGroup, 0, 2)
	for i := range quote.Lines {
		fmt.Println(quote.AppendUnits(buffer[:0], i))
	}
	// Output:
	// [{1 5} {2 4}]
	// [{2 4}]
}

func ExampleCart_Validate() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{Kind: pricing.Device, Quantity: 1, UnitPrice: 100, Recurs: pricing.Monthly},
	}}
	fmt.Println(cart.Validate())
	// Output: invalid input: lines[0].recurs: only a subscription recurs
}

// A cart in JSON has decimal amounts: 10 is ten euros. Every field that is wrong is named.
func ExampleCart_UnmarshalJSON() {
	var cart pricing.Cart
	err := json.Unmarshal([]byte(`{"currency":"EUR","lines":[
		{"id":"A","kind":"device","itemId":"phone","quantity":3,"unitPrice":10},
		{"id":"S","kind":"shipping","itemId":"dhl","quantity":1,"unitPrice":"4.90"}]}`), &cart)
	quote, _ := pricing.Price(cart, pricing.Terms{})
	fmt.Println(quote.Currency.Format(quote.Total), err)

	err = json.Unmarshal([]byte(`{"currency":"EUR","lines":[{"kind":"device","quantity":0,"unitPrice":"4.905","price":5}]}`), &cart)
	fmt.Println(err)
	// Output:
	// 34.90 <nil>
	// invalid input: lines[0].price: there is no such field; lines[0].unitPrice: at most 2 decimals are allowed; lines[0].quantity: a quantity is at least 1
}

func ExampleCart_MarshalJSON() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 3, UnitPrice: 1000, Recurs: pricing.Monthly},
	}}
	text, err := json.Marshal(cart)
	fmt.Println(string(text), err)
	// Output:
	// {"currency":"EUR","lines":[{"id":"A","kind":"plan","itemId":"basic","quantity":3,"unitPrice":"10.00","recurs":"month"}]} <nil>
}

func ExampleDiscount_MarshalJSON() {
	ten, _ := pricing.AmountOff(pricing.NewMoney(1000, pricing.EUR()))
	text, _ := json.Marshal(ten)
	var read pricing.Discount
	fmt.Println(string(text), json.Unmarshal(text, &read), read)
	// Output: {"discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR"} <nil> 10.00 EUR
}

func ExampleParseMoney() {
	yen, _ := pricing.ParseCurrency("JPY")
	fmt.Println(pricing.ParseMoney("12.5", pricing.EUR()))
	fmt.Println(pricing.ParseMoney("12.505", pricing.EUR()))
	fmt.Println(pricing.ParseMoney("12.5", yen))
	// Output:
	// 12.50 EUR <nil>
	// 0 invalid input: at most 2 decimals are allowed
	// 0 invalid input: no decimals are allowed
}

func ExampleMoneyFromDecimal() {
	money, err := pricing.MoneyFromDecimal(decimal.New(125, -1), pricing.EUR())
	fmt.Println(money, money.Minor(), err)
	// Output: 12.50 EUR 1250 <nil>
}

func ExampleNewMoney() {
	dinar, _ := pricing.ParseCurrency("KWD")
	money := pricing.NewMoney(1250, dinar)
	fmt.Println(money, money.Amount(), money.Decimal())
	// Output: 1.250 KWD 1.250 1.25
}

func ExampleMoney_Add() {
	dollar, _ := pricing.ParseCurrency("USD")
	five := pricing.NewMoney(500, pricing.EUR())
	fmt.Println(five.Add(five))
	_, err := five.Add(pricing.NewMoney(500, dollar))
	fmt.Println(err)
	// Output:
	// 10.00 EUR <nil>
	// invalid input: currency: cannot add EUR and USD
}

func ExampleMoney_Compare() {
	five, six := pricing.NewMoney(500, pricing.EUR()), pricing.NewMoney(600, pricing.EUR())
	fmt.Println(five.Compare(six))
	// Output: -1 <nil>
}

func ExampleUSD() {
	fmt.Println(pricing.USD(), pricing.USD().Format(12_50), pricing.JPY().Format(1250))
	// Output: USD 12.50 1250
}

func ExampleParseCurrency() {
	clf, err := pricing.ParseCurrency("clf")
	fmt.Println(clf, clf.Exponent(), err)
	_, err = pricing.ParseCurrency("BTC")
	fmt.Println(err)
	// Output:
	// CLF 4 <nil>
	// invalid input: currency: unknown ISO 4217 currency "BTC"
}

func ExampleCurrencies() {
	var fourDecimals []pricing.Currency
	for _, c := range pricing.Currencies() {
		if c.Exponent() == 4 {
			fourDecimals = append(fourDecimals, c)
		}
	}
	fmt.Println(fourDecimals)
	// Output: [CLF UYW]
}

func ExampleCurrency_Symbol() {
	dollar, _ := pricing.ParseCurrency("USD")
	fmt.Println(pricing.EUR().Symbol(language.German), dollar.Symbol(language.AmericanEnglish),
		dollar.Symbol(language.MustParse("en-CA")))
	// Output: € $ US$
}

func ExampleCurrency_Format() {
	yen, _ := pricing.ParseCurrency("JPY")
	fmt.Println(pricing.EUR().Format(1250), yen.Format(1250))
	// Output: 12.50 1250
}

func ExampleCurrency_Parse() {
	fmt.Println(pricing.EUR().Parse("12.5"))
	// Output: 1250 <nil>
}

func ExampleParsePercent() {
	percent, err := pricing.ParsePercent("12.50")
	fmt.Println(percent, percent.Of(1000), err)
	_, err = pricing.ParsePercent("100.01")
	fmt.Println(err)
	// Output:
	// 12.5 125 <nil>
	// invalid input: a percentage is at most 100
}

func ExamplePercentFromDecimal() {
	percent, err := pricing.PercentFromDecimal(decimal.New(5, -1))
	fmt.Println(percent, err)
	// Output: 0.5 <nil>
}

// One rounding, half-up.
func ExamplePercent_Of() {
	half, _ := pricing.ParsePercent("50")
	fmt.Println(half.Of(1), half.Of(2), half.Of(3))
	// Output: 1 1 2
}

func ExamplePercentOff() {
	percent, _ := pricing.ParsePercent("20")
	discount := pricing.PercentOff(percent)
	fmt.Println(discount, discount.Type(), discount.Value())
	// Output: 20 % PERCENTAGE 20
}

func ExampleAmountOff() {
	discount, err := pricing.AmountOff(pricing.NewMoney(1000, pricing.EUR()))
	fmt.Println(discount, discount.Type(), discount.Value(), err)
	// Output: 10.00 EUR FIXED_AMOUNT 10.00 <nil>
}

// A fixed amount fits carts of its own currency only, a percentage any.
func ExampleDiscount_Fits() {
	yen, _ := pricing.ParseCurrency("JPY")
	ten, _ := pricing.AmountOff(pricing.NewMoney(1000, pricing.EUR()))
	fmt.Println(ten.Fits(yen))
	// Output: invalid input: currency: a discount in EUR cannot be taken off a cart in JPY
}

func ExampleParseDiscountType() {
	kind, err := pricing.ParseDiscountType("PERCENTAGE")
	fmt.Println(kind == pricing.Percentage, err)
	// Output: true <nil>
}

func ExampleParseLineKind() {
	kind, err := pricing.ParseLineKind("shipping")
	fmt.Println(kind == pricing.Shipping, err)
	// Output: true <nil>
}

func ExampleParseInterval() {
	interval, err := pricing.ParseInterval("month")
	fmt.Println(interval == pricing.Monthly, err)
	// Output: true <nil>
}

// Money and percentages come as JSON strings or exact numbers.
func ExampleNumber() {
	var draft struct {
		DiscountValue pricing.Number `json:"discountValue"`
		MinPurchase   pricing.Number `json:"minPurchase"`
	}
	err := json.Unmarshal([]byte(`{"discountValue": 12.5, "minPurchase": "1e400"}`), &draft)
	fmt.Println(err)
	fmt.Println(draft.DiscountValue.Decimal())
	_, err = pricing.ParseMoney(string(draft.MinPurchase), pricing.EUR())
	fmt.Println(err)
	// Output:
	// <nil>
	// 12.5 <nil>
	// invalid input: the number is too large
}

// A processor that charges dinars only in tens of fils: ten per cent of 5.550 is
// rounded to one of them, and units cost prices that are multiples.
func ExamplePrice_steps() {
	dinar, _ := pricing.ParseCurrency("KWD")
	cart := pricing.Cart{Currency: dinar, Step: 10, Lines: []pricing.Line{
		{Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 1_110},
		{Kind: pricing.Accessory, ItemID: "case", Quantity: 1, UnitPrice: 2_220},
	}}
	percent, _ := pricing.ParsePercent("10")
	quote, _ := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent)})
	fmt.Println("discount", dinar.Format(quote.Discount))
	for i, l := range quote.Lines {
		for _, u := range quote.Units(i) {
			fmt.Printf("%d %s at %s\n", u.Quantity, l.ItemID, dinar.Format(u.UnitPrice))
		}
	}

	cart.Lines[1].UnitPrice = 2_225
	_, err := pricing.Price(cart, pricing.Terms{Discount: pricing.PercentOff(percent)})
	fmt.Println(err)
	// Output:
	// discount 0.560
	// 2 phone at 1.000
	// 1 phone at 0.990
	// 1 case at 2.000
	// invalid input: lines[1].unitPrice: amounts are multiples of 0.010 here
}

// A customer buys three books for the price of two. They return two books, one after the other. The
// book that they keep is free only beside two others.
func ExampleQuote_Refund() {
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "A", Kind: "book", ItemID: "atlas", Quantity: 3, UnitPrice: 2_000},
	}}
	free, _ := pricing.ParsePercent("100")
	discount, _ := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: free, BuyQuantity: 2, GetQuantity: 1})
	for _, policy := range []pricing.RefundPolicy{pricing.Keep, pricing.Rebill} {
		quote, _ := pricing.Price(cart, pricing.Terms{ID: "three", Discount: discount, Refund: pricing.RefundTerms{Policy: policy}})
		fmt.Println(policy, "of", quote.Currency.Format(quote.Total))
		var before pricing.Refunded
		for range 2 {
			refund, _ := quote.Refund(before, pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}})
			before.Add(refund)
			fmt.Println("  refunded", quote.Currency.Format(refund.Amount))
		}
		rest, _ := quote.Refund(before, pricing.Returns{All: true})
		fmt.Println("  refunded for the rest", quote.Currency.Format(rest.Amount))
	}
	// Output:
	// keep of 40.00
	//   refunded 20.00
	//   refunded 20.00
	//   refunded for the rest 0.00
	// rebill of 40.00
	//   refunded 0.00
	//   refunded 20.00
	//   refunded for the rest 20.00
}
