package storetest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// reopenClauses are about stores on the same data, as several processes have them.
func reopenClauses() []clause {
	return []clause{
		{"what was stored outlives the store", "another store on the same data has all of it, and goes on where this one has stopped", outlives},
		{"what another process has changed", "what a call has changed, every call that begins after it has returned finds, in whichever process", changedElsewhere},
	}
}

func outlives(p *probe) {
	c := p.coupon(limits(2, 1))
	paid := p.happen(p.reserve(p.checkout("ann", c)).Order, redemption.SessionAttached, redemption.Paid)
	request := p.checkout("bob", c)
	p.reserve(request)
	before := p.everything()
	p.ok(p.s.Close(), "Close")
	p.s = p.reopen()
	same(p, p.everything(), before, "what another store has")
	same(p, p.order(paid.Order.ID), paid, "a paid order")
	p.replays(request, "in another store")
	p.refused(p.checkout("cem", c), store.ErrLimit, "when no use is left")
	p.happen(request.Order, redemption.Cancelled)
	p.reserve(p.checkout("cem", c))
}

// changedElsewhere lets two stores take turns with all calls, and reads both after each.
func changedElsewhere(p *probe) {
	first, second := p.s, p.reopen()
	for i, c := range p.calls() {
		s := []store.Store{first, second}[i%2]
		_, err := c.do(p.Context(), s)
		p.ok(err, "%s", c.name)
		p.s = first
		want := p.everything()
		p.s = second
		same(p, p.everything(), want, "what another store has after %s", c.name)
	}
	p.s = first
	c := p.coupon(limits(1, 0))
	p.s = second
	p.edit(c, inState(coupon.Inactive))
	p.s = first
	p.refused(p.checkout("ann", c), coupon.ErrInactive, "of a coupon that another store has switched off")
}
