// Command service puts the reference service under load and then looks whether it has
// kept its books. It builds the service, starts it as an operator would, signs
// customers in, and lets wrk (https://github.com/wg/wrk) look coupons up and check
// out, each time with more connections.
//
//	go run ./service                                     # every store
//	go run ./service -store sqlite -for 10s
//	go run ./service -for 6s -record results/service.txt # for the chart
//	go run ./service -for 6s -store postgres -record results/service.txt -add
//	go run ./service -recorded results/service.txt       # the tables of what is recorded
//	go run ./service -beside 31f2763 -store postgres -connections 64 # two commits by turns
//
// # What is measured
//
// Apply is GET /payment/apply-coupon/{code} of a coupon that exists. Checkout is the
// whole of it: POST /payment/cart-checkout, the payment on the simulated processor's
// page, and GET /order/{id} until the webhook, which the processor posts to the
// service by HTTP, has made the order paid. Beside both runs a handler that does
// nothing but answer with what it was sent.
//
// Nothing is switched off. The customers take turns; each has a session and a CSRF
// token of their own and signed in with their password. The service believes a proxy
// about addresses, which wrk plays, so that each customer has an address; the attempt
// limits are the default ones.
//
// # What is checked
//
// While the measured coupon is used, another one runs out: every fifth checkout tries
// it. Afterwards the redemptions, counts and orders, as the administration's API tells
// them and as they stand in the database, are compared with each other, with what the
// processor was paid, and with what the customers saw. Any difference fails the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// echoVariable lets this program be the handler that only echoes, at the address that
// it names.
const echoVariable = "COUPONKIT_BENCHMARK_ECHO"

// settings of a run.
type settings struct {
	stores      []string
	connections []int
	duration    time.Duration
	scarce      int
	service     []string // more arguments for the service
	record      string   // where the figures are written; empty is nowhere
	add         bool     // whether what is there stays
	recorded    string   // whose figures are shown instead of measuring; empty is nobody's
	besides     string   // the commit that is measured too, by turns; empty is none
	rounds      int      // turns of each
}

// crowdSize is how many customers there are, and the most connections. They are the
// same for every number of connections: a customer who uses one coupon a thousand
// times is nobody whom a shop would know.
const crowdSize = 256

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "service:", err)
	stop()
	os.Exit(1) //nolint:gocritic // what is deferred was done
}

func run(ctx context.Context, args []string, out, notes io.Writer) error {
	if address := os.Getenv(echoVariable); address != "" {
		return serveEcho(address)
	}
	s, err := readSettings(args, notes)
	if err != nil {
		return err
	}
	if s.recorded != "" {
		return showRecorded(out, s.recorded)
	}
	dir, err := os.MkdirTemp("", "couponkit-load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := bench{settings: s, dir: dir, notes: notes}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if s.besides != "" {
		return b.beside(ctx, out)
	}
	for _, store := range s.stores {
		report, err := b.measure(ctx, store)
		if err != nil {
			return fmt.Errorf("%s: %w", store, err)
		}
		if _, err := io.WriteString(out, report.String()); err != nil {
			return err
		}
		if s.record == "" {
			continue
		}
		if err := report.keep(ctx, s.record, s.add); err != nil {
			return err
		}
		s.add = true
	}
	return nil
}

func readSettings(args []string, notes io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(notes)
	stores := flags.String("store", "echo,memory,sqlite,postgres", "what is measured, with commas; echo is the handler that only echoes")
	connections := flags.String("connections", "1,8,64,256", "how many connections there are, with commas")
	flags.DurationVar(&s.duration, "for", 8*time.Second, "how long each number of connections is measured")
	flags.IntVar(&s.scarce, "scarce", 40, "how many uses the coupon has that runs out")
	flags.StringVar(&s.record, "record", "", "the file that the figures are written to")
	flags.BoolVar(&s.add, "add", false, "with -record: keep what the file has, and add other stores or more runs")
	flags.StringVar(&s.recorded, "recorded", "", "a file of figures, whose tables are shown instead of measuring")
	flags.StringVar(&s.besides, "beside", "", "a commit whose service is measured too, by turns; prints medians of checkouts and their ratio")
	flags.IntVar(&s.rounds, "rounds", 5, "with -beside: how many turns each has")
	service := flags.String("service", "", "more arguments for the service, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	s.stores, s.service = strings.Split(*stores, ","), strings.Fields(*service)
	for _, store := range s.stores {
		switch store {
		case "echo", "memory", "sqlite", "postgres":
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

// serveEcho answers every request with its body, or with as many bytes as the answer
// about a coupon has.
func serveEcho(address string) error {
	const answer = `{"couponId":"cpn_000000000000000000000000","code":"LOAD-1","discountType":"PERCENTAGE","discountValue":"10","currency":"EUR","currencySymbol":"€"}` + "\n"
	server := http.Server{Addr: address, ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, answer)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write(body)
	})}
	return server.ListenAndServe()
}
