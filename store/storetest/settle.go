package storetest

import (
	"context"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func settleClauses() []clause {
	return []clause{
		{"complete", "Settle applies the event to redemption and order, together with the counts; repeating it changes nothing", complete},
		{"complete in a race", "a payment that is delivered many times at once is counted once", completeInARace},
		{"a session pays once", "a session completes the redemption that has it, whichever a payment names", sessionPaysOnce},
		{"every order of events ends the same", "redelivered and reordered events do no harm; completed wins over expired in whichever order they arrive, with exactly one redemption and one use", everyOrderOfEvents},
		{"unpaid waits", "completed but unpaid is not a redemption: it extends the deadline and waits for the later success or failure", unpaidWaits},
		{"settle finds by metadata", "Settle finds the redemption by the session, else by ReservationID if no other session or order has it", settleFindsByMetadata},
		{"settle minds whose session it is", "Settle finds the redemption by ReservationID only if no other session or order has it", settleMindsTheSession},
		{"a session that never came to be", "SessionExpired may name the order alone: it cancels the order if that has no session, and releases its reservation if that has none; nothing is found by an empty session ID", sessionThatNeverCame},
		{"settlements that do not validate", "an event with which the redemption or the order does not validate is pricing.ErrInvalid, and a call that returns an error has changed nothing", settlementsThatDoNotValidate},
		{"settle takes events of sessions", "Event is of one of the kinds SessionCompleted, SessionUnpaid, PaymentFailed and SessionExpired, and names the session; anything else is redemption.ErrIllegal and changes nothing", settleTakesEventsOfSessions},
		{"events about nothing", "an event that changes nothing, or that concerns nothing in the store, is no error", eventsAboutNothing},
		{"settle an order without a coupon", "Settle applies the event to the order of the session, also where there is no redemption", settlePlainOrder},
		{"a session of several orders", "the order is the one that the event names, else the session's; of several that have the session it is the one that was changed last", sessionOfSeveralOrders},
	}
}

func complete(p *probe) {
	c := p.coupon(limits(2, 1))
	r := p.opened(c, "ann")
	paid := p.settlement(redemption.SessionCompleted, r, r.Order.SessionID)
	want, err := redemption.Apply(r.Redemption, paid.Event)
	p.own(err)
	order := r.Order.After(paid.Event)
	settled := p.settle(paid)
	same(p, settled, store.Settled{Redemption: want, Order: order, Changed: true}, "what Settle returns")
	for range 2 {
		same(p, p.redemption(want.ID), want, "the redemption")
		same(p, p.order(order.ID), order, "the order")
		p.counts(c.ID, 1, 0)
		settled = p.settleSession(redemption.SessionCompleted, r)
		same(p, settled, store.Settled{Redemption: want, Order: order}, "what Settle returns when it is repeated")
	}
	same(p, order.State, store.OrderPaid, "the state of the order")
	p.invariants()
}

// sessionPaysOnce names the reservation that has the session and another one, in both
// orders.
func sessionPaysOnce(p *probe) {
	for _, last := range []int{0, 1} {
		one, two := p.coupon(), p.coupon()
		both := []store.Reserved{p.reserve(one, "ann"), p.reserve(two, "ann")}
		session := p.session()
		p.attach(both[0].Order.ID, session)
		var paid [2]store.Settled
		for i, r := range []store.Reserved{both[1-last], both[last]} {
			paid[i] = p.settle(p.settlement(redemption.SessionCompleted, r, session))
		}
		same(p, paid[1].Redemption, paid[0].Redemption, "the redemption that the session has completed")
		if n := len(p.redemptions(store.RedemptionList{CouponID: one.ID, State: redemption.Completed})) +
			len(p.redemptions(store.RedemptionList{CouponID: two.ID, State: redemption.Completed})); n != 1 {
			p.broken("one session has completed %d redemptions", n)
		}
	}
}

func completeInARace(p *probe) {
	c := p.coupon(limits(1, 1))
	r := p.opened(c, "ann")
	payments := make([]store.Settlement, p.can.Goroutines)
	for i := range payments {
		payments[i] = p.settlement(redemption.SessionCompleted, r, r.Order.SessionID)
	}
	changed := make([]bool, len(payments))
	errs := p.together(len(payments), func(ctx context.Context, s store.Store, i int) error {
		settled, err := s.Settle(ctx, payments[i])
		changed[i] = settled.Changed
		return err
	})
	p.succeeded(errs, nil, "Settle of one payment")
	changed = slices.DeleteFunc(changed, func(c bool) bool { return !c })
	same(p, len(changed), 1, "the number of calls that changed something")
	p.counts(c.ID, 1, 0)
	same(p, len(p.redemptions(store.RedemptionList{})), 1, "the number of redemptions")
	p.invariants()
}

// everyOrderOfEvents delivers the events of a session in every order, each once or
// twice, with the session attached before or never.
func everyOrderOfEvents(p *probe) {
	c := p.coupon()
	kinds := []redemption.EventKind{
		redemption.SessionCompleted, redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed,
	}
	used := int64(0)
	for i, order := range permutations(kinds) {
		r := p.reserve(c, "ann")
		session := p.session()
		if i%2 == 0 {
			r.Order = p.attach(r.Order.ID, session)
		}
		r = p.reread(r)
		want, wantOrder := r.Redemption, r.Order
		for j, kind := range order {
			for range 1 + (i+j)%2 {
				event := p.settlement(kind, r, session)
				event.Event.NoPlaceLeft = false
				after, err := redemption.Apply(want, event.Event)
				p.own(err)
				settled := p.settle(event)
				changed := !after.Equal(want) || !sameOrder(wantOrder.After(event.Event), wantOrder)
				want, wantOrder = after, wantOrder.After(event.Event)
				same(p, settled, store.Settled{Redemption: want, Order: wantOrder, Changed: changed}, "what Settle returns for %q of %v", kind, order)
			}
		}
		used++
		same(p, p.redemption(want.ID), want, "the redemption after %v", order)
		same(p, p.order(wantOrder.ID), wantOrder, "the order after %v", order)
		same(p, want.State, redemption.Completed, "the state after %v", order)
		p.counts(c.ID, used, 0)
	}
	p.invariants()
}

func sameOrder(a, b store.Order) bool {
	return a.State == b.State && a.SessionID == b.SessionID && a.Deadline.Equal(b.Deadline)
}

func permutations(kinds []redemption.EventKind) [][]redemption.EventKind {
	if len(kinds) == 0 {
		return [][]redemption.EventKind{nil}
	}
	var all [][]redemption.EventKind
	for i, first := range kinds {
		rest := slices.Delete(slices.Clone(kinds), i, i+1)
		for _, tail := range permutations(rest) {
			all = append(all, append([]redemption.EventKind{first}, tail...))
		}
	}
	return all
}

func unpaidWaits(p *probe) {
	c := p.coupon(limits(2, 0))
	for _, end := range []redemption.EventKind{redemption.SessionCompleted, redemption.PaymentFailed} {
		r := p.opened(c, "ann")
		settled := p.settleSession(redemption.SessionUnpaid, r)
		if got := settled.Redemption; !got.AwaitingPayment || got.State != redemption.Reserved || !got.Deadline.Equal(at(5000)) {
			p.broken("after an unpaid completion the reservation is %+v", got)
		}
		same(p, settled.Order.State, store.OrderAwaitingPayment, "the state of the order")
		same(p, p.redemption(r.Redemption.ID), settled.Redemption, "the reservation")
		same(p, p.order(r.Order.ID), settled.Order, "the order")
		p.settleSession(redemption.SessionExpired, r)
		same(p, p.redemption(r.Redemption.ID), settled.Redemption, "the reservation after an expiry that cannot be")
		due, err := p.s.Due(p.Context(), at(4999), 10)
		p.ok(err, "Due")
		same(p, due, nil, "what is due before the new deadline")
		longer := p.settlement(redemption.SessionUnpaid, r, r.Order.SessionID)
		longer.Event.Deadline = at(6000)
		p.settle(longer)
		if got := p.reread(r); !got.Redemption.Deadline.Equal(at(6000)) || !got.Order.Deadline.Equal(at(6000)) {
			p.broken("a payment that takes longer is waited for until %v and %v", got.Redemption.Deadline, got.Order.Deadline)
		}
		p.settleSession(end, r)
	}
	p.counts(c.ID, 1, 0)
	p.invariants()
}

func settleFindsByMetadata(p *probe) {
	c := p.coupon(forPoints)
	for _, kind := range []redemption.EventKind{
		redemption.SessionCompleted, redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed,
	} {
		r := p.reserve(c, "ann") // the session was never attached
		event := p.settlement(kind, r, p.session())
		want, err := redemption.Apply(r.Redemption, event.Event)
		p.own(err)
		settled := p.settle(event)
		same(p, settled, store.Settled{Redemption: want, Order: r.Order.After(event.Event), Changed: true}, "what Settle returns for %q", kind)
		same(p, p.redemption(want.ID), want, "the redemption after %q", kind)
		same(p, want.SessionID, event.Event.SessionID, "the session of the redemption")

		// Now the session is known, and finds the redemption.
		event = p.settlement(redemption.SessionCompleted, store.Reserved{Order: r.Order}, event.Event.SessionID)
		settled = p.settle(event)
		same(p, settled.Redemption.ID, want.ID, "the redemption that the session finds")
		same(p, settled.Redemption.State, redemption.Completed, "its state")
	}
	points := p.exchanged(c, "bob") // no order
	event := p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: points}, p.session())
	same(p, p.settle(event).Redemption.ID, points.ID, "the reservation without an order that the metadata name")
	p.invariants()
}

