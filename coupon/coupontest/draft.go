package coupontest

import (
	"fmt"
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// ID draws a coupon ID.
func ID() *rapid.Generator[string] {
	return rapid.Map(rapid.StringMatching(`[0-9A-Za-z._~-]{1,60}`), func(rest string) string {
		return coupon.IDPrefix + rest
	})
}

// Instant draws an instant as coupons store it, in UTC and to the microsecond: of the years 1900 to 9000, in this
// century mostly, with and without a part of a second.
func Instant() *rapid.Generator[time.Time] { return instantBefore(9000) }

func instantBefore(year int) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		seconds := rapid.OneOf(
			rapid.Int64Range(unix(2020), unix(2040)),
			rapid.Int64Range(unix(1900), unix(year)),
		).Draw(t, "seconds")
		micros := rapid.SampledFrom([]int64{0, 0, 1, 500_000, 999_999}).Draw(t, "microseconds")
		return time.Unix(seconds, micros*1_000).UTC()
	})
}

func unix(year int) int64 { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Unix() }

// newUntil is the year up to which a draft can become a coupon.
const newUntil = 2041

// Draft draws a draft that [coupon.New] accepts at every instant before 2041 and in every location, where EUR is the
// default currency. Every option of a coupon occurs: with and without a code, each scope with and without selections,
// kinds, categories and exclusions, each type of discount with its further terms, each distribution, conditions, limits
// given, cleared and left out, dates and instants. Set the discount with [coupon.Draft.WithDiscount] for a draft of a
// certain discount.
func Draft() *rapid.Generator[coupon.Draft] {
	return rapid.Custom(func(t *rapid.T) coupon.Draft {
		d := coupon.Draft{Code: Spelling(Code().Draw(t, "code")).Draw(t, "typed")}
		if rapid.IntRange(0, 7).Draw(t, "plain code") == 7 {
			d.Code = ""
		}
		currency := pricing.EUR()
		if rapid.Bool().Draw(t, "other currency") {
			currency = pricingtest.Currency().Draw(t, "currency")
			d.Currency = currency.Code()
		}
		discount := pricingtest.Discount(currency).Draw(t, "discount")
		if terms := discount.Terms(); len(terms.Others) > 0 {
			currency = terms.Currency // the first of several currencies is the coupon's currency
			d.Currency = currency.Code()
		}
		setDiscount(t, &d, discount)
		drawTerms(t, &d, currency, discount)
		end, _ := d.ExpiresAt.End(nil)
		if soon := time.Date(newUntil, 1, 3, 0, 0, 0, 0, time.UTC); !end.IsZero() && end.Before(soon) {
			d.ExpiresAt = moment(t, soon.Add(time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "later"))*time.Second))
		}
		if end, _ := d.ExpiresAt.End(nil); !end.IsZero() && !d.Schedule.IsZero() { // a change of clocks can close a schedule for a week
			d.ExpiresAt = calendar.At(end.Add(15 * 24 * time.Hour))
		}
		return consistent(d)
	})
}

// minimum draws no minimum, or a small, an ordinary or an unreachable minimum.
func minimum(t *rapid.T, c pricing.Currency) pricing.Money {
	minor := rapid.OneOf(
		rapid.Just[int64](0),
		rapid.Just[int64](0),
		rapid.Int64Range(1, 10_000),
		rapid.Int64Range(1, coupon.MaxMinPurchase),
	).Draw(t, "minimum purchase")
	return pricing.NewMoney(minor, c)
}

func optionalLimit(t *rapid.T, label string) coupon.Optional[int] {
	switch rapid.SampledFrom([]string{"absent", "cleared", "given"}).Draw(t, label) {
	case "cleared":
		return coupon.Clear[int]()
	case "given":
		return coupon.Set(rapid.OneOf(rapid.IntRange(1, 5), rapid.IntRange(1, math.MaxInt)).Draw(t, label))
	default:
		return coupon.Optional[int]{}
	}
}

