package couponkit

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// Users is the host's directory of users (specification 4.4, validation 4). Implementations of
// Users must be safe for concurrent use.
type Users interface {
	// User returns the user with the ID. For an unknown ID, User returns an error that matches
	// ErrUserNotFound.
	User(ctx context.Context, id string) (User, error)
}

// User is a signed-in user.
type User struct {
	// ID is the ID with which the method User was called. The service counts a customer's coupon
	// uses by the user's ID. A User with an empty ID means that the user does not exist.
	ID string
	// Email is the address that the service looks up in allow-lists, in any letter case. No
	// allow-list contains an empty address.
	Email string
}

// Points is the host's ledger of points (specification 3.2). Debit and Refund must be idempotent
// for each reservation ID. The service may repeat a Debit or Refund long after it took effect.
// Debit and Refund must be safe for concurrent use.
type Points interface {
	// Debit takes points from the customer's balance. Debit returns an error that matches
	// ErrInsufficientPoints when the balance is too small. Debit returns an error that matches
	// ErrReservationClosed when the reservation was refunded before. A Debit that returns
	// ErrInsufficientPoints or ErrReservationClosed leaves the balance unchanged.
	Debit(ctx context.Context, customerID, reservationID string, points int64) error

	// Refund gives back the points that Debit took for the reservation. A repeated Refund gives no
	// points back a second time. Refund also closes the reservation, so that every later Debit for
	// the reservation fails. Refund closes the reservation even if no points were debited before.
	Refund(ctx context.Context, customerID, reservationID string) error
}

// The errors below are returned by the host's implementations of [Users] and [Points].
var (
	// ErrUserNotFound means that the directory of users does not know the user.
	ErrUserNotFound = errors.New("user not found")
	// ErrInsufficientPoints means that the customer's balance is smaller than the points to be
	// debited. ExchangePoints returns ErrInsufficientPoints together with a [*coupon.Rejection] of
	// coupon.PointsNotRedeemed. The message of the rejection tells the customer to exchange points.
	// Check for ErrInsufficientPoints before you check for the rejection. After
	// ErrInsufficientPoints, tell the customer how many points they lack.
	ErrInsufficientPoints = errors.New("insufficient points")
	// ErrReservationClosed means that the reservation was given up. Points that were debited for
	// the reservation are refunded.
	ErrReservationClosed = errors.New("reservation closed")
)

// Operation names a kind of attempt.
type Operation string

// These constants are the operations that an [Observer] receives.
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
	// OpSettle is a step within Checkout, PaymentLink, CancelExchange or Sweep. In an OpSettle
	// step, the service has found out how a payment session ended. In the same step, the service
	// records the result for the session's order and reservation, as HandleEvent does. The
	// session's event may arrive later or never.
	OpSettle    Operation = "settle"
	OpSweep     Operation = "sweep"
	OpReconcile Operation = "reconcile"
)

// Attempt describes one call of a Service method and its result. An Attempt with [OpSettle]
// describes a step within a call. The fields of an Attempt contain no personal data except IDs and
// what Err quotes. Err may quote invalid input, such as a malformed address of an allow-list.
type Attempt struct {
	Operation Operation
	// CouponID is the ID of the coupon that was found, or the ID that an administrator passed.
	CouponID   string
	CustomerID string
	OrderID    string
	SessionID  string
	// Reasons are the codes of a refusal in the order of the rejection. Reasons is empty if the
	// call was not refused.
	Reasons []coupon.RejectionCode
	// Err is the error that the call returned, or an error that describes a panic. Err is nil after
	// a success.
	Err error
	// Flag marks a payment that a person should look at. Flag is FlagNone if the attempt has no
	// such payment.
	Flag Flag
	// At is the time at which the call began, by the service's clock. Duration is how long the call
	// took, by the service's clock.
	At       time.Time
	Duration time.Duration
}

// Flag marks a payment that a person should look at.
type Flag string

// These constants are the flags of a payment.
const (
	// FlagNone means that nobody needs to look at the payment.
	FlagNone Flag = ""
	// FlagOverLimit marks a payment that was recorded although the coupon's limit was reached.
	FlagOverLimit Flag = "over_limit"
	// FlagAmountMismatch marks a payment whose amount differs from the order's total. The service
	// logs the order and both amounts.
	FlagAmountMismatch Flag = "amount_mismatch"
	// FlagPointsRefunded marks a payment that was recorded after the reservation's points were
	// refunded.
	FlagPointsRefunded Flag = "points_refunded"
)

// Observer receives every attempt, including refused and failed attempts. An Observer serves
// metrics, audit logs and limits on guessing codes. The service calls Observe in the goroutine of
// the attempt. Many goroutines may call Observe at once, so Observe should return quickly and be
// safe for concurrent use. Observe receives each attempt once, and does not receive the attempt
// again after a crash.
type Observer interface {
	Observe(ctx context.Context, a Attempt)
}

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(ctx context.Context, a Attempt)

// Observe calls the function f.
func (f ObserverFunc) Observe(ctx context.Context, a Attempt) { f(ctx, a) }
