package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func sweepClauses() []clause {
	return []clause{
		{"due", "Due returns live reservations whose deadline is not after at, and records whose points are still to be refunded, the oldest first, at most limit records, and none if limit is 0 or less", due},
		{"points of what was paid are due", "Due returns, at any instant, records whose points are still to be refunded: those of a redemption too that was paid after its points were to be given back", pointsOfWhatWasPaidAreDue},
		{"work of one instant", "Due and OpenOrders return the oldest first: by creation, to the microsecond, then by ID, byte by byte", workOfOneInstant},
		{"work of many records", "Due and OpenOrders return limit records or, if there are fewer, all", workOfManyRecords},
		{"open orders", "OpenOrders returns orders without a redemption that have not ended and whose deadline is not after at, the oldest first, at most limit, and none if that is 0 or less", openOrders},
	}
}

func due(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	// The older a reservation, the later its deadline.
	var want []redemption.Redemption
	for i := range 4 {
		r := p.checkout(c, "ann", p.key())
		r.Redemption.CreatedAt, r.Redemption.Deadline = at(100-i), at(1000+i)
		want = append([]redemption.Redemption{p.place(r).Redemption}, want...)
	}
	never := p.checkout(c, "ann", p.key())
	never.Redemption.Deadline = time.Time{}
	p.place(never)
	later := p.checkout(c, "ann", p.key())
	later.Redemption.Deadline = at(1003).Add(time.Microsecond)
	p.place(later)
	p.settleSession(redemption.SessionCompleted, p.opened(c, "ann"))
	p.settleSession(redemption.SessionExpired, p.opened(c, "ann"))
	p.exchanged(points, "ann") // paid in points, so that it waits
	pending := p.exchange(points, "bob", p.key())
	pending.Redemption.CreatedAt, pending.Redemption.Deadline = at(-5), at(1)
	want = append([]redemption.Redemption{p.place(pending).Redemption}, want...)
	refund := p.exchange(points, "cem", p.key())
	refund.Redemption.CreatedAt = at(-4)
	p.place(refund)
	want = slices.Insert(want, 1, p.transition(refund.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(2)}))
	closed := p.place(p.exchange(points, "dan", p.key()))
	p.transition(closed.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(2)})
	p.transition(closed.Redemption.ID, redemption.Event{Kind: redemption.PointsGivenBack, At: at(3)})

	for _, test := range []struct {
		at    time.Time
		limit int
		want  []redemption.Redemption
	}{
		{at(1003), 100, want},
		{at(1003), 3, want[:3]},
		{at(1003), 1, want[:1]},
		{at(1003), 0, nil},
		{at(1003), -1, nil},
		{at(1), 10, want[:2]},
		{at(1).Add(-time.Microsecond), 10, want[1:2]},
		{at(1000), 10, append(slices.Clone(want[:2]), want[5])},
		{at(1001), 10, append(slices.Clone(want[:2]), want[4:]...)},
	} {
		got, err := p.s.Due(p.Context(), test.at, test.limit)
		p.ok(err, "Due")
		same(p, got, test.want, "what is due at %s, at most %d", test.at, test.limit)
	}
	p.transition(want[0].ID, redemption.Event{Kind: redemption.Lapsed, At: at(1003)})
	p.transition(want[0].ID, redemption.Event{Kind: redemption.PointsGivenBack, At: at(1003)})
	p.transition(want[2].ID, redemption.Event{Kind: redemption.Lapsed, At: at(1003)})
	got, err := p.s.Due(p.Context(), at(1003), 100)
	p.ok(err, "Due")
	same(p, got, append(slices.Clone(want[1:2]), want[3:]...), "what is due after the oldest was dealt with")
	p.unpaidIsDue(c)
	got, err = p.s.Due(p.Context(), at(-100), 100)
	p.ok(err, "Due")
	same(p, got, want[1:2], "what is due before anything was made: points are refunded at any instant")
}

// unpaidIsDue waits for a delayed payment that does not come.
func (p *probe) unpaidIsDue(c coupon.Coupon) {
	p.Helper()
	unpaid := p.settleSession(redemption.SessionUnpaid, p.opened(c, "ann")).Redemption
	got, err := p.s.Due(p.Context(), unpaid.Deadline, 100)
	p.ok(err, "Due")
	if !slices.Contains(got, unpaid) {
		p.broken("a delayed payment whose deadline has passed is not due: %+v", got)
	}
}