func settleMindsTheSession(p *probe) {
	c := p.coupon()
	attached, bare := p.opened(c, "ann"), p.reserve(c, "ann")
	other := p.reserve(c, "ann")
	for _, victim := range []store.Reserved{attached, bare} {
		victim = p.reread(victim)
		for _, kind := range []redemption.EventKind{redemption.SessionExpired, redemption.PaymentFailed, redemption.SessionUnpaid} {
			foreign := p.settlement(kind, other, p.session())
			foreign.ReservationID, foreign.Event.OrderID = victim.Redemption.ID, "ord_other"
			settled := p.settle(foreign)
			same(p, settled, store.Settled{}, "what Settle returns for %q of another order's session", kind)
			same(p, p.reread(victim), victim, "the reservation after %q of another order's session", kind)
		}
		paid := p.settlement(redemption.SessionCompleted, victim, p.session())
		paid.Event.OrderID = "ord_other"
		settled := p.settle(paid)
		same(p, settled.Redemption, payment(paid, false), "the redemption of another order's session")
		same(p, p.reread(victim), victim, "the reservation after another order's payment")
	}
	p.counts(c.ID, 2, 3)
	p.invariants()
	p.otherSessionsPayAnew(c)
}

// otherSessionsPayAnew pays with a second session of one order, and with an order's
// session that names points which are in no checkout.
func (p *probe) otherSessionsPayAnew(c coupon.Coupon) {
	p.Helper()
	opened := p.opened(c, "ann")
	points := store.Reserved{Redemption: p.exchanged(p.coupon(forPoints), "ann"), Order: store.Order{ID: "ord_other"}}
	for what, r := range map[string]store.Reserved{"a reservation in another session": opened, "points in no checkout": points} {
		before := p.redemption(r.Redemption.ID)
		paid := p.settlement(redemption.SessionCompleted, r, p.session())
		same(p, p.settle(paid).Redemption, payment(paid, false), "the redemption of a payment that names %s", what)
		same(p, p.redemption(before.ID), before, "%s, after a payment that names it", what)
	}
}

