package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/internal/integration/scale"
)

// shops are small and large, in this order everywhere.
var shops = [2]string{"small", "large"}

// cell is how long a call took on one shop.
type cell struct {
	calls    int
	p50, p99 time.Duration
}

func cellOf(list []time.Duration) cell {
	slices.Sort(list)
	return cell{calls: len(list), p50: list[len(list)/2], p99: list[len(list)*99/100]}
}

// row is a call on both shops.
type row struct {
	call string
	on   [2]cell
}

func (r row) median() float64 { return float64(r.on[1].p50) / float64(r.on[0].p50) }
func (r row) tail() float64   { return float64(r.on[1].p99) / float64(r.on[0].p99) }

// crowd is what many clients did at once, and the memory of the process meanwhile.
type crowd struct {
	calls  int64
	memory []int
}

// results are a run.
type results struct {
	rows     []row
	sizes    [2]string
	memory   []int // before the calls, in between and after them
	crowds   [2]crowd
	versions string // of PostgreSQL
}

// measure makes all calls in turn, then lets a crowd use each shop.
func (p plan) measure(ctx context.Context, on [2]database) (r results, err error) {
	if r.versions, err = on[1].version(ctx); err != nil {
		return r, err
	}
	base := strconv.FormatInt(time.Now().UnixNano(), 36) // other customers in every run
	calls := [2][]scale.Call{scale.Calls(p.small, "s"+base), scale.Calls(p.large, "l"+base)}
	r.memory = []int{resident()}
	for i := range calls[0] {
		if !strings.Contains(calls[0][i].Name, p.only) {
			continue
		}
		measured, err := p.alternate(ctx, on, [2]scale.Call{calls[0][i], calls[1][i]})
		if err != nil {
			return r, err
		}
		r.rows, r.memory = append(r.rows, measured), append(r.memory, resident())
	}
	for i, shop := range [2]scale.Size{p.small, p.large} {
		if r.sizes[i], err = on[i].bytes(ctx); err != nil {
			return r, err
		}
		if r.crowds[i], err = p.crowd(ctx, on[i], scale.Calls(shop, shops[i]+base)); err != nil {
			return r, err
		}
	}
	return r, nil
}

// alternate makes a call on one shop and on the other, over and over.
func (p plan) alternate(ctx context.Context, on [2]database, call [2]scale.Call) (row, error) {
	var took [2][]time.Duration
	warm := max(p.samples/10, 10)
	for n := range warm + p.samples {
		for i := range on {
			begun := time.Now()
			if err := call[i].Run(ctx, on[i]); err != nil {
				return row{}, fmt.Errorf("%s: %w", call[i].Name, err)
			}
			if n >= warm {
				took[i] = append(took[i], time.Since(begun))
			}
		}
	}
	return row{call[0].Name, [2]cell{cellOf(took[0]), cellOf(took[1])}}, nil
}

// crowd lets clients make all calls at once, and looks at the memory ten times.
func (p plan) crowd(ctx context.Context, shop database, calls []scale.Call) (crowd, error) {
	ctx, cancel := context.WithTimeout(ctx, p.load)
	defer cancel()
	var made atomic.Int64
	var running sync.WaitGroup
	failed := make(chan error, p.clients)
	for client := range p.clients {
		running.Go(func() {
			for n := client; ctx.Err() == nil; n++ {
				if err := calls[n%len(calls)].Run(ctx, shop); err != nil && ctx.Err() == nil {
					failed <- fmt.Errorf("%s: %w", calls[n%len(calls)].Name, err)
					return
				}
				made.Add(1)
			}
		})
	}
	var c crowd
	for range 10 {
		time.Sleep(p.load / 10)
		c.memory = append(c.memory, resident())
	}
	running.Wait()
	close(failed)
	var faults []error
	for err := range failed {
		faults = append(faults, err)
	}
	c.calls = made.Load()
	return c, errors.Join(faults...)
}
