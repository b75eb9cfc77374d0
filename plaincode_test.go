package couponkit_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// withoutCode is a draft of 10 EUR off that only the codes of batches reach.
func withoutCode() coupon.Draft {
	d := tenOff()
	d.Code = ""
	return d
}

// Contract section 4.3: customers reach a coupon without a plain code by the codes of its batches.
func TestACouponOfBatchesAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, withoutCode())
	require.True(t, c.Code.IsZero())
	require.True(t, c.Mirrored())
	require.NotEmpty(t, c.Mirror.CouponID)
	require.Empty(t, c.Mirror.PromotionCodeID)
	require.Empty(t, w.fake.PromotionCodes())
	w.create(t, withoutCode())

	code := w.issue(t, c, "spring", coupon.CodeDraft{Code: "MINE", Owner: coupon.OwnerID(ann.ID), MaxUses: coupon.Set(1)})[0]
	v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: "mine", Customer: ann})
	require.NoError(t, err)
	require.Equal(t, code.Code, v.Code)
	made := w.checkout(t, w.request("mine"))
	require.Equal(t, code.Code, made.Uses[0].Code)
	require.NoError(t, w.fake.Pay(made.Order.SessionID))
	w.deliver(t)
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)

	for _, find := range []func(context.Context, string) (coupon.Coupon, error){w.Find, w.Get} {
		found, err := find(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, c.ID, found.ID)
	}
	require.NoError(t, w.Delete(t.Context(), c.ID))
	_, err = w.FindCode(t.Context(), "mine")
	require.ErrorIs(t, err, coupon.ErrNotFound)
}

// Contract section 4.2: by its ID, customers reach only a coupon that has a plain code. The ID is no
// way around the owner and the limit of a code.
func TestTheIDOfACouponWithoutACodeIsUnknown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	draft := withoutCode()
	draft.Distribution, draft.PointsRequired = coupon.PointsRedeemable, 5
	bought, c, plain := w.create(t, draft), w.create(t, withoutCode()), w.create(t, tenOff())
	for _, known := range []coupon.Coupon{c, plain} {
		w.issue(t, known, "spring", coupon.CodeDraft{Owner: coupon.OwnerID(ann.ID), MaxUses: coupon.Set(1)})
	}
	for name, call := range map[string]func(id string) error{
		"validate": func(id string) error {
			_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: id, Customer: bob})
			return err
		},
		"quote": func(id string) error {
			_, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: phones(), Codes: []string{id}, Customer: bob})
			return err
		},
		"checkout": func(id string) error {
			_, err := w.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{" " + id}, Customer: bob})
			return err
		},
		"owner": func(id string) error {
			_, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: id, Customer: ann})
			return err
		},
	} {
		require.ErrorIs(t, call(c.ID), coupon.ErrNotFound, name)
		require.NoError(t, call(plain.ID), name)
	}
	_, err := w.ExchangePoints(t.Context(), couponkit.ExchangeRequest{Coupon: bought.ID, Customer: ann})
	require.ErrorIs(t, err, coupon.ErrNotFound)

	like := tenOff()
	like.Code = strings.ToUpper(c.ID)
	other := w.create(t, like)
	v, err := w.Validate(t.Context(), couponkit.ValidateRequest{Code: c.ID, Customer: bob})
	require.NoError(t, err)
	require.Equal(t, other.ID, v.CouponID, "the coupon whose code reads like the ID")
}

// Codes of a batch are not mirrored, however they are made. The coupon is, and so is its plain code.
func TestCodesOfABatchAreNotMirrored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	before := len(w.fake.Calls())
	w.issue(t, c, "handmade", coupon.CodeDraft{Code: "MINE"})
	_, err := w.CreateCodes(t.Context(), c.ID, coupon.BatchDraft{Batch: coupon.Batch{ID: "generated"}, Count: 3}, nil)
	require.NoError(t, err)
	row := codecsv.Row{Number: 2, Draft: coupon.CodeDraft{Code: "FILED"}, Active: true}
	for imported, err := range w.ImportCodes(t.Context(), c.ID, "imported", func(yield func(codecsv.Row, error) bool) { yield(row, nil) }) {
		require.NoError(t, err)
		require.Equal(t, codecsv.Added, imported.Verdict)
	}
	for _, err := range w.AssignCodes(t.Context(), c.ID, "generated", slices.Values([]coupon.Owner{coupon.OwnerID(ann.ID)})) {
		require.NoError(t, err)
	}
	_, err = w.SetBatchActive(t.Context(), c.ID, "generated", false)
	require.NoError(t, err)
	_, err = w.RemoveUnusedCodes(t.Context(), c.ID, "generated")
	require.NoError(t, err)
	require.Len(t, w.fake.Calls(), before)
	require.Len(t, w.fake.Coupons(), 1)
	require.Len(t, w.fake.PromotionCodes(), 1)
	w.wantMirrored(t, c.ID, processor.MirrorValid)
}

// The mirror of a coupon without a plain code is the processor's coupon alone, and has no state.
func TestReconcileOfCouponsWithoutACode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, withoutCode())
	w.issue(t, c, "spring", coupon.CodeDraft{Code: "MINE"})
	reconcile := func(want ...couponkit.Drift) {
		t.Helper()
		drifts, err := w.Reconcile(t.Context(), couponkit.ReconcileOptions{})
		require.NoError(t, err)
		if diff := cmp.Diff(want, drifts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, active := range []bool{false, true} {
		_, err := w.SetActive(t.Context(), c.ID, active)
		require.NoError(t, err)
		w.wantMirrored(t, c.ID, processor.MirrorValid)
		reconcile()
	}
	require.NoError(t, w.fake.TamperDelete(w.get(t, c.ID).Mirror))
	_, err := w.Checkout(t.Context(), w.request("mine"))
	require.ErrorIs(t, err, coupon.ErrProcessorOutOfSync)
	reconcile(couponkit.Drift{Kind: couponkit.DriftMissing, CouponID: c.ID, Repaired: true})
	w.checkout(t, w.request("mine"))
	c, err = w.Update(t.Context(), c.ID, coupon.Patch{MaxUses: coupon.Set(7), Name: coupon.Set("For members")})
	require.NoError(t, err)
	require.Empty(t, c.Mirror.PromotionCodeID)
	w.wantMirrored(t, c.ID, processor.MirrorValid)
	reconcile()
	require.NoError(t, w.Delete(t.Context(), c.ID))
	require.Empty(t, w.fake.Coupons())
}
