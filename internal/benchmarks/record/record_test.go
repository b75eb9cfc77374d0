package record_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

const recorded = `go: go1.26
cpu: a processor
pkg: example.org/redeem
Unit redemptions/s better=higher
BenchmarkRedeem/clients=64/way=textbook-2 3012 1010 redemptions/s 250000000 p99-ns
BenchmarkRedeem/clients=64/way=textbook-2 3012 1030 redemptions/s 230000000 p99-ns
BenchmarkRedeem/clients=64/way=textbook-2 3012 1900 redemptions/s 900000000 p99-ns
BenchmarkRedeem/clients=8/way=textbook-2 3012 1390 redemptions/s 30000000 p99-ns
PASS
`

func read(t *testing.T, text string) (record.Results, error) {
	t.Helper()
	return record.Read(fstest.MapFS{"redeem.txt": {Data: []byte(text)}}, "redeem.txt")
}

func TestAFigureIsTheMedianOfItsRuns(t *testing.T) {
	t.Parallel()
	results, err := read(t, recorded)
	require.NoError(t, err)
	cell := record.Cell{Name: "Redeem", Unit: "redemptions/s"}.With("way", "textbook").With("clients", "64")
	got, err := results.Figure(cell)
	require.NoError(t, err)
	if diff := cmp.Diff(record.Figure{Median: 1030, Low: 1010, High: 1900, Runs: 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	cell.Unit = "p99-ns" // as written, not in the reader's seconds
	got, err = results.Figure(cell)
	require.NoError(t, err)
	require.InDelta(t, 250_000_000, got.Median, 0)
	got, err = results.Figure(cell.With("clients", "8"))
	require.NoError(t, err)
	require.InDelta(t, 30_000_000, got.Median, 0)
	require.Equal(t, "a processor", results.Config("cpu"))
}

func TestWhatIsNotRecorded(t *testing.T) {
	t.Parallel()
	results, err := read(t, recorded)
	require.NoError(t, err)
	cell := record.Cell{Name: "Redeem", Unit: "redemptions/s"}.With("way", "textbook")
	_, err = results.Figure(cell) // the clients are not said
	require.ErrorIs(t, err, record.ErrNotRecorded)
	_, err = results.Figure(cell.With("clients", "64").With("way", "batched"))
	require.ErrorIs(t, err, record.ErrNotRecorded)
	_, err = record.Read(fstest.MapFS{}, "redeem.txt")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = read(t, "BenchmarkRedeem/way=textbook 3012 many redemptions/s\n")
	require.Error(t, err)
}

// A cell that is made from another leaves that one alone.
func TestWith(t *testing.T) {
	t.Parallel()
	cell := record.Cell{Name: "Redeem", Unit: "ns/op"}.With("b", "1").With("a", "2")
	_ = cell.With("a", "3")
	require.Equal(t, "Redeem/a=2/b=1 ns/op", cell.String())
}

// What Header writes is read back as configuration.
func TestHeader(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, record.Header(t.Context(), &out, "example.org/redeem", "postgresql: 15, fsync on"))
	results, err := read(t, out.String()+"BenchmarkRedeem 1 2 ns/op\n")
	require.NoError(t, err)
	for _, key := range []string{"go", "goos", "goarch", "cpu", "cores", "commit", "date"} {
		require.NotEmpty(t, results.Config(key), key)
	}
	require.Equal(t, "15, fsync on", results.Config("postgresql"))
	require.Equal(t, "example.org/redeem", results.Config("pkg"))
}

func TestVersions(t *testing.T) {
	t.Parallel()
	line, err := record.Versions(t.Context(), "github.com/govalues/decimal", "github.com/Rhymond/go-money")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "peers: github.com/govalues/decimal v"), line)
	require.Contains(t, line, ", github.com/Rhymond/go-money v")
	_, err = record.Versions(t.Context(), "example.org/nothing")
	require.Error(t, err)
}
