package pricing_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// validLine is a line to break one field of.
func validLine() pricing.Line {
	return pricing.Line{ID: "A", Kind: pricing.Plan, ItemID: "basic", Quantity: 2, UnitPrice: 999, Recurs: pricing.Monthly}
}

func TestCartValidateNamesTheField(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		field string
		code  validation.Code
		line  func(*pricing.Line)
	}{
		{"no kind", "lines[1].kind", validation.Required, func(l *pricing.Line) { l.Kind, l.Recurs = "", pricing.Once }},
		{"malformed kind", "lines[1].kind", validation.Malformed, func(l *pricing.Line) { l.Kind, l.Recurs = "Book", pricing.Once }},
		{"long kind", "lines[1].kind", validation.Malformed, func(l *pricing.Line) { l.Kind, l.Recurs = pricing.LineKind(strings.Repeat("k", 65)), pricing.Once }},
		{"unknown class", "lines[1].class", validation.Unknown, func(l *pricing.Line) { l.Kind, l.Class, l.Recurs = "book", 4, pricing.Once }},
		{"a plan that is a product", "lines[1].class", validation.Mismatch, func(l *pricing.Line) { l.Class, l.Recurs = pricing.ProductClass, pricing.Once }},
		{"a book that recurs", "lines[1].recurs", validation.NotAllowed, func(l *pricing.Line) { l.Kind = "book" }},
		{"sum of the quantities", "lines[1].quantity", validation.Overflow, func(l *pricing.Line) { l.UnitPrice, l.Quantity = 0, math.MaxInt64 }},
		{"quantity 0", "lines[1].quantity", validation.TooSmall, func(l *pricing.Line) { l.Quantity = 0 }},
		{"negative quantity", "lines[1].quantity", validation.TooSmall, func(l *pricing.Line) { l.Quantity = math.MinInt64 }},
		{"negative price", "lines[1].unitPrice", validation.TooSmall, func(l *pricing.Line) { l.UnitPrice = -1 }},
		{"price times quantity", "lines[1].unitPrice", validation.Overflow, func(l *pricing.Line) { l.UnitPrice = math.MaxInt64/2 + 1 }},
		{"product beyond 64 bits", "lines[1].unitPrice", validation.Overflow, func(l *pricing.Line) { l.UnitPrice, l.Quantity = 1<<62, 1<<62 }},
		{"sum of the lines", "lines[1].unitPrice", validation.Overflow, func(l *pricing.Line) { l.UnitPrice = math.MaxInt64 / 2 }},
		{"a long ID", "lines[1].id", validation.TooLong, func(l *pricing.Line) { l.ID = strings.Repeat("é", 256) }},
		{"a long item", "lines[1].itemId", validation.TooLong, func(l *pricing.Line) { l.ItemID = strings.Repeat("i", 256) }},
		{"unknown interval", "lines[1].recurs", validation.Unknown, func(l *pricing.Line) { l.Recurs = pricing.Yearly + 1 }},
		{"a device that recurs", "lines[1].recurs", validation.NotAllowed, func(l *pricing.Line) { l.Kind = pricing.Device }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{validLine(), validLine()}}
			require.NoError(t, cart.Validate())
			c.line(&cart.Lines[1])
			wantField(t, cart.Validate(), c.field, c.code)
			q, err := pricing.Price(cart, pricing.Terms{})
			wantField(t, err, c.field, c.code)
			if diff := cmp.Diff(pricing.Quote{}, q); diff != "" {
				t.Errorf("a quote beside an error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCartValidateListsEveryFault(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Lines: []pricing.Line{
		{Kind: "?", Quantity: 0, UnitPrice: -1, Recurs: 77},
		{Kind: pricing.Device, Quantity: 1, UnitPrice: math.MaxInt64},
		{Kind: pricing.Device, Quantity: 1, UnitPrice: 1},
		{Kind: pricing.Device, Quantity: 1, UnitPrice: math.MaxInt64}, // the sum is reported once
		{Kind: pricing.Shipping, Quantity: 2, UnitPrice: math.MaxInt64, Recurs: pricing.Daily},
	}}
	want := map[string]validation.Code{
		"currency":           validation.Required,
		"lines[0].kind":      validation.Malformed,
		"lines[0].quantity":  validation.TooSmall,
		"lines[0].unitPrice": validation.TooSmall,
		"lines[0].recurs":    validation.Unknown,
		"lines[2].unitPrice": validation.Overflow,
		"lines[4].unitPrice": validation.Overflow,
		"lines[4].recurs":    validation.NotAllowed,
	}
	if diff := cmp.Diff(want, faultsOf(cart.Validate())); diff != "" {
		t.Errorf("Validate (-want +got):\n%s", diff)
	}
	want["eligible"] = validation.Mismatch
	_, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "5", "EUR"), Eligible: []bool{true}})
	if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
		t.Errorf("Price (-want +got):\n%s", diff)
	}
}

