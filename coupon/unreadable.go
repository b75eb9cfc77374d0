package coupon

import (
	"fmt"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/pricing"
)

// reading is one possible set of values for the unreadable fields of a text, together with
// one possible catalogue currency and time zone.
type reading struct {
	Draft
	currency string // of the catalogue, or of the coupon
	east     int    // seconds by which the clocks of the dates are ahead of UTC
}

// readings returns a few readings that cover all possibilities. A fault that depends on an
// unreadable field is absent in at least one of them. They have every distribution, scopes
// with and without items, both discount types, a minimum purchase and none, the currency
// with the most decimals and one without decimals, and the two most distant time zones.
func readings() []reading {
	item := []string{standIn}
	sample := Draft{
		Code: "A", Name: "A", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(1),
		AppliesTo: All, Distribution: General,
	}
	listed, points := sample, sample
	listed.Distribution, listed.AllowedUserEmails = UserSpecific, EmailList{standIn}
	listed.AppliesTo, listed.PlanIDs, listed.DeviceIDs, listed.AccessoryIDs = Specific, item, item, item
	points.Distribution, points.PointsRequired = PointsRedeemable, 1
	points.DiscountType = pricing.Percentage
	points.MinPurchase = decimal.NewFromInt(1)
	return []reading{{points, "CLF", 16 * 3600}, {listed, "JPY", -16 * 3600}, {sample, "CLF", 0}}
}

func (r reading) location() *time.Location {
	return time.FixedZone("", r.east)
}

// creation returns the Creation with the currency and time zone of the reading.
func (r reading) creation() Creation {
	currency, _ := pricing.ParseCurrency(r.currency)
	// At the zero time no coupon has expired.
	return Creation{ID: IDPrefix + "reading", Currency: currency, Location: r.location()}
}

// refusedBeside adds to the faults of a text the fields that [New] refuses in all readings.
// People can then correct the whole text at once.
func (d Draft) refusedBeside(unread error) error {
	u, is := unreadableOf(unread)
	if !is {
		return unread
	}
	d.PlanIDs = u.standIns("planIds", d.PlanIDs)
	d.DeviceIDs = u.standIns("deviceIds", d.DeviceIDs)
	d.AccessoryIDs = u.standIns("accessoryIds", d.AccessoryIDs)
	d.ExcludedItemIDs = u.standIns("excludedItemIds", d.ExcludedItemIDs)
	d.ExcludedCategories = u.standIns("excludedCategories", d.ExcludedCategories)
	d.Categories = u.standIns("categories", d.Categories)
	d.Kinds = u.standInsOf("kinds", d.Kinds, standInKind)
	emails, judged := u.judge(d.AllowedUserEmails)
	u.besides(readings(), func(r reading) error {
		completed := d
		u.complete(&completed, r.Draft)
		if !judged {
			emails, _ = NewEmailSet(r.AllowedUserEmails...)
		}
		_, err := completed.create(r.creation(), emails, nil)
		return err
	})
	return u.faults.Err()
}

// refusedBeside adds to the faults of a text the fields that [Coupon.Apply] refuses for
// every coupon and in all readings.
func (p Patch) refusedBeside(unread error) error {
	u, is := unreadableOf(unread)
	if !is {
		return unread
	}
	p.PlanIDs.value = u.standIns("planIds", p.PlanIDs.value)
	p.DeviceIDs.value = u.standIns("deviceIds", p.DeviceIDs.value)
	p.AccessoryIDs.value = u.standIns("accessoryIds", p.AccessoryIDs.value)
	p.ExcludedItemIDs.value = u.standIns("excludedItemIds", p.ExcludedItemIDs.value)
	p.ExcludedCategories.value = u.standIns("excludedCategories", p.ExcludedCategories.value)
	p.Categories.value = u.standIns("categories", p.Categories.value)
	p.Kinds.value = u.standInsOf("kinds", p.Kinds.value, standInKind)
	emails, judged := u.judge(p.AllowedUserEmails.value)
	judged = judged && p.AllowedUserEmails.Given()
	all := readings()
	all = append(all, reading{all[0].Draft, p.Currency.value, 0}) // a coupon in the currency of the patch
	u.besides(all, func(r reading) error {
		c := p.sample(r)
		if !judged {
			emails = c.AllowedUserEmails
		}
		_, err := c.apply(p, Edit{At: time.Unix(0, 0), Location: r.location()}, emails, nil)
		return err
	})
	return u.faults.Err()
}

// sample returns a coupon with the code and discount of the patch, as far as they are valid
// in the currency of the reading.
func (p Patch) sample(r reading) Coupon {
	if _, err := ParseCode(p.Code.value); err == nil {
		r.Code = p.Code.value
	}
	r.RefundPolicy = p.RefundPolicy.value
	for _, kind := range []pricing.DiscountType{p.DiscountType.value, r.DiscountType} {
		given := r.Draft
		given.DiscountType, given.DiscountValue = kind, p.DiscountValue.value
		if c, err := New(given, r.creation()); err == nil {
			return c
		}
	}
	c, _ := New(r.Draft, r.creation()) // cannot fail; see readings
	return c
}

