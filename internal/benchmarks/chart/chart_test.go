package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// sample is a figure of two ways in two panels.
func sample(s scale) figure {
	cell := record.Cell{Name: "Way", Unit: "ns/op"}
	return figure{
		name: "sample", title: "Ours & <theirs>", legend: []string{"less is better"}, columns: 2, scale: s,
		panels: []panel{{"small", cell.With("n", "1")}, {"large", cell.With("n", "9")}},
		rows:   []row{{"ours", "our way", ours}, {"theirs", "their way", other}, {"bound", "nobody's way", reference}},
	}
}

func sampleResults(tb testing.TB) record.Results {
	tb.Helper()
	text := "go: go1.26\ncpu: a processor\ncores: 2\n"
	for _, n := range []int{1, 9} {
		text += fmt.Sprintf("BenchmarkWay/n=%d/way=ours 1 %d ns/op\n", n, 100*n)
		text += fmt.Sprintf("BenchmarkWay/n=%d/way=theirs 1 %d ns/op\n", n, 4000*n)
		text += fmt.Sprintf("BenchmarkWay/n=%d/way=bound 1 %d ns/op\n", n, 50*n)
	}
	results, err := record.Read(fstest.MapFS{"sample.txt": {Data: []byte(text)}}, "sample.txt")
	require.NoError(tb, err)
	return results
}

// texts returns what the chart says, and fails when it is no XML.
func texts(tb testing.TB, svg []byte) string {
	tb.Helper()
	var said []string
	for decoder := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(said, "|")
		}
		require.NoError(tb, err)
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			said = append(said, string(data))
		}
	}
}

func TestAChartSaysItsFigures(t *testing.T) {
	t.Parallel()
	svg, err := sample(duration).draw(sampleResults(t))
	require.NoError(t, err)
	said := texts(t, svg)
	for _, want := range []string{
		"|Ours & <theirs>|", "|less is better|", "|small|", "|large|", "|our way|", "|their way|", "|nobody's way|",
		"|100 ns|", "|4 µs · 40×|", "|50 ns · 0.5×|", "|900 ns|", "|36 µs · 40×|",
		"go1.26 on a processor, 2 cores; one run",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("the chart does not say %q:\n%s", want, said)
		}
	}
	require.Contains(t, string(svg), "prefers-color-scheme: dark")
}

func TestBarsForRates(t *testing.T) {
	t.Parallel()
	svg, err := sample(rate).draw(sampleResults(t))
	require.NoError(t, err)
	said := texts(t, svg)
	require.Contains(t, said, "|4,000|")
	require.Contains(t, said, "|36,000|")
	require.NotContains(t, said, "×")
	require.NotContains(t, string(svg), "<circle")
}

// Rates of any order are dots, and their ticks are rates too.
func TestDotsForRatesOfAnyOrder(t *testing.T) {
	t.Parallel()
	svg, err := sample(rateOfAnyOrder).draw(sampleResults(t))
	require.NoError(t, err)
	said := texts(t, svg)
	require.Contains(t, said, "|36,000|")
	require.Contains(t, said, "|1,000|")
	require.NotContains(t, said, " ns|")
	require.Contains(t, string(svg), "<circle")
}

// Marks are in the order of the values, within the panel, with room for the text.
func TestPositions(t *testing.T) {
	t.Parallel()
	box := area{left: 200, top: 0, width: 300}
	for _, s := range []scale{duration, rate, rateOfAnyOrder} {
		values := []float64{10, 75, 9_400, 120_000, 999_999}
		a := s.axis(values, box)
		before := box.left
		for _, v := range values {
			x := a.x(v)
			require.GreaterOrEqual(t, x, before)
			require.LessOrEqual(t, x, box.left+box.width-valueRoom+0.001)
			before = x
		}
		require.GreaterOrEqual(t, len(a.ticks), 3)
		for _, at := range a.ticks {
			require.LessOrEqual(t, a.x(at), box.left+box.width)
		}
	}
}

func TestAFigureThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	f := sample(duration)
	f.rows = append(f.rows, row{"nobody", "not measured", other})
	_, err := f.draw(sampleResults(t))
	require.ErrorIs(t, err, record.ErrNotRecorded)
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{9.44: "9.4 ns", 9: "9 ns", 28.04: "28 ns", 999.4: "999 ns", 999.6: "1.0 µs", 5120: "5.1 µs", 1.2e6: "1.2 ms", 3e9: "3 s"} {
		if diff := cmp.Diff(want, nanoseconds(value)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for value, want := range map[float64]string{0: "0", 999: "999", 1010: "1,010", 40_349: "40,300", 1_234_567: "1,230,000"} {
		if diff := cmp.Diff(want, thousands(value)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// The charts that are committed are those of the results that are.
func TestTheCommittedChartsAreCurrent(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "results")
	for _, f := range figures() {
		results, err := record.ReadDir(folder, f.results)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		want, err := f.draw(results)
		require.NoError(t, err)
		texts(t, want)
		got, err := os.ReadFile(filepath.Join(folder, f.name+".svg"))
		require.NoError(t, err)
		if !bytes.Equal(want, got) {
			t.Errorf("%s.svg is not what go run ./chart draws", f.name)
		}
	}
}
