package simulation

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
)

// checkCounts compares a coupon's counts with its rows.
func (w *world) checkCounts(s *shop, id string) {
	c, there := s.book.coupons[id]
	if t := s.book.tally(id); there && (c.UsedCount != t.completed || c.ReservedCount != t.live) {
		w.fail(CountsEqualRows, "coupon %s counts %d used and %d reserved, its rows %d and %d",
			id, c.UsedCount, c.ReservedCount, t.completed, t.live)
	}
}

// checkPlace holds a row that takes a place to the limits as they are at that moment.
// Lowering a limit below what is used is allowed, and takes no place.
func (w *world) checkPlace(s *shop, before, now redemption.Redemption) {
	takes := func(r redemption.Redemption) bool {
		return r.State == redemption.Reserved || r.State == redemption.Completed
	}
	if !takes(now) || takes(before) {
		return
	}
	c, there := s.book.coupons[now.CouponID]
	if before.ID == "" && now.State == redemption.Reserved && (!there || c.State != coupon.Active) {
		w.fail(OnlyActiveReserves, "%s was reserved of coupon %s, which is %q", now.ID, now.CouponID, c.State)
	}
	if !there {
		return
	}
	t, l := s.book.tally(c.ID), c.Limits
	all, own := t.completed+t.live, t.byCustomer[now.CustomerID]
	over := l.MaxUses > 0 && all > l.MaxUses || l.MaxUsesPerUser > 0 && own > l.MaxUsesPerUser
	switch {
	case over && !now.OverLimit:
		w.fail(LimitsHold, "%s is use %d of coupon %s and use %d of %s, at most %d and %d are allowed",
			now.ID, all, c.ID, own, now.CustomerID, l.MaxUses, l.MaxUsesPerUser)
	case !over && now.OverLimit:
		w.fail(OverLimitIsFlagged, "%s is flagged, and is use %d of coupon %s and use %d of %s, at most %d and %d are allowed",
			now.ID, all, c.ID, own, now.CustomerID, l.MaxUses, l.MaxUsesPerUser)
	}
}

// checkTransition holds a row to the state machine.
func (w *world) checkTransition(before, now redemption.Redemption) {
	fresh := before.ID == ""
	switch {
	case fresh && now.State == redemption.Released,
		fresh && (now.State == redemption.Completed) != (now.Origin == redemption.FromPayment),
		before.State == redemption.Completed && now.State != redemption.Completed,
		before.State == redemption.Released && now.State == redemption.Reserved:
		w.fail(StatesMoveForward, "redemption %s was %q, and is %s", now.ID, before.State, now.State)
	case !fresh && now.PointsState < before.PointsState:
		w.fail(StatesMoveForward, "points of %s were %s, and are %s", now.ID, before.PointsState, now.PointsState)
	case now.State == redemption.Released && (now.PointsState == redemption.PointsDebited || now.PointsState == redemption.PointsPending):
		w.fail(PointsAreBounded, "%s is released, and its points are %s", now.ID, now.PointsState)
	case fresh:
	case before.CouponID != now.CouponID || before.CustomerID != now.CustomerID || before.Origin != now.Origin ||
		before.Points != now.Points || before.Key != now.Key || !before.CreatedAt.Equal(now.CreatedAt):
		w.fail(RowsStay, "redemption %s is not the one that was made", now.ID)
	case before.State == redemption.Completed && (before.SessionID != now.SessionID || before.OverLimit != now.OverLimit ||
		!before.CompletedAt.Equal(now.CompletedAt)):
		w.fail(RowsStay, "redemption %s was completed by session %s, and is by %s", now.ID, before.SessionID, now.SessionID)
	}
}

// checkReleased asks the processor whether what is released was left unpaid.
func (w *world) checkReleased(s *shop, before, now redemption.Redemption) {
	if now.State != redemption.Released || before.State == redemption.Released || before.SessionID == "" || s.contradicted[before.SessionID] {
		return
	}
	session, err := s.fake.Session(background(), before.SessionID)
	if err == nil && session.Status == processor.SessionComplete && session.PaymentStatus.Settled() {
		w.fail(OnlyUnpaidIsReleased, "reservation %s is released, and its session %s is paid", now.ID, session.ID)
	}
}

