package coupon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/validation"
)

// invalidTerms are terms with all their faults. The quote document and the reference service read
// the same file.
type invalidTerms struct {
	Name   string               `json:"name"`
	Terms  json.RawMessage      `json:"terms"`
	Faults map[string][2]string `json:"faults"` // code and bound
}

func readInvalidTerms(t *testing.T) []invalidTerms {
	t.Helper()
	text, err := os.ReadFile("testdata/invalid_terms.json")
	require.NoError(t, err)
	var all []invalidTerms
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&all))
	require.NotEmpty(t, all)
	return all
}

// checkFaults compares the fields of an error, each told once, with their codes and bounds.
func checkFaults(t *testing.T, name string, want map[string][2]string, err error) {
	t.Helper()
	var invalid *validation.Error
	require.ErrorAs(t, err, &invalid, name)
	got := map[string][2]string{}
	for _, f := range invalid.Fields {
		require.NotContains(t, got, f.Path, "%s: told twice in %v", name, err)
		bound := f.Message
		if strings.Contains(f.Message, want[f.Path][1]) {
			bound = want[f.Path][1]
		}
		got[f.Path] = [2]string{string(f.Code), bound}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// Every field by its path, all at once, with the bound that was broken.
func TestInvalidTerms(t *testing.T) {
	t.Parallel()
	for _, c := range readInvalidTerms(t) {
		var d coupon.Draft
		err := json.Unmarshal(append([]byte(`{"code":"A","name":"A",`), c.Terms[1:]...), &d)
		if err == nil {
			_, err = coupon.New(d, creation)
		}
		checkFaults(t, c.Name, c.Faults, err)
	}
}

// Every list and set has a bound, which the fault names.
func TestTermsThatAreTooLong(t *testing.T) {
	t.Parallel()
	names := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("n%d", i)
		}
		return list
	}
	hours := func(n int) (list []coupon.Hours) {
		for i := range n {
			list = append(list, coupon.Hours{Day: time.Monday, From: calendar.FormatClock(i), Until: calendar.FormatClock(i + 1)})
		}
		return list
	}
	zone, err := calendar.ParseZone("UTC")
	require.NoError(t, err)
	many := coupon.MaxSelectedItems + 1
	limit := coupon.PeriodLimit{Per: coupon.PerCoupon, Period: calendar.Day, Zone: zone, MaxUses: 1}
	long := strings.Repeat("ä", coupon.MaxGroupLength+1)
	for field, c := range map[string]struct {
		change func(*coupon.Draft)
		bound  string
	}{
		"customerTags.any":    {func(d *coupon.Draft) { d.CustomerTags.Any = names(coupon.MaxTags + 1) }, "50 tags"},
		"customerTags.all":    {func(d *coupon.Draft) { d.CustomerTags.All = names(coupon.MaxTags + 1) }, "50 tags"},
		"customerTags.none":   {func(d *coupon.Draft) { d.CustomerTags.None = names(coupon.MaxTags + 1) }, "50 tags"},
		"customerTags.any[0]": {func(d *coupon.Draft) { d.CustomerTags.Any = []string{long} }, "64 characters"},
		"schedule.hours": {func(d *coupon.Draft) {
			d.Schedule = coupon.Schedule{TimeZone: "UTC", Hours: hours(calendar.MaxHours + 1)}
		}, "70 entries"},
		"periodLimits":       {func(d *coupon.Draft) { d.PeriodLimits = slices.Repeat([]coupon.PeriodLimit{limit}, 10) }, "9 limits"},
		"group":              {func(d *coupon.Draft) { d.Group = long }, "64 characters"},
		"kinds":              {func(d *coupon.Draft) { d.Kinds = names(many) }, fmt.Sprint(coupon.MaxSelectedItems)},
		"categories":         {func(d *coupon.Draft) { d.Categories = names(many) }, fmt.Sprint(coupon.MaxSelectedItems)},
		"categories[0]":      {func(d *coupon.Draft) { d.Categories = []string{long} }, "64 characters"},
		"excludedItemIds":    {func(d *coupon.Draft) { d.ExcludedItemIDs = names(many) }, fmt.Sprint(coupon.MaxSelectedItems)},
		"excludedCategories": {func(d *coupon.Draft) { d.ExcludedCategories = names(many) }, fmt.Sprint(coupon.MaxSelectedItems)},
	} {
		d := ten()
		c.change(&d)
		_, err := coupon.New(d, creation)
		checkFaults(t, field, map[string][2]string{field: {string(validation.TooLong), c.bound}}, err)
	}
}

