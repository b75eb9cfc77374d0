// Command transaction sells tickets. Its orders, tickets and credit notes are in the database of couponkit,
// on PostgreSQL. It may be killed at any point, and any number of its processes may share the database.
//
//	go run ../internal/provider/sandbox &
//	ADDRESS=127.0.0.1:8080 PROVIDER_URL=http://127.0.0.1:9000 DATABASE_URL=postgres://… go run . &
//	curl 127.0.0.1:8080/orders -d id=1001 -d customer=ann
//
// The answer is the address of the payment. POST to the address pays it.
//
// What couponkit records and what the shop writes for it is one transaction: an order and its reservation,
// a payment and its tickets, a refund and its credit note. The provider is called after the commit.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// schema is a single query, so it runs in one transaction. The lock lets several processes start at
// once.
const schema = `SELECT pg_advisory_xact_lock(7222); CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text, state text);
CREATE TABLE IF NOT EXISTS tickets (order_id text REFERENCES orders, seat int, PRIMARY KEY (order_id, seat));
CREATE TABLE IF NOT EXISTS credit_notes (order_id text REFERENCES orders, key text, cents bigint, PRIMARY KEY (order_id, key))`

// shop has all its state in the database, so it survives a restart.
type shop struct {
	begin   pgxstore.Beginner // the pool, except in tests
	store   *pgxstore.Store
	coupons *couponkit.Service
	pay     *provider.Payments
}

func main() {
	ctx, client := context.Background(), &http.Client{Timeout: time.Minute} // the timeout must be less than couponkit.DefaultCreateTime
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	s, err := open(ctx, pool, &provider.Payments{Client: provider.Client{URL: os.Getenv("PROVIDER_URL"), HTTP: client}})
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Minute) { // completes interrupted work, and ends orders whose hold is over
			if err := s.runDue(ctx, ""); err != nil {
				log.Print(err)
			}
		}
	}()
	log.Fatal((&http.Server{Addr: os.Getenv("ADDRESS"), Handler: s, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe())
}

func open(ctx context.Context, pool *pgxpool.Pool, pay *provider.Payments, options ...couponkit.Option) (*shop, error) {
	_, err := pool.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol)
	if err = errors.Join(err, pgxstore.Migrate(ctx, pool, pgxstore.Options{})); err != nil {
		return nil, err
	}
	store, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return nil, err
	}
	coupons, err := couponkit.New(store, options...)
	return &shop{pool, store, coupons, pay}, err
}

// ServeHTTP answers customers, staff and the provider. A real shop authenticates them.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, id, text, err := r.Context(), r.FormValue("id"), "", error(nil)
	switch r.URL.Path {
	case "/orders":
		text, err = s.checkout(ctx, id, r.FormValue("customer"), strings.Fields(r.FormValue("code")))
	case "/webhook":
		err = s.webhook(ctx, r.FormValue("payment"))
	case "/refund":
		err = s.refund(ctx, id, r.FormValue("key"))
	}
	switch {
	case coupon.RejectionsOf(err) != nil: // nothing was stored
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case errors.Is(err, couponkit.ErrOrderEnded), errors.Is(err, couponkit.ErrOrderPaid): // show the order
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil: // repeat the request
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		_, _ = fmt.Fprintln(w, text) //nolint:gosec // the address of the payment
	}
}

// change runs f in a transaction of the shop. It writes the resulting states of the orders in the same
// transaction. It repeats the transaction if PostgreSQL asks for that.
func (s *shop) change(ctx context.Context, f func(pgx.Tx, *couponkit.Ledger) (couponkit.Outcome, error)) error {
	return pgxstore.Retry(ctx, func() error {
		return pgx.BeginFunc(ctx, s.begin, func(tx pgx.Tx) error {
			o, err := f(tx, s.coupons.In(s.store.WithTx(tx)))
			if err != nil {
				return err
			}
			changes := &pgx.Batch{}
			for _, x := range append(o.Ended, o.Order) { // Ended has the order of the customer's other tab
				changes.Queue(`UPDATE orders SET state = $2 WHERE id = $1`, x.ID, x.State.String())
			}
			if o.Order.State == redemption.OrderPaid && o.Flag == couponkit.FlagNone { // a person checks flagged payments
				changes.Queue(`INSERT INTO tickets SELECT $1, generate_series(1, 3) ON CONFLICT DO NOTHING`, o.Order.ID)
			}
			return tx.SendBatch(ctx, changes).Close()
		})
	})
}

// checkout returns the address of the payment page. The ID was made with the form, so a form that is
// sent twice makes one order.
func (s *shop) checkout(ctx context.Context, id, customer string, codes []string) (string, error) {
	err := s.change(ctx, func(tx pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2, 'open') ON CONFLICT DO NOTHING`, id, customer); err != nil {
			return couponkit.Outcome{}, err
		}
		r, err := coupons.Reserve(ctx, couponkit.ReserveRequest{OrderID: id, Hold: 30 * time.Minute, QuoteRequest: couponkit.QuoteRequest{
			Customer: eligibility.Customer{ID: customer}, Codes: codes, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
				{ID: "1", Kind: pricing.Accessory, ItemID: "ticket", Quantity: 3, UnitPrice: 10_00},
			}},
		}})
		return r.Outcome, err
	})
	if err = errors.Join(err, s.runDue(ctx, id)); err != nil { // ends the payment in the customer's other tab, or records that it was paid
		return "", err
	}
	order, err := s.coupons.BeginPayment(ctx, id)
	if err != nil {
		return "", err
	}
	p, err := s.pay.Create(ctx, id, order.Total())
	if err == nil {
		_, err = s.coupons.AttachPayment(ctx, p) // do not show the address unless the payment is attached
	}
	return p.URL, err
}

// webhook reads the payment from the provider, because anyone can call a webhook. After an error, the
// provider repeats the call.
func (s *shop) webhook(ctx context.Context, paymentID string) error {
	p, err := s.pay.Get(ctx, paymentID)
	if err != nil {
		return err
	}
	return errors.Join(s.record(ctx, p), s.runDue(ctx, p.OrderID))
}

// record records a payment. The shop gets every payment through it.
func (s *shop) record(ctx context.Context, p couponkit.Payment) error {
	return s.change(ctx, func(_ pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) { return coupons.Record(ctx, p) })
}

// refund takes back one ticket. The form contains the key, so a form that is sent twice makes one
// refund. The money is returned after the commit.
func (s *shop) refund(ctx context.Context, id, key string) error {
	err := s.change(ctx, func(tx pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		back := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
		r, err := coupons.Refund(ctx, couponkit.RefundRequest{OrderID: id, Key: key, Returns: back})
		if err == nil && !r.Replayed {
			_, err = tx.Exec(ctx, `WITH note AS (INSERT INTO credit_notes VALUES ($1, $2, $3))
				DELETE FROM tickets WHERE order_id = $1 AND seat = (SELECT max(seat) FROM tickets WHERE order_id = $1)`, id, key, r.Amount().Minor())
		}
		return couponkit.Outcome{Order: r.Order}, err
	})
	return errors.Join(err, s.runDue(ctx, id))
}

// runDue does the due work of an order at the provider, or of all orders, and records the answers.
func (s *shop) runDue(ctx context.Context, orderID string) error {
	return s.pay.RunDue(ctx, s.coupons, orderID, s.record)
}
