package storetest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func handOverClauses() []clause {
	return []clause{
		{"hand-over", "hand-over is one transaction: common claims are kept, new ones taken, missing ones freed", handOver},
		{"missing claims are kept for a late payment", "what the new order does not take stays taken while the replaced one can perhaps still be paid", keptForALatePayment},
		{"no more is kept", "a third order keeps what the order needs that can perhaps still be paid, and nothing once its end is recorded", noMoreIsKept},
		{"points are kept for a late payment", "points that the new order does not take are due once the replaced one can no longer be paid", pointsForALatePayment},
		{"points go back to the order that may be paid", "points that a third order does not take belong to the order that can perhaps still be paid, until its end", pointsGoBackToTheFirst},
		{"kept below a lowered limit", "claims that both orders have are kept, also when the limit was lowered since", keptBelowALoweredLimit},
		{"new claims are checked", "a hand-over that needs more than the old order held is refused if that does not fit, and the old order stands", func(p *probe) {
			mine := p.coupon(limits(1, 0))
			old := p.reserve(p.checkout("ann", mine))
			for what, refusal := range p.unusable() {
				p.refused(p.retry(old.Order, mine, refusal.c), refusal.want, "of a hand-over to a coupon that is %s", what)
			}
			p.reserve(p.retry(old.Order, mine))
		}},
		{"what cannot be replaced", "ErrNotFound, ErrSuperseded: the order to replace is not the customer's, or cannot be had any more", whatCannotBeReplaced},
		{"a chain of hand-overs", "what was handed over may be handed over again; each order knows its successor", chainOfHandOvers},
	}
}

func handOver(p *probe) {
	gone, kept, added := p.coupon(limits(1, 1)), p.coupon(limits(1, 1)), p.coupon(limits(1, 1))
	p.reserve(p.retry(p.reserve(p.checkout("eve", gone)).Order)) // nobody can pay the order that this one replaces
	p.uses(gone, 0, 0)
	old := p.placed(p.checkout("ann", gone, kept), redemption.SessionAttached)
	fresh := p.reserve(p.retry(old.Order, kept, added))
	stored := p.order(old.Order.ID)
	same(p, []any{stored.Order.State, stored.Order.ReplacedBy, stored.Order.Deadline},
		[]any{redemption.OrderCancelled, fresh.Order.ID, fresh.Order.CreatedAt.Add(redemption.DueRetry)}, "the state, the successor and the deadline of the replaced order")
	same(p, fresh.Ended, []store.Settled{{Order: stored.Order, Uses: stored.Uses, Changed: true}}, "what the hand-over has ended")
	for _, u := range stored.Uses {
		same(p, u.State, redemption.Released, "the state of a use of the replaced order")
	}
	successor := p.order(fresh.Order.ID).Order
	same(p, successor, fresh.Order, "the order that replaces another one, as it is read")
	same(p, []string{successor.Replaces, successor.Awaits}, []string{old.Order.ID, old.Order.ID}, "what the new order replaces, and whose payment it waits for")
	for _, c := range []coupon.Coupon{kept, added, gone} {
		p.uses(c, 1, 0)
		p.refused(p.checkout("bob", c), store.ErrLimit, "of a use that is not free")
	}
	p.count(eligibility.CustomerOrders("ann"), 1, 0)
}

