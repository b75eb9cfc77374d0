package redemption_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

const (
	attached = redemption.SessionAttached
	paid     = redemption.Paid
	pending  = redemption.PaymentPending
	failed   = redemption.PaymentFailed
	expired  = redemption.SessionExpired
	cancel   = redemption.Cancelled
	lapsed   = redemption.Lapsed
	begun    = redemption.PaymentBegun
	ended    = redemption.PaymentEnded
	opened   = redemption.PaymentOpened
)

func at(seconds int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func openOrder() (redemption.Order, []redemption.Use) {
	o := redemption.Order{
		ID: "ord", CustomerID: "ann", State: redemption.OrderOpen, Deadline: at(1000), CreatedAt: at(0), UpdatedAt: at(0), Version: 1,
		Claims: []eligibility.Claim{{Counter: "orders", Amount: 1}},
	}
	return o, []redemption.Use{
		{ID: "use_a", CouponID: "a", OrderID: "ord", State: redemption.Reserved, Origin: redemption.FromCheckout, UpdatedAt: at(0), Version: 1, Claims: []eligibility.Claim{{Counter: "a", Amount: 1}, {Counter: "budget", Amount: 30}}},
		{ID: "use_b", CouponID: "b", OrderID: "ord", State: redemption.Reserved, Origin: redemption.FromPoints, ExchangeID: "x", Points: 5, PointsState: redemption.PointsDebited, UpdatedAt: at(0), Version: 1, Claims: []eligibility.Claim{{Counter: "budget", Amount: 70}}},
	}
}

// event returns an event in the session, without one for those who speak of an order that
// has none.
func event(kind redemption.EventKind, session string, seconds int) redemption.Event {
	return redemption.Event{Kind: kind, OrderID: "ord", SessionID: session, SessionURL: "https://pay.example", At: at(seconds), Deadline: at(2000)}
}

// TestEveryEventInEveryState is the state machine as a table. Events come at 1500, after
// the first deadline and before that of a session.
func TestEveryEventInEveryState(t *testing.T) {
	t.Parallel()
	type row struct {
		state   string
		history []redemption.EventKind
		// after is the state after attached, paid, pending, failed, expired, cancelled, lapsed,
		// begun, ended and opened; "-" is illegal, "=" changes nothing, "+" leaves the state.
		after [10]string
	}
	for _, r := range []row{
		{"open", nil, [...]string{"open", "paid", "awaiting_payment", "cancelled", "cancelled", "cancelled", "cancelled", "-", "cancelled", "open"}},
		{"open, begun", []redemption.EventKind{begun}, [...]string{"open", "paid", "awaiting_payment", "cancelled", "=", "ending", "ending", "-", "=", "open"}},
		{"open, in a session", []redemption.EventKind{attached}, [...]string{"=", "paid", "awaiting_payment", "cancelled", "cancelled", "ending", "-", "=", "cancelled", "="}},
		{"awaiting payment", []redemption.EventKind{pending}, [...]string{"+", "paid", "=", "cancelled", "=", "-", "-", "-", "cancelled", "="}},
		{"paid", []redemption.EventKind{attached, paid}, [...]string{"=", "=", "=", "=", "=", "-", "-", "-", "=", "="}},
		{"cancelled", []redemption.EventKind{cancel}, [...]string{"-", "paid", "=", "=", "=", "=", "=", "-", "=", "cancelled"}},
		{"cancelled, in a session", []redemption.EventKind{attached, expired}, [...]string{"-", "paid", "=", "=", "=", "=", "=", "-", "=", "="}},
		{"ending", []redemption.EventKind{begun, cancel}, [...]string{"-", "paid", "awaiting_payment", "cancelled", "=", "=", "=", "-", "=", "ending"}},
		{"ending, in a session", []redemption.EventKind{attached, cancel}, [...]string{"=", "paid", "awaiting_payment", "cancelled", "cancelled", "=", "=", "-", "cancelled", "="}},
	} {
		for i, kind := range []redemption.EventKind{attached, paid, pending, failed, expired, cancel, lapsed, begun, ended, opened} {
			t.Run(fmt.Sprintf("%s/%s", r.state, kind), func(t *testing.T) {
				t.Parallel()
				o, uses := openOrder()
				for _, before := range r.history {
					o, uses = happens(t, o, uses, event(before, sessionFor(before, o), 100))
				}
				e := event(kind, sessionFor(kind, o), 1500)
				next, nextUses, err := o.After(e, uses...)
				switch want := r.after[i]; want {
				case "-":
					require.ErrorIs(t, err, redemption.ErrIllegal)
					var transition *redemption.TransitionError
					require.ErrorAs(t, err, &transition)
					require.Equal(t, []any{"ord", o.State.String(), kind}, []any{transition.ID, transition.State, transition.Kind})
					require.Empty(t, cmp.Diff(o, next))
				case "=":
					require.NoError(t, err)
					require.Empty(t, cmp.Diff(o, next))
					require.Empty(t, cmp.Diff(uses, nextUses))
				case "+":
					require.NoError(t, err)
					require.Equal(t, o.State, next.State)
				default:
					require.NoError(t, err)
					require.Equal(t, want, next.State.String())
					require.Equal(t, o.Version+1, next.Version)
				}
				follow(t, next, nextUses)
			})
		}
	}
}

func sessionFor(kind redemption.EventKind, o redemption.Order) string {
	if o.SessionID != "" || kind == cancel || kind == lapsed || kind == begun {
		return o.SessionID
	}
	return "cs"
}

func happens(t require.TestingT, o redemption.Order, uses []redemption.Use, e redemption.Event) (redemption.Order, []redemption.Use) {
	next, nextUses, err := o.After(e, uses...)
	require.NoError(t, err)
	return next, nextUses
}

// follow checks that each use stands as its order does, and what follows from that.
func follow(t require.TestingT, o redemption.Order, uses []redemption.Use) {
	want := map[redemption.OrderState]redemption.State{
		redemption.OrderOpen: redemption.Reserved, redemption.OrderAwaitingPayment: redemption.Reserved,
		redemption.OrderPaid: redemption.Completed, redemption.OrderCancelled: redemption.Released,
		redemption.OrderPartlyRefunded: redemption.Completed, redemption.OrderRefunded: redemption.Completed,
		redemption.OrderEnding: redemption.Reserved,
	}[o.State]
	for _, u := range uses {
		require.Equal(t, want, u.State, u.ID)
		require.Equal(t, want == redemption.Completed, !u.CompletedAt.IsZero(), "completedAt of %s", u.ID)
		require.Equal(t, want == redemption.Released, !u.ReleasedAt.IsZero(), "releasedAt of %s", u.ID)
	}
	require.Equal(t, !o.State.Ended() || len(o.Due()) > 0, !o.Deadline.IsZero(), "whether the order has a deadline")
	held := redemption.Holdings(o, uses...)
	switch want {
	case redemption.Released:
		require.Empty(t, held)
	case redemption.Completed:
		require.Equal(t, map[string]eligibility.Count{"orders": {Completed: 1}, "a": {Completed: 1}, "budget": {Completed: 100}}, held)
	case redemption.Reserved:
		require.Equal(t, map[string]eligibility.Count{"orders": {Reserved: 1}, "a": {Reserved: 1}, "budget": {Reserved: 100}}, held)
	}
}

// TestAnyOrderOfEvents: whatever happens in whatever order, a payment wins, records are
// consistent, versions count changes, points move forward only, and inputs stay as they
// were.
func TestAnyOrderOfEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, anyOrderOfEvents)
}

