package coupontest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Zone draws a time zone. Some of them change their clocks, and one has an offset of half an hour.
func Zone() *rapid.Generator[calendar.Zone] {
	return rapid.Custom(func(t *rapid.T) calendar.Zone {
		name := rapid.SampledFrom([]string{
			"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "Australia/Lord_Howe",
		}).Draw(t, "time zone")
		zone, err := calendar.ParseZone(name)
		if err != nil {
			t.Fatalf("the system has no time zone %s: %v", name, err)
		}
		return zone
	})
}

// Schedule draws a schedule with hours on some days of the week.
func Schedule() *rapid.Generator[calendar.Schedule] {
	return rapid.Custom(func(t *rapid.T) calendar.Schedule {
		s := calendar.Schedule{Zone: Zone().Draw(t, "zone")}
		days := rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 4, rapid.ID[int]).Draw(t, "days")
		for _, day := range days {
			from := rapid.IntRange(0, 1439).Draw(t, "from")
			until := rapid.IntRange(from+1, 1440).Draw(t, "until")
			s.Hours = append(s.Hours, calendar.Hours{Day: time.Weekday(day), From: from, Until: until})
			if until < 1440 && rapid.Bool().Draw(t, "twice a day") {
				s.Hours = append(s.Hours, calendar.Hours{Day: time.Weekday(day), From: until, Until: 1440})
			}
		}
		return s
	})
}

// Tags draws a condition on tags that a customer can meet. [Customer] draws the same tags.
func Tags() *rapid.Generator[coupon.CustomerTags] {
	return rapid.Custom(func(t *rapid.T) (tags coupon.CustomerTags) {
		for i := range allTags {
			tag := tagText(i)
			switch rapid.SampledFrom([]string{"", "", "any", "all", "none"}).Draw(t, tag) {
			case "any":
				tags.Any = append(tags.Any, tag)
			case "all":
				tags.All = append(tags.All, tag)
			case "none":
				tags.None = append(tags.None, tag)
			}
		}
		return tags
	})
}

const allTags = 4

func tagText(i int) string { return fmt.Sprintf("tag-%d", i) }

// Conditions draws conditions. Mostly there are none.
func Conditions() *rapid.Generator[coupon.Conditions] {
	return rapid.Custom(func(t *rapid.T) (c coupon.Conditions) {
		if rapid.IntRange(0, 5).Draw(t, "conditions") > 0 {
			return c
		}
		some := func(what string) bool { return rapid.Bool().Draw(t, what) }
		if some("minimum quantity") {
			c.MinQuantity = rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, coupon.MaxQuantity)).Draw(t, "quantity")
		}
		if some("maximum quantity") {
			c.MaxQuantity = rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, coupon.MaxQuantity)).Draw(t, "most units")
		}
		if some("contents") {
			c.Contains = coupon.Contents{Scope: Scope().Draw(t, "required"), Quantity: rapid.Int64Range(1, 4).Draw(t, "required units")}
		}
		if some("excluded contents") {
			c.ContainsNot = Scope().Draw(t, "excluded")
		}
		if some("tags") {
			c.CustomerTags = Tags().Draw(t, "customer tags")
		}
		c.FirstOrder = some("first order")
		if some("schedule") {
			c.Schedule = Schedule().Draw(t, "hours")
		}
		if rapid.IntRange(0, 3).Draw(t, "has channels") == 0 {
			c.Channels = coupon.NewItems(rapid.SliceOfN(rapid.SampledFrom(allChannels()), 1, 2).Draw(t, "channels")...)
		}
		if rapid.IntRange(0, 3).Draw(t, "has countries") == 0 {
			c.Countries = coupon.NewItems(rapid.SliceOfN(rapid.SampledFrom(allCountries()), 1, 2).Draw(t, "countries")...)
		}
		return c
	})
}

// PeriodLimits draws up to three limits.
func PeriodLimits() *rapid.Generator[[]coupon.PeriodLimit] {
	limit := rapid.Custom(func(t *rapid.T) coupon.PeriodLimit {
		return coupon.PeriodLimit{
			Per:    rapid.SampledFrom([]coupon.LimitSubject{coupon.PerCustomer, coupon.PerCoupon, coupon.PerCode}).Draw(t, "per"),
			Period: rapid.SampledFrom([]calendar.Period{calendar.Day, calendar.Week, calendar.Month}).Draw(t, "period"),
			Zone:   Zone().Draw(t, "zone"), MaxUses: rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "most"),
		}
	})
	return rapid.SliceOfNDistinct(limit, 0, 3, func(l coupon.PeriodLimit) string { return l.Per.String() + l.Period.String() })
}

// Budget draws a budget in the given currency and at times in another one. At times there is
// none.
func Budget(c pricing.Currency) *rapid.Generator[coupon.MoneySet] {
	return rapid.Custom(func(t *rapid.T) coupon.MoneySet {
		var amounts []pricing.Money
		amount := rapid.OneOf(rapid.Int64Range(1, 5_000), rapid.Int64Range(1, coupon.MaxBudget))
		if rapid.IntRange(0, 9).Draw(t, "budget") == 0 {
			amounts = append(amounts, pricing.NewMoney(amount.Draw(t, "amount"), c))
			if other := pricing.EUR(); other != c && rapid.Bool().Draw(t, "another currency") {
				amounts = append(amounts, pricing.NewMoney(amount.Draw(t, "other amount"), other))
			}
		}
		return coupon.NewMoneySet(amounts...)
	})
}

