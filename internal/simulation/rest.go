package simulation

import (
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

// rest lets everything end well: what is under way is finished, what is late
// arrives, delayed payments arrive, every event comes again, newest first, and
// enough time passes for the sweeps. Nothing goes wrong any more.
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
		if w.fault == nil {
			w.restShop(s)
		}
	}
}

func (w *world) restShop(s *shop) {
	service := w.nodes[0].services[s.number]
	for i, id := range s.sessions {
		session, err := s.fake.Session(background(), id)
		if err != nil || session.Status != processor.SessionComplete || session.PaymentStatus != processor.Unpaid || session.PaymentFailed {
			continue
		}
		decide := s.fake.PaymentArrives
		if i%3 == 0 {
			decide = s.fake.PaymentFails
		}
		if err := decide(id); err != nil {
			w.fail(NoSurprise, "at rest, session %s: %v", id, err)
		}
	}
	w.collect(s)
	const rounds = 4
	for round := 1; round <= rounds && w.fault == nil; round++ {
		if round%2 == 1 { // a sweep is between the two
			w.redeliver(s, w.nodes[0])
		}
		w.now = w.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace + couponkit.DefaultPaymentWait)
		w.collect(s)
		report, err := service.Sweep(background(), 0)
		if err != nil || round == rounds && !report.IsZero() {
			w.fail(RestIsQuiet, "at rest, sweep %d: %+v, %v", round, report, err)
		}
		drifts, err := service.Reconcile(background(), couponkit.ReconcileOptions{})
		if round == rounds && (err != nil || len(drifts) > 0) {
			w.fail(RestIsQuiet, "at rest, reconcile %d: %v, %v", round, drifts, err)
		}
		w.inspect()
	}
	if w.fault != nil {
		return
	}
	w.look(s, touched{}, true)
	if w.config.Check != nil && w.fault == nil {
		if err := w.config.Check(background(), s.eyes); err != nil {
			w.fail(NoSurprise, "at rest: %v", err)
		}
	}
	w.checkRecords(s)
	w.checkPayments(s)
	w.checkMirror(s)
	w.checkFree(s, service)
}

// redeliver tells everything once more, the newest first: what was told before and
// the contradictions that are still to come.
func (w *world) redeliver(s *shop, n *node) {
	told := s.fake.Redeliveries()
	for _, d := range s.deliveries {
		told = append(told, d.Delivery)
	}
	slices.Reverse(told)
	for _, d := range told {
		d.Signature = fakeprocessor.Sign(s.secret, w.now, d.Payload)
		if err := n.webhook(background(), n.services[s.number], s.fake, d); err != nil {
			w.fail(NoSurprise, "at rest, deliver %s: %v", d.EventID, err)
		}
	}
	w.inspect()
}

// checkRecords finds what should have ended.
func (w *world) checkRecords(s *shop) {
	debited := make(map[string]int64)
	for _, id := range slices.Sorted(maps.Keys(s.book.uses)) {
		u := s.book.uses[id]
		if u.State == redemption.Reserved && !u.Free() {
			w.fail(NothingLivesForever, "use %s of order %q is reserved for ever, its points %s", u.ID, u.OrderID, u.PointsState)
		}
		switch u.PointsState {
		case redemption.PointsDebited:
			debited[u.CustomerID] += u.Points
		case redemption.PointsPending, redemption.PointsRefundDue:
			w.fail(PointsAreConserved, "points of %s are still %s", u.ID, u.PointsState)
		case redemption.NoPoints, redemption.PointsRefunded, redemption.PointsPassedOn:
		}
	}
	for id, a := range s.book.accounts {
		if balance := s.ledger.Balance(id); a.credited && balance+debited[id]+a.elsewhere != startingPoints {
			w.fail(PointsAreConserved, "the %d points, the %d debited ones and the %d spent elsewhere of a customer are not %d",
				balance, debited[id], a.elsewhere, int64(startingPoints))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.book.orders)) {
		if o := s.book.orders[id]; !o.State.Ended() {
			w.fail(OrdersEnd, "order %s is still %s", o.ID, o.State)
		}
	}
}

