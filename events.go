package couponkit

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Outcome is the result of an event, or of a payment that a sweep has found.
type Outcome struct {
	// Order is the current state of the payment session's order. Order is the zero value when the
	// session has no order.
	Order store.Order
	// Redemption is the current state of the payment session's redemption. Redemption is the zero
	// value when the session has no redemption.
	Redemption redemption.Redemption
	// Changed is true if the event changed the order or the redemption. Changed is false if the
	// same event was delivered before. Changed is also false if a different call has found the
	// payment before the event. Do not use Changed to decide whether to ship; see
	// [Service.HandleEvent].
	Changed bool
	// Flag marks a payment that a person should look at. Every event of an order with a flagged
	// payment returns the flag again. If several flags apply, Flag is the first of
	// FlagAmountMismatch, FlagOverLimit and FlagPointsRefunded.
	Flag Flag
}

// HandleEvent records the result that an event of the processor's webhook reports (specification
// 6). The adapter must have authenticated the event before the host calls HandleEvent; see
// [Service.Webhook].
//
//   - When the event reports a payment, HandleEvent completes the redemption and counts the use in
//     one transaction of the store.
//   - When a payment session ended unpaid, HandleEvent releases the reservation and gives its
//     points back. If the customer's next checkout has ended the session, HandleEvent keeps the
//     reservation (contract section 5.3).
//   - HandleEvent ignores an event that concerns neither an order nor a coupon.
//
// A nil error means that the result is stored, and the host then acknowledges the delivery. After
// an error, the processor should deliver the event again. Events may arrive twice, late, and in any
// order.
//
// HandleEvent records every payment. The Outcome has a Flag if the payment's amount differs from
// the order's total. The Outcome also has a Flag if the payment exceeds the coupon's limit, or
// arrives after its points were refunded.
//
// Ship an order when Order.State is store.OrderPaid and Flag is FlagNone. Ship each order ID only
// once. Calls of other methods may find the payment before its event arrives. If [Service.Sweep]
// finds the payment, Sweep returns the payment's outcome. If any method finds a payment before its
// event arrives, the observer receives an [OpSettle]. To learn about one order, call
// [Service.Order].
func (s *Service) HandleEvent(ctx context.Context, e processor.Event) (o Outcome, err error) {
	kind, concerns := eventKind(e)
	if !concerns {
		return Outcome{}, nil
	}
	attempt := Attempt{SessionID: e.SessionID}
	defer s.observed(ctx, OpEvent, &attempt, &err)()
	now := s.now()
	return s.outcome(ctx, &attempt, store.Settlement{
		Event: redemption.Event{
			Kind: kind, At: now, SessionID: e.SessionID,
			OrderID: e.Metadata[processor.MetadataOrderID], Deadline: told(e, now).Add(s.paymentWait),
		},
		ReservationID: e.Metadata[processor.MetadataReservationID],
		CouponID:      e.Metadata[processor.MetadataCouponID],
		CustomerID:    e.Metadata[processor.MetadataCustomerID],
		NewID:         s.newID(redemption.IDPrefix),
	}, pricing.NewMoney(e.Total, e.Currency))
}

// Webhook returns a function that you pass to a processor's webhook handler. The returned function
// calls [Service.HandleEvent] for each event, and passes the outcome to the callback. The callback
// is Webhook's parameter named "then", and a nil callback is allowed. The callback receives no
// outcome of events that concern neither an order nor a coupon.
//
// After an error of HandleEvent or of the callback, the processor delivers the event again. The
// callback may therefore receive the same outcome more than once. The returned function logs every
// such error.
//
//	http.Handle("POST /webhook", payments.Handler(service.Webhook(ship)))
func (s *Service) Webhook(then func(context.Context, Outcome) error) func(context.Context, processor.Event) error {
	return func(ctx context.Context, e processor.Event) error {
		o, err := s.HandleEvent(ctx, e)
		if concerns := !o.Order.IsZero() || o.Redemption.ID != ""; err == nil && concerns && then != nil {
			err = then(ctx, o)
		}
		if err != nil {
			s.logger.ErrorContext(ctx, "an event could not be handled and will come again",
				slog.String("session", e.SessionID), slog.String("type", e.Type.String()), slog.Any("error", err))
		}
		return err
	}
}