// FuzzApply is [TestAnyOrderOfEvents] with histories that the fuzzer makes.
func FuzzApply(f *testing.F) { f.Fuzz(rapid.MakeFuzz(anyOrderOfEvents)) }

func anyOrderOfEvents(t *rapid.T) {
	o, uses := openOrder()
	wasPaid := false
	for range rapid.IntRange(1, 12).Draw(t, "events") {
		kind := rapid.SampledFrom([]redemption.EventKind{attached, paid, pending, failed, expired, cancel, lapsed, begun, ended}).Draw(t, "kind")
		session := rapid.SampledFrom([]string{"cs", "cs", "cs", "", "other"}).Draw(t, "session")
		if session == "" && kind != cancel && kind != lapsed && kind != begun && kind != ended {
			session = "cs"
		}
		e := event(kind, session, rapid.SampledFrom([]int{-5, 500, 1500, 2500}).Draw(t, "at"))
		e.PaymentOver = rapid.Bool().Draw(t, "the payment is over")
		e.BegunBy = at(rapid.SampledFrom([]int{-10, 3000}).Draw(t, "begun by"))
		before, usesBefore := o.Clone(), cloned(uses)
		next, nextUses, err := o.After(e, uses...)
		require.Empty(t, cmp.Diff(before, o), "the order that was passed")
		require.Empty(t, cmp.Diff(usesBefore, uses), "the uses that were passed")
		if err != nil {
			require.ErrorIs(t, err, redemption.ErrIllegal)
			require.Empty(t, cmp.Diff(before, next))
			continue
		}
		instead := kind == paid && !before.State.Paid() // pays the order in another session
		another := kind == begun && before.BegunAt.IsZero()
		require.Empty(t, cmp.Diff(next.SessionID != before.SessionID,
			before.SessionID == "" && next.SessionID != "" || instead && session != before.SessionID || another && before.SessionID != ""),
			"a session changes with the first payment, and when another payment begins")
		twice := kind == paid && before.SessionID != "" && session != before.SessionID && !before.PaidIn(session)
		require.Equal(t, twice, len(next.OtherPayments) > len(before.OtherPayments), "a payment in another session is kept")
		require.False(t, next.UpdatedAt.Before(before.UpdatedAt), "UpdatedAt goes back")
		require.LessOrEqual(t, next.Version-before.Version, int64(1))
		require.Equal(t, next.Version == before.Version, cmp.Equal(before, next), "the version counts changes")
		for i := range nextUses {
			require.Equal(t, nextUses[i].Version == uses[i].Version, cmp.Equal(uses[i], nextUses[i]), "the version counts changes")
			require.GreaterOrEqual(t, nextUses[i].PointsState, uses[i].PointsState, "points move forward")
		}
		wasPaid = wasPaid || kind == paid
		require.Equal(t, wasPaid, next.State == redemption.OrderPaid, "a payment wins")
		follow(t, next, nextUses)
		movesAddUp(t, redemption.Holdings(before, uses...), redemption.Holdings(next, nextUses...))
		again, _, err := next.After(e, nextUses...)
		switch {
		case err != nil:
		case kind == begun && next.SessionID == "":
			require.True(t, again.BegunAt.After(next.BegunAt), "another call begins later")
		default:
			require.Empty(t, cmp.Diff(next, again), "the same event again changes nothing")
		}
		o, uses = next, nextUses
	}
}

