package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/killtest"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// The test's executable is the program if programVariable is set.
const programVariable = "COUPONKIT_STRIPE"

// The tests kill the shop, and not the server.
var shared = postgrestest.Shared{Settings: []string{"fsync=off"}}

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		main()
	}
	code := m.Run()
	if err := errors.Join(shared.Close(), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// TestKilledAtAnyPoint kills the shop at random steps; see package killtest. After each life, the orders
// of the shop are those of couponkit, an order is shipped if it was paid and is not flagged, and each
// refund has its credit note. At no time can two sessions be paid, or are paid, for one use or one order.
// When all is settled, the money of each credit note went back once.
func TestKilledAtAnyPoint(t *testing.T) {
	for seed := range uint64(testsize.Of(2, 4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, seed, "")
			require.NoError(t, w.Run(60))
			t.Log(w)
		})
	}
}

// TestKillingNotices takes statements out of their transactions.
func TestKillingNotices(t *testing.T) {
	for statement, want := range map[string]string{
		"INSERT INTO orders": "couponkit does not have", "UPDATE orders": "in couponkit",
		"INSERT INTO shipments": "shipped", "INSERT INTO credit_notes": "credit notes",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, killtest.Notices(want, func(seed uint64) *killtest.World { return newWorld(t, seed, statement) }))
		})
	}
}

// outside is Stripe as the world sees it.
type outside struct {
	*stripefake.Account

	seen    int // events that have become webhooks
	waiting []stripefake.Event
	failed  map[string]bool // sessions
}

// RoundTrip answers the shop without a network.
func (o *outside) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	o.ServeHTTP(answer, r)
	return answer.Result(), nil
}

func (o *outside) Payments() (list []killtest.Payment) {
	returned := map[string]int64{}
	for _, r := range o.Refunds() {
		returned[r.SessionID] += r.Amount
	}
	for _, s := range o.Sessions() {
		state := killtest.Processing
		switch {
		case s.Status == "open":
			state = killtest.Open
		case s.PaymentStatus == "paid":
			state = killtest.Paid
		case s.Status == "expired", o.failed[s.ID]:
			state = killtest.Voided
		}
		list = append(list, killtest.Payment{ID: s.ID, Order: s.Metadata[processor.MetadataOrderID], State: state, Returned: returned[s.ID]})
	}
	return list
}

func (o *outside) Settle(id string) error { return o.PaymentArrives(id) }

func (o *outside) Fail(id string) error {
	err := o.PaymentFails(id)
	o.failed[id] = err == nil
	return err
}

func (o *outside) Webhooks() (list []string) {
	events := o.Events()
	o.waiting, o.seen = append(o.waiting, events[o.seen:]...), len(events)
	for _, e := range o.waiting {
		list = append(list, e.ID+" "+e.Type)
	}
	return list
}

func (o *outside) Notify(ctx context.Context, i int, to http.Handler) (status int) {
	e := o.waiting[i]
	status, err := o.Send(ctx, &http.Client{Transport: handler{to}}, "https://shop.example/stripe", e)
	if err == nil && status == http.StatusOK {
		i = slices.IndexFunc(o.waiting, func(w stripefake.Event) bool { return w.ID == e.ID })
		o.Drop(i)
	}
	return status
}

func (o *outside) Repeat(i int) { o.waiting = append(o.waiting, o.waiting[i]) }

func (o *outside) Drop(i int) { o.waiting = slices.Delete(o.waiting, i, i+1) }

// handler is a transport without a network.
type handler struct{ http.Handler }

func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// victim is one life of the shop.
type victim struct {
	*shop

	pool *pgxpool.Pool
}

func (v victim) Create(ctx context.Context, d coupon.Draft) error {
	_, err := v.coupons.Create(ctx, d)
	return err
}

func (v victim) Checkout(ctx context.Context, p killtest.Purchase) (string, error) {
	return v.checkout(ctx, p.ID, p.Customer, p.Codes())
}

func (v victim) Cancel(ctx context.Context, p killtest.Purchase) error {
	_, err := v.coupons.CancelCheckout(ctx, couponkit.OrderRequest{OrderID: p.ID, CustomerID: p.Customer})
	return err
}

func (v victim) Refund(ctx context.Context, p killtest.Purchase, key string) error {
	return v.refund(ctx, p.ID, key)
}

