package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
)

// commit is the commit whose store is measured as "before".
const commit = "31f2763"

// build compiles the program of a way into the folder. It returns the program's path.
func build(ctx context.Context, dir, way string) (string, error) {
	program, module := filepath.Join(dir, way), "."
	if way == "before" {
		module = filepath.Join(dir, "tree", "internal", "benchmarks")
		script := `set -e; top=$(git rev-parse --show-toplevel); mkdir "$1/tree"; git -C "$top" archive "$2" | tar -x -C "$1/tree"
			mkdir -p "$3/beside"; cp -r "$top/internal/benchmarks/beside/load" "$top/internal/benchmarks/beside/before" "$3/beside/"`
		if err := command(ctx, ".", "sh", "-c", script, "sh", dir, commit, module); err != nil {
			return "", err
		}
	}
	return program, command(ctx, module, "go", "build", "-tags", "before", "-o", program,
		"github.com/couponkit/couponkit/internal/benchmarks/beside/"+way)
}

func command(ctx context.Context, dir, name string, arguments ...string) error {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, output)
	}
	return nil
}

// subject is a database with programs that make reservations in it.
type subject struct {
	pool     *pgxpool.Pool // nil for SQLite
	drop     func(context.Context) error
	programs []*program
	begun    uint64
}

type program struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// open creates a database. Without a server, it creates a file.
func open(ctx context.Context, server *postgrestest.Server, path string, c settings) (*subject, error) {
	s := &subject{}
	arguments := load.Program{Coupons: c.coupons}
	if server == nil {
		dir, err := os.MkdirTemp("", "couponkit-beside-")
		if err != nil {
			return nil, err
		}
		s.drop = func(context.Context) error { return os.RemoveAll(dir) }
		arguments.Where = "sqlite:" + filepath.Join(dir, "load.db")
	} else {
		dsn, drop, err := server.Database(ctx)
		if err != nil {
			return nil, err
		}
		s.drop, arguments.Where = drop, dsn
		if s.pool, err = pgxpool.New(ctx, dsn); err != nil {
			return nil, errors.Join(err, drop(ctx))
		}
	}
	for i := range c.processes {
		arguments.Joins = i > 0
		p, err := start(ctx, path, arguments)
		if err != nil {
			return s, err
		}
		s.programs = append(s.programs, p)
		if i == 0 { // the first program creates the coupons for all programs
			if _, err := p.turn(load.Turn{Clients: 1, Duration: 100 * time.Millisecond}); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

func start(ctx context.Context, path string, arguments load.Program) (*program, error) {
	p := &program{cmd: exec.CommandContext(ctx, path, arguments.Arguments()...)}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

func (p *program) turn(t load.Turn) (load.Sample, error) {
	var s load.Sample
	if err := json.NewEncoder(p.in).Encode(t); err != nil {
		return s, err
	}
	if !p.out.Scan() {
		return s, errors.Join(errors.New("the program has ended"), p.out.Err())
	}
	err := json.Unmarshal(p.out.Bytes(), &s)
	if s.Error != "" {
		err = errors.New(s.Error)
	}
	return s, err
}

// turn makes all programs reserve at once.
func (s *subject) turn(ctx context.Context, clients int, c settings) (sample, error) {
	server, own := serverCPU(ctx, s.pool), s.ownCPU()
	all := make([]load.Sample, len(s.programs))
	failures := make([]error, len(s.programs))
	var running sync.WaitGroup
	for i, p := range s.programs {
		s.begun += 1 << 40
		t := load.Turn{Clients: clients / len(s.programs), Duration: c.duration, First: s.begun}
		if i == 0 {
			t.Profile = c.profile
		}
		running.Go(func() { all[i], failures[i] = p.turn(t) })
	}
	running.Wait()
	var total sample
	for _, one := range all {
		total.Count += one.Count
		total.Rate += one.Rate
		total.P99 = max(total.P99, one.P99)
	}
	if total.Count > 0 {
		total.server = float64((serverCPU(ctx, s.pool) - server).Microseconds()) / float64(total.Count)
		total.own = float64((s.ownCPU() - own).Microseconds()) / float64(total.Count)
	}
	return total, errors.Join(failures...)
}

// close ends the programs and drops the database. If table is true, it prints the table of statements
// first.
func (s *subject) close(ctx context.Context, table bool) error {
	var failures []error
	for _, p := range s.programs {
		failures = append(failures, p.in.Close(), p.cmd.Wait())
	}
	if s.pool != nil {
		if table {
			statements(ctx, s.pool)
		}
		s.pool.Close()
	}
	return errors.Join(append(failures, s.drop(ctx))...)
}
