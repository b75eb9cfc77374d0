package coupon

import (
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/pricing"
)

// DefaultMaxUsesPerUser is the maximum number of uses by one customer if a [Draft] does not set
// MaxUsesPerUser.
const DefaultMaxUsesPerUser = 1

// Draft is an administrator's description of a new coupon (specification 2.1 and 4.2). A draft
// must have a code, a name, a discount type and a discount value. All other fields of a draft
// are optional. The zero value of an optional field stands for its default.
type Draft struct {
	// Code is the code as an administrator typed it. [ParseCode] defines which codes are valid.
	Code string
	// Name is the name of the coupon, 1 to [MaxNameLength] code points long.
	Name string
	// DiscountType is the type of the discount. DiscountType is required.
	DiscountType pricing.DiscountType
	// DiscountValue is a percentage or an amount of money, depending on DiscountType. A
	// percentage, such as 12.5, is at most 100 and has at most 4 decimals. An amount, such as
	// 12.50, is in major units of Currency. An amount cannot have more decimals than its
	// currency.
	//
	// DiscountValue is required. The value decimal.Zero means that DiscountValue is missing. A 0
	// that was parsed or computed is refused as too small.
	DiscountValue decimal.Decimal
	// DiscountDraft holds the further terms of the discount.
	DiscountDraft
	// Currency is an ISO 4217 code such as "USD". If Currency is empty, the coupon gets the
	// currency of the [Creation]. A couponkit.Service uses the currency from its option
	// WithCurrency, or EUR by default.
	Currency string
	// Description is a text for administrators, at most [MaxDescriptionLength] code points
	// long.
	Description string
	// AppliesTo is the kind of scope. A zero AppliesTo means [All].
	AppliesTo AppliesTo
	// PlanIDs, DeviceIDs and AccessoryIDs restrict the scope to selected items. Duplicate IDs
	// are ignored.
	PlanIDs      []string
	DeviceIDs    []string
	AccessoryIDs []string
	// Kinds and Categories restrict the scope to lines of the given kinds and categories.
	Kinds      []string
	Categories []string
	// ExcludedItemIDs and ExcludedCategories take items and categories out of the scope.
	ExcludedItemIDs    []string
	ExcludedCategories []string
	// Group is the group of the coupon. A coupon without a group is exclusive.
	Group string
	// Distribution defines who may use the coupon. A zero Distribution means [General].
	Distribution Distribution
	// AllowedUserEmails lists the customers who may use a [UserSpecific] coupon.
	AllowedUserEmails EmailList
	// PointsRequired is the price of a [PointsRedeemable] coupon, in points.
	PointsRequired int64
	// MaxUses is the maximum number of uses by all customers together. There is no maximum if
	// MaxUses is not given or is cleared with [Clear].
	MaxUses Optional[int]
	// MaxUsesPerUser is the maximum number of uses by one customer. If MaxUsesPerUser is not
	// given, the maximum is [DefaultMaxUsesPerUser]. If MaxUsesPerUser is cleared with [Clear],
	// there is no maximum.
	MaxUsesPerUser Optional[int]
	// MinPurchase is the minimum eligible subtotal of a cart, in major units of Currency. A
	// MinPurchase of 0 means that there is no minimum.
	MinPurchase decimal.Decimal
	// MinQuantity is the minimum number of units that the coupon covers. There is no minimum if
	// MinQuantity is not given or is cleared with [Clear].
	MinQuantity Optional[int]
	// CustomerTags, FirstOrder and Schedule are further [Conditions].
	CustomerTags CustomerTags
	FirstOrder   bool
	Schedule     Schedule
	// Budget and PeriodLimits are further [Limits].
	Budget       Amounts
	PeriodLimits []PeriodLimit
	// MinPurchases are the minimum eligible subtotals in other currencies.
	MinPurchases Amounts
	// RefundPolicy tells what a refund does if the rest of an order no longer meets a threshold.
	RefundPolicy pricing.RefundPolicy
	// RestoreOnRefund tells when a refund gives a use back.
	RestoreOnRefund Restore
	// StartsAt and ExpiresAt are the start and the end of the coupon's validity. If StartsAt is
	// zero, the coupon has no start date. If ExpiresAt is zero, the coupon never expires. If
	// ExpiresAt is a date, the coupon is valid through the end of that day. ExpiresAt must be
	// later than the creation of the coupon.
	StartsAt  Moment
	ExpiresAt Moment
}

