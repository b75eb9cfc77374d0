package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/payments/internal/provider"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
	"github.com/couponkit/couponkit/store/storetest"
)

// TestKilledAtAnyPoint kills the shop at random steps while customers with several tabs order, pay, pay
// slowly, cancel and return units, and while requests are late or lost and webhooks are lost, repeated
// and late. Each coupon has one use.
//
// At no time can two payments be paid, or are paid, for one use. When all is settled, no money went back
// twice, each paid payment has its use or a flag, and the orders of the shop are those of couponkit.
func TestKilledAtAnyPoint(t *testing.T) {
	for seed := range uint64(testsize.Of(4, 20)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed)
			for range 60 {
				w.live()
			}
			w.settle()
			w.compare()
		})
	}
}

// world is everything outside of the shop: the database, the provider, the customers and the time.
type world struct {
	*testing.T

	random    *rand.Rand
	provider  *provider.Provider
	clock     *clock
	file      string
	trouble   bool
	reader    *sqlstore.Store // of the test, which nobody kills
	late      []request       // on their way to the provider, in the order of their arrival
	coupons   int
	purchases []call
	trace     []string

	life *life
	shop *shop
}

// request is a request that reaches the provider late.
type request struct {
	*http.Request

	body []byte
	at   time.Time
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		T: t, random: rand.New(rand.NewPCG(seed, 1)), provider: provider.New("https://pay.example/"),
		clock: &clock{now: time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)}, file: filepath.Join(t.TempDir(), "shop.db"), trouble: true,
	}
	db, err := sql.Open("sqlite", "file:"+w.file+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	require.NoError(t, sqlstore.Migrate(t.Context(), db, sqlstore.SQLite, sqlstore.Options{}))
	w.reader, err = sqlstore.New(t.Context(), db, sqlstore.SQLite, sqlstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, w.reader.Close())
		require.NoError(t, db.Close())
	})
	return w
}

// one reports true once in n times.
func (w *world) one(n int) bool { return w.random.IntN(n) == 0 }

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, w.clock.Now().Format("15:04:05 ")+fmt.Sprintf(format, args...))
}

// pass lets time pass before a step, and late requests arrive.
func (w *world) pass() {
	soon := len(w.late) > 0 && w.late[0].at.Sub(w.clock.Now()) < 2*time.Second
	if w.trouble && (w.one(20) || soon && w.one(3)) {
		w.clock.advance(time.Duration(w.random.IntN(3000)) * time.Millisecond)
	}
	w.arrive(w.clock.Now())
}

// arrive delivers the late requests whose time has come.
func (w *world) arrive(now time.Time) {
	for len(w.late) > 0 && !w.late[0].at.After(now) {
		r := w.late[0]
		w.late = w.late[1:]
		r.Body = io.NopCloser(bytes.NewReader(r.body))
		response, err := w.provider.RoundTrip(r.Request)
		require.NoError(w, err)
		require.NoError(w, response.Body.Close())
		w.note("late %s %s: %d", r.Method, r.URL.Path, response.StatusCode)
	}
}

// lose keeps a request back.
func (w *world) lose(r *http.Request) bool {
	if !w.trouble || !w.one(6) {
		return false
	}
	if w.one(3) {
		w.note("lost %s %s", r.Method, r.URL.Path)
		return true
	}
	body := []byte{}
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body) // of the memory
	}
	kept := request{r.Clone(context.WithoutCancel(r.Context())), body, w.arrival(r)}
	w.late = append(w.late, kept)
	slices.SortStableFunc(w.late, func(a, b request) int { return a.at.Compare(b.at) })
	w.note("kept back %s %s until %s", r.Method, r.URL.Path, kept.at.Format("15:04:05.000"))
	return true
}

// arrival draws when a late request arrives. The creation of a payment may take the time that couponkit
// allows, from when it was begun.
func (w *world) arrival(r *http.Request) time.Time {
	now := w.clock.Now()
	latest := now.Add(time.Minute)
	if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/payment") {
		latest = w.order(strings.Split(r.URL.Path, "/")[2]).Order.BegunAt.Add(couponkit.DefaultCreateTime - time.Millisecond)
	}
	left := max(latest.Sub(now), 1)
	if w.one(2) {
		left = min(left, time.Second)
	}
	return latest.Add(-time.Duration(w.random.Int64N(int64(left))))
}

// order is an order as couponkit has it.
func (w *world) order(id string) store.Settled {
	w.Helper()
	found, err := w.reader.Order(w.Context(), store.OrderKey{ID: id})
	require.NoError(w, err, id)
	return found
}

// wait lets time pass between the actions.
func (w *world) wait(d time.Duration) {
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		next := end
		if len(w.late) > 0 && w.late[0].at.Before(end) {
			next = w.late[0].at
		}
		w.clock.advance(max(next.Sub(w.clock.Now()), 0))
		w.arrive(w.clock.Now())
	}
}

