// Package load lets clients reserve the last uses of one hot coupon, as fast as they can. It
// imports no package of this repository, so that it can be compiled with an older commit of it.
package load

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Reserve makes reservation n.
type Reserve func(ctx context.Context, n uint64) error

// Turn is one measurement that is asked for.
type Turn struct {
	Clients  int           `json:"clients"`
	Duration time.Duration `json:"duration"`
	// First is the first of the numbers that Reserve is called with.
	First uint64 `json:"first"`
	// Profile is the file for a CPU profile of the turn; empty is none.
	Profile string `json:"profile,omitempty"`
}

// Sample is what was measured.
type Sample struct {
	Count int           `json:"count"`
	Rate  float64       `json:"rate"` // per second
	P99   time.Duration `json:"p99"`
	Error string        `json:"error,omitempty"`
}

// Serve reads a [Turn] from each line of in, and writes its [Sample] as a line of out.
func Serve(ctx context.Context, reserve Reserve, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		var t Turn
		if err := json.Unmarshal(lines.Bytes(), &t); err != nil {
			return fmt.Errorf("turn %q: %w", lines.Text(), err)
		}
		s, err := t.profiled(ctx, reserve)
		if err != nil {
			s = Sample{Error: err.Error()}
		}
		if err := answers.Encode(s); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (t Turn) profiled(ctx context.Context, reserve Reserve) (Sample, error) {
	if t.Profile == "" {
		return t.Take(ctx, reserve)
	}
	file, err := os.Create(t.Profile)
	if err != nil {
		return Sample{}, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return Sample{}, err
	}
	defer func() { _ = file.Close() }()
	defer pprof.StopCPUProfile()
	return t.Take(ctx, reserve)
}

// Take makes the measurement. Each client makes at least one reservation.
func (t Turn) Take(ctx context.Context, reserve Reserve) (Sample, error) {
	times := make([][]time.Duration, t.Clients)
	failures := make([]error, t.Clients)
	begin := time.Now()
	var running sync.WaitGroup
	for client := range t.Clients {
		running.Go(func() {
			for n := t.First + uint64(client)<<24; ; n++ {
				started := time.Now()
				if failures[client] = reserve(ctx, n); failures[client] != nil {
					return
				}
				times[client] = append(times[client], time.Since(started))
				if time.Since(begin) > t.Duration {
					return
				}
			}
		})
	}
	running.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	if err := errors.Join(failures...); err != nil || len(all) == 0 {
		return Sample{}, errors.Join(err, errors.New("reservations failed"))
	}
	slices.Sort(all)
	return Sample{Count: len(all), Rate: float64(len(all)) / took.Seconds(), P99: all[len(all)*99/100]}, nil
}

// Program is what a program is told by its arguments: a database of PostgreSQL or "sqlite:" and a
// file, how many coupons all reservations are of, and whether it makes them or finds them.
type Program struct {
	Where   string
	Coupons int
	Joins   bool
}

// Arguments returns the program's arguments.
func (p Program) Arguments() []string {
	mode := "create"
	if p.Joins {
		mode = "join"
	}
	return []string{p.Where, strconv.Itoa(p.Coupons), mode}
}

// ReadProgram reads what [Program.Arguments] has made.
func ReadProgram(arguments []string) (Program, error) {
	if len(arguments) != 3 {
		return Program{}, fmt.Errorf("arguments %q", arguments)
	}
	n, err := strconv.Atoi(arguments[1])
	return Program{Where: arguments[0], Coupons: n, Joins: arguments[2] == "join"}, err
}

// SQLite returns the data source of a file for driver modernc.org/sqlite, if the program is to
// use one. All of its transactions are written to the disk.
func (p Program) SQLite() (source string, ok bool) {
	path, ok := strings.CutPrefix(p.Where, "sqlite:")
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate", ok
}

// ID makes the ID of record n, sorted by time.
func ID(prefix string, n uint64) string {
	return fmt.Sprintf("%s%012x%016x", prefix, time.Now().UnixMilli(), n)
}

// Customer names a customer by n, so that customers come in no order.
func Customer(n uint64) string { return fmt.Sprintf("customer-%016x", Scattered(n)) }

// Scattered returns numbers in no order for one number after the other.
func Scattered(n uint64) uint64 {
	n ^= n >> 31
	n *= 0x94d049bb133111eb
	return n ^ n>>29
}

// The limits of the hot coupon, which nobody reaches.
const (
	MaxUses        = 1_000_000_000
	MaxUsesPerUser = 1_000_000
)

// Connections of a program to the server, at most.
const Connections = 16
