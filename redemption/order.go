package redemption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are the inclusive upper bounds of orders and uses.
const (
	// MaxIDLength is the maximum length of an ID or a key, in bytes.
	MaxIDLength = 255
	// MaxUses is the maximum number of coupons in an order.
	MaxUses = 32
	// MaxClaims is the maximum number of claims that a new order or a new use can have. A payment
	// may add claims; see [MaxLearned].
	MaxClaims = 64
	// MaxMetadata is the maximum number of metadata entries in an order.
	MaxMetadata = 50
	// MaxMetadataLength is the maximum length of a metadata value, in bytes. A session URL has
	// the same maximum length.
	MaxMetadataLength = 10_000
)

// OrderIDPrefix is the prefix of the order IDs that couponkit.Service creates.
const OrderIDPrefix = "ord_"

// OrderState is the state of an order.
type OrderState uint8

// These constants are the states of an order.
const (
	// OrderOpen means that the customer has not paid yet.
	OrderOpen OrderState = iota + 1
	// OrderAwaitingPayment means that the customer used a delayed payment method and the
	// payment has not arrived yet.
	OrderAwaitingPayment
	// OrderPaid means that the payment has arrived.
	OrderPaid
	// OrderCancelled means that the order ended without a payment.
	OrderCancelled
	// OrderPartlyRefunded means that the order was paid and a part of it was refunded.
	OrderPartlyRefunded
	// OrderRefunded means that the order was paid and everything was refunded.
	OrderRefunded
	// OrderEnding means that the order was given up, and that its payment can perhaps still be paid.
	// The order keeps its claims until the end of the payment is recorded.
	OrderEnding
)

var orderStates = enum.Names{
	OrderOpen: "open", OrderAwaitingPayment: "awaiting_payment", OrderPaid: "paid", OrderCancelled: "cancelled",
	OrderPartlyRefunded: "partly_refunded", OrderRefunded: "refunded", OrderEnding: "ending",
}

// String returns "open", "awaiting_payment", "paid", "cancelled", "partly_refunded", "refunded" or
// "ending".
func (s OrderState) String() string { return orderStates.Of(uint8(s)) }

// ParseOrderState returns the OrderState with the given name. For an unknown name, ParseOrderState returns a
// [*validation.Error].
func ParseOrderState(text string) (v OrderState, err error) {
	err = v.UnmarshalText([]byte(text))
	return v, err
}

