package pgxstore_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// meeting is something that is done with checkouts in a transaction, and what others do
// while that is open.
type meeting struct {
	checkouts []checkedOut // one of an unlimited coupon if there is nothing
	before    []deed
	first     deed
	second    step
}

// deed is something that is done by itself in both schemas, maybe in a transaction.
type deed func(*staged) func(place) error

// place is a schema, or a transaction in it.
type place struct {
	store  *pgxstore.Store
	schema string
	on     querier
}

// The calls that may be joined, by their place in joinedCalls, and those that may not.
const (
	settling = iota
	transiting
	attaching
	takingOver
)

// Kinds of settlements. That of cancellations is 0, and a session's is part of its URL.
const (
	paid    = 0
	failed  = 4
	expired = 5
)

var (
	cancelled = call{Session: nothing} // without a session
	// ofNothing is a payment with a coupon, and of nothing that is stored.
	ofNothing = call{Kind: paid, Session: unknown, Order: nothing, Reservation: nothing}
	// otherwise is the payment of an order in a session that its reservation does not know.
	otherwise = call{Kind: paid, Session: unknown, Reservation: nothing, Coupon: nothing}
)

func one(joined int, c call) step { return step{Joined: joined, Calls: []call{c}} }

// says makes a call.
func says(joined int, c call) deed {
	return func(w *staged) func(place) error {
		j := joinedCalls[joined]
		calls := w.made(j, []call{c})
		return func(in place) error {
			_, err := query(w.tb.Context(), in.on, in.schema, j.alone, j.types, calls)
			return err
		}
	}
}

// reserves makes another checkout.
func reserves(c checkedOut) deed {
	return func(w *staged) func(place) error {
		w.Checkouts = append(w.Checkouts, c)
		reserve := w.reserving(len(w.Checkouts) - 1)
		return func(in place) error { return reserve(in.store) }
	}
}

// takesOver gives the reservation of the first checkout to another order.
func takesOver(w *staged) func(place) error {
	w.tick()
	now, err := w.single.Redemption(w.tb.Context(), w.records[0])
	require.NoError(w.tb, err)
	takeOver := w.takingOver(call{Order: second}, now)
	return func(in place) error { return takeOver(in.store) }
}

// boundsPoints gives the coupon by points a limit over all customers.
func boundsPoints(w *staged) func(place) error {
	c := w.coupons[byPoints]
	c.Limits.MaxUses = 5
	return func(in place) error {
		_, err := in.store.UpdateCoupon(w.tb.Context(), c)
		return err
	}
}

// deletesCoupon deletes that of the first checkout.
func deletesCoupon(w *staged) func(place) error {
	c := w.coupons[w.Checkouts[0].Coupon]
	return func(in place) error { return in.store.DeleteCoupon(w.tb.Context(), c.ID, c.Revision) }
}

