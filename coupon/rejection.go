package coupon

import (
	"errors"
	"strings"
)

// RejectionCode tells why a coupon, or a checkout with a coupon, is refused. The set of
// codes is closed, and their texts are stable. Reasons are reported in the numeric
// order of their codes (contract section 6, specification 7).
type RejectionCode uint8

// The rejection codes, in the order in which they are reported.
const (
	CodeRequired          RejectionCode = iota + 1 // no code was given
	CouponNotFound                                 // no coupon has this code or ID
	CouponInactive                                 // switched off, or not ready yet
	CouponNotStarted                               // before StartsAt
	CouponExpired                                  // at or after ExpiresAt
	ProcessorOutOfSync                             // the mirror at the processor is missing or not active
	UsageLimitReached                              // no use within MaxUses is left
	UserUsageLimitReached                          // no use within MaxUsesPerUser is left
	MinimumPurchaseNotMet                          // the eligible subtotal is below MinPurchase
	UserRequired                                   // nobody is signed in, or the user does not exist
	UserNotAllowed                                 // the e-mail address is not in AllowedUserEmails
	PointsNotRedeemed                              // the customer has not exchanged points for the coupon
	NoEligibleItems                                // the coupon covers no line of the cart
	NoDiscount                                     // the discount on this cart is 0
	CurrencyMismatch                               // the coupon's amounts are in another currency than the cart
	CodeTaken                                      // creation: another coupon has this code
	CartTotalsInvalid                              // checkout: the customer saw other totals
	BelowMinimumCharge                             // checkout: the total is below the minimum of the processor
)

// rejectionCount is the number of rejection codes.
const rejectionCount = int(BelowMinimumCharge)

// The sentinels, one for each code. errors.Is(err, ErrExpired) is true if one of the
// reasons is [CouponExpired], even if it is not the first.
var (
	ErrCodeRequired          = errors.New("code_required")
	ErrNotFound              = errors.New("coupon_not_found")
	ErrInactive              = errors.New("coupon_inactive")
	ErrNotStarted            = errors.New("coupon_not_started")
	ErrExpired               = errors.New("coupon_expired")
	ErrProcessorOutOfSync    = errors.New("processor_out_of_sync")
	ErrUsageLimitReached     = errors.New("usage_limit_reached")
	ErrUserUsageLimitReached = errors.New("user_usage_limit_reached")
	ErrMinimumPurchaseNotMet = errors.New("minimum_purchase_not_met")
	ErrUserRequired          = errors.New("user_required")
	ErrUserNotAllowed        = errors.New("user_not_allowed")
	ErrPointsNotRedeemed     = errors.New("points_not_redeemed")
	ErrNoEligibleItems       = errors.New("no_eligible_items")
	ErrNoDiscount            = errors.New("no_discount")
	ErrCurrencyMismatch      = errors.New("currency_mismatch")
	ErrCodeTaken             = errors.New("code_taken")
	ErrCartTotalsInvalid     = errors.New("cart_totals_invalid")
	ErrBelowMinimumCharge    = errors.New("below_minimum_charge")
)

// rejection pairs a sentinel, whose text is the wire name, with the message for
// the customer.
type rejection struct {
	sentinel error
	message  string
}

