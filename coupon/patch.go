package coupon

import (
	"reflect"
	"strings"
	"time"

	"github.com/couponkit/couponkit/calendar"
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

// Apply returns a copy of the coupon with the patch applied. The copy has the same Revision as c, because the store
// increments it. The error is a [*validation.Error] that lists every invalid field.
//
// If each field is valid, Apply refuses terms that contradict each other, unless those of c do already; see
// [Coupon.Contradictions]. Apply accepts every validity, so that a change can end a coupon.
//
// If the coupon has a narrowed allow-list (see [EmailSet]), the patch must contain the whole allow-list. A patch
// without it would delete the entries that were not loaded.
func (c Coupon) Apply(p Patch, by Edit) (Coupon, error) {
	var faults validation.Error
	p.immutableFaults(c, &faults)
	before, u := c, newUnread(p.Unread)
	d, given := p.draft()
	if !p.AppliesTo.Given() && !u.names("appliesTo") {
		d.AppliesTo = c.Scope.AppliesTo // AppliesTo decides which selections are allowed
	}
	edited := d.edited(c.Currency, by.Location, &faults)
	for _, m := range members {
		if given[m.field] {
			m.copy(&c, &edited)
		}
	}
	for _, list := range scopeLists {
		if given[list.field] {
			*list.set(&c.Scope) = *list.set(&edited.Scope)
		}
	}
	for i := range conditions {
		if given[conditions[i].field] {
			conditions[i].copy(&c, &edited)
		}
	}
	if !p.AllowedUserEmails.Given() && c.AllowedUserEmails.Narrowed() {
		faults.Add("allowedUserEmails", validation.Required, "only a part of the addresses was loaded, so that all must be given")
	}
	c.UpdatedAt = calendar.Instant(by.At)
	if err := c.judge(u, faults); err != nil {
		return Coupon{}, err
	}
	if err := c.Contradictions(); err != nil && before.Contradictions() == nil {
		return Coupon{}, err
	}
	return c, nil
}

// members are the fields of a patch that are neither conditions nor lists of the scope, by their JSON
// names.
var members = [...]struct {
	field string
	copy  func(to, from *Coupon)
}{
	{"name", func(to, from *Coupon) { to.Name = from.Name }},
	{"description", func(to, from *Coupon) { to.Description = from.Description }},
	{"appliesTo", func(to, from *Coupon) { to.Scope.AppliesTo = from.Scope.AppliesTo }},
	{"group", func(to, from *Coupon) { to.Group = from.Group }},
	{"automatic", func(to, from *Coupon) { to.Automatic = from.Automatic }},
	{"distribution", func(to, from *Coupon) { to.Distribution = from.Distribution }},
	{"allowedUserEmails", func(to, from *Coupon) { to.AllowedUserEmails = from.AllowedUserEmails }},
	{"pointsRequired", func(to, from *Coupon) { to.PointsRequired = from.PointsRequired }},
	{"maxUses", func(to, from *Coupon) { to.Limits.MaxUses = from.Limits.MaxUses }},
	{"maxUsesPerUser", func(to, from *Coupon) { to.Limits.MaxUsesPerUser = from.Limits.MaxUsesPerUser }},
	{"budget", func(to, from *Coupon) { to.Limits.Budget = from.Limits.Budget }},
	{"periodLimits", func(to, from *Coupon) { to.Limits.Periods = from.Limits.Periods }},
	{"restoreOnRefund", func(to, from *Coupon) { to.RestoreOnRefund = from.RestoreOnRefund }},
	{"startsAt", func(to, from *Coupon) { to.StartsAt = from.StartsAt }},
	{"expiresAt", func(to, from *Coupon) { to.ExpiresAt = from.ExpiresAt }},
}

// draft returns the values of the patch as a draft, and the JSON names of the given fields.
func (p *Patch) draft() (d Draft, given map[string]bool) {
	given = map[string]bool{}
	from, to := reflect.ValueOf(p).Elem(), reflect.ValueOf(&d).Elem()
	for i := range from.NumField() {
		field := from.Type().Field(i)
		member, is := reflect.TypeAssert[interface{ into(field any) bool }](from.Field(i))
		if target := to.FieldByName(field.Name); is && target.IsValid() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			given[name] = member.into(target.Addr().Interface())
		}
	}
	return d, given
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
