package coupon_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/validation"
)

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(tb, err)
	return at
}

// A schedule goes by the local clock, from the first minute, inclusive, to the last, exclusive.
// On October 25, 2026, Berlin repeats the hour from 2 to 3. On March 29 it skips that hour.
func TestASchedule(t *testing.T) {
	t.Parallel()
	berlin := zone("Europe/Berlin")
	of := func(day time.Weekday, from, until int) coupon.Schedule {
		return coupon.Schedule{Zone: berlin, Hours: []coupon.Hours{{Day: day, From: from, Until: until}}}
	}
	for name, test := range map[string]struct {
		schedule coupon.Schedule
		at       string
		next     string // empty is never
	}{
		"before it opens":             {of(time.Monday, 540, 1020), "2026-11-23T07:59:59.999999Z", "2026-11-23T08:00:00Z"},
		"the first instant":           {of(time.Monday, 540, 1020), "2026-11-23T08:00:00Z", "2026-11-23T08:00:00Z"},
		"the last instant":            {of(time.Monday, 540, 1020), "2026-11-23T15:59:59.999999Z", "2026-11-23T15:59:59.999999Z"},
		"the end":                     {of(time.Monday, 540, 1020), "2026-11-23T16:00:00Z", "2026-11-30T08:00:00Z"},
		"the end of the day":          {of(time.Sunday, 1380, 1440), "2026-11-22T22:59:59Z", "2026-11-22T22:59:59Z"},
		"after the end of the day":    {of(time.Sunday, 1380, 1440), "2026-11-22T23:00:00Z", "2026-11-29T22:00:00Z"},
		"the first repeated hour":     {of(time.Sunday, 120, 180), "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z"},
		"the second repeated hour":    {of(time.Sunday, 120, 180), "2026-10-25T01:30:00Z", "2026-10-25T01:30:00Z"},
		"after the repeated hour":     {of(time.Sunday, 120, 180), "2026-10-25T02:00:00Z", "2026-11-01T01:00:00Z"},
		"between two repeated spans":  {of(time.Sunday, 120, 150), "2026-10-25T00:45:00Z", "2026-10-25T01:00:00Z"},
		"an hour that is skipped":     {of(time.Sunday, 120, 180), "2026-03-28T12:00:00Z", "2026-04-05T00:00:00Z"},
		"the rest of a skipped hour":  {of(time.Sunday, 150, 240), "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		"a week with another offset":  {of(time.Sunday, 600, 660), "2026-03-22T10:00:00Z", "2026-03-29T08:00:00Z"},
		"no schedule":                 {coupon.Schedule{}, "2026-03-22T10:00:00Z", "2026-03-22T10:00:00Z"},
		"a schedule without any hour": {coupon.Schedule{Zone: berlin}, "2026-03-22T10:00:00Z", ""},
	} {
		at := instant(t, test.at)
		next, found := test.schedule.Next(at)
		if found != (test.next != "") || found && !next.Equal(instant(t, test.next)) {
			t.Errorf("%s: next is %v, %t, want %q", name, next, found, test.next)
		}
		if got := test.schedule.Contains(at); got != (test.at == test.next) {
			t.Errorf("%s: contains is %t", name, got)
		}
	}
}

// The next instant is within the schedule, and no minute before it is.
func TestTheNextInstantOfASchedule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s, at := coupontest.Schedule().Draw(t, "schedule"), coupontest.Instant().Draw(t, "at")
		next, found := s.Next(at)
		if !found || next.Before(at) || !s.Contains(next) {
			t.Fatalf("next is %v, %t", next, found)
		}
		for before := next.Add(-time.Nanosecond); !before.Before(at); before = before.Add(-time.Minute) {
			if s.Contains(before) {
				t.Fatalf("%v is within the schedule, and before %v", before, next)
			}
		}
	})
}

