package coupon

import (
	"encoding/json"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// Params holds the values that explain a [Reason], such as the limit that was reached. The
// comment of each field names the [RejectionCode] that uses the field (contract section 6).
// Unused fields are zero and do not appear in JSON. In JSON, amounts are decimal strings such as
// "12.50", and instants are in RFC 3339 format.
//
// Amounts cannot be unmarshaled from JSON, because the JSON does not contain the currency of the
// cart. A Go client that needs the amounts declares its own struct with [pricing.Number] fields.
type Params struct {
	// StartsAt is the first instant at which the coupon is valid. StartsAt is set if the code is
	// [CouponNotStarted].
	StartsAt time.Time `json:"startsAt,omitzero"`
	// ExpiresAt is the instant at which the coupon expired. ExpiresAt is set if the code is
	// [CouponExpired].
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// MaxUses is the maximum number of uses by all customers together. MaxUses is set if the
	// code is [UsageLimitReached].
	MaxUses int64 `json:"maxUses,omitzero"`
	// MaxUsesPerUser is the maximum number of uses by one customer. MaxUsesPerUser is set if the
	// code is [UserUsageLimitReached].
	MaxUsesPerUser int64 `json:"maxUsesPerUser,omitzero"`
	// MinPurchase is the minimum eligible subtotal, and EligibleSubtotal is the actual eligible
	// subtotal of the cart. Missing is the difference between MinPurchase and EligibleSubtotal.
	// MinPurchase, EligibleSubtotal and Missing are set if the code is [MinimumPurchaseNotMet].
	MinPurchase      Amount `json:"minPurchase,omitzero"`
	EligibleSubtotal Amount `json:"eligibleSubtotal,omitzero"`
	Missing          Amount `json:"missing,omitzero"`
	// PointsRequired is the price of the coupon, in points. PointsRequired is set if the code is
	// [PointsNotRedeemed].
	PointsRequired int64 `json:"pointsRequired,omitzero"`
	// CouponCurrency is the currency of the coupon, and CartCurrency is the currency of the
	// cart. CouponCurrency and CartCurrency are set if the code is [CurrencyMismatch].
	CouponCurrency pricing.Currency `json:"couponCurrency,omitzero"`
	CartCurrency   pricing.Currency `json:"cartCurrency,omitzero"`
	// Field is the name of the cart total that does not match. Submitted is the total in the
	// request, and Computed is the total that the service computed. Field, Submitted and
	// Computed are set if the code is [CartTotalsInvalid].
	Field     string `json:"field,omitzero"`
	Submitted Amount `json:"submitted,omitzero"`
	Computed  Amount `json:"computed,omitzero"`
	// Total is the total of the checkout. Minimum is the smallest amount that the payment
	// processor charges. Total and Minimum are set if the code is [BelowMinimumCharge].
	Total   Amount `json:"total,omitzero"`
	Minimum Amount `json:"minimum,omitzero"`
}

// Equal reports whether p and q hold the same values. The package go-cmp calls Equal to compare
// Params.
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

// Amount is an amount of money in [Params]. The JSON of Params omits an Amount that has no
// currency. The JSON includes an Amount of 0 EUR, because it has a currency. An Amount cannot be
// unmarshaled from JSON. Clients read amounts as [pricing.Number] values; see
// [pricing.Money.UnmarshalJSON].
type Amount struct{ pricing.Money }

// IsZero reports whether the Amount has no currency. For 0 EUR, IsZero returns false.
func (a Amount) IsZero() bool { return a.Currency().IsZero() }

// Equal reports whether a and b are the same amount of the same currency. The package go-cmp
// calls Equal to compare amounts.
func (a Amount) Equal(b Amount) bool { return a == b }

// Reason is one reason why a coupon or a checkout is refused.
type Reason struct {
	Code   RejectionCode
	Params Params
}

// Message returns an English sentence that explains the reason to the customer.
func (r Reason) Message() string { return r.Code.Message() }

// Equal reports whether r and s have the same code and the same parameters. The package go-cmp
// calls Equal to compare reasons.
func (r Reason) Equal(s Reason) bool { return r.Code == s.Code && r.Params.Equal(s.Params) }

// MarshalJSON returns one entry of the JSON array "rejections" in API responses. The JSON field
// "params" contains only the parameters that the rejection code uses:
//
//	{"code":"coupon_expired","message":"This coupon has expired.",
//	 "params":{"expiresAt":"2026-11-20T12:00:00Z"}}
//
// A Reason with amounts cannot be unmarshaled from JSON; see [Params].
func (r Reason) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    RejectionCode `json:"code"`
		Message string        `json:"message"`
		Params  Params        `json:"params"`
	}{r.Code, r.Message(), r.Params.only(r.Code)})
}
