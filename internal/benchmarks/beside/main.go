// Command beside measures the stores beside those of commit 31f2763: reservations of one hot
// coupon, or of many, with a limit over all customers and one for each customer, on one server of
// PostgreSQL or in files of SQLite, by turns. It builds that commit from the history of the repository in a temporary folder, and
// prints medians over the rounds and their ratio.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

type settings struct {
	rounds    int
	duration  time.Duration
	clients   []int
	processes int
	coupons   int
	store     string
	ways      []string
	profile   string
}

// sample has the load of all processes. server and own are microseconds of processor time per
// reservation.
type sample struct {
	load.Sample
	server, own float64
}

func main() {
	var s settings
	clients := flag.String("clients", "1,8,64,256", "numbers of clients")
	ways := flag.String("ways", "before,after", "what is measured")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds")
	flag.IntVar(&s.processes, "processes", 1, "processes that share the clients")
	flag.IntVar(&s.coupons, "coupons", 1, "coupons that the clients want")
	flag.StringVar(&s.store, "store", "postgres", "postgres or sqlite")
	flag.DurationVar(&s.duration, "duration", 2*time.Second, "of each turn")
	flag.StringVar(&s.profile, "profile", "", "file for the CPU profile of a process, which each turn writes again")
	flag.Parse()
	s.ways = strings.Split(*ways, ",")
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < s.processes {
			log.Fatalf("clients %q", text)
		}
		s.clients = append(s.clients, n)
	}
	if err := run(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "couponkit-beside-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	programs := make([]string, len(s.ways))
	for i, way := range s.ways {
		if programs[i], err = build(ctx, dir, way); err != nil {
			return err
		}
	}
	var server *postgrestest.Server
	if s.store != "sqlite" {
		if server, err = postgrestest.Start(ctx, "shared_preload_libraries=pg_stat_statements"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
	}
	for _, clients := range s.clients {
		if err := measure(ctx, server, programs, clients, s); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, server *postgrestest.Server, programs []string, clients int, s settings) (err error) {
	subjects := make([]*subject, len(programs))
	defer func() {
		for _, one := range subjects {
			if one != nil {
				err = errors.Join(err, one.close(ctx, len(programs) == 1))
			}
		}
	}()
	for i, program := range programs {
		if subjects[i], err = open(ctx, server, program, s); err != nil {
			return fmt.Errorf("%s: %w", s.ways[i], err)
		}
		if _, err := subjects[i].turn(ctx, clients, s); err != nil { // the first turn warms up
			return fmt.Errorf("%s: %w", s.ways[i], err)
		}
		if server == nil {
			continue
		}
		if _, err := subjects[i].pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
			return err
		}
	}
	samples := make([][]sample, len(subjects))
	for round := range s.rounds {
		for i := range subjects {
			at := (i + round) % len(subjects)
			one, err := subjects[at].turn(ctx, clients, s)
			if err != nil {
				return fmt.Errorf("%s: %w", s.ways[at], err)
			}
			samples[at] = append(samples[at], one)
		}
	}
	report(clients, s.ways, samples)
	return nil
}

func report(clients int, ways []string, samples [][]sample) {
	var rates []float64
	for i, way := range ways {
		rate := median(samples[i], func(s sample) float64 { return s.Rate })
		p99 := time.Duration(median(samples[i], func(s sample) float64 { return float64(s.P99) }))
		server := median(samples[i], func(s sample) float64 { return s.server })
		own := median(samples[i], func(s sample) float64 { return s.own })
		fmt.Printf("%4d clients  %-7s %9.0f/s  p99 %-9v  processor time %5.0f us server, %4.0f us client\n",
			clients, way, rate, p99.Round(10*time.Microsecond), server, own)
		rates = append(rates, rate)
	}
	if len(rates) == 2 {
		fmt.Printf("%4d clients  ratio   %9.2f\n", clients, rates[1]/rates[0])
	}
}

// statements prints the statements that took most of the server's time.
func statements(ctx context.Context, pool *pgxpool.Pool) {
	_, _ = pool.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
	rows, err := pool.Query(ctx, `SELECT left(regexp_replace(query, '\s+', ' ', 'g'), 60), calls, total_exec_time, rows FROM pg_stat_statements
		WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) ORDER BY total_exec_time DESC LIMIT 16`)
	if err != nil {
		return
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		var calls, n int64
		var total float64
		if rows.Scan(&text, &calls, &total, &n) == nil {
			fmt.Printf("  %8.0f ms %8d calls %9d rows %8.1f us  %s\n", total, calls, n, 1000*total/float64(calls), text)
		}
	}
}

func median(samples []sample, of func(sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.SortFunc(values, cmp.Compare)
	return values[len(values)/2]
}
