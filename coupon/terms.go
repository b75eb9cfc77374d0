package coupon

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Terms are what an administrator decides about a coupon: what it takes off, for whom, and when. Amounts of money have
// their currency, and instants are in UTC. Terms can be copied by assignment.
type Terms struct {
	// Currency and Discount never change after creation.
	Currency pricing.Currency
	Discount pricing.Discount
	// Scope defines the lines of a cart that the coupon covers.
	Scope Scope
	// Buys is the scope of what has to be bought for a discount of type BUY_X_GET_Y. With the zero Scope, the units are
	// bought from Scope. Buys never changes after creation.
	Buys Scope
	// Group is the group of the coupon, at most [MaxGroupLength] code points long. A coupon without a group is
	// exclusive. Of one group, at most one coupon applies to a cart.
	Group string
	// Automatic tells that the coupon needs no code: a quote and a checkout find it by themselves. It may have codes,
	// too. A [PointsRedeemable] coupon is never Automatic.
	Automatic bool
	// Distribution defines who may use the coupon.
	Distribution Distribution
	// AllowedUserEmails is the allow-list of a [UserSpecific] coupon. Other coupons have none.
	AllowedUserEmails EmailSet
	// PointsRequired is the price of a [PointsRedeemable] coupon, in points. Other coupons cost 0.
	PointsRequired int64
	Limits         Limits
	Conditions     Conditions
	// RefundPolicy tells what a refund does if the rest of an order no longer meets a threshold of the coupon.
	// RefundPolicy never changes after creation, and is never unset.
	RefundPolicy pricing.RefundPolicy
	// RestoreOnRefund tells when a refund gives a use back. A change applies to later checkouts.
	RestoreOnRefund Restore
	// The coupon is valid from StartsAt, inclusive, until ExpiresAt, exclusive. A zero bound means none.
	StartsAt  time.Time
	ExpiresAt time.Time
}

// TermsVersion is the version of the JSON form of [Terms] in stored documents. It increases by 1 with every new term
// since the first release.
const TermsVersion = 1

// Conditions restricts when a coupon can be used, by whom and for which carts. The zero Conditions does not restrict a
// coupon.
type Conditions struct {
	// MinPurchase and MaxPurchase are the inclusive bounds of a cart's eligible subtotal, by the currency of the cart.
	// An empty set means no bound. A coupon with a bound cannot be used in a currency without one.
	MinPurchase MoneySet `json:"-"`
	MaxPurchase MoneySet `json:"-"`
	// MinQuantity and MaxQuantity are the inclusive bounds of the number of units in the lines that the coupon covers.
	// Units with a list price of 0 do not count. A 0 means no bound.
	MinQuantity int64 `json:"minQuantity,omitzero"`
	MaxQuantity int64 `json:"maxQuantity,omitzero"`
	// Contains restricts the coupon to carts with a minimum number of certain units, or with a minimum amount of them.
	// The units count in all lines of goods, whether or not the coupon covers the line. A refund does not look at
	// Contains.
	Contains Contents `json:"-"`
	// ContainsNot restricts the coupon to carts without certain units, in any line of goods. Units with a list price of
	// 0 do not count. The zero ContainsNot excludes nothing.
	ContainsNot  Scope        `json:"containsNot,omitzero"`
	CustomerTags CustomerTags `json:"customerTags,omitzero"`
	// FirstOrder restricts the coupon to the first order of a customer.
	FirstOrder bool              `json:"firstOrder,omitzero"`
	Schedule   calendar.Schedule `json:"schedule,omitzero"`
	// Channels restricts the coupon to sales in certain channels, such as "web" or "store". The host names the channel
	// of each sale. Names are compared byte by byte. Without Channels, every channel is allowed.
	Channels Items `json:"channels,omitzero"`
	// Countries restricts the coupon to deliveries to certain countries, which are ISO 3166-1 codes of two upper-case
	// letters. Without Countries, every country is allowed.
	Countries Items `json:"countries,omitzero"`
}

