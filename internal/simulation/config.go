package simulation

import (
	"cmp"
	"context"
	"math/rand/v2"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Config describes a life. A count that is 0 is the default that its comment names,
// or drawn from the seed within the bounds that it names.
type Config struct {
	// Seed decides everything.
	Seed uint64
	// Steps is how many things happen before the world comes to rest; 400.
	Steps int
	// Customers is how many each shop has; 2,000, of which a few buy most of the time.
	Customers int
	// Administrators is how many each shop has; 1 to 4.
	Administrators int
	// Shops is how many there are, each with a payment processor, a ledger of points
	// and tables of its own; 1 or 2.
	Shops int
	// Nodes is how many processes run the services of all shops; 1 to 4.
	Nodes int
	// InFlight is how many operations are under way at once at most; 3 to 10.
	InFlight int
	// ScanEvery is after how many effects a shop is read as a whole. In between only what was
	// touched is read again. The default is 16.
	ScanEvery int
	// Trace writes down what happens, also in a life without a fault.
	Trace bool
	// KeepTrace leaves the trace of a failure as it is, which saves the search for a
	// short one.
	KeepTrace bool
	// Check, if not nil, checks the store of each shop at rest, and CheckOrder each new order.
	CheckOrder func(redemption.Order) error
	Check      func(context.Context, store.Store) error
	// Parts makes what the world is made of, anew for each life; nil is sound parts in
	// memory.
	Parts func() Parts
}

// Parts make the world. A test that wants to see the simulation find a fault breaks
// one. Every field may be nil: the sound part, without a wrapping.
type Parts struct {
	// Database makes the empty database of a world with so many shops; nil is
	// [Memory]. pause lets something else happen before it returns: a store that calls
	// it between two accesses is not atomic. It does not return in a process that has
	// stopped meanwhile.
	Database func(shops int, pause func()) (Database, error)
	// Processor and Points wrap what a process sees of the two.
	Processor func(Processor) processor.Processor
	Points    func(Points) couponkit.Points
	// Webhook wraps what a process does with a delivery.
	Webhook func(Webhook) Webhook
	// Checkout changes what the host passes on of a customer's checkout.
	Checkout func(couponkit.CheckoutRequest) couponkit.CheckoutRequest
}

// Webhook is the receiver of one process: it authenticates the delivery with the
// parser of the shop's processor and hands the event to the service.
type Webhook func(ctx context.Context, s *couponkit.Service, parser Parser, d fakeprocessor.Delivery) error

// Parser authenticates a delivery.
type Parser interface {
	ParseEvent(payload []byte, signature string) (processor.Event, error)
}

func receive(ctx context.Context, s *couponkit.Service, parser Parser, d fakeprocessor.Delivery) error {
	e, err := parser.ParseEvent(d.Payload, d.Signature)
	if err != nil {
		return err
	}
	_, err = s.HandleEvent(ctx, e)
	return err
}

type eventIDKey struct{}

// EventID returns the ID of the event that a call of the store serves, empty when it
// serves none: for a broken store that matches by it.
func EventID(ctx context.Context) string {
	id, _ := ctx.Value(eventIDKey{}).(string)
	return id
}

const (
	defaultSteps     = 400
	defaultCustomers = 2_000
	startingPoints   = 500
)

// temper is how a world is, beside its size. Worlds that are all alike find the same
// faults: one has calm networks and hectic customers, another the reverse.
type temper struct {
	hot       int // customers who buy most of the time
	codes     int // in use
	faultOdds int // one call in so many goes wrong; 0 is none
	hurry     int // of ten steps so many let a call go on
	longTimes int // one passing of time in so many takes days
	most      int64
	weights   map[string]int
}

// withDefaults draws what is not given.
func (c Config) withDefaults(random *rand.Rand) Config {
	c.Steps = cmp.Or(c.Steps, defaultSteps)
	c.Customers = cmp.Or(c.Customers, defaultCustomers)
	c.Administrators = cmp.Or(c.Administrators, 1+random.IntN(4))
	c.Shops = cmp.Or(c.Shops, 1+random.IntN(4)/3)
	c.Nodes = cmp.Or(c.Nodes, 1+random.IntN(4))
	c.InFlight = cmp.Or(c.InFlight, 3+random.IntN(8))
	c.ScanEvery = cmp.Or(c.ScanEvery, 16)
	return c
}

func newTemper(c Config, random *rand.Rand) temper {
	t := temper{
		hot: 1 + random.IntN(5), codes: 1 + random.IntN(5),
		faultOdds: []int{0, 40, 12, 12, 5, 3}[random.IntN(6)],
		hurry:     5 + random.IntN(3), longTimes: 5 + random.IntN(30), most: 3,
	}
	if c.Steps >= 10_000 {
		t.most = 400
	}
	if random.IntN(2) == 0 { // half of the worlds leave out some things and overdo others
		t.weights = make(map[string]int)
		for _, list := range [][]happening{begins, happens} {
			for _, h := range list {
				t.weights[h.name] = h.weight * []int{0, 1, 1, 1, 4}[random.IntN(5)]
			}
		}
	}
	return t
}
