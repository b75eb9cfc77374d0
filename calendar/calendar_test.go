package calendar_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon/coupontest"
	"github.com/couponkit/couponkit/validation"
)

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(tb, err)
	return at
}

func zone(tb testing.TB, name string) calendar.Zone {
	tb.Helper()
	z, err := calendar.ParseZone(name)
	require.NoError(tb, err)
	return z
}

// A schedule goes by the local clock, from the first minute, inclusive, to the last, exclusive.
// On October 25, 2026, Berlin repeats the hour from 2 to 3. On March 29 it skips that hour.
func TestASchedule(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	of := func(day time.Weekday, from, until int) calendar.Schedule {
		return calendar.Schedule{Zone: berlin, Hours: []calendar.Hours{{Day: day, From: from, Until: until}}}
	}
	for name, test := range map[string]struct {
		schedule calendar.Schedule
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
		"no schedule":                 {calendar.Schedule{}, "2026-03-22T10:00:00Z", "2026-03-22T10:00:00Z"},
		"a schedule without any hour": {calendar.Schedule{Zone: berlin}, "2026-03-22T10:00:00Z", ""},
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
	berlin := zone(t, "Europe/Berlin")
	for _, test := range []struct {
		period           calendar.Period
		zone             calendar.Zone
		at               string
		first, from, end string
	}{
		{calendar.Day, berlin, "2026-11-20T22:59:59.999999Z", "2026-11-20", "2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z"},
		{calendar.Day, berlin, "2026-11-20T23:00:00Z", "2026-11-21", "2026-11-20T23:00:00Z", "2026-11-21T23:00:00Z"},
		{calendar.Day, berlin, "2026-10-25T12:00:00Z", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{calendar.Week, berlin, "2026-11-22T22:59:59Z", "2026-11-16", "2026-11-15T23:00:00Z", "2026-11-22T23:00:00Z"},
		{calendar.Week, zone(t, "UTC"), "2027-01-01T00:00:00Z", "2026-12-28", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{calendar.Month, berlin, "2026-10-31T23:30:00Z", "2026-11-01", "2026-10-31T23:00:00Z", "2026-11-30T23:00:00Z"},
		{calendar.Month, calendar.Zone{}, "2028-02-29T12:00:00Z", "2028-02-01", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"},
	} {
		want := calendar.Window{First: test.first, Start: instant(t, test.from), End: instant(t, test.end)}
		if diff := cmp.Diff(want, test.period.Window(instant(t, test.at), test.zone)); diff != "" {
			t.Errorf("%s in %s at %s (-want +got):\n%s", test.period, test.zone, test.at, diff)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		period := rapid.SampledFrom([]calendar.Period{calendar.Day, calendar.Week, calendar.Month}).Draw(t, "period")
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

// Validate names every broken rule by its path.
func TestTheRulesOfASchedule(t *testing.T) {
	t.Parallel()
	utc, day := zone(t, "UTC"), calendar.Hours{Day: time.Monday, From: 9 * 60, Until: 17 * 60}
	for _, test := range []struct {
		schedule calendar.Schedule
		want     string
	}{
		{calendar.Schedule{}, ""},
		{calendar.Schedule{Zone: utc, Hours: []calendar.Hours{day, {Day: time.Monday, From: 17 * 60, Until: 1440}, {Day: time.Tuesday, From: 9 * 60, Until: 17 * 60}}}, ""},
		{calendar.Schedule{Hours: []calendar.Hours{day}}, "timeZone required"},
		{calendar.Schedule{Zone: utc}, "hours required"},
		{calendar.Schedule{Zone: utc, Hours: make([]calendar.Hours, calendar.MaxHours+1)}, "hours too_long"},
		{calendar.Schedule{Zone: utc, Hours: []calendar.Hours{{Day: 7, From: -1, Until: 1441}}}, "hours[0].day unknown hours[0].from too_large hours[0].until too_large"},
		{calendar.Schedule{Zone: utc, Hours: []calendar.Hours{{Day: -1, From: 1440, Until: -1}}}, "hours[0].day unknown hours[0].from too_large hours[0].until too_large"},
		{calendar.Schedule{Zone: utc, Hours: []calendar.Hours{day, {Day: time.Tuesday, From: 60, Until: 60}}}, "hours[1].until mismatch"},
		{calendar.Schedule{Zone: utc, Hours: []calendar.Hours{day, {Day: time.Monday, From: 17*60 - 1, Until: 18 * 60}}}, "hours[1] mismatch"},
	} {
		var got []string
		if err := test.schedule.Validate(); err != nil {
			var faults *validation.Error
			require.ErrorAs(t, err, &faults)
			for _, f := range faults.Fields {
				got = append(got, f.Path, string(f.Code))
			}
		}
		require.Equal(t, test.want, strings.Join(got, " "))
	}
}

// A schedule in JSON has names of days and times of the clock, and reads back.
func TestSchedulesInJSON(t *testing.T) {
	t.Parallel()
	const text = `{"timeZone":"Europe/Berlin","hours":[{"day":"SUNDAY","from":"00:00","until":"09:30"},{"day":"MONDAY","from":"17:00","until":"24:00"}]}`
	var s calendar.Schedule
	require.NoError(t, s.UnmarshalJSON([]byte(text)))
	require.True(t, s.Equal(calendar.Schedule{Zone: zone(t, "Europe/Berlin"), Hours: []calendar.Hours{
		{Day: time.Sunday, Until: 570}, {Day: time.Monday, From: 1020, Until: 1440},
	}}))
	written, err := s.MarshalJSON()
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(text, string(written)))
	for text, want := range map[string]string{
		`{}`: "timeZone: a time zone is required; hours: a schedule needs at least one entry",
		`{"timeZone":"Mars","hours":[{"day":"MON","from":"9:00","until":"24:01"},{}]}`: "timeZone: must be an IANA",
		`{"timeZone":"UTC","hours":[{"from":"09:00"}]}`:                                "hours[0].day: is required; hours[0].until: is required",
	} {
		require.ErrorContains(t, s.UnmarshalJSON([]byte(text)), want, text)
	}
	require.NoError(t, s.UnmarshalJSON([]byte("null")))
	require.True(t, s.IsZero())
	written, err = s.MarshalJSON()
	require.NoError(t, err)
	require.Equal(t, "null", string(written))
}

// A stored time zone that the system does not know keeps its name.
func TestStoredZones(t *testing.T) {
	t.Parallel()
	unknown, err := calendar.StoredZone("Europe/Atlantis")
	require.NoError(t, err)
	require.Equal(t, "Europe/Atlantis", unknown.String())
	for _, name := range []string{"", strings.Repeat("x", calendar.MaxZoneLength+1)} {
		_, err := calendar.StoredZone(name)
		require.Equal(t, validation.Unknown, code(t, err))
	}
	for _, bad := range []string{"Local", "right/UTC", "posixrules", "../etc/passwd"} {
		_, err := calendar.ParseZone(bad)
		require.Equal(t, validation.Unknown, code(t, err), bad)
	}
}

// TestPeriodsAsText: a period has a JSON name, and no other text is one.
func TestPeriodsAsText(t *testing.T) {
	t.Parallel()
	for period, name := range map[calendar.Period]string{calendar.Day: "DAY", calendar.Week: "WEEK", calendar.Month: "MONTH"} {
		text, err := period.MarshalText()
		require.NoError(t, err)
		require.Equal(t, []string{name, name}, []string{period.String(), string(text)})
		var read calendar.Period
		require.NoError(t, read.UnmarshalText(text))
		require.Equal(t, period, read)
	}
	var read calendar.Period
	require.ErrorIs(t, read.UnmarshalText([]byte("YEAR")), validation.ErrInvalid)
	require.Equal(t, "calendar.Zone(Europe/Berlin)", zone(t, "Europe/Berlin").GoString())
	require.Empty(t, calendar.Zone{}.String())
}

// TestWhenAScheduleOpens: from an instant, inclusive, until another one, exclusive.
func TestWhenAScheduleOpens(t *testing.T) {
	t.Parallel()
	s := calendar.Schedule{Zone: zone(t, "Europe/Berlin"), Hours: []calendar.Hours{{Day: time.Monday, From: 60, Until: 120}}}
	monday := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC) // 01:00 in Berlin
	for _, test := range []struct {
		from, until time.Time
		opens       bool
	}{
		{monday.Add(-24 * time.Hour), monday, false},
		{monday.Add(-24 * time.Hour), monday.Add(1), true},
		{monday, monday.Add(1), true},
		{monday.Add(59 * time.Minute), monday.Add(time.Hour), true},
		{monday.Add(time.Hour), monday.Add(7 * 24 * time.Hour), false},
		{monday, monday, false},
	} {
		require.Equal(t, test.opens, s.Opens(test.from, test.until), test)
	}
	require.True(t, calendar.Schedule{}.Opens(monday, monday.Add(1)), "the zero schedule allows every instant")
}
