// Command redeem measures how many redemptions a second PostgreSQL takes, in every
// way that people count them, side by side on one throwaway server with fsync on.
//
// Every way keeps a limit over all customers and one per customer exactly, and is
// idempotent by key; it writes the same table with the same indexes. The ceiling
// writes the same rows in batches and checks nothing. Nothing but ratios between
// rows of one run means anything on another machine.
//
//	go run ./redeem                     # everything
//	go run ./redeem -ways textbook,batched -clients 64,256 -for 5s
//	go run ./redeem -coupons 10000
//	go run ./redeem -network 500us -commit-delay 1ms
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "redeem:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context) (err error) {
	ways := flag.String("ways", "", "which ways, by name, with commas; empty is all")
	clients := flag.String("clients", "1,2,8,64,256", "how many clients call at once, with commas")
	coupons := flag.Int("coupons", 1, "over how many coupons the calls are spread")
	duration := flag.Duration("for", 3*time.Second, "how long each cell runs, after a third of that to warm up")
	network := flag.Duration("network", 0, "what a round trip to the server takes longer")
	commit := flag.Duration("commit-delay", 0, "what a commit takes longer, as on a slow disk")
	seeded := flag.Int("seeded", 200_000, "redemptions that are in the table before")
	flag.Parse()

	counts, err := numbers(*clients)
	if err != nil {
		return err
	}
	server, err := postgrestest.Start(ctx, slowDisk(*commit)...)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := server.Close(); err == nil {
			err = closeErr
		}
	}()
	p := plan{
		server: server, clients: counts, coupons: *coupons, duration: *duration, network: *network, seeded: *seeded,
	}
	if *ways != "" {
		p.only = strings.Split(*ways, ",")
	}
	return p.run(ctx, os.Stdout)
}

func numbers(list string) ([]int, error) {
	var counts []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is no number of clients", text)
		}
		counts = append(counts, n)
	}
	return counts, nil
}
