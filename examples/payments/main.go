// Command payments is a shop on SQLite with a payment provider of its own. It uses couponkit without a
// payment processor. It may be killed at any point.
//
//	go run ../internal/provider/sandbox &
//	go run . &
//	curl 127.0.0.1:8080/orders -d id=1001 -d customer=ann -d code=SUMMER10
//
// The answer is the address of the payment. POST to the address pays it.
//
// The shop records what it knows, and calls the provider after that, for what is due. Every call may be
// repeated.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/internal/provider"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// shop has all its state in the database, so it survives a restart.
type shop struct {
	store   *sqlstore.Store
	coupons *couponkit.Service
	pay     *provider.Payments
}

func main() {
	address, file := flag.String("addr", "127.0.0.1:8080", "where the shop listens"), flag.String("db", "shop.db", "SQLite file")
	payments := flag.String("provider", "http://127.0.0.1:9000", "address of the payment provider")
	flag.Parse()
	ctx, client := context.Background(), &http.Client{Timeout: time.Minute} // the timeout must be less than couponkit.DefaultCreateTime
	db, err := sql.Open("sqlite", "file:"+*file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	s, err := open(ctx, db, &provider.Payments{Client: provider.Client{URL: *payments, HTTP: client}})
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.coupons.Create(ctx, coupon.Draft{
		Code: "SUMMER10", Name: "Summer sale", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"},
	})
	if err != nil && !errors.Is(err, coupon.ErrCodeTaken) {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Minute) { // completes interrupted work, and ends orders whose hold is over
			if err := s.runDue(ctx, ""); err != nil {
				log.Print(err)
			}
		}
	}()
	server := &http.Server{Addr: *address, Handler: s, ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

func open(ctx context.Context, db *sql.DB, pay *provider.Payments, options ...couponkit.Option) (*shop, error) {
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return nil, err
	}
	store, err := sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	coupons, err := couponkit.New(store, options...)
	return &shop{store, coupons, pay}, err
}

// ServeHTTP answers customers, staff and the provider. A real shop authenticates them.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, id, text, err := r.Context(), r.FormValue("id"), "", error(nil)
	switch r.URL.Path {
	case "/orders":
		text, err = s.checkout(ctx, id, r.FormValue("customer"), strings.Fields(r.FormValue("code")))
	case "/webhook":
		err = s.webhook(ctx, r.FormValue("payment"))
	case "/cancel":
		err = s.cancel(ctx, id)
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

// checkout returns the address of the payment page. The ID was made with the form, so a form that is
// sent twice makes one order.
func (s *shop) checkout(ctx context.Context, id, customer string, codes []string) (string, error) {
	_, err := s.coupons.Reserve(ctx, couponkit.ReserveRequest{OrderID: id, Hold: 30 * time.Minute, QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: customer}, Codes: codes, Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	}})
	if err == nil {
		err = s.runDue(ctx, id) // ends the payment in the customer's other tab, or records that it was paid
	}
	if err != nil {
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

// cancel cancels an order. It releases the coupon only after the payment can no longer be paid.
func (s *shop) cancel(ctx context.Context, id string) error {
	_, err := s.coupons.Cancel(ctx, id)
	return errors.Join(err, s.runDue(ctx, id))
}

// refund refunds one unit. The form contains the key, so a form that is sent twice makes one refund.
func (s *shop) refund(ctx context.Context, id, key string) error {
	back := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
	_, err := s.coupons.Refund(ctx, couponkit.RefundRequest{OrderID: id, Key: key, Returns: back})
	return errors.Join(err, s.runDue(ctx, id))
}

// record records the known state of a payment.
func (s *shop) record(ctx context.Context, p couponkit.Payment) error {
	_, err := s.coupons.Record(ctx, p)
	return err
}

// runDue does the due work of an order at the provider, or of all orders, and records the answers.
func (s *shop) runDue(ctx context.Context, orderID string) error {
	return s.pay.RunDue(ctx, s.coupons, orderID, s.record)
}
