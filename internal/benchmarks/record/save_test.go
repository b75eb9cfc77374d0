package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

const (
	sixtyFour = "BenchmarkRedeem/clients=64 1 1010 redemptions/s\n"
	eight     = "BenchmarkRedeem/clients=8 1 1390 redemptions/s\n"
)

func measured(lines string, extra ...string) record.Measured {
	return record.Measured{Package: "example.org/redeem", Extra: extra, Unit: "redemptions/s better=higher", Lines: lines}
}

// runs are those of a cell in a file.
func runs(t *testing.T, file, clients string) []float64 {
	t.Helper()
	results, err := record.ReadDir(filepath.Dir(file), filepath.Base(file))
	require.NoError(t, err)
	values, err := results.Runs(record.Cell{Name: "Redeem", Unit: "redemptions/s"}.With("clients", clients))
	require.NoError(t, err)
	return values
}

// TestARecordInPieces has every result in its order below one header, which names each
// value that a key had; saving begins anew.
func TestARecordInPieces(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "redeem.txt")
	require.NoError(t, record.Add(t.Context(), file, measured(sixtyFour, "redis: 7.0, always", "peers: 1s a cell")))
	require.NoError(t, record.Add(t.Context(), file, measured(eight, "redis: 7.0, always", "postgresql: 15", "peers: 2s a cell")))
	require.NoError(t, record.Add(t.Context(), file, measured(strings.Replace(sixtyFour, "1010", "900", 1), "redis: 7.0, always", "peers: 2s a cell")))
	if diff := cmp.Diff([]float64{1010, 900}, runs(t, file, "64")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1390}, runs(t, file, "8")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	results, err := record.ReadDir(filepath.Dir(file), "redeem.txt")
	require.NoError(t, err)
	for key, want := range map[string]string{
		"redis": "7.0, always", "postgresql": "15", "peers": "1s a cell | 2s a cell", "pkg": "example.org/redeem",
	} {
		require.Equal(t, want, results.Config(key), key)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, once := range []string{"go: ", "cpu: ", "commit: ", "pkg: ", "Unit "} {
		require.Equal(t, 1, strings.Count("\n"+string(text), "\n"+once), once)
	}
	require.Contains(t, string(text), "pkg: example.org/redeem\nUnit redemptions/s better=higher\n"+sixtyFour+eight)

	require.NoError(t, record.Save(t.Context(), file, measured(eight)))
	if diff := cmp.Diff([]float64{1390}, runs(t, file, "8")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.NotContains(t, string(text), "clients=64")
	require.NotContains(t, string(text), "redis")
}

func TestARecordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.Error(t, record.Add(t.Context(), dir, measured(eight)), "a folder")
	require.Error(t, record.Save(t.Context(), filepath.Join(dir, "none", "redeem.txt"), measured(eight)))
}

// Changing the returned runs leaves the results alone.
func TestRunsAreACopy(t *testing.T) {
	t.Parallel()
	results, err := read(t, recorded)
	require.NoError(t, err)
	cell := record.Cell{Name: "Redeem", Unit: "redemptions/s"}.With("way", "textbook").With("clients", "64")
	values, err := results.Runs(cell)
	require.NoError(t, err)
	values[0] = 0
	_, err = results.Runs(cell.With("clients", "9"))
	require.ErrorIs(t, err, record.ErrNotRecorded)
	again, err := results.Runs(cell)
	require.NoError(t, err)
	if diff := cmp.Diff([]float64{1010, 1030, 1900}, again); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
