package patience

import (
	"testing"
	"time"
)

// TestAStopCountsLittle: an hour in which the program was stopped is worth two ticks.
func TestAStopCountsLittle(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	run := stopwatch{last: begun}
	for _, step := range []struct {
		at    time.Duration
		total time.Duration
	}{
		{tick, tick},
		{2 * tick, 2 * tick},
		{2*tick + tick/2, 2*tick + tick/2},
		{time.Hour, 2*tick + tick/2 + most},
		{time.Hour + tick, 2*tick + tick/2 + most + tick},
		{time.Hour, 2*tick + tick/2 + most + tick}, // a clock that was put back
	} {
		if run.see(begun.Add(step.at)); run.total != step.total {
			t.Errorf("after %s: %s counted, want %s", step.at, run.total, step.total)
		}
	}
}
