// Command payments is a shop with orders and payments of its own, on SQLite. It uses couponkit for
// coupons only, without a payment processor. It may be killed at any point.
//
//	go run ./internal/provider/sandbox &
//	go run . &
//	curl 127.0.0.1:8080/orders -d '{"id":"1001","customer":"ann","quantity":3,"codes":["SUMMER10"]}'
//
// The answer is the address of the payment. POST to the address pays it.
//
// A change of couponkit's tables and the change of the shop's tables are one transaction. The provider
// is called outside of transactions: what is due is done after the commit.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"time"

	_ "modernc.org/sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/payments/internal/provider"
	"github.com/couponkit/couponkit/pricing"
)

func main() {
	addr, file := flag.String("addr", "127.0.0.1:8080", "where the shop listens"), flag.String("db", "shop.db", "SQLite file")
	payments := flag.String("provider", "http://127.0.0.1:9000", "address of the payment provider")
	flag.Parse()
	db, err := sql.Open("sqlite", "file:"+*file+"?_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		log.Fatal(err)
	}
	client := provider.Client{URL: *payments, HTTP: &http.Client{Timeout: time.Minute}} // less than couponkit.DefaultCreateTime
	s, err := open(context.Background(), db, client)
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.coupons.Create(context.Background(), coupon.Draft{
		Code: "SUMMER10", Name: "Summer sale", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "10.00"},
	})
	if err != nil && !errors.Is(err, coupon.ErrCodeTaken) {
		log.Fatal(err)
	}
	go func() {
		for range time.Tick(time.Minute) { // for what a crash has left, and for orders whose hold is over
			if err := s.runDue(context.Background(), ""); err != nil {
				log.Print(err)
			}
		}
	}()
	server := &http.Server{Addr: *addr, Handler: s.routes(), ReadHeaderTimeout: 5 * time.Second}
	log.Fatal(server.ListenAndServe())
}

// call is the body of every request. The ID was made with the form: a form that is sent twice is one
// order. A real shop takes the customer from the login.
type call struct {
	ID, Customer string
	Codes        []string
	Quantity     int64
	Payment      string // of a webhook
	Key          string // of a refund
}

func (s *shop) routes() http.Handler {
	mux := http.NewServeMux()
	for path, do := range map[string]func(context.Context, call) (string, error){
		"/orders": s.checkout, "/webhook": s.webhook, "/cancel": s.cancel, "/refund": s.refund,
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var c call
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<12)).Decode(&c); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			} else if text, err := do(r.Context(), c); err != nil {
				http.Error(w, err.Error(), status(err))
			} else {
				_, _ = fmt.Fprintln(w, text)
			}
		})
	}
	return mux
}

func status(err error) int {
	switch {
	case coupon.RejectionsOf(err) != nil: // nothing was stored
		return http.StatusUnprocessableEntity
	case errors.Is(err, couponkit.ErrOrderEnded), errors.Is(err, couponkit.ErrOrderPaid): // show the order
		return http.StatusConflict
	}
	return http.StatusServiceUnavailable // repeat the request
}
