package couponkit

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// Users is the host's directory of users (specification 4.4, validation 4).
type Users interface {
	// User returns the user of that ID, or an error that matches ErrUserNotFound.
	User(ctx context.Context, id string) (User, error)
}

// User is a signed-in user.
type User struct {
	// ID is the one that was asked for. The user's uses are counted by it; without it the
	// user is nobody.
	ID string
	// Email is looked up in allow-lists, whatever its letter case; empty is on none.
	Email string
}

// Points is the host's ledger of points (specification 3.2). Both methods are
// idempotent by the exchange's ID, and may be repeated long after they took
// effect.
type Points interface {
	// Debit takes points from the customer's balance. Too small a balance is an error
	// that matches ErrInsufficientPoints; a reservation that was refunded before is
	// one that matches ErrReservationClosed. Both leave the balance alone.
	Debit(ctx context.Context, customerID, exchangeID string, points int64) error

	// Refund gives back what Debit took for the reservation, once. When Debit took
	// nothing, it closes the reservation, so that a Debit that arrives late is
	// refused.
	Refund(ctx context.Context, customerID, exchangeID string) error
}

// Errors of the host's interfaces.
var (
	// ErrUserNotFound: the directory does not know the user.
	ErrUserNotFound = errors.New("user not found")
	// ErrInsufficientPoints: the balance is smaller than what is to be debited. ExchangePoints
	// returns it with a [*coupon.Rejection] of coupon.PointsNotRedeemed, whose message tells
	// the customer to exchange points: ask for this error first, and tell them what they lack.
	ErrInsufficientPoints = errors.New("insufficient points")
	// ErrReservationClosed: the reservation was given up, and its points, if any were
	// debited, are refunded.
	ErrReservationClosed = errors.New("reservation closed")
)

// Operation names what was attempted.
type Operation string

// The operations that an [Observer] is told of.
const (
	OpCreate         Operation = "create"
	OpUpdate         Operation = "update"
	OpSetActive      Operation = "set_active"
	OpDelete         Operation = "delete"
	OpValidate       Operation = "validate"
	OpQuote          Operation = "quote"
	OpCheckout       Operation = "checkout"
	OpPaymentLink    Operation = "payment_link"
	OpExchangePoints Operation = "exchange_points"
	OpCancelExchange Operation = "cancel_exchange"
	OpEvent          Operation = "event"
	// OpSettle is no call of its own: Checkout, PaymentLink, CancelExchange or Sweep has found
	// out how a session has ended, or that there is none, and has settled order and reservation
	// as HandleEvent would have. The session's event may come later or never.
	OpSettle    Operation = "settle"
	OpSweep     Operation = "sweep"
	OpReconcile Operation = "reconcile"
)

// Attempt is one call of the service, or a settlement within one ([OpSettle]), with its
// outcome. It holds IDs and no other personal data: no e-mail address, and not the code that
// somebody typed. Err alone may quote what was typed, such as the address of an allow-list
// that is none.
type Attempt struct {
	Operation Operation
	// CouponID is the coupon that was found, or the ID that an administrator's call was given.
	CouponID   string
	CustomerID string
	OrderID    string
	SessionID  string
	// Reasons are the codes of a refusal, in their order; empty when there is none.
	Reasons []coupon.RejectionCode
	// Err is the error that the call returned, or tells of a panic; nil for success.
	Err error
	// Flag tells of a success that somebody should look at; FlagNone otherwise.
	Flag Flag
	// At is when the call began, Duration how long it took, by the service's clock.
	At       time.Time
	Duration time.Duration
}

// Flag marks a success that needs a look.
type Flag string

// The flags.
const (
	// FlagNone: nothing unusual.
	FlagNone Flag = ""
	// FlagOverLimit: a payment was recorded although no place was left.
	FlagOverLimit Flag = "over_limit"
	// FlagAmountMismatch: the session charged another amount than the order's total. The
	// log names order and amounts, whoever has found the payment.
	FlagAmountMismatch Flag = "amount_mismatch"
	// FlagPointsRefunded: a payment was recorded whose points had been refunded.
	FlagPointsRefunded Flag = "points_refunded"
)

// Observer is told of every attempt, refused and failed ones included: for metrics,
// audit logs and limiting of guesses, and for a look at the order of each [OpSettle]. Observe
// is called in the caller's goroutine, from many at once, and should return quickly. It is
// told once, and not again after a crash.
type Observer interface {
	Observe(ctx context.Context, a Attempt)
}

// ObserverFunc is a function as an Observer.
type ObserverFunc func(ctx context.Context, a Attempt)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, a Attempt) { f(ctx, a) }
