package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// TestMedian is the one in the middle, or between the two there.
func TestMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{4, 1}, 2.5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{1, 100, 3, 2}, 2.5},
		{[]float64{5, 5, 5, 0}, 5},
	} {
		given := slices.Clone(c.values)
		require.InDelta(t, c.want, median(c.values), 0)
		require.Equal(t, given, c.values, "they stay as they were")
	}
}

// TestMedianInTheMiddle: no more than half of the values are below it, and no more
// than half above.
func TestMedianInTheMiddle(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(0, 1e6), 1, 12).Draw(t, "values")
		m := median(values)
		below, above := 0, 0
		for _, v := range values {
			switch {
			case v < m:
				below++
			case v > m:
				above++
			}
		}
		if 2*below > len(values) || 2*above > len(values) {
			t.Fatalf("%v has %d of %d below and %d above", m, below, len(values), above)
		}
	})
}

// TestARatioIgnoresTheDisk: the disk may be differently fast in every round; what one
// way is of another stays. A disturbance of fewer than half of the rounds changes
// nothing either.
func TestARatioIgnoresTheDisk(t *testing.T) {
	t.Parallel()
	ours, theirs := planned("hot", "batched", 64), planned("hot", "textbook", 64)
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.Float64Range(0.1, 100).Draw(t, "times")
		speeds := rapid.SliceOfN(rapid.Float64Range(0.1, 10), 1, 9).Draw(t, "speeds")
		disturbed := rapid.IntRange(0, (len(speeds)-1)/2).Draw(t, "disturbed")
		r := make(results)
		for i, speed := range speeds {
			s := sample{perSecond: 100 * speed, p50: time.Millisecond, p99: time.Millisecond}
			r[theirs] = append(r[theirs], s)
			s.perSecond *= times
			if i < disturbed {
				s.perSecond /= rapid.Float64Range(1, 1000).Draw(t, "pause")
			}
			r[ours] = append(r[ours], s)
		}
		got, known := r.ratio(ours, theirs, perSecond)
		if !known || math.Abs(got/times-1) > 1e-9 {
			t.Fatalf("%v, and not %v", got, times)
		}
	})
}

// TestARatioIsOfTheSameRounds: the medians would say 1.
func TestARatioIsOfTheSameRounds(t *testing.T) {
	t.Parallel()
	ours, theirs := planned("hot", "batched", 64), planned("hot", "textbook", 64)
	r := results{
		ours:   {{perSecond: 20}, {perSecond: 200}, {perSecond: 60}},
		theirs: {{perSecond: 10}, {perSecond: 100}, {perSecond: 60}},
	}
	got, known := r.ratio(ours, theirs, perSecond)
	require.True(t, known)
	require.InDelta(t, 2, got, 0)
	_, known = r.ratio(ours, planned("hot", "ceiling", 64), perSecond)
	require.False(t, known)
	r[theirs] = r[theirs][:2]
	_, known = r.ratio(ours, theirs, perSecond)
	require.False(t, known, "they have not been in the same rounds")
}

// TestARoundWithoutAnAnswer lasts until the first one has come.
func TestARoundWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		observed
		want sample
	}{
		{
			"in time",
			observed{Times: []time.Duration{4 * ms, 2 * ms, 9 * ms}, Late: &late{Took: time.Hour, After: time.Hour}},
			sample{calls: 3, perSecond: 6, p50: 4 * ms, p99: 9 * ms},
		},
		{
			"late",
			observed{Late: &late{Took: 3 * time.Second, After: 2 * time.Second}},
			sample{calls: 1, perSecond: 0.5, p50: 3 * time.Second, p99: 3 * time.Second},
		},
	} {
		got, err := c.summarise(500 * ms)
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
	_, err := observed{Counted: 3}.summarise(500 * ms)
	require.ErrorIs(t, err, errNoneEnded)

	var all observed
	all.add(observed{Counted: 1, Late: &late{Took: 5, After: 7}})
	all.add(observed{Counted: 2, Times: []time.Duration{1}, Late: &late{Took: 6, After: 6}})
	all.add(observed{Times: []time.Duration{2}, Late: &late{Took: 1, After: 9}})
	require.Equal(t, observed{Counted: 3, Times: []time.Duration{1, 2}, Late: &late{Took: 6, After: 6}}, all)
}