func sessionThatNeverCame(p *probe) {
	c := p.coupon()
	bystander := p.reserve(c, "ann") // has no session either
	r := p.reserve(c, "ann")
	abandoned := store.Settlement{
		Event:         redemption.Event{Kind: redemption.SessionExpired, At: at(700), OrderID: r.Order.ID},
		ReservationID: r.Redemption.ID,
	}
	want, err := redemption.Apply(r.Redemption, abandoned.Event)
	p.own(err)
	settled := p.settle(abandoned)
	same(p, settled, store.Settled{Redemption: want, Order: r.Order.After(abandoned.Event), Changed: true}, "what Settle returns")
	same(p, p.redemption(want.ID).State, redemption.Released, "the state of the reservation")
	same(p, p.order(r.Order.ID).State, store.OrderCancelled, "the state of the order")

	unnamed := p.reserve(c, "ann")
	p.settle(store.Settlement{Event: redemption.Event{Kind: redemption.SessionExpired, At: at(700), OrderID: unnamed.Order.ID}})
	same(p, p.redemption(unnamed.Redemption.ID).State, redemption.Released, "the state of a reservation that only its order names")
	same(p, p.order(unnamed.Order.ID).State, store.OrderCancelled, "the state of that order")

	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	settled = p.settle(store.Settlement{Event: redemption.Event{Kind: redemption.SessionExpired, At: at(700), OrderID: plain.ID}})
	same(p, settled.Order.State, store.OrderCancelled, "the state of an order without a coupon")

	opened := p.opened(c, "ann")
	for _, id := range []string{opened.Redemption.ID, ""} {
		abandoned.Event.OrderID, abandoned.ReservationID = opened.Order.ID, id
		settled = p.settle(abandoned)
		same(p, settled, store.Settled{Order: opened.Order}, "what Settle returns for an expiry without a session, of an order that has one")
	}
	same(p, p.reread(opened), opened, "a reservation with a session, and its order")
	p.reservationsOfOthers(c)
	same(p, p.reread(bystander), bystander, "a reservation without a session, and its order")
	held := p.exchanged(p.coupon(forPoints), "ann")
	abandoned.Event.OrderID, abandoned.ReservationID = "", held.ID
	same(p, p.settle(abandoned).Changed, false, "whether an expiry that names neither session nor order changed something")
	same(p, p.redemption(held.ID), held, "a reservation with neither session nor order")
	abandoned.ReservationID = bystander.Redemption.ID
	same(p, p.settle(abandoned), store.Settled{}, "what Settle returns for an expiry that names a reservation, and not its order")
	same(p, p.reread(bystander), bystander, "a reservation without a session that was named, and its order")
	p.counts(c.ID, 0, 4)
	p.invariants()
}

