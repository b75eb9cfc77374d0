package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// The goals hold at FULL, with so many clients.
const goalClients = 64

// cellName names a measurement.
type cellName struct {
	setting
	clients int
	way     string
}

// goals remembers rates, and compares them.
type goals struct{ rates map[cellName]float64 }

func (g *goals) note(in setting, clients int, way string, perSecond float64) {
	if g.rates == nil {
		g.rates = make(map[cellName]float64)
	}
	g.rates[cellName{in, clients, way}] = perSecond
}

// print says which goals are met, of those whose rows were measured.
func (g *goals) print(out io.Writer) error {
	_, _ = fmt.Fprintf(out, "\ngoals: batched with %d clients at FULL\n", goalClients)
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	for _, what := range []string{place, use} {
		for _, driver := range []string{"modernc", "ncruces"} {
			in := setting{what, driver, "full"}
			for _, goal := range []struct {
				way   string
				least float64
			}{{"textbook", 5}, {"ceiling", 0.75}} {
				ours, measured := g.rates[cellName{in, goalClients, "batched"}]
				other, too := g.rates[cellName{in, goalClients, goal.way}]
				if !measured || !too {
					continue
				}
				verdict := "met"
				if ours < goal.least*other {
					verdict = "MISSED"
				}
				_, _ = fmt.Fprintf(table, "%s\t%s\tat least %.2f times %s\t%.2f times\t%s\n",
					what, driver, goal.least, goal.way, ours/other, verdict)
			}
		}
	}
	return table.Flush()
}