func openOrders(p *probe) {
	var all []store.Order
	for i := range 5 {
		o := p.plain("ann", p.key())
		o.CreatedAt, o.UpdatedAt, o.Deadline = at(100-i*i), at(100-i*i), at(1000+i)
		created, _, err := p.s.CreateOrder(p.Context(), o)
		p.ok(err, "CreateOrder")
		all = append(all, created)
	}
	slices.SortFunc(all, func(a, b store.Order) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	never := p.plain("ann", p.key())
	never.Deadline = time.Time{}
	_, _, err := p.s.CreateOrder(p.Context(), never)
	p.ok(err, "CreateOrder")
	p.reserve(p.coupon(), "ann") // has a redemption, and Due lists that
	for _, kind := range []redemption.EventKind{redemption.SessionCompleted, redemption.SessionExpired} {
		ended, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
		p.ok(err, "CreateOrder")
		p.settle(p.settlement(kind, store.Reserved{Order: ended}, p.session()))
	}
	for _, test := range []struct {
		at    time.Time
		limit int
		want  []store.Order
	}{
		{at(1004), 100, all},
		{at(1004), 2, all[:2]},
		{at(1004), 0, nil},
		{at(1004), -1, nil},
		{at(1004).Add(-time.Microsecond), 100, all[1:]},
		{at(1000), 100, all[4:]},
		{at(999), 100, nil},
	} {
		got, err := p.s.OpenOrders(p.Context(), test.at, test.limit)
		p.ok(err, "OpenOrders")
		same(p, got, test.want, "the open orders at %s, at most %d", test.at, test.limit)
	}
	// One that is attached or waits for a delayed payment has not ended.
	oldest := p.attach(all[0].ID, p.session())
	waiting := p.settleSession(redemption.SessionUnpaid, store.Reserved{Order: all[1], Redemption: redemption.Redemption{}}).Order
	if waiting.IsZero() {
		waiting = p.settle(p.settlement(redemption.SessionUnpaid, store.Reserved{Order: all[1]}, p.session())).Order
	}
	same(p, waiting.State, store.OrderAwaitingPayment, "the state of an order with a delayed payment")
	got, err := p.s.OpenOrders(p.Context(), at(9999), 2)
	p.ok(err, "OpenOrders")
	same(p, got, []store.Order{oldest, waiting}, "the open orders that have a session")
}

// workOfManyRecords has more than a page of work.
func workOfManyRecords(p *probe) {
	const many = store.MaxPageSize + 5
	requests, orders := p.checkouts(many, p.coupon()), make([]store.Order, many)
	for i := range orders {
		orders[i] = p.plain(numbered(i), p.key())
	}
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		for ; i < many; i += p.can.Goroutines {
			_, err := s.Reserve(ctx, requests[i])
			_, _, plainErr := s.CreateOrder(ctx, orders[i])
			if err = errors.Join(err, plainErr); err != nil {
				return err
			}
		}
		return nil
	})
	p.succeeded(errs, nil, "calls")
	due, err := p.s.Due(p.Context(), at(5000), 2*many)
	p.ok(err, "Due")
	open, err := p.s.OpenOrders(p.Context(), at(5000), 2*many)
	p.ok(err, "OpenOrders")
	same(p, [2]int{len(due), len(open)}, [2]int{many, many}, "the numbers of what is due and of open orders, at most %d of each", 2*many)
}

func pointsOfWhatWasPaidAreDue(p *probe) {
	c := p.coupon(forPoints)
	taken, err := p.s.TakeOver(p.Context(), p.takeOver(c, p.exchanged(c, "ann"), p.key()))
	p.ok(err, "TakeOver of a reservation for points")
	r := p.open(taken)
	p.settleSession(redemption.SessionExpired, r)
	paid := p.settleSession(redemption.SessionCompleted, r).Redemption
	same(p, paid.State, redemption.Completed, "the state of what was paid in the end")
	same(p, paid.PointsState, redemption.PointsRefundDue, "its points")
	for _, instant := range []time.Time{at(-100), at(100_000)} {
		p.due(instant, paid)
	}
	refunded := redemption.Event{Kind: redemption.PointsGivenBack, At: at(90_000)}
	want, err := redemption.Apply(paid, refunded)
	p.own(err)
	same(p, p.transition(paid.ID, refunded), want, "what Transition (%s) returns", refunded.Kind)
	p.due(at(100_000))
	p.counts(c.ID, 1, 0)
	p.invariants()
}

// made is what is made of one ID at one instant.
type made struct {
	id      string
	created time.Time
}

// ofOneInstant is in the order in which the oldest comes first.
func ofOneInstant() []made {
	later := func(microseconds int) time.Time { return at(50).Add(time.Duration(microseconds) * time.Microsecond) }
	return []made{{"z", later(0)}, {"A", later(1)}, {"B", later(2)}, {"a", later(2)}, {"b", later(2)}}
}

func workOfOneInstant(p *probe) {
	c := p.coupon()
	var due []redemption.Redemption
	var open []store.Order
	for _, one := range slices.Backward(ofOneInstant()) { // the newest is made first
		r := p.checkout(c, "ann", p.key())
		r.Redemption.ID = redemption.IDPrefix + one.id
		r.Order.ReservationID = r.Redemption.ID
		r.Redemption.CreatedAt, r.Redemption.UpdatedAt = one.created, one.created
		due = slices.Insert(due, 0, p.place(r).Redemption)
		o := p.plain("ann", p.key())
		o.ID, o.CreatedAt, o.UpdatedAt = "ord_"+one.id, one.created, one.created
		created, _, err := p.s.CreateOrder(p.Context(), o)
		p.ok(err, "CreateOrder")
		open = slices.Insert(open, 0, created)
	}
	for n := range len(due) + 1 {
		got, err := p.s.Due(p.Context(), at(5000), n)
		p.ok(err, "Due")
		same(p, got, due[:n], "the first %d of what is due", n)
		orders, err := p.s.OpenOrders(p.Context(), at(5000), n)
		p.ok(err, "OpenOrders")
		same(p, orders, open[:n], "the first %d of the open orders", n)
	}
}
