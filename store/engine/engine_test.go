package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

func diff(want, got any) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.Comparer(func(a, b error) bool {
		if a == nil || b == nil {
			return a == nil && b == nil
		}
		return a.Error() == b.Error()
	}))
}

// world draws requests about a few customers, coupons, orders and sessions.
type world struct{ made int }

func (w *world) coupons() []engine.Coupon {
	return []engine.Coupon{active("cpn_limited", false), active("cpn_free", true), active("cpn_points", false), {ID: "cpn_off", State: coupon.Inactive, Revision: 1}}
}

func (w *world) request(t *rapid.T) store.Reservation {
	customer := rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "customer")
	w.made++
	id := fmt.Sprint(w.made)
	if rapid.IntRange(0, 4).Draw(t, "points") == 0 {
		r := exchange(id, customer, "cpn_points")
		r.Uses[0].Key = "key_" + rapid.SampledFrom([]string{id, "1", "2"}).Draw(t, "use key")
		return r
	}
	all := []string{"cpn_limited", "cpn_free", "cpn_points", "cpn_off"}
	coupons := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, 3, rapid.ID[string]).Draw(t, "coupons")
	if rapid.IntRange(0, 3).Draw(t, "active only") > 0 {
		coupons = slices.DeleteFunc(coupons, func(c string) bool { return c == "cpn_off" })
	}
	r := order(id, customer, coupons...)
	r.Order.Claims = []eligibility.Claim{claim(eligibility.CustomerOrders(customer), 1, 0), claim("shared/budget", rapid.Int64Range(1, 40).Draw(t, "amount"), 100)}
	for i := range r.Uses {
		u := &r.Uses[i]
		u.Claims = []eligibility.Claim{claim(eligibility.CouponUses(u.CouponID), 1, map[string]int64{"cpn_limited": 3}[u.CouponID]), claim(eligibility.CustomerUses(u.CouponID, customer), 1, 2)}
	}
	if rapid.IntRange(0, 3).Draw(t, "old key") == 0 {
		r.Order.Key = "key_" + fmt.Sprint(rapid.IntRange(1, w.made).Draw(t, "key"))
		r.Order.Fingerprint = rapid.SampledFrom([]string{"", "other"}).Draw(t, "fingerprint")
	}
	if rapid.IntRange(0, 9).Draw(t, "old ID") == 0 {
		r.Order.ID = "ord_" + fmt.Sprint(rapid.IntRange(1, w.made).Draw(t, "ID"))
		for i := range r.Uses {
			r.Uses[i].OrderID = r.Order.ID
		}
	}
	if rapid.Bool().Draw(t, "hand-over") {
		r.Order.Replaces = "ord_" + fmt.Sprint(rapid.IntRange(1, w.made).Draw(t, "replaces"))
	}
	if len(coupons) > 0 && coupons[0] == "cpn_points" && rapid.Bool().Draw(t, "takes points") {
		return taking(r, "use_"+fmt.Sprint(rapid.IntRange(1, w.made).Draw(t, "exchange")))
	}
	return r
}

func (w *world) event(t *rapid.T) store.Settlement {
	w.made++
	number := fmt.Sprint(rapid.IntRange(1, w.made).Draw(t, "number"))
	kind := redemption.EventKind(rapid.IntRange(1, 10).Draw(t, "kind"))
	s := event(kind, "ord_"+number, rapid.SampledFrom([]string{"cs_" + number, "cs_" + number, "", "cs_1"}).Draw(t, "session"))
	if kind.OfUse() {
		s.Event.UseID = rapid.SampledFrom([]string{"use_" + number, "use_" + number + "_cpn_points"}).Draw(t, "use")
	}
	if kind == redemption.Lapsed {
		s.Event.At = at(rapid.SampledFrom([]int{500, 3000}).Draw(t, "at"))
	}
	if kind == redemption.Paid && rapid.Bool().Draw(t, "unknown") {
		s.Unknown = unknown(fmt.Sprint(w.made), s.Event.SessionID)
	}
	if kind == redemption.Paid {
		for _, card := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 0, 2, rapid.ID[string]).Draw(t, "cards") {
			s.Event.Learned = append(s.Event.Learned, eligibility.AliasIdentity(card))
		}
	}
	return s
}

