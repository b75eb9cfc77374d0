// Command journal is a shop on PostgreSQL and Stripe. It may be killed at any point, and any
// number of its processes may share one database. Each paid order is shipped exactly once.
//
//	DATABASE_URL=postgres://… STRIPE_SECRET_KEY=sk_test_… STRIPE_WEBHOOK_SECRET=whsec_… go run .
//	curl -H 'Accept-Language: de' 127.0.0.1:8080/orders \
//	  -d '{"id":"order-1","customer":"ann","item":"phone","quantity":1,"code":"SUMMER10"}'
//
// The tables of the shop are in the same database as those of couponkit:
//
//   - A purchase inserts a row into orders. The order's ID is the key of the checkout. The
//     customer repeats an interrupted purchase with the same ID.
//   - The webhook counts the uses and marks the order as paid, in one transaction.
//   - Sweeps and other checkouts find payments, too. The journal tells of all payments. One
//     transaction moves the cursor past an entry, marks the order and ships it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/validation"
)

// schema is a single query, so it runs in one transaction. The lock lets several processes start at
// once.
const schema = `SELECT pg_advisory_xact_lock(7221);
CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text, item text, quantity bigint, state text NOT NULL DEFAULT 'open');
CREATE TABLE IF NOT EXISTS shipments (order_id text PRIMARY KEY REFERENCES orders);
CREATE TABLE IF NOT EXISTS journal_cursor (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), position bigint NOT NULL);
INSERT INTO journal_cursor (position) VALUES (0) ON CONFLICT DO NOTHING`

// host is the shop. All its state is in the database, so it survives a restart.
type host struct {
	pool     *pgxpool.Pool
	begin    pgxstore.Beginner // the pool, except in tests
	coupons  *pgxstore.Store
	payments *stripeprocessor.Processor
	service  *couponkit.Service
	options  []couponkit.Option
	log      *slog.Logger
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, time.Now, func(pool *pgxpool.Pool) pgxstore.Beginner { return pool })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "journal:", err)
		os.Exit(1)
	}
}

// run serves until the context ends. It prints its address. Tests pass a clock and a source of
// transactions.
func run(ctx context.Context, args []string, out io.Writer, now func() time.Time, begin func(*pgxpool.Pool) pgxstore.Beginner) error {
	flags := flag.NewFlagSet("journal", flag.ContinueOnError)
	address := flags.String("addr", "127.0.0.1:8080", "where to listen")
	poll := flags.Duration("poll", time.Second, "how often to read the journal")
	sweep := flags.Duration("sweep", time.Minute, "how often to finish abandoned checkouts")
	reconcile := flags.Duration("reconcile", 5*time.Minute, "how often to repair the coupons at Stripe")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	payments, err := stripeprocessor.New(os.Getenv("STRIPE_SECRET_KEY"), stripeprocessor.Options{
		WebhookSecrets: []string{os.Getenv("STRIPE_WEBHOOK_SECRET")}, BaseURL: os.Getenv("STRIPE_API_URL"), Clock: now, Logger: log,
	})
	if err != nil {
		return err
	}
	h, err := open(ctx, pool, payments, couponkit.WithClock(now), couponkit.WithLogger(log))
	if err != nil {
		return err
	}
	defer h.coupons.Close() //nolint:errcheck // all calls have ended
	h.begin, h.log = begin(pool), log
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(out, "listening on http://%s\n", listener.Addr()); err != nil {
		return err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /orders", h.order)
	routes.Handle("POST /webhook", payments.Handler(h.settle))
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 5 * time.Second}
	running, ctx := errgroup.WithContext(ctx)
	every := func(interval time.Duration, call func() error) {
		running.Go(func() error { return h.every(ctx, interval, call) })
	}
	every(*poll, func() error { return h.consume(ctx) })
	every(*sweep, func() error { _, err := h.service.Sweep(ctx, 0); return err }) // the journal has the results of the sweep
	every(*reconcile, func() error { _, err := h.service.Reconcile(ctx, couponkit.ReconcileOptions{}); return err })
	running.Go(func() error { return server.Serve(listener) })
	running.Go(func() error {
		<-ctx.Done()
		return server.Shutdown(context.WithoutCancel(ctx)) // after the running requests have ended
	})
	if err = running.Wait(); errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// open creates all tables and returns the host.
func open(ctx context.Context, pool *pgxpool.Pool, payments *stripeprocessor.Processor, options ...couponkit.Option) (*host, error) {
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	coupons, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return nil, err
	}
	options = append(options, couponkit.WithProcessor(payments))
	service, err := couponkit.New(coupons, options...)
	return &host{pool: pool, begin: pool, coupons: coupons, payments: payments, service: service, options: options}, err
}

