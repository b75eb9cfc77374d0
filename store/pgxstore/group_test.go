package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a group whose batches wait until the test lets them go on.
type bench struct {
	t      *testing.T
	group  *pgxstore.Group
	begun  chan []int // the requests of each batch, as it begins
	refuse func(requests []int) error
	leave  func(requests []int) map[int]error // what a batch does nothing for
	calls  sync.WaitGroup

	mu      sync.Mutex
	held    []chan struct{} // of batches that may not end yet, the first first
	free    int             // batches that may end as soon as they begin
	answers map[int]int
	errs    map[int]error
}

func newBench(t *testing.T, options pgxstore.BatchOptions) *bench {
	t.Helper()
	b := &bench{
		t: t, begun: make(chan []int, 1000), answers: make(map[int]int), errs: make(map[int]error),
	}
	b.group = pgxstore.NewGroup(options, func(ctx context.Context, requests []int) (map[int]int, map[int]error, error) {
		released := b.hold()
		b.begun <- slices.Clone(requests)
		select {
		case <-released:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if b.refuse != nil {
			if err := b.refuse(requests); err != nil {
				return nil, nil, err
			}
		}
		answers := make(map[int]int)
		for _, r := range requests {
			answers[r] = 10 * r
		}
		if b.leave != nil {
			return answers, b.leave(requests), nil
		}
		return answers, nil, nil
	})
	return b
}

// newPatientBench is a bench with workers to spare, whose batches may take as long as a
// slow machine needs.
func newPatientBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, pgxstore.BatchOptions{Workers: 4})
	b.group.Patience(time.Hour)
	return b
}

// call makes a request and waits until it runs or is in the queue.
func (b *bench) call(ctx context.Context, request int, route, clash string) {
	b.t.Helper()
	waiting := b.group.Waiting()
	first := make(chan struct{})
	b.calls.Go(func() {
		close(first)
		answer, err := b.group.Do(ctx, request, route, clash)
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answers[request], b.errs[request] = answer, err
	})
	<-first
	for b.group.Waiting() == waiting && len(b.begun) == 0 {
		runtime.Gosched()
	}
}

// occupy makes the lane busy with request 1.
func (b *bench) occupy(route string) {
	b.t.Helper()
	b.call(b.t.Context(), 1, route, "")
	b.wantBatch(1)
}

// wantBatch waits for the next batch.
func (b *bench) wantBatch(want ...int) {
	b.t.Helper()
	if diff := cmp.Diff(want, <-b.begun); diff != "" {
		b.t.Fatalf("next batch (-want +got):\n%s", diff)
	}
}

// hold returns what tells a batch that it may end.
func (b *bench) hold() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	released := make(chan struct{})
	if b.free > 0 {
		b.free--
		close(released)
		return released
	}
	b.held = append(b.held, released)
	return released
}

// release lets batches end, in the order in which they have begun.
func (b *bench) release(batches int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ; batches > 0 && len(b.held) > 0; batches-- {
		close(b.held[0])
		b.held = b.held[1:]
	}
	b.free += batches
}

// wantAnswers waits until all calls have returned.
func (b *bench) wantAnswers(requests ...int) {
	b.t.Helper()
	b.calls.Wait()
	for _, r := range requests {
		if b.errs[r] != nil || b.answers[r] != 10*r {
			b.t.Errorf("request %d: answer %d, error %v; want %d", r, b.answers[r], b.errs[r], 10*r)
		}
	}
}

// TestGroupAlone: a call that meets no other runs at once, under its own context.
func TestGroupAlone(t *testing.T) {
	t.Parallel()
	type key struct{}
	own := context.WithValue(t.Context(), key{}, "mine")
	group := pgxstore.NewGroup(pgxstore.BatchOptions{}, func(ctx context.Context, requests []int) (map[int]int, map[int]error, error) {
		if ctx.Value(key{}) != "mine" || len(requests) != 1 {
			t.Errorf("requests %v run under a foreign context", requests)
		}
		return map[int]int{7: 70}, nil, nil
	})
	defer group.Close()
	if got, err := group.Do(own, 7, "a", ""); got != 70 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
}

