package stripeprocessor_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/validation"
)

// noMinimum lets every total be charged, so that small carts count too.
func noMinimum(o *stripeprocessor.Options, f *stripefake.Options) {
	o.MinimumCharge = map[pricing.Currency]int64{}
	for _, c := range pricing.Currencies() {
		o.MinimumCharge[c] = 0
	}
	f.MinimumCharge = map[string]int64{}
}

// bought is a priced cart and the session that it is paid with.
type bought struct {
	quote   pricing.Quote
	request processor.SessionRequest
}

// purchase draws a cart with a discount, as the service makes a session of it:
// recurring lines at list price with the discount beside them, or lowered; priced in
// Stripe's steps, or in minor units as before they were known.
func purchase(at time.Time) *rapid.Generator[bought] {
	return rapid.Custom(func(t *rapid.T) bought {
		options := pricingtest.CartOptions{
			Currency: pricingtest.Currency().Draw(t, "currency"),
			MinLines: 1, MaxLines: rapid.SampledFrom([]int{3, 12, 140}).Draw(t, "most lines"), MaxTotal: 9_000_000_000,
		}
		if rapid.Bool().Draw(t, "in steps") {
			options.Step, _ = stepAndExponent(options.Currency)
		}
		cart := pricingtest.Cart(options).Draw(t, "cart")
		inOneInterval(cart.Lines)
		discount := pricingtest.DiscountFor(cart).Draw(t, "discount")
		quote, err := pricing.Price(cart, pricing.Terms{Discount: discount, Eligible: pricingtest.Eligible(cart).Draw(t, "eligible")})
		if err != nil {
			t.Fatalf("the cart cannot be priced: %v", err)
		}
		return bought{quote: quote, request: requestOf(quote, rapid.Bool().Draw(t, "every period"), at)}
	})
}

// inOneInterval gives all lines that recur the interval of the first: Stripe takes no
// other carts.
func inOneInterval(lines []pricing.Line) {
	first := pricing.Once
	for i := range lines {
		if first = cmp.Or(first, lines[i].Recurs); lines[i].Recurs != pricing.Once {
			lines[i].Recurs = first
		}
	}
}

func requestOf(quote pricing.Quote, everyPeriod bool, at time.Time) processor.SessionRequest {
	r := processor.SessionRequest{
		Key: "key", OrderID: "ord_1", Mode: processor.Payment, Currency: quote.Currency, Total: quote.Total,
		SuccessURL: "https://shop.example/thanks", ExpiresAt: at.Add(time.Hour),
	}
	for i, l := range quote.Lines {
		groups := quote.Units(i)
		if l.Recurs != pricing.Once {
			r.Mode = processor.Subscription
			if !everyPeriod {
				r.FirstPeriodDiscount += l.Discount
				groups = []pricing.UnitGroup{{Quantity: l.Quantity, UnitPrice: l.UnitPrice}}
			}
		}
		for _, g := range groups {
			r.Lines = append(r.Lines, processor.SessionLine{
				LineID: l.ID, Kind: l.Kind, ItemID: l.ItemID, Name: l.ID, Quantity: g.Quantity, UnitAmount: g.UnitPrice, Recurs: l.Recurs,
			})
		}
	}
	return r
}

// TestTenThousandCarts: the lines of a session sum to the quote exactly. The short form draws a
// thousand.
func TestTenThousandCarts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, noMinimum)
	draw := purchase(w.clock.Now())
	wanted, accepted, merged := testsize.Of(1_000, 10_000), 0, 0
	for seed := 0; accepted < wanted; seed++ {
		b := draw.Example(seed)
		lines, sum, err := w.processor.PlanLines(b.request)
		if err != nil {
			if !refusedForGood(b, err) || seed > 40_000 {
				t.Fatalf("cart %d of %s: %v", seed, b.quote.Currency, err)
			}
			continue
		}
		accepted++
		if fault := linesFault(b, lines, sum); fault != "" {
			t.Fatalf("cart %d in %s: %s\nlines: %+v\nrequest: %+v", seed, b.quote.Currency, fault, lines, b.request)
		}
		for _, l := range lines {
			if strings.Contains(l.Name, "×") {
				merged++
				break
			}
		}
	}
	if merged < 20 {
		t.Errorf("only %d carts were merged: the generator shows little", merged)
	}
}

