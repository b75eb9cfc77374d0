package couponkit_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// exclusiveWorld has TEN (10.00 off), PERCENT (10 % off) and ALONE (20 % off), which is combined with
// no other, and OFF, which is exclusive and inactive. The phones cost 30.00.
func exclusiveWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.twoCoupons(t)
	w.create(t, grouped(percentOff(20), "ALONE", ""))
	off := w.create(t, grouped(tenOff(), "OFF", ""))
	_, err := w.SetActive(t.Context(), off.ID, false)
	require.NoError(t, err)
	return w
}

// With KeepFirst, the first of the codes that exclude each other is kept, and the later ones are
// refused and name it. SkipRefused tells whether they refuse the request. Quote, explanation, checkout
// and payment link say the same.
func TestKeepFirst(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		codes    []string
		refused  map[string][]string // what excludes each refused code
		discount int64               // of the rest
		reasons  []string
	}{
		"the first excludes the later ones": {
			[]string{"ALONE", "TEN", "PERCENT"},
			map[string][]string{"TEN": {"ALONE"}, "PERCENT": {"ALONE"}},
			6_00,
			[]string{"TEN not_combinable", "PERCENT not_combinable"},
		},
		"the last is excluded by those before": {
			[]string{"TEN", "PERCENT", "ALONE"}, map[string][]string{"ALONE": {"PERCENT", "TEN"}}, 13_00, []string{"ALONE not_combinable"},
		},
		"one in the middle is refused, and excludes nobody": {
			[]string{"TEN", "ALONE", "PERCENT"}, map[string][]string{"ALONE": {"PERCENT", "TEN"}}, 13_00, []string{"ALONE not_combinable"},
		},
		"a coupon that is refused alone is not kept": {
			[]string{"OFF", "TEN"}, map[string][]string{"OFF": {"TEN"}}, 10_00, []string{"OFF coupon_inactive", "OFF not_combinable"},
		},
		"codes that can be combined": {[]string{"PERCENT", "TEN"}, nil, 13_00, nil},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w := exclusiveWorld(t)
			request := couponkit.QuoteRequest{Cart: phones(), Codes: c.codes, Customer: ann, Conflicts: eligibility.KeepFirst}
			_, err := w.Quote(t.Context(), request)
			require.ElementsMatch(t, c.reasons, refusedFor(err))
			request.SkipRefused = true
			quote, err := w.Quote(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, c.discount, quote.Discount)
			explained, err := w.Explain(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, c.discount, explained.Quote.Discount)
			var excluded map[string][]string
			for _, code := range explained.Codes {
				if !code.Applied {
					excluded = withEntry(excluded, code.Code, code.ExcludedBy)
				}
			}
			if diff := cmp.Diff(c.refused, excluded); diff != "" {
				t.Errorf("excluded by (-want +got):\n%s", diff)
			}
			checkout := w.withCodes(c.codes...)
			checkout.Conflicts, checkout.SkipRefused = eligibility.KeepFirst, true
			made := w.checkout(t, checkout)
			require.Equal(t, c.discount, made.Order.Quote.Discount)
			require.ElementsMatch(t, c.reasons, refusedFor(made.Refused))
			checkout.Key = "link"
			link, err := w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
				CheckoutRequest: checkout, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
			})
			require.NoError(t, err)
			require.ElementsMatch(t, c.reasons, refusedFor(link.Refused))
		})
	}
}

func withEntry(m map[string][]string, key string, value []string) map[string][]string {
	if m == nil {
		m = map[string][]string{}
	}
	m[key] = value
	return m
}

// An unknown policy is named beside the other faults of the request.
func TestAnUnknownConflictPolicy(t *testing.T) {
	t.Parallel()
	w := exclusiveWorld(t)
	const unknown = eligibility.KeepBest + 1
	request := couponkit.QuoteRequest{Cart: phones(), Codes: []string{"TEN", "TEN"}, Customer: ann, Conflicts: unknown}
	_, err := w.Quote(t.Context(), request)
	require.Equal(t, []string{"conflicts", "codes[1]"}, faultyFields(t, err))
	_, err = w.Explain(t.Context(), request)
	require.Equal(t, []string{"conflicts", "codes[1]"}, faultyFields(t, err))
	checkout := w.withCodes()
	checkout.Conflicts = unknown
	_, err = w.Checkout(t.Context(), checkout)
	require.Equal(t, []string{"conflicts"}, faultyFields(t, err))
	_, err = w.PaymentLink(t.Context(), couponkit.PaymentLinkRequest{
		CheckoutRequest: checkout, Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
	})
	require.Equal(t, []string{"conflicts"}, faultyFields(t, err))
}

