package couponkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/checkout"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// MinHold and MaxHold are the shortest and the longest [ReserveRequest].Hold.
const (
	MinHold = checkout.MinHold // a second
	MaxHold = checkout.MaxHold // 60 days
)

// ErrNotPrepared means that a reservation needs an answer of the user directory, of the processor or of the
// limiter that the request does not have, or that a coupon was changed since. Call [Service.Prepare] again.
// ErrNotPrepared matches store.ErrConflict.
var ErrNotPrepared = checkout.ErrNotPrepared

// A Ledger reserves uses of coupons for orders, and records what is known of their payments. It reads
// and writes the store of its [Service], and nothing else: it asks no payment processor, no user
// directory and no ledger of points. What has to be done outside is listed by [Service.Due].
//
// [Service.In] returns a Ledger that works inside a transaction of the host. It is used like the
// transaction: by one goroutine at a time, and not after the commit.
type Ledger struct{ service *Service }

// In returns a Ledger that works in a transaction of the host. The view is what the method WithTx of a
// store returns. If the transaction is rolled back, nothing has happened. After it has ended, every method
// fails with store.ErrClosed. A nil view is one whose transaction has ended.
//
// Do not call methods of the Service while the transaction is open: they use a connection of their own,
// and wait for ever if the pool has no other one.
func (s *Service) In(view store.Store) *Ledger {
	inside := *s
	inside.store, inside.inTransaction, inside.recorder = view, true, nil
	return &Ledger{&inside}
}

// ended returns store.ErrClosed for a nil view.
func (l *Ledger) ended() error {
	if l.service.store == nil {
		return fmt.Errorf("%w: the view is nil", store.ErrClosed)
	}
	return nil
}

// ledger returns a Ledger for the service's own store.
func (s *Service) ledger() *Ledger { return &Ledger{s} }

// ReserveRequest asks for an order of a cart with its coupons.
type ReserveRequest struct {
	// OrderID is the ID of the order. Give the ID that the order has in the host's own table. If OrderID
	// is empty, the ID is made from the customer and Key. Without a Key, too, every call is a new order.
	OrderID string
	// Key is an idempotency key of the customer; see [CheckoutRequest].Key. If Key is empty, OrderID is
	// the key.
	Key string
	// QuoteRequest is the cart, the customer and the codes, as they were quoted. AllowAnonymous has no
	// effect: an order needs a customer.
	QuoteRequest
	// Expected contains the totals that the customer was shown; see [CheckoutRequest].Expected.
	Expected *Totals
	// Hold is how long the order keeps its uses while it is not paid. It is at least [MinHold] and at
	// most [MaxHold]. With a processor, it is the life of a session with the grace period, between what the
	// processor allows. If Hold is 0, it is the session lifetime with the grace period; see
	// [WithSessionLifetime].
	Hold time.Duration
	// Metadata is stored with the order; see [CheckoutRequest].Metadata.
	Metadata map[string]string

	findings *checkout.Findings // findings of Prepare
}

// Reserved is a reserved order.
type Reserved struct {
	// Outcome is the order with its uses. Ended is the open order of the customer that it has replaced.
	Outcome
	// Replayed is true if an earlier call has reserved the order.
	Replayed bool
	// Refused are the coupons that were left out; see [Checkout].Refused.
	Refused coupon.Rejections
}

// Prepare asks the user directory and the processor for what a reservation in a transaction of the host
// must know. It returns the request with the answers. A service without a directory, a processor and a limiter
// needs no Prepare. Prepare returns the errors of [Service.Quote] that do not concern the coupons.
func (s *Service) Prepare(ctx context.Context, r ReserveRequest) (_ ReserveRequest, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID, OrderID: r.OrderID}
	defer s.observed(ctx, OpPrepare, &attempt, &err)()
	return s.prepare(ctx, r, &attempt)
}

func (s *Service) prepare(ctx context.Context, r ReserveRequest, attempt *settle.Attempt) (ReserveRequest, error) {
	customer, err := s.customer(ctx, r.Customer)
	if err != nil {
		return r, err
	}
	findings, err := checkout.Prepare(ctx, *s.quoter(s.mirrors.Ask, attempt), quote.Request(r.QuoteRequest), customer)
	if err != nil {
		return r, err
	}
	r.findings = findings
	return r, nil
}

