package couponkit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ErrNoOrder means that a payment names no order, and that no order has its ID. Answer the provider with
// a failure, so that it tells of the payment again. To give up, record the payment under an OrderID of its own.
var ErrNoOrder = errors.New("the payment names no order")

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
	// gives them prefixes. ID may be empty, such as for an order of 0.
	ID string
	// Status is required.
	Status PaymentStatus
	// Amount is what was paid, without the tax that the provider has added. Tax is that tax. Only
	// PaymentPaid has them.
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

	// These fields come from Due.Answer.
	askedAt int64     // the version of the order
	begunBy time.Time // when a payment was begun that would have been found
}

// validate names every field that no store keeps.
func (p Payment) validate() error {
	var faults validation.Error
	faults.At("orderId", redemption.CheckOrderID(p.OrderID))
	faults.At("id", redemption.CheckOrderID(p.ID))
	if p.Amount.Minor() < 0 {
		faults.Add("amount", validation.TooSmall, "must be at least 0")
	}
	return faults.Err()
}

// Record records what is known of a payment. A fact is never refused, and repeating it changes nothing.
//
//   - PaymentPaid marks the order as paid and counts its uses, in whatever state the order is. If the
//     customer's later order has taken over the uses, that order ends; see [Outcome].Ended. A payment of an
//     order that the store does not have is recorded under its OrderID, with [FlagUnknownOrder]. A second
//     payment of an order is recorded with [FlagPaidTwice].
//   - PaymentPending lets the order wait; see [WithPaymentWait]. An order that was replaced takes its uses
//     back only if the payment is the answer to something that was due; see [Due.Answer].
//   - PaymentEnded frees the uses of an order that is ending, or whose hold is over. Another open order
//     stays open, and another payment can begin. Without an ID, it means that the provider has found no
//     payment. That changes nothing if the payment may be created right now, and counts only as an
//     answer; see [Due.Answer] and [WithCreateTime].
//   - PaymentOpen stores the payment's ID, if the order has none.
//
// Ship an order when Order.State is redemption.OrderPaid and Flag is FlagNone. Ship each order once.
//
// Record returns these errors:
//
//   - A [*validation.Error] names every invalid field of the payment.
//   - [ErrNoOrder] means that the payment names no order.
//   - store.ErrConflict means that another call has recorded an unknown order with the same ID. Repeat
//     the call.
func (l *Ledger) Record(ctx context.Context, p Payment) (o Outcome, err error) {
	s, attempt := l.service, Attempt{OrderID: p.OrderID, SessionID: p.ID}
	defer s.observed(ctx, OpRecord, &attempt, &err)()
	faults := validation.Error{}
	faults.Merge("", p.validate())
	if p.Status.String() == "" {
		faults.Add("status", validation.Unknown, "must be open, pending, paid or ended")
	}
	if err := faults.Err(); err != nil {
		return Outcome{}, err
	}
	if p.OrderID == "" && p.ID == "" {
		return Outcome{}, ErrNoOrder
	}
	settled, err := l.fact(ctx, p)
	if err == nil && len(p.Repayments)+len(p.Disputes) > 0 {
		settled, err = l.returned(ctx, settled, p)
	}
	if err != nil {
		return Outcome{}, err
	}
	charged := p.charge()
	if p.ID != settled.Order.SessionID {
		charged = redemption.Charge{} // of another payment
	}
	o = Outcome{Order: settled.Order, Uses: settled.Uses, Changed: settled.Changed, Ended: ordersOf(settled.Ended)}
	o.Flag = s.flag(ctx, charged, settled)
	attempt.OrderID, attempt.CustomerID, attempt.Flag = o.Order.ID, o.Order.CustomerID, o.Flag
	return o, nil
}

func (p Payment) charge() redemption.Charge {
	if p.Status != PaymentPaid {
		return redemption.Charge{}
	}
	return charge(p.Amount.Minor(), p.Amount.Currency(), p.Tax)
}

// event is the fact as an event of the order.
func (p Payment) event(s *Service) redemption.Event {
	now := s.now()
	e := redemption.Event{At: now, OrderID: p.OrderID, SessionID: p.ID, AskedAt: p.askedAt}
	switch p.Status {
	case PaymentOpen:
	case PaymentPaid:
		e.Kind, e.Charge, e.Learned = redemption.Paid, p.charge(), payer(p.Payer).Identities()
	case PaymentPending:
		e.Kind, e.Deadline = redemption.PaymentPending, now.Add(s.paymentWait)
	case PaymentEnded:
		e.Kind, e.BegunBy = redemption.PaymentEnded, p.begunBy
	}
	return e
}

