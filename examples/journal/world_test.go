package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/patience"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// world is what lives on when the program is killed: the database, Stripe and the customers.
type world struct {
	t       *testing.T
	pool    *pgxpool.Pool
	store   *pgxstore.Store
	account *stripefake.Account
	coupons []coupon.Coupon
	client  *http.Client

	ahead   atomic.Int64           // how far the clock is ahead
	address atomic.Pointer[string] // of the program, dead or alive
	calls   atomic.Int64           // answers to customers, and calls of Stripe's API
	given   atomic.Bool            // the customers give up
	leave   func()
	kills   int
	beside  *program // still alive, or nil
}

const lastUses = 40

// newWorld makes the tables, as the program would, and coupons. The primary key of the shipments
// is dropped, so that nothing but the program's transactions keeps it from shipping twice.
func newWorld(t *testing.T, plant string) *world {
	t.Helper()
	ctx := t.Context()
	dsn := shared.Need(t).NewDatabase(t)
	w := &world{t: t, pool: postgrestest.NewPool(t, dsn), client: &http.Client{Timeout: 10 * time.Second}}
	t.Cleanup(w.client.CloseIdleConnections)
	w.account = stripefake.New(stripefake.Options{WebhookSecret: "whsec_journal", Now: w.now})
	api := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.calls.Add(1)
		w.account.ServeHTTP(out, r)
	}))
	t.Cleanup(api.Close)
	t.Setenv("DATABASE_URL", dsn+"&pool_max_conns=2&jit=off") // a connection takes PostgreSQL longer than a purchase
	t.Setenv("STRIPE_SECRET_KEY", "sk_test_journal")
	t.Setenv("STRIPE_WEBHOOK_SECRET", "whsec_journal")
	t.Setenv("STRIPE_API_URL", api.URL)
	t.Setenv(plantVariable, plant)
	payments, err := stripeprocessor.New("sk_test_journal", stripeprocessor.Options{BaseURL: api.URL, HTTPClient: api.Client(), Clock: w.now})
	require.NoError(t, err)
	h, err := open(ctx, w.pool, payments, couponkit.WithClock(w.now))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.coupons.Close()) })
	w.store = h.coupons
	for _, draft := range []coupon.Draft{
		{Code: "SUMMER10", Name: "Summer sale", DiscountType: pricing.Percentage, Percent: "10"},
		{Code: "LAST", Name: "Last ones", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"}, MaxUses: coupon.Set(lastUses)},
	} {
		made, err := h.service.Create(ctx, draft)
		require.NoError(t, err)
		w.coupons = append(w.coupons, made)
	}
	_, err = w.pool.Exec(ctx, `ALTER TABLE shipments DROP CONSTRAINT shipments_pkey;
		CREATE TABLE consumed (n bigint GENERATED ALWAYS AS IDENTITY, position bigint);
		CREATE FUNCTION consume() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			INSERT INTO consumed (position) VALUES (new.position); RETURN new; END $$;
		CREATE TRIGGER consume AFTER UPDATE ON journal_cursor FOR EACH ROW EXECUTE FUNCTION consume()`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	nowhere := "http://127.0.0.1:1"
	w.address.Store(&nowhere)
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// laterBy moves the clock of everybody but a running program.
func (w *world) laterBy(d time.Duration) { w.ahead.Add(int64(d)) }

// program is one life of the shop.
type program struct {
	w       *world
	command *exec.Cmd
	out     *bufio.Reader
	errs    bytes.Buffer
}

// arguments make the program busy.
func arguments() []string {
	return []string{"-addr", "127.0.0.1:0", "-poll", "20ms", "-sweep", "100ms", "-reconcile", "300ms"}
}

func (w *world) start() *program {
	w.t.Helper()
	executable, err := os.Executable()
	require.NoError(w.t, err)
	p := &program{w: w, command: exec.Command(executable, arguments()...)} //nolint:noctx // it is killed
	p.command.Env = append(os.Environ(), aheadVariable+"="+time.Duration(w.ahead.Load()).String())
	p.command.Stderr = &p.errs
	out, err := p.command.StdoutPipe()
	require.NoError(w.t, err)
	p.out = bufio.NewReader(out)
	require.NoError(w.t, p.command.Start())
	w.t.Cleanup(func() { // of a test that has failed
		if p.command.ProcessState == nil {
			_ = p.command.Process.Kill()
			_ = p.command.Wait()
		}
	})
	return p
}

// listens waits until the program serves, and sends the customers there.
func (p *program) listens() {
	p.w.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.w.t, err, "the program says: %s", &p.errs)
	address := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	p.w.address.Store(&address)
}

// kill ends the program, which must not have ended by itself.
func (p *program) kill() {
	p.w.t.Helper()
	require.NoError(p.w.t, p.command.Process.Kill())
	err := p.command.Wait()
	status, _ := p.command.ProcessState.Sys().(syscall.WaitStatus)
	require.True(p.w.t, status.Signaled(), "the program has ended: %v\n%s", err, &p.errs)
	p.w.kills++
}

// purchase is a visit to the shop. The customer insists on an answer, and then pays, buys once
// more and pays one of the two, or leaves.
func (w *world) purchase(id string) {
	p := purchase{
		ID: "o-" + id, Customer: "c-" + id, Item: "phone", Quantity: rand.Int64N(3) + 1,
		Code: []string{"", "SUMMER10", "summer10", "LAST", "NOSUCH"}[rand.IntN(5)],
	}
	if rand.IntN(4) == 0 {
		p.Customer = fmt.Sprint("regular-", rand.IntN(5)) // who may have an open order, or no use left
	}
	session := w.order(p)
	if session != "" && rand.IntN(4) == 0 {
		p.ID += "-again"
		session = []string{session, w.order(p)}[rand.IntN(2)]
	}
	if session != "" && rand.IntN(4) > 0 {
		_ = w.account.Pay(session) // it may have ended
	}
}

// order repeats a purchase until the shop has opened a session or refused.
func (w *world) order(p purchase) (session string) {
	body, err := json.Marshal(p)
	if err != nil {
		w.t.Error(err)
	}
	for ; !w.given.Load(); time.Sleep(rand.N(40 * time.Millisecond)) {
		answer, err := w.client.Post(*w.address.Load()+"/orders", "application/json", bytes.NewReader(body)) //nolint:noctx // the client has a timeout
		if err != nil {
			continue
		}
		w.calls.Add(1)
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		switch {
		case err != nil || answer.StatusCode == http.StatusServiceUnavailable:
		case answer.StatusCode == http.StatusOK:
			return path.Base(strings.TrimSpace(string(text)))
		case answer.StatusCode == http.StatusUnprocessableEntity, answer.StatusCode == http.StatusConflict:
			return ""
		default:
			w.t.Errorf("%+v: %s: %s", p, answer.Status, text)
			return ""
		}
	}
	return ""
}

// deliverUntil sends events to the webhook, some of them twice, and loses one in five.
func (w *world) deliverUntil(ended <-chan struct{}) {
	done := map[string]bool{}
	for last := false; ; {
		open := 0
		for _, e := range w.account.Events() {
			h := fnv.New32()
			_, _ = h.Write([]byte(e.ID))
			if fate := h.Sum32() % 5; fate == 0 || done[e.ID] {
				continue
			} else if status, err := w.account.Send(context.Background(), w.client, *w.address.Load()+"/webhook", e); err != nil || status != http.StatusOK {
				if open++; err != nil {
					break // nobody is there
				}
			} else {
				done[e.ID] = fate > 1 || rand.IntN(2) == 0
			}
		}
		if last && (open == 0 || w.given.Load()) {
			return
		}
		select {
		case <-ended:
			last = true
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// settle lets the customers go and the shop finish its work, without a kill.
func (w *world) settle() {
	w.t.Helper()
	ctx, cancel := patience.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	defer context.AfterFunc(ctx, func() { w.given.Store(true) })()
	if w.beside != nil {
		w.beside.kill()
	}
	p := w.start()
	p.listens()
	w.leave()
	p.kill()
	w.laterBy(80 * time.Minute)
	p = w.start()
	defer p.kill()
	for {
		s := w.read(ctx)
		journal, err := w.store.Journal(ctx, s.cursor, 1)
		require.NoError(w.t, err)
		if len(journal) == 0 && !slices.ContainsFunc(s.redemptions, func(o store.Settled) bool { return !o.Order.State.Ended() }) {
			return
		}
		select {
		case <-ctx.Done():
			require.FailNow(w.t, "the shop does not finish its work", "cursor %d\n%s", s.cursor, &p.errs)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// state is what the tables say at one instant.
type state struct {
	orders      map[string]string // by ID
	shipments   map[string]int
	consumed    []int64
	cursor      int64
	redemptions []store.Settled
}

func (w *world) read(ctx context.Context) (s state) {
	w.t.Helper()
	s.orders, s.shipments = map[string]string{}, map[string]int{}
	require.NoError(w.t, pgx.BeginTxFunc(ctx, w.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT position FROM journal_cursor`).Scan(&s.cursor); err != nil {
			return err
		}
		var id, state string
		orders, _ := tx.Query(ctx, `SELECT id, state FROM orders`) // the error is that of the rows
		if _, err := pgx.ForEachRow(orders, []any{&id, &state}, func() error { s.orders[id] = state; return nil }); err != nil {
			return err
		}
		shipped, _ := tx.Query(ctx, `SELECT order_id FROM shipments`)
		if _, err := pgx.ForEachRow(shipped, []any{&id}, func() error { s.shipments[id]++; return nil }); err != nil {
			return err
		}
		var position int64
		consumed, _ := tx.Query(ctx, `SELECT position FROM consumed ORDER BY n`)
		if _, err := pgx.ForEachRow(consumed, []any{&position}, func() error { s.consumed = append(s.consumed, position); return nil }); err != nil {
			return err
		}
		for list := (store.OrderList{}); ; {
			page, err := w.store.WithTx(tx).ListOrders(ctx, list)
			if s.redemptions = append(s.redemptions, page.Items...); err != nil || page.Next == "" {
				return err
			}
			list.After = page.Next
		}
	}))
	return s
}

// violations are what must not be at any time.
func (w *world) violations(ctx context.Context) (found []string) {
	w.t.Helper()
	s := w.read(ctx)
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	paid, ids := map[string]bool{}, map[string]string{}
	for _, o := range s.redemptions {
		id := o.Order.Metadata["order"]
		if _, known := s.orders[id]; !known {
			complain("the redemption %s has no order in the shop", o.Order.ID)
		}
		paid[id], ids[o.Order.ID] = o.Order.State == redemption.OrderPaid, id
	}
	for id, state := range s.orders {
		if state == "paid" && !paid[id] {
			complain("%s is paid in the shop and not in couponkit", id)
		}
	}
	for id, times := range s.shipments {
		if times != 1 || s.orders[id] != "paid" {
			complain("%s is %s and shipped %d times", id, s.orders[id], times)
		}
	}
	for i, position := range s.consumed {
		if position != int64(i+1) {
			complain("entry %d was consumed as number %d", position, i+1)
			break
		}
	}
	if s.cursor != int64(len(s.consumed)) {
		complain("the cursor is at %d after %d entries", s.cursor, len(s.consumed))
	}
	for after := int64(0); after < s.cursor; {
		entries, err := w.store.Journal(ctx, after, store.MaxJournalLimit)
		require.NoError(w.t, err)
		for _, e := range entries {
			if e.Kind == store.OrderPaid && e.Position <= s.cursor && s.shipments[ids[e.Subject]] == 0 {
				complain("%s was paid in entry %d of %d and is not shipped", ids[e.Subject], e.Position, s.cursor)
			}
			after = e.Position
		}
	}
	return found
}

// differences are what must not be when the shop has finished its work.
func (w *world) differences(ctx context.Context) (found []string) {
	w.t.Helper()
	s := w.read(ctx)
	complain := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	uses, untold := map[string]int64{}, maps.Clone(s.orders)
	paid := map[string]bool{} // by session
	for _, o := range s.redemptions {
		id := o.Order.Metadata["order"]
		if delete(untold, id); s.orders[id] != o.Order.State.String() {
			complain("%s is %s in the shop and %s in couponkit", id, s.orders[id], o.Order.State)
		}
		if o.Order.State == redemption.OrderPaid {
			paid[o.Order.SessionID] = true
			for _, u := range o.Uses {
				uses[u.CouponID]++
			}
		}
		if shipped := s.shipments[id] == 1; shipped != (o.Order.State == redemption.OrderPaid) {
			complain("%s is %s, shipped: %t", id, o.Order.State, shipped)
		}
	}
	for id, state := range untold {
		if state != "open" {
			complain("%s is %s and has no redemption", id, state)
		}
	}
	for _, session := range w.account.Sessions() {
		if (session.PaymentStatus == "paid") != paid[session.ID] {
			complain("session %s is %s at Stripe, paid in couponkit: %t", session.ID, session.PaymentStatus, paid[session.ID])
		}
	}
	for _, c := range w.coupons {
		found, err := store.Find(ctx, w.store, store.LookUp{Names: store.ByID(c.ID)})
		require.NoError(w.t, err)
		if used := found.Coupon.UsedCount; used != uses[c.ID] || c.Limits.MaxUses > 0 && used > c.Limits.MaxUses {
			complain("%s has %d uses of %d; paid orders have %d", c.Code, used, c.Limits.MaxUses, uses[c.ID])
		}
	}
	return found
}

// summary tells what happened, so that a run in which nothing did is seen.
func (w *world) summary() string {
	s := w.read(w.t.Context())
	states := map[string]int{}
	for _, state := range s.orders {
		states[state]++
	}
	return fmt.Sprintf("%d kills, orders %v, %d redemptions, %d shipments, %d entries of the journal", w.kills, states, len(s.redemptions), len(s.shipments), s.cursor)
}