// start starts the shop on what the last one has left.
func (w *world) start(steps int) (started bool) {
	w.Helper()
	w.life = newLife(w.random, steps, w.pass)
	db := sql.OpenDB(connector{w.file, w.life})
	client := provider.Client{URL: "https://provider.example", HTTP: &http.Client{Transport: wire{w.life, w.provider, w.lose}}}
	shop, err := open(w.Context(), db, client, couponkit.WithClock(w.clock.Now))
	if err != nil {
		require.True(w, w.life.isDead(), "%v", err)
		require.NoError(w, db.Close())
		return false
	}
	w.shop = shop
	return true
}

// live is one life of the shop.
func (w *world) live() {
	w.Helper()
	if !w.start(700) {
		return
	}
	for !w.life.isDead() {
		w.act()
		w.onePaymentEach()
	}
	w.note("killed")
	w.end()
}

// end closes the connections, as the operating system does when a process has ended.
func (w *world) end() {
	_ = w.shop.store.Close()
	_ = w.shop.db.Close()
}

func (w *world) act() {
	w.Helper()
	ctx := w.Context()
	if len(w.late) > 0 && w.one(3) { // something happens right before a late request arrives
		w.wait(w.late[0].at.Sub(w.clock.Now()) - time.Duration(w.random.IntN(1000))*time.Millisecond)
	}
	switch n := w.random.IntN(100); {
	case n < 2:
		_, err := w.shop.coupons.Create(ctx, w.coupon())
		w.note("coupon %s: %v", code(w.coupons), err)
	case n < 32:
		p := w.purchase()
		address, err := w.shop.checkout(ctx, p)
		w.note("checkout %s %s %v: %s %v", p.ID, p.Customer, p.Codes, address, err)
	case n < 57:
		w.customer()
	case n < 77:
		w.webhook(ctx)
	case n < 83 && len(w.purchases) > 0:
		p := w.recent()
		_, err := w.shop.cancel(ctx, call{ID: p.ID})
		w.note("cancel %s: %v", p.ID, err)
	case n < 88 && len(w.purchases) > 0:
		p, key := w.recent(), fmt.Sprint("back-", w.random.IntN(2))
		_, err := w.shop.refund(ctx, call{ID: p.ID, Key: key, Quantity: 1})
		w.note("refund %s %s: %v", p.ID, key, err)
	case n < 97:
		w.note("minute: %v", w.shop.runDue(ctx, ""))
		w.wait(time.Minute)
	default:
		w.wait(time.Duration(w.random.IntN(45)) * time.Minute)
	}
}

// coupon is the next coupon.
func (w *world) coupon() coupon.Draft {
	w.coupons++
	return coupon.Draft{
		Code: code(w.coupons), Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"}, MaxUses: coupon.Set(1),
	}
}

func code(n int) string { return fmt.Sprintf("ONCE%d", n) }

// purchase is a new order, or a form that is sent again.
func (w *world) purchase() call {
	if len(w.purchases) > 0 && w.one(2) {
		return w.recent()
	}
	p := call{
		ID: fmt.Sprintf("order-%d", len(w.purchases)+1), Customer: []string{"ann", "bob"}[w.random.IntN(2)], Quantity: 3,
	}
	if w.coupons > 0 && !w.one(4) {
		p.Codes = []string{code(max(1, w.coupons-w.random.IntN(2)))}
	}
	w.purchases = append(w.purchases, p)
	return p
}

// recent is one of the last orders.
func (w *world) recent() call {
	return w.purchases[len(w.purchases)-1-w.random.IntN(min(6, len(w.purchases)))]
}

// customer does something with a payment at the provider. Even a payment whose address nobody was shown
// may be paid, as if the provider had sent an invoice.
func (w *world) customer() {
	payments := w.provider.Payments()
	if len(payments) == 0 {
		return
	}
	p := payments[len(payments)-1-w.random.IntN(min(4, len(payments)))]
	var err error
	switch p.State {
	case provider.Open:
		if w.one(3) {
			err = w.provider.PayLater(p.ID)
		} else {
			err = w.provider.Pay(p.ID)
		}
	case provider.Processing:
		err = w.arrived(p)
	case provider.Paid, provider.Voided:
		return
	}
	w.note("customer %s %s: %v", p.Order, p.State, err)
}

func (w *world) arrived(p provider.Payment) error {
	if w.one(3) {
		return w.provider.Fail(p.ID)
	}
	return w.provider.Settle(p.ID)
}

