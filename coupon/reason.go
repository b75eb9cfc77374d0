package coupon

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
)

// reported lists all rejection codes in the order in which reasons are reported (contract section
// 6). The order goes from the coupon over its limits and the customer to the cart and the checkout.
var reported = [...]RejectionCode{
	CodeRequired, CouponNotFound,
	CouponInactive, CouponNotStarted, CouponExpired, OutsideSchedule, ChannelNotAllowed, CountryNotAllowed, ProcessorOutOfSync,
	UsageLimitReached, UserUsageLimitReached, PeriodLimitReached, BudgetExhausted,
	MinimumPurchaseNotMet, MaximumPurchaseExceeded, MinimumQuantityNotMet, MaximumQuantityExceeded, RequiredItemsMissing, ExcludedItemsContained,
	UserRequired, UserNotAllowed, CustomerTagsNotMet, NotFirstOrder, PointsNotRedeemed,
	NoEligibleItems, NoDiscount, CurrencyMismatch, NotCombinable,
	CodeTaken, CartTotalsInvalid, BelowMinimumCharge,
}

// RejectionCodes returns all rejection codes in the order in which reasons are reported.
func RejectionCodes() []RejectionCode { return slices.Clone(reported[:]) }

// Rank returns the position of the code in [RejectionCodes]. Reasons with a lower rank are
// reported first. For an unknown code, Rank returns -1.
func (c RejectionCode) Rank() int { return slices.Index(reported[:], c) }

