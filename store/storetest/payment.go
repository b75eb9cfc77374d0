package storetest

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func paymentClauses() []clause {
	return []clause{
		{"payment after release", "a payment that arrives after its reservation was released completes it; when no place is left, which is for the store to find out, it is recorded and flagged, never dropped", paymentAfterRelease},
		{"payment without a reservation", "a completed session for which no redemption is found, but whose metadata names a coupon, is recorded as a new redemption, over the limit if no place is left", paymentWithoutReservation},
		{"payment of nobody", "a payment whose customer is not known takes a place of the coupon, and none of a customer", paymentOfNobody},
		{"payment without a reservation in a race", "a payment that is delivered many times at once is recorded once, whatever ID each delivery brings", paymentInARace},
		{"payment of a deleted coupon", "a reservation made in time completes even if the coupon is deleted before the payment arrives, and a payment for a coupon that is gone is recorded", paymentOfADeletedCoupon},
		{"payment of an earlier instant", "Settle applies what the processor says: a payment counts whatever its instant, and whatever has been told of the session since", paymentOfAnEarlierInstant},
		{"payment with a used ID", "a NewID that another redemption has, for its ID or as the same customer's key, is ErrConflict; the record's key is used", paymentWithAUsedID},
	}
}

func paymentAfterRelease(p *probe) {
	for _, test := range []struct {
		limits   terms
		another  string // takes the place that was released
		flagged  bool
		describe string
	}{
		{limits(1, 0), "", false, "a place is left"},
		{limits(0, 1), "", false, "a place of the customer is left"},
		{limits(0, 0), "bob", false, "there is no limit"},
		{limits(2, 0), "bob", false, "one of two places is left"},
		{limits(1, 0), "bob", true, "somebody else has the place"},
		{limits(0, 1), "ann", true, "the customer has used the place again"},
		{limits(0, 1), "bob", false, "another customer has used a place of their own"},
	} {
		for _, attached := range []bool{true, false} {
			c := p.coupon(test.limits)
			r := p.reserve(c, "ann")
			session := p.session()
			if attached {
				p.attach(r.Order.ID, session)
			}
			p.settle(p.settlement(redemption.SessionExpired, r, session))
			taken := int64(0)
			if test.another != "" {
				p.reserve(c, test.another)
				taken = 1
			}
			before := p.redemption(r.Redemption.ID)
			paid := p.settlement(redemption.SessionCompleted, r, session)
			e := paid.Event
			e.NoPlaceLeft = test.flagged
			want, err := redemption.Apply(before, e)
			p.own(err)
			paid.Event.NoPlaceLeft = attached && !test.flagged // is for the store to find out
			settled := p.settle(paid)
			same(p, settled.Redemption, want, "the redemption when %s", test.describe)
			same(p, settled.Redemption.OverLimit, test.flagged, "the flag when %s", test.describe)
			same(p, settled.Order.State, store.OrderPaid, "the state of the order when %s", test.describe)
			same(p, p.settle(p.settlement(redemption.SessionCompleted, r, session)).Redemption, want, "the redemption after a second delivery")
			p.counts(c.ID, 1, taken)
		}
	}
	p.invariants()
	p.overLimitTakesPlaces()
}

// overLimitTakesPlaces raises the limit to what is used with a payment over it.
func (p *probe) overLimitTakesPlaces() {
	p.Helper()
	c := p.coupon(limits(1, 1))
	late := p.opened(c, "ann")
	p.settleSession(redemption.SessionExpired, late)
	p.settleSession(redemption.SessionCompleted, p.opened(c, "bob"))
	same(p, p.settleSession(redemption.SessionCompleted, late).Redemption.OverLimit, true, "the flag when no place is left")
	_, err := p.s.Reserve(p.Context(), p.checkout(c, "ann", p.key()))
	p.fails(err, coupon.ErrUserUsageLimitReached, "Reserve of a customer whose use was over the limit of all")
	c.Limits.MaxUses = 2
	c, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	_, err = p.s.Reserve(p.Context(), p.checkout(c, "cem", p.key()))
	p.fails(err, coupon.ErrUsageLimitReached, "Reserve of a limit that a use over the limit before has reached")
}

