package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

const (
	redemptionByID = `SELECT ` + redemptionColumns + ` FROM {coupon_redemptions} r WHERE r.id = ?`
	orderByID      = `SELECT ` + orderColumns + ` FROM {orders} o WHERE o.id = ?`
	orderByKey     = `SELECT ` + orderColumns + ` FROM {orders} o WHERE o.customer_id = ? AND o.idempotency_key = ?`
	exchangedByHim = `SELECT ` + redemptionColumns + ` FROM {coupon_redemptions} r
	WHERE r.coupon_id = ? AND r.customer_id = ? AND r.state = 'reserved' AND r.origin = 'points' AND r.order_id = ''
	ORDER BY r.created_at, r.id LIMIT 1`
)

// reservation is a request that was checked.
type reservation struct {
	record   redemption.Redemption
	values   []any
	revision int64
	order    *newOrder
}

// Reserve implements [store.Redemptions].
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	if err := s.ready(ctx); err != nil {
		return store.Reserved{}, err
	}
	asked, err := prepareReservation(r)
	if err != nil {
		return store.Reserved{}, err
	}
	var reserved store.Reserved
	var first storedOrder
	of := wish{reserve: &asked, reserved: &reserved}
	err = s.changeFor(ctx, "reserve", of, func(ctx context.Context, t *tx) error {
		var err error
		reserved, first, err = asked.run(ctx, t)
		return err
	})
	if err != nil {
		return store.Reserved{}, err
	}
	if reserved.Replayed {
		reserved.Order, err = s.whole(first)
	}
	return reserved, err
}

func prepareReservation(r store.Reservation) (reservation, error) {
	r.Redemption = atMicrosecond(r.Redemption)
	if err := r.Validate(); err != nil {
		return reservation{}, err
	}
	asked := reservation{record: r.Redemption, values: redemptionValues(r.Redemption), revision: r.CouponRevision}
	if r.Order != nil {
		order, err := encodeOrder(*r.Order)
		if err != nil {
			return reservation{}, err
		}
		asked.order = &order
	}
	return asked, nil
}

// reserved is the answer to a reservation that was stored.
func (r reservation) reserved() store.Reserved {
	if r.order == nil {
		return store.Reserved{Redemption: r.record}
	}
	return store.Reserved{Redemption: r.record, Order: r.order.Order.Clone()}
}

// run stores record and order when nothing refuses them, which is the usual case
// and takes the fewest statements. Whether the key was used before is found out by
// the insert, or before a refusal.
func (r reservation) run(ctx context.Context, t *tx) (store.Reserved, storedOrder, error) {
	if r.order == nil {
		return r.exchange(ctx, t)
	}
	refused, err := r.refusal(ctx, t)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	if refused == nil {
		inserted, err := t.insert(ctx, insertOrder, r.order.values...)
		if err != nil {
			return store.Reserved{}, storedOrder{}, err
		}
		if inserted {
			return r.reserved(), storedOrder{}, r.insert(ctx, t)
		}
		refused = fmt.Errorf("order %s exists already: %w", r.order.ID, store.ErrConflict)
	}
	return t.replay(ctx, r.record.CustomerID, r.record.Key, r.record.CouponID, r.order.Fingerprint, refused)
}

// refusal is why the coupon cannot be used now; the second error is a failure.
func (r reservation) refusal(ctx context.Context, t *tx) (refused, err error) {
	c, err := t.hold(ctx, r.record.CouponID)
	if err != nil {
		return nil, err
	}
	if refused := c.acceptable(r.record.CouponID, r.revision); refused != nil {
		return refused, nil
	}
	if err = t.room(ctx, c, r.record.CouponID, r.record.CustomerID); rejected(err) {
		return err, nil
	}
	return nil, err
}

// rejected reports whether the error is a business "no".
func rejected(err error) bool {
	var rejection *coupon.Rejection
	return errors.As(err, &rejection)
}

