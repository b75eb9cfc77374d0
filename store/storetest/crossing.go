package storetest

import (
	"context"
	"errors"
	"math/bits"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// crossings is how often the clauses of this file let two calls meet.
const crossings = 8

// crossingClauses are about calls of two kinds at once, of which each reads what the other
// writes.
func crossingClauses() []clause {
	return []clause{
		{"a payment beside an end", "of calls at once each happens before or after the other: a payment that is settled while its reservation is cancelled, lapses or expires completes it", paymentBesideAnEnd},
		{"a payment beside a plain order's end", "of calls at once each happens before or after the other: an order without a coupon that is paid while its session expires or is attached is paid", paymentBesideAPlainOrdersEnd},
		{"a take-over beside an end", "of calls at once each happens before or after the other: a reservation that is taken over while its session ends is in its new order, or the take-over is ErrSuperseded and has changed nothing", takeOverBesideAnEnd},
		{"an attachment beside an end", "of calls at once each happens before or after the other: an order that a session is attached to while its reservation ends has the session and is open, or the attachment is ErrSuperseded", attachmentBesideAnEnd},
		{"a reservation beside a deletion", "of calls at once each happens before or after the other: a reservation of a coupon that is being deleted stays, or it is coupon.ErrNotFound", reservationBesideADeletion},
		{"payments of many sessions for one place", "payments are recorded over the limit if no place is left, at whatever moment they are told of", paymentsForOnePlace},
		{"a late payment beside a reservation", "a payment that arrives after its reservation was released is over the limit if no place is left, and a place that it has taken is nobody else's", latePaymentBesideAReservation},
		{"payments that cross", "of calls at once each happens before or after the other, also where each of two payments names the order of the other's redemption", paymentsThatCross},
		{"one key at once for several things", "a key that the customer used before for another request is ErrKeyReused, also where both are asked for at once", keyAtOnceForSeveralThings},
		{"one key at once for a take-over and another", "the order's key of a take-over is idempotent as in Reserve: where an order without a coupon or a checkout asks for it at once, one has it and the other is ErrKeyReused", keyAtOnceForATakeOver},
		{"one ID at once for several coupons", "an ID that exists is ErrConflict, also where coupons with one ID and codes of their own are made at once", couponIDInARace},
		{"a coupon beside a payment of its ID", "of calls at once each happens before or after the other: a payment that names a coupon which is being made counts for it, or its ID is ErrConflict", couponBesideAPayment},
		{"a mirror beside an update", "ConfirmMirror confirms the revision that the mirror names and no other", mirrorBesideAnUpdate},
		{"a deletion beside an update", "of calls at once that name one revision of a coupon one succeeds", deletionBesideAnUpdate},
	}
}

// both makes two calls at once. Of two goroutines the same one is mostly the first to run, so
// the calls take turns, in an order with which no loop keeps step (that of Thue and Morse).
func (p *probe) both(one, other func(ctx context.Context, s store.Store) error) (first, second error) {
	p.Helper()
	p.crossed++
	turn := bits.OnesCount(p.crossed) % 2
	errs := p.together(2, func(ctx context.Context, s store.Store, i int) error {
		if i == turn {
			return one(ctx, s)
		}
		return other(ctx, s)
	})
	return errs[turn], errs[1-turn]
}

// settling is a call of Settle.
func settling(t store.Settlement) func(context.Context, store.Store) error {
	return func(ctx context.Context, s store.Store) error {
		_, err := s.Settle(ctx, t)
		return err
	}
}

func paymentBesideAnEnd(p *probe) {
	c := p.coupon(limits(1000, 0))
	paid := int64(0)
	for range crossings {
		for _, kind := range []redemption.EventKind{redemption.Cancelled, redemption.Lapsed, redemption.SessionExpired} {
			r := p.opened(c, "ann")
			ended := func(ctx context.Context, s store.Store) error {
				_, err := s.Transition(ctx, r.Redemption.ID, redemption.Event{Kind: kind, At: at(9000), SessionID: r.Order.SessionID})
				if errors.Is(err, redemption.ErrIllegal) {
					return nil
				}
				return err
			}
			if kind == redemption.SessionExpired {
				ended = settling(p.settlement(kind, r, r.Order.SessionID))
			}
			payment, end := p.both(settling(p.settlement(redemption.SessionCompleted, r, r.Order.SessionID)), ended)
			p.ok(payment, "Settle of a payment beside the event %q", kind)
			p.ok(end, "the event %q beside a payment", kind)
			paid++
			same(p, p.redemption(r.Redemption.ID).State, redemption.Completed, "the state of what was paid beside the event %q", kind)
			same(p, p.order(r.Order.ID).State, store.OrderPaid, "the state of its order")
			p.counts(c.ID, paid, 0)
		}
	}
	p.invariants()
}

func paymentBesideAPlainOrdersEnd(p *probe) {
	for range crossings {
		for _, attached := range []bool{true, false} {
			o, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
			p.ok(err, "CreateOrder")
			session := p.session()
			other := func(ctx context.Context, s store.Store) error {
				_, err := s.AttachSession(ctx, attachment(o.ID, session))
				return err
			}
			if attached {
				p.attach(o.ID, session)
				other = settling(p.settlement(redemption.SessionExpired, store.Reserved{Order: o}, session))
			}
			payment, beside := p.both(settling(p.settlement(redemption.SessionCompleted, store.Reserved{Order: o}, session)), other)
			p.ok(payment, "Settle of an order without a coupon")
			p.ok(beside, "what came beside it, of a session that was attached before: %t", attached)
			same(p, p.order(o.ID).State, store.OrderPaid, "the state of an order that was paid beside something else, its session attached before: %t", attached)
		}
	}
	p.invariants()
}

// transitioning is a call of Transition.
func transitioning(id string, e redemption.Event) func(context.Context, store.Store) error {
	return func(ctx context.Context, s store.Store) error {
		_, err := s.Transition(ctx, id, e)
		return err
	}
}

// takingOver is a call of TakeOver.
func takingOver(t store.TakeOver) func(context.Context, store.Store) error {
	return func(ctx context.Context, s store.Store) error {
		_, err := s.TakeOver(ctx, t)
		return err
	}
}

func takeOverBesideAnEnd(p *probe) {
	c := p.coupon()
	for range crossings {
		for _, kind := range []redemption.EventKind{redemption.Cancelled, redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed} {
			r := p.opened(c, "ann")
			over := p.takeOver(c, r.Redemption, p.key())
			end := settling(p.settlement(kind, r, r.Order.SessionID))
			if kind == redemption.Cancelled {
				end = transitioning(r.Redemption.ID, redemption.Event{Kind: kind, At: at(900), SessionID: r.Order.SessionID})
			}
			taking, ending := p.both(takingOver(over), end)
			if taking != nil || kind != redemption.Cancelled {
				p.ok(ending, "the event %q beside a take-over that returned the error %v", kind, taking)
			}
			if taking == nil {
				now := p.redemption(r.Redemption.ID)
				same(p, now.State, redemption.Reserved, "the state of what was taken over beside the event %q", kind)
				same(p, [2]string{now.OrderID, now.SessionID}, [2]string{over.Order.ID, ""}, "its order and session")
				same(p, p.order(over.Order.ID), over.Order, "its new order")
				same(p, p.order(r.Order.ID).State, store.OrderCancelled, "the state of the order that it has left")
				continue
			}
			p.fails(taking, store.ErrSuperseded, "TakeOver beside the event %q", kind)
			_, err := p.s.OrderByKey(p.Context(), "ann", over.Order.Key)
			p.fails(err, store.ErrNotFound, "OrderByKey of a take-over that came after the event %q", kind)
		}
	}
	p.invariants()
}

func attachmentBesideAnEnd(p *probe) {
	c := p.coupon()
	for range crossings {
		for _, kind := range []redemption.EventKind{redemption.Cancelled, redemption.SessionExpired} {
			r, session := p.reserve(c, "ann"), p.session()
			end := transitioning(r.Redemption.ID, redemption.Event{Kind: kind, At: at(900)})
			if kind == redemption.SessionExpired { // it names the order alone: its session never came to be
				end = settling(p.settlement(kind, r, ""))
			}
			attaching, ending := p.both(func(ctx context.Context, s store.Store) error {
				_, err := s.AttachSession(ctx, attachment(r.Order.ID, session))
				return err
			}, end)
			if attaching != nil || kind != redemption.Cancelled {
				p.ok(ending, "the event %q beside an attachment that returned the error %v", kind, attaching)
			}
			now := p.reread(r)
			if attaching == nil {
				same(p, [2]string{now.Redemption.SessionID, now.Order.SessionID}, [2]string{session, session}, "the sessions of reservation and order")
				same(p, now.Redemption.State, redemption.Reserved, "the state of a reservation whose session was attached before the event %q", kind)
				continue
			}
			p.fails(attaching, store.ErrSuperseded, "AttachSession beside the event %q", kind)
			same(p, [2]string{now.Redemption.SessionID, now.Order.SessionID}, [2]string{}, "the sessions of reservation and order")
			same(p, now.Redemption.State, redemption.Released, "the state of a reservation that has ended before a session was attached")
		}
	}
	p.invariants()
}

func reservationBesideADeletion(p *probe) {
	for range crossings {
		c := p.coupon()
		r := p.checkout(c, "ann", p.key())
		reserving, deleting := p.both(
			func(ctx context.Context, s store.Store) error { _, err := s.Reserve(ctx, r); return err },
			func(ctx context.Context, s store.Store) error { return s.DeleteCoupon(ctx, c.ID, 1) },
		)
		p.ok(deleting, "DeleteCoupon beside a reservation")
		again := p.s.CreateCoupon(p.Context(), p.draft(func(d *coupon.Coupon) { d.ID = c.ID }))
		if reserving != nil {
			p.fails(reserving, coupon.ErrNotFound, "Reserve beside the deletion of the coupon")
			p.ok(again, "CreateCoupon with the ID of a coupon that was deleted before it was reserved")
			continue
		}
		same(p, p.redemption(r.Redemption.ID), r.Redemption, "the reservation of a coupon that was deleted")
		same(p, p.order(r.Order.ID), *r.Order, "its order")
		p.fails(again, store.ErrConflict, "CreateCoupon with the ID of a coupon that was deleted after it was reserved")
	}
	p.invariants()
}

func paymentsForOnePlace(p *probe) {
	const many = 8
	for name, c := range map[string]coupon.Coupon{"of all": p.coupon(limits(1, 0)), "of the customer": p.coupon(limits(0, 1))} {
		payments := make([]store.Settlement, many)
		for i := range payments {
			payments[i] = p.settlement(redemption.SessionCompleted, store.Reserved{
				Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"},
			}, p.session())
		}
		errs := p.together(many, func(ctx context.Context, s store.Store, i int) error { return settling(payments[i])(ctx, s) })
		p.succeeded(errs, nil, "Settle of payments without a reservation")
		over := 0
		for _, r := range p.redemptions(store.RedemptionList{CouponID: c.ID}) {
			if r.OverLimit {
				over++
			}
		}
		same(p, over, many-1, "the number of payments over the limit %s, of %d for one place", name, many)
		p.counts(c.ID, many, 0)
	}
	p.invariants()
}

func latePaymentBesideAReservation(p *probe) {
	for range crossings {
		c := p.coupon(limits(1, 0))
		late := p.opened(c, "ann")
		p.settleSession(redemption.SessionExpired, late)
		r := p.checkout(c, "bob", p.key())
		payment, reserving := p.both(
			settling(p.settlement(redemption.SessionCompleted, late, late.Order.SessionID)),
			func(ctx context.Context, s store.Store) error { _, err := s.Reserve(ctx, r); return err },
		)
		p.ok(payment, "Settle of a late payment")
		if reserving != nil {
			p.fails(reserving, coupon.ErrUsageLimitReached, "Reserve beside a late payment")
		}
		same(p, p.redemption(late.Redemption.ID).OverLimit, reserving == nil, "whether the payment is over the limit, where the error of Reserve is %v", reserving)
	}
	p.invariants()
}

func paymentsThatCross(p *probe) {
	for range crossings {
		one, two := p.opened(p.coupon(), "ann"), p.opened(p.coupon(), "bob")
		first, second := p.both(
			settling(p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: one.Redemption, Order: two.Order}, one.Order.SessionID)),
			settling(p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: two.Redemption, Order: one.Order}, two.Order.SessionID)),
		)
		p.ok(first, "Settle beside another that names the other's order")
		p.ok(second, "Settle beside another that names the other's order")
		for _, r := range []store.Reserved{one, two} {
			same(p, p.redemption(r.Redemption.ID).State, redemption.Completed, "the state of what was paid")
			same(p, p.order(r.Order.ID).State, store.OrderPaid, "the state of an order that a payment has named")
			p.counts(r.Redemption.CouponID, 1, 0)
		}
	}
	p.invariants()
}