// refusedForGood reports whether Stripe cannot charge a cart, for a reason that the
// error names.
func refusedForGood(b bought, err error) bool {
	var faults *validation.Error
	if !errors.As(err, &faults) {
		return false
	}
	step, exponent := stepAndExponent(b.quote.Currency)
	for _, f := range faults.Fields {
		switch {
		case b.quote.Step == step && exponent >= 0 && f.Path != "lines": // priced to be charged
			return false
		case f.Path == "currency" && exponent < 0:
		case f.Path == "total" && b.request.Total%step != 0:
		case f.Path == "firstPeriodDiscount" && b.request.FirstPeriodDiscount%step != 0:
		case f.Path == "lines" && f.Code == validation.TooLong && 2*recurring(b.request) > 20: // each may become two
		default:
			return false
		}
	}
	return true
}

func recurring(r processor.SessionRequest) int {
	n := 0
	for _, l := range r.Lines {
		if l.Recurs != pricing.Once {
			n++
		}
	}
	return n
}

// stepAndExponent is Stripe's table once more, in our minor units: the step, and the
// exponent at Stripe, negative for currencies that it does not charge.
func stepAndExponent(c pricing.Currency) (step int64, exponent int) {
	switch c.Code() {
	case "MGA":
		return 100, 0
	case "ISK", "UGX":
		return 1, 2
	case "BHD", "JOD", "KWD", "OMR", "TND":
		return 10, 3
	case "BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF":
		return 1, 0
	}
	if c.Exponent() != 2 {
		return 1, -1
	}
	return 1, 2
}

// linesFault returns what is wrong with the lines, or nothing.
func linesFault(b bought, lines []stripeprocessor.PlannedLine, sum int64) string {
	step, exponent := stepAndExponent(b.quote.Currency)
	factor := int64(1)
	for range exponent - b.quote.Currency.Exponent() {
		factor *= 10
	}
	ours := b.quote.Total + b.request.FirstPeriodDiscount
	if want := ours * factor / divisor(b.quote.Currency); sum != want {
		return fmt.Sprintf("the plan sums to %d, the quote to %d", sum, want)
	}
	total, recurring, single := int64(0), 0, 0
	for _, l := range lines {
		if l.UnitAmount < 0 || l.Quantity < 1 {
			return fmt.Sprintf("line %+v", l)
		}
		if b.quote.Currency.Exponent() == 3 && l.UnitAmount%step != 0 {
			return fmt.Sprintf("line %+v is off the step", l)
		}
		total += l.UnitAmount * l.Quantity
		if l.Recurs {
			recurring++
		} else {
			single++
		}
	}
	if total != sum {
		return fmt.Sprintf("the lines sum to %d, want %d", total, sum)
	}
	if b.request.Mode == processor.Payment && len(lines) > 100 || b.request.Mode == processor.Subscription && (recurring > 20 || single > 20) {
		return fmt.Sprintf("%d recurring and %d other lines", recurring, single)
	}
	return perLineFault(b, lines, factor)
}

func divisor(c pricing.Currency) int64 {
	if c.Code() == "MGA" {
		return 100
	}
	return 1
}

