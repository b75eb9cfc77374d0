package stripeprocessor_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/validation"
)

// TestSessionParameters: what is sent, and what never is.
func TestSessionParameters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, r := range []processor.SessionRequest{w.request("payment"), w.subscription("subscription")} {
		r.CustomerEmail = "ann@example.org"
		_, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
	}
	data := map[string]string{"payment": "payment_intent_data", "subscription": "subscription_data"}
	for _, s := range w.account.Sessions() {
		for name, want := range map[string]string{
			"mode": s.Mode, "success_url": "https://shop.example/thanks", "cancel_url": "https://shop.example/cart",
			"client_reference_id": "ord_1", "customer_email": "ann@example.org",
			"expires_at": fmt.Sprint(w.clock.Now().Add(time.Hour).Unix()),
		} {
			if got := s.Form.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", s.Mode, name, got, want)
			}
		}
		for key, want := range map[string]string{
			"couponCode": "TEN", "couponId": "cpn_a", "orderId": "ord_1", "discountAmount": "1000",
		} {
			if s.Metadata[key] != want || s.PaymentMetadata[key] != want {
				t.Errorf("%s: metadata %s is %q and %q, want %q", s.Mode, key, s.Metadata[key], s.PaymentMetadata[key], want)
			}
			if s.Form.Get(data[s.Mode]+"[metadata]["+key+"]") != want {
				t.Errorf("%s: %s is not in %s", s.Mode, key, data[s.Mode])
			}
		}
		for name := range s.Form {
			for _, never := range []string{
				"allow_promotion_codes", "adjustable_quantity", "optional_items", "after_expiration", "unit_amount_decimal",
			} {
				if strings.Contains(name, never) {
					t.Errorf("%s: %s is sent", s.Mode, name)
				}
			}
		}
		if discounted := s.Form.Has("discounts[0][coupon]"); discounted != (s.Mode == "subscription") {
			t.Errorf("%s: a discount of Stripe's is sent: %t", s.Mode, discounted)
		}
	}
}

// TestMetadataIsCompleted where the caller leaves it out.
func TestMetadataIsCompleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.Metadata = nil
	s, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	want := map[string]string{"couponCode": "TEN", "couponId": "cpn_a", "orderId": "ord_1"}
	if diff := cmp.Diff(want, s.Metadata); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// TestFirstPeriod: list prices and a coupon of the session for the first payment; the
// renewal costs the list price, and the coupon goes when the session ends.
func TestFirstPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
	made := w.account.Sessions()[0]
	if made.AmountTotal != 5666 || made.AmountSubtotal != 5999 || made.Lines[0].UnitAmount != 999 {
		t.Errorf("the session charges %d of %d, the plan costs %d", made.AmountTotal, made.AmountSubtotal, made.Lines[0].UnitAmount)
	}
	coupons := w.account.Coupons()
	require.Len(t, coupons, 1)
	want := stripefake.Coupon{
		ID: made.CouponID, Name: "Ten off", AmountOff: 333, Currency: "eur", Duration: "once", MaxRedemptions: 1,
		RedeemBy: s.ExpiresAt.Add(time.Hour).Unix(), Created: w.clock.Now().Unix(),
		Metadata: map[string]string{"app": "couponkit", "kind": "session", "couponId": "cpn_a", "orderId": "ord_1"},
	}
	if diff := cmp.Diff(want, coupons[0], cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".deleted" || p.Last().String() == ".number" }, cmp.Ignore())); diff != "" {
		t.Errorf("the coupon of the session (-want +got):\n%s", diff)
	}
	require.NoError(t, w.account.Pay(s.ID))
	if renewal, err := w.account.Renewal(s.ID); err != nil || renewal != 999 {
		t.Errorf("the renewal costs %d, %v, want the list price 999", renewal, err)
	}
	require.NoError(t, w.processor.EndSession(t.Context(), s.ID))
	require.NoError(t, w.processor.EndSession(t.Context(), s.ID))
	require.Empty(t, w.account.Coupons(), "the session's coupon is left")
}

// TestEveryPeriod: the caller lowers the unit amount, and nothing else is
// taken off.
func TestEveryPeriod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	r.Lines[0].UnitAmount, r.FirstPeriodDiscount = 666, 0
	s, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(s.ID))
	renewal, err := w.account.Renewal(s.ID)
	require.NoError(t, err)
	if renewal != 666 || len(w.account.Coupons()) != 0 {
		t.Errorf("the renewal costs %d with %d coupons", renewal, len(w.account.Coupons()))
	}
}

// TestSessionCouponGoes with every end of a session.
func TestSessionCouponGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.subscription("expired"))
	require.NoError(t, err)
	require.NoError(t, w.processor.EndSession(t.Context(), s.ID))
	require.Len(t, w.account.Coupons(), 1, "an open session keeps its coupon")
	_, err = w.processor.ExpireSession(t.Context(), s.ID)
	require.NoError(t, err)
	require.Empty(t, w.account.Coupons())

	// One that is refused leaves its coupon to the sweep: another call of the request may be
	// about to make a session with it.
	w = newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) {
		f.MinimumCharge = map[string]int64{"eur": 1e6}
	})
	_, err = w.processor.CreateSession(t.Context(), w.subscription("refused"))
	require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	require.Len(t, w.account.Coupons(), 1)
	w.clock.Advance(3 * time.Hour)
	deleted, err := w.processor.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Empty(t, w.account.Coupons())
}

