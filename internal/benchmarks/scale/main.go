// Command scale compares a large shop with a small one: how long everything takes
// that store/pgxstore is asked for, and whether the process grows.
//
// Both shops are in one PostgreSQL, and the calls alternate between them, so that
// what disturbs one disturbs the other. It prints the median and the 99th percentile
// of each call and their ratios; then it lets many clients use the one shop and the
// other, and prints the resident memory of the process all the while. It ends with
// status 1 if a call takes more than twice as long on the large shop, or if the
// process grows.
//
//	go run ./scale                                   # 20,000 coupons beside 1,000,000; loads both
//	go run ./scale -coupons 100000 -redemptions 2000000
//	go run ./scale -small URL -large URL             # on databases that were loaded before
//	go run ./scale -wait -record results/scale.txt   # measures when told to; records what it measured
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/integration/scale"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// plan is what is measured.
type plan struct {
	small, large       scale.Size
	smallDSN, largeDSN string
	samples, clients   int
	load               time.Duration
	only               string
	wait               bool
	record             string
}

func main() {
	p := plan{small: scale.Size{Seed: 1}, large: scale.Size{Seed: 1}}
	flag.IntVar(&p.small.Coupons, "small-coupons", 20_000, "coupons of the small shop")
	flag.IntVar(&p.small.Redemptions, "small-redemptions", 400_000, "redemptions of the small shop")
	flag.IntVar(&p.large.Coupons, "coupons", 1_000_000, "coupons of the large shop")
	flag.IntVar(&p.large.Redemptions, "redemptions", 20_000_000, "redemptions of the large shop")
	flag.StringVar(&p.smallDSN, "small", "", "the small shop, loaded before; empty loads it into a throwaway server")
	flag.StringVar(&p.largeDSN, "large", "", "the large shop likewise")
	flag.IntVar(&p.samples, "samples", 1_000, "how often each call is made on each shop")
	flag.IntVar(&p.clients, "clients", 64, "how many clients use each shop at the end")
	flag.DurationVar(&p.load, "for", 20*time.Second, "for how long they use it")
	flag.StringVar(&p.only, "calls", "", "only the calls with this text in their name")
	flag.BoolVar(&p.wait, "wait", false, "after loading wait for a line on the standard input, until the machine has nothing else to do")
	flag.StringVar(&p.record, "record", "", "the file to which the cells are written in Go's benchmark format")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, p)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan) (err error) {
	var head strings.Builder // of the commit that was built, not of one that came while the shops were loaded
	if err := record.Header(ctx, &head, "github.com/couponkit/couponkit/internal/benchmarks/scale"); err != nil {
		return err
	}
	if p.smallDSN == "" || p.largeDSN == "" {
		// As much memory as PostgreSQL's manual gives to a machine of 16 GB.
		server, startErr := postgrestest.Start(ctx, "shared_buffers=4GB")
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		if p.smallDSN, err = load(ctx, server, p.small); err != nil {
			return err
		}
		if p.largeDSN, err = load(ctx, server, p.large); err != nil {
			return err
		}
	}
	if p.wait {
		if err := told(ctx, p); err != nil {
			return err
		}
	}
	r, err := measured(ctx, p)
	if err != nil {
		return err
	}
	r.print(os.Stdout)
	if p.record != "" {
		if err := r.write(p, head.String()); err != nil {
			return err
		}
	}
	return r.missed()
}

// told waits for a line on the standard input.
func told(ctx context.Context, p plan) error {
	fmt.Fprintf(os.Stderr, "loaded: -small %s -large %s; waiting for a line\n", p.smallDSN, p.largeDSN)
	line := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		line <- err
	}()
	select {
	case err := <-line:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// measured opens both shops and measures.
func measured(ctx context.Context, p plan) (results, error) {
	small, err := open(ctx, p.smallDSN)
	if err != nil {
		return results{}, err
	}
	defer small.close()
	large, err := open(ctx, p.largeDSN)
	if err != nil {
		return results{}, err
	}
	defer large.close()
	return p.measure(ctx, [2]database{small, large})
}

// load makes a database with a shop of that size.
func load(ctx context.Context, server *postgrestest.Server, size scale.Size) (string, error) {
	dsn, _, err := server.Database(ctx) // it goes with the server
	if err != nil {
		return "", err
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, "CREATE EXTENSION IF NOT EXISTS pg_trgm"); err != nil {
		return "", err
	}
	begun := time.Now()
	err = scale.Load(ctx, dsn, size, func(what string) {
		fmt.Fprintf(os.Stderr, "%6.0fs %s\n", time.Since(begun).Seconds(), what)
	})
	return dsn, err
}

// database is a shop and the store on it.
type database struct {
	pool *pgxpool.Pool
	*pgxstore.Store
}

func open(ctx context.Context, dsn string) (database, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return database{}, err
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return database{}, err
	}
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		pool.Close()
		return database{}, err
	}
	s, err := pgxstore.New(pool, pgxstore.Options{})
	return database{pool: pool, Store: s}, err
}

func (d database) close() {
	_ = d.Close() // nothing of it can fail
	d.pool.Close()
}

// bytes is how large the database is.
func (d database) bytes(ctx context.Context) (size string, err error) {
	err = d.pool.QueryRow(ctx, "SELECT pg_size_pretty(pg_database_size(current_database()))", pgx.QueryExecModeExec).Scan(&size)
	return size, err
}

// version is that of PostgreSQL, and what matters of its settings.
func (d database) version(ctx context.Context) (version string, err error) {
	err = d.pool.QueryRow(ctx, `SELECT format('%s, fsync %s, shared_buffers %s',
		current_setting('server_version'), current_setting('fsync'), current_setting('shared_buffers'))`, pgx.QueryExecModeExec).Scan(&version)
	return version, err
}