// every calls a function at once, and then after each interval, until the context ends.
func (h *host) every(ctx context.Context, interval time.Duration, call func() error) error {
	for {
		if err := call(); err != nil && ctx.Err() == nil {
			h.log.Error("the next call tries again", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
	}
}

// purchase is the body of POST /orders. A real shop takes the customer from the session.
type purchase struct {
	ID, Customer, Item, Code string
	Quantity                 int64
}

// order answers with the address of the payment page, or with the reasons of a refusal.
func (h *host) order(w http.ResponseWriter, r *http.Request) {
	var p purchase
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<12)).Decode(&p); err != nil || p.ID == "" || strings.Contains(p.ID+p.Customer+p.Item, "\x00") {
		http.Error(w, "send an order as JSON, with an ID", http.StatusBadRequest)
		return
	}
	checkout, err := h.buy(r.Context(), p)
	status, text, invalid := http.StatusOK, checkout.Session.URL, (*validation.Error)(nil)
	switch refused := coupon.RejectionsOf(err); {
	case refused != nil:
		status, text = http.StatusUnprocessableEntity, translate(r.Header.Get("Accept-Language"), refused)
	case errors.As(err, &invalid):
		status, text = http.StatusBadRequest, err.Error()
	case errors.Is(err, couponkit.ErrOrderPaid):
		status, text = http.StatusConflict, "the order is paid"
	case errors.Is(err, store.ErrConflict), errors.Is(err, couponkit.ErrOrderEnded):
		status, text = http.StatusConflict, "use another order ID"
	case err != nil:
		h.log.Error("a purchase failed", "error", err)
		status, text = http.StatusServiceUnavailable, "repeat the request"
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // ignore a customer who closed the connection
}

// buy inserts the order and opens its payment page. A repeated call completes a call that a crash
// interrupted. If another customer or cart has the order ID, the error is store.ErrKeyReused.
func (h *host) buy(ctx context.Context, p purchase) (couponkit.Checkout, error) {
	kept, err := h.pool.Exec(ctx, `INSERT INTO orders (id, customer, item, quantity) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET id = excluded.id
		WHERE (orders.customer, orders.item, orders.quantity) = (excluded.customer, excluded.item, excluded.quantity)`,
		p.ID, p.Customer, p.Item, p.Quantity)
	if err == nil && kept.RowsAffected() == 0 {
		err = store.ErrKeyReused
	}
	if err != nil {
		return couponkit.Checkout{}, err
	}
	return h.service.Checkout(ctx, couponkit.CheckoutRequest{
		Key: p.ID, Codes: strings.Fields(p.Code), Metadata: map[string]string{"order": p.ID}, Customer: eligibility.Customer{ID: p.Customer},
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: p.Item, Quantity: p.Quantity, UnitPrice: 20_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	})
}

// settle records an event of a payment session and updates the shop's order, in one transaction.
func (h *host) settle(ctx context.Context, e processor.Event) error {
	return pgx.BeginFunc(ctx, h.begin, func(tx pgx.Tx) error {
		service, err := couponkit.New(h.coupons.WithTx(tx), h.options...)
		if err != nil {
			return err
		}
		outcome, err := service.HandleEvent(ctx, e)
		if err != nil {
			return err
		}
		return mark(ctx, tx, outcome.Order)
	})
}

// mark copies the state of a redemption to the shop's order. A paid order stays paid.
func mark(ctx context.Context, tx pgx.Tx, o redemption.Order) error {
	_, err := tx.Exec(ctx, `UPDATE orders SET state = $2 WHERE id = $1 AND state <> 'paid'`, o.Metadata["order"], o.State.String())
	return err
}

// consume handles the journal's entries after the cursor, in order.
func (h *host) consume(ctx context.Context) error {
	var cursor int64
	if err := h.pool.QueryRow(ctx, `SELECT position FROM journal_cursor`).Scan(&cursor); err != nil {
		return err
	}
	entries, err := h.service.Journal(ctx, cursor, store.MaxJournalLimit)
	for _, e := range entries {
		if err := h.handle(ctx, cursor, e); err != nil {
			return err
		}
		cursor = e.Position
	}
	return err
}

// handle moves the cursor past the next entry. If the entry reports a payment, the same transaction
// ships the order. A flagged payment waits for a person to check it.
func (h *host) handle(ctx context.Context, cursor int64, e store.Entry) error {
	var found couponkit.Outcome
	if e.Kind == store.OrderPaid || e.Kind == store.OrderCancelled {
		var err error // do this first: Refresh calls Stripe, and a transaction should not wait for Stripe
		if found, err = h.service.Refresh(ctx, couponkit.OrderRequest{OrderID: e.Subject, AnyCustomer: true}); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, h.begin, func(tx pgx.Tx) error {
		moved, err := tx.Exec(ctx, `UPDATE journal_cursor SET position = $2 WHERE position = $1`, cursor, e.Position)
		if err == nil && moved.RowsAffected() == 0 {
			err = errors.New("another process has moved the cursor")
		}
		if err == nil {
			err = mark(ctx, tx, found.Order)
		}
		if err != nil || e.Kind != store.OrderPaid || found.Order.State != redemption.OrderPaid || found.Flag != couponkit.FlagNone {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO shipments SELECT id FROM orders WHERE id = $1 ON CONFLICT DO NOTHING`, found.Order.Metadata["order"])
		return err
	})
}
