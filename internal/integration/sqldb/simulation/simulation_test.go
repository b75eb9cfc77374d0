package simulation_test

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/sqldb/simulation"
	lives "github.com/couponkit/couponkit/internal/simulation"
)

var (
	seeds = flag.Uint64("seeds", defaultSeeds, "how many lives are lived on SQLite")
	seed  = flag.Uint64("seed", 0, "the one life to live; 0 lives as many as -seeds tells")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func on(t *testing.T, f simulation.Faults) func() lives.Parts {
	t.Helper()
	folder := t.TempDir()
	return func() lives.Parts { return lives.Parts{Database: simulation.SQLite(folder, f)} }
}

// bubble lives a life on SQLite where the wall clock stands, and fails if anything
// has waited for it.
func bubble(t *testing.T, c lives.Config) (life lives.Life, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		life, err = lives.Run(c)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("seed %d: something has waited %v for the wall clock", c.Seed, waited)
		}
	})
	return life, err
}

// TestALifeIsTheSameOnSQLite: a seed leads to the same steps, the same answers and
// the same final state as in memory, and to nothing impossible.
func TestALifeIsTheSameOnSQLite(t *testing.T) {
	parts := on(t, simulation.Faults{})
	first, last := uint64(1), *seeds
	if *seed != 0 {
		first, last = *seed, *seed
	}
	all, steps := make(lives.Coverage), 0
	for s := first; s <= last; s++ {
		inMemory, err := lives.Run(lives.Config{Seed: s, Trace: true})
		if err != nil {
			t.Fatalf("in memory: %v", err)
		}
		inFile, err := bubble(t, lives.Config{Seed: s, Trace: true, Parts: parts})
		if err != nil {
			t.Fatalf("on SQLite: %v", err)
		}
		if !slices.Equal(inMemory.Trace, inFile.Trace) || !slices.Equal(inMemory.Final, inFile.Final) {
			t.Errorf("seed %d differs (-memory +SQLite):\n%s%s", s, firstDifference(inMemory.Trace, inFile.Trace), cmp.Diff(inMemory.Final, inFile.Final))
		}
		all.Add(inFile.Coverage)
		steps += len(inFile.Trace)
	}
	t.Logf("lives %d to %d are the same, %d lines of traces: %d uses reserved, %d paid, %d stops in the middle of a call, %d power failures",
		first, last, steps, all.Of("use", "none", "reserved"), all.Of("use", "reserved", "completed"),
		cuts(all), all.Of("step", "power fails", ""))
}

func cuts(all lives.Coverage) (n int) {
	for at, times := range all {
		if strings.Contains(at[2], "in the middle") {
			n += times
		}
	}
	return n
}

func firstDifference(a, b []string) string {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s\n", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d and %d lines\n", len(a), len(b))
}

// planted are broken databases. A simulation on SQLite that does not find them
// proves nothing about SQLite.
var planted = []struct {
	name   string
	by     lives.Invariant
	faults simulation.Faults
}{
	{"every statement is a transaction", lives.ErrorsChangeNothing, simulation.Faults{Rewrite: func(s string) string {
		switch {
		case s == "BEGIN", s == "BEGIN IMMEDIATE", s == "COMMIT", s == "ROLLBACK":
			return "SELECT 1"
		}
		return s
	}}},
	{"the log is lost with the power", lives.RecordsStay, simulation.Faults{ForgetLog: true}},
	{"counters are not read", lives.LimitsHold, replacing("SELECT counter, reserved, completed", "SELECT counter, 0, 0")},
	{"payments are not counted", lives.CountersEqualRecords, replacing("completed + excluded.completed", "completed + 0 * excluded.completed")},
	{"the successor of an order is not written", lives.HandOverIsWhole, replacing("replaced_by = ?", "replaced_by = substr(?, 1, 0)")},
	{"first entries are not read", lives.JournalIsWhole, replacing("WHERE position > ?", "WHERE version > 1 AND position > ?")},
}

func replacing(old, by string) simulation.Faults {
	return simulation.Faults{Rewrite: func(s string) string { return strings.Replace(s, old, by, 1) }}
}

// TestPlantedFaultsAreFoundOnSQLite looks for each broken database.
func TestPlantedFaultsAreFoundOnSQLite(t *testing.T) {
	var rows []string
	for _, p := range planted {
		parts := on(t, p.faults)
		found, others := (*lives.FaultError)(nil), make(map[lives.Invariant]int)
		for s := uint64(1); s <= max(*seeds, 60) && found == nil; s++ {
			_, err := bubble(t, lives.Config{Seed: s, Parts: parts, KeepTrace: true})
			var failure *lives.FaultError
			if !errors.As(err, &failure) {
				continue
			}
			if others[failure.Invariant]++; failure.Invariant == p.by {
				found = failure
			}
		}
		if found == nil {
			t.Errorf("%s: not found by %q; %v", p.name, p.by, others)
			continue
		}
		rows = append(rows, fmt.Sprintf("%-36s %-20s %4d  %s", p.name, found.Invariant, found.Seed, found.Fault))
	}
	t.Logf("%-36s %-20s %4s\n%s", "planted fault on SQLite", "found by", "seed", strings.Join(rows, "\n"))
}
