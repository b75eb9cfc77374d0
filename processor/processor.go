package processor

import (
	"context"
	"iter"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// Processor is a payment processor: both roles and what it can do.
type Processor interface {
	Mirror
	Sessions
	// Abilities tells what the processor can do. It does not change.
	Abilities() Abilities
}

// Mirror keeps the processor's copy of a coupon (specification 4.2, 4.3). The
// methods that return a [coupon.Mirror] set its Revision to the coupon's, and so
// promise that name, terms and active state are those of that revision, whichever
// of them the method is named for: an earlier call may not have arrived.
type Mirror interface {
	// EnsureMirror makes the coupon and its promotion code, or adopts those that an
	// earlier call has made, and brings the promotion code's active state to
	// c.Active(); a pending coupon counts as active. A code that is active for
	// another coupon, somebody else's or our own, is ErrCodeTaken.
	EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// UpdateMirror brings name and terms of the mirror c.Mirror to those of c. Where
	// the processor cannot change a term it replaces the objects, and the answer
	// names the new ones. A mirror that is gone is made again. A code that is to be
	// active, and is so for another coupon by now, is ErrCodeTaken.
	UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// SetMirrorActive brings the active state of the promotion code to c.Active().
	// Where the processor cannot activate the code again, it is replaced. A code that is
	// to be active, and is so for another coupon by now, is ErrCodeTaken.
	SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error)

	// RemoveMirror deactivates the promotion code and removes the coupon, including
	// what an EnsureMirror whose answer was lost has made. What is gone already is no
	// error.
	RemoveMirror(ctx context.Context, c coupon.Coupon) error

	// VerifyMirror tells whether coupon and promotion code are there and usable
	// (specification 4.4, validation 8). An error means that it could not be found
	// out.
	VerifyMirror(ctx context.Context, c coupon.Coupon) (MirrorStatus, error)
}

// MirrorStatus is what the processor says of a mirror.
type MirrorStatus uint8

// The statuses of a mirror.
const (
	MirrorValid   MirrorStatus = iota + 1 // there, and usable
	MirrorInvalid                         // there, but not active or not valid
	MirrorMissing                         // not there
)

// String returns "valid", "invalid" or "missing".
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

// MirrorLister is an optional role: a processor that can list the mirrors that
// couponkit has made lets a reconcile find those whose coupon is gone, and those
// that show another revision than the store believes, because a call that was long
// under way arrived after a newer one.
type MirrorLister interface {
	// Mirrors yields every mirror that belongs to this application. It ends after the
	// first error.
	Mirrors(ctx context.Context) iter.Seq2[MirrorRef, error]
}

// MirrorRef is a mirror as found at the processor.
type MirrorRef struct {
	// CouponID is the ID of our coupon that the mirror names.
	CouponID string
	// Mirror names the objects. The promotion code is the active one; it is empty when
	// none is. Revision is the one that was last written to the coupon.
	Mirror coupon.Mirror
}

// Sessions runs payment sessions (specification 4.5, 4.6).
//
// No call is needed when a session has ended. What an adapter has made for a session
// beside it (a discount for the first period) it removes by itself: when it is asked
// to expire the session, when its webhook learns of the end, or in a sweep of its own.
// An adapter may offer a method for hosts that read events without its webhook, as
// stripeprocessor does with EndSession; calling it is never required.
type Sessions interface {
	// CreateSession makes a session that the customer pays. Repeating it with the
	// same Key and parameters, ExpiresAt among them, returns the same session, in whatever
	// process of the host; one that was paid is returned as it is now, after ExpiresAt too.
	// With other parameters it never returns a session of another total or currency. Once a
	// repetition has succeeded there is one session that can be paid, whatever was lost
	// before. Where the session has ended unpaid meanwhile, the answer is that
	// one or, while ExpiresAt allows it, a new one in its place: read the Status, and
	// attach the ID that is returned. Lines that do not sum, not even where a sum
	// overflows to the total, and what is out of the bounds that [SessionRequest] and
	// [Abilities] name, are ErrRejected.
	CreateSession(ctx context.Context, r SessionRequest) (Session, error)

	// Session returns a session as it is now, or ErrNotFound.
	Session(ctx context.Context, id string) (Session, error)

	// ExpireSession ends an open session, so that it cannot be paid any more, and
	// returns it. A session that has ended already is returned as it is: the caller
	// reads in its status whether it was paid. One that cannot be ended now is an error:
	// an open session is never returned.
	ExpireSession(ctx context.Context, id string) (Session, error)
}