// reservationsOfOthers tells of orders without a session whose reservations have another
// order by now, or a session.
func (p *probe) reservationsOfOthers(c coupon.Coupon) {
	p.Helper()
	left, joined := p.reserve(c, "ann"), p.reserve(c, "ann")
	_, err := p.s.TakeOver(p.Context(), p.takeOver(c, left.Redemption, p.key()))
	p.ok(err, "TakeOver")
	p.transition(joined.Redemption.ID, redemption.Event{
		Kind: redemption.SessionAttached, At: at(650), SessionID: p.session(), OrderID: joined.Order.ID, Deadline: at(2000),
	})
	for what, r := range map[string]store.Reserved{"another order": left, "a session": joined} {
		reservation, order := p.redemption(r.Redemption.ID), p.order(r.Order.ID)
		for _, id := range []string{reservation.ID, ""} {
			alone := store.Settlement{Event: redemption.Event{Kind: redemption.SessionExpired, At: at(700), OrderID: order.ID}, ReservationID: id}
			after := order.After(alone.Event)
			want := store.Settled{Order: after, Changed: !sameOrder(after, order)}
			same(p, p.settle(alone), want, "what Settle returns for the expiry of an order whose reservation has %s", what)
			order = after
		}
		same(p, p.redemption(reservation.ID), reservation, "the reservation that has %s", what)
	}
}