// A long list of faults is answered with about a thousand of them and a count.
func TestLongListsOfFaultsOfTerms(t *testing.T) {
	t.Parallel()
	const start = `{"code":"A","name":"A","discountType":"PERCENTAGE","discountValue":"10",`
	entries := func(entry string) string { return "[" + strings.Repeat(entry+",", 19_999) + entry + "]" }
	currencies := func() string {
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, `,"X%d":"1"`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	for field, text := range map[string]string{
		"customerTags": `"customerTags":{"any":` + entries("5") + `}`,
		"categories":   `"categories":` + entries(`5`),
		"schedule":     `"schedule":{"timeZone":"UTC","hours":` + entries(`5`) + `}`,
		"tiers":        `"tiers":` + entries(`5`),
		"periodLimits": `"periodLimits":` + entries(`5`),
		"budget":       `"budget":` + currencies(),
		"maxDiscount":  `"maxDiscount":` + currencies(),
	} {
		for name, read := range map[string]func(string) (coupon.Coupon, error){
			"draft": newFromJSON, "patch": func(text string) (coupon.Coupon, error) { return applyJSON(mustNew(t, ten()), text) },
		} {
			_, err := read(start + text + "}")
			var invalid *validation.Error
			require.ErrorAs(t, err, &invalid, "%s: %s", name, field)
			require.LessOrEqual(t, len(invalid.Fields), validation.MaxListFaults+10, "%s: %s", name, field)
			require.Less(t, len(err.Error()), 200_000, "%s: %s", name, field)
		}
	}
}

// What the caller does with a draft, a patch or a list afterwards changes no coupon.
func TestACouponSharesNoMemoryWithItsDraft(t *testing.T) {
	t.Parallel()
	const terms = `{"code":"A","name":"A","discountType":"TIERED","tierBasis":"AMOUNT","tiers":[{"from":"5","percent":"10"}],
		"kinds":["book"],"categories":["c"],"excludedItemIds":["i"],"excludedCategories":["x"],"minPurchase":{"EUR":"1","USD":"2"},
		"customerTags":{"any":["a"],"all":["b"],"none":["d"]},"budget":{"EUR":"900"},
		"schedule":{"timeZone":"UTC","hours":[{"day":"MONDAY","from":"09:00","until":"10:00"}]},
		"periodLimits":[{"per":"COUPON","period":"DAY","timeZone":"UTC","maxUses":7}]}`
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(terms), &d))
	text := func(c coupon.Coupon) string {
		written, err := json.Marshal(c)
		require.NoError(t, err)
		return string(written)
	}
	c := mustNew(t, d)
	before := text(c)
	d.Budget["EUR"], d.MinPurchase["USD"] = "1", "1"
	for _, list := range [][]string{
		d.Kinds, d.Categories, d.ExcludedItemIDs, d.ExcludedCategories, d.CustomerTags.Any, d.CustomerTags.All, d.CustomerTags.None,
	} {
		list[0] = "changed"
	}
	d.Schedule.Hours[0].From, d.PeriodLimits[0].MaxUses, d.Tiers[0].From = "00:00", 1, d.Tiers[0].Percent
	require.JSONEq(t, before, text(c), "New")
	kinds, tags, hours, limits := []string{"map"}, []string{"t"}, slices.Clone(d.Schedule.Hours), slices.Clone(d.PeriodLimits)
	changed, err := c.Apply(coupon.Patch{
		Kinds: coupon.Set(kinds), CustomerTags: coupon.Set(coupon.CustomerTags{Any: tags}),
		Schedule: coupon.Set(coupon.Schedule{TimeZone: "UTC", Hours: hours}), PeriodLimits: coupon.Set(limits),
	}, coupon.Edit{At: noon})
	require.NoError(t, err)
	before = text(changed)
	kinds[0], tags[0], hours[0].Until, limits[0].MaxUses = "changed", "changed", "24:00", 99
	changed.Scope.Kinds.Slice()[0], changed.Limits.Budget.Slice()[0] = "changed", eur(3)
	changed.Discount.Terms().Tiers[0].From = 1
	require.JSONEq(t, before, text(changed), "Apply")
}
