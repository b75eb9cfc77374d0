package coupon

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// DefaultMaxUsesPerUser is the maximum number of uses by one customer if a [Draft] does not set
// MaxUsesPerUser.
const DefaultMaxUsesPerUser = 1

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
// [*validation.Error] that lists every invalid field by its JSON path. The path of an
// invalid list entry contains its index, as in "planIds[2]". If each field is valid, New refuses terms
// that contradict each other; see [Coupon.Contradictions].
func New(d Draft, by Creation) (Coupon, error) {
	var faults validation.Error
	c := Coupon{
		ID: by.ID, Name: d.Name, Description: d.Description,
		State: Active, Revision: 1, CreatedAt: Instant(by.At), UpdatedAt: Instant(by.At),
	}
	var err error
	if d.Code != "" {
		c.Code, err = ParseCode(d.Code)
		faults.At("code", err)
	}
	d.AppliesTo, d.Distribution = orDefault(d.AppliesTo, All), orDefault(d.Distribution, General)
	if !d.MaxUsesPerUser.Given() {
		d.MaxUsesPerUser = Set(DefaultMaxUsesPerUser)
	}
	d.RefundPolicy = d.RefundPolicy.For(d.DiscountType)
	if d.Currency == "" {
		d.Currency = orEuro(by.Currency).Code()
	}
	emails, err := d.AllowedUserEmails.judged()
	faults.Merge("allowedUserEmails", err)
	c.Terms = d.terms(by.Location, &faults)
	c.AllowedUserEmails = emails
	c.Scope = d.scopeDraft().scope("", &faults)
	c.Buys = d.bought(&faults)
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

// terms reads the text of a draft. The faults of the whole are those of [Coupon.Validate].
// Scope, Buys and AllowedUserEmails are left out.
func (d *Draft) terms(loc *time.Location, faults *validation.Error) Terms {
	t := Terms{
		Group: d.Group, Distribution: d.Distribution, PointsRequired: d.PointsRequired,
		RefundPolicy: d.RefundPolicy, RestoreOnRefund: d.RestoreOnRefund,
		Limits: Limits{
			MaxUses:        limit(d.MaxUses, 0, "maxUses", faults),
			MaxUsesPerUser: limit(d.MaxUsesPerUser, 0, "maxUsesPerUser", faults),
			Periods:        slices.Clone(d.PeriodLimits),
		},
		StartsAt:  d.StartsAt.resolve("startsAt", 0, loc, faults),
		ExpiresAt: d.ExpiresAt.resolve("expiresAt", 1, loc, faults),
	}
	var err error
	if !newUnread(d.Unread).names("currency") { // else no amount can be read
		t.Currency, err = pricing.ParseCurrency(d.Currency)
		faults.At("currency", err)
	}
	t.Discount = d.discount(t.Currency, faults)
	t.Limits.Budget = NewMoneySet(d.Budget.money("budget", t.Currency, 1, MaxBudget, faults)...)
	for i := range conditions {
		conditions[i].draft(d, &t, faults)
	}
	return t
}

func orDefault[T ~uint8](v, fallback T) T {
	if v == 0 {
		return fallback
	}
	return v
}

func orEuro(c pricing.Currency) pricing.Currency {
	if c.IsZero() {
		return pricing.EUR()
	}
	return c
}

// limit checks an optional limit. The result 0 means no limit.
func limit(given Optional[int], fallback int64, field string, faults *validation.Error) int64 {
	n, ok := given.Value()
	switch {
	case !given.Given():
		return fallback
	case !ok:
		return 0
	case n < 1:
		faults.Add(field, validation.TooSmall, "a limit is at least 1, or null for none")
	}
	return int64(n)
}
