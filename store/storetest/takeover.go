package storetest

import (
	"context"
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func takeOverClauses() []clause {
	return []clause{
		{"take over", "TakeOver gives a live reservation to another order of its customer and stores that order; the order before, if it is not paid, is cancelled; it needs no place, for the reservation has one", takeOver},
		{"take over of what has moved on", "when the reservation is not attached to FromSessionID any more, or cannot be used, it is ErrSuperseded", takeOverSuperseded},
		{"take over of a coupon that changed", "the coupon is asked as in Reserve: CouponRevision is the revision that was quoted, and 0 accepts any; one that is not active is coupon.ErrInactive, one that is gone coupon.ErrNotFound", takeOverAsksTheCoupon},
		{"take over is repeated by its key", "the order's key is idempotent as in Reserve", takeOverRepeated},
		{"take over by somebody else", "TakeOver gives a reservation to another order of its customer, and to nobody else's", takeOverBySomebodyElse},
		{"late events of a session that was left", "what is said of a session that a reservation has left does not touch the reservation", lateEvents},
		{"late payment of a session that was left", "a completed session for which no redemption is found, but whose metadata names a coupon, is recorded as a new redemption: the customer has paid", latePayment},
	}
}

func takeOver(p *probe) {
	c := p.coupon(limits(1, 1))
	for _, first := range []store.Reserved{p.reserve(c, "ann"), {}} {
		if first.Order.IsZero() {
			first = p.released(c)
		}
		over := p.takeOver(c, first.Redemption, p.key())
		want, err := redemption.Apply(first.Redemption, takenOver(over))
		p.own(err)
		cancelled := first.Order.After(takenOver(over))
		taken, err := p.s.TakeOver(p.Context(), over)
		p.ok(err, "TakeOver")
		same(p, taken, store.Reserved{Redemption: want, Order: over.Order}, "what TakeOver returns")
		same(p, p.redemption(want.ID), want, "the reservation")
		same(p, p.order(over.Order.ID), over.Order, "the order that has the reservation now")
		same(p, p.order(first.Order.ID), cancelled, "the order that had the reservation")
		same(p, cancelled.State, store.OrderCancelled, "the state of the order that had the reservation")
		byKey, err := p.s.OrderByKey(p.Context(), "ann", over.Order.Key)
		p.ok(err, "OrderByKey")
		same(p, byKey, over.Order, "the order of the key")
		p.counts(c.ID, 0, 1)
		p.invariants()
	}
	p.takeOverNeedsNoPlace()
}

// takeOverNeedsNoPlace lowers the limits below what is taken.
func (p *probe) takeOverNeedsNoPlace() {
	p.Helper()
	c := p.coupon(limits(2, 2))
	p.settleSession(redemption.SessionCompleted, p.opened(c, "ann"))
	r := p.reserve(c, "ann")
	c.Limits = coupon.Limits{MaxUses: 1, MaxUsesPerUser: 1}
	c, err := p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	_, err = p.s.TakeOver(p.Context(), p.takeOver(c, r.Redemption, p.key()))
	p.ok(err, "TakeOver of a place that the limits would not leave now")
	p.counts(c.ID, 1, 1)
}

// released frees the coupon's only place, and opens a session with it.
func (p *probe) released(c coupon.Coupon) store.Reserved {
	p.Helper()
	for _, r := range p.redemptions(store.RedemptionList{CouponID: c.ID, State: redemption.Reserved}) {
		p.transition(r.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900), SessionID: r.SessionID})
	}
	return p.opened(c, "ann")
}

