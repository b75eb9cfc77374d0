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

// DefaultSweepLimit is the limit that [Service.Sweep] uses when its argument limit is 0.
const DefaultSweepLimit = 1_000

// sweepPatience is how many times its limit a sweep may fail.
const sweepPatience = 10

// SweepReport is the result of a sweep.
type SweepReport struct {
	// Paid contains the outcomes of orders that the sweep found to be paid. Each outcome in Paid is
	// what [Service.HandleEvent] returns for a payment. A second sweep or the payment's event may
	// report the same order again.
	Paid []Outcome
	// Released is the number of reservations that gave their use back.
	Released int
	// Completed is the number of reservations that the sweep found to be paid.
	Completed int
	// Waiting is the number of reservations that stay reserved. A reservation stays reserved when
	// it waits for a delayed payment, or when a different checkout now uses it.
	Waiting int
	// Refunded is the number of reservations whose points were given back.
	Refunded int
	// Cancelled is the number of orders that ended unpaid and had no coupon.
	Cancelled int
	// Flagged is the number of payments with a [Flag].
	Flagged int
	// Failed is the number of records that the sweep could not finish. The next sweep tries the
	// failed records again. Sweep returns the errors of the failed records.
	Failed int
}

// IsZero reports whether the sweep found nothing to report.
func (r SweepReport) IsZero() bool {
	return len(r.Paid)+r.Released+r.Completed+r.Waiting+r.Refunded+r.Cancelled+r.Flagged+r.Failed == 0
}

// LogValue returns the report's counts and the IDs of the paid orders. LogValue omits the
// customers' purchases and the host's metadata.
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

// Sweep finishes reservations and orders whose deadline has passed (contract section 5.8). Sweep
// also repeats refunds that are due. Before Sweep releases a reservation, it asks the processor
// whether the payment session was paid. Call Sweep every minute. Several nodes may call Sweep at
// once.
//
// There are two kinds of records, reservations and orders. The argument limit is the maximum number
// of records of each kind that Sweep finishes. If limit is 0, Sweep uses [DefaultSweepLimit]. After
// a record fails, Sweep continues with the remaining records. For each kind of record, Sweep stops
// when ten times as many records as the limit have failed. The returned error joins the errors of
// the failed records. Bound the duration of Sweep by its context. While the processor does not
// answer, Sweep may wait for the adapter's full timeout at each record.
//
// Handle every outcome in Paid like an outcome of [Service.HandleEvent], even if Sweep also returns
// an error. A payment may be reported only once. If the host crashes after the report of a payment,
// the host may lose the payment. To lose no payment in a crash, run Sweep on a store that has
// joined the host's transaction. The method WithTx of the SQL stores returns a store that has
// joined a transaction. The host commits its own notes about the payments in the same transaction
// as the sweep. The transaction stays open while Sweep asks the processor, so use a small limit.
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