// MarshalText returns the same name as String.
func (s OrderState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText works like [ParseOrderState].
func (s *OrderState) UnmarshalText(text []byte) error { return orderStates.Parse(text, (*uint8)(s)) }

// Ended reports whether the order is paid, refunded or cancelled.
func (s OrderState) Ended() bool { return s.Paid() || s == OrderCancelled }

// Paid reports whether the payment has arrived, even if it was refunded later.
func (s OrderState) Paid() bool {
	return s == OrderPaid || s == OrderPartlyRefunded || s == OrderRefunded
}

// holds returns the state of the claims of an order in state s.
func (s OrderState) holds() State {
	switch s {
	case OrderOpen, OrderAwaitingPayment, OrderEnding:
		return Reserved
	case OrderPaid, OrderPartlyRefunded, OrderRefunded:
		return Completed
	case OrderCancelled:
	}
	return Released
}

// Order is what a customer buys in one checkout (specification 2.5). An order contains copies of
// its quote and of the coupon terms. Changing a coupon does not change existing orders.
type Order struct {
	// ID is the ID of the order. The metadata of the payment session contains the order's ID.
	ID string `json:"id"`
	// Key is the idempotency key of the checkout. No two orders of a customer have the same key.
	// Key is empty for an order that was not created by a checkout.
	Key string `json:"key,omitempty"`
	// Fingerprint is a hash of the checkout request. A repeated request with the same key must
	// have the same Fingerprint.
	Fingerprint string `json:"fingerprint,omitempty"`
	// CustomerID is the ID of the customer.
	CustomerID string `json:"customerId,omitempty"`
	// State is the state of the order.
	State OrderState `json:"state"`
	// SessionID and SessionURL identify the payment session at the processor. Of a payment at the host's
	// own provider, they are its ID and URL. They are empty if the order has no payment yet.
	SessionID  string `json:"sessionId,omitempty"`
	SessionURL string `json:"sessionUrl,omitempty"`
	// Replaces is the ID of the customer's older order that this order replaced.
	Replaces string `json:"replaces,omitempty"`
	// ReplacedBy is the ID of the order that took over the claims of this order.
	ReplacedBy string `json:"replacedBy,omitempty"`
	// Awaits is the ID of an earlier order of the customer whose payment could still be paid when this
	// order replaced it, or an order after it. The payment of this order does not begin before the end
	// of that payment is recorded.
	Awaits string `json:"awaits,omitempty"`
	// Kept is the number of claims at the end of Claims that this order does not need itself. It keeps them
	// for a late payment of the order in Awaits. They are freed when the payment of
	// this order is begun, or when this order ends.
	Kept int `json:"kept,omitempty"`
	// BegunAt is when the payment of the order was begun, if the payment can perhaps still be paid.
	// BegunAt is zero if no payment was begun, if it was paid, or if its end is recorded.
	BegunAt time.Time `json:"begunAt,omitzero"`
	// Asks is the version of the order at which a payment was said to be on its way after another order
	// had replaced this one. Someone has to ask whether it still is; see [AskPayment]. Asks is 0 if
	// nothing has to be asked.
	Asks int64 `json:"asks,omitempty"`
	// Claims are the order's own claims, and those that it keeps; see Kept. The claims for coupons are stored in the uses.
	Claims []eligibility.Claim `json:"claims,omitempty"`
	// Coupons are the terms of the order's coupons at the time of the checkout.
	Coupons []coupon.Snapshot `json:"coupons,omitempty"`
	// Quote contains the prices and the discount of the order.
	Quote pricing.Quote `json:"quote"`
	// Charge is what the processor has charged. It is zero if the order was not paid.
	Charge Charge `json:"charge,omitzero"`
	// Refunds are the refunds of the order, the oldest first.
	Refunds []Refund `json:"refunds,omitempty"`
	// ExternalRefunds are refunds at the processor that the service did not ask for, the oldest first.
	ExternalRefunds []ExternalRefund `json:"externalRefunds,omitempty"`
	// Disputes are the disputes of the payment, the oldest first.
	Disputes []Dispute `json:"disputes,omitempty"`
	// OtherPayments are payments that name the order and came in other payment sessions, the oldest
	// first.
	OtherPayments []Payment `json:"otherPayments,omitempty"`
	// Metadata contains the host's own data. The package redemption does not interpret it.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Deadline is the first instant at which a Lapsed event may cancel the order. If Deadline is
	// zero, the order cannot lapse. The deadline of an order that is ending or has ended is when a
	// sweep looks at what is due; see [Order.Due].
	Deadline time.Time `json:"deadline,omitzero"`
	// CreatedAt and UpdatedAt are in UTC, with microsecond precision.
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// Version is 1 when the order is first stored. Every change of the order increases Version
	// by 1.
	Version int64 `json:"version"`
}

// IsZero reports whether the order has no ID.
func (o Order) IsZero() bool { return o.ID == "" }

// Total returns what the order costs.
func (o Order) Total() pricing.Money { return pricing.NewMoney(o.Quote.Total, o.Quote.Currency) }

// Clone returns a copy of the order that shares no memory with o. Empty lists and maps become nil,
// as they are when an order is read from a store.
func (o Order) Clone() Order {
	o.Quote = o.Quote.Clone()
	o.Metadata = maps.Clone(o.Metadata)
	o.Charge = o.Charge.Clone()
	if len(o.Metadata) == 0 {
		o.Metadata = nil
	}
	o.Claims, o.Coupons, o.Refunds = slices.Concat(o.Claims), slices.Concat(o.Coupons), slices.Concat(o.Refunds) // nil if empty
	o.ExternalRefunds, o.Disputes = slices.Concat(o.ExternalRefunds), slices.Concat(o.Disputes)
	for i := range o.Refunds {
		o.Refunds[i].Result, o.Refunds[i].FailedIDs = o.Refunds[i].Result.Clone(), slices.Clone(o.Refunds[i].FailedIDs)
	}
	o.OtherPayments = slices.Concat(o.OtherPayments)
	for i := range o.OtherPayments {
		o.OtherPayments[i].Charge = o.OtherPayments[i].Charge.Clone()
	}
	return o
}

// Validate checks an order before it is stored. The error is a [*validation.Error] that
// lists every invalid field.
func (o Order) Validate() error {
	var faults validation.Error
	textFault(&faults, "id", o.ID, MaxIDLength, true)
	textFault(&faults, "key", o.Key, MaxIDLength, false)
	textFault(&faults, "fingerprint", o.Fingerprint, MaxIDLength, false)
	textFault(&faults, "customerId", o.CustomerID, MaxIDLength, o.Key != "")
	textFault(&faults, "sessionId", o.SessionID, MaxIDLength, false)
	textFault(&faults, "sessionUrl", o.SessionURL, MaxMetadataLength, false)
	textFault(&faults, "replaces", o.Replaces, MaxIDLength, false)
	if o.State.String() == "" {
		faults.Add("state", validation.Unknown, stateMessage)
	}
	textFault(&faults, "replacedBy", o.ReplacedBy, MaxIDLength, false)
	textFault(&faults, "awaits", o.Awaits, MaxIDLength, false)
	instantFault(&faults, "createdAt", o.CreatedAt, true)
	instantFault(&faults, "begunAt", o.BegunAt, false)
	instantFault(&faults, "deadline", o.Deadline, false)
	if len(o.Coupons) > MaxUses {
		faults.Add("coupons", validation.TooLong, fmt.Sprintf("at most %d coupons", MaxUses))
	} else {
		for i := range o.Coupons {
			if err := snapshotFault(&o.Coupons[i]); err != nil { // a path costs an allocation
				faults.Merge(fmt.Sprintf("coupons[%d]", i), err)
			}
		}
	}
	claimFaults(&faults, o.OwnClaims())
	o.Charge.faults(&faults)
	o.metadataFaults(&faults)
	if !o.Quote.Currency.IsZero() || o.Key != "" {
		faults.Merge("quote", o.Quote.Validate())
		faults.Merge("quote", CheckLines(len(o.Quote.Lines), func(i int) *pricing.Line { return &o.Quote.Lines[i].Line }))
	}
	return faults.Err()
}

const stateMessage = "must be open, awaiting_payment, paid, cancelled, partly_refunded, refunded or ending"

// snapshotFault reports coupon terms that a store could not return.
func snapshotFault(s *coupon.Snapshot) error {
	var faults validation.Error
	textFault(&faults, "id", s.ID, MaxIDLength, true)
	textFault(&faults, "name", s.Name, MaxMetadataLength, false)
	for _, required := range [...]struct {
		name  string
		given bool
	}{
		{"discountType", !s.Discount.IsZero()},
		{"currency", !s.Currency.IsZero()},
		{"appliesTo", s.Scope.AppliesTo != 0},
		{"refundPolicy", s.RefundPolicy != 0},
	} {
		if !required.given {
			faults.Add(required.name, validation.Required, "is required")
		}
	}
	return faults.Err()
}

func (o Order) metadataFaults(faults *validation.Error) {
	if len(o.Metadata) > MaxMetadata {
		faults.Add("metadata", validation.TooLong, fmt.Sprintf("at most %d entries", MaxMetadata))
		return
	}
	if len(o.Metadata) == 0 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(o.Metadata)) {
		textFault(faults, "metadata", k, MaxIDLength, false)
		textFault(faults, "metadata."+k, o.Metadata[k], MaxMetadataLength, false)
	}
}

