package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// limited returns an order with one use of cpn_a, which each customer may use once.
func limited(id, customer string) store.Reservation {
	r := order(id, customer, "cpn_a")
	r.Order.Claims = []eligibility.Claim{claim(eligibility.CustomerOrders(customer), 1, 0)}
	r.Uses[0].Claims = []eligibility.Claim{claim(eligibility.CustomerUses("cpn_a", customer), 1, 1), claim(eligibility.CouponUses("cpn_a"), 1, 9)}
	return r
}

func learning(id string, identities ...string) store.Settlement {
	s := event(redemption.Paid, "ord_"+id, "cs_"+id)
	s.Event.Learned = identities
	return s
}

// TestLearned: a payment takes the claims of identities that it tells of, and flags the use if
// they do not fit. All counters of customers are locked in one step. The same event changes nothing.
func TestLearned(t *testing.T) {
	t.Parallel()
	ctx, db, card := t.Context(), newTables(active("cpn_a", false)), eligibility.AliasIdentity("card")
	_, err := db.reserve(ctx, 0, limited("1", "ann"), limited("2", "bob"))
	require.NoError(t, err)
	db.loads = nil
	answers, err := engine.Apply(ctx, db, 0, learning("1", card), learning("2", card))
	require.NoError(t, err)
	require.Equal(t, []bool{false, true}, []bool{answers[0].Value.Uses[0].OverLimit, answers[1].Value.Uses[0].OverLimit})
	require.Len(t, db.loads, 2)
	require.Equal(t, []string{
		eligibility.CustomerOrders(card), eligibility.CustomerOrders("ann"), eligibility.CustomerOrders("bob"),
		eligibility.CustomerUses("cpn_a", card), eligibility.CustomerUses("cpn_a", "ann"), eligibility.CustomerUses("cpn_a", "bob"),
	}, db.loads[1].Counters)
	require.Len(t, db.last.GrownOrders, 2)
	require.Len(t, db.last.GrownUses, 2)
	require.Equal(t, eligibility.Count{Completed: 2}, db.total(eligibility.CustomerUses("cpn_a", card)))
	require.Equal(t, eligibility.Count{Completed: 2}, db.total(eligibility.CustomerOrders(card)))
	saves := db.saves
	for range 2 {
		settled, err := engine.ApplyLate(ctx, db, 0, learning("2", card))
		require.NoError(t, err)
		require.False(t, settled.Changed)
		require.True(t, settled.Uses[0].OverLimit)
	}
	require.Equal(t, saves, db.saves)
}

// TestLearnedLater: a paid order that learns of an identity changes once more. It is not paid
// once more, and a flag stays.
func TestLearnedLater(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_a", false))
	one, two := eligibility.AliasIdentity("one"), eligibility.AliasIdentity("two")
	_, err := db.reserve(ctx, 0, limited("1", "ann"), limited("2", "bob"))
	require.NoError(t, err)
	for _, s := range []store.Settlement{learning("1", one), learning("2"), learning("2", one), learning("2", one, two)} {
		answers, err := engine.Apply(ctx, db, 0, s)
		require.NoError(t, err)
		require.True(t, answers[0].Value.Changed)
	}
	var kinds []store.EntryKind
	for _, e := range db.entries {
		if e.Subject == "ord_2" {
			kinds = append(kinds, e.Kind)
		}
	}
	require.Equal(t, []store.EntryKind{store.OrderOpened, store.OrderPaid, store.OrderChanged, store.OrderChanged}, kinds)
	require.True(t, db.uses["use_2_cpn_a"].OverLimit)
	require.Equal(t, eligibility.Count{Completed: 1}, db.total(eligibility.CustomerUses("cpn_a", two)))
}

// TestLearnedLate: a late payment takes its claims again together with those that it adds.
func TestLearnedLate(t *testing.T) {
	t.Parallel()
	ctx, db, card := t.Context(), newTables(active("cpn_a", false)), eligibility.AliasIdentity("card")
	_, err := db.reserve(ctx, 0, limited("1", "ann"), limited("2", "bob"))
	require.NoError(t, err)
	_, err = engine.Apply(ctx, db, 0, learning("2", card), event(redemption.Cancelled, "ord_1", ""))
	require.NoError(t, err)
	late, err := engine.ApplyLate(ctx, db, 0, learning("1", card))
	require.NoError(t, err)
	require.True(t, late.Uses[0].OverLimit)
	require.Equal(t, eligibility.Count{Completed: 1}, db.total(eligibility.CustomerUses("cpn_a", "ann")))
	require.Equal(t, eligibility.Count{Completed: 2}, db.total(eligibility.CustomerUses("cpn_a", card)))
}

// TestLearnedInABatch: an order that an earlier event has given its session learns, too.
func TestLearnedInABatch(t *testing.T) {
	t.Parallel()
	ctx, db, card := t.Context(), newTables(active("cpn_a", false)), eligibility.AliasIdentity("card")
	_, err := db.reserve(ctx, 0, limited("1", "ann"), limited("2", "bob"))
	require.NoError(t, err)
	nameless := learning("2", card)
	nameless.Event.OrderID = ""
	answers, err := engine.Apply(ctx, db, 0, learning("1", card), event(redemption.SessionAttached, "ord_2", "cs_2"), nameless)
	require.NoError(t, err)
	require.True(t, answers[2].Value.Uses[0].OverLimit)
	require.Equal(t, eligibility.Count{Completed: 2}, db.total(eligibility.CustomerUses("cpn_a", card)))
}