// Draft is an administrator's description of the [Terms] of a new coupon (specification 2.1 and 4.2). A draft must have
// a name, a discount type and the value of the discount. The zero value of every other field stands for its default.
// Amounts, percentages and dates are text, which [New] reads once.
type Draft struct {
	// Code is the plain code as an administrator typed it. [ParseCode] defines which codes are valid. Without a Code,
	// customers reach the coupon only by the codes of its batches, or it is Automatic. Otherwise JSON says so with
	// "withoutCode": true; see [Draft.UnmarshalJSON].
	Code string `json:"code,omitzero"`
	// Name is the name of the coupon, 1 to [MaxNameLength] code points long.
	Name         string               `json:"name"`
	DiscountType pricing.DiscountType `json:"discountType,omitzero"`
	// Percent is the percentage of a discount whose type has one, such as "12.5". A percentage is at most 100 and has
	// at most 4 decimals. In JSON, its name is discountValue.
	Percent string `json:"-"`
	// Amount are the amounts of a discount whose type has an amount. An amount cannot have more decimals than its
	// currency. In JSON, its name is discountValue.
	Amount Amounts `json:"-"`
	// Lane and the following fields are explained by [pricing.DiscountTerms]. A zero Lane means the lane of the type.
	// Without Buys, the units of BUY_X_GET_Y are bought from the scope of the coupon.
	Lane            pricing.Lane      `json:"lane,omitzero"`
	MaxDiscount     Amounts           `json:"maxDiscount,omitzero"`
	MaxUnits        int64             `json:"maxUnits,omitzero"`
	Units           int64             `json:"units,omitzero"`
	BuyQuantity     int64             `json:"buyQuantity,omitzero"`
	GetQuantity     int64             `json:"getQuantity,omitzero"`
	MaxApplications int64             `json:"maxApplications,omitzero"`
	Buys            *ScopeDraft       `json:"buys,omitzero"`
	TierBasis       pricing.TierBasis `json:"tierBasis,omitzero"`
	Tiers           []TierDraft       `json:"tiers,omitempty"`
	// Currency is an ISO 4217 code such as "USD", or empty for the currency of the [Creation].
	Currency string `json:"currency,omitzero"`
	// Description is a text for administrators, at most [MaxDescriptionLength] code points long.
	Description string `json:"description,omitzero"`
	// AppliesTo and the following lists are those of a [ScopeDraft]. Duplicate entries are ignored.
	AppliesTo          AppliesTo `json:"appliesTo,omitzero"`
	PlanIDs            []string  `json:"planIds,omitempty"`
	DeviceIDs          []string  `json:"deviceIds,omitempty"`
	AccessoryIDs       []string  `json:"accessoryIds,omitempty"`
	Kinds              []string  `json:"kinds,omitempty"`
	Categories         []string  `json:"categories,omitempty"`
	ExcludedItemIDs    []string  `json:"excludedItemIds,omitempty"`
	ExcludedCategories []string  `json:"excludedCategories,omitempty"`
	Group              string    `json:"group,omitzero"`
	// Automatic tells that the coupon needs no code. The draft then has a Code, or none.
	Automatic bool `json:"automatic,omitzero"`
	// Distribution defines who may use the coupon. A zero Distribution means [General].
	Distribution Distribution `json:"distribution,omitzero"`
	// AllowedUserEmails lists the customers who may use a [UserSpecific] coupon.
	AllowedUserEmails EmailList `json:"allowedUserEmails,omitempty"`
	// PointsRequired is the price of a [PointsRedeemable] coupon, in points.
	PointsRequired int64 `json:"pointsRequired,omitzero"`
	// MaxUses, MaxUsesPerUser, Budget and PeriodLimits are the [Limits]. A limit that is not given or is cleared with
	// [Clear] is none, but a MaxUsesPerUser that is not given is [DefaultMaxUsesPerUser] unless the coupon is Automatic.
	MaxUses        Optional[int] `json:"maxUses,omitzero"`
	MaxUsesPerUser Optional[int] `json:"maxUsesPerUser,omitzero"`
	// MinPurchase and the following fields are the [Conditions]. Zero values and options that are not given or are
	// cleared with [Clear] restrict nothing. A MinPurchase of 0 in the currency of the coupon alone means none.
	MinPurchase  Amounts        `json:"minPurchase,omitzero"`
	MaxPurchase  Amounts        `json:"maxPurchase,omitzero"`
	MinQuantity  Optional[int]  `json:"minQuantity,omitzero"`
	MaxQuantity  Optional[int]  `json:"maxQuantity,omitzero"`
	Contains     *ContentsDraft `json:"contains,omitzero"`
	ContainsNot  *ScopeDraft    `json:"containsNot,omitzero"`
	CustomerTags CustomerTags   `json:"customerTags,omitzero"`
	FirstOrder   bool           `json:"firstOrder,omitzero"`
	Schedule     Schedule       `json:"schedule,omitzero"`
	Channels     []string       `json:"channels,omitempty"`
	Countries    []string       `json:"countries,omitempty"`
	Budget       Amounts        `json:"budget,omitzero"`
	PeriodLimits []PeriodLimit  `json:"periodLimits,omitempty"`
	// StartsAt and ExpiresAt are the bounds of the coupon's validity, or empty for none. If ExpiresAt is a date, the
	// coupon is valid through the end of that day. ExpiresAt must be later than the creation of the coupon.
	StartsAt  calendar.Moment `json:"startsAt,omitzero"`
	ExpiresAt calendar.Moment `json:"expiresAt,omitzero"`
	// An unset RefundPolicy stands for the usual policy of the discount; see [pricing.RefundPolicy.For].
	RefundPolicy    pricing.RefundPolicy `json:"refundPolicy,omitzero"`
	RestoreOnRefund Restore              `json:"restoreOnRefund,omitzero"`

	// Unread are the faults of members that could not be read from JSON. [New] reports them.
	Unread []validation.Field `json:"-"`
}