func unknown(id, session string) store.Reservation {
	r := order("lost"+id, "", "cpn_limited")
	r.Order.Key, r.Order.State, r.Order.SessionID = "", redemption.OrderPaid, session
	r.Uses[0].State, r.Uses[0].Origin = redemption.Completed, redemption.FromPayment
	r.Uses[0].Claims = []eligibility.Claim{claim(eligibility.CouponUses("cpn_limited"), 1, 3)}
	return r
}

// settle runs events as a store does: those that need a transaction of their own come last.
func settle(ctx context.Context, t *rapid.T, db *tables, answers []engine.Answer[store.Settled], events []store.Settlement) {
	for i, a := range answers {
		if errors.Is(a.Err, engine.ErrAlone) {
			answers[i].Value, answers[i].Err = engine.ApplyLate(ctx, db, 2, events[i])
			if errors.Is(answers[i].Err, engine.ErrAgain) {
				t.Fatalf("ApplyLate met another transaction, and there is none")
			}
		}
	}
}

// TestBatches: a batch of requests has the answers, and leaves the rows, that its requests
// would have had one after the other.
func TestBatches(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w world
		together, alone := newTables(w.coupons()...), newTables(w.coupons()...)
		ctx := context.Background() //nolint:usetesting // rapid has no context of its own
		for range rapid.IntRange(1, 8).Draw(t, "batches") {
			n := rapid.IntRange(1, 6).Draw(t, "requests")
			if rapid.Bool().Draw(t, "events") {
				events := make([]store.Settlement, n)
				for i := range events {
					events[i] = w.event(t)
				}
				got, err := engine.Apply(ctx, together, 1, events...)
				require.NoError(t, err)
				want := make([]engine.Answer[store.Settled], n)
				for i, e := range events {
					one, err := engine.Apply(ctx, alone, i, e)
					require.NoError(t, err)
					want[i] = one[0]
				}
				settle(ctx, t, together, got, events)
				settle(ctx, t, alone, want, events)
				require.Empty(t, diff(want, got), "events %+v", events)
			} else {
				requests := make([]store.Reservation, n)
				for i := range requests {
					requests[i] = w.request(t)
				}
				got, err := together.reserve(ctx, 1, requests...)
				require.NoError(t, err)
				want := make([]engine.Answer[store.Reserved], n)
				for i, r := range requests {
					one, err := alone.reserve(ctx, i, r)
					require.NoError(t, err)
					want[i] = one[0]
				}
				require.Empty(t, diff(want, got), "requests %+v", requests)
			}
		}
		require.Empty(t, diff(alone.state(), together.state()))
		holdWhatRecordsHold(t, together)
	})
}

// holdWhatRecordsHold: every counter is the sum of what the records hold.
func holdWhatRecordsHold(t *rapid.T, db *tables) {
	want := map[string]eligibility.Count{}
	for _, o := range db.orders {
		for key, count := range redemption.Holdings(o) {
			want[key] = want[key].Plus(count)
		}
	}
	for _, u := range db.uses {
		for key, count := range redemption.Holdings(redemption.Order{}, u) {
			want[key] = want[key].Plus(count)
		}
	}
	for key, count := range db.state().Counters {
		require.Equal(t, want[key], count, key)
	}
}

