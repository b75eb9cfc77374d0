package redemption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// replacedOrder returns an order whose payment can be paid, the order that replaces it and takes a part of it,
// and the uses of both.
func replacedOrder(t *testing.T) (old, fresh redemption.Order, oldUses, freshUses []redemption.Use) {
	t.Helper()
	old, oldUses = openOrder()
	old.Claims = append(old.Claims, eligibility.Claim{Counter: "first", Amount: 1, Limit: 1})
	oldUses[0].Claims = []eligibility.Claim{{Counter: "a", Amount: 1, Limit: 1}, {Counter: "free", Amount: 1}, {Counter: "budget", Amount: 30, Limit: 100}}
	oldUses[1].Claims = []eligibility.Claim{{Counter: "b", Amount: 1, Limit: 9}, {Counter: "budget", Amount: 40, Limit: 100}}
	old, oldUses = happens(t, old, oldUses, event(attached, "cs", 10))
	fresh, freshUses = openOrder()
	fresh.ID, fresh.Awaits, fresh.Replaces = "new", old.ID, old.ID
	freshUses = freshUses[1:]
	freshUses[0].OrderID, freshUses[0].Claims = "new", []eligibility.Claim{{Counter: "b", Amount: 1, Limit: 9}, {Counter: "budget", Amount: 20, Limit: 100}}
	return old, fresh, oldUses, freshUses
}

// A new order keeps what it takes less than the order that it replaces, of what has a limit.
func TestANewOrderKeepsWhatTheReplacedOneHolds(t *testing.T) {
	t.Parallel()
	old, fresh, oldUses, uses := replacedOrder(t)
	own := fresh.Claims
	fresh = fresh.Keep(uses, old, oldUses...)
	require.Equal(t, 3, fresh.Kept)
	require.Empty(t, cmp.Diff(own, fresh.OwnClaims()))
	require.Empty(t, cmp.Diff([]eligibility.Claim{
		{Counter: "first", Amount: 1, Limit: 1}, {Counter: "a", Amount: 1, Limit: 1}, {Counter: "budget", Amount: 50, Limit: 100},
	}, fresh.Claims[len(own):]))
	held := redemption.Holdings(fresh, uses...)
	for counter, want := range redemption.Holdings(old, oldUses...) {
		if counter != "free" {
			require.Equal(t, want, held[counter], counter)
		}
	}
	require.Zero(t, fresh.Keep(uses, fresh, uses...).Kept-fresh.Kept, "there is no more to keep")
	for _, kept := range []int{-1, 99} { // as damaged records can have
		fresh.Kept = kept
		require.LessOrEqual(t, len(fresh.OwnClaims()), len(fresh.Claims))
	}
}

// What a third order keeps is what the first one needs, whatever its own claims were before it was replaced.
func TestAThirdOrderKeepsWhatTheFirstOneNeeds(t *testing.T) {
	t.Parallel()
	old, fresh, oldUses, uses := replacedOrder(t)
	want := fresh.Keep(uses, old, oldUses...)
	old, oldUses, err := old.Replace("second", at(20), oldUses...)
	require.NoError(t, err)
	require.Empty(t, redemption.Holdings(old, oldUses...))
	require.Empty(t, cmp.Diff(want, fresh.Keep(uses, old, oldUses...)))
}

// What an order keeps is freed when its payment begins, and when it ends or is replaced.
func TestKeptClaimsAreFreed(t *testing.T) {
	t.Parallel()
	old, fresh, oldUses, uses := replacedOrder(t)
	fresh = fresh.Keep(uses, old, oldUses...)
	for _, e := range []redemption.Event{
		event(begun, "", 20), event(cancel, "", 20), event(lapsed, "", 1500), event(paid, "cs", 1500), event(pending, "cs", 1500),
	} {
		e.OrderID = fresh.ID
		next, _, err := fresh.After(e, uses...)
		require.NoError(t, err, e.Kind)
		require.Zero(t, next.Kept, e.Kind)
		require.Empty(t, cmp.Diff(fresh.OwnClaims(), next.Claims), e.Kind)
	}
	next, _, err := fresh.Replace("newer", at(20), uses...)
	require.NoError(t, err)
	require.Zero(t, next.Kept)
	require.Empty(t, cmp.Diff(fresh.OwnClaims(), next.Claims))
}

// The points of a replaced order that its successor does not take are due when its payment has ended, and are
// its own again when it is paid.
func TestPointsOfAReplacedOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind redemption.EventKind
		want redemption.PointsState
	}{{expired, redemption.PointsRefundDue}, {paid, redemption.PointsDebited}} {
		old, _, uses, _ := replacedOrder(t)
		old, uses, err := old.Replace("new", at(20), uses...)
		require.NoError(t, err)
		require.Equal(t, redemption.PointsPassedOn, uses[1].PointsState)
		uses[1] = uses[1].TakeBack(at(30)) // as a store does with points that no later order wants
		require.Equal(t, []any{redemption.PointsDebited, at(30)}, []any{uses[1].PointsState, uses[1].UpdatedAt})
		require.Equal(t, uses[1], uses[1].TakeBack(at(40)), "the use has them already")
		old, uses, err = old.After(event(c.kind, "cs", 500), uses...)
		require.NoError(t, err, c.kind)
		require.Equal(t, c.want, uses[1].PointsState, c.kind)
		require.Zero(t, old.BegunAt, c.kind)
	}
}
