package memstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Reserve keeps a place; see store.Redemptions.
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := s.enter(ctx); err != nil {
		return store.Reserved{}, err
	}
	if err := validate(r); err != nil {
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
	reserved := store.Reserved{Redemption: record}
	if r.Order != nil {
		if _, known := s.orders.get(r.Order.ID); known {
			return store.Reserved{}, fmt.Errorf("order %s exists already: %w", r.Order.ID, store.ErrConflict)
		}
		s.putOrder(b, *r.Order)
		reserved.Order = r.Order.Clone()
	}
	s.put(b, record)
	s.keyed.put(keyOf(record.CustomerID, record.Key), use{book: b, orderID: record.OrderID, reservationID: record.ID})
	return reserved, nil
}

// validate checks a request before anything is locked.
func validate(r store.Reservation) error {
	if err := r.Redemption.Validate(); err != nil {
		return err
	}
	if r.Order != nil {
		return r.Order.Validate()
	}
	return nil
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
	if asked != nil && !order.IsZero() {
		same = same && order.Fingerprint == asked.Fingerprint
	}
	if !same {
		return store.Reserved{}, store.ErrKeyReused
	}
	return store.Reserved{Redemption: record, Order: order.Clone(), Replayed: true}, nil
}

// put stores a record of the book and makes it known.
func (s *Store) put(b *book, r redemption.Redemption) {
	b.put(r)
	s.redemptions.put(r.ID, b)
	if r.SessionID != "" {
		s.sessions.put(r.SessionID, b)
	}
}

// putOrder stores an order of the book and makes it known.
func (s *Store) putOrder(b *book, o store.Order) {
	b.putOrder(o)
	s.orders.put(o.ID, b)
	if o.SessionID != "" {
		s.sessions.put(o.SessionID, b)
	}
}

