package coupontest

import (
	"cmp"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
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

// allTags returns the tags of generated coupons and customers.
func allTags() []string { return []string{"tag-0", "tag-1", "tag-2", "tag-3"} }

// tags draws a condition on tags that a customer can meet.
func tags(t *rapid.T) (tags coupon.CustomerTags) {
	for _, tag := range allTags() {
		if list := rapid.SampledFrom([]*[]string{nil, nil, &tags.Any, &tags.All, &tags.None}).Draw(t, tag); list != nil {
			*list = append(*list, tag)
		}
	}
	return tags
}

// drawConditions draws conditions besides bounds of the purchase. Usually it draws none.
func drawConditions(t *rapid.T, d *coupon.Draft, currency pricing.Currency) {
	if rapid.IntRange(0, 5).Draw(t, "conditions") > 0 {
		return
	}
	quantity := rapid.OneOf(rapid.IntRange(1, 4), rapid.IntRange(1, coupon.MaxQuantity))
	some := func(what string) bool { return rapid.Bool().Draw(t, what) }
	if some("minimum quantity") {
		d.MinQuantity = coupon.Set(quantity.Draw(t, "quantity"))
	}
	if some("maximum quantity") {
		d.MaxQuantity = coupon.Set(quantity.Draw(t, "most units"))
	}
	if some("contents") {
		d.Contains = &coupon.ContentsDraft{ScopeDraft: Scope().Draw(t, "required").Draft(), Quantity: rapid.Int64Range(0, 4).Draw(t, "required units")}
		d.Contains.MinPurchase = minimums(t, minimum(t, currency))
	}
	if some("excluded contents") {
		d.ContainsNot = new(Scope().Draw(t, "excluded").Draft())
	}
	if some("tags") {
		d.CustomerTags = tags(t)
	}
	d.FirstOrder = some("first order")
	if some("schedule") {
		d.Schedule = coupon.NewSchedule(Schedule().Draw(t, "hours"))
	}
	if some("channels") {
		d.Channels = rapid.SliceOfNDistinct(rapid.SampledFrom(allChannels()), 1, 2, rapid.ID[string]).Draw(t, "channels")
	}
	if some("countries") {
		d.Countries = rapid.SliceOfNDistinct(rapid.SampledFrom(allCountries()), 1, 2, rapid.ID[string]).Draw(t, "countries")
	}
}

// periodLimits draws up to three limits.
func periodLimits(t *rapid.T) []coupon.PeriodLimit {
	limit := rapid.Custom(func(t *rapid.T) coupon.PeriodLimit {
		return coupon.PeriodLimit{
			Per:    rapid.SampledFrom([]coupon.LimitSubject{coupon.PerCustomer, coupon.PerCoupon, coupon.PerCode}).Draw(t, "per"),
			Period: rapid.SampledFrom([]calendar.Period{calendar.Day, calendar.Week, calendar.Month}).Draw(t, "period"),
			Zone:   Zone().Draw(t, "zone"), MaxUses: rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "most"),
		}
	})
	return rapid.SliceOfNDistinct(limit, 1, 3, func(l coupon.PeriodLimit) string { return l.Per.String() + l.Period.String() }).Draw(t, "period limits")
}

// budgetFor draws a budget in the given currency, and sometimes in a second currency. The budget is at
// least the discount's amount. Usually it draws none.
func budgetFor(t *rapid.T, c pricing.Currency, discount pricing.Discount) coupon.Amounts {
	if rapid.IntRange(0, 9).Draw(t, "budget") > 0 {
		return nil
	}
	terms, budget := discount.Terms(), coupon.Amounts{}
	in := []pricing.Currency{c}
	if c != pricing.EUR() && rapid.Bool().Draw(t, "another currency") {
		in = append(in, pricing.EUR())
	}
	for _, c := range in {
		least := int64(1)
		for _, of := range append(terms.Others, pricing.CurrencyTerms{Currency: terms.Currency, Amount: terms.Amount, MaxDiscount: terms.MaxDiscount}) {
			if of.Currency == c {
				least = max(least, of.Amount, of.MaxDiscount)
			}
		}
		for _, tier := range terms.Tiers {
			least = max(least, tier.Amount)
		}
		if least > coupon.MaxBudget {
			return nil
		}
		amount := rapid.OneOf(rapid.Int64Range(1, 5_000), rapid.Int64Range(1, coupon.MaxBudget)).Draw(t, "amount")
		budget[c.Code()] = c.Format(max(amount, least))
	}
	return budget
}

// consistent returns the draft without the terms that contradict other terms.
func consistent(d coupon.Draft) coupon.Draft {
	for _, leaveOut := range []func(){
		func() { d.MaxPurchase, d.MaxQuantity = nil, coupon.Optional[int]{} },
		func() { d.Contains, d.ContainsNot = nil, nil },
		func() { d.MaxDiscount = nil },
		func() { d.Budget = nil },
		func() { d.MinQuantity = coupon.Optional[int]{} },
		func() {
			c, _ := pricing.ParseCurrency(cmp.Or(d.Currency, "EUR"))
			if d.Amount == nil {
				d.Percent = c.Format(1)
			} else {
				d.Amount = coupon.Amounts{"": c.Format(1)}
			}
		},
	} {
		if _, err := coupon.New(d, coupon.Creation{ID: coupon.IDPrefix + "draft", At: time.Unix(0, 0)}); err == nil {
			break
		}
		leaveOut()
	}
	return d
}

// countTerms draws the counts of period limits, budgets and orders. Most of them are close to the
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

// allChannels returns the channels of generated coupons and sales.
func allChannels() []string { return []string{"web", "app", "store"} }

// allCountries returns the countries of generated coupons and deliveries.
func allCountries() []string { return []string{"DE", "AT", "CH"} }

// facts draws the host's facts about a purchase. Sometimes they meet the conditions.
func facts(t *rapid.T, c coupon.Conditions) eligibility.Facts {
	return eligibility.Facts{
		Channel: rapid.SampledFrom(slices.Concat(allChannels(), []string{""}, c.Channels.Slice())).Draw(t, "channel"),
		Country: rapid.SampledFrom(slices.Concat(allCountries(), []string{""}, c.Countries.Slice())).Draw(t, "country"),
	}
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

// favour changes a question so that it meets the conditions of the coupon, if the coupon's dates allow
// that.
func favour(c coupon.Coupon, q *eligibility.Question) {
	if at, found := c.Conditions.Schedule.Next(q.At); found && (c.ExpiresAt.IsZero() || at.Before(c.ExpiresAt)) {
		q.At = at
	}
	q.Facts = factsFor(c.Conditions)
	tags := c.Conditions.CustomerTags
	q.Customer.Tags = append(append(q.Customer.Tags, tags.All...), tags.Any...)
}