// TestSessionCouponConflict: an object of somebody else with the ID of our session's
// coupon is not used.
func TestSessionCouponConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
	id := w.account.Sessions()[0].CouponID
	w = newWorld(t)
	require.NoError(t, w.account.PlantCoupon(id, nil))
	_, err = w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	require.Empty(t, w.account.Sessions())

	// Somebody else's, though of the same amount.
	require.NoError(t, w.account.EditCoupon(id, func(o *stripefake.Coupon) { o.PercentOff, o.AmountOff, o.Currency = 0, 333, "eur" }))
	_, err = w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	require.Len(t, w.account.Coupons(), 1)

	w = newWorld(t) // ours, and of another amount
	require.NoError(t, w.account.PlantCoupon(id, map[string]string{"app": "couponkit", "kind": "session"}))
	require.NoError(t, w.account.EditCoupon(id, func(o *stripefake.Coupon) { o.PercentOff, o.AmountOff, o.Currency = 0, 334, "eur" }))
	_, err = w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	for _, other := range []stripefake.Coupon{
		{AmountOff: 334, Currency: "eur", Duration: "once"},
		{AmountOff: 333, Currency: "usd", Duration: "once"},
		{AmountOff: 333, Currency: "eur", Duration: "forever"},
	} {
		require.NoError(t, w.account.EditCoupon(id, func(o *stripefake.Coupon) {
			o.AmountOff, o.Currency, o.Duration = other.AmountOff, other.Currency, other.Duration
		}))
		_, err = w.processor.CreateSession(t.Context(), w.subscription("key"))
		require.ErrorIs(t, err, stripeprocessor.ErrConflict)
	}
	require.NoError(t, w.account.EditCoupon(id, func(o *stripefake.Coupon) { o.Duration = "once" }))
	_, err = w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
}

// TestSessionsCouponOfOthers: a coupon that a session carries and that is not ours stays,
// whatever its ID.
func TestSessionsCouponOfOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	session := map[string]string{"app": "couponkit", "kind": "session"}
	for id, metadata := range map[string]map[string]string{
		"ck_s_staff": nil, "ck_s_other": {"app": "other", "kind": "session"}, "ck_s_mirror": {"app": "couponkit", "kind": "mirror"}, "staff": session,
	} {
		require.NoError(t, w.account.PlantCoupon(id, metadata))
		w.account.TamperSessions(func(s *stripefake.Session) { s.CouponID = id })
		s, err := w.processor.CreateSession(t.Context(), w.request(id))
		require.NoError(t, err)
		_, err = w.processor.ExpireSession(t.Context(), s.ID)
		require.NoError(t, err)
		require.NoError(t, w.processor.EndSession(t.Context(), s.ID))
	}
	require.Len(t, w.account.Coupons(), 4)
}

// TestTotalBounds: 0 is a session without payment, below the minimum is refused before
// the call, and nothing is made chargeable by changing it.
func TestTotalBounds(t *testing.T) {
	t.Parallel()
	total := func(w *world, minor int64) processor.SessionRequest {
		r := w.request(fmt.Sprint("key", minor))
		r.Lines = []processor.SessionLine{{LineID: "A", Kind: pricing.Device, Name: "Phone", Quantity: 1, UnitAmount: minor}}
		r.Total = minor
		return r
	}
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), total(w, 0))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(s.ID))
	s, err = w.processor.Session(t.Context(), s.ID)
	require.NoError(t, err)
	if s.PaymentStatus != processor.NoPaymentRequired || s.Status != processor.SessionComplete {
		t.Errorf("a session of 0: %s, %s", s.Status, s.PaymentStatus)
	}
	before := len(w.account.Calls())
	for _, minor := range []int64{1, 49} {
		_, err = w.processor.CreateSession(t.Context(), total(w, minor))
		require.ErrorIs(t, err, processor.ErrBelowMinimum)
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
		requireField(t, err, "total")
	}
	require.Len(t, w.account.Calls(), before, "a total below the minimum costs no call")
	_, err = w.processor.CreateSession(t.Context(), total(w, 50))
	require.NoError(t, err)
	_, err = w.processor.CreateSession(t.Context(), total(w, 1_000_000_000_000))
	requireField(t, err, "total")
	discounted := func(currency string, unit, discount int64) processor.SessionRequest {
		r := w.subscription("discounted")
		r.Currency, r.Lines = currencyOf(t, currency), r.Lines[:1]
		r.Lines[0].UnitAmount, r.FirstPeriodDiscount, r.Total = unit, discount, unit-discount
		return r
	}
	_, err = w.processor.CreateSession(t.Context(), discounted("EUR", 1_000_000_000_100, 1_000_000_000_000))
	requireField(t, err, "firstPeriodDiscount")
	_, err = w.processor.CreateSession(t.Context(), discounted("KWD", 9_995, 5))
	requireField(t, err, "firstPeriodDiscount")

	// Settled in another currency the minimum is not known here, and Stripe refuses.
	w = newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.SettlementCurrency = currencyOf(t, "USD") })
	_, err = w.processor.CreateSession(t.Context(), total(w, 49))
	require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	require.ErrorIs(t, err, processor.ErrBelowMinimum)
	if w.count("sessions.create") != 1 {
		t.Error("the total was refused without asking Stripe")
	}
}

