package coupon

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/pricing"
)

// Patch describes a change to a coupon (specification 4.3). A field that is not given leaves the
// coupon's value unchanged. A field with the value [Clear] removes an optional value of the
// coupon.
//
// The code, the discount, the currency and the refund policy of a coupon cannot change. A patch may
// repeat their current values. [Coupon.Apply] refuses a patch with other values.
type Patch struct {
	Name               Optional[string]
	Description        Optional[string]
	AppliesTo          Optional[AppliesTo]
	PlanIDs            Optional[[]string]
	DeviceIDs          Optional[[]string]
	AccessoryIDs       Optional[[]string]
	Kinds              Optional[[]string]
	Categories         Optional[[]string]
	ExcludedItemIDs    Optional[[]string]
	ExcludedCategories Optional[[]string]
	Group              Optional[string]
	Distribution       Optional[Distribution]
	AllowedUserEmails  Optional[EmailList]
	PointsRequired     Optional[int]
	MaxUses            Optional[int]
	MaxUsesPerUser     Optional[int]
	MinPurchase        Optional[decimal.Decimal]
	MinQuantity        Optional[int]
	CustomerTags       Optional[CustomerTags]
	FirstOrder         Optional[bool]
	Schedule           Optional[Schedule]
	Budget             Optional[Amounts]
	PeriodLimits       Optional[[]PeriodLimit]
	MinPurchases       Optional[Amounts]
	StartsAt           Optional[Moment]
	ExpiresAt          Optional[Moment]
	RestoreOnRefund    Optional[Restore]

	// Revision is the revision of the coupon for which the patch was made. Revision is optional.
	// Apply ignores Revision. When the store saves the change, it compares Revision with the
	// coupon's current revision.
	Revision Optional[int64]

	// Code, DiscountType, DiscountValue, Currency and RefundPolicy may only repeat the coupon's
	// current values.
	Code          Optional[string]
	DiscountType  Optional[pricing.DiscountType]
	DiscountValue Optional[decimal.Decimal]
	Currency      Optional[string]
	RefundPolicy  Optional[pricing.RefundPolicy]
}

// Edit holds the values that the system adds to a [Patch].
type Edit struct {
	// At is the instant of the change.
	At time.Time
	// Location is the time zone of the dates in the patch. A nil Location means UTC.
	Location *time.Location
}

// Apply returns a copy of the coupon with the patch applied. Apply leaves c itself unchanged.
// The returned coupon has the same Revision as c, because the store increments the revision. If
// the patch is invalid, Apply returns a [*pricing.ValidationError] that lists every invalid
// field.
//
// If each field is valid, Apply refuses terms that contradict each other; see
// [Coupon.Contradictions]. If the terms of c contradict each other already, Apply accepts every
// change of them. Apply accepts every validity, so that a change can end a coupon.
//
// If the coupon has a narrowed allow-list (see [EmailSet]), the patch must contain the whole
// allow-list. A patch without the whole list would delete the entries that were not loaded.
func (c Coupon) Apply(p Patch, by Edit) (Coupon, error) {
	emails, err := p.emails(c.AllowedUserEmails)
	changed, err := c.apply(p, by, emails, err)
	if err != nil {
		return Coupon{}, err
	}
	if err := changed.Contradictions(); err != nil && c.Contradictions() == nil {
		return Coupon{}, err
	}
	return changed, nil
}

