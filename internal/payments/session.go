package payments

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ErrFinished means that the customer has finished the session of the order that this order has replaced.
var ErrFinished = fmt.Errorf("%w: the customer has finished the session of an earlier order", settle.ErrOrderEnded)

// Details are what a session shows and an order does not keep.
type Details struct {
	Email      string
	Describe   func(pricing.Line) string
	SuccessURL string
	CancelURL  string
}

// OpenOrder opens the session of an order that was reserved without a payment.
func (p *Payments) OpenOrder(ctx context.Context, orderID string, d Details) (store.Settled, error) {
	found, err := p.Store.Order(ctx, store.OrderKey{ID: orderID})
	if err != nil {
		return store.Settled{}, err
	}
	o := found.Order
	if settle.Payable(o) == nil && o.BegunAt.IsZero() && p.isTooLate(o) {
		return found, fmt.Errorf("%w: too little of the hold of order %s is left for a session", settle.ErrOrderEnded, o.ID)
	}
	return p.Open(ctx, found, !o.BegunAt.IsZero(), d)
}

// Open makes the order's session, or returns the order with the session that it has. The session of an order
// that it has replaced is ended first. If the call is repeated, the order may be too old for a session, have
// ended, or be paid.
func (p *Payments) Open(ctx context.Context, order store.Settled, repeated bool, d Details) (store.Settled, error) {
	if err := settle.Payable(order.Order); err != nil {
		return order, err
	}
	if hasSession(order.Order) {
		return p.reopen(ctx, order)
	}
	begun, err := p.begin(ctx, order, repeated)
	o := begun.Order
	repeated = repeated || o.Version > order.Order.Version+1 // another call has begun the payment since
	switch {
	case err != nil:
		return begun, err
	case hasSession(o): // the other call has attached its session
		return p.reopen(ctx, begun)
	}
	session, err := p.Processor.CreateSession(ctx, p.request(o, d))
	if err == nil {
		return p.attach(ctx, begun, session)
	}
	if errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrForbidden) || errors.Is(err, processor.ErrNotFound) {
		p.refused(ctx, o, repeated)
		if errors.Is(err, processor.ErrBelowMinimum) {
			return begun, belowMinimum(o)
		}
		if repeated && p.isTooLate(o) {
			return begun, fmt.Errorf("%w: %s", settle.ErrOrderEnded, err.Error())
		}
	}
	if errors.Is(err, validation.ErrInvalid) {
		// The error names fields of the session. The cart was checked before, so the configuration is
		// wrong.
		err = sessionRefusedError{err}
	}
	return begun, fmt.Errorf("open session for order %s: %w", o.ID, err)
}

func hasSession(o redemption.Order) bool { return o.SessionID != "" && o.SessionURL != "" }

// sessionEnd returns when the session of an open order ends: a grace period before the order's
// deadline. The deadline changes only when the order ends or its payment is delayed. So a repeated call
// requests the same session.
func (p *Payments) sessionEnd(o redemption.Order) time.Time { return o.Deadline.Add(-p.Grace) }

// isTooLate reports whether the time until an order's deadline is too short for a new session.
func (p *Payments) isTooLate(o redemption.Order) bool {
	return p.sessionEnd(o).Sub(p.Now()) < max(p.Abilities.MinSessionLifetime, 1)
}

// reopen returns an open order if its session can still be paid. After the end of the session it asks
// the processor, because the event may be late or lost.
func (p *Payments) reopen(ctx context.Context, order store.Settled) (store.Settled, error) {
	if p.Now().Before(p.sessionEnd(order.Order)) {
		return order, nil
	}
	session, forgotten, err := p.session(ctx, order.Order.SessionID)
	if err != nil || !p.isNew(session, order.Order, forgotten) {
		return order, err
	}
	settled, err := p.settleSession(ctx, session, order.Order)
	if err != nil {
		return order, err
	}
	return settled.Settled, settle.Payable(settled.Order)
}

// begin marks an order before its session is created. The order then keeps its claims until the end of
// its payment is recorded. begin first ends the payment of the order that this one waits for.
func (p *Payments) begin(ctx context.Context, order store.Settled, repeated bool) (store.Settled, error) {
	o := order.Order
	if !repeated && !o.BegunAt.IsZero() {
		return order, nil // the reservation has already marked it
	}
	switch older, err := p.endAwaited(ctx, o); {
	case err != nil:
		return order, err
	case !older.Order.IsZero():
		return order, ErrFinished
	}
	settled, err := p.settle(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.PaymentBegun, OrderID: o.ID, At: p.Now()}})
	switch {
	case err == nil && !settled.Order.IsZero():
		return settled, nil
	case !errors.Is(err, redemption.ErrIllegal):
		return order, err
	case errors.Is(err, redemption.ErrDeadline):
		return order, fmt.Errorf("%w: %w", settle.ErrOrderEnded, err)
	}
	now, read := p.Store.Order(ctx, store.OrderKey{ID: o.ID})
	switch {
	case read != nil:
		return order, read
	case now.Order.State == redemption.OrderCancelled: // the replaced order was paid, and this order was canceled
		return now, ErrFinished
	}
	return now, errors.Join(settle.Payable(now.Order), err)
}

// belowMinimum refuses an order whose total is too small for the processor. The processor's minimum is
// unknown.
func belowMinimum(o redemption.Order) error {
	couponID := ""
	if len(o.Coupons) == 1 {
		couponID = o.Coupons[0].ID
	}
	return coupon.Reject(couponID, coupon.BelowMinimumCharge, coupon.Params{
		Total: coupon.Amount{Money: pricing.NewMoney(o.Quote.Total, o.Quote.Currency)},
	})
}

// attach records the session that was created for the order.
func (p *Payments) attach(ctx context.Context, order store.Settled, session processor.Session) (store.Settled, error) {
	o := order.Order
	if session.Status == processor.SessionExpired { // an earlier call created this session, and its answer was lost
		p.abandon(ctx, o)
		return order, settle.ErrOrderEnded
	}
	if session.Total != o.Quote.Total || session.Currency != o.Quote.Currency {
		p.discard(ctx, o, session.ID)
		return order, fmt.Errorf("session %s charges %s and not %s: %w", session.ID,
			pricing.NewMoney(session.Total, session.Currency), pricing.NewMoney(o.Quote.Total, o.Quote.Currency),
			processor.ErrRejected)
	}
	attached, err := p.Store.Apply(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.SessionAttached, At: p.Now(), OrderID: o.ID,
		SessionID: session.ID, SessionURL: session.URL, Deadline: o.Deadline,
	}, By: p.Actor(ctx)})
	switch {
	case err == nil:
		return attached, nil
	case errors.Is(err, store.ErrSuperseded):
		p.discard(ctx, o, session.ID)
		if late := (*redemption.TransitionError)(nil); errors.As(err, &late) && late.State != redemption.OrderOpen.String() {
			err = fmt.Errorf("%w: %w", settle.ErrOrderEnded, err) // the order was canceled or replaced meanwhile
		}
	case errors.Is(err, validation.ErrInvalid):
		p.discard(ctx, o, session.ID)
		err = BadAnswer(err)
	}
	return order, fmt.Errorf("attach session to order %s: %w", o.ID, err)
}

// refused gives up an order whose session the processor refuses. If an earlier call may have created a
// session, the order keeps its claims until the sweep has searched for it.
func (p *Payments) refused(ctx context.Context, o redemption.Order, repeated bool) {
	switch {
	case !repeated:
		p.abandon(ctx, o)
	case o.Replaces == "":
		p.giveUpOrder(ctx, redemption.Event{Kind: redemption.Cancelled, OrderID: o.ID})
	}
}

// abandon cancels an order whose session cannot be paid. An order that replaced another order keeps its
// claims until its deadline, so that the customer can return to the first cart.
func (p *Payments) abandon(ctx context.Context, o redemption.Order) {
	e := redemption.Event{Kind: redemption.SessionExpired, BegunBy: o.BegunAt, OrderID: o.ID}
	if o.Replaces != "" {
		e.Kind = redemption.PaymentEnded
	}
	p.giveUpOrder(ctx, e)
}

// giveUpOrder applies the end of an order, even if the caller's context has ended. After a failure, the
// sweep repeats it.
func (p *Payments) giveUpOrder(ctx context.Context, e redemption.Event) {
	ctx, cancel := p.Detached(ctx)
	defer cancel()
	e.At = p.Now()
	_, err := p.settle(ctx, store.Settlement{Event: e})
	p.warn(ctx, "an abandoned order is left to the sweep", "order", e.OrderID, err)
}

