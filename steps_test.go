package couponkit_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// inDinars is a processor that charges dinars in tens of fils, and a percentage.
func inDinars(t *testing.T, abilities processor.Abilities) (*world, pricing.Currency) {
	t.Helper()
	dinar, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	abilities.AmountStep = map[pricing.Currency]int64{dinar: 10}
	w := newWorldWith(t, abilities)
	w.create(t, percentOff(10))
	return w, dinar
}

func dinarCart(c pricing.Currency, lines ...pricing.Line) pricing.Cart {
	for i := range lines {
		lines[i].ID, lines[i].Kind, lines[i].ItemID = string(rune('A'+i)), pricing.Device, "phone"
	}
	return pricing.Cart{Currency: c, Lines: lines}
}

// A host that knows nothing of steps gets quotes, orders and sessions in which every
// amount is on the step.
func TestQuotesAreInTheProcessorsSteps(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{})
	cart := dinarCart(dinar, pricing.Line{Quantity: 3, UnitPrice: 1110}, pricing.Line{Quantity: 1, UnitPrice: 2220})
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"PERCENT"}, Customer: ann})
	require.NoError(t, err)
	require.Equal(t, int64(560), q.Discount, "10 % of 5.550 is 55.5 steps")
	require.Equal(t, int64(10), q.Step)

	r := w.request("PERCENT")
	r.Cart = cart
	c := w.checkout(t, r)
	if diff := cmp.Diff(q.Quote, c.Order.Quote); diff != "" {
		t.Errorf("the order (-quote +order):\n%s", diff)
	}
	asked, err := w.fake.Request(c.Session.ID)
	require.NoError(t, err)
	// Shares of 33.6 and 22.4 steps: 34 and 22. 2.990 over three units: 1.000, 1.000, 0.990.
	var got []int64
	for _, l := range asked.Lines {
		got = append(got, l.Quantity, l.UnitAmount)
	}
	if diff := cmp.Diff([]int64{2, 1000, 1, 990, 1, 2000}, got); diff != "" {
		t.Errorf("the session's lines (-want +got):\n%s", diff)
	}
	require.Zero(t, cart.Step, "the caller's cart was changed")
}

// The stored order has its step: what a later sweep or repeated call reads of it asks
// for the same session.
func TestARepeatedCheckoutInStepsIsTheSame(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{})
	r := w.request("PERCENT")
	r.Key, r.Cart = "cart-1", dinarCart(dinar, pricing.Line{Quantity: 3, UnitPrice: 1110})
	first, second := w.checkout(t, r), w.checkout(t, r)
	require.True(t, second.Replayed)
	require.Equal(t, first.Session, second.Session)
	require.Equal(t, int64(10), w.order(t, first.Order.ID).Quote.Step)
}

// With few lines, the two unit prices of a line are merged, a step apart as well.
func TestUnitsInStepsAreMerged(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{MaxLines: 1})
	r := w.request("PERCENT")
	r.Cart = dinarCart(dinar, pricing.Line{Quantity: 3, UnitPrice: 1110}) // 3.330 - 0.330 is 3.000
	r.Cart.Lines[0].UnitPrice = 1120                                      // 3.360 - 0.340 is 3.020
	c := w.checkout(t, r)
	asked, err := w.fake.Request(c.Session.ID)
	require.NoError(t, err)
	require.Len(t, asked.Lines, 1)
	require.Equal(t, int64(3020), asked.Lines[0].UnitAmount)
	require.Equal(t, "3 x phone", asked.Lines[0].Name)
}

// What cannot be charged is named by its field, in every way in.
func TestAmountsOffTheProcessorsStep(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{})
	named := func(err error, field string) {
		t.Helper()
		var faults *validation.Error
		require.ErrorAs(t, err, &faults)
		require.Len(t, faults.Fields, 1)
		require.Equal(t, field, faults.Fields[0].Path)
	}
	cart := dinarCart(dinar, pricing.Line{Quantity: 2, UnitPrice: 1110}, pricing.Line{Quantity: 2, UnitPrice: 1005})
	r := w.request("PERCENT")
	r.Cart = cart
	for _, code := range []string{"PERCENT", "", "NONE"} {
		r.Codes = only(code)
		_, err := w.Checkout(t.Context(), r)
		named(err, "lines[1].unitPrice")
		_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: only(code), Customer: ann})
		named(err, "lines[1].unitPrice")
	}
	_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: couponkit.CheckoutRequest{Customer: ann}, Mode: couponkit.ProductLink,
		Amount: pricing.NewMoney(1005, dinar),
	})
	named(err, "amount")
	link, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: couponkit.CheckoutRequest{Customer: ann}, Mode: couponkit.ProductLink,
		Amount: pricing.NewMoney(1010, dinar),
	})
	require.NoError(t, err)
	require.Equal(t, int64(1010), link.Order.Quote.Total)
	require.Equal(t, int64(10), link.Order.Quote.Step)

	d := tenOff()
	d.Currency, d.Amount = "KWD", coupon.Amounts{"": "1.005"}
	_, err = w.Create(t.Context(), d)
	named(err, "discountValue")
	d.Amount = coupon.Amounts{"": "1.01"}
	w.create(t, d)
	require.Len(t, w.fake.Coupons(), 2)
}

