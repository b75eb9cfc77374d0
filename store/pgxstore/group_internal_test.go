package pgxstore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a group in a bubble of synctest, whose batches wait until the test ends them.
type bench struct {
	*group[int, int]

	t       *testing.T
	begun   chan []int // the requests of each batch
	end     chan struct{}
	refuse  func(requests []int) error
	results map[int]chan error // of the calls
}

func inBubble(t *testing.T, options BatchOptions, test func(*bench)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		options.MaxSize, options.MaxQueue = cmp.Or(options.MaxSize, 100), cmp.Or(options.MaxQueue, 100)
		options.Workers, options.Timeout = cmp.Or(options.Workers, 1), cmp.Or(options.Timeout, time.Hour)
		b := &bench{t: t, begun: make(chan []int, 100), end: make(chan struct{}), results: map[int]chan error{}}
		b.group = newGroup("test", options, b.batch)
		test(b)
		b.close()
		if len(b.begun) > 0 {
			t.Errorf("a batch began that nobody expected: %v", <-b.begun)
		}
	})
}

func (b *bench) batch(ctx context.Context, requests []int) ([]engine.Answer[int], error) {
	b.begun <- slices.Clone(requests)
	select {
	case <-b.end:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if b.refuse != nil {
		if err := b.refuse(requests); err != nil {
			return nil, err
		}
	}
	return each(requests, func(r int) engine.Answer[int] { return engine.Answer[int]{Value: 10 * r} }), nil
}

// calls makes requests, one after the other, each of which then runs or waits.
func (b *bench) calls(ctx context.Context, turn string, requests ...int) {
	for _, r := range requests {
		result := make(chan error, 1)
		b.results[r] = result
		go func() {
			answer, err := b.do(ctx, r, turn)
			if err == nil && answer != 10*r {
				err = errors.New("the answer to another request")
			}
			result <- err
		}()
		synctest.Wait()
	}
}

// ends lets the batch that began first end.
func (b *bench) ends(times int) {
	for range times {
		b.end <- struct{}{}
		synctest.Wait()
	}
}

// began checks which batches have begun since it was called last.
func (b *bench) began(want ...[]int) {
	b.t.Helper()
	synctest.Wait()
	var got [][]int
	for len(b.begun) > 0 {
		got = append(got, <-b.begun)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		b.t.Fatalf("batches that began (-want +got):\n%s", diff)
	}
}

// told checks what requests were answered.
func (b *bench) told(want error, requests ...int) {
	b.t.Helper()
	for _, r := range requests {
		synctest.Wait()
		select {
		case err := <-b.results[r]:
			if !errors.Is(err, want) {
				b.t.Errorf("request %d: %v, want %v", r, err, want)
			}
		default:
			b.t.Errorf("request %d has no answer", r)
		}
	}
}

// Whoever waits when a batch returns is the next batch, up to its bound.
func TestGroupNaturalBatches(t *testing.T) {
	inBubble(t, BatchOptions{MaxSize: 3}, func(b *bench) {
		b.calls(b.t.Context(), "a", 1, 2, 3, 4, 5, 6)
		b.began([]int{1})
		b.ends(1)
		b.began([]int{2, 3, 4})
		b.ends(1)
		b.began([]int{5, 6})
		b.ends(1)
		b.told(nil, 1, 2, 3, 4, 5, 6)
	})
}

// A second batch begins when enough calls wait. A third begins when both take long, and has
// none of their turns.
func TestGroupAmongOthers(t *testing.T) {
	inBubble(t, BatchOptions{Workers: 3}, func(b *bench) {
		b.calls(b.t.Context(), "a", 1, 2, 3, 4)
		b.began([]int{1}, []int{2}) // of two calls both run alone
		b.ends(1)
		b.calls(b.t.Context(), "a", 5)
		b.began() // three calls are too few
		b.calls(b.t.Context(), "a", 6)
		b.began([]int{3, 4, 5, 6})
		b.calls(b.t.Context(), "a", 7, 8, 9, 10)
		b.calls(b.t.Context(), "b", 11)
		b.began()
		time.Sleep(patience)
		b.began([]int{11})
		b.ends(3)
		b.began([]int{7, 8, 9, 10})
		b.ends(1)
		b.told(nil, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	})
}

// A hot coupon does not keep the others waiting.
func TestGroupFairness(t *testing.T) {
	inBubble(t, BatchOptions{MaxSize: 4}, func(b *bench) {
		b.calls(b.t.Context(), "hot", 1, 2, 3, 4, 5, 6)
		b.calls(b.t.Context(), "cold", 7)
		b.calls(b.t.Context(), "cool", 8)
		b.ends(1)
		b.began([]int{1}, []int{2, 7, 8, 3})
		b.ends(2)
		b.began([]int{4, 5, 6})
		b.told(nil, 1, 2, 3, 4, 5, 6, 7, 8)
	})
}

// A batch has no more bytes than the server takes.
func TestGroupWeight(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		b.weigh = func(int) int { return maxWeight / 2 }
		b.calls(b.t.Context(), "a", 1, 2, 3, 4)
		b.ends(1)
		b.began([]int{1}, []int{2, 3})
		b.ends(2)
		b.began([]int{4})
	})
}

