package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// part is a table: ways beside each other under one condition.
type part struct {
	name, title string
	ways        []string
	clients     []int
	processes   int // that share the clients, unless 0
	network     time.Duration
	commit      time.Duration
	content
}

// content is what a database has before.
type content struct{ coupons, redemptions int }

const seeded = 200_000

// parts are all that is measured.
func parts() []part {
	hot, many := content{1, seeded}, content{10_000, seeded}
	return []part{
		{
			name: "hot", title: "One hot coupon", content: hot, clients: []int{1, 2, 8, 64, 256},
			ways: []string{"textbook", "serializable", "conditional", "slots", "single", "batched", "ceiling", "redis", "redis-pipelined"},
		},
		{
			name: "many", title: "10,000 coupons", content: many, clients: []int{2, 8, 64},
			ways: []string{"textbook", "serializable", "conditional", "slots", "single", "batched", "ceiling"},
		},
		{
			name: "slow", title: "One hot coupon, slow disk and network (fsync +1 ms, round trip +0.5 ms)", content: hot,
			clients: []int{64, 256}, network: 500 * time.Microsecond, commit: time.Millisecond,
			ways: []string{"textbook", "conditional", "batched", "ceiling"},
		},
		{
			name: "processes", title: "One hot coupon, four processes", content: hot, clients: []int{64, 256}, processes: 4,
			ways: []string{"batched"},
		},
		{
			name: "empty", title: "One hot coupon, a database filled from empty", content: content{1, 0}, clients: []int{64, 256},
			ways: []string{"batched", "ceiling"},
		},
	}
}

// cell is one measurement.
type cell struct {
	part      string
	content   content
	network   time.Duration
	commit    time.Duration
	processes int
	way       string
	clients   int

	calls     int
	perSecond float64
	p50, p99  time.Duration
}

// line is the cell in Go's benchmark format.
func (c cell) line() string {
	processes := ""
	if c.processes > 1 {
		processes = fmt.Sprintf("/processes=%d", c.processes)
	}
	if c.content.redemptions == 0 {
		processes += "/filled=empty"
	}
	return fmt.Sprintf("BenchmarkRedeem/coupons=%d/network=%s/commit-delay=%s%s/clients=%d/way=%s %d %.0f redemptions/s %d p50-ns %d p99-ns",
		c.content.coupons, c.network, c.commit, processes, c.clients, c.way, c.calls, c.perSecond, c.p50.Nanoseconds(), c.p99.Nanoseconds())
}

// bench measures on one server.
type bench struct {
	server       *postgrestest.Server
	duration     time.Duration
	out          io.Writer
	admin        *pgxpool.Pool
	version      string
	fileCopy     bool // databases can be copied as files
	templates    map[content]string
	made         int
	redis        *redisServer // nil if there is none
	redisVersion string
	cells        []cell
}