func claimFaults(faults *validation.Error, claims []eligibility.Claim) {
	if len(claims) > MaxClaims {
		faults.Add("claims", validation.TooLong, fmt.Sprintf("at most %d claims", MaxClaims))
		return
	}
	for i := range claims {
		if err := claimFault(&claims[i]); err != nil {
			faults.Merge(fmt.Sprintf("claims[%d]", i), err)
		}
	}
}

func claimFault(c *eligibility.Claim) error {
	var faults validation.Error
	textFault(&faults, "counter", c.Counter, eligibility.MaxCounterLength, true)
	switch {
	case c.Amount < 1:
		faults.Add("amount", validation.TooSmall, "must be at least 1")
	case c.Amount > eligibility.MaxAmount:
		faults.Add("amount", validation.TooLarge, fmt.Sprintf("must be at most %d", int64(eligibility.MaxAmount)))
	}
	if c.Limit < 0 {
		faults.Add("limit", validation.TooSmall, "must be at least 0")
	}
	if c.Returned < 0 || c.Returned > c.Amount {
		faults.Add("returned", validation.Mismatch, "must be at least 0 and at most the amount")
	}
	return faults.Err()
}

func textFault(faults *validation.Error, field, value string, most int, required bool) {
	switch {
	case value == "" && required:
		faults.Add(field, validation.Required, "is required")
	case len(value) > most:
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d bytes", most))
	case !isText(value):
		faults.Add(field, validation.Malformed, "must be valid UTF-8 text without NUL")
	}
}

