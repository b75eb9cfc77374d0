package coupon

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/pricing"
)

// reading is one of the things that an unreadable field may have said, together with one
// of the worlds that a text may be meant for.
type reading struct {
	Draft
	currency string        // of the catalogue, or of the coupon
	east     time.Duration // what the clocks of the dates are ahead of UTC
}

// readings returns some that between them leave nothing to be refused: whatever a field
// that can be read is refused for because of one that cannot, one of these does not refuse
// it for. They hold every distribution, both kinds of scope, with items and without, both
// types of discounts, a currency of the most decimals and one of none, and clocks further
// apart than there ever were.
func readings() []reading {
	item := []string{"an item"}
	sample := Draft{
		Code: "A", Name: "A", DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(1),
		AppliesTo: All, Distribution: General,
	}
	listed, points := sample, sample
	listed.Distribution, listed.AllowedUserEmails = UserSpecific, EmailList{"a@example.com"}
	listed.AppliesTo, listed.PlanIDs, listed.DeviceIDs, listed.AccessoryIDs = Specific, item, item, item
	points.Distribution, points.PointsRequired = PointsRedeemable, 1
	points.DiscountType = pricing.Percentage
	return []reading{{points, "CLF", 16 * time.Hour}, {listed, "JPY", -16 * time.Hour}, {sample, "CLF", 0}}
}

func (r reading) location() *time.Location {
	return time.FixedZone("", int(r.east/time.Second))
}

// creation of a coupon in the world of the reading.
func (r reading) creation() Creation {
	currency, _ := pricing.ParseCurrency(r.currency)
	return Creation{ID: IDPrefix + "reading", At: time.Unix(0, 0), Currency: currency, Location: r.location()}
}

// refusedBeside adds to the faults of a text what [New] refuses whatever the fields say
// that could not be read, whatever the currency of the catalogue is and wherever the dates
// are, so that whoever mends the text need not come back for it.
func (d Draft) refusedBeside(unread error) error {
	return besides(unread, readings(), func(r reading, unreadable map[string]bool) error {
		_, err := New(d.completed(r.Draft, unreadable), r.creation())
		return err
	})
}

// completed returns the draft with the fields of another one in place of those that could
// not be read, which are zero. For those that are not here zero is refused by nothing.
func (d Draft) completed(by Draft, unreadable map[string]bool) Draft {
	complete(unreadable["code"], &d.Code, by.Code)
	complete(unreadable["name"], &d.Name, by.Name)
	complete(unreadable["discountType"], &d.DiscountType, by.DiscountType)
	complete(unreadable["discountValue"], &d.DiscountValue, by.DiscountValue)
	complete(unreadable["appliesTo"], &d.AppliesTo, by.AppliesTo)
	complete(unreadable["planIds"], &d.PlanIDs, by.PlanIDs)
	complete(unreadable["deviceIds"], &d.DeviceIDs, by.DeviceIDs)
	complete(unreadable["accessoryIds"], &d.AccessoryIDs, by.AccessoryIDs)
	complete(unreadable["distribution"], &d.Distribution, by.Distribution)
	complete(unreadable["allowedUserEmails"], &d.AllowedUserEmails, by.AllowedUserEmails)
	complete(unreadable["pointsRequired"], &d.PointsRequired, by.PointsRequired)
	return d
}

func complete[T any](unreadable bool, field *T, by T) {
	if unreadable {
		*field = by
	}
}

// refusedBeside adds to the faults of a text what [Coupon.Apply] refuses whatever the
// fields say that could not be read, whatever the coupon is and wherever the dates are.
func (p Patch) refusedBeside(unread error) error {
	all := readings()
	all = append(all, reading{all[0].Draft, p.Currency.value, 0}) // where its currency is the coupon's
	return besides(unread, all, func(r reading, _ map[string]bool) error {
		_, err := p.sample(r).Apply(p, Edit{At: time.Unix(0, 0), Location: r.location()})
		return err
	})
}

// sample returns a coupon that has what the patch says of code and discount, as far as any
// coupon of that currency has.
func (p Patch) sample(r reading) Coupon {
	if _, err := ParseCode(p.Code.value); err == nil {
		r.Code = p.Code.value
	}
	for _, kind := range []pricing.DiscountType{p.DiscountType.value, r.DiscountType} {
		given := r.Draft
		given.DiscountType, given.DiscountValue = kind, p.DiscountValue.value
		if c, err := New(given, r.creation()); err == nil {
			return c
		}
	}
	if p.DiscountType.value == pricing.FixedAmount || p.DiscountType.value == pricing.Percentage {
		r.DiscountType = p.DiscountType.value
	}
	c, _ := New(r.Draft, r.creation()) // is not refused, see readings
	return c
}

// besides returns the faults of a text and those that refuse finds in all readings.
func besides(unread error, all []reading, refuse func(r reading, unreadable map[string]bool) error) error {
	var faults pricing.ValidationError
	faults.Merge("", unread)
	unreadable := make(map[string]bool, len(faults.Fields))
	for _, f := range faults.Fields {
		if f.Field == "" { // there are no fields
			return unread
		}
		unreadable[f.Field] = true
	}
	var common pricing.ValidationError
	common.Merge("", refuse(all[0], unreadable))
	for _, r := range all[1:] {
		var also pricing.ValidationError
		also.Merge("", refuse(r, unreadable))
		common.Fields = inBoth(common.Fields, also.Fields)
	}
	for _, f := range common.Fields {
		if !unreadable[f.Field] { // an entry of a list that could not be read is an empty one
			faults.Fields = append(faults.Fields, f)
		}
	}
	return faults.Err()
}

// inBoth returns the faults of fields that have one in both lists.
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
