package couponkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/language"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// TestValidateAnswers holds the success response of specification 4.4.
func TestValidateAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, couponkit.WithSymbolLanguage(language.German))
	c := w.create(t, tenOff())
	want := couponkit.Validation{
		CouponID: c.ID, Code: c.Code, DiscountType: pricing.FixedAmount, DiscountValue: "10.00",
		Currency: pricing.EUR(), CurrencySymbol: "€",
	}
	for _, typed := range []string{"TEN", " ten ", "ＴＥＮ", "\u200bten\ufeff", "T\u00adEN", c.ID, " " + c.ID + "\n"} {
		got, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: typed, Customer: ann})
		require.NoError(t, err, typed)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b coupon.Code) bool { return a == b }), cmp.Comparer(func(a, b pricing.Currency) bool { return a == b })); diff != "" {
			t.Errorf("Validate(%q) (-want +got):\n%s", typed, diff)
		}
	}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	wire := `{"couponId":"` + c.ID + `","code":"TEN","discountType":"FIXED_AMOUNT","discountValue":"10.00","currency":"EUR","currencySymbol":"€"}`
	if string(text) != wire {
		t.Errorf("JSON is %s, want %s", text, wire)
	}
}

// TestWhatACustomerTypes: a code is found however it looks the same, and a generated code
// also with the symbols that people confuse. The code that was typed comes first.
func TestWhatACustomerTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	generated := generatedCode(t, "0123456789", coupon.CodeShape{Prefix: "cpn_x"})
	confused := strings.NewReplacer("0", "O", "1", "l", "2", "Z", "4", "A", "5", "s", "6", "G", "8", "B", "M", "n", "V", "u").Replace(
		strings.TrimPrefix(generated.String(), "CPN_X"))
	made := map[string]coupon.Coupon{}
	for _, code := range []string{"SUMMER-10", "İNDİRİM10", generated.String(), "cpn_Y"} {
		d := tenOff()
		d.Code = code
		made[code] = w.create(t, d)
	}
	for typed, code := range map[string]string{
		"summer\u201310": "SUMMER-10", "\ufeffSUMMER\u221210\u200b": "SUMMER-10", "indirim10": "İNDİRİM10", "ındırım10": "İNDİRİM10", "cpn_y": "cpn_Y",
		"CPN_X" + confused: generated.String(), "cpn_x" + confused: generated.String(), "\u200bcpn_x" + confused: generated.String(),
	} {
		v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: typed, Customer: ann})
		require.NoError(t, err, "%+q", typed)
		require.Equal(t, made[code].ID, v.CouponID, "%+q", typed)
	}
	for _, typed := range []string{"summer_10", "\u200b", "cpn_", "CPN_X" + confused + "0", "CPN_Z" + confused} {
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: typed, Customer: ann})
		require.Error(t, err, "%+q", typed)
	}
	d := tenOff()
	d.Code = "CPN_X" + confused
	own := w.create(t, d)
	v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "cpn_x" + confused, Customer: ann})
	require.NoError(t, err)
	require.Equal(t, own.ID, v.CouponID, "a hand-made code of confusable symbols stays its own")
}

