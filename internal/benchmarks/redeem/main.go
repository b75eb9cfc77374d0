// Command redeem measures how many redemptions a second a store takes, in every way
// that people count them, side by side in one run, and says of each of the goals of
// this repository whether that run has met it.
//
// On PostgreSQL every way works on one throwaway server with fsync on, writes the
// same table with the same indexes, keeps a limit over all customers and one for
// each exactly, and is idempotent by key. The ceiling writes the same rows in
// batches and checks nothing. Where redis-server is installed, a Lua script on Redis
// with appendfsync always does the same work. Figures of one run can be compared
// with each other; on another machine only their ratios mean something.
//
//	go run ./redeem                              # everything, about six minutes
//	go run ./redeem -parts hot -ways textbook,batched -clients 64 -for 5s
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
	"time"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

func main() {
	var p program
	flag.StringVar(&p.parts, "parts", "", "which parts, by name, with commas; empty is all")
	flag.StringVar(&p.ways, "ways", "", "which ways, by name, with commas; empty is all of a part")
	flag.StringVar(&p.clients, "clients", "", "how many clients call at once, with commas; empty is what the part says")
	flag.DurationVar(&p.duration, "for", 2*time.Second, "how long each cell runs, after half of that to warm up")
	flag.StringVar(&p.record, "record", "", "the file to which the cells are written in Go's benchmark format")
	work := flag.String("worker", "", "used by the program itself: the task of one of several processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if *work != "" {
		err = worker(ctx, *work, os.Stdout)
	} else {
		err = p.run(ctx, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "redeem:", err)
		os.Exit(1)
	}
}

// program is what the command line asks for.
type program struct {
	parts, ways, clients string
	duration             time.Duration
	record               string
}

func (p program) run(ctx context.Context, out io.Writer) (err error) {
	chosen, err := p.chosen()
	if err != nil {
		return err
	}
	server, err := postgrestest.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	b := &bench{server: server, duration: p.duration, out: out, templates: make(map[content]string)}
	if err := b.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	for _, s := range chosen {
		if err := b.measure(ctx, s); err != nil {
			return err
		}
	}
	writeGoals(out, b.cells)
	return p.write(ctx, b)
}

// write records the cells.
func (p program) write(ctx context.Context, b *bench) (err error) {
	if p.record == "" {
		return nil
	}
	file, err := os.Create(p.record)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	err = record.Header(ctx, file, "github.com/couponkit/couponkit/internal/benchmarks/redeem",
		"postgresql: "+b.version+", fsync on", "redis: "+b.redisVersion+", appendfsync always")
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintln(file, "Unit redemptions/s better=higher"); err != nil {
		return err
	}
	for _, c := range b.cells {
		if _, err := fmt.Fprintln(file, c.line()); err != nil {
			return err
		}
	}
	return nil
}

// chosen are the parts that the command line names, narrowed as it says.
func (p program) chosen() ([]part, error) {
	wanted := func(list, name string) bool {
		return list == "" || strings.Contains(","+list+",", ","+name+",")
	}
	var chosen []part
	for _, s := range parts() {
		if !wanted(p.parts, s.name) {
			continue
		}
		var ways []string
		for _, name := range s.ways {
			if wanted(p.ways, name) {
				ways = append(ways, name)
			}
		}
		s.ways = ways
		if p.clients != "" {
			var err error
			if s.clients, err = numbers(p.clients); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("there is no part %q", p.parts)
	}
	return chosen, nil
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
