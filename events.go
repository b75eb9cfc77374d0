package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Outcome is the result of an event, or of a payment that a sweep has found.
type Outcome struct {
	// Order and Uses are the session's order and its uses as they are now. They are zero when
	// the session has no order.
	Order redemption.Order
	Uses  []redemption.Use
	// Changed is true if the event changed the order or a use. It is false after an earlier
	// delivery, and if another call has found the payment before the event. Do not use Changed
	// to decide whether to ship; see [Service.HandleEvent].
	Changed bool
	// Flag marks a payment that a person should look at. Every event of such an order has the
	// flag. If several flags apply, Flag is the first of FlagAmountMismatch, FlagOverLimit and
	// FlagPointsRefunded. Uses has the others.
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
// Ship an order when Order.State is redemption.OrderPaid and Flag is FlagNone, once for each order ID.
// Other calls may find the payment before the event arrives: [Service.Sweep] returns its outcome,
// and the observer gets an [OpSettle]. To learn about one order, call [Service.Order].
func (s *Service) HandleEvent(ctx context.Context, e processor.Event) (o Outcome, err error) {
	kind, concerns := eventKind(e)
	if !concerns {
		return Outcome{}, nil
	}
	attempt := Attempt{SessionID: e.SessionID}
	defer s.observed(ctx, OpEvent, &attempt, &err)()
	now := s.now()
	settlement := store.Settlement{Event: redemption.Event{
		Kind: kind, At: now, SessionID: e.SessionID,
		OrderID: e.Metadata[processor.MetadataOrderID], Deadline: told(e, now).Add(s.paymentWait),
	}}
	charges := pricing.NewMoney(e.Total, e.Currency)
	o, err = s.outcome(ctx, &attempt, settlement, charges)
	if err != nil || kind != redemption.Paid || !o.Order.IsZero() || e.Metadata[processor.MetadataCouponID] == "" {
		return o, err
	}
	if settlement.Unknown, err = s.unknownPayment(ctx, e, now); err != nil {
		return Outcome{}, err
	}
	return s.outcome(ctx, &attempt, settlement, charges)
}

// unknownPayment is the record of a payment whose order the store does not have, though the
// session says that a coupon was used: the customer has paid, and the use counts.
func (s *Service) unknownPayment(ctx context.Context, e processor.Event, now time.Time) (store.Reservation, error) {
	couponID, customerID := e.Metadata[processor.MetadataCouponID], e.Metadata[processor.MetadataCustomerID]
	found, err := s.store.LookUp(ctx, store.LookUp{CouponID: couponID})
	if err != nil && !errors.Is(err, coupon.ErrNotFound) {
		return store.Reservation{}, err
	}
	found.Coupon.ID = couponID // a coupon that is gone has no limits
	claims := useClaims(found.Coupon, customerID)
	o := redemption.Order{
		ID: s.newID(redemption.OrderIDPrefix), CustomerID: customerID, State: redemption.OrderPaid,
		SessionID: e.SessionID, CreatedAt: now,
	}
	if customerID == "" {
		claims = claims[:1]
	} else {
		o.Claims = orderClaims(customerID)
	}
	return store.Reservation{Order: o, Uses: []redemption.Use{{
		ID: s.newID(redemption.UseIDPrefix), CouponID: couponID, CustomerID: customerID, OrderID: o.ID,
		State: redemption.Completed, Origin: redemption.FromPayment, Claims: claims, CreatedAt: now, CompletedAt: now,
	}}}, nil
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

// outcome applies a settlement, and tells the attempt whose it was. The session charges the
// amount.
func (s *Service) outcome(
	ctx context.Context, attempt *Attempt, settlement store.Settlement, charges pricing.Money,
) (Outcome, error) {
	settled, err := s.settle(ctx, settlement)
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Order: settled.Order, Uses: settled.Uses, Changed: settled.Changed}
	if o.Order.State == redemption.OrderPaid {
		o.Flag = s.flag(ctx, charges, settled)
	}
	attempt.OrderID, attempt.Flag, attempt.CustomerID = o.Order.ID, o.Flag, o.Order.CustomerID
	if len(o.Uses) > 0 {
		attempt.CouponID = o.Uses[0].CouponID
	}
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
			return redemption.Paid, true
		}
		return redemption.PaymentPending, true
	case processor.PaymentSucceeded:
		return redemption.Paid, true
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
func (s *Service) flag(ctx context.Context, charged pricing.Money, settled store.Settled) Flag {
	order := settled.Order
	ordered := pricing.NewMoney(order.Quote.Total, order.Quote.Currency)
	refunded := func(u redemption.Use) bool { // or they have paid for another order
		return u.PointsState == redemption.PointsRefundDue || u.PointsState == redemption.PointsRefunded ||
			u.State == redemption.Completed && u.PointsState == redemption.PointsPassedOn
	}
	switch {
	case order.Key != "" && charged != ordered: // of an unknown order nothing is known but the payment
		s.logger.ErrorContext(ctx, "a session charged another amount than its order",
			slog.String("order", order.ID), slog.String("session", order.SessionID),
			slog.String("charged", charged.String()), slog.String("ordered", ordered.String()))
		return FlagAmountMismatch
	case slices.ContainsFunc(settled.Uses, func(u redemption.Use) bool { return u.OverLimit }):
		return FlagOverLimit
	case slices.ContainsFunc(settled.Uses, refunded):
		return FlagPointsRefunded
	}
	return FlagNone
}

// settleSession applies what the processor's session turned out to be for its order.
func (s *Service) settleSession(ctx context.Context, session processor.Session, order redemption.Order) (o Outcome, err error) {
	attempt := Attempt{CustomerID: order.CustomerID, OrderID: order.ID, SessionID: session.ID}
	if c := firstCoupon(order); c != nil {
		attempt.CouponID = c.ID
	}
	defer s.observed(ctx, OpSettle, &attempt, &err)()
	settlement := store.Settlement{Event: s.ending(session, order)}
	return s.outcome(ctx, &attempt, settlement, pricing.NewMoney(session.Total, session.Currency))
}

// settle applies a settlement. It gives points back that are due, and ends the session of an
// order that a payment has superseded. A refund that fails is left to the sweep: it is recorded
// as due.
func (s *Service) settle(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	settled, err := s.store.Apply(ctx, settlement)
	if err != nil {
		return store.Settled{}, fmt.Errorf("settle order %s, session %s: %w",
			settlement.Event.OrderID, settlement.Event.SessionID, err)
	}
	if settled.Order.State == redemption.OrderPaid {
		s.endReplacing(ctx, settled.Order)
	}
	for i, u := range settled.Uses {
		if u.PointsState != redemption.PointsRefundDue {
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
	return settled, nil
}
