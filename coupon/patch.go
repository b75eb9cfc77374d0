package coupon

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Edit holds the values that the system adds to a [Patch].
type Edit struct {
	// At is the instant of the change.
	At time.Time
	// Location is the time zone of the dates in the patch. A nil Location means UTC.
	Location *time.Location
}

// Apply returns a copy of the coupon with the patch applied. Apply leaves c itself unchanged.
// The returned coupon has the same Revision as c, because the store increments the revision. If
// the patch is invalid, Apply returns a [*validation.Error] that lists every invalid
// field.
//
// If each field is valid, Apply refuses terms that contradict each other; see
// [Coupon.Contradictions]. If the terms of c contradict each other already, Apply accepts every
// change of them. Apply accepts every validity, so that a change can end a coupon.
//
// If the coupon has a narrowed allow-list (see [EmailSet]), the patch must contain the whole
// allow-list. A patch without the whole list would delete the entries that were not loaded.
func (c Coupon) Apply(p Patch, by Edit) (Coupon, error) {
	var faults validation.Error
	p.immutableFaults(c, &faults)
	before := c
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
	if p.Budget.Given() {
		c.Limits.Budget = NewMoneySet(p.Budget.value.money("budget", c.Currency, 1, MaxBudget, &faults)...)
	}
	c.Limits.Periods = slices.Clone(p.PeriodLimits.orZero(c.Limits.Periods))
	for i := range conditions {
		conditions[i].patch(&p, &c.Terms, &faults)
	}
	c.RestoreOnRefund = p.RestoreOnRefund.orZero(c.RestoreOnRefund)
	if p.StartsAt.Given() {
		c.StartsAt = p.StartsAt.value.resolve("startsAt", 0, by.Location, &faults)
	}
	if p.ExpiresAt.Given() {
		c.ExpiresAt = p.ExpiresAt.value.resolve("expiresAt", 1, by.Location, &faults)
	}
	emails, err := p.emails(c.AllowedUserEmails)
	c.AllowedUserEmails = emails
	faults.Merge("", err)
	c.UpdatedAt = Instant(by.At)
	if err := c.judge(newUnread(p.Unread), faults); err != nil {
		return Coupon{}, err
	}
	if err := c.Contradictions(); err != nil && before.Contradictions() == nil {
		return Coupon{}, err
	}
	return c, nil
}

func (p Patch) scope(s Scope, faults *validation.Error) Scope {
	s.AppliesTo = p.AppliesTo.orZero(s.AppliesTo)
	if p.AppliesTo.cleared {
		s.AppliesTo = All
	}
	kind := s.AppliesTo
	if newUnread(p.Unread).names("appliesTo") {
		kind = All // no kind of line is judged by it
	}
	given := ScopeDraft{
		AppliesTo: kind, PlanIDs: p.PlanIDs.value, DeviceIDs: p.DeviceIDs.value, AccessoryIDs: p.AccessoryIDs.value,
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
	var faults validation.Error
	if !p.AllowedUserEmails.Given() {
		if current.Narrowed() {
			faults.Add("allowedUserEmails", validation.Required, "only a part of the addresses was loaded, so that all must be given")
		}
		return current, faults.Err()
	}
	emails, err := p.AllowedUserEmails.value.judged()
	faults.Merge("allowedUserEmails", err)
	return emails, faults.Err()
}

func (p Patch) immutableFaults(c Coupon, faults *validation.Error) {
	immutable := func(field string, given, same bool) {
		if given && !same {
			faults.Add(field, validation.Immutable, immutableMessage)
		}
	}
	code, err := ParseCode(p.Code.value) // an unreadable code differs from every other
	immutable("code", p.Code.Given(), code == c.Code && (err == nil || p.Code.value == ""))
	immutable("discountType", p.DiscountType.Given(), p.DiscountType.value == c.Discount.Type())
	immutable("discountValue", p.DiscountValue.Given(), c.hasValue(p.DiscountValue.value))
	currency, _ := pricing.ParseCurrency(p.Currency.value)
	immutable("currency", p.Currency.Given(), currency == c.Currency)
	immutable("refundPolicy", p.RefundPolicy.Given(), p.RefundPolicy.value == c.RefundPolicy)
}

// hasValue reports whether the discount of the coupon has the given percentage or amounts.
func (c Coupon) hasValue(value Amounts) bool {
	d := Draft{}.WithDiscount(c.Discount)
	d.Percent, d.Amount = "", nil
	d.setValue(value)
	var faults validation.Error // a discount with a fault differs from every other
	return d.discount(c.Currency, &faults).Equal(c.Discount) && !c.Discount.IsZero()
}
