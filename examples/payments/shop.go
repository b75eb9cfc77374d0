package main

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/examples/payments/internal/provider"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/sqlstore"
)

const schema = `CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, customer TEXT, state TEXT);
CREATE TABLE IF NOT EXISTS shipments (order_id TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS credit_notes (id TEXT PRIMARY KEY, order_id TEXT, cents INTEGER);
CREATE TABLE IF NOT EXISTS to_check (order_id TEXT, flag TEXT, PRIMARY KEY (order_id, flag))`

// shop keeps nothing in memory that a restart would lose.
type shop struct {
	db      *sql.DB
	store   *sqlstore.Store
	coupons *couponkit.Service
	pay     *provider.Payments
}

func open(ctx context.Context, db *sql.DB, client provider.Client, options ...couponkit.Option) (*shop, error) {
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	coupons, err := sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return nil, err
	}
	service, err := couponkit.New(coupons, options...)
	return &shop{db, coupons, service, &provider.Payments{Client: client}}, err
}

// checkout returns the address at which the customer pays.
func (s *shop) checkout(ctx context.Context, c call) (string, error) {
	want := couponkit.ReserveRequest{OrderID: c.ID, Hold: 30 * time.Minute, QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: c.Customer}, Codes: c.Codes,
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: c.Quantity, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	}}
	err := s.change(ctx, func(coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		reserved, err := coupons.Reserve(ctx, want)
		return reserved.Outcome, err
	})
	if err == nil {
		err = s.runDue(ctx, c.ID) // voids the payment of the customer's other tab, or finds it paid
	}
	if err != nil {
		return "", err
	}
	order, err := s.coupons.BeginPayment(ctx, c.ID)
	if err != nil {
		return "", err
	}
	p, err := s.pay.Create(ctx, c.ID, pricing.NewMoney(order.Quote.Total, order.Quote.Currency))
	if err == nil {
		_, err = s.coupons.AttachPayment(ctx, p) // an address that is not attached is not shown
	}
	return p.URL, err
}

// webhook asks for what the call only claims. After an error, the provider calls again.
func (s *shop) webhook(ctx context.Context, c call) (string, error) {
	p, err := s.pay.Get(ctx, c.Payment)
	if err == nil {
		err = errors.Join(s.record(ctx, p), s.runDue(ctx, p.OrderID))
	}
	return "recorded", err
}

// cancel gives nothing away that can still be paid.
func (s *shop) cancel(ctx context.Context, c call) (string, error) {
	err := s.change(ctx, func(coupons *couponkit.Ledger) (couponkit.Outcome, error) { return coupons.Cancel(ctx, c.ID) })
	return "cancelled", errors.Join(err, s.runDue(ctx, c.ID))
}

// refund takes units back. The money follows the commit.
func (s *shop) refund(ctx context.Context, c call) (string, error) {
	back := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: c.Quantity}}}
	err := s.change(ctx, func(coupons *couponkit.Ledger) (couponkit.Outcome, error) {
		r, err := coupons.Refund(ctx, couponkit.RefundRequest{OrderID: c.ID, Key: c.Key, Returns: back})
		return couponkit.Outcome{Order: r.Order}, err
	})
	return "refunded", errors.Join(err, s.runDue(ctx, c.ID))
}

// runDue asks the provider for what is due.
func (s *shop) runDue(ctx context.Context, orderID string) error {
	due, err := s.coupons.Due(ctx, couponkit.DueOptions{OrderID: orderID})
	for _, d := range due {
		var p couponkit.Payment
		var failed error
		switch d.Kind { //nolint:exhaustive // nobody pays with points here
		case redemption.EndPayment:
			p, failed = s.pay.Void(ctx, d.OrderID)
		case redemption.AskPayment:
			p, failed = s.pay.Get(ctx, d.PaymentID)
		case redemption.ReturnMoney:
			p, failed = s.pay.Refund(ctx, d.PaymentID, d.Key, d.Amount)
		}
		if failed == nil {
			failed = s.record(ctx, d.Answer(p))
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (s *shop) record(ctx context.Context, p couponkit.Payment) error {
	return s.change(ctx, func(coupons *couponkit.Ledger) (couponkit.Outcome, error) { return coupons.Record(ctx, p) })
}

// change changes couponkit's tables and the shop's in one transaction.
func (s *shop) change(ctx context.Context, f func(*couponkit.Ledger) (couponkit.Outcome, error)) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	o, err := f(s.coupons.In(s.store.WithTx(tx)))
	if err == nil {
		err = apply(ctx, tx, o)
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// apply writes what has become of the order, and of other orders that ended with it.
func apply(ctx context.Context, tx *sql.Tx, o couponkit.Outcome) (err error) {
	write := func(statement string, args ...any) {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, args...)
		}
	}
	for _, x := range append(o.Ended, o.Order) {
		write(`INSERT INTO orders VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET state = excluded.state`, x.ID, x.CustomerID, x.State.String())
	}
	for _, r := range o.Order.Refunds {
		write(`INSERT INTO credit_notes VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, r.ID, o.Order.ID, r.Result.Amount)
	}
	if o.Flag != couponkit.FlagNone { // for a person
		write(`INSERT INTO to_check VALUES (?, ?) ON CONFLICT DO NOTHING`, o.Order.ID, string(o.Flag))
	} else if o.Order.State == redemption.OrderPaid {
		write(`INSERT INTO shipments VALUES (?) ON CONFLICT DO NOTHING`, o.Order.ID)
	}
	return err
}
