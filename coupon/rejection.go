package coupon

import (
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/validation"
)

// RejectionCode identifies a reason why a coupon or a checkout is refused. The set of rejection codes is closed. The
// names of the codes are stable, and their numbers are not.
type RejectionCode uint8

// These constants are the rejection codes, in the order in which reasons are reported (contract section 6). The order
// goes from the coupon over its limits and the customer to the cart and the checkout.
const (
	CodeRequired            RejectionCode = iota + 1 // no code was given
	CouponNotFound                                   // no coupon has the given code or ID
	CouponInactive                                   // the coupon is switched off or not ready yet
	CouponNotStarted                                 // the coupon's StartsAt is still in the future
	CouponExpired                                    // the coupon's ExpiresAt has been reached or has passed
	OutsideSchedule                                  // the coupon's Schedule does not allow the instant of the request
	ChannelNotAllowed                                // the sale is in none of the coupon's channels
	CountryNotAllowed                                // the country of delivery is none of the coupon's countries
	ProcessorOutOfSync                               // the coupon's copy at the payment processor is missing or not active
	UsageLimitReached                                // all customers together have reached the coupon's MaxUses
	UserUsageLimitReached                            // the customer has reached the coupon's MaxUsesPerUser
	PeriodLimitReached                               // a PeriodLimit of the coupon is reached
	BudgetExhausted                                  // the discount is larger than the rest of the coupon's budget
	MinimumPurchaseNotMet                            // the eligible subtotal of the cart is below the coupon's MinPurchase or first tier
	MaximumPurchaseExceeded                          // the eligible subtotal of the cart is above the coupon's MaxPurchase
	MinimumQuantityNotMet                            // the cart has fewer eligible units than the coupon's MinQuantity or discount needs
	MaximumQuantityExceeded                          // the cart has more eligible units than the coupon's MaxQuantity
	RequiredItemsMissing                             // the cart has fewer units than the coupon's Contains or Buys requires
	ExcludedItemsContained                           // the cart has units that the coupon's ContainsNot excludes
	UserRequired                                     // nobody is signed in, or the user does not exist
	UserNotAllowed                                   // the coupon's allow-list does not match the customer's e-mail address
	CustomerTagsNotMet                               // the customer's tags do not match the coupon's CustomerTags
	NotFirstOrder                                    // the coupon is for first orders and the customer has an order
	PointsNotRedeemed                                // the customer has not exchanged points for the coupon
	NoEligibleItems                                  // the coupon covers no line of the cart
	NoDiscount                                       // the coupon's discount on the cart is 0
	CurrencyMismatch                                 // the coupon's amounts are not in the currency of the cart
	NotCombinable                                    // another coupon of the request excludes the coupon, and is refused too
	CodeTaken                                        // a coupon cannot be created because another coupon has the same code
	CartTotalsInvalid                                // the cart totals in the request differ from the computed totals
	BelowMinimumCharge                               // the total is below the least amount that the payment processor charges
)

