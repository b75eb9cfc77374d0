package pgxstore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// guesserVariable makes the test binary a process that guesses, on the database that it names.
const guesserVariable = "COUPONKIT_PGX_GUESSER"

var (
	guessLimits   = ratelimit.Limits{"customer": {Attempts: 17, Window: time.Minute}, "address": {Attempts: 40, Window: time.Minute}}
	guessesBegin  = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	sameCustomer  = ratelimit.Subject{Limit: "customer", ID: "ann"}
	guessCallers  = 8
	guessesOfEach = 25
)

// runGuesser guesses as often as it may, with codes of which every fifth exists. It prints how often it failed.
func runGuesser(ctx context.Context, dsn string) error {
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	s, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return err
	}
	limiter, err := ratelimit.NewStored(s, guessLimits, func() time.Time { return guessesBegin })
	if err != nil {
		return err
	}
	var failed atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, guessCallers)
	for caller := range guessCallers {
		all.Go(func() {
			for i := range guessesOfEach {
				who := []ratelimit.Subject{sameCustomer, {Limit: "address", ID: fmt.Sprint("a", caller%4)}}
				err := limiter.Take(ctx, 1, who...)
				switch {
				case errors.Is(err, ratelimit.ErrTooManyAttempts):
				case err != nil:
					errs[caller] = err
					return
				case i%5 == 0: // the code exists
					errs[caller] = errors.Join(errs[caller], limiter.Return(ctx, 1, who...))
				default:
					failed.Add(1)
				}
			}
		})
	}
	all.Wait()
	fmt.Println(failed.Load())
	return errors.Join(errors.Join(errs...), s.Close())
}

