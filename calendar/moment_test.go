package calendar_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"
	_ "time/tzdata" // the calendar's cases must not depend on the machine

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/validation"
)

func TestMomentsThatAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-12-31":                        "2026-12-31T00:00:00Z",
		"2028-02-29":                        "2028-02-29T00:00:00Z",
		"0001-01-01":                        "0000-12-31T23:59:59.999999Z", // the zero time would be no bound
		"9999-12-31":                        "9999-12-31T00:00:00Z",
		"2026-11-20T12:00:00Z":              "2026-11-20T12:00:00Z",
		"2026-11-20t12:00:00.5z":            "2026-11-20T12:00:00.5Z",
		"2026-11-20t12:00:00+14:00":         "2026-11-19T22:00:00Z",
		"2026-11-20T12:00:00.000001Z":       "2026-11-20T12:00:00.000001Z",
		"2026-11-20T12:00:00+14:00":         "2026-11-19T22:00:00Z",
		"2026-11-20T00:00:00-12:00":         "2026-11-20T12:00:00Z",
		"0001-01-01T00:00:00.000001Z":       "0001-01-01T00:00:00.000001Z",
		"9999-12-31T23:59:59.999999999Z":    "9999-12-31T23:59:59.999999Z",
		"9999-12-31T18:59:59.9-05:00":       "9999-12-31T23:59:59.9Z",
		"2026-11-20T12:00:00.123456789012Z": "2026-11-20T12:00:00.123456Z",
	} {
		got, err := calendar.Moment(text).Start(nil)
		if err != nil || got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q begins at %v, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]validation.Code{
		"tomorrow": "malformed", "2026-02-30": "malformed", "2027-02-29": "malformed", "2026-13-01": "malformed",
		"2026-1-1": "malformed", " 2026-12-31": "malformed", "31.12.2026": "malformed", "2026-12-31 12:00:00Z": "malformed",
		"2026-11-20T12:00:00": "malformed", "2026-11-20T9:00:00Z": "malformed", "2026-11-20T12:00:00,5Z": "malformed",
		"2026-11-20T24:00:00Z": "malformed", "2016-12-31T23:59:60Z": "malformed", "2026-11-20T12:00:00+24:00": "malformed",
		"2026-11-20T12:00:00+01:60": "malformed", "2026-11-20T12:00:00-23:60": "malformed",
		"2026-11-20T12:00Z": "malformed", "10000-01-01": "malformed", "-001-01-01": "malformed", "1e400": "malformed", "\xff": "malformed",
		"0000-12-31": "too_small", "0000-12-31T00:00:00Z": "too_small", "0001-01-01T00:00:00Z": "too_small",
		"0001-01-01T00:00:00.0000009Z": "too_small", "0001-01-01T00:00:00+00:01": "too_small",
		"9999-12-31T23:59:59-05:00": "too_large", "9999-12-31T23:59:00-00:01": "too_large", // is of the year 10000 in UTC
	} {
		_, err := calendar.Moment(text).End(nil)
		if got := code(t, err); got != want {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// Contract section 4.5: a bare date given as expiry means "through the end of
// that day" in the configured location, stored as the next local midnight.
func TestDatesByTheCalendarOfALocation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		about, location, date, start, end string
	}{
		{"no clock changes", "UTC", "2026-12-31", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"the last day of all", "UTC", "9999-12-31", "9999-12-31T00:00:00Z", "9999-12-31T23:59:59Z"},
		{"the last day of all in the west", "America/New_York", "9999-12-31", "9999-12-31T05:00:00Z", "9999-12-31T23:59:59Z"},
		{"the day before it in the east", "Asia/Tokyo", "9999-12-30", "9999-12-29T15:00:00Z", "9999-12-30T15:00:00Z"},
		{"the last day of all in the east", "Asia/Tokyo", "9999-12-31", "9999-12-30T15:00:00Z", "9999-12-31T15:00:00Z"},
		{"east", "Asia/Tokyo", "2026-12-31", "2026-12-30T15:00:00Z", "2026-12-31T15:00:00Z"},
		{"half an hour", "Asia/Kolkata", "2026-12-31", "2026-12-30T18:30:00Z", "2026-12-31T18:30:00Z"},
		{"far east", "Pacific/Kiritimati", "2026-12-31", "2026-12-30T10:00:00Z", "2026-12-31T10:00:00Z"},
		{"far west", "Pacific/Pago_Pago", "2026-12-31", "2026-12-31T11:00:00Z", "2027-01-01T11:00:00Z"},
		{"a day of 23 hours", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},
		{"a day of 25 hours", "Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"no midnight", "America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},
		{"no midnight after", "America/Sao_Paulo", "2018-11-03", "2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z"},
		{"no midnight", "Asia/Beirut", "2022-03-27", "2022-03-26T22:00:00Z", "2022-03-27T21:00:00Z"},
		{"set back at midnight", "America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},
		{"midnight twice", "America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"set back into the day before", "America/St_Johns", "2010-11-06", "2010-11-06T02:30:00Z", "2010-11-07T03:30:00Z"},
		{"a jump from before midnight", "America/Toronto", "1919-03-31", "1919-03-31T04:30:00Z", "1919-04-01T04:00:00Z"},
		{"a day that never was", "Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"the day before it", "Pacific/Apia", "2011-12-29", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"a day that was twice", "Pacific/Kwajalein", "1969-09-30", "1969-09-29T13:00:00Z", "1969-10-01T12:00:00Z"},
	}
	for _, test := range tests {
		t.Run(test.location+" "+test.date, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(test.location)
			require.NoError(t, err)
			m := calendar.Moment(test.date)
			start, end := starts(t, m, loc).Format(time.RFC3339), ends(t, m, loc).Format(time.RFC3339)
			if start != test.start || end != test.end {
				t.Errorf("%s: from %s to %s, want from %s to %s", test.about, start, end, test.start, test.end)
			}
		})
	}
}

// checkBoundary returns an error unless at is the instant from which on the
// calendar shows the date or a later one. It knows no zones: it looks at the
// calendar minute by minute.
func checkBoundary(at time.Time, date string, loc *time.Location) error {
	for minute := -50 * 60; minute <= 50*60; minute++ {
		when := at.Add(time.Duration(minute) * time.Minute)
		shown := when.In(loc).Format(time.DateOnly)
		if minute == -1 && shown >= date {
			return fmt.Errorf("%v in %v is before %v but shows %s", when, loc, at, shown)
		}
		if minute >= 0 && shown < date {
			return fmt.Errorf("%v in %v is not before %v but shows %s", when, loc, at, shown)
		}
	}
	return nil
}

func TestDatesInEveryKindOfLocation(t *testing.T) {
	t.Parallel()
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Beirut", "America/Havana", "America/St_Johns",
		"Africa/Cairo", "Asia/Amman", "Atlantic/Azores", "Australia/Lord_Howe", "Pacific/Apia", "Pacific/Chatham",
		"America/Asuncion", "Asia/Gaza", "Asia/Tehran", "America/Scoresbysund", "Africa/Casablanca", "Antarctica/Troll",
	}
	rapid.Check(t, func(t *rapid.T) {
		loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		day := time.Unix(0, 0).UTC().AddDate(0, 0, rapid.IntRange(0, 25_000).Draw(t, "day"))
		m := calendar.On(day.Date())
		if err := checkBoundary(starts(t, m, loc), day.Format(time.DateOnly), loc); err != nil {
			t.Error(err)
		}
		if err := checkBoundary(ends(t, m, loc), day.AddDate(0, 0, 1).Format(time.DateOnly), loc); err != nil {
			t.Error(err)
		}
	})
}

// TestDatesAroundALeapYearsEnd: where a location is told by rules and not by a list of its
// changes, as Go's own data tell all of them from 2007 or so on, the time package is wrong
// about the last day of a leap year.
func TestDatesAroundALeapYearsEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, rules := range []string{
		"CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "GMT0BST,M3.5.0/1,M10.5.0", "<-04>4<-03>,M9.1.6/24,M4.1.6/24",
		"NZST-12NZDT,M9.5.0,M4.1.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "JST-9",
	} {
		loc, err := time.LoadLocationFromTZData("test", zoneByRules(rules))
		require.NoError(t, err)
		for year := 2028; year <= 2048; year += 4 {
			for day := time.Date(year, 12, 24, 0, 0, 0, 0, time.UTC); day.Before(time.Date(year+1, 1, 5, 0, 0, 0, 0, time.UTC)); day = day.AddDate(0, 0, 1) {
				m := calendar.On(day.Date())
				found := make(chan time.Time, 1)
				go func() {
					end, _ := m.End(loc)
					found <- end
				}()
				select {
				case end := <-found:
					require.NoError(t, checkBoundary(end, day.AddDate(0, 0, 1).Format(time.DateOnly), loc), rules)
					require.NoError(t, checkBoundary(starts(t, m, loc), day.Format(time.DateOnly), loc), rules)
				case <-ctx.Done():
					t.Fatalf("%s: the end of %s is still being looked for", rules, day.Format(time.DateOnly))
				}
			}
		}
	}
}