// fact applies what is known, and returns the order as it is after that.
func (l *Ledger) fact(ctx context.Context, p Payment) (store.Settled, error) {
	s := l.service
	settlement := store.Settlement{Event: p.event(s), By: actorOf(ctx)}
	if p.Status == PaymentOpen {
		return l.attachOpen(ctx, p)
	}
	settled, err := s.apply(ctx, settlement)
	switch {
	case errors.Is(err, redemption.ErrIllegal):
		return l.orderOf(ctx, p) // such as the end of a payment that the order does not have
	case err != nil || !settled.Order.IsZero():
		return settled, err
	case p.OrderID == "":
		return store.Settled{}, ErrNoOrder
	case p.Status != PaymentPaid:
		return l.orderOf(ctx, p)
	}
	settlement.Unknown, err = s.unknownPayment(ctx, processor.Event{
		SessionID: p.ID, Payer: p.Payer, Metadata: map[string]string{processor.MetadataOrderID: p.OrderID},
	}, settlement.Event)
	if err != nil {
		return store.Settled{}, err
	}
	return s.apply(ctx, settlement)
}

// attachOpen stores the ID of a payment that can be paid, if the order takes it.
func (l *Ledger) attachOpen(ctx context.Context, p Payment) (store.Settled, error) {
	before, err := l.orderOf(ctx, p)
	o := before.Order
	if err != nil || p.ID == "" || o.IsZero() || o.SessionID != "" || o.State != redemption.OrderOpen {
		return before, err
	}
	attached, err := l.service.apply(ctx, store.Settlement{By: actorOf(ctx), Event: redemption.Event{
		Kind: redemption.SessionAttached, At: l.service.now(), OrderID: o.ID, SessionID: p.ID, SessionURL: p.URL, Deadline: o.Deadline,
	}})
	if errors.Is(err, store.ErrSuperseded) {
		return l.orderOf(ctx, p)
	}
	return attached, err
}

// orderOf returns the order of a payment, or nothing.
func (l *Ledger) orderOf(ctx context.Context, p Payment) (store.Settled, error) {
	by := store.OrderKey{ID: p.OrderID}
	if p.OrderID == "" {
		by = store.OrderKey{SessionID: p.ID}
	}
	found, err := l.service.store.Order(ctx, by)
	if errors.Is(err, store.ErrNotFound) {
		return store.Settled{}, nil
	}
	return found, err
}

// returned records what goes back to the customer.
func (l *Ledger) returned(ctx context.Context, settled store.Settled, p Payment) (store.Settled, error) {
	o := settled.Order
	if !o.State.Paid() {
		return settled, nil
	}
	session := p.ID
	if session == "" || !o.PaidIn(session) {
		session = o.SessionID
	}
	after, err := l.service.apply(ctx, store.Settlement{By: actorOf(ctx), Event: redemption.Event{
		Kind: redemption.Reported, At: l.service.now(), OrderID: o.ID, SessionID: session,
		Report: redemption.Report{Refunds: p.Repayments, Disputes: p.Disputes},
	}})
	after.Changed = after.Changed || settled.Changed
	after.Ended = settled.Ended
	return after, err
}

// Due is something that has to be done outside of the store, such as ending a payment.
type Due struct {
	redemption.Due
	begunBy time.Time
}

// Answer completes what the provider has answered: it names the order, and what was due. Record the
// result. A payment without an ID keeps that of the question, unless it has ended.
func (d Due) Answer(p Payment) Payment {
	p.OrderID, p.askedAt, p.begunBy = d.OrderID, d.OrderVersion, d.begunBy
	if p.ID == "" && p.Status != PaymentEnded {
		p.ID = d.PaymentID
	}
	return p
}

// DueOptions selects what [Service.Due] returns.
type DueOptions struct {
	// OrderID selects what is due for one order and for the orders that it replaced and ended. Without an
	// OrderID, Due returns what has been due for a minute, of all orders, at most for [DefaultSweepLimit]
	// orders.
	OrderID string
}

