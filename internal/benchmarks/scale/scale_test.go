package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/integration/scale"
)

// postgres is the server that the tests share.
var postgres postgrestest.Shared

// TestMain requires that the crowd and the stores end with what was measured.
func TestMain(m *testing.M) {
	status := m.Run()
	if err := postgres.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	if err := goleak.Find(); err != nil && status == 0 {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// twoShops are loaded: small ones, in which every call finds what it asks for.
func twoShops(t *testing.T) plan {
	t.Helper()
	p := plan{
		small: scale.Size{Coupons: 1_000, Redemptions: 10_000, Seed: 1}, large: scale.Size{Coupons: 2_000, Redemptions: 20_000, Seed: 1},
		samples: 3, clients: 4, load: 500 * time.Millisecond,
	}
	var err error
	p.smallDSN, err = load(t.Context(), postgres.Need(t), p.small)
	require.NoError(t, err)
	p.largeDSN, err = load(t.Context(), postgres.Need(t), p.large)
	require.NoError(t, err)
	return p
}

// TestARunMeasuresEveryCallOnBothShops: every call of the store, as often as asked for,
// and a crowd of each shop; and all of it is in the record.
func TestARunMeasuresEveryCallOnBothShops(t *testing.T) {
	t.Parallel()
	p := twoShops(t)
	r, err := measured(t.Context(), p)
	require.NoError(t, err)
	var want, got []string
	for _, call := range scale.Calls(p.small, "") {
		want = append(want, call.Name)
	}
	for _, measured := range r.rows {
		got = append(got, measured.call)
		for i, c := range measured.on {
			require.Equal(t, p.samples, c.calls, "%s on the %s shop", measured.call, shops[i])
			require.Positive(t, c.p50)
			require.LessOrEqual(t, c.p50, c.p99)
		}
	}
	require.Equal(t, want, got)
	for i, c := range r.crowds {
		require.Positive(t, c.calls, shops[i])
		require.Len(t, c.memory, 10)
	}
	p.record = filepath.Join(t.TempDir(), "record.txt")
	require.NoError(t, r.write(p, "goos: linux\n"))
	text, err := os.ReadFile(p.record)
	require.NoError(t, err)
	require.Equal(t, 2*len(want), strings.Count(string(text), "BenchmarkScale/"))
	require.Equal(t, len(want)+1+2*10, strings.Count(string(text), "BenchmarkMemory/"))
	require.Contains(t, string(text), "large: 2000 coupons, 20000 redemptions")
}

// TestAnInterruptedRunLeavesNothing: neither the alternating calls nor the crowd go on
// when the program is stopped, and TestMain finds no goroutine.
func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	t.Parallel()
	p := twoShops(t)
	shop, err := open(t.Context(), p.largeDSN)
	require.NoError(t, err)
	defer shop.close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err = p.measure(ctx, [2]database{shop, shop})
	require.ErrorIs(t, err, context.Canceled)
	c, err := p.crowd(ctx, shop, scale.Calls(p.large, "stopped"))
	require.NoError(t, err, "who has been stopped has not failed")
	require.Zero(t, c.calls)
}

// TestAMissedGoalIsTold: twice as long is just allowed, at the median and at the 99th
// percentile, and a quarter more memory.
func TestAMissedGoalIsTold(t *testing.T) {
	t.Parallel()
	run := func(p50, p99 time.Duration, small, large []int) results {
		return results{
			rows:   []row{{"call", [2]cell{{1, time.Millisecond, time.Millisecond}, {1, p50, p99}}}},
			crowds: [2]crowd{{memory: small}, {memory: large}},
		}
	}
	const twice, more = 2 * time.Millisecond, 2*time.Millisecond + 1
	level := []int{100, 100}
	require.NoError(t, run(twice, twice, level, []int{125, 125}).missed())
	for name, missed := range map[string]results{
		"the median":               run(more, twice, level, level),
		"the tail":                 run(twice, more, level, level),
		"more of a large shop":     run(twice, twice, level, []int{126, 126}),
		"more as the time goes by": run(twice, twice, []int{126, 126}, []int{100, 126}),
	} {
		require.ErrorContains(t, missed.missed(), "goal missed", name)
	}
}
