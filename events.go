package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Outcome is the result of an event, of a payment that a sweep found, or of a call about one order.
type Outcome struct {
	// Order is the order of the payment session, in its current state. Uses contains the uses of this
	// order. Order and Uses are empty if the payment session has no order.
	Order redemption.Order
	Uses  []redemption.Use
	// Changed is true if the event changed the order or a use. Changed is false for a repeated event.
	// Changed is also false if another call found the payment before the event arrived. Do not use
	// Changed to decide whether to ship; see [Service.HandleEvent].
	Changed bool
	// Ended are the customer's other orders that the call has ended, in their current states.
	Ended []redemption.Order
	// Flag marks a payment that a person should check. All outcomes of the same payment have the flag.
	// If several flags apply, Flag is the first one in the order of the constants, except that
	// FlagAmountMismatch comes first. The uses, refunds and disputes show whether the other flags apply.
	Flag Flag
}

// HandleEvent updates an order after a webhook event of the processor (specification 6). The
// adapter must authenticate the event before the host calls HandleEvent; see [Service.Webhook].
//
//   - If the event reports a payment, HandleEvent marks the order as paid and counts its uses in
//     one transaction of the store.
//   - If the payment is delayed, the order waits for the payment; see [WithPaymentWait]. If a later
//     order has replaced the order, HandleEvent first asks the processor whether the payment has
//     failed since.
//   - If the payment session ended unpaid, HandleEvent cancels the order, releases its uses and
//     refunds their points. If a later order of the customer has taken over the uses, the later
//     order keeps them (contract section 5.3).
//   - If the event concerns refunds or disputes, HandleEvent reads them from the processor and records
//     them in the order; see [redemption.Order].ExternalRefunds. The units of the order stay as they
//     are.
//   - If the event reports a payment of an order that the store does not have, HandleEvent records
//     the payment under the order ID that the event names, with FlagUnknownOrder. A rollback, or a
//     restored backup, has forgotten such an order. Its quote has one line that costs what was paid.
//     The line has one piece for each minor unit, so that [Service.Refund] returns any part of it.
//   - If the event reports a payment in another payment session than that of its order, HandleEvent
//     records it in [redemption.Order].OtherPayments, with FlagPaidTwice.
//   - HandleEvent ignores an event whose metadata names neither an order nor a coupon, unless the
//     payment session is that of an order.
//
// If HandleEvent returns nil, the result is stored and the host should acknowledge the event. After
// an error, the processor should deliver the event again. The error comes from the store, the
// context or a processor that does not answer, or is a [*validation.Error] for an invalid
// event, such as one that names an order and no payment session. Events may arrive twice, late, and
// in any order.
//
// HandleEvent records every payment. HandleEvent flags a payment that differs from the order's
// total, exceeds the coupon's limit, or arrives after a refund of points. HandleEvent also flags
// refunds that failed or that the service did not make, and disputes; see [Flag].
//
// A payment may tell of identities that the service did not know at the checkout, such as the
// address that the payer entered; see [processor.Payer]. The limits per customer count these
// identities from then on, in the periods of the reservation. If a limit was reached already, the
// payment is flagged with FlagOverLimit.
//
// Ship an order when Order.State is redemption.OrderPaid and Flag is FlagNone. Ship each order ID
// only once. [Service.Sweep] may find a payment before the event arrives, and then returns the
// outcome. If another method finds the payment first, the observer receives an [OpSettle] attempt.
// Use [Service.Refresh] to ask the processor about a single order.
func (s *Service) HandleEvent(ctx context.Context, e processor.Event) (o Outcome, err error) {
	kind, ofSession := eventKind(e)
	ofRefunds := e.Type == processor.RefundChanged || e.Type == processor.DisputeChanged
	anonymous := e.SessionID == "" && (ofSession || e.PaymentID == "")
	if !ofSession && !ofRefunds || anonymous && !isOurs(e.Metadata) {
		return Outcome{}, nil
	}
	attempt := Attempt{SessionID: e.SessionID}
	defer s.observed(ctx, OpEvent, &attempt, &err)()
	switch {
	case anonymous:
		return Outcome{}, withoutSession(e)
	case ofRefunds:
		return s.handleRefunds(ctx, &attempt, e)
	}
	now := s.now()
	settlement := store.Settlement{Event: redemption.Event{
		Kind: kind, At: now, SessionID: e.SessionID,
		OrderID: storableID(e.Metadata[processor.MetadataOrderID]), Deadline: reportedAt(e, now).Add(s.paymentWait),
	}}
	if kind == redemption.Paid {
		settlement.Event.Learned = payer(e.Payer).Identities()
		if settlement.Event.Charge, err = s.chargeOfEvent(ctx, e); err != nil {
			return Outcome{}, err
		}
	}
	if kind == redemption.PaymentPending {
		if settlement.Event, err = s.stillPending(ctx, settlement.Event); err != nil {
			return Outcome{}, err
		}
	}
	o, err = s.outcome(ctx, &attempt, settlement)
	if err != nil || kind != redemption.Paid || !o.Order.IsZero() || !isOurs(e.Metadata) {
		return o, err
	}
	customer := payer(e.Payer)
	customer.ID = storableID(e.Metadata[processor.MetadataCustomerID])
	settlement.Unknown, err = s.settlement().Unknown(ctx, settlement.Event, customer, processor.CouponIDs(e.Metadata))
	if err != nil {
		return Outcome{}, err
	}
	return s.outcome(ctx, &attempt, settlement)
}