func TestCartHasAtMostTenThousandLines(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: make([]pricing.Line, pricing.MaxLines)}
	for i := range cart.Lines {
		cart.Lines[i] = validLine()
	}
	cart.Lines[0].ID, cart.Lines[1].ItemID = strings.Repeat("é", 255), strings.Repeat("é", 255)
	require.NoError(t, cart.Validate())
	q, err := pricing.Price(cart, pricing.Terms{})
	require.NoError(t, err)
	require.Len(t, q.Lines, pricing.MaxLines)
	require.NoError(t, q.Validate())
	cart.Lines = append(cart.Lines, pricing.Line{})
	wantField(t, cart.Validate(), "lines", validation.TooLong)
	_, err = pricing.Price(cart, pricing.Terms{})
	wantField(t, err, "lines", validation.TooLong)
}

// TestTheLargestCartIsStored: of what may be priced everything can be read back.
func TestTheLargestCartIsStored(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("\x01", pricing.MaxLineIDLength) // nothing is longer in JSON
	cart := pricing.Cart{Currency: currency(t, "UYW"), Lines: make([]pricing.Line, pricing.MaxLines)}
	for i := range cart.Lines {
		cart.Lines[i] = pricing.Line{
			ID: longest, Kind: pricing.Plan, ItemID: longest, Recurs: pricing.Monthly,
			Quantity: 1_000_000, UnitPrice: math.MaxInt64 / pricing.MaxLines / 1_000_000,
		}
	}
	q, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "1234567.8901", "UYW")})
	require.NoError(t, err)
	text, err := q.MarshalJSON()
	require.NoError(t, err)
	var loaded pricing.Quote
	require.NoError(t, loaded.UnmarshalJSON(text), "%d bytes", len(text))
	require.True(t, loaded.Equal(q), "the quote that is read is not the one that was written")
}

