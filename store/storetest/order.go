package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func orderClauses() []clause {
	return []clause{
		{"create an order", "CreateOrder stores an order without a coupon; values that go in come out the same", createOrder},
		{"an order that brings its session", "the order is the one that the event names, else the session's, also if it was created with that", orderWithASession},
		{"create an order again", "a key that the customer used before returns the first order, replayed; ErrKeyReused as in Reserve", createOrderAgain},
		{"create an order in a race", "of many calls at once with one key one stores its order, and the others return it", createOrderInARace},
		{"an order with a coupon needs its place", "CreateOrder stores an order without a coupon; one with a coupon is stored by Reserve or TakeOver, which keep its place, and else is pricing.ErrInvalid", orderWithACoupon},
		{"orders by key", "OrderByKey returns the customer's order of that key, or ErrNotFound", ordersByKey},
	}
}

func createOrder(p *probe) {
	o := p.plain("ann", p.key())
	o.Quote.Lines[0].ItemID = `it's "ünïcode" \ <b>`
	want := o.Clone()
	got, replayed, err := p.s.CreateOrder(p.Context(), o)
	p.ok(err, "CreateOrder")
	same(p, replayed, false, "whether a new order was replayed")
	same(p, got, want, "what CreateOrder returns")
	same(p, p.order(o.ID), want, "the order")
	bare := store.Order{ID: "ord_bare", Key: "bare", CustomerID: "ann", State: store.OrderOpen, CreatedAt: at(1), UpdatedAt: at(1)}
	bare.Quote = pricing.Quote{Currency: o.Quote.Currency}
	_, _, err = p.s.CreateOrder(p.Context(), bare)
	p.ok(err, "CreateOrder of an order with few fields")
	same(p, p.order(bare.ID), bare, "an order with few fields")
	bare.Key, bare.ID = "", "ord_none"
	_, _, err = p.s.CreateOrder(p.Context(), bare)
	p.fails(err, pricing.ErrInvalid, "CreateOrder without a key")
	_, err = p.s.Order(p.Context(), "ord_none")
	p.fails(err, store.ErrNotFound, "Order of one that was refused")
	long := p.plain("ann", p.key())
	long.Quote.Lines[0].ID = strings.Repeat("x", pricing.MaxLineIDLength+1)
	_, _, err = p.s.CreateOrder(p.Context(), long)
	p.fails(err, pricing.ErrInvalid, "CreateOrder of a long line")
	longest := p.plain("ann", p.key())
	longest.Quote.Lines[0].ID, longest.Quote.Lines[0].ItemID = strings.Repeat("é", pricing.MaxLineIDLength), strings.Repeat("<", pricing.MaxLineIDLength)
	_, _, err = p.s.CreateOrder(p.Context(), longest)
	p.ok(err, "CreateOrder of the longest line")
	same(p, p.order(longest.ID), longest, "the order of the longest line")
}

func orderWithASession(p *probe) {
	o := p.plain("ann", p.key())
	o.SessionID, o.SessionURL = p.session(), "https://pay.example"
	_, _, err := p.s.CreateOrder(p.Context(), o)
	p.ok(err, "CreateOrder of an order with a session")
	paid := p.settlement(redemption.SessionCompleted, store.Reserved{}, o.SessionID)
	same(p, p.settle(paid), store.Settled{Order: o.After(paid.Event), Changed: true}, "what Settle returns for the session of an order that was created with it")
}

func orderWithACoupon(p *probe) {
	c := p.coupon(limits(1, 1))
	r := p.reserve(c, "ann")
	for what, o := range map[string]store.Order{
		"a place that it does not have": p.discounted(c, "bob", p.key(), "rsv_none"),
		"the place of another order":    p.discounted(c, "ann", p.key(), r.Redemption.ID),
	} {
		_, _, err := p.s.CreateOrder(p.Context(), o)
		p.fails(err, pricing.ErrInvalid, "CreateOrder with a coupon and %s", what)
		_, err = p.s.Order(p.Context(), o.ID)
		p.fails(err, store.ErrNotFound, "Order of one with a coupon and %s", what)
	}
	bare := p.plain("ann", p.key())
	bare.ReservationID = r.Redemption.ID
	_, _, err := p.s.CreateOrder(p.Context(), bare)
	p.fails(err, pricing.ErrInvalid, "CreateOrder without a coupon, and with the place of another order")
	p.counts(c.ID, 0, 1)
	p.invariants()
}