func takeOverSuperseded(p *probe) {
	c := p.coupon()
	attached, bare := p.opened(c, "ann"), p.reserve(c, "ann")
	moved := p.opened(c, "ann")
	_, err := p.s.TakeOver(p.Context(), p.takeOver(c, moved.Redemption, p.key()))
	p.ok(err, "TakeOver")
	expired, paid, awaiting := p.opened(c, "ann"), p.opened(c, "ann"), p.opened(c, "ann")
	p.settleSession(redemption.SessionExpired, expired)
	p.settleSession(redemption.SessionCompleted, paid)
	p.settleSession(redemption.SessionUnpaid, awaiting)

	for _, test := range []struct {
		what        string
		r           store.Reserved
		fromSession string
	}{
		{"a session that is not seen", attached, ""},
		{"another session", attached, "cs_other"},
		{"no session", bare, "cs_other"},
		{"a session that was left", moved, moved.Order.SessionID},
		{"an expired session", expired, expired.Order.SessionID},
		{"a paid session", paid, paid.Order.SessionID},
		{"a session that awaits its payment", awaiting, awaiting.Order.SessionID},
	} {
		before, order := p.redemption(test.r.Redemption.ID), p.order(test.r.Order.ID)
		over := p.takeOver(c, before, p.key())
		over.FromSessionID = test.fromSession
		_, err := p.s.TakeOver(p.Context(), over)
		p.fails(err, store.ErrSuperseded, "TakeOver from %s", test.what)
		p.fails(err, store.ErrConflict, "TakeOver from %s", test.what)
		same(p, p.redemption(before.ID), before, "the reservation with %s", test.what)
		same(p, p.order(order.ID), order, "the order with %s", test.what)
		_, err = p.s.Order(p.Context(), over.Order.ID)
		p.fails(err, store.ErrNotFound, "Order of a take-over from %s", test.what)
	}
	_, err = p.s.TakeOver(p.Context(), p.takeOver(c, redemption.Redemption{ID: "rsv_unknown", CustomerID: "ann"}, p.key()))
	p.fails(err, store.ErrNotFound, "TakeOver of an unknown reservation")
	p.invariants()
}

func takeOverAsksTheCoupon(p *probe) {
	c := p.coupon()
	r := p.reserve(c, "ann")
	changed := c
	changed.Name = "changed"
	changed, err := p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	over := p.takeOver(c, r.Redemption, p.key())
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrStaleRevision, "TakeOver at revision 1 of 2")
	same(p, p.redemption(r.Redemption.ID), r.Redemption, "the reservation")
	over.CouponRevision = 0
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver at any revision")
	taken, err = p.s.TakeOver(p.Context(), p.takeOver(changed, taken.Redemption, p.key()))
	p.ok(err, "TakeOver at the revision of the coupon")
	changed.State = coupon.Inactive
	changed, err = p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	_, err = p.s.TakeOver(p.Context(), p.takeOver(changed, taken.Redemption, p.key()))
	p.fails(err, coupon.ErrInactive, "TakeOver of a coupon that was switched off")
	moved := p.takeOver(changed, taken.Redemption, p.key())
	moved.FromSessionID = "cs_other"
	_, err = p.s.TakeOver(p.Context(), moved)
	p.fails(err, coupon.ErrInactive, "TakeOver, from another session, of a coupon that was switched off")
	p.ok(p.s.DeleteCoupon(p.Context(), changed.ID, changed.Revision), "DeleteCoupon")
	_, err = p.s.TakeOver(p.Context(), p.takeOver(changed, taken.Redemption, p.key()))
	p.fails(err, coupon.ErrNotFound, "TakeOver of a coupon that was deleted")
	same(p, p.redemption(taken.Redemption.ID), taken.Redemption, "the reservation")
}

func takeOverRepeated(p *probe) {
	c := p.coupon(limits(1, 1))
	first := p.opened(c, "ann")
	over := p.takeOver(c, first.Redemption, "key")
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	again := p.takeOver(c, first.Redemption, "key")
	got, err := p.s.TakeOver(p.Context(), again)
	p.ok(err, "TakeOver with the same key")
	taken.Replayed = true
	same(p, got, taken, "the result of the key")
	p.replays(c, first, "in the checkout that took it over")
	opened := p.open(taken)
	p.settleSession(redemption.SessionCompleted, opened)
	got, err = p.s.TakeOver(p.Context(), again)
	p.ok(err, "TakeOver with the same key")
	want := store.Reserved{Redemption: p.redemption(taken.Redemption.ID), Order: p.order(taken.Order.ID), Replayed: true}
	same(p, got, want, "the result of the key after the payment")
	reserved, err := p.s.Reserve(p.Context(), p.checkout(c, "ann", "key"))
	p.ok(err, "Reserve with the key of a take-over")
	same(p, reserved, want, "the result of the key in Reserve")

	again.Order.Fingerprint = "another cart"
	_, err = p.s.TakeOver(p.Context(), again)
	p.fails(err, store.ErrKeyReused, "TakeOver with the same key for another cart")
	_, err = p.s.Order(p.Context(), again.Order.ID)
	p.fails(err, store.ErrNotFound, "Order of a repeated take-over")
	p.counts(c.ID, 1, 0)
	p.invariants()
}

