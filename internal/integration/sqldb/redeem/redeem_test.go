package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
)

// TestMain requires that clients and batches end with what was measured.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func small() plan {
	return plan{
		what: []string{place, use}, drivers: []string{"modernc", sqlitedriver.SecondName}, synchronous: []string{"normal"},
		rounds: 2, duration: 100 * time.Millisecond, seeded: 50,
	}
}

// TestEveryWayKeepsItsBooks: whatever is compared has stored and counted all that it
// has acknowledged; a cell is an error otherwise.
func TestEveryWayKeepsItsBooks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, small().execute(t.Context(), "2", dir, &out))
	for _, w := range ways() {
		require.Equal(t, 4, bytes.Count(out.Bytes(), []byte(w.name+"  ")), "%s in four tables:\n%s", w.name, &out)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files, "left behind")
}

// TestALostUseIsNoticed: fewer rows than were acknowledged are no measurement.
func TestALostUseIsNoticed(t *testing.T) {
	t.Parallel()
	p := small()
	p.dir = t.TempDir()
	file, err := p.template(t.Context(), "modernc")
	require.NoError(t, err)
	db, err := open(t.Context(), "modernc", file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, what := range p.what {
		require.NoError(t, p.verify(t.Context(), db, what, 0))
		require.Error(t, p.verify(t.Context(), db, what, 1))
	}
	_, err = db.ExecContext(t.Context(), "UPDATE coupon_counts SET reserved = reserved + 1")
	require.NoError(t, err)
	require.Error(t, p.verify(t.Context(), db, use, 0), "a place that no row keeps")
}

// TestAnInterruptedRunLeavesNothing: whoever stops the program in the middle of a cell
// finds neither its files nor, as TestMain requires, a goroutine.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	p := small()
	p.duration = time.Hour
	dir := t.TempDir()
	ctx, interrupt := context.WithTimeout(t.Context(), time.Second)
	defer interrupt()
	require.Error(t, p.execute(ctx, "4", dir, io.Discard))
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

// TestWhatTheCommandLineAsks: what is not there is told.
func TestWhatTheCommandLineAsks(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*plan){
		"something else to do": func(p *plan) { p.what = []string{"steal"} },
		"another driver":       func(p *plan) { p.drivers = []string{"another"} },
		"another setting":      func(p *plan) { p.synchronous = []string{"off"} },
	} {
		p := small()
		change(&p)
		require.Error(t, p.execute(t.Context(), "1", t.TempDir(), io.Discard), name)
	}
	require.Error(t, small().execute(t.Context(), "0", t.TempDir(), io.Discard), "nobody")
}

// TestRatiosAreThoseOfTheRounds: a disturbed round does not decide, and what it has
// slowed down is compared with its neighbours.
func TestRatiosAreThoseOfTheRounds(t *testing.T) {
	t.Parallel()
	in := setting{use, "modernc", "full"}
	ours, other := cellName{in, goalClients, "batched"}, cellName{in, goalClients, "ceiling"}
	measured := results{
		ours:  {{perSecond: 80, p50: 3, p99: 30}, {perSecond: 8, p50: 20, p99: 20}, {perSecond: 70, p50: 1, p99: 10}},
		other: {{perSecond: 100}, {perSecond: 10}, {perSecond: 100}},
	}
	require.Equal(t, cell{perSecond: 70, p50: 3, p99: 20}, measured.median(ours))
	require.InDelta(t, 0.8, measured.ratio(ours, other), 1e-9)
	measured[ours], measured[other] = measured[ours][:2], measured[other][:2]
	require.InDelta(t, 44, measured.median(ours).perSecond, 1e-9)

	var met goals
	met.note(measured)
	var out bytes.Buffer
	require.NoError(t, met.print(&out))
	require.Equal(t, 1, bytes.Count(out.Bytes(), []byte("batched / ")), &out)
	require.Regexp(t, `batched / ceiling +at least 0.75 +0.80 +met`, out.String())
	measured[ours][0].perSecond = 60
	require.NoError(t, met.print(&out))
	require.Regexp(t, `batched / ceiling +at least 0.75 +0.70 +MISSED`, out.String())
}