// drawTerms draws the editable terms of a draft with a discount.
func drawTerms(t *rapid.T, d *coupon.Draft, currency pricing.Currency, discount pricing.Discount) {
	d.Name = Text(coupon.MaxNameLength).Draw(t, "name")
	if rapid.Bool().Draw(t, "described") {
		text := []rune(Text(coupon.MaxDescriptionLength).Draw(t, "description") + "\r\n\tsecond line")
		d.Description = string(text[:min(len(text), coupon.MaxDescriptionLength)])
	}
	setScope(d, Scope().Draw(t, "scope"))
	if d.AppliesTo == coupon.All && rapid.Bool().Draw(t, "default scope") {
		d.AppliesTo = 0
	}
	if rapid.Bool().Draw(t, "combinable") {
		d.Group = Group().Draw(t, "group")
	}
	drawAudience(t, d)
	d.Automatic = d.Distribution != coupon.PointsRedeemable && rapid.IntRange(0, 3).Draw(t, "automatic") == 0
	d.MaxUses, d.MaxUsesPerUser = optionalLimit(t, "max uses"), optionalLimit(t, "max uses per user")
	d.MinPurchase = minimums(t, minimum(t, currency))
	if most := minimum(t, currency); most.Minor() > 0 && rapid.IntRange(0, 3).Draw(t, "has a maximum purchase") == 0 {
		d.MaxPurchase = coupon.NewAmounts(most)
	}
	drawConditions(t, d, currency)
	d.Budget = budgetFor(t, currency, discount)
	if rapid.IntRange(0, 3).Draw(t, "has period limits") == 0 {
		d.PeriodLimits = periodLimits(t)
	}
	d.RefundPolicy = rapid.SampledFrom([]pricing.RefundPolicy{pricing.Keep, pricing.Rebill}).Draw(t, "refund policy")
	d.RestoreOnRefund = rapid.SampledFrom([]coupon.Restore{coupon.RestoreFull, coupon.RestoreAlways, coupon.RestoreNever}).Draw(t, "restored")
	d.StartsAt, d.ExpiresAt = window(t)
}

// drawAudience draws the customers who may use a coupon. A zero Distribution is the default.
func drawAudience(t *rapid.T, d *coupon.Draft) {
	d.Distribution = rapid.SampledFrom([]coupon.Distribution{
		0, coupon.General, coupon.PointsRedeemable, coupon.UserSpecific,
	}).Draw(t, "distribution")
	switch d.Distribution {
	case coupon.UserSpecific:
		d.AllowedUserEmails = rapid.SliceOfN(EmailEntry(), 1, 8).Draw(t, "allow-list")
	case coupon.PointsRedeemable:
		d.PointsRequired = rapid.OneOf(rapid.Int64Range(1, 1_000), rapid.Just[int64](coupon.MaxPointsRequired)).Draw(t, "points")
	case coupon.General:
	}
}

// window draws a start and an end in the right order in every time zone.
func window(t *rapid.T) (start, end calendar.Moment) {
	from := Instant().Draw(t, "from")
	until := from.Add(3*24*time.Hour + time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "length"))*time.Millisecond)
	if rapid.Bool().Draw(t, "has start") {
		start = moment(t, from)
	}
	if rapid.Bool().Draw(t, "has end") {
		end = moment(t, until)
	}
	return start, end
}

func moment(t *rapid.T, at time.Time) calendar.Moment {
	if rapid.Bool().Draw(t, "as a date") {
		return calendar.On(at.Year(), at.Month(), at.Day())
	}
	return calendar.At(at)
}

// itemIDs draws a selection of one kind. Most IDs are those of pricingtest, some are other texts.
func itemIDs(t *rapid.T, kind pricing.LineKind, least int) coupon.Items {
	known := rapid.Map(rapid.IntRange(1, pricingtest.ItemsPerKind), func(n int) string { return fmt.Sprintf("%s-%d", kind, n) })
	ids := rapid.SliceOfN(rapid.OneOf(known, known, known, Text(coupon.MaxItemIDLength)), least, 4).Draw(t, kind.String()+" IDs")
	return coupon.NewItems(ids...)
}