// TestGroupNaturalBatches: whoever waits when a batch returns is the next batch, up
// to its bound.
func TestGroupNaturalBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{MaxSize: 3})
	defer b.group.Close()
	b.occupy("a")
	for r := 2; r <= 6; r++ {
		b.call(t.Context(), r, "a", "")
	}
	b.release(1)
	b.wantBatch(2, 3, 4)
	b.release(1)
	b.wantBatch(5, 6)
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5, 6)
}

// TestGroupTwoCalls: of two calls both run alone; only then a batch is collected.
func TestGroupTwoCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{Workers: 2})
	defer b.group.Close()
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	b.wantBatch(2)
	for r := 3; r <= 5; r++ {
		b.call(t.Context(), r, "a", "")
	}
	if waiting := b.group.Waiting(); waiting != 3 {
		t.Errorf("%d calls wait, want 3", waiting)
	}
	b.release(2)
	b.wantBatch(3, 4, 5)
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5)
}

// TestGroupSecondBatch: a second batch is begun beside the first when enough calls wait,
// a third is not.
func TestGroupSecondBatch(t *testing.T) {
	t.Parallel()
	b := newPatientBench(t)
	defer b.group.Close()
	b.occupy("a")
	for r := 2; r <= 13; r++ {
		b.call(t.Context(), r, "a", "")
		if r == 2 { // of two calls both run alone
			b.wantBatch(2)
		}
	}
	b.release(1)
	b.wantBatch(3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
	b.release(1)        // the other call that was alone
	b.wantWaiting(1, 0) // and has gone
	for r := 14; r <= 17; r++ {
		b.call(t.Context(), r, "a", "")
	}
	b.wantWaiting(1, 4) // less than half of eleven
	b.call(t.Context(), 18, "b", "")
	b.wantBatch(14, 18, 15, 16, 17)
	for r := 19; r <= 40; r++ {
		b.call(t.Context(), r, "a", "")
	}
	b.wantWaiting(2, 22)
	b.release(3)
	b.calls.Wait()
	b.wantAnswers(1, 2, 3, 13, 14, 17, 18, 19, 40)
}

// TestGroupAmongOthers: after a batch at whose rows others than this group's own were,
// enough of them to matter, there is no second one for a while.
func TestGroupAmongOthers(t *testing.T) {
	t.Parallel()
	b := newPatientBench(t)
	defer b.group.Close()
	meanwhile := map[int]int{
		3:  1 + 4 + 1, // 2 was under way, 7 to 10 began, and somebody else was there
		7:  4 + 4 + 2, // 3 to 6 and 11 to 14, and two others
		11: 4 + 0 + 1, // 7 to 10, and one other
	}
	b.group.Meanwhile(func(answer int) int { return meanwhile[answer/10] })
	next := 1
	four := func() (calls []int) {
		for range 4 {
			b.call(t.Context(), next, "a", "")
			calls = append(calls, next)
			next++
		}
		return calls
	}
	b.call(t.Context(), 1, "a", "")
	b.wantBatch(1)
	b.call(t.Context(), 2, "a", "")
	b.wantBatch(2)
	next = 3
	waiting := four()
	b.release(1)
	b.wantBatch(waiting...)
	b.release(1) // 2
	b.wantWaiting(1, 0)
	b.wantBatch(four()...)
	b.release(1) // 3 to 6
	b.wantWaiting(1, 0)
	b.wantBatch(four()...)
	b.release(1) // 7 to 10
	for range 16 {
		b.wantWaiting(1, 0)
		waiting = four()
		b.wantWaiting(1, 4)
		b.release(1)
		b.wantBatch(waiting...)
	}
	b.wantBatch(four()...)
	b.release(2)
	b.wantAnswers(1, 2, 3, 7, 11, next-1)
}

// TestGroupFewCalls: less than four calls do not make a second batch.
func TestGroupFewCalls(t *testing.T) {
	t.Parallel()
	b := newPatientBench(t)
	defer b.group.Close()
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	b.wantBatch(2)
	b.call(t.Context(), 3, "a", "")
	b.call(t.Context(), 4, "a", "")
	b.wantWaiting(2, 2)
	b.release(1)
	b.wantWaiting(1, 2)
	b.release(1)
	b.wantBatch(3, 4)
	for r := 5; r <= 7; r++ {
		b.call(t.Context(), r, "a", "")
	}
	b.wantWaiting(1, 3)
	b.call(t.Context(), 8, "a", "")
	b.wantBatch(5, 6, 7, 8)
	b.release(2)
	b.wantAnswers(1, 2, 3, 4, 5, 6, 7, 8)
}

// TestGroupNobodyMeetsHimself: calls of a customer are not in two batches at once.
func TestGroupNobodyMeetsHimself(t *testing.T) {
	t.Parallel()
	b := newPatientBench(t)
	defer b.group.Close()
	b.call(t.Context(), 1, "a", "ann")
	b.wantBatch(1)
	b.call(t.Context(), 2, "a", "ann")
	b.wantBatch(2) // a call alone is sent, whoever the customer is
	b.call(t.Context(), 3, "a", "bob")
	b.call(t.Context(), 4, "a", "ann")
	b.call(t.Context(), 5, "a", "cat")
	b.call(t.Context(), 6, "a", "dan")
	b.wantWaiting(2, 4)
	b.release(1)
	b.wantBatch(3, 5, 6)
	b.release(1)
	b.wantWaiting(1, 1) // until a batch has returned
	b.release(1)
	b.wantBatch(4)
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5, 6)
}

