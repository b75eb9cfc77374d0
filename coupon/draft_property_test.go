package coupon_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
	"github.com/couponkit/couponkit/validation"
)

// breakages are ways to break one field of the draft ten, each independent of the
// others, with the one fault that it makes.
var breakages = map[string][]struct {
	path string
	code validation.Code
	make func(*coupon.Draft)
}{
	"code": {
		{"code", "required", func(d *coupon.Draft) { d.Code = " " }},
		{"code", "malformed", func(d *coupon.Draft) { d.Code = "a b" }},
		{"code", "too_long", func(d *coupon.Draft) { d.Code = strings.Repeat("a", 256) }},
	},
	"name": {
		{"name", "required", func(d *coupon.Draft) { d.Name = "" }},
		{"name", "too_long", func(d *coupon.Draft) { d.Name = strings.Repeat("n", 256) }},
	},
	"description": {{"description", "malformed", func(d *coupon.Draft) { d.Description = "\x00" }}},
	"type": {
		{"discountType", "required", func(d *coupon.Draft) { d.DiscountType = 0 }},
		{"discountType", "unknown", func(d *coupon.Draft) { d.DiscountType = 70 }},
	},
	"value": {
		{"discountValue", "too_small", func(d *coupon.Draft) { d.Percent = "-1" }},
		{"discountValue", "too_small", func(d *coupon.Draft) { d.Percent = "0" }},
		{"discountValue", "required", func(d *coupon.Draft) { d.Percent = "" }},
	},
	"currency": {{"currency", "unknown", func(d *coupon.Draft) { d.Currency = "EUX" }}},
	"plans":    {{"planIds[1]", "required", func(d *coupon.Draft) { d.AppliesTo, d.PlanIDs = coupon.Subscription, []string{"a", ""} }}},
	"devices":  {{"deviceIds[0]", "malformed", func(d *coupon.Draft) { d.DeviceIDs = []string{"\n"} }}},
	"audience": {
		{"pointsRequired", "not_allowed", func(d *coupon.Draft) { d.PointsRequired = 3 }},
		{"distribution", "unknown", func(d *coupon.Draft) { d.Distribution = 4 }},
		{"allowedUserEmails[0]", "malformed", func(d *coupon.Draft) {
			d.Distribution, d.AllowedUserEmails = coupon.UserSpecific, coupon.EmailList{"nobody"}
		}},
	},
	"group": {
		{"group", "malformed", func(d *coupon.Draft) { d.Group = " summer" }},
		{"group", "too_long", func(d *coupon.Draft) { d.Group = strings.Repeat("g", coupon.MaxGroupLength+1) }},
	},
	"kinds": {{"kinds[1]", "not_allowed", func(d *coupon.Draft) { d.Kinds = []string{"book", "shipping"} }}},
	"categories": {
		{"categories[2]", "malformed", func(d *coupon.Draft) { d.Categories = []string{"sale", "sale", " new"} }},
		{"excludedCategories[1]", "required", func(d *coupon.Draft) { d.ExcludedCategories = []string{"sale", ""} }},
		{"categories[2]", "mismatch", func(d *coupon.Draft) {
			d.Categories, d.ExcludedCategories = []string{"sale", "sale", "new"}, []string{"old", "new"}
		}},
	},
	"excludedItems": {{"excludedItemIds[1]", "required", func(d *coupon.Draft) { d.ExcludedItemIDs = []string{"a", ""} }}},
	"maxDiscount": {
		{"maxDiscount.EUR", "too_small", func(d *coupon.Draft) { d.MaxDiscount = coupon.Amounts{"EUR": "0"} }},
		{"maxDiscount.EUX", "unknown", func(d *coupon.Draft) { d.MaxDiscount = coupon.Amounts{"EUX": "5"} }},
	},
	"quantities": {
		{"units", "not_allowed", func(d *coupon.Draft) { d.Units = 5 }},
		{"maxUnits", "too_small", func(d *coupon.Draft) { d.MaxUnits = -1 }},
		{"maxUnits", "too_large", func(d *coupon.Draft) { d.MaxUnits = pricing.MaxDiscountUnits + 1 }},
	},
	"buys": {{"buys", "not_allowed", func(d *coupon.Draft) { d.Buys = &coupon.ScopeDraft{} }}},
	"tiers": {
		{"tiers", "not_allowed", func(d *coupon.Draft) { d.Tiers = []coupon.TierDraft{{From: "5", Percent: "5"}} }},
		{"tierBasis", "not_allowed", func(d *coupon.Draft) { d.TierBasis = pricing.ByQuantity }},
	},
	"channels": {
		{"channels[2]", "required", func(d *coupon.Draft) { d.Channels = []string{"web", "web", ""} }},
		{"channels[0]", "malformed", func(d *coupon.Draft) { d.Channels = []string{" web"} }},
		{"channels", "too_long", func(d *coupon.Draft) { d.Channels = make([]string, coupon.MaxChannels+1) }},
	},
	"countries": {
		{"countries[2]", "malformed", func(d *coupon.Draft) { d.Countries = []string{"DE", "DE", "de"} }},
		{"countries", "too_long", func(d *coupon.Draft) { d.Countries = make([]string, coupon.MaxCountries+1) }},
	},
	"maxUses":        {{"maxUses", "too_small", func(d *coupon.Draft) { d.MaxUses = coupon.Set(0) }}},
	"maxUsesPerUser": {{"maxUsesPerUser", "too_small", func(d *coupon.Draft) { d.MaxUsesPerUser = coupon.Set(-1) }}},
	"minPurchase":    {{"minPurchase", "too_small", func(d *coupon.Draft) { d.MinPurchase = coupon.Amounts{"": "-0.01"} }}, {"minPurchase.EUR", "too_small", func(d *coupon.Draft) { d.MinPurchase = coupon.Amounts{"EUR": "-1"} }}},
	"maxPurchase": {
		{"maxPurchase", "too_small", func(d *coupon.Draft) { d.MaxPurchase = coupon.Amounts{"": "0"} }},
		{"maxPurchase.EUR", "too_small", func(d *coupon.Draft) { d.MaxPurchase = coupon.Amounts{"EUR": "-1"} }},
		{"maxPurchase.EUR", "too_large", func(d *coupon.Draft) {
			d.MaxPurchase = coupon.NewAmounts(pricing.NewMoney(coupon.MaxMinPurchase+1, pricing.EUR()))
		}},
	},
	"minQuantity": {
		{"minQuantity", "too_small", func(d *coupon.Draft) { d.MinQuantity = coupon.Set(0) }},
		{"minQuantity", "too_large", func(d *coupon.Draft) { d.MinQuantity = coupon.Set(coupon.MaxQuantity + 1) }},
	},
	"maxQuantity": {
		{"maxQuantity", "too_small", func(d *coupon.Draft) { d.MaxQuantity = coupon.Set(0) }},
		{"maxQuantity", "too_large", func(d *coupon.Draft) { d.MaxQuantity = coupon.Set(coupon.MaxQuantity + 1) }},
	},
	"contains": {
		{"contains.quantity", "too_small", func(d *coupon.Draft) { d.Contains = &coupon.ContentsDraft{Quantity: -1} }},
		{"contains.quantity", "too_large", func(d *coupon.Draft) { d.Contains = &coupon.ContentsDraft{Quantity: coupon.MaxQuantity + 1} }},
		{"contains.minPurchase", "too_small", func(d *coupon.Draft) { d.Contains = &coupon.ContentsDraft{MinPurchase: coupon.Amounts{"": "-0.01"}} }},
		{"contains.minPurchase.EUR", "too_large", func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{MinPurchase: coupon.NewAmounts(eur(coupon.MaxMinPurchase + 1))}
		}},
		{"contains.minPurchase.EUX", "unknown", func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{MinPurchase: coupon.Amounts{"USD": "5", "EUX": "5"}}
		}},
		{"contains.appliesTo", "required", func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{AppliesTo: coupon.Specific}}
		}},
		{"contains.planIds", "not_allowed", func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{PlanIDs: []string{"a"}}}
		}},
		{"contains.kinds[1]", "not_allowed", func(d *coupon.Draft) {
			d.Contains = &coupon.ContentsDraft{ScopeDraft: coupon.ScopeDraft{Kinds: []string{"device", "shipping"}}}
		}},
	},
	"containsNot": {
		{"containsNot.appliesTo", "required", func(d *coupon.Draft) { d.ContainsNot = &coupon.ScopeDraft{AppliesTo: coupon.Specific} }},
		{"containsNot.excludedItemIds[1]", "required", func(d *coupon.Draft) {
			d.ContainsNot = &coupon.ScopeDraft{ExcludedItemIDs: []string{"a", ""}}
		}},
	},
	"tags": {
		{"customerTags.all[1]", "mismatch", func(d *coupon.Draft) { d.CustomerTags.All = []string{"a", "a"} }},
		{"customerTags.any[0]", "required", func(d *coupon.Draft) { d.CustomerTags.Any = []string{""} }},
		{"customerTags.none[0]", "too_long", func(d *coupon.Draft) { d.CustomerTags.None = []string{strings.Repeat("é", 65)} }},
		{"customerTags.none[1]", "mismatch", func(d *coupon.Draft) {
			d.CustomerTags = coupon.CustomerTags{All: []string{"a"}, None: []string{"b", "a"}}
		}},
		{"customerTags.any", "mismatch", func(d *coupon.Draft) {
			d.CustomerTags = coupon.CustomerTags{Any: []string{"a"}, None: []string{"b", "a"}}
		}},
		{"customerTags.any", "too_long", func(d *coupon.Draft) { d.CustomerTags.Any = make([]string, coupon.MaxTags+1) }},
	},
	"schedule": {
		{"schedule.timeZone", "required", func(d *coupon.Draft) { d.Schedule.Hours = []coupon.Hours{{Day: 1, From: "00:00", Until: "01:00"}} }},
		{"schedule.hours", "required", func(d *coupon.Draft) { d.Schedule.TimeZone = "UTC" }},
		{"schedule.hours", "too_long", func(d *coupon.Draft) {
			d.Schedule = coupon.Schedule{TimeZone: "UTC", Hours: make([]coupon.Hours, calendar.MaxHours+1)}
		}},
		{"schedule.hours[1].until", "mismatch", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 2, From: "01:00", Until: "01:00"}) }},
		{"schedule.hours[1].day", "unknown", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 7, From: "01:00", Until: "01:01"}) }},
		{"schedule.hours[1].from", "malformed", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 2, From: "9:00", Until: "10:00"}) }},
		{"schedule.hours[1].from", "required", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 2, Until: "10:00"}) }},
		{"schedule.hours[1].until", "malformed", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 2, From: "01:00", Until: "24:01"}) }},
		{"schedule.timeZone", "unknown", func(d *coupon.Draft) { d.Schedule = coupon.Schedule{TimeZone: "Local", Hours: hours().Hours} }},
		{"schedule.hours[1]", "mismatch", func(d *coupon.Draft) { d.Schedule = hours(coupon.Hours{Day: 1, From: "16:00", Until: "24:00"}) }},
	},
	"budget": {
		{"budget.EUR", "too_small", func(d *coupon.Draft) { d.Budget = coupon.Amounts{"EUR": "0"} }},
		{"budget.EUR", "too_large", func(d *coupon.Draft) {
			d.Budget = coupon.NewAmounts(pricing.NewMoney(coupon.MaxBudget+1, pricing.EUR()))
		}},
	},
	"periodLimits": {
		{"periodLimits[0].maxUses", "too_small", func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCode, Period: calendar.Day, Zone: zone("UTC")}}
		}},
		{"periodLimits[0].per", "unknown", func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: 4, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}}
		}},
		{"periodLimits[0].period", "unknown", func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCode, Zone: zone("UTC"), MaxUses: 1}}
		}},
		{"periodLimits[0].timeZone", "required", func(d *coupon.Draft) {
			d.PeriodLimits = []coupon.PeriodLimit{{Per: coupon.PerCode, Period: calendar.Day, MaxUses: 1}}
		}},
		{"periodLimits[1]", "mismatch", func(d *coupon.Draft) {
			one := coupon.PeriodLimit{Per: coupon.PerCode, Period: calendar.Day, Zone: zone("UTC"), MaxUses: 1}
			other := one
			other.Zone = zone("Europe/Berlin")
			d.PeriodLimits = []coupon.PeriodLimit{one, other}
		}},
		{"periodLimits", "too_long", func(d *coupon.Draft) { d.PeriodLimits = make([]coupon.PeriodLimit, coupon.MaxPeriodLimits+1) }},
	},
	"window": {{"expiresAt", "mismatch", func(d *coupon.Draft) { d.StartsAt, d.ExpiresAt = calendar.On(2027, 1, 2), calendar.On(2027, 1, 1) }}},
}

