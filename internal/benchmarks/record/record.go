// Package record reads and heads recorded results: files in Go's benchmark format
// (https://golang.org/design/14313-benchmark-format), which benchstat reads as well.
//
// A file begins with configuration lines that say where and with what it was
// measured, such as "cpu: ..." and "go: ..."; [Header] writes those that every file
// has. Then comes one line for each run of each cell, whose name tells the cell's
// keys:
//
//	BenchmarkRedeem/clients=64/way=textbook 3012 1010 redemptions/s 250000000 p99-ns
//
// A cell's figure is the median of its runs.
package record

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// ErrNotRecorded is for a cell that the results do not have.
var ErrNotRecorded = errors.New("not recorded")

// Cell names one measured cell.
type Cell struct {
	// Name is the benchmark's, without "Benchmark" and keys: "Quote".
	Name string
	// Keys are the parts "/key=value" of the name. All that the recorded name has
	// are needed.
	Keys map[string]string
	// Unit is as written in the file, "ns/op" for example.
	Unit string
}

// With returns the cell with another value of a key.
func (c Cell) With(key, value string) Cell {
	keys := maps.Clone(c.Keys)
	if keys == nil {
		keys = make(map[string]string, 1)
	}
	keys[key] = value
	c.Keys = keys
	return c
}

// String returns the cell as "Quote/lines=10/way=floor ns/op", keys in no
// particular order but always the same one.
func (c Cell) String() string { return id(c.Name, c.Keys) + " " + c.Unit }

func id(name string, keys map[string]string) string {
	parts := []string{name}
	for _, key := range sortedKeys(keys) {
		parts = append(parts, key+"="+keys[key])
	}
	return strings.Join(parts, "/")
}

// Figure is what a cell was measured as.
type Figure struct {
	// Median of the runs.
	Median float64
	// Low and High bound the median with the confidence that the runs allow, 95 %
	// from six on; with fewer they are the least and the greatest.
	Low, High float64
	// Runs is how many there were.
	Runs int
}

// Results are what a file or several have recorded.
type Results struct {
	config map[string]string
	values map[string][]float64
}

// Read reads files of a directory. A file that is not there is an error that
// matches [fs.ErrNotExist].
func Read(dir fs.FS, names ...string) (Results, error) {
	r := Results{config: make(map[string]string), values: make(map[string][]float64)}
	for _, name := range names {
		if err := r.read(dir, name); err != nil {
			return Results{}, err
		}
	}
	return r, nil
}

// ReadDir is [Read] of a folder on disk.
func ReadDir(folder string, names ...string) (Results, error) {
	return Read(os.DirFS(folder), names...)
}

func (r *Results) read(dir fs.FS, name string) (err error) {
	file, err := dir.Open(path.Clean(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	reader := benchfmt.NewReader(file, name)
	for reader.Scan() {
		switch line := reader.Result().(type) {
		case *benchfmt.Result:
			r.add(line)
		case *benchfmt.SyntaxError:
			return line
		}
	}
	return reader.Err()
}

func (r *Results) add(line *benchfmt.Result) {
	for _, c := range line.Config {
		r.config[c.Key] = string(c.Value)
	}
	base, parts := line.Name.Parts()
	keys := make(map[string]string, len(parts))
	for _, part := range parts {
		if key, value, ok := strings.Cut(strings.TrimPrefix(string(part), "/"), "="); ok {
			keys[key] = value
		}
	}
	for _, v := range line.Values {
		value, unit := v.Value, v.Unit
		if v.OrigUnit != "" { // the reader turns ns into sec; files and goals say ns
			value, unit = v.OrigValue, v.OrigUnit
		}
		cell := Cell{Name: string(base), Keys: keys, Unit: unit}.String()
		r.values[cell] = append(r.values[cell], value)
	}
}

// Config returns the last value of a configuration key, or "".
func (r Results) Config(key string) string { return r.config[key] }

// Runs returns what each run of a cell has measured, in the order of the files, or an
// error that matches [ErrNotRecorded].
func (r Results) Runs(c Cell) ([]float64, error) {
	values := r.values[c.String()]
	if len(values) == 0 {
		return nil, fmt.Errorf("%s: %w", c, ErrNotRecorded)
	}
	return slices.Clone(values), nil
}

// Figure returns the figure of a cell, or an error that matches [ErrNotRecorded].
func (r Results) Figure(c Cell) (Figure, error) {
	values, err := r.Runs(c)
	if err != nil {
		return Figure{}, err
	}
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	summary := benchmath.AssumeNothing.Summary(sample, 0.95)
	f := Figure{Median: summary.Center, Low: summary.Lo, High: summary.Hi, Runs: len(values)}
	if few := 6; f.Runs < few {
		f.Low, f.High = sample.Values[0], sample.Values[f.Runs-1]
	}
	return f, nil
}
