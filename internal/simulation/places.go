package simulation

import (
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
)

// payable returns the sessions of an order that the customer can pay, or has completed without a
// failure. A session counts from its creation, even if the order does not have it yet.
func (w *world) payable(s *shop, orderID string) (ids []string) {
	for _, id := range s.book.madeFor[orderID] {
		session, err := s.fake.Session(background(), id)
		if err == nil && session.Status != processor.SessionExpired && !session.PaymentFailed && !s.contradicted[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// checkPlaces checks the sessions of changed orders, and of orders that got a session. An order and the
// orders that replace it share one purchase. At most one session of a purchase can be paid. No session
// can be paid for an order that holds no claims.
func (w *world) checkPlaces(s *shop, t touched, c *change) {
	var ids []string
	for _, o := range c.orders {
		ids = append(ids, o.now.ID)
	}
	for _, id := range t.sessions {
		if r, err := s.fake.Request(id); err == nil {
			ids = append(ids, r.OrderID)
		}
	}
	for _, id := range unique(ids) {
		w.checkPlace(s, s.book.orders[id])
	}
}

func (w *world) checkPlace(s *shop, o redemption.Order) {
	last := o
	for last.ReplacedBy != "" && last.State == redemption.OrderCancelled {
		last = s.book.orders[last.ReplacedBy]
	}
	var sessions, orders []string
	for older, more := last, true; more; older, more = s.book.orders[older.Replaces], older.Replaces != "" {
		if slices.ContainsFunc(s.book.madeFor[older.ID], func(id string) bool { return s.contradicted[id] }) {
			return // a processor that reports paid sessions as ended allows two payable sessions
		}
		sessions, orders = append(sessions, w.payable(s, older.ID)...), append(orders, older.ID)
	}
	w.must(OneSessionIsOpen, len(sessions) <= 1, "the sessions %v can be paid or are paid for the place of the orders %v", sessions, orders)
	if last.State == redemption.OrderCancelled {
		w.must(OneSessionIsOpen, !slices.ContainsFunc(orders, func(id string) bool {
			return s.book.orders[id].State == redemption.OrderCancelled && len(w.payable(s, id)) > 0
		}), "the sessions %v can be paid or are paid, and the last of the orders %v holds no place", sessions, orders)
	}
}

// checkAwaits checks that the payment of a new order waits for every older session that may be payable.
func (w *world) checkAwaits(s *shop, o redemption.Order) {
	older := s.book.orders[o.Replaces]
	want := older.Awaits
	if !older.BegunAt.IsZero() {
		want = older.ID
	}
	w.must(HandOverIsWhole, o.Awaits == want && (want == "" || o.BegunAt.IsZero()), "order %s replaces %q and waits for %q, want %q; begun at %v",
		o.ID, o.Replaces, o.Awaits, want, o.BegunAt)
	w.when(want != "", "order", "new", "waits for the end of a payment")
	awaited := s.book.orders[want]
	over := awaited.BegunAt.IsZero()
	w.must(HandOverIsWhole, over || w.keepsPlaces(s, awaited, o), "order %s does not keep what order %s holds, whose payment has not ended: %v", o.ID, want, o.Claims)
	w.must(HandOverIsWhole, !over || o.Kept == 0, "order %s keeps %d claims, although the payment of order %q has ended", o.ID, o.Kept, want)
}

// keepsPlaces reports whether a new order, with its uses, holds as much of every limit as an order that can be paid.
func (w *world) keepsPlaces(s *shop, older, newer redemption.Order) bool {
	has := map[string]int64{}
	add := func(claims []eligibility.Claim, sign int64, limited bool) {
		for _, c := range claims {
			if c.Limit > 0 || !limited {
				has[c.Counter] += sign * c.Amount
			}
		}
	}
	add(newer.Claims, +1, false)
	for _, id := range s.book.usesOf[newer.ID] {
		add(s.book.uses[id].Claims, +1, false)
	}
	add(older.Claims, -1, true)
	for _, id := range s.book.usesOf[older.ID] {
		add(s.book.uses[id].Claims, -1, true)
	}
	for _, more := range has {
		if more < 0 {
			return false
		}
	}
	return true
}

// checkPaymentOf checks the payment state of an order against the processor.
func (w *world) checkPaymentOf(s *shop, before, now redemption.Order, resumed bool) {
	b := &s.book
	if over := !before.BegunAt.IsZero() && now.BegunAt.IsZero(); over && !now.State.Paid() {
		b.since[now.ID] = now.Version
		w.when(now.ReplacedBy != "", "order", "replaced", "the end of its payment is recorded")
	}
	w.must(StatesMoveForward, now.BegunAt.IsZero() || !now.BegunAt.Before(before.BegunAt), "the payment of order %s was begun at %v, and is at %v", now.ID, before.BegunAt, now.BegunAt)
	if before.ReplacedBy != now.ReplacedBy || now.Asks > before.Asks {
		b.since[now.ID] = now.Version
		w.when(now.Asks > before.Asks, "order", "replaced", "its payment is to be asked for")
	}
	if resumed {
		w.must(AnswersAreFresh, b.pending[now.ID] >= b.since[now.ID], "order %s has its claims back; its payment was on its way at version %d, and had to be asked for at %d",
			now.ID, b.pending[now.ID], b.since[now.ID])
	}
}

// checkPaymentEnd checks an order that says that its payment has ended.
func (w *world) checkPaymentEnd(s *shop, before, now redemption.Order) {
	if before.BegunAt.IsZero() || !now.BegunAt.IsZero() || now.State.Paid() {
		return
	}
	ids := w.payable(s, now.ID)
	w.must(EndsAreTrue, len(ids) == 0, "the end of the payment of order %s is recorded, and its sessions %v can be paid or are paid", now.ID, ids)
}

// notePending notes an answer of the processor that a payment is on its way.
func (s *shop) notePending(session processor.Session, err error) (processor.Session, error) {
	r, missing := s.fake.Request(session.ID)
	if err == nil && missing == nil && session.Status == processor.SessionComplete && !session.PaymentStatus.Settled() && !session.PaymentFailed {
		s.book.pending[r.OrderID] = s.book.orders[r.OrderID].Version
	}
	return session, err
}