// TestAnotherWasFirst: a row that another transaction has inserted since Load is ErrAgain,
// and the thorough run finds it and saves only what is still right.
func TestAnotherWasFirst(t *testing.T) {
	t.Parallel()
	request := func(id, customer string) store.Reservation {
		r := order(id, customer, "cpn_a")
		r.Uses[0].Claims = []eligibility.Claim{claim(eligibility.CouponUses("cpn_a"), 1, 2)}
		return r
	}
	first := request("1", "ann")
	sameKey := request("2", "ann")
	sameKey.Order.Key = first.Order.Key
	otherCart := sameKey
	otherCart.Order.Fingerprint = "other"
	sameID := request("3", "bob")
	sameID.Order.ID, sameID.Uses[0].OrderID = first.Order.ID, first.Order.ID
	sameUse := request("4", "bob")
	sameUse.Uses[0].ID = first.Uses[0].ID
	last := request("5", "bob")
	last.Uses[0].Claims[0].Limit = 1
	for name, test := range map[string]struct {
		r    store.Reservation
		want error
	}{
		"the same key": {sameKey, nil}, "the key of another request": {otherCart, store.ErrKeyReused}, "the same order ID": {sameID, store.ErrConflict},
		"the same use ID": {sameUse, store.ErrConflict}, "the last use": {last, store.ErrLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newTables(active("cpn_a", false))
			db.meanwhile = func() {
				_, err := db.attempt(t.Context(), 0, true, first)
				require.NoError(t, err)
			}
			_, err := db.attempt(t.Context(), 0, false, test.r)
			require.ErrorIs(t, err, engine.ErrAgain)
			answers, err := db.attempt(t.Context(), 0, true, test.r)
			require.NoError(t, err)
			if test.want != nil {
				require.ErrorIs(t, answers[0].Err, test.want)
			} else {
				require.True(t, answers[0].Value.Replayed)
				require.Equal(t, first.Order.ID, answers[0].Value.Order.ID)
			}
			require.Equal(t, eligibility.Count{Reserved: 1}, db.total(eligibility.CouponUses("cpn_a")))
			require.Len(t, db.orders, 1)
		})
	}
}

// TestRefusedTooSoon: a request waits for the counters of another transaction, which stores
// its key or its points meanwhile. What it would have been refused for is no reason. That an
// ID is taken comes last.
func TestRefusedTooSoon(t *testing.T) {
	t.Parallel()
	request := func(id, customer string) store.Reservation {
		r := order(id, customer, "cpn_a")
		r.Uses[0].Claims = []eligibility.Claim{claim(eligibility.CouponUses("cpn_a"), 1, 1)}
		return r
	}
	first := request("1", "ann")
	sameKey := request("2", "ann")
	sameKey.Order.Key = first.Order.Key
	sameID := request("3", "bob")
	sameID.Order.ID, sameID.Uses[0].OrderID = first.Order.ID, first.Order.ID
	for name, test := range map[string]struct {
		r    store.Reservation
		want error // of the run itself
	}{"the same key": {sameKey, engine.ErrAgain}, "the same order ID": {sameID, nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newTables(active("cpn_a", false))
			db.counters[cell{eligibility.CouponUses("cpn_a"), 0}] = eligibility.Count{Reserved: 1} // those of the first request
			db.committed = func() { db.orders[first.Order.ID], db.uses[first.Uses[0].ID] = first.Order, first.Uses[0] }
			answers, err := db.attempt(t.Context(), 0, false, test.r)
			require.ErrorIs(t, err, test.want)
			if test.want == nil {
				require.ErrorIs(t, answers[0].Err, store.ErrLimit)
				return
			}
			answers, err = db.attempt(t.Context(), 0, true, test.r)
			require.NoError(t, err)
			require.NoError(t, answers[0].Err)
			require.Equal(t, first.Order.ID, answers[0].Value.Order.ID)
		})
	}
	held := exchange("p", "ann", "cpn_a")
	db := newTables(active("cpn_a", false))
	db.committed = func() { db.uses[held.Uses[0].ID] = held.Uses[0] }
	_, err := db.attempt(t.Context(), 0, false, taking(order("4", "ann", "cpn_a"), held.Uses[0].ExchangeID))
	require.ErrorIs(t, err, engine.ErrAgain)
}