func keyAtOnceForSeveralThings(p *probe) {
	one, two, points := p.coupon(), p.coupon(), p.coupon(forPoints)
	reserving := func(r store.Reservation) func(context.Context, store.Store) error {
		return func(ctx context.Context, s store.Store) error { _, err := s.Reserve(ctx, r); return err }
	}
	for range crossings {
		ordered, exchanged := p.key(), p.key()
		plain := p.plain("ann", ordered)
		for _, calls := range [][]func(context.Context, store.Store) error{
			{
				reserving(p.checkout(one, "ann", ordered)), reserving(p.checkout(two, "ann", ordered)),
				func(ctx context.Context, s store.Store) error { _, _, err := s.CreateOrder(ctx, plain); return err },
			},
			{reserving(p.checkout(one, "ann", exchanged)), reserving(p.exchange(points, "ann", exchanged))},
		} {
			errs := p.together(len(calls), func(ctx context.Context, s store.Store, i int) error { return calls[i](ctx, s) })
			if n := p.succeeded(errs, store.ErrKeyReused, "calls with one key for different things"); n != 1 {
				p.broken("of calls with one key for different things %d succeeded", n)
			}
		}
		for _, r := range p.redemptions(store.RedemptionList{CouponID: points.ID, State: redemption.Reserved}) {
			p.transition(r.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)}) // the next one is to be made anew
		}
	}
	p.invariants()
}