// checkPayments compares sessions with orders and uses: each session that was paid has a paid
// order, with a use if it has a coupon, and nothing else has.
func (w *world) checkPayments(s *shop) {
	paid, completed := 0, 0
	for _, session := range s.fake.Sessions() {
		settled := session.Status == processor.SessionComplete && session.PaymentStatus.Settled()
		order, used := s.book.paidBy(session.ID)
		if settled != (order.State == redemption.OrderPaid) {
			w.fail(OrdersEnd, "session %s is %s and %s, its order %s is %s", session.ID, session.Status, session.PaymentStatus, order.ID, order.State)
		}
		if !settled || session.Metadata[processor.MetadataCouponID] == "" {
			continue
		}
		paid++
		var u redemption.Use
		if of := s.book.usesOf[order.ID]; len(of) > 0 {
			u = s.book.uses[of[0]]
		}
		if !used || u.CouponID != session.Metadata[processor.MetadataCouponID] ||
			order.CustomerID != session.Metadata[processor.MetadataCustomerID] || (u.Origin == redemption.FromPayment) != s.lost[session.ID] {
			w.fail(EveryPaymentCounts, "session %s is paid, and its order is %s and has %s", session.ID, order.ID, u.ID)
		}
	}
	for _, u := range s.book.uses {
		if u.State == redemption.Completed {
			completed++
		}
	}
	s.used = completed
	if paid != completed {
		w.fail(EveryPaymentCounts, "%d paid sessions have a coupon, %d uses are completed", paid, completed)
	}
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
	stored := w.allCoupons(s)
	for _, c := range stored {
		status, err := s.fake.VerifyMirror(background(), c)
		if err != nil || (status == processor.MirrorValid) != c.Active() || !c.Mirrored() {
			w.fail(MirrorEqualsStore, "mirror of %s coupon %s is %s, up to date: %t (%v)", c.State, c.ID, status, c.Mirrored(), err)
		}
		want := 0
		if c.Active() {
			want = 1
		}
		if got := active[c.Code.String()]; got != want {
			w.fail(MirrorEqualsStore, "%s coupon %s has %d active codes", c.State, c.ID, got)
		}
		delete(active, c.Code.String())
		if own := objects[c.ID]; len(own) != 1 || own[0].Name != c.Name || own[0].MaxUses != c.Limits.MaxUses || own[0].Discount != c.Discount {
			w.fail(MirrorEqualsStore, "coupon %s (%q, %d uses) is mirrored as %s", c.ID, c.Name, c.Limits.MaxUses, fmt.Sprint(own))
		}
	}
	if len(active) > 0 || len(objects) != len(stored) {
		w.fail(MirrorEqualsStore, "%d mirrors for %d coupons, %d active codes without one", len(objects), len(stored), len(active))
	}
}

// checkFree asks, for every coupon, whether a customer who was never seen may use it.
func (w *world) checkFree(s *shop, service *couponkit.Service) {
	stranger := eligibility.Customer{ID: "stranger", Email: email("stranger")}
	for _, c := range w.allCoupons(s) {
		within := !w.now.Before(c.StartsAt) && (c.ExpiresAt.IsZero() || w.now.Before(c.ExpiresAt))
		taken := s.book.held[redemption.CouponUses(c.ID)].Taken()
		full := c.Limits.MaxUses > 0 && taken >= c.Limits.MaxUses
		want := c.Active() && within && !full && c.Distribution == coupon.General
		if _, err := service.Validate(background(), couponkit.ValidateRequest{Code: c.ID, Customer: stranger}); (err == nil) != want {
			w.fail(FreeUsesCanBeHad, "%s coupon %s, %d of %d uses, valid until %s: may a stranger use it? %t, says %v", c.State, c.ID,
				taken, c.Limits.MaxUses, c.ExpiresAt.Format(time.DateTime), want, err)
		}
	}
}
