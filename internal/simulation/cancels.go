package simulation

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// about draws an order, mostly a recent order, and a request for it. The request comes from its
// customer, from an administrator or, now and then, from another customer.
func (w *world) about(s *shop) (o redemption.Order, r couponkit.OrderRequest, theirs bool) {
	if len(s.book.placed) == 0 {
		return o, r, false
	}
	o = s.book.orders[recent(w, s.book.placed, 5, 6)]
	r = couponkit.OrderRequest{OrderID: o.ID, CustomerID: o.CustomerID}
	switch w.random.IntN(12) {
	case 0:
		r = couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true}
	case 1, 2:
		r = couponkit.OrderRequest{Key: o.Key, CustomerID: o.CustomerID}
	case 3: // another customer guesses an ID, because IDs are not secret
		r.CustomerID = w.customer(s).ID
	}
	return o, r, r.AnyCustomer || r.CustomerID == o.CustomerID
}

// asker names the person who sends a request about an order.
func asker(r couponkit.OrderRequest) string {
	if r.AnyCustomer {
		return "an administrator"
	}
	return r.CustomerID
}

// cancelCheckout cancels an order, before its payment or too late.
func (w *world) cancelCheckout() bool {
	s := w.shop()
	o, r, theirs := w.about(s)
	if o.IsZero() {
		return false
	}
	s.book.unwanted[o.ID] = s.book.unwanted[o.ID] || theirs
	for range 1 + w.random.IntN(2) { // perhaps a double click
		w.begin(s, "cancel checkout", asker(r)+" cancels order "+o.ID, func(ctx context.Context, t *task) error {
			got, err := t.service.CancelCheckout(ctx, r)
			if errors.Is(err, couponkit.ErrOrderPaid) && !t.node.stopped {
				w.tooLate(s, o.ID)
			}
			t.then = func() { w.cancelled(s, o.ID, theirs, got) }
			return err
		})
	}
	return true
}

// stored reads an order and its payment session.
func (w *world) stored(s *shop, id string) (store.Settled, processor.Session) {
	settled, err := s.eyes.Order(background(), store.OrderKey{ID: id})
	w.must(RecordsStay, err == nil, "order %s is gone (%v)", id, err)
	session, _ := s.fake.Session(background(), settled.Order.SessionID) // the order may have no session
	return settled, session
}

// cancelled checks an order after an answer that it is cancelled. It cannot be paid, and its uses are
// free. A payment in a session that the shop does not know may have come since.
func (w *world) cancelled(s *shop, id string, theirs bool, got couponkit.Outcome) {
	now, session := w.stored(s, id)
	w.must(OrdersAreTheirs, theirs && got.Order.ID == id, "somebody who asked about order %s has cancelled order %s", id, got.Order.ID)
	if got.Order.State == redemption.OrderEnding { // another call may be creating its session
		w.must(CancelledIsOver, now.Order.State != redemption.OrderOpen, "order %s was cancelled, the answer is ending, and it is open", id)
		w.coverage.count("order", "ending", "as somebody wished")
		return
	}
	ended := now.Order.State == redemption.OrderCancelled && session.Status != processor.SessionOpen
	w.must(CancelledIsOver, got.Order.State == redemption.OrderCancelled && (ended || session.Status == processor.SessionComplete),
		"order %s was cancelled, the answer is %s, it is %s, and its session %q is %s", id, got.Order.State, now.Order.State, session.ID, session.Status)
	for _, u := range now.Uses {
		w.must(CancelledIsOver, !ended || u.State == redemption.Released, "order %s was cancelled, and its use %s is %s", id, u.ID, u.State)
	}
	w.when(got.Changed, "order", "cancelled", "as somebody wished")
}

// tooLate checks an order after an answer that its session is finished.
func (w *world) tooLate(s *shop, id string) {
	now, session := w.stored(s, id)
	finished := session.Status == processor.SessionComplete
	for _, made := range s.book.madeFor[id] { // the order may not have its session yet
		session, _ := s.fake.Session(background(), made)
		finished = finished || session.Status == processor.SessionComplete
	}
	w.must(PaymentsWin, finished, "order %s is not cancelled because it is paid, and its session %q is %s", id, session.ID, session.Status)
	w.coverage.count("order", "not cancelled", now.Order.State.String())
}

// refresh plays a customer who returns from the payment page, before or after the event.
func (w *world) refresh() bool {
	s := w.shop()
	o, r, theirs := w.about(s)
	if o.IsZero() {
		return false
	}
	return w.begin(s, "refresh", asker(r)+" refreshes order "+o.ID, func(ctx context.Context, t *task) error {
		before, session := w.stored(s, o.ID)
		var reported processor.PaymentRefunds
		if before.Order.State.Paid() {
			reported = w.reported(s, session.ID)
		}
		got, err := t.service.Refresh(ctx, r)
		t.then = func() {
			w.must(OrdersAreTheirs, theirs && got.Order.ID == o.ID, "somebody who asked about order %s got order %s", o.ID, got.Order.ID)
			w.refreshed(s, before.Order, session)
			w.learned(s, RefreshedAgrees, reported)
		}
		return err
	})
}

// refreshed compares an order with the session at the start of the call. The order may have changed
// since. An order that ended unpaid is skipped.
func (w *world) refreshed(s *shop, before redemption.Order, session processor.Session) {
	settled, _ := w.stored(s, before.ID)
	now := settled.Order.State
	asked := before.State != redemption.OrderCancelled || len(before.Due()) > 0
	if !asked || session.ID == "" || s.contradicted[session.ID] {
		return
	}
	agrees := true
	switch {
	case session.Status == processor.SessionExpired, session.PaymentFailed:
		agrees = now.Ended()
	case session.Status == processor.SessionComplete && session.PaymentStatus.Settled():
		agrees = now.Paid()
	case session.Status == processor.SessionComplete:
		agrees = now != redemption.OrderOpen
	}
	w.must(RefreshedAgrees, agrees, "order %s was %s and was refreshed to %s, and its session %s was %s and %s before",
		before.ID, before.State, now, session.ID, session.Status, session.PaymentStatus)
	w.when(now != before.State, "order", before.State.String(), "refreshed to "+now.String())
}