// wantWaiting waits until so many workers are busy and so many calls wait; no batch may
// have begun.
func (b *bench) wantWaiting(busy, calls int) {
	b.t.Helper()
	for b.group.Busy() != busy || b.group.Waiting() != calls {
		runtime.Gosched()
	}
	if len(b.begun) > 0 {
		b.t.Errorf("batch %v begins, while %d calls are to wait", <-b.begun, calls)
	}
}

// TestGroupPatience: when a batch does not return, calls about other coupons are run
// by another worker; those about its own coupons wait, whoever they meet.
func TestGroupPatience(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{Workers: 2})
	defer b.group.Close()
	b.occupy("slow")
	b.call(t.Context(), 2, "slow", "")
	b.wantBatch(2) // two calls are as good as none
	b.call(t.Context(), 3, "slow", "")
	b.call(t.Context(), 4, "slow", "")
	b.release(2)
	b.wantBatch(3, 4)
	b.call(t.Context(), 5, "slow", "")
	b.call(t.Context(), 6, "other", "")
	b.wantBatch(6) // while 3 and 4 are run
	b.call(t.Context(), 7, "other", "")
	b.release(4)
	b.calls.Wait()
	b.wantAnswers(1, 2, 3, 4, 5, 6, 7)
}

// TestGroupPatienceWithTwo: when two batches do not return, there is a worker left for the
// calls about other coupons.
func TestGroupPatienceWithTwo(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{Workers: 3})
	b.group.Patience(2 * time.Second)
	defer b.group.Close()
	b.occupy("slow")
	for r := 2; r <= 10; r++ {
		b.call(t.Context(), r, "slow", "")
		switch r {
		case 2:
			b.wantBatch(2)
		case 6:
			b.release(2)
			b.wantBatch(3, 4, 5, 6)
		case 10:
			b.wantBatch(7, 8, 9, 10)
		}
	}
	b.call(t.Context(), 11, "slow", "")
	b.call(t.Context(), 12, "other", "")
	b.wantBatch(12) // while the others are run
	b.release(4)
	b.wantAnswers(1, 2, 3, 6, 7, 10, 11, 12)
}

// TestGroupFairness: a hot coupon does not keep the others waiting.
func TestGroupFairness(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{MaxSize: 4})
	defer b.group.Close()
	b.occupy("hot")
	for r := 2; r <= 9; r++ {
		b.call(t.Context(), r, "hot", "")
	}
	b.call(t.Context(), 10, "cold", "")
	b.call(t.Context(), 11, "cool", "")
	b.release(1)
	b.wantBatch(2, 10, 11, 3)
	b.release(2)
	b.wantBatch(4, 5, 6, 7)
	b.wantBatch(8, 9)
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
}

// TestGroupClashes: two calls of one customer are never in one batch, and keep
// their order.
func TestGroupClashes(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.occupy("a")
	b.call(t.Context(), 2, "a", "ann")
	b.call(t.Context(), 3, "a", "ann")
	b.call(t.Context(), 4, "a", "bob")
	b.call(t.Context(), 5, "a", "ann")
	b.release(1)
	b.wantBatch(2, 4)
	b.release(1)
	b.wantBatch(3)
	b.release(1)
	b.wantBatch(5)
	b.release(1)
	b.wantAnswers(1, 2, 3, 4, 5)
}