func paymentWithoutReservation(p *probe) {
	for _, test := range []struct {
		limits   terms
		taken    []string
		flagged  bool
		describe string
	}{
		{limits(0, 0), nil, false, "there is no limit"},
		{limits(1, 1), nil, false, "a place is left"},
		{limits(1, 0), []string{"bob"}, true, "no place is left"},
		{limits(0, 1), []string{"ann"}, true, "no place of the customer is left"},
		{limits(0, 1), []string{"bob"}, false, "another customer has used a place"},
	} {
		c := p.coupon(test.limits)
		for _, customer := range test.taken {
			p.reserve(c, customer)
		}
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{ID: "rsv_lost", CouponID: c.ID, CustomerID: "ann"},
			Order:      store.Order{ID: "ord_lost"},
		}, p.session())
		paid.Event.NoPlaceLeft = !test.flagged // is for the store to find out
		want := payment(paid, test.flagged)
		same(p, p.settle(paid), store.Settled{Redemption: want, Changed: true}, "what Settle returns when %s", test.describe)
		same(p, p.redemption(want.ID), want, "the redemption when %s", test.describe)
		paid.NewID += "-again"
		same(p, p.settle(paid), store.Settled{Redemption: want}, "what Settle returns for a second delivery when %s", test.describe)
		late := p.settlement(redemption.SessionExpired, store.Reserved{}, paid.Event.SessionID)
		same(p, p.settle(late), store.Settled{Redemption: want}, "what Settle returns for an expiry after the payment")
		p.counts(c.ID, 1, int64(len(test.taken)))
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: "ann"})
		p.ok(err, "LookUp")
		same(p, found.CompletedByCustomer, int64(1), "the completed redemptions of the customer")
	}
	p.invariants()
}

func paymentOfNobody(p *probe) {
	c := p.coupon(limits(2, 1))
	for i, flagged := range []bool{false, false, true} {
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: redemption.Redemption{CouponID: c.ID}}, p.session())
		same(p, p.settle(paid).Redemption, payment(paid, flagged), "payment %d of three for two places", i+1)
	}
	p.counts(c.ID, 3, 0)
	found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID})
	p.ok(err, "LookUp")
	same(p, found.CompletedByCustomer, int64(0), "the completed redemptions of nobody")
	p.invariants()
}

func paymentInARace(p *probe) {
	c := p.coupon(limits(1, 1))
	session := p.session()
	payments := make([]store.Settlement, p.can.Goroutines)
	for i := range payments {
		payments[i] = p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{ID: "rsv_lost", CouponID: c.ID, CustomerID: "ann"},
		}, session)
	}
	errs := p.together(len(payments), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Settle(ctx, payments[i])
		return err
	})
	p.succeeded(errs, nil, "Settle of one payment")
	all := p.redemptions(store.RedemptionList{})
	if len(all) != 1 || all[0].OverLimit {
		p.broken("one payment left %d redemptions: %+v", len(all), all)
	}
	p.counts(c.ID, 1, 0)
	p.invariants()
}

func paymentOfADeletedCoupon(p *probe) {
	c := p.coupon(limits(1, 1))
	lapsed := p.opened(c, "bob")
	p.settleSession(redemption.SessionExpired, lapsed)
	held := p.opened(c, "ann")
	p.ok(p.s.DeleteCoupon(p.Context(), c.ID, c.Revision), "DeleteCoupon")
	for _, r := range []store.Reserved{held, lapsed} {
		before := p.redemption(r.Redemption.ID)
		paid := p.settlement(redemption.SessionCompleted, r, r.Order.SessionID)
		want, err := redemption.Apply(before, paid.Event)
		p.own(err)
		same(p, p.settle(paid).Redemption, want, "the redemption of a deleted coupon")
		same(p, p.order(r.Order.ID).State, store.OrderPaid, "the state of its order")
	}
	for _, id := range []string{c.ID, c.ID, "cpn_never_was"} {
		paid := p.settlement(redemption.SessionCompleted, store.Reserved{
			Redemption: redemption.Redemption{CouponID: id, CustomerID: "ann"},
		}, p.session())
		same(p, p.settle(paid), store.Settled{Redemption: payment(paid, false), Changed: true}, "what Settle returns for a payment of a coupon that is gone, and has no limits")
		same(p, p.redemption(paid.NewID), payment(paid, false), "its redemption")
	}
	same(p, len(p.redemptions(store.RedemptionList{CouponID: c.ID})), 4, "the number of redemptions of the deleted coupon")
	_, err := p.s.Coupon(p.Context(), c.ID)
	p.fails(err, coupon.ErrNotFound, "Coupon of a deleted one, after its payments")
	p.invariants()
}

