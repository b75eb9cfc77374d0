package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sampleReport has figures that tell by their size where they belong.
func sampleReport(store string, factor int64) report {
	r := report{
		store: store, machine: "a processor, wrk 4.1.0", duration: 2 * time.Second, versions: []string{store + ": 1.0"},
		books: books{paid: 1000 * factor, completed: 1000 * factor, reserved: 3 * factor, scarce: 160, refused: 9 * factor},
	}
	for i, connections := range []int{1, 8, 64, 256} {
		n := factor * int64(i+1)
		r.cells = append(r.cells, cell{
			connections: connections,
			apply:       result{Seconds: 2, Done: 4000 * n, P50: 10 * n, P90: 20 * n, P99: 12_340 * n},
			checkout:    result{Seconds: 2, Done: 20 * n, P50: 100 * n, P90: 200 * n, P99: 900 * n},
		})
	}
	return r
}

// TestWhatIsRecorded is shown again: rates per second, latencies in milliseconds, each
// in its place.
func TestWhatIsRecorded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "service.txt")
	for i, w := range ways {
		require.NoError(t, sampleReport(w.store, int64(i+1)).keep(t.Context(), file, i > 0))
	}
	var out strings.Builder
	require.NoError(t, showRecorded(&out, file))
	said := out.String()
	for _, want := range []string{
		"peers: wrk 4.1.0; 2s a cell", "sqlite: 1.0", "postgres",
		"| echo | **2,000** <br> 0.01 / 0.02 / 12 | **4,000** <br> 0.02 / 0.04 / 25 |",
		"| PostgreSQL | **40** <br> 0.4 / 0.8 / 3.6 | **80** <br> 0.8 / 1.6 / 7.2 |",
		"| | sessions paid | redemptions | held by customers who were cut off | scarce coupons used | customers refused |\n" +
			"|---|---:|---:|---:|---:|---:|\n| memory | 2,000 | 2,000 | 6 | 160 | 18 |\n| SQLite | 3,000 |",
	} {
		require.Contains(t, said, want)
	}
	require.NotContains(t, said, "| echo | 1,000", "it keeps no books")
	require.Less(t, strings.Index(said, "**apply-coupon**"), strings.Index(said, "**2,000**"))
	require.Less(t, strings.Index(said, "**checkout**"), strings.Index(said, "**40**"))

	require.NoError(t, sampleReport("sqlite", 5).keep(t.Context(), file, true))
	out.Reset()
	require.NoError(t, showRecorded(&out, file))
	require.Contains(t, out.String(), "| SQLite | **8,000** <br> 0.04 / 0.08 / 49 |", "the median of 6,000 and 10,000")
	require.Contains(t, out.String(), "| SQLite | 8,000 | 8,000 | 24 |", "3 and 5 thousand")

	require.NoError(t, sampleReport("echo", 1).keep(t.Context(), file, false))
	require.Error(t, showRecorded(&out, file), "three stores are missing")
}

// TestOldRecords have no books, and their tables are shown all the same.
func TestOldRecords(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, showRecorded(&out, "../results/service.txt"))
	require.Contains(t, out.String(), "| PostgreSQL |")
}