func cloned(uses []redemption.Use) []redemption.Use {
	copied := make([]redemption.Use, len(uses))
	for i, u := range uses {
		copied[i] = u.Clone()
	}
	return copied
}

// movesAddUp checks that moves lead from one to the other, and name no counter in vain.
func movesAddUp(t require.TestingT, before, after map[string]eligibility.Count) {
	sum := map[string]eligibility.Count{}
	maps.Copy(sum, before)
	last := ""
	for _, m := range redemption.Moves(before, after) {
		require.Less(t, last, m.Counter, "moves are sorted")
		require.NotZero(t, m.By)
		last, sum[m.Counter] = m.Counter, sum[m.Counter].Plus(m.By)
	}
	for key, count := range sum {
		require.Equal(t, after[key], count, key)
	}
}

func TestMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Custom(func(t *rapid.T) eligibility.Count {
			return eligibility.Count{Reserved: rapid.Int64Range(0, 3).Draw(t, "reserved"), Completed: rapid.Int64Range(0, 3).Draw(t, "completed")}
		})
		holdings := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), count, 0, 4)
		before, after := holdings.Draw(t, "before"), holdings.Draw(t, "after")
		movesAddUp(t, before, after)
		require.Empty(t, redemption.Moves(after, after))
	})
}

// TestReplace: an open order can be replaced, once, and what it held is free.
func TestReplace(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	replaced, released, err := o.Replace("ord_next", at(50), uses...)
	require.NoError(t, err)
	require.Equal(t, []any{redemption.OrderCancelled, "ord_next", int64(2)}, []any{replaced.State, replaced.ReplacedBy, replaced.Version})
	follow(t, replaced, released)
	require.Equal(t, redemption.PointsPassedOn, released[1].PointsState)
	again, same, err := replaced.Replace("ord_other", at(60), released...)
	require.ErrorIs(t, err, redemption.ErrIllegal)
	require.Empty(t, cmp.Diff(replaced, again))
	require.Empty(t, cmp.Diff(released, same))
	for _, kind := range []redemption.EventKind{pending, paid, cancel} {
		o, uses := openOrder()
		o, uses = happens(t, o, uses, event(kind, sessionFor(kind, o), 10))
		_, _, err := o.Replace("ord_next", at(50), uses...)
		require.ErrorIs(t, err, redemption.ErrIllegal, kind)
	}
}