func (b *bench) start(ctx context.Context) (err error) {
	if b.admin, err = pgxpool.New(ctx, b.server.DSN()); err != nil {
		return err
	}
	var number int
	if err := b.admin.QueryRow(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::int`).
		Scan(&b.version, &number); err != nil {
		return err
	}
	b.fileCopy = number >= 150_000
	b.redis, b.redisVersion, err = startRedis(ctx)
	return err
}

func (b *bench) close() error {
	b.admin.Close()
	if b.redis == nil {
		return nil
	}
	return b.redis.stop()
}

// measure prints the table of one part.
func (b *bench) measure(ctx context.Context, s part) error {
	_, _ = fmt.Fprintf(b.out, "%s; %d redemptions before, %s a cell: redemptions per second, times the first way, median and 99th percentile\n",
		s.title, s.redemptions, b.duration)
	table := tabwriter.NewWriter(b.out, 2, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "clients")
	for _, n := range s.clients {
		_, _ = fmt.Fprintf(table, "\t%d\tx\tp50\tp99", n)
	}
	_, _ = fmt.Fprintln(table, "\t")
	first := make(map[int]float64)
	for _, name := range s.ways {
		w, known := ways()[name]
		if !known {
			return fmt.Errorf("there is no way %q", name)
		}
		if w.redis && b.redis == nil {
			continue
		}
		_, _ = fmt.Fprint(table, name)
		for _, n := range s.clients {
			c := cell{
				part: s.name, content: s.content, network: s.network, commit: s.commit, processes: s.processes, way: name, clients: n,
			}
			if err := b.fill(ctx, w, &c); err != nil {
				return fmt.Errorf("%s with %d clients: %w", name, n, err)
			}
			b.cells = append(b.cells, c)
			if first[n] == 0 {
				first[n] = c.perSecond
			}
			_, _ = fmt.Fprintf(table, "\t%.0f\t%.1f\t%s\t%s", c.perSecond, c.perSecond/first[n], rounded(c.p50), rounded(c.p99))
		}
		_, _ = fmt.Fprintln(table, "\t")
	}
	_, _ = fmt.Fprintln(table)
	return table.Flush()
}

func rounded(d time.Duration) time.Duration { return d.Round(d / 100).Round(10 * time.Microsecond) }

// fill measures one cell on a database of its own.
func (b *bench) fill(ctx context.Context, w way, c *cell) (err error) {
	if w.redis {
		return b.fillRedis(ctx, w, c)
	}
	dsn, drop, err := b.database(ctx, c.content, c.commit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, drop(context.WithoutCancel(ctx))) }()
	direct := dsn
	if c.network > 0 {
		proxy, slow, err := startProxy(ctx, dsn, c.network/2)
		if err != nil {
			return err
		}
		defer proxy.close()
		dsn = slow
	}
	var counted int64
	if c.processes > 1 {
		counted, err = b.fillFromProcesses(ctx, dsn, c)
	} else {
		counted, err = fillFromHere(ctx, w, dsn, b.duration, c)
	}
	if err != nil {
		return err
	}
	return verify(ctx, direct, c.content.redemptions, counted, w.unchecked)
}

// fillFromHere measures in this process.
func fillFromHere(ctx context.Context, w way, dsn string, duration time.Duration, c *cell) (counted int64, err error) {
	pool, err := connect(ctx, dsn, c.clients)
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	redeem, finish, err := w.open(ctx, pool)
	if err != nil {
		return 0, err
	}
	times, counted, err := run(ctx, redeem, load{
		clients: c.clients, coupons: c.content.coupons, begin: time.Now().Add(duration / 2), duration: duration,
	})
	if finishErr := finish(); err == nil {
		err = finishErr
	}
	if err == nil {
		c.summarise(times, duration)
	}
	return counted, err
}

func (c *cell) summarise(times []time.Duration, duration time.Duration) {
	slices.Sort(times)
	c.calls, c.perSecond = len(times), float64(len(times))/duration.Seconds()
	c.p50, c.p99 = times[len(times)/2], times[len(times)*99/100]
}

func connect(ctx context.Context, dsn string, clients int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = int32(max(clients, 16)), int32(min(clients, 16))
	return pgxpool.NewWithConfig(ctx, config)
}

// load is who calls, and when it is measured.
type load struct {
	first, clients int // the clients have the numbers from first on
	coupons        int
	begin          time.Time // until then it warms up
	duration       time.Duration
}

// run lets the clients redeem as fast as they can. It returns how long the calls
// took that ended in the measured time, and how many redemptions there were in all.
func run(ctx context.Context, redeem redeemer, l load) ([]time.Duration, int64, error) {
	var counted atomic.Int64
	end := l.begin.Add(l.duration)
	times := make([][]time.Duration, l.clients)
	failures := make([]error, l.clients)
	var running sync.WaitGroup
	for client := range l.clients {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				started := time.Now()
				if started.After(end) {
					return
				}
				if failures[client] = redeem(ctx, next(l.first+client, n, l.coupons)); failures[client] != nil {
					return
				}
				counted.Add(1)
				if now := time.Now(); now.After(l.begin) && now.Before(end) {
					times[client] = append(times[client], now.Sub(started))
				}
			}
		})
	}
	running.Wait()
	all := slices.Concat(times...)
	err := errors.Join(failures...)
	if err == nil && len(all) == 0 {
		err = errors.Join(ctx.Err(), errors.New("not one redemption ended in time"))
	}
	return all, counted.Load(), err
}