// TestRequestIsChecked before any call, every field by name.
func TestRequestIsChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*processor.SessionRequest)
		field  string
	}{
		"key":            {func(r *processor.SessionRequest) { r.Key = "" }, "key"},
		"long key":       {func(r *processor.SessionRequest) { r.Key = strings.Repeat("k", 256) }, "key"},
		"long order":     {func(r *processor.SessionRequest) { r.OrderID = strings.Repeat("o", 201) }, "orderId"},
		"no success":     {func(r *processor.SessionRequest) { r.SuccessURL = "" }, "successUrl"},
		"relative":       {func(r *processor.SessionRequest) { r.SuccessURL = "/thanks" }, "successUrl"},
		"script":         {func(r *processor.SessionRequest) { r.CancelURL = "javascript:alert(1)" }, "cancelUrl"},
		"mode":           {func(r *processor.SessionRequest) { r.Mode = processor.Subscription }, "mode"},
		"currency":       {func(r *processor.SessionRequest) { r.Currency = pricing.Currency{} }, "currency"},
		"first period":   {func(r *processor.SessionRequest) { r.FirstPeriodDiscount = 1 }, "firstPeriodDiscount"},
		"long metadata":  {func(r *processor.SessionRequest) { r.Metadata["a"] = strings.Repeat("x", 501) }, "metadata.a"},
		"brackets":       {func(r *processor.SessionRequest) { r.Metadata["a[b]"] = "x" }, "metadata.a[b]"},
		"long key of it": {func(r *processor.SessionRequest) { r.Metadata[strings.Repeat("k", 41)] = "x" }, "metadata." + strings.Repeat("k", 41)},
		"no key of it":   {func(r *processor.SessionRequest) { r.Metadata[""] = "x" }, "metadata"},
		"half a letter":  {func(r *processor.SessionRequest) { r.Metadata["a"] = "\xc3" }, "metadata.a"},
		"and in its key": {func(r *processor.SessionRequest) { r.Metadata["\xc3"] = "x" }, "metadata.\xc3"},
		"too much of it": {func(r *processor.SessionRequest) {
			for i := range 50 {
				r.Metadata[fmt.Sprint("k", i)] = "x"
			}
		}, "metadata"},
		"no host":        {func(r *processor.SessionRequest) { r.SuccessURL = "https:///thanks" }, "successUrl"},
		"another scheme": {func(r *processor.SessionRequest) { r.CancelURL = "ftp://shop.example/cart" }, "cancelUrl"},
		"long address":   {func(r *processor.SessionRequest) { r.CancelURL += strings.Repeat("x", 5000) }, "cancelUrl"},
		"no lines":       {func(r *processor.SessionRequest) { r.Lines, r.Total = nil, 0 }, "lines"},
		"total":          {func(r *processor.SessionRequest) { r.Total++ }, "total"},
		"negative unit": {func(r *processor.SessionRequest) {
			r.Lines[2].UnitAmount = -490
			r.Total -= 980
		}, "lines[2].unitAmount"},
		"large line":     {func(r *processor.SessionRequest) { r.Lines[0].UnitAmount = math.MaxInt64 }, "lines"},
		"large sum":      {func(r *processor.SessionRequest) { r.Lines[2].UnitAmount = math.MaxInt64 }, "lines"},
		"given, not off": {func(r *processor.SessionRequest) { r.FirstPeriodDiscount, r.Total = -10, r.Total+10 }, "firstPeriodDiscount"},
		"kind":           {func(r *processor.SessionRequest) { r.Lines[0].Kind = "9!" }, "lines[0].kind"},
		"interval":       {func(r *processor.SessionRequest) { r.Lines[0].Recurs = 9 }, "lines[0].recurs"},
		"expires soon":   {func(r *processor.SessionRequest) { r.ExpiresAt = r.ExpiresAt.Add(-30 * time.Minute) }, "expiresAt"},
		"expires late":   {func(r *processor.SessionRequest) { r.ExpiresAt = r.ExpiresAt.Add(23 * time.Hour) }, "expiresAt"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.request("key")
			test.change(&r)
			_, err := w.processor.CreateSession(t.Context(), r)
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			requireField(t, err, test.field)
			if n := w.count("sessions.create"); n != 0 {
				t.Errorf("%d sessions were asked for", n)
			}
		})
	}
}