func keptForALatePayment(p *probe) {
	budget := eligibility.SharedCounter("budget", "late")
	gone, kept := p.coupon(limits(1, 1)), p.coupon(limits(1, 1))
	// replacedTwice returns the first and the last of three orders. Only the first one has a session.
	replacedTwice := func() (old, last redemption.Order) {
		old = p.placed(claiming(p.checkout("ann", gone, kept), claim(budget, 70, 100)), redemption.SessionAttached).Order
		second := p.reserve(claiming(p.retry(old, kept), claim(budget, 20, 100))).Order
		p.count(budget, 70, 0)
		last = p.reserve(p.retry(second, kept)).Order
		p.count(budget, 70, 0)
		p.uses(gone, 1, 0)
		p.refused(p.checkout("bob", gone), store.ErrLimit, "of a use that a late payment may need")
		p.refused(claiming(p.checkout("bob", p.coupon()), claim(budget, 31, 100)), store.ErrLimit, "of a budget that a late payment may need")
		return old, last
	}
	old, last := replacedTwice()
	p.happen(old, redemption.SessionExpired)
	p.happen(last, redemption.PaymentBegun)
	same(p, p.order(last.ID).Order.Claims, last.OwnClaims(), "the claims after the payment was begun")
	p.uses(gone, 0, 0)
	p.uses(kept, 1, 0)
	p.count(budget, 0, 0)
	p.happen(last, redemption.SessionAttached, redemption.SessionExpired)
	p.uses(kept, 0, 0)

	old, last = replacedTwice()
	p.happen(old, redemption.Paid)
	same(p, p.order(last.ID).Order.State, redemption.OrderCancelled, "the state of the newest order")
	for _, u := range p.order(old.ID).Uses {
		same(p, u.OverLimit, false, "whether a use is flagged")
	}
	p.uses(gone, 0, 1)
	p.uses(kept, 0, 1)
	p.count(budget, 0, 70)
	p.consistent()
}

func noMoreIsKept(p *probe) {
	gone, kept, added := p.coupon(limits(1, 1)), p.coupon(limits(1, 1)), p.coupon(limits(1, 1))
	old := p.placed(p.checkout("ann", gone, kept), redemption.SessionAttached).Order
	second := p.reserve(p.retry(old, kept, added)).Order
	third := p.reserve(p.retry(second, kept)).Order
	same(p, []any{third.Awaits, third.Kept}, []any{old.ID, second.Kept}, "whose payment the third order waits for, and how many claims it keeps")
	p.uses(gone, 1, 0)
	p.uses(kept, 1, 0)
	p.uses(added, 0, 0)
	p.reserve(p.checkout("bob", added))
	p.happen(old, redemption.SessionExpired)
	p.uses(gone, 1, 0)
	last := p.reserve(p.retry(third, kept)).Order
	same(p, last.Kept, 0, "how many claims are kept after the end of the payment")
	p.uses(gone, 0, 0)
	p.uses(kept, 1, 0)
	p.happen(last, redemption.PaymentBegun)
	p.consistent()
}

func pointsGoBackToTheFirst(p *probe) {
	c := p.coupon(forPoints)
	// replacedTwice returns three orders. Only the first one has a session, and the last one does not take the points.
	replacedTwice := func(between ...redemption.EventKind) (first, second, last store.Reserved) {
		held := p.exchanged("ann", c)
		old := p.placed(taking(p.checkout("ann", c), held), redemption.SessionAttached)
		first.Order, first.Uses = old.Order, old.Uses
		second = p.reserve(taking(p.retry(first.Order, c), held))
		p.happen(first.Order, between...)
		return first, second, p.reserve(p.retry(second.Order))
	}
	are := func(of store.Reserved, state redemption.State, points redemption.PointsState, when string) {
		p.Helper()
		u := p.use(of.Uses[0].ID)
		same(p, []any{u.State, u.PointsState}, []any{state, points}, "the use of points of order %s, %s", of.Order.ID, when)
	}
	for _, paid := range []bool{false, true} {
		first, second, last := replacedTwice()
		are(first, redemption.Released, redemption.PointsDebited, "while it can be paid")
		are(second, redemption.Released, redemption.PointsPassedOn, "after it was replaced")
		same(p, p.summaries(first.Uses[0].ID), []string{"points_changed passed_back released 3"}, "what the journal tells of the points")
		p.applyFails(redemption.Event{Kind: redemption.PointsGivenBack, UseID: first.Uses[0].ID, At: at(950)}, redemption.ErrIllegal, "of an order that can be paid")
		if paid {
			p.happen(first.Order, redemption.Paid)
			are(first, redemption.Completed, redemption.PointsDebited, "after a late payment")
			continue
		}
		p.happen(first.Order, redemption.SessionExpired)
		are(first, redemption.Released, redemption.PointsRefundDue, "after the end of its payment")
		p.happen(last.Order, redemption.PaymentBegun)
	}
	first, second, _ := replacedTwice(redemption.SessionExpired)
	are(first, redemption.Released, redemption.PointsPassedOn, "after the end of its payment, while another order has them")
	are(second, redemption.Released, redemption.PointsRefundDue, "after the end of the payment of the first")
	p.consistent()
}