// TestAnAwaitedOrderIsLockedWithTheReplacedOne: a third order locks the order that it replaces and the order that
// this one waits for together, in the sequence of their IDs, and not one after the other.
func TestAnAwaitedOrderIsLockedWithTheReplacedOne(t *testing.T) {
	t.Parallel()
	db := newTables(active("cpn_a", true))
	request := func(id, replaces string) store.Reservation {
		r := order(id, "ann", "cpn_a")
		r.Order.Replaces = replaces
		return r
	}
	first := request("2", "")
	first.Order.BegunAt = first.Order.CreatedAt
	ids := make([]string, 0, 2)
	for _, r := range []store.Reservation{first, request("1", first.Order.ID)} {
		answers, err := db.attempt(t.Context(), 0, false, r)
		require.NoError(t, err)
		require.NoError(t, answers[0].Err)
		ids = append(ids, r.Order.ID)
	}
	slices.Sort(ids)
	third := request("3", order("1", "ann").Order.ID)
	_, err := db.attempt(t.Context(), 0, false, third)
	require.ErrorIs(t, err, engine.ErrAgain)
	db.loads = nil
	answers, err := db.attempt(t.Context(), 0, true, third)
	require.NoError(t, err)
	require.NoError(t, answers[0].Err)
	require.Equal(t, first.Order.ID, answers[0].Value.Order.Awaits)
	locked := slices.DeleteFunc(db.loads, func(n engine.Need) bool { return n.Peek || len(n.OrderIDs) == 0 })
	require.Len(t, locked, 1)
	require.Subset(t, locked[0].OrderIDs, ids)
	require.True(t, slices.IsSorted(locked[0].OrderIDs))
}

// TestRefusedWithTwoInstants: a request waits for a counter, and another of its counters comes
// to be meanwhile. It is refused for all that is exceeded at one instant.
func TestRefusedWithTwoInstants(t *testing.T) {
	t.Parallel()
	coupons, customers := eligibility.CouponUses("cpn_a"), eligibility.CustomerUses("cpn_a", "ann")
	r := order("1", "ann", "cpn_a")
	r.Uses[0].Claims = []eligibility.Claim{claim(customers, 1, 1), claim(coupons, 1, 1)}
	db := newTables(active("cpn_a", false))
	db.counters[cell{coupons, 0}] = eligibility.Count{Reserved: 1}
	db.committed = func() { db.counters[cell{customers, 0}] = eligibility.Count{Reserved: 1} }
	_, err := db.attempt(t.Context(), 0, false, r)
	require.ErrorIs(t, err, engine.ErrAgain)
	answers, err := db.attempt(t.Context(), 0, true, r)
	require.NoError(t, err)
	limit := (*store.LimitError)(nil)
	require.ErrorAs(t, answers[0].Err, &limit)
	require.Empty(t, cmp.Diff(r.Uses[0].Claims, limit.Exceeded))
}

