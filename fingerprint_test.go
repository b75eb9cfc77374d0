package couponkit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// TestAKeyOfAnotherRequest holds contract 5.2: whatever of the lines, the code or the amount
// differs makes another request of it.
func TestAKeyOfAnotherRequest(t *testing.T) {
	t.Parallel()
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	plan := func() couponkit.CheckoutRequest {
		r := couponkit.CheckoutRequest{Cart: phones(), Customer: ann, Key: "k"}
		r.Cart.Lines[0].Kind, r.Cart.Lines[0].Recurs = pricing.Plan, pricing.Monthly
		return r
	}
	for name, differ := range map[string]func(*couponkit.CheckoutRequest){
		"quantity":    func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].Quantity++ },
		"line ID":     func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].ID = "Z" },
		"item":        func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].ItemID = "tablet" },
		"kind":        func(r *couponkit.CheckoutRequest) { r.Cart.Lines[1].Kind = pricing.Accessory },
		"interval":    func(r *couponkit.CheckoutRequest) { r.Cart.Lines[0].Recurs = pricing.Yearly },
		"fewer lines": func(r *couponkit.CheckoutRequest) { r.Cart.Lines = r.Cart.Lines[:1] },
		"currency":    func(r *couponkit.CheckoutRequest) { r.Cart.Currency = usd },
		"code":        func(r *couponkit.CheckoutRequest) { r.Codes = []string{"TEN"} },
		"country":     func(r *couponkit.CheckoutRequest) { r.Facts.Country = "DE" },
		"channel":     func(r *couponkit.CheckoutRequest) { r.Facts.Channel = "store" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(t, tenOff())
			w.checkout(t, plan())
			r := plan()
			differ(&r)
			_, err := w.Checkout(t.Context(), r)
			require.ErrorIs(t, err, store.ErrKeyReused)
			r = plan()
			r.Cart.Lines[0].UnitPrice++ // the catalogue's
			require.True(t, w.checkout(t, r).Replayed)
		})
	}
	for name, differ := range map[string]func(*couponkit.PaymentLinkRequest){
		"amount":             func(r *couponkit.PaymentLinkRequest) { r.Amount = pricing.NewMoney(10_01, pricing.EUR()) },
		"currency of a link": func(r *couponkit.PaymentLinkRequest) { r.Amount = pricing.NewMoney(10_00, usd) },
		"country of a link":  func(r *couponkit.PaymentLinkRequest) { r.Facts.Country = "DE" },
		"code of a link":     func(r *couponkit.PaymentLinkRequest) { r.Codes = []string{"TEN"} },
		"cart":               func(r *couponkit.PaymentLinkRequest) { r.Mode, r.Cart = couponkit.SubscriptionLink, phones() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(t, tenOff())
			r := couponkit.PaymentLinkRequest{
				CheckoutRequest: couponkit.CheckoutRequest{Customer: ann, Key: "k"},
				Mode:            couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
			}
			_, err := w.PaymentLink(t.Context(), r)
			require.NoError(t, err)
			differ(&r)
			_, err = w.PaymentLink(t.Context(), r)
			require.ErrorIs(t, err, store.ErrKeyReused)
		})
	}
}

// Facts of another form are a fault of every request, beside its other faults.
func TestFaultsOfFacts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	wrong := eligibility.Facts{Country: "Germany", Channel: strings.Repeat("x", eligibility.MaxChannelLength+1)}
	_, quote := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: ann, Facts: wrong, Codes: []string{"A", "a"}})
	_, explain := w.Explain(t.Context(), couponkit.QuoteRequest{Cart: phones(), Customer: ann, Facts: wrong, Codes: []string{"A", "a"}})
	_, checkout := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Customer: ann, Facts: wrong, Codes: []string{"A", "a"}})
	for _, err := range []error{quote, explain, checkout} {
		require.ErrorContains(t, err, "codes[1]: ")
		require.ErrorContains(t, err, "facts.country: ")
		require.ErrorContains(t, err, "facts.channel: ")
	}
	_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann, Facts: wrong})
	require.ErrorContains(t, err, "facts.country: ")
}

