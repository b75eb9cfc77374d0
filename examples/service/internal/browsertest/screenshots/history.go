package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/service/internal/app"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/redemption"
)

// historyDays is the age of the service in the screenshots, in days.
const historyDays = 29

// sales has the number of sales on each of those days, as digits.
const sales = "00112324310122353410224655320"

// past is a clock that runs some days behind.
type past struct{ days atomic.Int64 }

func (p *past) set(days int64) { p.days.Store(days) }

func (p *past) now() time.Time { return time.Now().AddDate(0, 0, -int(p.days.Load())) }

// fill makes purchases day by day up to today. Payments use the payment page and the webhook, as in a
// browser.
func (p *past) fill(ctx context.Context, server *app.Server) error {
	for day, count := range sales {
		p.set(int64(historyDays - day))
		for range count - '0' {
			if err := buy(ctx, server); err != nil {
				return err
			}
		}
	}
	p.set(0)
	return nil
}

func buy(ctx context.Context, server *app.Server) error {
	customer := eligibility.Customer{ID: "usr_cleo", Email: "cleo@example.org"}
	ctx = couponkit.WithSubjects(ctx, ratelimit.Subject{Limit: "attempts_per_user", ID: customer.ID})
	done, err := server.Service.Checkout(ctx, couponkit.CheckoutRequest{
		Customer: customer, Codes: []string{"SUMMER10"}, SuccessURL: server.URL + "/plans", CancelURL: server.URL + "/cart",
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Accessory, ItemID: "earbuds", Quantity: 1, UnitPrice: 99_00},
		}},
	})
	if err != nil {
		return err
	}
	form := strings.NewReader(url.Values{"action": {"pay"}}.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, done.Session.URL, form)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	return paid(ctx, server, customer.ID, done.Order.ID)
}

// paid waits until the webhook has reported the payment.
func paid(ctx context.Context, server *app.Server, customerID, orderID string) error {
	const patience, pause = 10 * time.Second, 2 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(pause) {
		found, err := server.Service.Order(ctx, couponkit.OrderRequest{OrderID: orderID, CustomerID: customerID})
		if err != nil || found.Order.State == redemption.OrderPaid {
			return err
		}
	}
	return fmt.Errorf("order %s was not paid", orderID)
}