func (v victim) EveryMinute(ctx context.Context) error {
	_, err := v.coupons.Sweep(ctx, 0)
	return err
}

func (v victim) Webhooks() http.Handler { return v.webhook }

func (v victim) Close() {
	_ = v.store.Close()
	v.pool.Close()
}

// newWorld runs one statement outside of its transaction, if it is given one.
func newWorld(t *testing.T, seed uint64, plant string) *killtest.World {
	t.Helper()
	dsn, w := shared.Need(t).NewDatabase(t)+"&jit=off&synchronous_commit=off", killtest.New(t.Context(), seed)
	account := &outside{
		Account: stripefake.New(stripefake.Options{WebhookSecret: "whsec_kill", Now: w.Clock.Now}), failed: map[string]bool{},
	}
	stripe := func(transport http.RoundTripper) *stripeprocessor.Processor {
		made, err := stripeprocessor.New("sk_test_kill", stripeprocessor.Options{
			WebhookSecrets: []string{"whsec_kill"}, HTTPClient: &http.Client{Transport: transport}, Clock: w.Clock.Now,
			RequestsPerSecond: -1, Retry: stripeprocessor.Retry{Attempts: 2, BaseDelay: time.Millisecond},
		})
		require.NoError(t, err)
		return made
	}
	pool := postgrestest.NewPool(t, dsn)
	s, err := open(t.Context(), pool, stripe(account))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	w.Steps = 250
	w.Provider, w.Store = account, s.store
	w.Compare = func() error { return compare(w, pool) }
	w.Creates = func(r *http.Request, body []byte) (orderID string, creates bool) {
		form, err := url.ParseQuery(string(body))
		return form.Get("client_reference_id"), err == nil && r.Method == http.MethodPost && r.URL.Path == "/v1/checkout/sessions"
	}
	w.Open = func(l *killtest.Life) (killtest.Shop, error) {
		config, err := pgxpool.ParseConfig(dsn)
		require.NoError(t, err)
		config.MaxConns, config.ConnConfig.DialFunc, config.ConnConfig.DefaultQueryExecMode = 2, l.Dial, pgx.QueryExecModeExec // which asks less often
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		s, err := open(t.Context(), pool, stripe(l.Transport(account)), couponkit.WithClock(w.Clock.Now))
		if err != nil {
			pool.Close()
			return nil, err
		}
		if plant != "" {
			s.begin = postgrestest.Leaky{Pool: pool, Beginning: plant, Leaked: func() { l.DieWithin(2) }}
		}
		return victim{s, pool}, nil
	}
	return w
}

// compare compares the tables of the shop with couponkit.
func compare(w *killtest.World, pool *pgxpool.Pool) error {
	orders, err := w.Orders()
	if err != nil {
		return err
	}
	type row struct {
		ID, State string
		Shipped   bool
		Credited  []string
	}
	found, err := pool.Query(w.Context, `SELECT id, state, EXISTS (SELECT FROM shipments WHERE order_id = id),
		array(SELECT key || ' ' || cents FROM credit_notes WHERE order_id = id ORDER BY key) FROM orders`)
	if err != nil {
		return err
	}
	rows, err := pgx.CollectRows(found, pgx.RowToStructByPos[row])
	if err != nil {
		return err
	}
	for _, r := range rows {
		of, known := orders[r.ID]
		if !known {
			return fmt.Errorf("couponkit does not have order %s", r.ID)
		}
		o, credited := of.Order, []string{}
		for _, refund := range o.Refunds {
			credited = append(credited, fmt.Sprint(refund.Key, " ", refund.Repayment.Amount))
		}
		slices.Sort(credited)
		switch ship := o.State.Paid() && !killtest.Flagged(of); {
		case r.State != o.State.String():
			return fmt.Errorf("order %s is %s, and %s in couponkit", r.ID, r.State, o.State)
		case r.Shipped != ship:
			return fmt.Errorf("order %s is %s and shipped: %t", r.ID, r.State, r.Shipped)
		case !cmp.Equal(r.Credited, credited):
			return fmt.Errorf("order %s has the credit notes %q and the refunds %q", r.ID, r.Credited, credited)
		}
		delete(orders, r.ID)
	}
	for id := range orders {
		return fmt.Errorf("the shop does not have order %s", id)
	}
	return nil
}
