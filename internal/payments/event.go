package payments

import (
	"cmp"
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

// isOurs reports whether the metadata of a session has an order or a coupon. Sessions of other
// applications have neither.
func isOurs(metadata map[string]string) bool {
	return metadata[processor.MetadataOrderID] != "" || len(processor.CouponIDs(metadata)) > 0
}

// eventKind returns the order's event for a processor's event. It reports whether the event is about a
// session.
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

// reportedAt returns the time of the processor's report. A repeated event has the same time.
func reportedAt(e processor.Event, now time.Time) time.Time {
	if e.CreatedAt.IsZero() || e.CreatedAt.After(now) {
		return now
	}
	return calendar.Instant(e.CreatedAt)
}

// chargeOfEvent returns the charge of a payment event. If the event has a tax without lines, it reads
// the session, which may have the lines. If the processor refuses, the charge has no lines.
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

// stillPending asks the processor about a delayed payment of a replaced order. The payment may have
// failed since the event. If it has not, the order gets its claims back, and the newer order is
// canceled.
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
// the payment's own event. handleRefunds then records the payment first.
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
		return settle.Outcome{}, nil // nothing was paid, so nothing can be refunded
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

// Refresh asks the processor about the session of an order, and updates the order.
func (p *Payments) Refresh(ctx context.Context, attempt *settle.Attempt, by settle.Query) (settle.Outcome, error) {
	before, err := p.find(ctx, attempt, by)
	if err != nil {
		return settle.Outcome{}, err
	}
	stored, o := settle.Outcome{Settled: before}, before.Order
	if o.SessionID == "" || o.State == redemption.OrderCancelled && len(o.Due()) == 0 {
		return stored, nil
	}
	session, forgotten, err := p.session(ctx, o.SessionID)
	switch {
	case err != nil:
		return stored, fmt.Errorf("refresh order %s: %w", o.ID, err)
	case o.State.Paid():
		paid, err := p.refreshPaid(ctx, attempt, session, before)
		if err != nil {
			err = fmt.Errorf("refresh order %s: %w", o.ID, err)
		}
		return paid, err
	case !p.isNew(session, o, forgotten):
		return stored, nil
	}
	return p.settleSession(ctx, session, o)
}

// isNew reports whether the session may have a result that the order does not have. If the processor has
// forgotten the session of an order that waits for its payment, the sweep decides when to give the order up.
func (p *Payments) isNew(session processor.Session, o redemption.Order, forgotten bool) bool {
	if session.Status == processor.SessionOpen {
		return false
	}
	switch o.State { //nolint:exhaustive // every result is new to the others
	case redemption.OrderAwaitingPayment:
		return !forgotten
	case redemption.OrderCancelled:
		kind := p.ending(session, o).Kind
		return kind == redemption.Paid || kind == redemption.PaymentPending
	}
	return true
}

// refreshPaid reads the refunds of a paid order. It records the charge first if that is missing.
func (p *Payments) refreshPaid(
	ctx context.Context, attempt *settle.Attempt, session processor.Session, before store.Settled,
) (o settle.Outcome, err error) {
	version := before.Order.Version
	if before.Order.Charge.IsZero() && p.ending(session, before.Order).Kind == redemption.Paid {
		if o, err = p.settleSession(ctx, session, before.Order); err != nil {
			return settle.Outcome{Settled: before, Flag: settle.FlagOf(before)}, err
		}
		before = o.Settled
	}
	o, err = p.refreshRefunds(ctx, attempt, before)
	o.Changed = o.Order.Version != version
	o.Flag = p.Flag(ctx, chargeOf(session), o.Settled)
	attempt.Flag = o.Flag
	return o, err
}

// refreshRefunds asks the processor for the due repayments, and reads its refunds. It returns the
// resulting order.
func (p *Payments) refreshRefunds(ctx context.Context, attempt *settle.Attempt, before store.Settled) (settle.Outcome, error) {
	settled, err := p.repay(ctx, before, "")
	o := settle.Outcome{Settled: settled, Flag: settle.FlagOf(settled)}
	if err == nil && o.Order.Paid() > 0 {
		var synced settle.Outcome
		if synced, err = p.syncRefunds(ctx, attempt, o.Order.SessionID); !synced.Order.IsZero() {
			o = synced
		}
	}
	o.Changed = o.Order.Version != before.Order.Version
	return o, err
}

// Return gives back what is due after a refund: the points, and the money of the refund with the key.
func (p *Payments) Return(ctx context.Context, refunded store.Settled, key string) (store.Settled, error) {
	refunded = p.returnPoints(ctx, refunded)
	if _, none := p.Processor.(NoProcessor); none {
		return refunded, nil
	}
	return p.repay(ctx, refunded, key)
}

// repay asks the processor for the due repayments of an order, and records the answers. With a key, it
// asks only for that refund. After an error, the repayment stays due. repay then returns the last known
// state of the order.
func (p *Payments) repay(ctx context.Context, settled store.Settled, key string) (store.Settled, error) {
	var failures []error
	for _, due := range settled.Order.Refunds {
		if due.Repayment.State != redemption.RepaymentDue || key != "" && due.Key != key {
			continue
		}
		o := settled.Order
		answered, err := p.askRefund(ctx, o, due)
		if err != nil {
			failures = append(failures, fmt.Errorf("return the money of refund %s: %w", due.ID, err))
			continue
		}
		after, err := p.settle(ctx, store.Settlement{Event: redemption.Event{
			Kind: redemption.Reported, At: p.Now(), OrderID: o.ID, SessionID: o.SessionID,
			Report: redemption.Report{Refunds: []redemption.ReportedRefund{reported(answered)}},
		}})
		if err != nil {
			return settled, err
		}
		settled = after
	}
	return settled, errors.Join(failures...)
}

// askRefund asks the processor for one repayment. A refusal is not an error: it is returned as a failed
// refund.
func (p *Payments) askRefund(ctx context.Context, o redemption.Order, due redemption.Refund) (processor.Refund, error) {
	r, able := p.Processor.(processor.Refunder)
	if !able {
		return processor.Refund{}, errors.New("the processor makes no refunds")
	}
	made, err := r.Refund(ctx, processor.RefundRequest{
		SessionID: o.SessionID, Key: due.RepaymentKey(), Amount: due.Repayment.Amount,
		Metadata: map[string]string{processor.MetadataOrderID: o.ID, processor.MetadataRefundID: due.ID},
	})
	if errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrNotFound) {
		p.Logger.ErrorContext(ctx, "the processor does not refund",
			slog.String("order", o.ID), slog.String("refund", due.ID), slog.Any("error", err))
		made, err = processor.Refund{Status: processor.RefundFailed, Failure: err.Error()}, nil
	}
	made.Key = due.RepaymentKey()
	return made, err
}