// TestLateCounters: Save finds out whether the counters that all customers share have moved
// since Load so far that a request would have been answered otherwise.
func TestLateCounters(t *testing.T) {
	t.Parallel()
	uses := eligibility.CouponUses("cpn_a")
	request := func(id string, limit int64) store.Reservation {
		r := order(id, id, "cpn_a")
		r.Uses[0].Claims = []eligibility.Claim{claim(uses, 1, limit)}
		return r
	}
	for name, test := range map[string]struct {
		requests       []store.Reservation
		before, others int64 // reserved, and what others add meanwhile
		want           error
	}{
		"room for all":             {[]store.Reservation{request("1", 10), request("2", 10)}, 3, 5, nil},
		"no room for the last":     {[]store.Reservation{request("1", 10), request("2", 10)}, 3, 6, engine.ErrAgain},
		"no room by a lower limit": {[]store.Reservation{request("1", 4), request("2", 10)}, 3, 1, engine.ErrAgain},
		"one is refused":           {[]store.Reservation{request("1", 4), request("2", 4)}, 3, 0, nil},
		"none was to be refused":   {[]store.Reservation{request("1", 4), request("2", 4)}, 3, -1, engine.ErrAgain},
		"refused by others":        {[]store.Reservation{request("1", 4), request("2", 4)}, 3, 1, engine.ErrAgain},
		"refused, still":           {[]store.Reservation{order("1", "1"), request("2", 3)}, 3, 1, nil},
		"refused, not any more":    {[]store.Reservation{order("1", "1"), request("2", 3)}, 3, -1, engine.ErrAgain},
		"without a limit":          {[]store.Reservation{request("1", 0)}, 3, 100, nil},
		"the highest limit":        {[]store.Reservation{request("1", math.MaxInt64)}, 3, 100, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newTables(active("cpn_a", false))
			db.counters[cell{uses, 0}] = eligibility.Count{Reserved: test.before}
			db.meanwhile = func() {
				db.counters[cell{uses, 0}] = eligibility.Count{Reserved: test.before + test.others}
			}
			_, err := db.attempt(t.Context(), 0, false, test.requests...)
			require.ErrorIs(t, err, test.want)
			require.Equal(t, db.loads[0].Late, slices.DeleteFunc(slices.Clone(db.loads[0].Counters), func(c string) bool { return c != uses }))
		})
	}
}

// TestExchangesAtOnce: two exchanges of one customer meet at the customer's counter, though
// it has no limit.
func TestExchangesAtOnce(t *testing.T) {
	t.Parallel()
	db := newTables(active("cpn_a", true))
	db.meanwhile = func() {
		_, err := db.attempt(t.Context(), 0, true, exchange("1", "ann", "cpn_a"))
		require.NoError(t, err)
	}
	answers, err := db.reserve(t.Context(), 0, exchange("2", "ann", "cpn_a"))
	require.NoError(t, err)
	require.True(t, answers[0].Value.Replayed)
	require.Equal(t, "use_1", answers[0].Value.Uses[0].ID)
	require.Len(t, db.uses, 1)
}

// TestAlone: Apply does not decide late payments and unknown payments, and goes on with the
// rest. ApplyLate decides every event as Apply does.
func TestAlone(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_limited", false))
	_, err := db.reserve(ctx, 0, order("1", "ann"), order("2", "bob"))
	require.NoError(t, err)
	lost := event(redemption.Paid, "ord_none", "cs_lost")
	lost.Unknown = unknown("", "cs_lost")
	answers, err := engine.Apply(ctx, db, 0,
		event(redemption.Cancelled, "ord_1", ""), event(redemption.Paid, "ord_1", "cs_1"), lost, event(redemption.Paid, "ord_2", "cs_2"), event(redemption.Paid, "ord_none", "cs_none"))
	require.NoError(t, err)
	require.NoError(t, answers[0].Err)
	require.ErrorIs(t, answers[1].Err, engine.ErrAlone)
	require.ErrorIs(t, answers[2].Err, engine.ErrAlone)
	require.True(t, answers[3].Value.Changed)
	require.Equal(t, engine.Answer[store.Settled]{}, answers[4])
	late, err := engine.ApplyLate(ctx, db, 0, event(redemption.Paid, "ord_1", "cs_1"))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderPaid, late.Order.State)
	for range 2 {
		recorded, err := engine.ApplyLate(ctx, db, 0, lost)
		require.NoError(t, err)
		require.Equal(t, lost.Unknown.Order.ID, recorded.Order.ID)
	}
	require.Equal(t, eligibility.Count{Completed: 1}, db.total(eligibility.CouponUses("cpn_limited")))
}