// drawn are results of whole parts as they would be measured.
func drawn(t *rapid.T, parts []part) results {
	r := make(results)
	for _, p := range parts {
		rounds := rapid.IntRange(1, 5).Draw(t, "rounds of "+p.name)
		for _, clients := range p.clients {
			for _, row := range p.rows {
				for range rounds {
					r[p.cell(row, clients)] = append(r[p.cell(row, clients)], sample{
						calls:     rapid.IntRange(1, 1e6).Draw(t, "calls"),
						perSecond: float64(rapid.IntRange(1, 1e7).Draw(t, "hundredths")) / 100,
						p50:       time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "p50")),
						p99:       time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "p99")),
					})
				}
			}
		}
	}
	return r
}

// TestWhatIsRecordedIsReadBack: cell by cell and round by round, also when the parts
// were recorded in pieces.
func TestWhatIsRecordedIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.SampledFrom(parts()), 1, 2, func(p part) string { return p.name }).Draw(t, "parts")
		want := drawn(t, all)
		var text strings.Builder
		for _, p := range all {
			text.WriteString(want.lines(p))
		}
		recorded, err := record.Read(fstest.MapFS{"redeem.txt": {Data: []byte(text.String())}}, "redeem.txt")
		require.NoError(t, err)
		got, err := read(recorded, parts())
		require.NoError(t, err)
		for c, rounds := range want {
			for i := range rounds {
				rounds[i].calls = 0 // for benchstat only
			}
			if diff := cmp.Diff(rounds, got[c], cmp.AllowUnexported(sample{})); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", c, diff)
			}
		}
		require.Len(t, got, len(want))
	})
}

// TestEveryCellHasItsName: none is recorded as another.
func TestEveryCellHasItsName(t *testing.T) {
	t.Parallel()
	names := make(map[string]bool)
	for _, p := range parts() {
		for _, clients := range p.clients {
			for _, row := range p.rows {
				name := p.cell(row, clients).recorded(unitRate).String()
				require.False(t, names[name], name)
				names[name] = true
			}
		}
	}
}

func recordOf(t *testing.T, lines ...string) record.Results {
	t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	recorded, err := record.Read(fstest.MapFS{"redeem.txt": {Data: []byte(text)}}, "redeem.txt")
	require.NoError(t, err)
	return recorded
}