// TestEveryFaultOfARequest: what any processor refuses, what Stripe does, and a currency in
// which it does not charge are told together, each once.
func TestEveryFaultOfARequest(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		currency pricing.Currency
		want     []string
	}{
		"not charged": {currencyOf(t, "IQD"), []string{"key required", "cancelUrl malformed", "metadata.a too_long", "currency unknown"}},
		"none":        {pricing.Currency{}, []string{"key required", "currency required", "cancelUrl malformed", "metadata.a too_long"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.request("")
			r.Currency, r.CancelURL, r.Metadata["a"] = test.currency, "/cart", strings.Repeat("x", 501)
			_, err := w.processor.CreateSession(t.Context(), r)
			var faults *validation.Error
			require.ErrorAs(t, err, &faults)
			var got []string
			for _, f := range faults.Fields {
				got = append(got, f.Path+" "+string(f.Code))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("offending fields (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOneInterval: Stripe takes one billing interval a session, beside what is paid once.
// Every line that has another than the first is named, before any call, whatever kind it
// is of and whatever it costs.
func TestOneInterval(t *testing.T) {
	t.Parallel()
	plan := func(kind pricing.LineKind, amount int64, recurs pricing.Interval) processor.SessionLine {
		return processor.SessionLine{Kind: kind, Name: recurs.String() + " plan", Quantity: 1, UnitAmount: amount, Recurs: recurs}
	}
	month, year, once := plan(pricing.Plan, 999, pricing.Monthly), plan(pricing.Plan, 9900, pricing.Yearly), plan(pricing.Device, 5000, pricing.Once)
	tests := map[string]struct {
		lines []processor.SessionLine
		want  []string
	}{
		"one":                  {[]processor.SessionLine{month}, nil},
		"one twice":            {[]processor.SessionLine{month, month}, nil},
		"beside paid once":     {[]processor.SessionLine{once, year, once, year}, nil},
		"month and year":       {[]processor.SessionLine{month, year}, []string{"lines[1].recurs"}},
		"behind paid once":     {[]processor.SessionLine{once, year, once, month}, []string{"lines[3].recurs"}},
		"every one that is":    {[]processor.SessionLine{month, year, month, plan(pricing.Plan, 1, pricing.Weekly)}, []string{"lines[1].recurs", "lines[3].recurs"}},
		"free of charge":       {[]processor.SessionLine{month, plan(pricing.Plan, 0, pricing.Yearly)}, []string{"lines[1].recurs"}},
		"an accessory's":       {[]processor.SessionLine{month, plan(pricing.Accessory, 100, pricing.Daily)}, []string{"lines[1].recurs"}},
		"unknown, told once":   {[]processor.SessionLine{plan(pricing.Plan, 999, pricing.Yearly+1), month}, []string{"lines[0].recurs"}},
		"unknown, between two": {[]processor.SessionLine{month, plan(pricing.Plan, 999, 200), year}, []string{"lines[1].recurs", "lines[2].recurs"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.subscription("key")
			r.Lines, r.FirstPeriodDiscount, r.Total = test.lines, 0, 0
			for _, l := range test.lines {
				r.Total += l.UnitAmount
			}
			_, err := w.processor.CreateSession(t.Context(), r)
			if test.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			var faults *validation.Error
			require.ErrorAs(t, err, &faults)
			var got []string
			for _, f := range faults.Fields {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("offending fields (-want +got):\n%s", diff)
			}
			require.Empty(t, w.account.Calls())
		})
	}
}

// TestExpiryWindow: 31 minutes, of which half a minute may have passed, to 23 hours 59
// from the clock, an hour unless asked for.
func TestExpiryWindow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for lifetime, ok := range map[time.Duration]bool{
		-time.Hour: false, 30 * time.Minute: false, 30*time.Minute + 30*time.Second: false, 30*time.Minute + 31*time.Second: true,
		31 * time.Minute: true, 23*time.Hour + 59*time.Minute: true, 24 * time.Hour: false,
	} {
		r := w.request(lifetime.String())
		r.ExpiresAt = w.clock.Now().Add(lifetime)
		_, err := w.processor.CreateSession(t.Context(), r)
		if (err == nil) != ok {
			t.Errorf("a lifetime of %s: %v", lifetime, err)
		}
	}
	r := w.request("default")
	r.ExpiresAt = time.Time{}
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if got := first.ExpiresAt.Sub(w.clock.Now()); got != time.Hour {
		t.Errorf("the default lifetime is %s", got)
	}
	w.clock.Advance(10 * time.Minute)
	again, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if again.ID != first.ID {
		t.Error("without an expiry, the second call made another session")
	}
}

// TestKeys: of bounded length, without personal data, other for other parameters.
func TestKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.request("ann@example.org")
	one.OrderID, one.CustomerEmail = strings.Repeat("ö", 200), "ann@example.org"
	other := one
	other.CustomerEmail = "bob@example.org"
	for _, r := range []processor.SessionRequest{one, other, w.request("key")} {
		_, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
	}
	seen := map[string]bool{}
	for _, c := range w.account.Calls() {
		if len(c.Key) > 255 || strings.Contains(c.Key, "example.org") || seen[c.Key] {
			t.Errorf("key %q", c.Key)
		}
		seen[c.Key] = true
	}
	if !strings.HasPrefix(w.account.Calls()[2].Key, "session:ord_1:1.0:") {
		t.Errorf("key %q does not name order and attempt", w.account.Calls()[2].Key)
	}
}

// TestRepeatedSession returns what the first call has made as it is now: replaced
// when it has ended unpaid, found when it could not be made any more, and never made
// twice when it was paid.
func TestRepeatedSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	again, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, first, again)

	_, err = w.processor.ExpireSession(t.Context(), first.ID)
	require.NoError(t, err)
	second, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if second.ID == first.ID || second.Status != processor.SessionOpen {
		t.Errorf("after the session was expired: %+v", second)
	}

	w.clock.Advance(40 * time.Minute) // too late for a new one
	late, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if late.ID != second.ID {
		t.Errorf("late, the session is %s, want %s", late.ID, second.ID)
	}
	require.NoError(t, w.account.Pay(second.ID))
	for _, when := range []time.Duration{0, 2 * time.Hour} {
		w.clock.Advance(when)
		paid, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		if paid.ID != second.ID || paid.PaymentStatus != processor.Paid {
			t.Errorf("once paid: %+v", paid)
		}
	}
	if n := len(w.account.Sessions()); n != 2 {
		t.Errorf("%d sessions, want 2", n)
	}
}

// TestTotalsAreCompared: a session that charges something else is expired.
func TestTotalsAreCompared(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]func(*stripefake.Session){
		"total":    func(s *stripefake.Session) { s.AmountTotal++ },
		"currency": func(s *stripefake.Session) { s.Currency = "usd" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.account.TamperSessions(tamper)
			_, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
			require.ErrorIs(t, err, stripeprocessor.ErrTotalsMismatch)
			require.ErrorIs(t, err, processor.ErrRejected)
			if s := w.account.Sessions()[0]; s.Status != "expired" {
				t.Errorf("the session is %s", s.Status)
			}
			require.Empty(t, w.account.Coupons())

			w.account.TamperSessions(nil)
			s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
			require.NoError(t, err, "once Stripe counts again, the same request gets a session in its place")
			require.Equal(t, processor.SessionOpen, s.Status)
		})
	}
}