// zoneByRules is a file of the time zone database (RFC 8536) that has one change of clocks,
// in 1970, and rules for all that comes after.
func zoneByRules(rules string) []byte {
	header := func(changes, kinds, letters uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, changes, kinds, letters} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	b := append(header(0, 1, 1), make([]byte, 6+1)...) // one kind without a name, for readers of version 1
	b = append(b, header(1, 1, 4)...)
	b = append(b, make([]byte, 8+1)...)         // at 0 to the first kind
	b = append(b, make([]byte, 6)...)           // which is UTC
	return append(b, "UTC\x00\n"+rules+"\n"...) // its name, and the rules
}

func TestTheBoundaryCheckerNotices(t *testing.T) {
	t.Parallel()
	loc, err := time.LoadLocation("America/Sao_Paulo")
	require.NoError(t, err)
	right := time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC)
	require.NoError(t, checkBoundary(right, "2018-11-04", loc))
	for _, wrong := range []time.Duration{-time.Hour, -time.Minute, time.Minute, time.Hour, 24 * time.Hour} {
		if checkBoundary(right.Add(wrong), "2018-11-04", loc) == nil {
			t.Errorf("%v off passes", wrong)
		}
	}
}

func TestMomentsAsInstants(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.FixedZone("", 3600))
	m := calendar.At(at)
	want := time.Date(2026, 11, 20, 11, 0, 0, 123456000, time.UTC)
	for _, got := range []time.Time{starts(t, m, nil), ends(t, m, time.FixedZone("", 7200))} {
		if !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("got %v, want %v: in UTC, to the microsecond, whatever the location", got, want)
		}
	}
	var none calendar.Moment
	if !starts(t, none, nil).IsZero() || !ends(t, none, nil).IsZero() || calendar.At(time.Time{}) != none {
		t.Error("the zero value is no moment")
	}
	if calendar.On(2026, 2, 31) != "2026-03-03" {
		t.Error("a date is not normalised")
	}
	if m != calendar.At(at.UTC()) {
		t.Error("one instant in two zones is two moments")
	}
	if got := ends(t, calendar.On(2026, 12, 31), nil); !got.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("without a location a date is of UTC, not %v", got)
	}
}