// Each rejection code has one of these sentinel errors. For example, errors.Is(err, ErrExpired) is true if
// [CouponExpired] is among the reasons of a refusal.
var (
	ErrCodeRequired            = errors.New("code_required")
	ErrNotFound                = errors.New("coupon_not_found")
	ErrInactive                = errors.New("coupon_inactive")
	ErrNotStarted              = errors.New("coupon_not_started")
	ErrExpired                 = errors.New("coupon_expired")
	ErrOutsideSchedule         = errors.New("outside_schedule")
	ErrChannelNotAllowed       = errors.New("channel_not_allowed")
	ErrCountryNotAllowed       = errors.New("country_not_allowed")
	ErrProcessorOutOfSync      = errors.New("processor_out_of_sync")
	ErrUsageLimitReached       = errors.New("usage_limit_reached")
	ErrUserUsageLimitReached   = errors.New("user_usage_limit_reached")
	ErrPeriodLimitReached      = errors.New("period_limit_reached")
	ErrBudgetExhausted         = errors.New("budget_exhausted")
	ErrMinimumPurchaseNotMet   = errors.New("minimum_purchase_not_met")
	ErrMaximumPurchaseExceeded = errors.New("maximum_purchase_exceeded")
	ErrMinimumQuantityNotMet   = errors.New("minimum_quantity_not_met")
	ErrMaximumQuantityExceeded = errors.New("maximum_quantity_exceeded")
	ErrRequiredItemsMissing    = errors.New("required_items_missing")
	ErrExcludedItemsContained  = errors.New("excluded_items_contained")
	ErrUserRequired            = errors.New("user_required")
	ErrUserNotAllowed          = errors.New("user_not_allowed")
	ErrCustomerTagsNotMet      = errors.New("customer_tags_not_met")
	ErrNotFirstOrder           = errors.New("not_first_order")
	ErrPointsNotRedeemed       = errors.New("points_not_redeemed")
	ErrNoEligibleItems         = errors.New("no_eligible_items")
	ErrNoDiscount              = errors.New("no_discount")
	ErrCurrencyMismatch        = errors.New("currency_mismatch")
	ErrNotCombinable           = errors.New("not_combinable")
	ErrCodeTaken               = errors.New("code_taken")
	ErrCartTotalsInvalid       = errors.New("cart_totals_invalid")
	ErrBelowMinimumCharge      = errors.New("below_minimum_charge")
)

// rejections has the sentinel and the customer's message of each code. The text of the sentinel is the
// name of the code.
var rejections = [...]struct {
	sentinel error
	message  string
}{
	{},                      // there is no code 0
	CodeRequired:            {ErrCodeRequired, "Enter a coupon code."},
	CouponNotFound:          {ErrNotFound, "This coupon code does not exist."},
	CouponInactive:          {ErrInactive, "This coupon is not active."},
	CouponNotStarted:        {ErrNotStarted, "This coupon is not valid yet."},
	CouponExpired:           {ErrExpired, "This coupon has expired."},
	OutsideSchedule:         {ErrOutsideSchedule, "This coupon is not valid at this time of the week."},
	ChannelNotAllowed:       {ErrChannelNotAllowed, "This coupon is not valid in this shop."},
	CountryNotAllowed:       {ErrCountryNotAllowed, "This coupon is not valid for deliveries to this country."},
	ProcessorOutOfSync:      {ErrProcessorOutOfSync, "This coupon cannot be used for payment at the moment."},
	UsageLimitReached:       {ErrUsageLimitReached, "This coupon has been used up."},
	UserUsageLimitReached:   {ErrUserUsageLimitReached, "You have used this coupon as often as it allows."},
	PeriodLimitReached:      {ErrPeriodLimitReached, "This coupon has been used as often as it allows for now."},
	BudgetExhausted:         {ErrBudgetExhausted, "What is left of this coupon is less than its discount."},
	MinimumPurchaseNotMet:   {ErrMinimumPurchaseNotMet, "The minimum purchase for this coupon is not met."},
	MaximumPurchaseExceeded: {ErrMaximumPurchaseExceeded, "The purchase is above the maximum for this coupon."},
	MinimumQuantityNotMet:   {ErrMinimumQuantityNotMet, "The minimum quantity for this coupon is not met."},
	MaximumQuantityExceeded: {ErrMaximumQuantityExceeded, "The cart has more units than this coupon allows."},
	RequiredItemsMissing:    {ErrRequiredItemsMissing, "Something is missing in the cart for this coupon."},
	ExcludedItemsContained:  {ErrExcludedItemsContained, "This coupon cannot be used with something in the cart."},
	UserRequired:            {ErrUserRequired, "Sign in to use this coupon."},
	UserNotAllowed:          {ErrUserNotAllowed, "This coupon is not meant for your account."},
	CustomerTagsNotMet:      {ErrCustomerTagsNotMet, "This coupon is meant for other customers."},
	NotFirstOrder:           {ErrNotFirstOrder, "This coupon is for a first order only."},
	PointsNotRedeemed:       {ErrPointsNotRedeemed, "Exchange points for this coupon first."},
	NoEligibleItems:         {ErrNoEligibleItems, "Nothing in the cart is covered by this coupon."},
	NoDiscount:              {ErrNoDiscount, "This coupon takes nothing off this cart."},
	CurrencyMismatch:        {ErrCurrencyMismatch, "This coupon is for another currency."},
	NotCombinable:           {ErrNotCombinable, "This coupon cannot be combined with another coupon in the cart."},
	CodeTaken:               {ErrCodeTaken, "A coupon with this code exists already."},
	CartTotalsInvalid:       {ErrCartTotalsInvalid, "The cart's totals have changed."},
	BelowMinimumCharge:      {ErrBelowMinimumCharge, "The total is below the least amount that can be charged."},
}

