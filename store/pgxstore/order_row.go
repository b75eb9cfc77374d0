package pgxstore

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgtype/zeronull"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
)

// orderColumns are read in this order by orderRow.
const orderColumns = `id, key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount,
	session_id, session_url, deadline, created_at, updated_at, quote, coupon, metadata`

// orderRow receives the columns. A row of NULLs is no order.
type orderRow struct {
	record                    store.Order
	state                     string
	quote, snapshot, metadata []byte
}

func (r *orderRow) targets() []any {
	v := &r.record
	return []any{
		(*zeronull.Text)(&v.ID), (*zeronull.Text)(&v.Key), (*zeronull.Text)(&v.Fingerprint), (*zeronull.Text)(&v.CustomerID),
		(*zeronull.Text)(&r.state), (*zeronull.Text)(&v.CouponID), (*zeronull.Text)(&v.ReservationID),
		(*zeronull.Int8)(&v.DiscountAmount), (*zeronull.Text)(&v.SessionID), (*zeronull.Text)(&v.SessionURL),
		(*instantColumn)(&v.Deadline), (*instantColumn)(&v.CreatedAt), (*instantColumn)(&v.UpdatedAt),
		&r.quote, &r.snapshot, &r.metadata,
	}
}

// order returns the record, the zero value for no row.
func (r *orderRow) order() (store.Order, error) {
	v := r.record
	if v.ID == "" {
		return store.Order{}, nil
	}
	var err error
	if v.State, err = store.ParseOrderState(r.state); err != nil {
		return store.Order{}, corrupt("order", v.ID, err)
	}
	for _, document := range [...]struct {
		name string
		text []byte
		into any
	}{{"quote", r.quote, &v.Quote}, {"coupon", r.snapshot, &v.Coupon}, {"metadata", r.metadata, &v.Metadata}} {
		if document.text == nil {
			continue
		}
		if err := json.Unmarshal(document.text, document.into); err != nil {
			return store.Order{}, corrupt("order", v.ID, fmt.Errorf("%s: %w", document.name, err))
		}
	}
	return storedOrder(v), nil
}

// storedOrder returns the record as the database keeps it.
func storedOrder(v store.Order) store.Order {
	v.Deadline, v.CreatedAt, v.UpdatedAt = coupon.Instant(v.Deadline), coupon.Instant(v.CreatedAt), coupon.Instant(v.UpdatedAt)
	return v
}

// orderDocuments are the parts of an order that are kept as JSON; NULL is nil.
type orderDocuments struct{ quote, snapshot, metadata *string }

// bytes is how long the documents are.
func (d orderDocuments) bytes() int {
	length := 0
	for _, document := range []*string{d.quote, d.snapshot, d.metadata} {
		if document != nil {
			length += len(*document)
		}
	}
	return length
}

// documents checks the order and writes its documents. What cannot be stored is a
// [*pricing.ValidationError].
func documents(o store.Order) (orderDocuments, error) {
	if err := o.Validate(); err != nil {
		return orderDocuments{}, err
	}
	return validDocuments(o)
}

// validDocuments is documents for an order that was checked.
func validDocuments(o store.Order) (orderDocuments, error) {
	var docs orderDocuments
	var faults pricing.ValidationError
	quote, err := o.Quote.MarshalJSON()
	faults.Merge("quote", err)
	if err := faults.Err(); err != nil {
		return orderDocuments{}, err
	}
	docs.quote = text(quote)
	if o.Coupon != nil {
		snapshot, err := json.Marshal(o.Coupon)
		if err != nil {
			return orderDocuments{}, fmt.Errorf("order %s: coupon: %w", o.ID, err)
		}
		if hasNUL(snapshot) {
			faults.Add("coupon", pricing.FieldMalformed, "must be text without NUL")
			return orderDocuments{}, faults.Err()
		}
		docs.snapshot = text(snapshot)
	}
	if o.Metadata != nil {
		metadata, err := json.Marshal(o.Metadata)
		if err != nil {
			return orderDocuments{}, fmt.Errorf("order %s: metadata: %w", o.ID, err)
		}
		docs.metadata = text(metadata)
	}
	return docs, nil
}

// hasNUL reports whether a text in the document has a NUL, which jsonb does not hold. After a
// backslash that is one of the text, u0000 is text as well.
func hasNUL(document []byte) bool {
	escaped := []byte(`\u0000`)
	return bytes.Contains(document, escaped) && bytes.Contains(bytes.ReplaceAll(document, []byte(`\\`), nil), escaped)
}

func text(document []byte) *string {
	s := string(document)
	return &s
}
