package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func machineClauses() []clause {
	return []clause{
		{"the machine decides", "every method applies redemption.Apply and store.Order.After under the store's lock, and changes record, counts and order together or not at all", machineDecides},
	}
}

func transitionClauses() []clause {
	return []clause{
		{"transition", "Transition applies an event to one redemption, and cancels its order when it is released; any other event leaves the order alone; repeating it changes nothing", transition},
		{"transition takes no events of sessions", "Transition applies an event that does not come from a session: a payment would be counted without a look at the limits; anything else is redemption.ErrIllegal and changes nothing", transitionOfASession},
		{"illegal transitions change nothing", "an illegal event is an error that matches redemption.ErrIllegal; an unknown ID is ErrNotFound", illegalTransitions},
		{"a transition to the session of another", "an event that brings a redemption a session that another one has is ErrSuperseded, and changes nothing; one that redemption.Apply refuses is redemption.ErrIllegal, before that", transitionToSessionOfAnother},
		{"events without an instant", "an event without an instant is pricing.ErrInvalid, of a session or not, and a call that returns an error has changed nothing", eventsWithoutAnInstant},
		{"changes without an instant", "a take-over or an attachment without an instant is pricing.ErrInvalid, and changes nothing", changesWithoutAnInstant},
		{"a transition that does not validate", "an event with which the redemption does not validate is pricing.ErrInvalid, and a call that returns an error has changed nothing", transitionThatDoesNotValidate},
	}
}

// scene brings a reservation into one of its states.
type scene struct {
	name   string
	points bool
	stage  func(p *probe, c coupon.Coupon) store.Reserved
}

