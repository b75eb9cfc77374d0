package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

func recorded(tb testing.TB, text string) record.Results {
	tb.Helper()
	results, err := record.Read(fstest.MapFS{"a.txt": {Data: []byte(text)}}, "a.txt")
	require.NoError(tb, err)
	return results
}

func TestGoalsAreMetOrMissed(t *testing.T) {
	t.Parallel()
	results := recorded(t, "BenchmarkA/way=ours 1 100 ns/op 0 allocs/op\nBenchmarkA/way=theirs 1 1200 ns/op 3 allocs/op\n")
	ours := record.Cell{Name: "A", Unit: "ns/op"}.With("way", "ours")
	theirs := ours.With("way", "theirs")
	allocations := ours
	allocations.Unit = "allocs/op"
	var out bytes.Buffer
	missed, err := judge(results, []goal{
		{about: "at the bound", of: theirs, to: &ours, bound: atLeast(12)},
		{about: "above it", of: theirs, to: &ours, bound: atLeast(12.1)},
		{about: "times three", of: ours, to: &theirs, factor: 3, bound: atMost(0.25)},
		{about: "too much", of: ours, bound: atMost(99)},
		{about: "nothing", of: allocations, bound: atMost(0)},
	}, &out)
	require.NoError(t, err)
	require.Equal(t, 2, missed)
	var verdicts []string
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		verdicts = append(verdicts, fields[len(fields)-1])
	}
	require.Equal(t, []string{"met", "MISSED", "met", "MISSED", "met"}, verdicts)
}

func TestAGoalWithoutAFigureIsAnError(t *testing.T) {
	t.Parallel()
	ours := record.Cell{Name: "A", Unit: "ns/op"}.With("way", "ours")
	_, err := judge(recorded(t, "BenchmarkA/way=theirs 1 1200 ns/op\n"), []goal{{of: ours, bound: atMost(1)}}, &bytes.Buffer{})
	require.ErrorIs(t, err, record.ErrNotRecorded)
}

// Every goal finds its figures in what is committed.
func TestTheGoalsAreRecorded(t *testing.T) {
	t.Parallel()
	for _, s := range suites() {
		results, err := record.ReadDir("../results", s.file())
		require.NoError(t, err)
		_, err = judge(results, s.goals, &bytes.Buffer{})
		require.NoError(t, err)
	}
}

func TestOnlyBenchmarkLinesAreKept(t *testing.T) {
	t.Parallel()
	const output = "goos: linux\nBenchmarkA 1 2 ns/op\nPASS\nok  \tpkg\t1s\n"
	require.Equal(t, "BenchmarkA 1 2 ns/op\n", string(benchmarkLines([]byte(output))))
}
