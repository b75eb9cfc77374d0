package coupon

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
)

// Patch is a change to a coupon (specification 4.3). Fields that are not given
// stay as they are; [Clear] takes an optional value away. Code, DiscountType,
// DiscountValue and Currency cannot change: giving one that differs from the
// coupon's is a fault, giving the same value is not.
type Patch struct {
	Name              Optional[string]
	Description       Optional[string]
	AppliesTo         Optional[AppliesTo]
	PlanIDs           Optional[[]string]
	DeviceIDs         Optional[[]string]
	AccessoryIDs      Optional[[]string]
	Distribution      Optional[Distribution]
	AllowedUserEmails Optional[EmailList]
	PointsRequired    Optional[int64]
	MaxUses           Optional[int64]
	MaxUsesPerUser    Optional[int64]
	MinPurchase       Optional[decimal.Decimal]
	StartsAt          Optional[Moment]
	ExpiresAt         Optional[Moment]

	// Revision, when given, is the revision that the change was made on; a coupon
	// that has moved on since is not changed.
	Revision Optional[int64]

	// These cannot change; see above.
	Code          Optional[string]
	DiscountType  Optional[pricing.DiscountType]
	DiscountValue Optional[decimal.Decimal]
	Currency      Optional[string]
}

// Edit is what the system adds to a [Patch].
type Edit struct {
	// At is the instant of the change.
	At time.Time
	// Location in which dates without a time are read; nil is UTC.
	Location *time.Location
}

// Apply returns the coupon with the patch applied. Its Revision is still that of
// c: the store counts it up. All faults are reported together as a
// [*pricing.ValidationError]; c does not change.
func (c Coupon) Apply(p Patch, by Edit) (Coupon, error) {
	var faults pricing.ValidationError
	p.immutableFaults(c, &faults)
	c.Name = p.Name.orZero(c.Name)
	c.Description = p.Description.orZero(c.Description)
	c.PointsRequired = p.PointsRequired.orZero(c.PointsRequired)
	c.Distribution = p.Distribution.orZero(c.Distribution)
	if p.Distribution.cleared {
		c.Distribution = General
	}
	c.Scope = p.scope(c.Scope)
	c.Limits.MaxUses = limit(p.MaxUses, c.Limits.MaxUses, "maxUses", &faults)
	c.Limits.MaxUsesPerUser = limit(p.MaxUsesPerUser, c.Limits.MaxUsesPerUser, "maxUsesPerUser", &faults)
	if p.AllowedUserEmails.Given() {
		emails, err := NewEmailSet(p.AllowedUserEmails.value...)
		faults.Merge("allowedUserEmails", err)
		c.AllowedUserEmails = emails
	}
	if p.MinPurchase.Given() {
		minimum, err := pricing.MoneyFromDecimal(p.MinPurchase.value, c.Currency)
		faults.At("minPurchase", err)
		c.MinPurchase = minimum.Minor()
	}
	if p.StartsAt.Given() {
		c.StartsAt = p.StartsAt.value.Start(location(by.Location))
	}
	if p.ExpiresAt.Given() {
		c.ExpiresAt = p.ExpiresAt.value.End(location(by.Location))
	}
	c.UpdatedAt = Instant(by.At)
	c.addFaults(&faults)
	if err := faults.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

func (p Patch) scope(s Scope) Scope {
	s.AppliesTo = p.AppliesTo.orZero(s.AppliesTo)
	if p.AppliesTo.cleared {
		s.AppliesTo = All
	}
	if p.PlanIDs.Given() {
		s.Plans = NewItems(p.PlanIDs.value...)
	}
	if p.DeviceIDs.Given() {
		s.Devices = NewItems(p.DeviceIDs.value...)
	}
	if p.AccessoryIDs.Given() {
		s.Accessories = NewItems(p.AccessoryIDs.value...)
	}
	return s
}

func (p Patch) immutableFaults(c Coupon, faults *pricing.ValidationError) {
	immutable := func(field string, given, same bool) {
		if given && !same {
			faults.Add(field, pricing.FieldImmutable, "cannot be changed after creation")
		}
	}
	code, _ := ParseCode(p.Code.value) // an unreadable code differs from every other
	immutable("code", p.Code.Given(), code == c.Code)
	immutable("discountType", p.DiscountType.Given(), p.DiscountType.value == c.Discount.Type())
	value, _ := decimal.NewFromString(c.Discount.Value()) // a valid coupon's value is a number
	immutable("discountValue", p.DiscountValue.Given(), p.DiscountValue.value.Equal(value))
	currency, _ := pricing.ParseCurrency(p.Currency.value)
	immutable("currency", p.Currency.Given(), currency == c.Currency)
}

// UnmarshalJSON reads the fields by their names in contract section 7. Unknown
// and malformed fields are all named in one [*pricing.ValidationError].
func (p *Patch) UnmarshalJSON(data []byte) error {
	var patch Patch
	err := strictjson.Object(data, map[string]any{
		"name": &patch.Name, "description": &patch.Description,
		"appliesTo": &patch.AppliesTo, "planIds": &patch.PlanIDs,
		"deviceIds": &patch.DeviceIDs, "accessoryIds": &patch.AccessoryIDs,
		"distribution": &patch.Distribution, "allowedUserEmails": &patch.AllowedUserEmails,
		"pointsRequired": &patch.PointsRequired, "maxUses": &patch.MaxUses,
		"maxUsesPerUser": &patch.MaxUsesPerUser, "minPurchase": &patch.MinPurchase,
		"startsAt": &patch.StartsAt, "expiresAt": &patch.ExpiresAt, "revision": &patch.Revision,
		"code": &patch.Code, "discountType": &patch.DiscountType,
		"discountValue": &patch.DiscountValue, "currency": &patch.Currency,
	})
	if err != nil {
		return err
	}
	*p = patch
	return nil
}