// Creation holds the values that the system adds to a [Draft].
type Creation struct {
	// ID is the ID of the new coupon. ID begins with [IDPrefix].
	ID string
	// At is the instant of creation.
	At time.Time
	// Currency is the currency of the coupon if the draft names no currency. A zero Currency
	// means EUR.
	Currency pricing.Currency
	// Location is the time zone of the dates in the draft. A nil Location means UTC.
	Location *time.Location
}

// New checks the draft and returns an active coupon with revision 1. The new coupon has no copy
// at the payment processor yet. If the draft is invalid, New returns a
// [*pricing.ValidationError] that lists every invalid field by its JSON path. The path of an
// invalid list entry contains its index, as in "planIds[2]". If each field is valid, New refuses terms
// that contradict each other; see [Coupon.Contradictions].
func New(d Draft, by Creation) (Coupon, error) {
	emails, err := d.AllowedUserEmails.judged()
	c, err := d.create(by, emails, err)
	if err != nil {
		return Coupon{}, err
	}
	var faults pricing.ValidationError
	faults.Merge("", c.Contradictions())
	faults.Merge("", c.noInstant())
	if err := faults.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

// create works like New, with the draft's addresses or their faults as arguments. Terms that
// contradict each other are accepted.
func (d Draft) create(by Creation, emails EmailSet, noEmails error) (Coupon, error) {
	var faults pricing.ValidationError
	c := Coupon{
		ID: by.ID, Name: d.Name, Description: d.Description, Terms: Terms{
			Group:        d.Group,
			MinPurchases: d.MinPurchases,
			RefundPolicy: d.RefundPolicy, RestoreOnRefund: d.RestoreOnRefund,
			Distribution:      orDefault(d.Distribution, General),
			PointsRequired:    d.PointsRequired,
			AllowedUserEmails: emails,
			StartsAt:          d.StartsAt.Start(by.Location), ExpiresAt: d.ExpiresAt.End(by.Location),
			Scope: d.scopeDraft().scope("", &faults),
			Limits: Limits{
				MaxUses:        limit(d.MaxUses, 0, "maxUses", &faults),
				MaxUsesPerUser: limit(d.MaxUsesPerUser, DefaultMaxUsesPerUser, "maxUsesPerUser", &faults),
				Budget:         d.Budget, Periods: append([]PeriodLimit(nil), d.PeriodLimits...),
			},
			Conditions: Conditions{
				MinQuantity:  limit(d.MinQuantity, 0, "minQuantity", &faults),
				CustomerTags: d.CustomerTags.clone(), FirstOrder: d.FirstOrder, Schedule: d.Schedule.clone(),
			},
		},
		State: Active, Revision: 1, CreatedAt: Instant(by.At), UpdatedAt: Instant(by.At),
	}
	var err error
	c.Code, err = ParseCode(d.Code)
	faults.At("code", err)
	faults.Merge("allowedUserEmails", noEmails)
	c.Currency, err = draftCurrency(d.Currency, by.Currency)
	faults.At("currency", err)
	c.Discount = d.discount(d.DiscountType, d.DiscountValue, c.Currency, &faults)
	if d.Buys != nil {
		c.Buys = d.Buys.scope("buys.", &faults)
	}
	c.MinPurchase = minimum(d.MinPurchase, c.Currency, &faults)
	switch {
	case c.ExpiresAt.IsZero():
	case !c.ExpiresAt.After(c.CreatedAt):
		faults.Add("expiresAt", pricing.FieldTooSmall, "a new coupon expires after its creation at "+c.CreatedAt.Format(time.RFC3339))
	case !c.StartsAt.Before(c.ExpiresAt):
		contradict(&faults, "a coupon expires after it starts", "startsAt", "expiresAt")
	}
	c.addFaults(&faults, "discountValue")
	if err := faults.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

// addFaults adds the faults of [Coupon.Validate] in fields that have no fault yet and are
// not in judged. A field that could not be read would be reported twice. In a list with
// faults, the entries are not judged again, but the list as a whole is.
func (c Coupon) addFaults(faults *pricing.ValidationError, judged ...string) {
	skip := map[string]bool{}
	for _, field := range judged {
		skip[field] = true
	}
	for _, f := range faults.Fields {
		list, _, _ := strings.Cut(f.Field, "[")
		skip[f.Field], skip[list+"["] = true, true
	}
	var more pricing.ValidationError
	more.Merge("", c.Validate())
	for _, f := range more.Fields {
		field := f.Field
		if list, _, entry := strings.Cut(field, "["); entry {
			field = list + "["
		}
		if !skip[field] {
			faults.Fields = append(faults.Fields, f)
		}
	}
}

func orDefault[T ~uint8](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

func draftCurrency(code string, fallback pricing.Currency) (pricing.Currency, error) {
	switch {
	case code != "":
		return pricing.ParseCurrency(code)
	case fallback.IsZero():
		return pricing.EUR(), nil
	default:
		return fallback, nil
	}
}

// draftDiscount reads type and value. If the currency is missing, it has a fault already.
// Then only the sign of an amount is checked.
func draftDiscount(kind pricing.DiscountType, value decimal.Decimal, c pricing.Currency, faults *pricing.ValidationError) pricing.Discount {
	discount, err := pricing.Discount{}, error(nil)
	switch {
	case !given(value):
		faults.Add("discountValue", pricing.FieldRequired, "a discount value is required")
	case kind == pricing.Percentage:
		var percent pricing.Percent
		percent, err = pricing.PercentFromDecimal(value)
		discount = pricing.PercentOff(percent)
	case kind == pricing.FixedAmount && !c.IsZero():
		var amount pricing.Money
		if amount, err = pricing.MoneyFromDecimal(value, c); err == nil {
			discount, err = pricing.AmountOff(amount)
		}
	case value.Sign() <= 0:
		faults.Add("discountValue", pricing.FieldTooSmall, "a discount is greater than 0")
	}
	faults.At("discountValue", err)
	switch {
	case kind == 0:
		faults.Add("discountType", pricing.FieldRequired, "a discount type is required, such as PERCENTAGE or FIXED_AMOUNT")
	case kind > pricing.Tiered:
		faults.Add("discountType", pricing.FieldUnknown, "is no type of a discount")
	}
	return discount
}

// given reports whether d is not the zero value of its type. A decimal that was parsed or
// computed is never the zero value, not even a 0.
func given(d decimal.Decimal) bool { return d != decimal.Decimal{} }

// minimum returns a minimum purchase in minor units. If the currency is missing, it has a
// fault already. Then only the sign is checked.
func minimum(value decimal.Decimal, c pricing.Currency, faults *pricing.ValidationError) int64 {
	if value.Sign() < 0 {
		faults.Add("minPurchase", pricing.FieldTooSmall, "a minimum purchase is not negative")
		return 0
	}
	if c.IsZero() {
		return 0
	}
	amount, err := pricing.MoneyFromDecimal(value, c)
	faults.At("minPurchase", err)
	return amount.Minor()
}

// limit checks an optional limit. The result 0 means no limit.
func limit(given Optional[int], fallback int64, field string, faults *pricing.ValidationError) int64 {
	n, ok := given.Value()
	switch {
	case !given.Given():
		return fallback
	case !ok:
		return 0
	case n < 1:
		faults.Add(field, pricing.FieldTooSmall, "a limit is at least 1, or null for none")
	}
	return int64(n)
}