// CompareReasons compares two reasons by the rank of their codes, for use with
// [slices.SortStableFunc].
func CompareReasons(a, b Reason) int { return cmp.Compare(a.Code.Rank(), b.Code.Rank()) }

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
	// MaxUses is the maximum number of uses. MaxUses is set if the code is [UsageLimitReached] or
	// [PeriodLimitReached].
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
	// MaxPurchase is the maximum eligible subtotal, and Excess is the difference between
	// EligibleSubtotal and MaxPurchase. MaxPurchase, EligibleSubtotal and Excess are set if the code is
	// [MaximumPurchaseExceeded].
	MaxPurchase Amount `json:"maxPurchase,omitzero"`
	Excess      Amount `json:"excess,omitzero"`
	// Budget is the coupon's budget in the currency of the cart, and Remaining is the rest of it.
	// Missing is the difference between the discount and Remaining. Budget, Remaining and Missing
	// are set if the code is [BudgetExhausted].
	Budget    Amount `json:"budget,omitzero"`
	Remaining Amount `json:"remaining,omitzero"`
	// MinQuantity is the minimum number of eligible units, and EligibleQuantity is the actual
	// number of those with a list price above 0. MissingQuantity is the difference. MinQuantity, EligibleQuantity and
	// MissingQuantity are set if the code is [MinimumQuantityNotMet]. An EligibleQuantity of 0
	// does not appear in JSON.
	MinQuantity      int64 `json:"minQuantity,omitzero"`
	EligibleQuantity int64 `json:"eligibleQuantity,omitzero"`
	MissingQuantity  int64 `json:"missingQuantity,omitzero"`
	// MaxQuantity is the maximum number of eligible units, and ExcessQuantity is the difference between
	// EligibleQuantity and MaxQuantity. MaxQuantity, EligibleQuantity and ExcessQuantity are set if the
	// code is [MaximumQuantityExceeded].
	MaxQuantity    int64 `json:"maxQuantity,omitzero"`
	ExcessQuantity int64 `json:"excessQuantity,omitzero"`
	// Contains are the units that the cart must have, and ContainedQuantity is the number of those that
	// it has. MissingQuantity is the difference. Contains, ContainedQuantity and MissingQuantity are set if
	// the code is [RequiredItemsMissing].
	Contains          Contents `json:"contains,omitzero"`
	ContainedQuantity int64    `json:"containedQuantity,omitzero"`
	// ContainsNot are the units that the cart must not have, and ExcludedQuantity is the number of those
	// that it has. ContainsNot and ExcludedQuantity are set if the code is [ExcludedItemsContained].
	ContainsNot      Scope `json:"containsNot,omitzero"`
	ExcludedQuantity int64 `json:"excludedQuantity,omitzero"`
	// AnyOfTags are tags of which the customer needs one, and MissingTags are tags that the
	// customer needs. HasExcludedTag is true if the customer has a tag that the coupon excludes.
	// The parameters do not name an excluded tag. AnyOfTags, MissingTags and HasExcludedTag are
	// set if the code is [CustomerTagsNotMet].
	AnyOfTags      []string `json:"anyOfTags,omitempty"`
	MissingTags    []string `json:"missingTags,omitempty"`
	HasExcludedTag bool     `json:"hasExcludedTag,omitzero"`
	// Orders is the number of the customer's orders that are paid or still open. Orders is set if
	// the code is [NotFirstOrder].
	Orders int64 `json:"orders,omitzero"`
	// TimeZone is the time zone of the schedule or of the period. OpensAt is the next instant at
	// which the coupon is valid and its schedule is open. OpensAt is zero if there is no such
	// instant within 35 days, counted from the start of a coupon that has not started. TimeZone and
	// OpensAt are set if the code is [OutsideSchedule].
	TimeZone string    `json:"timeZone,omitzero"`
	OpensAt  time.Time `json:"opensAt,omitzero"`
	// Per and Period describe the limit that is reached, together with MaxUses and TimeZone.
	// EndsAt is the first instant after the period. Per, Period and EndsAt are set if the code is
	// [PeriodLimitReached].
	Per    LimitSubject `json:"per,omitzero"`
	Period Period       `json:"period,omitzero"`
	EndsAt time.Time    `json:"endsAt,omitzero"`
	// PointsRequired is the price of the coupon, in points. PointsRequired is set if the code is
	// [PointsNotRedeemed].
	PointsRequired int64 `json:"pointsRequired,omitzero"`
	// CouponCurrency is the currency of the coupon, and CartCurrency is the currency of the
	// cart. CouponCurrency and CartCurrency are set if the code is [CurrencyMismatch].
	CouponCurrency pricing.Currency `json:"couponCurrency,omitzero"`
	CartCurrency   pricing.Currency `json:"cartCurrency,omitzero"`
	// Channel is the channel of the sale, or empty if the host named none. Channels are the channels
	// of the coupon. Channel and Channels are set if the code is [ChannelNotAllowed].
	Channel  string   `json:"channel,omitzero"`
	Channels []string `json:"channels,omitempty"`
	// Country is the country of delivery, or empty if the host named none. Countries are the countries
	// of the coupon. Country and Countries are set if the code is [CountryNotAllowed].
	Country   string   `json:"country,omitzero"`
	Countries []string `json:"countries,omitempty"`
	// ExcludedBy are the codes of the coupons with which the coupon cannot be combined, sorted.
	// ExcludedBy is set if the code is [NotCombinable].
	ExcludedBy []string `json:"excludedBy,omitempty"`
	// Field is the name of the cart total that does not match. Submitted is the total in the
	// request, and Computed is the total that the service computed. Field, Submitted and
	// Computed are set if the code is [CartTotalsInvalid].
	Field     string `json:"field,omitzero"`
	Submitted Amount `json:"submitted,omitzero"`
	Computed  Amount `json:"computed,omitzero"`
	// Total is the total of the checkout. Minimum is the smallest amount that the payment
	// processor charges. Total is set if the code is [BelowMinimumCharge]. Minimum is
	// then set, too, unless only the processor knows the minimum.
	Total   Amount `json:"total,omitzero"`
	Minimum Amount `json:"minimum,omitzero"`
}