func createOrderAgain(p *probe) {
	first, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", "key"))
	p.ok(err, "CreateOrder")
	session := p.session()
	for _, step := range []func(){
		func() {}, func() { p.attach(first.ID, session) },
		func() { p.settle(p.settlement(redemption.SessionExpired, store.Reserved{Order: first}, session)) },
		func() { p.settle(p.settlement(redemption.SessionCompleted, store.Reserved{Order: first}, session)) },
	} {
		step()
		again := p.plain("ann", "key")
		got, replayed, err := p.s.CreateOrder(p.Context(), again)
		p.ok(err, "CreateOrder with the same key")
		same(p, got, p.order(first.ID), "the order of the key")
		same(p, replayed, true, "whether the order was replayed")
		_, err = p.s.Order(p.Context(), again.ID)
		p.fails(err, store.ErrNotFound, "Order of a repeated request")
	}
	other := p.plain("ann", "key")
	other.Fingerprint = "another cart"
	_, _, err = p.s.CreateOrder(p.Context(), other)
	p.fails(err, store.ErrKeyReused, "CreateOrder with the same key for another cart")
	_, replayed, err := p.s.CreateOrder(p.Context(), p.plain("bob", "key"))
	p.ok(err, "CreateOrder of another customer with the same key")
	same(p, replayed, false, "whether another customer's order was replayed")
}

func createOrderInARace(p *probe) {
	orders := make([]store.Order, p.can.Goroutines)
	for i := range orders {
		orders[i] = p.plain("ann", "key")
	}
	results, replays := make([]store.Order, len(orders)), make([]bool, len(orders))
	errs := p.together(len(orders), func(ctx context.Context, s store.Store, i int) (err error) {
		results[i], replays[i], err = s.CreateOrder(ctx, orders[i])
		return err
	})
	p.succeeded(errs, nil, "CreateOrder with one key")
	stored := 0
	for i, o := range results {
		if !replays[i] {
			stored++
		}
		same(p, o, results[0], "the order of the key")
	}
	same(p, stored, 1, "the number of orders that were stored")
}

func ordersByKey(p *probe) {
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", "plain"))
	p.ok(err, "CreateOrder")
	reserved := p.place(p.checkout(p.coupon(), "ann", "reserved")).Order
	points := p.place(p.exchange(p.coupon(forPoints), "ann", "points"))
	for key, want := range map[string]store.Order{"plain": plain, "reserved": reserved} {
		got, err := p.s.OrderByKey(p.Context(), "ann", key)
		p.ok(err, "OrderByKey")
		same(p, got, want, "the order of the key %q", key)
	}
	ended := p.settle(p.settlement(redemption.SessionExpired, store.Reserved{Order: plain}, p.session())).Order
	got, err := p.s.OrderByKey(p.Context(), "ann", "plain")
	p.ok(err, "OrderByKey of an order that has ended")
	same(p, got, ended, "the order of the key, which has ended")
	for _, test := range []struct{ customer, key string }{
		{"bob", "plain"}, {"ann", "Plain"}, {"ann", "unknown"}, {"ann", ""}, {"", "plain"}, {"ann", points.Redemption.Key},
	} {
		_, err := p.s.OrderByKey(p.Context(), test.customer, test.key)
		p.fails(err, store.ErrNotFound, "OrderByKey(%q, %q)", test.customer, test.key)
	}
	for _, id := range []string{"ord_unknown", "", points.Redemption.ID, "plain"} {
		_, err := p.s.Order(p.Context(), id)
		p.fails(err, store.ErrNotFound, "Order(%q)", id)
	}
	for _, id := range []string{"rsv_unknown", "", plain.ID} {
		_, err := p.s.Redemption(p.Context(), id)
		p.fails(err, store.ErrNotFound, "Redemption(%q)", id)
	}
}