// A caller who leaves while waiting is left out of the batch. One who leaves while the batch
// runs returns at once. Neither harms the others.
func TestGroupCancellation(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		waiting, leave := context.WithCancel(b.t.Context())
		running, quit := context.WithCancel(b.t.Context())
		b.calls(b.t.Context(), "a", 1, 2)
		b.calls(waiting, "a", 3)
		b.calls(running, "a", 4)
		leave()
		b.told(context.Canceled, 3)
		b.ends(1)
		b.began([]int{1}, []int{2, 4})
		quit()
		b.told(context.Canceled, 4)
		b.ends(1)
		b.told(nil, 1, 2)
	})
}

// A caller who leaves a running batch hears that the outcome is unknown, and whether the call may be repeated. Attempts have
// no key, so a repetition takes more of them.
func TestWhoLeavesHearsWhatToDo(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/none") // connects to nothing yet
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s, err := New(pool, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"reserve: the outcome is unknown, repeat the call with the same key: context canceled": s.shared.reserve.leave(
			&job[*store.Reservation, store.Reserved]{taken: true}, context.Canceled),
		"apply: the outcome is unknown, repeat the call: context canceled": s.shared.apply.leave(
			&job[store.Settlement, store.Settled]{taken: true}, context.Canceled),
		"attempts: the outcome is unknown: context canceled": s.shared.attempts.leave(
			&job[store.AttemptChange, time.Time]{taken: true}, context.Canceled),
		"context canceled": s.shared.reserve.leave(&job[*store.Reservation, store.Reserved]{}, context.Canceled), // nothing was done
	} {
		if !errors.Is(err, context.Canceled) || err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}

// A full queue makes the next caller wait for room, as long as their context lives.
func TestGroupBackPressure(t *testing.T) {
	inBubble(t, BatchOptions{MaxQueue: 2}, func(b *bench) {
		bounded, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		b.calls(b.t.Context(), "a", 1, 2, 3)
		b.calls(bounded, "a", 4)
		b.calls(b.t.Context(), "a", 5)
		time.Sleep(time.Second)
		b.told(context.DeadlineExceeded, 4)
		b.ends(1)
		b.began([]int{1}, []int{2, 3})
		b.ends(2)
		b.began([]int{5})
		b.told(nil, 1, 2, 3, 5)
	})
}

// A batch is bounded, also when all its callers have left.
func TestGroupTimeout(t *testing.T) {
	inBubble(t, BatchOptions{Timeout: 2 * time.Hour}, func(b *bench) {
		began := time.Now()
		b.calls(b.t.Context(), "a", 1, 2)
		time.Sleep(4 * time.Hour)
		b.told(context.DeadlineExceeded, 1, 2)
		b.began([]int{1}, []int{2})
		if took := time.Since(began); took != 4*time.Hour {
			b.t.Errorf("a call and the batch after it took %v", took)
		}
	})
}

func serverError(code string) error {
	return &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code}
}