// lastYear is the last year that RFC 3339 can express.
const lastYear = 9999

func instantFault(faults *validation.Error, field string, at time.Time, required bool) {
	switch year := at.UTC().Year(); {
	case at.IsZero() && required:
		faults.Add(field, validation.Required, "is required")
	case year < 1:
		faults.Add(field, validation.TooSmall, "must be in the years 1 to 9999")
	case year > lastYear:
		faults.Add(field, validation.TooLarge, "must be in the years 1 to 9999")
	}
}

// CheckRequest checks whether the idempotency key and the metadata of a checkout can be stored.
// The error is a [*validation.Error] that lists every invalid field by its path, such as
// "metadata.color".
func CheckRequest(key string, metadata map[string]string) error {
	var faults validation.Error
	textFault(&faults, "key", key, MaxIDLength, false)
	Order{Metadata: metadata}.metadataFaults(&faults)
	return faults.Err()
}

// CheckOrderID checks whether an ID of an order or of a payment can be stored. The empty ID can. The
// error is a [*validation.Error] about orderId.
func CheckOrderID(id string) error {
	var faults validation.Error
	textFault(&faults, "orderId", id, MaxIDLength, false)
	return faults.Err()
}

// CheckCustomerID checks whether the ID of a customer can be stored. The empty ID can. The error is a
// [*validation.Error] about customerId.
func CheckCustomerID(id string) error {
	var faults validation.Error
	textFault(&faults, "customerId", id, MaxIDLength, false)
	return faults.Err()
}

// CheckLines checks whether the IDs and the item IDs of cart lines can be stored. An ID can be
// stored if it is valid UTF-8 without NUL characters. The function line returns the cart line
// with the given index. CheckLines checks at most [pricing.MaxLines] lines. The error is a
// [*validation.Error] that lists every invalid field by its path, such as
// "lines[2].itemId".
func CheckLines(count int, line func(int) *pricing.Line) error {
	var faults validation.Error
	for i := range min(count, pricing.MaxLines) {
		if l := line(i); !isText(l.ID) || !isText(l.ItemID) {
			textFault(&faults, fmt.Sprintf("lines[%d].id", i), l.ID, len(l.ID), false)
			textFault(&faults, fmt.Sprintf("lines[%d].itemId", i), l.ItemID, len(l.ItemID), false)
		}
	}
	return faults.Err()
}

// isText reports whether every database can store the text unchanged.
func isText(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsRune(value, 0)
}