// apply works like Apply, with the new addresses of the coupon or their faults as
// arguments. Terms that contradict each other are accepted.
func (c Coupon) apply(p Patch, by Edit, emails EmailSet, noEmails error) (Coupon, error) {
	var faults pricing.ValidationError
	p.immutableFaults(c, &faults)
	c.Name = p.Name.orZero(c.Name)
	c.Description = p.Description.orZero(c.Description)
	c.Group = p.Group.orZero(c.Group)
	if p.PointsRequired.Given() {
		c.PointsRequired = int64(p.PointsRequired.value)
	}
	c.Distribution = p.Distribution.orZero(c.Distribution)
	if p.Distribution.cleared {
		c.Distribution = General
	}
	c.Scope = p.scope(c.Scope, &faults)
	c.Limits.MaxUses = limit(p.MaxUses, c.Limits.MaxUses, "maxUses", &faults)
	c.Limits.MaxUsesPerUser = limit(p.MaxUsesPerUser, c.Limits.MaxUsesPerUser, "maxUsesPerUser", &faults)
	c.AllowedUserEmails = emails
	faults.Merge("", noEmails)
	if p.MinPurchase.Given() {
		c.MinPurchase = minimum(p.MinPurchase.value, c.Currency, &faults)
	}
	c.MinPurchases = p.MinPurchases.orZero(c.MinPurchases)
	c.RestoreOnRefund = p.RestoreOnRefund.orZero(c.RestoreOnRefund)
	c.Conditions.MinQuantity = limit(p.MinQuantity, c.Conditions.MinQuantity, "minQuantity", &faults)
	c.Conditions.CustomerTags = p.CustomerTags.orZero(c.Conditions.CustomerTags).clone()
	c.Conditions.FirstOrder = p.FirstOrder.orZero(c.Conditions.FirstOrder)
	c.Conditions.Schedule = p.Schedule.orZero(c.Conditions.Schedule).clone()
	c.Limits.Budget = p.Budget.orZero(c.Limits.Budget)
	c.Limits.Periods = slices.Clone(p.PeriodLimits.orZero(c.Limits.Periods))
	if p.StartsAt.Given() {
		c.StartsAt = p.StartsAt.value.Start(by.Location)
	}
	if p.ExpiresAt.Given() {
		c.ExpiresAt = p.ExpiresAt.value.End(by.Location)
	}
	c.UpdatedAt = Instant(by.At)
	c.addFaults(&faults)
	if err := faults.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

func (p Patch) scope(s Scope, faults *pricing.ValidationError) Scope {
	s.AppliesTo = p.AppliesTo.orZero(s.AppliesTo)
	if p.AppliesTo.cleared {
		s.AppliesTo = All
	}
	given := ScopeDraft{
		AppliesTo: s.AppliesTo, PlanIDs: p.PlanIDs.value, DeviceIDs: p.DeviceIDs.value, AccessoryIDs: p.AccessoryIDs.value,
		Kinds: p.Kinds.value, Categories: p.Categories.value,
		ExcludedItemIDs: p.ExcludedItemIDs.value, ExcludedCategories: p.ExcludedCategories.value,
	}.scope("", faults)
	for _, set := range [...]struct {
		given bool
		from  Items
		to    *Items
	}{
		{p.PlanIDs.Given(), given.Plans, &s.Plans},
		{p.DeviceIDs.Given(), given.Devices, &s.Devices},
		{p.AccessoryIDs.Given(), given.Accessories, &s.Accessories},
		{p.Kinds.Given(), given.Kinds, &s.Kinds},
		{p.Categories.Given(), given.Categories, &s.Categories},
		{p.ExcludedItemIDs.Given(), given.ExcludedItems, &s.ExcludedItems},
		{p.ExcludedCategories.Given(), given.ExcludedCategories, &s.ExcludedCategories},
	} {
		if set.given {
			*set.to = set.from
		}
	}
	return s
}

func (p Patch) emails(current EmailSet) (EmailSet, error) {
	var faults pricing.ValidationError
	if !p.AllowedUserEmails.Given() {
		if current.Narrowed() {
			faults.Add("allowedUserEmails", pricing.FieldRequired, "only a part of the addresses was loaded, so that all must be given")
		}
		return current, faults.Err()
	}
	emails, err := p.AllowedUserEmails.value.judged()
	faults.Merge("allowedUserEmails", err)
	return emails, faults.Err()
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
	var ignored pricing.ValidationError // an impossible value differs from every other
	further := discountDraft(c.Discount, Scope{})
	discount := further.discount(c.Discount.Type(), p.DiscountValue.value, c.Currency, &ignored)
	immutable("discountValue", p.DiscountValue.Given(), discount.Equal(c.Discount))
	currency, _ := pricing.ParseCurrency(p.Currency.value)
	immutable("currency", p.Currency.Given(), currency == c.Currency)
	immutable("refundPolicy", p.RefundPolicy.Given(), p.RefundPolicy.value == c.RefundPolicy)
}
