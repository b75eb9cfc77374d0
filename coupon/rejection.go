package coupon

import (
	"errors"
	"strings"
)

// RejectionCode identifies a reason why a coupon or a checkout is refused. The set of rejection
// codes is closed. The names of the codes are stable. [RejectionCode.Rank] tells the order in which
// reasons are reported. The numbers of the codes have no meaning.
type RejectionCode uint8

// These constants are the rejection codes.
const (
	// CodeRequired means that no code was given.
	CodeRequired RejectionCode = iota + 1
	// CouponNotFound means that no coupon has the given code or ID.
	CouponNotFound
	// CouponInactive means that the coupon is switched off or not ready yet.
	CouponInactive
	// CouponNotStarted means that the coupon's StartsAt is still in the future.
	CouponNotStarted
	// CouponExpired means that the coupon's ExpiresAt has been reached or has passed.
	CouponExpired
	// ProcessorOutOfSync means that the coupon's copy at the payment processor is missing or
	// not active.
	ProcessorOutOfSync
	// UsageLimitReached means that all customers together have reached the coupon's MaxUses.
	UsageLimitReached
	// UserUsageLimitReached means that the customer has reached the coupon's MaxUsesPerUser.
	UserUsageLimitReached
	// MinimumPurchaseNotMet means that the eligible subtotal of the cart is below the coupon's
	// MinPurchase.
	MinimumPurchaseNotMet
	// UserRequired means that nobody is signed in or that the user does not exist.
	UserRequired
	// UserNotAllowed means that the coupon's allow-list does not match the customer's e-mail
	// address.
	UserNotAllowed
	// PointsNotRedeemed means that the customer has not exchanged points for the coupon.
	PointsNotRedeemed
	// NoEligibleItems means that the coupon covers no line of the cart.
	NoEligibleItems
	// NoDiscount means that the coupon's discount on the cart is 0.
	NoDiscount
	// CurrencyMismatch means that the coupon's amounts are not in the currency of the cart.
	CurrencyMismatch
	// CodeTaken means that a coupon cannot be created because another coupon has the same code.
	CodeTaken
	// CartTotalsInvalid means that the cart totals in the request differ from the computed
	// totals.
	CartTotalsInvalid
	// BelowMinimumCharge means that the total of the checkout is below the smallest amount that
	// the payment processor charges.
	BelowMinimumCharge
	// OutsideSchedule means that the coupon's [Schedule] does not allow the instant of the request.
	OutsideSchedule
	// PeriodLimitReached means that a [PeriodLimit] of the coupon is reached.
	PeriodLimitReached
	// BudgetExhausted means that the discount is larger than the rest of the coupon's budget.
	BudgetExhausted
	// MinimumQuantityNotMet means that the cart has fewer eligible units than the coupon's
	// MinQuantity.
	MinimumQuantityNotMet
	// CustomerTagsNotMet means that the customer's tags do not match the coupon's [CustomerTags].
	CustomerTagsNotMet
	// NotFirstOrder means that the coupon is for first orders and the customer has an order.
	NotFirstOrder
	// ChannelNotAllowed means that the sale is in none of the coupon's channels.
	ChannelNotAllowed
	// CountryNotAllowed means that the country of delivery is none of the coupon's countries.
	CountryNotAllowed
	// MaximumPurchaseExceeded means that the eligible subtotal of the cart is above the coupon's
	// MaxPurchase.
	MaximumPurchaseExceeded
	// MaximumQuantityExceeded means that the cart has more eligible units than the coupon's MaxQuantity.
	MaximumQuantityExceeded
	// RequiredItemsMissing means that the cart has fewer units than the coupon's Contains requires.
	RequiredItemsMissing
	// ExcludedItemsContained means that the cart has units that the coupon's ContainsNot excludes.
	ExcludedItemsContained
	// NotCombinable means that the coupon cannot be used together with another coupon of the
	// request. Coupons that exclude each other are all refused.
	NotCombinable
)

