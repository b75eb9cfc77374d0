// Command redeem measures how many uses of one hot coupon a second SQLite takes, in
// every way that people count them, side by side on files on the same disk:
//
//   - place: a place is kept, in exchange for points. One call, one row.
//   - use: a place is kept, with its order, and the payment completes both. Two
//     calls that write two rows each.
//
// Every way keeps a limit over all customers and one per customer exactly, and is
// idempotent by key; it writes the same rows with the same indexes by prepared
// statements. The ceiling writes the same rows in batches and checks nothing.
// Nothing but ratios between rows of one run means anything on another machine.
//
// It measures in rounds, each cell once in every round and the ways in turns, every second
// round backwards, so that a disk that pauses or gets slower meets neighbours alike. What is
// told is the median of the rounds, and of ratios the median of the rounds' ratios.
//
//	go run ./redeem                                  # everything, and the goals
//	go run ./redeem -drivers modernc -synchronous full -clients 64 -for 5s
//	go run ./redeem -what use -ways textbook,batched
//	go run -tags mattn ./redeem                      # the C library instead of ncruces/go-sqlite3
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// plan is what is measured.
type plan struct {
	what        []string
	drivers     []string
	synchronous []string
	ways        []string
	clients     []int
	rounds      int
	duration    time.Duration
	seeded      int
	random      bool
	drop        []string
	dir         string
}

var settings = map[string]sqlstore.Synchronous{"full": sqlstore.Full, "normal": sqlstore.Normal}

func main() {
	var p plan
	what := flag.String("what", "place,use", "what the clients do, with commas")
	driverNames := flag.String("drivers", "modernc,"+sqlitedriver.SecondName, "which drivers, with commas")
	synchronous := flag.String("synchronous", "full,normal", "which settings of synchronous, with commas")
	wayNames := flag.String("ways", "", "which ways, by name, with commas; empty is all")
	clients := flag.String("clients", "1,8,64", "how many clients call at once, with commas")
	flag.IntVar(&p.rounds, "rounds", 1, "how often each cell is measured")
	flag.DurationVar(&p.duration, "for", 2*time.Second, "how long each cell runs, after a quarter of that to warm up")
	flag.IntVar(&p.seeded, "seeded", 100_000, "uses that are in the tables before")
	flag.BoolVar(&p.random, "random", false, "IDs are random, so that each is written to a page of its own")
	drop := flag.String("drop", "", "indexes to do without, with commas, to see what they cost")
	profile := flag.String("cpuprofile", "", "write a profile of the processor to this file, of all cells together")
	dir := flag.String("dir", "", "where the files are made; empty is the system's place for temporary files")
	flag.Parse()
	p.drop = list(*drop)
	p.what, p.drivers, p.synchronous, p.ways = list(*what), list(*driverNames), list(*synchronous), list(*wayNames)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := profiled(*profile, func() error { return p.execute(ctx, *clients, *dir, os.Stdout) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redeem:", err)
		os.Exit(1)
	}
}

// profiled runs the function, and writes its profile if a file is named.
func profiled(file string, run func() error) (err error) {
	if file == "" {
		return run()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return run()
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func (p plan) execute(ctx context.Context, clients, dir string, out io.Writer) (err error) {
	for _, text := range list(clients) {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of clients", text)
		}
		p.clients = append(p.clients, n)
	}
	if p.rounds < 1 {
		return errors.New("measure in one round or more")
	}
	if p.dir, err = os.MkdirTemp(dir, "couponkit-redeem-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	_, _ = fmt.Fprintf(out, "1 coupon; %d uses before, %s a cell, rounds: %d; uses per second, times the first way, median and 99th percentile\n",
		p.seeded, p.duration, p.rounds)
	var met goals
	for _, what := range p.what {
		if what != place && what != use {
			return fmt.Errorf("there is nothing called %q to do", what)
		}
		for _, driver := range p.drivers {
			if sqlitedriver.ByName()[driver] == "" {
				return fmt.Errorf("there is no driver %q", driver)
			}
			for _, synchronous := range p.synchronous {
				if settings[synchronous] == 0 {
					return fmt.Errorf("there is no setting %q of synchronous", synchronous)
				}
				if err := p.table(ctx, setting{what, driver, synchronous}, &met, out); err != nil {
					return err
				}
			}
		}
	}
	return met.print(out)
}

// What the clients do.
const (
	place = "place"
	use   = "use"
)

// setting is what a table is about.
type setting struct{ what, driver, synchronous string }

func (s setting) String() string {
	return fmt.Sprintf("%s, %s, synchronous %s", s.what, s.driver, strings.ToUpper(s.synchronous))
}

// table measures all ways in one setting.
func (p plan) table(ctx context.Context, in setting, met *goals, out io.Writer) error {
	template, err := p.template(ctx, in.driver)
	if err != nil {
		return err
	}
	measured := make(results)
	turns := slices.DeleteFunc(ways(), func(w way) bool { return p.ways != nil && !slices.Contains(p.ways, w.name) })
	rows := slices.Clone(turns)
	for range p.rounds {
		if err := p.round(ctx, template, in, turns, measured); err != nil {
			return err
		}
		slices.Reverse(turns)
	}
	met.note(measured)
	_, _ = fmt.Fprintf(out, "\n%s\n", in)
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprint(table, "way")
	for _, n := range p.clients {
		_, _ = fmt.Fprintf(table, "\t%d\tx\tp50\tp99", n)
	}
	_, _ = fmt.Fprintln(table, "\t")
	for _, w := range rows {
		_, _ = fmt.Fprint(table, w.name)
		for _, n := range p.clients {
			own := cellName{in, n, w.name}
			c := measured.median(own)
			_, _ = fmt.Fprintf(table, "\t%.0f\t%.1f\t%s\t%s", c.perSecond, measured.ratio(own, cellName{in, n, rows[0].name}), rounded(c.p50), rounded(c.p99))
		}
		_, _ = fmt.Fprintln(table, "\t")
	}
	return table.Flush()
}

// round measures each cell once.
func (p plan) round(ctx context.Context, template string, in setting, turns []way, measured results) error {
	for _, n := range p.clients {
		for _, w := range turns {
			c, err := p.cell(ctx, template, in, w, n)
			if err != nil {
				return fmt.Errorf("%s with %d clients: %w", w.name, n, err)
			}
			name := cellName{in, n, w.name}
			measured[name] = append(measured[name], c)
		}
	}
	return nil
}

func rounded(d time.Duration) time.Duration { return d.Round(d / 100).Round(10 * time.Microsecond) }
