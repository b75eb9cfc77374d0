package coupon

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
)

// CompareReasons compares two reasons by the rank of their codes, for use with [slices.SortStableFunc].
func CompareReasons(a, b Reason) int { return cmp.Compare(a.Code.Rank(), b.Code.Rank()) }

// Params holds the values that explain a [Reason], such as the limit that was reached. The tag "of" of each field has
// the names of the codes that use the field (contract section 6). Other fields are zero. In JSON, zero fields are left
// out, amounts are decimal strings such as "12.50", and instants are in RFC 3339 format.
//
// Amounts cannot be unmarshaled from JSON, because the JSON does not contain the currency of the cart. A Go client that
// needs the amounts declares its own struct with [pricing.Number] fields.
type Params struct {
	// StartsAt is the first instant at which the coupon is valid.
	StartsAt time.Time `json:"startsAt,omitzero" of:"coupon_not_started"`
	// ExpiresAt is the instant at which the coupon or the code expired.
	ExpiresAt time.Time `json:"expiresAt,omitzero" of:"coupon_expired"`
	// MaxUses is the maximum number of uses, and MaxUsesPerUser that of one customer.
	MaxUses        int64 `json:"maxUses,omitzero" of:"usage_limit_reached period_limit_reached"`
	MaxUsesPerUser int64 `json:"maxUsesPerUser,omitzero" of:"user_usage_limit_reached"`
	// EligibleSubtotal is the eligible subtotal of the cart. Missing is what it lacks to MinPurchase, or what the
	// discount exceeds Remaining by. Excess is what it exceeds MaxPurchase by.
	MinPurchase      Amount `json:"minPurchase,omitzero" of:"minimum_purchase_not_met required_items_missing"`
	EligibleSubtotal Amount `json:"eligibleSubtotal,omitzero" of:"minimum_purchase_not_met maximum_purchase_exceeded"`
	Missing          Amount `json:"missing,omitzero" of:"minimum_purchase_not_met required_items_missing budget_exhausted"`
	MaxPurchase      Amount `json:"maxPurchase,omitzero" of:"maximum_purchase_exceeded"`
	Excess           Amount `json:"excess,omitzero" of:"maximum_purchase_exceeded"`
	// Budget is the coupon's budget in the currency of the cart, and Remaining is the rest of it.
	Budget    Amount `json:"budget,omitzero" of:"budget_exhausted"`
	Remaining Amount `json:"remaining,omitzero" of:"budget_exhausted"`
	// EligibleQuantity is the number of eligible units with a list price above 0. Of 0, it is left out in JSON.
	// MissingQuantity is what it lacks to MinQuantity, and ExcessQuantity is what it exceeds MaxQuantity by.
	MinQuantity      int64 `json:"minQuantity,omitzero" of:"minimum_quantity_not_met"`
	EligibleQuantity int64 `json:"eligibleQuantity,omitzero" of:"minimum_quantity_not_met maximum_quantity_exceeded"`
	MissingQuantity  int64 `json:"missingQuantity,omitzero" of:"minimum_quantity_not_met required_items_missing"`
	MaxQuantity      int64 `json:"maxQuantity,omitzero" of:"maximum_quantity_exceeded"`
	ExcessQuantity   int64 `json:"excessQuantity,omitzero" of:"maximum_quantity_exceeded"`
	// Contains are the units that the cart must have. The cart has ContainedQuantity of them, and lacks
	// MissingQuantity. If they must cost MinPurchase, they cost ContainedSubtotal in the cart, which lacks Missing.
	Contains          Contents `json:"contains,omitzero" of:"required_items_missing"`
	ContainedQuantity int64    `json:"containedQuantity,omitzero" of:"required_items_missing"`
	ContainedSubtotal Amount   `json:"containedSubtotal,omitzero" of:"required_items_missing"`
	// ContainsNot are the units that the cart must not have. The cart has ExcludedQuantity of them.
	ContainsNot      Scope `json:"containsNot,omitzero" of:"excluded_items_contained"`
	ExcludedQuantity int64 `json:"excludedQuantity,omitzero" of:"excluded_items_contained"`
	// The customer needs one of AnyOfTags and all of MissingTags. HasExcludedTag is true if the customer has an
	// excluded tag, which no parameter names.
	AnyOfTags      []string `json:"anyOfTags,omitempty" of:"customer_tags_not_met"`
	MissingTags    []string `json:"missingTags,omitempty" of:"customer_tags_not_met"`
	HasExcludedTag bool     `json:"hasExcludedTag,omitzero" of:"customer_tags_not_met"`
	// Orders is the number of the customer's orders that are paid or still open.
	Orders int64 `json:"orders,omitzero" of:"not_first_order"`
	// TimeZone is the time zone of the schedule or of the period. OpensAt is the next instant at which the coupon is
	// valid and its schedule is open. OpensAt is zero if there is no such instant within 35 days, counted from the
	// start of a coupon that has not started.
	TimeZone string    `json:"timeZone,omitzero" of:"outside_schedule period_limit_reached"`
	OpensAt  time.Time `json:"opensAt,omitzero" of:"outside_schedule"`
	// Per and Period describe the limit that is reached. EndsAt is the first instant after the period.
	Per    LimitSubject    `json:"per,omitzero" of:"period_limit_reached"`
	Period calendar.Period `json:"period,omitzero" of:"period_limit_reached"`
	EndsAt time.Time       `json:"endsAt,omitzero" of:"period_limit_reached"`
	// PointsRequired is the price of the coupon, in points.
	PointsRequired int64 `json:"pointsRequired,omitzero" of:"points_not_redeemed"`
	// CouponCurrency and CartCurrency are the currencies of the coupon and of the cart.
	CouponCurrency pricing.Currency `json:"couponCurrency,omitzero" of:"currency_mismatch"`
	CartCurrency   pricing.Currency `json:"cartCurrency,omitzero" of:"currency_mismatch"`
	// Channel is the channel of the sale, or empty if the host named none. Channels are those of the coupon.
	Channel  string   `json:"channel,omitzero" of:"channel_not_allowed"`
	Channels []string `json:"channels,omitempty" of:"channel_not_allowed"`
	// Country is the country of delivery, or empty if the host named none. Countries are those of the coupon.
	Country   string   `json:"country,omitzero" of:"country_not_allowed"`
	Countries []string `json:"countries,omitempty" of:"country_not_allowed"`
	// ExcludedBy are the codes of the coupons with which the coupon cannot be combined, sorted. A coupon that came
	// without a code has its ID there.
	ExcludedBy []string `json:"excludedBy,omitempty" of:"not_combinable"`
	// Field is the name of the cart total that does not match. Submitted is the total in the request, and Computed is
	// the total that the service computed.
	Field     string `json:"field,omitzero" of:"cart_totals_invalid"`
	Submitted Amount `json:"submitted,omitzero" of:"cart_totals_invalid"`
	Computed  Amount `json:"computed,omitzero" of:"cart_totals_invalid"`
	// Total is the total of the checkout. Minimum is the smallest amount that the payment processor charges, or zero if
	// only the processor knows it.
	Total   Amount `json:"total,omitzero" of:"below_minimum_charge"`
	Minimum Amount `json:"minimum,omitzero" of:"below_minimum_charge"`
}

