package main

import (
	"fmt"
	"io"
	"text/tabwriter"

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
				ours, measured := g.rates[cellName{in, goalClients, "batched"}]
				other, too := g.rates[cellName{in, goalClients, goal.way}]
				if !measured || !too {
					continue
				}
				verdict := "met"
				if ours < goal.least*other {
					verdict = "MISSED"
				}
				_, _ = fmt.Fprintf(table, "%s, %d clients: batched / %s\tat least %.2f\t%.2f\t%s\n",
					in, goalClients, goal.way, goal.least, ours/other, verdict)
			}
		}
	}
	return table.Flush()
}