// TestAutomaticTax: what Stripe adds is not part of the order's total.
func TestAutomaticTax(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, f *stripefake.Options) {
		o.AutomaticTax, o.TaxBehavior, f.TaxPercent = true, "exclusive", 19
	})
	for _, r := range []processor.SessionRequest{w.request("payment"), w.subscription("subscription")} {
		s, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		if s.Total != r.Total {
			t.Errorf("the session's total is %d, want %d", s.Total, r.Total)
		}
	}
	for _, s := range w.account.Sessions() {
		if s.AmountTax == 0 || s.AmountTotal == s.AmountSubtotal-s.AmountDiscount {
			t.Errorf("no tax was added: %+v", s)
		}
		for _, l := range s.Lines {
			if l.TaxBehavior != "exclusive" {
				t.Errorf("line %+v", l)
			}
		}
	}
	w.account.TamperSessions(func(s *stripefake.Session) { s.AmountSubtotal++ })
	_, err := w.processor.CreateSession(t.Context(), w.request("other"))
	require.ErrorIs(t, err, stripeprocessor.ErrTotalsMismatch)
}

// TestTaxIsOfWhatTheDiscountLeaves: 20 % of 90.00, where a discount of 10.00 leaves 90.00 of 100.00.
func TestTaxIsOfWhatTheDiscountLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, f *stripefake.Options) {
		o.AutomaticTax, o.TaxBehavior, f.TaxPercent = true, "exclusive", 20
	})
	r := w.subscription("key")
	r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.FirstPeriodDiscount, r.Total = 40_00, 60_00, 10_00, 90_00
	_, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	made := w.account.Sessions()[0]
	require.Equal(t, []int64{100_00, 10_00, 18_00, 108_00}, []int64{made.AmountSubtotal, made.AmountDiscount, made.AmountTax, made.AmountTotal})
}

// TestDelayedPaymentOfASubscription is read from the subscription.
func TestDelayedPaymentOfASubscription(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
	require.NoError(t, w.account.PayLater(s.ID))
	s, err = w.processor.Session(t.Context(), s.ID)
	require.NoError(t, err)
	if s.PaymentFailed || s.PaymentStatus != processor.Unpaid || s.Status != processor.SessionComplete {
		t.Errorf("on its way: %+v", s)
	}
	require.NoError(t, w.account.PaymentFails(s.ID))
	s, err = w.processor.Session(t.Context(), s.ID)
	require.NoError(t, err)
	if !s.PaymentFailed {
		t.Errorf("failed: %+v", s)
	}
}

// TestWhenAPaymentHasFailed: what ended without money, and what may still bring it.
func TestWhenAPaymentHasFailed(t *testing.T) {
	t.Parallel()
	for mode, statuses := range map[string]map[string]bool{
		"payment": {
			"canceled": true, "requires_payment_method": true, "processing": false, "requires_action": false, "requires_capture": false,
		},
		"subscription": {
			"incomplete_expired": true, "canceled": true, "unpaid": true, "incomplete": false, "active": false, "past_due": false,
		},
	} {
		for status, failed := range statuses {
			stripe, p := newAnswering(t)
			behind := map[string]string{"payment": "payment_intent", "subscription": "subscription"}[mode]
			stripe.text = fmt.Appendf(nil, `{"id":"cs_1","object":"checkout.session","mode":%q,"status":"complete","payment_status":"unpaid",`+
				`"currency":"eur","amount_total":2490,%q:{"id":"x_1","object":%q,"status":%q}}`, mode, behind, behind, status)
			s, err := p.Session(t.Context(), "cs_1")
			require.NoError(t, err)
			if s.PaymentFailed != failed || s.PaymentStatus != processor.Unpaid {
				t.Errorf("%s of status %s: %+v", behind, status, s)
			}
		}
	}
}

// TestRepeatedUnderOtherOptions: a host that was set up otherwise meanwhile sends other
// parameters under the same key, which Stripe refuses. The session that the request has is
// the answer all the same, and keeps its coupon.
func TestRepeatedUnderOtherOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inclusive, err := stripeprocessor.New(testKey, stripeprocessor.Options{
		BaseURL: w.server.URL, Clock: w.clock.Now, RequestsPerSecond: -1, HTTPClient: w.server.Client(), TaxBehavior: "inclusive",
	})
	require.NoError(t, err)
	r := w.subscription("key")
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	again, err := inclusive.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)

	_, err = w.processor.ExpireSession(t.Context(), first.ID)
	require.NoError(t, err)
	second, err := inclusive.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, second.ID, "in the place of one that has ended")
	require.Equal(t, processor.SessionOpen, second.Status)
	require.NoError(t, w.account.Pay(second.ID))
}

