package sqlstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

const (
	// The completed redemption of a session comes first.
	redemptionBySession = `SELECT ` + redemptionColumns + ` FROM {coupon_redemptions} r
	WHERE r.session_id = ? AND r.session_id <> '' ORDER BY CASE r.state WHEN 'completed' THEN 0 ELSE 1 END, r.created_at LIMIT 1`
	// Of several the one that was changed last.
	orderBySession = `SELECT ` + orderColumns + ` FROM {orders} o
	WHERE o.session_id = ? AND o.session_id <> '' ORDER BY o.updated_at DESC, o.created_at DESC, o.id DESC LIMIT 1`
	// What a settlement is usually about: the redemption and the order that it names,
	// when no other redemption has the session.
	namedTogether = `SELECT ` + redemptionColumns + `, ` + orderColumns + ` FROM {coupon_redemptions} r JOIN {orders} o ON o.id = ?
	WHERE r.id = ? AND NOT EXISTS (SELECT 1 FROM {coupon_redemptions} x
		WHERE x.session_id = ? AND x.session_id <> '' AND x.id <> r.id)`
)

// Settle implements [store.Redemptions].
func (s *Store) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if err := s.ready(ctx); err != nil {
		return store.Settled{}, err
	}
	if !t.Event.OfSession() {
		return store.Settled{}, &redemption.TransitionError{ID: t.ReservationID, Kind: t.Event.Kind, Cause: redemption.ErrIllegal}
	}
	t.Event = eventAtMicrosecond(t.Event)
	if err := t.Event.Validate(); err != nil {
		return store.Settled{}, err
	}
	var settled store.Settled
	var order storedOrder
	of := wish{settled: func(to store.Settled, o storedOrder) { settled, order = to, o }}
	if t.Event.Kind == redemption.SessionCompleted && findable(t.ReservationID) && findable(t.Event.OrderID) && findable(t.Event.SessionID) {
		of.settle = &t
	}
	err := s.changeFor(ctx, "settle", of, func(ctx context.Context, x *tx) error {
		var err error
		settled, order, err = x.settle(ctx, t)
		return err
	})
	if err != nil {
		return store.Settled{}, err
	}
	settled.Order, err = s.whole(order)
	return settled, err
}

func (t *tx) settle(ctx context.Context, s store.Settlement) (settled store.Settled, order storedOrder, err error) {
	if s.ReservationID == "" && s.Event.SessionID == "" && findable(s.Event.OrderID) {
		alone, err := t.orderSeen(ctx, orderByID, s.Event.OrderID)
		if err != nil {
			return store.Settled{}, storedOrder{}, err
		}
		s.ReservationID = alone.ReservationID
	}
	before, order, err := t.about(ctx, s)
	if err == nil && before.ID == "" {
		before, err = t.concerned(ctx, s)
	}
	if err != nil {
		return store.Settled{}, storedOrder{}, err
	}
	if before.ID != "" {
		settled.Redemption, err = t.settleRecord(ctx, before, s)
	} else {
		settled.Redemption, err = t.unreserved(ctx, s)
	}
	if err != nil {
		return store.Settled{}, storedOrder{}, err
	}
	settled.Changed = settled.Redemption != before
	if order.IsZero() {
		if order, err = t.orderConcerned(ctx, s.Event); err != nil || order.IsZero() {
			return settled, order, err
		}
		if settled.Redemption.ID == "" {
			if err := t.stillAlone(ctx, s, order); err != nil {
				return store.Settled{}, storedOrder{}, err
			}
		}
	}
	changed, err := t.advance(ctx, &order, s.Event)
	settled.Changed = settled.Changed || changed
	return settled, order, err
}

// stillAlone looks again for the redemption once the order is locked, which may have waited
// for the order's session to be attached: then the settlement is about both, and begins anew.
func (t *tx) stillAlone(ctx context.Context, s store.Settlement, order storedOrder) error {
	if !t.rowLocks || order.ReservationID == "" {
		return nil
	}
	found, err := t.find(ctx, t.latest, s)
	if err == nil && found.ID != "" {
		err = fmt.Errorf("redemption %s with the session %w", found.ID, errExists)
	}
	return err
}

// about returns the redemption and the order that the settlement names, in one
// statement, if it is about both; otherwise neither. It needs the database to itself.
func (t *tx) about(ctx context.Context, s store.Settlement) (redemption.Redemption, storedOrder, error) {
	if t.rowLocks || !findable(s.ReservationID) || !findable(s.Event.OrderID) {
		return redemption.Redemption{}, storedOrder{}, nil
	}
	var record redemptionRow
	var order orderRow
	err := t.row(ctx, namedTogether, s.Event.OrderID, s.ReservationID, nullable(s.Event.SessionID)).
		Scan(append(record.targets(), order.targets()...)...)
	if err != nil {
		return redemption.Redemption{}, storedOrder{}, missing(err, "read redemption and order")
	}
	r, err := record.redemption()
	if err != nil || !concerns(r, s) {
		return redemption.Redemption{}, storedOrder{}, err
	}
	o, err := order.order()
	return r, o, err
}

