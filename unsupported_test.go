package couponkit_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/validation"
)

// capped is a draft that a processor of simple discounts cannot express: half off, at most 7 EUR.
func capped() coupon.Draft {
	d := percentOff(50)
	d.Code, d.MaxDiscount, d.MaxUsesPerUser = "CAPPED", coupon.Amounts{"": "7"}, coupon.Clear[int]()
	return d
}

func ofSimple() fakeprocessor.Options {
	return fakeprocessor.Options{CanMirror: func(c coupon.Coupon) bool { return c.Discount.Simple() }}
}

// TestACouponThatTheProcessorCannotExpress is activated without a mirror, says so, and is never
// checked.
func TestACouponThatTheProcessorCannotExpress(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, ofSimple(), couponkit.WithMirrorTTL(0))
	c := w.create(t, capped())
	unsupported := func(when string, c coupon.Coupon) {
		t.Helper()
		if want := (coupon.Mirror{Revision: c.Revision, Unsupported: true}); c.Mirror != want || !c.Mirrored() {
			t.Errorf("%s: the mirror is %+v, want %+v", when, c.Mirror, want)
		}
		data, err := json.Marshal(c)
		require.NoError(t, err)
		require.Contains(t, string(data), `"processorCouponId":"","promotionCodeId":"","mirrorUnsupported":true`, when)
		if got := w.get(t, c.ID); got.Mirror != c.Mirror || got.State != c.State {
			t.Errorf("%s: the store has %+v and %s", when, got.Mirror, got.State)
		}
		require.Empty(t, w.fake.Coupons(), when)
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.NoError(t, err, when)
		require.Empty(t, drifts, when)
	}
	require.True(t, c.Active())
	unsupported("created", c)

	down := w.unavailable(fakeprocessor.VerifyMirror)
	w.fake.ForgetCalls()
	require.NoError(t, w.quote("CAPPED"))
	require.NoError(t, w.validate("capped"))
	checkout := w.checkout(t, w.request("CAPPED"))
	require.Zero(t, w.asked(), "the processor is asked about a mirror that does not exist")
	require.EqualValues(t, 30_00-7_00+4_90, checkout.Order.Quote.Total)
	session, err := w.fake.Session(t.Context(), checkout.Session.ID)
	require.NoError(t, err)
	require.Equal(t, checkout.Order.Quote.Total, session.Total)
	require.NoError(t, w.fake.Pay(session.ID))
	w.deliver(t)
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)
	down.Remove()

	c, err = w.Update(t.Context(), c.ID, coupon.Patch{Name: coupon.Set("Another name"), MaxUses: coupon.Set(9)})
	require.NoError(t, err)
	unsupported("changed", c)
	c, err = w.SetActive(t.Context(), c.ID, false)
	require.NoError(t, err)
	unsupported("switched off", c)
	require.ErrorIs(t, w.quote("CAPPED"), coupon.ErrInactive)
	c, err = w.SetActive(t.Context(), c.ID, true)
	require.NoError(t, err)
	unsupported("switched on", c)
	require.NoError(t, w.quote("CAPPED"))
	require.NoError(t, w.Delete(t.Context(), c.ID))
	w.wantNothing(t, 0)
}

// TestSimpleCouponsKeepTheirMirrors beside coupons that the processor cannot express: those are
// checked as before.
func TestSimpleCouponsKeepTheirMirrors(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, ofSimple(), couponkit.WithMirrorTTL(0))
	w.create(t, capped())
	c := w.create(t, tenOff())
	require.False(t, c.Mirror.Unsupported)
	w.wantMirrored(t, c.ID, processor.MirrorValid)
	data, err := json.Marshal(c)
	require.NoError(t, err)
	require.NotContains(t, string(data), "mirrorUnsupported")
	require.NoError(t, w.fake.TamperDeactivate(c.Mirror))
	require.ErrorIs(t, w.quote("TEN"), coupon.ErrProcessorOutOfSync)
	require.NoError(t, w.quote("CAPPED"))
}