// Patch describes a change to a coupon (specification 4.3). A field that is not given leaves the coupon's value
// unchanged. A field with the value [Clear] removes an optional value of the coupon. A given field replaces the whole
// value of the coupon, also all amounts of [Amounts].
//
// The code, the discount, the currency and the refund policy of a coupon cannot change. A patch may repeat their
// current values. [Coupon.Apply] refuses a patch with other values.
type Patch struct {
	Name               Optional[string]          `json:"name,omitzero"`
	Description        Optional[string]          `json:"description,omitzero"`
	AppliesTo          Optional[AppliesTo]       `json:"appliesTo,omitzero"`
	PlanIDs            Optional[[]string]        `json:"planIds,omitzero"`
	DeviceIDs          Optional[[]string]        `json:"deviceIds,omitzero"`
	AccessoryIDs       Optional[[]string]        `json:"accessoryIds,omitzero"`
	Kinds              Optional[[]string]        `json:"kinds,omitzero"`
	Categories         Optional[[]string]        `json:"categories,omitzero"`
	ExcludedItemIDs    Optional[[]string]        `json:"excludedItemIds,omitzero"`
	ExcludedCategories Optional[[]string]        `json:"excludedCategories,omitzero"`
	Group              Optional[string]          `json:"group,omitzero"`
	Automatic          Optional[bool]            `json:"automatic,omitzero"`
	Distribution       Optional[Distribution]    `json:"distribution,omitzero"`
	AllowedUserEmails  Optional[EmailList]       `json:"allowedUserEmails,omitzero"`
	PointsRequired     Optional[int64]           `json:"pointsRequired,omitzero"`
	MaxUses            Optional[int]             `json:"maxUses,omitzero"`
	MaxUsesPerUser     Optional[int]             `json:"maxUsesPerUser,omitzero"`
	MinPurchase        Optional[Amounts]         `json:"minPurchase,omitzero"`
	MaxPurchase        Optional[Amounts]         `json:"maxPurchase,omitzero"`
	MinQuantity        Optional[int]             `json:"minQuantity,omitzero"`
	MaxQuantity        Optional[int]             `json:"maxQuantity,omitzero"`
	Contains           Optional[ContentsDraft]   `json:"contains,omitzero"`
	ContainsNot        Optional[ScopeDraft]      `json:"containsNot,omitzero"`
	CustomerTags       Optional[CustomerTags]    `json:"customerTags,omitzero"`
	FirstOrder         Optional[bool]            `json:"firstOrder,omitzero"`
	Schedule           Optional[Schedule]        `json:"schedule,omitzero"`
	Channels           Optional[[]string]        `json:"channels,omitzero"`
	Countries          Optional[[]string]        `json:"countries,omitzero"`
	Budget             Optional[Amounts]         `json:"budget,omitzero"`
	PeriodLimits       Optional[[]PeriodLimit]   `json:"periodLimits,omitzero"`
	StartsAt           Optional[calendar.Moment] `json:"startsAt,omitzero"`
	ExpiresAt          Optional[calendar.Moment] `json:"expiresAt,omitzero"`
	RestoreOnRefund    Optional[Restore]         `json:"restoreOnRefund,omitzero"`

	// Revision is the revision of the coupon for which the patch was made, or not given. Apply ignores Revision. The
	// store compares Revision with the coupon's current revision.
	Revision Optional[int64] `json:"revision,omitzero"`

	// Code, DiscountType, DiscountValue, Currency and RefundPolicy may only repeat the coupon's current values. A
	// DiscountValue that is a percentage has the empty currency code.
	Code          Optional[string]               `json:"code,omitzero"`
	DiscountType  Optional[pricing.DiscountType] `json:"discountType,omitzero"`
	DiscountValue Optional[Amounts]              `json:"discountValue,omitzero"`
	Currency      Optional[string]               `json:"currency,omitzero"`
	RefundPolicy  Optional[pricing.RefundPolicy] `json:"refundPolicy,omitzero"`

	// Unread are the faults of members that could not be read from JSON. [Coupon.Apply] reports them.
	Unread []validation.Field `json:"-"`
}

