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
	r := report{store: store, machine: "a processor, wrk 4.1.0", duration: 2 * time.Second, versions: []string{store + ": 1.0"}}
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
	var reports []report
	for i, w := range ways {
		reports = append(reports, sampleReport(w.store, int64(i+1)))
	}
	require.NoError(t, writeRecord(t.Context(), file, reports))
	var out strings.Builder
	require.NoError(t, showRecorded(&out, file))
	said := out.String()
	for _, want := range []string{
		"peers: wrk 4.1.0; 2s a cell", "sqlite: 1.0", "postgres",
		"| echo | **2,000** <br> 0.01 / 0.02 / 12 | **4,000** <br> 0.02 / 0.04 / 25 |",
		"| PostgreSQL | **40** <br> 0.4 / 0.8 / 3.6 | **80** <br> 0.8 / 1.6 / 7.2 |",
	} {
		require.Contains(t, said, want)
	}
	require.Less(t, strings.Index(said, "**apply-coupon**"), strings.Index(said, "**2,000**"))
	require.Less(t, strings.Index(said, "**checkout**"), strings.Index(said, "**40**"))

	require.NoError(t, writeRecord(t.Context(), file, reports[:2]))
	require.Error(t, showRecorded(&out, file), "two stores are missing")
}
