package faults_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// harness is a server with its client processes.
type harness struct {
	t       *testing.T
	server  *postgrestest.Server
	dsn     string
	pool    *pgxpool.Pool
	store   *pgxstore.Store
	random  *rand.Rand
	clients [3]*process

	modes   []string // of the clients in turn
	heard   chan int // which client has said a line
	tallies map[fault]*tally
	current *tally
	// planted tells that something is broken on purpose: a violation is counted and is
	// no failure of the test.
	planted bool
}

func newHarness(t *testing.T, server *postgrestest.Server) *harness {
	t.Helper()
	h := &harness{
		t: t, server: server, dsn: server.NewDatabase(t), random: rand.New(rand.NewPCG(*seed, 0)),
		modes: []string{batched, batched, alone, inTransactions}, tallies: make(map[fault]*tally),
	}
	h.heard = make(chan int, len(h.clients)*lines())
	var err error
	h.pool, err = pgxpool.New(t.Context(), h.dsn)
	require.NoError(t, err)
	require.NoError(t, pgxstore.Migrate(t.Context(), h.pool, pgxstore.Options{}))
	h.store, err = pgxstore.New(h.pool, pgxstore.Options{})
	require.NoError(t, err)
	for i := range h.clients {
		h.clients[i] = startProcess(t, h.dsn)
	}
	return h
}

func (h *harness) close() {
	for _, c := range h.clients {
		c.end()
	}
	if err := h.store.Close(); err != nil {
		h.t.Error(err)
	}
	h.pool.Close()
}

// violation reports that the store has broken its contract.
func (h *harness) violation(format string, args ...any) {
	h.t.Helper()
	h.current.violations++
	if h.planted { // a history would bury what fails
		text, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
		h.t.Log("noticed: " + text)
		return
	}
	h.t.Errorf(format, args...)
}

// round makes new coupons, lets the processes call while the fault happens, and checks what
// they saw and what is left.
func (h *harness) round(number int, what fault) {
	h.t.Helper()
	if h.tallies[what] == nil {
		h.tallies[what] = new(tally)
	}
	h.current = h.tallies[what]
	h.current.rounds++
	round := fmt.Sprint("r", number)
	coupons := map[string][]roundCoupon{round: {
		h.newCoupon(fmt.Sprintf("R%dA", number), limitsOf(number)), h.newCoupon(fmt.Sprintf("R%dB", number), limitsOf(number/4)),
	}}
	histories := make([][]call, len(h.clients))
	var running sync.WaitGroup
	for i, c := range h.clients {
		own := fmt.Sprintf("%s-p%d", round, i)
		coupons[own] = []roundCoupon{h.newCoupon(fmt.Sprintf("R%dP%d", number, i), coupon.Limits{MaxUses: 1})}
		work := task{
			Round: round, Coupons: coupons[round], Own: own, OwnCoupons: coupons[own], Calls: *calls, Goroutines: *goroutines, Seed: h.random.Uint64(),
			Mode: h.modes[(number+i)%len(h.modes)], Reconnect: what == calm,
		}
		running.Go(func() { histories[i] = c.run(work, func() { h.heard <- i }) })
	}
	h.inflict(what, &running)
	h.settleDown()
	history := slices.Concat(histories...)
	history = append(history, h.readBack(history, coupons)...)
	h.judge(number, what, history)
	h.sweep(number, what, slices.Concat(slices.Collect(maps.Values(coupons))...))
}

// limitsOf are so low that every round comes to them.
func limitsOf(n int) coupon.Limits {
	return []coupon.Limits{{MaxUses: 2}, {MaxUsesPerUser: 1}, {MaxUses: 3, MaxUsesPerUser: 2}, {}}[n%4]
}

func (h *harness) newCoupon(name string, limits coupon.Limits) roundCoupon {
	h.t.Helper()
	code, err := coupon.ParseCode(name)
	require.NoError(h.t, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(h.t, err)
	c := coupon.Coupon{
		ID: coupon.IDPrefix + name, Code: code, Name: name, Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
			Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General, RefundPolicy: pricing.Keep, Limits: limits,
		},
		State:     coupon.Active,
		CreatedAt: epoch, UpdatedAt: epoch, Revision: 1,
	}
	_, err = h.store.SaveCoupon(h.t.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: c, Unlimited: limits.MaxUses == 0, At: epoch})
	require.NoError(h.t, err)
	return roundCoupon{c.ID, limits}
}

// judge checks what the processes saw.
func (h *harness) judge(number int, what fault, history []call) {
	h.t.Helper()
	adopted := 0 // reservations of paidFirst
	for _, c := range history {
		h.current.calls++
		switch {
		case c.Ended == math.MaxInt64:
			h.current.unanswered++
		case c.Failure != "":
			h.current.acknowledged++
			h.current.repeated++
		default:
			h.current.acknowledged++
		}
		if c.adopted() {
			h.current.adopted++
			if c.Operation.Key == ownKey {
				adopted++
			}
		}
		if c.Failure != "" && (what == calm || c.Ended == math.MaxInt64 && what != kill) {
			h.violation("round %d (%s): %s of %s failed: %s", number, what, c.Operation.Call, c.Operation.Order, c.Failure)
		}
	}
	if what == calm && adopted != len(h.clients) {
		h.violation("round %d (%s): the reservations of %d of %d processes found the payments recorded before", number, what, adopted, len(h.clients))
	}
	switch linearizable(history, time.Minute) {
	case porcupine.Ok:
	case porcupine.Unknown:
		h.current.undecided++
	case porcupine.Illegal:
		slices.SortFunc(history, func(c, d call) int { return int(c.Began - d.Began) })
		var text strings.Builder
		for _, c := range history {
			text.WriteString("\n" + c.String())
		}
		h.violation("round %d (%s): the history is not linearizable:%s", number, what, text.String())
	}
}