// outcome applies a settlement, and tells the attempt whose it was. The session charges the
// amount.
func (s *Service) outcome(
	ctx context.Context, attempt *Attempt, settlement store.Settlement, charges pricing.Money,
) (Outcome, error) {
	settled, err := s.settle(ctx, settlement)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Order: settled.Order, Redemption: settled.Redemption, Changed: settled.Changed}
	if settlement.Event.Kind == redemption.SessionCompleted || o.Order.State == store.OrderPaid {
		o.Flag = s.flag(ctx, settlement.Event.SessionID, charges, settled)
	}
	attempt.OrderID, attempt.Flag = o.Order.ID, o.Flag
	attempt.CouponID = cmp.Or(o.Redemption.CouponID, o.Order.CouponID)
	attempt.CustomerID = cmp.Or(o.Order.CustomerID, o.Redemption.CustomerID)
	return o, nil
}

// eventKind maps the processor's event to that of the state machine; the second
// result is false for an event that concerns no session of ours.
func eventKind(e processor.Event) (redemption.EventKind, bool) {
	if e.SessionID == "" {
		return 0, false
	}
	switch e.Type {
	case processor.Completed:
		if e.PaymentStatus.Settled() {
			return redemption.SessionCompleted, true
		}
		return redemption.SessionUnpaid, true
	case processor.PaymentSucceeded:
		return redemption.SessionCompleted, true
	case processor.PaymentFailed:
		return redemption.PaymentFailed, true
	case processor.Expired:
		return redemption.SessionExpired, true
	case processor.Ignored:
	}
	return 0, false
}

// told is when the processor has told of the event: the same one again says nothing new.
func told(e processor.Event, now time.Time) time.Time {
	if e.CreatedAt.IsZero() || e.CreatedAt.After(now) {
		return now
	}
	return coupon.Instant(e.CreatedAt)
}

// flag says whether somebody should look at a payment that was recorded.
func (s *Service) flag(ctx context.Context, sessionID string, charged pricing.Money, settled store.Settled) Flag {
	order := settled.Order
	ordered := pricing.NewMoney(order.Quote.Total, order.Quote.Currency)
	flag := FlagNone
	switch {
	case !order.IsZero() && charged != ordered:
		flag = FlagAmountMismatch
		s.logger.ErrorContext(ctx, "a session charged another amount than its order",
			slog.String("order", order.ID), slog.String("session", sessionID),
			slog.String("charged", charged.String()), slog.String("ordered", ordered.String()))
	case settled.Redemption.OverLimit:
		flag = FlagOverLimit
	case settled.Redemption.State == redemption.Completed && settled.Redemption.PointsState >= redemption.PointsRefundDue:
		flag = FlagPointsRefunded
	}
	return flag
}

// settleSession applies what the processor's session turned out to be for a reservation, or
// for the order alone.
func (s *Service) settleSession(
	ctx context.Context, session processor.Session, settlement store.Settlement,
) (o Outcome, err error) {
	attempt := Attempt{
		CouponID: settlement.CouponID, CustomerID: settlement.CustomerID,
		OrderID: settlement.Event.OrderID, SessionID: session.ID,
	}
	defer s.observed(ctx, OpSettle, &attempt, &err)()
	return s.outcome(ctx, &attempt, settlement, pricing.NewMoney(session.Total, session.Currency))
}

// settle applies a settlement and gives points back that are due. A refund that
// fails is left to the sweep: it is recorded as due.
func (s *Service) settle(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	settled, err := s.store.Settle(ctx, settlement)
	if err != nil {
		return store.Settled{}, fmt.Errorf("settle session %s: %w", settlement.Event.SessionID, err)
	}
	if settled.Redemption.RefundDue() {
		refunded, err := s.refund(ctx, settled.Redemption)
		if err != nil {
			s.logger.WarnContext(ctx, "a refund of points is left to the sweep",
				slog.String("reservation", settled.Redemption.ID), slog.Any("error", err))
			return settled, nil
		}
		settled.Redemption = refunded
	}
	return settled, nil
}
