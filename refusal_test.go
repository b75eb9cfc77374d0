package couponkit_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// TestACheckoutNamesEveryFault holds contract section 6: also those that are only faults to
// this processor, beside those of the cart and of the request.
func TestACheckoutNamesEveryFault(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{NeedsSuccessURL: true, OneInterval: true, MaxLines: 2})
	plan := func(id string, quantity int64, every pricing.Interval) pricing.Line {
		return pricing.Line{ID: id, Kind: pricing.Plan, ItemID: "plan", Quantity: quantity, UnitPrice: 10_00, Recurs: every}
	}
	for name, test := range map[string]struct {
		lines []pricing.Line
		url   string
		want  []string
	}{
		"two intervals": {[]pricing.Line{plan("A", 1, pricing.Monthly), plan("B", 1, pricing.Yearly)}, "", []string{"lines[1].recurs", "successUrl"}},
		"no quantity either": {
			[]pricing.Line{plan("A", 1, pricing.Monthly), plan("B", 0, pricing.Yearly)},
			"",
			[]string{"lines[1].quantity", "lines[1].recurs", "successUrl"},
		},
		"too many lines": {
			[]pricing.Line{plan("A", 1, pricing.Monthly), plan("B", 1, pricing.Yearly), plan("C", 1, pricing.Monthly)},
			"https://shop.example",
			[]string{"lines", "lines[1].recurs"},
		},
	} {
		_, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{
			Cart: pricing.Cart{Currency: pricing.EUR(), Lines: test.lines}, Customer: ann, SuccessURL: test.url,
		})
		got := faultyFields(t, err)
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAllReasonsInTheirOrder holds contract section 6: all reasons that apply can be had,
// and the first in the order of the table is the headline, whichever rules they are of.
func TestAllReasonsInTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	over := tenOff()
	over.Code, over.ExpiresAt = "OVER", calendar.At(w.now.Add(time.Hour))
	w.create(t, over)
	w.create(t, tenOff())
	w.pass(2 * time.Hour)
	cheap := pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "cable", Quantity: 1, UnitPrice: 49}}}
	gone := eligibility.Customer{ID: "gone"}
	checkout := func(c eligibility.Customer, cart pricing.Cart, code string, expected *couponkit.Totals) error {
		_, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Customer: c, Cart: cart, Codes: only(code), Expected: expected})
		return err
	}
	link := func(c eligibility.Customer, minor int64, code string) error {
		_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
			CheckoutRequest: couponkit.CheckoutRequest{Customer: c, Codes: only(code)}, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(minor, pricing.EUR()),
		})
		return err
	}
	quote := func(code string, anonymous bool) error {
		_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(code), AllowAnonymous: anonymous})
		return err
	}
	validate := func(c eligibility.Customer, code string) error {
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: code, Customer: c})
		return err
	}
	exchange := func(c eligibility.Customer, code string) error {
		_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: code, Customer: c, Key: "k"})
		return err
	}
	totals, below := coupon.CartTotalsInvalid, coupon.BelowMinimumCharge
	for name, test := range map[string]struct {
		err  error
		want []coupon.RejectionCode
	}{
		"other totals and too little":              {checkout(ann, cheap, "", &couponkit.Totals{Subtotal: 60, Total: 60}), []coupon.RejectionCode{totals, totals, below}},
		"the totals and too little":                {checkout(ann, cheap, "", &couponkit.Totals{Subtotal: 49, Total: 49}), []coupon.RejectionCode{below}},
		"nobody and too little":                    {checkout(eligibility.Customer{}, cheap, "", nil), []coupon.RejectionCode{coupon.UserRequired, below}},
		"nobody":                                   {checkout(eligibility.Customer{}, phones(), "", nil), []coupon.RejectionCode{coupon.UserRequired}},
		"a coupon that is over":                    {checkout(ann, phones(), "OVER", &couponkit.Totals{}), []coupon.RejectionCode{coupon.CouponExpired}},
		"a link, too little, over":                 {link(ann, 49, "OVER"), []coupon.RejectionCode{coupon.CouponExpired, below}},
		"a link, too little, unknown":              {link(ann, 49, "NONE"), []coupon.RejectionCode{coupon.CouponNotFound, below}},
		"a link, too little, valid":                {link(ann, 49, "TEN"), []coupon.RejectionCode{below}},
		"a link, too little, none":                 {link(ann, 49, ""), []coupon.RejectionCode{below}},
		"a link for somebody who is gone":          {link(gone, 10_00, "OVER"), []coupon.RejectionCode{coupon.CouponExpired, coupon.UserRequired}},
		"a link for somebody who is gone, unknown": {link(gone, 49, "NONE"), []coupon.RejectionCode{coupon.CouponNotFound, coupon.UserRequired, below}},
		"a checkout of nobody, unknown":            {checkout(eligibility.Customer{}, phones(), "NONE", nil), []coupon.RejectionCode{coupon.CouponNotFound, coupon.UserRequired}},
		"a checkout, unknown":                      {checkout(ann, phones(), "NONE", nil), []coupon.RejectionCode{coupon.CouponNotFound}},
		"a quote of nobody, unknown":               {quote("NONE", false), []coupon.RejectionCode{coupon.CouponNotFound, coupon.UserRequired}},
		"a quote before sign-in, unknown":          {quote("NONE", true), []coupon.RejectionCode{coupon.CouponNotFound}},
		"a code of nobody that is none":            {validate(eligibility.Customer{}, " "), []coupon.RejectionCode{coupon.CodeRequired, coupon.UserRequired}},
		"a code of somebody who is gone, unknown":  {validate(gone, "NONE"), []coupon.RejectionCode{coupon.CouponNotFound, coupon.UserRequired}},
		"points of nobody, unknown":                {exchange(eligibility.Customer{}, "cpn_none"), []coupon.RejectionCode{coupon.CouponNotFound, coupon.UserRequired}},
		"points of nobody, no code":                {exchange(eligibility.Customer{}, ""), []coupon.RejectionCode{coupon.CodeRequired, coupon.UserRequired}},
		"points, unknown":                          {exchange(ann, "cpn_none"), []coupon.RejectionCode{coupon.CouponNotFound}},
	} {
		var refused *coupon.Rejection
		require.ErrorAs(t, test.err, &refused, name)
		var got []coupon.RejectionCode
		for _, reason := range refused.Reasons {
			got = append(got, reason.Code)
			require.ErrorIs(t, test.err, reason.Code.Sentinel(), name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestEachTotalIsCompared: one that differs alone is told, by its name.
func TestEachTotalIsCompared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for field, spoil := range map[string]func(*couponkit.Totals){
		"subtotal": func(x *couponkit.Totals) { x.Subtotal++ }, "discount": func(x *couponkit.Totals) { x.Discount++ },
		"shipping": func(x *couponkit.Totals) { x.Shipping++ }, "total": func(x *couponkit.Totals) { x.Total++ },
	} {
		r := w.request("")
		r.Expected = &couponkit.Totals{Subtotal: 30_00, Shipping: 4_90, Total: 34_90}
		spoil(r.Expected)
		_, err := w.Checkout(t.Context(), r)
		var refused *coupon.Rejection
		require.ErrorAs(t, err, &refused, field)
		require.Len(t, refused.Reasons, 1, field)
		require.Equal(t, field, refused.Headline().Params.Field)
	}
}

// TestFaultsOfARequestAtOnce: what no store keeps is told beside what cannot be priced, and
// before a coupon is looked up.
func TestFaultsOfARequestAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{NeedsSuccessURL: true})
	r := couponkit.CheckoutRequest{Customer: ann, Key: strings.Repeat("k", 300), Codes: []string{"NONE"}, Metadata: map[string]string{"x": "\x00"}, Cart: phones()}
	free := r
	free.Cart.Lines = []pricing.Line{{ID: "A", Kind: pricing.Device, ItemID: "cable", Quantity: 1, UnitPrice: -1}}
	link := func(mode couponkit.LinkMode) error {
		_, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{CheckoutRequest: r, Mode: mode})
		return err
	}
	of := func(r couponkit.CheckoutRequest) error {
		_, err := w.Checkout(t.Context(), r)
		return err
	}
	for name, test := range map[string]struct {
		err  error
		want []string
	}{
		"a checkout":         {of(r), []string{"successUrl", "key", "metadata.x"}},
		"with a wrong price": {of(free), []string{"lines[0].unitPrice", "successUrl", "key", "metadata.x"}},
		"a link of nothing":  {link(couponkit.ProductLink), []string{"amount", "currency", "successUrl", "key", "metadata.x"}},
		"a link of no mode":  {link(0), []string{"mode", "successUrl", "key", "metadata.x"}},
	} {
		if diff := cmp.Diff(test.want, faultyFields(t, test.err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := of(couponkit.CheckoutRequest{Customer: ann, Cart: phones(), SuccessURL: "https://shop.example", Codes: []string{"NONE"}}); !errors.Is(err, coupon.ErrNotFound) {
		t.Error(err)
	}
}
