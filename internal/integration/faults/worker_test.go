package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// workerVariable makes the test binary a client process; its value is the database.
const workerVariable = "COUPONKIT_TEST_WORKER"

// How a client process calls the store.
const (
	batched        = "batched"
	alone          = "alone" // batches of one call
	inTransactions = "transactions"
	forgetful      = "forgetful" // planted: some transactions are acknowledged and not committed
	lockless       = "lockless"  // planted: no row is locked that is read, and no counter checked
)

// task is what a client process is told on its standard input.
type task struct {
	Round      string
	Coupons    []roundCoupon
	Own        string        // customer that only this process names
	OwnCoupons []roundCoupon // coupons of this customer
	Calls      int           // of each goroutine
	Goroutines int
	Seed       uint64
	Mode       string
	// Reconnect forgets connections that a fault before may have cut.
	Reconnect bool
	// From and To make it an exhaustion: every use from From to before To of the one
	// coupon is wanted once.
	From, To int
}

// line is what a client process writes: each call before it is made and when it has
// ended, so that a process which is killed leaves its open calls behind.
type line struct {
	Number int
	Call   call
	Done   bool // the task is done
	Uses   uses // of an exhaustion that is done
}

// client is a client process.
type client struct {
	pool     *pgxpool.Pool
	unlocked atomic.Bool // planted

	mu     sync.Mutex
	out    *json.Encoder
	number int
}

// worker is the main function of a client process.
func worker(dsn string, in io.Reader, out io.Writer) error {
	w := &client{out: json.NewEncoder(out)}
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.MaxConns = 5
	config.ConnConfig.RuntimeParams["application_name"] = "worker"
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return &wire{conn, &w.unlocked}, err
	}
	if w.pool, err = pgxpool.NewWithConfig(context.Background(), config); err != nil {
		return err
	}
	defer w.pool.Close()
	tasks := json.NewDecoder(bufio.NewReader(in))
	for {
		var t task
		if err := tasks.Decode(&t); err != nil {
			return nil //nolint:nilerr // the test has closed the input
		}
		done, err := w.run(t)
		if err == nil {
			err = w.say(done)
		}
		if err != nil {
			return err
		}
	}
}

// wire is a connection that can take the locks, and the check of counters, out of statements.
type wire struct {
	net.Conn

	unlocked *atomic.Bool
}

// Write overwrites them with spaces, so that no length changes.
func (w *wire) Write(b []byte) (int, error) {
	if w.unlocked.Load() {
		for _, r := range [][2]string{
			{"FOR UPDATE SKIP LOCKED", ""},
			{"FOR UPDATE", ""},
			{"coalesce(c.reserved + c.completed, 0) BETWEEN w.least AND w.most", "true"},
		} {
			text, instead := r[0], r[1]
			b = bytes.ReplaceAll(b, []byte(text), []byte(instead+strings.Repeat(" ", len(text)-len(instead))))
		}
	}
	return w.Conn.Write(b)
}

const (
	// hang is how long one attempt of a call may take. Only a store that has locked
	// itself out needs so long, however busy the machine is.
	hang = time.Minute
	// recovery is how long a call is repeated: longer than a server needs to start
	// again after a crash.
	recovery = 3 * time.Minute
	// calmness is how long a call is repeated in a round without a fault, in which none has to
	// be: only a store that was broken on purpose fails there for ever.
	calmness = 10 * time.Second
)

func (w *client) say(l line) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Encode(l)
}

func (w *client) run(t task) (done line, err error) {
	w.unlocked.Store(t.Mode == lockless)
	batch := pgxstore.BatchOptions{Timeout: time.Hour} // hang is the limit here
	if t.Mode == alone || t.Mode == lockless {
		batch.MaxSize, batch.Workers = 1, 8
	}
	s, err := pgxstore.New(w.pool, pgxstore.Options{Batch: batch})
	if err != nil {
		return line{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if t.Reconnect {
		w.pool.Reset()
	}
	if t.To > 0 {
		return line{Done: true, Uses: w.useUp(s, t)}, nil
	}
	var running sync.WaitGroup
	for g := range t.Goroutines {
		running.Go(func() {
			random := rand.New(rand.NewPCG(t.Seed, uint64(g)))
			if g == 0 {
				for _, o := range paidFirst(t) {
					w.make(s, t, o, random)
				}
			}
			for range t.Calls {
				w.make(s, t, choose(random, t), random)
			}
		})
	}
	running.Wait()
	return line{Done: true}, nil
}

// make makes one call, again if its answer was lost, and records it.
func (w *client) make(s *pgxstore.Store, t task, o operation, random *rand.Rand) {
	w.mu.Lock()
	w.number++
	number := w.number
	w.mu.Unlock()
	c := call{Operation: o, Began: time.Now().UnixNano()}
	if c.Operation.NewID == "" {
		c.Operation.NewID = fmt.Sprintf("new-%d-%d", os.Getpid(), number)
	}
	if err := w.say(line{Number: number, Call: c}); err != nil {
		return
	}
	limit := recovery
	if t.Reconnect {
		limit = calmness
	}
	ctx, cancel := patience.WithTimeout(context.Background(), limit)
	defer cancel()
	for ctx.Err() == nil {
		out, err := w.once(ctx, s, t.Mode, c.Operation, random)
		if err == nil {
			c.Outcome, c.Ended = out, time.Now().UnixNano()
			break
		}
		c.Failure = err.Error()
		wait := 1 + random.IntN(20)
		if connect := (*pgconn.ConnectError)(nil); errors.As(err, &connect) {
			wait *= 10 // a server that starts makes a process for every try
		} else {
			c.Lost = append(c.Lost, c.Began)
		}
		time.Sleep(time.Duration(wait) * time.Millisecond)
		c.Began = time.Now().UnixNano()
	}
	_ = w.say(line{Number: number, Call: c})
}

func (w *client) once(ctx context.Context, s *pgxstore.Store, mode string, o operation, random *rand.Rand) (out outcome, err error) {
	ctx, cancel := patience.WithTimeout(ctx, hang)
	defer cancel()
	if mode != inTransactions && mode != forgetful {
		return o.make(ctx, s)
	}
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = tx.Rollback(ctx) }()
	if out, err = o.make(ctx, s.WithTx(tx)); err != nil || mode == forgetful && random.IntN(4) == 0 {
		return out, err
	}
	return out, tx.Commit(ctx)
}

// on calls the store, in a transaction of the host's where that is the mode.
func (w *client) on(ctx context.Context, s *pgxstore.Store, mode string, do func(*pgxstore.Store) error) error {
	if mode != inTransactions {
		return do(s)
	}
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error { return do(s.WithTx(tx)) })
}

