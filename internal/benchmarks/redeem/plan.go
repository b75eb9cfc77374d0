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

// plan is what is measured.
type plan struct {
	server   *postgrestest.Server
	only     []string
	clients  []int
	coupons  int
	duration time.Duration
	network  time.Duration
	seeded   int
}

// cell is one measurement.
type cell struct {
	perSecond float64
	p50, p99  time.Duration
}

func (p plan) run(ctx context.Context, out io.Writer) error {
	_, _ = fmt.Fprintf(out, "%d coupon(s), %d redemptions before, network +%s, %s a cell\n", p.coupons, p.seeded, p.network, p.duration)
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "way")
	for _, n := range p.clients {
		_, _ = fmt.Fprintf(table, "\t%d: per s\tp50\tp99", n)
	}
	_, _ = fmt.Fprintln(table, "\t")
	for _, w := range ways() {
		if p.only != nil && !slices.Contains(p.only, w.name) {
			continue
		}
		_, _ = fmt.Fprint(table, w.name)
		for _, n := range p.clients {
			measured, err := p.cell(ctx, w, n)
			if err != nil {
				return fmt.Errorf("%s with %d clients: %w", w.name, n, err)
			}
			_, _ = fmt.Fprintf(table, "\t%.0f\t%s\t%s", measured.perSecond, rounded(measured.p50), rounded(measured.p99))
		}
		_, _ = fmt.Fprintln(table, "\t")
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return table.Flush()
}

func rounded(d time.Duration) time.Duration { return d.Round(d / 100).Round(10 * time.Microsecond) }

// cell measures one way with a number of clients on a database of its own.
func (p plan) cell(ctx context.Context, w way, clients int) (c cell, err error) {
	dsn, drop, err := p.server.Database(ctx)
	if err != nil {
		return cell{}, err
	}
	defer func() { err = errors.Join(err, drop(context.WithoutCancel(ctx))) }()
	if p.network > 0 {
		proxy, slow, err := startProxy(ctx, dsn, p.network/2)
		if err != nil {
			return cell{}, err
		}
		defer proxy.close()
		if err := seed(ctx, dsn, p.coupons, p.seeded); err != nil {
			return cell{}, err
		}
		dsn = slow
	} else if err := seed(ctx, dsn, p.coupons, p.seeded); err != nil {
		return cell{}, err
	}
	pool, err := connect(ctx, dsn, clients)
	if err != nil {
		return cell{}, err
	}
	defer pool.Close()
	redeem, finish, err := w.open(ctx, pool)
	if err != nil {
		return cell{}, err
	}
	c, counted, err := p.measure(ctx, redeem, clients)
	if finishErr := finish(); err == nil {
		err = finishErr
	}
	if err == nil {
		err = verify(ctx, pool, p.seeded, counted, w.unchecked)
	}
	return c, err
}

func connect(ctx context.Context, dsn string, clients int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns, config.MinConns = int32(max(clients, 16)), int32(min(clients, 16))
	return pgxpool.NewWithConfig(ctx, config)
}

// measure lets the clients redeem as fast as they can, and times the calls after a
// warm-up. It returns how many redemptions there were in all.
func (p plan) measure(ctx context.Context, redeem redeemer, clients int) (cell, int64, error) {
	var counted atomic.Int64
	var stop atomic.Bool
	begin := time.Now().Add(p.duration / 3)
	times := make([][]time.Duration, clients)
	failures := make([]error, clients)
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			for n := 0; !stop.Load() && failures[client] == nil; n++ {
				started := time.Now()
				failures[client] = redeem(ctx, next(client, n, p.coupons))
				if failures[client] == nil {
					counted.Add(1)
				}
				if started.After(begin) {
					times[client] = append(times[client], time.Since(started))
				}
			}
		})
	}
	select {
	case <-time.After(time.Until(begin.Add(p.duration))):
	case <-ctx.Done():
	}
	stop.Store(true)
	took := time.Since(begin)
	running.Wait()
	all := slices.Concat(times...)
	slices.Sort(all)
	if err := errors.Join(failures...); err != nil || len(all) == 0 {
		return cell{}, 0, errors.Join(err, ctx.Err())
	}
	return cell{
		perSecond: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
	}, counted.Load(), nil
}
