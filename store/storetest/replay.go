package storetest

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func replayClauses() []clause {
	return []clause{
		{"a repeated key returns the first result", "a key that the customer used before returns the first result, Replayed, whatever has become of it and whether or not a place is left now", repeatedKey},
		{"a key in a race is used once", "a key that the customer used before returns the first result: of many calls at once with one key one reserves, and the others return its result", keyInARace},
		{"a key for something else", "when the first request was another one (another coupon, another fingerprint of the order) it is ErrKeyReused", keyForSomethingElse},
		{"keys are the customer's", "Key makes reserving idempotent within one customer", keysAreTheCustomers},
	}
}

// replays checks that the request returns the first result now.
func (p *probe) replays(c coupon.Coupon, first store.Reserved, when string) {
	p.Helper()
	again := p.checkout(c, first.Redemption.CustomerID, first.Redemption.Key)
	got, err := p.s.Reserve(p.Context(), again)
	p.ok(err, "Reserve with the key of one that is %s", when)
	want := store.Reserved{Redemption: p.redemption(first.Redemption.ID), Order: p.order(first.Order.ID), Replayed: true}
	same(p, got, want, "the result of a key whose reservation is %s", when)
	_, err = p.s.Redemption(p.Context(), again.Redemption.ID)
	p.fails(err, store.ErrNotFound, "Redemption of a repeated request")
}

func repeatedKey(p *probe) {
	c := p.coupon(limits(1, 1))
	first := p.place(p.checkout(c, "ann", "key"))
	p.replays(c, first, "new")
	p.counts(c.ID, 0, 1)
	first = p.open(first)
	p.replays(c, first, "in a session")
	dearer := p.checkout(c, "ann", "key")
	dearer.Order.Quote = p.quote(coupon.Coupon{Currency: c.Currency})
	dearer.Order.DiscountAmount = dearer.Order.Quote.Discount
	priced, err := p.s.Reserve(p.Context(), dearer)
	p.ok(err, "Reserve with a key that was used, and other prices of the same fingerprint")
	same(p, priced, store.Reserved{Redemption: first.Redemption, Order: first.Order, Replayed: true}, "the result of the key")

	changed := c
	changed.State = coupon.Inactive
	changed, err = p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	p.replays(c, first, "in a session, of a coupon that was switched off")
	changed.State = coupon.Active
	changed, err = p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	stale := p.checkout(c, "ann", "key")
	stale.CouponRevision = c.Revision
	got, err := p.s.Reserve(p.Context(), stale)
	p.ok(err, "Reserve with a key that was used, at an old revision")
	same(p, got.Redemption, first.Redemption, "the result of the key")

	p.settleSession(redemption.SessionExpired, first)
	p.replays(c, first, "released")
	p.reserve(c, "bob") // the place is somebody else's
	p.replays(c, first, "released, without a place left")
	p.settleSession(redemption.SessionCompleted, first)
	p.replays(c, first, "completed")
	p.counts(c.ID, 1, 1)
	p.ok(p.s.DeleteCoupon(p.Context(), c.ID, changed.Revision), "DeleteCoupon")
	p.replays(c, first, "completed, of a coupon that was deleted")
	same(p, len(p.redemptions(store.RedemptionList{CustomerID: "ann"})), 1, "the number of the customer's redemptions")
}