// Windows leave no gap and do not overlap. A window begins at the first instant of its first day.
func TestWindows(t *testing.T) {
	t.Parallel()
	berlin := zone("Europe/Berlin")
	for _, test := range []struct {
		period           coupon.Period
		zone             coupon.Zone
		at               string
		first, from, end string
	}{
		{coupon.Day, berlin, "2026-11-20T22:59:59.999999Z", "2026-11-20", "2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z"},
		{coupon.Day, berlin, "2026-11-20T23:00:00Z", "2026-11-21", "2026-11-20T23:00:00Z", "2026-11-21T23:00:00Z"},
		{coupon.Day, berlin, "2026-10-25T12:00:00Z", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{coupon.Week, berlin, "2026-11-22T22:59:59Z", "2026-11-16", "2026-11-15T23:00:00Z", "2026-11-22T23:00:00Z"},
		{coupon.Week, zone("UTC"), "2027-01-01T00:00:00Z", "2026-12-28", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{coupon.Month, berlin, "2026-10-31T23:30:00Z", "2026-11-01", "2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"},
		{coupon.Month, coupon.Zone{}, "2028-02-29T12:00:00Z", "2028-02-01", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
	} {
		want := coupon.Window{First: test.first, Start: instant(t, test.from), End: instant(t, test.end)}
		if diff := cmp.Diff(want, test.period.Window(instant(t, test.at), test.zone)); diff != "" {
			t.Errorf("%s in %s at %s (-want +got):\n%s", test.period, test.zone, test.at, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.SampledFrom([]coupon.Period{coupon.Day, coupon.Week, coupon.Month}).Draw(t, "period")
		z, at := coupontest.Zone().Draw(t, "zone"), coupontest.Instant().Draw(t, "at")
		w := period.Window(at, z)
		if at.Before(w.Start) || !at.Before(w.End) {
			t.Errorf("%v is not within %v", at, w)
		}
		if next := period.Window(w.End, z); !next.Start.Equal(w.End) || next.First <= w.First {
			t.Errorf("after %v comes %v", w, next)
		}
		if last := period.Window(w.End.Add(-1), z); last != w {
			t.Errorf("the last instant of %v is in %v", w, last)
		}
	})
}

// Unknown names and malformed values are named by their path.
func TestTermsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const start = `{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",`
	for text, want := range map[string]map[string]validation.Code{
		`"schedule":{"timeZone":"Europe/Atlantis","hours":[]}`:                                                 {"schedule.timeZone": "unknown"},
		`"schedule":{"timeZone":"Local","hours":[{"day":"MONTAG","from":"9:00","until":"25:00"}]}`:             {"schedule.timeZone": "unknown", "schedule.hours[0].day": "unknown", "schedule.hours[0].from": "malformed", "schedule.hours[0].until": "malformed"},
		`"schedule":{"timeZone":"UTC","hours":[{"from":"09:60"},{"day":"MONDAY","from":"10:00"}]}`:             {"schedule.hours[0].from": "malformed", "schedule.hours[1].until": "required"},
		`"schedule":{"timeZone":"../../etc/passwd","hours":[{"day":"MONDAY","from":"00:00","until":"24:00"}]}`: {"schedule.timeZone": "unknown"},
		`"schedule":{}`:                                {"schedule.timeZone": "required", "schedule.hours": "required"},
		`"customerTags":{"some":["a"]}`:                {"customerTags.some": "unknown"},
		`"customerTags":{"all":["a",5]}`:               {"customerTags.all[1]": "malformed"},
		`"budget":{"EUR":"1.005","EUX":"1","USD":"x"}`: {"budget.EUR": "too_many_decimals", "budget.EUX": "unknown", "budget.USD": "malformed"},
		`"budget":{"EUR":"1","EUR":"2"}`:               {"budget.EUR": "malformed"},
		`"budget":{}`:                                  {"budget": "required"},
		`"budget":5.001`:                               {"budget": "too_many_decimals"},
		`"budget":true`:                                {"budget": "malformed"},
		`"periodLimits":[{"per":"HOUSE","period":"YEAR","timeZone":"Mars","maxUses":"many"}]`: {"periodLimits[0].per": "unknown", "periodLimits[0].period": "unknown", "periodLimits[0].timeZone": "unknown", "periodLimits[0].maxUses": "malformed"},
		`"minQuantity":1.5,"firstOrder":"yes"`:                                                {"minQuantity": "malformed", "firstOrder": "malformed"},
	} {
		_, err := newFromJSON(start + text + "}")
		if diff := cmp.Diff(want, fieldCodes(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// The JSON of further terms, which a coupon without them does not have.
func TestConditionsAndLimitsInJSON(t *testing.T) {
	t.Parallel()
	const terms = `"minQuantity":3,"customerTags":{"any":["gold"],"none":["staff"]},"firstOrder":true,` +
		`"schedule":{"timeZone":"Europe/Berlin","hours":[{"day":"SATURDAY","from":"22:00","until":"24:00"}]},` +
		`"budget":{"EUR":"1000.00","JPY":"150000"},` +
		`"periodLimits":[{"per":"CUSTOMER","period":"WEEK","timeZone":"Europe/Berlin","maxUses":1}]`
	var d coupon.Draft
	require.NoError(t, json.Unmarshal([]byte(`{"code":"TEN","name":"Ten","discountType":"PERCENTAGE","discountValue":"10",`+terms+`}`), &d))
	c := mustNew(t, d)
	for name, v := range map[string]any{"draft": d, "coupon": c} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Contains(t, string(data), terms, name)
	}
	var p coupon.Patch
	require.NoError(t, json.Unmarshal([]byte(`{"minQuantity":null,"customerTags":null,"firstOrder":null,"schedule":null,"budget":null,"periodLimits":null}`), &p))
	cleared, err := c.Apply(p, coupon.Edit{At: noon})
	require.NoError(t, err)
	if diff := cmp.Diff(mustNew(t, ten()).Conditions, cleared.Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.True(t, cleared.Limits.Equal(coupon.Limits{MaxUsesPerUser: 1}))
}