// insert stores the record and counts it.
func (r reservation) insert(ctx context.Context, t *tx) error {
	refused := t.ownSession(ctx, r.record)
	if refused != nil && !errors.Is(refused, store.ErrSuperseded) {
		return refused
	}
	if refused == nil {
		inserted, err := r.insertRecord(ctx, t)
		if err != nil {
			return err
		}
		if inserted {
			t.count(redemption.Redemption{}, r.record)
			return nil
		}
		// By its ID, its key, or the session that somebody has been given meanwhile.
		if refused = t.ownSession(ctx, r.record); refused == nil {
			refused = fmt.Errorf("redemption %s exists already: %w", r.record.ID, store.ErrConflict)
		}
	}
	used, err := t.keyed(ctx, r.record.CustomerID, r.record.Key)
	switch {
	case err != nil:
		return err
	case used.ID != "":
		return store.ErrKeyReused
	}
	return refused
}

// ownSession returns store.ErrSuperseded when another redemption has the session that the
// record is to have. One that gets it at the same moment is for the database to refuse, by
// its unique index or because it lets one transaction write at a time.
func (t *tx) ownSession(ctx context.Context, r redemption.Redemption) error {
	if r.SessionID == "" {
		return nil
	}
	owner, err := t.redemptionOf(ctx, t.latest, redemptionBySession, r.SessionID)
	if err == nil && owner.ID != "" && owner.ID != r.ID {
		return store.SessionTaken(r.SessionID)
	}
	return err
}

// insertExchange stores a reservation by points if the customer holds no other and
// has used the key for no order. Its use for a redemption is the unique
// index's to tell.
const insertExchange = `INSERT {or_fail}INTO {coupon_redemptions} (` + insertedColumns + `)
	SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
	WHERE NOT EXISTS (SELECT 1 FROM {orders} o WHERE o.customer_id = ? AND o.idempotency_key = ?)
	AND NOT EXISTS (SELECT 1 FROM {coupon_redemptions} r
		WHERE r.coupon_id = ? AND r.customer_id = ? AND r.state = 'reserved' AND r.origin = 'points' AND r.order_id = ''){or_nothing}`

// exchange reserves by points.
func (r reservation) exchange(ctx context.Context, t *tx) (store.Reserved, storedOrder, error) {
	if !t.rowLocks && r.record.SessionID == "" {
		if stored, err := r.exchangeAtOnce(ctx, t); stored || err != nil {
			return r.reserved(), storedOrder{}, err
		}
	}
	return r.exchangeByLooking(ctx, t)
}

// exchangeAtOnce stores the record in one statement when nothing speaks against it,
// which is the usual case. It needs the database to itself.
func (r reservation) exchangeAtOnce(ctx context.Context, t *tx) (stored bool, err error) {
	if refused, err := r.refusal(ctx, t); refused != nil || err != nil {
		return false, err
	}
	v := r.record
	stored, err = t.insert(ctx, insertExchange, slices.Concat(r.values, []any{v.CustomerID, v.Key, v.CouponID, v.CustomerID})...)
	if stored {
		t.count(redemption.Redemption{}, v)
	}
	return stored, err
}

// exchangeByLooking looks everything up first.
func (r reservation) exchangeByLooking(ctx context.Context, t *tx) (store.Reserved, storedOrder, error) {
	c, err := t.hold(ctx, r.record.CouponID)
	if err == nil {
		err = t.lockCustomer(ctx, c, r.record.CouponID, r.record.CustomerID)
	}
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	first, err := t.keyed(ctx, r.record.CustomerID, r.record.Key)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	order, err := t.orderSeen(ctx, orderByKey, r.record.CustomerID, r.record.Key)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	switch {
	case !order.IsZero() || first.ID != "" && (first.Origin != redemption.FromPoints || first.CouponID != r.record.CouponID):
		return store.Reserved{}, storedOrder{}, store.ErrKeyReused
	case first.ID != "":
		return store.Reserved{Redemption: first, Replayed: true}, storedOrder{}, nil
	}
	if err := c.acceptable(r.record.CouponID, r.revision); err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	held, err := t.redemptionOf(ctx, t.latest, exchangedByHim, r.record.CouponID, r.record.CustomerID)
	if err != nil || held.ID != "" {
		return store.Reserved{Redemption: held, Replayed: true}, storedOrder{}, err
	}
	if err := t.room(ctx, c, r.record.CouponID, r.record.CustomerID); err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	return r.reserved(), storedOrder{}, r.insert(ctx, t)
}

