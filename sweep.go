package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// DefaultSweepLimit is how many records of each kind a sweep without a limit
// finishes.
const DefaultSweepLimit = 1_000

// sweepPatience is how many times its limit a sweep may fail.
const sweepPatience = 10

// SweepReport tells what a sweep has done.
type SweepReport struct {
	// Paid are the orders that turned out to be paid, with and without a coupon, each as
	// [Service.HandleEvent] returns it, Flag included. Another sweep or the event may tell
	// the same.
	Paid []Outcome
	// Released reservations gave their place back.
	Released int
	// Completed reservations turned out to be paid.
	Completed int
	// Waiting reservations wait on for a delayed payment, or are in a checkout again.
	Waiting int
	// Refunded reservations got their points back.
	Refunded int
	// Cancelled orders without a coupon ended unpaid.
	Cancelled int
	// Flagged payments are for somebody to look at, as an event's Flag is: they are of
	// another amount than the order's, over a limit, or their points were refunded.
	Flagged int
	// Failed records are left to the next sweep; their errors are in the error that
	// Sweep returns.
	Failed int
}

// IsZero reports whether the sweep has found nothing to tell.
func (r SweepReport) IsZero() bool {
	return len(r.Paid)+r.Released+r.Completed+r.Waiting+r.Refunded+r.Cancelled+r.Flagged+r.Failed == 0
}

// LogValue is what a log may keep of the report: the counts, and of the orders that are paid
// their IDs, for the orders have what their customers bought and what the host has noted.
func (r SweepReport) LogValue() slog.Value {
	paid := make([]string, len(r.Paid))
	for i := range r.Paid {
		paid[i] = r.Paid[i].Order.ID
	}
	return slog.GroupValue(
		slog.Any("paid", paid), slog.Int("released", r.Released), slog.Int("completed", r.Completed),
		slog.Int("waiting", r.Waiting), slog.Int("refunded", r.Refunded), slog.Int("cancelled", r.Cancelled),
		slog.Int("flagged", r.Flagged), slog.Int("failed", r.Failed),
	)
}

// Sweep looks at what has lapsed, and finishes at most limit records of each kind (0
// is [DefaultSweepLimit]): it asks the processor whether a session is still open,
// paid or ended before it releases a reservation (contract section 5.8), and repeats
// refunds that are due. Call it every minute or so; several nodes may sweep at once.
// Records that fail, for ever even, do not keep others from their turn, up to ten
// times limit of them; their errors are joined in the result. While the processor does
// not answer, every record costs the adapter's patience: bound the call by its context.
//
// What the report has as Paid the sweep has found before an event, if one ever comes. A host
// that ships what was paid does with each what it does after [Service.HandleEvent], whether
// Sweep returns an error beside it or not.
func (s *Service) Sweep(ctx context.Context, limit int) (report SweepReport, err error) {
	defer s.observed(ctx, OpSweep, &Attempt{}, &err)()
	if limit <= 0 {
		limit = DefaultSweepLimit
	}
	failures, err := pastFailures(limit, func(most int) ([]redemption.Redemption, error) {
		return s.store.Due(ctx, s.now(), most)
	}, redemptionID, func(r redemption.Redemption) error { return s.sweepRedemption(ctx, r, &report) })
	report.Failed = len(failures)
	if err != nil {
		return report, errors.Join(append(failures, fmt.Errorf("find lapsed reservations: %w", err))...)
	}
	failedOrders, err := pastFailures(limit, func(most int) ([]store.Order, error) {
		return s.store.OpenOrders(ctx, s.now(), most)
	}, orderID, func(o store.Order) error { return s.sweepOrder(ctx, o, &report) })
	report.Failed += len(failedOrders)
	failures = append(failures, failedOrders...)
	if err != nil {
		failures = append(failures, fmt.Errorf("find lapsed orders: %w", err))
	}
	return report, errors.Join(failures...)
}

func redemptionID(r redemption.Redemption) string { return r.ID }

func orderID(o store.Order) string { return o.ID }