// TestRepeatedInAnotherZone: an instant is the same however it is written.
func TestRepeatedInAnotherZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	r.ExpiresAt = r.ExpiresAt.In(time.FixedZone("elsewhere", 5*3600))
	again, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
}

// TestRepeatedWithoutExpiry: a session that ended unpaid is replaced by one that ends
// later.
func TestRepeatedWithoutExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.ExpiresAt = time.Time{}
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	w.clock.Advance(2 * time.Hour)
	again, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if again.ID == first.ID || again.Status != processor.SessionOpen || !again.ExpiresAt.After(first.ExpiresAt) {
		t.Errorf("first %+v, then %+v", first, again)
	}
}

// meanwhile lets something happen before requests of a method to a path.
type meanwhile struct {
	next   http.RoundTripper
	method string      // empty is any
	path   string      // what it contains
	when   func() bool // which of them; nil is the first only
	once   sync.Once
	do     func()
}

func (m *meanwhile) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case m.method != "" && r.Method != m.method || !strings.Contains(r.URL.Path, m.path):
	case m.when == nil:
		m.once.Do(m.do)
	case m.when():
		m.do()
	}
	return m.next.RoundTrip(r)
}

// interrupted is the processor of another process on the account.
func (w *world) interrupted(m *meanwhile, change ...func(*stripeprocessor.Options)) *stripeprocessor.Processor {
	w.Helper()
	m.next = w.server.Client().Transport
	return w.anotherProcess(append(change, through(m))...)
}

// TestRepeatedWithoutExpiryAtOnce: two calls that both find no session make one, although
// the second looks at the clock a little later.
func TestRepeatedWithoutExpiryAtOnce(t *testing.T) {
	t.Parallel()
	for _, request := range []func(*world, string) processor.SessionRequest{(*world).request, (*world).subscription} {
		w := newWorld(t)
		r := request(w, "key")
		r.ExpiresAt = time.Time{}
		var second processor.Session
		slow := w.interrupted(&meanwhile{method: http.MethodPost, path: "/checkout/sessions", do: func() {
			w.clock.Advance(2 * time.Second)
			var err error
			second, err = w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
		}})
		first, err := slow.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, second.ID, first.ID)
		require.Len(t, w.account.Sessions(), 1)
		require.NoError(t, w.account.Pay(first.ID))
		_, err = w.account.Deliver(t.Context(), w.server.Client(), w.webhook(nil))
		require.NoError(t, err)
		require.Empty(t, w.account.Coupons(), "coupons of sessions that have ended are left")
	}
}

// TestRepeatedWithoutExpiryOften: each session that has ended is replaced, also at once,
// and what is told of it does not take the discount from the one in its place.
func TestRepeatedWithoutExpiryOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	r.ExpiresAt = time.Time{}
	for n := range 12 {
		s := w.another(r, n+1)
		if n%2 == 0 {
			w.clock.Advance(time.Hour)
			continue
		}
		_, err := w.processor.ExpireSession(t.Context(), s.ID)
		require.NoError(t, err)
	}
}

// another asks for the session once more, which is open and the only one with a coupon
// after all was told of those before.
func (w *world) another(r processor.SessionRequest, sessions int) processor.Session {
	w.Helper()
	s, err := w.processor.CreateSession(w.Context(), r)
	require.NoError(w, err)
	require.Equal(w, processor.SessionOpen, s.Status)
	require.Len(w, w.account.Sessions(), sessions)
	_, err = w.account.Deliver(w.Context(), w.server.Client(), w.webhook(nil))
	require.NoError(w, err)
	require.Len(w, w.account.Coupons(), 1)
	return s
}

// TestRepeatedWithoutExpiryForDays: Stripe may know a key for longer than the session is
// looked for.
func TestRepeatedWithoutExpiryForDays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	r.ExpiresAt = time.Time{}
	for day := range 3 {
		w.another(r, day+1)
		w.clock.Advance(30 * time.Hour)
	}
}

// TestRepeatedTwiceInASecond: two sessions of one second have ended, and the newer one is to be
// replaced. A process whose keys are spent searches for a session that was made since then. The
// process must not take the older session for it: it would remove the coupon of the session that
// another process makes meanwhile.
func TestRepeatedTwiceInASecond(t *testing.T) {
	t.Parallel()
	least := map[string]int64{"eur": 50}
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.MinimumCharge = least })
	other := w.anotherProcess(inclusive)
	r := w.subscription("key")
	r.ExpiresAt = time.Time{}
	first := w.another(r, 1)
	_, err := w.processor.ExpireSession(t.Context(), first.ID)
	require.NoError(t, err)
	w.another(r, 2)
	w.clock.Advance(2 * time.Hour)

	least["eur"] = 1_000_000
	_, err = other.CreateSession(t.Context(), r)
	require.ErrorIs(t, err, processor.ErrBelowMinimum, "which Stripe saves for the first key")
	least["eur"] = 50
	made, sent := processor.Session{}, 0
	slow := w.interrupted(&meanwhile{
		when: func() bool { sent++; return sent == 6 }, // search, coupon, which is there, session, and a search after the spent key
		do: func() {
			made, err = other.CreateSession(t.Context(), r)
			require.NoError(t, err)
		},
	})
	same, err := slow.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, made.ID, same.ID)
	require.Len(t, w.account.Sessions(), 3)
	session, _ := w.account.Session(made.ID)
	require.True(t, w.hasCoupon(session.CouponID), "%s is open and its coupon is gone", made.ID)
}