// condition is a field of [Conditions] with its rules.
type condition struct {
	field  string
	code   RejectionCode
	read   func(*Draft, *Terms, *validation.Error)
	copy   func(to, from *Coupon)
	equal  func(c, d *Conditions) bool
	faults func(*Terms, *validation.Error)

	byCurrency bool // true if the condition has an amount for each currency
}

// conditions is the table of all conditions. Their functions get the coupon's currency.
var conditions = [...]condition{
	amountsCondition("minPurchase", MinimumPurchaseNotMet, Amounts.minimum,
		func(c *Conditions) *MoneySet { return &c.MinPurchase }, func(d *Draft) Amounts { return d.MinPurchase }),
	amountsCondition("maxPurchase", MaximumPurchaseExceeded, Amounts.maximum,
		func(c *Conditions) *MoneySet { return &c.MaxPurchase }, func(d *Draft) Amounts { return d.MaxPurchase }),
	quantityCondition("minQuantity", MinimumQuantityNotMet,
		func(c *Conditions) *int64 { return &c.MinQuantity }, func(d *Draft) Optional[int] { return d.MinQuantity }),
	quantityCondition("maxQuantity", MaximumQuantityExceeded,
		func(c *Conditions) *int64 { return &c.MaxQuantity }, func(d *Draft) Optional[int] { return d.MaxQuantity }),
	newCondition("contains", RequiredItemsMissing, func(c *Conditions) *Contents { return &c.Contains },
		func(d *Draft, own pricing.Currency, faults *validation.Error) Contents {
			return d.Contains.contents("contains.", own, faults)
		},
		func(c Contents, own pricing.Currency, faults *validation.Error) {
			if !c.IsZero() {
				required := c // only this copy is allocated
				required.faults("contains.", own, faults)
			}
		}),
	newCondition("containsNot", ExcludedItemsContained, func(c *Conditions) *Scope { return &c.ContainsNot },
		func(d *Draft, _ pricing.Currency, faults *validation.Error) Scope {
			return d.ContainsNot.scope("containsNot.", faults)
		},
		func(s Scope, _ pricing.Currency, faults *validation.Error) {
			if !s.IsZero() {
				excluded := s // only this copy is allocated
				excluded.faults("containsNot.", faults)
			}
		}),
	newCondition("customerTags", CustomerTagsNotMet, func(c *Conditions) *CustomerTags { return &c.CustomerTags },
		func(d *Draft, _ pricing.Currency, _ *validation.Error) CustomerTags { return d.CustomerTags.clone() },
		func(tags CustomerTags, _ pricing.Currency, faults *validation.Error) { tags.faults(faults) }),
	newCondition("firstOrder", NotFirstOrder, func(c *Conditions) *bool { return &c.FirstOrder },
		func(d *Draft, _ pricing.Currency, _ *validation.Error) bool { return d.FirstOrder },
		func(bool, pricing.Currency, *validation.Error) {}),
	newCondition("schedule", OutsideSchedule, func(c *Conditions) *calendar.Schedule { return &c.Schedule },
		func(d *Draft, _ pricing.Currency, faults *validation.Error) calendar.Schedule {
			return d.Schedule.resolve(faults)
		},
		func(schedule calendar.Schedule, _ pricing.Currency, faults *validation.Error) {
			faults.Merge("schedule", schedule.Validate())
		}),
	namesCondition("channels", ChannelNotAllowed, MaxChannels, channelFault,
		func(c *Conditions) *Items { return &c.Channels }, func(d *Draft) []string { return d.Channels }),
	namesCondition("countries", CountryNotAllowed, MaxCountries, countryFault,
		func(c *Conditions) *Items { return &c.Countries }, func(d *Draft) []string { return d.Countries }),
}

