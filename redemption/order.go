package redemption

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Bounds of an order.
const (
	MaxIDLength       = 255    // bytes of an ID or a key
	MaxUses           = 32     // coupons of an order
	MaxClaims         = 64     // of an order or a use
	MaxMetadata       = 50     // entries
	MaxMetadataLength = 10_000 // bytes of a value, and of a session's URL
)

// OrderIDPrefix begins the order IDs that the service makes.
const OrderIDPrefix = "ord_"

// OrderState is where an order is in its life.
type OrderState uint8

// The states of an order.
const (
	OrderOpen            OrderState = iota + 1 // to be paid
	OrderAwaitingPayment                       // the session was finished, the payment is still on its way
	OrderPaid
	OrderCancelled // ended unpaid
)

var orderStates = [...]string{
	OrderOpen: "open", OrderAwaitingPayment: "awaiting_payment", OrderPaid: "paid", OrderCancelled: "cancelled",
}

// String returns "open", "awaiting_payment", "paid" or "cancelled".
func (s OrderState) String() string { return nameOf(orderStates[:], s) }

// ParseOrderState is the inverse of String.
func ParseOrderState(text string) (OrderState, error) {
	return parseName[OrderState](orderStates[:], text)
}

// MarshalText returns the name.
func (s OrderState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is [ParseOrderState].
func (s *OrderState) UnmarshalText(text []byte) (err error) {
	*s, err = ParseOrderState(string(text))
	return err
}

// Ended reports whether the order is paid or cancelled.
func (s OrderState) Ended() bool { return s == OrderPaid || s == OrderCancelled }

// holds returns how an order of this state holds its claims.
func (s OrderState) holds() State {
	switch s {
	case OrderOpen, OrderAwaitingPayment:
		return Reserved
	case OrderPaid:
		return Completed
	case OrderCancelled:
	}
	return Released
}

// Order is what a customer is about to buy or has bought (specification 2.5). Quote and
// coupons are frozen in it: a later change of a coupon changes nothing here.
type Order struct {
	// ID names the order; the payment session carries it as orderId.
	ID string `json:"id"`
	// Key is the idempotency key of the checkout, unique within the customer. It is empty
	// for an order that only a payment has told of.
	Key string `json:"key,omitempty"`
	// Fingerprint tells whether a repeated key is the same request.
	Fingerprint string `json:"fingerprint,omitempty"`
	// CustomerID is the customer's primary identity.
	CustomerID string `json:"customerId,omitempty"`
	// State of the order.
	State OrderState `json:"state"`
	// SessionID and SessionURL are the processor's; empty before a session exists.
	SessionID  string `json:"sessionId,omitempty"`
	SessionURL string `json:"sessionUrl,omitempty"`
	// Replaces is the customer's order that this one was made from.
	Replaces string `json:"replaces,omitempty"`
	// ReplacedBy is the order that took this one's claims over.
	ReplacedBy string `json:"replacedBy,omitempty"`
	// Claims are the order's own; those of its coupons stand in its uses.
	Claims []Claim `json:"claims,omitempty"`
	// Coupons are the terms of the coupons as they were when the order was made.
	Coupons []coupon.Snapshot `json:"coupons,omitempty"`
	// Quote is what was priced.
	Quote pricing.Quote `json:"quote"`
	// Metadata is the host's.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Deadline is the instant from which an unpaid order may be cancelled; zero is never.
	Deadline time.Time `json:"deadline,omitzero"`
	// CreatedAt and UpdatedAt are instants in UTC, to the microsecond.
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Version is 1 when the order is stored and grows by 1 with every change.
	Version int64 `json:"version"`
}

// IsZero reports whether o is no order.
func (o Order) IsZero() bool { return o.ID == "" }

// Clone returns an order that shares no memory with o.
func (o Order) Clone() Order {
	o.Quote = o.Quote.Clone()
	o.Metadata = maps.Clone(o.Metadata)
	o.Claims = slices.Clone(o.Claims)
	o.Coupons = slices.Clone(o.Coupons)
	return o
}

// Validate checks an order that is about to be stored. The error is a
// [*pricing.ValidationError] that names every fault.
func (o Order) Validate() error {
	var faults pricing.ValidationError
	textFault(&faults, "id", o.ID, MaxIDLength, true)
	textFault(&faults, "key", o.Key, MaxIDLength, false)
	textFault(&faults, "fingerprint", o.Fingerprint, MaxIDLength, false)
	textFault(&faults, "customerId", o.CustomerID, MaxIDLength, o.Key != "")
	textFault(&faults, "sessionId", o.SessionID, MaxIDLength, o.State == OrderPaid)
	textFault(&faults, "sessionUrl", o.SessionURL, MaxMetadataLength, false)
	textFault(&faults, "replaces", o.Replaces, MaxIDLength, false)
	if o.State.String() == "" {
		faults.Add("state", pricing.FieldUnknown, "must be open, awaiting_payment, paid or cancelled")
	}
	textFault(&faults, "replacedBy", o.ReplacedBy, MaxIDLength, false)
	instantFault(&faults, "createdAt", o.CreatedAt, true)
	instantFault(&faults, "deadline", o.Deadline, false)
	if len(o.Coupons) > MaxUses {
		faults.Add("coupons", pricing.FieldTooLong, fmt.Sprintf("at most %d coupons", MaxUses))
	} else {
		o.snapshotFaults(&faults)
	}
	claimFaults(&faults, o.Claims)
	o.metadataFaults(&faults)
	if !o.Quote.Currency.IsZero() || o.Key != "" {
		faults.Merge("quote", o.Quote.Validate())
		faults.Merge("quote", CheckLines(len(o.Quote.Lines), func(i int) *pricing.Line { return &o.Quote.Lines[i].Line }))
	}
	return faults.Err()
}

// snapshotFaults refuses terms that could not be read again.
func (o Order) snapshotFaults(faults *pricing.ValidationError) {
	for i := range o.Coupons {
		s, field := &o.Coupons[i], fmt.Sprintf("coupons[%d].", i)
		textFault(faults, field+"id", s.ID, MaxIDLength, true)
		textFault(faults, field+"name", s.Name, MaxMetadataLength, false)
		for _, required := range []struct {
			name  string
			given bool
		}{
			{"code", !s.Code.IsZero()},
			{"discountType", s.DiscountType != 0},
			{"currency", !s.Currency.IsZero()},
			{"appliesTo", s.AppliesTo != 0},
			{"distribution", s.Distribution != 0},
		} {
			if !required.given {
				faults.Add(field+required.name, pricing.FieldRequired, "is required")
			}
		}
	}
}

func (o Order) metadataFaults(faults *pricing.ValidationError) {
	if len(o.Metadata) > MaxMetadata {
		faults.Add("metadata", pricing.FieldTooLong, fmt.Sprintf("at most %d entries", MaxMetadata))
		return
	}
	for _, k := range slices.Sorted(maps.Keys(o.Metadata)) {
		textFault(faults, "metadata", k, MaxIDLength, false)
		textFault(faults, "metadata."+k, o.Metadata[k], MaxMetadataLength, false)
	}
}

func claimFaults(faults *pricing.ValidationError, claims []Claim) {
	if len(claims) > MaxClaims {
		faults.Add("claims", pricing.FieldTooLong, fmt.Sprintf("at most %d claims", MaxClaims))
		return
	}
	for i, c := range claims {
		field := fmt.Sprintf("claims[%d]", i)
		textFault(faults, field+".counter", c.Counter, MaxCounterLength, true)
		switch {
		case c.Amount < 1:
			faults.Add(field+".amount", pricing.FieldTooSmall, "must be at least 1")
		case c.Amount > MaxAmount:
			faults.Add(field+".amount", pricing.FieldTooLarge, fmt.Sprintf("must be at most %d", int64(MaxAmount)))
		}
		if c.Limit < 0 {
			faults.Add(field+".limit", pricing.FieldTooSmall, "must be at least 0")
		}
	}
}

func textFault(faults *pricing.ValidationError, field, value string, most int, required bool) {
	switch {
	case value == "" && required:
		faults.Add(field, pricing.FieldRequired, "is required")
	case len(value) > most:
		faults.Add(field, pricing.FieldTooLong, fmt.Sprintf("at most %d bytes", most))
	case !isText(value):
		faults.Add(field, pricing.FieldMalformed, "must be valid UTF-8 text without NUL")
	}
}

// lastYear is the last one that RFC 3339 can write.
const lastYear = 9999

func instantFault(faults *pricing.ValidationError, field string, at time.Time, required bool) {
	switch year := at.UTC().Year(); {
	case at.IsZero() && required:
		faults.Add(field, pricing.FieldRequired, "is required")
	case year < 1:
		faults.Add(field, pricing.FieldTooSmall, "must be in the years 1 to 9999")
	case year > lastYear:
		faults.Add(field, pricing.FieldTooLarge, "must be in the years 1 to 9999")
	}
}

var errUnknownName = errors.New("unknown name")

func nameOf[T ~uint8](names []string, value T) string {
	if int(value) < len(names) {
		return names[value]
	}
	return ""
}

func parseName[T ~uint8](names []string, text string) (T, error) {
	if i := slices.Index(names, text); i >= 0 && text != "" {
		return T(i), nil
	}
	return 0, fmt.Errorf("%w %q", errUnknownName, text)
}

// CheckRequest names what no store keeps of a key and of metadata, by the paths of an
// order. The error is a [*pricing.ValidationError].
func CheckRequest(key string, metadata map[string]string) error {
	var faults pricing.ValidationError
	textFault(&faults, "key", key, MaxIDLength, false)
	Order{Metadata: metadata}.metadataFaults(&faults)
	return faults.Err()
}

// CheckLines names the IDs of lines, and of what they sell, that no database keeps, by
// paths such as "lines[2].itemId". The error is a [*pricing.ValidationError].
func CheckLines(count int, line func(int) *pricing.Line) error {
	var faults pricing.ValidationError
	for i := range min(count, pricing.MaxLines) {
		if l := line(i); !isText(l.ID) || !isText(l.ItemID) {
			textFault(&faults, fmt.Sprintf("lines[%d].id", i), l.ID, len(l.ID), false)
			textFault(&faults, fmt.Sprintf("lines[%d].itemId", i), l.ItemID, len(l.ItemID), false)
		}
	}
	return faults.Err()
}

// isText reports whether every database keeps the text as it is.
func isText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}
