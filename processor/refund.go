package processor

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/validation"
)

// Refunder is an optional interface of a [Processor]. With a Refunder, the service returns the money
// of a refund to the customer, and learns of refunds and disputes that it did not begin.
//
// All amounts are in minor units of the session's currency. Every method may also return
// [ErrUnavailable] or [ErrForbidden].
type Refunder interface {
	// Refund returns a part of the payment of a session, or all of it. Refund returns these errors and
	// then has made no refund:
	//
	//   - [ErrNotFound] means that the session does not exist.
	//   - [ErrRejected] means that the request is invalid, that the session is not paid, that the amount
	//     is more than is left of the payment, or that the processor refuses the refund for a reason of
	//     its own, such as an open dispute.
	//
	// A call that repeats a Key returns the refund of the first call in its current state, however
	// long ago the first call was and from whatever process. A repeated call after a lost answer makes
	// no second refund. A call that repeats a Key with another session or amount is undefined, but
	// makes no second refund.
	Refund(ctx context.Context, r RefundRequest) (Refund, error)

	// Refunds returns all refunds and disputes of a payment, including those of staff. The ID is that
	// of a session, or the PaymentID of an [Event]. If the session does not exist or belongs to
	// another application, Refunds returns [ErrNotFound]. A session without a payment has no refunds.
	Refunds(ctx context.Context, id string) (PaymentRefunds, error)
}

// RefundRequest describes a refund to make.
type RefundRequest struct {
	// SessionID is the ID of the paid session.
	SessionID string
	// Key is the idempotency key. It has 1 to [MaxKeyLength] bytes and contains no personal data.
	Key string
	// Amount is the amount to return. It is at least 1.
	Amount int64
	// Metadata is stored with the refund.
	Metadata map[string]string
}

// Validate returns nil or a [*validation.Error] that lists every invalid field. Adapters
// return the error together with [ErrRejected].
func (r RefundRequest) Validate() error {
	var faults validation.Error
	if r.SessionID == "" {
		faults.Add("sessionId", validation.Required, "a session is required")
	}
	switch {
	case r.Key == "":
		faults.Add("key", validation.Required, "a key is required")
	case len(r.Key) > MaxKeyLength:
		faults.Add("key", validation.TooLong, fmt.Sprintf("a key has at most %d bytes", MaxKeyLength))
	}
	if r.Amount < 1 {
		faults.Add("amount", validation.TooSmall, "an amount is at least 1")
	}
	return faults.Err()
}

// Refund is a refund at the processor.
type Refund struct {
	// ID is the processor's ID of the refund.
	ID string
	// Key is the Key of the request. It is empty for a refund that nobody asked for with
	// [Refunder].Refund.
	Key    string
	Amount int64
	// Tax is the part of Amount that is tax which the processor had added, from 0 to Amount. It is 0
	// if the processor does not tell it. The service counts the tax of refunds that it did not ask
	// for as returned.
	Tax    int64
	Status RefundStatus
	// Failure is the reason of a failure, as text for staff. It may be empty.
	Failure string
}

// RefundStatus is the status of a [Refund].
type RefundStatus uint8

// These constants are the values of RefundStatus.
const (
	// RefundPending means that the processor has not finished the refund.
	RefundPending RefundStatus = iota + 1
	// RefundSucceeded means that the processor has sent the money.
	RefundSucceeded
	// RefundFailed means that the customer does not get the money. A refund may fail after it has
	// succeeded, if the customer's bank returns it. A failed refund stays failed.
	RefundFailed
)

// String returns "pending", "succeeded" or "failed". For an unknown status, String returns the empty
// string.
func (s RefundStatus) String() string {
	switch s {
	case RefundPending:
		return "pending"
	case RefundSucceeded:
		return "succeeded"
	case RefundFailed:
		return "failed"
	}
	return ""
}

// Dispute tells that the customer asks their bank for the money of a payment.
type Dispute struct {
	// ID is the processor's ID of the dispute.
	ID string
	// Amount is the disputed amount.
	Amount int64
	Status DisputeStatus
}

// DisputeStatus is the status of a [Dispute].
type DisputeStatus uint8

// These constants are the values of DisputeStatus.
const (
	// DisputeOpen means that nothing is decided.
	DisputeOpen DisputeStatus = iota + 1
	// DisputeWon means that the host keeps the money.
	DisputeWon
	// DisputeLost means that the customer has the money back.
	DisputeLost
)

// String returns "open", "won" or "lost". For an unknown status, String returns the empty string.
func (s DisputeStatus) String() string {
	switch s {
	case DisputeOpen:
		return "open"
	case DisputeWon:
		return "won"
	case DisputeLost:
		return "lost"
	}
	return ""
}

// PaymentRefunds is what became of the payment of a session.
type PaymentRefunds struct {
	// SessionID and Metadata are those of the session.
	SessionID string
	Metadata  map[string]string
	// Refunds and Disputes are in no particular order.
	Refunds  []Refund
	Disputes []Dispute
}