// newCondition returns a condition. read gets its value from a draft, and check checks it. Both get the
// coupon's currency.
func newCondition[T any](
	field string, code RejectionCode, of func(*Conditions) *T,
	read func(*Draft, pricing.Currency, *validation.Error) T, check func(T, pricing.Currency, *validation.Error),
) condition {
	return condition{
		field: field, code: code,
		read:   func(d *Draft, t *Terms, faults *validation.Error) { *of(&t.Conditions) = read(d, t.Currency, faults) },
		copy:   func(to, from *Coupon) { *of(&to.Conditions) = *of(&from.Conditions) },
		equal:  func(c, d *Conditions) bool { return same(*of(c), *of(d)) },
		faults: func(t *Terms, faults *validation.Error) { check(*of(&t.Conditions), t.Currency, faults) },
	}
}

// same reports whether two values are equal. It uses their method Equal if they have it.
func same[T any](a, b T) bool {
	if a, is := any(a).(interface{ Equal(other T) bool }); is {
		return a.Equal(b)
	}
	return any(a) == any(b)
}

// amountsCondition returns a condition with an amount for each currency. parse reads the amounts.
func amountsCondition(
	field string, code RejectionCode, parse func(Amounts, string, pricing.Currency, *validation.Error) MoneySet,
	of func(*Conditions) *MoneySet, draft func(*Draft) Amounts,
) condition {
	entry := newCondition(field, code, of,
		func(d *Draft, own pricing.Currency, faults *validation.Error) MoneySet {
			return parse(draft(d), field, own, faults)
		},
		func(set MoneySet, own pricing.Currency, faults *validation.Error) {
			set.faults(faults, field, own, MaxMinPurchase)
		})
	entry.byCurrency = true
	return entry
}

