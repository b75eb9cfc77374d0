package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
)

// rest brings the world to a stable end. Calls finish, late calls arrive, and every event comes again,
// newest first. Then enough time passes for the sweeps.
func (w *world) rest() {
	w.place = "at rest"
	w.finish()
	for len(w.late) > 0 {
		w.arrive(0)
	}
	for i, n := range w.nodes {
		if n.stopped {
			w.nodes[i] = w.newNode()
		}
	}
	for _, s := range w.shops {
		w.restShop(s, w.nodes[0].services[s.number])
	}
}

func (w *world) restShop(s *shop, service *couponkit.Service) {
	for i, id := range s.sessions { // sessions that wait for a payment
		if decide := []func(string) error{s.fake.PaymentFails, s.fake.PaymentArrives, s.fake.PaymentArrives}[i%3]; w.fault == nil {
			_ = decide(id)
		}
	}
	w.collect(s)
	const rounds = 4
	for round := 1; round <= rounds && w.fault == nil; round++ {
		if round%2 == 1 { // run a sweep between the first and the second delivery
			w.settleMoney(s)
			w.collect(s)
			if round > 1 || w.config.Seed%2 == 1 { // otherwise the events are late, and the sweeps find the payments
				w.redeliver(s, w.nodes[0])
			}
		}
		w.now = w.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace + couponkit.DefaultPaymentWait)
		w.collect(s)
		report, err := service.Sweep(background(), 0)
		w.when(len(report.Repaid) > 0, "repayment", "swept", "")
		w.must(RestIsQuiet, err == nil && (round < rounds || report.IsZero()), "at rest, sweep %d: %+v, %v", round, report, err)
		drifts, err := service.Reconcile(background(), couponkit.ReconcileOptions{})
		w.must(RestIsQuiet, round < rounds || err == nil && len(drifts) == 0, "at rest, reconcile %d: %v, %v", round, drifts, err)
		w.inspect()
	}
	w.look(s, touched{}, true)
	if check := w.config.Check; check != nil {
		w.sound("at rest", check(background(), s.eyes))
	}
	w.checkRecords(s)
	w.checkPayments(s)
	w.checkMoney(s)
	w.checkMirror(s)
	w.checkFree(s, w.withoutIndex(w.nodes[0], s))
	w.checkAutomatic(s, w.nodes[0])
}

// redeliver delivers every event: the delivered events again, and the events still waiting.
func (w *world) redeliver(s *shop, n *node) {
	all := s.fake.Redeliveries()
	for _, d := range s.deliveries {
		all = append(all, d.Delivery)
	}
	for _, d := range slices.Backward(all) {
		d.Signature = fakeprocessor.Sign(s.secret, w.now, d.Payload)
		w.sound("at rest, deliver "+d.EventID, n.webhook(background(), n.services[s.number], s.fake.ParseEvent, d))
	}
	w.inspect()
}

// checkRecords looks for records that should have ended and are still open.
func (w *world) checkRecords(s *shop) {
	debited := make(map[string]int64)
	for _, id := range slices.Sorted(maps.Keys(s.book.uses)) {
		u := s.book.uses[id]
		w.must(NothingLivesForever, u.State != redemption.Reserved || u.Free(), "use %s of order %q is reserved for ever, its points %s", id, u.OrderID, u.PointsState)
		w.must(PointsAreConserved, u.PointsState != redemption.PointsPending && u.PointsState != redemption.PointsRefundDue, "points of %s are still %s", id, u.PointsState)
		if u.PointsState == redemption.PointsDebited {
			debited[u.CustomerID] += u.Points
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.book.accounts)) {
		a, balance := s.book.accounts[id], s.ledger.Balance(id)
		w.must(PointsAreConserved, !a.credited || balance+debited[id]+a.elsewhere == startingPoints,
			"the %d points of %s, %d debited ones and %d spent elsewhere are not %d", balance, id, debited[id], a.elsewhere, int64(startingPoints))
	}
	for _, id := range slices.Sorted(maps.Keys(s.book.orders)) {
		o := s.book.orders[id]
		w.must(OrdersEnd, o.State.Ended() && o.BegunAt.IsZero() && o.Asks == 0, "order %s is still %s, its payment was begun at %v and is to be asked for: %d",
			o.ID, o.State, o.BegunAt, o.Asks)
	}
}

