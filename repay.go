package couponkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// refunder returns the processor's role of returning money, and whether it has one.
func (s *Service) refunder() (processor.Refunder, bool) {
	r, ok := s.processor.(processor.Refunder)
	return r, ok
}

// repay asks the processor for the repayments of an order that are due, and records the answers.
// With a key, it asks for that refund only. On error, the repayment stays due, and the order is
// returned as far as it is known.
func (s *Service) repay(ctx context.Context, settled store.Settled, key string) (store.Settled, error) {
	var failures []error
	for _, due := range settled.Order.Refunds {
		if due.Repayment.State != redemption.RepaymentDue || key != "" && due.Key != key {
			continue
		}
		answered, err := s.askRefund(ctx, settled.Order, due)
		if err != nil {
			failures = append(failures, fmt.Errorf("return the money of refund %s: %w", due.ID, err))
			continue
		}
		o := settled.Order
		after, err := s.settle(ctx, store.Settlement{Event: redemption.Event{
			Kind: redemption.Reported, At: s.now(), OrderID: o.ID, SessionID: o.SessionID,
			Report: redemption.Report{Refunds: []redemption.ReportedRefund{reportedRefund(answered)}},
		}})
		if err != nil {
			return settled, err
		}
		settled = after
	}
	return settled, errors.Join(failures...)
}

// askRefund asks the processor for one repayment. A refusal is an answer: the refund has failed.
func (s *Service) askRefund(ctx context.Context, o redemption.Order, due redemption.Refund) (processor.Refund, error) {
	r, able := s.refunder()
	if !able {
		return processor.Refund{}, errNoRefunder
	}
	request := processor.RefundRequest{
		SessionID: o.SessionID, Key: due.RepaymentKey(), Amount: due.Repayment.Amount,
		Metadata: map[string]string{processor.MetadataOrderID: o.ID, processor.MetadataRefundID: due.ID},
	}
	made, err := r.Refund(ctx, request)
	if errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrNotFound) {
		s.logger.ErrorContext(ctx, "the processor does not refund",
			slog.String("order", o.ID), slog.String("refund", due.ID), slog.Any("error", err))
		return processor.Refund{Key: request.Key, Status: processor.RefundFailed, Failure: err.Error()}, nil
	}
	if err != nil {
		return processor.Refund{}, err
	}
	made.Key = request.Key
	return made, nil
}

var errNoRefunder = errors.New("the processor makes no refunds")

// syncRefunds reads the refunds and disputes of a payment at the processor, and records them. The ID
// is that of a session or of a payment. The outcome is empty if the payment has no order.
func (s *Service) syncRefunds(ctx context.Context, attempt *Attempt, id string) (Outcome, error) {
	r, able := s.refunder()
	if !able || id == "" {
		return Outcome{}, nil
	}
	known, err := r.Refunds(ctx, id)
	if errors.Is(err, processor.ErrNotFound) {
		return Outcome{}, nil
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("refunds of payment %s: %w", id, err)
	}
	attempt.SessionID = known.SessionID
	report := redemption.Report{Refunds: make([]redemption.ReportedRefund, len(known.Refunds))}
	for i, refund := range known.Refunds {
		report.Refunds[i] = reportedRefund(refund)
	}
	for _, d := range known.Disputes {
		report.Disputes = append(report.Disputes, redemption.Dispute{ID: d.ID, Amount: d.Amount, State: disputeState(d.Status)})
	}
	return s.outcome(ctx, attempt, store.Settlement{Event: redemption.Event{
		Kind: redemption.Reported, At: s.now(), SessionID: known.SessionID,
		OrderID: storableID(known.Metadata[processor.MetadataOrderID]), Report: report,
	}})
}

// refreshRefunds asks the processor for what is due, and reads what it has done. The outcome is that
// of the order as it is now.
func (s *Service) refreshRefunds(ctx context.Context, attempt *Attempt, before store.Settled) (Outcome, error) {
	settled, err := s.repay(ctx, before, "")
	o := Outcome{Order: settled.Order, Uses: settled.Uses, Flag: FlagOf(settled)}
	if err == nil && o.Order.Paid() > 0 {
		var synced Outcome
		if synced, err = s.syncRefunds(ctx, attempt, o.Order.SessionID); !synced.Order.IsZero() {
			o = synced
		}
	}
	o.Changed = o.Order.Version != before.Order.Version
	return o, err
}

// handleRefunds updates an order after an event about refunds or disputes. The event may come before
// that of the payment, which is then recorded first.
func (s *Service) handleRefunds(ctx context.Context, attempt *Attempt, e processor.Event) (Outcome, error) {
	paymentID := cmp.Or(e.PaymentID, e.SessionID)
	o, err := s.syncRefunds(ctx, attempt, paymentID)
	unpaid := errors.Is(err, redemption.ErrIllegal)
	if err != nil && !unpaid || attempt.SessionID == "" || !o.Order.IsZero() {
		return o, err
	}
	session, err := s.processor.Session(ctx, attempt.SessionID)
	if err != nil {
		return Outcome{}, fmt.Errorf("session %s of a refund: %w", attempt.SessionID, err)
	}
	payment := processor.Event{
		ID: e.ID, Type: processor.Completed, SessionID: session.ID, PaymentStatus: session.PaymentStatus,
		Currency: session.Currency, Total: session.Total, Tax: session.Tax,
		Metadata: session.Metadata, Payer: session.Payer, CreatedAt: e.CreatedAt,
	}
	if session.Status != processor.SessionComplete || !session.PaymentStatus.Settled() {
		return Outcome{}, nil // nothing was paid, and nothing goes back
	}
	if paid, err := s.HandleEvent(ctx, payment); err != nil || paid.Order.IsZero() {
		return Outcome{}, err
	}
	return s.syncRefunds(ctx, attempt, paymentID)
}

func reportedRefund(r processor.Refund) redemption.ReportedRefund {
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

// FlagOf returns the flag of a stored payment. An order that is not paid has no flag.
func FlagOf(settled store.Settled) Flag {
	return Flag(settle.FlagOf(settled))
}