func scenes() []scene {
	settled := func(kinds ...redemption.EventKind) func(*probe, coupon.Coupon) store.Reserved {
		return func(p *probe, c coupon.Coupon) store.Reserved {
			r := p.opened(c, p.key())
			for _, kind := range kinds {
				p.settleSession(kind, r)
			}
			return r
		}
	}
	pending := func(p *probe, c coupon.Coupon) store.Reserved { return p.place(p.exchange(c, p.key(), p.key())) }
	exchanged := func(p *probe, c coupon.Coupon) store.Reserved {
		return store.Reserved{Redemption: p.exchanged(c, p.key())}
	}
	checkedOut := func(p *probe, c coupon.Coupon) store.Reserved {
		taken, err := p.s.TakeOver(p.Context(), p.takeOver(c, exchanged(p, c).Redemption, p.key()))
		p.ok(err, "TakeOver")
		return p.open(taken)
	}
	leaving := func(stage func(*probe, coupon.Coupon) store.Reserved) func(*probe, coupon.Coupon) store.Reserved {
		return func(p *probe, c coupon.Coupon) store.Reserved { return p.leaving(stage(p, c)) }
	}
	return []scene{
		{"new", false, func(p *probe, c coupon.Coupon) store.Reserved { return p.reserve(c, p.key()) }},
		{"in a session", false, settled()},
		{"leaving its session", false, leaving(settled())},
		{"awaiting its payment", false, settled(redemption.SessionUnpaid)},
		{"completed", false, settled(redemption.SessionCompleted)},
		{"released", false, settled(redemption.SessionExpired)},
		{"completed after all", false, settled(redemption.SessionExpired, redemption.SessionCompleted)},
		{"cancelled before its session", false, func(p *probe, c coupon.Coupon) store.Reserved {
			r := p.reserve(c, p.key())
			p.transition(r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
			return r
		}},
		{"for points to be debited", true, pending},
		{"for points", true, exchanged},
		{"for points, in a session", true, checkedOut},
		{"for points, leaving its session", true, leaving(checkedOut)},
		{"for points, cancelled", true, func(p *probe, c coupon.Coupon) store.Reserved {
			r := exchanged(p, c)
			p.transition(r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
			return r
		}},
		{"for points, refunded", true, func(p *probe, c coupon.Coupon) store.Reserved {
			r := checkedOut(p, c)
			p.settleSession(redemption.SessionExpired, r)
			p.transition(r.Redemption.ID, redemption.Event{Kind: redemption.PointsGivenBack, At: at(900)})
			return r
		}},
	}
}

// machineDecides applies every event to every state, and compares the outcome with
// the machine's. Every reservation has a customer of its own; one that an event has not
// changed meets the next event too.
func machineDecides(p *probe) {
	plain, points := p.coupon(), p.coupon(forPoints)
	for _, scene := range scenes() {
		c := plain
		if scene.points {
			c = points
		}
		before := p.state(scene.stage(p, c))
		for _, kind := range []redemption.EventKind{
			redemption.SessionCompleted, redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionExpired,
		} {
			session := before.Redemption.SessionID
			if session == "" {
				session = p.session()
			}
			event := p.settlement(kind, before, session)
			settled := p.settle(event)
			after := p.decided(before, event.Event, nil, scene.name)
			same(p, settled.Redemption, after.Redemption, "what Settle returns for %q of one that is %s", kind, scene.name)
			before = p.staged(scene, c, before, after)
		}
		for _, kind := range []redemption.EventKind{
			redemption.PointsExchanged, redemption.PointsRefused, redemption.Cancelled, redemption.Lapsed, redemption.PointsGivenBack,
			redemption.Leaving,
		} {
			for _, seen := range []bool{true, false} {
				e := redemption.Event{Kind: kind, At: at(6000), SessionID: "cs_other", Deadline: leavingBy()}
				if seen {
					e.SessionID = before.Redemption.SessionID
				}
				_, err := p.s.Transition(p.Context(), before.Redemption.ID, e)
				before = p.staged(scene, c, before, p.decided(before, e, err, scene.name))
			}
		}
	}
	p.invariants()
}

// state reads a reservation and its order, if it has one.
func (p *probe) state(r store.Reserved) store.Reserved {
	p.Helper()
	now := store.Reserved{Redemption: p.redemption(r.Redemption.ID)}
	if now.Redemption.OrderID != "" {
		now.Order = p.order(now.Redemption.OrderID)
	}
	return now
}

// staged returns a reservation that is in the scene: the one before, if it is still there.
func (p *probe) staged(s scene, c coupon.Coupon, before, after store.Reserved) store.Reserved {
	p.Helper()
	if cmp.Equal(before, after, cmpopts.EquateEmpty()) {
		return before
	}
	return p.state(s.stage(p, c))
}

// decided compares what is stored after an event with what the machine makes of it, and
// returns what is stored.
func (p *probe) decided(before store.Reserved, e redemption.Event, failure error, name string) store.Reserved {
	p.Helper()
	what := fmt.Sprintf("%q of one that is %s", e.Kind, name)
	want, err := redemption.Apply(before.Redemption, e)
	if err != nil {
		if cause := errors.Unwrap(err); !errors.Is(failure, cause) {
			p.broken("%s returned the error %v, and not %v", what, failure, cause)
		}
		after := p.state(before)
		same(p, after, before, "what is stored after %s", what)
		return after
	}
	p.ok(failure, "%s", what)
	order := before.Order
	released := before.Redemption.State != redemption.Released && want.State == redemption.Released
	if !order.IsZero() && (released || e.OfSession()) {
		order = order.After(e)
	}
	after := p.state(before)
	same(p, after, store.Reserved{Redemption: want, Order: order}, "what is stored after %s", what)
	return after
}

func transition(p *probe) {
	c := p.coupon(limits(10, 0))
	for _, kind := range []redemption.EventKind{redemption.Cancelled, redemption.Lapsed} {
		for _, r := range []store.Reserved{p.reserve(c, "ann"), p.opened(c, "ann")} {
			p.counts(c.ID, 0, int64(len(p.redemptions(store.RedemptionList{State: redemption.Reserved}))))
			e := redemption.Event{Kind: kind, At: at(2000), SessionID: r.Redemption.SessionID}
			want, err := redemption.Apply(r.Redemption, e)
			p.own(err)
			order := r.Order.After(e)
			for range 2 {
				same(p, p.transition(want.ID, e), want, "what Transition (%s) returns", kind)
				same(p, p.redemption(want.ID), want, "the reservation")
				same(p, p.order(order.ID), order, "its order")
				e.At = at(2001)
			}
			same(p, order.State, store.OrderCancelled, "the state of its order")
		}
	}
	p.counts(c.ID, 0, 0)
	p.transitionThatReleasesNothing(c)
	p.invariants()
}

// transitionThatReleasesNothing brings a reservation a session, of which its order hears
// nothing.
func (p *probe) transitionThatReleasesNothing(c coupon.Coupon) {
	p.Helper()
	r := p.reserve(c, "ann")
	e := redemption.Event{Kind: redemption.SessionAttached, At: at(950), SessionID: p.session(), OrderID: r.Order.ID, Deadline: at(2000)}
	want, err := redemption.Apply(r.Redemption, e)
	p.own(err)
	same(p, p.transition(want.ID, e), want, "what Transition (%s) returns", e.Kind)
	same(p, p.order(r.Order.ID), r.Order, "the order of a reservation that was brought a session")
}

func transitionOfASession(p *probe) {
	c := p.coupon(limits(1, 1))
	lost := p.opened(c, "ann")
	p.settleSession(redemption.SessionExpired, lost)
	lost = p.reread(lost)
	opened := p.opened(c, "bob") // in the last place
	for what, r := range map[string]store.Reserved{"released": lost, "in a session": opened} {
		for _, kind := range []redemption.EventKind{
			redemption.SessionCompleted, redemption.SessionUnpaid, redemption.PaymentFailed, redemption.SessionExpired,
		} {
			event := p.settlement(kind, r, r.Order.SessionID).Event
			_, err := p.s.Transition(p.Context(), r.Redemption.ID, event)
			p.fails(err, redemption.ErrIllegal, "Transition (%s) of one that is %s", kind, what)
			same(p, p.reread(r), r, "a reservation that is %s, and its order, after Transition (%s)", what, kind)
		}
	}
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func illegalTransitions(p *probe) {
	c := p.coupon()
	bare, opened, paid := p.reserve(c, "ann"), p.opened(c, "ann"), p.opened(c, "ann")
	p.settleSession(redemption.SessionCompleted, paid)
	paid = p.reread(paid)
	for _, test := range []struct {
		what string
		r    store.Reserved
		e    redemption.Event
		want error
	}{
		{"cancel after the payment", paid, redemption.Event{Kind: redemption.Cancelled, SessionID: paid.Order.SessionID}, redemption.ErrIllegal},
		{"lapse after the payment", paid, redemption.Event{Kind: redemption.Lapsed, SessionID: paid.Order.SessionID}, redemption.ErrIllegal},
		{"lapse before the deadline", bare, redemption.Event{Kind: redemption.Lapsed, At: at(1000).Add(-1000)}, redemption.ErrNotLapsed},
		{"cancel with a session that is not attached", bare, redemption.Event{Kind: redemption.Cancelled, SessionID: "cs"}, redemption.ErrOtherSession},
		{"cancel without the session that is attached", opened, redemption.Event{Kind: redemption.Cancelled}, redemption.ErrOtherSession},
		{"lapse without the session that is attached", opened, redemption.Event{Kind: redemption.Lapsed}, redemption.ErrOtherSession},
		{"debit points of a coupon without", bare, redemption.Event{Kind: redemption.PointsExchanged}, redemption.ErrIllegal},
		{"refund points of a coupon without", bare, redemption.Event{Kind: redemption.PointsGivenBack}, redemption.ErrIllegal},
		{"refuse points of a coupon without", bare, redemption.Event{Kind: redemption.PointsRefused}, redemption.ErrIllegal},
		{"leave a session that is not attached", bare, redemption.Event{Kind: redemption.Leaving, SessionID: "cs"}, redemption.ErrOtherSession},
		{"leave no session", bare, redemption.Event{Kind: redemption.Leaving}, redemption.ErrIllegal},
		{"leave a session that is paid", paid, redemption.Event{Kind: redemption.Leaving, SessionID: paid.Order.SessionID}, redemption.ErrIllegal},
		{"do nothing that is known", bare, redemption.Event{Kind: 99}, redemption.ErrIllegal},
	} {
		if test.e.At.IsZero() {
			test.e.At = at(9000)
		}
		_, err := p.s.Transition(p.Context(), test.r.Redemption.ID, test.e)
		p.fails(err, test.want, "Transition to %s", test.what)
		p.fails(err, redemption.ErrIllegal, "Transition to %s", test.what)
		same(p, p.reread(test.r), test.r, "the reservation, and its order, after the attempt to %s", test.what)
	}
	_, err := p.s.Transition(p.Context(), "rsv_unknown", redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	p.fails(err, store.ErrNotFound, "Transition of an unknown redemption")
	if errors.Is(err, redemption.ErrIllegal) {
		p.broken("the error of an unknown redemption matches redemption.ErrIllegal: %v", err)
	}
	p.counts(c.ID, 1, 2)
	p.invariants()
}

func transitionToSessionOfAnother(p *probe) {
	c := p.coupon()
	bare := p.reserve(c, "bob")
	event := redemption.Event{Kind: redemption.SessionAttached, At: at(950), OrderID: bare.Order.ID, Deadline: at(2000)}
	for what, session := range p.takenSessions(c) {
		event.SessionID = session
		_, err := p.s.Transition(p.Context(), bare.Redemption.ID, event)
		p.fails(err, store.ErrSuperseded, "Transition to the session of a redemption that is %s", what)
		same(p, p.reread(bare), bare, "the reservation, and its order, after the session of one that is %s", what)
		event.OrderID = "ord_other"
		_, err = p.s.Transition(p.Context(), bare.Redemption.ID, event)
		p.fails(err, redemption.ErrIllegal, "Transition to the session of a redemption that is %s, of another order", what)
		event.OrderID = bare.Order.ID
		_, err = p.s.Transition(p.Context(), "rsv_unknown", event)
		p.fails(err, store.ErrNotFound, "Transition of an unknown redemption to the session of another")
	}
	event.SessionID = p.session()
	want, err := redemption.Apply(bare.Redemption, event)
	p.own(err)
	for range 2 {
		same(p, p.transition(bare.Redemption.ID, event), want, "what Transition to a session of its own returns")
	}
	p.invariants()
}

func eventsWithoutAnInstant(p *probe) {
	c := p.coupon()
	bare, opened, points := p.reserve(c, "ann"), p.opened(c, "ann"), p.place(p.exchange(p.coupon(forPoints), "ann", p.key())).Redemption
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	for id, e := range map[string]redemption.Event{
		bare.Redemption.ID:   {Kind: redemption.Cancelled},
		opened.Redemption.ID: {Kind: redemption.Leaving, SessionID: opened.Order.SessionID, Deadline: leavingBy()},
		points.ID:            {Kind: redemption.PointsExchanged},
	} {
		_, err := p.s.Transition(p.Context(), id, e)
		p.fails(err, pricing.ErrInvalid, "Transition (%s) at no instant", e.Kind)
	}
	for what, t := range map[string]store.Settlement{
		"a session":                  p.settlement(redemption.SessionCompleted, opened, opened.Order.SessionID),
		"the end of a session":       p.settlement(redemption.SessionExpired, opened, opened.Order.SessionID),
		"an order alone":             p.settlement(redemption.SessionExpired, bare, ""),
		"an order without a coupon":  p.settlement(redemption.SessionUnpaid, store.Reserved{Order: plain}, p.session()),
		"a payment without a record": p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: redemption.Redemption{CouponID: c.ID}}, p.session()),
	} {
		t.Event.At = time.Time{}
		_, err := p.s.Settle(p.Context(), t)
		p.fails(err, pricing.ErrInvalid, "Settle of %s at no instant", what)
	}
	same(p, p.reread(bare), bare, "a reservation, and its order, after events without an instant")
	same(p, p.reread(opened), opened, "a reservation in a session, and its order, after events without an instant")
	same(p, p.redemption(points.ID), points, "a reservation for points after an event without an instant")
	same(p, p.order(plain.ID), plain, "an order without a coupon after an event without an instant")
	p.counts(c.ID, 0, 2)
}

func changesWithoutAnInstant(p *probe) {
	c := p.coupon()
	bare := p.reserve(c, "ann")
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	over := p.takeOver(c, bare.Redemption, p.key())
	over.At = time.Time{}
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, pricing.ErrInvalid, "TakeOver at no instant")
	for what, o := range map[string]store.Order{"a reservation's order": bare.Order, "an order without a coupon": plain} {
		_, err = p.s.AttachSession(p.Context(), store.Attachment{OrderID: o.ID, SessionID: p.session(), Deadline: at(2000)})
		p.fails(err, pricing.ErrInvalid, "AttachSession to %s at no instant", what)
	}
	same(p, p.reread(bare), bare, "a reservation, and its order, after changes without an instant")
	same(p, p.order(plain.ID), plain, "an order without a coupon after a session without an instant")
	_, err = p.s.Order(p.Context(), over.Order.ID)
	p.fails(err, store.ErrNotFound, "Order of a take-over without an instant")
}

func transitionThatDoesNotValidate(p *probe) {
	bare := p.reserve(p.coupon(), "ann")
	event := redemption.Event{Kind: redemption.SessionAttached, At: at(950), OrderID: bare.Order.ID, Deadline: at(2000)}
	for _, session := range append(impossible(), strings.Repeat("x", redemption.MaxIDLength+1)) {
		event.SessionID = session
		_, err := p.s.Transition(p.Context(), bare.Redemption.ID, event)
		p.fails(err, pricing.ErrInvalid, "Transition to the session %.20q", session)
		same(p, p.reread(bare), bare, "the reservation, and its order, after the session %.20q", session)
	}
	event.SessionID = strings.Repeat("x", redemption.MaxIDLength)
	same(p, p.transition(bare.Redemption.ID, event).SessionID, event.SessionID, "the longest session")
}