// A host's own step (prices in quarters of a dinar) stays, as long as the processor
// can charge it.
func TestAStepOfTheHost(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{})
	cart := dinarCart(dinar, pricing.Line{Quantity: 1, UnitPrice: 5000})
	for step, want := range map[int64]int64{0: 10, 1: 10, 10: 10, 250: 250} {
		cart.Step = step
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"PERCENT"}, Customer: ann})
		require.NoError(t, err)
		require.Equal(t, want, q.Step)
	}
	for _, step := range []int64{25, -10} {
		cart.Step = step
		_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"PERCENT"}, Customer: ann})
		require.ErrorContains(t, err, "step")
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
	cart = phones()
	cart.Step = 5 // a currency that the processor charges to the cent
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"PERCENT"}, Customer: ann})
	require.NoError(t, err)
	require.Equal(t, int64(5), q.Step)
}

// A processor that charges every minor unit may say so with a step of 1.
func TestAStepOfOneIsNone(t *testing.T) {
	t.Parallel()
	var quotes []couponkit.Quote
	for _, steps := range []map[pricing.Currency]int64{nil, {pricing.EUR(): 1}} {
		q, err := newWorldWith(t, processor.Abilities{AmountStep: steps}).Quote(
			t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: ann})
		require.NoError(t, err)
		quotes = append(quotes, q)
	}
	if diff := cmp.Diff(quotes[0], quotes[1]); diff != "" {
		t.Errorf("(-none +one):\n%s", diff)
	}
}

// A discount of less than half a step is none, and takes no place.
func TestADiscountBelowTheStepIsNone(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{})
	r := w.request("PERCENT")
	r.Cart = dinarCart(dinar, pricing.Line{Quantity: 1, UnitPrice: 40})
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrNoDiscount)
}

// The least amount that is charged is one that can be: where a total of 0 cannot, and no
// other minimum is declared, a step.
func TestTheLeastChargeIsOnTheStep(t *testing.T) {
	t.Parallel()
	w, dinar := inDinars(t, processor.Abilities{NoZeroTotal: true})
	cart := dinarCart(dinar, pricing.Line{Quantity: 1, UnitPrice: 0})
	_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Customer: ann})
	var refused *coupon.Rejection
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "0.010 KWD", refused.Headline().Params.Minimum.String())
}

// The fingerprint of a quote tells a step from none.
func TestTheFingerprintKnowsTheStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	prints := map[int64]string{}
	for _, step := range []int64{0, 1, 2, 5, 10} {
		cart := phones()
		cart.Step = step
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Customer: ann})
		require.NoError(t, err)
		prints[step] = q.Fingerprint
	}
	require.Equal(t, prints[0], prints[1], "no step is a step of 1")
	delete(prints, 0)
	distinct := slices.Compact(slices.Sorted(maps.Values(prints)))
	require.Len(t, distinct, 4, "each other step has its own")
}

// TestEveryFaultAtOnce: what the processor demands is told beside what is wrong by itself.
func TestEveryFaultAtOnce(t *testing.T) {
	t.Parallel()
	dinar, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	w := newWorldWith(t, processor.Abilities{
		AmountStep: map[pricing.Currency]int64{dinar: 10}, NeedsSuccessURL: true,
		CheckCoupon: func(c coupon.Coupon) error {
			var faults validation.Error
			if c.Code.String() != "GOOD" {
				faults.Add("code", validation.Malformed, "not this one")
			}
			return faults.Err()
		},
	})
	lines := func(quantity, price int64) []pricing.Line {
		return []pricing.Line{
			{ID: "a", Kind: pricing.Device, ItemID: "x", Quantity: quantity, UnitPrice: 10},
			{ID: "b", Kind: pricing.Device, ItemID: "x", Quantity: 1, UnitPrice: price},
		}
	}
	create := func(code string) error {
		_, err := w.Create(t.Context(), coupon.Draft{
			Code: code, Name: "x", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "1.005"}, Currency: "KWD",
		})
		return err
	}
	checkout := func(cart pricing.Cart) error {
		_, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: cart, Customer: ann})
		return err
	}
	_, ofQuote := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: pricing.Cart{Currency: dinar, Step: 15, Lines: lines(0, -1)}, Customer: ann})
	texts := pricing.Cart{Currency: dinar, Step: 15, Lines: lines(1, 15)}
	texts.Lines[0].ID, texts.Lines[1].ItemID = "a\x00b", "\xff"
	_, ofTexts := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: texts, Customer: ann})
	_, ofLink := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{Mode: couponkit.ProductLink})
	for name, test := range map[string]struct {
		err  error
		want []string
	}{
		"code and value":       {create("BAD"), []string{"code", "discountValue"}},
		"value":                {create("GOOD"), []string{"discountValue"}},
		"step and lines":       {ofQuote, []string{"step", "lines[0].quantity", "lines[0].unitPrice", "lines[1].unitPrice"}},
		"lines and address":    {checkout(pricing.Cart{Currency: dinar, Lines: lines(0, 5)}), []string{"lines[0].quantity", "lines[1].unitPrice", "successUrl"}},
		"step and address":     {checkout(pricing.Cart{Currency: dinar, Step: 15, Lines: lines(1, 15)}), []string{"step", "lines[0].unitPrice", "successUrl"}},
		"step and texts":       {ofTexts, []string{"step", "lines[0].unitPrice", "lines[0].id", "lines[1].itemId"}},
		"texts and address":    {checkout(texts), []string{"step", "lines[0].unitPrice", "lines[0].id", "lines[1].itemId", "successUrl"}},
		"nothing and address":  {checkout(pricing.Cart{Currency: dinar}), []string{"lines", "successUrl"}},
		"an amount of nothing": {ofLink, []string{"amount", "currency", "successUrl"}},
	} {
		if diff := cmp.Diff(test.want, faultyFields(t, test.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
