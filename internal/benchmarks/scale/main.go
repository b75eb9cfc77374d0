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
	var medians [2]map[string]passes
	for i, size := range []shop{{coupons / part, uses / part}, {coupons, uses}} {
		if medians[i], err = measured(ctx, server, size, repeats); err != nil {
			return fmt.Errorf("%d uses: %w", size.uses, err)
		}
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(table, "call\t%d uses\t%d uses\tratio\tat first\tratio\t\n", uses/part, uses)
	for _, c := range calls {
		small, large := medians[0][c.name], medians[1][c.name]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%.2f\t%s\t%.2f\t\n", c.name, small.again.Round(time.Microsecond), large.again.Round(time.Microsecond),
			float64(large.again)/float64(small.again), large.first.Round(time.Microsecond), float64(large.first)/float64(small.first))
	}
	return table.Flush()
}

// passes are two medians of a call. In the first pass nobody has asked for the records yet. The
// second pass asks for the same records, which the server then has in memory.
type passes struct{ first, again time.Duration }

// measured makes a shop and returns the medians of every call.
func measured(ctx context.Context, server *postgrestest.Server, size shop, repeats int) (medians map[string]passes, err error) {
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
	medians = map[string]passes{}
	m := &meter{shop: size, store: s}
	for i, c := range calls {
		var of passes
		for _, median := range []*time.Duration{&of.first, &of.again} {
			m.random = rand.New(rand.NewPCG(1, uint64(i))) // the same records for every shop and pass
			if *median, err = m.median(ctx, c.make, repeats); err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		medians[c.name] = of
	}
	return medians, nil
}

func (m *meter) median(ctx context.Context, call func(context.Context, *meter) error, repeats int) (time.Duration, error) {
	times := make([]time.Duration, repeats)
	for i := range times {
		begun := time.Now()
		if err := call(ctx, m); err != nil {
			return 0, err
		}
		times[i] = time.Since(begun)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}