// TestRepeatedWithoutExpiryWhileOpen: for as long as the first session can be paid, there
// is no second one, however long that is.
func TestRepeatedWithoutExpiryWhileOpen(t *testing.T) {
	t.Parallel()
	for _, lifetime := range []time.Duration{31 * time.Minute, 13 * time.Hour, 24*time.Hour - time.Minute} {
		w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.SessionLifetime = lifetime })
		r := w.request("key")
		r.ExpiresAt = time.Time{}
		first, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		w.clock.Advance(lifetime - time.Second)
		again, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID, "open for %s", lifetime)
		require.NoError(t, w.account.Pay(first.ID))
		again, err = w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, first.ID, again.ID, "paid after %s", lifetime)
	}
}

// TestExpireRace: a customer who pays between look and expiry keeps the session.
func TestExpireRace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	paid := make(chan error, 1)
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Op == "sessions.expire" && len(paid) == 0 {
			go func() { paid <- w.account.Pay(s.ID) }() // the account is locked meanwhile
			return stripefake.RateLimited
		}
		return stripefake.None
	})
	for range 20 { // whoever is first, the answer is true
		got, err := w.processor.ExpireSession(t.Context(), s.ID)
		require.NoError(t, err)
		now, err := w.processor.Session(t.Context(), s.ID)
		require.NoError(t, err)
		require.Equal(t, now.Status, got.Status)
	}
	if err := <-paid; err != nil && !errors.Is(err, stripefake.ErrNotPayable) {
		t.Error(err)
	}
}

// TestSessionsKeepTheirAmounts whatever becomes of the coupon.
func TestSessionsKeepTheirAmounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	s, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	_, err = w.processor.UpdateMirror(t.Context(), edited(c, func(c *coupon.Coupon) { c.Limits.MaxUses = 1 }))
	require.NoError(t, err)
	require.NoError(t, w.processor.RemoveMirror(t.Context(), c))
	require.NoError(t, w.account.Pay(s.ID))
	paid, err := w.processor.Session(t.Context(), s.ID)
	require.NoError(t, err)
	if paid.Total != s.Total || !maps.Equal(paid.Metadata, s.Metadata) {
		t.Errorf("the session has changed: %s", cmp.Diff(s, paid))
	}
}

// TestExpiryThatIsRefused: a session that Stripe will not expire, as one whose payment is
// being processed, can still be paid. It must not be taken for one that has ended.
func TestExpiryThatIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) {
		f.Validator = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/expire") {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = w.Write([]byte(`{"error":{"type":"invalid_request_error","message":"A payment is being processed."}}`))
			}
		})
	})
	open, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
	require.NoError(t, err)
	s, err := w.processor.ExpireSession(t.Context(), open.ID)
	require.ErrorIs(t, err, processor.ErrRejected)
	require.Zero(t, s)
	require.NoError(t, w.account.Pay(open.ID), "the session has lost its discount")
	s, err = w.processor.ExpireSession(t.Context(), open.ID)
	require.NoError(t, err)
	if s.PaymentStatus != processor.Paid {
		t.Errorf("once paid: %+v", s)
	}
}

// TestSessionCouponGoesMeanwhile: a call that is repeated while the webhook removes the
// coupon of the session that was paid returns that session.
func TestSessionCouponGoesMeanwhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	first, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(first.ID))
	slow := w.interrupted(&meanwhile{method: http.MethodGet, path: "/coupons/ck_s_", do: func() {
		_, err := w.account.Deliver(t.Context(), w.server.Client(), w.webhook(nil))
		require.NoError(t, err)
		require.Empty(t, w.account.Coupons())
	}})
	again, err := slow.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, processor.Paid, again.PaymentStatus)
	require.Empty(t, w.account.Coupons())
}

// TestSessionWithoutExpiryInPlaceOfAnother: it has a coupon of its own too, which lives
// as long as the session, whether or not the coupon of the first was removed.
func TestSessionWithoutExpiryInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ pause, late time.Duration }{
		"told late":               {pause: 70 * time.Minute},
		"at the end of its life":  {pause: 70 * time.Minute, late: 55 * time.Minute},
		"after its coupon's life": {pause: 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.subscription("key")
			r.ExpiresAt = time.Time{}
			first, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			w.clock.Advance(test.pause)
			second, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.NotEqual(t, first.ID, second.ID)
			w.clock.Advance(test.late)
			if test.late == 0 {
				_, err = w.account.Deliver(t.Context(), w.server.Client(), w.webhook(nil))
				require.NoError(t, err)
			}
			require.NoError(t, w.account.Pay(second.ID))
			if paid := w.account.Sessions()[1]; paid.AmountTotal != r.Total {
				t.Errorf("the customer paid %d, want %d", paid.AmountTotal, r.Total)
			}
		})
	}
}

