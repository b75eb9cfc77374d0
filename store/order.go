package store

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// Bounds of an order.
const (
	MaxMetadata       = 50     // entries
	MaxMetadataLength = 10_000 // bytes of a value
)

// OrderIDPrefix begins the order IDs that the service makes.
const OrderIDPrefix = "ord_"

// OrderState is where an order is in its life.
type OrderState uint8

// The states of an order.
const (
	OrderOpen            OrderState = iota + 1 // waits for its session to be paid
	OrderAwaitingPayment                       // finished with a delayed payment method
	OrderPaid                                  // paid
	OrderCancelled                             // ended unpaid
)

// String returns "open", "awaiting_payment", "paid" or "cancelled".
func (s OrderState) String() string {
	switch s {
	case OrderOpen:
		return "open"
	case OrderAwaitingPayment:
		return "awaiting_payment"
	case OrderPaid:
		return "paid"
	case OrderCancelled:
		return "cancelled"
	}
	return ""
}

// ParseOrderState is the inverse of String.
func ParseOrderState(text string) (OrderState, error) {
	for s := OrderOpen; s <= OrderCancelled; s++ {
		if s.String() == text {
			return s, nil
		}
	}
	return 0, invalidField("state", pricing.FieldUnknown, "must be open, awaiting_payment, paid or cancelled")
}

// MarshalText returns the name.
func (s OrderState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseOrderState].
func (s *OrderState) UnmarshalText(text []byte) (err error) {
	*s, err = ParseOrderState(string(text))
	return err
}

