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

// world is one life in progress. One goroutine owns it; operations are coroutines
// that run one at a time.
type world struct {
	config  Config
	parts   Parts
	temper  temper
	tracing bool
	source  *rand.PCG
	random  *rand.Rand // of the step that is going on
	now     time.Time

	database Database
	shops    []*shop
	nodes    []*node
	started  int     // processes
	tasks    []*task // in flight, in the order of their beginning
	idle     []*hand
	late     []late
	active   *task
	arriving bool
	cutAfter int // statements
	ids      int

	coverage Coverage
	trace    []string
	final    []string
	place    string // of the trace: step and time
	fault    *fault
}

// shop is one host: its processor, its ledger, its tables.
type shop struct {
	number int
	secret string
	fake   *fakeprocessor.Processor
	ledger *host.Ledger
	eyes   store.Store // reads for the checks, past all wires

	coupons      []string // that were made at some time
	deleted      map[string]bool
	contradicted map[string]bool // sessions
	lost         map[string]bool // sessions whose order the store does not have
	requests     []request
	keys         int
	exchanged    couponkit.ExchangeRequest // the last one
	sessions     []string
	followed     int // entries that a host has read
	deliveries   []delivery
	seen         map[sight]int64 // revisions, by whom

	book    book
	touched touched
	used    int // completed uses at rest
}

// sight is what an administrator has looked at.
type sight struct {
	administrator int
	coupon        string
}

// node is a process that runs the services of all shops. A stopped process never
// gets an answer again; its successor is another process.
type node struct {
	number   int
	process  Process // nil once it was killed
	services []*couponkit.Service
	webhook  Webhook
	stopped  bool
	torn     bool // stopped in the middle of a call, and not buried yet
}

var beginning = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

func newWorld(c Config) *world {
	w := &world{now: beginning, source: rand.NewPCG(c.Seed, 0), tracing: c.Trace, coverage: make(Coverage)}
	w.random = rand.New(w.source) //nolint:gosec // a simulation wants to be predictable
	w.config = c.withDefaults(w.random)
	if c.Parts != nil {
		w.parts = c.Parts()
	}
	if w.parts.Database == nil {
		w.parts.Database = Memory(nil)
	}
	w.temper = newTemper(w.config, w.random)
	var err error
	w.database, err = w.parts.Database(w.config.Shops, w.pause)
	if w.sound("make the database", err); err != nil {
		return w
	}
	for i := range w.config.Shops {
		w.shops = append(w.shops, w.newShop(i))
	}
	w.openEyes()
	for range w.config.Nodes {
		w.nodes = append(w.nodes, w.newNode())
	}
	w.place = "at first"
	for _, s := range w.shops {
		if w.fault == nil {
			w.found(s, w.nodes[0])
		}
	}
	return w
}

func (w *world) newShop(number int) *shop {
	s := &shop{
		number: number, secret: fmt.Sprintf("whsec_%d", number), ledger: &host.Ledger{},
		deleted: make(map[string]bool), contradicted: make(map[string]bool), lost: make(map[string]bool), seen: make(map[sight]int64), book: newBook(),
	}
	s.fake = fakeprocessor.New(fakeprocessor.Options{
		Now: w.clock, Secret: s.secret,
		Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
	})
	return s
}

// openEyes opens the database for the checks.
func (w *world) openEyes() {
	eyes, err := w.database.Open()
	w.sound("open the database", err)
	for _, s := range w.shops {
		if err != nil {
			return
		}
		s.eyes = eyes.Store(s.number)
	}
}

func (w *world) clock() time.Time { return w.now }

func (w *world) newID(prefix string) string {
	w.ids++
	return fmt.Sprintf("%s%06d", prefix, w.ids)
}

// newNode starts a process.
func (w *world) newNode() *node {
	w.started++
	n := &node{number: w.started, webhook: receive}
	if wrap := w.parts.Webhook; wrap != nil {
		n.webhook = wrap(n.webhook)
	}
	var err error
	n.process, err = w.database.Open()
	if w.sound("open the database", err); err != nil {
		n.stopped = true
		return n
	}
	for _, s := range w.shops {
		n.services = append(n.services, w.newService(n, s))
	}
	return n
}