// TestAKeyOfACodeThatReadsLikeAnID: the ID of a coupon and the code of another one may differ
// in letter case only, and are two requests all the same. Where there is no such ID, it is the
// code in small letters, and one request.
func TestAKeyOfACodeThatReadsLikeAnID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := 0
	s, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)), couponkit.WithIDs(func(prefix string) string {
		made++
		return fmt.Sprintf("%sx%d", prefix, made)
	}))
	require.NoError(t, err)
	ten, err := s.Create(t.Context(), tenOff())
	require.NoError(t, err)
	half := percentOff(50)
	half.Code = ten.ID
	other, err := s.Create(t.Context(), half)
	require.NoError(t, err)
	fifth := percentOff(20)
	fifth.Code = "CPN_SUMMER"
	summer, err := s.Create(t.Context(), fifth)
	require.NoError(t, err)
	checkout := func(key, code string) (couponkit.Checkout, error) {
		r := w.request(code)
		r.Key = key
		return s.Checkout(t.Context(), r)
	}
	for _, pair := range [][2]string{{ten.ID, other.Code.String()}, {other.Code.String(), ten.ID}} {
		key := "of " + pair[0]
		first, err := checkout(key, pair[0])
		require.NoError(t, err)
		_, err = checkout(key, pair[1])
		require.ErrorIs(t, err, store.ErrKeyReused, "first %s, then %s", pair[0], pair[1])
		again, err := checkout(key, " "+pair[0])
		require.NoError(t, err)
		require.Equal(t, first.Order.ID, again.Order.ID)
	}
	var orders []string
	for _, typed := range []string{"CPN_SUMMER", "cpn_summer", "cpn_Summer", " CPN_SUMMER "} {
		c, err := checkout("summer", typed)
		require.NoError(t, err, typed)
		require.Equal(t, summer.ID, couponOf(c.Order))
		orders = append(orders, c.Order.ID)
	}
	require.Len(t, slices.Compact(orders), 1)
}

// TestAKeyOfTheSameCodeTypedOtherwise: what a look-up finds for both is one request.
func TestAKeyOfTheSameCodeTypedOtherwise(t *testing.T) {
	t.Parallel()
	code := generatedCode(t, "\x00", coupon.CodeShape{})
	for name, c := range map[string]struct{ code, first, again string }{
		"letter case and blanks":   {"TEN-A", "TEN-A", " ten-a "},
		"what is invisible":        {"TEN-A", "TEN-A", "TEN\u200b\u2011A"},
		"a misread generated code": {code.String(), code.String(), strings.ReplaceAll(code.String(), "0", "o")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := tenOff()
			d.Code = c.code
			w.create(t, d)
			w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Customer: ann, Key: "k", Codes: only(c.first)})
			again := w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Customer: ann, Key: "k", Codes: only(c.again)})
			require.True(t, again.Replayed)
		})
	}
}

// TestFingerprintsOnEveryToolchain: a key that one program has stored is found by a program that
// another version of Go has built. The same orders and quotes have these fingerprints everywhere.
func TestFingerprintsOnEveryToolchain(t *testing.T) {
	t.Parallel()
	ids := 0
	w := newWorld(t, couponkit.WithIDs(func(prefix string) string { ids++; return fmt.Sprint(prefix, ids) }))
	w.create(t, tenOff())
	r := w.request("ten")
	quote, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: r.Cart, Codes: r.Codes, Customer: ann})
	require.NoError(t, err)
	require.Equal(t, "GXXsIVwtNfgpxeZLfm9vCMb9BCxjtfBw7gvYjXTzrTM", quote.Fingerprint)
	require.Equal(t, "1jsLGe2JAXZd1Q34uLTxCjTeQyf5T0SKLoitCbd6uGo", w.checkout(t, r).Order.Fingerprint)
}