// Reserve prices the cart, reserves a use of each coupon, and stores the order. A customer who reserves
// again replaces an open order that holds what a limit leaves, as in [Service.Checkout].
//
// If Reserve returns no error, the order can be paid: call [Ledger.BeginPayment] next. For an order of
// 0, record a payment at once. An order that was known from its payment alone, such as one whose webhook came
// before a late commit, is paid: it keeps its payment, and has the quote and the uses of the request from then on.
// Its own payment counts as an earlier order of the payer. An order whose payment has told of coupons, or that
// staff has refunded, is not reserved again (store.ErrKeyReused).
//
// Reserve returns these errors:
//
//   - A [*validation.Error] names every invalid field of the request.
//   - A [*coupon.Rejection], or [coupon.Rejections], lists every reason for the refusal.
//   - store.ErrKeyReused means that the order ID or the key was used for another request, order ID or
//     customer.
//   - [ErrOrderEnded] means that the order has ended unpaid, or that its hold is over. Reserve again with a
//     new ID and a new key.
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way. Reserve then also
//     returns the order.
//   - [ErrNotPrepared] means that [Service.Prepare] must be called first, or again.
//   - store.ErrConflict means that five attempts failed because of concurrent changes.
func (l *Ledger) Reserve(ctx context.Context, r ReserveRequest) (_ Reserved, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID, OrderID: r.OrderID}
	defer l.service.observed(ctx, OpReserve, &attempt, &err)()
	return l.reserve(ctx, r, &attempt)
}

func (l *Ledger) reserve(ctx context.Context, r ReserveRequest, attempt *settle.Attempt) (_ Reserved, err error) {
	if err = l.ended(); err != nil {
		return Reserved{}, err
	}
	s := l.service
	check := mirrors.Check(r.findings.Mirror)
	if !s.hasProcessor() {
		check = s.mirrors.Ask
	}
	of := checkout.Request{
		Request: quote.Request(r.QuoteRequest), OrderID: r.OrderID, Key: r.Key, Expected: (*checkout.Totals)(r.Expected),
		Metadata: r.Metadata, Hold: r.Hold,
	}
	of.AllowAnonymous = false
	if r.findings == nil && s.users == nil {
		of.Customer, err = s.customer(ctx, r.Customer)
	} else {
		of.Customer, err = r.findings.Customer(r.Customer)
	}
	if err != nil {
		return Reserved{}, err
	}
	if s.limiter != nil && !r.findings.Know(r.Codes) {
		return Reserved{}, ErrNotPrepared // nobody has counted the codes
	}
	reserver := s.reserver(check, attempt)
	reserver.Quoter.Guard.Take = nil // Prepare has taken the attempts
	reserver.Quoter.Prepared = r.findings.Automatic()
	reserved, err := reserver.Hold(ctx, of)
	attempt.OrderID, attempt.CouponID = reserved.Order.ID, reserved.CouponID
	if err != nil && !errors.Is(err, ErrOrderEnded) && !errors.Is(err, ErrOrderPaid) {
		return Reserved{}, err
	}
	made := Reserved{
		Outcome:  Outcome{Order: reserved.Order, Uses: reserved.Uses, Changed: !reserved.Replayed, Ended: ordersOf(reserved.Ended)},
		Replayed: reserved.Replayed, Refused: reserved.Refused,
	}
	if made.Changed && made.Order.State.Paid() { // the order was known only from its payment
		made.Flag = FlagOf(store.Settled{Order: made.Order, Uses: made.Uses})
		attempt.Flag = string(made.Flag)
	}
	return made, err
}

// BeginPayment marks an order before its payment is created at the provider. From then on, the order keeps
// its uses until the end of the payment is recorded, whatever else ends the order. A repeated call succeeds.
// An order has one payment: with the end of that, the order ends.
//
// If BeginPayment returns no error and the order has no SessionID, the payment may be created now. With a
// SessionID, an earlier call has created it. Two calls at once may both create: use the order's ID as the
// provider's idempotency key. BeginPayment returns these errors:
//
//   - [ErrPaymentOpen] means that the payment of an order that this order has replaced can perhaps still
//     be paid. Do what is [Service.Due] for the order, and repeat the call.
//   - [ErrOrderEnded] means that the order has ended, or that its hold is over.
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way.
//   - store.ErrNotFound means that there is no such order.
func (l *Ledger) BeginPayment(ctx context.Context, orderID string) (_ redemption.Order, err error) {
	s, attempt := l.service, settle.Attempt{OrderID: orderID}
	defer s.observed(ctx, OpBeginPayment, &attempt, &err)()
	if err = l.ended(); err != nil {
		return redemption.Order{}, err
	}
	settled, err := s.settlement().Request(ctx, redemption.Event{Kind: redemption.PaymentBegun, OrderID: orderID, At: s.now()})
	attempt.CustomerID = settled.Order.CustomerID
	return settled.Order, err
}