// budgetFor draws a budget that is not below an amount of the discount.
func budgetFor(t *rapid.T, c pricing.Currency, discount pricing.Discount) coupon.Amounts {
	terms := discount.Terms()
	most := map[pricing.Currency]int64{terms.Currency: max(terms.Amount, terms.MaxDiscount)}
	for _, o := range terms.Others {
		most[o.Currency] = max(o.Amount, o.MaxDiscount)
	}
	for _, tier := range terms.Tiers {
		most[terms.Currency] = max(most[terms.Currency], tier.Amount)
	}
	var amounts []pricing.Money
	for m := range Budget(c).Draw(t, "budget").All() {
		if most[m.Currency()] > coupon.MaxBudget {
			return nil
		}
		amounts = append(amounts, pricing.NewMoney(max(m.Minor(), most[m.Currency()]), m.Currency()))
	}
	return coupon.NewAmounts(amounts...)
}

// consistent returns the draft without terms that contradict others.
func consistent(d coupon.Draft) coupon.Draft {
	one := func(currency string) string {
		c, _ := pricing.ParseCurrency(cmp.Or(currency, "EUR"))
		return c.Format(1)
	}
	repairs := []struct {
		field string
		draft func()
	}{
		{"maxPurchase", func() { d.MaxPurchase = nil }},
		{"maxQuantity", func() { d.MaxQuantity = coupon.Optional[int]{} }},
		{"containsNot", func() { d.ContainsNot = nil }},
		{"contains", func() { d.Contains = nil }},
		{"maxDiscount", func() { d.MaxDiscount = nil }},
		{"budget", func() { d.Budget = nil }},
		{"minQuantity", func() { d.MinQuantity = coupon.Optional[int]{} }},
		{"discountValue", func() {
			if d.MaxDiscount = nil; d.Amount == nil {
				d.Percent = one(d.Currency)
			} else {
				d.Amount = coupon.Amounts{"": one(d.Currency)}
			}
		}},
	}
	for _, repair := range slices.Concat(repairs, repairs) { // some faults are told only after others are gone
		_, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + "draft", At: time.Unix(0, 0)})
		if err == nil {
			break
		}
		var faults *validation.Error
		if errors.As(err, &faults) && slices.ContainsFunc(faults.Fields, func(f validation.Field) bool { return strings.HasPrefix(f.Path, repair.field) }) {
			repair.draft()
		}
	}
	return d
}

// setConditions gives the draft conditions without amounts.
func setConditions(d *coupon.Draft, c coupon.Conditions) {
	if c.MinQuantity > 0 {
		d.MinQuantity = coupon.Set(int(c.MinQuantity))
	}
	if c.MaxQuantity > 0 {
		d.MaxQuantity = coupon.Set(int(c.MaxQuantity))
	}
	if required := c.Contains.Draft(); !c.Contains.IsZero() {
		d.Contains = &required
	}
	if excluded := c.ContainsNot.Draft(); !c.ContainsNot.IsZero() {
		d.ContainsNot = &excluded
	}
	d.CustomerTags, d.FirstOrder, d.Schedule = c.CustomerTags, c.FirstOrder, coupon.NewSchedule(c.Schedule)
	d.Channels, d.Countries = c.Channels.Slice(), c.Countries.Slice()
}

// customerTags draws tags of a customer.
func customerTags(t *rapid.T) (tags []string) {
	for i := range allTags {
		if rapid.Bool().Draw(t, tagText(i)) {
			tags = append(tags, tagText(i))
		}
	}
	return tags
}

// countTerms draws the counts of period limits, budgets and orders, most of them close to the
// limits.
func countTerms(t *rapid.T, l coupon.Limits, u *eligibility.Usage) {
	for _, limit := range l.Periods {
		u.Periods = append(u.Periods, near(t, limit.MaxUses, "uses in the period"))
	}
	var spent []pricing.Money
	for m := range l.Budget.All() {
		spent = append(spent, pricing.NewMoney(max(m.Minor()-rapid.Int64Range(-1, 2_000).Draw(t, "budget left"), 0), m.Currency()))
	}
	u.Spent = coupon.NewMoneySet(spent...)
	u.Orders = rapid.SampledFrom([]int64{0, 0, 1, 7}).Draw(t, "orders")
}

// allChannels are the channels that generated coupons and sales have.
func allChannels() []string { return []string{"web", "app", "store"} }

// allCountries are the countries that generated coupons and deliveries have.
func allCountries() []string { return []string{"DE", "AT", "CH"} }

// Facts draws what a host knows about a purchase. At times the facts meet the conditions.
func Facts(c coupon.Conditions) *rapid.Generator[eligibility.Facts] {
	return rapid.Custom(func(t *rapid.T) eligibility.Facts {
		channels := append(append(allChannels(), ""), c.Channels.Slice()...)
		countries := append(append(allCountries(), ""), c.Countries.Slice()...)
		return eligibility.Facts{
			Channel: rapid.SampledFrom(channels).Draw(t, "channel"), Country: rapid.SampledFrom(countries).Draw(t, "country"),
		}
	})
}

// factsFor returns facts that meet the conditions.
func factsFor(c coupon.Conditions) (f eligibility.Facts) {
	for f.Channel = range c.Channels.All() {
		break
	}
	for f.Country = range c.Countries.All() {
		break
	}
	return f
}

// favour changes a question so that the conditions of the coupon are met, as far as its dates
// allow.
func favour(c coupon.Coupon, q *eligibility.Question) {
	if at, found := c.Conditions.Schedule.Next(q.At); found && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt)) {
		q.At = at
	}
	q.Facts = factsFor(c.Conditions)
	tags := c.Conditions.CustomerTags
	q.Customer.Tags = append(append(q.Customer.Tags, tags.All...), tags.Any...)
}