func takeOverBySomebodyElse(p *probe) {
	c := p.coupon()
	r := p.reserve(c, "ann")
	over := p.takeOver(c, r.Redemption, p.key())
	over.Order.CustomerID = "bob"
	_, err := p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrNotFound, "TakeOver of another customer's reservation")
	_, err = p.s.TakeOver(p.Context(), p.takeOver(p.coupon(), r.Redemption, p.key()))
	p.fails(err, store.ErrNotFound, "TakeOver of another coupon's reservation")
	over = p.takeOver(c, r.Redemption, p.key())
	over.Order.ReservationID = p.reserve(c, "ann").Redemption.ID
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrNotFound, "TakeOver for an order that names another reservation")
	same(p, p.redemption(r.Redemption.ID), r.Redemption, "the reservation")
	same(p, p.order(r.Order.ID), r.Order, "the order")
}

func lateEvents(p *probe) {
	c := p.coupon(limits(1, 0))
	left := p.opened(c, "ann")
	over := p.takeOver(c, left.Redemption, p.key())
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	for i, when := range []string{"before the new session is attached", "after it is attached"} {
		if i == 1 {
			taken = p.open(taken)
		}
		before, order := p.redemption(taken.Redemption.ID), p.order(taken.Order.ID)
		for _, kind := range []redemption.EventKind{redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed} {
			for _, metadata := range []bool{true, false} {
				late := p.settlement(kind, left, left.Order.SessionID)
				if !metadata {
					late.ReservationID, late.Event.OrderID, late.CouponID, late.CustomerID = "", "", "", ""
				}
				settled := p.settle(late)
				same(p, settled.Redemption, redemption.Redemption{}, "the redemption of a session that was left")
				same(p, p.redemption(before.ID), before, "the reservation after %q of the session that it left, %s", kind, when)
				same(p, p.order(order.ID), order, "the order after %q of the session that was left, %s", kind, when)
			}
		}
		same(p, p.order(left.Order.ID).State, store.OrderCancelled, "the state of the order that was left")
		p.counts(c.ID, 0, 1)
	}
	p.settleSession(redemption.SessionCompleted, p.reread(taken))
	p.counts(c.ID, 1, 0)
	p.invariants()
}

// reread returns the reservation and its order as they are stored now.
func (p *probe) reread(r store.Reserved) store.Reserved {
	p.Helper()
	return store.Reserved{Redemption: p.redemption(r.Redemption.ID), Order: p.order(r.Order.ID)}
}

func latePayment(p *probe) {
	c := p.coupon(limits(1, 0))
	left := p.opened(c, "ann")
	taken, err := p.s.TakeOver(p.Context(), p.takeOver(c, left.Redemption, p.key()))
	p.ok(err, "TakeOver")
	taken = p.open(taken)
	late := p.settlement(redemption.SessionCompleted, left, left.Order.SessionID)
	settled := p.settle(late)
	want := payment(late, true)
	same(p, settled.Redemption, want, "the redemption of a session that was left and paid all the same")
	same(p, p.redemption(want.ID), want, "the stored redemption")
	same(p, p.order(left.Order.ID).State, store.OrderPaid, "the state of the order that was paid all the same")
	same(p, p.reread(taken), taken, "the reservation that had left the session, and its order")
	p.counts(c.ID, 1, 1)
	again := p.settlement(redemption.SessionCompleted, left, left.Order.SessionID)
	same(p, p.settle(again).Redemption, want, "the redemption after the payment was delivered again")
	p.settleSession(redemption.SessionCompleted, taken)
	p.counts(c.ID, 2, 0)
	p.invariants()
}

func takeOverRaceClauses() []clause {
	return []clause{
		{"one take-over in a race", "when the reservation is not attached to FromSessionID any more it is ErrSuperseded: of many take-overs at once exactly one succeeds", takeOversInARace},
		{"take over with one key in a race", "the order's key is idempotent as in Reserve: of many take-overs at once with one key one takes over, and the others return its result", takeOverWithOneKeyInARace},
		{"take over and attach in a race", "an order whose reservation another order has taken over is ErrSuperseded, and so is a take-over from a session that is not attached any more: of both at once one succeeds", takeOverAndAttachInARace},
		{"take over and payment in a race", "the payment of a session and a take-over from it at once leave each paid session exactly one redemption", takeOverAndPaymentInARace},
	}
}