// beside are the other fields of faults that two fields have.
var beside = map[string]string{
	"expiresAt": "startsAt", "categories[2]": "excludedCategories[1]", "customerTags.none[1]": "customerTags.all[0]", "customerTags.any": "customerTags.none",
}

// zone is the time zone with the name, which the system has.
func zone(name string) calendar.Zone {
	z, err := calendar.ParseZone(name)
	if err != nil {
		panic(err)
	}
	return z
}

// hours is a schedule of Mondays in Berlin from 9 to 17, and one more entry.
func hours(more ...coupon.Hours) coupon.Schedule {
	return coupon.Schedule{TimeZone: "Europe/Berlin", Hours: append([]coupon.Hours{{Day: time.Monday, From: "09:00", Until: "17:00"}}, more...)}
}

// Whatever is broken, each fault is reported, once, and nothing else is.
func TestNewReportsAllFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d, want := ten(), map[string]validation.Code{}
		for _, field := range []string{
			"code", "name", "description", "type", "value", "currency", "plans", "devices", "audience",
			"maxUses", "maxUsesPerUser", "minPurchase", "maxPurchase", "minQuantity", "maxQuantity", "contains", "containsNot", "tags", "schedule", "budget", "periodLimits", "window",
			"group", "kinds", "categories", "excludedItems", "maxDiscount", "quantities", "buys", "tiers", "channels", "countries",
		} {
			if rapid.Bool().Draw(rt, "break "+field) {
				b := rapid.SampledFrom(breakages[field]).Draw(rt, field)
				b.make(&d)
				want[b.path] = b.code
				if other, both := beside[b.path]; both && b.code == "mismatch" {
					want[other] = "mismatch"
				}
			}
		}
		if d.AppliesTo == 0 && len(d.DeviceIDs) > 0 {
			d.AppliesTo = coupon.Product
		}
		if len(d.PlanIDs) > 0 && len(d.DeviceIDs) > 0 {
			d.AppliesTo = coupon.Specific
		}
		if want["discountType"] != "" { // which terms are allowed depends on it
			maps.DeleteFunc(want, func(path string, code validation.Code) bool {
				return code == "not_allowed" && slices.Contains([]string{"units", "buys", "tiers", "tierBasis"}, path)
			})
		}
		c, err := coupon.New(d, creation)
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
		if err != nil && c.ID != "" {
			rt.Errorf("a refused draft yields a coupon")
		}
	})
}

