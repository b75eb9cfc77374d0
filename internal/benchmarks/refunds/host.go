package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/benchmarks/beside/load"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// host has a service on a database of its own.
type host struct {
	pool    *pgxpool.Pool
	store   *pgxstore.Store
	fake    *fakeprocessor.Processor
	service *couponkit.Service
	drop    func(context.Context) error
	sold    atomic.Uint64 // numbers the customers
}

func open(ctx context.Context, server *postgrestest.Server) (h *host, err error) {
	dsn, drop, err := server.Database(ctx)
	if err != nil {
		return nil, err
	}
	h = &host{fake: fakeprocessor.New(fakeprocessor.Options{}), drop: drop}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close(ctx))
		}
	}()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = load.Connections
	if h.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	if err := pgxstore.Migrate(ctx, h.pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if h.store, err = pgxstore.New(h.pool, pgxstore.Options{}); err != nil {
		return nil, err
	}
	if h.service, err = couponkit.New(h.store, h.fake); err != nil {
		return nil, err
	}
	_, err = h.service.Create(ctx, coupon.Draft{
		Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10",
		MaxUses: coupon.Set(load.MaxUses), RestoreOnRefund: coupon.RestoreAlways,
	})
	return h, err
}

func (h *host) close(ctx context.Context) (err error) {
	if h.store != nil {
		err = h.store.Close()
	}
	if h.pool != nil {
		h.pool.Close()
	}
	return errors.Join(err, h.drop(ctx))
}

// sell makes orders for one turn, paid ones if that is wanted. At the processor all are paid.
func (h *host) sell(ctx context.Context, s settings, paid bool) ([]redemption.Order, error) {
	orders := make([]redemption.Order, s.orders)
	err := together(s, func(i int) error {
		checkout, err := h.service.Checkout(ctx, couponkit.CheckoutRequest{
			Customer: eligibility.Customer{ID: load.Customer(h.sold.Add(1))}, Codes: []string{"TEN"},
			Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
				{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 2, UnitPrice: 10_00},
				{ID: "2", Kind: pricing.Accessory, ItemID: "case", Quantity: 2, UnitPrice: 5_00},
			}},
		})
		if err != nil {
			return err
		}
		orders[i] = checkout.Order
		if err := h.fake.Pay(checkout.Session.ID); err != nil || !paid {
			return err
		}
		return pay(ctx, h, checkout.Order)
	})
	h.fake.ForgetCalls()
	return orders, err
}

// calls are what is measured. All but the first are compared with the first.
var calls = []struct {
	name string
	paid bool // the order is paid before
	make func(context.Context, *host, redemption.Order) error
}{
	{"payments", false, pay},
	{"refunds, money by the host", true, func(ctx context.Context, h *host, o redemption.Order) error {
		return h.refund(ctx, o, redemption.RepaymentElsewhere)
	}},
	{"refunds, money by the processor", true, func(ctx context.Context, h *host, o redemption.Order) error {
		return h.refund(ctx, o, redemption.RepaymentSucceeded)
	}},
}

// pay is the event of an order's payment.
func pay(ctx context.Context, h *host, o redemption.Order) error {
	outcome, err := h.service.HandleEvent(ctx, processor.Event{
		Type: processor.Completed, SessionID: o.SessionID, PaymentStatus: processor.Paid,
		Currency: o.Quote.Currency, Total: o.Quote.Total, Metadata: map[string]string{processor.MetadataOrderID: o.ID},
	})
	if err == nil && (!outcome.Changed || outcome.Flag != couponkit.FlagNone) {
		err = fmt.Errorf("the payment of order %s changed it: %t, with the flag %v", o.ID, outcome.Changed, outcome.Flag)
	}
	return err
}

// refund refunds one unit of an order, whose money goes back as the state tells.
func (h *host) refund(ctx context.Context, o redemption.Order, want redemption.RepaymentState) error {
	result, err := h.service.Refund(ctx, couponkit.RefundRequest{
		OrderID: o.ID, Key: "one", Returns: pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}},
		Elsewhere: want == redemption.RepaymentElsewhere,
	})
	if got := result.Refund.Repayment; err == nil && (got.State != want || got.Amount != 9_00 || result.Replayed) {
		err = fmt.Errorf("the refund of order %s is %+v", o.ID, got)
	}
	return err
}

// together lets clients make one call for each order, each as fast as it can.
func together(s settings, call func(i int) error) error {
	var next atomic.Int64
	failures := make([]error, s.clients)
	var running sync.WaitGroup
	for client := range s.clients {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < s.orders && failures[client] == nil; i = int(next.Add(1)) - 1 {
				failures[client] = call(i)
			}
		})
	}
	running.Wait()
	return errors.Join(failures...)
}
