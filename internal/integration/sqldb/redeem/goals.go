package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
)

// The goals hold at FULL, with so many clients.
const goalClients = 64

// cellName names a measurement.
type cellName struct {
	setting
	clients int
	way     string
}

// results are the measurements, one of each round.
type results map[cellName][]cell

// median is made of the medians of the rounds.
func (r results) median(name cellName) (c cell) {
	rounds := r[name]
	of := func(value func(cell) float64) float64 {
		values := make([]float64, len(rounds))
		for i, c := range rounds {
			values[i] = value(c)
		}
		return middle(values)
	}
	c.perSecond = of(func(c cell) float64 { return c.perSecond })
	c.p50 = time.Duration(of(func(c cell) float64 { return float64(c.p50) }))
	c.p99 = time.Duration(of(func(c cell) float64 { return float64(c.p99) }))
	return c
}

// ratio is the median of the rounds' ratios of the rates. The ratio of two medians may be
// one of different rounds.
func (r results) ratio(a, b cellName) float64 {
	ratios := make([]float64, len(r[a]))
	for i := range ratios {
		ratios[i] = r[a][i].perSecond / r[b][i].perSecond
	}
	return middle(ratios)
}

// middle is the median of some values, the mean of the two in the middle of an even number.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// goals remembers what was measured, and compares it.
type goals struct{ measured results }

func (g *goals) note(measured results) {
	if g.measured == nil {
		g.measured = make(results)
	}
	maps.Copy(g.measured, measured)
}

// print says which goals are met, of those whose rows were measured.
func (g *goals) print(out io.Writer) error {
	_, _ = fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "goal\twanted\tmeasured\t")
	for _, what := range []string{place, use} {
		for _, driver := range []string{"modernc", sqlitedriver.SecondName} {
			in := setting{what, driver, "full"}
			for _, goal := range []struct {
				way   string
				least float64
			}{{"textbook", 5}, {"single", 5}, {"ceiling", 0.75}} {
				ours, other := cellName{in, goalClients, "batched"}, cellName{in, goalClients, goal.way}
				if g.measured[ours] == nil || g.measured[other] == nil {
					continue
				}
				ratio, verdict := g.measured.ratio(ours, other), "met"
				if ratio < goal.least {
					verdict = "MISSED"
				}
				_, _ = fmt.Fprintf(table, "%s, %d clients: batched / %s\tat least %.2f\t%.2f\t%s\n",
					in, goalClients, goal.way, goal.least, ratio, verdict)
			}
		}
	}
	return table.Flush()
}
