package couponkit

import (
	"context"
	"log/slog"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Outcome is the result of an event, of a payment that a sweep found, or of a call about one order.
type Outcome struct {
	// Order is the order of the payment, in its current state. Uses contains the uses of this order. Order
	// and Uses are empty if the payment has no order.
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
func (s *Service) HandleEvent(ctx context.Context, e processor.Event) (Outcome, error) {
	o, err := s.payments().HandleEvent(ctx, e)
	return outcomeOf(o), err
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

func outcomeOf(o settle.Outcome) Outcome {
	return Outcome{Order: o.Order, Uses: o.Uses, Changed: o.Changed, Ended: ordersOf(o.Ended), Flag: Flag(o.Flag)}
}

func ordersOf(ended []store.Settled) (orders []redemption.Order) {
	for _, e := range ended {
		orders = append(orders, e.Order)
	}
	return orders
}

// FlagOf returns the flag of a stored payment. An order that is not paid has no flag.
func FlagOf(settled store.Settled) Flag { return Flag(settle.FlagOf(settled)) }

// settlement returns the Ledger of package settle for the service's store.
func (s *Service) settlement() *settle.Ledger {
	return &settle.Ledger{
		Store: s.store, Now: s.now, NewID: s.id, Actor: actorOf, Logger: s.logger,
		Grace: s.grace, PaymentWait: s.paymentWait, CreateTime: s.createTime,
	}
}