// With KeepFirst the order of several codes is part of the request that a key stands for. Of one code
// neither the order nor the policy changes anything.
func TestAKeyWithKeepFirst(t *testing.T) {
	t.Parallel()
	w := exclusiveWorld(t)
	checkout := func(key string, policy eligibility.ConflictPolicy, codes ...string) (couponkit.Checkout, error) {
		r := w.withCodes(codes...)
		r.Key, r.Conflicts, r.SkipRefused = key, policy, true
		return w.Checkout(t.Context(), r)
	}
	first, err := checkout("several", eligibility.KeepFirst, "TEN", "ALONE")
	require.NoError(t, err)
	again, err := checkout("several", eligibility.KeepFirst, " ten ", "alone")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.Order.ID, again.Order.ID)
	_, err = checkout("several", eligibility.KeepFirst, "ALONE", "TEN")
	require.ErrorIs(t, err, store.ErrKeyReused)
	_, err = checkout("several", eligibility.RefuseAll, "TEN", "ALONE")
	require.ErrorIs(t, err, store.ErrKeyReused)
	_, err = checkout("one", eligibility.KeepFirst, "TEN")
	require.NoError(t, err)
	again, err = checkout("one", eligibility.RefuseAll, "TEN")
	require.NoError(t, err)
	require.True(t, again.Replayed)
}

// A checkout without SkipRefused is refused for the code that KeepFirst does not keep.
func TestKeepFirstRefusesTheRequestByDefault(t *testing.T) {
	t.Parallel()
	w := exclusiveWorld(t)
	r := w.withCodes("TEN", "ALONE")
	r.Conflicts = eligibility.KeepFirst
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, coupon.ErrNotCombinable)
	require.Equal(t, []string{"ALONE not_combinable"}, refusedFor(err))
}

// With KeepBest the cheapest cart decides, whatever the order of the codes. The key of a checkout stands for
// the policy, and not for the order.
func TestKeepBest(t *testing.T) {
	t.Parallel()
	for about, c := range map[string]struct {
		codes    []string
		discount int64
		reasons  []string
		instead  map[string]string
	}{
		"two coupons together":                       {[]string{"ALONE", "TEN", "PERCENT"}, 13_00, []string{"ALONE not_combinable"}, map[string]string{"ALONE": "6.00"}},
		"the better of two":                          {[]string{"ALONE", "TEN"}, 10_00, []string{"ALONE not_combinable"}, map[string]string{"ALONE": "6.00"}},
		"an exclusive coupon that takes more":        {[]string{"PERCENT", "ALONE"}, 6_00, []string{"PERCENT not_combinable"}, map[string]string{"PERCENT": "3.00"}},
		"a coupon that is refused alone is not kept": {[]string{"OFF", "TEN"}, 10_00, []string{"OFF coupon_inactive", "OFF not_combinable"}, map[string]string{}},
	} {
		t.Run(about, func(t *testing.T) {
			t.Parallel()
			w := exclusiveWorld(t)
			checkout := w.withCodes(c.codes...)
			checkout.Key, checkout.Conflicts, checkout.SkipRefused = "best", eligibility.KeepBest, true
			explained, err := w.Explain(t.Context(), couponkit.QuoteRequest{Cart: checkout.Cart, Codes: checkout.Codes, Conflicts: checkout.Conflicts, Customer: checkout.Customer})
			require.NoError(t, err)
			instead := map[string]string{}
			for _, code := range explained.Codes {
				if !code.Instead.IsZero() {
					instead[code.Code] = code.Instead.Amount()
				}
			}
			require.Equal(t, c.instead, instead)
			made := w.checkout(t, checkout)
			require.Equal(t, c.discount, made.Order.Quote.Discount)
			require.ElementsMatch(t, c.reasons, refusedFor(made.Refused))
			slices.Reverse(checkout.Codes)
			again := w.checkout(t, checkout)
			require.Equal(t, made.Order.ID, again.Order.ID)
			checkout.Conflicts = eligibility.RefuseAll
			_, err = w.Checkout(t.Context(), checkout)
			require.Error(t, err)
		})
	}
}
