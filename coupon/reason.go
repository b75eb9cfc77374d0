package coupon

import (
	"encoding/json"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// Params are the facts behind a reason. Each field names the codes that have it
// (contract section 6); for every other code it is zero and left out of JSON.
// Amounts are decimal strings in JSON ("12.50"), instants RFC 3339. Amounts are not read
// back, for their currency, which is the cart's, is not beside them: a client in Go that
// needs them reads params into a type of its own, with each amount a [pricing.Number].
type Params struct {
	// StartsAt: [CouponNotStarted]. The first instant at which the coupon is valid.
	StartsAt time.Time `json:"startsAt,omitzero"`
	// ExpiresAt: [CouponExpired]. The first instant at which it is no longer.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// MaxUses: [UsageLimitReached].
	MaxUses int64 `json:"maxUses,omitzero"`
	// MaxUsesPerUser: [UserUsageLimitReached].
	MaxUsesPerUser int64 `json:"maxUsesPerUser,omitzero"`
	// MinPurchase, EligibleSubtotal and Missing, which is the difference:
	// [MinimumPurchaseNotMet].
	MinPurchase      Amount `json:"minPurchase,omitzero"`
	EligibleSubtotal Amount `json:"eligibleSubtotal,omitzero"`
	Missing          Amount `json:"missing,omitzero"`
	// PointsRequired: [PointsNotRedeemed].
	PointsRequired int64 `json:"pointsRequired,omitzero"`
	// CouponCurrency and CartCurrency: [CurrencyMismatch].
	CouponCurrency pricing.Currency `json:"couponCurrency,omitzero"`
	CartCurrency   pricing.Currency `json:"cartCurrency,omitzero"`
	// Field, the name of a total, and what was submitted and computed for it:
	// [CartTotalsInvalid].
	Field     string `json:"field,omitzero"`
	Submitted Amount `json:"submitted,omitzero"`
	Computed  Amount `json:"computed,omitzero"`
	// Total, and the least amount that the processor charges: [BelowMinimumCharge].
	Total   Amount `json:"total,omitzero"`
	Minimum Amount `json:"minimum,omitzero"`
}

// Equal reports whether p and q hold the same facts; go-cmp finds it.
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

// Amount is money as a parameter: left out of JSON when it has no currency, and
// not when it is 0. Reading it from JSON is refused; see [pricing.Money.UnmarshalJSON].
type Amount struct{ pricing.Money }

// IsZero reports whether there is no amount, not even one of 0.
func (a Amount) IsZero() bool { return a.Currency().IsZero() }

// Equal reports whether a and b are the same amount of the same currency, as ==
// does; go-cmp finds it.
func (a Amount) Equal(b Amount) bool { return a == b }

// Reason is one reason for a refusal.
type Reason struct {
	Code   RejectionCode
	Params Params
}

// Message returns the sentence that a customer may read.
func (r Reason) Message() string { return r.Code.Message() }

// Equal reports whether r and s are the same reason with the same facts; go-cmp
// finds it.
func (r Reason) Equal(s Reason) bool { return r.Code == s.Code && r.Params.Equal(s.Params) }

// MarshalJSON returns the form that contract section 7 gives an entry of
// rejections. params has those parameters that the code has, and no other:
//
//	{"code":"coupon_expired","message":"This coupon has expired.",
//	 "params":{"expiresAt":"2026-11-20T12:00:00Z"}}
//
// It is read back as far as [Params] are: a reason with amounts is refused.
func (r Reason) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Code    RejectionCode `json:"code"`
		Message string        `json:"message"`
		Params  Params        `json:"params"`
	}{r.Code, r.Message(), r.Params.only(r.Code)})
}
