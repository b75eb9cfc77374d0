// Package calendar answers questions about local time: which instants a weekly [Schedule] allows, which instants a
// day, a week or a month in a [Zone] has, and at which instant a date begins.
//
// Clocks that are set forward skip local times, and clocks that are set back repeat them. Every function of the
// package counts with both. Values of all types may be copied, and read by several goroutines.
package calendar

import "time"

// firstInstant returns the instant after which the calendar in the location always shows the date or a later
// date: midnight, the instant at which clocks jump over midnight, or the second midnight. The date is its midnight
// in UTC.
func firstInstant(date time.Time, loc *time.Location) time.Time {
	// No clock differs from UTC by more than this, and no clock change is longer.
	const reach = 48 * time.Hour
	var first time.Time
	for at := date.Add(-reach); ; {
		_, offset := at.In(loc).Zone()
		start, _ := at.In(loc).ZoneBounds()
		end := offsetEnd(at, loc)
		// In the offset of [start, end), this instant still has an earlier date.
		midnight := date.Add(-time.Duration(offset) * time.Second)
		if !end.IsZero() && end.Before(midnight) {
			midnight = end
		}
		if start.IsZero() || start.Before(midnight) {
			first = midnight
		}
		if end.IsZero() || end.After(date.Add(reach)) {
			return first
		}
		at = end
	}
}

// offsetEnd returns the instant at which the offset of the time zone changes, or the zero time if it
// never changes.
func offsetEnd(at time.Time, loc *time.Location) time.Time {
	_, end := at.In(loc).ZoneBounds()
	if !end.IsZero() && !end.After(at) {
		// On the last day of a leap year the time package returns an end that has
		// passed (golang/go#81583). Look again an hour later.
		return at.Add(time.Hour)
	}
	return end
}
