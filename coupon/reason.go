package coupon

import (
	"encoding/json"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// Params are the facts of a reason. The comment of each field names the code that uses
// the field (contract section 6). For all other codes the field is zero, and JSON omits
// it. In JSON amounts are decimal strings ("12.50"), and instants are in RFC 3339.
//
// Amounts cannot be unmarshaled, because the currency of the cart is missing. A Go
// client that needs the amounts declares its own struct with [pricing.Number] fields.
type Params struct {
	// StartsAt is the first instant at which the coupon is valid, for
	// [CouponNotStarted].
	StartsAt time.Time `json:"startsAt,omitzero"`
	// ExpiresAt is the instant at which the coupon expired, for [CouponExpired].
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// MaxUses is the limit over all customers, for [UsageLimitReached].
	MaxUses int64 `json:"maxUses,omitzero"`
	// MaxUsesPerUser is the limit of one customer, for [UserUsageLimitReached].
	MaxUsesPerUser int64 `json:"maxUsesPerUser,omitzero"`
	// MinPurchase, EligibleSubtotal and their difference Missing are for
	// [MinimumPurchaseNotMet].
	MinPurchase      Amount `json:"minPurchase,omitzero"`
	EligibleSubtotal Amount `json:"eligibleSubtotal,omitzero"`
	Missing          Amount `json:"missing,omitzero"`
	// PointsRequired is the price in points, for [PointsNotRedeemed].
	PointsRequired int64 `json:"pointsRequired,omitzero"`
	// CouponCurrency and CartCurrency are for [CurrencyMismatch].
	CouponCurrency pricing.Currency `json:"couponCurrency,omitzero"`
	CartCurrency   pricing.Currency `json:"cartCurrency,omitzero"`
	// Field is the name of a total, for [CartTotalsInvalid]. Submitted and Computed are
	// the amounts of that total.
	Field     string `json:"field,omitzero"`
	Submitted Amount `json:"submitted,omitzero"`
	Computed  Amount `json:"computed,omitzero"`
	// Total and Minimum are for [BelowMinimumCharge]. Minimum is the least amount that
	// the processor charges.
	Total   Amount `json:"total,omitzero"`
	Minimum Amount `json:"minimum,omitzero"`
}

// Equal reports whether p and q hold the same facts. go-cmp uses it.
func (p Params) Equal(q Params) bool {
	if !p.StartsAt.Equal(q.StartsAt) || !p.ExpiresAt.Equal(q.ExpiresAt) {
		return false
	}
	q.StartsAt, q.ExpiresAt = p.StartsAt, p.ExpiresAt
	return p == q
}

// only returns the parameters that the code has.
func (p Params) only(code RejectionCode) Params {
	switch code {
	case CouponNotStarted:
		return Params{StartsAt: p.StartsAt}
	case CouponExpired:
		return Params{ExpiresAt: p.ExpiresAt}
	case UsageLimitReached:
		return Params{MaxUses: p.MaxUses}
	case UserUsageLimitReached:
		return Params{MaxUsesPerUser: p.MaxUsesPerUser}
	case MinimumPurchaseNotMet:
		return Params{MinPurchase: p.MinPurchase, EligibleSubtotal: p.EligibleSubtotal, Missing: p.Missing}
	case PointsNotRedeemed:
		return Params{PointsRequired: p.PointsRequired}
	case CurrencyMismatch:
		return Params{CouponCurrency: p.CouponCurrency, CartCurrency: p.CartCurrency}
	case CartTotalsInvalid:
		return Params{Field: p.Field, Submitted: p.Submitted, Computed: p.Computed}
	case BelowMinimumCharge:
		return Params{Total: p.Total, Minimum: p.Minimum}
	case CodeRequired, CouponNotFound, CouponInactive, ProcessorOutOfSync, UserRequired, UserNotAllowed,
		NoEligibleItems, NoDiscount, CodeTaken:
	}
	return Params{}
}

// Amount is money as a parameter. JSON omits an amount without a currency, but not an
// amount of 0. An Amount cannot be unmarshaled; see [pricing.Money.UnmarshalJSON].
type Amount struct{ pricing.Money }

// IsZero reports whether a has no currency. 0 EUR is not zero.
func (a Amount) IsZero() bool { return a.Currency().IsZero() }

// Equal reports whether a and b are the same amount of the same currency. go-cmp uses
// it.
func (a Amount) Equal(b Amount) bool { return a == b }

// Reason is one reason for a refusal.
type Reason struct {
	Code   RejectionCode
	Params Params
}

// Message returns an English sentence for the customer.
func (r Reason) Message() string { return r.Code.Message() }

// Equal reports whether r and s are the same reason with the same facts. go-cmp uses
// it.
func (r Reason) Equal(s Reason) bool { return r.Code == s.Code && r.Params.Equal(s.Params) }

// MarshalJSON returns one entry of "rejections" in API answers. params has only the
// parameters of the code:
//
//	{"code":"coupon_expired","message":"This coupon has expired.",
//	 "params":{"expiresAt":"2026-11-20T12:00:00Z"}}
//
// A reason with amounts cannot be unmarshaled; see [Params].
func (r Reason) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    RejectionCode `json:"code"`
		Message string        `json:"message"`
		Params  Params        `json:"params"`
	}{r.Code, r.Message(), r.Params.only(r.Code)})
}
