package simulation

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/host"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/store"
)

// world is the state of one run. One goroutine owns it. Operations are coroutines.
type world struct {
	config  Config
	parts   Parts
	temper  temper
	tracing bool
	source  *rand.PCG
	random  *rand.Rand // of the current step
	now     time.Time

	database Database
	shops    []*shop
	nodes    []*node
	started  int     // number of processes started so far
	tasks    []*task // running tasks, oldest first
	late     []late
	active   *task
	arriving bool
	cutAfter int // number of statements before a cut
	ids      int
	moments  int64 // number of budget changes so far

	coverage Coverage
	trace    []string
	final    []string
	place    string // step and time, for the trace
	fault    *FaultError
}

// shop is one host: its processor, its ledger, its tables.
type shop struct {
	number  int
	secret  string
	fake    *fakeprocessor.Processor
	account Processor // makes the refunds: fake, or a broken form of it
	tax     func(processor.SessionRequest) pricing.Tax
	ledger  *host.Ledger
	eyes    store.Store // reads for the checks, without a wire

	coupons       []string                 // IDs of all coupons ever created
	issued        map[string][]coupon.Code // by coupon: the codes of batches that an answer has named
	issuedInOrder []coupon.Code            // all codes of issued, in the order of the answers
	deleted       map[string]bool
	contradicted  map[string]bool // sessions with a false report of expiry
	lost          map[string]bool // sessions whose order the store does not have
	requests      []request
	keys          int
	exchanged     couponkit.ExchangeRequest // request of the last exchange
	sessions      []string
	followed      int // number of entries that a host has read
	deliveries    []delivery
	seen          map[string]int64 // by coupon: revision that an administrator has seen

	money   money
	book    book
	touched touched
}

// node is a process that runs the services of all shops. A stopped node gets no answers.
type node struct {
	number   int
	process  Process // nil after a kill
	services []*couponkit.Service
	indexes  []index // by shop, of automatic coupons
	webhook  Webhook
	stopped  bool
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
	w.temper = newTemper(w.config, w.parts.Automatic, w.random)
	var err error
	w.database, err = w.parts.Database(w.config.Shops, w.pause)
	if w.sound("make the database", err); err != nil {
		return w
	}
	for i := range w.config.Shops {
		s := &shop{
			number: i, secret: fmt.Sprintf("whsec_%d", i), ledger: &host.Ledger{}, money: newMoney(), book: newBook(),
			issued: map[string][]coupon.Code{}, deleted: map[string]bool{}, contradicted: map[string]bool{}, lost: map[string]bool{}, seen: map[string]int64{},
		}
		s.fake = fakeprocessor.New(fakeprocessor.Options{
			Now: w.clock, Secret: s.secret, Abilities: processor.Abilities{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): 50}},
			DelayRefunds: w.odds(2), Tax: func(r processor.SessionRequest) pricing.Tax { return s.tax(r) },
		})
		s.account = s.fake
		if wrap := w.parts.Account; wrap != nil {
			s.account = wrap(s.account)
		}
		w.shops = append(w.shops, s)
	}
	w.openEyes()
	for range w.config.Nodes {
		w.nodes = append(w.nodes, w.newNode())
	}
	w.place = "at first"
	for range 1 + w.random.IntN(3*w.config.Shops) { // set up coupons before any fault
		w.create()
		w.finish()
	}
	for _, s := range w.shops {
		s.tax = w.drawTax()
	}
	for _, n := range w.nodes {
		w.loadIndexes(n)
	}
	return w
}

// record plays a host that records a payment in its own transaction. The transaction may be rolled
// back, or the answer to its commit lost.
func (w *world) record(ctx context.Context, n *node, s *couponkit.Service, p couponkit.Payment) error {
	if n.stopped {
		return errStopped
	}
	fate := w.wait("Record")
	if n.stopped {
		return errStopped
	}
	w.coverage.count("fate", "Record", string(fate))
	switch fate { //nolint:exhaustive // the others let the host record
	case lostBefore, delayed, refused:
		return errLost
	case cut:
		n.stopped = true
		return errStopped
	case abandoned:
		w.active.cancel()
	}
	_, err := s.Record(ctx, p)
	if fate == lostAfter {
		return errLost
	}
	return err
}

// openEyes opens the database again for the checks.
func (w *world) openEyes() {
	eyes, err := w.database.Open()
	if w.sound("open the database", err); err == nil {
		for _, s := range w.shops {
			s.eyes = eyes.Store(s.number)
		}
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
		n.indexes = append(n.indexes, w.newIndex(n, s))
		n.services = append(n.services, w.newService(n, s))
	}
	return n
}

func (w *world) newService(n *node, s *shop) *couponkit.Service {
	var payments Processor = wiredProcessor{s.account, s, w.wire(n, s, ofProcessor), w.clock, cmp.Or(w.parts.CreateTime, couponkit.DefaultCreateTime)}
	if wrap := w.parts.Processor; wrap != nil {
		payments = wrap(payments)
	}
	points := Points{s.ledger, w.wire(n, s, ofLedger)}
	var ledger couponkit.Points = points
	if wrap := w.parts.Points; wrap != nil {
		ledger = wrap(points)
	}
	options := []couponkit.Option{
		couponkit.WithProcessor(payments), couponkit.WithClock(w.clock), couponkit.WithIDs(w.newID), couponkit.WithPoints(ledger),
		couponkit.WithAutomatic(n.indexes[s.number].offers),
	}
	var service *couponkit.Service
	if w.config.Recorders {
		options = append(options, couponkit.WithRecorder(func(ctx context.Context, p couponkit.Payment) error { return w.record(ctx, n, service, p) }))
	}
	service, err := couponkit.New(wiredStore{s, n, w.wire(n, s, ofStore)}, options...)
	w.sound("start a node", err)
	return service
}

// log writes a line of the trace. An indented line belongs to the line above.
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

// odds returns true once in n times.
func (w *world) odds(n int) bool { return w.random.IntN(n) == 0 }

// shop draws a shop. The first few shops are drawn more often.
func (w *world) shop() *shop {
	if busy := min(len(w.shops), 3); !w.odds(3) {
		return w.shops[w.random.IntN(busy)]
	}
	return w.shops[w.random.IntN(len(w.shops))]
}

// recent draws an entry of a list, mostly among the last few. The list must not be empty.
func recent[T any](w *world, all []T, few, odds int) T {
	if !w.odds(odds) {
		all = all[max(0, len(all)-few):]
	}
	return all[w.random.IntN(len(all))]
}

// anyCoupon draws the ID of any coupon ever created.
func (w *world) anyCoupon(s *shop) string {
	if len(s.coupons) == 0 {
		return coupon.IDPrefix + "none"
	}
	id := recent(w, s.coupons, 4, 8)
	for i := 0; i < 3 && s.book.coupons[id].ID == ""; i++ {
		id = recent(w, s.coupons, 4, 8)
	}
	return id
}

// anySession draws a session, or "" if there is none.
func (w *world) anySession(s *shop) string {
	if len(s.sessions) == 0 {
		return ""
	}
	return recent(w, s.sessions, 5, 6)
}
