// Command stripe is a shop on PostgreSQL and Stripe. Its orders, shipments and credit notes are in the
// database of couponkit. It may be killed at any point, and any number of its processes may share the
// database.
//
//	stripe listen --forward-to 127.0.0.1:8080/stripe # prints the secret of the webhook
//	ADDRESS=127.0.0.1:8080 DATABASE_URL=postgres://… \
//	  STRIPE_SECRET_KEY=sk_test_… STRIPE_WEBHOOK_SECRET=whsec_… go run . &
//	curl 127.0.0.1:8080/orders -d id=1001 -d customer=ann
//
// The answer is the address of Stripe's page. Card 4242 4242 4242 4242 pays there.
//
// What couponkit records and what the shop writes for it is one transaction: an order and its reservation,
// a payment and its shipment, a refund and its credit note. Stripe is called outside of transactions.
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
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// schema is a single query, so it runs in one transaction. The lock lets several processes start at
// once.
const schema = `SELECT pg_advisory_xact_lock(7223); CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text, state text);
CREATE TABLE IF NOT EXISTS shipments (order_id text PRIMARY KEY REFERENCES orders);
CREATE TABLE IF NOT EXISTS credit_notes (order_id text REFERENCES orders, key text, cents bigint, PRIMARY KEY (order_id, key))`

// shop has all its state in the database, so it survives a restart.
type shop struct {
	begin   pgxstore.Beginner // the pool, except in tests
	store   *pgxstore.Store
	coupons *couponkit.Service
	webhook http.Handler
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	stripe, refused := stripeprocessor.New(os.Getenv("STRIPE_SECRET_KEY"), stripeprocessor.Options{
		WebhookSecrets: []string{os.Getenv("STRIPE_WEBHOOK_SECRET")}, BaseURL: os.Getenv("STRIPE_API_URL"),
	})
	if err = errors.Join(err, refused); err != nil {
		log.Fatal(err)
	}
	s, err := open(ctx, pool, stripe)
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Minute) {
			_, err := s.coupons.Sweep(ctx, 0)                                   // completes interrupted work, and ends orders whose time is over
			_, failed := s.coupons.Reconcile(ctx, couponkit.ReconcileOptions{}) // repairs coupons that differ at Stripe
			if err = errors.Join(err, failed); err != nil {
				log.Print(err)
			}
		}
	}()
	log.Fatal((&http.Server{Addr: os.Getenv("ADDRESS"), Handler: s, ReadHeaderTimeout: 5 * time.Second}).ListenAndServe())
}

func open(ctx context.Context, pool *pgxpool.Pool, stripe *stripeprocessor.Processor, options ...couponkit.Option) (*shop, error) {
	_, err := pool.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol)
	if err = errors.Join(err, pgxstore.Migrate(ctx, pool, pgxstore.Options{})); err != nil {
		return nil, err
	}
	store, err := pgxstore.New(pool, pgxstore.Options{})
	if err != nil {
		return nil, err
	}
	s := &shop{begin: pool, store: store}
	s.coupons, err = couponkit.New(store, append(options, couponkit.WithProcessor(stripe), couponkit.WithRecorder(s.record))...)
	s.webhook = stripe.Handler(s.coupons.Webhook(nil))
	return s, err
}

// ServeHTTP answers customers, staff and Stripe. A real shop authenticates them.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, text, err := r.Context(), "", error(nil)
	switch r.URL.Path {
	case "/orders":
		text, err = s.checkout(ctx, r.FormValue("id"), r.FormValue("customer"), strings.Fields(r.FormValue("code")))
	case "/refund":
		err = s.refund(ctx, r.FormValue("id"), r.FormValue("key"))
	case "/stripe":
		s.webhook.ServeHTTP(w, r)
		return
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
				changes.Queue(`INSERT INTO shipments VALUES ($1) ON CONFLICT DO NOTHING`, o.Order.ID)
			}
			return tx.SendBatch(ctx, changes).Close()
		})
	})
}

// checkout returns the address of Stripe's page. The ID was made with the form, so a form that is sent
// twice makes one order.
func (s *shop) checkout(ctx context.Context, id, customer string, codes []string) (string, error) {
	want := couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: customer}, Codes: codes, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	}
	request, err := s.coupons.Prepare(ctx, couponkit.ReserveRequest{OrderID: id, QuoteRequest: want}) // asks Stripe about the coupons
	if err != nil {
		return "", err
	}
	err = s.change(ctx, func(tx pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2, 'open') ON CONFLICT DO NOTHING`, id, customer); err != nil {
			return couponkit.Outcome{}, err
		}
		r, err := coupons.Reserve(ctx, request)
		return r.Outcome, err
	})
	if err != nil {
		return "", err
	}
	session, err := s.coupons.OpenSession(ctx, id, couponkit.SessionOptions{
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
	})
	return session.URL, err
}

// record records a payment. The shop gets every payment through it.
func (s *shop) record(ctx context.Context, p couponkit.Payment) error {
	return s.change(ctx, func(_ pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) { return coupons.Record(ctx, p) })
}

// refund refunds one unit. The form contains the key, so a form that is sent twice makes one refund.
// The money is returned after the commit.
func (s *shop) refund(ctx context.Context, id, key string) error {
	err := s.change(ctx, func(tx pgx.Tx, coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		back := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
		r, err := coupons.Refund(ctx, couponkit.RefundRequest{OrderID: id, Key: key, Returns: back})
		if err == nil && !r.Replayed {
			_, err = tx.Exec(ctx, `INSERT INTO credit_notes VALUES ($1, $2, $3)`, id, key, r.Amount().Minor())
		}
		return couponkit.Outcome{Order: r.Order}, err
	})
	return errors.Join(err, s.coupons.RunDue(ctx, id))
}