// What the server refuses is run again in halves, so that a bad request fails alone.
func TestGroupHalves(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		bad := serverError("23514")
		b.refuse = func(requests []int) error {
			if slices.Contains(requests, 4) {
				return bad
			}
			return nil
		}
		b.calls(b.t.Context(), "a", 1, 2, 3, 4, 5)
		b.ends(6)
		b.began([]int{1}, []int{2, 3, 4, 5}, []int{2, 3}, []int{4, 5}, []int{4}, []int{5})
		b.told(bad, 4)
		b.told(nil, 1, 2, 3, 5)
	})
}

// A lock that is waited for too long fails the calls of its turn.
func TestGroupLockTimeout(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		late := serverError(lockNotAvailable)
		b.refuse = func(requests []int) error {
			if slices.Contains(requests, 2) {
				return late
			}
			return nil
		}
		b.calls(b.t.Context(), "free", 1)
		b.calls(b.t.Context(), "held", 2, 3)
		b.calls(b.t.Context(), "free", 4)
		b.ends(4)
		b.began([]int{1}, []int{2, 4, 3}, []int{2, 3}, []int{4})
		b.told(late, 2, 3)
		b.told(nil, 1, 4)
	})
}

// A connection that is lost fails all calls of the batch: nobody knows what it did.
func TestGroupLostConnection(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		lost := errors.New("connection reset")
		b.refuse = func(requests []int) error {
			if len(requests) > 1 {
				return lost
			}
			return nil
		}
		b.calls(b.t.Context(), "a", 1, 2, 3)
		b.ends(2)
		b.began([]int{1}, []int{2, 3})
		b.told(lost, 2, 3)
	})
}

// A call that needs a transaction of its own gets one when the others are answered.
func TestGroupAlone(t *testing.T) {
	inBubble(t, BatchOptions{}, func(b *bench) {
		b.run = func(ctx context.Context, requests []int) ([]engine.Answer[int], error) {
			answers, err := b.batch(ctx, requests)
			for i, r := range requests {
				if r == 2 && err == nil {
					answers[i] = engine.Answer[int]{Err: engine.ErrAlone}
				}
			}
			return answers, err
		}
		b.alone = func(ctx context.Context, r int) (int, error) { return engine.Only(b.batch(ctx, []int{r})) }
		b.calls(b.t.Context(), "a", 1, 2, 3)
		b.ends(2)
		b.began([]int{1}, []int{2, 3}, []int{2})
		b.told(nil, 3)
		b.ends(1)
		b.told(nil, 2)
	})
}

// Close waits for calls that run or wait, and refuses later ones. It may be called again.
func TestGroupClose(t *testing.T) {
	var sizes []int
	inBubble(t, BatchOptions{OnBatch: func(r BatchReport) { sizes = append(sizes, r.Size) }}, func(b *bench) {
		b.calls(b.t.Context(), "a", 1, 2, 3)
		closed := make(chan struct{})
		go func() {
			b.close()
			close(closed)
		}()
		synctest.Wait()
		b.calls(b.t.Context(), "a", 4)
		b.told(store.ErrClosed, 4)
		select {
		case <-closed:
			b.t.Error("close does not wait")
		default:
		}
		b.ends(2)
		b.told(nil, 1, 2, 3)
		<-closed
		b.began([]int{1}, []int{2, 3})
		if diff := gocmp.Diff([]int{1, 2}, sizes); diff != "" {
			b.t.Errorf("sizes that were reported (-want +got):\n%s", diff)
		}
	})
}
