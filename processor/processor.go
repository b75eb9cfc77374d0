package processor

import (
	"context"
	"iter"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Processor is a payment processor. Adapters implement it.
type Processor interface {
	Mirror
	Sessions
	// Abilities returns what the processor can do. The result never changes.
	Abilities() Abilities
}

// Mirror keeps the processor's copy of a coupon (specification 4.2, 4.3): a coupon
// object and a promotion code.
//
// EnsureMirror, UpdateMirror and SetMirrorActive each bring name, terms and active
// state to those of c. The returned [coupon.Mirror] has the revision of c. The active
// state is c.Active(); a pending coupon counts as active. The error is ErrCodeTaken if
// the code should be active but is already active for another coupon.
type Mirror interface {
	// EnsureMirror creates the coupon and its promotion code, or adopts those of an
	// earlier call.
	EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// UpdateMirror changes name and terms of the mirror c.Mirror to those of c. If the
	// processor cannot change a term, UpdateMirror replaces the objects and returns the
	// new ones. A missing mirror is created again.
	UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// SetMirrorActive changes the active state of the promotion code. If the processor
	// cannot activate the code again, SetMirrorActive replaces it.
	SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// RemoveMirror deactivates the promotion code and removes the coupon. Objects of an
	// EnsureMirror whose answer was lost are removed, too. Missing objects are ignored.
	RemoveMirror(ctx context.Context, c coupon.Coupon) error

	// VerifyMirror reports whether coupon and promotion code exist and are usable
	// (specification 4.4, validation 8). After an error the status is unknown.
	VerifyMirror(ctx context.Context, c coupon.Coupon) (MirrorStatus, error)
}

// MirrorStatus is the state of a mirror at the processor.
type MirrorStatus uint8

// The statuses of a mirror.
const (
	MirrorValid   MirrorStatus = iota + 1 // exists and is usable
	MirrorInvalid                         // exists and is inactive or unusable
	MirrorMissing                         // does not exist
)

// String returns "valid", "invalid" or "missing". An unknown status returns "".
func (s MirrorStatus) String() string {
	switch s {
	case MirrorValid:
		return "valid"
	case MirrorInvalid:
		return "invalid"
	case MirrorMissing:
		return "missing"
	}
	return ""
}

// MirrorLister is an optional interface of a processor. A reconciliation uses it to
// find mirrors without a coupon and mirrors of an outdated revision.
type MirrorLister interface {
	// Mirrors yields every mirror of this application. It stops after the first error.
	Mirrors(ctx context.Context) iter.Seq2[MirrorRef, error]
}

// MirrorRef is a mirror at the processor.
type MirrorRef struct {
	// CouponID is the ID of the couponkit coupon.
	CouponID string
	// Mirror names the objects at the processor. PromotionCodeID is the active
	// promotion code, or empty. Revision is the revision of the last write to the
	// coupon object.
	Mirror coupon.Mirror
}

// Sessions runs payment sessions (specification 4.5, 4.6).
//
// An adapter may create further objects for a session, such as a discount for the first
// period. The adapter must also remove these objects: in ExpireSession, in its webhook
// or in a sweep.
type Sessions interface {
	// CreateSession creates a session for the customer to pay. The error is ErrRejected
	// if [SessionRequest.Validate] refuses the request.
	//
	// A repetition with the same Key and parameters returns the same session in its
	// current state. The repetition may come from any process of the host. ExpiresAt is
	// one of the parameters. A paid session is returned even after ExpiresAt. After a
	// successful repetition exactly one session can be paid. If the session has ended
	// unpaid, the answer is the ended session or a new session. Read the Status, and
	// store the returned ID.
	//
	// A repetition with other parameters never returns a session of another total or
	// currency.
	CreateSession(ctx context.Context, r SessionRequest) (Session, error)

	// Session returns the current state of a session, or ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)

	// ExpireSession ends an open session and returns the ended session. A session that
	// has already ended is returned unchanged; its status tells whether it was paid. If
	// the session cannot be ended now, the result is an error.
	ExpireSession(ctx context.Context, id string) (Session, error)
}

// Mode tells whether a session has recurring payments.
type Mode uint8

// The modes.
const (
	Payment      Mode = iota + 1 // all lines are paid once
	Subscription                 // at least one line recurs
)

// String returns "payment" or "subscription". An unknown mode returns "".
func (m Mode) String() string {
	switch m {
	case Payment:
		return "payment"
	case Subscription:
		return "subscription"
	}
	return ""
}

// SessionRequest describes a session to be created.
type SessionRequest struct {
	// Key is the idempotency key, 1 to [MaxKeyLength] bytes. It must not contain
	// personal data.
	Key string
	// OrderID is the order to be paid.
	OrderID string
	// Mode is Subscription if a line recurs, otherwise Payment.
	Mode Mode
	// Currency is the currency of all amounts.
	Currency pricing.Currency
	// Lines sum to Total + FirstPeriodDiscount.
	Lines []SessionLine
	// FirstPeriodDiscount lowers the first payment of a subscription but not its
	// renewals. It is in minor units, from 0 to the sum of the lines. In payment mode
	// FirstPeriodDiscount is 0.
	FirstPeriodDiscount int64
	// Total is what the customer pays now, in minor units.
	Total int64
	// Coupon is the coupon whose discount is already in the amounts; nil means none.
	// The adapter may show the coupon's name. The processor must not apply the discount
	// again.
	Coupon *coupon.Snapshot
	// CustomerEmail is filled in on the payment page; may be empty.
	CustomerEmail string
	// SuccessURL and CancelURL are where the customer goes after the payment page.
	SuccessURL string
	CancelURL  string
	// ExpiresAt is when the session expires.
	ExpiresAt time.Time
	// OrderedAt is when the order was created, by the caller's clock; zero means
	// unknown. An adapter that searches for the session of an earlier call starts
	// there. A repetition may have another OrderedAt.
	OrderedAt time.Time
	// Metadata is stored with the session and returned in its events.
	Metadata map[string]string
}

// SessionLine is a number of units at one price. A cart line with two unit prices
// becomes two session lines.
type SessionLine struct {
	// LineID, Kind and ItemID are those of the cart line.
	LineID string
	Kind   pricing.LineKind
	ItemID string
	// Name is shown to the customer.
	Name string
	// Quantity is the number of units, at least 1.
	Quantity int64
	// UnitAmount is the price of one unit in minor units, at least 0. It includes the
	// discount, except for the part in FirstPeriodDiscount.
	UnitAmount int64
	// Recurs is the billing interval of the line.
	Recurs pricing.Interval
}

// SessionStatus is the state of a session.
type SessionStatus uint8

// The statuses of a session.
const (
	SessionOpen     SessionStatus = iota + 1 // can be paid
	SessionComplete                          // finished by the customer
	SessionExpired                           // ended unpaid
)

// String returns "open", "complete" or "expired". An unknown status returns "".
func (s SessionStatus) String() string {
	switch s {
	case SessionOpen:
		return "open"
	case SessionComplete:
		return "complete"
	case SessionExpired:
		return "expired"
	}
	return ""
}

// PaymentStatus tells whether the payment has arrived.
type PaymentStatus uint8

// The payment statuses.
const (
	Unpaid            PaymentStatus = iota + 1 // the payment has not arrived
	Paid                                       // the payment has arrived
	NoPaymentRequired                          // the total is 0
)

// String returns "unpaid", "paid" or "no_payment_required". An unknown status returns
// "".
func (s PaymentStatus) String() string {
	switch s {
	case Unpaid:
		return "unpaid"
	case Paid:
		return "paid"
	case NoPaymentRequired:
		return "no_payment_required"
	}
	return ""
}

// Settled reports whether nothing remains to be paid.
func (s PaymentStatus) Settled() bool { return s == Paid || s == NoPaymentRequired }

// Session is a payment session at the processor.
type Session struct {
	ID     string
	URL    string
	Status SessionStatus
	// PaymentStatus is Unpaid while the session is open. On a complete session, Unpaid
	// means that a delayed payment is on its way.
	PaymentStatus PaymentStatus
	// PaymentFailed is true if the delayed payment has failed.
	PaymentFailed bool
	Currency      pricing.Currency
	// Total is what the customer pays now, in minor units.
	Total     int64
	ExpiresAt time.Time
	Metadata  map[string]string
}

// The metadata keys of every session (contract section 5.4). The metadata identify the
// order of an event.
const (
	MetadataCouponCode     = "couponCode"
	MetadataCouponID       = "couponId"
	MetadataOrderID        = "orderId"
	MetadataCustomerID     = "customerId"
	MetadataDiscountAmount = "discountAmount" // in minor units: "1000" for 10.00 EUR
)
