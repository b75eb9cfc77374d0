package couponkit_test

import (
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
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestTheAddressOfTheDirectoryCounts: a caller that passes somebody else's address gets
// nothing by it, and one that passes none loses nothing.
func TestTheAddressOfTheDirectoryCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"cleo@example.org", "BOB@example.org"}
	w.create(t, d)
	for name, test := range map[string]struct {
		customer eligibility.Customer
		want     error
	}{
		"a forged address": {eligibility.Customer{ID: ann.ID, Email: bob.Email}, coupon.ErrUserNotAllowed},
		"their own":        {bob, nil},
		"none":             {eligibility.Customer{ID: bob.ID}, nil},
		"somebody else's":  {eligibility.Customer{ID: bob.ID, Email: ann.Email}, nil},
	} {
		_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: test.customer})
		require.ErrorIs(t, err, test.want, "%s, validated", name)
		_, err = w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: test.customer})
		require.ErrorIs(t, err, test.want, "%s, at the checkout", name)
	}
}

// TestCurrencyAndCalendarOfAService: a draft that names no currency has the service's, and
// dates are days of its location, at creation as in a change.
func TestCurrencyAndCalendarOfAService(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	yen, err := pricing.ParseCurrency("JPY")
	require.NoError(t, err)
	w := newWorld(t, couponkit.WithLocation(berlin), couponkit.WithCurrency(yen))
	d := tenOff()
	d.ExpiresAt = calendar.On(2026, time.December, 31)
	c := w.create(t, d)
	require.Equal(t, "JPY", c.Currency.Code())
	require.Equal(t, "2026-12-31T23:00:00Z", c.ExpiresAt.Format(time.RFC3339))
	c, err = w.Update(t.Context(), c.ID, coupon.Patch{ExpiresAt: coupon.Set(calendar.On(2027, time.July, 1))})
	require.NoError(t, err)
	require.Equal(t, "2027-07-01T22:00:00Z", c.ExpiresAt.Format(time.RFC3339))
}

// TestTheLanguageOfSymbols: the same currency is written otherwise elsewhere.
func TestTheLanguageOfSymbols(t *testing.T) {
	t.Parallel()
	for tag, want := range map[language.Tag]string{language.English: "CA$", language.MustParse("en-CA"): "$"} {
		w := newWorld(t, couponkit.WithSymbolLanguage(tag))
		d := tenOff()
		d.Currency = "CAD"
		w.create(t, d)
		v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "TEN", Customer: ann})
		require.NoError(t, err)
		require.Equal(t, want, v.CurrencySymbol, tag.String())
	}
}

// TestHowLongAnExchangeMayTake: as long as the service is told, and the sweep undoes it then.
func TestHowLongAnExchangeMayTake(t *testing.T) {
	t.Parallel()
	const patience = 3 * time.Hour
	w := newWorld(t)
	d := tenOff()
	d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 30
	w.create(t, d)
	w.behind((&refusal{call: "Debit", err: errDown}).gate, couponkit.WithClock(clockOf(w)), couponkit.WithExchangeTime(patience))
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Key: "k", Coupon: "TEN", Customer: ann})
	require.ErrorIs(t, err, errDown)
	for _, step := range []struct {
		pass time.Duration
		want redemption.State
	}{{patience - time.Microsecond, redemption.Reserved}, {time.Microsecond, redemption.Released}} {
		w.pass(step.pass)
		_, err = w.Sweep(t.Context(), 0)
		require.NoError(t, err)
		page, err := w.store.ListUses(t.Context(), store.UseList{})
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		if diff := cmp.Diff(step.want, page.Items[0].State); diff != "" {
			t.Errorf("after %v more (-want +got):\n%s", step.pass, diff)
		}
	}
}