// lines returns how many lines a process writes in a round: two for each call.
func lines() int { return 2 * (*calls**goroutines + len(paidFirst(task{}))) }

// inflict lets the fault happen while the processes run, and waits for them. When it
// happens is counted in what the processes have said, so that it is in the middle however
// fast the machine is.
func (h *harness) inflict(what fault, running *sync.WaitGroup) {
	h.t.Helper()
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	victim := h.random.IntN(len(h.clients))
	switch lines := lines(); what {
	case calm:
	case terminate:
		h.terminate(done)
	case kill:
		if h.hear(done, 1+h.random.IntN(lines*3/4), victim) {
			h.clients[victim].kill()
		}
	case pause:
		if h.hear(done, 1+h.random.IntN(lines/2), victim) {
			h.clients[victim].pause(time.Duration(h.random.IntN(300)) * time.Millisecond)
		}
	case crash:
		if h.hear(done, 1+h.random.IntN(lines*2), anyClient) {
			require.NoError(h.t, h.server.Halt())
			require.NoError(h.t, h.server.Resume(h.t.Context()))
			h.pool.Reset()
		}
	}
	<-done
	for len(h.heard) > 0 {
		<-h.heard
	}
	for i, c := range h.clients {
		if c.dead {
			c.end()
			h.clients[i] = startProcess(h.t, h.dsn)
		}
	}
}

const anyClient = -1

// hear waits until the client has said so many lines, and reports whether it did before the
// round was over.
func (h *harness) hear(done <-chan struct{}, lines, client int) bool {
	for lines > 0 {
		select {
		case <-done:
			return false
		case who := <-h.heard:
			if client == anyClient || who == client {
				lines--
			}
		}
	}
	return true
}

// terminate cuts connections of the clients a few times, those first that are at work: for
// ever would leave slow machines no time to connect again.
func (h *harness) terminate(done <-chan struct{}) {
	h.t.Helper()
	for range 3 {
		if !h.hear(done, 1+h.random.IntN(cap(h.heard)/4), anyClient) {
			return
		}
		_, err := h.pool.Exec(h.t.Context(), `SELECT pg_terminate_backend(pid) FROM (
			SELECT pid FROM pg_stat_activity WHERE application_name = 'worker' AND datname = current_database()
			ORDER BY state = 'idle', random() LIMIT 2) victims`)
		require.NoError(h.t, err)
	}
}

// settleDown waits until the server has ended what a client that is gone has begun: a call
// that is acknowledged to nobody may still take effect.
func (h *harness) settleDown() {
	h.t.Helper()
	ctx, cancel := patience.WithTimeout(h.t.Context(), hang)
	defer cancel()
	for busy := 1; busy > 0; {
		require.NoError(h.t, h.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'worker' AND datname = current_database() AND state <> 'idle'`).Scan(&busy),
			"wait for calls of clients that are gone")
		time.Sleep(time.Millisecond)
	}
}

// readBack reads every order and counter that a call was about, as calls of the history:
// what was acknowledged must be there.
func (h *harness) readBack(history []call, coupons map[string][]roundCoupon) (reads []call) {
	h.t.Helper()
	seen := map[string]bool{}
	ask := func(o operation) {
		if seen[o.Call+o.Order+o.Customer] {
			return
		}
		seen[o.Call+o.Order+o.Customer] = true
		c := call{Operation: o, Began: time.Now().UnixNano()}
		var err error
		c.Outcome, err = o.make(h.t.Context(), h.store)
		require.NoError(h.t, err)
		c.Ended = time.Now().UnixNano()
		reads = append(reads, c)
	}
	for _, c := range history {
		part := c.Operation.Part
		ask(operation{Part: part, Call: read, Order: c.Operation.Order})
		if c.Operation.Event.kind() == redemption.Paid {
			ask(operation{Part: part, Call: read, Order: c.Operation.NewID})
		}
		ask(operation{Part: part, Call: count, Customer: c.Operation.Customer, Coupons: coupons[part]})
	}
	return reads
}

// maxPasses is far more often than orders wait for each other.
const maxPasses = 100

// sweep lapses every live order after its deadline, and ends every payment. No reservation is left then.
func (h *harness) sweep(number int, what fault, coupons []roundCoupon) {
	h.t.Helper()
	for passes := 0; ; passes++ {
		due, err := h.store.ListOrders(h.t.Context(), store.OrderList{DueAt: afterwards, PageSize: store.MaxPageSize})
		require.NoError(h.t, err)
		if len(due.Items) == 0 {
			break
		}
		if passes > maxPasses {
			h.violation("round %d (%s): after the sweep, this is due: %s", number, what, view(due.Items[0].Order, due.Items[0].Uses))
			return
		}
		ended := 0
		for _, o := range due.Items {
			_, err := h.store.Apply(h.t.Context(), store.Settlement{Event: redemption.Event{
				Kind: redemption.Lapsed, At: afterwards, OrderID: o.Order.ID, SessionID: o.Order.SessionID, PaymentOver: true, BegunBy: afterwards,
			}})
			if errors.Is(err, store.ErrPaymentOpen) {
				continue // until the payment of the order before has ended
			}
			require.NoError(h.t, err)
			ended++
		}
		require.NotZero(h.t, ended, "orders that wait for each other")
	}
	for _, c := range coupons {
		counts, err := h.store.Counts(h.t.Context(), []string{eligibility.CouponUses(c.ID)})
		require.NoError(h.t, err)
		if counts[0].Reserved != 0 {
			h.violation("round %d (%s): coupon %s has %d reserved uses after the sweep", number, what, c.ID, counts[0].Reserved)
		}
	}
}