func attachClauses() []clause {
	return []clause{
		{"attach", "AttachSession records the processor's session in the order, and in its reservation with the new deadline; repeating it is harmless, and records the URL that it brings", attach},
		{"attach needs a session", "an attachment without a session ID, or with a URL longer than an order may have, is pricing.ErrInvalid, and a call that returns an error has changed nothing", attachNeedsASession},
		{"attach to what has moved on", "an order that has ended, has another session, or whose reservation another order has taken over, is ErrSuperseded", attachSuperseded},
		{"attach the session of another", "for an order with a reservation, a session that another redemption has is ErrSuperseded; an order without a reservation takes it", attachSessionOfAnother},
		{"attach for ever", "Deadline is the new deadline of order and reservation, and zero is never", attachForEver},
		{"attach after the payment", "an order that the session has paid for already is no error", attachAfterPayment},
		{"attach in a race", "an order that has another session is ErrSuperseded: of many sessions at once exactly one is attached", attachInARace},
	}
}

func attach(p *probe) {
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	for _, r := range []store.Reserved{p.reserve(p.coupon(), "ann"), {Order: plain}} {
		a := attachment(r.Order.ID, p.session())
		want, err := r.Order.Attach(a)
		p.own(err)
		for range 2 {
			got, err := p.s.AttachSession(p.Context(), a)
			p.ok(err, "AttachSession")
			same(p, got, want, "what AttachSession returns")
			same(p, p.order(want.ID), want, "the order")
			if r.Redemption.ID == "" {
				continue
			}
			reservation, err := redemption.Apply(r.Redemption, redemption.Event{
				Kind: redemption.SessionAttached, At: a.At, SessionID: a.SessionID, OrderID: a.OrderID, Deadline: a.Deadline,
			})
			p.own(err)
			same(p, p.redemption(reservation.ID), reservation, "the reservation")
		}
		a.SessionURL += "?again"
		want, err = want.Attach(a)
		p.own(err)
		got, err := p.s.AttachSession(p.Context(), a)
		p.ok(err, "AttachSession with another URL")
		same(p, got, want, "what AttachSession with another URL returns")
		same(p, p.order(want.ID), want, "the order with another URL")
	}
	_, err = p.s.AttachSession(p.Context(), attachment("ord_unknown", p.session()))
	p.fails(err, store.ErrNotFound, "AttachSession to an unknown order")
	p.invariants()
}

func attachNeedsASession(p *probe) {
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	for _, r := range []store.Reserved{p.reserve(p.coupon(), "ann"), {Order: plain}} {
		nameless, long := attachment(r.Order.ID, ""), attachment(r.Order.ID, p.session())
		long.SessionURL = strings.Repeat("x", store.MaxMetadataLength+1)
		for what, a := range map[string]store.Attachment{"without a session ID": nameless, "with a URL that is too long": long} {
			_, err := p.s.AttachSession(p.Context(), a)
			p.fails(err, pricing.ErrInvalid, "AttachSession %s", what)
			same(p, p.order(r.Order.ID), r.Order, "the order after AttachSession %s", what)
			if r.Redemption.ID != "" {
				same(p, p.redemption(r.Redemption.ID), r.Redemption, "the reservation after AttachSession %s", what)
			}
		}
	}
	p.invariants()
}

