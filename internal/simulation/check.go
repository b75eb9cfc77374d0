package simulation

import (
	"fmt"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// check fails the life when something is that must not be, at any moment.
func (w *World) check() {
	rows, coupons := w.redemptions(), w.allCoupons()
	codes := make(map[coupon.Code]string)
	for _, c := range coupons {
		if other, twice := codes[c.Code]; twice {
			w.fail("coupons %s and %s have one code", other, c.ID)
		}
		codes[c.Code] = c.ID
		w.checkCounts(c, rows)
	}
	w.checkSessions(rows)
}

// checkCounts compares a coupon's counts with its rows, and its rows with its
// limits.
func (w *World) checkCounts(c coupon.Coupon, rows []redemption.Redemption) {
	var completed, live int64
	places := make(map[string]int64) // by customer; "" for all
	for _, r := range rows {
		if r.CouponID != c.ID {
			continue
		}
		used, reserved := r.Counts()
		completed, live = completed+used, live+reserved
		if !r.OverLimit {
			places[""] += used + reserved
			places["of "+r.CustomerID] += used + reserved
		}
	}
	if c.UsedCount != completed || c.ReservedCount != live {
		w.fail("coupon %s counts %d used and %d reserved, its rows %d and %d", c.ID, c.UsedCount, c.ReservedCount, completed, live)
	}
	most := w.most(c)
	for whose, n := range places {
		limit := most.MaxUsesPerUser
		if whose == "" {
			limit = most.MaxUses
		}
		if limit > 0 && n > limit {
			w.fail("coupon %s: %d places %s, at most %d", c.ID, n, whose, limit)
		}
	}
}

// most remembers the greatest limits of a coupon: lowering one below what is used
// is allowed.
func (w *World) most(c coupon.Coupon) coupon.Limits {
	most, known := w.greatest[c.ID]
	if !known {
		most = c.Limits
	}
	most.MaxUses = greater(most.MaxUses, c.Limits.MaxUses)
	most.MaxUsesPerUser = greater(most.MaxUsesPerUser, c.Limits.MaxUsesPerUser)
	w.greatest[c.ID] = most
	return most
}

// greater compares limits, of which 0 is none and so the greatest.
func greater(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

func (w *World) checkSessions(rows []redemption.Redemption) {
	completed := make(map[string]string)
	for _, r := range rows {
		if r.State != redemption.Completed {
			continue
		}
		if other, twice := completed[r.SessionID]; twice {
			w.fail("session %s has two redemptions, %s and %s", r.SessionID, other, r.ID)
		}
		completed[r.SessionID] = r.ID
		session, err := w.fake.Session(background(), r.SessionID)
		if err != nil || !session.PaymentStatus.Settled() {
			w.fail("redemption %s is completed, its session %q is not paid (%v)", r.ID, r.SessionID, err)
		}
	}
}

func (w *World) allCoupons() []coupon.Coupon {
	var all []coupon.Coupon
	list := store.CouponList{PageSize: store.MaxPageSize}
	for {
		page, err := w.store.ListCoupons(background(), list)
		if err != nil {
			w.fail("list coupons: %v", err)
			return nil
		}
		all = append(all, page.Items...)
		if list.After = page.Next; list.After == "" {
			return all
		}
	}
}

func (w *World) redemptions() []redemption.Redemption {
	var all []redemption.Redemption
	list := store.RedemptionList{PageSize: store.MaxPageSize}
	for {
		page, err := w.store.ListRedemptions(background(), list)
		if err != nil {
			w.fail("list redemptions: %v", err)
			return nil
		}
		all = append(all, page.Items...)
		if list.After = page.Next; list.After == "" {
			return all
		}
	}
}

// rest lets everything end well: what is under way is finished, delayed payments
// arrive, every event comes twice, and enough time passes for the sweeps.
func (w *World) rest() {
	w.finish()
	for _, s := range w.fake.Sessions() {
		if s.Status == processor.SessionComplete && s.PaymentStatus == processor.Unpaid && !s.PaymentFailed {
			w.expect("payment arrives", w.fake.PaymentArrives(s.ID))
		}
	}
	w.fake.Deliveries()
	service := w.nodes[0].service
	const rounds = 3
	for round := 1; round <= rounds; round++ {
		for _, d := range w.fake.Redeliveries() {
			if err := w.hand(service, d); err != nil {
				w.fail("at rest, deliver %s: %v", d.EventID, err)
			}
		}
		w.now = w.now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace + couponkit.DefaultPaymentWait)
		if _, err := service.Sweep(background(), 0); err != nil {
			w.fail("at rest, sweep: %v", err)
		}
		if drifts, err := service.Reconcile(background(), couponkit.ReconcileOptions{}); round == rounds && (err != nil || len(drifts) > 0) {
			w.fail("at rest, reconcile: %v, %v", drifts, err)
		}
	}
	w.check()
	w.checkAtRest()
}

// checkAtRest fails the life when something is that must not be once everything
// has ended.
func (w *World) checkAtRest() {
	completed := make(map[string]redemption.Redemption)
	debited := make(map[string]int64)
	for _, r := range w.redemptions() {
		if r.State == redemption.Completed {
			completed[r.SessionID] = r
		}
		if r.State == redemption.Reserved && (r.OrderID != "" || r.PointsState != redemption.PointsDebited) {
			w.fail("reservation %s lives for ever", r.ID)
		}
		switch r.PointsState {
		case redemption.PointsDebited:
			debited[r.CustomerID] += r.Points
		case redemption.PointsPending, redemption.PointsRefundDue:
			w.fail("points of %s are still %s", r.ID, r.PointsState)
		case redemption.NoPoints, redemption.PointsRefunded:
		}
	}
	for id := range w.credited {
		if sum := w.ledger.Balance(id) + debited[id]; sum != startingPoints {
			w.fail("%s: balance and debited points are %d, not %d", id, sum, startingPoints)
		}
	}
	w.used = len(completed)
	w.checkPayments(completed)
	w.checkMirror()
}

// checkPayments compares sessions with orders and redemptions: each that was paid
// and has a coupon has one redemption, and nothing else has.
func (w *World) checkPayments(completed map[string]redemption.Redemption) {
	paid := 0
	for _, s := range w.fake.Sessions() {
		settled := s.Status == processor.SessionComplete && s.PaymentStatus.Settled()
		order, err := w.store.Order(background(), s.Metadata[processor.MetadataOrderID])
		switch {
		case err != nil:
			w.fail("order of session %s: %v", s.ID, err)
		case order.Quote.Total != s.Total:
			w.fail("session %s charges %d, its order %d", s.ID, s.Total, order.Quote.Total)
		case settled && order.State != store.OrderPaid:
			w.fail("session %s is paid, its order is %s", s.ID, order.State)
		case !settled && order.State != store.OrderCancelled:
			w.fail("session %s is not paid, its order is %s", s.ID, order.State)
		}
		if !settled || s.Metadata[processor.MetadataCouponID] == "" {
			continue
		}
		paid++
		if r, counted := completed[s.ID]; !counted || r.CouponID != s.Metadata[processor.MetadataCouponID] {
			w.fail("paid session %s has no redemption", s.ID)
		}
	}
	if paid != len(completed) {
		w.fail("%d paid sessions with a coupon, %d completed redemptions", paid, len(completed))
	}
}

// checkMirror compares the processor with the store.
func (w *World) checkMirror() {
	active := make(map[string]int)
	for _, code := range w.fake.PromotionCodes() {
		if code.Active {
			active[code.Code]++
		}
	}
	objects := make(map[string][]fakeprocessor.Coupon)
	for _, object := range w.fake.Coupons() {
		objects[object.Owner] = append(objects[object.Owner], object)
	}
	stored := w.allCoupons()
	for _, c := range stored {
		status, err := w.fake.VerifyMirror(background(), c)
		if err != nil || (status == processor.MirrorValid) != c.Active() || !c.Mirrored() {
			w.fail("mirror of %s coupon %s is %s, up to date: %t (%v)", c.State, c.ID, status, c.Mirrored(), err)
		}
		want := 0
		if c.Active() {
			want = 1
		}
		if got := active[c.Code.String()]; got != want {
			w.fail("%s coupon %s has %d active codes", c.State, c.ID, got)
		}
		if own := objects[c.ID]; len(own) != 1 || own[0].Name != c.Name || own[0].MaxUses != c.Limits.MaxUses || own[0].Discount != c.Discount {
			w.fail("coupon %s (%q, %d uses) is mirrored as %s", c.ID, c.Name, c.Limits.MaxUses, fmt.Sprint(own))
		}
	}
	if len(objects) != len(stored) {
		w.fail("%d mirrors for %d coupons", len(objects), len(stored))
	}
}
