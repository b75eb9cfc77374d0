package processor

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// EventType tells what happened to a session.
type EventType uint8

// The event types. The host acknowledges an Ignored event and does nothing else.
const (
	Ignored          EventType = iota // any other event
	Completed                         // the customer has finished the session; see Event.PaymentStatus
	PaymentSucceeded                  // a delayed payment has arrived
	PaymentFailed                     // a delayed payment has failed
	Expired                           // the session has ended unpaid
)

// String returns "ignored", "completed", "payment_succeeded", "payment_failed" or
// "expired". An unknown type returns "".
func (t EventType) String() string {
	switch t {
	case Ignored:
		return "ignored"
	case Completed:
		return "completed"
	case PaymentSucceeded:
		return "payment_succeeded"
	case PaymentFailed:
		return "payment_failed"
	case Expired:
		return "expired"
	}
	return ""
}

// Event is an authenticated webhook delivery (specification 6). Events may arrive
// twice, late and in any order.
type Event struct {
	// ID is the processor's ID, for logs. The processor may report one fact under two
	// IDs.
	ID string
	// Type tells what happened.
	Type EventType
	// SessionID is the session of the event.
	SessionID string
	// PaymentStatus is the payment status of the session.
	PaymentStatus PaymentStatus
	// Currency and Total are what the session charges, Total in minor units.
	Currency pricing.Currency
	Total    int64
	// Metadata is the metadata of the session.
	Metadata map[string]string
	// CreatedAt is when the processor created the event.
	CreatedAt time.Time
}

// Abilities describes what a processor can do.
type Abilities struct {
	// MinimumCharge is the minimum total above 0, in minor units by currency. A missing
	// currency has no minimum.
	MinimumCharge map[pricing.Currency]int64
	// NoZeroTotal means that a session needs a total above 0. A cart that costs 0 is
	// then refused with coupon.ErrBelowMinimumCharge.
	NoZeroTotal bool
	// MaxLines is the maximum number of lines of a session; 0 means no limit. An
	// adapter that merges lines declares 0.
	MaxLines int
	// OneInterval means that all recurring lines of a session must have the same
	// interval. Lines that are paid once are always allowed. A request with two
	// intervals is ErrRejected.
	OneInterval bool
	// AmountStep is the smallest chargeable amount, in minor units by currency. A
	// missing currency has a step of 1. The service prices carts with this
	// pricing.Cart.Step. A request with an amount that is not a multiple is
	// ErrRejected.
	AmountStep map[pricing.Currency]int64
	// MinSessionLifetime and MaxSessionLifetime bound the time until ExpiresAt; zero
	// means no bound. The service measures from the creation of the order, which is
	// slightly earlier than the call. The adapter must tolerate the difference.
	MinSessionLifetime time.Duration
	MaxSessionLifetime time.Duration
	// MirrorsExpiry means that a promotion code expires together with its coupon. The
	// mirror of an expired coupon is then MirrorInvalid, and Reconcile accepts this
	// status.
	MirrorsExpiry bool
	// NeedsSuccessURL means that a session requires a SuccessURL.
	NeedsSuccessURL bool
	// CheckCoupon returns a *pricing.ValidationError if the processor cannot mirror the
	// coupon. Causes are a forbidden character of the code or too many decimals of the
	// percentage. A nil CheckCoupon accepts every coupon.
	CheckCoupon func(c coupon.Coupon) error
}
