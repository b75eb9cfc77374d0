package faults_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/gates"
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
		t: t, server: server, dsn: newDatabase(t, server), random: rand.New(rand.NewPCG(*seed, 0)),
		modes: []string{batched, batched, alone, inTransactions}, tallies: make(map[fault]*tally),
	}
	h.heard = make(chan int, 2*len(h.clients)*(*calls)*(*goroutines))
	var err error
	if h.pool, err = pgxpool.New(t.Context(), h.dsn); err != nil {
		t.Fatal(err)
	}
	if err := pgxstore.Migrate(t.Context(), h.pool, pgxstore.Namespace{}); err != nil {
		t.Fatal(err)
	}
	if h.store, err = pgxstore.New(h.pool, pgxstore.Options{}); err != nil {
		t.Fatal(err)
	}
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
	if h.planted {
		h.t.Logf("noticed: "+format, args...)
		return
	}
	h.t.Errorf(format, args...)
}

// round makes new coupons, lets the processes call while the fault happens, and
// checks what they saw and what is left.
func (h *harness) round(number int, what fault) {
	h.t.Helper()
	if h.tallies[what] == nil {
		h.tallies[what] = new(tally)
	}
	h.current = h.tallies[what]
	h.current.rounds++
	coupons := h.newCoupons(number)
	histories := make([][]call, len(h.clients))
	var running sync.WaitGroup
	for i, c := range h.clients {
		work := task{
			Coupons: coupons, Calls: *calls, Goroutines: *goroutines, Seed: h.random.Uint64(),
			Mode: h.modes[(number+i)%len(h.modes)], Reconnect: what == calm,
		}
		running.Go(func() { histories[i] = c.run(work, func() { h.heard <- i }) })
	}
	h.inflict(what, &running)
	h.settleDown()
	history := slices.Concat(histories...)
	history = append(history, h.readBack(history, coupons)...)
	h.judge(number, what, history)
	h.sweep(number, what, coupons)
}

// judge checks what the processes saw.
func (h *harness) judge(number int, what fault, history []call) {
	h.t.Helper()
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
		if c.Failure != "" && (what == calm || c.Ended == math.MaxInt64 && what != kill) {
			h.violation("round %d (%s): %s of %s failed: %s", number, what, c.Operation.Call, c.Operation.ID, c.Failure)
		}
	}
	for id, result := range linearizable(history, time.Minute) {
		switch result {
		case porcupine.Ok:
			h.current.linearizable++
		case porcupine.Unknown:
			h.current.undecided++
		case porcupine.Illegal:
			if !h.planted {
				h.t.Log(historyOf(history, id))
			}
			h.violation("round %d (%s): the history of coupon %s is not linearizable", number, what, id)
		}
	}
}

func historyOf(history []call, couponID string) string {
	var text strings.Builder
	for _, c := range history {
		if c.Operation.Coupon == couponID {
			text.WriteString("\n" + c.String())
		}
	}
	return text.String()
}

func (h *harness) newCoupons(round int) []roundCoupon {
	h.t.Helper()
	coupons := make([]roundCoupon, couponsPerRound)
	for n := range coupons {
		c, err := coupon.New(coupon.Draft{
			Code: fmt.Sprintf("R%dN%d", round, n), Name: "Coupon", DiscountType: pricing.Percentage,
			DiscountValue: decimal.NewFromInt(10),
		}, coupon.Creation{ID: fmt.Sprintf("%sr%d-%d", coupon.IDPrefix, round, n), At: epoch})
		if err != nil {
			h.t.Fatal(err)
		}
		c.Limits = limitsOf(round, n)
		if err := h.store.CreateCoupon(h.t.Context(), c); err != nil {
			h.t.Fatal(err)
		}
		coupons[n] = roundCoupon{ID: c.ID, Limits: c.Limits}
	}
	return coupons
}