// pastFailures looks at each record that the list has, the oldest first, until limit
// of them are finished. Those that fail stay at the front of the list, which is then
// asked for as many more.
func pastFailures[T any](
	limit int, list func(most int) ([]T, error), id func(T) string, look func(T) error,
) (failures []error, err error) {
	failed := make(map[string]bool)
	for finished := 0; ; {
		most, before := limit+len(failures), len(failures)
		records, err := list(most)
		if err != nil {
			return failures, err
		}
		for _, r := range records {
			switch {
			case failed[id(r)]:
				continue
			case finished == limit:
				return failures, nil
			}
			if err := look(r); err != nil {
				failed[id(r)] = true
				failures = append(failures, err)
			} else {
				finished++
			}
		}
		if len(failures) == before || len(records) < most || len(failures) >= sweepPatience*limit {
			return failures, nil
		}
	}
}

func (s *Service) sweepRedemption(ctx context.Context, r redemption.Redemption, report *SweepReport) error {
	if r.Live() {
		lapsed, err := s.lapse(ctx, r)
		if err != nil {
			return fmt.Errorf("sweep reservation %s: %w", r.ID, err)
		}
		report.settled(lapsed)
		report.count(lapsed.Redemption)
		r = lapsed.Redemption
	}
	if r.RefundDue() {
		if _, err := s.refund(ctx, r); err != nil {
			return err
		}
		report.Refunded++
	} else if r.PointsState == redemption.PointsRefunded {
		report.Refunded++ // by the settlement
	}
	return nil
}

func (r *SweepReport) count(after redemption.Redemption) {
	switch after.State {
	case redemption.Released:
		r.Released++
	case redemption.Completed:
		r.Completed++
	case redemption.Reserved:
		r.Waiting++
	}
}

// settled tells of an order that is paid, and counts a payment that somebody should look at.
func (r *SweepReport) settled(o Outcome) {
	if o.Order.State == store.OrderPaid {
		r.Paid = append(r.Paid, o)
	}
	if o.Flag != FlagNone {
		r.Flagged++
	}
}

// lapse asks the processor for the session's fate and applies it.
func (s *Service) lapse(ctx context.Context, r redemption.Redemption) (o Outcome, err error) {
	session, err := s.lapsedSession(ctx, r.SessionID)
	if err != nil {
		return Outcome{}, err
	}
	if session.Status == processor.SessionComplete {
		return s.settleSession(ctx, session, s.settlement(session, r))
	}
	attempt := Attempt{CouponID: r.CouponID, CustomerID: r.CustomerID, OrderID: r.OrderID, SessionID: r.SessionID}
	defer s.observed(ctx, OpSettle, &attempt, &err)()
	o.Redemption, err = s.store.Transition(ctx, r.ID, redemption.Event{
		Kind: redemption.Lapsed, At: s.now(), SessionID: r.SessionID,
	})
	if errors.Is(err, redemption.ErrIllegal) {
		o.Redemption, err = s.store.Redemption(ctx, r.ID) // it has moved on since it was listed
	}
	return o, err
}

// lapsedSession returns the session as it is once it can no longer be paid, or
// complete if it was. A session that never was, or that the processor has
// forgotten, counts as expired.
func (s *Service) lapsedSession(ctx context.Context, id string) (processor.Session, error) {
	if id == "" {
		return processor.Session{Status: processor.SessionExpired}, nil
	}
	session, err := s.processor.Session(ctx, id)
	if err == nil && session.Status == processor.SessionOpen {
		session, err = s.expire(ctx, id)
	}
	if errors.Is(err, processor.ErrNotFound) {
		return processor.Session{ID: id, Status: processor.SessionExpired}, nil
	}
	return session, err
}

func (s *Service) sweepOrder(ctx context.Context, o store.Order, report *SweepReport) error {
	session, err := s.lapsedSession(ctx, o.SessionID)
	if err != nil {
		return fmt.Errorf("sweep order %s: %w", o.ID, err)
	}
	settlement := s.settlement(session, redemption.Redemption{})
	settlement.Event.OrderID = o.ID
	if o.State == store.OrderAwaitingPayment && session.Status == processor.SessionExpired {
		settlement.Event.Kind = redemption.PaymentFailed // the processor knows of no payment any more
	}
	settled, err := s.settleSession(ctx, session, settlement)
	if err != nil {
		return err
	}
	report.settled(settled)
	if settled.Order.State == store.OrderCancelled {
		report.Cancelled++
	}
	return nil
}