// meetings are those in which the second waits for the first.
var meetings = map[string]meeting{
	"paid twice": {
		first: says(settling, call{Kind: paid}), second: one(settling, call{Kind: paid}),
	},
	"cancelled twice": {
		first: says(transiting, cancelled), second: one(transiting, cancelled),
	},
	"paid while it is cancelled": {
		first: says(transiting, cancelled), second: one(settling, call{Kind: paid}),
	},
	"paid by session while it is cancelled": {
		before: []deed{says(attaching, call{})}, first: says(transiting, call{}), second: one(settling, call{Kind: paid, Reservation: nothing}),
	},
	"cancelled while it is paid": {
		first: says(settling, call{Kind: paid}), second: one(transiting, cancelled),
	},
	"attached while it is paid": {
		first: says(settling, call{Kind: paid}), second: one(attaching, call{}),
	},
	"attached while another session is": {
		first: says(attaching, call{Session: second}), second: one(attaching, call{}),
	},
	"paid while another session is attached": {
		first: says(attaching, call{Session: second}), second: one(settling, call{Kind: paid}),
	},
	"paid for the order before while it is taken over": {
		first: takesOver, second: one(settling, call{Kind: paid}),
	},
	"paid for the order after while it is taken over": {
		before: []deed{says(attaching, call{})}, first: takesOver, second: one(settling, call{Kind: paid, Order: second, Reservation: nothing}),
	},
	"taken over while it is paid": {
		before: []deed{says(attaching, call{})}, first: says(settling, call{Kind: paid}), second: one(takingOver, call{Order: second}),
	},
	"taken over while the coupon is deleted": {
		first: deletesCoupon, second: one(takingOver, call{Order: second}),
	},
	"an order without a coupon expires while it is paid": {
		checkouts: []checkedOut{{Coupon: noCoupon}},
		first:     says(settling, call{Kind: paid}), second: one(settling, call{Kind: expired}),
	},
	"failed while its order is paid":    {first: says(settling, otherwise), second: one(settling, call{Kind: failed})},
	"cancelled while its order is paid": {first: says(settling, otherwise), second: one(transiting, cancelled)},
	"attached while its order is paid":  {first: says(settling, otherwise), second: one(attaching, call{})},
	"taken over while its order is paid": {
		first: says(settling, otherwise), second: one(takingOver, call{Order: second}),
	},
	"failed while its session is attached": {
		first: says(attaching, call{}), second: one(settling, call{Kind: failed, Reservation: nothing}),
	},
	"paid while it is reserved": {
		checkouts: []checkedOut{{Coupon: twoPlaces}},
		first:     reserves(checkedOut{Coupon: twoPlaces, Customer: 1}), second: one(settling, call{Of: 1, Kind: paid}),
	},
	"paid while it is reserved by points": {
		before: []deed{boundsPoints},
		first:  reserves(checkedOut{Coupon: byPoints, Customer: 1}), second: one(settling, call{Of: 1, Kind: paid}),
	},
	"paid while its coupon is deleted": {
		first: deletesCoupon, second: one(settling, call{Kind: paid}),
	},
	"the last place is paid for twice": {
		checkouts: []checkedOut{{Coupon: twoPlaces}},
		first:     says(settling, ofNothing), second: one(settling, ofNothing),
	},
	"the only use of a customer is paid for twice": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, before: []deed{says(transiting, cancelled)},
		first: says(settling, ofNothing), second: one(settling, ofNothing),
	},
	"the only use of a customer is paid for, and then late": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, before: []deed{says(transiting, cancelled)},
		first: says(settling, ofNothing), second: one(settling, call{Kind: paid}),
	},
	"the only use of a customer is paid for late, and then again": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, before: []deed{says(transiting, cancelled)},
		first: says(settling, call{Kind: paid}), second: one(settling, ofNothing),
	},
	"the only use of a customer is paid for while it is reserved": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, before: []deed{says(transiting, cancelled)},
		first: reserves(checkedOut{Coupon: oncePerCustomer}), second: one(settling, ofNothing),
	},
	"the only use of a customer is paid for late while it is reserved": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, before: []deed{says(transiting, cancelled)},
		first: reserves(checkedOut{Coupon: oncePerCustomer}), second: one(settling, call{Kind: paid}),
	},
	"the last place is given back while it is needed": {
		checkouts: []checkedOut{{Coupon: twoPlaces}, {Coupon: twoPlaces, Customer: 1}},
		before:    []deed{says(settling, call{Of: 1, Kind: paid})},
		first:     says(transiting, cancelled), second: one(settling, ofNothing),
	},
	"the last place is given back when a payment found none": {
		checkouts: []checkedOut{{Coupon: twoPlaces}, {Coupon: twoPlaces, Customer: 1}},
		before:    []deed{says(settling, call{Of: 1, Kind: paid})},
		first:     says(settling, ofNothing), second: one(transiting, cancelled),
	},
}

// TestWhoeverWaitsComesAfter: a call that needs what others have in a transaction waits
// for them, alone or in a batch, and then all is as if they had come one after the other.
func TestWhoeverWaitsComesAfter(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for name, m := range meetings {
		t.Run(name, func(t *testing.T) {
			p.meet(t, m, (*staged).oneByOne)
			if m.second.Joined != takingOver {
				p.meet(t, m, (*staged).step)
			}
		})
	}
}

// meet lets somebody do the first in a transaction, and others the second meanwhile.
func (p *pair) meet(t *testing.T, m meeting, do func(*staged, step) string) {
	t.Helper()
	w := p.stage(t, m.checkouts, m.before...)
	first := m.first(w)
	require.NoError(t, first(place{w.single, "single", w.pool}))
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(t.Context()))
	require.NoError(t, first(place{w.batched.WithTx(tx), "batched", tx}))
	difference := make(chan string, 1)
	go func() { difference <- do(w, m.second) }()
	w.waitsFor(t, tx, difference)
	require.NoError(t, tx.Commit(t.Context()))
	require.Empty(t, <-difference)
}

