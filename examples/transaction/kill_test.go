package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/internal/killtest"
	"github.com/couponkit/couponkit/internal/testsize"
)

// The tests kill the shop, and not the server.
var shared = postgrestest.Shared{Settings: []string{"fsync=off"}}

// The test's executable is the program if programVariable is set.
const programVariable = "COUPONKIT_TRANSACTION"

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
// of the shop are those of couponkit, an order has its tickets if it is paid and not flagged, and each
// refund has its credit note and has taken a ticket back. At no time can two payments be paid, or are paid,
// for one use or one order. When all is settled, the money of each credit note went back once.
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
		"INSERT INTO orders": "couponkit does not have", "UPDATE orders": "in couponkit", "INSERT INTO tickets": "tickets", "WITH note": "tickets",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, killtest.Notices(want, func(seed uint64) *killtest.World { return newWorld(t, seed, statement) }))
		})
	}
}

// outside is the provider as the world sees it.
type outside struct{ *provider.Provider }

func (o outside) Payments() (list []killtest.Payment) {
	for _, p := range o.Provider.Payments() {
		list = append(list, killtest.Payment{ID: p.ID, Order: p.Order, State: killtest.State(p.State), Returned: p.Refunded()})
	}
	return list
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

func (v victim) Refund(ctx context.Context, p killtest.Purchase, key string) error {
	return v.refund(ctx, p.ID, key)
}

func (v victim) EveryMinute(ctx context.Context) error { return v.runDue(ctx, "") }

func (v victim) Webhooks() http.Handler { return v.shop }

func (v victim) Close() {
	_ = v.store.Close()
	v.pool.Close()
}

// newWorld runs one statement outside of its transaction, if it is given one.
func newWorld(t *testing.T, seed uint64, plant string) *killtest.World {
	t.Helper()
	dsn, inMemory := shared.Need(t).NewDatabase(t)+"&jit=off&synchronous_commit=off", provider.New("https://pay.example/")
	pool := postgrestest.NewPool(t, dsn)
	s, err := open(t.Context(), pool, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.store.Close()) })
	w := killtest.New(t.Context(), seed)
	w.Steps = 250
	w.Provider, w.Store = outside{inMemory}, s.store
	w.Compare = func() error { return compare(w, pool) }
	w.Creates = func(r *http.Request, _ []byte) (orderID string, creates bool) {
		orderID, creates = strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/orders/"), "/payment")
		return orderID, creates && r.Method == http.MethodPut
	}
	w.Open = func(l *killtest.Life) (killtest.Shop, error) {
		config, err := pgxpool.ParseConfig(dsn)
		require.NoError(t, err)
		config.MaxConns, config.ConnConfig.DialFunc, config.ConnConfig.DefaultQueryExecMode = 2, l.Dial, pgx.QueryExecModeExec // which asks less often
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		client := &http.Client{Transport: l.Transport(inMemory)}
		pay := &provider.Payments{Client: provider.Client{URL: "https://provider.example", HTTP: client}}
		s, err := open(t.Context(), pool, pay, couponkit.WithClock(w.Clock.Now))
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
		Tickets   int
		Credited  []string
	}
	found, err := pool.Query(w.Context, `SELECT id, state, (SELECT count(*) FROM tickets WHERE order_id = id),
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
		o, tickets, credited := of.Order, 0, []string{}
		for _, refund := range o.Refunds {
			credited = append(credited, fmt.Sprint(refund.Key, " ", refund.Repayment.Amount))
		}
		slices.Sort(credited)
		if o.State.Paid() && !killtest.Flagged(of) {
			tickets = 3 - len(o.Refunds)
		}
		switch {
		case r.State != o.State.String():
			return fmt.Errorf("order %s is %s, and %s in couponkit", r.ID, r.State, o.State)
		case r.Tickets != tickets:
			return fmt.Errorf("order %s is %s with %d refunds and has %d tickets", r.ID, r.State, len(o.Refunds), r.Tickets)
		case !cmp.Equal(r.Credited, credited):
			return fmt.Errorf("order %s has the credit notes %q and the refunds %q", r.ID, r.Credited, credited)
		}
		delete(orders, r.ID)
	}
	if len(orders) > 0 {
		return fmt.Errorf("the shop does not have the orders %v", slices.Collect(maps.Keys(orders)))
	}
	return nil
}