// TestUnknownAtOnce: the session of an unknown payment is unique. Whoever comes second finds
// the order of the first.
func TestUnknownAtOnce(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_limited", false))
	one, two := event(redemption.Paid, "", "cs_lost"), event(redemption.Paid, "", "cs_lost")
	one.Unknown, two.Unknown = unknown("1", "cs_lost"), unknown("2", "cs_lost")
	db.meanwhile = func() {
		_, err := engine.ApplyLate(ctx, db, 0, one)
		require.NoError(t, err)
	}
	_, err := engine.ApplyLate(ctx, db, 0, two)
	require.ErrorIs(t, err, engine.ErrAgain)
	got, err := engine.ApplyLate(ctx, db, 0, two)
	require.NoError(t, err)
	require.False(t, got.Changed)
	require.Equal(t, one.Unknown.Order.ID, got.Order.ID)

	late, r := event(redemption.Paid, "ord_late", "cs_late"), order("late", "ann", "cpn_limited")
	late.Unknown = unknown("3", "cs_late")
	db.committed = func() { db.orders[r.Order.ID], db.uses[r.Uses[0].ID] = r.Order, r.Uses[0] }
	_, err = engine.ApplyLate(ctx, db, 0, late)
	require.ErrorIs(t, err, engine.ErrAgain, "its order was stored meanwhile")
	got, err = engine.ApplyLate(ctx, db, 0, late)
	require.NoError(t, err)
	require.Equal(t, r.Order.ID, got.Order.ID)
}

// TestSpreadCounters: the uses of an unlimited coupon go to the row of the transaction, and
// decide nothing; those of a limited one stand in the first row.
func TestSpreadCounters(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_free", true), active("cpn_limited", false))
	uses := func(id string, limit int64) store.Reservation {
		r := order(id, "ann", "cpn_free", "cpn_limited")
		r.Uses[0].Claims = []eligibility.Claim{claim(eligibility.CouponUses("cpn_free"), 1, limit)}
		r.Uses[1].Claims = []eligibility.Claim{claim(eligibility.CouponUses("cpn_limited"), 1, 9)}
		return r
	}
	for row := range 3 {
		_, err := db.reserve(ctx, row, uses(fmt.Sprint(row), 0))
		require.NoError(t, err)
		require.Equal(t, eligibility.Count{Reserved: 1}, db.counters[cell{eligibility.CouponUses("cpn_free"), row}])
	}
	require.Equal(t, eligibility.Count{Reserved: 3}, db.counters[cell{eligibility.CouponUses("cpn_limited"), 0}])
	answers, err := db.reserve(ctx, 5, uses("limit", 1))
	require.NoError(t, err)
	require.ErrorIs(t, answers[0].Err, store.ErrStaleRevision)
	_, err = engine.Apply(ctx, db, 7, event(redemption.Paid, "ord_0", "cs_0"))
	require.NoError(t, err)
	require.Equal(t, eligibility.Count{Reserved: -1, Completed: 1}, db.counters[cell{eligibility.CouponUses("cpn_free"), 7}])
	require.Equal(t, eligibility.Count{Reserved: 2, Completed: 1}, db.total(eligibility.CouponUses("cpn_free")))
}

// TestNothingToSave: requests that change nothing save nothing.
func TestNothingToSave(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_a", false))
	r := order("1", "ann", "cpn_a")
	_, err := db.reserve(ctx, 0, r)
	require.NoError(t, err)
	saves := db.saves
	_, err = db.reserve(ctx, 0, r, order("2", "ann", "cpn_none"))
	require.NoError(t, err)
	_, err = engine.Apply(ctx, db, 0, event(redemption.SessionExpired, "ord_none", "cs_none"), event(redemption.Cancelled, "ord_none", ""))
	require.NoError(t, err)
	_, err = engine.ApplyLate(ctx, db, 0, event(redemption.Paid, "ord_none", "cs_none"))
	require.NoError(t, err)
	require.Equal(t, saves, db.saves)
}

// TestOnlyChangesAreSaved: a session that is attached changes the order alone, and needs no coupon.
// A payment changes the use too, and needs to know of the coupon how its uses are counted.
func TestOnlyChangesAreSaved(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables(active("cpn_a", false))
	_, err := db.reserve(ctx, 0, order("1", "ann", "cpn_a"))
	require.NoError(t, err)
	for uses, kind := range []redemption.EventKind{redemption.SessionAttached, redemption.Paid} {
		_, err = engine.Apply(ctx, db, 0, event(kind, "ord_1", "cs_1"))
		require.NoError(t, err)
		require.Len(t, db.last.Orders, 1)
		require.Len(t, db.last.Uses, uses)
		require.Equal(t, uses > 0, db.loads[len(db.loads)-1].CouponsOfOrders)
	}
}

