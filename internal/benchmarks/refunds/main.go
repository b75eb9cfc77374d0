// Command refunds measures [couponkit.Service.Refund] beside payments, on one server of PostgreSQL
// and by turns: events of paid sessions, refunds whose money the host returns, and refunds whose
// money the processor returns. The processor is in memory. Every call has an order of its own, with
// a coupon whose use comes back at the first refund. It prints medians over the rounds, and their
// ratio to payments.
//
//	go run ./refunds
//	go run ./refunds -clients 8 -orders 1000 -rounds 9
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
)

type settings struct{ clients, orders, rounds int }

func main() {
	var s settings
	flag.IntVar(&s.clients, "clients", 64, "clients that call at once")
	flag.IntVar(&s.orders, "orders", 4_000, "calls of each kind in a round")
	flag.IntVar(&s.rounds, "rounds", 5, "rounds")
	flag.Parse()
	if s.clients < 1 || s.orders < s.clients || s.rounds < 1 {
		log.Fatal("at least one client, as many orders as clients, and one round")
	}
	if err := run(context.Background(), s, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	server, err := postgrestest.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	host, err := open(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.close(ctx)) }()
	if _, err := host.round(ctx, s, 0); err != nil { // to warm up
		return err
	}
	if _, err := host.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return err
	}
	rates := make([][]float64, len(calls))
	for n := range s.rounds {
		measured, err := host.round(ctx, s, n)
		if err != nil {
			return err
		}
		for i, rate := range measured {
			rates[i] = append(rates[i], rate)
		}
	}
	return report(out, s.clients, rates)
}

// round measures every call once, and returns the rates per second. The first call is another one in
// every round.
func (h *host) round(ctx context.Context, s settings, n int) ([]float64, error) {
	orders := make([][]redemption.Order, len(calls))
	for i, c := range calls {
		var err error
		if orders[i], err = h.sell(ctx, s, c.paid); err != nil {
			return nil, fmt.Errorf("orders for %s: %w", c.name, err)
		}
	}
	rates := make([]float64, len(calls))
	for i := range calls {
		at := (i + n) % len(calls)
		begun := time.Now()
		if err := together(s, func(i int) error { return calls[at].make(ctx, h, orders[at][i]) }); err != nil {
			return nil, fmt.Errorf("%s: %w", calls[at].name, err)
		}
		rates[at] = float64(s.orders) / time.Since(begun).Seconds()
	}
	return rates, nil
}

func report(out io.Writer, clients int, rates [][]float64) error {
	medians := make([]float64, len(rates))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(table, "%d clients\tmedian\tleast\tmost\tratio\n", clients)
	for i, c := range calls {
		slices.Sort(rates[i])
		medians[i] = rates[i][len(rates[i])/2]
		_, _ = fmt.Fprintf(table, "%s\t%.0f/s\t%.0f/s\t%.0f/s\t%.2f\n",
			c.name, medians[i], rates[i][0], rates[i][len(rates[i])-1], medians[i]/medians[0])
	}
	return table.Flush()
}
