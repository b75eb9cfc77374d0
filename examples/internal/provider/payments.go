package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// Payments is a [Client] that speaks of payments as couponkit does. Its errors are those of Client.
type Payments struct{ Client Client }

// Create creates the payment of an order, or returns the payment that the order has.
func (p *Payments) Create(ctx context.Context, orderID string, amount pricing.Money) (couponkit.Payment, error) {
	return known(p.Client.Create(ctx, orderID, amount.Minor(), amount.Currency().Code()))
}

// Get returns a payment.
func (p *Payments) Get(ctx context.Context, id string) (couponkit.Payment, error) {
	return known(p.Client.Get(ctx, id))
}

// Void ends the payment of an order, unless the customer has paid, and returns the payment. The payment
// of an order that has none has ended, and has no ID.
func (p *Payments) Void(ctx context.Context, orderID string) (couponkit.Payment, error) {
	voided, err := known(p.Client.Void(ctx, orderID))
	if errors.Is(err, ErrNotFound) {
		return couponkit.Payment{OrderID: orderID, Status: couponkit.PaymentEnded}, nil
	}
	return voided, err
}

// Refund returns a part of a payment to the customer, once for each key.
func (p *Payments) Refund(ctx context.Context, id, key string, amount pricing.Money) (couponkit.Payment, error) {
	return known(p.Client.Refund(ctx, id, key, amount.Minor()))
}

// RunDue does what is due for an order, or for all orders without an ID, and records the answers. What
// fails stays due.
func (p *Payments) RunDue(
	ctx context.Context, coupons *couponkit.Service, orderID string, record func(context.Context, couponkit.Payment) error,
) (err error) {
	for d, failed := range coupons.Due(ctx, couponkit.DueOptions{OrderID: orderID}) {
		var answer couponkit.Payment
		switch d.Kind {
		case redemption.EndPayment:
			answer, failed = p.Void(ctx, d.OrderID)
		case redemption.AskPayment:
			answer, failed = p.Get(ctx, d.PaymentID)
		case redemption.ReturnMoney:
			answer, failed = p.Refund(ctx, d.PaymentID, d.Key, d.Amount)
		case redemption.ReturnPoints:
			continue // this shop has no points
		}
		if failed == nil {
			failed = record(ctx, d.Answer(answer))
		}
		err = errors.Join(err, failed)
	}
	return err
}

func known(p Payment, err error) (couponkit.Payment, error) {
	if err != nil {
		return couponkit.Payment{}, err
	}
	currency, err := pricing.ParseCurrency(p.Currency)
	if err != nil {
		return couponkit.Payment{}, fmt.Errorf("payment %s: %w", p.ID, err)
	}
	out := couponkit.Payment{OrderID: p.Order, ID: p.ID, URL: p.URL, Amount: pricing.NewMoney(p.Amount, currency)}
	for _, r := range p.Refunds {
		out.Repayments = append(out.Repayments, redemption.ReportedRefund{
			Key: r.Key, ID: p.ID + "/" + r.Key, Amount: r.Amount, State: redemption.RepaymentSucceeded,
		})
	}
	switch p.State {
	case Open:
		out.Status = couponkit.PaymentOpen
	case Processing:
		out.Status = couponkit.PaymentPending
	case Paid:
		out.Status = couponkit.PaymentPaid
	case Voided:
		out.Status = couponkit.PaymentEnded
	}
	return out, nil
}