// inflict lets the fault happen while the processes run, and waits for them. When
// it happens is counted in what the processes have said, so that it is in the
// middle however fast the machine is.
func (h *harness) inflict(what fault, running *sync.WaitGroup) {
	h.t.Helper()
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	switch what {
	case calm:
	case terminate:
		h.terminate(done)
	case kill:
		victim := h.random.IntN(len(h.clients))
		if h.hear(done, 1+h.random.IntN(*calls**goroutines*3/2), victim) {
			h.clients[victim].kill()
		}
	case pause:
		victim := h.random.IntN(len(h.clients))
		if h.hear(done, 1+h.random.IntN(*calls**goroutines), victim) {
			h.clients[victim].pause(time.Duration(h.random.IntN(300)) * time.Millisecond)
		}
	case crash:
		if h.hear(done, 1+h.random.IntN(cap(h.heard)*2/3), anyClient) {
			h.restart()
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

// settleDown waits until the server has ended what a client that is gone has begun: a
// call that is acknowledged to nobody may still take effect.
func (h *harness) settleDown() {
	h.t.Helper()
	ctx, cancel := patience.WithTimeout(h.t.Context(), hang)
	defer cancel()
	for {
		var busy int
		if err := h.pool.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity
				WHERE application_name = 'worker' AND datname = current_database() AND state <> 'idle'`).Scan(&busy); err != nil {
			h.t.Fatalf("wait for calls of clients that are gone: %v", err)
		}
		if busy == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

const anyClient = -1

// hear waits until the client has said so many lines, and reports whether it did
// before the round was over.
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

// restart stops the server as a crash does, and starts it again.
func (h *harness) restart() {
	h.t.Helper()
	if err := h.server.Halt(); err != nil {
		h.t.Fatal(err)
	}
	if err := h.server.Resume(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	h.pool.Reset()
}

// terminate cuts connections of the clients a few times, those first that are at
// work: for ever would leave slow machines no time to connect again.
func (h *harness) terminate(done <-chan struct{}) {
	h.t.Helper()
	for range 3 {
		if !h.hear(done, 1+h.random.IntN(cap(h.heard)/4), anyClient) {
			return
		}
		if _, err := h.pool.Exec(h.t.Context(), `SELECT pg_terminate_backend(pid) FROM (
				SELECT pid FROM pg_stat_activity WHERE application_name = 'worker' AND datname = current_database()
				ORDER BY state = 'idle', random() LIMIT 2) victims`); err != nil {
			h.t.Fatal(err)
		}
	}
}

// readBack reads every record that a call was about, as calls of the history: what
// was acknowledged must be there.
func (h *harness) readBack(history []call, coupons []roundCoupon) []call {
	h.t.Helper()
	var reads []call
	for _, c := range coupons {
		o := operation{Call: "lookUp", Coupon: c.ID, Limits: c.Limits, Customer: c.ID + "-c0"}
		read := call{Operation: o, Began: time.Now().UnixNano()}
		var err error
		if read.Outcome, err = o.make(h.t.Context(), h.store, cheapQuote()); err != nil {
			h.t.Fatal(err)
		}
		read.Ended = time.Now().UnixNano()
		reads = append(reads, read)
		reads = append(reads, h.readRecords(history, c.ID)...)
	}
	return reads
}

// readRecords reads the records of a coupon in one list.
func (h *harness) readRecords(history []call, couponID string) []call {
	h.t.Helper()
	began := time.Now().UnixNano()
	stored := make(map[string]redemption.Redemption)
	for list := (store.RedemptionList{CouponID: couponID, PageSize: store.MaxPageSize}); ; {
		page, err := h.store.ListRedemptions(h.t.Context(), list)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range page.Items {
			stored[r.ID] = r
		}
		if list.After = page.Next; list.After == "" {
			break
		}
	}
	ended := time.Now().UnixNano()
	var reads []call
	seen := make(map[string]bool)
	for _, c := range history {
		o := c.Operation
		if o.Coupon != couponID || o.ID == "" || seen[o.ID] {
			continue
		}
		seen[o.ID] = true
		o.Call = "read"
		read := call{Operation: o, Outcome: outcome{Err: store.ErrNotFound.Error()}, Began: began, Ended: ended}
		if r, known := stored[o.ID]; known {
			read.Outcome = recordOutcome(r)
		}
		reads = append(reads, read)
	}
	return reads
}

// sweep lapses everything that is due after the deadlines, which is every live
// reservation, and looks at what is left: no place is kept, counts are those of the
// rows, limits hold.
func (h *harness) sweep(number int, what fault, coupons []roundCoupon) {
	h.t.Helper()
	ctx := h.t.Context()
	for {
		due, err := h.store.Due(ctx, later, 100)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range due {
			if _, err := h.store.Transition(ctx, r.ID, redemption.Event{
				Kind: redemption.Lapsed, At: later, SessionID: r.SessionID,
			}); err != nil {
				h.t.Fatal(err)
			}
		}
		if len(due) == 0 {
			break
		}
	}
	for _, c := range coupons {
		h.audit(ctx, fmt.Sprintf("round %d (%s)", number, what), c)
	}
	if err := gates.Check(ctx, h.pool, pgxstore.DefaultSchema); err != nil {
		h.violation("round %d (%s): %v", number, what, err)
	}
}

// audit compares the counts of a coupon with its rows and its limits. Nothing of it
// may be reserved any more.
func (h *harness) audit(ctx context.Context, when string, c roundCoupon) {
	h.t.Helper()
	var completed, within, reserved, doubled int64
	if err := h.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'completed'),
				count(*) FILTER (WHERE state = 'completed' AND NOT over_limit), count(*) FILTER (WHERE state = 'reserved'),
				count(session_id) FILTER (WHERE state = 'completed') - count(DISTINCT session_id) FILTER (WHERE state = 'completed')
			FROM coupon_redemptions WHERE coupon_id = $1`, c.ID).Scan(&completed, &within, &reserved, &doubled); err != nil {
		h.t.Fatal(err)
	}
	found, err := h.store.LookUp(ctx, store.LookUp{CouponID: c.ID})
	if err != nil {
		h.t.Fatal(err)
	}
	if f := found.Coupon; f.UsedCount != completed || f.ReservedCount != 0 || reserved != 0 || doubled != 0 ||
		c.Limits.MaxUses > 0 && within > c.Limits.MaxUses {
		h.violation("%s, coupon %s: %d used and %d reserved by the counts; rows: %d completed (%d within the limit of %d), %d reserved, %d sessions twice",
			when, c.ID, f.UsedCount, f.ReservedCount, completed, within, c.Limits.MaxUses, reserved, doubled)
	}
	if per := c.Limits.MaxUsesPerUser; per > 0 {
		var most int64
		if err := h.pool.QueryRow(ctx, `SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM coupon_redemptions
			WHERE coupon_id = $1 AND state = 'completed' AND NOT over_limit GROUP BY customer_id) c`, c.ID).Scan(&most); err != nil {
			h.t.Fatal(err)
		}
		if most > per {
			h.violation("%s, coupon %s: a customer has %d uses of %d", when, c.ID, most, per)
		}
	}
}
