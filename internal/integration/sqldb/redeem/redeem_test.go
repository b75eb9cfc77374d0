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
		duration: 200 * time.Millisecond, seeded: 50,
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
