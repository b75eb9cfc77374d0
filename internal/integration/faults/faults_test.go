// Package faults_test holds store/pgxstore to its contract while things break: many
// processes call at once, connections are killed, the server crashes, a client
// dies in the middle. What the processes saw is then checked for linearizability,
// and the database for what must be true of it.
package faults_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/storetest"
)

var (
	rounds = flag.Int("rounds", 40, "how many rounds of faults to run")
	seed   = flag.Uint64("seed", 1, "what the rounds are drawn from")
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(workerVariable); dsn != "" {
		if err := worker(dsn, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fault is what happens during a round.
type fault string

const (
	calm      fault = "nothing happens"
	terminate fault = "connections are terminated"
	kill      fault = "a client is killed"
	crash     fault = "the server crashes"
)

// TestFaults runs rounds of calls from three processes.
func TestFaults(t *testing.T) {
	if testing.Short() {
		*rounds = 4
	}
	server, err := postgrestest.Start(t.Context())
	if err != nil {
		if errors.Is(err, postgrestest.ErrNoServer) {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	h := newHarness(t, server)
	defer h.close()
	for round := range *rounds {
		what := []fault{calm, terminate, kill, terminate, kill}[round%5]
		if round%20 == 19 && !server.Foreign() {
			what = crash
		}
		h.round(round, what)
	}
	if err := storetest.CheckInvariants(t.Context(), h.store); err != nil {
		t.Error(err)
	}
	t.Logf("%d rounds, %d calls, %d of them repeated or without an answer; histories undecided: %d",
		*rounds, h.calls, h.lost, h.undecided)
}

// harness is a server with its client processes.
type harness struct {
	t       *testing.T
	server  *postgrestest.Server
	dsn     string
	drop    func(context.Context) error
	pool    *pgxpool.Pool
	store   *pgxstore.Store
	random  *rand.Rand
	clients [3]*process

	calls, lost, undecided int
}

func newHarness(t *testing.T, server *postgrestest.Server) *harness {
	t.Helper()
	h := &harness{t: t, server: server, random: rand.New(rand.NewPCG(*seed, 0))}
	var err error
	if h.dsn, h.drop, err = server.Database(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	ctx := context.WithoutCancel(h.t.Context())
	if err := h.drop(ctx); err != nil {
		h.t.Error(err)
	}
	if err := h.server.Close(); err != nil {
		h.t.Error(err)
	}
}

// round makes new coupons, lets the processes call while the fault happens, and
// checks what they saw and what is left.
func (h *harness) round(number int, what fault) {
	h.t.Helper()
	coupons := h.newCoupons(number)
	histories := make([][]call, len(h.clients))
	var running sync.WaitGroup
	for i, c := range h.clients {
		work := task{
			Coupons: coupons, Calls: 10, Goroutines: 6, Seed: h.random.Uint64(),
			Mode: []string{"batched", "batched", "alone", "transactions"}[(number+i)%4],
		}
		running.Go(func() { histories[i] = c.run(work) })
	}
	h.inflict(what, &running)
	history := append(append(histories[0], histories[1]...), histories[2]...)
	history = append(history, h.readBack(history, coupons)...)
	h.judge(number, what, history)
	h.sweep(number, what, coupons)
}

func (h *harness) judge(number int, what fault, history []call) {
	h.t.Helper()
	for _, c := range history {
		h.calls++
		if c.Loose || c.Ended == math.MaxInt64 {
			h.lost++
		}
		if c.Failure != "" && (what == calm || c.Ended == math.MaxInt64 && what != kill) {
			h.t.Fatalf("round %d (%s): %s of %s failed: %s", number, what, c.Operation.Call, c.Operation.ID, c.Failure)
		}
	}
	switch result, where := linearizable(history, 20*time.Second); result {
	case porcupine.Ok:
	case porcupine.Unknown:
		h.undecided++
	case porcupine.Illegal:
		for _, c := range history {
			if c.Operation.Coupon == where {
				h.t.Log(c)
			}
		}
		h.t.Fatalf("round %d (%s): the history of coupon %s is not linearizable", number, what, where)
	}
}

func (h *harness) newCoupons(round int) []string {
	h.t.Helper()
	ids := make([]string, couponsPerRound)
	for n := range ids {
		c, err := coupon.New(coupon.Draft{
			Code: fmt.Sprintf("R%dN%d", round, n), Name: "Coupon", DiscountType: pricing.Percentage,
			DiscountValue: decimal.NewFromInt(10),
		}, coupon.Creation{ID: fmt.Sprintf("%sr%d-%d", coupon.IDPrefix, round, n), At: epoch})
		if err != nil {
			h.t.Fatal(err)
		}
		c.Limits = limitsOf(n)
		if err := h.store.CreateCoupon(h.t.Context(), c); err != nil {
			h.t.Fatal(err)
		}
		ids[n] = c.ID
	}
	return ids
}

// inflict lets the fault happen while the processes run, and waits for them.
func (h *harness) inflict(what fault, running *sync.WaitGroup) {
	h.t.Helper()
	done := make(chan struct{})
	go func() {
		running.Wait()
		close(done)
	}()
	pause := time.Duration(h.random.IntN(30)) * time.Millisecond
	switch what {
	case calm:
	case terminate:
		h.terminate(done)
	case kill:
		select {
		case <-done:
		case <-time.After(pause):
			h.clients[h.random.IntN(len(h.clients))].kill()
		}
	case crash:
		time.Sleep(pause)
		if err := h.server.Halt(); err != nil {
			h.t.Fatal(err)
		}
		if err := h.server.Resume(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		h.pool.Reset()
	}
	<-done
	for i, c := range h.clients {
		if c.dead {
			c.end()
			h.clients[i] = startProcess(h.t, h.dsn)
		}
	}
}

// terminate cuts connections of the clients a few times: for ever would leave slow
// machines no time to connect again.
func (h *harness) terminate(done <-chan struct{}) {
	h.t.Helper()
	for range 6 {
		select {
		case <-done:
			return
		case <-time.After(time.Duration(2+h.random.IntN(8)) * time.Millisecond):
			if _, err := h.pool.Exec(h.t.Context(), `SELECT pg_terminate_backend(pid) FROM (
				SELECT pid FROM pg_stat_activity WHERE application_name = 'worker' AND datname = current_database()
				ORDER BY random() LIMIT 2) victims`); err != nil {
				h.t.Fatal(err)
			}
		}
	}
}

// readBack reads every record that a call was about, as calls of the history: what
// was acknowledged must be there.
func (h *harness) readBack(history []call, coupons []string) []call {
	h.t.Helper()
	seen := make(map[string]bool)
	var reads []call
	read := func(o operation) {
		c := call{Operation: o, Began: time.Now().UnixNano()}
		var err error
		if c.Outcome, err = o.make(h.t.Context(), h.store, cheapQuote()); err != nil {
			h.t.Fatal(err)
		}
		c.Ended = time.Now().UnixNano()
		reads = append(reads, c)
	}
	for _, c := range history {
		o := c.Operation
		o.Call = "read"
		if o.ID != "" && !seen[o.ID] {
			seen[o.ID] = true
			read(o)
		}
	}
	for n, id := range coupons {
		read(operation{Call: "lookUp", Coupon: id, Limits: limitsOf(n), Customer: id + "-c0"})
	}
	return reads
}

// sweep lapses every live reservation and looks at what is left: no place is kept,
// counts are those of the rows, limits hold.
func (h *harness) sweep(number int, what fault, coupons []string) {
	h.t.Helper()
	ctx := h.t.Context()
	for n, id := range coupons {
		list := store.RedemptionList{CouponID: id, State: redemption.Reserved, PageSize: store.MaxPageSize}
		live, err := h.store.ListRedemptions(ctx, list)
		if err != nil {
			h.t.Fatal(err)
		}
		for _, r := range live.Items {
			if _, err := h.store.Transition(ctx, r.ID, redemption.Event{
				Kind: redemption.Lapsed, At: later, SessionID: r.SessionID,
			}); err != nil {
				h.t.Fatal(err)
			}
		}
		var completed, within, reserved, doubled int64
		if err := h.pool.QueryRow(ctx, `SELECT count(*) FILTER (WHERE state = 'completed'),
				count(*) FILTER (WHERE state = 'completed' AND NOT over_limit), count(*) FILTER (WHERE state = 'reserved'),
				count(session_id) FILTER (WHERE state = 'completed') - count(DISTINCT session_id) FILTER (WHERE state = 'completed')
			FROM coupon_redemptions WHERE coupon_id = $1`, id).Scan(&completed, &within, &reserved, &doubled); err != nil {
			h.t.Fatal(err)
		}
		found, err := h.store.LookUp(ctx, store.LookUp{CouponID: id})
		if err != nil {
			h.t.Fatal(err)
		}
		limit := limitsOf(n).MaxUses
		if c := found.Coupon; c.UsedCount != completed || c.ReservedCount != 0 || reserved != 0 || doubled != 0 || limit > 0 && within > limit {
			h.t.Errorf("round %d (%s), coupon %s: %d used and %d reserved by the counts; rows: %d completed (%d within the limit of %d), %d reserved, %d sessions twice",
				number, what, id, c.UsedCount, c.ReservedCount, completed, within, limit, reserved, doubled)
		}
	}
}

// process is a client process.
type process struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	tell    *json.Encoder
	hear    *json.Decoder
	dead    bool
}

func startProcess(t *testing.T, dsn string) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), program)
	command.Env = append(os.Environ(), workerVariable+"="+dsn)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{t: t, command: command, in: in, tell: json.NewEncoder(in), hear: json.NewDecoder(out)}
}

// run gives the process a task and returns its calls, also the open ones of a
// process that dies.
func (p *process) run(t task) []call {
	if err := p.tell.Encode(t); err != nil {
		p.dead = true
		return nil
	}
	calls := make(map[int]call)
	for {
		var l line
		if err := p.hear.Decode(&l); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				p.t.Errorf("a client says what is no line: %v", err)
			}
			p.dead = true
			break
		}
		if l.Done {
			break
		}
		calls[l.Number] = l.Call
	}
	var history []call
	for _, c := range calls {
		if c.Ended == 0 {
			c.Ended = math.MaxInt64
		}
		history = append(history, c)
	}
	return history
}

func (p *process) kill() {
	if err := p.command.Process.Kill(); err != nil {
		p.t.Error(err)
	}
}

// end lets the process end and waits for it.
func (p *process) end() {
	_ = p.in.Close() // it may be gone
	if p.dead {
		_ = p.command.Process.Kill()
	}
	_ = p.command.Wait() // killed is as good as ended
}