// perLineFault checks carts that were not merged: one or two lines for each unit price of a line,
// shipping and what is not discounted at list price.
func perLineFault(b bought, lines []stripeprocessor.PlannedLine, factor int64) string {
	byName := map[string][]stripeprocessor.PlannedLine{}
	for _, l := range lines {
		if strings.Contains(l.Name, "×") || strings.HasSuffix(l.Name, " items") || strings.HasSuffix(l.Name, " shipping") {
			return ""
		}
		byName[l.Name] = append(byName[l.Name], l)
	}
	if b.quote.Currency.Code() == "MGA" {
		factor = 1
	}
	for i, q := range b.quote.Lines {
		parts := byName[q.ID]
		quantity, total := int64(0), int64(0)
		for _, l := range parts {
			quantity, total = quantity+l.Quantity, total+l.UnitAmount*l.Quantity
		}
		if len(parts) < 1 || len(parts) > 2*len(b.quote.Units(i)) || quantity != q.Quantity { // a price off the step becomes two
			if b.request.Mode == processor.Payment && len(lines) == 100 {
				return "" // merged without a quantity in a name
			}
			return fmt.Sprintf("line %s of quantity %d became %+v", q.ID, q.Quantity, parts)
		}
		if step, _ := stepAndExponent(b.quote.Currency); step == max(b.quote.Step, 1) && total != asked(b.request, q.ID)*factor/divisor(b.quote.Currency) {
			return fmt.Sprintf("line %s of %d became %d", q.ID, asked(b.request, q.ID), total)
		}
	}
	return ""
}

// asked is what the request wants for a line of the cart.
func asked(r processor.SessionRequest, lineID string) int64 {
	sum := int64(0)
	for _, l := range r.Lines {
		if l.LineID == lineID {
			sum += l.UnitAmount * l.Quantity
		}
	}
	return sum
}

// TestSplit: three times 8.99 less 5.00 is 21.97, which three does not divide.
func TestSplit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 733},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 732},
	}
	r.Total = 2197
	_, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	want := []stripefake.Line{{Name: "Phone", Quantity: 1, UnitAmount: 733}, {Name: "Phone", Quantity: 2, UnitAmount: 732}}
	require.Equal(t, want, w.account.Sessions()[0].Lines)
}

// TestSteps: currencies that Stripe charges in steps are spread in these, by largest
// remainder; what is on the step stays.
func TestSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.Currency = currencyOf(t, "KWD")
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, Name: "A", Quantity: 1, UnitAmount: 3334},
		{LineID: "A", Kind: pricing.Device, Name: "A", Quantity: 2, UnitAmount: 3333},
		{LineID: "B", Kind: pricing.Device, Name: "B", Quantity: 1, UnitAmount: 1006},
		{LineID: "C", Kind: pricing.Device, Name: "C", Quantity: 1, UnitAmount: 1004},
		{LineID: "S", Kind: pricing.Shipping, Name: "S", Quantity: 1, UnitAmount: 500},
	}
	r.Total = 10_000 + 1006 + 1004 + 500
	lines, sum, err := w.processor.PlanLines(r)
	require.NoError(t, err)
	require.Equal(t, int64(12_510), sum)
	require.Equal(t, []stripeprocessor.PlannedLine{
		{Name: "A", Quantity: 1, UnitAmount: 3340},
		{Name: "A", Quantity: 2, UnitAmount: 3330},
		{Name: "B", Quantity: 1, UnitAmount: 1010},
		{Name: "C", Quantity: 1, UnitAmount: 1000},
		{Name: "S", Quantity: 1, UnitAmount: 500},
	}, lines)
	// The step goes to the greater remainder, not to the earlier line.
	r.Lines[2].UnitAmount, r.Lines[3].UnitAmount = 1004, 1006
	lines, _, err = w.processor.PlanLines(r)
	require.NoError(t, err)
	require.Equal(t, []int64{1000, 1010}, []int64{lines[2].UnitAmount, lines[3].UnitAmount})
	r.Lines[2].UnitAmount, r.Total = 1005, r.Total+1
	_, _, err = w.processor.PlanLines(r)
	requireField(t, err, "total")

	// Two unit prices that are a step apart are those of one line.
	r.Lines, r.Total = nil, 0
	for i := range 60 {
		l := processor.SessionLine{LineID: fmt.Sprint(i), Kind: pricing.Device, Name: "A", Quantity: 1, UnitAmount: 3340}
		rest := l
		rest.Quantity, rest.UnitAmount = 2, 3330
		r.Lines, r.Total = append(r.Lines, l, rest), r.Total+10_000
	}
	lines, _, err = w.processor.PlanLines(r)
	require.NoError(t, err)
	require.Len(t, lines, 60)
	require.Equal(t, stripeprocessor.PlannedLine{Name: "3 × A", Quantity: 1, UnitAmount: 10_000}, lines[0])
}

