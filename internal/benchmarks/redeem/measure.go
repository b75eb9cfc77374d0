package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// bench measures on one server.
type bench struct {
	server       *postgrestest.Server
	rounds       int
	turns        int           // of each cell in a round
	duration     time.Duration // of all of them
	notes        io.Writer     // how far it is
	admin        *pgxpool.Pool
	version      string
	fileCopy     bool // databases can be copied as files
	templates    map[content]string
	made         int
	redis        *redisServer // nil if there is none
	redisVersion string
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

// measure measures each cell of a part in every round. The ways follow each other with the
// same number of clients, so that a disturbance meets neighbours, and in every second turn
// backwards: where the disk gets slower and slower, each way is now before the others and now
// behind them.
func (b *bench) measure(ctx context.Context, p part) (results, error) {
	rows, err := b.possible(p)
	if err != nil {
		return nil, err
	}
	measured := make(results)
	for round := range b.rounds {
		note := fmt.Sprintf("%s, round %d of %d", p.name, round+1, b.rounds)
		if err := b.round(ctx, p, rows, measured, note); err != nil {
			return nil, err
		}
	}
	return measured, nil
}

// round measures each cell once, in its turns. Each row has a new database for it, on which
// the numbers of clients follow each other.
func (b *bench) round(ctx context.Context, p part, rows []row, measured results, note string) (err error) {
	var databases databases
	defer func() { err = errors.Join(err, databases.drop(context.WithoutCancel(ctx))) }()
	for _, clients := range p.clients {
		seen, err := b.takeTurns(ctx, p, rows, clients, &databases)
		if err != nil {
			return err
		}
		var said strings.Builder
		for _, r := range rows {
			s, err := seen[r].summarise(b.duration)
			if err != nil {
				return fmt.Errorf("%s with %d clients: %w", r.label(), clients, err)
			}
			c := p.cell(r, clients)
			measured[c] = append(measured[c], s)
			fmt.Fprintf(&said, " %s %.0f", r.label(), s.perSecond)
		}
		_, _ = fmt.Fprintf(b.notes, "%s, %d clients:%s\n", note, clients, said.String())
	}
	return nil
}

// takeTurns measures the rows with so many clients, one turn of each after the other.
func (b *bench) takeTurns(ctx context.Context, p part, rows []row, clients int, databases *databases) (map[row]observed, error) {
	seen := make(map[row]observed)
	for range b.turns {
		slices.Reverse(rows)
		for _, r := range rows {
			more, err := b.fill(ctx, p.cell(r, clients), databases)
			if err != nil {
				return nil, fmt.Errorf("%s with %d clients: %w", r.label(), clients, err)
			}
			o := seen[r]
			o.add(more)
			seen[r] = o
		}
	}
	return seen, nil
}

// possible are the rows of a part for which the servers are there.
func (b *bench) possible(p part) (rows []row, err error) {
	for _, r := range p.rows {
		w, known := ways()[r.way]
		if !known {
			return nil, fmt.Errorf("there is no way %q", r.way)
		}
		if !w.redis || b.redis != nil {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// fill measures one turn of a cell, and checks its books.
func (b *bench) fill(ctx context.Context, c cell, databases *databases) (observed, error) {
	w := ways()[c.way]
	if w.redis {
		return b.fillRedis(ctx, w, c)
	}
	return b.fillPostgres(ctx, w, c, databases)
}

// turn is how long a turn is measured.
func (b *bench) turn() time.Duration { return b.duration / time.Duration(b.turns) }

func (b *bench) fillPostgres(ctx context.Context, w way, c cell, databases *databases) (observed, error) {
	d, err := databases.of(ctx, b, c)
	if err != nil {
		return observed{}, err
	}
	dsn := d.dsn
	if c.network > 0 {
		proxy, slow, err := startProxy(ctx, dsn, c.network/2)
		if err != nil {
			return observed{}, err
		}
		defer proxy.close()
		dsn = slow
	}
	var o observed
	if c.processes > 1 {
		o, err = b.fillFromProcesses(ctx, dsn, c, d.clients)
	} else {
		o, err = fillFromHere(ctx, w, dsn, c.clients, func() load { return b.now(c, d.clients) })
	}
	if err != nil {
		return o, err
	}
	d.made += o.Counted
	d.clients += c.clients
	return o, d.verify(ctx, w.unchecked)
}

// fillFromHere measures in this process. It asks for the load when everything is open.
func fillFromHere(ctx context.Context, w way, dsn string, clients int, begin func() load) (o observed, err error) {
	pool, err := connect(ctx, dsn, clients, w.batches)
	if err != nil {
		return o, err
	}
	defer pool.Close()
	redeem, finish, err := w.open(ctx, pool)
	if err != nil {
		return o, err
	}
	o, err = run(ctx, redeem, begin())
	return o, errors.Join(err, finish())
}

// forBatches are enough connections for ways that gather calls.
const forBatches = 16

// connect opens a connection for each client, or for batches a few.
func connect(ctx context.Context, dsn string, clients int, batches bool) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(max(clients, forBatches))
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if batches {
		clients = min(clients, forBatches)
	}
	if err := open(ctx, pool, clients); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// open opens connections now: a server process takes milliseconds to start, which is
// nothing to measure.
func open(ctx context.Context, pool *pgxpool.Pool, connections int) error {
	held := make([]*pgxpool.Conn, connections)
	failures := make([]error, connections)
	var running sync.WaitGroup
	for i := range connections {
		running.Go(func() { held[i], failures[i] = pool.Acquire(ctx) })
	}
	running.Wait()
	for _, c := range held {
		if c != nil {
			c.Release()
		}
	}
	return errors.Join(failures...)
}
