package couponkit

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/settle"
)

// Users is the host's user directory (specification 4.4, validation 4). Implementations must be
// safe for concurrent use.
type Users interface {
	// User returns the user with the given ID. If the user does not exist, User must return an error
	// that matches [ErrUserNotFound].
	User(ctx context.Context, id string) (User, error)
}

// User is a signed-in user.
type User struct {
	// ID is the ID that the service passed to [Users], or empty. With another ID, the service logs an
	// error, and the call fails.
	ID string
	// Email is the address that the service looks up in allow-lists, in any letter case. An empty
	// address is on no allow-list.
	Email string
}

// Points is the host's ledger of points (specification 3.2). Both methods must be idempotent for
// each exchange ID. The service may repeat a call long after the first call took effect.
// Implementations must be safe for concurrent use.
type Points interface {
	// Debit takes points from the customer's balance. Debit returns these errors without changing the
	// balance:
	//
	//   - [ErrInsufficientPoints] means that the balance is too small.
	//   - [ErrReservationClosed] means that Refund was already called for the exchange.
	Debit(ctx context.Context, customerID, exchangeID string, points int64) error

	// Refund gives back the points that Debit took for the exchange. Repeated calls give the points
	// back only once. After Refund, every Debit for the same exchange must fail, even if no points
	// were debited before.
	Refund(ctx context.Context, customerID, exchangeID string) error
}

// The host's implementations of [Users] and [Points] return these errors.
var (
	// ErrUserNotFound means that the user is not in the directory.
	ErrUserNotFound = errors.New("user not found")
	// ErrInsufficientPoints means that the customer has too few points. An error of ExchangePoints
	// that matches ErrInsufficientPoints also matches coupon.ErrPointsNotRedeemed. Check for
	// ErrInsufficientPoints first, because the rejection's message only tells the customer to exchange
	// points.
	ErrInsufficientPoints = payments.ErrInsufficientPoints
	// ErrReservationClosed means that an exchange of points was given up. The service refunds any
	// points that were debited for the exchange.
	ErrReservationClosed = payments.ErrReservationClosed
)

// Operation names a kind of [Attempt].
type Operation string

// These constants are the operations that an [Observer] receives.
const (
	OpCreate         Operation = "create"
	OpUpdate         Operation = "update"
	OpSetActive      Operation = "set_active"
	OpDelete         Operation = "delete"
	OpAddCodes       Operation = "add_codes"
	OpCreateCodes    Operation = "create_codes"
	OpAssignCodes    Operation = "assign_codes"
	OpImportCodes    Operation = "import_codes"
	OpUpdateCode     Operation = "update_code"
	OpChangeBatch    Operation = "change_batch"
	OpValidate       Operation = "validate"
	OpQuote          Operation = "quote"
	OpExplain        Operation = "explain"
	OpSuggest        Operation = "suggest"
	OpCheckout       Operation = "checkout"
	OpPrepare        Operation = "prepare"
	OpReserve        Operation = "reserve"
	OpBeginPayment   Operation = "begin_payment"
	OpOpenSession    Operation = "open_session"
	OpAttachPayment  Operation = "attach_payment"
	OpRecord         Operation = "record"
	OpRunDue         Operation = "run_due"
	OpCancel         Operation = "cancel"
	OpPaymentLink    Operation = "payment_link"
	OpCancelCheckout Operation = "cancel_checkout"
	OpRefresh        Operation = "refresh"
	OpExchangePoints Operation = "exchange_points"
	OpCancelExchange Operation = "cancel_exchange"
	OpEvent          Operation = payments.OpEvent
	OpRefund         Operation = payments.OpRefund
	// OpSettle is a step of another call, such as Checkout, CancelCheckout, Refresh, RunDue or Sweep.
	// In this step, the service learns how a payment session ended and updates the order, as
	// HandleEvent does. The event of the payment session may arrive later or never.
	OpSettle    Operation = payments.OpSettle
	OpSweep     Operation = "sweep"
	OpReconcile Operation = "reconcile"
)

