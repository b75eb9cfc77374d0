package pgxstore_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestABackslashIsNoNUL: the terms of a coupon are kept whatever letters they are written
// with, also those with which JSON writes a NUL. A NUL itself is refused.
func TestABackslashIsNoNUL(t *testing.T) {
	t.Parallel()
	s := newStore(t, newDatabase(t, pgxstore.Namespace{}), pgxstore.Options{})
	c := newCoupon(t, "terms")
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	for customer, test := range map[string]struct {
		text string
		err  error
	}{
		"path":   {`C:\u0000`, nil},
		"share":  {`\\u0000\u0000`, nil},
		"NUL":    {"\x00", pricing.ErrInvalid},
		"escape": {"C:\\\x00", pricing.ErrInvalid},
		"both":   {"C:\\u0000\\\\\x00", pricing.ErrInvalid},
	} {
		r := checkout(c, quote(t), customer, "k", epoch)
		if test.err == nil {
			r.Order.Coupon.Name = test.text // which may have no NUL anywhere
		}
		r.Order.Coupon.PlanIDs = coupon.NewItems(test.text)
		_, err := s.Reserve(t.Context(), r)
		require.ErrorIs(t, err, test.err, "%q", test.text)
		if test.err != nil {
			continue
		}
		got, err := s.Order(t.Context(), r.Order.ID)
		require.NoError(t, err)
		require.Equal(t, test.text, got.Coupon.Name)
		require.Equal(t, []string{test.text}, got.Coupon.PlanIDs.Slice())
	}
}

// TestAMirrorThatCannotBeKept: a text of the mirror that PostgreSQL cannot hold is named, as
// any other field of a coupon, and nothing is stored.
func TestAMirrorThatCannotBeKept(t *testing.T) {
	t.Parallel()
	s := newStore(t, newDatabase(t, pgxstore.Namespace{}), pgxstore.Options{})
	stored := newCoupon(t, "stored")
	require.NoError(t, s.CreateCoupon(t.Context(), stored))
	for field, m := range map[string]coupon.Mirror{
		"processorCouponId": {CouponID: "co\x00", PromotionCodeID: "promo", Revision: 1},
		"promotionCodeId":   {CouponID: "co", PromotionCodeID: "\xff", Revision: 1},
	} {
		created, changed := newCoupon(t, "created"), stored
		created.Mirror, changed.Mirror = m, m
		_, failed := s.UpdateCoupon(t.Context(), changed)
		_, unconfirmed := s.ConfirmMirror(t.Context(), stored.ID, m)
		for call, err := range map[string]error{
			"CreateCoupon": s.CreateCoupon(t.Context(), created), "UpdateCoupon": failed, "ConfirmMirror": unconfirmed,
		} {
			var faults *pricing.ValidationError
			require.ErrorAs(t, err, &faults, call)
			require.Len(t, faults.Fields, 1, call)
			require.Equal(t, field, faults.Fields[0].Field, call)
		}
	}
	page, err := s.ListCoupons(t.Context(), store.CouponList{})
	require.NoError(t, err)
	require.Equal(t, []coupon.Coupon{stored}, page.Items)
}

// TestATransitionNamesWhatNobodyHas: text that no order can have is no order's, and where
// the redemption would have to keep it, it is refused.
func TestATransitionNamesWhatNobodyHas(t *testing.T) {
	t.Parallel()
	s := newStore(t, newDatabase(t, pgxstore.Namespace{}), pgxstore.Options{})
	c := newCoupon(t, "points", func(c *coupon.Coupon) { c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 50 })
	require.NoError(t, s.CreateCoupon(t.Context(), c))
	for customer, order := range map[string]string{"NUL": "a\x00", "binary": "\xff", "long": strings.Repeat("x", redemption.MaxIDLength+1)} {
		r := checkout(c, quote(t), customer, "k", epoch)
		byPointsInstead(&r)
		_, err := s.Reserve(t.Context(), r)
		require.NoError(t, err)
		transition := func(kind redemption.EventKind) (redemption.Redemption, error) {
			return s.Transition(t.Context(), r.Redemption.ID, redemption.Event{Kind: kind, At: epoch, OrderID: order})
		}
		_, err = transition(redemption.PointsExchanged)
		require.NoError(t, err, customer)
		_, err = transition(redemption.TakenOver)
		require.ErrorIs(t, err, pricing.ErrInvalid, customer)
		got, err := transition(redemption.Cancelled)
		require.NoError(t, err, customer)
		require.Equal(t, redemption.Released, got.State, customer)
	}
}