func pointsForALatePayment(p *probe) {
	for _, paid := range []bool{false, true} {
		c := p.coupon(forPoints)
		old := p.placed(taking(p.checkout("ann", c), p.exchanged("ann", c)), redemption.SessionAttached)
		p.reserve(p.retry(old.Order))
		is := func(state redemption.State, points redemption.PointsState, when string) {
			u := p.use(old.Uses[0].ID)
			same(p, []any{u.State, u.PointsState}, []any{state, points}, "the use of points %s", when)
		}
		is(redemption.Released, redemption.PointsDebited, "while the replaced order can be paid")
		if paid {
			p.happen(old.Order, redemption.Paid)
			is(redemption.Completed, redemption.PointsDebited, "after a late payment")
			continue
		}
		p.happen(old.Order, redemption.SessionExpired)
		is(redemption.Released, redemption.PointsRefundDue, "after the end of the payment")
	}
}

func keptBelowALoweredLimit(p *probe) {
	c := p.coupon(limits(3, 0))
	budget := eligibility.SharedCounter("budget")
	old := p.reserve(claiming(p.checkout("ann", c), claim(budget, 50, 100)))
	p.reserve(claiming(p.checkout("bob", c), claim(budget, 50, 100)))
	lowered := p.edit(c, limits(1, 0))
	p.refused(p.checkout("cem", lowered), store.ErrLimit, "beyond the lowered limit")
	p.refused(claiming(p.retry(old.Order, lowered), claim(budget, 51, 60)), store.ErrLimit, "of more than the old order held of a lowered budget")
	same(p, p.order(old.Order.ID).Order, old.Order, "the old order after a hand-over that was refused")
	p.reserve(claiming(p.retry(old.Order, lowered), claim(budget, 40, 60)))
	p.uses(c, 2, 0)
	p.count(budget, 90, 0)
}

func whatCannotBeReplaced(p *probe) {
	c := p.coupon(limits(9, 9))
	foreign := p.reserve(p.checkout("bob", c))
	states := map[string][]redemption.EventKind{
		"paid": {redemption.Paid}, "awaiting payment": {redemption.PaymentPending}, "cancelled": {redemption.Cancelled},
	}
	for what, history := range states {
		p.refused(p.retry(p.placed(p.checkout("ann", c), history...).Order, c), store.ErrSuperseded, "in place of an order that is %s", what)
	}
	replaced := p.reserve(p.checkout("ann", c)).Order
	p.reserve(p.retry(replaced, c))
	p.refused(p.retry(replaced, c), store.ErrSuperseded, "in place of an order that was replaced")
	p.refused(p.retry(redemption.Order{ID: foreign.Order.ID, CustomerID: "ann"}, c), store.ErrNotFound, "in place of an order of another customer")
	p.refused(p.retry(redemption.Order{ID: "ord_none", CustomerID: "ann"}, c), store.ErrNotFound, "in place of an unknown order")
	itself := p.checkout("ann", c)
	itself.Order.Replaces = itself.Order.ID
	p.refused(itself, store.ErrNotFound, "in place of itself")
}

func chainOfHandOvers(p *probe) {
	c := p.coupon(limits(1, 1))
	first := p.reserve(p.checkout("ann", c)).Order
	last := first
	for range 5 {
		next := p.reserve(p.retry(last, c)).Order
		same(p, p.order(last.ID).Order.ReplacedBy, next.ID, "what replaced an order of the chain")
		last = next
	}
	p.uses(c, 1, 0)
	p.happen(first, redemption.Paid) // the oldest order is paid, and the newest is canceled
	same(p, p.order(last.ID).Order.State, redemption.OrderCancelled, "the state of the newest order")
	same(p, p.order(first.ID).Uses[0].OverLimit, false, "whether the oldest is flagged")
	p.uses(c, 0, 1)
}