// TestPoints is the life of a points reservation without an order, as a table.
func TestPoints(t *testing.T) {
	t.Parallel()
	const (
		exchanged = redemption.PointsExchanged
		refused   = redemption.PointsRefused
		givenBack = redemption.PointsGivenBack
	)
	for _, r := range []struct {
		state   string
		history []redemption.EventKind
		// after is state and points after exchanged, refused, given back, cancelled and
		// lapsed at 900; "-" is illegal, "=" changes nothing.
		after [5]string
	}{
		{"pending", nil, [...]string{"reserved debited", "released refund_due", "-", "released refund_due", "released refund_due"}},
		{"debited", []redemption.EventKind{exchanged}, [...]string{"=", "-", "-", "released refund_due", "-"}},
		{"refused", []redemption.EventKind{refused}, [...]string{"-", "=", "released refunded", "=", "="}},
		{"given up", []redemption.EventKind{exchanged, cancel}, [...]string{"-", "=", "released refunded", "=", "="}},
		{"refunded", []redemption.EventKind{exchanged, cancel, givenBack}, [...]string{"-", "=", "=", "=", "="}},
	} {
		for i, kind := range []redemption.EventKind{exchanged, refused, givenBack, cancel, lapsed} {
			t.Run(fmt.Sprintf("%s/%s", r.state, kind), func(t *testing.T) {
				t.Parallel()
				u := redemption.Use{ID: "use", ExchangeID: "use", State: redemption.Reserved, Origin: redemption.FromPoints, Points: 5, PointsState: redemption.PointsPending, Deadline: at(900), Version: 1}
				for _, before := range r.history {
					next, err := u.After(redemption.Event{Kind: before, UseID: "use", At: at(10)})
					require.NoError(t, err)
					u = next
				}
				next, err := u.After(redemption.Event{Kind: kind, UseID: "use", At: at(900)})
				switch want := r.after[i]; want {
				case "-":
					require.ErrorIs(t, err, redemption.ErrIllegal)
					require.Empty(t, cmp.Diff(u, next))
				case "=":
					require.NoError(t, err)
					require.Empty(t, cmp.Diff(u, next))
				default:
					require.NoError(t, err)
					require.Equal(t, want, next.State.String()+" "+next.PointsState.String())
					require.Equal(t, u.Version+1, next.Version)
				}
			})
		}
	}
	early := redemption.Use{ID: "use", State: redemption.Reserved, Origin: redemption.FromPoints, PointsState: redemption.PointsPending, Deadline: at(900)}
	_, err := early.After(redemption.Event{Kind: lapsed, UseID: "use", At: at(899)})
	require.ErrorIs(t, err, redemption.ErrNotLapsed)
	inOrder := redemption.Use{ID: "use", OrderID: "ord", State: redemption.Reserved, Origin: redemption.FromPoints, PointsState: redemption.PointsDebited}
	for kind := attached; kind <= givenBack; kind++ {
		next, err := inOrder.After(redemption.Event{Kind: kind, UseID: "use", At: at(900)})
		if kind != exchanged {
			require.ErrorIs(t, err, redemption.ErrIllegal, "%s of a use in an order", kind)
		}
		require.Equal(t, inOrder.State, next.State)
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	for taken := int64(math.MaxInt64 - 3); taken > 0 && taken < math.MaxInt64; taken++ { // sums that would overflow
		c := eligibility.Claim{Amount: 5, Limit: math.MaxInt64}
		require.False(t, c.Fits(eligibility.Count{Completed: taken}), taken)
	}
	require.True(t, eligibility.Claim{Amount: 5, Limit: math.MaxInt64}.Fits(eligibility.Count{Completed: math.MaxInt64 - 5}))
	rapid.Check(t, func(t *rapid.T) {
		c := eligibility.Claim{Amount: rapid.Int64Range(1, eligibility.MaxAmount).Draw(t, "amount"), Limit: rapid.Int64Min(0).Draw(t, "limit")}
		taken := rapid.Int64Min(0).Draw(t, "taken")
		want := c.Limit == 0 || uint64(taken)+uint64(c.Amount) <= uint64(c.Limit)
		require.Equal(t, want, c.Fits(eligibility.Count{Reserved: taken / 2, Completed: taken - taken/2}))
	})
}

// TestCounterKeys: different parts make different keys, and customers' counters sort before
// shared ones.
func TestCounterKeys(t *testing.T) {
	t.Parallel()
	parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom([]string{"", "/", "%2F", "a", "a/b", "é"}), rapid.String()), 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		one, two := parts.Draw(t, "one"), parts.Draw(t, "two")
		require.Equal(t, cmp.Equal(one, two), eligibility.SharedCounter(one...) == eligibility.SharedCounter(two...))
		require.Less(t, eligibility.CustomerCounter(one...), eligibility.SharedCounter(two...))
		require.True(t, eligibility.IsShared(eligibility.SharedCounter(one...)))
		require.False(t, eligibility.IsShared(eligibility.CustomerCounter(one...)))
	})
}