// replay returns the first result of a key, or why there is none.
func (t *tx) replay(
	ctx context.Context, customerID, key, couponID, fingerprint string, otherwise error,
) (store.Reserved, storedOrder, error) {
	order, err := t.orderSeen(ctx, orderByKey, customerID, key)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	if order.IsZero() {
		used, err := t.keyed(ctx, customerID, key)
		if err == nil && used.ID != "" {
			err = store.ErrKeyReused
		}
		if err == nil {
			err = otherwise
		}
		return store.Reserved{}, storedOrder{}, err
	}
	if order.CouponID != couponID || order.Fingerprint != fingerprint {
		return store.Reserved{}, storedOrder{}, store.ErrKeyReused
	}
	first := store.Reserved{Replayed: true}
	if order.ReservationID != "" {
		first.Redemption, err = t.redemptionSeen(ctx, order.ReservationID)
	}
	return first, order, err
}

// replace writes a changed redemption and counts the change. It is store.ErrSuperseded when
// another redemption has been given the session meanwhile: nothing else that changes is
// unique.
func (t *tx) replace(ctx context.Context, before, after redemption.Redemption) error {
	if after == before {
		return nil
	}
	statement, args := updateRedemption, redemptionChanges(after)
	if onlyPaid(before, after) {
		statement, args = payRedemption, []any{after.SessionID, micros(after.UpdatedAt), micros(after.CompletedAt), after.ID}
	}
	if _, err := t.write(ctx, statement, args...); err != nil {
		if t.duplicate(err) {
			return store.SessionTaken(after.SessionID)
		}
		return fmt.Errorf("write redemption: %w", err)
	}
	t.count(before, after)
	return nil
}

// advance applies an event to a locked order and reports whether it changed.
func (t *tx) advance(ctx context.Context, o *storedOrder, e redemption.Event) (bool, error) {
	after := o.After(e)
	if after.State == o.State && after.SessionID == o.SessionID && after.Deadline.Equal(o.Deadline) {
		return false, nil
	}
	if after.SessionID != "" && !findable(after.SessionID) {
		return false, invalidField("sessionId", pricing.FieldMalformed, "must be valid UTF-8 text without NUL, not too long")
	}
	o.Order = after
	if _, err := t.write(ctx, updateOrder, orderChanges(after)...); err != nil {
		return false, fmt.Errorf("write order: %w", err)
	}
	return true, nil
}

// Transition implements [store.Redemptions].
func (s *Store) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	if err := s.ready(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	if e.OfSession() {
		return redemption.Redemption{}, &redemption.TransitionError{ID: id, Kind: e.Kind, Cause: redemption.ErrIllegal}
	}
	e = eventAtMicrosecond(e)
	if err := e.Validate(); err != nil {
		return redemption.Redemption{}, err
	}
	var after redemption.Redemption
	err := s.change(ctx, "transition", func(ctx context.Context, t *tx) error {
		if !findable(id) {
			return store.ErrNotFound
		}
		before, err := t.lockRedemption(ctx, id)
		if err != nil {
			return err
		}
		if before.ID == "" {
			return store.ErrNotFound
		}
		if after, err = redemption.Apply(before, e); err != nil {
			return err
		}
		if err := after.Validate(); err != nil { // an event can bring text that cannot be stored
			return err
		}
		if after.SessionID != before.SessionID {
			if err := t.ownSession(ctx, after); err != nil {
				return err
			}
		}
		if err := t.replace(ctx, before, after); err != nil || before.OrderID == "" {
			return err
		}
		if before.State == redemption.Released || after.State != redemption.Released {
			return nil
		}
		order, err := t.lockOrder(ctx, before.OrderID)
		if err == nil && !order.IsZero() {
			_, err = t.advance(ctx, &order, e)
		}
		return err
	})
	if err != nil {
		return redemption.Redemption{}, err
	}
	return after, nil
}