// settlementsThatDoNotValidate brings sessions that cannot be kept to an order, and to a
// reservation and its order.
func settlementsThatDoNotValidate(p *probe) {
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	reserved := p.reserve(p.coupon(), "ann")
	for _, session := range append(impossible(), strings.Repeat("x", redemption.MaxIDLength+1)) {
		for _, kind := range []redemption.EventKind{redemption.SessionCompleted, redemption.SessionUnpaid} {
			_, err := p.s.Settle(p.Context(), p.settlement(kind, store.Reserved{Order: plain}, session))
			p.fails(err, pricing.ErrInvalid, "Settle (%s) of an order without a coupon with the session %.20q", kind, session)
			same(p, p.order(plain.ID), plain, "an order without a coupon after the session %.20q", session)
			_, err = p.s.Settle(p.Context(), p.settlement(kind, reserved, session))
			p.fails(err, pricing.ErrInvalid, "Settle (%s) of a reservation with the session %.20q", kind, session)
			same(p, p.reread(reserved), reserved, "a reservation and its order after the session %.20q", session)
		}
	}
	longest := p.settlement(redemption.SessionCompleted, store.Reserved{Order: plain}, strings.Repeat("x", redemption.MaxIDLength))
	same(p, p.settle(longest).Order, plain.After(longest.Event), "the order of the longest session")
}

func settleTakesEventsOfSessions(p *probe) {
	c := p.coupon()
	bare, opened := p.reserve(c, "ann"), p.opened(c, "ann")
	for _, kind := range []redemption.EventKind{
		0, redemption.PointsExchanged, redemption.SessionAttached, redemption.TakenOver, redemption.Cancelled, redemption.Lapsed, redemption.PointsGivenBack, redemption.PointsRefused, redemption.Leaving, 99,
	} {
		_, err := p.s.Settle(p.Context(), p.settlement(kind, opened, opened.Order.SessionID))
		p.fails(err, redemption.ErrIllegal, "Settle of %q", kind)
	}
	_, err := p.s.Settle(p.Context(), p.settlement(redemption.SessionCompleted, bare, ""))
	p.fails(err, redemption.ErrIllegal, "Settle of a payment without a session")
	same(p, p.reread(bare), bare, "a reservation without a session, and its order")
	same(p, p.reread(opened), opened, "a reservation in a session, and its order")
	p.counts(c.ID, 0, 2)
}

func eventsAboutNothing(p *probe) {
	c := p.coupon()
	r := p.opened(c, "ann")
	for _, kind := range []redemption.EventKind{
		redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionCompleted,
	} {
		unknown := store.Settlement{
			Event:         redemption.Event{Kind: kind, At: at(700), SessionID: "cs_unknown", OrderID: "ord_unknown", Deadline: at(5000)},
			ReservationID: "rsv_unknown", CustomerID: "ann", NewID: "rsv_new",
		}
		same(p, p.settle(unknown), store.Settled{}, "what Settle returns for %q of a session that nobody knows", kind)
		unknown.Event.OrderID, unknown.ReservationID = "", ""
		same(p, p.settle(unknown), store.Settled{}, "what Settle returns for %q without metadata", kind)
		if kind != redemption.SessionCompleted {
			unknown.CouponID = c.ID
			same(p, p.settle(unknown), store.Settled{}, "what Settle returns for %q of a session that names a coupon", kind)
		}
	}
	p.settleSession(redemption.SessionExpired, r)
	settled := p.settleSession(redemption.SessionExpired, r)
	same(p, settled.Changed, false, "whether a repeated event changed something")
	same(p, len(p.redemptions(store.RedemptionList{})), 1, "the number of redemptions")
	p.invariants()
}

