package pgxstore

import (
	"context"
	"errors"
	"strings"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Text that no record can have finds nothing where it is looked for, and is refused where
// it would be written. PostgreSQL takes no such text at all, so that which of both it would
// be is found out before: it hardly ever comes.

// keepable reports whether a record can have the text as the ID of something.
func keepable(text string) bool { return storable(text) && len(text) <= redemption.MaxIDLength }

// sought is the text, or in place of one that PostgreSQL cannot hold another that nothing
// can have.
func sought(text string) string {
	if storable(text) {
		return text
	}
	return strings.Repeat("?", redemption.MaxIDLength+1)
}

// soughtTransition is the event of a session and an order for which it can be looked, or
// refuses what the redemption would have to keep.
func (s *Store) soughtTransition(ctx context.Context, id string, e redemption.Event) (redemption.Event, error) {
	if keepable(e.SessionID) && keepable(e.OrderID) {
		return e, nil
	}
	now, err := s.Redemption(ctx, id)
	if err == nil {
		err = unkept(now, e)
	}
	e.SessionID, e.OrderID = sought(e.SessionID), sought(e.OrderID)
	return e, err
}

// unkept refuses an event that brings a redemption what it cannot keep.
func unkept(r redemption.Redemption, e redemption.Event) error {
	after, err := redemption.Apply(r, e)
	if err != nil {
		return err
	}
	return after.Validate()
}

// soughtSettlement is the settlement with text for which it can be looked, or refuses
// what would have to be recorded and cannot be.
func (s *Store) soughtSettlement(ctx context.Context, t store.Settlement) (store.Settlement, error) {
	refusal := unrecordable(t)
	if refusal == nil && keepable(t.Event.SessionID) &&
		storable(t.Event.OrderID, t.ReservationID, t.CouponID, t.CustomerID, t.NewID) {
		return t, nil
	}
	of := t
	of.Event.SessionID, of.Event.OrderID, of.ReservationID = sought(t.Event.SessionID), sought(t.Event.OrderID), sought(t.ReservationID)
	of.CouponID, of.CustomerID, of.NewID = sought(t.CouponID), sought(t.CustomerID), sought(t.NewID)
	r, err := s.oneRedemption(ctx, s.sql.concerned, of.Event.SessionID, of.ReservationID, of.Event.OrderID)
	switch {
	case err == nil:
		if keepable(t.Event.SessionID) {
			return of, nil // all else is only looked for
		}
		return of, unkept(r, t.Event)
	case !errors.Is(err, store.ErrNotFound):
		return of, err
	case refusal != nil:
		return of, refusal
	}
	return of, s.unkeptByOrder(ctx, t.Event)
}

// unrecordable refuses a payment that could not be recorded.
func unrecordable(t store.Settlement) error {
	if t.Event.Kind != redemption.SessionCompleted || t.CouponID == "" {
		return nil
	}
	payment := paymentOf(t)
	if payment.ID == "" {
		payment.ID, payment.Key = "later", "later" // needed only if there is no record
	}
	return payment.Validate()
}

// unkeptByOrder refuses a session that an order cannot keep.
func (s *Store) unkeptByOrder(ctx context.Context, e redemption.Event) error {
	if keepable(e.SessionID) {
		return nil
	}
	o, err := s.Order(ctx, e.OrderID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return o.After(e).Validate()
}
