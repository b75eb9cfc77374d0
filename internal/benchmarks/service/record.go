package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
)

// ways are the names of the stores in recorded results, in the order of the tables.
var ways = []struct{ store, way, title string }{
	{"echo", "echo", "echo"},
	{"memory", "memstore", "memory"},
	{"sqlite", "sqlite", "SQLite"},
	{"postgres", "postgresql", "PostgreSQL"},
}

func wayOf(store string) string {
	for _, w := range ways {
		if w.store == store {
			return w.way
		}
	}
	return store
}

// versions names what the service kept its data in, as configuration lines.
func versions(ctx context.Context, store, where string) ([]string, error) {
	asked := map[string]struct{ driver, where, statement, line string }{
		"sqlite":   {"sqlite", ":memory:", "SELECT sqlite_version()", "sqlite: %s, translated to Go, WAL, synchronous FULL"},
		"postgres": {"pgx", where, "SHOW server_version", "postgresql: %s, fsync on"},
	}
	ask, has := asked[store]
	if !has {
		return nil, nil
	}
	db, err := sql.Open(ask.driver, ask.where)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	var version string
	if err := db.QueryRowContext(ctx, ask.statement).Scan(&version); err != nil {
		return nil, fmt.Errorf("version of %s: %w", store, err)
	}
	return []string{fmt.Sprintf(ask.line, version)}, nil
}

// keep records a store: below what the file has, or in its place.
func (r report) keep(ctx context.Context, file string, add bool) error {
	write := record.Save
	if add {
		write = record.Add
	}
	return write(ctx, file, record.Measured{
		Package: "github.com/couponkit/couponkit/internal/benchmarks/service",
		Extra: append(slices.Clone(r.versions), fmt.Sprintf("peers: %s; %s a cell, generator, service and database on one machine",
			r.generator(), r.duration)),
		Unit: "requests/s better=higher", Lines: r.lines(),
	})
}

// lines are the cells as benchmark results: rates, and latencies in nanoseconds.
func (r report) lines() string {
	var b strings.Builder
	for _, c := range r.cells {
		for _, each := range []struct {
			request string
			result
		}{{"apply", c.apply}, {"checkout", c.checkout}} {
			fmt.Fprintf(&b, "BenchmarkService/request=%s/connections=%d/way=%s %d %.1f requests/s %d p50-ns %d p90-ns %d p99-ns\n",
				each.request, c.connections, wayOf(r.store), max(each.Done, 1), each.rate(), 1000*each.P50, 1000*each.P90, 1000*each.P99)
		}
	}
	if r.store != "echo" {
		fmt.Fprintf(&b, "Benchmark%s/way=%s %d", booksName, wayOf(r.store), max(r.books.paid, 1))
		for i, amount := range []int64{r.books.paid, r.books.completed, r.books.reserved, r.books.scarce, r.books.refused} {
			fmt.Fprintf(&b, " %d %s", amount, booksColumns[i].unit)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// booksName is the benchmark that records the books of a store.
const booksName = "ServiceBooks"

// booksColumns are what is compared afterwards.
var booksColumns = [...]struct{ unit, title string }{
	{"paid", "sessions paid"},
	{"redeemed", "redemptions"},
	{"held", "held by customers who were cut off"},
	{"scarce", "scarce coupons used"},
	{"refused", "customers refused"},
}

// booksTable is the table of the books, or nothing where they are not recorded. What
// was measured several times is added up.
func booksTable(results record.Results) string {
	var b strings.Builder
	for _, w := range ways {
		cell := record.Cell{Name: booksName}.With("way", w.way)
		row := "| " + w.title
		for _, column := range booksColumns {
			cell.Unit = column.unit
			amounts, err := results.Runs(cell)
			if err != nil {
				row = ""
				break
			}
			var sum float64
			for _, n := range amounts {
				sum += n
			}
			row += " | " + grouped(sum)
		}
		if row != "" {
			b.WriteString(row + " |\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	var head strings.Builder
	head.WriteString("| |")
	for _, column := range booksColumns {
		head.WriteString(" " + column.title + " |")
	}
	return head.String() + "\n|---|" + strings.Repeat("---:|", len(booksColumns)) + "\n" + b.String()
}

// showRecorded writes the tables of a file of figures.
func showRecorded(out io.Writer, name string) error {
	results, err := record.ReadDir(filepath.Dir(name), filepath.Base(name))
	if err != nil {
		return err
	}
	for _, key := range []string{"go", "cpu", "cores", "commit", "date", "postgresql", "sqlite", "peers"} {
		if _, err := fmt.Fprintf(out, "%s: %s\n", key, results.Config(key)); err != nil {
			return err
		}
	}
	for _, table := range []struct{ request, title string }{{"apply", "apply-coupon"}, {"checkout", "checkout"}} {
		text, err := tableOf(results, table.request)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "\n**%s**\n\n%s", table.title, text); err != nil {
			return err
		}
	}
	if books := booksTable(results); books != "" {
		_, err = fmt.Fprintf(out, "\nWhat was paid and what was redeemed afterwards:\n\n%s", books)
	}
	return err
}

// columns are the numbers of connections in the tables.
var columns = []string{"1", "8", "64", "256"}

// tableOf is the table of one request: a row for each way, a column for each number of
// connections.
func tableOf(results record.Results, request string) (string, error) {
	var b strings.Builder
	b.WriteString("| | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, w := range ways {
		b.WriteString("| " + w.title)
		for _, connections := range columns {
			cell := record.Cell{Name: "Service"}.With("request", request).With("connections", connections).With("way", w.way)
			var figures [4]float64
			for i, unit := range []string{"requests/s", "p50-ns", "p90-ns", "p99-ns"} {
				cell.Unit = unit
				figure, err := results.Figure(cell)
				if err != nil {
					return "", err
				}
				figures[i] = figure.Median
			}
			fmt.Fprintf(&b, " | **%s** <br> %s / %s / %s", grouped(figures[0]), inMilliseconds(figures[1]), inMilliseconds(figures[2]), inMilliseconds(figures[3]))
		}
		b.WriteString(" |\n")
	}
	return b.String(), nil
}

// inMilliseconds writes nanoseconds with two digits at least.
func inMilliseconds(ns float64) string {
	ms := ns / float64(time.Millisecond)
	if ms >= 10 {
		return fmt.Sprintf("%.0f", ms)
	}
	return fmt.Sprintf("%.2g", ms)
}

// grouped writes a rate with its thousands apart.
func grouped(rate float64) string {
	text := fmt.Sprintf("%.0f", rate)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