func (c RejectionCode) entry() rejection {
	switch c {
	case CodeRequired:
		return rejection{ErrCodeRequired, "Enter a coupon code."}
	case CouponNotFound:
		return rejection{ErrNotFound, "This coupon code does not exist."}
	case CouponInactive:
		return rejection{ErrInactive, "This coupon is not active."}
	case CouponNotStarted:
		return rejection{ErrNotStarted, "This coupon is not valid yet."}
	case CouponExpired:
		return rejection{ErrExpired, "This coupon has expired."}
	case ProcessorOutOfSync:
		return rejection{ErrProcessorOutOfSync, "This coupon cannot be used for payment at the moment."}
	case UsageLimitReached:
		return rejection{ErrUsageLimitReached, "This coupon has been used up."}
	case UserUsageLimitReached:
		return rejection{ErrUserUsageLimitReached, "You have used this coupon as often as it allows."}
	case MinimumPurchaseNotMet:
		return rejection{ErrMinimumPurchaseNotMet, "The minimum purchase for this coupon is not met."}
	case UserRequired:
		return rejection{ErrUserRequired, "Sign in to use this coupon."}
	case UserNotAllowed:
		return rejection{ErrUserNotAllowed, "This coupon is not meant for your account."}
	case PointsNotRedeemed:
		return rejection{ErrPointsNotRedeemed, "Exchange points for this coupon first."}
	case NoEligibleItems:
		return rejection{ErrNoEligibleItems, "Nothing in the cart is covered by this coupon."}
	case NoDiscount:
		return rejection{ErrNoDiscount, "This coupon takes nothing off this cart."}
	case CurrencyMismatch:
		return rejection{ErrCurrencyMismatch, "This coupon is for another currency."}
	case CodeTaken:
		return rejection{ErrCodeTaken, "A coupon with this code exists already."}
	case CartTotalsInvalid:
		return rejection{ErrCartTotalsInvalid, "The cart's totals have changed."}
	case BelowMinimumCharge:
		return rejection{ErrBelowMinimumCharge, "The total is below the least amount that can be charged."}
	}
	return rejection{}
}

// RejectionCodes returns all codes in their order.
func RejectionCodes() []RejectionCode {
	codes := make([]RejectionCode, 0, rejectionCount)
	for c := CodeRequired; c <= BelowMinimumCharge; c++ {
		codes = append(codes, c)
	}
	return codes
}

// String returns the wire name, such as "coupon_expired".
func (c RejectionCode) String() string {
	if sentinel := c.entry().sentinel; sentinel != nil {
		return sentinel.Error()
	}
	return ""
}

// Message returns an English sentence for the customer.
func (c RejectionCode) Message() string { return c.entry().message }

// Sentinel returns the error that errors.Is matches, or nil for an unknown code.
func (c RejectionCode) Sentinel() error { return c.entry().sentinel }

// ParseRejectionCode returns the code whose wire name is text. Any other text is a
// [*pricing.ValidationError].
func ParseRejectionCode(text string) (RejectionCode, error) {
	for c := CodeRequired; c <= BelowMinimumCharge; c++ {
		if c.String() == text {
			return c, nil
		}
	}
	return 0, unknown("is no rejection code")
}

// MarshalText returns the wire name.
func (c RejectionCode) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a wire name as [ParseRejectionCode] does.
func (c *RejectionCode) UnmarshalText(text []byte) (err error) {
	*c, err = ParseRejectionCode(string(text))
	return err
}

// Rejection is the error of a refusal. It lists every reason that applies, in the order
// of their codes. Test for one reason with errors.Is and its sentinel. Get all reasons
// with errors.As and a *Rejection. Only a [Reason] has a JSON form; an API puts the
// reasons into its own answer.
type Rejection struct {
	// CouponID is the ID of the refused coupon, or empty if there is no coupon.
	CouponID string
	// Reasons has at least one entry.
	Reasons []Reason
}

// Reject returns a rejection with one reason.
func Reject(couponID string, code RejectionCode, params Params) *Rejection {
	return &Rejection{CouponID: couponID, Reasons: []Reason{{Code: code, Params: params}}}
}

// Headline returns the first reason.
func (r *Rejection) Headline() Reason {
	if len(r.Reasons) == 0 {
		return Reason{}
	}
	return r.Reasons[0]
}

// Has reports whether the code is among the reasons.
func (r *Rejection) Has(code RejectionCode) bool {
	for _, reason := range r.Reasons {
		if reason.Code == code {
			return true
		}
	}
	return false
}

// Error lists the codes of the reasons.
func (r *Rejection) Error() string {
	codes := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		codes[i] = reason.Code.String()
	}
	return "coupon refused: " + strings.Join(codes, ", ")
}

// Unwrap returns the sentinels of the reasons.
func (r *Rejection) Unwrap() []error {
	sentinels := make([]error, 0, len(r.Reasons))
	for _, reason := range r.Reasons {
		if sentinel := reason.Code.Sentinel(); sentinel != nil {
			sentinels = append(sentinels, sentinel)
		}
	}
	return sentinels
}