// stillPending asks the processor about a delayed payment of an order that was replaced. The
// payment would give that order its claims back and cancel the other one, and may have failed
// since the event.
func (s *Service) stillPending(ctx context.Context, e redemption.Event) (redemption.Event, error) {
	if e.OrderID == "" {
		return e, nil
	}
	of, err := s.store.Order(ctx, store.OrderKey{ID: e.OrderID})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (of.Order.State != redemption.OrderCancelled || of.Order.ReplacedBy == ""):
		return e, nil
	case err != nil:
		return e, err
	}
	session, err := s.lapsedSession(ctx, of.Order, e.SessionID)
	if err != nil {
		return e, fmt.Errorf("ask about the delayed payment of order %s: %w", of.Order.ID, err)
	}
	return s.ending(session, of.Order), nil
}

// isOurs reports whether the metadata of a session names an order or a coupon. Sessions of other
// applications name neither.
func isOurs(metadata map[string]string) bool {
	return metadata[processor.MetadataOrderID] != "" || len(processor.CouponIDs(metadata)) > 0
}

// withoutSession is the error for an event that names an order or a coupon, but no session.
func withoutSession(e processor.Event) error {
	var faults validation.Error
	faults.Add("sessionId", validation.Required, fmt.Sprintf("event %s of an order names no session", e.ID))
	return faults.Err()
}

// storableID returns an ID that a session tells, or nothing if no store keeps it.
func storableID(id string) string {
	if len(id) > redemption.MaxIDLength || !store.IsText(id) {
		return ""
	}
	return id
}

// Webhook returns a function that you pass to a processor's webhook handler. The function calls
// [Service.HandleEvent] for each event and passes the outcome to the given callback. The callback
// may be nil. The callback is not called for an event without an order.
//
// If HandleEvent or the callback fails, the function logs and returns the error, so that the
// processor delivers the event again. The callback may therefore receive the same outcome more than
// once.
//
//	http.Handle("POST /webhook", payments.Handler(service.Webhook(ship)))
func (s *Service) Webhook(then func(context.Context, Outcome) error) func(context.Context, processor.Event) error {
	return func(ctx context.Context, e processor.Event) error {
		o, err := s.HandleEvent(ctx, e)
		if concerns := !o.Order.IsZero(); err == nil && concerns && then != nil {
			err = then(ctx, o)
		}
		if err != nil {
			s.logger.ErrorContext(ctx, "an event could not be handled and will come again",
				slog.String("session", e.SessionID), slog.String("type", e.Type.String()), slog.Any("error", err))
		}
		return err
	}
}

// outcome applies a settlement, and tells the attempt whose it was.
func (s *Service) outcome(ctx context.Context, attempt *Attempt, settlement store.Settlement) (Outcome, error) {
	settled, err := s.settle(ctx, settlement)
	if err != nil {
		return Outcome{}, err
	}
	o := outcomeOf(s.settlement().Outcome(ctx, settled, settlement.Event))
	attempt.OrderID, attempt.Flag, attempt.CustomerID = o.Order.ID, o.Flag, o.Order.CustomerID
	if len(o.Uses) > 0 {
		attempt.CouponID = o.Uses[0].CouponID
	}
	return o, nil
}

func outcomeOf(o settle.Outcome) Outcome {
	return Outcome{Order: o.Order, Uses: o.Uses, Changed: o.Changed, Ended: ordersOf(o.Ended), Flag: Flag(o.Flag)}
}

