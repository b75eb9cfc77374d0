// Command campaign measures codes of campaigns beside their plain alternatives, by turns: storing and importing codes beside a
// bare COPY, or beside prepared inserts on SQLite; one code among many beside one among few; reservations of distinct codes
// beside those of one hot code; and switching a batch beside one UPDATE. It prints medians and ratios.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// settings are the sizes of all measurements.
type settings struct {
	rows     []string
	rounds   int
	codes    int           // that are stored
	small    int           // codes of the small table
	large    int           // codes of the large table
	lookUps  int           // in each turn
	switched int           // codes of the batch that is switched
	clients  int           // that reserve
	duration time.Duration // of each turn of reservations
}

// way is one of the alternatives of a measurement. turn returns the time of one turn.
type way struct {
	name string
	turn func(ctx context.Context, round int) (time.Duration, error)
}

func main() {
	var s settings
	rows := flag.String("rows", "store,look,redeem,switch,sqlite", "what is measured")
	flag.IntVar(&s.rounds, "rounds", 3, "rounds")
	flag.IntVar(&s.codes, "codes", 1_000_000, "codes that are stored")
	flag.IntVar(&s.small, "small", 1_000, "codes of the small table")
	flag.IntVar(&s.large, "large", 10_000_000, "codes of the large table")
	flag.IntVar(&s.lookUps, "look-ups", 2_000, "look-ups of each turn")
	flag.IntVar(&s.switched, "switched", 300_000, "codes of the batch that is switched")
	flag.IntVar(&s.clients, "clients", 64, "clients that reserve")
	flag.DurationVar(&s.duration, "duration", 3*time.Second, "of each turn of reservations")
	flag.Parse()
	s.rows = strings.Split(*rows, ",")
	if err := run(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, s settings) (err error) {
	if slices.Contains(s.rows, "sqlite") {
		if err := measureSQLite(ctx, s); err != nil {
			return fmt.Errorf("sqlite: %w", err)
		}
	}
	server, err := postgrestest.Start(ctx, "shared_buffers=512MB", "max_wal_size=4GB")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, row := range s.rows {
		measure := map[string]func(context.Context, *postgrestest.Server, settings) error{
			"store": measureStoring, "look": measureLookUps, "redeem": measureReservations, "switch": measureSwitching,
		}[row]
		if measure == nil {
			continue
		}
		if err := measure(ctx, server, s); err != nil {
			return fmt.Errorf("%s: %w", row, err)
		}
	}
	return nil
}

// compare runs the ways by turns. Each round begins with another way, because what a way has written may reach the disk
// during the next. compare prints the median of each way, and its ratio to the last way.
func compare(ctx context.Context, s settings, title string, ways ...way) error {
	all := make([][]time.Duration, len(ways))
	for round := range s.rounds {
		for turn := range ways {
			i := (round + turn) % len(ways)
			w := ways[i]
			took, err := w.turn(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			all[i] = append(all[i], took)
		}
	}
	medians := make([]time.Duration, len(ways))
	for i, each := range all {
		slices.Sort(each)
		medians[i] = each[len(each)/2]
	}
	last := medians[len(medians)-1]
	for i, w := range ways {
		_, _ = fmt.Fprintf(os.Stdout, "%s: %s %v, %.2f times (%v)\n", title, w.name, medians[i], float64(medians[i])/float64(last), all[i])
	}
	return nil
}