// Equal reports whether p and q hold the same values. The package go-cmp calls Equal to compare Params.
func (p Params) Equal(q Params) bool {
	all, others := reflect.ValueOf(p), reflect.ValueOf(q)
	for i := range all.NumField() {
		value, other := all.Field(i).Interface(), others.Field(i).Interface()
		at, _ := value.(time.Time)
		if otherAt, isTime := other.(time.Time); !(isTime && at.Equal(otherAt) || reflect.DeepEqual(value, other)) {
			return false
		}
	}
	return true
}

// only returns the parameters that the code has.
func (p Params) only(code RejectionCode) Params {
	all := reflect.ValueOf(&p).Elem()
	for i := range all.NumField() {
		if codes := strings.Fields(all.Type().Field(i).Tag.Get("of")); !slices.Contains(codes, code.String()) {
			all.Field(i).SetZero()
		}
	}
	return p
}

// Amount is an amount of money in [Params]. The JSON of Params omits an Amount that has no currency. The JSON includes
// an Amount of 0 EUR, because it has a currency. An Amount cannot be unmarshaled from JSON. Clients read amounts as
// [pricing.Number] values; see [pricing.Money.UnmarshalJSON].
type Amount struct{ pricing.Money }

// IsZero reports whether the Amount has no currency. For 0 EUR, IsZero returns false.
func (a Amount) IsZero() bool { return a.Currency().IsZero() }

// Equal reports whether a and b are the same amount of the same currency. The package go-cmp calls Equal to compare
// amounts.
func (a Amount) Equal(b Amount) bool { return a == b }

// Reason is one reason why a coupon or a checkout is refused.
type Reason struct {
	Code   RejectionCode
	Params Params
}

// Message returns an English sentence that explains the reason to the customer.
func (r Reason) Message() string { return r.Code.Message() }

// Equal reports whether r and s have the same code and the same parameters. The package go-cmp calls Equal to compare
// reasons.
func (r Reason) Equal(s Reason) bool { return r.Code == s.Code && r.Params.Equal(s.Params) }

// MarshalJSON returns one entry of the JSON array "rejections" in API responses. The JSON field "params" contains only
// the parameters that the rejection code uses:
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