func ordersOf(ended []store.Settled) (orders []redemption.Order) {
	for _, e := range ended {
		orders = append(orders, e.Order)
	}
	return orders
}

// eventKind maps the processor's event to that of the state machine; the second
// result is false for an event that is not about a session.
func eventKind(e processor.Event) (redemption.EventKind, bool) {
	switch e.Type {
	case processor.Completed:
		if e.PaymentStatus.Settled() {
			return redemption.Paid, true
		}
		return redemption.PaymentPending, true
	case processor.PaymentSucceeded:
		return redemption.Paid, true
	case processor.PaymentFailed:
		return redemption.PaymentFailed, true
	case processor.Expired:
		return redemption.SessionExpired, true
	case processor.Ignored, processor.RefundChanged, processor.DisputeChanged:
	}
	return 0, false
}

// reportedAt is when the processor has reported the event. A repeated event has the same instant.
func reportedAt(e processor.Event, now time.Time) time.Time {
	if e.CreatedAt.IsZero() || e.CreatedAt.After(now) {
		return now
	}
	return calendar.Instant(e.CreatedAt)
}

// settleSession applies what the processor's session turned out to be for its order.
func (s *Service) settleSession(ctx context.Context, session processor.Session, order redemption.Order) (o Outcome, err error) {
	attempt := Attempt{CustomerID: order.CustomerID, OrderID: order.ID, SessionID: session.ID}
	if len(order.Coupons) > 0 {
		attempt.CouponID = order.Coupons[0].ID
	}
	defer s.observed(ctx, OpSettle, &attempt, &err)()
	settlement := store.Settlement{Event: s.ending(session, order)}
	return s.outcome(ctx, &attempt, settlement)
}

// settle applies a settlement. It gives points back that are due, and ends the sessions of orders
// that a payment has superseded. A refund that fails is left to the sweep: it is recorded
// as due.
func (s *Service) settle(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	settled, err := s.record(ctx, settlement)
	if err != nil {
		return store.Settled{}, err
	}
	for _, ended := range settled.Ended {
		_ = s.endDue(ctx, ended.Order)
	}
	if settled.Order.State.Paid() {
		_ = s.endDue(ctx, settled.Order) // the session that the order had before
	}
	return s.returnPoints(ctx, settled), nil
}

// returnPoints gives back the points that are due. Inside a transaction of the host, and where it fails, they
// stay due.
func (s *Service) returnPoints(ctx context.Context, settled store.Settled) store.Settled {
	for i, u := range settled.Uses {
		if u.PointsState != redemption.PointsRefundDue || s.inTransaction { // a rollback would forget the refund
			continue
		}
		refunded, err := s.refundPoints(ctx, u)
		if err != nil {
			s.logger.WarnContext(ctx, "a refund of points is left to the sweep",
				slog.String("use", u.ID), slog.Any("error", err))
			continue
		}
		settled.Uses[i] = refunded
	}
	return settled
}

// chargeOfEvent is the charge of a payment event. If the event tells a tax and not of which lines,
// the session may tell that. A processor that refuses to tell it leaves the payment as it is.
func (s *Service) chargeOfEvent(ctx context.Context, e processor.Event) (redemption.Charge, error) {
	reported := settle.Charge(e.Total, e.Currency, e.Tax)
	if e.Tax.Amount == 0 || len(e.Tax.Lines) > 0 {
		return reported, nil
	}
	session, err := s.processor.Session(ctx, e.SessionID)
	switch {
	case errors.Is(err, processor.ErrNotFound), errors.Is(err, processor.ErrForbidden), errors.Is(err, processor.ErrRejected):
		return reported, nil
	case err != nil:
		return reported, fmt.Errorf("tax of session %s: %w", e.SessionID, err)
	}
	return chargeOf(session), nil
}

// chargeOf is the charge of a session that was paid.
func chargeOf(session processor.Session) redemption.Charge {
	return settle.Charge(session.Total, session.Currency, session.Tax)
}

// settlement returns the ledger layer of the service's store.
func (s *Service) settlement() *settle.Ledger {
	return &settle.Ledger{
		Store: s.store, Now: s.now, NewID: s.newID, Actor: actorOf, Logger: s.logger,
		Grace: s.grace, PaymentWait: s.paymentWait, CreateTime: s.createTime,
	}
}
