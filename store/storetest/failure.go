package storetest

import (
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// failureClauses are about what calls have left that were refused half-way.
func failureClauses() []clause {
	return []clause{
		{"a take-over that fails leaves the first order", "an error has changed nothing: a take-over that is refused has not cancelled the order that had the reservation", takeOverThatFails},
		{"a payment that fails pays nothing", "an error has changed nothing: a payment whose record is refused has not paid the order that it names", paymentThatFails},
		{"a conflict leaves the key free", "an error has changed nothing: a key whose request met the ID of another record or order is free", conflictLeavesTheKeyFree},
	}
}

func takeOverThatFails(p *probe) {
	c := p.coupon()
	first, other := p.opened(c, "ann"), p.opened(c, "bob")
	over := p.takeOver(c, first.Redemption, p.key())
	taken := over
	taken.Order.ID = other.Order.ID
	left := over
	left.FromSessionID = p.session()
	stale := over
	stale.CouponRevision = 7
	for what, t := range map[string]store.TakeOver{"order's ID": taken, "session": left, "revision": stale} {
		_, err := p.s.TakeOver(p.Context(), t)
		p.fails(err, store.ErrConflict, "TakeOver with another %s", what)
		same(p, p.reread(first), first, "what had the reservation after a take-over with another %s", what)
		same(p, p.reread(other), other, "what has nothing to do with it")
	}
	_, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver after others with its key have failed")
	p.invariants()
}

func paymentThatFails(p *probe) {
	c := p.coupon()
	used := p.opened(c, "ann")
	order, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	paid := p.settlement(redemption.SessionCompleted, store.Reserved{
		Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"}, Order: order,
	}, p.session())
	mended := paid
	paid.NewID = used.Redemption.ID
	_, err = p.s.Settle(p.Context(), paid)
	p.fails(err, store.ErrConflict, "Settle with the ID of another redemption")
	same(p, p.order(order.ID), order, "the order that a payment names which could not be recorded")
	same(p, p.reread(used), used, "the redemption whose ID it had, and its order")
	same(p, p.settle(mended).Order.State, store.OrderPaid, "the state of the order after the payment was recorded")
	p.counts(c.ID, 1, 1)
	p.invariants()
}

func conflictLeavesTheKeyFree(p *probe) {
	c := p.coupon()
	first, mine := p.opened(c, "bob"), p.opened(c, "ann")

	r := p.checkout(c, "ann", p.key())
	order, id := r.Order.Clone(), r.Redemption.OrderID
	order.ID, r.Redemption.OrderID = first.Order.ID, first.Order.ID
	own := r
	own.Order, r.Order = r.Order, &order
	own.Redemption.OrderID = id
	_, err := p.s.Reserve(p.Context(), r)
	p.fails(err, store.ErrConflict, "Reserve with the ID of another order")
	p.place(own)

	plain := p.plain("ann", p.key())
	taken := plain
	taken.ID = first.Order.ID
	_, _, err = p.s.CreateOrder(p.Context(), taken)
	p.fails(err, store.ErrConflict, "CreateOrder with the ID of another order")
	_, replayed, err := p.s.CreateOrder(p.Context(), plain)
	p.ok(err, "CreateOrder with the key of one that failed")
	same(p, replayed, false, "whether it was replayed")

	over := p.takeOver(c, mine.Redemption, p.key())
	id = over.Order.ID
	over.Order.ID = first.Order.ID
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrConflict, "TakeOver with the ID of another order")
	over.Order.ID = id
	reserved, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver with the key of one that failed")
	same(p, reserved.Replayed, false, "whether it was replayed")
	p.invariants()
}
