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
// It measures in rounds, each cell once in every round and the ways in turns, so that
// a disk that pauses or gets slower meets neighbours alike. What is told is the median
// of the rounds, and of ratios the median of the rounds' ratios. Where the disk has one speed
// for some seconds and another for the next, cells of a second are measured in turns of a
// tenth.
//
//	go run ./redeem                              # everything in two rounds, five minutes
//	go run ./redeem -parts hot -ways textbook,batched -clients 64 -for 5s
//	go run ./redeem -rounds 5 -parts hot -record results/redeem.txt        # a record
//	go run ./redeem -rounds 5 -parts many -record results/redeem.txt -add  # in pieces
//	go run ./redeem -rounds 15 -for 1s -turns 10 -parts many -clients 2    # for small differences
//	go run ./redeem -recorded results/redeem.txt # the tables of what is recorded
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/couponkit/couponkit/internal/benchmarks/record"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

func main() {
	var p program
	flag.StringVar(&p.parts, "parts", "", "which parts, by name, with commas; empty is all")
	flag.StringVar(&p.ways, "ways", "", "which ways, by name, with commas; empty is all of a part")
	flag.StringVar(&p.clients, "clients", "", "how many clients call at once, with commas; empty is what the part says")
	flag.IntVar(&p.rounds, "rounds", 2, "how often each cell is measured; for a record 5")
	flag.IntVar(&p.turns, "turns", 1, "in how many parts each cell is measured in a round; the ways take turns after each")
	flag.DurationVar(&p.duration, "for", 300*time.Millisecond, "how long each cell is measured in a round, after half of that to warm up")
	flag.StringVar(&p.record, "record", "", "the file to which all rounds are written in Go's benchmark format")
	flag.BoolVar(&p.add, "add", false, "with -record: keep what the file has, and add other parts or more rounds")
	flag.StringVar(&p.recorded, "recorded", "", "a file of that kind, whose tables are shown instead of measuring")
	work := flag.String("worker", "", "used by the program itself: the task of one of several processes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	switch {
	case *work != "":
		err = worker(ctx, *work, os.Stdout)
	case p.recorded != "":
		err = p.show(os.Stdout)
	default:
		err = p.run(ctx, os.Stdout, os.Stderr)
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
	rounds, turns        int
	duration             time.Duration
	record               string
	add                  bool
	recorded             string
}

// run measures, and prints and records each part when it is done.
func (p program) run(ctx context.Context, out, notes io.Writer) (err error) {
	chosen, err := p.chosen()
	if err != nil {
		return err
	}
	if p.rounds < 1 || p.turns < 1 || p.duration <= 0 {
		return errors.New("measure for some time, in one round or more and in one turn or more")
	}
	server, err := postgrestest.Start(ctx, "autovacuum=off") // it would fall on some of the cells
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	b := &bench{server: server, rounds: p.rounds, turns: p.turns, duration: p.duration, notes: notes, templates: make(map[content]string)}
	if err := b.start(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	all := make(results)
	for _, part := range chosen {
		measured, err := b.measure(ctx, part)
		if err != nil {
			return err
		}
		maps.Copy(all, measured)
		if _, err := fmt.Fprintln(out, measured.table(part)); err != nil {
			return err
		}
		if err := p.keep(ctx, b, measured.lines(part)); err != nil {
			return err
		}
		p.add = true
	}
	_, err = io.WriteString(out, all.goalTable())
	return err
}

// keep records a part.
func (p program) keep(ctx context.Context, b *bench, lines string) error {
	if p.record == "" {
		return nil
	}
	write := record.Save
	if p.add {
		write = record.Add
	}
	return write(ctx, p.record, record.Measured{
		Package: "github.com/couponkit/couponkit/internal/benchmarks/redeem",
		Extra: []string{
			"postgresql: " + b.version + ", fsync on", "redis: " + b.redisVersion + ", appendfsync always",
			fmt.Sprintf("peers: %s a cell and round, in %d turns, clients, program and servers on one machine", p.duration, p.turns),
		},
		Unit: unitRate + " better=higher", Lines: lines,
	})
}

// show prints what is recorded of the chosen parts.
func (p program) show(out io.Writer) error {
	chosen, err := p.chosen()
	if err != nil {
		return err
	}
	recorded, found, err := readFile(p.recorded, chosen)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has nothing of what was asked for", p.recorded)
	}
	var text strings.Builder
	for _, key := range []string{"go", "cpu", "cores", "commit", "date", "postgresql", "redis", "peers"} {
		if value := recorded.Config(key); value != "" {
			fmt.Fprintf(&text, "%s: %s\n", key, value)
		}
	}
	for _, part := range chosen {
		if table := found.table(part); table != "" {
			text.WriteString("\n" + table)
		}
	}
	_, err = io.WriteString(out, text.String()+"\n"+found.goalTable())
	return err
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
		s.rows = slices.DeleteFunc(s.rows, func(r row) bool { return !wanted(p.ways, r.way) })
		if len(s.rows) == 0 {
			continue
		}
		if p.clients != "" {
			var err error
			if s.clients, err = numbers(p.clients); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, s)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("there is no part %q with a way %q", p.parts, p.ways)
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