// TakeOver implements [store.Redemptions].
func (s *Store) TakeOver(ctx context.Context, takeOver store.TakeOver) (store.Reserved, error) {
	if err := s.ready(ctx); err != nil {
		return store.Reserved{}, err
	}
	takeOver.At = coupon.Instant(takeOver.At)
	if err := takeOver.Validate(); err != nil {
		return store.Reserved{}, err
	}
	order, err := encodeOrder(takeOver.Order)
	if err != nil {
		return store.Reserved{}, err
	}
	var taken store.Reserved
	var first storedOrder
	err = s.change(ctx, "take over", func(ctx context.Context, t *tx) error {
		var err error
		taken, first, err = t.firstOf(ctx, order, errNewKey)
		if errors.Is(err, errNewKey) {
			taken, first, err = t.takeOver(ctx, takeOver, order)
		}
		return err
	})
	if err != nil {
		return store.Reserved{}, err
	}
	if taken.Replayed {
		taken.Order, err = s.whole(first)
	}
	return taken, err
}

// errNewKey: the key was not used before.
var errNewKey = errors.New("new key")

// firstOf is replay for the key of an order.
func (t *tx) firstOf(ctx context.Context, o newOrder, otherwise error) (store.Reserved, storedOrder, error) {
	return t.replay(ctx, o.CustomerID, o.Key, o.CouponID, o.Fingerprint, otherwise)
}

// takeOver finds out again whether the key was used, wherever it has waited for others:
// they may have used it.
func (t *tx) takeOver(
	ctx context.Context, takeOver store.TakeOver, order newOrder,
) (store.Reserved, storedOrder, error) {
	if !findable(takeOver.ReservationID) {
		return store.Reserved{}, storedOrder{}, store.ErrNotFound
	}
	c, err := t.hold(ctx, order.CouponID)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	before, err := t.lockRedemption(ctx, takeOver.ReservationID)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	if t.rowLocks {
		taken, first, err := t.firstOf(ctx, order, errNewKey)
		if !errors.Is(err, errNewKey) {
			return taken, first, err
		}
	}
	if err := movable(c, before, takeOver, order); err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	return t.move(ctx, before, takeOver, order)
}

// movable returns why the coupon or the reservation, which are held, cannot be the
// order's.
func movable(c *heldCoupon, before redemption.Redemption, takeOver store.TakeOver, order newOrder) error {
	if before.ID == "" || before.CustomerID != order.CustomerID || before.CouponID != order.CouponID ||
		order.ReservationID != before.ID {
		return store.ErrNotFound
	}
	return c.acceptable(order.CouponID, takeOver.CouponRevision)
}

// move gives the reservation, which is held, to the order.
func (t *tx) move(
	ctx context.Context, before redemption.Redemption, takeOver store.TakeOver, order newOrder,
) (store.Reserved, storedOrder, error) {
	e := eventAtMicrosecond(redemption.Event{
		Kind: redemption.TakenOver, At: takeOver.At, SessionID: takeOver.FromSessionID, OrderID: order.ID, Deadline: takeOver.Deadline,
	})
	after, err := redemption.Apply(before, e)
	if err != nil {
		return store.Reserved{}, storedOrder{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
	}
	previous, err := t.lockOrder(ctx, before.OrderID)
	if err != nil {
		return store.Reserved{}, storedOrder{}, err
	}
	if inserted, err := t.insert(ctx, insertOrder, order.values...); err != nil {
		return store.Reserved{}, storedOrder{}, err
	} else if !inserted {
		return t.firstOf(ctx, order, fmt.Errorf("order %s exists already: %w", order.ID, store.ErrConflict))
	}
	if !previous.IsZero() {
		if _, err := t.advance(ctx, &previous, e); err != nil {
			return store.Reserved{}, storedOrder{}, err
		}
	}
	return store.Reserved{Redemption: after, Order: order.Order.Clone()}, storedOrder{}, t.replace(ctx, before, after)
}