// checkKept holds a reservation whose points are debited, which its customer was told, until
// they give it up or take it into a checkout.
func (w *world) checkKept(s *shop, before, now redemption.Redemption) {
	_, asked := s.book.givenUp[now.ID]
	if before.PointsState == redemption.PointsDebited && before.Live() && before.OrderID == "" && now.State == redemption.Released && !asked {
		w.fail(AnswersAreTrue, "reservation %s was exchanged for points and is in no checkout, and is released", now.ID)
	}
}

// takeOverTime is how long a checkout has to take over what is in a session of before, by
// contract section 5.3 and not by what the service says.
const takeOverTime = 5 * time.Minute

// ended notes the checkout that has ended an open session, to take over what is in it.
func (w *world) ended(s *shop, sessionID string) {
	t := w.active
	if t != nil && !w.arriving && (t.kind == "checkout" || t.kind == "payment link") {
		s.book.endedBy[sessionID] = t
	}
}

// checkLeaving holds a reservation, of whose session the processor has told the end, until
// the checkout that has ended the session has had its time to take the reservation over.
func (w *world) checkLeaving(s *shop, before, now redemption.Redemption) {
	by, leaves := s.book.endedBy[before.SessionID]
	told := w.active != nil && w.active.kind == "deliver"
	if leaves && told && now.State == redemption.Released && before.Live() &&
		slices.Contains(w.tasks, by) && !by.node.stopped && w.now.Before(by.began.Add(takeOverTime)) {
		w.fail(PlacesAreKept, "reservation %s is released by the end of session %s, which %s has ended to take it over",
			now.ID, before.SessionID, by.name)
	}
}

// checkCompleted asks the processor whether what is completed was paid.
func (w *world) checkCompleted(s *shop, before, now redemption.Redemption) {
	if now.State != redemption.Completed || before.State == redemption.Completed {
		return
	}
	if other, twice := s.book.completed[now.SessionID]; twice && other != now.ID {
		w.fail(OneRedemptionForEachSession, "session %s has two redemptions, %s and %s", now.SessionID, other, now.ID)
	}
	s.book.completed[now.SessionID] = now.ID
	session, err := s.fake.Session(background(), now.SessionID)
	if err != nil || session.Status != processor.SessionComplete || !session.PaymentStatus.Settled() {
		w.fail(OnlyPaidCompletes, "redemption %s is completed, and its session %q is %s and %s (%v)",
			now.ID, now.SessionID, session.Status, session.PaymentStatus, err)
	}
}

// checkPoints holds a balance between what is surely debited and what may be.
func (w *world) checkPoints(s *shop, customerID string) {
	a := s.book.account(customerID)
	if !a.credited {
		return
	}
	most := startingPoints - a.debited - a.elsewhere
	if balance := s.ledger.Balance(customerID); balance > most || balance < most-a.pending {
		w.fail(PointsAreBounded, "%s has %d points; %d of %d are debited, %d on their way and %d spent elsewhere",
			customerID, balance, a.debited, int64(startingPoints), a.pending, a.elsewhere)
	}
}

// checkSession compares a session with the order that it is for.
func (w *world) checkSession(s *shop, id string) {
	request, err := s.fake.Request(id)
	if err != nil {
		w.fail(NoSurprise, "session %s: %v", id, err)
		return
	}
	order, err := s.eyes.Order(background(), request.Metadata[processor.MetadataOrderID])
	if err != nil {
		w.fail(SessionsChargeQuotes, "session %s has no order (%v)", id, err)
		return
	}
	sum := make(map[string]int64)
	for _, l := range request.Lines {
		sum[l.LineID] += l.Quantity * l.UnitAmount
	}
	firstPeriod := int64(0)
	for _, l := range order.Quote.Lines {
		if sum[l.ID] == l.Subtotal && l.Recurs != 0 {
			firstPeriod += l.Discount
			sum[l.ID] = l.Total
		}
		if sum[l.ID] != l.Total {
			w.fail(SessionsChargeQuotes, "session %s charges %d for line %s of order %s, which costs %d", id, sum[l.ID], l.ID, order.ID, l.Total)
		}
		delete(sum, l.ID)
	}
	if request.Total != order.Quote.Total || request.Currency != order.Quote.Currency || request.FirstPeriodDiscount != firstPeriod || len(sum) > 0 {
		w.fail(SessionsChargeQuotes, "session %s charges %d, %d off the first period, for order %s; it costs %d, %d off",
			id, request.Total, request.FirstPeriodDiscount, order.ID, order.Quote.Total, firstPeriod)
	}
}
