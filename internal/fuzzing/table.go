package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// printTable prints what the log says of every target, the least fuzzed included.
func printTable(out io.Writer, root string, targets []target) error {
	entries, err := readLog(root)
	if err != nil {
		return err
	}
	sums := totals(entries)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "time\texecutions\tnew inputs\tfindings\ttarget\twhat it reads") // Flush returns the error
	for _, t := range targets {
		sum := sums[t.String()]
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%s\t%s\n",
			time.Duration(sum.seconds)*time.Second, sum.executions, sum.interesting, sum.findings, t, t.reads)
	}
	return table.Flush()
}