// TestValidateRefuses holds the eight validations of specification 4.4 through the
// front door.
func TestValidateRefuses(t *testing.T) {
	t.Parallel()
	in := func(w *world, d time.Duration) calendar.Moment { return calendar.At(w.now.Add(d)) }
	cases := map[string]struct {
		arrange  func(w *world) (typed string)
		customer eligibility.Customer
		want     error
	}{
		"nothing typed": {func(*world) string { return " \t" }, ann, coupon.ErrCodeRequired},
		"unknown code":  {func(*world) string { return "NONE" }, ann, coupon.ErrNotFound},
		"unknown ID":    {func(*world) string { return "cpn_none" }, ann, coupon.ErrNotFound},
		"no code at all": {func(*world) string {
			return "two words"
		}, ann, coupon.ErrNotFound},
		"too long": {func(*world) string { return strings.Repeat("X", 256) }, ann, coupon.ErrNotFound},
		"switched off": {func(w *world) string {
			_, err := w.SetActive(w.t.Context(), w.create(w.t, tenOff()).ID, false)
			require.NoError(w.t, err)
			return "TEN"
		}, ann, coupon.ErrInactive},
		"not started": {func(w *world) string {
			d := tenOff()
			d.StartsAt = in(w, time.Microsecond)
			w.create(w.t, d)
			return "TEN"
		}, ann, coupon.ErrNotStarted},
		"expired at this instant": {func(w *world) string {
			d := tenOff()
			d.ExpiresAt = in(w, time.Hour)
			w.create(w.t, d)
			w.pass(time.Hour)
			return "TEN"
		}, ann, coupon.ErrExpired},
		"used up": {func(w *world) string {
			d := tenOff()
			d.MaxUses = coupon.Set(1)
			w.create(w.t, d)
			r := w.request("TEN")
			r.Customer = bob
			w.checkout(w.t, r)
			return "TEN"
		}, ann, coupon.ErrUsageLimitReached},
		"used by the customer": {func(w *world) string {
			w.create(w.t, tenOff())
			require.NoError(w.t, w.fake.Pay(w.checkout(w.t, w.request("TEN")).Session.ID))
			w.deliver(w.t)
			return "TEN"
		}, ann, coupon.ErrUserUsageLimitReached},
		"nobody signed in": {func(w *world) string {
			w.create(w.t, tenOff())
			return "TEN"
		}, eligibility.Customer{}, coupon.ErrUserRequired},
		"unknown user": {func(w *world) string {
			w.create(w.t, tenOff())
			return "TEN"
		}, eligibility.Customer{ID: "ghost"}, coupon.ErrUserRequired},
		"not on the list": {func(w *world) string {
			d := tenOff()
			d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{bob.Email}
			w.create(w.t, d)
			return "TEN"
		}, ann, coupon.ErrUserNotAllowed},
		"points not exchanged": {func(w *world) string {
			d := tenOff()
			d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 10
			w.create(w.t, d)
			return "TEN"
		}, ann, coupon.ErrPointsNotRedeemed},
		"mirror switched off": {func(w *world) string {
			require.NoError(w.t, w.fake.TamperDeactivate(w.create(w.t, tenOff()).Mirror))
			return "TEN"
		}, ann, coupon.ErrProcessorOutOfSync},
		"mirror gone": {func(w *world) string {
			require.NoError(w.t, w.fake.TamperDelete(w.create(w.t, tenOff()).Mirror))
			return "TEN"
		}, ann, coupon.ErrProcessorOutOfSync},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			typed := tc.arrange(w)
			_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: typed, Customer: tc.customer})
			var refused *coupon.Rejection
			if !errors.As(err, &refused) || len(refused.Reasons) != 1 || !errors.Is(err, tc.want) {
				t.Errorf("Validate(%q) = %v, want only %v", typed, err, tc.want)
			}
			q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(typed), Customer: tc.customer})
			if typed == " \t" || !errors.Is(err, tc.want) {
				if !errors.Is(err, tc.want) {
					t.Errorf("Quote(%q) = %v, want %v", typed, err, tc.want)
				}
			}
			if q.Total != 34_90 || q.Discount != 0 {
				t.Errorf("the refused quote has total %d and discount %d, want the list prices", q.Total, q.Discount)
			}
			if _, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: only(typed), Customer: tc.customer}); !errors.Is(err, tc.want) {
				t.Errorf("Checkout(%q) = %v, want %v", typed, err, tc.want)
			}
		})
	}
}

// TestAProcessorThatDoesNotAnswerIsNoRefusal: contract section 6.
func TestAProcessorThatDoesNotAnswerIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore})
	_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	var refused *coupon.Rejection
	if !errors.Is(err, couponkit.ErrUnavailable) || errors.As(err, &refused) {
		t.Errorf("got %v, want ErrUnavailable and no rejection", err)
	}
}

