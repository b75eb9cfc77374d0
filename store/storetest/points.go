package storetest

import (
	"fmt"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func pointsClauses() []clause {
	return []clause{
		{"a points reservation", "a points reservation is a use without an order; it claims its counters when the points are exchanged", func(p *probe) {
			c := p.coupon(forPoints, limits(1, 0))
			r := p.exchange("ann", c)
			want := r.Uses[0].Clone()
			want.Version, want.UpdatedAt = 1, want.CreatedAt
			same(p, p.reserve(r), store.Reserved{Uses: []redemption.Use{want}}, "what Reserve returns")
			p.uses(c, 1, 0)
			p.refused(p.exchange("bob", c), store.ErrLimit, "of points beyond the limit")
			p.refused(p.checkout("bob", c), store.ErrLimit, "of an order beyond the limit, which a points reservation has reached")
			p.ofUse(redemption.PointsRefused, want.ID)
			p.uses(c, 0, 0)
			p.reserve(p.exchange("bob", c))
		}},
		{"a held reservation is replayed", "a points reservation returns, Replayed, the one of the coupon that the customer holds and no checkout has taken", heldIsReplayed},
		{"a checkout takes points", "a use with an ExchangeID takes a points reservation of the customer: its claims are kept, and those of the use are all that it holds from then on", checkoutTakesPoints},
		{"points that cannot be had", "ErrNotFound, ErrSuperseded: a points reservation to take is not the customer's, or cannot be had any more", pointsThatCannotBeHad},
		{"points are handed over", "points of a replaced order pass to the order that uses the exchange; other points are to be refunded", pointsAreHandedOver},
		{"points of a cancelled order", "the points of an order that is cancelled are to be refunded, once", func(p *probe) {
			c := p.coupon(forPoints)
			for _, kind := range []redemption.EventKind{redemption.Cancelled, redemption.SessionExpired, redemption.PaymentFailed, redemption.Lapsed} {
				r := p.reserve(taking(p.checkout("ann", c), p.exchanged("ann", c)))
				use := p.happen(r.Order, kind).Uses[0]
				same(p, use.PointsState, redemption.PointsRefundDue, "the points after %s", kind)
				same(p, p.ofUse(redemption.PointsGivenBack, use.ID).PointsState, redemption.PointsRefunded, "the points after they were given back")
				p.unchanged("giving back again", func() { p.ofUse(redemption.PointsGivenBack, use.ID) })
			}
			paid := p.reserve(taking(p.checkout("ann", c), p.exchanged("ann", c)))
			same(p, p.happen(paid.Order, redemption.Paid).Uses[0].PointsState, redemption.PointsDebited, "the points of a paid order")
			p.applyFails(redemption.Event{Kind: redemption.PointsGivenBack, UseID: paid.Uses[0].ID, At: at(950)}, redemption.ErrIllegal, "of a paid order")
		}},
		{"every event of a use", "an event changes a use as redemption.Use.After tells, in every state", everyEventOfAUse},
		{"an unknown use", "an event of a use that is unknown is ErrNotFound", func(p *probe) {
			for kind := redemption.Cancelled; kind <= redemption.PointsGivenBack; kind++ {
				p.applyFails(redemption.Event{Kind: kind, UseID: "use_none", At: at(950)}, store.ErrNotFound, "of an unknown use")
			}
		}},
	}
}

func heldIsReplayed(p *probe) {
	c := p.coupon(forPoints, limits(0, 3))
	first := p.exchange("ann", c)
	held := p.reserve(first).Uses[0]
	replay := func(r store.Reservation, when string) {
		p.Helper()
		same(p, answer(p, store.Store.Reserve, r), store.Reserved{Uses: []redemption.Use{held}, Replayed: true}, "what is returned %s", when)
	}
	replay(p.exchange("ann", c), "while another is held")
	replay(first, "with the same key")
	held = p.ofUse(redemption.PointsExchanged, held.ID)
	replay(p.exchange("ann", c), "while another is debited")
	p.uses(c, 1, 0)
	p.reserve(p.exchange("bob", c))
	taker := taking(p.checkout("ann", c), held)
	p.reserve(taker)
	held = p.use(held.ID)
	replay(first, "with the same key, after a checkout has taken it")
	p.reserve(p.exchange("ann", c)) // another exchange
	p.uses(c, 3, 0)
}

func checkoutTakesPoints(p *probe) {
	c := p.coupon(forPoints, limits(1, 1))
	budget := eligibility.SharedCounter("budget")
	held := p.exchanged("ann", c)
	lowered := p.edit(c, limits(1, 1), described("changed"))
	p.refused(claiming(taking(p.checkout("ann", lowered), held), claim(budget, 9, 8)), store.ErrLimit, "that takes points and does not fit a budget")
	r := claiming(taking(p.checkout("ann", lowered), held), claim(budget, 8, 8))
	stored := p.reserve(r)
	passed := p.use(held.ID)
	same(p, []any{passed.State, passed.PointsState}, []any{redemption.Released, redemption.PointsPassedOn}, "the reservation that was taken")
	same(p, stored.Uses[0].PointsState, redemption.PointsDebited, "the points of the order's use")
	p.uses(c, 1, 0)
	p.count(budget, 8, 0)
	p.happen(r.Order, redemption.Paid)
	p.uses(c, 0, 1)
}

func pointsThatCannotBeHad(p *probe) {
	c, other := p.coupon(forPoints), p.coupon(forPoints)
	pending := p.reserve(p.exchange("ann", c)).Uses[0]
	debited := p.exchanged("bob", c)
	released := p.exchanged("cem", c)
	p.ofUse(redemption.Cancelled, released.ID)
	taken := p.exchanged("dan", c)
	p.reserve(taking(p.checkout("dan", c), taken))
	p.unchanged("checkouts that get no points", func() {
		none := debited
		none.ExchangeID = "use_none"
		p.refused(taking(p.checkout("bob", c), none), store.ErrNotFound, "that takes an unknown exchange")
		p.refused(taking(p.checkout("ann", c), debited), store.ErrNotFound, "that takes the points of another customer")
		foreign := debited
		foreign.CouponID = other.ID
		p.refused(taking(p.checkout("bob", other), foreign), store.ErrNotFound, "that takes points of another coupon")
		p.refused(taking(p.checkout("ann", c), pending), store.ErrSuperseded, "that takes points before they are debited")
		p.refused(taking(p.checkout("dan", c), taken), store.ErrSuperseded, "that takes points which another checkout has")
		if _, err := p.s.Reserve(p.Context(), taking(p.checkout("cem", c), released)); err == nil {
			p.stop("Reserve took points that were given back")
		}
	})
}

func pointsAreHandedOver(p *probe) {
	c, plain := p.coupon(forPoints, limits(1, 1)), p.coupon()
	held := p.exchanged("ann", c)
	first := p.reserve(taking(p.checkout("ann", c), held))
	second := p.reserve(taking(p.retry(first.Order, c, plain), held))
	same(p, p.order(first.Order.ID).Uses[0].PointsState, redemption.PointsPassedOn, "the points of the replaced order")
	p.uses(c, 1, 0)
	third := p.reserve(p.retry(second.Order, plain))
	points := map[string]redemption.PointsState{}
	for _, u := range p.order(second.Order.ID).Uses {
		points[u.CouponID] = u.PointsState
	}
	same(p, points, map[string]redemption.PointsState{c.ID: redemption.PointsRefundDue, plain.ID: redemption.NoPoints}, "the points that the next order does not use")
	p.uses(c, 0, 0)
	p.happen(third.Order, redemption.Paid)
	p.uses(plain, 0, 1)
}

// everyEventOfAUse brings uses into all states and compares every event with the result of package
// redemption.
func everyEventOfAUse(p *probe) {
	c := p.coupon(forPoints)
	steps := [][]redemption.EventKind{
		{},
		{redemption.PointsExchanged},
		{redemption.PointsRefused},
		{redemption.PointsExchanged, redemption.Cancelled},
		{redemption.PointsExchanged, redemption.Cancelled, redemption.PointsGivenBack},
	}
	for _, history := range steps {
		for kind := redemption.SessionAttached; kind <= redemption.PointsGivenBack; kind++ {
			if !kind.OfUse() && kind != redemption.Cancelled && kind != redemption.Lapsed {
				continue
			}
			for _, seconds := range []int{899, 900} {
				u := p.reserve(p.exchange("ann", c)).Uses[0]
				for _, before := range history {
					u = p.ofUse(before, u.ID)
				}
				p.useAfterwards(u, redemption.Event{Kind: kind, At: at(seconds)}, fmt.Sprintf("%s after %v", kind, history))
				if p.use(u.ID).State == redemption.Reserved { // release the use, so that the customer may exchange again
					p.ofUse(redemption.Cancelled, u.ID)
				}
			}
		}
	}
}