// TestManyLines: more than Stripe takes become lines of quantity 1, and what is still
// too much one line with the sum; shipping stays apart.
func TestManyLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cart := func(lines, quantity int, recurring int) processor.SessionRequest {
		r := w.request("key")
		r.Lines, r.Total = nil, 0
		for i := range lines {
			l := processor.SessionLine{
				LineID: fmt.Sprint(i), Kind: pricing.Accessory, Name: fmt.Sprintf("Case %d", i), Quantity: int64(quantity), UnitAmount: 101,
			}
			if i < recurring {
				l.Kind, l.Recurs, r.Mode = pricing.Plan, pricing.Monthly, processor.Subscription
			}
			extra := l
			extra.Quantity, extra.UnitAmount = 1, 100
			r.Lines = append(r.Lines, l, extra)
			r.Total += int64(quantity)*101 + 100
		}
		ship := processor.SessionLine{LineID: "S", Kind: pricing.Shipping, Name: "Shipping", Quantity: 1, UnitAmount: 490}
		r.Lines, r.Total = append(r.Lines, ship), r.Total+490
		return r
	}
	tests := map[string]struct {
		request processor.SessionRequest
		lines   int
		second  string
		last    string
	}{
		"as it is":             {cart(49, 2, 0), 99, "Case 0", "Shipping"},
		"merged":               {cart(50, 2, 0), 51, "3 × Case 1", "Shipping"},
		"merged to the bound":  {cart(99, 2, 0), 100, "3 × Case 1", "Shipping"},
		"summed":               {cart(150, 2, 0), 100, "3 × Case 1", "Shipping"},
		"subscription":         {cart(12, 2, 2), 2*2 + 10 + 1, "Case 0", "Shipping"},
		"subscription, summed": {cart(60, 2, 10), 20 + 20, "Case 0", "Shipping"},
		"recurring, merged":    {cart(12, 2, 12), 12 + 1, "3 × Case 1", "Shipping"},
		"to the bound":         {cart(40, 2, 20), 20 + 20, "3 × Case 1", "Shipping"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines, sum, err := w.processor.PlanLines(test.request)
			require.NoError(t, err)
			total := int64(0)
			for _, l := range lines {
				total += l.Quantity * l.UnitAmount
			}
			if len(lines) != test.lines || lines[1].Name != test.second || lines[len(lines)-1].Name != test.last {
				t.Errorf("%d lines, the second %q and the last %q, want %d, %q, %q",
					len(lines), lines[1].Name, lines[len(lines)-1].Name, test.lines, test.second, test.last)
			}
			if total != test.request.Total || sum != total {
				t.Errorf("the lines sum to %d, want %d", total, test.request.Total)
			}
		})
	}
	_, _, err := w.processor.PlanLines(cart(30, 1, 21))
	requireField(t, err, "lines")
}

// TestCartsOverHTTP: Stripe computes the totals itself, and they are the quote's.
func TestCartsOverHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, noMinimum)
	draw := purchase(w.clock.Now())
	made := 0
	for seed := range 300 {
		b := draw.Example(seed)
		b.request.Key = fmt.Sprintf("key-%d", seed)
		s, err := w.processor.CreateSession(t.Context(), b.request)
		if err != nil {
			if !refusedForGood(b, err) {
				t.Fatalf("cart %d of %s: %v", seed, b.quote.Currency, err)
			}
			continue
		}
		made++
		if s.Total != b.quote.Total || s.Currency != b.quote.Currency {
			t.Fatalf("cart %d: the session charges %d %s, the quote %d %s", seed, s.Total, s.Currency, b.quote.Total, b.quote.Currency)
		}
	}
	if made < 100 {
		t.Errorf("only %d sessions were made", made)
	}
}
