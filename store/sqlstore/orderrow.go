package sqlstore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

const orderColumns = `o.id, o.idempotency_key, o.fingerprint, o.customer_id, o.state, o.coupon_id, o.reservation_id,
	o.discount_amount, o.session_id, o.session_url, o.deadline, o.created_at, o.updated_at, o.quote, o.coupon, o.metadata`

const orderInserted = `id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id,
	discount_amount, session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata`

const insertOrder = `INSERT INTO {orders} (` + orderInserted + `)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?){or_nothing}`

// What is frozen is left out.
const updateOrder = `UPDATE {orders} SET state = ?, session_id = ?, session_url = ?, deadline = ?, updated_at = ? WHERE id = ?`

// storedOrder is an order whose documents are still text: a transaction needs only
// the rest, and the caller reads them when it has ended.
type storedOrder struct {
	store.Order
	quote, snapshot, metadata string
}

// orderRow receives a row.
type orderRow struct {
	o                storedOrder
	state            string
	deadline         optional
	created, updated int64
	snapshot, meta   sql.Null[string]
}

func (row *orderRow) targets() []any {
	o := &row.o
	return []any{
		&o.ID, &o.Key, &o.Fingerprint, &o.CustomerID, &row.state, &o.CouponID, &o.ReservationID,
		&o.DiscountAmount, &o.SessionID, &o.SessionURL, &row.deadline, &row.created, &row.updated, &o.quote, &row.snapshot, &row.meta,
	}
}

func (row *orderRow) order() (o storedOrder, err error) {
	o = row.o
	if o.State, err = store.ParseOrderState(row.state); err != nil {
		return storedOrder{}, fmt.Errorf("state of order %s: %w", o.ID, corrupt(err))
	}
	o.Deadline, o.CreatedAt, o.UpdatedAt = optionalInstant(row.deadline), instant(row.created), instant(row.updated)
	o.snapshot, o.metadata = row.snapshot.V, row.meta.V
	return o, nil
}

func scanOrder(row scanner) (storedOrder, error) {
	var into orderRow
	if err := row.Scan(into.targets()...); err != nil {
		return storedOrder{}, err
	}
	return into.order()
}

// terms remembers the coupon of the order that was read last: the orders of a hot coupon
// all have the same. The zero value remembers none.
type terms struct{ last atomic.Pointer[readTerms] }

// readTerms are terms beside their text. They are not changed: what a Snapshot holds beside
// values is immutable.
type readTerms struct {
	text     string
	snapshot coupon.Snapshot
}

func (t *terms) read(text string) (*coupon.Snapshot, error) {
	known := t.last.Load()
	if known == nil || known.text != text {
		known = &readTerms{text: text}
		if err := json.Unmarshal([]byte(text), &known.snapshot); err != nil {
			return nil, err
		}
		t.last.Store(known)
	}
	snapshot := known.snapshot
	return &snapshot, nil
}

// whole reads the documents. The zero value is no order.
func (s *Store) whole(o storedOrder) (_ store.Order, err error) {
	if o.IsZero() {
		return store.Order{}, nil
	}
	if o.quote == "" {
		return o.Order, nil // it did not come from the database
	}
	if err := o.Quote.UnmarshalJSON([]byte(o.quote)); err != nil {
		return store.Order{}, fmt.Errorf("quote of order %s: %w", o.ID, corrupt(err))
	}
	if o.snapshot != "" {
		if o.Coupon, err = s.terms.read(o.snapshot); err != nil {
			return store.Order{}, fmt.Errorf("coupon of order %s: %w", o.ID, corrupt(err))
		}
	}
	if o.metadata != "" {
		if err := json.Unmarshal([]byte(o.metadata), &o.Metadata); err != nil {
			return store.Order{}, fmt.Errorf("metadata of order %s: %w", o.ID, corrupt(err))
		}
	}
	return o.Order, nil
}

// newOrder is an order to be stored.
type newOrder struct {
	store.Order
	values []any
}

// prepareOrder checks the order and makes the arguments of insertOrder, before any
// lock is taken.
func prepareOrder(o store.Order) (newOrder, error) {
	if err := o.Validate(); err != nil {
		return newOrder{}, err
	}
	return encodeOrder(o)
}

// encodeOrder is prepareOrder for an order that was checked.
func encodeOrder(o store.Order) (newOrder, error) {
	o = o.Clone()
	o.Deadline, o.CreatedAt, o.UpdatedAt = coupon.Instant(o.Deadline), coupon.Instant(o.CreatedAt), coupon.Instant(o.UpdatedAt)
	quote, err := o.Quote.MarshalJSON()
	if err != nil {
		var faults pricing.ValidationError
		faults.Merge("quote", err)
		return newOrder{}, faults.Err()
	}
	var snapshot, metadata any // NULL where there is none
	if o.Coupon != nil {
		if snapshot, err = document("coupon", *o.Coupon); err != nil {
			return newOrder{}, err
		}
	}
	if o.Metadata != nil {
		if metadata, err = document("metadata", o.Metadata); err != nil {
			return newOrder{}, err
		}
	}
	return newOrder{Order: o, values: []any{
		o.ID, o.Key, o.Fingerprint, o.CustomerID, o.State.String(), o.CouponID, o.ReservationID,
		o.DiscountAmount, o.SessionID, o.SessionURL, optionalMicros(o.Deadline), micros(o.CreatedAt), micros(o.UpdatedAt),
		string(quote), snapshot, metadata,
	}}, nil
}

// document returns the JSON of a value; one that has none is a fault of the field.
func document(field string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		var faults pricing.ValidationError
		faults.Add(field, pricing.FieldMalformed, err.Error())
		return "", faults.Err()
	}
	return string(text), nil
}

// orderChanges returns the arguments of updateOrder.
func orderChanges(o store.Order) []any {
	return []any{o.State.String(), o.SessionID, o.SessionURL, optionalMicros(o.Deadline), micros(o.UpdatedAt), o.ID}
}
