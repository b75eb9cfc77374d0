package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// report is what was measured on one store.
type report struct {
	store    string
	machine  string
	duration time.Duration
	versions []string // configuration lines of a record
	cells    []cell
	books    books
}

// generator is the load generator with its version.
func (r report) generator() string {
	_, name, _ := strings.Cut(r.machine, ", ")
	return name
}

// String is the report as Markdown.
func (r report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", r.store)
	fmt.Fprintf(&b, "%s, %d CPUs, %s, %s a cell\n\n", r.machine, runtime.NumCPU(), runtime.Version(), r.duration)
	names := [2]string{"apply-coupon", "checkout"}
	if r.store == "echo" {
		names = [2]string{"GET", "POST"}
	}
	b.WriteString("| connections | what | per second | p50 | p90 | p99 |\n|---:|---|---:|---:|---:|---:|\n")
	for _, c := range r.cells {
		for i, m := range [2]result{c.apply, c.checkout} {
			fmt.Fprintf(&b, "| %d | %s | %.0f | %s | %s | %s |\n", c.connections, names[i], m.rate(), milliseconds(m.P50), milliseconds(m.P90), milliseconds(m.P99))
		}
	}
	if r.store != "echo" {
		k := r.books
		fmt.Fprintf(&b, "\nBooks: %d sessions paid, %d redemptions completed, %d reservations of customers who were cut off; "+
			"the scarce coupons were used %d times in all, and %d customers were refused. Nothing lost, nothing double.\n", k.paid, k.completed, k.reserved, k.scarce, k.refused)
	}
	b.WriteString("\n")
	return b.String()
}
