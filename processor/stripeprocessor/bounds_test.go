package stripeprocessor_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

func amountOf(currency, value string) func(*coupon.Draft) {
	return func(d *coupon.Draft) { d.Currency, d.Amount = currency, coupon.Amounts{"": value} }
}

func uses(n int) func(*coupon.Draft) {
	return func(d *coupon.Draft) { d.MaxUses = coupon.Set(n) }
}

// TestCouponBounds: what is at a bound of Stripe is mirrored, by an account that has the
// same bounds. What is over it is refused by its field before the first call, and the
// message has the bound; of an expiry or a name, what Stripe takes is sent.
func TestCouponBounds(t *testing.T) {
	t.Parallel()
	changed := func(change func(*coupon.Coupon)) coupon.Coupon {
		c := newCoupon(t, "a", "TEN")
		change(&c)
		return c
	}
	drafted := func(change func(*coupon.Draft)) coupon.Coupon { return newCoupon(t, "a", "TEN", change) }
	expiring := func(in time.Duration) coupon.Coupon {
		return changed(func(c *coupon.Coupon) { c.ExpiresAt = newClock().Now().Add(in) })
	}
	named := func(length int) coupon.Coupon {
		return changed(func(c *coupon.Coupon) { c.Name = strings.Repeat("ü", length) })
	}
	const year = 365 * 24 * time.Hour
	tests := map[string]struct {
		at, over coupon.Coupon
		field    string // of over; empty: it is sent as far as Stripe takes it
		bound    string
	}{
		"uses":            {drafted(uses(10_000_000_000)), drafted(uses(10_000_000_001)), "maxUses", "10000000000"},
		"all the uses":    {drafted(uses(1)), drafted(uses(math.MaxInt64)), "maxUses", "10000000000"},
		"cents":           {drafted(amountOf("EUR", "9999999999.99")), drafted(amountOf("EUR", "10000000000.00")), "discountValue", "9999999999.99 EUR"},
		"sixteen digits":  {drafted(amountOf("EUR", "0.01")), drafted(amountOf("EUR", "99999999999999.99")), "discountValue", "9999999999.99 EUR"},
		"yen":             {drafted(amountOf("JPY", "999999999999")), drafted(amountOf("JPY", "1000000000000")), "discountValue", "999999999999 JPY"},
		"whole krona":     {drafted(amountOf("ISK", "9999999999")), drafted(amountOf("ISK", "10000000000")), "discountValue", "9999999999 ISK"},
		"fils":            {drafted(amountOf("KWD", "999999999.990")), drafted(amountOf("KWD", "1000000000.000")), "discountValue", "999999999.990 KWD"},
		"whole ariary":    {drafted(amountOf("MGA", "999999999999.00")), drafted(amountOf("MGA", "1000000000000.00")), "discountValue", "999999999999.00 MGA"},
		"small percent":   {drafted(percentage("0.01")), drafted(percentage("0.001")), "discountValue", "two decimals"},
		"percent":         {drafted(percentage("99.99")), drafted(percentage("99.991")), "discountValue", "two decimals"},
		"name":            {named(40), named(41), "", ""},
		"name beside it":  {named(500), named(501), "metadata.name", "500"},
		"ID":              {changed(func(c *coupon.Coupon) { c.ID = strings.Repeat("i", 500) }), changed(func(c *coupon.Coupon) { c.ID = strings.Repeat("i", 501) }), "metadata.couponId", "500"},
		"code":            {newCoupon(t, "a", strings.Repeat("X", 255)), newCoupon(t, "a", "A.B"), "code", "255"},
		"a distant end":   {expiring(5*year - 25*time.Hour), expiring(50 * year), "", ""},
		"the next second": {expiring(time.Second), expiring(0), "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.MirrorExpiry = true })
			require.NoError(t, w.processor.Abilities().CheckCoupon(test.at))
			w.mirrored(test.at)

			w = newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.MirrorExpiry = true })
			_, err := w.processor.EnsureMirror(t.Context(), test.over)
			if test.field == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			require.ErrorContains(t, err, test.bound)
			requireField(t, err, test.field)
			requireField(t, w.processor.Abilities().CheckCoupon(test.over), test.field)
			require.Empty(t, w.account.Calls())
		})
	}
}