// TestGroupCancellation: a caller who leaves while waiting changes nothing; one
// who leaves while the batch runs returns at once; neither harms the others.
func TestGroupCancellation(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.occupy("a")
	waiting, leave := context.WithCancelCause(t.Context())
	running, give := context.WithCancelCause(t.Context())
	b.call(waiting, 2, "a", "")
	b.call(t.Context(), 3, "a", "")
	b.call(running, 4, "a", "")
	leave(nil)
	b.wantError(2, context.Canceled)
	b.release(1)
	b.wantBatch(3, 4)
	give(nil)
	b.wantError(4, context.Canceled)
	b.release(1)
	b.wantAnswers(1, 3)
}

func (b *bench) wantError(request int, want error) {
	b.t.Helper()
	for {
		b.mu.Lock()
		err, returned := b.errs[request]
		b.mu.Unlock()
		if returned {
			if !errors.Is(err, want) {
				b.t.Errorf("request %d: error %v, want %v", request, err, want)
			}
			return
		}
		runtime.Gosched()
	}
}

// TestGroupBackPressure: a full queue makes the next caller wait for a place, as
// long as the context lives.
func TestGroupBackPressure(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{MaxQueue: 2})
	defer b.group.Close()
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	b.call(t.Context(), 3, "a", "")
	full, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.group.Do(full, 4, "a", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a call beyond the bound returns %v", err)
	}
	b.release(1)
	b.wantBatch(2, 3)
	b.release(1)
	b.wantAnswers(1, 2, 3)
}

// TestGroupHalves: what the server refuses is run again in halves, so that a bad
// request fails alone; a connection that is lost fails all, for nobody knows.
func TestGroupHalves(t *testing.T) {
	t.Parallel()
	bad := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "23514"}
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.refuse = func(requests []int) error {
		if slices.Contains(requests, 4) {
			return fmt.Errorf("wrapped: %w", bad)
		}
		return nil
	}
	b.occupy("a")
	for r := 2; r <= 6; r++ {
		b.call(t.Context(), r, "a", "")
	}
	b.release(20)
	b.calls.Wait()
	if !errors.Is(b.errs[4], bad) {
		t.Errorf("the bad request: %v", b.errs[4])
	}
	b.wantAnswers(1, 2, 3, 5, 6)
}

// TestGroupLeft: what a batch has left follows, by itself or together as it was left, and
// what goes wrong with some of it is not the others'.
func TestGroupLeft(t *testing.T) {
	t.Parallel()
	bad := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: "23505"}
	for name, refused := range map[string]func(requests []int) bool{
		"nothing is refused":                func([]int) bool { return false },
		"what was left together is refused": func(requests []int) bool { return slices.Equal(requests, []int{4, 5, 6}) },
		"one of it is":                      func(requests []int) bool { return len(requests) < 7 && slices.Contains(requests, 5) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, pgxstore.BatchOptions{})
			defer b.group.Close()
			b.refuse = func(requests []int) error {
				if refused(requests) {
					return bad
				}
				return nil
			}
			b.leave = func(requests []int) map[int]error {
				if len(requests) < 7 {
					return nil
				}
				return map[int]error{3: pgxstore.ErrAlone, 4: pgxstore.ErrLater, 5: pgxstore.ErrLater, 6: pgxstore.ErrLater, 7: pgxstore.ErrAlone}
			}
			b.occupy("a")
			for r := 2; r <= 8; r++ {
				b.call(t.Context(), r, "a", "")
			}
			b.release(20)
			b.wantBatch(2, 3, 4, 5, 6, 7, 8)
			b.wantBatch(3)
			b.wantBatch(7)
			b.wantBatch(4, 5, 6)
			b.calls.Wait()
			if refused([]int{5}) {
				if !errors.Is(b.errs[5], bad) {
					t.Errorf("the bad request: %v", b.errs[5])
				}
				b.wantAnswers(1, 2, 3, 4, 6, 7, 8)
				return
			}
			b.wantAnswers(1, 2, 3, 4, 5, 6, 7, 8)
		})
	}
}