// quantityCondition returns a condition with a number of units.
func quantityCondition(field string, code RejectionCode, of func(*Conditions) *int64, draft func(*Draft) Optional[int]) condition {
	return newCondition(field, code, of,
		func(d *Draft, _ pricing.Currency, faults *validation.Error) int64 {
			return limit(draft(d), field, faults)
		},
		func(n int64, _ pricing.Currency, faults *validation.Error) { quantityFaults(field, n, faults) })
}

// namesCondition returns a condition with a set of at most most names. valid checks each name.
func namesCondition(
	field string, code RejectionCode, most int, valid func(string) error,
	of func(*Conditions) *Items, draft func(*Draft) []string,
) condition {
	check := func(names []string, faults *validation.Error) {
		listFaults(faults, field, most, field, names, func(_ int, name string) error { return valid(name) })
	}
	return newCondition(field, code, of,
		func(d *Draft, _ pricing.Currency, faults *validation.Error) Items {
			check(draft(d), faults)
			return NewItems(draft(d)...)
		},
		func(names Items, _ pricing.Currency, faults *validation.Error) { check(names.entries(), faults) })
}

// ConditionCodes yields the JSON name and the rejection code of each field of [Conditions].
func ConditionCodes() iter.Seq2[string, RejectionCode] {
	return func(yield func(string, RejectionCode) bool) {
		for i := range conditions {
			if !yield(conditions[i].field, conditions[i].code) {
				return
			}
		}
	}
}

// Equal reports whether c and d are the same conditions.
func (c Conditions) Equal(d Conditions) bool {
	return !slices.ContainsFunc(conditions[:], func(entry condition) bool { return !entry.equal(&c, &d) })
}

func (t *Terms) conditionFaults(faults *validation.Error) {
	for i := range conditions {
		conditions[i].faults(t, faults)
	}
}

func quantityFaults(field string, n int64, faults *validation.Error) {
	switch {
	case n < 0:
		faults.Add(field, validation.TooSmall, "a quantity is at least 1")
	case n > MaxQuantity:
		faults.Add(field, validation.TooLarge, fmt.Sprintf("at most %d", int64(MaxQuantity)))
	}
}

// Equal reports whether t and u are the same terms.
func (t Terms) Equal(u Terms) bool {
	return t.Currency == u.Currency && t.Discount.Equal(u.Discount) && t.Scope.Equal(u.Scope) && t.Buys.Equal(u.Buys) &&
		t.Group == u.Group && t.Automatic == u.Automatic && t.Distribution == u.Distribution && t.AllowedUserEmails.Equal(u.AllowedUserEmails) &&
		t.PointsRequired == u.PointsRequired && t.Limits.Equal(u.Limits) && t.Conditions.Equal(u.Conditions) &&
		t.RefundPolicy == u.RefundPolicy && t.RestoreOnRefund == u.RestoreOnRefund &&
		t.StartsAt.Equal(u.StartsAt) && t.ExpiresAt.Equal(u.ExpiresAt)
}

// Minimum returns the minimum purchase for a cart in the given currency, in minor units. ok is false if the coupon has
// a minimum purchase, but none in that currency.
func (t *Terms) Minimum(cart pricing.Currency) (minor int64, ok bool) { // copying the terms would take longer than the look-up
	if t.Conditions.MinPurchase.IsZero() {
		return 0, true
	}
	return t.Conditions.MinPurchase.In(cart)
}

// Accepts reports whether the coupon has all its amounts in the currency of a cart. A percentage without a maximum
// discount, an amount of a condition and a budget accepts every currency.
func (t *Terms) Accepts(cart pricing.Currency) bool {
	k := &t.Conditions
	return t.Limits.Budget.accepts(cart) && k.MinPurchase.accepts(cart) && k.MaxPurchase.accepts(cart) &&
		k.Contains.MinPurchase.accepts(cart) && t.Discount.Accepts(cart)
}