func TestPriceRefusesWhatDoesNotFitTheCart(t *testing.T) {
	t.Parallel()
	cart := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{validLine()}}
	for _, eligible := range [][]bool{{}, {true, true}} {
		_, err := pricing.Price(cart, pricing.Terms{Eligible: eligible})
		wantField(t, err, "eligible", validation.Mismatch)
	}
	_, err := pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "5", "USD")})
	wantField(t, err, "currency", validation.Mismatch)
	_, err = pricing.Price(cart, pricing.Terms{Discount: amountOff(t, "5", "USD"), Eligible: []bool{}})
	want := map[string]validation.Code{"eligible": validation.Mismatch, "currency": validation.Mismatch}
	if diff := cmp.Diff(want, faultsOf(err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLineKindText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.LineKind{
		"plan": pricing.Plan, "device": pricing.Device, "accessory": pricing.Accessory, "shipping": pricing.Shipping,
	} {
		var k pricing.LineKind
		if err := k.UnmarshalText([]byte(text)); err != nil || k != want {
			t.Errorf("%s: got %v, %v", text, k, err)
		}
		if got, err := json.Marshal(k); err != nil || string(got) != `"`+text+`"` {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for text, code := range map[string]validation.Code{
		"": validation.Required, "Plan": validation.Malformed, "a book": validation.Malformed, "é": validation.Malformed,
		strings.Repeat("k", pricing.MaxKindLength+1): validation.Malformed,
	} {
		var k pricing.LineKind
		wantField(t, k.UnmarshalText([]byte(text)), "", code)
	}
}

func TestClassText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.Class{
		"subscription": pricing.SubscriptionClass, "product": pricing.ProductClass, "shipping": pricing.ShippingClass,
	} {
		var c pricing.Class
		if err := c.UnmarshalText([]byte(text)); err != nil || c != want {
			t.Errorf("%s: got %v, %v", text, c, err)
		}
		if got, err := c.MarshalText(); err != nil || string(got) != text {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Product", "plan"} {
		var c pricing.Class
		wantField(t, c.UnmarshalText([]byte(text)), "", validation.Unknown)
	}
	for kind, want := range map[pricing.LineKind]pricing.Class{
		pricing.Plan: pricing.SubscriptionClass, pricing.Device: pricing.ProductClass, pricing.Accessory: pricing.ProductClass,
		pricing.Shipping: pricing.ShippingClass, "book": pricing.ProductClass,
	} {
		line := pricing.Line{Kind: kind}
		if got := line.ClassOf(); got != want {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

func TestCategories(t *testing.T) {
	t.Parallel()
	set, err := pricing.NewCategories("sale", "books", "sale")
	require.NoError(t, err)
	again, err := pricing.NewCategories("books", "sale")
	require.NoError(t, err)
	require.Equal(t, again, set)
	if diff := cmp.Diff([]string{"books", "sale"}, set.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	require.True(t, set.Has("sale") && set.Has("books"))
	require.False(t, set.Has("book") || set.Has("") || set.Has("sale\x1fbooks") || pricing.Categories{}.Has("sale"))
	_, err = pricing.NewCategories("a", "", "b\x1fc", "\xff", strings.Repeat("é", 65))
	if diff := cmp.Diff(map[string]validation.Code{
		"[1]": validation.Required, "[2]": validation.Malformed, "[3]": validation.Malformed, "[4]": validation.TooLong,
	}, faultsOf(err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	_, err = pricing.NewCategories(make([]string, pricing.MaxCategories+1)...)
	wantField(t, err, "", validation.TooLong)
}

func TestIntervalText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]pricing.Interval{
		"": pricing.Once, "day": pricing.Daily, "week": pricing.Weekly, "month": pricing.Monthly, "year": pricing.Yearly,
	} {
		i := pricing.Yearly
		if err := i.UnmarshalText([]byte(text)); err != nil || i != want {
			t.Errorf("%s: got %v, %v", text, i, err)
		}
		if got, err := i.MarshalText(); err != nil || string(got) != text {
			t.Errorf("%s: got %s, %v", text, got, err)
		}
	}
	var i pricing.Interval
	wantField(t, i.UnmarshalText([]byte("hour")), "", validation.Unknown)
	if got := pricing.Interval(99).String(); got != "" {
		t.Errorf("an unknown interval is %q", got)
	}
}

// A value outside its set is not written as if it were the zero value.
func TestValuesOutsideTheirSetAreNotMarshalled(t *testing.T) {
	t.Parallel()
	for name, marshal := range map[string]func() ([]byte, error){
		"class":    (pricing.ShippingClass + 1).MarshalText,
		"interval": (pricing.Yearly + 1).MarshalText,
		"type":     (pricing.Tiered + 1).MarshalText,
	} {
		text, err := marshal()
		wantField(t, err, "", validation.Unknown)
		if text != nil {
			t.Errorf("%s: an error and %q", name, text)
		}
	}
	for name, marshal := range map[string]func() ([]byte, error){
		"class": pricing.Class(0).MarshalText, "type": pricing.DiscountType(0).MarshalText,
	} {
		if text, err := marshal(); err != nil || len(text) != 0 {
			t.Errorf("no %s: got %q, %v", name, text, err)
		}
	}
}
