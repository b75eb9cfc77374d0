package coupon

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// DefaultMaxUsesPerUser is the per-user limit of a draft that names none.
const DefaultMaxUsesPerUser = 1

// Draft is a coupon as an administrator describes it (specification 2.1, 4.2).
// Code, name, discount type and discount value are required; the zero value of
// every other field is a default that its comment names.
type Draft struct {
	// Code as typed; see [ParseCode].
	Code string
	// Name of the coupon.
	Name string
	// DiscountType is required.
	DiscountType pricing.DiscountType
	// DiscountValue is a percentage (12.5) or an amount in major units of Currency.
	DiscountValue decimal.Decimal
	// Currency is an ISO 4217 code; empty is the default of [Creation].
	Currency string
	// Description for administrators.
	Description string
	// AppliesTo is the scope; zero is [All].
	AppliesTo AppliesTo
	// PlanIDs, DeviceIDs and AccessoryIDs narrow the scope.
	PlanIDs      []string
	DeviceIDs    []string
	AccessoryIDs []string
	// Distribution tells who may use the coupon; zero is [General].
	Distribution Distribution
	// AllowedUserEmails are the customers of a [UserSpecific] coupon.
	AllowedUserEmails EmailList
	// PointsRequired is the price of a [PointsRedeemable] coupon.
	PointsRequired int64
	// MaxUses is the limit over all customers; not given or cleared is no limit.
	MaxUses Optional[int64]
	// MaxUsesPerUser is the limit of one customer. Not given is
	// [DefaultMaxUsesPerUser]; [Clear] is no limit.
	MaxUsesPerUser Optional[int64]
	// MinPurchase is the least eligible subtotal in major units of Currency; 0 is
	// no minimum.
	MinPurchase decimal.Decimal
	// StartsAt and ExpiresAt bound the validity; zero is no bound.
	StartsAt  Moment
	ExpiresAt Moment
}

// Creation is what the system adds to a [Draft].
type Creation struct {
	// ID of the new coupon, beginning with [IDPrefix].
	ID string
	// At is the instant of creation.
	At time.Time
	// Currency of a draft that names none; zero is EUR.
	Currency pricing.Currency
	// Location in which dates without a time are read; nil is UTC.
	Location *time.Location
}

// New checks the draft and makes an active coupon of revision 1 without a mirror.
// All faults are reported together as a [*pricing.ValidationError].
func New(d Draft, by Creation) (Coupon, error) {
	var faults pricing.ValidationError
	c := Coupon{
		ID: by.ID, Name: d.Name, Description: d.Description,
		Distribution:   orDefault(d.Distribution, General),
		PointsRequired: d.PointsRequired,
		State:          Active, Revision: 1,
		CreatedAt: Instant(by.At), UpdatedAt: Instant(by.At),
		StartsAt: d.StartsAt.Start(location(by.Location)), ExpiresAt: d.ExpiresAt.End(location(by.Location)),
		Scope: Scope{
			AppliesTo: orDefault(d.AppliesTo, All), Plans: NewItems(d.PlanIDs...),
			Devices: NewItems(d.DeviceIDs...), Accessories: NewItems(d.AccessoryIDs...),
		},
		Limits: Limits{
			MaxUses:        limit(d.MaxUses, 0, "maxUses", &faults),
			MaxUsesPerUser: limit(d.MaxUsesPerUser, DefaultMaxUsesPerUser, "maxUsesPerUser", &faults),
		},
	}
	var err error
	c.Code, err = ParseCode(d.Code)
	faults.At("code", err)
	c.Currency, err = draftCurrency(d.Currency, by.Currency)
	faults.At("currency", err)
	c.AllowedUserEmails, err = NewEmailSet(d.AllowedUserEmails...)
	faults.Merge("allowedUserEmails", err)
	if !c.Currency.IsZero() {
		c.Discount, err = draftDiscount(d.DiscountType, d.DiscountValue, c.Currency)
		faults.Merge("", err)
		minimum, err := pricing.MoneyFromDecimal(d.MinPurchase, c.Currency)
		faults.At("minPurchase", err)
		c.MinPurchase = minimum.Minor()
	}
	c.addFaults(&faults)
	if err := faults.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

// addFaults adds what [Coupon.Validate] finds in fields that have no fault yet: a
// field that could not be read at all would only be reported a second time.
func (c Coupon) addFaults(faults *pricing.ValidationError) {
	reported := make(map[string]bool, len(faults.Fields))
	for _, f := range faults.Fields {
		reported[rootField(f.Field)] = true
	}
	var more pricing.ValidationError
	more.Merge("", c.Validate())
	for _, f := range more.Fields {
		if !reported[rootField(f.Field)] {
			faults.Fields = append(faults.Fields, f)
		}
	}
}

// rootField returns the field without an index: "planIds" of "planIds[3]".
func rootField(path string) string {
	for i := range len(path) {
		if path[i] == '[' {
			return path[:i]
		}
	}
	return path
}

func location(loc *time.Location) *time.Location {
	if loc == nil {
		return time.UTC
	}
	return loc
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

func draftDiscount(kind pricing.DiscountType, value decimal.Decimal, c pricing.Currency) (pricing.Discount, error) {
	var faults pricing.ValidationError
	switch kind {
	case pricing.Percentage:
		percent, err := pricing.PercentFromDecimal(value)
		if err == nil {
			return pricing.PercentOff(percent), nil
		}
		faults.At("discountValue", err)
	case pricing.FixedAmount:
		amount, err := pricing.MoneyFromDecimal(value, c)
		if err == nil {
			var discount pricing.Discount
			if discount, err = pricing.AmountOff(amount); err == nil {
				return discount, nil
			}
		}
		faults.At("discountValue", err)
	default:
		faults.Add("discountType", pricing.FieldRequired, "must be PERCENTAGE or FIXED_AMOUNT")
	}
	return pricing.Discount{}, faults.Err()
}

// limit reads an optional limit, in which 0 stands for none once it is checked.
func limit(given Optional[int64], fallback int64, field string, faults *pricing.ValidationError) int64 {
	n, ok := given.Value()
	switch {
	case !given.Given():
		return fallback
	case !ok:
		return 0
	case n < 1:
		faults.Add(field, pricing.FieldTooSmall, "a limit is at least 1, or null for none")
	}
	return n
}

// UnmarshalJSON reads the fields by their names in contract section 7. Unknown
// and malformed fields are all named in one [*pricing.ValidationError].
func (d *Draft) UnmarshalJSON(data []byte) error {
	var draft Draft
	err := strictjson.Object(data, map[string]any{
		"code": &draft.Code, "name": &draft.Name,
		"discountType": &draft.DiscountType, "discountValue": &draft.DiscountValue,
		"currency": &draft.Currency, "description": &draft.Description,
		"appliesTo": &draft.AppliesTo, "planIds": &draft.PlanIDs,
		"deviceIds": &draft.DeviceIDs, "accessoryIds": &draft.AccessoryIDs,
		"distribution": &draft.Distribution, "allowedUserEmails": &draft.AllowedUserEmails,
		"pointsRequired": &draft.PointsRequired, "maxUses": &draft.MaxUses,
		"maxUsesPerUser": &draft.MaxUsesPerUser, "minPurchase": &draft.MinPurchase,
		"startsAt": &draft.StartsAt, "expiresAt": &draft.ExpiresAt,
	})
	if err != nil {
		return err
	}
	*d = draft
	return nil
}