// TestRecordsThatCannotBeCompared are errors, and no ratios of 0 or of other rounds.
func TestRecordsThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	const hot = "BenchmarkRedeem/coupons=1/network=0s/commit-delay=0s/clients=64/way="
	for _, c := range []struct {
		name  string
		lines []string
		want  string
	}{
		{"a round more", []string{
			hot + "textbook 1 10 redemptions/s 5 p50-ns 6 p99-ns", hot + "batched 1 10 redemptions/s 5 p50-ns 6 p99-ns",
			hot + "batched 1 10 redemptions/s 5 p50-ns 6 p99-ns",
		}, "some ways have 1 rounds and some 2"},
		{"no latency", []string{hot + "textbook 1 10 redemptions/s 5 p50-ns"}, "a round is without a latency"},
		{"one latency", []string{hot + "textbook 1 10 redemptions/s 5 p50-ns 6 p99-ns", hot + "textbook 1 10 redemptions/s 5 p50-ns"}, "a round is without a latency"},
		{"nothing ended", []string{hot + "textbook 1 0 redemptions/s 5 p50-ns 6 p99-ns"}, "round 1 has a figure of 0 or less"},
	} {
		_, err := read(recordOf(t, c.lines...), parts())
		require.ErrorContains(t, err, c.want, c.name)
	}
	found, err := read(recordOf(t, "BenchmarkOther 1 10 ns/op"), parts())
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestTheTables of a record: medians, ratios, rounds, and a dash for what was not
// measured.
func TestTheTables(t *testing.T) {
	t.Parallel()
	const hot = "BenchmarkRedeem/coupons=1/network=0s/commit-delay=0s/clients="
	var lines []string
	for _, factor := range []string{"2", "1", "3"} {
		lines = append(lines,
			hot+"2/way=textbook 1 "+factor+"00 redemptions/s "+factor+"000000 p50-ns "+factor+"0000000 p99-ns",
			hot+"2/way=batched 1 "+factor+"50 redemptions/s "+factor+"000000 p50-ns "+factor+"00000000 p99-ns",
			hot+"64/way=textbook 1 "+factor+" redemptions/s 5 p50-ns 1500000000 p99-ns",
		)
	}
	lines = append(lines, hot+"64/way=textbook 1 9 redemptions/s 5 p50-ns 1500000000 p99-ns") // a round more of these
	file := filepath.Join(t.TempDir(), "redeem.txt")
	require.NoError(t, record.Save(t.Context(), file, record.Measured{
		Package: "example.org/redeem", Extra: []string{"redis: 7"}, Unit: "redemptions/s better=higher", Lines: strings.Join(lines, "\n") + "\n",
	}))
	var out strings.Builder
	require.NoError(t, program{recorded: file}.show(&out))
	said := out.String()
	for _, want := range []string{
		"redis: 7\n",
		"**One hot coupon**, 200,000 redemptions before. Each cell, of 3 to 4 rounds: median of the **redemptions a second** (median of the rounds' ratios to textbook), slowest to fastest round, medians of p50 / p99.",
		"| | 2 clients | 64 clients |\n|---|---:|---:|\n",
		"| textbook | **200** (1.0x) <br> 100 to 300 <br> 2.00 ms / 20.0 ms | **2** (1.0x) <br> 1 to 9 <br> 0.00 ms / 1.50 s |\n",
		"| batched | **250** (1.2x) <br> 150 to 350 <br> 2.00 ms / 200 ms | – |\n",
		"| one coupon, 2 clients: times the textbook | at least 2 | 1.25 | missed |\n",
	} {
		require.Contains(t, said, want)
	}
	require.Equal(t, 1, strings.Count(said, "|---|---:|---|"), "the goals, once")
	require.NotContains(t, said, "serializable", "it was not measured")
	require.NotContains(t, said, "8 clients: times")

	require.Error(t, program{recorded: file, parts: "many"}.show(&out), "there is nothing of it")
	require.ErrorIs(t, program{recorded: file + "x"}.show(&out), os.ErrNotExist)
}

// TestEveryGoalHasItsCells: with everything measured each goal is told, and each is met
// or missed on both sides of its bound.
func TestEveryGoalHasItsCells(t *testing.T) {
	t.Parallel()
	all := make(results)
	for _, p := range parts() {
		for _, clients := range p.clients {
			for _, row := range p.rows {
				all[p.cell(row, clients)] = []sample{{perSecond: 1, p50: 1, p99: 1}}
			}
		}
	}
	for _, g := range goals() {
		v, known := g.value(all)
		require.True(t, known, g.what)
		require.InDelta(t, 1, v, 0, g.what)
	}
	table := all.goalTable()
	require.Equal(t, len(goals())+4, strings.Count(table, "\n"))
	require.Contains(t, table, "| one coupon, 64 clients: times the textbook | at least 35 | 1.00 | missed |")
	require.Contains(t, table, "| 10,000 coupons, 2 clients: of the fastest alternative | at least 1 | 1.00 | met |")
	require.Contains(t, table, "| one coupon, 1 client: latency against the conditional UPDATE | at most 1.2 | 1.000 | met |")
	require.Contains(t, table, "| one coupon, 64 clients: p99 of the textbook's | at most 0.05 | 1.000 | missed |")
	require.Empty(t, make(results).goalTable())
}

// TestTheRecordIsReadable: what is committed has all that the chart and the tables
// need.
func TestTheRecordIsReadable(t *testing.T) {
	t.Parallel()
	_, found, err := readFile("../results/redeem.txt", parts())
	require.NoError(t, err)
	for _, p := range parts() {
		require.NotEmpty(t, found.table(p), p.name)
	}
	require.NotEmpty(t, found.goalTable())
}
