package coupon

import (
	"cmp"
	"slices"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// DefaultMaxUsesPerUser is the maximum number of uses by one customer if a [Draft] does not set MaxUsesPerUser. An
// automatic coupon has no such default: its uses are then not limited.
const DefaultMaxUsesPerUser = 1

// Creation holds the values that the system adds to a [Draft].
type Creation struct {
	// ID begins with [IDPrefix].
	ID string
	// At is the instant of creation.
	At time.Time
	// Currency is the currency of a draft that names none. A zero Currency means EUR.
	Currency pricing.Currency
	// Location is the time zone of the dates in the draft. A nil Location means UTC.
	Location *time.Location
}

// New checks the draft and returns an active coupon with revision 1 and without a mirror. The error is a
// [*validation.Error] that lists every invalid field by its JSON path, such as "planIds[2]". If each field is valid,
// New refuses terms that contradict each other; see [Coupon.Contradictions].
func New(d Draft, by Creation) (Coupon, error) {
	var faults validation.Error
	if !d.MaxUsesPerUser.Given() && !d.Automatic {
		d.MaxUsesPerUser = Set(DefaultMaxUsesPerUser)
	}
	if d.Currency == "" {
		d.Currency = orEuro(by.Currency).Code()
	}
	code, err := ParseCode(d.Code)
	if d.Code != "" {
		faults.At("code", err)
	}
	c := d.edited(d.currency(&faults), by.Location, &faults)
	c.Code = code
	c.ID, c.State, c.Revision, c.CreatedAt, c.UpdatedAt = by.ID, Active, 1, calendar.Instant(by.At), calendar.Instant(by.At)
	c.Discount, c.Buys, c.RefundPolicy = d.discount(c.Currency, &faults), d.bought(&faults), d.RefundPolicy.For(d.DiscountType)
	switch {
	case c.ExpiresAt.IsZero():
	case !c.ExpiresAt.After(c.CreatedAt):
		faults.Add("expiresAt", validation.TooSmall, "a new coupon expires after its creation at "+c.CreatedAt.Format(time.RFC3339))
	case !c.StartsAt.Before(c.ExpiresAt):
		contradict(&faults, "a coupon expires after it starts", "startsAt", "expiresAt")
	}
	if err := c.judge(newUnread(d.Unread), faults); err != nil {
		return Coupon{}, err
	}
	var contradictions validation.Error
	contradictions.Merge("", c.Contradictions())
	contradictions.Merge("", c.noInstant())
	if err := contradictions.Err(); err != nil {
		return Coupon{}, err
	}
	return c, nil
}

// currency returns the currency of the draft. It returns the zero currency if the field has a fault.
// Amounts cannot be parsed then.
func (d *Draft) currency(faults *validation.Error) pricing.Currency {
	if newUnread(d.Unread).names("currency") {
		return pricing.Currency{}
	}
	c, err := pricing.ParseCurrency(d.Currency)
	faults.At("currency", err)
	return c
}

// edited returns a coupon with the fields that a patch can change. It adds the faults of single fields.
// [Coupon.Validate] finds faults between fields.
func (d *Draft) edited(c pricing.Currency, loc *time.Location, faults *validation.Error) Coupon {
	emails, err := d.AllowedUserEmails.judged()
	faults.Merge("allowedUserEmails", err)
	d.Distribution = cmp.Or(d.Distribution, General)
	edited := Coupon{Name: d.Name, Description: d.Description}
	d.terms(&edited.Terms, c, loc, faults)
	edited.AllowedUserEmails = emails
	lists := d.scopeDraft()
	edited.Scope = lists.scope("", faults)
	return edited
}

// terms parses the fields of a draft. It leaves out Discount, Scope, Buys, RefundPolicy and
// AllowedUserEmails.
func (d *Draft) terms(t *Terms, c pricing.Currency, loc *time.Location, faults *validation.Error) {
	*t = Terms{
		Currency: c, Group: d.Group, Automatic: d.Automatic, Distribution: d.Distribution, PointsRequired: d.PointsRequired, RestoreOnRefund: d.RestoreOnRefund,
		Limits: Limits{
			MaxUses:        limit(d.MaxUses, "maxUses", faults),
			MaxUsesPerUser: limit(d.MaxUsesPerUser, "maxUsesPerUser", faults),
			Budget:         NewMoneySet(d.Budget.money("budget", c, 1, MaxBudget, faults)...),
			Periods:        slices.Clone(d.PeriodLimits),
		},
	}
	var startErr, endErr error
	t.StartsAt, startErr = d.StartsAt.Start(loc)
	t.ExpiresAt, endErr = d.ExpiresAt.End(loc)
	faults.At("startsAt", startErr)
	faults.At("expiresAt", endErr)
	for i := range conditions {
		conditions[i].read(d, t, faults)
	}
}

func orEuro(c pricing.Currency) pricing.Currency {
	if c.IsZero() {
		return pricing.EUR()
	}
	return c
}

// limit checks an optional limit. The result 0 means no limit.
func limit(given Optional[int], field string, faults *validation.Error) int64 {
	n, ok := given.Value()
	if ok && n < 1 {
		faults.Add(field, validation.TooSmall, "a limit is at least 1, or null for none")
	}
	return int64(n)
}
