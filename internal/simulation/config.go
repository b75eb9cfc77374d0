package simulation

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// Config describes a life. A count of 0 is the default, or drawn from the seed within bounds.
type Config struct {
	Seed      uint64 // decides everything
	Steps     int    // until the world comes to rest: 400
	Customers int    // of each shop: 2,000, of which a few buy most of the time
	Shops     int    // each with a payment processor, a ledger and tables of its own: 1 or 2
	Nodes     int    // processes that run the services of all shops: 1 to 4
	InFlight  int    // the most operations under way at once: 3 to 10
	ScanEvery int    // effects, after which a shop is read as a whole: 16
	Trace     bool   // writes down what happens, also in a life without a fault
	Recorders bool   // hosts record what the services hear, in transactions that may be rolled back
	KeepTrace bool   // leaves the trace of a failure as it is, which is fast

	CheckOrder func(redemption.Order) error             // checks each new order, if it is given
	Check      func(context.Context, store.Store) error // checks the store of each shop at rest
	Parts      func() Parts                             // makes a life's parts; nil is sound parts in memory
}

// Parts make the world. Tests break them. A part that is nil is sound.
type Parts struct {
	// Database makes an empty database; nil is [Memory]. A broken store calls pause, which lets
	// something else happen, and does not return in a process that has stopped.
	Database  func(shops int, pause func()) (Database, error)
	Processor func(Processor) Processor     // wraps what a process sees of it
	Account   func(Processor) Processor     // wraps the processor itself, which keeps the payments
	Points    func(Points) couponkit.Points // wraps what a process sees of it
	Webhook   func(Webhook) Webhook         // wraps what a process does with a delivery
	// Checkout changes what the host passes on of a customer's checkout.
	Checkout func(couponkit.CheckoutRequest) couponkit.CheckoutRequest
	// Automatic lets shops have automatic coupons, which each process finds in an index of its own.
	Automatic bool
	// CreateTime is how long a call that creates a session may take. 0 is what the service expects.
	CreateTime time.Duration
}

// Webhook is the receiver of one process: it authenticates a delivery and calls the service.
type Webhook func(ctx context.Context, s *couponkit.Service, parse Parse, d fakeprocessor.Delivery) error

// Parse authenticates a delivery.
type Parse func(payload []byte, signature string) (processor.Event, error)

func receive(ctx context.Context, s *couponkit.Service, parse Parse, d fakeprocessor.Delivery) error {
	e, err := parse(d.Payload, d.Signature)
	if err == nil {
		_, err = s.HandleEvent(ctx, e)
	}
	return err
}

// Database is what the processes of a world share, and what outlives them.
type Database interface {
	Open() (Process, error) // begins a process
	Crash() error           // is a loss of power: every process was killed, and what was committed stays
	Close() error           // ends the database with its world
}

// Process is one process's view of the database.
type Process interface {
	Store(shop int) store.Store // the same one each time
	// Cut makes a call in which the process stops, after so many statements of its transaction.
	// The call has no effect. [Process.Kill] follows.
	Cut(statements int, call func())
	Kill() // without any chance to tidy up
}

// Memory makes databases in memory. wrap, if not nil, wraps the store of each shop.
func Memory(wrap func(s store.Store, pause func()) store.Store) func(int, func()) (Database, error) {
	return func(shops int, pause func()) (Database, error) {
		m := &memory{stores: make([]store.Store, shops)}
		for i := range m.stores {
			if m.stores[i] = memstore.New(); wrap != nil {
				m.stores[i] = wrap(m.stores[i], pause)
			}
		}
		return m, nil
	}
}

// memory is a database in memory, with all its processes. A call takes effect at once or not at all.
type memory struct{ stores []store.Store }

func (m *memory) Open() (Process, error)     { return m, nil }
func (m *memory) Crash() error               { return nil }
func (m *memory) Store(shop int) store.Store { return m.stores[shop] }
func (m *memory) Cut(int, func())            {}
func (m *memory) Kill()                      {}

func (m *memory) Close() error {
	var failed error
	for _, s := range m.stores {
		failed = errors.Join(failed, s.Close())
	}
	return failed
}

const (
	defaultSteps   = 400
	startingPoints = 500
)

// temper has the random properties of a world, besides its size. Worlds that are all alike would find
// the same faults.
type temper struct {
	hot       int // number of customers who buy most of the time
	codes     int // number of codes in use
	faultOdds int // one call in faultOdds fails; 0 means never
	hurry     int // steps in ten that continue a waiting call
	budgets   int // one coupon in budgets has a budget
	longTimes int // one step in longTimes that moves the clock takes days
	most      int64
	begins    []happening // each repeated as often as its weight
	happens   []happening
}

// withDefaults draws the fields that are not set.
func (c Config) withDefaults(random *rand.Rand) Config {
	c.Steps, c.Customers, c.ScanEvery = cmp.Or(c.Steps, defaultSteps), cmp.Or(c.Customers, 2_000), cmp.Or(c.ScanEvery, 16)
	c.Shops = cmp.Or(c.Shops, 1+random.IntN(4)/3)
	c.Nodes = cmp.Or(c.Nodes, 1+random.IntN(4))
	c.InFlight = cmp.Or(c.InFlight, 3+random.IntN(8))
	return c
}

func newTemper(c Config, automatic bool, random *rand.Rand) temper {
	t := temper{
		hot: 1 + random.IntN(5), codes: 1 + random.IntN(len(codes)),
		faultOdds: []int{0, 40, 12, 12, 5, 3}[random.IntN(6)],
		budgets:   []int{1, 2, 4, 8}[random.IntN(4)],
		hurry:     5 + random.IntN(3), longTimes: 5 + random.IntN(30), most: 3,
	}
	if c.Steps >= 10_000 {
		t.most = 400
	}
	moody := random.IntN(2) == 0 // in half of the worlds some events never happen, and others happen very often
	weigh := func(list []happening) (all []happening) {
		for _, h := range list {
			if moody {
				h.weight *= []int{0, 1, 1, 1, 4}[random.IntN(5)]
			}
			all = append(all, slices.Repeat([]happening{h}, h.weight)...)
		}
		return all
	}
	t.begins, t.happens = weigh(begins), weigh(happens)
	if automatic {
		t.begins = append(t.begins, weigh([]happening{{"index", 8, (*world).updateIndex}})...)
	}
	return t
}