// known returns the code, or 0 for an unknown code.
func (c RejectionCode) known() RejectionCode {
	if int(c) < len(rejections) {
		return c
	}
	return 0
}

// RejectionCodes returns all rejection codes in the order in which reasons are reported.
func RejectionCodes() (all []RejectionCode) {
	for c := CodeRequired; c.known() != 0; c++ {
		all = append(all, c)
	}
	return all
}

// Rank returns the position of the code in [RejectionCodes]. Reasons with a lower rank are reported first. For an
// unknown code, Rank returns -1.
func (c RejectionCode) Rank() int { return int(c.known()) - 1 }

// String returns the name of the code, such as "coupon_expired".
func (c RejectionCode) String() string {
	if sentinel := c.Sentinel(); sentinel != nil {
		return sentinel.Error()
	}
	return ""
}

// Message returns an English sentence that explains the code to the customer.
func (c RejectionCode) Message() string { return rejections[c.known()].message }

// Sentinel returns the sentinel error of the code, such as [ErrExpired]. For an unknown code, Sentinel returns nil.
func (c RejectionCode) Sentinel() error { return rejections[c.known()].sentinel }

// MarshalText returns the same name as String.
func (c RejectionCode) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads a name. For another text, *c becomes zero, and the error is a [*validation.Error].
func (c *RejectionCode) UnmarshalText(text []byte) error {
	for *c = CodeRequired; c.known() != 0; *c++ {
		if c.String() == string(text) {
			return nil
		}
	}
	*c = 0
	return fieldFault(validation.Unknown, "is no rejection code")
}

// Rejection is the error for a refused coupon or a refused checkout. A Rejection lists every reason that applies, in
// the order of [RejectionCode.Rank]. To test for one reason, use errors.Is with a sentinel error such as [ErrExpired].
// To get all reasons, use errors.As with a variable of type *Rejection. An API includes the JSON of the reasons in its
// own response.
type Rejection struct {
	// CouponID is the ID of the refused coupon, or empty if there is none.
	CouponID string
	// Code is the code or ID with which the caller named the coupon, or empty if the reasons concern none.
	Code string
	// Reasons has at least one entry.
	Reasons []Reason
}

// Reject returns a Rejection with a single reason.
func Reject(couponID string, code RejectionCode, params Params) *Rejection {
	return &Rejection{CouponID: couponID, Reasons: []Reason{{Code: code, Params: params}}}
}

// Rejections is the error for a set of coupons of which several are refused, in the order of the request's codes. The
// Rejection of the checkout as a whole has no Code and comes first. errors.Is with a sentinel error tests the reasons
// of all coupons. Use [RejectionsOf] to read all.
type Rejections []*Rejection

// Error returns a text that lists the codes of all reasons.
func (r Rejections) Error() string {
	codes := make([]string, len(r))
	for i, rejection := range r {
		codes[i] = rejection.codes()
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

// RejectionsOf returns the Rejection of each coupon that an error reports. The error may be a Rejection, or Rejections,
// or wrap one of the two. For any other error, RejectionsOf returns nil.
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
	return slices.ContainsFunc(r.Reasons, func(reason Reason) bool { return reason.Code == code })
}

// Error returns a text that lists the codes of all reasons, each once.
func (r *Rejection) Error() string { return "coupon refused: " + r.codes() }

func (r *Rejection) codes() string {
	codes := make([]string, len(r.Reasons))
	for i, reason := range r.Reasons {
		codes[i] = reason.Code.String()
	}
	return strings.Join(slices.Compact(codes), ", ")
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
