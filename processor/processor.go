package processor

import (
	"context"
	"iter"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Processor is the interface between couponkit and a payment processor. Every adapter implements
// Processor.
type Processor interface {
	Mirror
	Sessions
	// Abilities describes what the processor can do. Every call must return the same Abilities.
	Abilities() Abilities
}

// Mirror manages the mirrors of coupons (specification 4.2, 4.3). A mirror is the processor's
// copy of a coupon. Each mirror consists of a coupon object and a promotion code.
//
// The mirror of a coupon without a plain code is the coupon object alone, and PromotionCodeID is
// empty. Such a mirror has no state: SetMirrorActive writes the revision, and VerifyMirror does not
// tell an active coupon from an inactive one.
//
// EnsureMirror, UpdateMirror and SetMirrorActive give the mirror the name, the terms and the
// state of the coupon. The returned [coupon.Mirror] has the coupon's revision. The mirror of an
// active or pending coupon must be active. The mirror of any other coupon must be inactive. If
// the promotion code is already active for a different coupon, the error is [ErrCodeTaken].
//
// Some processors cannot express every coupon. For a coupon that the processor cannot express, the
// three methods create nothing. They return a coupon.Mirror that has no IDs and is Unsupported.
// VerifyMirror then returns [MirrorUnsupported]. The answer depends only on terms that never change
// after the coupon's creation. A mirror must never show other terms than its coupon.
//
// Every method of Mirror may also return [ErrUnavailable], [ErrRejected] or [ErrForbidden].
type Mirror interface {
	// EnsureMirror creates the coupon object and the promotion code at the processor. If an earlier
	// call has already created these objects, EnsureMirror adopts the objects.
	EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// UpdateMirror changes the name and the terms of the mirror to those of the coupon. If the
	// processor cannot change a term, UpdateMirror replaces the mirror's objects and returns the new
	// objects. If the mirror does not exist, UpdateMirror creates a new mirror.
	UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// SetMirrorActive activates or deactivates the promotion code, depending on the coupon's state.
	// If the processor cannot reactivate a promotion code, SetMirrorActive creates a new promotion
	// code.
	SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// RemoveMirror deactivates the promotion code and removes the coupon object at the processor.
	// RemoveMirror also removes the objects of an EnsureMirror call whose answer was lost.
	// RemoveMirror ignores objects that do not exist.
	RemoveMirror(ctx context.Context, c coupon.Coupon) error

	// VerifyMirror reports whether the coupon object and the promotion code exist and are usable
	// (specification 4.4, validation 8). If VerifyMirror returns an error, the status of the mirror
	// is unknown.
	VerifyMirror(ctx context.Context, c coupon.Coupon) (MirrorStatus, error)
}

// MirrorStatus is the status of a mirror. A mirror is the processor's copy of a coupon.
type MirrorStatus uint8

// These constants are the values of MirrorStatus.
const (
	// MirrorValid means that the processor's copy of the coupon exists and is usable.
	MirrorValid MirrorStatus = iota + 1
	// MirrorInvalid means that the processor's copy of the coupon exists but is inactive or
	// unusable.
	MirrorInvalid
	// MirrorMissing means that the processor has no copy of the coupon.
	MirrorMissing
	// MirrorUnsupported means that the processor cannot express the coupon. The service activates
	// the coupon without a mirror, and does not refuse it for the lack of a mirror.
	MirrorUnsupported
)

// String returns "valid", "invalid", "missing" or "unsupported". For an unknown status, String
// returns the empty string.
func (s MirrorStatus) String() string {
	switch s {
	case MirrorValid:
		return "valid"
	case MirrorInvalid:
		return "invalid"
	case MirrorMissing:
		return "missing"
	case MirrorUnsupported:
		return "unsupported"
	}
	return ""
}

// MirrorLister is an optional interface of a [Processor]. The service's Reconcile uses
// MirrorLister to find mirrors without a coupon and mirrors of an outdated revision. A mirror is
// the processor's copy of a coupon.
type MirrorLister interface {
	// Mirrors yields every mirror that belongs to this application. If an error occurs, Mirrors
	// yields the error and stops.
	Mirrors(ctx context.Context) iter.Seq2[MirrorRef, error]
}

// MirrorRef refers to a mirror. A mirror is the processor's copy of a coupon.
type MirrorRef struct {
	// CouponID is the ID of the coupon in couponkit.
	CouponID string
	// Mirror contains the IDs of the mirror's objects at the processor. Mirror.PromotionCodeID is
	// the ID of the active promotion code. Mirror.PromotionCodeID is empty if no promotion code is
	// active. Mirror.Revision is the coupon revision that was last written to the coupon object.
	Mirror coupon.Mirror
}

// Sessions manages payment sessions at the processor (specification 4.5, 4.6).
//
// An adapter may create additional objects for a session, such as a discount for the first
// period. The adapter must also remove the additional objects, in ExpireSession, in its webhook
// handler or in a cleanup sweep.
//
// Every method of Sessions may also return [ErrUnavailable] or [ErrForbidden].
type Sessions interface {
	// CreateSession creates a session in which the customer can pay. CreateSession returns
	// [ErrRejected] if [SessionRequest.Validate] finds the request invalid. If the total is too small
	// to be charged, CreateSession returns [ErrBelowMinimum], even if [Abilities].MinimumCharge does
	// not know the minimum. Data that only decorates the payment page is never a reason to refuse a
	// request: an adapter leaves out an unsuitable CustomerEmail and shortens a line's Name.
	//
	// The caller may repeat a call with the same Key and the same parameters, including ExpiresAt.
	// The repeated call returns the same session in its current state, even if the call comes from
	// another process of the host. A repeated call returns a paid session even after ExpiresAt. If
	// the session has ended unpaid, the repeated call returns the ended session or a new session.
	// The caller must therefore check the Status and store the ID of the returned session. After the
	// repeated call succeeds, the customer can pay at most one session for the Key.
	//
	// A call that repeats a Key with different parameters may fail. If the call succeeds, the
	// returned session has the total and the currency of the new request.
	CreateSession(ctx context.Context, r SessionRequest) (Session, error)

	// Session returns the current state of the session with the given ID. If the session does not
	// exist, Session returns [ErrNotFound].
	Session(ctx context.Context, id string) (Session, error)

	// ExpireSession ends the open session with the given ID and returns the ended session. If the
	// session has already ended, ExpireSession returns the session unchanged. The Status of the
	// returned session tells whether the session was paid. If the session does not exist,
	// ExpireSession returns [ErrNotFound]. If the session cannot be ended now, ExpireSession returns
	// ErrUnavailable or [ErrRejected].
	ExpireSession(ctx context.Context, id string) (Session, error)
}

// Mode tells whether a session has recurring payments.
type Mode uint8

// These constants are the values of Mode.
const (
	// Payment means that all lines of the session are paid once.
	Payment Mode = iota + 1
	// Subscription means that at least one line of the session recurs.
	Subscription
)

// String returns "payment" or "subscription". For an unknown mode, String returns the empty
// string.
func (m Mode) String() string {
	switch m {
	case Payment:
		return "payment"
	case Subscription:
		return "subscription"
	}
	return ""
}

// SessionRequest describes the payment session to create.
type SessionRequest struct {
	// Key is the idempotency key of the request. Key has 1 to [MaxKeyLength] bytes. Key must not
	// contain personal data.
	Key string
	// OrderID is the ID of the order that the customer pays.
	OrderID string
	// Mode is Subscription if at least one line recurs, and Payment otherwise.
	Mode Mode
	// Currency is the currency of all amounts in the request.
	Currency pricing.Currency
	// Lines contains everything that the customer pays for in the session. The sum of all line
	// amounts is Total plus FirstPeriodDiscount.
	Lines []SessionLine
	// FirstPeriodDiscount reduces the first payment of a subscription but not its renewals.
	// FirstPeriodDiscount is an amount in minor units, from 0 to the sum of the lines. If Mode is
	// Payment, FirstPeriodDiscount is 0.
	FirstPeriodDiscount int64
	// Total is the amount that the customer pays now, in minor units. The processor may add taxes to
	// it; see [Session].Tax.
	Total int64
	// Coupons are the coupons of the order, sorted by ID. Coupons is empty if the order has no
	// coupon. The adapter may show the names of the coupons to the customer. The amounts of the
	// request already include all discounts, so the processor must not apply a discount again.
	Coupons []coupon.Snapshot
	// CustomerEmail is the e-mail address that is already filled in on the payment page.
	// CustomerEmail may be empty.
	CustomerEmail string
	// The payment page sends the customer to SuccessURL after completion and to CancelURL after
	// cancellation.
	SuccessURL string
	CancelURL  string
	// ExpiresAt is the time at which the session expires.
	ExpiresAt time.Time
	// OrderedAt is the time at which the order was created, by the caller's clock. OrderedAt is zero
	// if the creation time is unknown. An adapter that searches for the session of an earlier call
	// can begin its search at OrderedAt. Calls with the same Key may have different values of
	// OrderedAt.
	OrderedAt time.Time
	// Metadata is stored with the session. The processor returns Metadata in the session's events.
	Metadata map[string]string
}

// SessionLine is a line of a payment session, with a quantity and one unit price. A cart line
// with two unit prices becomes two session lines.
type SessionLine struct {
	// LineID, Kind, Class and ItemID are copied from the cart line. If Class is 0, the line has
	// the class that its kind implies.
	LineID string
	Kind   pricing.LineKind
	Class  pricing.Class
	ItemID string
	// Name is the text that the customer sees for the line.
	Name string
	// Quantity is the number of units. Quantity must be at least 1.
	Quantity int64
	// UnitAmount is the price of one unit, in minor units. UnitAmount must be at least 0. The
	// discount is already deducted from UnitAmount, except for the part in
	// [SessionRequest].FirstPeriodDiscount.
	UnitAmount int64
	// Recurs is the billing interval of the line.
	Recurs pricing.Interval
}

// ClassOf returns the class of the line. If the line names no class, ClassOf returns the class
// that its kind implies.
func (l SessionLine) ClassOf() pricing.Class {
	line := pricing.Line{Kind: l.Kind, Class: l.Class}
	return line.ClassOf()
}

// SessionStatus is the status of a payment session.
type SessionStatus uint8

// These constants are the values of SessionStatus.
const (
	// SessionOpen means that the customer can pay the session.
	SessionOpen SessionStatus = iota + 1
	// SessionComplete means that the customer has finished the session.
	SessionComplete
	// SessionExpired means that the session has ended without a payment.
	SessionExpired
)

// String returns "open", "complete" or "expired". For an unknown status, String returns the empty
// string.
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

// PaymentStatus tells whether the payment of a session has arrived.
type PaymentStatus uint8

// These constants are the values of PaymentStatus.
const (
	// Unpaid means that the payment has not arrived.
	Unpaid PaymentStatus = iota + 1
	// Paid means that the payment has arrived.
	Paid
	// NoPaymentRequired means that the total of the session is 0.
	NoPaymentRequired
)

// String returns "unpaid", "paid" or "no_payment_required". For an unknown status, String returns
// the empty string.
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

// Settled reports whether the customer has nothing left to pay. Settled returns true for [Paid]
// and [NoPaymentRequired].
func (s PaymentStatus) Settled() bool { return s == Paid || s == NoPaymentRequired }

// Session is a payment session at the processor.
type Session struct {
	ID     string
	URL    string
	Status SessionStatus
	// PaymentStatus is Unpaid while the session is open. If the session is complete, Unpaid means
	// that a delayed payment has not arrived yet.
	PaymentStatus PaymentStatus
	// PaymentFailed is true if the delayed payment has failed.
	PaymentFailed bool
	Currency      pricing.Currency
	// Total is the amount that the customer pays now without Tax, in minor units. It is the Total of
	// the request.
	Total int64
	// Tax is what the processor adds to Total. It may be 0 until the customer has paid, because a
	// tax depends on the customer's address.
	Tax       pricing.Tax
	ExpiresAt time.Time
	Metadata  map[string]string
	// Payer is what the processor knows about the payer.
	Payer Payer
}

// These constants are the keys of the metadata of a session (contract section 5.4). The metadata
// of an event identifies the order that the event concerns. MetadataCouponCode and
// MetadataCouponID belong to the order's first coupon. Every further coupon has keys of its own; see
// [MetadataOfCoupons].
const (
	MetadataCouponCode     = "couponCode"
	MetadataCouponID       = "couponId"
	MetadataOrderID        = "orderId"
	MetadataCustomerID     = "customerId"
	MetadataDiscountAmount = "discountAmount" // in minor units: "1000" for 10.00 EUR
)

// MetadataRefundID is the key of the ID of the service's refund in the metadata of a refund.
// MetadataOrderID is set, too.
const MetadataRefundID = "refundId"
