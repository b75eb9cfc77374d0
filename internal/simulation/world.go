package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/host"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Config describes a life. The zero value of a field is the default that its
// comment names.
type Config struct {
	// Seed decides everything.
	Seed uint64
	// Steps is how many things happen before the world comes to rest; 400.
	Steps int
	// Customers is how many there are; 2,000. A few of them buy most of the time.
	Customers int
	// Nodes is how many processes run the service; 3.
	Nodes int
	// KeepTrace leaves the trace of a failure as it is, which saves the search for a
	// short one.
	KeepTrace bool
	// Parts are what the world is made of; the zero value is a world of sound parts,
	// which needs a store.
	Parts Parts
}

// Parts make the world. A test that wants to see the simulation find a fault breaks
// one.
type Parts struct {
	// Store makes an empty store. pause lets something else happen before it
	// returns: a store that calls it between two accesses is not atomic.
	Store func(pause func()) store.Store
	// Processor and Points wrap what the service sees of the two; nil is no wrapping.
	Processor func(processor.Processor) processor.Processor
	Points    func(couponkit.Points) couponkit.Points
}

const (
	defaultSteps     = 400
	defaultCustomers = 2_000
	defaultNodes     = 3
	hotCustomers     = 4
	startingPoints   = 500
	maxInFlight      = 6
)

// World is one life in progress.
type World struct {
	config Config
	now    time.Time
	random *rand.Rand // of the step that is going on

	store  store.Store // as it really is
	fake   *fakeprocessor.Processor
	ledger *host.Ledger
	nodes  []*node
	tasks  []*task // in flight, in the order of their beginning
	parked chan struct{}
	active *task

	ids        int
	keys       int
	coupons    []string
	credited   map[string]bool
	deliveries []fakeprocessor.Delivery
	greatest   map[string]coupon.Limits

	used  int // completed redemptions at rest
	trace []string
	fault string
}

// node is a process that runs the service. A stopped process never gets an answer
// again; its successor is another process.
type node struct {
	service *couponkit.Service
	stopped bool
}

func newWorld(c Config) *World {
	w := &World{
		config: c, now: time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC),
		ledger: &host.Ledger{}, parked: make(chan struct{}),
		credited: make(map[string]bool), greatest: make(map[string]coupon.Limits),
	}
	w.store = c.Parts.Store(func() { w.pause("pause") })
	w.fake = fakeprocessor.New(fakeprocessor.Options{
		Now: w.clock, Tolerance: 100_000 * time.Hour,
		Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
	})
	for range c.Nodes {
		w.nodes = append(w.nodes, w.newNode())
	}
	return w
}

func (w *World) clock() time.Time { return w.now }

func (w *World) newID(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s%06d", prefix, w.ids)
}

// newNode starts a process.
func (w *World) newNode() *node {
	n := &node{}
	gate := func(call string, effect func() error) error { return w.gate(n, call, effect) }
	var payments processor.Processor = Processor{Inner: w.fake, Gate: gate}
	if wrap := w.config.Parts.Processor; wrap != nil {
		payments = wrap(payments)
	}
	var points couponkit.Points = Points{Inner: w.ledger, Gate: gate}
	if wrap := w.config.Parts.Points; wrap != nil {
		points = wrap(points)
	}
	service, err := couponkit.New(Store{Inner: w.store, Gate: gate}, payments,
		couponkit.WithClock(w.clock), couponkit.WithIDs(w.newID), couponkit.WithPoints(points))
	if err != nil {
		w.fail("start a node: %v", err)
	}
	n.service = service
	return n
}

// fail records the first fault of the life.
func (w *World) fail(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

func (w *World) log(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

// expect fails the life unless the error is one that a caller of the service has to
// expect.
func (w *World) expect(what string, err error) {
	var refused *coupon.Rejection
	var invalid *pricing.ValidationError
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &invalid), errors.Is(err, errLost), errors.Is(err, errStopped):
	case errors.Is(err, couponkit.ErrUnavailable), errors.Is(err, processor.ErrRejected), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
	case errors.Is(err, redemption.ErrIllegal), errors.Is(err, couponkit.ErrOrderEnded), errors.Is(err, couponkit.ErrReservationClosed):
	default:
		w.fail("%s: unexpected error: %v", what, err)
	}
}

// customer draws a customer; a few buy most of the time.
func (w *World) customer() string {
	n := w.random.IntN(hotCustomers)
	if w.random.IntN(5) == 0 {
		n = w.random.IntN(w.config.Customers)
	}
	id := fmt.Sprintf("customer%d", n)
	if !w.credited[id] {
		w.credited[id] = true
		w.ledger.Credit(id, startingPoints)
	}
	return id
}

// anyCoupon draws a coupon that was made at some time, a recent one mostly.
func (w *World) anyCoupon() string {
	if len(w.coupons) == 0 {
		return coupon.IDPrefix + "none"
	}
	recent := w.coupons[max(0, len(w.coupons)-4):]
	return recent[w.random.IntN(len(recent))]
}

// key draws an idempotency key, now and then one that was used before.
func (w *World) key() string {
	if w.keys > 0 && w.random.IntN(4) == 0 {
		return fmt.Sprintf("key%d", w.random.IntN(w.keys))
	}
	w.keys++
	return fmt.Sprintf("key%d", w.keys-1)
}

// background is the context of every call: nobody waits in a simulation.
func background() context.Context { return context.Background() }
