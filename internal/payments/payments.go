// Package payments is the payment layer: payment sessions, the processor's events, money and points that go
// back, and the sweep. It asks the processor and the ledger of points, and records what it learns in package
// settle. The methods of couponkit.Service tell what hosts may rely on.
package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// maxAttempts is how often a call is tried while other calls change the same records.
const maxAttempts = 5

// These constants are the operations that an observer hears of within a call.
const (
	OpEvent  = "event"
	OpRefund = "refund"
	OpSettle = "settle"
)

// Payments makes payments for the orders of a ledger. All fields are required, except Points. A Payments is
// safe for concurrent use.
type Payments struct {
	*settle.Ledger
	// InTransaction tells that the store works inside a transaction of the host.
	InTransaction bool
	// Recorder records what was learned of a payment, in a transaction of the host if it has a recorder.
	Recorder func(context.Context, store.Settlement) (store.Settled, error)

	Processor processor.Processor
	Abilities processor.Abilities
	Points    Points
	// Quoter finds coupons that cost points.
	Quoter *quote.Quoter
	// Observe begins an attempt. The function that it returns ends the attempt, and is deferred.
	Observe func(ctx context.Context, op string, attempt *settle.Attempt, err *error) func()
	// Detached returns a context that outlives the caller, to finish a call.
	Detached func(context.Context) (context.Context, context.CancelFunc)

	EveryPeriod  bool          // discounts renewals, too
	ExchangeTime time.Duration // how long an exchange of points may take
}

// find returns the order of a query.
func (p *Payments) find(ctx context.Context, attempt *settle.Attempt, by settle.Query) (store.Settled, error) {
	found, err := p.Find(ctx, by)
	if err == nil {
		attempt.Of(found)
		attempt.SessionID = found.Order.SessionID
	}
	return found, err
}

// settle applies a settlement. Then it returns due points, and ends the sessions of orders that a
// payment has superseded. After a failure of these, they stay due, and the sweep repeats them.
func (p *Payments) settle(ctx context.Context, settlement store.Settlement) (store.Settled, error) {
	settled, err := p.Recorder(ctx, settlement)
	if err != nil {
		return store.Settled{}, err
	}
	for _, ended := range settled.Ended {
		_ = p.endDue(ctx, ended.Order)
	}
	if settled.Order.State.Paid() {
		_ = p.endDue(ctx, settled.Order) // the order's earlier session
	}
	return p.returnPoints(ctx, settled), nil
}

// outcome applies a settlement and returns its outcome.
func (p *Payments) outcome(ctx context.Context, attempt *settle.Attempt, settlement store.Settlement) (settle.Outcome, error) {
	settled, err := p.settle(ctx, settlement)
	if err != nil {
		return settle.Outcome{}, err
	}
	o := p.Outcome(ctx, settled, settlement.Event)
	attempt.Of(o.Settled)
	attempt.Flag = o.Flag
	return o, nil
}

// settleSession applies the current state of the processor's session to its order.
func (p *Payments) settleSession(ctx context.Context, session processor.Session, order redemption.Order) (o settle.Outcome, err error) {
	attempt := settle.Attempt{CustomerID: order.CustomerID, OrderID: order.ID, SessionID: session.ID}
	if len(order.Coupons) > 0 {
		attempt.CouponID = order.Coupons[0].ID
	}
	defer p.Observe(ctx, OpSettle, &attempt, &err)()
	return p.outcome(ctx, &attempt, store.Settlement{Event: p.ending(session, order)})
}

// ending returns the event for a session that is not open. If the session is neither paid nor expired,
// the event is a delayed payment.
func (p *Payments) ending(session processor.Session, o redemption.Order) redemption.Event {
	now := p.Now()
	e := redemption.Event{
		Kind: redemption.PaymentPending, At: now, SessionID: session.ID, OrderID: o.ID, Deadline: now.Add(p.PaymentWait),
		AskedAt: o.Version, BegunBy: o.BegunAt,
	}
	switch {
	case session.Status == processor.SessionExpired && o.State == redemption.OrderAwaitingPayment:
		e.Kind = redemption.PaymentFailed // the processor has forgotten the payment
	case session.Status == processor.SessionExpired:
		e.Kind = redemption.SessionExpired
	case session.PaymentFailed:
		e.Kind = redemption.PaymentFailed
	case session.Status == processor.SessionComplete && session.PaymentStatus.Settled():
		e.Kind, e.Learned, e.Charge = redemption.Paid, Payer(session.Payer).Identities(), chargeOf(session)
	}
	return e
}