func keyInARace(p *probe) {
	c := p.coupon(limits(1, 1))
	requests := make([]store.Reservation, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.checkout(c, "ann", "key")
	}
	results := make([]store.Reserved, len(requests))
	errs := p.together(len(requests), func(ctx context.Context, s store.Store, i int) (err error) {
		results[i], err = s.Reserve(ctx, requests[i])
		return err
	})
	p.succeeded(errs, nil, "Reserve with one key")
	var first store.Reserved
	stored := 0
	for _, r := range results {
		if !r.Replayed {
			first = r
			stored++
		}
	}
	if stored != 1 {
		p.stop("of %d calls with one key %d stored something", len(results), stored)
	}
	for _, r := range results {
		r.Replayed = false
		same(p, r, first, "the result of the key")
	}
	same(p, p.redemptions(store.RedemptionList{}), []redemption.Redemption{first.Redemption}, "the list of redemptions")
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func keyForSomethingElse(p *probe) {
	c, other := p.coupon(), p.coupon()
	first := p.place(p.checkout(c, "ann", "key"))
	cart := p.checkout(c, "ann", "key")
	cart.Order.Fingerprint = "another cart"
	shout := p.checkout(c, "ann", "key")
	shout.Order.Fingerprint = "THE SAME CART"
	for what, r := range map[string]store.Reservation{
		"coupon": p.checkout(other, "ann", "key"), "cart": cart, "letter case of the fingerprint": shout,
		"kind of reservation": p.exchange(c, "ann", "key"),
	} {
		_, err := p.s.Reserve(p.Context(), r)
		p.fails(err, store.ErrKeyReused, "Reserve with a used key for another %s", what)
		p.fails(err, store.ErrConflict, "Reserve with a used key for another %s", what)
	}
	_, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", "key"))
	p.fails(err, store.ErrKeyReused, "CreateOrder with the key of a reservation")
	over := p.takeOver(other, p.reserve(other, "ann").Redemption, "key")
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrKeyReused, "TakeOver with a used key, of another coupon")

	_, _, err = p.s.CreateOrder(p.Context(), p.plain("ann", "plain"))
	p.ok(err, "CreateOrder")
	_, err = p.s.Reserve(p.Context(), p.checkout(c, "ann", "plain"))
	p.fails(err, store.ErrKeyReused, "Reserve with the key of an order without a coupon")
	for what, costing := range map[string]coupon.Coupon{"no limit": p.coupon(forPoints), "a limit": p.coupon(forPoints, limits(9, 9))} {
		_, err = p.s.Reserve(p.Context(), p.exchange(costing, "ann", "plain"))
		p.fails(err, store.ErrKeyReused, "Reserve by points of a coupon with %s and the key of an order without a coupon", what)
		p.counts(costing.ID, 0, 0)
	}
	points := p.place(p.exchange(p.coupon(forPoints), "ann", "points"))
	_, err = p.s.Reserve(p.Context(), p.checkout(c, "ann", "points"))
	p.fails(err, store.ErrKeyReused, "Reserve with the key of a reservation by points")
	_, _, err = p.s.CreateOrder(p.Context(), p.plain("ann", "points"))
	p.fails(err, store.ErrKeyReused, "CreateOrder with the key of a reservation by points")
	_, err = p.s.Reserve(p.Context(), p.exchange(p.coupon(forPoints), "ann", "points"))
	p.fails(err, store.ErrKeyReused, "Reserve by points with the key of another coupon's")

	same(p, p.redemption(first.Redemption.ID), first.Redemption, "the redemption of the key")
	same(p, p.order(first.Order.ID), first.Order, "the order of the key")
	same(p, p.redemption(points.Redemption.ID), points.Redemption, "the reservation by points")
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func keysAreTheCustomers(p *probe) {
	c := p.coupon(limits(0, 1))
	seen := map[string]bool{}
	for _, customer := range []string{"ann", "bob", "Ann", "annk", "an"} {
		r := p.place(p.checkout(c, customer, "key"))
		if seen[r.Redemption.ID] || r.Redemption.CustomerID != customer {
			p.broken("the customer %q got the reservation of %q", customer, r.Redemption.CustomerID)
		}
		seen[r.Redemption.ID] = true
		o, err := p.s.OrderByKey(p.Context(), customer, "key")
		p.ok(err, "OrderByKey")
		same(p, o, r.Order, "the customer's order of the key")
	}
	p.counts(c.ID, 0, 5)
}

func pointsClauses() []clause {
	return []clause{
		{"one reservation by points at a time", "a reservation by points returns, Replayed, the one that the customer holds for this coupon already and has not yet taken into a checkout", oneByPoints},
		{"points beside many reservations", "a reservation by points returns the one that the customer holds for this coupon, however many others the customer holds", pointsBesideMany},
		{"the key of a reservation that is held", "a reservation by points that returns the one held does not use its key up: when the one held is gone, the key reserves anew", keyOfTheHeld},
		{"one reservation by points in a race", "a reservation by points returns, Replayed, the one that the customer holds already: of many calls at once, each with its own key, one reserves", oneByPointsInARace},
		{"pending points take a place", "Reserve counts live reservations, also those whose points are not debited yet", pendingPointsTakeAPlace},
		{"points go one way", "points are debited once, and refunded once when the reservation is released", pointsGoOneWay},
		{"refused points", "points that are refused release a reservation whose points are pending, and nothing once another call has debited them; of both at once, one happens", refusedPoints},
		{"points reservation into a checkout", "TakeOver gives a live reservation to an order of its customer, also one that was exchanged for points and has no order", pointsIntoACheckout},
	}
}

func oneByPoints(p *probe) {
	c, other := p.coupon(forPoints, limits(0, 2)), p.coupon(forPoints)
	first := p.place(p.exchange(c, "ann", "first"))
	for _, state := range []redemption.PointsState{redemption.PointsPending, redemption.PointsDebited} {
		again, err := p.s.Reserve(p.Context(), p.exchange(c, "ann", p.key()))
		p.ok(err, "Reserve by points of a customer whose points are %s", state)
		want := p.redemption(first.Redemption.ID)
		same(p, again, store.Reserved{Redemption: want, Replayed: true}, "the reservation that the customer holds")
		if state == redemption.PointsPending {
			p.transition(first.Redemption.ID, redemption.Event{Kind: redemption.PointsExchanged, At: at(500)})
		}
	}
	p.counts(c.ID, 0, 1)
	p.place(p.exchange(other, "ann", p.key())) // another coupon
	p.place(p.exchange(c, "bob", p.key()))     // another customer
	over := p.takeOver(c, p.redemption(first.Redemption.ID), p.key())
	_, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	second := p.place(p.exchange(c, "ann", p.key())) // the first is in a checkout
	if second.Redemption.ID == first.Redemption.ID {
		p.broken("a reservation that is in a checkout was given out again")
	}
	p.counts(c.ID, 0, 3)
	p.transition(second.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	p.place(p.exchange(c, "ann", p.key())) // the second is given up
	c.State = coupon.Inactive
	_, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	_, err = p.s.Reserve(p.Context(), p.exchange(c, "ann", p.key()))
	p.fails(err, coupon.ErrInactive, "Reserve by points of one that is held, of a coupon that was switched off")
	p.invariants()
}

// pointsBesideMany has more than [store.MaxHeld] reservations that are older than the one by
// points.
func pointsBesideMany(p *probe) {
	c := p.coupon(forPoints)
	for range store.MaxHeld + 1 {
		p.reserve(c, "ann")
	}
	first := p.place(p.exchange(c, "ann", p.key()))
	again, err := p.s.Reserve(p.Context(), p.exchange(c, "ann", p.key()))
	p.ok(err, "Reserve by points")
	first.Replayed = true
	same(p, again, first, "the reservation that the customer holds beside others")
	p.counts(c.ID, 0, store.MaxHeld+2)
	p.invariants()
}

func pendingPointsTakeAPlace(p *probe) {
	all, own := p.coupon(forPoints, limits(1, 0)), p.coupon(forPoints, limits(0, 1))
	p.place(p.exchange(all, "ann", p.key()))
	p.place(p.exchange(own, "ann", p.key()))
	_, err := p.s.Reserve(p.Context(), p.exchange(all, "bob", p.key()))
	p.fails(err, coupon.ErrUsageLimitReached, "Reserve by points while another customer's are being debited")
	_, err = p.s.Reserve(p.Context(), p.checkout(own, "ann", p.key()))
	p.fails(err, coupon.ErrUserUsageLimitReached, "Reserve while the customer's own points are being debited")
	p.invariants()
}

func keyOfTheHeld(p *probe) {
	c := p.coupon(forPoints)
	first := p.place(p.exchange(c, "ann", "first")).Redemption
	held, err := p.s.Reserve(p.Context(), p.exchange(c, "ann", "second"))
	p.ok(err, "Reserve by points with a second key")
	same(p, held, store.Reserved{Redemption: first, Replayed: true}, "the reservation that the customer holds")
	gone := p.transition(first.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	asked := p.exchange(c, "ann", "second")
	same(p, p.place(asked), store.Reserved{Redemption: asked.Redemption}, "what the second key reserves when the first is gone")
	again, err := p.s.Reserve(p.Context(), p.exchange(c, "ann", "first"))
	p.ok(err, "Reserve by points with the key of one that is gone")
	same(p, again, store.Reserved{Redemption: gone, Replayed: true}, "the first result of a key")
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func oneByPointsInARace(p *probe) {
	c := p.coupon(forPoints)
	requests := make([]store.Reservation, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.exchange(c, "ann", p.key())
	}
	errs := p.together(len(requests), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Reserve(ctx, requests[i])
		return err
	})
	p.succeeded(errs, nil, "Reserve by points")
	if held := p.redemptions(store.RedemptionList{CouponID: c.ID}); len(held) != 1 {
		p.broken("of %d calls %d reserved", len(requests), len(held))
	}
	p.counts(c.ID, 0, 1)
}

func refusedPoints(p *probe) {
	c := p.coupon(forPoints)
	refused := redemption.Event{Kind: redemption.PointsRefused, At: at(500)}
	pending := p.place(p.exchange(c, "ann", p.key())).Redemption
	want, err := redemption.Apply(pending, refused)
	p.own(err)
	for range 2 {
		same(p, p.transition(pending.ID, refused), want, "a reservation whose points are refused")
		same(p, p.redemption(pending.ID), want, "the stored reservation")
	}
	p.counts(c.ID, 0, 0)

	debited := p.exchanged(c, "ann")
	_, err = p.s.Transition(p.Context(), debited.ID, refused)
	p.fails(err, redemption.ErrIllegal, "Transition (%s) after the points were debited", refused.Kind)
	same(p, p.redemption(debited.ID), debited, "a reservation whose points were debited")

	raced := p.place(p.exchange(c, "bob", p.key())).Redemption
	kinds := []redemption.EventKind{redemption.PointsExchanged, redemption.PointsRefused}
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Transition(ctx, raced.ID, redemption.Event{Kind: kinds[i%2], At: at(600)})
		return err
	})
	won := redemption.PointsRefused
	if p.redemption(raced.ID).Live() {
		won = redemption.PointsExchanged
	}
	for i, err := range errs {
		if kinds[i%2] == won {
			p.ok(err, "Transition (%s), which happened", won)
		} else {
			p.fails(err, redemption.ErrIllegal, "Transition (%s) beside %s, which happened", kinds[i%2], won)
		}
	}
	want, err = redemption.Apply(raced, redemption.Event{Kind: won, At: at(600)})
	p.own(err)
	same(p, p.redemption(raced.ID), want, "the reservation after %s", won)
	p.invariants()
}

func pointsGoOneWay(p *probe) {
	c := p.coupon(forPoints)
	steps := []struct {
		kind redemption.EventKind
		want redemption.PointsState
	}{
		{redemption.PointsExchanged, redemption.PointsDebited},
		{redemption.PointsExchanged, redemption.PointsDebited},
		{redemption.Cancelled, redemption.PointsRefundDue},
		{redemption.Cancelled, redemption.PointsRefundDue},
		{redemption.PointsGivenBack, redemption.PointsRefunded},
		{redemption.PointsGivenBack, redemption.PointsRefunded},
	}
	r := p.place(p.exchange(c, "ann", p.key())).Redemption
	for i, step := range steps {
		e := redemption.Event{Kind: step.kind, At: at(500 + i)}
		want, err := redemption.Apply(r, e)
		p.own(err)
		r = p.transition(r.ID, e)
		same(p, r, want, "the reservation after %s", step.kind)
		same(p, p.redemption(r.ID), want, "the stored reservation after %s", step.kind)
		same(p, r.PointsState, step.want, "the state of the points after %s", step.kind)
	}
	_, err := p.s.Transition(p.Context(), r.ID, redemption.Event{Kind: redemption.PointsExchanged, At: at(600)})
	p.fails(err, redemption.ErrIllegal, "Transition (points exchanged) after the refund")
	p.counts(c.ID, 0, 0)
	p.invariants()
}

func pointsIntoACheckout(p *probe) {
	c := p.coupon(forPoints, limits(1, 1))
	pending := p.place(p.exchange(c, "ann", p.key())).Redemption
	_, err := p.s.TakeOver(p.Context(), p.takeOver(c, pending, p.key()))
	p.fails(err, store.ErrSuperseded, "TakeOver of a reservation whose points are not debited")
	debited := p.transition(pending.ID, redemption.Event{Kind: redemption.PointsExchanged, At: at(500)})
	over := p.takeOver(c, debited, "checkout")
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver of a reservation by points")
	want, err := redemption.Apply(debited, takenOver(over))
	p.own(err)
	same(p, taken, store.Reserved{Redemption: want, Order: over.Order}, "what TakeOver returns")
	same(p, p.redemption(debited.ID), want, "the reservation in the checkout")
	again, err := p.s.Reserve(p.Context(), p.exchange(c, "ann", pending.Key))
	p.ok(err, "Reserve by points with the key of a reservation in a checkout")
	same(p, again, store.Reserved{Redemption: want, Replayed: true}, "the result of the key of points, which has no order")
	_, err = p.s.OrderByKey(p.Context(), "ann", pending.Key)
	p.fails(err, store.ErrNotFound, "OrderByKey of the key of points, which are in the checkout of another key")
	settled := p.settleSession(redemption.SessionCompleted, p.open(taken))
	if settled.Redemption.State != redemption.Completed || settled.Redemption.PointsState != redemption.PointsDebited {
		p.broken("after the payment the reservation is %s with points %s", settled.Redemption.State, settled.Redemption.PointsState)
	}
	p.counts(c.ID, 1, 0)
	p.invariants()
}

// takenOver is the event of a take-over.
func takenOver(t store.TakeOver) redemption.Event {
	return redemption.Event{
		Kind: redemption.TakenOver, At: t.At, SessionID: t.FromSessionID, OrderID: t.Order.ID, Deadline: t.Deadline,
	}
}