// An Attempt describes one call of a [Service] method and its result. An Attempt with [OpSettle]
// describes a step within a call. An Attempt contains no personal data except IDs and the text of
// Err. Err may quote invalid input, such as a malformed address on an allow-list.
type Attempt struct {
	Operation Operation
	// CouponID is the ID of the coupon that the service found. If a request names several coupons,
	// CouponID is the first refused one, or the first one by ID. For Update, SetActive and Delete,
	// CouponID is the ID that the caller passed.
	CouponID   string
	CustomerID string
	OrderID    string
	SessionID  string
	// Reasons contains the reason codes of a rejection, in the order of the rejection. Reasons is
	// empty if the call was not refused. With [WithOpaqueRefusals], CouponID is the true one, and so are Reasons,
	// as far as they depend neither on the cart nor on counters.
	Reasons []coupon.RejectionCode
	// Err is the error that the call returned. After a panic, Err describes the panic. Err is nil if
	// the call succeeded.
	Err error
	// Flag marks a payment that a person should check. Flag is FlagNone if no payment needs to be
	// checked.
	Flag Flag
	// At is the time at which the call began. Duration is how long the call took. At and Duration are
	// measured by the service's clock.
	At       time.Time
	Duration time.Duration
}

// Flag marks a payment that a person should check.
type Flag string

// These constants are the flags of a payment.
const (
	// FlagNone means that nobody needs to check the payment.
	FlagNone Flag = ""
	// FlagUnknownOrder marks a payment whose order the store does not have, such as after a restored
	// backup. The order has the ID that the payment names, and no metadata of the host.
	FlagUnknownOrder Flag = settle.FlagUnknownOrder
	// FlagPaidTwice marks an order that was paid in another payment session than the one that it had.
	// The customer may have paid twice; see [redemption.Order].OtherPayments. Return a second payment
	// at the processor. The flag ends when everything of it was returned. It stays if the order's own
	// session was not paid, because nobody returns the only payment.
	FlagPaidTwice Flag = settle.FlagPaidTwice
	// FlagOverLimit marks a payment that was recorded although the coupon's limit was reached.
	FlagOverLimit Flag = settle.FlagOverLimit
	// FlagAmountMismatch marks a payment whose amount differs from the order's total, or whose tax
	// does not belong to the order; see [redemption.Order.CheckCharge]. The service logs the order and
	// the reason.
	FlagAmountMismatch Flag = settle.FlagAmountMismatch
	// FlagPointsRefunded marks a payment for an order whose points were refunded or used by another
	// order.
	FlagPointsRefunded Flag = settle.FlagPointsRefunded
	// FlagRefundFailed marks a payment of which the processor could not return the money of a refund, or of
	// which a refund lacks money because an external refund has failed since; see [redemption.Order.Owed].
	// Repeat the refund with its key, or return the money elsewhere.
	FlagRefundFailed Flag = settle.FlagRefundFailed
	// FlagDisputed marks a payment that the customer disputes, or has disputed with success.
	FlagDisputed Flag = settle.FlagDisputed
	// FlagExternalRefund marks a payment that was refunded at the processor without the service, such
	// as in the processor's dashboard.
	FlagExternalRefund Flag = settle.FlagExternalRefund
)

// An Observer receives every attempt, including refused and failed attempts. Use an Observer for
// metrics or for audit logs. To limit the guessing of codes, use [WithLimiter]. The service calls Observe in the
// goroutine of the attempt, so Observe should return quickly. Implementations must be safe for
// concurrent use. Observe is called once for each attempt. After a crash, the service does not
// report an interrupted attempt.
type Observer interface {
	Observe(ctx context.Context, a Attempt)
}

// ObserverFunc is a function that implements [Observer].
type ObserverFunc func(ctx context.Context, a Attempt)

// Observe calls f(ctx, a).
func (f ObserverFunc) Observe(ctx context.Context, a Attempt) { f(ctx, a) }
