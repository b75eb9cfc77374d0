package memstore_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// TestNoCallTakesTheSessionOfAnother: every call that could bring a record a session is
// refused one that another redemption has, and leaves nothing behind.
func TestNoCallTakesTheSessionOfAnother(t *testing.T) {
	t.Parallel()
	s, taken, free := memstore.New(), "cs_taken", "cs_free"
	first, second := newCoupon(t, "first", coupon.Limits{}), newCoupon(t, "second", coupon.Limits{})
	require.NoError(t, s.CreateCoupon(t.Context(), first))
	require.NoError(t, s.CreateCoupon(t.Context(), second))
	_, err := s.Settle(t.Context(), payment(reservation(first, "ann", "paid"), taken, "rsv_paid"))
	require.NoError(t, err)
	waiting := reservation(second, "ann", "waiting")
	_, err = s.Reserve(t.Context(), waiting)
	require.NoError(t, err)
	begun := reservation(second, "ann", "begun")
	for name, bring := range map[string]func(session string) error{
		"Reserve": func(session string) error {
			begun.Redemption.SessionID = session
			_, err := s.Reserve(t.Context(), begun)
			return err
		},
		"Transition": func(session string) error {
			_, err := s.Transition(t.Context(), waiting.Redemption.ID, redemption.Event{
				Kind: redemption.SessionAttached, At: noon(), SessionID: session, OrderID: waiting.Order.ID,
			})
			return err
		},
	} {
		require.ErrorIs(t, bring(taken), store.ErrSuperseded, name)
		require.NoError(t, bring(free+name), name)
	}
	paid, err := s.Redemption(t.Context(), "rsv_paid")
	require.NoError(t, err)
	if diff := cmp.Diff([]string{taken, "completed"}, []string{paid.SessionID, paid.State.String()}); diff != "" {
		t.Errorf("the redemption that has the session (-want +got):\n%s", diff)
	}
}