// Due returns what has to be done outside of the store. Due reads committed data: after a rollback, it
// finds nothing of the transaction. Do it after each commit, and record the answers with [Due.Answer]. Call
// Due without an OrderID every minute, for what a crash has left and for orders whose hold is over.
//
//   - EndPayment: void the payment, found by its ID or else by its order. Record what it has become. If
//     the customer was faster, it is paid. If the provider has no payment, record PaymentEnded without an ID.
//   - AskPayment: ask for the payment and record it.
//   - ReturnMoney: return the amount under the key, after looking for the key at the provider. Record the
//     payment with the repayment.
//   - ReturnPoints: the service does it, with [WithPoints]; see [Service.Sweep].
//
// Due may be called by several processes at once, and returns the same to all of them. Its Since tells how
// long something has been due. An order that cannot be read does not hide the others: Due returns what it
// has found beside an error that matches store.ErrUnreadable.
func (s *Service) Due(ctx context.Context, by DueOptions) ([]Due, error) {
	if by.OrderID != "" {
		return s.dueOf(ctx, by.OrderID)
	}
	var list []Due
	failures, err := pastFailures(DefaultSweepLimit, func(most int, after string) (duePage[store.Settled], error) {
		page, err := s.store.ListOrders(ctx, store.OrderList{DueAt: s.now(), After: after, PageSize: most})
		return duePage[store.Settled]{page.Items, page.Unreadable, page.Next}, err
	}, func(o store.Settled) error {
		due, err := s.dueFor(ctx, o)
		list = append(list, due...)
		return err
	})
	return list, errors.Join(append(failures, err)...)
}

// dueOf returns what is due for an order, for the order whose end it awaits, and for those that have
// replaced it.
func (s *Service) dueOf(ctx context.Context, orderID string) ([]Due, error) {
	first, err := s.store.Order(ctx, store.OrderKey{ID: orderID})
	if err != nil {
		return nil, err
	}
	orders := []store.Settled{first}
	if id := first.Order.Awaits; id != "" {
		awaited, err := s.store.Order(ctx, store.OrderKey{ID: id})
		if err != nil {
			return nil, err
		}
		orders = append(orders, awaited)
	}
	for id := first.Order.ReplacedBy; id != ""; {
		next, err := s.store.Order(ctx, store.OrderKey{ID: id})
		if err != nil {
			return nil, err
		}
		orders, id = append(orders, next), next.Order.ReplacedBy
	}
	var list []Due
	for _, o := range orders {
		due, err := s.dueFor(ctx, o)
		if err != nil {
			return nil, err
		}
		list = append(list, due...)
	}
	return list, nil
}

// dueFor returns what is due for one order. The payment of an order whose hold is over is to be ended. An
// order that waits for the end of another payment keeps its uses until then.
func (s *Service) dueFor(ctx context.Context, of store.Settled) (list []Due, err error) {
	o, begunBy := of.Order, time.Time{}
	if now := s.now(); !now.Before(o.BegunAt.Add(s.createTime)) {
		begunBy = o.BegunAt // nobody creates it any more
	}
	for _, d := range o.Due(of.Uses...) {
		list = append(list, Due{d, begunBy})
	}
	ends := slices.ContainsFunc(list, func(d Due) bool { return d.Kind == redemption.EndPayment })
	if ends || !lapsed(o, s.now()) {
		return list, nil
	}
	if o.Awaits != "" && o.BegunAt.IsZero() {
		awaited, err := s.store.Order(ctx, store.OrderKey{ID: o.Awaits})
		if err != nil {
			return list, fmt.Errorf("order that %s waits for: %w", o.ID, err)
		}
		if !awaited.Order.BegunAt.IsZero() {
			return list, nil
		}
	}
	return append(list, Due{redemption.Due{
		Kind: redemption.EndPayment, OrderID: o.ID, PaymentID: o.SessionID, Since: o.Deadline, OrderVersion: o.Version,
	}, begunBy}), nil
}

// Reserve is [Ledger.Reserve] in a transaction of its own. It prepares the request first, as
// [Service.Prepare] does.
func (s *Service) Reserve(ctx context.Context, r ReserveRequest) (Reserved, error) {
	if r.answers == nil && (s.users != nil || s.hasProcessor()) {
		prepared, err := s.Prepare(ctx, r)
		if err != nil {
			return Reserved{}, err
		}
		r = prepared
	}
	return s.ledger().Reserve(ctx, r)
}

// BeginPayment is [Ledger.BeginPayment] in a transaction of its own.
func (s *Service) BeginPayment(ctx context.Context, orderID string) (redemption.Order, error) {
	return s.ledger().BeginPayment(ctx, orderID)
}

// AttachPayment is [Ledger.AttachPayment] in a transaction of its own.
func (s *Service) AttachPayment(ctx context.Context, p Payment) (Outcome, error) {
	return s.ledger().AttachPayment(ctx, p)
}

// Record is [Ledger.Record] in a transaction of its own.
func (s *Service) Record(ctx context.Context, p Payment) (Outcome, error) {
	return s.ledger().Record(ctx, p)
}

// Cancel is [Ledger.Cancel] in a transaction of its own. With a processor, use
// [Service.CancelCheckout]: it ends the payment session, too.
func (s *Service) Cancel(ctx context.Context, orderID string) (Outcome, error) {
	return s.ledger().Cancel(ctx, orderID)
}
