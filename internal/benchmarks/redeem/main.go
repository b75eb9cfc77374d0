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
	"errors"
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
	var p plan
	ways := flag.String("ways", "", "which ways, by name, with commas; empty is all")
	clients := flag.String("clients", "1,2,8,64,256", "how many clients call at once, with commas")
	flag.IntVar(&p.coupons, "coupons", 1, "over how many coupons the calls are spread")
	flag.DurationVar(&p.duration, "for", 3*time.Second, "how long each cell runs, after a third of that to warm up")
	flag.DurationVar(&p.network, "network", 0, "what a round trip to the server takes longer")
	commit := flag.Duration("commit-delay", 0, "what a commit takes longer, as on a slow disk")
	flag.IntVar(&p.seeded, "seeded", 200_000, "redemptions that are in the table before")
	flag.Parse()
	if *ways != "" {
		p.only = strings.Split(*ways, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, p, *clients, *commit)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redeem:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, p plan, clients string, commit time.Duration) (err error) {
	if p.clients, err = numbers(clients); err != nil {
		return err
	}
	if p.server, err = postgrestest.Start(ctx, slowDisk(commit)...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.server.Close()) }()
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
