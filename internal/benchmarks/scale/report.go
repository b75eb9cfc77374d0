package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Goals: what a call on the large shop may take, times the same on the small one, and
// how the memory of the process may grow.
const (
	slower = 2.0
	growth = 1.25
)

// print writes the tables.
func (r results) print(w io.Writer) {
	_, _ = fmt.Fprintln(w, "| call | small p50 | small p99 | large p50 | large p99 | p50 ratio | p99 ratio |\n|---|---|---|---|---|---|---|")
	for _, m := range r.rows {
		small, large := m.on[0], m.on[1]
		_, _ = fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %.2f | %.2f |\n",
			m.call, ms(small.p50), ms(small.p99), ms(large.p50), ms(large.p99), m.median(), m.tail())
	}
	_, _ = fmt.Fprintf(w, "\nResident memory of the process before, between and after the calls: %s\n", megabytes(r.memory))
	for i, c := range r.crowds {
		_, _ = fmt.Fprintf(w, "%s shop, %s: %d calls of a crowd, memory %s\n", shops[i], r.sizes[i], c.calls, megabytes(c.memory))
	}
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

func megabytes(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, ", ") + " MB"
}

// missed returns an error for each goal that the run has missed.
func (r results) missed() error {
	var faults []error
	for _, m := range r.rows {
		if m.median() > slower || m.tail() > slower {
			faults = append(faults, fmt.Errorf("%s takes %.2f times as long on the large shop, %.2f times at the 99th percentile: goal missed",
				m.call, m.median(), m.tail()))
		}
	}
	few, many := slices.Max(r.crowds[0].memory), slices.Max(r.crowds[1].memory)
	if float64(many) > growth*float64(few) {
		faults = append(faults, fmt.Errorf("the process has %d MB with the large shop, %d MB with the small one: goal missed", many, few))
	}
	half := len(r.crowds[1].memory) / 2
	early, late := slices.Max(r.crowds[1].memory[:half]), slices.Max(r.crowds[1].memory[half:])
	if float64(late) > growth*float64(early) {
		faults = append(faults, fmt.Errorf("the process grows from %d to %d MB: goal missed", early, late))
	}
	return errors.Join(faults...)
}

// write records the run in Go's benchmark format, below a header.
func (r results) write(p plan, head string) (err error) {
	file, err := os.Create(p.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file)
	_, _ = fmt.Fprintf(out, "%spostgresql: %s\n%s\n%s\n", head, r.versions, // an error is told by Flush
		shopLine("small", p.small.Coupons, p.small.Redemptions, r.sizes[0]),
		shopLine("large", p.large.Coupons, p.large.Redemptions, r.sizes[1]))
	for _, m := range r.rows {
		name := strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(m.call)
		for i, c := range m.on {
			_, _ = fmt.Fprintf(out, "BenchmarkScale/call=%s/shop=%s %d %d p50-ns %d p99-ns\n",
				name, shops[i], c.calls, c.p50.Nanoseconds(), c.p99.Nanoseconds())
		}
	}
	for _, n := range r.memory {
		_, _ = fmt.Fprintf(out, "BenchmarkMemory/clients=1 1 %d resident-MB\n", n)
	}
	for i, c := range r.crowds {
		for _, n := range c.memory {
			_, _ = fmt.Fprintf(out, "BenchmarkMemory/clients=%d/shop=%s %d %d resident-MB\n", p.clients, shops[i], c.calls, n)
		}
	}
	return out.Flush()
}

func shopLine(name string, coupons, redemptions int, size string) string {
	return fmt.Sprintf("%s: %d coupons, %d redemptions, %s", name, coupons, redemptions, size)
}

// resident is the memory of the process in megabytes, as Linux counts it; 0 where it
// is not told.
func resident() int {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer status.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "VmRSS:"); found {
			kilobytes, _ := strconv.Atoi(strings.Fields(text)[0]) // the kernel writes a number
			return kilobytes >> 10
		}
	}
	return 0
}