// discard ends a session that was created for the order and that no customer will see. If that fails,
// the order is ending, and the sweep ends the session.
func (p *Payments) discard(ctx context.Context, o redemption.Order, sessionID string) {
	ctx, cancel := p.Detached(ctx)
	defer cancel()
	session, err := p.expire(ctx, sessionID)
	switch {
	case sessionID == "", err == nil && session.Status == processor.SessionExpired:
		p.abandon(ctx, o)
	case err != nil:
		p.warn(ctx, "a superseded session could not be ended", "session", sessionID, err)
		p.giveUpOrder(ctx, redemption.Event{Kind: redemption.Cancelled, OrderID: o.ID})
	default: // the session was paid
		_, err = p.settleSession(ctx, session, o)
		p.warn(ctx, "an abandoned order is left to the sweep", "order", o.ID, err)
	}
}

// CountLines returns how many lines the session of an order has.
func (p *Payments) CountLines(o redemption.Order) int { return len(p.request(o, Details{}).Lines) }

// request builds the processor's request from the order and the caller's details. A repeated call
// requests the same session.
func (p *Payments) request(o redemption.Order, d Details) processor.SessionRequest {
	r := processor.SessionRequest{
		Key: o.ID, OrderID: o.ID, Mode: processor.Payment, Currency: o.Quote.Currency, Total: o.Quote.Total,
		Coupons: o.Coupons, CustomerEmail: d.Email, SuccessURL: d.SuccessURL, CancelURL: d.CancelURL,
		ExpiresAt: p.sessionEnd(o), OrderedAt: o.CreatedAt, Metadata: metadata(o),
	}
	var few []processor.SessionLine
	for i, l := range o.Quote.Lines {
		if l.Recurs != pricing.Once {
			r.Mode = processor.Subscription
		}
		name := l.ItemID
		if d.Describe != nil {
			name = d.Describe(l.Line)
		}
		units := o.Quote.Units(i)
		if l.Recurs != pricing.Once && !p.EveryPeriod {
			r.FirstPeriodDiscount += l.Discount
			units = []pricing.UnitGroup{{Quantity: l.Quantity, UnitPrice: l.UnitPrice}}
		}
		for _, group := range units {
			r.Lines = append(r.Lines, processor.SessionLine{
				LineID: l.ID, Kind: l.Kind, Class: l.Class, ItemID: l.ItemID, Name: name,
				Quantity: group.Quantity, UnitAmount: group.UnitPrice, Recurs: l.Recurs,
			})
		}
		few = append(few, mergeUnits(r.Lines[len(r.Lines)-len(units):])...)
	}
	if most := p.Abilities.MaxLines; most > 0 && len(r.Lines) > most {
		r.Lines = few
	}
	return r
}

// mergeUnits merges the unit prices of a quote's line into one line of quantity 1, with the quantity in
// its name. It is for processors that take few lines. It does not change a recurring line, whose
// quantity is the number of seats.
func mergeUnits(units []processor.SessionLine) []processor.SessionLine {
	if len(units) < 2 || units[0].Recurs != pricing.Once {
		return units
	}
	merged := units[0]
	merged.Quantity, merged.UnitAmount = 0, 0
	for _, group := range units {
		merged.Quantity += group.Quantity
		merged.UnitAmount += group.UnitAmount * group.Quantity
	}
	merged.Name = fmt.Sprintf("%d x %s", merged.Quantity, merged.Name)
	merged.Quantity = 1
	return []processor.SessionLine{merged}
}

// metadata returns the metadata of an order's session. With it, an event finds the order and the
// coupons even if the session was never attached.
func metadata(o redemption.Order) map[string]string {
	m := map[string]string{processor.MetadataOrderID: o.ID, processor.MetadataCustomerID: o.CustomerID}
	if len(o.Coupons) > 0 {
		maps.Copy(m, processor.MetadataOfCoupons(o.Coupons))
		m[processor.MetadataDiscountAmount] = strconv.FormatInt(o.Quote.Discount, 10)
	}
	return m
}