const ownKey = "own"

// paidFirst returns a payment and then the reservation of its order. No other process names their
// customer or coupon. So the reservation finds the payment in every round.
func paidFirst(t task) [2]operation {
	o := operation{Part: t.Own, Customer: t.Own, Coupons: t.OwnCoupons, Key: ownKey, Order: redemption.OrderIDPrefix + t.Own}
	paid, reserved := o, o
	paid.Call, paid.NewID, paid.Session, paid.Event = apply, o.Order, "cs_"+o.Order, event(redemption.Paid)
	reserved.Call = reserve
	return [2]operation{paid, reserved}
}

// choose makes an operation. There are few customers and keys, so that the processes meet
// on the same records. A key tells what its order is: k1 wants the first coupon, k2 the
// second, k3 both, and k1-2 and k1-3 replace the order before. Half of all operations are about k1 and
// its successors of one customer, whose payments begin and end. Payments of paid0 to paid2 come before or after
// the reservations of their orders.
func choose(random *rand.Rand, t task) operation {
	n, depth, customer := random.IntN(3), pick(random, 0, 0, 0, 1, 2), random.IntN(3)
	kind := pick(random, redemption.SessionAttached, redemption.SessionAttached, redemption.Paid, redemption.Paid, redemption.PaymentPending,
		redemption.PaymentPending, redemption.PaymentFailed, redemption.SessionExpired, redemption.Cancelled, redemption.Lapsed)
	if random.IntN(2) == 0 {
		n, customer, depth = 0, 0, pick(random, 0, 0, 0, 1, 1)
		kind = pick(random, kind, redemption.PaymentBegun, redemption.SessionAttached, redemption.PaymentPending, redemption.PaymentEnded, redemption.PaymentOpened, redemption.Cancelled)
	}
	o := operation{
		Part: t.Round, Call: pick(random, reserve, reserve, reserve, apply, apply, apply, apply, read, count),
		Customer: fmt.Sprintf("%s-c%d", t.Round, customer),
		Coupons:  [][]roundCoupon{t.Coupons[:1], t.Coupons[1:], t.Coupons}[(n+depth)%3],
	}
	keyOf := func(depth int) string {
		return fmt.Sprint("k", n+1) + []string{"", "-2", "-3"}[depth]
	}
	orderOf := func(key string) string { return redemption.OrderIDPrefix + o.Customer + "-" + key }
	o.Key = keyOf(depth)
	o.Order = orderOf(o.Key)
	if random.IntN(4) == 0 {
		o.Key = fmt.Sprint("paid", n)
		o.Order = orderOf(o.Key)
		o.NewID, o.Session, o.Event = o.Order, "cs_"+o.Order, event(redemption.Paid)
		o.Coupons = t.Coupons[:random.IntN(2)] // a limit is soon reached
		if o.Call = pick(random, reserve, apply); o.Call == reserve {
			o.NewID, o.Session, o.Event = "", "", 0
		}
		return o
	}
	switch o.Call {
	case reserve:
		if depth > 0 {
			o.Replaces = orderOf(keyOf(depth - 1))
		}
		o.Begins = random.IntN(2) == 0
	case count:
		o.Coupons = t.Coupons
	case apply:
		o.Session = "cs_" + o.Order
		o.Event, o.BegunBy, o.AskedAt = event(kind), pick(random, 0, 1, 1_000), pick[int64](random, 0, 3, math.MaxInt64)
		switch {
		case kind == redemption.Cancelled || kind == redemption.Lapsed:
			o.Session, o.Over = pick(random, "", o.Session), pick(random, false, true)
		case kind == redemption.PaymentBegun:
			o.Session = ""
		case kind == redemption.PaymentEnded && random.IntN(2) == 0, random.IntN(8) == 0 && (kind == redemption.Paid || kind == redemption.PaymentPending):
			o.Session = ""
		case kind != redemption.SessionAttached:
			o.Bare = random.IntN(6) == 0
		}
	}
	return o
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }
