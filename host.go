package couponkit

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
)

// Users is the host's directory of users (specification 4.4, validation 4). It is safe for
// concurrent use.
type Users interface {
	// User returns the user with the ID, or an error that matches ErrUserNotFound.
	User(ctx context.Context, id string) (User, error)
}

// User is a signed-in user.
type User struct {
	// ID is the requested ID. Uses are counted by ID. An empty ID means that the user does not
	// exist.
	ID string
	// Email is looked up in allow-lists, in any letter case. An empty address is on no list.
	Email string
}

// Points is the host's ledger of points (specification 3.2). Both methods are idempotent by the
// exchange's ID, and may be repeated long after they took effect. They are safe for concurrent
// use.
type Points interface {
	// Debit takes points from the customer's balance. The error matches ErrInsufficientPoints
	// when the balance is too small, and ErrReservationClosed when the reservation was refunded
	// before. Both errors leave the balance unchanged.
	Debit(ctx context.Context, customerID, exchangeID string, points int64) error

	// Refund gives back the points that Debit took for the reservation, only once. It also
	// closes the reservation: every later Debit is refused, even if no points were debited
	// before.
	Refund(ctx context.Context, customerID, exchangeID string) error
}

// Errors of the host's interfaces.
var (
	// ErrUserNotFound means that the directory does not know the user.
	ErrUserNotFound = errors.New("user not found")
	// ErrInsufficientPoints means that the balance is smaller than the points to be debited.
	// ExchangePoints returns it together with a [*coupon.Rejection] of coupon.PointsNotRedeemed.
	// The message of that rejection tells the customer to exchange points. Check for this error
	// first, and tell the customer how many points they lack.
	ErrInsufficientPoints = errors.New("insufficient points")
	// ErrReservationClosed means that the reservation was given up. Points that had been
	// debited for it are refunded.
	ErrReservationClosed = errors.New("reservation closed")
)

// Operation names a kind of attempt.
type Operation string

// The operations that an [Observer] gets.
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
	// OpSettle is a step within Checkout, PaymentLink, CancelExchange or Sweep. The call has
	// found out how a session ended, and has settled its order and reservation as HandleEvent
	// does. The session's event may arrive later or never.
	OpSettle    Operation = "settle"
	OpSweep     Operation = "sweep"
	OpReconcile Operation = "reconcile"
)

// Attempt is one call of the service with its result, or a settlement within a call
// ([OpSettle]). Except for IDs, its fields hold no personal data. Only Err may quote input, such
// as a malformed address of an allow-list.
type Attempt struct {
	Operation Operation
	// CouponID is the coupon that was found, or the ID that an administrator passed.
	CouponID   string
	CustomerID string
	OrderID    string
	SessionID  string
	// Reasons are the codes of a refusal, in their order. They are empty without a refusal.
	Reasons []coupon.RejectionCode
	// Err is the error that the call returned, or describes a panic. It is nil after a success.
	Err error
	// Flag marks a payment that a person should look at. It is FlagNone otherwise.
	Flag Flag
	// At is when the call began, and Duration is how long it took, by the service's clock.
	At       time.Time
	Duration time.Duration
}

// Flag marks a payment that a person should look at.
type Flag string

// The flags.
const (
	// FlagNone marks nothing.
	FlagNone Flag = ""
	// FlagOverLimit marks a payment that was recorded although the coupon's limit was reached.
	FlagOverLimit Flag = "over_limit"
	// FlagAmountMismatch marks a payment of another amount than the order's total. The logger
	// gets the order and both amounts.
	FlagAmountMismatch Flag = "amount_mismatch"
	// FlagPointsRefunded marks a payment that was recorded after its points were refunded.
	FlagPointsRefunded Flag = "points_refunded"
)

// Observer gets every attempt, including refused and failed ones. It serves metrics, audit logs
// and limits on guessing. Observe runs in the goroutine of the call, often in many at once, and
// should return quickly. It gets an attempt once, and not again after a crash.
type Observer interface {
	Observe(ctx context.Context, a Attempt)
}

// ObserverFunc makes an Observer of a function.
type ObserverFunc func(ctx context.Context, a Attempt)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, a Attempt) { f(ctx, a) }
