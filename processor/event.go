package processor

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// EventType tells what happened to a payment session or to its payment.
type EventType uint8

// These constants are the types of an [Event].
const (
	// Ignored is the type of every event that couponkit does not need. The host acknowledges an
	// Ignored event and does nothing else.
	Ignored EventType = iota
	// Completed means that the customer has finished the session. [Event].PaymentStatus tells
	// whether the payment has arrived.
	Completed
	// PaymentSucceeded means that a delayed payment has arrived.
	PaymentSucceeded
	// PaymentFailed means that a delayed payment has failed.
	PaymentFailed
	// Expired means that the session has ended without a payment.
	Expired
	// RefundChanged means that a refund of a payment was made or has changed. Staff at the processor
	// may have made it.
	RefundChanged
	// DisputeChanged means that a dispute of a payment was opened or has changed.
	DisputeChanged
)

// String returns "ignored", "completed", "payment_succeeded", "payment_failed", "expired",
// "refund_changed" or "dispute_changed". For an unknown type, String returns the empty string.
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
	case RefundChanged:
		return "refund_changed"
	case DisputeChanged:
		return "dispute_changed"
	}
	return ""
}

// An Event is an authenticated webhook delivery from the processor (specification 6). The same
// Event may arrive twice. Events may arrive late and in any order.
type Event struct {
	// ID is the processor's ID of the event. Use ID only in logs, because the processor may report
	// the same fact in two events with different IDs.
	ID string
	// Type tells what happened to the session.
	Type EventType
	// SessionID is the ID of the session that the event is about. It may be empty in an event about
	// refunds or disputes.
	SessionID string
	// PaymentID names the payment in an event about refunds or disputes. Such an event tells no
	// amounts, because it may be late. The service reads them with [Refunder].Refunds.
	PaymentID string
	// PaymentStatus tells whether the payment of the session has arrived.
	PaymentStatus PaymentStatus
	// Currency is the currency of Total and Tax. Total is the amount that the session charges
	// without Tax, in minor units.
	Currency pricing.Currency
	Total    int64
	// Tax is what the processor has added to Total. If an event does not tell the tax by line, the
	// service asks [Sessions].Session.
	Tax pricing.Tax
	// Metadata is the metadata of the session.
	Metadata map[string]string
	// Payer is what the processor knows about the payer.
	Payer Payer
	// CreatedAt is the time at which the processor created the event.
	CreatedAt time.Time
}

// Payer is what a processor has learned about the person who pays. The service counts the identities
// of the payer for limits per customer; see couponkit.Service.HandleEvent. All fields may be empty.
type Payer struct {
	// Email is the address that the payer entered on the payment page. The processor may not have
	// verified the address.
	Email string
	// Aliases are further texts that identify the payer, such as the fingerprint of a payment card.
	// The same payer must have the same alias in every session.
	Aliases []string
}

// Abilities describes what a processor can do.
type Abilities struct {
	// MinimumCharge contains the minimum total of a session for each currency, in minor units. The
	// minimum does not apply to a total of 0. A currency that is missing from MinimumCharge has no
	// minimum.
	MinimumCharge map[pricing.Currency]int64
	// NoZeroTotal means that the total of every session must be above 0. If NoZeroTotal is true, the
	// service refuses a cart that costs 0 with coupon.ErrBelowMinimumCharge.
	NoZeroTotal bool
	// MaxLines is the maximum number of lines in a session. If MaxLines is 0, the number of lines is
	// unlimited. An adapter that merges lines sets MaxLines to 0.
	MaxLines int
	// OneInterval means that all recurring lines of a session must have the same billing interval.
	// Lines that are paid once are always allowed. CreateSession returns ErrRejected for a request
	// with two different billing intervals.
	OneInterval bool
	// AmountStep contains the smallest chargeable step of each currency, in minor units. The
	// processor can charge only multiples of the step. A currency that is missing from AmountStep
	// has a step of 1. The service uses the step to price carts; see pricing.Cart.Step.
	// CreateSession returns ErrRejected if an amount is not a multiple of the step.
	AmountStep map[pricing.Currency]int64
	// MinSessionLifetime and MaxSessionLifetime limit the time from the creation of a session to its
	// ExpiresAt. A limit of 0 means no limit. The service measures the lifetime from the creation of
	// the order, slightly before it calls CreateSession. The adapter must tolerate the time between
	// the order and the CreateSession call.
	MinSessionLifetime time.Duration
	MaxSessionLifetime time.Duration
	// MirrorsExpiry means that a promotion code at the processor expires together with its coupon.
	// If MirrorsExpiry is true, VerifyMirror returns MirrorInvalid for an expired coupon. If
	// MirrorsExpiry is true, Reconcile accepts an invalid mirror of an expired coupon.
	MirrorsExpiry bool
	// NeedsSuccessURL means that every session request must have a SuccessURL.
	NeedsSuccessURL bool
	// CheckCoupon returns a *validation.Error if the processor refuses the coupon. For
	// example, the code contains a forbidden character, or the percentage has too many decimals.
	// CheckCoupon returns nil for a coupon that is activated without a mirror; see [Mirror]. If
	// CheckCoupon is nil, the processor refuses no coupon.
	CheckCoupon func(c coupon.Coupon) error
}
