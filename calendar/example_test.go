package calendar_test

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
)

// A happy hour in Berlin, whatever the offset of the day is.
func ExampleSchedule_Next() {
	berlin, err := calendar.ParseZone("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	happy := calendar.Schedule{Zone: berlin, Hours: []calendar.Hours{{Day: time.Friday, From: 17 * 60, Until: 19 * 60}}}
	at := time.Date(2026, 10, 23, 17, 0, 0, 0, time.UTC) // seven in the evening in Berlin
	next, _ := happy.Next(at)
	fmt.Println(happy.Contains(at), next.Format(time.RFC3339))
	// Output:
	// false 2026-10-30T16:00:00Z
}

// Weeks are ISO weeks, from Monday to Sunday.
func ExamplePeriod_Window() {
	berlin, err := calendar.ParseZone("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	w := calendar.Week.Window(time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC), berlin)
	fmt.Println(w.First, w.End.Format(time.RFC3339))
	// Output:
	// 2026-11-23 2026-11-29T23:00:00Z
}