func keyAtOnceForATakeOver(p *probe) {
	one, two := p.coupon(), p.coupon()
	for range crossings {
		for what, other := range map[string]func(key string) func(context.Context, store.Store) error{
			"an order without a coupon": func(key string) func(context.Context, store.Store) error {
				plain := p.plain("ann", key)
				return func(ctx context.Context, s store.Store) error { _, _, err := s.CreateOrder(ctx, plain); return err }
			},
			"a checkout of another coupon": func(key string) func(context.Context, store.Store) error {
				r := p.checkout(two, "ann", key)
				return func(ctx context.Context, s store.Store) error { _, err := s.Reserve(ctx, r); return err }
			},
		} {
			over := p.takeOver(one, p.opened(one, "ann").Redemption, p.key())
			taking, asking := p.both(takingOver(over), other(over.Order.Key))
			if n := p.succeeded([]error{taking, asking}, store.ErrKeyReused, "calls with one key"); n != 1 {
				p.broken("of a take-over and %s with one key %d succeeded", what, n)
			}
		}
	}
	p.invariants()
}

func couponIDInARace(p *probe) {
	all := make([]coupon.Coupon, p.can.Goroutines)
	for i := range all {
		all[i] = p.draft(func(c *coupon.Coupon) { c.ID = "cpn_one" })
	}
	errs := p.together(len(all), func(ctx context.Context, s store.Store, i int) error { return s.CreateCoupon(ctx, all[i]) })
	if n := p.succeeded(errs, store.ErrConflict, "CreateCoupon with one ID and different codes"); n != 1 {
		p.stop("of CreateCoupon with one ID and different codes %d succeeded", n)
	}
	for i, err := range errs {
		_, unknown := p.s.LookUp(p.Context(), store.LookUp{Code: all[i].Code})
		if found := unknown == nil; found != (err == nil) {
			p.broken("the code %s is found: %t, and CreateCoupon returned the error %v", all[i].Code, found, err)
		}
	}
}

