package processor

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// EventType is what an event tells.
type EventType uint8

// The event types. What an adapter cannot map to another is [Ignored]: the
// delivery is acknowledged and nothing else happens.
const (
	Ignored          EventType = iota // nothing that concerns coupons
	Completed                         // the session was finished; PaymentStatus tells whether it is paid
	PaymentSucceeded                  // a delayed payment has arrived
	PaymentFailed                     // a delayed payment has failed
	Expired                           // the session ended unpaid
)

// String returns "ignored", "completed", "payment_succeeded", "payment_failed" or
// "expired".
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

// Event is what a processor's webhook delivers (specification 6), already
// authenticated by the adapter. Events may arrive twice, late and in any order.
type Event struct {
	// ID is the processor's, for logs. It is not a key: one fact may come with two.
	ID   string
	Type EventType
	// SessionID is the session that the event speaks of.
	SessionID string
	// PaymentStatus of the session.
	PaymentStatus PaymentStatus
	// Currency and Total are what the session charges.
	Currency pricing.Currency
	Total    int64
	// Metadata of the session.
	Metadata map[string]string
	// CreatedAt is when the processor made the event.
	CreatedAt time.Time
}

// Abilities tells what a processor can do.
type Abilities struct {
	// MinimumCharge is the least total above 0 that can be charged, in minor units by
	// currency; a currency that is not listed has no minimum.
	MinimumCharge map[pricing.Currency]int64
	// NoZeroTotal tells that a session of total 0 cannot be made: a cart that costs
	// nothing, as with a coupon of 100 %, is then refused as coupon.ErrBelowMinimumCharge.
	NoZeroTotal bool
	// MaxLines is the most lines of a session; 0 is no bound. An adapter may be able
	// to merge lines; then it declares none.
	MaxLines int
	// OneInterval tells that all lines of a session that recur do so in one interval; what
	// is paid once may stand beside them. A request with two is ErrRejected; the service
	// refuses such a cart before it reserves.
	OneInterval bool
	// AmountStep is the step of chargeable amounts in minor units by currency, where
	// it is not 1 (10 for currencies of three decimals at some processors). The
	// service prices carts in these steps, so that totals, unit amounts and
	// FirstPeriodDiscount of its requests are multiples; a Total that is not is
	// ErrRejected.
	AmountStep map[pricing.Currency]int64
	// MinSessionLifetime and MaxSessionLifetime bound how far ahead ExpiresAt may lie;
	// zero is no bound. The service counts from when the order was made, a moment before
	// the call: an adapter whose processor counts from its own clock makes up for that, or
	// declares as much more.
	MinSessionLifetime time.Duration
	MaxSessionLifetime time.Duration
	// MirrorsExpiry tells that a promotion code ends with its coupon: the mirror of a
	// coupon that has expired is MirrorInvalid, which a reconcile does not take for a
	// difference.
	MirrorsExpiry bool
	// NeedsSuccessURL tells that a session cannot be made without a SuccessURL.
	NeedsSuccessURL bool
	// CheckCoupon returns a *pricing.ValidationError when the processor cannot mirror
	// the coupon: its code has a letter, or its percentage a decimal, that is not
	// allowed there. nil accepts every coupon.
	CheckCoupon func(c coupon.Coupon) error
}
