// Command beside measures the new store on pgx beside the present one: reservations of one
// hot coupon with a limit over all customers and one for each customer, on one server, by
// turns. It prints medians over the rounds and their ratio.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// way reserves request n.
type way struct {
	name    string
	prepare func(context.Context, *pgxpool.Pool) error
	open    func(*pgxpool.Pool) (reserve func(ctx context.Context, n uint64) error, end func() error, err error)
}

type settings struct {
	rounds   int
	duration time.Duration
	clients  []int
	profile  string
}

type sample struct {
	rate        float64
	p99         time.Duration
	server, own float64 // microseconds of processor time for each reservation
}

func main() {
	var s settings
	clients := flag.String("clients", "1,8,64,256", "numbers of clients")
	only := flag.String("only", "", "the one way to measure")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds")
	flag.DurationVar(&s.duration, "duration", 2*time.Second, "of each turn")
	flag.StringVar(&s.profile, "profile", "", "file for a CPU profile of this process, and .allocs for one of its memory")
	orders := flag.Bool("orders", true, "with orders, else points reservations")
	flag.Parse()
	for text := range strings.SplitSeq(*clients, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			log.Fatalf("clients %q", text)
		}
		s.clients = append(s.clients, n)
	}
	if err := run(context.Background(), s, *orders, *only); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings, orders bool, only string) (err error) {
	server, err := postgrestest.Start(ctx, "shared_preload_libraries=pg_stat_statements")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if s.profile != "" {
		file, err := os.Create(s.profile)
		if err != nil {
			return err
		}
		heap, err := os.Create(s.profile + ".allocs")
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		defer func() { _ = pprof.Lookup("allocs").WriteTo(heap, 0) }()
	}
	ways := []way{before(orders), after(orders)}
	if only != "" {
		ways = slices.DeleteFunc(ways, func(w way) bool { return w.name != only })
	}
	for _, clients := range s.clients {
		if err := measure(ctx, server, ways, clients, s); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, server *postgrestest.Server, ways []way, clients int, s settings) error {
	samples := make([][]sample, len(ways))
	turns := make([]func() (sample, error), len(ways))
	for i, w := range ways {
		one, end, err := opened(ctx, server, w, clients, s.duration)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		defer end(len(ways) == 1)
		turns[i] = one
	}
	for round := range s.rounds {
		for i := range ways {
			at := (i + round) % len(ways)
			one, err := turns[at]()
			if err != nil {
				return fmt.Errorf("%s: %w", ways[at].name, err)
			}
			samples[at] = append(samples[at], one)
		}
	}
	report(clients, ways, samples)
	return nil
}

// opened makes a database for the way and warms it up. It returns a turn on it, and what ends
// it, with a table of statements if that is wanted.
func opened(ctx context.Context, server *postgrestest.Server, w way, clients int, duration time.Duration) (
	func() (sample, error), func(table bool), error,
) {
	dsn, drop, err := server.Database(ctx)
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, dsn+"&pool_max_conns=16")
	if err != nil {
		return nil, nil, err
	}
	if err := w.prepare(ctx, pool); err != nil {
		return nil, nil, err
	}
	reserve, end, err := w.open(pool)
	if err != nil {
		return nil, nil, err
	}
	var begun uint64
	one := func() (sample, error) {
		begun += 1 << 40
		server, own := serverCPU(ctx, pool), ownCPU()
		one, n, err := turn(ctx, reserve, begun, clients, duration)
		if n > 0 {
			one.server = float64((serverCPU(ctx, pool) - server).Microseconds()) / float64(n)
			one.own = float64((ownCPU() - own).Microseconds()) / float64(n)
		}
		return one, err
	}
	if _, err := one(); err != nil {
		return nil, nil, err
	}
	_, err = pool.Exec(ctx, "VACUUM ANALYZE")
	return one, func(table bool) {
		if table {
			statements(ctx, pool)
		}
		_ = end()
		pool.Close()
		_ = drop(ctx)
	}, err
}

func report(clients int, ways []way, samples [][]sample) {
	var rates []float64
	for i, w := range ways {
		rate := median(samples[i], func(s sample) float64 { return s.rate })
		p99 := time.Duration(median(samples[i], func(s sample) float64 { return float64(s.p99) }))
		server := median(samples[i], func(s sample) float64 { return s.server })
		own := median(samples[i], func(s sample) float64 { return s.own })
		fmt.Printf("%4d clients  %-7s %9.0f/s  p99 %-9v  processor time %5.0f us server, %4.0f us client\n",
			clients, w.name, rate, p99.Round(10*time.Microsecond), server, own)
		rates = append(rates, rate)
	}
	if len(rates) == 2 {
		fmt.Printf("%4d clients  ratio   %9.2f\n", clients, rates[1]/rates[0])
	}
}

// statements prints what took the server's time.
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

// turn lets clients reserve as fast as they can.
func turn(ctx context.Context, reserve func(context.Context, uint64) error, first uint64, clients int, duration time.Duration) (sample, int, error) {
	times := make([][]time.Duration, clients)
	failures := make([]error, clients)
	begin := time.Now()
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for n := first + uint64(client)<<24; ; n++ {
				started := time.Now()
				if started.Sub(begin) > duration {
					return
				}
				if failures[client] = reserve(ctx, n); failures[client] != nil {
					return
				}
				times[client] = append(times[client], time.Since(started))
			}
		})
	}
	running.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	if err := errors.Join(failures...); err != nil || len(all) == 0 {
		return sample{}, 0, err
	}
	slices.Sort(all)
	return sample{rate: float64(len(all)) / took.Seconds(), p99: all[len(all)*99/100]}, len(all), nil
}
