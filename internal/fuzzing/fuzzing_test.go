package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var root = filepath.Join("..", "..")

// TestEveryTargetIsListed: a target that is not in the list would get no time.
func TestEveryTargetIsListed(t *testing.T) {
	t.Parallel()
	listed, err := readTargets(filepath.Join(root, targetsFile))
	require.NoError(t, err)
	var want, got []string
	for _, l := range listed {
		got = append(got, l.String())
		require.NotEmpty(t, l.reads)
	}
	declaration := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		for _, found := range declaration.FindAllSubmatch(source, -1) {
			want = append(want, filepath.ToSlash(folder)+" "+string(found[1]))
		}
		return err
	}))
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets.txt differs from the tree (-tree +list):\n%s", diff)
	}
}

// TestTheTableIsWhatTheLogSays: each target has the sums of its slices, and zeros before its
// first one.
func TestTheTableIsWhatTheLogSays(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(logFile)), 0o750))
	a, b := target{folder: "p", name: "FuzzA", reads: "anything"}, target{folder: "p", name: "FuzzB", reads: "more"}
	for range 2 {
		require.NoError(t, record(folder, a, time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC), counts{60, 1000, 2, 1}))
	}
	var got strings.Builder
	require.NoError(t, printTable(&got, folder, []target{a, b}))
	want := "time  executions  new inputs  findings  target   what it reads\n" +
		"2m0s  2000        4           2         p FuzzA  anything\n" +
		"0s    0           0           0         p FuzzB  more\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("the table (-want +got):\n%s", diff)
	}
}

func TestTheReportOfAFuzzer(t *testing.T) {
	t.Parallel()
	const quiet = "fuzz: elapsed: 0s, gathering baseline coverage: 5/5 completed, now fuzzing with 1 workers\n" +
		"fuzz: elapsed: 57s, execs: 35303 (3082/sec), new interesting: 1 (total: 6)\n" +
		"fuzz: elapsed: 1m0s, execs: 40488 (4830/sec), new interesting: 2 (total: 7)\nPASS\n"
	require.Equal(t, counts{seconds: 60, executions: 40_488, interesting: 2}, readReport(quiet))
	loud := strings.Replace(quiet, "PASS", "    Failing input written to testdata/fuzz/FuzzX/1\nFAIL", 1)
	require.Equal(t, counts{seconds: 60, executions: 40_488, interesting: 2, findings: 1}, readReport(loud))
	require.Equal(t, counts{findings: 1}, readReport("--- FAIL: FuzzX (0.00s)\nfailure while testing seed corpus entry: FuzzX/1\n"))
}

// TestTheNextTarget: the one with the least time, the riskier first, none with a
// finding and none that has had its time.
func TestTheNextTarget(t *testing.T) {
	t.Parallel()
	a, b := target{folder: "p", name: "FuzzA"}, target{folder: "p", name: "FuzzB"}
	both := []target{a, b}
	next := func(seconds [2]int64, out ...string) string {
		sitting := map[string]bool{}
		for _, name := range out {
			sitting["p "+name] = true
		}
		got, _ := choose(both, map[string]counts{a.String(): {seconds: seconds[0]}, b.String(): {seconds: seconds[1]}}, sitting, 100)
		return got.name
	}
	require.Equal(t, "FuzzA", next([2]int64{0, 0}))
	require.Equal(t, "FuzzB", next([2]int64{60, 0}))
	require.Equal(t, "FuzzA", next([2]int64{60, 60}))
	require.Equal(t, "FuzzB", next([2]int64{100, 60}))
	require.Equal(t, "FuzzA", next([2]int64{60, 0}, "FuzzB"))
	require.Empty(t, next([2]int64{100, 100}))
}

func TestTheLogAddsUp(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(logFile)), 0o750))
	a, b := target{folder: "p", name: "FuzzA"}, target{folder: "p", name: "FuzzB"}
	day := time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC)
	for _, slice := range []struct {
		t  target
		at time.Time
	}{{a, day}, {b, day}, {a, day}, {a, day.Add(2 * time.Hour)}} {
		require.NoError(t, record(folder, slice.t, slice.at, counts{60, 1000, 2, 1}))
	}
	entries, err := readLog(folder)
	require.NoError(t, err)
	require.Len(t, entries, 3, "one line a target and day")
	require.Equal(t, map[string]counts{"p FuzzA": {180, 3000, 6, 3}, "p FuzzB": {60, 1000, 2, 1}}, totals(entries))
	require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.FromSlash(logFile)), []byte("2026-11-21\tp\n"), 0o600))
	_, err = readLog(folder)
	require.Error(t, err)
}
