package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/internal/integration/scale"
)

// measure prints the tables.
func (p plan) measure(ctx context.Context, small, large database) error {
	base := strconv.FormatInt(time.Now().UnixNano(), 36) // other customers in every run
	fmt.Printf("| %s each | small p50 | small p99 | large p50 | large p99 | p50 ratio | p99 ratio |\n|---|---|---|---|---|---|---|\n",
		fmt.Sprintf("%d calls", p.samples))
	smallCalls, largeCalls := scale.Calls(p.small, "s"+base), scale.Calls(p.large, "l"+base)
	memory := []string{resident()}
	for i, call := range largeCalls {
		of := [2][]time.Duration{}
		warm := max(p.samples/10, 10)
		for n := range warm + p.samples {
			for j, run := range []func() error{
				func() error { return smallCalls[i].Run(ctx, small) }, func() error { return call.Run(ctx, large) },
			} {
				begun := time.Now()
				if err := run(); err != nil {
					return fmt.Errorf("%s: %w", call.Name, err)
				}
				if n >= warm {
					of[j] = append(of[j], time.Since(begun))
				}
			}
		}
		printRow(call.Name, of)
		if i%8 == 7 {
			memory = append(memory, resident())
		}
	}
	for _, d := range []database{small, large} {
		size, err := d.bytes(ctx)
		if err != nil {
			return err
		}
		fmt.Println("\ndatabase:", size)
	}
	fmt.Println("\nresident memory of the process during the calls:", strings.Join(memory, ", "))
	return p.crowd(ctx, large, scale.Calls(p.large, "c"+base))
}

func printRow(name string, of [2][]time.Duration) {
	var figures [2][2]time.Duration
	for i, list := range of {
		slices.Sort(list)
		figures[i] = [2]time.Duration{list[len(list)/2], list[len(list)*99/100]}
	}
	small, large := figures[0], figures[1]
	fmt.Printf("| %s | %s | %s | %s | %s | %.2f | %.2f |\n", name, ms(small[0]), ms(small[1]), ms(large[0]), ms(large[1]),
		float64(large[0])/float64(small[0]), float64(large[1])/float64(small[1]))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

// crowd lets clients make all calls at once, and prints the memory ten times.
func (p plan) crowd(ctx context.Context, large database, calls []scale.Call) error {
	ctx, cancel := context.WithTimeout(ctx, p.load)
	defer cancel()
	var made atomic.Int64
	var running sync.WaitGroup
	failed := make(chan error, p.clients)
	for client := range p.clients {
		running.Go(func() {
			for n := client; ctx.Err() == nil; n++ {
				if err := calls[n%len(calls)].Run(ctx, large); err != nil && ctx.Err() == nil {
					failed <- fmt.Errorf("%s: %w", calls[n%len(calls)].Name, err)
					return
				}
				made.Add(1)
			}
		})
	}
	memory := []string{resident()}
	for range 10 {
		time.Sleep(p.load / 10)
		memory = append(memory, resident())
	}
	running.Wait()
	close(failed)
	var faults []error
	for err := range failed {
		faults = append(faults, err)
	}
	fmt.Printf("\n%d clients made %d calls in %s; resident memory of the process: %s\n", p.clients, made.Load(), p.load, strings.Join(memory, ", "))
	return errors.Join(faults...)
}

// resident is the memory of the process, as Linux counts it.
func resident() string {
	status, err := os.Open("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	defer status.Close() //nolint:errcheck // it was only read
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "VmRSS:"); found {
			kilobytes, _ := strconv.Atoi(strings.Fields(text)[0]) // the kernel writes a number
			return fmt.Sprintf("%d MB", kilobytes>>10)
		}
	}
	return "unknown"
}