// Equal reports whether p and q hold the same values. The package go-cmp calls Equal to compare
// Params.
func (p Params) Equal(q Params) bool {
	return p.StartsAt.Equal(q.StartsAt) && p.ExpiresAt.Equal(q.ExpiresAt) && p.OpensAt.Equal(q.OpensAt) && p.EndsAt.Equal(q.EndsAt) &&
		p.MaxUses == q.MaxUses && p.MaxUsesPerUser == q.MaxUsesPerUser && p.Per == q.Per && p.Period == q.Period &&
		p.MinPurchase == q.MinPurchase && p.EligibleSubtotal == q.EligibleSubtotal && p.Missing == q.Missing &&
		p.MaxPurchase == q.MaxPurchase && p.Excess == q.Excess &&
		p.Budget == q.Budget && p.Remaining == q.Remaining && p.TimeZone == q.TimeZone && p.Orders == q.Orders &&
		p.MinQuantity == q.MinQuantity && p.EligibleQuantity == q.EligibleQuantity && p.MissingQuantity == q.MissingQuantity &&
		p.MaxQuantity == q.MaxQuantity && p.ExcessQuantity == q.ExcessQuantity &&
		p.Contains.Equal(q.Contains) && p.ContainedQuantity == q.ContainedQuantity &&
		p.ContainsNot.Equal(q.ContainsNot) && p.ExcludedQuantity == q.ExcludedQuantity &&
		slices.Equal(p.AnyOfTags, q.AnyOfTags) && slices.Equal(p.MissingTags, q.MissingTags) && p.HasExcludedTag == q.HasExcludedTag &&
		p.PointsRequired == q.PointsRequired && p.CouponCurrency == q.CouponCurrency && p.CartCurrency == q.CartCurrency &&
		slices.Equal(p.ExcludedBy, q.ExcludedBy) && p.Channel == q.Channel && slices.Equal(p.Channels, q.Channels) &&
		p.Country == q.Country && slices.Equal(p.Countries, q.Countries) &&
		p.Field == q.Field && p.Submitted == q.Submitted && p.Computed == q.Computed && p.Total == q.Total && p.Minimum == q.Minimum
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
	case MaximumPurchaseExceeded:
		return Params{MaxPurchase: p.MaxPurchase, EligibleSubtotal: p.EligibleSubtotal, Excess: p.Excess}
	case PointsNotRedeemed:
		return Params{PointsRequired: p.PointsRequired}
	case CurrencyMismatch:
		return Params{CouponCurrency: p.CouponCurrency, CartCurrency: p.CartCurrency}
	case NotCombinable:
		return Params{ExcludedBy: p.ExcludedBy}
	case CartTotalsInvalid:
		return Params{Field: p.Field, Submitted: p.Submitted, Computed: p.Computed}
	case BelowMinimumCharge:
		return Params{Total: p.Total, Minimum: p.Minimum}
	case OutsideSchedule:
		return Params{TimeZone: p.TimeZone, OpensAt: p.OpensAt}
	case PeriodLimitReached:
		return Params{Per: p.Per, Period: p.Period, TimeZone: p.TimeZone, MaxUses: p.MaxUses, EndsAt: p.EndsAt}
	case BudgetExhausted:
		return Params{Budget: p.Budget, Remaining: p.Remaining, Missing: p.Missing}
	case MinimumQuantityNotMet:
		return Params{MinQuantity: p.MinQuantity, EligibleQuantity: p.EligibleQuantity, MissingQuantity: p.MissingQuantity}
	case MaximumQuantityExceeded:
		return Params{MaxQuantity: p.MaxQuantity, EligibleQuantity: p.EligibleQuantity, ExcessQuantity: p.ExcessQuantity}
	case RequiredItemsMissing:
		return Params{Contains: p.Contains, ContainedQuantity: p.ContainedQuantity, MissingQuantity: p.MissingQuantity}
	case ExcludedItemsContained:
		return Params{ContainsNot: p.ContainsNot, ExcludedQuantity: p.ExcludedQuantity}
	case CustomerTagsNotMet:
		return Params{AnyOfTags: p.AnyOfTags, MissingTags: p.MissingTags, HasExcludedTag: p.HasExcludedTag}
	case NotFirstOrder:
		return Params{Orders: p.Orders}
	case ChannelNotAllowed:
		return Params{Channel: p.Channel, Channels: p.Channels}
	case CountryNotAllowed:
		return Params{Country: p.Country, Countries: p.Countries}
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
