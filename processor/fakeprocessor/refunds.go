package fakeprocessor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/processor"
)

// payback has the refunds and disputes of a session.
type payback struct {
	refunds  []processor.Refund
	disputes []processor.Dispute
}

// left returns the amount that can still be refunded.
func (s *session) left() int64 {
	if s.PaymentStatus != processor.Paid {
		return 0
	}
	left := s.paid()
	for _, r := range s.refunds {
		if r.Status != processor.RefundFailed {
			left -= r.Amount
		}
	}
	for _, d := range s.disputes {
		if d.Status != processor.DisputeWon {
			left -= d.Amount
		}
	}
	return max(left, 0)
}

// Refund implements [processor.Refunder]. Refunds succeed at once, unless [Options].DelayRefunds is
// set. An amount above what is left, and a payment with an open or lost dispute of all that is left,
// is [processor.ErrRejected].
func (p *Processor) Refund(ctx context.Context, r processor.RefundRequest) (out processor.Refund, err error) {
	call := Call{Op: Refund, SessionID: r.SessionID, Key: r.Key}
	err = p.sessionCall(ctx, call, CreateRefund, func(now time.Time) error {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("%s: %w: %w", Refund, processor.ErrRejected, err)
		}
		s, ok := p.sessions[r.SessionID]
		if !ok {
			return fmt.Errorf("%s %q: %w", Refund, r.SessionID, processor.ErrNotFound)
		}
		if i := slices.IndexFunc(s.refunds, func(made processor.Refund) bool { return made.Key == r.Key }); i >= 0 {
			out = s.refunds[i]
			return nil
		}
		out, err = p.refund(s, r.Key, r.Amount, now)
		return err
	})
	if err != nil {
		return processor.Refund{}, err
	}
	return out, nil
}

// refund makes a refund of a session.
func (p *Processor) refund(s *session, key string, amount int64, now time.Time) (processor.Refund, error) {
	if amount < 1 || amount > s.left() {
		return processor.Refund{}, fmt.Errorf("%s %q: %w: %d of %d", Refund, s.ID, processor.ErrRejected, amount, s.left())
	}
	p.refundSeq++
	made := processor.Refund{ID: p.options.id("re", p.refundSeq), Key: key, Amount: amount, Status: processor.RefundSucceeded}
	if p.options.DelayRefunds {
		made.Status = processor.RefundPending
	}
	s.refunds = append(s.refunds, made)
	p.announce(refundChanged, s, now)
	return made, nil
}

// Refunds implements [processor.Refunder].
func (p *Processor) Refunds(ctx context.Context, id string) (out processor.PaymentRefunds, err error) {
	_, err = p.onSession(ctx, Call{Op: Refunds, SessionID: id}, ListRefunds, func(s *session, _ time.Time) {
		out = processor.PaymentRefunds{
			SessionID: s.ID, Metadata: maps.Clone(s.Metadata),
			Refunds: slices.Clone(s.refunds), Disputes: slices.Clone(s.disputes),
		}
	})
	if err != nil {
		return processor.PaymentRefunds{}, err
	}
	return out, nil
}

// RefundByStaff refunds a part of a payment, as staff do in the processor's dashboard, and returns
// the ID of the refund. An unknown session is [processor.ErrNotFound]; an amount below 1 or above
// what is left is [processor.ErrRejected].
func (p *Processor) RefundByStaff(sessionID string, amount int64) (refundID string, err error) {
	now := p.lock()
	defer p.mu.Unlock()
	s, ok := p.sessions[sessionID]
	if !ok {
		return "", fmt.Errorf("refund of %q: %w", sessionID, processor.ErrNotFound)
	}
	made, err := p.refund(s, "", amount, now)
	return made.ID, err
}

// FinishRefund finishes a pending refund. Any other refund is [processor.ErrRejected]; an unknown
// one is [processor.ErrNotFound].
func (p *Processor) FinishRefund(id string) error {
	return p.changeRefund(id, func(r *processor.Refund) bool {
		may := r.Status == processor.RefundPending
		r.Status = processor.RefundSucceeded
		return may
	})
}

// FailRefund makes a refund fail, as when the customer's bank returns the money. It returns the
// errors of [Processor.FinishRefund] for a refund that has failed already, or that is unknown.
func (p *Processor) FailRefund(id, reason string) error {
	return p.changeRefund(id, func(r *processor.Refund) bool {
		may := r.Status != processor.RefundFailed
		r.Status, r.Failure = processor.RefundFailed, reason
		return may
	})
}

func (p *Processor) changeRefund(id string, change func(*processor.Refund) bool) error {
	now := p.lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		i := slices.IndexFunc(s.refunds, func(r processor.Refund) bool { return r.ID == id })
		if i < 0 {
			continue
		}
		changed := s.refunds[i]
		if !change(&changed) {
			return fmt.Errorf("refund %q: %w", id, processor.ErrRejected)
		}
		s.refunds[i] = changed
		p.announce(refundChanged, s, now)
		return nil
	}
	return fmt.Errorf("refund %q: %w", id, processor.ErrNotFound)
}

// Dispute opens a dispute of the whole payment, as the customer's bank does, and returns its ID. The
// payment may have been refunded before. An unknown session is [processor.ErrNotFound]; one without a
// payment is [processor.ErrRejected].
func (p *Processor) Dispute(sessionID string) (disputeID string, err error) {
	paid := func(s *session) bool { return s.PaymentStatus == processor.Paid }
	err = p.act("dispute", sessionID, paid, func(s *session, now time.Time) {
		p.disputeSeq++
		disputeID = p.options.id("dp", p.disputeSeq)
		s.disputes = append(s.disputes, processor.Dispute{ID: disputeID, Amount: s.paid(), Status: processor.DisputeOpen})
		p.announce(disputeChanged, s, now)
	})
	return disputeID, err
}

// CloseDispute decides an open dispute. won tells that the host keeps the money. A dispute that is
// closed is [processor.ErrRejected]; an unknown one is [processor.ErrNotFound].
func (p *Processor) CloseDispute(id string, won bool) error {
	now := p.lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		i := slices.IndexFunc(s.disputes, func(d processor.Dispute) bool { return d.ID == id })
		switch {
		case i < 0:
			continue
		case s.disputes[i].Status != processor.DisputeOpen:
			return fmt.Errorf("dispute %q: %w", id, processor.ErrRejected)
		}
		s.disputes[i].Status = processor.DisputeLost
		if won {
			s.disputes[i].Status = processor.DisputeWon
		}
		p.announce(disputeChanged, s, now)
		return nil
	}
	return fmt.Errorf("dispute %q: %w", id, processor.ErrNotFound)
}
