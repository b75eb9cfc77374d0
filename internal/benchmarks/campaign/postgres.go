package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
)

// rowSource gives rows to a COPY one by one.
type rowSource struct{ values iter.Seq[[]any] }

func (r rowSource) source() pgx.CopyFromSource {
	next, stop := iter.Pull(r.values)
	return pgx.CopyFromFunc(func() ([]any, error) {
		row, more := next()
		if !more {
			stop()
			return nil, nil
		}
		return row, nil
	})
}

// measureStoring compares generating and importing codes with a COPY of as many. It prints the most memory of an import.
func measureStoring(ctx context.Context, server *postgrestest.Server, s settings) error {
	key := func(name string, round int) string { return fmt.Sprint(name, round) }
	return compare(ctx, s, fmt.Sprint("store ", s.codes),
		way{"generate", func(ctx context.Context, _ int) (time.Duration, error) {
			return on(ctx, server, func(on *subject) error { return on.creates(ctx, s.codes) })
		}},
		way{"import", func(ctx context.Context, round int) (time.Duration, error) {
			return on(ctx, server, func(on *subject) error {
				seen := watch()
				err := on.imports(ctx, key("file", round), s.codes)
				seen()
				return err
			})
		}},
		way{"COPY", func(ctx context.Context, round int) (time.Duration, error) {
			return on(ctx, server, func(on *subject) error { return on.copyCodes(ctx, key("copy", round), s.codes) })
		}},
	)
}

// watch observes the memory of the process until the returned function prints the most of it.
func watch() func() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Linux alone can forget the peak
	done, heap := make(chan struct{}), make(chan uint64)
	go func() {
		objects := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}} // reading it does not stop the program
		most := uint64(0)
		for {
			metrics.Read(objects)
			most = max(most, objects[0].Value.Uint64())
			select {
			case <-done:
				heap <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(done)
		most := <-heap
		status, _ := os.ReadFile("/proc/self/status")
		_, peak, _ := strings.Cut(string(status), "VmHWM:")
		peak, _, _ = strings.Cut(peak, "\n")
		_, _ = fmt.Fprintf(os.Stdout, "memory of the import: heap at most %.1f MiB, process at most %s\n", float64(most)/(1<<20), strings.TrimSpace(peak))
	}
}

// measureLookUps compares finding one of many codes with finding one of few.
func measureLookUps(ctx context.Context, server *postgrestest.Server, s settings) error {
	var ways []way
	for _, count := range []int{s.large, s.small} {
		on, err := open(ctx, server, 4)
		if err != nil {
			return err
		}
		defer func() { _ = on.close(ctx) }()
		if err := on.copyCodes(ctx, "look", count); err != nil {
			return err
		}
		if _, err := on.pool.Exec(ctx, "VACUUM ANALYZE couponkit.codes"); err != nil {
			return err
		}
		// The codes lie anywhere in the index.
		keys, step := make([]string, 0, s.lookUps), max(count/s.lookUps, 1)
		n := 0
		for c := range generated("look", count) {
			if n++; n%step == 0 && len(keys) < s.lookUps {
				keys = append(keys, c.String())
			}
		}
		ways = append(ways, way{fmt.Sprint("one of ", count), func(ctx context.Context, _ int) (time.Duration, error) {
			began := time.Now()
			for i := range s.lookUps {
				if _, err := on.FindCode(ctx, keys[i%len(keys)]); err != nil {
					return 0, err
				}
			}
			return time.Since(began) / time.Duration(s.lookUps), nil
		}})
	}
	warm := s
	warm.rounds = 1
	return errors.Join(compare(ctx, warm, "look-up, first", ways...), compare(ctx, s, "look-up", ways...))
}

// measureReservations compares clients who reserve distinct codes with clients who reserve one code, both of a coupon with
// limits. It prints times of one reservation.
func measureReservations(ctx context.Context, server *postgrestest.Server, s settings) error {
	reserve := func(ctx context.Context, on *subject, first int64, code func(int64) string) (time.Duration, error) {
		var n, stop atomic.Int64
		time.AfterFunc(s.duration, func() { stop.Store(1) })
		var group errgroup.Group
		began := time.Now()
		for range s.clients {
			group.Go(func() error {
				for stop.Load() == 0 {
					i := n.Add(1) - 1
					if _, err := on.Reserve(ctx, reservation(first+i, code(first+i))); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := group.Wait()
		return time.Since(began) / time.Duration(max(n.Load(), 1)), err
	}
	var ways []way
	for _, name := range []string{"distinct codes", "one code"} {
		on, err := open(ctx, server, 16)
		if err != nil {
			return err
		}
		defer func() { _ = on.close(ctx) }()
		code := func(int64) string { return "HOT" }
		if name == "distinct codes" {
			if err := on.creates(ctx, s.codes); err != nil {
				return err
			}
			keys, err := on.some(ctx, s.codes)
			if err != nil {
				return err
			}
			code = func(n int64) string { return keys[n%int64(len(keys))] }
		}
		if _, err := on.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
			return err
		}
		begun := int64(0)
		ways = append(ways, way{name, func(ctx context.Context, _ int) (time.Duration, error) {
			begun += int64(s.codes / (s.rounds + 2)) // every turn has codes and customers of its own
			return reserve(ctx, on, begun, code)
		}})
	}
	warm := s
	warm.rounds = 1
	return errors.Join(compare(ctx, warm, "reservation, first", ways...), compare(ctx, s, "reservation", ways...))
}

func reservation(n int64, code string) couponkit.ReserveRequest {
	return couponkit.ReserveRequest{Key: fmt.Sprint(n), QuoteRequest: couponkit.QuoteRequest{
		Codes: []string{code}, Customer: eligibility.Customer{ID: fmt.Sprint("customer-", n)},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 1, UnitPrice: 1000}}},
	}}
}

// measureSwitching compares switching a batch off with one UPDATE.
func measureSwitching(ctx context.Context, server *postgrestest.Server, s settings) error {
	both := make([]*subject, 2)
	for i := range both {
		on, err := open(ctx, server, 4)
		if err != nil {
			return err
		}
		defer func() { _ = on.close(ctx) }()
		if err := on.creates(ctx, s.switched); err != nil {
			return err
		}
		if _, err := on.pool.Exec(ctx, "VACUUM ANALYZE"); err != nil {
			return err
		}
		both[i] = on
	}
	timed := func(change func() error) (time.Duration, error) {
		began := time.Now()
		err := change()
		return time.Since(began), err
	}
	return compare(ctx, s, fmt.Sprint("switch ", s.switched),
		way{"SetBatchActive", func(ctx context.Context, round int) (time.Duration, error) {
			return timed(func() error {
				_, err := both[0].SetBatchActive(ctx, both[0].coupon.ID, "batch", round%2 == 1)
				return err
			})
		}},
		way{"UPDATE", func(ctx context.Context, round int) (time.Duration, error) {
			return timed(func() error {
				_, err := both[1].pool.Exec(ctx, `UPDATE couponkit.codes SET active = $1, updated_at = $2, revision = revision + 1
					WHERE coupon_id = $3 AND batch = 'batch'`, round%2 == 1, time.Now().UnixMicro(), both[1].coupon.ID)
				return err
			})
		}},
	)
}