func starts(t require.TestingT, m calendar.Moment, loc *time.Location) time.Time {
	at, err := m.Start(loc)
	require.NoError(t, err)
	return at
}

func ends(t require.TestingT, m calendar.Moment, loc *time.Location) time.Time {
	at, err := m.End(loc)
	require.NoError(t, err)
	return at
}

func FuzzMoment(f *testing.F) {
	for _, seed := range []string{
		"2026-12-31", "2026-11-20T12:00:00Z", "2026-11-20T12:00:00.5+14:00", "0001-01-01T00:00:00Z", "9999-12-31", "0000-01-01", "x",
		"9999-12-31T23:59:59-23:59",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m := calendar.Moment(text)
		start, err := m.Start(nil)
		if err != nil || m == "" {
			require.True(t, m == "" || errors.Is(err, validation.ErrInvalid), err)
			return
		}
		end := ends(t, m, nil)
		if start.IsZero() || end.IsZero() || start.After(end) || end.Year() > 9999 {
			t.Errorf("%q is from %v until %v", text, start, end)
		}
		if again, err := calendar.At(start).Start(nil); start.Year() > 0 && (err != nil || again != start) {
			t.Errorf("%q is %v, and again %v, %v", text, start, again, err)
		}
	})
}

// code returns the code of the only fault.
func code(tb testing.TB, err error) validation.Code {
	tb.Helper()
	var faults *validation.Error
	require.ErrorAs(tb, err, &faults)
	require.Len(tb, faults.Fields, 1)
	require.Empty(tb, faults.Fields[0].Path)
	return faults.Fields[0].Code
}

// TestTextOfAMoment: a text is kept as it stands, and checked when it is resolved. No text at all is refused.
func TestTextOfAMoment(t *testing.T) {
	t.Parallel()
	var m calendar.Moment
	require.NoError(t, m.UnmarshalText([]byte("tomorrow")))
	require.Equal(t, calendar.Moment("tomorrow"), m)
	require.ErrorIs(t, m.UnmarshalText(nil), validation.ErrInvalid)
	for text, date := range map[calendar.Moment]bool{"2026-12-31": true, "2026-12-31T00:00:00Z": false, "": false, "tomorrow": false} {
		require.Equal(t, date, text.IsDate(), text)
	}
}

// TestYearsOfInstants: RFC 3339 writes the years 1 to 9999, in UTC.
func TestYearsOfInstants(t *testing.T) {
	t.Parallel()
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for at, want := range map[time.Time]validation.Code{
		{}: "", last: "", last.Add(time.Second): validation.TooLarge, (time.Time{}).Add(-time.Second): validation.TooSmall,
	} {
		err := calendar.CheckInstant(at)
		var fault *validation.Error
		if want == "" {
			require.NoError(t, err, at)
			continue
		}
		require.ErrorAs(t, err, &fault)
		require.Equal(t, want, fault.Fields[0].Code, at)
	}
}
