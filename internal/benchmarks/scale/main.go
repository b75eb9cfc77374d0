// Command scale measures every call of the store on pgx in a large shop beside one of a fiftieth of
// it, on one server, and prints medians and their ratio: a call that finds its rows by an index
// takes about as long in both.
//
//	go run ./scale                                  # 100,000 coupons and 2,000,000 uses; 5 minutes
//	go run ./scale -coupons 1000000 -uses 20000000  # needs 40 GB
//
// The search of administrators reads every coupon, and is left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// part is how much smaller the small shop is.
const part = 50

func main() {
	coupons := flag.Int("coupons", 100_000, "coupons of the large shop")
	uses := flag.Int("uses", 2_000_000, "uses of the large shop; each has an order")
	repeats := flag.Int("repeats", 300, "how often each call is made")
	flag.Parse()
	if *coupons < part || *uses < *coupons || *repeats < 1 {
		log.Fatalf("at least %d coupons, as many uses as coupons, and one call", part)
	}
	if err := run(context.Background(), *coupons, *uses, *repeats); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, coupons, uses, repeats int) (err error) {
	server, err := postgrestest.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	var medians [2]map[string]time.Duration
	for i, size := range []shop{{coupons / part, uses / part}, {coupons, uses}} {
		if medians[i], err = measured(ctx, server, size, repeats); err != nil {
			return fmt.Errorf("%d uses: %w", size.uses, err)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "call\t%d uses\t%d uses\tratio\t\n", uses/part, uses)
	for _, c := range calls {
		small, large := medians[0][c.name], medians[1][c.name]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t\n", c.name, small.Round(time.Microsecond), large.Round(time.Microsecond),
			float64(large)/float64(small))
	}
	return table.Flush()
}

// measured makes a shop and returns the median of every call.
func measured(ctx context.Context, server *postgrestest.Server, size shop, repeats int) (medians map[string]time.Duration, err error) {
	dsn, drop, err := server.Database(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop(ctx)) }()
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if err := size.fill(ctx, pool); err != nil {
		return nil, err
	}
	s, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	medians = map[string]time.Duration{}
	m := &meter{shop: size, store: s, random: rand.New(rand.NewPCG(1, 1))}
	for _, c := range calls {
		times := make([]time.Duration, 0, repeats)
		for i := range repeats + warm {
			begun := time.Now()
			if err := c.make(ctx, m); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			if i >= warm {
				times = append(times, time.Since(begun))
			}
		}
		slices.Sort(times)
		medians[c.name] = times[len(times)/2]
	}
	return medians, nil
}

// warm is how often a call is made before it is measured: connections, plans and caches.
const warm = 50