// TestNeeds: keys are sorted and none stands twice, so that transactions lock rows in one
// order.
func TestNeeds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w world
		db := newTables(w.coupons()...)
		requests := []store.Reservation{w.request(t), w.request(t), w.request(t)}
		events := []store.Settlement{w.event(t), w.event(t), w.event(t)}
		ctx := context.Background() //nolint:usetesting // rapid has no context of its own
		_, err := db.reserve(ctx, 0, requests...)
		require.NoError(t, err)
		_, err = engine.Apply(ctx, db, 0, events...)
		require.NoError(t, err)
		for _, n := range db.loads {
			for _, keys := range [][]string{n.OrderIDs, n.Sessions, n.UseIDs, n.Exchanges, n.Coupons, n.Counters} {
				sorted := slices.Clone(keys)
				slices.Sort(sorted)
				require.Equal(t, slices.Compact(sorted), keys)
			}
		}
	})
}

// TestSessionsWithinABatch: a request finds the session that an earlier one has attached.
func TestSessionsWithinABatch(t *testing.T) {
	t.Parallel()
	ctx, db := t.Context(), newTables()
	_, err := db.reserve(ctx, 0, order("1", "ann"), order("2", "bob"))
	require.NoError(t, err)
	answers, err := engine.Apply(ctx, db, 0,
		event(redemption.SessionAttached, "ord_1", "cs"), event(redemption.SessionAttached, "ord_2", "cs"), event(redemption.Paid, "ord_2", "cs"))
	require.NoError(t, err)
	require.NoError(t, answers[0].Err)
	require.ErrorIs(t, answers[1].Err, store.ErrSuperseded)
	require.Equal(t, "ord_1", answers[2].Value.Order.ID)
	require.Equal(t, redemption.OrderOpen, db.orders["ord_2"].State)
	require.Empty(t, db.orders["ord_2"].SessionID)
}

// TestUsesAreSorted: uses are sorted by coupon, in whatever order rows are loaded.
func TestUsesAreSorted(t *testing.T) {
	t.Parallel()
	coupons := []string{"cpn_d", "cpn_b", "cpn_a", "cpn_c", "cpn_e"}
	db := newTables()
	for _, id := range coupons {
		db.coupons[id] = active(id, false)
	}
	r := order("1", "ann", coupons...)
	for range 20 { // the order of the rows changes
		reserved, err := db.reserve(t.Context(), 0, r)
		require.NoError(t, err)
		settled, err := engine.Apply(t.Context(), db, 0, event(redemption.SessionAttached, "ord_1", "cs"))
		require.NoError(t, err)
		for _, uses := range [][]redemption.Use{reserved[0].Value.Uses, settled[0].Value.Uses} {
			var got []string
			for _, u := range uses {
				got = append(got, u.CouponID)
			}
			require.Equal(t, []string{"cpn_a", "cpn_b", "cpn_c", "cpn_d", "cpn_e"}, got)
		}
	}
}

// TestOldestHeld: of several reservations that a customer holds, the oldest is replayed.
func TestOldestHeld(t *testing.T) {
	t.Parallel()
	db := newTables(active("cpn_a", false))
	for id, created := range map[string]int{"1": 30, "2": 10, "3": 20} {
		u := exchange(id, "ann", "cpn_a").Uses[0]
		u.CreatedAt = at(created)
		db.uses[u.ID] = u
	}
	answers, err := db.reserve(t.Context(), 0, exchange("4", "ann", "cpn_a"))
	require.NoError(t, err)
	require.Equal(t, "use_2", answers[0].Value.Uses[0].ID)
}
