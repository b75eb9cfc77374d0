package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Settle applies what the processor says of a session; see store.Redemptions.
func (s *Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if err := s.enter(ctx); err != nil {
		return store.Settled{}, err
	}
	if !t.Event.OfSession() {
		return store.Settled{}, &redemption.TransitionError{ID: t.ReservationID, Kind: t.Event.Kind, Cause: redemption.ErrIllegal}
	}
	t.Event = storedEvent(t.Event)
	if err := t.Event.Validate(); err != nil {
		return store.Settled{}, err
	}
	if t.Event.Kind == redemption.SessionCompleted && t.CouponID != "" { // it may use NewID as the customer's key
		customer, _ := s.customers.of(t.CustomerID)
		customer.Lock()
		defer customer.Unlock()
	}
	for {
		settled, moved, err := s.settle(t)
		if !moved {
			return settled, err
		}
	}
}

// settle applies the event, unless its session has become that of a redemption in another
// book since the books were looked up: then it has moved, and nothing is changed.
func (s *Store) settle(t store.Settlement) (settled store.Settled, moved bool, err error) {
	books := s.concerned(t)
	for _, b := range books {
		b.mu.Lock()
		defer b.mu.Unlock()
	}
	b, before := s.record(books, t)
	after := before
	if b != nil {
		after, err = b.settled(before, t.Event)
	} else if t.Event.Kind == redemption.SessionCompleted && t.CouponID != "" {
		b = s.book(t.CouponID)
		after, err = s.payment(b, t)
	}
	if err != nil {
		return store.Settled{}, false, err
	}
	in, orderID := orderConcerned(books, t.Event)
	if in != nil {
		if err := in.keeps(orderID, t.Event); err != nil {
			return store.Settled{}, false, err
		}
	}
	if s.claimSession(before, after) != nil {
		if before.ID == "" {
			s.redemptions.remove(after.ID)
		}
		return store.Settled{}, true, nil
	}
	if settled.Redemption, settled.Changed = after, after != before; settled.Changed {
		s.put(b, after)
	}
	if before.ID == "" && after.ID != "" {
		s.keyed.add(keyOf(after.CustomerID, after.Key), use{book: b, reservationID: after.ID, ofRecord: true})
	}
	if in != nil {
		order, changed := s.advance(in, orderID, t.Event)
		settled.Order, settled.Changed = order, settled.Changed || changed
	}
	return settled, false, nil
}

// keeps refuses an event that brings an order a session that it cannot keep.
func (b *book) keeps(orderID string, e redemption.Event) error {
	before := b.orders[orderID]
	if after := before.After(e); after.SessionID != before.SessionID {
		return after.Validate()
	}
	return nil
}

// concerned returns the books that a settlement may be about, in the order in which
// they are locked: nearly always one.
func (s *Store) concerned(t store.Settlement) []*book {
	books := make([]*book, 0, 5)
	owner, _ := s.sessions.get(t.Event.SessionID)
	for _, place := range [...]struct {
		in  *index[*book]
		key string
	}{
		{&s.redemptions, owner},
		{&s.redemptions, t.ReservationID},
		{&s.orders, t.Event.OrderID},
	} {
		if b, known := place.in.get(place.key); known {
			books = append(books, b)
		}
	}
	having, _ := s.orderSessions.get(t.Event.SessionID)
	books = append(books, having...)
	if t.Event.Kind == redemption.SessionCompleted && t.CouponID != "" {
		books = append(books, s.anyBook(t.CouponID))
	}
	slices.SortFunc(books, func(a, b *book) int { return cmp.Compare(a.number, b.number) })
	return slices.Compact(books)
}

// record finds the redemption that a settlement is about: the session's, or the
// named one if it is free for this session. A reservation without a session belongs
// to the order that it names, and to no other order's late session. When the order
// alone is named, its session never came to be, and it names its reservation.
func (s *Store) record(books []*book, t store.Settlement) (*book, redemption.Redemption) {
	owner, _ := s.sessions.get(t.Event.SessionID)
	for _, b := range books {
		if r, known := b.records[owner]; known {
			return b, r
		}
	}
	for _, b := range books {
		id := t.ReservationID
		if id == "" && t.Event.SessionID == "" {
			id = b.orders[t.Event.OrderID].ReservationID
		}
		r, known := b.records[id]
		if known && r.SessionID == "" && r.OrderID == t.Event.OrderID {
			return b, r
		}
	}
	return nil, redemption.Redemption{}
}

// settled is the record after an event of its session.
func (b *book) settled(before redemption.Redemption, e redemption.Event) (redemption.Redemption, error) {
	e.NoPlaceLeft = before.State == redemption.Released && b.limits(before.CustomerID) != nil
	after, err := redemption.Apply(before, e)
	if err != nil {
		return redemption.Redemption{}, err
	}
	return after, after.Validate() // an event can bring text that cannot be kept
}

// payment is the record of a payment for which there is no redemption.
func (s *Store) payment(b *book, t store.Settlement) (redemption.Redemption, error) {
	r := redemption.Redemption{
		ID: t.NewID, Key: t.NewID, CouponID: t.CouponID, CustomerID: t.CustomerID,
		State: redemption.Completed, Origin: redemption.FromPayment,
		OrderID: t.Event.OrderID, SessionID: t.Event.SessionID, OverLimit: b.limits(t.CustomerID) != nil,
		CreatedAt: t.Event.At, UpdatedAt: t.Event.At, CompletedAt: t.Event.At,
	}
	if err := r.Validate(); err != nil {
		return redemption.Redemption{}, err
	}
	if used, known := s.keyed.get(keyOf(r.CustomerID, r.Key)); known && used.ofRecord {
		return redemption.Redemption{}, fmt.Errorf("key %s of customer %s was used: %w", r.Key, r.CustomerID, store.ErrConflict)
	}
	if !s.redemptions.add(r.ID, b) {
		return redemption.Redemption{}, fmt.Errorf("redemption %s exists already: %w", r.ID, store.ErrConflict)
	}
	return r, nil
}

// orderConcerned finds the order that an event of a session is about: the one that
// it names, or of those that have the session the one that was changed last.
func orderConcerned(books []*book, e redemption.Event) (*book, string) {
	for _, b := range books {
		if _, known := b.orders[e.OrderID]; known {
			return b, e.OrderID
		}
	}
	var in *book
	var last store.Order
	for _, b := range books {
		for _, id := range b.orderSessions[e.SessionID] {
			if o := b.orders[id]; in == nil || changedLater(o, last) {
				in, last = b, o
			}
		}
	}
	return in, last.ID
}

// changedLater reports whether o was changed after p; of two that were changed at one
// instant, whether it is the newer one.
func changedLater(o, p store.Order) bool {
	if c := o.UpdatedAt.Compare(p.UpdatedAt); c != 0 {
		return c > 0
	}
	return inOrder(o.CreatedAt, o.ID, p.CreatedAt, p.ID) > 0
}