// Each rejection code has one of these sentinel errors. For example, errors.Is(err, ErrExpired)
// is true if [CouponExpired] is among the reasons of a refusal.
var (
	ErrCodeRequired            = errors.New("code_required")
	ErrNotFound                = errors.New("coupon_not_found")
	ErrInactive                = errors.New("coupon_inactive")
	ErrNotStarted              = errors.New("coupon_not_started")
	ErrExpired                 = errors.New("coupon_expired")
	ErrProcessorOutOfSync      = errors.New("processor_out_of_sync")
	ErrUsageLimitReached       = errors.New("usage_limit_reached")
	ErrUserUsageLimitReached   = errors.New("user_usage_limit_reached")
	ErrMinimumPurchaseNotMet   = errors.New("minimum_purchase_not_met")
	ErrUserRequired            = errors.New("user_required")
	ErrUserNotAllowed          = errors.New("user_not_allowed")
	ErrPointsNotRedeemed       = errors.New("points_not_redeemed")
	ErrNoEligibleItems         = errors.New("no_eligible_items")
	ErrNoDiscount              = errors.New("no_discount")
	ErrCurrencyMismatch        = errors.New("currency_mismatch")
	ErrCodeTaken               = errors.New("code_taken")
	ErrCartTotalsInvalid       = errors.New("cart_totals_invalid")
	ErrBelowMinimumCharge      = errors.New("below_minimum_charge")
	ErrOutsideSchedule         = errors.New("outside_schedule")
	ErrPeriodLimitReached      = errors.New("period_limit_reached")
	ErrBudgetExhausted         = errors.New("budget_exhausted")
	ErrMinimumQuantityNotMet   = errors.New("minimum_quantity_not_met")
	ErrCustomerTagsNotMet      = errors.New("customer_tags_not_met")
	ErrNotFirstOrder           = errors.New("not_first_order")
	ErrChannelNotAllowed       = errors.New("channel_not_allowed")
	ErrCountryNotAllowed       = errors.New("country_not_allowed")
	ErrMaximumPurchaseExceeded = errors.New("maximum_purchase_exceeded")
	ErrMaximumQuantityExceeded = errors.New("maximum_quantity_exceeded")
	ErrRequiredItemsMissing    = errors.New("required_items_missing")
	ErrExcludedItemsContained  = errors.New("excluded_items_contained")
	ErrNotCombinable           = errors.New("not_combinable")
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
	case OutsideSchedule:
		return rejection{ErrOutsideSchedule, "This coupon is not valid at this time of the week."}
	case PeriodLimitReached:
		return rejection{ErrPeriodLimitReached, "This coupon has been used as often as it allows for now."}
	case BudgetExhausted:
		return rejection{ErrBudgetExhausted, "What is left of this coupon is less than its discount."}
	case MinimumQuantityNotMet:
		return rejection{ErrMinimumQuantityNotMet, "The minimum quantity for this coupon is not met."}
	case CustomerTagsNotMet:
		return rejection{ErrCustomerTagsNotMet, "This coupon is meant for other customers."}
	case NotFirstOrder:
		return rejection{ErrNotFirstOrder, "This coupon is for a first order only."}
	case ChannelNotAllowed:
		return rejection{ErrChannelNotAllowed, "This coupon is not valid in this shop."}
	case CountryNotAllowed:
		return rejection{ErrCountryNotAllowed, "This coupon is not valid for deliveries to this country."}
	case MaximumPurchaseExceeded:
		return rejection{ErrMaximumPurchaseExceeded, "The purchase is above the maximum for this coupon."}
	case MaximumQuantityExceeded:
		return rejection{ErrMaximumQuantityExceeded, "The cart has more units than this coupon allows."}
	case RequiredItemsMissing:
		return rejection{ErrRequiredItemsMissing, "Something is missing in the cart for this coupon."}
	case ExcludedItemsContained:
		return rejection{ErrExcludedItemsContained, "This coupon cannot be used with something in the cart."}
	case NotCombinable:
		return rejection{ErrNotCombinable, "This coupon cannot be combined with another coupon in the cart."}
	}
	return rejection{}
}

// String returns the name of the code, such as "coupon_expired".
func (c RejectionCode) String() string {
	if sentinel := c.entry().sentinel; sentinel != nil {
		return sentinel.Error()
	}
	return ""
}

// Message returns an English sentence that explains the code to the customer.
func (c RejectionCode) Message() string { return c.entry().message }

