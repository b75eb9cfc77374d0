// Package settle changes orders after their checkout: it records facts about payments, refunds, and the
// end of orders, and it lists what is due outside of the store. It reads and writes the store, and nothing
// else. The methods of couponkit.Ledger tell what hosts may rely on.
package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// These errors are documented in package couponkit.
var (
	ErrOrderEnded = errors.New("the order has ended")
	ErrOrderPaid  = fmt.Errorf("the customer has finished the payment session: %w", redemption.ErrIllegal)
	ErrNoOrder    = errors.New("the payment names no order")
)

// Ledger changes the orders of a store. All fields are required. A Ledger is safe for concurrent use, unless
// Store works inside a transaction of the host.
type Ledger struct {
	Store interface {
		store.Coupons
		store.Orders
	}
	Now   func() time.Time
	NewID func(prefix string) (string, error)
	// Actor names who makes the call, for the journal.
	Actor  func(context.Context) string
	Logger *slog.Logger

	Grace       time.Duration // between the end of a payment and the deadline of its order
	PaymentWait time.Duration // the longest time until the deadline of an order with a payment
	CreateTime  time.Duration // how long a payment may be created after it was begun
}

// Apply applies a settlement to the store.
func (l *Ledger) Apply(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	settlement.By = l.Actor(ctx)
	settled, err := l.Store.Apply(ctx, settlement)
	if err != nil {
		return store.Settled{}, fmt.Errorf("%s: %w", Subject(settlement.Event), err)
	}
	return settled, nil
}

// Subject names what an event is about, for errors.
func Subject(e redemption.Event) string {
	what := "settle"
	switch {
	case e.Kind == redemption.Refunded:
		what = "refund"
	case e.Kind == redemption.Cancelled:
		what = "cancel"
	}
	if e.OrderID != "" {
		what += " order " + e.OrderID
	}
	if e.SessionID != "" {
		what += " session " + e.SessionID
	}
	return what
}

// Request applies an event that somebody asks for. Unlike a fact, it may be refused. Request then also returns
// the order as it is, if the order has refused it.
func (l *Ledger) Request(ctx context.Context, e redemption.Event) (store.Settled, error) {
	if err := RequireOrderID(e.OrderID); err != nil {
		return store.Settled{}, err
	}
	settled, err := l.Apply(ctx, store.Settlement{Event: e})
	if !errors.Is(err, redemption.ErrIllegal) && !errors.Is(err, store.ErrSuperseded) {
		return settled, err
	}
	now, read := l.Store.Order(ctx, store.OrderKey{ID: e.OrderID})
	switch {
	case read != nil:
		return store.Settled{}, read
	case errors.Is(err, redemption.ErrDeadline):
		return now, fmt.Errorf("%w: %w", ErrOrderEnded, err)
	}
	if ended := Payable(now.Order); ended != nil {
		return now, fmt.Errorf("%w: %w", ended, err)
	}
	if e.Kind == redemption.SessionAttached && now.Order.Awaits != "" && now.Order.BegunAt.IsZero() {
		return now, fmt.Errorf("%w: %w", store.ErrPaymentOpen, err)
	}
	return now, err
}

// Attach stores the payment that was created for an order. The payment ends by itself at expiresAt, or never.
func (l *Ledger) Attach(ctx context.Context, before store.Settled, paymentID, url string, expiresAt time.Time) (store.Settled, error) {
	o, now := before.Order, l.Now()
	if Lapsed(o, now) && o.SessionID != paymentID {
		return before, fmt.Errorf("%w: %w", ErrOrderEnded, redemption.ErrDeadline)
	}
	deadline := o.Deadline
	if !expiresAt.IsZero() {
		deadline = calendar.Instant(expiresAt).Add(l.Grace)
		if latest := now.Add(l.PaymentWait); deadline.After(latest) {
			deadline = latest
		}
	}
	settled, err := l.Request(ctx, redemption.Event{
		Kind: redemption.SessionAttached, OrderID: o.ID, SessionID: paymentID, SessionURL: url, At: now, Deadline: deadline,
	})
	if err == nil && settled.Order.State != redemption.OrderOpen {
		err = Payable(settled.Order)
	}
	return settled, err
}

// Refund records a refund, whose money is then due. It reports whether an earlier call has recorded the refund.
func (l *Ledger) Refund(ctx context.Context, orderID string, r redemption.RefundRequest) (_ store.Settled, replayed bool, err error) {
	now := l.Now()
	r.By = l.Actor(ctx)
	settled, err := l.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Refunded, At: now, OrderID: orderID, Refund: r}})
	made, _ := settled.Order.RefundOf(r.Key)
	return settled, !settled.Changed || !made.At.Equal(now) || made.Repayment.Attempt > 1, err
}

// RequireOrderID returns an error for an ID that no order has.
func RequireOrderID(id string) error {
	if id == "" {
		return validation.New("orderId", validation.Required, "is required")
	}
	if redemption.CheckOrderID(id) != nil {
		return store.ErrNotFound
	}
	return nil
}

// Payable returns an error for an order that is not open.
func Payable(o redemption.Order) error {
	switch o.State {
	case redemption.OrderOpen:
		return nil
	case redemption.OrderCancelled, redemption.OrderEnding:
		return ErrOrderEnded
	case redemption.OrderAwaitingPayment, redemption.OrderPaid, redemption.OrderPartlyRefunded, redemption.OrderRefunded:
	}
	return ErrOrderPaid
}

// Lapsed reports whether the deadline of an order that has not ended is over.
func Lapsed(o redemption.Order, now time.Time) bool {
	return !o.State.Ended() && !o.Deadline.IsZero() && !now.Before(o.Deadline)
}

// Query names an order, and the customer who asks about it.
type Query struct {
	store.OrderKey
	Owner string // empty if anybody may ask
}

// Find returns the order of a query. For an order of another customer, it returns store.ErrNotFound.
func (l *Ledger) Find(ctx context.Context, by Query) (store.Settled, error) {
	found, err := l.Store.Order(ctx, by.OrderKey)
	if err == nil && by.Owner != "" && found.Order.CustomerID != by.Owner {
		return store.Settled{}, store.ErrNotFound
	}
	return found, err
}

// Attempt is what an observer hears of a call, as far as it is known.
type Attempt struct {
	CouponID, CustomerID, OrderID, SessionID, Flag string

	hidden coupon.Rejections // what the customer does not hear
}

// Hide records the true refusals of codes whose customer only hears that they do not exist.
func (a *Attempt) Hide(hidden coupon.Rejections) { a.hidden = hidden }

// True returns the true refusal behind one that the customer hears.
func (a *Attempt) True(told *coupon.Rejection) *coupon.Rejection {
	for _, r := range a.hidden {
		if r.Code == told.Code && told.Has(coupon.CouponNotFound) {
			return r
		}
	}
	return told
}

// Of fills the attempt with an order.
func (a *Attempt) Of(settled store.Settled) {
	a.OrderID, a.CustomerID = settled.Order.ID, settled.Order.CustomerID
	if len(settled.Uses) > 0 {
		a.CouponID = settled.Uses[0].CouponID
	}
}
