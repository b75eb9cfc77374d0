package couponkit

import (
	"context"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ErrNoOrder means that a payment names no order, and that no order has its ID. Answer the provider with
// a failure, so that it tells of the payment again. To give up, record the payment under an OrderID of its own.
var ErrNoOrder = settle.ErrNoOrder

// PaymentStatus tells what is known of a payment.
type PaymentStatus uint8

// These constants are the values of PaymentStatus.
const (
	// PaymentOpen means that the customer can pay.
	PaymentOpen PaymentStatus = iota + 1
	// PaymentPending means that the customer has finished a payment that has not arrived, such as a bank
	// transfer.
	PaymentPending
	// PaymentPaid means that the payment has arrived.
	PaymentPaid
	// PaymentEnded means that the customer can no longer pay, because the payment has failed, has expired
	// or was voided. It also means that the provider has no payment of the order.
	PaymentEnded
)

var paymentStatuses = [...]string{PaymentOpen: "open", PaymentPending: "pending", PaymentPaid: "paid", PaymentEnded: "ended"}

// String returns "open", "pending", "paid" or "ended".
func (s PaymentStatus) String() string {
	if int(s) < len(paymentStatuses) {
		return paymentStatuses[s]
	}
	return ""
}

// Payment is what is known of a payment now. It may be late, repeated and incomplete.
type Payment struct {
	// OrderID is the ID of the order. Without OrderID, ID finds the order.
	OrderID string
	// ID is the provider's ID of the payment. IDs are unique in a store: a host with two providers
	// gives them prefixes. ID may be empty, such as for an order of 0. A paid payment without an ID is the one
	// that the order has, or else the next one that names the order: give an ID if a customer can pay twice.
	ID string
	// Status is required.
	Status PaymentStatus
	// Amount is what was paid, without the tax that the provider has added. Tax is that tax. Only
	// PaymentPaid has them. A paid order without an Amount has FlagAmountMismatch.
	Amount pricing.Money
	Tax    pricing.Tax
	// URL is the address at which the customer pays. Only [Ledger.AttachPayment] uses it.
	URL string
	// ExpiresAt is when the payment ends by itself, or zero. The order keeps its uses until then and for
	// the grace period, at most for the payment wait; see [WithGrace] and [WithPaymentWait]. Only
	// [Ledger.AttachPayment] uses it.
	ExpiresAt time.Time
	// Payer is who has paid. Limits per customer count the payer's address from then on; see
	// [Service.HandleEvent].
	Payer processor.Payer
	// Repayments and Disputes are all that is known of what goes back to the customer.
	Repayments []redemption.ReportedRefund
	Disputes   []redemption.Dispute

	// These fields are set by Due.Answer.
	askedAt int64     // version of the order
	begunBy time.Time // start of the latest payment that the search would have found

	heard *heard // set if the payment comes from a service with a recorder
}

// heard is a report of the processor to the service, with the result of recording it.
type heard struct {
	settlement store.Settlement
	settled    store.Settled
	recorded   bool
}

// validate reports every field that a store would refuse.
func (p Payment) validate() error {
	var faults validation.Error
	faults.At("orderId", redemption.CheckOrderID(p.OrderID))
	faults.At("id", redemption.CheckOrderID(p.ID))
	if p.Amount.Minor() < 0 {
		faults.Add("amount", validation.TooSmall, "must be at least 0")
	}
	faults.Merge("", redemption.Report{Refunds: p.Repayments, Disputes: p.Disputes}.Validate("repayments", "disputes"))
	return faults.Err()
}

// Record records what is known of a payment. A fact is never refused, and repeating it changes nothing. An ID
// that an order has as its payment finds that order, whatever OrderID says.
//
//   - PaymentPaid marks the order as paid and counts its uses, in whatever state the order is. If the
//     customer's later order has taken over the uses, that order ends; see [Outcome].Ended. A payment of an
//     order that the store does not have is recorded under its OrderID, with [FlagUnknownOrder]. A second
//     payment of an order is recorded with [FlagPaidTwice].
//   - PaymentPending lets the order wait; see [WithPaymentWait]. An order that was replaced takes its uses
//     back only if the payment is the answer to something that was due; see [Due.Answer].
//   - PaymentEnded cancels an order that has the payment, and frees its uses. Without an ID, it means that
//     the provider has found no payment. That, and the end of a payment whose ID the order does not have,
//     counts only as an answer, and not while the payment may be created right now; see [Due.Answer] and
//     [WithCreateTime]. An open order without a payment then stays open until its hold is over.
//   - PaymentOpen stores the payment's ID, if the order has none. If the order is over, the end of the
//     payment is due.
//
// Ship an order when Order.State is redemption.OrderPaid and Flag is FlagNone. Ship each order once.
//
// Record returns these errors:
//
//   - A [*validation.Error] names every invalid field of the payment.
//   - [ErrNoOrder] means that the payment names no order.
//   - store.ErrSuperseded means that the payment is that of another order than OrderID, which has it recorded.
//     The outcome has that order.
//   - store.ErrConflict means that another call has recorded an unknown order with the same ID. Repeat
//     the call.
func (l *Ledger) Record(ctx context.Context, p Payment) (o Outcome, err error) {
	s := l.service
	if err := l.ended(); err != nil {
		return Outcome{}, err
	}
	if p.heard != nil {
		return l.recordHeard(ctx, p)
	}
	attempt := settle.Attempt{OrderID: p.OrderID, SessionID: p.ID}
	defer s.observed(ctx, OpRecord, &attempt, &err)()
	faults := validation.Error{}
	faults.Merge("", p.validate())
	if p.Status.String() == "" {
		faults.Add("status", validation.Unknown, "must be open, pending, paid or ended")
	}
	if err := faults.Err(); err != nil {
		return Outcome{}, err
	}
	back := redemption.Report{Refunds: p.Repayments, Disputes: p.Disputes}
	made, err := s.settlement().Record(ctx, p.event(s), payments.Payer(p.Payer), back)
	if err != nil {
		return Outcome{}, err
	}
	o = outcomeOf(made)
	attempt.OrderID, attempt.CustomerID, attempt.Flag = o.Order.ID, o.Order.CustomerID, string(o.Flag)
	if !o.Order.IsZero() && p.OrderID != "" && o.Order.ID != p.OrderID {
		err = fmt.Errorf("%w: payment %s is that of order %s, not %s", store.ErrSuperseded, p.ID, o.Order.ID, p.OrderID)
	}
	return o, err
}

// recordHeard records the processor's report in its original form. It makes no attempt of its own for
// the observer.
func (l *Ledger) recordHeard(ctx context.Context, p Payment) (Outcome, error) {
	p.heard.recorded = false
	ledger := l.service.settlement()
	settled, err := ledger.Apply(ctx, p.heard.settlement)
	if err != nil {
		return Outcome{}, err
	}
	p.heard.settled, p.heard.recorded = settled, true
	return outcomeOf(ledger.Outcome(ctx, settled, p.heard.settlement.Event)), nil
}

// record applies the processor's report. If the host has a recorder, the recorder does it.
func (s *Service) record(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	if s.recorder == nil || s.inTransaction || settlement.Event.Kind == redemption.PaymentBegun {
		return s.settlement().Apply(ctx, settlement)
	}
	h := &heard{settlement: settlement}
	if err := s.recorder(ctx, h.payment()); err != nil {
		return store.Settled{}, err
	}
	if !h.recorded {
		return store.Settled{}, fmt.Errorf("%s: the recorder has not recorded the payment", settle.Subject(settlement.Event))
	}
	return h.settled, nil
}

// payment returns the report as a Payment for the host.
func (h *heard) payment() Payment {
	e := h.settlement.Event
	p := Payment{OrderID: e.OrderID, ID: e.SessionID, Status: PaymentEnded, heard: h}
	switch {
	case e.Kind == redemption.PaymentPending:
		p.Status = PaymentPending
	case e.Kind == redemption.Paid:
		p.Status, p.Amount, p.Tax = PaymentPaid, pricing.NewMoney(e.Charge.Amount, e.Charge.Currency), e.Charge.Tax.Clone()
	case e.Kind == redemption.Reported:
		p.Status, p.Repayments, p.Disputes = PaymentPaid, e.Report.Refunds, e.Report.Disputes
	}
	return p
}

// event returns the payment as an event of its order.
func (p Payment) event(s *Service) redemption.Event {
	now := s.now()
	e := redemption.Event{At: now, OrderID: p.OrderID, SessionID: p.ID, AskedAt: p.askedAt}
	switch p.Status {
	case PaymentOpen:
		e.Kind = redemption.PaymentOpened
	case PaymentPaid:
		e.Kind, e.Learned = redemption.Paid, payments.Payer(p.Payer).Identities()
		e.Charge = settle.Charge(p.Amount.Minor(), p.Amount.Currency(), p.Tax)
	case PaymentPending:
		e.Kind, e.Deadline = redemption.PaymentPending, now.Add(s.paymentWait)
	case PaymentEnded:
		e.Kind, e.BegunBy = redemption.PaymentEnded, p.begunBy
	}
	return e
}