// AttachPayment stores the ID and the address of the payment that was created for an order. Payments are
// then found by their IDs. Show the address to the customer only if AttachPayment succeeds. After any
// error of a request, void the payment that nobody sees. A repeated call succeeds. A payment that nobody has
// begun counts as begun now.
//
// AttachPayment returns these errors:
//
//   - A [*validation.Error] names every invalid field of the payment. OrderID and ID are required.
//   - [ErrOrderEnded] means that the order has ended, or that its hold is over.
//   - [ErrPaymentOpen] means that the payment of an order that this order has replaced can perhaps still
//     be paid. Call [Ledger.BeginPayment] before a payment is created.
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way.
//   - store.ErrSuperseded means that another order has the payment, or that the order has another payment.
//   - store.ErrNotFound means that there is no such order.
func (l *Ledger) AttachPayment(ctx context.Context, p Payment) (_ Outcome, err error) {
	s, attempt := l.service, settle.Attempt{OrderID: p.OrderID, SessionID: p.ID}
	defer s.observed(ctx, OpAttachPayment, &attempt, &err)()
	if err = l.ended(); err != nil {
		return Outcome{}, err
	}
	var faults validation.Error
	if p.ID == "" {
		faults.Add("id", validation.Required, "is required")
	}
	faults.Merge("", p.validate())
	if p.OrderID == "" {
		faults.Add("orderId", validation.Required, "is required")
	}
	if len(p.URL) > redemption.MaxMetadataLength || !store.IsText(p.URL) {
		faults.Add("url", validation.Malformed, fmt.Sprintf("must be UTF-8 text without NUL of at most %d bytes", redemption.MaxMetadataLength))
	}
	if p.ExpiresAt.UTC().Year() < 1 {
		faults.Add("expiresAt", validation.TooSmall, "must be in the year 1 or later")
	}
	if err := faults.Err(); err != nil {
		return Outcome{}, err
	}
	before, err := s.store.Order(ctx, store.OrderKey{ID: p.OrderID})
	if err != nil {
		return Outcome{}, err
	}
	attempt.CustomerID = before.Order.CustomerID
	settled, err := s.settlement().Attach(ctx, before, p.ID, p.URL, p.ExpiresAt)
	return outcomeOf(settle.Outcome{Settled: settled}), err
}

// Cancel gives an order up. An order whose payment was begun is ending: it keeps its uses until the end of
// the payment is recorded, and the end is due. An order without a begun payment is cancelled at once. A
// repeated call succeeds, and so does a call for an order that has ended unpaid.
//
// Cancel returns these errors:
//
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way.
//   - [ErrPaymentOpen] means that the payment of an order that this order has replaced can perhaps still
//     be paid. Do what is [Service.Due] for the order, and repeat the call.
//   - store.ErrNotFound means that there is no such order.
func (l *Ledger) Cancel(ctx context.Context, orderID string) (_ Outcome, err error) {
	s, attempt := l.service, settle.Attempt{OrderID: orderID}
	defer s.observed(ctx, OpCancel, &attempt, &err)()
	if err = l.ended(); err != nil {
		return Outcome{}, err
	}
	settled, err := s.settlement().Request(ctx, redemption.Event{Kind: redemption.Cancelled, OrderID: orderID, At: s.now()})
	attempt.CustomerID = settled.Order.CustomerID
	return outcomeOf(settle.Outcome{Settled: settled}), err
}

// Refund records a refund of a paid order; see [Service.Refund]. The money is due after that, unless the
// host returns it elsewhere. Refund returns the errors of [Service.Refund] that do not concern the processor.
func (l *Ledger) Refund(ctx context.Context, r RefundRequest) (result RefundResult, err error) {
	s, attempt := l.service, settle.Attempt{OrderID: r.OrderID}
	defer s.observed(ctx, OpRefund, &attempt, &err)()
	if err = l.ended(); err != nil {
		return RefundResult{}, err
	}
	return s.recordRefund(ctx, &attempt, r)
}

// Reserve is [Ledger.Reserve] in a transaction of its own. It prepares the request first, as
// [Service.Prepare] does.
func (s *Service) Reserve(ctx context.Context, r ReserveRequest) (_ Reserved, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID, OrderID: r.OrderID}
	defer s.observed(ctx, OpReserve, &attempt, &err)()
	if r.findings != nil || s.users == nil && !s.hasProcessor() && s.limiter == nil {
		return s.ledger().reserve(ctx, r, &attempt)
	}
	const attempts = 3 // coupons may change between Prepare and Reserve
	for i := 1; ; i++ {
		prepared, err := s.prepare(ctx, r, &attempt)
		if err != nil {
			return Reserved{}, err
		}
		reserved, err := s.ledger().reserve(ctx, prepared, &attempt)
		if i == attempts || !errors.Is(err, ErrNotPrepared) {
			return reserved, err
		}
	}
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