// TakeOver gives a reservation to another order; see store.Redemptions.
func (s *Store) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	if err := s.enter(ctx); err != nil {
		return store.Reserved{}, err
	}
	if err := t.Order.Validate(); err != nil {
		return store.Reserved{}, err
	}
	customer, _ := s.customers.of(t.Order.CustomerID)
	customer.Lock()
	defer customer.Unlock()
	if before, used := s.keyed.get(keyOf(t.Order.CustomerID, t.Order.Key)); used {
		return before.replay(t.Order.CouponID, &t.Order)
	}
	b, known := s.redemptions.get(t.ReservationID)
	if !known {
		return store.Reserved{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	record := b.records[t.ReservationID]
	if err := b.open(record.CouponID, t.CouponRevision); err != nil {
		return store.Reserved{}, err
	}
	if record.CustomerID != t.Order.CustomerID {
		return store.Reserved{}, store.ErrNotFound
	}
	e := redemption.Event{
		Kind: redemption.TakenOver, At: t.At, SessionID: t.FromSessionID, OrderID: t.Order.ID, Deadline: t.Deadline,
	}
	taken, err := redemption.Apply(record, e)
	if err != nil {
		return store.Reserved{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
	}
	b.advance(record.OrderID, e)
	s.put(b, taken)
	s.putOrder(b, t.Order)
	s.keyed.put(keyOf(t.Order.CustomerID, t.Order.Key), use{book: b, orderID: t.Order.ID, reservationID: taken.ID})
	return store.Reserved{Redemption: taken, Order: t.Order.Clone()}, nil
}

// Settle applies what the processor says of a session; see store.Redemptions.
func (s *Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if err := s.enter(ctx); err != nil {
		return store.Settled{}, err
	}
	b := s.concerned(t)
	if b == nil {
		return store.Settled{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var settled store.Settled
	if record, found := b.concerned(t); found {
		e := t.Event
		e.NoPlaceLeft = record.State == redemption.Released && b.limits(record.CustomerID) != nil
		after, err := redemption.Apply(record, e)
		if err != nil {
			return store.Settled{}, err
		}
		settled.Redemption, settled.Changed = after, after != record
	} else if payment, due := b.unreserved(t); due {
		if err := payment.Validate(); err != nil {
			return store.Settled{}, err
		}
		settled.Redemption, settled.Changed = payment, true
	}
	if settled.Changed {
		s.put(b, settled.Redemption)
	}
	order, changed := b.advance(b.orderOf(t.Event), t.Event)
	if changed && order.SessionID != "" {
		s.sessions.put(order.SessionID, b)
	}
	settled.Order, settled.Changed = order, settled.Changed || changed
	return settled, nil
}

// concerned finds the book that a settlement is about.
func (s *Store) concerned(t store.Settlement) *book {
	if t.Event.SessionID != "" {
		if b, known := s.sessions.get(t.Event.SessionID); known {
			return b
		}
	}
	if b, known := s.redemptions.get(t.ReservationID); known {
		return b
	}
	if b, known := s.orders.get(t.Event.OrderID); known {
		return b
	}
	if t.Event.Kind == redemption.SessionCompleted && t.CouponID != "" {
		return s.anyBook(t.CouponID)
	}
	return nil
}

// concerned finds the redemption that a settlement is about: the session's, or the
// named one if it is free for this session. A reservation without a session belongs
// to the order that it names, and to no other order's late session.
func (b *book) concerned(t store.Settlement) (redemption.Redemption, bool) {
	if t.Event.SessionID != "" {
		if id, known := b.sessions[t.Event.SessionID]; known {
			return b.records[id], true
		}
	}
	r, known := b.records[t.ReservationID]
	free := known && r.SessionID == "" && r.OrderID == t.Event.OrderID
	return r, free
}

// unreserved is the record of a payment for which there is no redemption.
func (b *book) unreserved(t store.Settlement) (redemption.Redemption, bool) {
	if t.Event.Kind != redemption.SessionCompleted || t.Event.SessionID == "" || t.CouponID == "" {
		return redemption.Redemption{}, false
	}
	return redemption.Redemption{
		ID: t.NewID, Key: t.NewID, CouponID: t.CouponID, CustomerID: t.CustomerID,
		State: redemption.Completed, Origin: redemption.FromPayment,
		OrderID: t.Event.OrderID, SessionID: t.Event.SessionID, OverLimit: b.limits(t.CustomerID) != nil,
		CreatedAt: t.Event.At, UpdatedAt: t.Event.At, CompletedAt: t.Event.At,
	}, true
}

// orderOf returns the order that an event of a session is about.
func (b *book) orderOf(e redemption.Event) string {
	if _, known := b.orders[e.OrderID]; known {
		return e.OrderID
	}
	return b.paidBy[e.SessionID]
}

// Transition applies an event to one redemption; see store.Redemptions.
func (s *Store) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	if err := s.enter(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	b, known := s.redemptions.get(id)
	if !known {
		return redemption.Redemption{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.records[id]
	after, err := redemption.Apply(before, e)
	if err != nil {
		return redemption.Redemption{}, err
	}
	s.put(b, after)
	if before.State != redemption.Released && after.State == redemption.Released {
		b.advance(before.OrderID, e)
	}
	return after, nil
}

// AttachSession joins a session to an order; see store.Orders.
func (s *Store) AttachSession(ctx context.Context, a store.Attachment) (store.Order, error) {
	if err := s.enter(ctx); err != nil {
		return store.Order{}, err
	}
	b, known := s.orders.get(a.OrderID)
	if !known {
		return store.Order{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	attached, err := b.orders[a.OrderID].Attach(a)
	if err != nil {
		return store.Order{}, err
	}
	if err := attached.Validate(); err != nil {
		return store.Order{}, err
	}
	if record, reserved := b.records[attached.ReservationID]; reserved {
		after, err := redemption.Apply(record, redemption.Event{
			Kind: redemption.SessionAttached, At: a.At, SessionID: a.SessionID, OrderID: a.OrderID, Deadline: a.Deadline,
		})
		if errors.Is(err, redemption.ErrIllegal) {
			return store.Order{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
		}
		s.put(b, after)
	}
	s.putOrder(b, attached)
	return attached.Clone(), nil
}