// Mode tells what a session sells.
type Mode uint8

// The modes.
const (
	Payment      Mode = iota + 1 // is paid once
	Subscription                 // has at least one line that recurs
)

// String returns "payment" or "subscription".
func (m Mode) String() string {
	switch m {
	case Payment:
		return "payment"
	case Subscription:
		return "subscription"
	}
	return ""
}

// SessionRequest is a session to be made.
type SessionRequest struct {
	// Key makes the call idempotent: 1 to [MaxKeyLength] bytes, all of which count. It holds
	// no personal data.
	Key string
	// OrderID is the order that is paid.
	OrderID string
	// Mode is Subscription when a line recurs, else Payment.
	Mode Mode
	// Currency of all amounts.
	Currency pricing.Currency
	// Lines sum to Total + FirstPeriodDiscount.
	Lines []SessionLine
	// FirstPeriodDiscount is taken off the first payment of a subscription and not
	// off its renewals, in minor units, at least 0 and at most the sum of the lines, of
	// which a Total of 0 is left; 0 in payment mode.
	FirstPeriodDiscount int64
	// Total is what the customer pays now, in minor units.
	Total int64
	// Coupon is the coupon whose discount the amounts already have; nil for none.
	// Adapters may show its name, and must not let the processor discount again.
	Coupon *coupon.Snapshot
	// CustomerEmail is prefilled on the payment page; may be empty.
	CustomerEmail string
	// SuccessURL and CancelURL are where the customer goes afterwards.
	SuccessURL string
	CancelURL  string
	// ExpiresAt is when the session ends by itself.
	ExpiresAt time.Time
	// OrderedAt is when the order was made, by the caller's clock; zero when that is not
	// known. No session of the request is older, so an adapter that has to look for one
	// of an earlier call looks no further back. It is no parameter of the session: a
	// repetition with another one or none is the same request.
	OrderedAt time.Time
	// Metadata is stored with the session and comes back in its events.
	Metadata map[string]string
}

// SessionLine is a number of units at one price. A line of the cart whose units
// cost two prices becomes two.
type SessionLine struct {
	// LineID, Kind and ItemID are the cart line's; Kind is one that package pricing has.
	LineID string
	Kind   pricing.LineKind
	ItemID string
	// Name is shown to the customer.
	Name string
	// Quantity is at least 1.
	Quantity int64
	// UnitAmount is what one unit costs after the discount, in minor units, at
	// least 0; for a line whose discount is in FirstPeriodDiscount, before it.
	UnitAmount int64
	// Recurs is how often the line is paid again, up to pricing.Yearly.
	Recurs pricing.Interval
}

// SessionStatus is where a session is in its life.
type SessionStatus uint8

// The statuses of a session.
const (
	SessionOpen     SessionStatus = iota + 1 // can be paid
	SessionComplete                          // the customer has finished it
	SessionExpired                           // ended unpaid
)

// String returns "open", "complete" or "expired".
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

// PaymentStatus tells whether the money is there.
type PaymentStatus uint8

// The payment statuses.
const (
	Unpaid            PaymentStatus = iota + 1 // not, or not yet
	Paid                                       // yes
	NoPaymentRequired                          // the total is 0
)

// String returns "unpaid", "paid" or "no_payment_required".
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

// Settled reports whether nothing is left to be paid.
func (s PaymentStatus) Settled() bool { return s == Paid || s == NoPaymentRequired }

// Session is a payment session as the processor has it.
type Session struct {
	ID     string
	URL    string
	Status SessionStatus
	// PaymentStatus is Unpaid while the session is open; on a complete session it
	// means that a delayed payment method is on its way.
	PaymentStatus PaymentStatus
	// PaymentFailed tells that the delayed payment did not arrive.
	PaymentFailed bool
	Currency      pricing.Currency
	// Total is what the customer pays now, in minor units.
	Total     int64
	ExpiresAt time.Time
	Metadata  map[string]string
}

// The metadata that every session carries, so that its events can be matched when
// the session was never attached to its order (contract section 5.4).
const (
	MetadataCouponCode     = "couponCode"
	MetadataCouponID       = "couponId"
	MetadataReservationID  = "reservationId"
	MetadataOrderID        = "orderId"
	MetadataCustomerID     = "customerId"
	MetadataDiscountAmount = "discountAmount" // in minor units: "1000" for 10.00 EUR
)