// Sentinel returns the sentinel error of the code, such as [ErrExpired]. For an unknown code,
// Sentinel returns nil.
func (c RejectionCode) Sentinel() error { return c.entry().sentinel }

// ParseRejectionCode returns the RejectionCode with the given name. For an unknown name,
// ParseRejectionCode returns a [*validation.Error].
func ParseRejectionCode(text string) (RejectionCode, error) {
	for _, c := range reported {
		if c.String() == text {
			return c, nil
		}
	}
	return 0, unknown("is no rejection code")
}

// MarshalText returns the same name as String.
func (c RejectionCode) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText works like [ParseRejectionCode].
func (c *RejectionCode) UnmarshalText(text []byte) (err error) {
	*c, err = ParseRejectionCode(string(text))
	return err
}

// Rejection is the error for a refused coupon or a refused checkout. A Rejection lists every
// reason that applies, in the order of [RejectionCode.Rank]. To test for one reason, use
// errors.Is with a sentinel error such as [ErrExpired]. To get all reasons, use errors.As with a
// variable of type *Rejection. A [Reason] has a JSON form, but a Rejection does not. An API
// includes the JSON of the reasons in its own response.
type Rejection struct {
	// CouponID is the ID of the refused coupon. CouponID is empty if there is no coupon.
	CouponID string
	// Code is the code or ID with which the caller named the coupon. Code is empty if the reasons
	// concern no code of the request.
	Code string
	// Reasons lists the reasons for the refusal. Reasons has at least one entry.
	Reasons []Reason
}

// Reject returns a Rejection with a single reason.
func Reject(couponID string, code RejectionCode, params Params) *Rejection {
	return &Rejection{CouponID: couponID, Reasons: []Reason{{Code: code, Params: params}}}
}

// Rejections is the error for a set of coupons of which several are refused. It has one Rejection
// for each refused coupon. The methods of couponkit.Service sort them in the order of the request's
// codes. The Rejection of the checkout as a whole has no Code and comes first. errors.Is with a
// sentinel error tests the reasons of all coupons. errors.As with a variable of type *Rejection
// finds only the first Rejection; use [RejectionsOf] to read all.
type Rejections []*Rejection

// Error returns a text that lists the codes of all reasons.
func (r Rejections) Error() string {
	var codes []string
	for _, rejection := range r {
		for _, reason := range rejection.Reasons {
			codes = append(codes, reason.Code.String())
		}
	}
	return "coupons refused: " + strings.Join(codes, ", ")
}

// Unwrap returns the Rejection of each coupon.
func (r Rejections) Unwrap() []error {
	errs := make([]error, len(r))
	for i, rejection := range r {
		errs[i] = rejection
	}
	return errs
}

// RejectionsOf returns the Rejection of each coupon that an error reports. The error may be a
// Rejection, or Rejections, or wrap one of the two. For any other error, RejectionsOf returns nil.
func RejectionsOf(err error) Rejections {
	if several, ok := errors.AsType[Rejections](err); ok {
		return several
	}
	if one, ok := errors.AsType[*Rejection](err); ok {
		return Rejections{one}
	}
	return nil
}

// Headline returns the first reason of the Rejection.
func (r *Rejection) Headline() Reason {
	if len(r.Reasons) == 0 {
		return Reason{}
	}
	return r.Reasons[0]
}

// Has reports whether any reason of the Rejection has the given code.
func (r *Rejection) Has(code RejectionCode) bool {
	for _, reason := range r.Reasons {
		if reason.Code == code {
			return true
		}
	}
	return false
}

// Error returns a text that lists the codes of all reasons.
func (r *Rejection) Error() string {
	codes := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		codes[i] = reason.Code.String()
	}
	return "coupon refused: " + strings.Join(codes, ", ")
}

// Unwrap returns the sentinel error of each reason.
func (r *Rejection) Unwrap() []error {
	sentinels := make([]error, 0, len(r.Reasons))
	for _, reason := range r.Reasons {
		if sentinel := reason.Code.Sentinel(); sentinel != nil {
			sentinels = append(sentinels, sentinel)
		}
	}
	return sentinels
}