func (w *world) newService(n *node, s *shop) *couponkit.Service {
	payments := wiredProcessor{s.fake, s, w.wire(n, s, ofProcessor)}
	points := Points{s.ledger, w.wire(n, s, ofLedger)}
	var (
		behind processor.Processor = payments
		ledger couponkit.Points    = points
	)
	if wrap := w.parts.Processor; wrap != nil {
		behind = wrap(payments)
	}
	if wrap := w.parts.Points; wrap != nil {
		ledger = wrap(points)
	}
	service, err := couponkit.New(wiredStore{s, n, w.wire(n, s, ofStore)}, behind,
		couponkit.WithClock(w.clock), couponkit.WithIDs(w.newID), couponkit.WithPoints(ledger))
	w.sound("start a node", err)
	return service
}

// log writes a line of the trace. Lines that are indented belong to the one before.
func (w *world) log(format string, args ...any) {
	if !w.tracing {
		return
	}
	if w.place != "" {
		w.trace = append(w.trace, w.place)
		w.place = ""
	}
	w.trace = append(w.trace, "    "+fmt.Sprintf(format, args...))
}

// expect fails the life unless the error is one that a caller of the service has to
// expect.
func (w *world) expect(what string, err error) {
	var refused *coupon.Rejection
	var invalid *pricing.ValidationError
	switch {
	case err == nil, errors.As(err, &refused), errors.As(err, &invalid):
	case errors.Is(err, errLost), errors.Is(err, errRefused), errors.Is(err, errStopped), errors.Is(err, context.Canceled):
	case errors.Is(err, couponkit.ErrUnavailable), errors.Is(err, processor.ErrRejected), errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
	case errors.Is(err, redemption.ErrIllegal), errors.Is(err, couponkit.ErrOrderEnded), errors.Is(err, couponkit.ErrReservationClosed):
	case errors.Is(err, processor.ErrSignature):
	default:
		w.sound(what+": unexpected error", err)
	}
}

func (w *world) countRejections(err error) {
	var refused *coupon.Rejection
	if errors.As(err, &refused) {
		for _, r := range refused.Reasons {
			w.coverage.count("rejection", r.Code.String(), "")
		}
	}
}

// odds is true once in n times.
func (w *world) odds(n int) bool { return w.random.IntN(n) == 0 }

// shop draws a shop; the first few are busy.
func (w *world) shop() *shop {
	if busy := min(len(w.shops), 3); !w.odds(3) {
		return w.shops[w.random.IntN(busy)]
	}
	return w.shops[w.random.IntN(len(w.shops))]
}

// node draws a process that runs, or none.
func (w *world) node() *node {
	n := w.nodes[w.random.IntN(len(w.nodes))]
	for i := 0; n.stopped && i < len(w.nodes); i++ {
		n = w.nodes[i]
	}
	return n
}

// anyCoupon draws a coupon that was made at some time, a recent one mostly.
func (w *world) anyCoupon(s *shop) string {
	if len(s.coupons) == 0 {
		return coupon.IDPrefix + "none"
	}
	recent := s.coupons
	if !w.odds(8) {
		recent = s.coupons[max(0, len(s.coupons)-4):]
	}
	id := recent[w.random.IntN(len(recent))]
	for range 3 {
		if _, there := s.book.coupons[id]; there {
			break
		}
		id = recent[w.random.IntN(len(recent))]
	}
	return id
}

// anySession draws a session, a recent one mostly.
func (w *world) anySession(s *shop) (string, bool) {
	if len(s.sessions) == 0 {
		return "", false
	}
	recent := s.sessions
	if !w.odds(6) {
		recent = s.sessions[max(0, len(s.sessions)-5):]
	}
	return recent[w.random.IntN(len(recent))], true
}