// syncRefunds reads the refunds and disputes of a payment from the processor, and records them. id is
// the ID of a session or a payment. The outcome is empty if no order has the payment.
func (p *Payments) syncRefunds(ctx context.Context, attempt *settle.Attempt, id string) (settle.Outcome, error) {
	r, able := p.Processor.(processor.Refunder)
	if !able || id == "" {
		return settle.Outcome{}, nil
	}
	known, err := r.Refunds(ctx, id)
	if errors.Is(err, processor.ErrNotFound) {
		return settle.Outcome{}, nil
	}
	if err != nil {
		return settle.Outcome{}, fmt.Errorf("refunds of payment %s: %w", id, err)
	}
	attempt.SessionID = known.SessionID
	report := redemption.Report{Refunds: make([]redemption.ReportedRefund, len(known.Refunds))}
	for i, refund := range known.Refunds {
		report.Refunds[i] = reported(refund)
	}
	for _, d := range known.Disputes {
		report.Disputes = append(report.Disputes, redemption.Dispute{ID: d.ID, Amount: d.Amount, State: disputeState(d.Status)})
	}
	return p.outcome(ctx, attempt, store.Settlement{Event: redemption.Event{
		Kind: redemption.Reported, At: p.Now(), SessionID: known.SessionID,
		OrderID: storableID(known.Metadata[processor.MetadataOrderID]), Report: report,
	}})
}

func reported(r processor.Refund) redemption.ReportedRefund {
	state := map[processor.RefundStatus]redemption.RepaymentState{
		processor.RefundPending: redemption.RepaymentPending, processor.RefundSucceeded: redemption.RepaymentSucceeded,
		processor.RefundFailed: redemption.RepaymentFailed,
	}[r.Status]
	return redemption.ReportedRefund{Key: r.Key, ID: r.ID, Amount: r.Amount, Tax: min(max(r.Tax, 0), max(r.Amount, 0)), State: state, Failure: r.Failure}
}

func disputeState(s processor.DisputeStatus) redemption.DisputeState {
	return map[processor.DisputeStatus]redemption.DisputeState{
		processor.DisputeOpen: redemption.DisputeOpen, processor.DisputeWon: redemption.DisputeWon,
		processor.DisputeLost: redemption.DisputeLost,
	}[s]
}