func TestNewOnAnyDraft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := hostileDraft().Draw(t, "draft")
		c, err := coupon.New(d, coupon.Creation{
			ID: rapid.OneOf(coupontest.ID(), coupontest.Hostile()).Draw(t, "id"), At: coupontest.Instant().Draw(t, "at"),
		})
		checkOutcome(t, c, err)
	})
}

// checkOutcome holds what New and Apply promise of every input.
func checkOutcome(t pricingtest.TB, c coupon.Coupon, err error) {
	t.Helper()
	if err == nil {
		if err := c.Validate(); err != nil {
			t.Errorf("an accepted coupon does not validate: %v", err)
		}
		return
	}
	var invalid *validation.Error
	if !errors.As(err, &invalid) || len(invalid.Fields) == 0 || c.ID != "" {
		t.Errorf("%v names no field, or comes with a coupon", err)
		return
	}
	seen := map[string]bool{}
	for _, f := range invalid.Fields {
		if key := f.Path + " " + string(f.Code); seen[key] || f.Path == "" || f.Message == "" {
			t.Errorf("the fault %+v is without a field or a message, or is there twice", f)
		} else {
			seen[key] = true
		}
	}
}

func TestTheOutcomeCheckerNotices(t *testing.T) {
	t.Parallel()
	valid, err := coupon.New(ten(), creation)
	require.NoError(t, err)
	twice := &validation.Error{}
	twice.Add("name", validation.Required, "a name is required")
	twice.Add("name", validation.Required, "a name is required")
	for name, broken := range map[string]func(pricingtest.TB){
		"an invalid coupon":         func(tb pricingtest.TB) { checkOutcome(tb, coupon.Coupon{}, nil) },
		"an untyped error":          func(tb pricingtest.TB) { checkOutcome(tb, coupon.Coupon{}, errors.New("no")) },
		"an error without fields":   func(tb pricingtest.TB) { checkOutcome(tb, coupon.Coupon{}, &validation.Error{}) },
		"an error beside a coupon":  func(tb pricingtest.TB) { checkOutcome(tb, valid, twice) },
		"a fault that occurs twice": func(tb pricingtest.TB) { checkOutcome(tb, coupon.Coupon{}, twice) },
	} {
		var r recorder
		if broken(&r); r.reports == 0 {
			t.Errorf("%s passes", name)
		}
	}
}