// TestTheMirrorIsVerifiedWhereItMatters: of a coupon that is on and within its dates.
// One that is refused anyway needs no answer of the processor.
func TestTheMirrorIsVerifiedWhereItMatters(t *testing.T) {
	t.Parallel()
	at := func(w *world, d time.Duration) calendar.Moment { return calendar.At(w.now.Add(d)) }
	cases := map[string]struct {
		change func(w *world, d *coupon.Draft)
		off    bool
		want   error
	}{
		"no dates":    {func(*world, *coupon.Draft) {}, false, couponkit.ErrUnavailable},
		"has started": {func(w *world, d *coupon.Draft) { d.StartsAt = at(w, 0) }, false, couponkit.ErrUnavailable},
		"has started and will end": {func(w *world, d *coupon.Draft) {
			d.StartsAt, d.ExpiresAt = at(w, 0), at(w, time.Hour)
		}, false, couponkit.ErrUnavailable},
		"will end":        {func(w *world, d *coupon.Draft) { d.ExpiresAt = at(w, time.Hour) }, false, couponkit.ErrUnavailable},
		"has not started": {func(w *world, d *coupon.Draft) { d.StartsAt = at(w, time.Hour) }, false, coupon.ErrNotStarted},
		"has ended":       {func(w *world, d *coupon.Draft) { d.ExpiresAt = at(w, time.Minute) }, false, coupon.ErrExpired},
		"is off":          {func(*world, *coupon.Draft) {}, true, coupon.ErrInactive},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			d := tenOff()
			tc.change(w, &d)
			c := w.create(t, d)
			w.now = w.now.Add(time.Minute)
			if tc.off {
				_, err := w.SetActive(t.Context(), c.ID, false)
				require.NoError(t, err)
			}
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.VerifyMirror, Kind: fakeprocessor.LostBefore})
			if _, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann}); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestValidateBeforeSignIn: as Quote, where the request allows it and the coupon does not depend
// on the customer.
func TestValidateBeforeSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for code, change := range map[string]func(*coupon.Draft){
		"GENERAL": func(*coupon.Draft) {},
		"POINTS":  func(d *coupon.Draft) { d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 5 },
		"LIST": func(d *coupon.Draft) {
			d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{ann.Email}
		},
	} {
		d := tenOff()
		d.Code = code
		change(&d)
		w.create(t, d)
		for _, allow := range []bool{false, true} {
			want := coupon.ErrUserRequired
			if allow && code == "GENERAL" {
				want = nil
			}
			_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: code, AllowAnonymous: allow})
			require.ErrorIs(t, err, want, "%s, allowed: %t", code, allow)
			_, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(code), AllowAnonymous: allow})
			require.ErrorIs(t, err, want, "quote of %s, allowed: %t", code, allow)
		}
	}
	for allow, want := range map[bool][]coupon.RejectionCode{
		false: {coupon.CouponNotFound, coupon.UserRequired}, true: {coupon.CouponNotFound},
	} {
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "NONE", AllowAnonymous: allow})
		var refused *coupon.Rejection
		require.ErrorAs(t, err, &refused)
		var got []coupon.RejectionCode
		for _, r := range refused.Reasons {
			got = append(got, r.Code)
		}
		require.ElementsMatch(t, want, got, "allowed: %t", allow)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"ten"}, Customer: ann})
	require.NoError(t, err)
	if q.Subtotal != 30_00 || q.Discount != 10_00 || q.Shipping != 4_90 || q.Total != 24_90 || !q.RequiresPayment() || q.Terms[0].ID != c.ID {
		t.Errorf("quote is %+v", q)
	}
	plain, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), AllowAnonymous: true})
	require.NoError(t, err)
	if plain.Total != 34_90 || plain.Terms != nil || plain.Fingerprint == q.Fingerprint {
		t.Errorf("quote without a coupon is %+v", plain)
	}
	if _, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones()}); !errors.Is(err, coupon.ErrUserRequired) {
		t.Errorf("anonymous quote: %v, want user_required", err)
	}
	if _, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, AllowAnonymous: true}); err != nil {
		t.Errorf("anonymous preview of a general coupon: %v", err)
	}
	if _, err := w.Quote(t.Context(), couponkit.QuoteRequest{Codes: []string{"TEN"}, Customer: ann}); !errors.Is(err, validation.ErrInvalid) {
		t.Errorf("cart without a currency: %v, want invalid input", err)
	}
}

// TestFingerprintFollowsTheCoupon: the same cart has another fingerprint once the
// coupon has another revision.
func TestFingerprintFollowsTheCoupon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	ask := func() string {
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
		require.NoError(t, err)
		return q.Fingerprint
	}
	first := ask()
	w.pass(time.Minute)
	if ask() != first {
		t.Error("time alone changed the fingerprint")
	}
	_, err := w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("New")})
	require.NoError(t, err)
	if ask() == first {
		t.Error("a change of the coupon did not change the fingerprint")
	}
}