// chargeOf returns the charge of a paid session.
func chargeOf(session processor.Session) redemption.Charge {
	return settle.Charge(session.Total, session.Currency, session.Tax)
}

// Payer is the customer whom a payment names, without an ID. Further aliases than a customer can have are left
// out, so that the payment can be recorded.
func Payer(p processor.Payer) eligibility.Customer {
	return eligibility.Customer{Email: p.Email, Aliases: p.Aliases[:min(len(p.Aliases), eligibility.MaxAliases)]}
}

// storableID returns the ID of an order from a session's metadata, or "" if no store could have it.
func storableID(id string) string {
	if redemption.CheckOrderID(id) != nil {
		return ""
	}
	return id
}

// session reads a session from the processor. A session that the processor has forgotten counts as
// expired.
func (p *Payments) session(ctx context.Context, id string) (_ processor.Session, forgotten bool, err error) {
	session, err := p.Processor.Session(ctx, id)
	if errors.Is(err, processor.ErrNotFound) {
		return processor.Session{ID: id, Status: processor.SessionExpired}, true, nil
	}
	return session, false, err
}

// expire ends a session at the processor. A session that the processor has forgotten counts as expired.
func (p *Payments) expire(ctx context.Context, id string) (processor.Session, error) {
	session, err := p.Processor.ExpireSession(ctx, id)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return processor.Session{ID: id, Status: processor.SessionExpired}, nil
	case err == nil && session.Status == processor.SessionOpen: // the processor breaks its contract; the session can still be paid
		err = fmt.Errorf("session %s could not be ended: %w", id, processor.ErrUnavailable)
	}
	return session, err
}

// warn logs an error that is not returned.
func (p *Payments) warn(ctx context.Context, message, kind, id string, err error) {
	if err != nil {
		p.Logger.WarnContext(ctx, message, slog.String(kind, id), slog.Any("error", err))
	}
}

// BadAnswer is the error for an answer of the processor that the store refuses, such as an answer
// without an ID. The error does not match validation.ErrInvalid, because the caller's input is valid.
func BadAnswer(err error) error {
	return fmt.Errorf("%w, whose answer cannot be stored: %s", processor.ErrRejected, err.Error())
}

// ErrNoProcessor is documented in package couponkit.
var ErrNoProcessor = errors.New("no payment processor: build the service with WithProcessor, or reserve and record payments of your own provider")

// NoProcessor is the processor of a host that makes its own payments. It mirrors no coupon and has no
// sessions.
type NoProcessor struct{ processor.NoMirror }

// Abilities returns the zero value.
func (NoProcessor) Abilities() processor.Abilities { return processor.Abilities{} }

// CreateSession returns ErrNoProcessor.
func (NoProcessor) CreateSession(context.Context, processor.SessionRequest) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

// Session returns ErrNoProcessor.
func (NoProcessor) Session(context.Context, string) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

// ExpireSession returns ErrNoProcessor.
func (NoProcessor) ExpireSession(context.Context, string) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

// FindSession returns ErrNoProcessor: the payment of an order may exist at the host's own provider.
func (NoProcessor) FindSession(context.Context, string, time.Time) (processor.Session, error) {
	return processor.Session{}, ErrNoProcessor
}

// sessionRefusedError matches the same errors as the processor's error, except validation.ErrInvalid.
type sessionRefusedError struct{ error }

func (r sessionRefusedError) Is(target error) bool {
	return target != validation.ErrInvalid && errors.Is(r.error, target)
}

func (r sessionRefusedError) As(target any) bool {
	_, input := target.(**validation.Error)
	return !input && errors.As(r.error, target)
}
