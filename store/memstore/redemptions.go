package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Reserve keeps a place; see store.Redemptions.
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := s.enter(ctx); err != nil {
		return store.Reserved{}, err
	}
	r.Redemption = storedRedemption(r.Redemption)
	if err := r.Validate(); err != nil {
		return store.Reserved{}, err
	}
	record := r.Redemption
	customer, _ := s.customers.of(record.CustomerID)
	customer.Lock()
	defer customer.Unlock()
	if before, used := s.keyed.get(keyOf(record.CustomerID, record.Key)); used {
		return before.replay(record.CouponID, r.Order)
	}
	b := s.book(record.CouponID)
	if b == nil {
		return store.Reserved{}, notFound(record.CouponID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(record.CouponID, r.CouponRevision); err != nil {
		return store.Reserved{}, err
	}
	if held, holds := b.exchanged(record); holds {
		return store.Reserved{Redemption: held, Replayed: true}, nil
	}
	if _, known := s.redemptions.get(record.ID); known {
		return store.Reserved{}, fmt.Errorf("redemption %s exists already: %w", record.ID, store.ErrConflict)
	}
	if err := b.limits(record.CustomerID); err != nil {
		return store.Reserved{}, err
	}
	if err := s.claim(b, record, r.Order); err != nil {
		return store.Reserved{}, err
	}
	reserved := store.Reserved{Redemption: record}
	if r.Order != nil {
		reserved.Order = storedOrder(r.Order.Clone())
		s.putOrder(b, reserved.Order)
	}
	s.put(b, record)
	s.keyed.put(keyOf(record.CustomerID, record.Key), use{book: b, orderID: record.OrderID, reservationID: record.ID, ofRecord: true})
	return reserved, nil
}

// claim takes the IDs of a new record and its order, if it has one, and a session that it
// brings: all or none, whoever else asks for them in another book.
func (s *Store) claim(b *book, r redemption.Redemption, o *store.Order) error {
	if !s.redemptions.add(r.ID, b) {
		return fmt.Errorf("redemption %s exists already: %w", r.ID, store.ErrConflict)
	}
	if o != nil && !s.orders.add(o.ID, b) {
		s.redemptions.remove(r.ID)
		return fmt.Errorf("order %s exists already: %w", o.ID, store.ErrConflict)
	}
	err := s.claimSession(redemption.Redemption{}, r)
	if err != nil {
		s.redemptions.remove(r.ID)
		if o != nil {
			s.orders.remove(o.ID)
		}
	}
	return err
}

// open reports whether the coupon can be reserved at the revision.
func (b *book) open(couponID string, revision int64) error {
	switch {
	case !b.exists:
		return notFound(couponID)
	case !b.coupon.Active():
		return coupon.Reject(couponID, coupon.CouponInactive, coupon.Params{})
	case revision != 0 && revision != b.coupon.Revision:
		return store.ErrStaleRevision
	}
	return nil
}

// exchanged returns the reservation by points that the customer holds and has not
// yet taken into a checkout, if another such is asked for.
func (b *book) exchanged(asked redemption.Redemption) (redemption.Redemption, bool) {
	if asked.Origin != redemption.FromPoints {
		return redemption.Redemption{}, false
	}
	for _, held := range b.held(asked.CustomerID) {
		if held.Origin == redemption.FromPoints && held.OrderID == "" {
			return held, true
		}
	}
	return redemption.Redemption{}, false
}

// replay returns the first result of a key, if it was the same request.
func (u use) replay(couponID string, asked *store.Order) (store.Reserved, error) {
	u.book.mu.Lock()
	defer u.book.mu.Unlock()
	order := u.book.orders[u.orderID]
	record := u.book.records[u.reservationID]
	same := record.CouponID == couponID && (asked == nil) == order.IsZero()
	if asked == nil { // a payment, which has no order either, is no exchange of points
		same = same && record.Origin == redemption.FromPoints
	}
	if asked != nil && !order.IsZero() {
		same = same && order.Fingerprint == asked.Fingerprint
	}
	if !same {
		return store.Reserved{}, store.ErrKeyReused
	}
	return store.Reserved{Redemption: record, Order: order.Clone(), Replayed: true}, nil
}

// put stores a record of the book, which has claimed its ID and session. The session that
// it has left is nobody's: what comes of that is no longer about this record.
func (s *Store) put(b *book, r redemption.Redemption) {
	if left := b.records[r.ID].SessionID; left != "" && left != r.SessionID {
		s.sessions.remove(left)
	}
	b.put(r)
}

// claimSession takes the session that a record comes to have, unless another redemption
// has it.
func (s *Store) claimSession(before, after redemption.Redemption) error {
	if after.SessionID == "" || after.SessionID == before.SessionID || s.sessions.add(after.SessionID, after.ID) {
		return nil
	}
	return store.SessionTaken(after.SessionID)
}

// putOrder stores an order of the book, which has claimed its ID, and makes its session
// known.
func (s *Store) putOrder(b *book, o store.Order) {
	if b.putOrder(o) {
		s.orderSessions.change(o.SessionID, func(in []*book) []*book { return append(slices.Clip(in), b) })
	}
}

// TakeOver gives a reservation to another order; see store.Redemptions.
func (s *Store) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	if err := s.enter(ctx); err != nil {
		return store.Reserved{}, err
	}
	t.Order, t.At = storedOrder(t.Order.Clone()), coupon.Instant(t.At)
	if err := t.Validate(); err != nil {
		return store.Reserved{}, err
	}
	order := t.Order
	customer, _ := s.customers.of(order.CustomerID)
	customer.Lock()
	defer customer.Unlock()
	if before, used := s.keyed.get(keyOf(order.CustomerID, order.Key)); used {
		return before.replay(order.CouponID, &order)
	}
	b, known := s.redemptions.get(t.ReservationID)
	if !known {
		return store.Reserved{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	record := b.records[t.ReservationID]
	if record.CustomerID != order.CustomerID || record.CouponID != order.CouponID || record.ID != order.ReservationID {
		return store.Reserved{}, store.ErrNotFound
	}
	if err := b.open(record.CouponID, t.CouponRevision); err != nil {
		return store.Reserved{}, err
	}
	e := storedEvent(redemption.Event{
		Kind: redemption.TakenOver, At: t.At, SessionID: t.FromSessionID, OrderID: order.ID, Deadline: t.Deadline,
	})
	taken, err := redemption.Apply(record, e)
	if err != nil {
		return store.Reserved{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
	}
	if !s.orders.add(order.ID, b) {
		return store.Reserved{}, fmt.Errorf("order %s exists already: %w", order.ID, store.ErrConflict)
	}
	s.advance(b, record.OrderID, e)
	s.put(b, taken)
	s.putOrder(b, order)
	s.keyed.put(keyOf(order.CustomerID, order.Key), use{book: b, orderID: order.ID, reservationID: taken.ID})
	return store.Reserved{Redemption: taken, Order: order}, nil
}

// advance applies an event to an order of the book, if it has that, and reports
// whether it changed.
func (s *Store) advance(b *book, orderID string, e redemption.Event) (store.Order, bool) {
	order, changed := b.advanced(orderID, e)
	if changed {
		s.putOrder(b, order)
	}
	return order, changed
}

// Transition applies an event to one redemption; see store.Redemptions.
func (s *Store) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	if err := s.enter(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	if e.OfSession() {
		return redemption.Redemption{}, &redemption.TransitionError{ID: id, Kind: e.Kind, Cause: redemption.ErrIllegal}
	}
	e = storedEvent(e)
	if err := e.Validate(); err != nil {
		return redemption.Redemption{}, err
	}
	b, known := s.redemptions.get(id)
	if !known {
		return redemption.Redemption{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known := b.records[id]
	if !known {
		return redemption.Redemption{}, store.ErrNotFound
	}
	after, err := redemption.Apply(before, e)
	if err != nil {
		return redemption.Redemption{}, err
	}
	if err := after.Validate(); err != nil { // an event can bring text that cannot be kept
		return redemption.Redemption{}, err
	}
	if err := s.claimSession(before, after); err != nil {
		return redemption.Redemption{}, err
	}
	s.put(b, after)
	if before.State != redemption.Released && after.State == redemption.Released {
		s.advance(b, before.OrderID, e)
	}
	return after, nil
}