// webhook sends, repeats or loses any webhook.
func (w *world) webhook(ctx context.Context) {
	waiting := w.provider.Webhooks()
	if len(waiting) == 0 {
		return
	}
	switch i := w.random.IntN(len(waiting)); {
	case w.one(8):
		w.provider.Repeat(i)
	case w.one(8):
		w.provider.Drop(i)
		w.note("webhook %s lost", waiting[i])
	default:
		w.note("webhook %s: %d", waiting[i], w.provider.Notify(ctx, i, w.shop.routes()))
	}
}

// onePaymentEach checks that of the payments for one coupon at most one can be paid or is paid.
func (w *world) onePaymentEach() {
	w.Helper()
	codes, live := map[string]string{}, map[string][]string{}
	for _, p := range w.purchases {
		codes[p.ID] = strings.Join(p.Codes, "")
	}
	for _, p := range w.provider.Payments() {
		if code := codes[p.Order]; code != "" && p.State != provider.Voided {
			live[code] = append(live[code], fmt.Sprintf("%s %s", p.Order, p.State))
		}
	}
	for code, payments := range live {
		if len(payments) > 1 {
			w.failed("%s has one use, and these payments: %q%s", code, payments, w.orders(payments...))
		}
	}
}

// orders are the orders of payments as couponkit has them.
func (w *world) orders(payments ...string) (out string) {
	for _, p := range payments {
		id, _, _ := strings.Cut(p, " ")
		ledger := w.order(id)
		o := ledger.Order
		out += fmt.Sprintf("\n%s %s begun %s payment %q awaits %q replaced by %q deadline %s created %s uses %+v",
			id, o.State, o.BegunAt.Format(time.TimeOnly), o.SessionID, o.Awaits, o.ReplacedBy, o.Deadline.Format(time.TimeOnly), o.CreatedAt.Format(time.TimeOnly), ledger.Uses)
	}
	return out
}

func (w *world) failed(format string, args ...any) {
	w.Helper()
	w.Fatalf(format+"\n%s", append(args, strings.Join(w.trace[max(0, len(w.trace)-80):], "\n"))...)
}

// settle ends all trouble and lets days pass.
func (w *world) settle() {
	w.Helper()
	w.trouble = false
	require.True(w, w.start(1<<30))
	for _, p := range w.provider.Payments() {
		if p.State == provider.Processing {
			require.NoError(w, w.arrived(p))
		}
	}
	for range 200 {
		for len(w.provider.Webhooks()) > 0 {
			require.Equal(w, http.StatusOK, w.provider.Notify(w.Context(), 0, w.shop.routes()))
		}
		if err := w.shop.runDue(w.Context(), ""); err != nil {
			w.failed("a sweep without trouble fails: %v", err)
		}
		w.onePaymentEach()
		w.wait(4 * time.Hour)
	}
}

// compare compares what the provider, the shop and couponkit have when all is settled.
func (w *world) compare() {
	w.Helper()
	rows := w.rows(`SELECT id, state FROM orders`)
	shipped := w.rows(`SELECT order_id, '' FROM shipments`)
	flagged := w.rows(`SELECT order_id, flag FROM to_check`)
	credited := w.rows(`SELECT order_id, sum(cents) FROM credit_notes GROUP BY order_id`)
	returned := map[string]string{}
	for _, p := range w.provider.Payments() {
		require.NotEqual(w, provider.Open, p.State, p.Order)
		ledger := w.order(p.Order)
		if back := p.Refunded(); back > 0 {
			returned[p.Order] = fmt.Sprint(back)
		}
		_, toCheck := flagged[p.Order]
		paid := ledger.Order.State.Paid()
		switch {
		case (p.State == provider.Paid) != paid:
			w.failed("payment of %s is %s, and the order %s", p.Order, p.State, ledger.Order.State)
		case paid && !toCheck && slices.ContainsFunc(ledger.Uses, func(u redemption.Use) bool { return u.State != redemption.Completed }):
			w.failed("%s is paid, and a use does not count: %+v", p.Order, ledger.Uses)
		}
		if _, ok := shipped[p.Order]; ok != (paid && !toCheck) {
			w.failed("%s is %s, flagged %t and shipped %t", p.Order, ledger.Order.State, toCheck, ok)
		}
	}
	for id, state := range rows {
		ledger := w.order(id)
		if ledger.Order.State.String() != state {
			w.failed("%s is %q in the shop and %q in couponkit", id, state, ledger.Order.State)
		}
	}
	if diff := cmp.Diff(credited, returned); diff != "" {
		w.failed("the credit notes, in cents, and the money that went back (-credited +returned):\n%s", diff)
	}
	require.NoError(w, storetest.Check(w.Context(), w.reader))
	w.end()
}

func (w *world) rows(query string) map[string]string {
	w.Helper()
	rows, err := w.shop.db.QueryContext(w.Context(), query)
	require.NoError(w, err)
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var key, value string
		require.NoError(w, rows.Scan(&key, &value))
		out[key] = value
	}
	require.NoError(w, rows.Err())
	return out
}
