package storetest

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func leavingClauses() []clause {
	return []clause{
		{"a reservation that leaves its session", "Transition keeps an event redemption.Leaving: until the instant that it names an expiry of the session releases nothing, though it cancels the session's order, and the reservation can be taken over", leavesItsSession},
		{"leaving is taken back", "a deadline of zero of redemption.Leaving takes that back: an expiry of the session releases the reservation at once", leavingIsTakenBack},
		{"a reservation that never leaves", "what an expiry has left for a take-over that does not come is due from the instant that redemption.Leaving named, and lapses or expires from then on", neverLeaves},
	}
}

// leavingBy is when the reservations of these clauses are to have left.
func leavingBy() time.Time { return at(100_000) }

// inSession is a reservation in a session, and its coupon.
type inSession struct {
	store.Reserved
	coupon coupon.Coupon
}

// eachInSession calls clause with a reservation of a checkout, and with one for points.
func (p *probe) eachInSession(clause func(r inSession)) {
	p.Helper()
	plain, points := p.coupon(limits(1, 1)), p.coupon(forPoints, limits(1, 1))
	clause(inSession{p.opened(plain, "ann"), plain})
	exchanged, err := p.s.TakeOver(p.Context(), p.takeOver(points, p.exchanged(points, "ann"), p.key()))
	p.ok(err, "TakeOver of a reservation for points")
	clause(inSession{p.open(exchanged), points})
	p.invariants()
}

// leaving says that the reservation is about to leave its session.
func (p *probe) leaving(r store.Reserved) store.Reserved {
	p.Helper()
	e := redemption.Event{Kind: redemption.Leaving, At: at(600), SessionID: r.Redemption.SessionID, Deadline: leavingBy()}
	want, err := redemption.Apply(r.Redemption, e)
	p.own(err)
	for range 2 {
		same(p, p.transition(want.ID, e), want, "what Transition (%s) returns", e.Kind)
	}
	r.Redemption = want
	same(p, p.reread(r), r, "a reservation that is leaving its session, and its order")
	return r
}

// expiredWhileLeaving settles an expiry of the session that the reservation is leaving.
func (p *probe) expiredWhileLeaving(r store.Reserved) store.Reserved {
	p.Helper()
	event := p.settlement(redemption.SessionExpired, r, r.Redemption.SessionID)
	kept, err := redemption.Apply(r.Redemption, event.Event)
	p.own(err)
	want := store.Reserved{Redemption: kept, Order: r.Order.After(event.Event)}
	same(p, p.settle(event), store.Settled{Redemption: want.Redemption, Order: want.Order, Changed: true}, "what Settle returns")
	same(p, p.reread(r), want, "a reservation that is leaving its session, and its order, after the expiry")
	same(p, want.Redemption.Live(), true, "whether it is live")
	same(p, want.Order.State, store.OrderCancelled, "the state of its order")
	return want
}

func leavesItsSession(p *probe) {
	p.eachInSession(func(r inSession) {
		left := p.expiredWhileLeaving(p.leaving(r.Reserved))
		p.counts(r.coupon.ID, 0, 1)
		over := p.takeOver(r.coupon, left.Redemption, p.key())
		want, err := redemption.Apply(left.Redemption, takenOver(over))
		p.own(err)
		taken, err := p.s.TakeOver(p.Context(), over)
		p.ok(err, "TakeOver of a reservation whose session has expired")
		same(p, taken, store.Reserved{Redemption: want, Order: over.Order}, "what TakeOver returns")
		p.settleSession(redemption.SessionExpired, r.Reserved)
		same(p, p.reread(taken), taken, "a reservation that has left its session, and its order, after another expiry")
		p.counts(r.coupon.ID, 0, 1)
	})
}

func leavingIsTakenBack(p *probe) {
	p.eachInSession(func(r inSession) {
		left := p.leaving(r.Reserved).Redemption
		stays := redemption.Event{Kind: redemption.Leaving, At: at(610), SessionID: left.SessionID}
		want, err := redemption.Apply(left, stays)
		p.own(err)
		same(p, p.transition(left.ID, stays), want, "what Transition (%s) returns without a deadline", stays.Kind)
		same(p, p.redemption(left.ID), want, "the reservation that stays in its session")
		p.settleSession(redemption.SessionExpired, r.Reserved)
		same(p, p.redemption(left.ID).State, redemption.Released, "its state after the expiry")
		p.counts(r.coupon.ID, 0, 0)
		for _, due := range p.redemptions(store.RedemptionList{CouponID: r.coupon.ID}) {
			if due.RefundDue() {
				p.transition(due.ID, redemption.Event{Kind: redemption.PointsGivenBack, At: at(620)})
			}
		}
	})
}

func neverLeaves(p *probe) {
	p.eachInSession(func(r inSession) {
		left := p.expiredWhileLeaving(p.leaving(r.Reserved)).Redemption
		p.due(leavingBy().Add(-time.Microsecond))
		p.due(leavingBy(), left)
		lapsed := redemption.Event{Kind: redemption.Lapsed, At: leavingBy(), SessionID: left.SessionID}
		want, err := redemption.Apply(left, lapsed)
		p.own(err)
		if left.Origin == redemption.FromPoints {
			late := p.settlement(redemption.SessionExpired, r.Reserved, left.SessionID)
			late.Event.At = leavingBy()
			same(p, p.settle(late).Redemption, want, "what Settle returns for an expiry that comes then")
		} else {
			same(p, p.transition(left.ID, lapsed), want, "what Transition (%s) returns", lapsed.Kind)
		}
		same(p, p.redemption(left.ID), want, "the reservation that never left")
		p.counts(r.coupon.ID, 0, 0)
	})
}

// due compares what the sweep finds.
func (p *probe) due(at time.Time, want ...redemption.Redemption) {
	p.Helper()
	got, err := p.s.Due(p.Context(), at, 10)
	p.ok(err, "Due")
	same(p, got, want, "what is due at %s", at)
}

// leaveStep lets a reservation leave its session, or lets the session of one that is
// leaving expire.
func (h *history) leaveStep() request {
	id, now := h.recordThat(func(r redemption.Redemption) bool { return !r.LeavingUntil.IsZero() })
	if now.LeavingUntil.IsZero() {
		id, now = h.recordThat(func(r redemption.Redemption) bool { return r.Live() && r.SessionID != "" })
	}
	e := redemption.Event{Kind: redemption.Leaving, At: at(h.next()), SessionID: now.SessionID, Deadline: at(h.next() + h.random.IntN(40))}
	if now.LeavingUntil.IsZero() || h.oneIn(4) {
		return request{
			fmt.Sprintf("%q is leaving session %q", id, e.SessionID),
			func(s store.Store) (any, error) { return s.Transition(h.Context(), id, e) },
		}
	}
	e.Kind, e.OrderID = redemption.SessionExpired, now.OrderID
	t := store.Settlement{Event: e, ReservationID: id, CouponID: now.CouponID, CustomerID: now.CustomerID}
	return request{
		fmt.Sprintf("settle %s: session %q, which %q is leaving", e.Kind, e.SessionID, id),
		func(s store.Store) (any, error) { return s.Settle(h.Context(), t) },
	}
}