func takeOversInARace(p *probe) {
	c := p.coupon(limits(1, 1))
	first := p.opened(c, "ann")
	requests := make([]store.TakeOver, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.takeOver(c, first.Redemption, p.key())
	}
	results := make([]store.Reserved, len(requests))
	errs := p.together(len(requests), func(ctx context.Context, s store.Store, i int) (err error) {
		results[i], err = s.TakeOver(ctx, requests[i])
		return err
	})
	// Without a session attached in between, the winner's reservation has none; the
	// others come from a session that it has left.
	if n := p.succeeded(errs, store.ErrSuperseded, "TakeOver"); n != 1 {
		p.broken("of %d take-overs at once %d succeeded", len(requests), n)
	}
	for i, err := range errs {
		if err == nil {
			same(p, p.redemption(first.Redemption.ID), results[i].Redemption, "the reservation after the race")
		} else {
			_, err := p.s.Order(p.Context(), requests[i].Order.ID)
			p.fails(err, store.ErrNotFound, "Order of a take-over that lost")
		}
	}
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func takeOverWithOneKeyInARace(p *probe) {
	for _, most := range []int64{0, 2} {
		c := p.coupon(limits(most, 0))
		p.takeOversWithOneKey(c, p.opened(c, "ann"))
		p.takeOversWithOneKey(c, p.reserve(c, "bob"))
	}
	c := p.coupon()
	p.takeOversWithOneKey(c, p.opened(c, "ann"), p.reserve(c, "ann"))
	p.invariants()
}

// takeOversWithOneKey takes one of the customer's reservations over, by many calls at
// once.
func (p *probe) takeOversWithOneKey(c coupon.Coupon, held ...store.Reserved) {
	p.Helper()
	key := p.key()
	requests := make([]store.TakeOver, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.takeOver(c, held[i%len(held)].Redemption, key)
	}
	results := make([]store.Reserved, len(requests))
	errs := p.together(len(requests), func(ctx context.Context, s store.Store, i int) (err error) {
		results[i], err = s.TakeOver(ctx, requests[i])
		return err
	})
	if n := p.succeeded(errs, nil, "TakeOver with one key"); n != len(errs) {
		return
	}
	first := slices.IndexFunc(results, func(r store.Reserved) bool { return !r.Replayed })
	if first < 0 {
		p.stop("of %d calls with one key none took the reservation over", len(results))
	}
	for i, r := range results {
		if r.Replayed == (i == first) {
			p.broken("of %d calls with one key two took the reservation over", len(results))
		}
		r.Replayed = false
		same(p, r, results[first], "the result of the key")
	}
	same(p, p.reread(results[first]), results[first], "what is stored for the key")
}

func takeOverAndAttachInARace(p *probe) {
	c := p.coupon()
	for range 8 {
		first := p.reserve(c, "ann")
		session := p.session()
		over := p.takeOver(c, first.Redemption, p.key())
		errs := p.together(2, func(ctx context.Context, s store.Store, i int) (err error) {
			if i == 0 {
				_, err = s.AttachSession(ctx, attachment(first.Order.ID, session))
			} else {
				_, err = s.TakeOver(ctx, over)
			}
			return err
		})
		if n := p.succeeded(errs, store.ErrSuperseded, "AttachSession and TakeOver"); n != 1 {
			p.broken("of both %d succeeded", n)
		}
		now := p.redemption(first.Redemption.ID)
		switch {
		case errs[0] == nil && (now.SessionID != session || now.OrderID != first.Order.ID):
			p.broken("the session was attached, and the reservation belongs to session %q of order %q", now.SessionID, now.OrderID)
		case errs[1] == nil && (now.SessionID != "" || now.OrderID != over.Order.ID):
			p.broken("the reservation was taken over, and belongs to session %q of order %q", now.SessionID, now.OrderID)
		}
	}
	p.invariants()
}

func takeOverAndPaymentInARace(p *probe) {
	c := p.coupon()
	for range 8 {
		first := p.opened(c, "ann")
		over := p.takeOver(c, first.Redemption, p.key())
		paid := p.settlement(redemption.SessionCompleted, first, first.Order.SessionID)
		errs := p.together(2, func(ctx context.Context, s store.Store, i int) (err error) {
			if i == 0 {
				_, err = s.Settle(ctx, paid)
			} else {
				_, err = s.TakeOver(ctx, over)
			}
			return err
		})
		p.ok(errs[0], "Settle during a take-over")
		same(p, p.order(first.Order.ID).State, store.OrderPaid, "the state of the order that was paid")
		now := p.redemption(first.Redemption.ID)
		switch {
		case errs[1] == nil:
			same(p, now.State, redemption.Reserved, "the state of the reservation that was taken over")
			same(p, p.redemption(paid.NewID).State, redemption.Completed, "the state of the payment's redemption")
		case errors.Is(errs[1], store.ErrSuperseded):
			same(p, now.State, redemption.Completed, "the state of the reservation that was paid")
		default:
			p.broken("TakeOver during a payment returned the error %v", errs[1])
		}
	}
	p.invariants()
}