// TestNames: every state and event has a name of its own, which can be read back.
func TestNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for s := redemption.OrderOpen; s <= redemption.OrderEnding; s++ {
		got, err := redemption.ParseOrderState(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for s := redemption.Reserved; s <= redemption.Released; s++ {
		got, err := redemption.ParseState(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for s := redemption.FromCheckout; s <= redemption.FromPayment; s++ {
		var got redemption.Origin
		err := got.UnmarshalText([]byte(s.String()))
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for s := redemption.NoPoints; s <= redemption.PointsPassedOn; s++ {
		got, err := redemption.ParsePointsState(s.String())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for kind := attached; kind <= opened; kind++ {
		require.NotEmpty(t, kind.String())
		require.False(t, names[kind.String()])
		names[kind.String()] = true
	}
	require.Empty(t, (opened + 1).String())
	for _, text := range []string{"", "none such", "OPEN"} {
		_, err := redemption.ParseOrderState(text)
		require.Error(t, err)
	}
}

// TestClone: copies share no memory with what they were made of.
func TestClone(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	o.Metadata = map[string]string{"k": "v"}
	copied, use := o.Clone(), uses[0].Clone()
	copied.Metadata["k"], copied.Claims[0].Amount, use.Claims[0].Amount = "changed", 99, 99
	require.Equal(t, "v", o.Metadata["k"])
	require.Equal(t, int64(1), o.Claims[0].Amount)
	require.Equal(t, int64(1), uses[0].Claims[0].Amount)
}

// TestDeadlines: a deadline is the first instant at which an order lapses. A payment on its way only ever moves
// it later, and only once until it has passed.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	_, _, err := o.After(event(lapsed, "", 999), uses...)
	require.ErrorIs(t, err, redemption.ErrNotLapsed)
	ended, _ := happens(t, o, uses, event(lapsed, "", 1000))
	require.Equal(t, redemption.OrderCancelled, ended.State)
	for _, test := range []struct{ asked, want int }{{500, 1000}, {1000, 1000}, {2000, 2000}} {
		e := event(pending, "cs", 100)
		e.Deadline = at(test.asked)
		waiting, reserved := happens(t, o, uses, e)
		require.Equal(t, at(test.want), waiting.Deadline, test.asked)
		for told, want := range map[int]int{100: test.want, test.want - 1: test.want, test.want: 9000, 5000: 9000} {
			e := event(pending, "cs", told)
			e.Deadline = at(9000)
			again, _ := happens(t, waiting, reserved, e)
			require.Equal(t, at(want), again.Deadline, "%d, told again at %d", test.asked, told)
			require.Equal(t, want != test.want, again.Version > waiting.Version)
		}
	}
	forever := o
	forever.Deadline = time.Time{}
	_, _, err = forever.After(event(lapsed, "", 1_000_000), uses...)
	require.ErrorIs(t, err, redemption.ErrNotLapsed)
}