func couponBesideAPayment(p *probe) {
	for range crossings {
		c := p.draft(limits(1, 0))
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"},
		}, p.session())
		making, paying := p.both(func(ctx context.Context, s store.Store) error { return s.CreateCoupon(ctx, c) }, settling(paid))
		p.ok(paying, "Settle of a payment that names a coupon which is being made")
		same(p, p.redemption(paid.NewID).CouponID, c.ID, "the coupon of the payment")
		if making == nil {
			p.counts(c.ID, 1, 0)
			continue
		}
		p.fails(making, store.ErrConflict, "CreateCoupon beside a payment that names it")
		_, err := p.s.LookUp(p.Context(), store.LookUp{Code: c.Code})
		p.fails(err, coupon.ErrNotFound, "LookUp of the code of a coupon that was not made")
	}
	p.invariants()
}

func mirrorBesideAnUpdate(p *probe) {
	for range crossings {
		c := p.coupon(inState(coupon.Pending))
		changed := c
		changed.Name = "changed"
		var updated coupon.Coupon
		confirming, updating := p.both(func(ctx context.Context, s store.Store) error {
			_, err := s.ConfirmMirror(ctx, c.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
			return err
		}, func(ctx context.Context, s store.Store) (err error) {
			updated, err = s.UpdateCoupon(ctx, changed)
			return err
		})
		p.ok(updating, "UpdateCoupon beside ConfirmMirror")
		if confirming != nil {
			p.fails(confirming, store.ErrStaleRevision, "ConfirmMirror beside an update")
		}
		now, err := p.s.Coupon(p.Context(), c.ID)
		p.ok(err, "Coupon")
		same(p, now, updated, "a coupon that was updated while the mirror of the revision before was confirmed")
	}
}

func deletionBesideAnUpdate(p *probe) {
	for range crossings {
		c := p.coupon()
		changed := c
		changed.Name = "changed"
		deleting, updating := p.both(
			func(ctx context.Context, s store.Store) error { return s.DeleteCoupon(ctx, c.ID, 1) },
			func(ctx context.Context, s store.Store) error { _, err := s.UpdateCoupon(ctx, changed); return err },
		)
		_, err := p.s.Coupon(p.Context(), c.ID)
		switch {
		case deleting == nil:
			p.fails(updating, coupon.ErrNotFound, "UpdateCoupon beside the deletion of its revision")
			p.fails(err, coupon.ErrNotFound, "Coupon after its deletion beside an update")
		default:
			p.fails(deleting, store.ErrStaleRevision, "DeleteCoupon beside an update of its revision")
			p.ok(updating, "UpdateCoupon beside a deletion that failed")
			p.ok(err, "Coupon after its update beside a deletion that failed")
		}
	}
}
