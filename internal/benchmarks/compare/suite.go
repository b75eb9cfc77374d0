package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

type options struct {
	only      []string
	folder    string
	rounds    int
	benchtime string
	recorded  bool
}

// suite is a folder of benchmarks with the results that it records.
type suite struct {
	name string
	// measured suites are run here; the others are programs that record themselves.
	measured bool
	peers    []string
	tables   []table
	goals    []goal
}

// table is one call of benchstat.
type table struct {
	title     string
	arguments []string
}

func suites() []suite {
	return []suite{
		{
			name: "quote", measured: true, goals: quoteGoals(),
			peers: []string{"github.com/Rhymond/go-money", "github.com/govalues/decimal", "github.com/shopspring/decimal"},
			tables: []table{
				{"A quote by number of lines", []string{"-table", "/discount", "-row", "/lines", "-col", "/way", "-filter", ".unit:ns/op"}},
				{"Allocations", []string{"-table", "/discount", "-row", "/lines", "-col", "/way", "-filter", ".unit:allocs/op"}},
			},
		},
		{
			name: "validity", measured: true, goals: validityGoals(),
			peers: []string{"cel.dev/cel-go", "github.com/expr-lang/expr"},
			tables: []table{
				{"Whether the customer may use the coupon", []string{"-table", "/lines", "-row", "/answer,/addresses", "-col", "/way", "-filter", ".name:Decide .unit:ns/op"}},
				{"Allocations", []string{"-table", "/lines", "-row", "/answer,/addresses", "-col", "/way", "-filter", ".name:Decide .unit:allocs/op"}},
				{"An address in an allow-list", []string{"-table", "/asked", "-row", "/addresses", "-col", "/way", "-filter", ".name:AllowList .unit:ns/op"}},
			},
		},
	}
}

func names(all []suite) []string {
	list := make([]string, len(all))
	for i, s := range all {
		list[i] = s.name
	}
	return list
}

func (s suite) file() string { return s.name + ".txt" }

func run(ctx context.Context, o options, out io.Writer) error {
	for _, name := range o.only {
		if !slices.Contains(names(suites()), name) {
			return fmt.Errorf("there is no suite %q", name)
		}
	}
	missed := 0
	for _, s := range suites() {
		if o.only != nil && !slices.Contains(o.only, s.name) {
			continue
		}
		if s.measured && !o.recorded {
			if err := s.measure(ctx, o); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
		n, err := s.tell(ctx, o.folder, out)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		missed += n
	}
	if missed > 0 {
		return fmt.Errorf("%d %w", missed, errMissed)
	}
	return nil
}

// measure runs the benchmarks in rounds and then replaces the recorded results.
func (s suite) measure(ctx context.Context, o options) error {
	peers, err := record.Versions(ctx, s.peers...)
	if err != nil {
		return err
	}
	var results bytes.Buffer
	if err := record.Header(ctx, &results, "github.com/couponkit/couponkit/internal/benchmarks/"+s.name, peers); err != nil {
		return err
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", s.name, round+1, o.rounds)
		test := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", ".", "-count", "1", "-benchtime", o.benchtime, "./"+s.name)
		test.Stderr = os.Stderr
		lines, err := test.Output()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, lines)
		}
		results.Write(benchmarkLines(lines))
	}
	return os.WriteFile(filepath.Join(o.folder, s.file()), results.Bytes(), 0o644)
}

// benchmarkLines leaves out what go test says beside the results.
func benchmarkLines(output []byte) []byte {
	var lines []byte
	for line := range bytes.Lines(output) {
		if bytes.HasPrefix(line, []byte("Benchmark")) {
			lines = append(lines, line...)
		}
	}
	return lines
}

// tell prints the tables and the goals, and returns how many of these are missed.
func (s suite) tell(ctx context.Context, folder string, out io.Writer) (missed int, err error) {
	results, err := record.ReadDir(folder, s.file())
	if err != nil {
		return 0, err
	}
	for _, t := range s.tables {
		_, _ = fmt.Fprintf(out, "\n== %s ==\n\n", t.title)
		arguments := append(append([]string{"tool", "benchstat"}, t.arguments...), filepath.Join(folder, s.file()))
		benchstat := exec.CommandContext(ctx, "go", arguments...)
		benchstat.Stdout, benchstat.Stderr = out, os.Stderr
		if err := benchstat.Run(); err != nil {
			return 0, fmt.Errorf("benchstat: %w", err)
		}
	}
	_, _ = fmt.Fprintf(out, "\n== Goals: %s ==\n\n", s.name)
	return judge(results, s.goals, out)
}