// checkPayments checks that each paid session has a paid order with one use for each of its coupons,
// and that no other use is completed.
func (w *world) checkPayments(s *shop) {
	paid, completed := 0, 0
	for _, session := range s.fake.Sessions() {
		settled := session.Status == processor.SessionComplete && session.PaymentStatus.Settled()
		order, uses := s.book.paidBy(session.ID)
		w.must(OrdersEnd, settled == order.State.Paid(), "session %s is %s and %s, its order %s is %s",
			session.ID, session.Status, session.PaymentStatus, order.ID, order.State)
		if !settled {
			continue
		}
		of := session.Metadata
		paid += len(processor.CouponIDs(of))
		w.must(EveryPaymentCounts, areOf(uses, of), "session %s of %v is paid, and its uses are %+v", session.ID, of, uses)
		for _, use := range uses {
			w.must(EveryPaymentCounts, use.CustomerID == of[processor.MetadataCustomerID] && (use.Origin == redemption.FromPayment) == s.lost[session.ID],
				"session %s of %v is paid, and its use is %+v", session.ID, of, use)
		}
	}
	for _, u := range s.book.uses {
		if u.State == redemption.Completed {
			completed++
		}
	}
	w.must(EveryPaymentCounts, paid == completed, "paid sessions have %d coupons, %d uses are completed", paid, completed)
}

// checkMirror compares the processor with the store.
func (w *world) checkMirror(s *shop) {
	active := make(map[string]int)
	for _, code := range s.fake.PromotionCodes() {
		if code.Active {
			active[code.Code]++
		}
	}
	objects := make(map[string][]fakeprocessor.Coupon)
	for _, object := range s.fake.Coupons() {
		objects[object.Owner] = append(objects[object.Owner], object)
	}
	for _, id := range slices.Sorted(maps.Keys(s.book.coupons)) {
		c := s.book.coupons[id]
		status, err := s.fake.VerifyMirror(background(), c)
		w.must(MirrorEqualsStore, err == nil && (c.Code.IsZero() || (status == processor.MirrorValid) == c.Active()) && c.Mirrored(),
			"mirror of %s coupon %s is %s, up to date: %t (%v)", c.State, c.ID, status, c.Mirrored(), err)
		codes, own := active[c.Code.String()], objects[c.ID]
		w.must(MirrorEqualsStore, codes < 2 && (codes == 1) == (c.Active() && !c.Code.IsZero()), "%s coupon %s has %d active codes", c.State, c.ID, codes)
		delete(active, c.Code.String())
		w.must(MirrorEqualsStore, len(own) == 1 && own[0].Name == c.Name && own[0].MaxUses == c.Limits.MaxUses && own[0].Discount.Equal(c.Discount),
			"coupon %s (%q, %d uses) is mirrored as %v", c.ID, c.Name, c.Limits.MaxUses, own)
	}
	w.must(MirrorEqualsStore, len(active) == 0 && len(objects) == len(s.book.coupons),
		"%d mirrors for %d coupons, %d active codes without one", len(objects), len(s.book.coupons), len(active))
}

// checkFree asks, for every coupon, whether a customer who was never seen may use it.
func (w *world) checkFree(s *shop, service *couponkit.Service) {
	stranger := eligibility.Customer{ID: "stranger", Email: email("stranger")}
	for _, id := range slices.Sorted(maps.Keys(s.book.coupons)) {
		c := s.book.coupons[id]
		within := !w.now.Before(c.StartsAt) && (c.ExpiresAt.IsZero() || w.now.Before(c.ExpiresAt))
		taken := s.book.held[eligibility.CouponUses(c.ID)].Taken()
		full := c.Limits.MaxUses > 0 && taken >= c.Limits.MaxUses || s.book.exhausted(c)
		want := c.Active() && within && !full && c.Distribution == coupon.General && !c.Code.IsZero()
		_, err := service.Validate(background(), couponkit.ValidateRequest{Code: c.ID, Customer: stranger})
		w.must(FreeUsesCanBeHad, (err == nil) == want, "%s coupon %s, %d of %d uses, valid until %s: may a stranger use it? %t, says %v",
			c.State, c.ID, taken, c.Limits.MaxUses, c.ExpiresAt.Format(time.DateTime), want, err)
		if want {
			w.checkLeft(s, service, c, stranger)
		}
	}
}

// finals returns the whole final state as text.
func (w *world) finals() (final []string) {
	for _, s := range w.shops {
		all := []any{s.book.orders, s.book.uses, s.fake.Sessions(), s.book.held, fmt.Sprint(s.book.journal)}
		for _, id := range slices.Sorted(maps.Keys(s.book.coupons)) {
			whole, err := w.coupon(s, id) // read the coupon with its allow-list
			w.sound("read a coupon", err)
			all = append(all, whole)
		}
		for _, id := range slices.Sorted(maps.Keys(s.book.accounts)) {
			all = append(all, fmt.Sprintf("%s has %d points", id, s.ledger.Balance(id)))
		}
		for _, value := range all {
			text, err := json.Marshal(value)
			w.sound("write down", err)
			final = append(final, string(text))
		}
	}
	return final
}