// concerned locks the redemption that a settlement is about: the session's, or the
// named one if no other session or order has it. When a payment may need a place
// again, its coupon is locked first.
func (t *tx) concerned(ctx context.Context, s store.Settlement) (redemption.Redemption, error) {
	found, err := t.find(ctx, t.row, s)
	if err != nil {
		return redemption.Redemption{}, err
	}
	if couponID := placeNeeded(found, s); couponID != "" {
		if _, err := t.hold(ctx, couponID); err != nil {
			return redemption.Redemption{}, err
		}
	}
	if !t.rowLocks {
		return found, nil
	}
	locked, err := t.lockConcerned(ctx, found.ID, s)
	if err != nil || found.ID != "" && (!t.joined || locked.SessionID == s.Event.SessionID) {
		return locked, err
	}
	// Somebody may have settled it until the coupon was locked, or what was found is of the
	// older state that the host's transaction reads.
	if found, err = t.find(ctx, t.latestToChange, s); err != nil {
		return redemption.Redemption{}, err
	}
	return t.lockConcerned(ctx, found.ID, s)
}

// lockConcerned locks the redemption that was found, unless another order has it since.
func (t *tx) lockConcerned(ctx context.Context, id string, s store.Settlement) (redemption.Redemption, error) {
	if id == "" {
		return redemption.Redemption{}, nil
	}
	locked, err := t.lockRedemption(ctx, id)
	if err != nil || !concerns(locked, s) {
		return redemption.Redemption{}, err
	}
	return locked, nil
}

// placeNeeded returns the coupon of which a payment may need another place.
func placeNeeded(found redemption.Redemption, s store.Settlement) string {
	switch {
	case s.Event.Kind != redemption.SessionCompleted:
		return ""
	case found.State == redemption.Released:
		return found.CouponID
	case found.ID == "" && findable(s.CouponID):
		return s.CouponID
	}
	return ""
}

// find looks for the redemption.
func (t *tx) find(ctx context.Context, read reading, s store.Settlement) (redemption.Redemption, error) {
	if findable(s.Event.SessionID) {
		r, err := t.redemptionOf(ctx, read, redemptionBySession, s.Event.SessionID)
		if err != nil || r.ID != "" {
			return r, err
		}
	}
	if !findable(s.ReservationID) {
		return redemption.Redemption{}, nil
	}
	r, err := t.redemptionOf(ctx, read, redemptionByID, s.ReservationID)
	if err != nil || !concerns(r, s) {
		return redemption.Redemption{}, err
	}
	return r, nil
}

// concerns reports whether the settlement is about the record.
func concerns(r redemption.Redemption, s store.Settlement) bool {
	if r.SessionID != "" {
		return r.SessionID == s.Event.SessionID
	}
	return r.ID == s.ReservationID && r.OrderID == s.Event.OrderID
}

func (t *tx) settleRecord(ctx context.Context, before redemption.Redemption, s store.Settlement) (redemption.Redemption, error) {
	e := s.Event
	if e.Kind == redemption.SessionCompleted && before.State == redemption.Released {
		over, err := t.over(ctx, before.CouponID, before.CustomerID)
		if err != nil {
			return redemption.Redemption{}, err
		}
		e.NoPlaceLeft = over
	}
	after, err := redemption.Apply(before, e)
	if err != nil {
		return redemption.Redemption{}, err
	}
	if err := after.Validate(); err != nil { // an event can bring text that cannot be stored
		return redemption.Redemption{}, err
	}
	err = t.replace(ctx, before, after)
	if errors.Is(err, store.ErrSuperseded) { // the settlement is about that redemption
		err = fmt.Errorf("owner of the session %w: %w", errExists, err)
	}
	return after, err
}

// over reports whether the limits leave no place. A coupon that is gone has none.
func (t *tx) over(ctx context.Context, couponID, customerID string) (bool, error) {
	c, err := t.hold(ctx, couponID)
	if err != nil || !c.found {
		return false, err
	}
	err = t.room(ctx, c, couponID, customerID)
	if rejected(err) {
		return true, nil
	}
	return false, err
}

// unreserved records a payment for which there is no redemption but a coupon.
func (t *tx) unreserved(ctx context.Context, s store.Settlement) (redemption.Redemption, error) {
	e := s.Event
	if e.Kind != redemption.SessionCompleted || s.CouponID == "" {
		return redemption.Redemption{}, nil
	}
	payment := redemption.Redemption{
		ID: s.NewID, Key: s.NewID, CouponID: s.CouponID, CustomerID: s.CustomerID,
		State: redemption.Completed, Origin: redemption.FromPayment, OrderID: e.OrderID, SessionID: e.SessionID,
		CreatedAt: e.At, UpdatedAt: e.At, CompletedAt: e.At,
	}
	if err := payment.Validate(); err != nil {
		return redemption.Redemption{}, err
	}
	var err error
	if payment.OverLimit, err = t.over(ctx, s.CouponID, s.CustomerID); err != nil {
		return redemption.Redemption{}, err
	}
	inserted, err := t.insertPayment(ctx, payment)
	switch {
	case err != nil:
		return redemption.Redemption{}, err
	case !inserted: // by its key or ID, or somebody has recorded the same payment meanwhile
		return redemption.Redemption{}, fmt.Errorf("redemption %s %w: %w", payment.ID, errExists, store.ErrConflict)
	}
	t.count(redemption.Redemption{}, payment)
	return payment, nil
}

// orderConcerned locks the order that an event of a session is about.
func (t *tx) orderConcerned(ctx context.Context, e redemption.Event) (storedOrder, error) {
	if findable(e.OrderID) {
		if o, err := t.lockOrder(ctx, e.OrderID); err != nil || !o.IsZero() {
			return o, err
		}
	}
	if !findable(e.SessionID) {
		return storedOrder{}, nil
	}
	o, err := t.orderSeen(ctx, orderBySession, e.SessionID)
	if err != nil || o.IsZero() || !t.rowLocks {
		return o, err
	}
	return t.lockOrder(ctx, o.ID)
}