// stage makes the checkouts, and does with them what is done before.
func (p *pair) stage(t *testing.T, checkouts []checkedOut, before ...deed) *staged {
	t.Helper()
	if checkouts == nil {
		checkouts = []checkedOut{{Coupon: unlimited}}
	}
	w := p.staged(scenario{Checkouts: slices.Clone(checkouts)})
	require.Empty(t, w.begin())
	for _, d := range before {
		do := d(w)
		require.NoError(t, do(place{w.single, "single", w.pool}))
		require.NoError(t, do(place{w.batched, "batched", w.pool}))
	}
	return w
}

// oneByOne makes the calls by themselves in both schemas.
func (w *staged) oneByOne(s step) string {
	if s.Joined == takingOver {
		return w.step(s)
	}
	j := joinedCalls[s.Joined]
	calls := w.made(j, s.Calls)
	for n := 1; n <= len(s.Calls); n++ {
		got, err := w.call("batched", j, calls, n)
		if err != nil {
			return err.Error()
		}
		want, err := w.call("single", j, calls, n)
		if err != nil {
			return err.Error()
		}
		if difference := cmp.Diff(want, got); difference != "" {
			return "(-after the other +at once):\n" + difference
		}
	}
	return w.compare()
}

// waitsFor waits until somebody waits for the transaction, and fails when what should wait
// is done instead.
func (w *staged) waitsFor(t *testing.T, tx pgx.Tx, done <-chan string) {
	t.Helper()
	for waiting := false; !waiting; time.Sleep(time.Millisecond) {
		select {
		case difference := <-done:
			t.Fatal("it did not wait for the other one\n", difference)
		default:
		}
		require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE datname = current_database() AND $1 = ANY (pg_blocking_pids(pid))`, tx.Conn().PgConn().PID()).Scan(&waiting))
	}
}

// TestWhatABatchHasNotSeen: a batch of settlements waits for a redemption, and what others
// do with the rest of it meanwhile counts as if they had come before.
func TestWhatABatchHasNotSeen(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for name, m := range map[string]meeting{
		"reserved, when it expires": {
			first: reserves(checkedOut{Customer: 1}), second: one(settling, call{Of: 1, Kind: expired}),
		},
		"reserved, when its session never came to be": {
			first: reserves(checkedOut{Customer: 1}), second: one(settling, call{Of: 1, Kind: expired, Session: nothing, Reservation: nothing}),
		},
		"reserved, when it was paid and nobody says with which coupon": {
			first: reserves(checkedOut{Customer: 1}), second: one(settling, call{Of: 1, Kind: paid, Coupon: nothing}),
		},
		"attached, when it fails": {
			checkouts: []checkedOut{{}, {Customer: 1}},
			first:     says(attaching, call{Of: 1}), second: one(settling, call{Of: 1, Kind: failed, Reservation: nothing}),
		},
		"two sessions of one order": {
			checkouts: []checkedOut{{}, {Coupon: noCoupon, Customer: 1}},
			first:     says(attaching, call{Of: 1, Session: second}),
			second: step{Joined: settling, Calls: []call{
				{Of: 1, Kind: paid, Coupon: nothing}, {Of: 1, Kind: expired, Session: second, Order: nothing},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := p.stage(t, m.checkouts, m.before...)
			first := m.first(w)
			m.second.Calls = append(m.second.Calls, call{Kind: paid})
			tx := w.holding(t, row{"coupon_redemptions", 0})
			difference := make(chan string, 1)
			go func() { difference <- w.step(m.second) }()
			w.waitsFor(t, tx, difference)
			require.NoError(t, first(place{w.single, "single", w.pool}))
			require.NoError(t, first(place{w.batched, "batched", w.pool}))
			require.NoError(t, tx.Commit(t.Context()))
			require.Empty(t, <-difference)
		})
	}
}

// TestNothingIsDoneForWhatIsLeftAlone: a batch that sees only with an order in its hands
// that there is a redemption leaves both as they are.
func TestNothingIsDoneForWhatIsLeftAlone(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w := p.stage(t, two)
	attach, j := says(attaching, call{Of: 1})(w), joinedCalls[settling]
	calls := w.made(j, []call{{Of: 1, Kind: failed, Reservation: nothing}, {Kind: paid}})
	tx := w.holding(t, row{"coupon_redemptions", 0})
	var got map[int]reply
	done := make(chan string, 1)
	go func() {
		var err error
		got, err = query(t.Context(), w.pool, "batched", j.batch, j.types, calls)
		done <- fmt.Sprint(err)
	}()
	w.waitsFor(t, tx, done)
	require.NoError(t, attach(place{w.batched, "batched", w.pool}))
	attached, err := w.batched.Order(t.Context(), w.orders[1])
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, "<nil>", <-done)
	require.Equal(t, reply{Verdict: "alone", Answer: "f"}, got[1])
	after, err := w.batched.Order(t.Context(), w.orders[1])
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(attached, after))
}

// TestASessionOfTwoOrders: where nobody says which order a session was for, and two have
// it, a batch settles the one that a call by itself does.
func TestASessionOfTwoOrders(t *testing.T) {
	t.Parallel()
	w := newPair(t).stage(t, []checkedOut{{Coupon: noCoupon}, {Coupon: noCoupon, Customer: 1}},
		says(attaching, call{}), says(attaching, call{Of: 1, Session: ofOther}))
	require.Empty(t, w.step(one(settling, call{Kind: paid, Order: nothing})))
}

// row is a row that is about a checkout.
type row struct {
	table string
	of    int
}

// needed are rows that a call needs in vain, and one that it may not have locked by then.
type needed struct {
	checkouts []checkedOut
	call      step
	alone     bool
	held      []row
	free      row
}

// lockOrders are redemptions by ID before coupons by ID before orders by ID, of which a
// batch names the last one first; and a coupon's gate before the coupon.
var lockOrders = map[string]needed{
	"settled redemptions": {
		checkouts: two, call: lastFirst(settling, call{}),
		held: firstRedemption, free: row{"coupon_redemptions", 1},
	},
	"settled orders": {
		checkouts: []checkedOut{{Coupon: noCoupon}, {Coupon: noCoupon, Customer: 1}}, call: lastFirst(settling, call{}),
		held: firstOrder, free: row{"orders", 1},
	},
	"coupons of the settled": {
		checkouts: []checkedOut{{Coupon: unlimited}, {Coupon: oncePerCustomer, Customer: 1}}, call: lastFirst(settling, call{}),
		held: firstCoupon, free: row{"coupon_counters", 1},
	},
	"settled, redemption and coupon":         {call: one(settling, call{}), held: firstRedemption, free: row{"coupon_counters", 0}},
	"settled, coupon and order":              {call: one(settling, call{}), held: firstCoupon, free: row{"orders", 0}},
	"settled alone, redemption and coupon":   {call: one(settling, call{}), alone: true, held: firstRedemption, free: row{"coupon_counters", 0}},
	"settled alone, coupon and order":        {call: one(settling, call{}), alone: true, held: firstCoupon, free: row{"orders", 0}},
	"cancelled redemptions":                  {checkouts: two, call: lastFirst(transiting, cancelled), held: firstRedemption, free: row{"coupon_redemptions", 1}},
	"orders of the cancelled":                {checkouts: two, call: lastFirst(transiting, cancelled), held: firstOrder, free: row{"orders", 1}},
	"cancelled alone, redemption and coupon": {call: one(transiting, cancelled), alone: true, held: firstRedemption, free: row{"coupon_counters", 0}},
	"cancelled alone, coupon and order":      {call: one(transiting, cancelled), alone: true, held: firstCoupon, free: row{"orders", 0}},
	"redemptions of sessions":                {checkouts: two, call: lastFirst(attaching, call{}), held: firstRedemption, free: row{"coupon_redemptions", 1}},
	"orders of sessions":                     {checkouts: two, call: lastFirst(attaching, call{}), held: firstOrder, free: row{"orders", 1}},
	"attached, redemption and order":         {call: one(attaching, call{}), held: firstRedemption, free: row{"orders", 0}},
	"attached alone, redemption and order":   {call: one(attaching, call{}), alone: true, held: firstRedemption, free: row{"orders", 0}},
	"a payment without a place, gate and coupon": {
		checkouts: []checkedOut{{Coupon: oncePerCustomer}}, call: one(settling, ofNothing), alone: true,
		held: []row{{"coupon_counters", 0}}, free: row{"coupons", 0},
	},
}

var (
	two             = []checkedOut{{}, {Customer: 1}}
	firstRedemption = []row{{"coupon_redemptions", 0}}
	firstCoupon     = []row{{"coupons", 0}, {"coupon_counters", 0}}
	firstOrder      = []row{{"orders", 0}}
)

// lastFirst is a batch about two checkouts.
func lastFirst(joined int, c call) step {
	last := c
	last.Of = 1
	return step{Joined: joined, Calls: []call{last, c}}
}

// TestLocksAreTakenInOneOrder: nobody waits for a row while holding one that is locked
// after it, so that nobody waits in a circle.
func TestLocksAreTakenInOneOrder(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for name, of := range lockOrders {
		t.Run(name, func(t *testing.T) {
			w := p.stage(t, of.checkouts)
			tx := w.holding(t, of.held...)
			do := (*staged).step
			if of.alone {
				do = (*staged).oneByOne
			}
			difference := make(chan string, 1)
			go func() { difference <- do(w, of.call) }()
			w.waitsFor(t, tx, difference)
			require.NoError(t, w.holding(t, of.free).Rollback(t.Context()))
			require.NoError(t, tx.Rollback(t.Context()))
			require.Empty(t, <-difference)
		})
	}
}

// holding locks rows, which nobody else does, until the transaction ends.
func (w *staged) holding(t *testing.T, rows ...row) pgx.Tx {
	t.Helper()
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	for _, r := range rows {
		column, value := "id", w.coupons[min(w.Checkouts[r.of].Coupon, byPoints)].ID
		switch r.table {
		case "coupon_redemptions":
			value = w.records[r.of]
		case "orders":
			value = w.orders[r.of]
		case "coupon_counters":
			column = "coupon_id"
		}
		tag, err := tx.Exec(t.Context(), `SELECT FROM batched.`+r.table+` WHERE `+column+` = $1 FOR UPDATE NOWAIT`, value)
		require.NoError(t, err, "%s of %s", r.table, value)
		require.NotZero(t, tag.RowsAffected(), "%s of %s", r.table, value)
	}
	return tx
}

// TestASettlementLeavesTheGate: whoever has settled a reservation of a limited coupon in a
// transaction keeps nobody from its other places.
func TestASettlementLeavesTheGate(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for name, calls := range map[string]func(joinedCall) string{
		"alone": func(j joinedCall) string { return j.alone }, "in a batch": func(j joinedCall) string { return j.batch },
	} {
		t.Run(name, func(t *testing.T) {
			w := p.stage(t, []checkedOut{{Coupon: twoPlaces}})
			j := joinedCalls[settling]
			tx, err := w.pool.Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(context.WithoutCancel(t.Context()))
			_, err = query(t.Context(), tx, "batched", calls(j), j.types, w.made(j, []call{{Kind: paid}}))
			require.NoError(t, err)
			w.holding(t, row{"coupon_counters", 0})
		})
	}
}

// TestTheFirstLimitComesWhileAPaymentLooks: a payment without a record has seen a coupon
// without a limit, and then waits for the one who gives it the first. It is in line for
// the places all the same.
func TestTheFirstLimitComesWhileAPaymentLooks(t *testing.T) {
	t.Parallel()
	w := newClaims(t, meanwhile{})
	own, err := pgx.ConnectConfig(t.Context(), w.pool.Config().ConnConfig) // the pool has few
	require.NoError(t, err)
	defer own.Close(context.WithoutCancel(t.Context()))
	tx, err := own.Begin(t.Context())
	require.NoError(t, err)
	c := w.coupon
	c.Limits.MaxUses = 1
	_, err = w.others.WithTx(tx).UpdateCoupon(t.Context(), c)
	require.NoError(t, err)
	paying, reserving := make(chan claimed, 1), make(chan claimed, 1)
	go func() {
		settled, err := w.others.Settle(t.Context(), store.Settlement{
			Event:    redemption.Event{Kind: redemption.SessionCompleted, At: epoch, SessionID: "cs_slow"},
			CouponID: c.ID, CustomerID: "ann", NewID: "slow",
		})
		paying <- claimed{store.Reserved{Redemption: settled.Redemption}, err}
	}()
	w.waits(paying, w.last.isReached)
	require.NoError(t, tx.Commit(t.Context()))
	w.last.reached()
	go func() { reserving <- claimed{err: w.reserve("bob", "k")} }()
	w.waits(reserving, func() bool { return false })
	w.last.open()
	payment := <-paying
	require.NoError(t, payment.err)
	require.False(t, payment.result.Redemption.OverLimit)
	require.ErrorIs(t, (<-reserving).err, coupon.ErrUsageLimitReached)
}