// TestSessionInPlaceOfAnother: what is told of the session that has ended, again and
// late, does not take the discount from the one in its place.
func TestSessionInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	for name, tell := range map[string]func(w *world, ended processor.Session) error{
		"expired again": func(w *world, ended processor.Session) error {
			_, err := w.processor.ExpireSession(w.Context(), ended.ID)
			return err
		},
		"ended by the host": func(w *world, ended processor.Session) error {
			return w.processor.EndSession(w.Context(), ended.ID)
		},
		"told by the webhook": func(w *world, _ processor.Session) error {
			_, err := w.account.Deliver(w.Context(), w.server.Client(), w.webhook(nil))
			return err
		},
		"created again": func(w *world, _ processor.Session) error {
			_, err := w.processor.CreateSession(w.Context(), w.subscription("key"))
			return err
		},
	} {
		for _, f := range []stripefake.Fault{stripefake.None, stripefake.FailAfter} {
			t.Run(name+" after "+f.String(), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.account.Faults(inOrder("sessions.create", f))
				w.replaced(tell)
			})
		}
	}
}

// replaced ends a session, lets the host tell of that again after there is another in its
// place, and pays that one.
func (w *world) replaced(tell func(w *world, ended processor.Session) error) {
	w.Helper()
	r := w.subscription("key")
	first, err := w.processor.CreateSession(w.Context(), r)
	require.NoError(w, err)
	_, err = w.processor.ExpireSession(w.Context(), first.ID)
	require.NoError(w, err)
	second, err := w.processor.CreateSession(w.Context(), r)
	require.NoError(w, err)
	require.NotEqual(w, first.ID, second.ID)
	require.NoError(w, tell(w, first))
	require.NoError(w, w.account.Pay(second.ID))
	if paid := w.account.Sessions()[1]; paid.AmountTotal != r.Total {
		w.Errorf("the customer paid %d, want %d", paid.AmountTotal, r.Total)
	}
	again, err := w.processor.CreateSession(w.Context(), r)
	require.NoError(w, err)
	require.Equal(w, second.ID, again.ID)
	require.NoError(w, w.processor.EndSession(w.Context(), second.ID))
	require.Empty(w, w.account.Coupons(), "coupons of sessions that have ended are left")
}

// TestRepeatedTooLate: of a session that has ended unpaid, and that cannot be replaced
// any more, the repeated call tells what became of it.
func TestRepeatedTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, r := range []processor.SessionRequest{w.request("payment"), w.subscription("subscription")} {
		first, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		_, err = w.processor.ExpireSession(t.Context(), first.ID)
		require.NoError(t, err)
		second, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		w.clock.Advance(2 * time.Hour)
		late, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		if late.ID != second.ID || late.Status != processor.SessionExpired || late.Total != r.Total {
			t.Errorf("late: %+v, want %s as it has ended", late, second.ID)
		}
		w.clock.Advance(-2 * time.Hour)
	}
	never := w.request("never made")
	never.ExpiresAt = w.clock.Now().Add(-time.Hour)
	_, err := w.processor.CreateSession(t.Context(), never)
	require.ErrorIs(t, err, processor.ErrRejected)
	requireField(t, err, "expiresAt")
}

// TestRepeatedOften: however often a session has ended and was replaced, the answer is
// the last of them and no refusal.
func TestRepeatedOften(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.subscription("key")
	for range 10 {
		s, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		s, err = w.processor.ExpireSession(t.Context(), s.ID)
		require.NoError(t, err)
		require.Equal(t, processor.SessionExpired, s.Status)
	}
	all := w.account.Sessions()
	s, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	if s.ID != all[len(all)-1].ID || s.Status != processor.SessionExpired {
		t.Errorf("the answer is %+v, want %s as it has ended", s, all[len(all)-1].ID)
	}
	require.Empty(t, w.account.Coupons())
}

// TestRepeatedAfterAFailedPayment: the answer tells that the money did not arrive.
func TestRepeatedAfterAFailedPayment(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		for _, request := range []func(*world, string) processor.SessionRequest{(*world).request, (*world).subscription} {
			w := newWorld(t)
			r := request(w, "key")
			s, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.NoError(t, w.account.PayLater(s.ID))
			again, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, s.ID, again.ID)
			require.False(t, again.PaymentFailed, "while it is on its way")
			require.NoError(t, w.account.PaymentFails(s.ID))
			if late {
				w.clock.Advance(50 * time.Minute)
			}
			again, err = w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			if again.ID != s.ID || !again.PaymentFailed {
				t.Errorf("%s, late: %t: %+v, want %s with a failed payment", r.Mode, late, again, s.ID)
			}
		}
	}
}

// TestASessionThatIsNotKnownToHaveEnded is never returned as ended: it can still be paid, and
// keeps the coupon of its first period.
func TestASessionThatIsNotKnownToHaveEnded(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]string{"open": `"open"`, "null": `null`, "of a later version": `"processing"`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s, err := w.processor.CreateSession(t.Context(), w.subscription("key"))
			require.NoError(t, err)
			odd := w.anotherProcess(through(stuck{w.server.Client().Transport, status}))
			require.NoError(t, odd.EndSession(t.Context(), s.ID))
			_, err = odd.ExpireSession(t.Context(), s.ID)
			require.ErrorIs(t, err, processor.ErrUnavailable)
			require.NoError(t, w.account.Pay(s.ID), "the discount is gone")
		})
	}
}

// stuck shows sessions with a status of its own, and ends none.
type stuck struct {
	next   http.RoundTripper
	status string
}

func (s stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if path, ending := strings.CutSuffix(r.URL.Path, "/expire"); ending {
		r.Method, r.URL.Path, r.Body, r.ContentLength = http.MethodGet, path, nil, 0
		r.Header.Del("Idempotency-Key")
	}
	a, err := s.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(`"status":"open"`), []byte(`"status":`+s.status))
	a.Body, a.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return a, nil
}
