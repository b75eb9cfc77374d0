package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// results are the rounds of each cell, in their order. All cells of a part with one
// number of clients have the same number of rounds.
type results map[cell][]sample

// median is the one in the middle, or the mean of the two there.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}

// What is compared of a sample.
func perSecond(s sample) float64 { return s.perSecond }
func p50(s sample) float64       { return float64(s.p50) }
func p99(s sample) float64       { return float64(s.p99) }

// each is one figure of every round.
func each(rounds []sample, of func(sample) float64) []float64 {
	values := make([]float64, len(rounds))
	for i, s := range rounds {
		values[i] = of(s)
	}
	return values
}

// ratio is the median of the rounds' ratios. Whatever slows one round down, or all of
// them more and more, does so to both sides of each ratio; the ratio of two medians
// would often be one of different rounds.
func (r results) ratio(a, b cell, of func(sample) float64) (float64, bool) {
	above, below := each(r[a], of), each(r[b], of)
	if len(above) == 0 || len(above) != len(below) {
		return 0, false
	}
	ratios := make([]float64, len(above))
	for i := range ratios {
		ratios[i] = above[i] / below[i]
	}
	return median(ratios), true
}

// lines are the results of a part in Go's benchmark format, round after round.
func (r results) lines(p part) string {
	var b strings.Builder
	for round, more := 0, true; more; round++ {
		more = false
		for _, clients := range p.clients {
			for _, row := range p.rows {
				c := p.cell(row, clients)
				if rounds := r[c]; round < len(rounds) {
					b.WriteString(c.line(rounds[round]))
					more = true
				}
			}
		}
	}
	return b.String()
}

// read finds the cells of parts in what is recorded. Cells that are not there are left
// out.
func read(recorded record.Results, parts []part) (results, error) {
	found := make(results)
	for _, p := range parts {
		for _, clients := range p.clients {
			for _, row := range p.rows {
				c := p.cell(row, clients)
				rounds, err := samples(recorded, c)
				switch {
				case errors.Is(err, record.ErrNotRecorded):
				case err != nil:
					return nil, fmt.Errorf("%s, %s with %d clients: %w", p.name, row.label(), clients, err)
				default:
					found[c] = rounds
				}
			}
		}
	}
	return found, found.complete(parts)
}

// samples are the rounds of a cell as recorded.
func samples(recorded record.Results, c cell) ([]sample, error) {
	rates, err := recorded.Runs(c.recorded(unitRate))
	if err != nil {
		return nil, err
	}
	middle, _ := recorded.Runs(c.recorded(unitP50)) // what is not recorded is missing
	tail, _ := recorded.Runs(c.recorded(unitP99))
	if len(middle) != len(rates) || len(tail) != len(rates) {
		return nil, errors.New("a round is without a latency")
	}
	rounds := make([]sample, len(rates))
	for i := range rounds {
		if rates[i] <= 0 || middle[i] <= 0 || tail[i] <= 0 {
			return nil, fmt.Errorf("round %d has a figure of 0 or less", i+1)
		}
		rounds[i] = sample{perSecond: rates[i], p50: time.Duration(middle[i]), p99: time.Duration(tail[i])}
	}
	return rounds, nil
}

// complete is an error where cells that are compared have not been in the same rounds.
func (r results) complete(parts []part) error {
	for _, p := range parts {
		for _, clients := range p.clients {
			least, most := 0, 0
			for _, row := range p.rows {
				if n := len(r[p.cell(row, clients)]); n > 0 {
					most = max(most, n)
					if least == 0 || n < least {
						least = n
					}
				}
			}
			if least != most {
				return fmt.Errorf("%s with %d clients: some ways have %d rounds and some %d", p.name, clients, least, most)
			}
		}
	}
	return nil
}

// readFile reads a record and what was chosen of it.
func readFile(name string, parts []part) (record.Results, results, error) {
	recorded, err := record.ReadDir(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return record.Results{}, nil, err
	}
	found, err := read(recorded, parts)
	return recorded, found, err
}