func settlePlainOrder(p *probe) {
	for kinds, want := range map[[2]redemption.EventKind]store.OrderState{
		{redemption.SessionCompleted, redemption.SessionExpired}: store.OrderPaid,
		{redemption.SessionExpired, redemption.SessionCompleted}: store.OrderPaid,
		{redemption.SessionExpired, redemption.SessionExpired}:   store.OrderCancelled,
		{redemption.SessionUnpaid, redemption.SessionExpired}:    store.OrderAwaitingPayment,
		{redemption.SessionUnpaid, redemption.PaymentFailed}:     store.OrderCancelled,
	} {
		for _, attached := range []bool{true, false} {
			o, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
			p.ok(err, "CreateOrder")
			session := p.session()
			if attached {
				o = p.attach(o.ID, session)
			}
			for _, kind := range kinds {
				event := p.settlement(kind, store.Reserved{Order: o}, session)
				if attached {
					event.Event.OrderID = "" // the session finds it
				}
				after := o.After(event.Event)
				settled := p.settle(event)
				same(p, settled, store.Settled{Order: after, Changed: !sameOrder(after, o)}, "what Settle returns for %q", kind)
				o = after
			}
			same(p, p.order(o.ID), o, "the order")
			same(p, o.State, want, "the state of the order after %v", kinds)
		}
	}
	same(p, p.redemptions(store.RedemptionList{}), nil, "the list of redemptions")
}

// sessionOfSeveralOrders gives one session to orders of one customer, then to those of
// two, and tells of it without naming an order.
func sessionOfSeveralOrders(p *probe) {
	for _, second := range []string{"ann", "bob"} {
		for last := range 2 {
			// No array: compilers from Go 1.24 on lose sight of one on the stack that is
			// indexed again after a call, and what its strings point to is collected.
			var orders []store.Order
			for _, customer := range []string{"ann", second} {
				o, _, err := p.s.CreateOrder(p.Context(), p.plain(customer, p.key()))
				p.ok(err, "CreateOrder")
				orders = append(orders, o)
			}
			session := p.session()
			p.attachAt(orders[1-last].ID, session, 600)
			orders[last] = p.attachAt(orders[last].ID, session, 601)
			other := p.attachAt(orders[1-last].ID, session, 602) // which it has
			for _, kind := range []redemption.EventKind{redemption.SessionUnpaid, redemption.SessionCompleted, redemption.SessionCompleted} {
				event := p.settlement(kind, store.Reserved{}, session)
				want := orders[last].After(event.Event)
				same(p, p.settle(event).Order, want, "the order of %q", kind)
				same(p, p.order(want.ID), want, "the order that was changed last, after %q", kind)
				same(p, p.order(other.ID), other, "the order that was changed before, after %q", kind)
				orders[last] = want
			}
		}
	}
	p.sessionOfTheFirst()
	p.sessionThatWasLeft()
}

// sessionOfTheFirst lets the order change last that was attached first.
func (p *probe) sessionOfTheFirst() {
	p.Helper()
	session := p.session()
	var orders []store.Order
	for i := range 2 {
		o, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
		p.ok(err, "CreateOrder")
		orders = append(orders, p.attachAt(o.ID, session, 600+i))
	}
	p.settle(p.settlement(redemption.SessionUnpaid, store.Reserved{Order: orders[0]}, session))
	paid := p.settle(p.settlement(redemption.SessionCompleted, store.Reserved{}, session)).Order
	same(p, paid.ID, orders[0].ID, "the order of a payment that names none, of the two the one that waits for it")
	same(p, p.order(orders[1].ID), orders[1], "the order that was attached last")
}

// sessionThatWasLeft gives the session that a reservation has left to another one.
func (p *probe) sessionThatWasLeft() {
	p.Helper()
	c := p.coupon()
	left, next := p.opened(c, "ann"), p.reserve(c, "ann")
	_, err := p.s.TakeOver(p.Context(), p.takeOver(c, left.Redemption, p.key()))
	p.ok(err, "TakeOver")
	next.Order = p.attachAt(next.Order.ID, left.Order.SessionID, 900)
	left = p.reread(left)
	paid := p.settlement(redemption.SessionCompleted, store.Reserved{}, next.Order.SessionID)
	paid.Event.At = at(901)
	settled := p.settle(paid)
	same(p, settled.Redemption.ID, next.Redemption.ID, "the redemption of a session that another one has left")
	same(p, settled.Order, next.Order.After(paid.Event), "the order of that redemption")
	same(p, p.reread(left), left, "the reservation that has left the session, and its order")
	p.invariants()
}