func paymentOfAnEarlierInstant(p *probe) {
	c := p.coupon()
	for _, reserved := range []bool{true, false} {
		var r store.Reserved
		if reserved {
			r = p.opened(c, "ann")
		} else {
			plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
			p.ok(err, "CreateOrder")
			r.Order = p.attach(plain.ID, p.session())
		}
		expired, paid := p.settlement(redemption.SessionExpired, r, r.Order.SessionID), p.settlement(redemption.SessionCompleted, r, r.Order.SessionID)
		paid.Event.At = expired.Event.At.Add(-time.Second)
		p.settle(expired)
		settled := p.settle(paid)
		same(p, settled.Order.State, store.OrderPaid, "the state of an order that was paid a second before its session expired")
		if reserved {
			same(p, settled.Redemption.State, redemption.Completed, "the state of its redemption")
		}
	}
	p.counts(c.ID, 1, 0)
	p.invariants()
}

func paymentWithAUsedID(p *probe) {
	c := p.coupon()
	r := p.opened(c, "ann")
	paid := p.settlement(redemption.SessionCompleted, store.Reserved{
		Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "bob"},
	}, p.session())
	paid.NewID = r.Redemption.ID
	_, err := p.s.Settle(p.Context(), paid)
	p.fails(err, store.ErrConflict, "Settle of a payment with the ID of another redemption")
	same(p, p.reread(r), r, "the redemption that had the ID, and its order")
	p.counts(c.ID, 0, 1)
	paid.NewID = "rsv_new"
	same(p, p.settle(paid).Redemption, payment(paid, false), "the redemption under an ID of its own")
	p.invariants()
	p.paymentWithAUsedKey()
}

// paymentWithAUsedKey pays under IDs that were used as keys.
func (p *probe) paymentWithAUsedKey() {
	p.Helper()
	c, costing := p.coupon(), p.coupon(forPoints)
	ordered, exchanged := p.place(p.checkout(c, "ann", "ordered")), p.place(p.exchange(costing, "ann", "exchanged"))
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", "plain"))
	p.ok(err, "CreateOrder")
	paid := p.settlement(redemption.SessionCompleted, store.Reserved{
		Redemption: redemption.Redemption{CouponID: costing.ID, CustomerID: "ann"},
	}, p.session())
	for _, used := range []redemption.Redemption{ordered.Redemption, exchanged.Redemption} {
		paid.NewID = used.Key
		_, err := p.s.Settle(p.Context(), paid)
		p.fails(err, store.ErrConflict, "Settle of a payment with the key %q of another redemption of the customer", used.Key)
		same(p, p.redemption(used.ID), used, "the redemption of the key %q", used.Key)
	}
	p.counts(costing.ID, 0, 1)
	others := p.settlement(redemption.SessionCompleted, store.Reserved{
		Redemption: redemption.Redemption{CouponID: costing.ID, CustomerID: "bob"},
	}, p.session())
	others.NewID = "ordered"
	same(p, p.settle(others).Redemption, payment(others, false), "the redemption under a key of another customer")
	paid.NewID = "anew"
	same(p, p.settle(paid).Redemption, payment(paid, false), "the redemption under a new ID")

	for what, r := range map[string]store.Reservation{
		"for an order": p.checkout(c, "ann", "anew"), "by points": p.exchange(costing, "ann", "anew"),
	} {
		_, err := p.s.Reserve(p.Context(), r)
		p.fails(err, store.ErrKeyReused, "Reserve %s with the key of a payment", what)
	}
	_, _, err = p.s.CreateOrder(p.Context(), p.plain("ann", "anew"))
	p.fails(err, store.ErrKeyReused, "CreateOrder with the key of a payment")
	_, err = p.s.TakeOver(p.Context(), p.takeOver(c, ordered.Redemption, "anew"))
	p.fails(err, store.ErrKeyReused, "TakeOver with the key of a payment")

	paid = p.settlement(redemption.SessionCompleted, store.Reserved{
		Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: "ann"},
	}, p.session())
	paid.NewID = "plain" // that of an order without a redemption, which keeps it
	p.settle(paid)
	again, replayed, err := p.s.CreateOrder(p.Context(), p.plain("ann", "plain"))
	p.ok(err, "CreateOrder with a key that an order and a payment have")
	same(p, replayed, true, "whether the order was replayed")
	same(p, again, plain, "the order of the key")
	p.invariants()
}

// payment is the record of a payment for which there was none.
func payment(t store.Settlement, overLimit bool) redemption.Redemption {
	return redemption.Redemption{
		ID: t.NewID, Key: t.NewID, CouponID: t.CouponID, CustomerID: t.CustomerID, State: redemption.Completed,
		Origin: redemption.FromPayment, OrderID: t.Event.OrderID, SessionID: t.Event.SessionID, OverLimit: overLimit,
		CreatedAt: t.Event.At, UpdatedAt: t.Event.At, CompletedAt: t.Event.At,
	}
}
