// Command service puts the reference service under load and then looks whether it has
// kept its books. It builds the service, starts it as an operator would, signs customers
// in, and lets wrk (https://github.com/wg/wrk) check out.
//
//	go run ./service                                                 # SQLite and PostgreSQL
//	go run ./service -beside 31f2763 -store postgres -connections 64 # two commits by turns
//
// # What is measured
//
// Whole checkouts: POST /payment/cart-checkout, the payment on the simulated processor's
// page, and GET /order/{id} until the webhook, which the processor posts to the service by
// HTTP, has made the order paid.
//
// Nothing is switched off but the limit of checkouts. The customers take turns; each has a
// session and a CSRF token, and signed in with a password. The service believes a proxy
// about addresses, which wrk plays, so that each customer has an address.
//
// # What is checked
//
// While the measured coupon is used, another one runs out: every fifth checkout tries
// it. Afterwards the redemptions, counts and orders, by the administration's API and in the
// database, are compared with what was paid and what the customers saw.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings are the options of a run.
type settings struct {
	stores      []string
	connections []int
	duration    time.Duration
	scarce      int
	rounds      int
	beside      string // the commit to compare with, or ""
}

// crowdSize is the number of customers. It is the maximum number of connections.
const crowdSize = 256

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	s, err := readSettings(args, notes)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "couponkit-load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := bench{settings: s, dir: dir, notes: notes}
	ways, err := b.prepare(ctx)
	if err != nil {
		return err
	}
	for _, store := range s.stores {
		table, err := b.compare(ctx, store, ways)
		if err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
		if _, err := io.WriteString(out, table); err != nil {
			return err
		}
	}
	return nil
}

func readSettings(args []string, notes io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(notes)
	stores := flags.String("store", "sqlite,postgres", "what is measured, with commas: memory, sqlite, postgres")
	connections := flags.String("connections", "1,8,64,256", "how many connections there are, with commas")
	flags.DurationVar(&s.duration, "for", 8*time.Second, "how long each number of connections is measured")
	flags.IntVar(&s.scarce, "scarce", 40, "how many uses the coupon has that runs out")
	flags.IntVar(&s.rounds, "rounds", 5, "rounds")
	flags.StringVar(&s.beside, "beside", "", "a commit whose service is measured too, by turns")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	s.stores = strings.Split(*stores, ",")
	for _, store := range s.stores {
		switch store {
		case "memory", "sqlite", "postgres":
		default:
			return settings{}, fmt.Errorf("there is no store %q", store)
		}
	}
	for text := range strings.SplitSeq(*connections, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > crowdSize {
			return settings{}, fmt.Errorf("%q is no number of connections", text)
		}
		s.connections = append(s.connections, n)
	}
	if s.duration < time.Second || s.scarce < 1 || s.rounds < 1 {
		return settings{}, errors.New("measure for a second or longer, with one use and one round or more")
	}
	return s, nil
}