func attachSuperseded(p *probe) {
	c := p.coupon()
	attached, cancelled, left := p.opened(c, "ann"), p.reserve(c, "ann"), p.reserve(c, "ann")
	p.transition(cancelled.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	over := p.takeOver(c, left.Redemption, p.key())
	_, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	paid, expired := p.opened(c, "ann"), p.opened(c, "ann")
	p.settleSession(redemption.SessionCompleted, paid)
	p.settleSession(redemption.SessionExpired, expired)
	for what, r := range map[string]store.Reserved{
		"has another session": attached, "was cancelled": cancelled, "has lost its reservation": left, "was paid": paid,
	} {
		before := p.reread(r)
		_, err := p.s.AttachSession(p.Context(), attachment(r.Order.ID, p.session()))
		p.fails(err, store.ErrSuperseded, "AttachSession to an order that %s", what)
		p.fails(err, store.ErrConflict, "AttachSession to an order that %s", what)
		same(p, p.reread(r), before, "an order that %s, and its reservation", what)
	}
	_, err = p.s.AttachSession(p.Context(), attachment(expired.Order.ID, expired.Order.SessionID))
	p.fails(err, store.ErrSuperseded, "AttachSession to an order whose session has expired")
	same(p, p.redemption(over.ReservationID).SessionID, "", "the session of the reservation that was taken over")
	p.invariants()
}

func attachSessionOfAnother(p *probe) {
	c := p.coupon()
	opened, paid := p.opened(c, "ann"), p.session()
	p.settle(p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: redemption.Redemption{CouponID: p.coupon().ID}}, paid))
	bare := p.reserve(c, "ann")
	for what, session := range map[string]string{"an open order": opened.Order.SessionID, "a payment": paid} {
		_, err := p.s.AttachSession(p.Context(), attachment(bare.Order.ID, session))
		p.fails(err, store.ErrSuperseded, "AttachSession with the session of %s", what)
		same(p, p.reread(bare), bare, "an order and its reservation after the session of %s", what)
	}
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	same(p, p.attach(plain.ID, opened.Order.SessionID).SessionID, opened.Order.SessionID, "the session of an order without a reservation, which a redemption has")
	same(p, p.reread(opened), opened, "the redemption that has it, and its order")
	over := p.takeOver(c, opened.Redemption, p.key())
	_, err = p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	p.attach(bare.Order.ID, opened.Order.SessionID) // which its redemption has left
	p.invariants()
}

// attachForEver takes the deadlines away, by an attachment and by a take-over.
func attachForEver(p *probe) {
	c := p.coupon()
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	for _, r := range []store.Reserved{p.reserve(c, "ann"), {Order: plain}} {
		a := attachment(r.Order.ID, p.session())
		a.Deadline = time.Time{}
		_, err := p.s.AttachSession(p.Context(), a)
		p.ok(err, "AttachSession without a deadline")
		same(p, p.order(r.Order.ID).Deadline, time.Time{}, "the deadline of the order")
		if r.Redemption.ID != "" {
			same(p, p.redemption(r.Redemption.ID).Deadline, time.Time{}, "the deadline of the reservation")
		}
	}
	over := p.takeOver(c, p.reserve(c, "ann").Redemption, p.key())
	over.Deadline, over.Order.Deadline = time.Time{}, time.Time{}
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver without a deadline")
	same(p, p.reread(taken), taken, "what was taken over")
	same(p, []time.Time{taken.Redemption.Deadline, taken.Order.Deadline}, []time.Time{{}, {}}, "the deadlines of reservation and order")
	p.workAt(at(99_999), nil, nil)
}

func attachAfterPayment(p *probe) {
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	for _, r := range []store.Reserved{p.reserve(p.coupon(), "ann"), {Order: plain}} {
		for _, kind := range []redemption.EventKind{redemption.SessionUnpaid, redemption.SessionCompleted} {
			a := attachment(r.Order.ID, "cs_early_"+r.Order.ID)
			settled := p.settle(p.settlement(kind, r, a.SessionID))
			want, err := settled.Order.Attach(a)
			p.own(err)
			got, err := p.s.AttachSession(p.Context(), a)
			p.ok(err, "AttachSession after %q of the session", kind)
			same(p, got, want, "what AttachSession returns after %q of the session", kind)
			same(p, p.order(want.ID), want, "the order")
			same(p, got.SessionURL, a.SessionURL, "the URL of the session")
			if r.Redemption.ID != "" {
				same(p, p.redemption(r.Redemption.ID), settled.Redemption, "the redemption")
			}
		}
	}
	p.invariants()
}

func attachInARace(p *probe) {
	r := p.reserve(p.coupon(), "ann")
	sessions := make([]string, p.can.Goroutines)
	for i := range sessions {
		sessions[i] = p.session()
	}
	errs := p.together(len(sessions), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.AttachSession(ctx, attachment(r.Order.ID, sessions[i]))
		return err
	})
	if n := p.succeeded(errs, store.ErrSuperseded, "AttachSession"); n != 1 {
		p.broken("of %d sessions %d were attached", len(sessions), n)
	}
	for i, err := range errs {
		if err == nil {
			same(p, p.order(r.Order.ID).SessionID, sessions[i], "the session of the order")
			same(p, p.redemption(r.Redemption.ID).SessionID, sessions[i], "the session of the reservation")
		}
	}
}