func TestTotalsThatCannotBeCharged(t *testing.T) {
	t.Parallel()
	cheap := func(cents int64) pricing.Cart {
		return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "case", Quantity: 1, UnitPrice: cents},
		}}
	}
	ask := func(w *world, cart pricing.Cart, code string) error {
		_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: only(code), Customer: ann})
		return err
	}
	w := newWorld(t)
	w.create(t, tenOff())
	var refused *coupon.Rejection
	require.ErrorAs(t, ask(w, cheap(10_49), "TEN"), &refused)
	if p := refused.Headline().Params; refused.Headline().Code != coupon.BelowMinimumCharge || p.Total.Minor() != 49 || p.Minimum.Minor() != 50 {
		t.Errorf("49 cents: %v with %+v", refused, p)
	}
	for _, cents := range []int64{10_50, 10_00} {
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cheap(cents), Codes: []string{"TEN"}, Customer: ann})
		if err != nil || q.RequiresPayment() != (cents > 10_00) {
			t.Errorf("%d cents: payment required: %t, %v", cents, q.RequiresPayment(), err)
		}
	}
	never := newWorldWith(t, processor.Abilities{NoZeroTotal: true})
	never.create(t, tenOff())
	if err := ask(never, cheap(10_00), "TEN"); !errors.Is(err, coupon.ErrBelowMinimumCharge) {
		t.Errorf("total 0 where it cannot be charged: %v", err)
	}
}

// TestObserver: every attempt is told, refused ones with their reasons, and nothing
// of it is personal but the ID.
// corrupted is a store whose coupons have lost their discount.
type corrupted struct{ store.Store }

func (s corrupted) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	found, err := s.Store.LookUp(ctx, by)
	for _, f := range found.Coupons {
		f.Coupon.Discount = pricing.Discount{}
	}
	return found, err
}

// TestAStoredCouponThatIsNoneIsAFailure: it is no answer, no refusal, and no fault of the input.
func TestAStoredCouponThatIsNoneIsAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	s, err := couponkit.New(corrupted{w.store}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = s.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.ErrorContains(t, err, c.ID)
	require.ErrorIs(t, err, store.ErrUnreadable)
	require.NotErrorIs(t, err, validation.ErrInvalid)
	var refused *coupon.Rejection
	require.NotErrorAs(t, err, &refused)
}

// TestEveryQuoteSaysForWhenAndOfWhatItIs: also one without a coupon, and the list prices beside
// a refusal.
func TestEveryQuoteSaysForWhenAndOfWhatItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.create(t, percentOff(20))
	_, err := w.SetActive(t.Context(), c.ID, false)
	require.NoError(t, err)
	prints := map[string]string{}
	for code, want := range map[string]error{"": nil, "TEN": coupon.ErrInactive, "NONE": coupon.ErrNotFound, "PERCENT": nil} {
		q, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: only(code), Customer: ann})
		require.ErrorIs(t, err, want, code)
		require.Equal(t, w.now, q.At, code)
		require.NotEmpty(t, q.Fingerprint, code)
		prints[code] = q.Fingerprint
	}
	require.Equal(t, prints[""], prints["TEN"], "both are the list prices")
	require.Equal(t, prints[""], prints["NONE"], "both are the list prices")
	require.NotEqual(t, prints[""], prints["PERCENT"])
}

func TestObserver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	w.attempts = nil
	_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: eligibility.Customer{}})
	require.Error(t, err)
	_, err = w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
	require.NoError(t, err)
	want := []couponkit.Attempt{
		{Operation: couponkit.OpValidate, CouponID: c.ID, Reasons: []coupon.RejectionCode{coupon.UserRequired}, Err: w.attempts[0].Err, At: w.now},
		{Operation: couponkit.OpValidate, CouponID: c.ID, CustomerID: ann.ID, At: w.now},
	}
	if diff := cmp.Diff(want, w.attempts, cmp.Comparer(func(a, b error) bool { return errors.Is(a, b) })); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
}