// TestReconcileFollowsWhatTheProcessorCanExpress: a host may change its processor, or a newer
// adapter may express more.
func TestReconcileFollowsWhatTheProcessorCanExpress(t *testing.T) {
	t.Parallel()
	able := false
	w := newWorldOf(t, fakeprocessor.Options{CanMirror: func(coupon.Coupon) bool { return able }}, couponkit.WithMirrorTTL(0))
	c := w.create(t, capped())
	finds := func(want ...couponkit.Drift) {
		t.Helper()
		require.NoError(t, w.quote("CAPPED"))
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.NoError(t, err)
		if diff := cmp.Diff(want, drifts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		again, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.NoError(t, err)
		require.Empty(t, again)
		require.NoError(t, w.quote("CAPPED"))
	}
	able = true
	finds(couponkit.Drift{Kind: couponkit.DriftMissing, CouponID: c.ID, Repaired: true})
	w.wantMirrored(t, c.ID, processor.MirrorValid)
	able = false
	finds(
		couponkit.Drift{Kind: couponkit.DriftOutdated, CouponID: c.ID, Repaired: true},
		couponkit.Drift{Kind: couponkit.DriftOrphan, CouponID: c.ID, Repaired: true},
	)
	require.True(t, w.get(t, c.ID).Mirror.Unsupported)
	require.Empty(t, w.fake.Coupons())
}

// TestAmountsOffTheStep: every amount that a discount takes off has to be a multiple of the step in
// which the processor charges.
func TestAmountsOffTheStep(t *testing.T) {
	t.Parallel()
	dinar, err := pricing.ParseCurrency("KWD")
	require.NoError(t, err)
	w := newWorldWith(t, processor.Abilities{AmountStep: map[pricing.Currency]int64{dinar: 10}})
	const off = "1.005"
	other := tenOff()
	other.Amount = coupon.Amounts{"EUR": "10", "KWD": off}
	tiered := coupon.Draft{
		Code: "TIERS", Name: "Tiers", DiscountType: pricing.Tiered, Currency: "KWD",
		TierBasis: pricing.ByAmount, Tiers: []coupon.TierDraft{
			{From: "1", Amount: "1"}, {From: "20", Amount: off},
		},
	}
	perUnit := tenOff()
	perUnit.DiscountType, perUnit.Amount, perUnit.Currency = pricing.FixedAmountPerUnit, coupon.Amounts{"": off}, "KWD"
	for field, d := range map[string]coupon.Draft{
		"discountValue.KWD": other, "tiers[1].amount": tiered, "discountValue": perUnit,
	} {
		_, err := w.Create(t.Context(), d)
		if diff := cmp.Diff([]string{field}, faultyFields(t, err)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	limit := percentOff(10)
	limit.Currency, limit.MaxDiscount = "KWD", coupon.Amounts{"": off}
	w.create(t, limit)
}

// TestFaultsOfADraftThatTheProcessorCannotExpress: the processor's rules for its mirrors do not
// hold for a coupon that gets none.
func TestFaultsOfADraftThatTheProcessorCannotExpress(t *testing.T) {
	t.Parallel()
	options := ofSimple()
	options.Abilities.CheckCoupon = func(c coupon.Coupon) error {
		var faults validation.Error
		if c.Discount.Simple() && c.Code.String() == "ÄÄ" {
			faults.Add("code", validation.Malformed, "not at this processor")
		}
		return faults.Err()
	}
	w := newWorldOf(t, options)
	simple, elaborate, wrong, none := percentOff(0), percentOff(0), percentOff(0), percentOff(0)
	elaborate.MaxUnits, wrong.MaxUnits = 2, -1
	none.DiscountType = pricing.CheapestUnits
	for name, test := range map[string]struct {
		draft coupon.Draft
		value int64
		want  []string
	}{
		"simple":                        {simple, 10, []string{"name", "code"}},
		"simple with a wrong value":     {simple, 101, []string{"discountValue", "name", "code"}},
		"with further terms":            {elaborate, 10, []string{"name"}},
		"with further terms, too large": {elaborate, 101, []string{"discountValue", "name"}},
		"with wrong terms":              {wrong, 10, []string{"maxUnits", "name"}},
		"without its terms":             {none, 10, []string{"units", "name"}},
	} {
		d := test.draft
		d.Code, d.Name, d.Percent = "ÄÄ", "", strconv.FormatInt(test.value, 10)
		_, err := w.Create(t.Context(), d)
		if diff := cmp.Diff(test.want, faultyFields(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
