package pgxstore

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TakeOver implements store.Redemptions in one round trip; to find what a key was used for
// before is another.
func (s *Store) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	if err := s.ready(ctx); err != nil {
		return store.Reserved{}, err
	}
	t.Order, t.At = storedOrder(t.Order.Clone()), instant(t.At)
	if err := t.Validate(); err != nil {
		return store.Reserved{}, err
	}
	order := t.Order
	docs, err := validDocuments(order)
	if err != nil {
		return store.Reserved{}, err
	}
	reservation := sought(t.ReservationID)
	if order.ReservationID != reservation {
		reservation = "" // it finds none, unless the key was used before
	}
	deadline := instant(t.Deadline)
	arguments := []any{
		reservation, sought(t.FromSessionID), t.CouponRevision, orNull(&deadline), t.At,
		order.ID, order.Key, order.Fingerprint, order.CustomerID, order.State.String(), order.CouponID,
		order.DiscountAmount, order.SessionID, order.SessionURL, orNull(&order.Deadline), order.CreatedAt, order.UpdatedAt,
		docs.quote, docs.snapshot, docs.metadata,
	}
	var outcome string
	var row redemptionRow
	err = s.retry(ctx, func() error {
		row = redemptionRow{}
		return s.queryRow(ctx, s.sql.takeOver, append([]any{&outcome}, row.targets()...), arguments...)
	})
	if err != nil {
		return store.Reserved{}, fmt.Errorf("take over: %w", err)
	}
	switch outcome {
	case "taken":
		taken, err := row.redemption()
		return store.Reserved{Redemption: taken, Order: order}, err
	case "known":
		asked := redemption.Redemption{Key: order.Key, CustomerID: order.CustomerID, CouponID: order.CouponID}
		return s.firstResult(ctx, store.Reservation{Redemption: asked, Order: &order})
	}
	return store.Reserved{}, takeOverRefused(t, outcome)
}

func takeOverRefused(t store.TakeOver, outcome string) error {
	id := t.Order.CouponID
	switch outcome {
	case "missing":
		return unknownRedemption([]string{t.ReservationID})
	case "superseded":
		return fmt.Errorf("reservation %s cannot be taken over: %w", t.ReservationID, store.ErrSuperseded)
	case "unknown":
		return unknownCoupon(id)
	case "inactive":
		return coupon.Reject(id, coupon.CouponInactive, coupon.Params{})
	case "stale":
		return fmt.Errorf("coupon %s has another revision than %d: %w", id, t.CouponRevision, store.ErrStaleRevision)
	case "conflict":
		return fmt.Errorf("order %s exists: %w", t.Order.ID, store.ErrConflict)
	}
	return fmt.Errorf("take over: unknown outcome %q", outcome)
}

// firstResult returns what the customer's key was used for first, if that was the
// same request, else store.ErrKeyReused.
func (s *Store) firstResult(ctx context.Context, asked store.Reservation) (store.Reserved, error) {
	customer, key := asked.Redemption.CustomerID, asked.Redemption.Key
	first := store.Reserved{Replayed: true}
	var r redemptionRow
	var o orderRow
	err := s.retry(ctx, func() error {
		r, o = redemptionRow{}, orderRow{}
		return s.queryRow(ctx, s.sql.firstOfKey, append(r.targets(), o.targets()...), customer, key)
	})
	if err != nil {
		return store.Reserved{}, fmt.Errorf("first result of the key: %w", err)
	}
	if first.Redemption, err = r.redemption(); err != nil {
		return store.Reserved{}, err
	}
	if first.Order, err = o.order(); err != nil {
		return store.Reserved{}, err
	}
	if first.Redemption.ID == "" && first.Order.IsZero() {
		return store.Reserved{}, fmt.Errorf("key %q of customer %s: %w", key, customer, store.ErrNotFound)
	}
	same := first.Redemption.CouponID == asked.Redemption.CouponID && (asked.Order == nil) == first.Order.IsZero()
	if asked.Order == nil { // a payment, which has no order either, is no exchange of points
		same = same && first.Redemption.Origin == redemption.FromPoints
	} else {
		same = same && asked.Order.Fingerprint == first.Order.Fingerprint
	}
	if !same {
		return store.Reserved{}, fmt.Errorf("key %q of customer %s: %w", key, customer, store.ErrKeyReused)
	}
	return first, nil
}