// TestCheckedIsTaken: Stripe takes every coupon that CheckCoupon lets pass, whatever its
// numbers and lengths are.
func TestCheckedIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		currency := rapid.SampledFrom(pricing.Currencies()).Draw(rt, "currency")
		uses, length := rapid.Int64Range(0, math.MaxInt64), rapid.IntRange(1, 600)
		n++
		c := newCoupon(t, fmt.Sprint(n), fmt.Sprint("CODE-", n))
		c.Currency, c.Name = currency, strings.Repeat("ü", length.Draw(rt, "name"))
		c.Limits.MaxUses = uses.Draw(rt, "uses")
		var err error
		if rapid.Bool().Draw(rt, "percentage") {
			c.Discount = pricing.PercentOff(somePercent(rt))
		} else {
			c.Discount, err = pricing.AmountOff(pricing.NewMoney(rapid.Int64Range(1, math.MaxInt64).Draw(rt, "amount"), currency))
		}
		require.NoError(rt, err)
		checked := w.processor.CheckCoupon(c)
		_, err = w.processor.EnsureMirror(t.Context(), c)
		if (checked == nil) != (err == nil) {
			rt.Fatalf("checked: %v; taken: %v", checked, err)
		}
	})
}

func somePercent(rt *rapid.T) pricing.Percent {
	p, err := pricing.PercentFromDecimal(decimal.New(rapid.Int64Range(1, 1_000_000).Draw(rt, "percent"), -4))
	require.NoError(rt, err)
	return p
}

