package storetest

import (
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// reopenClauses are about stores on the same data, as several processes have them.
func reopenClauses() []clause {
	return []clause{
		{"what was stored outlives the store", "a store keeps coupons, redemptions and orders: another store on the same data has all of them, and goes on where this one has stopped", outlives},
		{"what another process has changed", "what a call has changed, every call that begins after it has returned finds, in whichever process", changedElsewhere},
		{"what another process has decided", "the coupon's stored revision and state count: a store decides by what another one has written before", decidedElsewhere},
	}
}

func outlives(p *probe) {
	c := p.coupon(limits(3, 1))
	paid, open := p.opened(c, "ann"), p.opened(c, "bob")
	p.settleSession(redemption.SessionCompleted, paid)
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", "plain"))
	p.ok(err, "CreateOrder")
	request := p.checkout(c, "cem", "key")
	first := p.place(request)
	before := p.everything()
	p.ok(p.s.Close(), "Close")

	other := p.reopen()
	next := &probe{T: p.T, s: other, can: p.can, says: p.says}
	next.made.Store(p.made.Load())
	same(next, next.everything(), before, "what another store has")
	same(next, next.order(plain.ID), plain, "the order without a coupon")
	next.replays(c, first, "stored before the store was opened again")
	_, err = other.Reserve(next.Context(), next.checkout(c, "dan", "key"))
	next.fails(err, coupon.ErrUsageLimitReached, "Reserve when no place is left")
	next.settleSession(redemption.SessionCompleted, paid)
	next.settleSession(redemption.SessionCompleted, open)
	next.counts(c.ID, 2, 1)
	next.invariants()
}

// step is a call that changes something.
type step struct {
	name string
	do   func(s store.Store) error
}

// changedElsewhere lets two stores take turns, and asks both after each.
func changedElsewhere(p *probe) {
	ctx, stores := p.Context(), p.stores()
	c := p.draft()
	r, plain := p.checkout(c, "ann", p.key()), p.plain("ann", p.key())
	over := p.takeOver(c, r.Redemption, p.key())
	session, late, paid := attachment(r.Order.ID, p.session()), attachment(over.Order.ID, p.session()), attachment(plain.ID, p.session())
	over.FromSessionID, over.CouponRevision = session.SessionID, 0
	update := func(s store.Store, change terms) error {
		now, err := s.Coupon(ctx, c.ID)
		p.ok(err, "Coupon")
		change(&now)
		_, err = s.UpdateCoupon(ctx, now)
		return err
	}
	attach := func(a store.Attachment) func(store.Store) error {
		return func(s store.Store) error { _, err := s.AttachSession(ctx, a); return err }
	}
	settle := func(r store.Reserved, session string) func(store.Store) error {
		t := p.settlement(redemption.SessionCompleted, r, session)
		return func(s store.Store) error { return settling(t)(ctx, s) }
	}
	asked := questions(c, r, plain)
	for i, step := range []step{
		{"nothing", func(store.Store) error { return nil }},
		{"CreateCoupon", func(s store.Store) error { return s.CreateCoupon(ctx, c) }},
		{"ConfirmMirror", func(s store.Store) error {
			_, err := s.ConfirmMirror(ctx, c.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
			return err
		}},
		{"UpdateCoupon", func(s store.Store) error { return update(s, named("changed")) }},
		{"Reserve", func(s store.Store) error { _, err := s.Reserve(ctx, r); return err }},
		{"CreateOrder", func(s store.Store) error { _, _, err := s.CreateOrder(ctx, plain); return err }},
		{"AttachSession", attach(session)},
		{"AttachSession without a coupon", attach(paid)},
		{"Transition", func(s store.Store) error {
			_, err := s.Transition(ctx, r.Redemption.ID, redemption.Event{Kind: redemption.Leaving, At: at(700), SessionID: session.SessionID, Deadline: at(900)})
			return err
		}},
		{"TakeOver", func(s store.Store) error { _, err := s.TakeOver(ctx, over); return err }},
		{"AttachSession of the order that took over", attach(late)},
		{"Settle", settle(store.Reserved{Redemption: r.Redemption, Order: over.Order}, late.SessionID)},
		{"Settle without a coupon", settle(store.Reserved{Order: plain}, paid.SessionID)},
		{"UpdateCoupon, which switches it off,", func(s store.Store) error { return update(s, inState(coupon.Inactive)) }},
		{"DeleteCoupon", func(s store.Store) error {
			now, err := s.Coupon(ctx, c.ID)
			p.ok(err, "Coupon")
			return s.DeleteCoupon(ctx, c.ID, now.Revision)
		}},
	} {
		p.ok(step.do(stores[i%2]), "%s", step.name)
		for _, q := range asked {
			want, got := q.answer(ctx, stores[i%2]), q.answer(ctx, stores[(i+1)%2])
			same(p, got, want, "what another store answers to %s after %s", q.name, step.name)
		}
	}
}

func decidedElsewhere(p *probe) {
	ctx, other := p.Context(), p.reopen()
	c := p.coupon()
	reserve := func(revision int64) error {
		r := p.checkout(c, "ann", p.key())
		r.CouponRevision = revision
		_, err := p.s.Reserve(ctx, r)
		return err
	}
	update := func(s store.Store, change terms) error {
		changed := c
		change(&changed)
		changed, err := s.UpdateCoupon(ctx, changed)
		if err == nil {
			c = changed
		}
		return err
	}
	p.ok(reserve(c.Revision), "Reserve")
	first := c.Revision
	p.ok(update(other, limits(2, 0)), "UpdateCoupon by another store")
	p.fails(reserve(first), store.ErrStaleRevision, "Reserve at a revision that another store has replaced")
	p.ok(reserve(c.Revision), "Reserve at the revision that another store has made")
	p.fails(reserve(0), coupon.ErrUsageLimitReached, "Reserve beyond a limit that another store has set")
	p.ok(update(other, inState(coupon.Inactive)), "UpdateCoupon by another store")
	p.fails(reserve(0), coupon.ErrInactive, "Reserve of a coupon that another store has switched off")
	p.ok(update(other, inState(coupon.Active)), "UpdateCoupon by another store")
	p.fails(reserve(0), coupon.ErrUsageLimitReached, "Reserve of a coupon that another store has switched on")
	p.ok(other.DeleteCoupon(ctx, c.ID, c.Revision), "DeleteCoupon by another store")
	p.fails(reserve(0), coupon.ErrNotFound, "Reserve of a coupon that another store has deleted")
	p.fails(update(p.s, named("again")), coupon.ErrNotFound, "UpdateCoupon of a coupon that another store has deleted")
	again := p.draft(coded(c.Code))
	p.ok(p.s.CreateCoupon(ctx, again), "CreateCoupon with a code that another store has freed")
	p.fails(other.CreateCoupon(ctx, p.draft(coded(c.Code))), coupon.ErrCodeTaken, "CreateCoupon with a code that another store has taken")
	for i, s := range []store.Store{p.s, other} {
		plain := p.plain("ann", fmt.Sprintf("both-%d", i))
		o, _, err := s.CreateOrder(ctx, plain)
		p.ok(err, "CreateOrder")
		for _, s := range []store.Store{p.s, other} {
			again, replayed, err := s.CreateOrder(ctx, p.plain("ann", plain.Key))
			p.ok(err, "CreateOrder with a key that a store has used")
			same(p, again, o, "the order of the key")
			same(p, replayed, true, "whether it was replayed")
		}
	}
	p.invariants()
}