// recorder counts what a checker reports.
type recorder struct{ reports int }

func (*recorder) Helper() {}

func (r *recorder) Errorf(string, ...any) { r.reports++ }

// hostileDraft draws drafts of which any field may be anything.
func hostileDraft() *rapid.Generator[coupon.Draft] {
	texts := rapid.SliceOfN(coupontest.Hostile(), 0, 4)
	numbers := rapid.OneOf(coupontest.Hostile(), rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("%de%d", rapid.Int64().Draw(t, "coefficient"), rapid.IntRange(-100, 100).Draw(t, "exponent"))
	}))
	codes := rapid.OneOf(rapid.SampledFrom([]string{"", "EUR", "JPY", "eur"}), coupontest.Hostile())
	amounts := rapid.Map(rapid.MapOfN(codes, numbers, 0, 3), func(m map[string]string) coupon.Amounts { return m })
	limits := rapid.OneOf(rapid.Just(coupon.Clear[int]()), rapid.Map(rapid.Int(), coupon.Set[int]))
	moments := rapid.OneOf(
		rapid.Map(rapid.Int64(), func(seconds int64) calendar.Moment { return calendar.At(time.Unix(seconds, 0)) }),
		rapid.Map(rapid.IntRange(-20_000, 20_000), func(year int) calendar.Moment { return calendar.On(year, 13, 40) }),
	)
	return rapid.Custom(func(t *rapid.T) coupon.Draft {
		d := coupontest.Draft().Draw(t, "a valid draft")
		spoil(t, &d.Code, coupontest.Hostile())
		spoil(t, &d.Name, coupontest.Hostile())
		spoil(t, &d.Description, coupontest.Hostile())
		spoil(t, &d.DiscountType, rapid.Map(rapid.Byte(), func(b byte) pricing.DiscountType { return pricing.DiscountType(b) }))
		spoil(t, &d.Percent, numbers)
		spoil(t, &d.Amount, amounts)
		spoil(t, &d.MaxDiscount, amounts)
		spoil(t, &d.Currency, coupontest.Hostile())
		spoil(t, &d.AppliesTo, rapid.Map(rapid.Byte(), func(b byte) coupon.AppliesTo { return coupon.AppliesTo(b) }))
		spoil(t, &d.PlanIDs, texts)
		spoil(t, &d.DeviceIDs, texts)
		spoil(t, &d.AccessoryIDs, texts)
		spoil(t, &d.Distribution, rapid.Map(rapid.Byte(), func(b byte) coupon.Distribution { return coupon.Distribution(b) }))
		spoil(t, &d.AllowedUserEmails, rapid.Map(texts, func(l []string) coupon.EmailList { return l }))
		spoil(t, &d.PointsRequired, rapid.Int64())
		spoil(t, &d.MaxUses, limits)
		spoil(t, &d.MaxUsesPerUser, limits)
		spoil(t, &d.MinPurchase, amounts)
		spoil(t, &d.MinQuantity, limits)
		if d.Contains != nil {
			spoil(t, &d.Contains.MinPurchase, amounts)
		}
		spoil(t, &d.CustomerTags.Any, texts)
		spoil(t, &d.CustomerTags.None, texts)
		spoil(t, &d.Schedule, rapid.Custom(func(t *rapid.T) coupon.Schedule {
			clock := rapid.OneOf(coupontest.Hostile(), rapid.StringMatching(`[0-2][0-9]:[0-6][0-9]`))
			return hours(coupon.Hours{
				Day: time.Weekday(rapid.Int().Draw(t, "day")), From: clock.Draw(t, "from"), Until: clock.Draw(t, "until"),
			})
		}))
		spoil(t, &d.Budget, amounts)
		spoil(t, &d.PeriodLimits, rapid.Map(rapid.Int64(), func(n int64) []coupon.PeriodLimit {
			return []coupon.PeriodLimit{{Per: coupon.LimitSubject(n & 3), Period: calendar.Period(n >> 2 & 3), MaxUses: n}}
		}))
		spoil(t, &d.StartsAt, moments)
		spoil(t, &d.ExpiresAt, moments)
		return d
	})
}

func spoil[T any](t *rapid.T, field *T, with *rapid.Generator[T]) {
	if rapid.IntRange(0, 5).Draw(t, "spoil") == 0 {
		*field = with.Draw(t, "spoilt")
	}
}