// TestSessionBounds: the same of a session. What only decorates it is cut or left out.
func TestSessionBounds(t *testing.T) {
	t.Parallel()
	type change = func(*processor.SessionRequest)
	paid := func(quantity, amount int64, name string) change {
		return func(r *processor.SessionRequest) {
			r.Lines = []processor.SessionLine{{LineID: "A", Kind: pricing.Device, ItemID: "a", Name: name, Quantity: quantity, UnitAmount: amount}}
			r.Total = quantity * amount
		}
	}
	subscribed := func(amount, discount int64) change {
		return func(r *processor.SessionRequest) {
			r.Mode, r.FirstPeriodDiscount, r.Total = processor.Subscription, discount, amount-discount
			r.Lines = []processor.SessionLine{{LineID: "P", Kind: pricing.Plan, ItemID: "gold", Name: "Gold", Quantity: 1, UnitAmount: amount, Recurs: pricing.Monthly}}
		}
	}
	lines := func(n int, mode processor.Mode) change {
		return func(r *processor.SessionRequest) {
			r.Lines, r.Total, r.Mode = nil, int64(n)*100, mode
			for i := range n {
				l := processor.SessionLine{LineID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprint(i), Quantity: 1, UnitAmount: 100}
				if mode == processor.Subscription {
					l.Kind, l.Recurs = pricing.Plan, pricing.Monthly
				}
				r.Lines = append(r.Lines, l)
			}
		}
	}
	entries := func(n int) change {
		return func(r *processor.SessionRequest) {
			r.Metadata = map[string]string{}
			for i := range n - 5 { // five are completed: order, coupon, code, request and application
				r.Metadata[fmt.Sprint("k", i)] = "x"
			}
		}
	}
	entry := func(key, value int) change {
		return func(r *processor.SessionRequest) { r.Metadata[strings.Repeat("k", key)] = strings.Repeat("ü", value) }
	}
	ends := func(in time.Duration) change {
		return func(r *processor.SessionRequest) { r.ExpiresAt = newClock().Now().Add(in) }
	}
	text := func(field func(*processor.SessionRequest) *string, begins string, length int) change {
		return func(r *processor.SessionRequest) { *field(r) = begins + strings.Repeat("x", length-len(begins)) }
	}
	order := func(r *processor.SessionRequest) *string { return &r.OrderID }
	email := func(r *processor.SessionRequest) *string { return &r.CustomerEmail }
	success := func(r *processor.SessionRequest) *string { return &r.SuccessURL }
	cancel := func(r *processor.SessionRequest) *string { return &r.CancelURL }
	key := func(r *processor.SessionRequest) *string { return &r.Key }
	const twelve = 999_999_999_999

	tests := map[string]struct {
		at, over change
		field    string                                   // of over; empty: it is made to fit
		sent     func(stripefake.Session) (got, want any) // of over
	}{
		"amount":     {paid(1, twelve, "A"), paid(1, twelve+1, "A"), "total", nil},
		"free units": {paid(999_999, 0, "A"), paid(math.MaxInt64, 0, "A"), "", quantity(1)},
		"units":      {paid(999_999, 1, "A"), paid(1_000_000, 1, "A"), "", quantity(1)},
		"subscribed units": {subscribed(100, 0), func(r *processor.SessionRequest) {
			subscribed(1, 0)(r)
			r.Lines[0].Quantity, r.Total = 1_000_000, 1_000_000
		}, "", quantity(1)},
		"renewal":               {subscribed(twelve, twelve-100), subscribed(twelve+100, 200), "lines", nil},
		"first period":          {subscribed(twelve, twelve), subscribed(twelve+1, twelve+1), "firstPeriodDiscount", nil},
		"sum beyond all":        {subscribed(100, 0), subscribed(math.MaxInt64, math.MaxInt64/2), "total", nil},
		"lines":                 {lines(100, processor.Payment), lines(101, processor.Payment), "", lineCount(100)},
		"recurring lines":       {lines(20, processor.Subscription), lines(21, processor.Subscription), "lines", nil},
		"name of a line":        {paid(1, 100, strings.Repeat("ü", 250)), paid(1, 100, strings.Repeat("ü", 251)), "", lineName(strings.Repeat("ü", 250))},
		"name between letters":  {paid(1, 100, "A"), paid(1, 100, strings.Repeat("u", 249)+"u\u0308"), "", lineName(strings.Repeat("u", 249))},
		"name with units":       {paid(1, 100, "A"), paid(1_000_000, 1, strings.Repeat("x", 250)), "", lineName("1000000 × " + strings.Repeat("x", 240))},
		"blank name":            {paid(1, 100, "A"), paid(1, 100, " \t"), "", lineName("a")},
		"metadata":              {entries(50), entries(51), "metadata", nil},
		"key of metadata":       {entry(40, 1), entry(41, 1), "metadata." + strings.Repeat("k", 41), nil},
		"value of metadata":     {entry(1, 500), entry(1, 501), "metadata.k", nil},
		"order":                 {text(order, "ord_", 200), text(order, "ord_", 201), "orderId", nil},
		"key":                   {text(key, "k", 255), text(key, "k", 256), "key", nil},
		"e-mail":                {text(email, "ann@example.org", 512), text(email, "ann@example.org", 513), "", func(s stripefake.Session) (got, want any) { return s.CustomerEmail, "" }},
		"address after payment": {text(success, "https://shop.example/", 5000), text(success, "https://shop.example/", 5001), "successUrl", nil},
		"address to go back":    {text(cancel, "https://shop.example/", 5000), text(cancel, "https://shop.example/", 5001), "cancelUrl", nil},
		"soon":                  {ends(31 * time.Minute), ends(30 * time.Minute), "expiresAt", nil},
		"late":                  {ends(24*time.Hour - time.Minute), ends(24 * time.Hour), "expiresAt", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.request("at")
			test.at(&r)
			_, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)

			w = newWorld(t)
			r = w.request("over")
			test.over(&r)
			_, err = w.processor.CreateSession(t.Context(), r)
			if test.field == "" {
				require.NoError(t, err)
				got, want := test.sent(w.account.Sessions()[0])
				require.Equal(t, want, got)
				return
			}
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			requireField(t, err, test.field)
			require.Zero(t, w.count("sessions.create")+w.count("coupons.create"), "something was asked for")
		})
	}
}

func quantity(n int64) func(stripefake.Session) (got, want any) {
	return func(s stripefake.Session) (got, want any) { return s.Lines[0].Quantity, n }
}

func lineName(name string) func(stripefake.Session) (got, want any) {
	return func(s stripefake.Session) (got, want any) { return s.Lines[0].Name, name }
}

func lineCount(n int) func(stripefake.Session) (got, want any) {
	return func(s stripefake.Session) (got, want any) { return len(s.Lines), n }
}