// TestGroupLeftLast: whoever is answered does not wait for those who were left.
func TestGroupLeftLast(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.leave = func(requests []int) map[int]error {
		if len(requests) == 1 {
			return nil
		}
		return map[int]error{3: pgxstore.ErrAlone}
	}
	b.occupy("a")
	answered := make(chan error, 1)
	go func() {
		_, err := b.group.Do(t.Context(), 2, "a", "")
		answered <- err
	}()
	for b.group.Waiting() == 0 {
		runtime.Gosched()
	}
	b.call(t.Context(), 3, "a", "")
	b.release(2)
	b.wantBatch(2, 3)
	b.wantBatch(3) // which waits
	if err := <-answered; err != nil {
		t.Error(err)
	}
	b.release(1)
	b.wantAnswers(1, 3)
}

func TestGroupLostConnection(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection reset")
	b := newBench(t, pgxstore.BatchOptions{})
	defer b.group.Close()
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	b.call(t.Context(), 3, "a", "")
	runs := 0
	b.refuse = func(requests []int) error {
		runs++
		if runs > 1 {
			return lost
		}
		return nil
	}
	b.release(2)
	b.calls.Wait()
	if !errors.Is(b.errs[2], lost) || !errors.Is(b.errs[3], lost) || runs != 2 {
		t.Errorf("%d runs, errors %v and %v", runs, b.errs[2], b.errs[3])
	}
}

// TestGroupTimeout: a call that runs alone is bounded, whatever its caller's context, and so is
// a batch, even when all its callers have left.
func TestGroupTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, pgxstore.BatchOptions{Timeout: time.Minute})
		defer b.group.Close()
		b.group.Patience(time.Hour)
		began := time.Now()
		b.occupy("a")
		b.call(t.Context(), 2, "a", "")
		b.calls.Wait()
		for request, err := range b.errs {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("request %d: %v", request, err)
			}
		}
		if took := time.Since(began); took != 2*time.Minute {
			t.Errorf("a call alone and the batch after it took %v", took)
		}
	})
}

// TestGroupTimeoutOfEach: each call alone has the whole time, whenever others began or ended,
// and whose own context ends is told that.
func TestGroupTimeoutOfEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hung sync.WaitGroup
		group := pgxstore.NewGroup(pgxstore.BatchOptions{Timeout: time.Minute, Workers: 2}, func(ctx context.Context, requests []int) (map[int]int, map[int]error, error) {
			if requests[0] == 0 {
				return nil, nil, nil
			}
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
		defer group.Close()
		ends := func(ctx context.Context, after time.Duration, want error) {
			hung.Go(func() {
				began := time.Now()
				if _, err := group.Do(ctx, 1, "a", ""); !errors.Is(err, want) || time.Since(began) != after {
					t.Errorf("a call ended after %v: %v; want %v, %v", time.Since(began), err, after, want)
				}
			})
		}
		for range 3 {
			if _, err := group.Do(t.Context(), 0, "a", ""); err != nil {
				t.Errorf("a short call: %v", err)
			}
			time.Sleep(50 * time.Second)
			ends(t.Context(), time.Minute, context.DeadlineExceeded)
			time.Sleep(20 * time.Second)
			own, cancel := context.WithCancel(t.Context())
			ends(own, 5*time.Second, context.Canceled)
			time.Sleep(5 * time.Second)
			cancel()
			synctest.Wait()
			ends(t.Context(), time.Minute, context.DeadlineExceeded)
			hung.Wait()
			time.Sleep(10 * time.Minute)
		}
	})
}

// TestGroupClose: calls under way are finished, later ones refused, and no
// goroutine is left (TestMain looks).
func TestGroupClose(t *testing.T) {
	t.Parallel()
	b := newBench(t, pgxstore.BatchOptions{})
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		b.group.Close()
	}()
	b.release(2)
	<-closed
	b.wantAnswers(1, 2)
	if _, err := b.group.Do(t.Context(), 3, "a", ""); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a call after Close: %v", err)
	}
	b.group.Close() // again
}

// TestGroupReports: the hook hears of every batch.
func TestGroupReports(t *testing.T) {
	t.Parallel()
	var sizes []int
	b := newBench(t, pgxstore.BatchOptions{OnBatch: func(r pgxstore.BatchReport) { sizes = append(sizes, r.Size) }})
	b.occupy("a")
	b.call(t.Context(), 2, "a", "")
	b.call(t.Context(), 3, "a", "")
	b.release(2)
	b.calls.Wait()
	b.group.Close()
	if diff := cmp.Diff([]int{1, 2}, sizes); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}