// TestALimitHoldsAcrossProcesses: two processes on one database fail together as often as one may.
func TestALimitHoldsAcrossProcesses(t *testing.T) {
	t.Parallel()
	dsn := shared.Lend(t)
	program, err := os.Executable()
	require.NoError(t, err)
	var all sync.WaitGroup
	var failed [2]int
	var errs [2]error
	for i := range failed {
		all.Go(func() {
			guesser := exec.CommandContext(t.Context(), program)
			guesser.Env, guesser.Stderr = append(os.Environ(), guesserVariable+"="+dsn), os.Stderr
			said, err := guesser.Output()
			if err == nil {
				failed[i], err = strconv.Atoi(strings.TrimSpace(string(said)))
			}
			errs[i] = err
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs[:]...))
	require.Equal(t, guessLimits["customer"].Attempts, failed[0]+failed[1], "failures of both processes: %v", failed)
}

// TestAttemptsTakeTwoRoundTrips: the buckets of all subjects are locked in one, and written in another.
func TestAttemptsTakeTwoRoundTrips(t *testing.T) {
	t.Parallel()
	var talk conversation
	s := newStore(t, talk.on(t, shared.Lend(t)), pgxstore.Options{})
	limiter, err := ratelimit.NewStored(s, guessLimits, nil)
	require.NoError(t, err)
	who := []ratelimit.Subject{sameCustomer, {Limit: "address", ID: "here"}}
	for range 2 { // statements are prepared
		require.NoError(t, limiter.Take(t.Context(), 1, who...))
		require.NoError(t, limiter.Return(t.Context(), 1, who...))
	}
	for what, call := range map[string]func(context.Context, int, ...ratelimit.Subject) error{"Take": limiter.Take, "Return": limiter.Return} {
		before := talk.trips.Load()
		require.NoError(t, call(t.Context(), 1, who...))
		require.Equal(t, int64(2), talk.trips.Load()-before, what)
	}
	forgotten, err := s.ForgetAttempts(t.Context(), time.Now().Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 2, forgotten)
}

// queuing is the context of a call. The call is in the queue once it has asked for Done twice: before it takes its place,
// and when it waits there for its answer.
type queuing struct {
	context.Context

	asked atomic.Int64
}

func (q *queuing) Done() <-chan struct{} {
	q.asked.Add(1)
	return q.Context.Done()
}

// waitInQueue waits until all calls are in the queue.
func waitInQueue(calls []queuing) {
	for i := range calls {
		for calls[i].asked.Load() < 2 {
			time.Sleep(time.Millisecond)
		}
	}
}

// TestConcurrentAttemptsShareATransaction: while a transaction holds the bucket of an address, the calls from there wait
// together. They get as many attempts as the bucket has.
func TestConcurrentAttemptsShareATransaction(t *testing.T) {
	t.Parallel()
	const callers, size = 60, 25
	var changes, transactions atomic.Int64
	pool := postgrestest.NewPool(t, shared.NewCopy(t))
	s := newStore(t, pool, pgxstore.Options{Batch: pgxstore.BatchOptions{Workers: 1, OnBatch: func(r pgxstore.BatchReport) {
		if r.Operation != "attempts" {
			t.Errorf("the operation is %q", r.Operation)
		}
		changes.Add(int64(r.Size))
		transactions.Add(1)
	}}})
	take := func(ctx context.Context, s *pgxstore.Store) (time.Time, error) {
		bucket := store.Bucket{Key: "address", Size: size * time.Minute, Cost: time.Minute}
		return s.SaveAttempts(ctx, store.AttemptChange{Kind: store.TakeAttempts, Buckets: []store.Bucket{bucket}, At: guessesBegin})
	}
	_, err := take(t.Context(), s)
	require.NoError(t, err)
	host, err := pool.Begin(context.WithoutCancel(t.Context()))
	require.NoError(t, err)
	defer func() { _ = host.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = take(t.Context(), s.WithTx(host))
	require.NoError(t, err)
	var all sync.WaitGroup
	var taken atomic.Int64
	errs, calls := make([]error, callers), make([]queuing, callers)
	call := func(i int) {
		calls[i].Context = t.Context()
		all.Go(func() {
			retryAt, err := take(&calls[i], s)
			if errs[i] = err; retryAt.IsZero() {
				taken.Add(1)
			}
		})
	}
	call(0)
	waitForLock(t.Context(), t, pool, nil)
	for i := range callers - 1 {
		call(i + 1)
	}
	waitInQueue(calls[1:])
	require.NoError(t, host.Commit(context.WithoutCancel(t.Context())))
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, int64(size-2), taken.Load())
	require.NoError(t, s.Close()) // waits for the last report
	require.Equal(t, int64(callers+1), changes.Load())
	require.Equal(t, int64(3), transactions.Load(), "the first call, the one that has waited for the host, and all others together")
}

// settings keeps the statements of batches that set something.
type settings struct {
	statements

	all sync.Map
}

func (s *settings) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if strings.HasPrefix(data.SQL, "SET ") {
		s.all.Store(data.SQL, true)
	}
}

// TestAttemptsDoNotWaitForTheDisk: everybody behind one address has the same bucket, and would wait for the disk of everybody
// else. A transaction of the host commits as the host wishes.
func TestAttemptsDoNotWaitForTheDisk(t *testing.T) {
	t.Parallel()
	var traced settings
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(config *pgxpool.Config) { config.ConnConfig.Tracer = &traced })
	s := newStore(t, pool, pgxstore.Options{})
	take := func(s *pgxstore.Store) []any {
		traced.all.Clear()
		bucket := store.Bucket{Key: "address", Size: time.Minute, Cost: time.Second}
		_, err := s.SaveAttempts(t.Context(), store.AttemptChange{Kind: store.TakeAttempts, Buckets: []store.Bucket{bucket}, At: guessesBegin})
		require.NoError(t, err)
		var all []any
		traced.all.Range(func(text, _ any) bool {
			all = append(all, text)
			return true
		})
		return all
	}
	require.Equal(t, []any{"SET LOCAL synchronous_commit TO off"}, take(s))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	require.Empty(t, take(s.WithTx(tx)))
}