// Order is what a customer is about to buy or has bought (specification 2.5). What
// was priced is frozen in it: editing or deleting the coupon changes nothing here.
type Order struct {
	// ID names the order; the session carries it as orderId.
	ID string `json:"id"`
	// Key is the attempt's idempotency key, unique within the customer.
	Key string `json:"key"`
	// Fingerprint tells whether a repeated key is the same request.
	Fingerprint string `json:"fingerprint"`
	// CustomerID is who buys.
	CustomerID string `json:"customerId"`
	// State of the order.
	State OrderState `json:"state"`
	// CouponID is the coupon's, empty without one.
	CouponID string `json:"couponId,omitempty"`
	// Coupon holds the terms of the coupon as they were; nil without one.
	Coupon *coupon.Snapshot `json:"coupon,omitempty"`
	// ReservationID is that of the redemption that keeps the place.
	ReservationID string `json:"reservationId,omitempty"`
	// DiscountAmount is what the coupon takes off, in minor units of the quote's
	// currency; also in JSON, where it is the only amount that is no decimal string.
	DiscountAmount int64 `json:"discountAmount"`
	// Quote is what was priced.
	Quote pricing.Quote `json:"quote"`
	// SessionID and SessionURL are the processor's; empty before a session exists.
	SessionID  string `json:"sessionId,omitempty"`
	SessionURL string `json:"sessionUrl,omitempty"`
	// Metadata is the host's.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Deadline is the instant from which the sweep may cancel an unpaid order; zero is
	// never.
	Deadline time.Time `json:"deadline,omitzero"`
	// CreatedAt and UpdatedAt are instants in UTC, to the microsecond.
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// IsZero reports whether o is no order.
func (o Order) IsZero() bool { return o.ID == "" }

// Ended reports whether the order is paid or cancelled.
func (o Order) Ended() bool { return o.State == OrderPaid || o.State == OrderCancelled }

// Clone returns an order that shares no memory with o.
func (o Order) Clone() Order {
	o.Quote = o.Quote.Clone()
	o.Metadata = maps.Clone(o.Metadata)
	if o.Coupon != nil {
		snapshot := *o.Coupon
		o.Coupon = &snapshot
	}
	return o
}

// Validate checks the order and returns a [*pricing.ValidationError] with all that
// is wrong with it.
func (o Order) Validate() error {
	var faults pricing.ValidationError
	for _, text := range [...]struct {
		field, value string
		required     bool
	}{
		{"id", o.ID, true},
		{"key", o.Key, true},
		{"customerId", o.CustomerID, true},
		{"fingerprint", o.Fingerprint, false},
		{"couponId", o.CouponID, o.Coupon != nil},
		{"reservationId", o.ReservationID, o.CouponID != ""},
		{"sessionId", o.SessionID, false},
	} {
		textFaults(&faults, text.field, text.value, redemption.MaxIDLength)
		if text.value == "" && text.required {
			faults.Add(text.field, pricing.FieldRequired, "is required")
		}
	}
	if o.State < OrderOpen || o.State > OrderCancelled {
		faults.Add("state", pricing.FieldUnknown, "must be open, awaiting_payment, paid or cancelled")
	}
	if o.DiscountAmount != o.Quote.Discount {
		faults.Add("discountAmount", pricing.FieldMismatch, "is not the quote's discount")
	}
	textFaults(&faults, "sessionUrl", o.SessionURL, MaxMetadataLength)
	o.metadataFaults(&faults)
	o.pricedFaults(&faults)
	return faults.Err()
}

// CheckRequest names what no store keeps of a key, of which empty is none, and of metadata,
// by the paths of an order. The error is a [*pricing.ValidationError].
func CheckRequest(key string, metadata map[string]string) error {
	var faults pricing.ValidationError
	textFaults(&faults, "key", key, redemption.MaxIDLength)
	Order{Metadata: metadata}.metadataFaults(&faults)
	return faults.Err()
}

// CheckLines names the IDs of lines, and of what they sell, that are no text, by paths such
// as "lines[2].itemId": no database and no JSON keeps them. [pricing.Cart.Validate] does not
// look at them for the sake of those who only price. The error is a
// [*pricing.ValidationError].
func CheckLines(count int, line func(int) *pricing.Line) error {
	var faults pricing.ValidationError
	for i := range min(count, pricing.MaxLines) {
		l := line(i)
		if !isText(l.ID) {
			faults.Add(fmt.Sprintf("lines[%d].id", i), pricing.FieldMalformed, notText)
		}
		if !isText(l.ItemID) {
			faults.Add(fmt.Sprintf("lines[%d].itemId", i), pricing.FieldMalformed, notText)
		}
	}
	return faults.Err()
}

func (o Order) metadataFaults(faults *pricing.ValidationError) {
	if len(o.Metadata) > MaxMetadata {
		faults.Add("metadata", pricing.FieldTooLong, fmt.Sprintf("at most %d entries", MaxMetadata))
	}
	for _, k := range slices.Sorted(maps.Keys(o.Metadata)) {
		textFaults(faults, "metadata", k, redemption.MaxIDLength)
		textFaults(faults, "metadata."+k, o.Metadata[k], MaxMetadataLength)
	}
}

// pricedFaults checks what was priced: a quote that does not add up is not frozen.
func (o Order) pricedFaults(faults *pricing.ValidationError) {
	faults.Merge("quote", o.Quote.Validate())
	faults.Merge("quote", CheckLines(len(o.Quote.Lines), func(i int) *pricing.Line { return &o.Quote.Lines[i].Line }))
	if o.Coupon != nil {
		snapshotFaults(faults, *o.Coupon)
	}
}

// snapshotFaults refuses terms that could not be read back once they are stored.
func snapshotFaults(faults *pricing.ValidationError, s coupon.Snapshot) {
	textFaults(faults, "coupon.name", s.Name, MaxMetadataLength)
	for _, word := range [...]struct {
		field string
		given bool
	}{
		{"coupon.code", !s.Code.IsZero()},
		{"coupon.discountType", s.DiscountType != 0},
		{"coupon.currency", !s.Currency.IsZero()},
		{"coupon.appliesTo", s.AppliesTo != 0},
		{"coupon.distribution", s.Distribution != 0},
	} {
		if !word.given {
			faults.Add(word.field, pricing.FieldRequired, "is required")
		}
	}
}

// After returns the order after an event of its redemption or session. It is the
// order's half of [redemption.Apply]: a payment always counts, an ended order does
// not open again, and everything that releases the reservation cancels the order.
// What happens to another session than the order's, save a payment, does not
// concern it.
func (o Order) After(e redemption.Event) Order {
	if o.SessionID != "" && o.SessionID != e.SessionID && e.Kind != redemption.SessionCompleted {
		return o
	}
	next := o
	switch e.Kind {
	case redemption.SessionCompleted:
		next.State, next.Deadline = OrderPaid, time.Time{}
	case redemption.SessionUnpaid:
		if o.State == OrderOpen {
			next.State = OrderAwaitingPayment
		}
		if !o.Ended() && e.Deadline.After(o.Deadline) {
			next.Deadline = e.Deadline
		}
	case redemption.SessionExpired:
		if o.State == OrderOpen {
			next.State, next.Deadline = OrderCancelled, time.Time{}
		}
	case redemption.PaymentFailed, redemption.Cancelled, redemption.Lapsed, redemption.TakenOver, redemption.PointsRefused:
		if !o.Ended() {
			next.State, next.Deadline = OrderCancelled, time.Time{}
		}
	case redemption.Leaving:
		return o
	case redemption.PointsExchanged, redemption.SessionAttached, redemption.PointsGivenBack:
	}
	if next.SessionID == "" && next.State != OrderCancelled {
		next.SessionID = e.SessionID
	}
	if next.State != o.State || next.SessionID != o.SessionID || !next.Deadline.Equal(o.Deadline) {
		next.UpdatedAt = e.At
	}
	return next
}

// Attach returns the order with its session. It is the order's half of
// [Orders].AttachSession: repeating it changes nothing but the URL, and an order that
// has another session or has ended is [ErrSuperseded].
func (o Order) Attach(a Attachment) (Order, error) {
	if o.SessionID == a.SessionID && o.State != OrderCancelled {
		o.SessionURL = a.SessionURL
		return o, nil
	}
	if o.SessionID != "" || o.State != OrderOpen {
		return o, ErrSuperseded
	}
	o.SessionID, o.SessionURL, o.Deadline, o.UpdatedAt = a.SessionID, a.SessionURL, a.Deadline, a.At
	return o, nil
}

const notText = "must be valid UTF-8 text without NUL"

func textFaults(faults *pricing.ValidationError, field, value string, most int) {
	switch {
	case len(value) > most:
		faults.Add(field, pricing.FieldTooLong, fmt.Sprintf("at most %d bytes", most))
	case !isText(value):
		faults.Add(field, pricing.FieldMalformed, notText)
	}
}

// isText reports whether every database keeps the text as it is.
func isText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}

func invalidField(field string, code pricing.FieldCode, message string) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{Field: field, Code: code, Message: message}}}
}
