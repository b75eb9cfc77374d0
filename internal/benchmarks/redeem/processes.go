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

// fillFromProcesses shares the clients of a cell between processes.
func (b *bench) fillFromProcesses(ctx context.Context, dsn string, c cell, first int) (observed, error) {
	self, err := os.Executable()
	if err != nil {
		return observed{}, err
	}
	answers := make([]observed, c.processes)
	failures := make([]error, c.processes)
	begin := time.Now().Add(time.Second + b.turn()/2) // a process takes a while to start
	var running sync.WaitGroup
	for i := range c.processes {
		share := c.clients / c.processes
		running.Go(func() {
			answers[i], failures[i] = delegate(ctx, self, task{
				DSN: dsn, Way: c.way, First: first + i*share, Clients: share, Coupons: c.content.coupons, Begin: begin, Duration: b.turn(),
			})
		})
	}
	running.Wait()
	var all observed
	for _, o := range answers {
		all.add(o)
	}
	return all, errors.Join(failures...)
}

// delegate starts this program as another process and waits for its answer.
func delegate(ctx context.Context, self string, t task) (observed, error) {
	description, err := json.Marshal(t)
	if err != nil {
		return observed{}, err
	}
	command := exec.CommandContext(ctx, self, "-worker", string(description))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return observed{}, fmt.Errorf("process: %w", err)
	}
	var o observed
	err = json.NewDecoder(bytes.NewReader(output)).Decode(&o)
	return o, err
}

// worker is the other process.
func worker(ctx context.Context, description string, out io.Writer) error {
	var t task
	if err := json.Unmarshal([]byte(description), &t); err != nil {
		return err
	}
	o, err := fillFromHere(ctx, ways()[t.Way], t.DSN, t.Clients, func() load {
		return load{first: t.First, clients: t.Clients, coupons: t.Coupons, begin: t.Begin, latest: t.Begin, duration: t.Duration}
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(o)
}