// unreadable lists the fields of a text that could not be read.
type unreadable struct {
	faults pricing.ValidationError // further faults are added
	paths  map[string]bool         // of fields, and of entries of lists
}

// unreadableOf returns the unreadable fields that an error names. is is false if the text
// has no fields at all.
func unreadableOf(unread error) (u unreadable, is bool) {
	u.faults.Merge("", unread)
	u.paths = make(map[string]bool, len(u.faults.Fields))
	for _, f := range u.faults.Fields {
		if f.Field == "" {
			return u, false
		}
		u.paths[f.Field] = true
	}
	return u, true
}

// complete replaces unreadable fields, which are zero, by the fields of another draft. A
// zero in any other field causes a fault in that field only.
func (u unreadable) complete(d *Draft, by Draft) {
	if u.paths["discountType"] { // which terms a discount has depends on it
		d.DiscountDraft = DiscountDraft{}
	}
	if u.paths["maxDiscount"] {
		d.MaxDiscounts = Amounts{}
	}
	complete(u.paths["discountType"], &d.DiscountType, by.DiscountType)
	complete(u.paths["appliesTo"], &d.AppliesTo, by.AppliesTo)
	complete(u.paths["planIds"], &d.PlanIDs, by.PlanIDs)
	complete(u.paths["deviceIds"], &d.DeviceIDs, by.DeviceIDs)
	complete(u.paths["accessoryIds"], &d.AccessoryIDs, by.AccessoryIDs)
	complete(u.paths["distribution"], &d.Distribution, by.Distribution)
}

func complete[T any](unread bool, field *T, by T) {
	if unread {
		*field = by
	}
}

// standIn replaces an unreadable entry of a list. It is valid as an item ID, as a category
// and as an address.
const standIn = "a@example.com"

// standInKind replaces an unreadable kind.
const standInKind = "unreadable"

// standIns replaces each unreadable entry, which is empty, by standIn. Unreadable entries
// beyond [pricing.MaxListFaults] have no path: after the last path every empty entry is
// taken for one of them, so that no entry is counted twice.
func (u unreadable) standIns(field string, list []string) []string {
	return u.standInsOf(field, list, standIn)
}

// standInsOf is standIns with another replacement.
func (u unreadable) standInsOf(field string, list []string, standIn string) []string {
	named := 0
	for i, entry := range list {
		unread := u.paths[fmt.Sprintf("%s[%d]", field, i)]
		if unread {
			named++
		}
		if entry == "" && (unread || named >= pricing.MaxListFaults) {
			list[i] = standIn
		}
	}
	return list
}

// judge adds the faults of the addresses, which depend on no other field and may be many.
// It reports whether the list as a whole has no fault and can be judged with the other
// fields.
func (u *unreadable) judge(list EmailList) (EmailSet, bool) {
	emails, err := EmailList(u.standIns("allowedUserEmails", list)).judged()
	u.faults.Merge("allowedUserEmails", err)
	return emails, len(list) <= MaxAllowedEmails && !u.paths["allowedUserEmails"]
}

// besides adds the faults that refuse reports in all readings.
func (u *unreadable) besides(all []reading, refuse func(reading) error) {
	var common pricing.ValidationError
	common.Merge("", refuse(all[0]))
	for _, r := range all[1:] {
		if len(common.Fields) == 0 {
			return
		}
		var also pricing.ValidationError
		also.Merge("", refuse(r))
		common.Fields = inBoth(common.Fields, also.Fields)
	}
	for _, f := range common.Fields {
		if !u.concerns(f) {
			u.faults.Fields = append(u.faults.Fields, f)
		}
	}
}

// concerns reports whether a fault is in an unreadable field, or can be one of its consequences: a
// member that is missing may be one whose name is misspelled.
func (u unreadable) concerns(f pricing.FieldError) bool {
	object, _, member := strings.Cut(f.Field, ".")
	if !member || u.paths[f.Field] || u.paths[object] {
		return u.paths[f.Field] || u.paths[object]
	}
	if f.Code != pricing.FieldRequired {
		return false
	}
	for path := range u.paths {
		if strings.HasPrefix(path, object+".") {
			return true
		}
	}
	return false
}

// inBoth returns the entries of faults whose field also occurs in others.
func inBoth(faults, others []pricing.FieldError) []pricing.FieldError {
	refused := make(map[string]bool, len(others))
	for _, f := range others {
		refused[f.Field] = true
	}
	both := faults[:0]
	for _, f := range faults {
		if refused[f.Field] {
			both = append(both, f)
		}
	}
	return both
}
