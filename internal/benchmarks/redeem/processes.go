package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// task is what one of several processes does.
type task struct {
	DSN            string
	Way            string
	First, Clients int
	Coupons        int
	Begin          time.Time
	Duration       time.Duration
}

// answer is what it has seen.
type answer struct {
	Times   []time.Duration
	Counted int64
}

// fillFromProcesses shares the clients of a cell between processes.
func (b *bench) fillFromProcesses(ctx context.Context, dsn string, c *cell) (counted int64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	answers := make([]answer, c.processes)
	failures := make([]error, c.processes)
	begin := time.Now().Add(time.Second + b.duration/2) // a process takes a while to start
	var running sync.WaitGroup
	for i := range c.processes {
		share := c.clients / c.processes
		running.Go(func() {
			answers[i], failures[i] = delegate(ctx, self, task{
				DSN: dsn, Way: c.way, First: i * share, Clients: share, Coupons: c.content.coupons, Begin: begin, Duration: b.duration,
			})
		})
	}
	running.Wait()
	var times []time.Duration
	for _, a := range answers {
		times = append(times, a.Times...)
		counted += a.Counted
	}
	if err := errors.Join(failures...); err != nil {
		return 0, err
	}
	c.summarise(times, b.duration)
	return counted, nil
}

// delegate starts this program as another process and waits for its answer.
func delegate(ctx context.Context, self string, t task) (answer, error) {
	description, err := json.Marshal(t)
	if err != nil {
		return answer{}, err
	}
	command := exec.CommandContext(ctx, self, "-worker", string(description))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return answer{}, fmt.Errorf("process: %w", err)
	}
	var a answer
	return a, json.NewDecoder(bytes.NewReader(output)).Decode(&a)
}

// worker is the other process.
func worker(ctx context.Context, description string, out io.Writer) error {
	var t task
	if err := json.Unmarshal([]byte(description), &t); err != nil {
		return err
	}
	pool, err := connect(ctx, t.DSN, t.Clients)
	if err != nil {
		return err
	}
	defer pool.Close()
	redeem, finish, err := ways()[t.Way].open(ctx, pool)
	if err != nil {
		return err
	}
	times, counted, err := run(ctx, redeem, load{
		first: t.First, clients: t.Clients, coupons: t.Coupons, begin: t.Begin, duration: t.Duration,
	})
	if err := errors.Join(err, finish()); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer{times, counted})
}
