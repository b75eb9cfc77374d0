package faults_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// workerVariable makes the test binary a client process; its value is the database.
const workerVariable = "COUPONKIT_TEST_WORKER"

// How a client process calls the store.
const (
	batched        = "batched"
	alone          = "alone"
	inTransactions = "transactions"
	forgetful      = "forgetful" // planted: some transactions are acknowledged and not committed
)

// task is what a client process is told on its standard input.
type task struct {
	Coupons    []roundCoupon
	Calls      int // of each goroutine
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

// worker is the main function of a client process.
func worker(dsn string, in io.Reader, out io.Writer) error {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return err
	}
	config.MaxConns = 8
	config.ConnConfig.RuntimeParams["application_name"] = "worker"
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return err
	}
	defer pool.Close()
	w := &client{pool: pool, out: json.NewEncoder(out), quote: cheapQuote()}
	tasks := json.NewDecoder(bufio.NewReader(in))
	for {
		var t task
		if err := tasks.Decode(&t); err != nil {
			return nil //nolint:nilerr // the test has closed the input
		}
		done, err := w.run(t)
		if err != nil {
			return err
		}
		if err := w.say(done); err != nil {
			return err
		}
	}
}

const (
	// hang is how long one attempt of a call may take. Only a store that has locked
	// itself out needs so long, however busy the machine is.
	hang = time.Minute
	// recovery is how long a call is repeated: longer than a server needs to start
	// again after a crash.
	recovery = 3 * time.Minute
)

type client struct {
	pool  *pgxpool.Pool
	quote pricing.Quote

	mu     sync.Mutex
	out    *json.Encoder
	number int
	// Only orders that exist are paid, and only an attached session is enough to find
	// one: known made an order, and attached joined one with its session.
	known, attached []operation
}

func (w *client) say(l line) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Encode(l)
}

func (w *client) run(t task) (done line, err error) {
	s, err := pgxstore.New(w.pool, pgxstore.Options{Batch: pgxstore.BatchOptions{
		Off: t.Mode == alone, Timeout: time.Hour, // hang is the limit here
	}})
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
	w.known, w.attached = nil, nil
	var running sync.WaitGroup
	for g := range t.Goroutines {
		running.Go(func() {
			random := rand.New(rand.NewPCG(t.Seed, uint64(g)))
			for range t.Calls {
				w.make(s, t, random)
			}
		})
	}
	running.Wait()
	return line{Done: true}, nil
}

// make makes one call, again if its answer was lost, and records it.
func (w *client) make(s *pgxstore.Store, t task, random *rand.Rand) {
	w.mu.Lock()
	w.number++
	number := w.number
	o := choose(random, t.Coupons, w.known, w.attached)
	w.mu.Unlock()
	o.NewID = fmt.Sprintf("new-%d-%d-%d", os.Getpid(), t.Seed, number)
	c := call{Operation: o, Began: time.Now().UnixNano()}
	if err := w.say(line{Number: number, Call: c}); err != nil {
		return
	}
	ctx, cancel := patience.WithTimeout(context.Background(), recovery)
	defer cancel()
	for ctx.Err() == nil {
		out, err := w.once(ctx, s, t.Mode, c.Operation, random)
		if err == nil {
			c.Outcome, c.Ended = out, time.Now().UnixNano()
			_ = w.say(line{Number: number, Call: c})
			w.learn(c)
			return
		}
		c.Failure = err.Error()
		if connect := (*pgconn.ConnectError)(nil); !errors.As(err, &connect) {
			c.Lost = append(c.Lost, c.Began)
		}
		time.Sleep(time.Duration(1+random.IntN(20)) * time.Millisecond)
		c.Began = time.Now().UnixNano()
	}
	_ = w.say(line{Number: number, Call: c})
}

// learn remembers what a call has made.
func (w *client) learn(c call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case c.Outcome.Err != "":
	case c.Operation.Call == "attach":
		w.attached = append(w.attached, c.Operation)
	case c.Operation.Call == "reserve" || c.Operation.Call == "takeOver":
		w.known = append(w.known, c.Operation)
	}
}

func (w *client) once(ctx context.Context, s *pgxstore.Store, mode string, o operation, random *rand.Rand) (out outcome, err error) {
	ctx, cancel := patience.WithTimeout(ctx, hang)
	defer cancel()
	if mode == batched || mode == alone {
		return o.make(ctx, s, w.quote)
	}
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer tx.Rollback(ctx)
	if out, err = o.make(ctx, s.WithTx(tx), w.quote); err != nil {
		return outcome{}, err
	}
	if mode == forgetful && random.IntN(4) == 0 {
		return out, nil
	}
	return out, tx.Commit(ctx)
}

var _ store.Store = (*pgxstore.Store)(nil)

// choose makes an operation. There are few customers and keys, so that the
// processes meet on the same records.
func choose(random *rand.Rand, coupons []roundCoupon, known, attached []operation) operation {
	if len(attached) > 0 && random.IntN(12) == 0 {
		o := attached[random.IntN(len(attached))]
		o.Call, o.Event = "settle", pick(random, redemption.SessionCompleted, redemption.SessionExpired)
		o.ID, o.Order = "", "" // the metadata was lost
		return o
	}
	if len(known) > 0 && random.IntN(3) == 0 {
		o := known[random.IntN(len(known))]
		o.Call, o.Session = "settle", "cs_"+o.Order
		o.Event = pick(random, redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionExpired,
			redemption.SessionUnpaid, redemption.PaymentFailed)
		return o
	}
	c := coupons[random.IntN(len(coupons))]
	o := operation{
		Coupon: c.ID, Limits: c.Limits,
		Customer: fmt.Sprintf("%s-c%d", c.ID, random.IntN(4)), Key: fmt.Sprintf("k%d", random.IntN(2)),
	}
	o.ID = redemptionID(o.Coupon, o.Customer, o.Key)
	o.Order = store.OrderIDPrefix + o.ID
	second := o.Order + "-second"
	if o.Call = pick(random, "reserve", "reserve", "attach", "transition", "takeOver", "lookUp"); o.Call == "takeOver" {
		if random.IntN(2) == 0 {
			o.Session = "cs_" + o.Order
		}
		o.Order, o.Key = second, o.Key+"-second"
		return o
	}
	switch o.Call {
	case "reserve", "lookUp":
		return o
	case "transition":
		o.Event = pick(random, redemption.Cancelled, redemption.Lapsed)
		if random.IntN(2) == 0 {
			o.Session = "cs_" + o.Order
		}
		return o
	}
	if random.IntN(4) == 0 {
		o.Order = second
	}
	o.Session = "cs_" + o.Order
	return o
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

func cheapQuote() pricing.Quote { return pricing.Quote{} }
