// Command generate fills an empty PostgreSQL database with a shop of any size:
//
//	go run ./scale/generate -dsn postgres://localhost/shop -coupons 1000000 -redemptions 20000000 -check
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/scale"
)

func main() {
	var size scale.Size
	dsn := flag.String("dsn", "", "the database, as a URL")
	flag.IntVar(&size.Coupons, "coupons", 20_000, "how many coupons")
	flag.IntVar(&size.Redemptions, "redemptions", 400_000, "how many redemptions")
	flag.Uint64Var(&size.Seed, "seed", 1, "what everything is drawn from")
	check := flag.Bool("check", false, "read everything back and check it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *dsn, size, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dsn string, size scale.Size, check bool) error {
	begun := time.Now()
	progress := func(what string) { fmt.Printf("%7.1fs %s\n", time.Since(begun).Seconds(), what) }
	if err := scale.Load(ctx, dsn, size, progress); err != nil {
		return err
	}
	if check {
		progress("check")
		pool, err := pgxpool.New(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		if err := scale.Check(ctx, pool); err != nil {
			return err
		}
	}
	progress("done")
	return nil
}
