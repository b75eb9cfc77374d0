package payments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// HandleEvent updates an order after an event of the processor. Events of other applications change nothing,
// and the outcome is empty.
func (p *Payments) HandleEvent(ctx context.Context, e processor.Event) (o settle.Outcome, err error) {
	kind, ofSession := eventKind(e)
	ofRefunds := e.Type == processor.RefundChanged || e.Type == processor.DisputeChanged
	anonymous := e.SessionID == "" && (ofSession || e.PaymentID == "")
	if !ofSession && !ofRefunds || anonymous && !isOurs(e.Metadata) {
		return settle.Outcome{}, nil
	}
	attempt := settle.Attempt{SessionID: e.SessionID}
	defer p.Observe(ctx, OpEvent, &attempt, &err)()
	switch {
	case anonymous:
		return settle.Outcome{}, validation.New("sessionId", validation.Required, fmt.Sprintf("event %s of an order names no session", e.ID))
	case ofRefunds:
		return p.handleRefunds(ctx, &attempt, e)
	}
	now := p.Now()
	settlement := store.Settlement{Event: redemption.Event{
		Kind: kind, At: now, SessionID: e.SessionID,
		OrderID: storableID(e.Metadata[processor.MetadataOrderID]), Deadline: reportedAt(e, now).Add(p.PaymentWait),
	}}
	switch {
	case kind == redemption.Paid:
		settlement.Event.Learned = Payer(e.Payer).Identities()
		settlement.Event.Charge, err = p.chargeOfEvent(ctx, e)
	case kind == redemption.PaymentPending:
		settlement.Event, err = p.stillPending(ctx, settlement.Event)
	}
	if err != nil {
		return settle.Outcome{}, err
	}
	o, err = p.outcome(ctx, &attempt, settlement)
	if err != nil || kind != redemption.Paid || !o.Order.IsZero() || !isOurs(e.Metadata) {
		return o, err
	}
	payer := Payer(e.Payer)
	payer.ID = storableID(e.Metadata[processor.MetadataCustomerID])
	settlement.Unknown, err = p.Unknown(ctx, settlement.Event, payer, processor.CouponIDs(e.Metadata))
	if err != nil {
		return settle.Outcome{}, err
	}
	return p.outcome(ctx, &attempt, settlement)
}

// isOurs reports whether the metadata of a session names an order or a coupon. Sessions of other
// applications name neither.
func isOurs(metadata map[string]string) bool {
	return metadata[processor.MetadataOrderID] != "" || len(processor.CouponIDs(metadata)) > 0
}

// eventKind returns what an event means for an order, and whether the event is about a session.
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

// chargeOfEvent is the charge of a payment event. If the event tells a tax without its lines, the session may
// tell the lines. If the processor refuses to tell them, the payment is recorded without them.
func (p *Payments) chargeOfEvent(ctx context.Context, e processor.Event) (redemption.Charge, error) {
	reported := settle.Charge(e.Total, e.Currency, e.Tax)
	if e.Tax.Amount == 0 || len(e.Tax.Lines) > 0 {
		return reported, nil
	}
	session, err := p.Processor.Session(ctx, e.SessionID)
	switch {
	case errors.Is(err, processor.ErrNotFound), errors.Is(err, processor.ErrForbidden), errors.Is(err, processor.ErrRejected):
		return reported, nil
	case err != nil:
		return reported, fmt.Errorf("tax of session %s: %w", e.SessionID, err)
	}
	return chargeOf(session), nil
}

// stillPending asks the processor about a delayed payment of an order that was replaced. The
// payment would give that order its claims back and cancel the other order, and may have failed
// since the event.
func (p *Payments) stillPending(ctx context.Context, e redemption.Event) (redemption.Event, error) {
	if e.OrderID == "" {
		return e, nil
	}
	of, err := p.Store.Order(ctx, store.OrderKey{ID: e.OrderID})
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (of.Order.State != redemption.OrderCancelled || of.Order.ReplacedBy == ""):
		return e, nil
	case err != nil:
		return e, err
	}
	session, err := p.lapsedSession(ctx, of.Order, e.SessionID)
	if err != nil {
		return e, fmt.Errorf("ask about the delayed payment of order %s: %w", of.Order.ID, err)
	}
	return p.ending(session, of.Order), nil
}

// handleRefunds updates an order after an event about refunds or disputes. The event may come before
// that of the payment, which is then recorded first.
func (p *Payments) handleRefunds(ctx context.Context, attempt *settle.Attempt, e processor.Event) (settle.Outcome, error) {
	paymentID := cmp.Or(e.PaymentID, e.SessionID)
	o, err := p.syncRefunds(ctx, attempt, paymentID)
	unpaid := errors.Is(err, redemption.ErrIllegal)
	if err != nil && !unpaid || attempt.SessionID == "" || !o.Order.IsZero() {
		return o, err
	}
	session, err := p.Processor.Session(ctx, attempt.SessionID)
	if err != nil {
		return settle.Outcome{}, fmt.Errorf("session %s of a refund: %w", attempt.SessionID, err)
	}
	if session.Status != processor.SessionComplete || !session.PaymentStatus.Settled() {
		return settle.Outcome{}, nil // nothing was paid, and nothing goes back
	}
	paid, err := p.HandleEvent(ctx, processor.Event{
		ID: e.ID, Type: processor.Completed, SessionID: session.ID, PaymentStatus: session.PaymentStatus,
		Currency: session.Currency, Total: session.Total, Tax: session.Tax,
		Metadata: session.Metadata, Payer: session.Payer, CreatedAt: e.CreatedAt,
	})
	if err != nil || paid.Order.IsZero() {
		return settle.Outcome{}, err
	}
	return p.syncRefunds(ctx, attempt, paymentID)
}
