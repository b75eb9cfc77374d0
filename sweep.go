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

// DefaultSweepLimit is the limit that [Service.Sweep] uses if the given limit is 0 or negative.
const DefaultSweepLimit = 1_000

// sweepPatience is how many times its limit a sweep may fail.
const sweepPatience = 10

// SweepReport is the result of [Service.Sweep].
type SweepReport struct {
	// Paid contains the outcomes of orders that the sweep found to be paid. Handle each outcome like
	// an outcome of [Service.HandleEvent]. A second sweep or the payment's event may report the order
	// again.
	Paid []Outcome
	// Cancelled contains the outcomes of orders that ended unpaid and released their uses. Mark your
	// own orders as ended. The Replaces of an order names an order of the customer that ended earlier,
	// when a checkout replaced it.
	Cancelled []Outcome
	// Waiting is the number of orders that wait for a delayed payment.
	Waiting int
	// Lapsed is the number of unfinished exchanges of points that the sweep gave up.
	Lapsed int
	// Refunded is the number of uses whose points were refunded.
	Refunded int
	// Repaid contains the outcomes of orders about whose refunds the sweep has learned something. Flag
	// is FlagRefundFailed if the processor could not return the money.
	Repaid []Outcome
	// Flagged is the number of payments that a person should check; see [Flag].
	Flagged int
	// Failed is the number of orders and exchanges that the sweep could not finish, or that the store
	// cannot read. The next sweep tries the failed orders and exchanges again.
	Failed int
}

// IsZero reports whether the sweep found nothing to report.
func (r SweepReport) IsZero() bool {
	return len(r.Paid)+len(r.Cancelled)+len(r.Repaid)+r.Waiting+r.Lapsed+r.Refunded+r.Flagged+r.Failed == 0
}

// LogValue returns the report's counts and the IDs of the orders. LogValue omits the customers'
// purchases and the host's metadata.
func (r SweepReport) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Any("paid", orderIDs(r.Paid)), slog.Any("cancelled", orderIDs(r.Cancelled)), slog.Int("waiting", r.Waiting),
		slog.Int("lapsed", r.Lapsed), slog.Int("refunded", r.Refunded),
		slog.Any("repaid", orderIDs(r.Repaid)), slog.Int("flagged", r.Flagged), slog.Int("failed", r.Failed),
	)
}

func orderIDs(outcomes []Outcome) []string {
	ids := make([]string, len(outcomes))
	for i := range outcomes {
		ids[i] = outcomes[i].Order.ID
	}
	return ids
}

// Sweep finishes orders and exchanges of points whose deadline has passed (contract section 5.8).
// Sweep also makes refunds of points that are still due, and asks the processor for the money of
// refunds that was not returned yet. Before Sweep cancels an order, it asks the
// processor whether the customer has paid. Call Sweep every minute. Several nodes may call Sweep at
// once.
//
// The limit is the maximum number of orders, and also the maximum number of exchanges, that one
// call finishes. If the limit is 0 or negative, Sweep uses [DefaultSweepLimit]. If an order or
// exchange fails, Sweep continues with the others. When the number of failed orders reaches ten
// times the limit, Sweep skips the remaining orders. Sweep counts failed exchanges separately.
//
// The returned error joins the errors of all orders and exchanges that failed. The error also
// reports a failure to read the orders or exchanges from the store. An order or exchange that the
// store cannot read has a [*store.UnreadableError] in it. Use the context to limit the duration of a
// sweep. While the processor does not answer, Sweep may wait for the adapter's
// timeout at every order.
//
// Handle every outcome in [SweepReport].Paid and [SweepReport].Cancelled like an outcome of
// [Service.HandleEvent], even if Sweep also returns an error. Sweep may report a payment or an end
// only once, so a crash of the host right after the sweep can lose the report. With [WithRecorder],
// the host's own orders change in the transaction that records the payment or the end, and nothing of
// the report is needed.
//
// On a store inside a transaction of the host, Sweep finishes orders and repayments only. It leaves
// exchanges and points to a sweep outside of a transaction, because a rollback would forget that points
// were refunded. The transaction stays open while Sweep asks the processor, so use a small limit.
func (s *Service) Sweep(ctx context.Context, limit int) (report SweepReport, err error) {
	defer s.observed(ctx, OpSweep, &Attempt{}, &err)()
	if limit <= 0 {
		limit = DefaultSweepLimit
	}
	failures, err := pastFailures(limit, func(most int, after string) (duePage[store.Settled], error) {
		page, err := s.store.ListOrders(ctx, store.OrderList{DueAt: s.now(), After: after, PageSize: most})
		return duePage[store.Settled]{page.Items, page.Unreadable, page.Next}, err
	}, func(o store.Settled) (bool, error) { return true, s.sweepOrder(ctx, o, &report) })
	report.Failed = len(failures)
	if err != nil {
		return report, errors.Join(append(failures, fmt.Errorf("find lapsed orders: %w", err))...)
	}
	if s.inTransaction {
		return report, errors.Join(failures...) // a rollback would forget that points were refunded
	}
	failedUses, err := pastFailures(limit, func(most int, after string) (duePage[redemption.Use], error) {
		page, err := s.store.ListUses(ctx, store.UseList{DueAt: s.now(), After: after, PageSize: most})
		return duePage[redemption.Use]{page.Items, page.Unreadable, page.Next}, err
	}, func(u redemption.Use) (bool, error) { return true, s.sweepUse(ctx, u, &report) })
	report.Failed += len(failedUses)
	failures = append(failures, failedUses...)
	if err != nil {
		failures = append(failures, fmt.Errorf("find points that are due: %w", err))
	}
	return report, errors.Join(failures...)
}

// duePage is a page of a list of due records.
type duePage[T any] struct {
	records    []T
	unreadable []*store.UnreadableError
	next       string
}

// pastFailures looks at each record of a list, a page at a time, until limit of them are
// finished. Records that fail, or that cannot be read, do not keep the others from their turn.
func pastFailures[T any](
	limit int, list func(most int, after string) (duePage[T], error), look func(T) (counts bool, err error),
) (failures []error, err error) {
	for finished, after := 0, ""; ; {
		page, err := list(min(limit, store.MaxPageSize), after)
		if err != nil {
			return failures, err
		}
		for _, unreadable := range page.unreadable {
			failures = append(failures, unreadable)
		}
		for _, r := range page.records {
			switch counts, err := look(r); {
			case err != nil:
				failures = append(failures, err)
			case counts:
				finished++
			}
			if finished == limit || len(failures) >= sweepPatience*limit {
				return failures, nil
			}
		}
		if after = page.next; after == "" || len(failures) >= sweepPatience*limit {
			return failures, nil
		}
	}
}

func (s *Service) sweepOrder(ctx context.Context, due store.Settled, report *SweepReport) error {
	o := due.Order
	if o.State.Paid() {
		return errors.Join(s.endDue(ctx, o), s.sweepRefunds(ctx, due, report))
	}
	if o.BegunAt.IsZero() {
		older, err := s.endAwaited(ctx, o)
		if err != nil {
			return fmt.Errorf("sweep order %s: %w", o.ID, err)
		}
		if !older.Order.IsZero() { // its payment has ended this order
			if older.Changed {
				report.settled(older)
			}
			return nil
		}
	}
	session, err := s.lapsedSession(ctx, o, openSessionID(o))
	if err != nil {
		return fmt.Errorf("sweep order %s: %w", o.ID, err)
	}
	settled, err := s.settleSession(ctx, session, due.Order)
	if err != nil {
		return err
	}
	if o.State != redemption.OrderCancelled || settled.Changed && settled.Order.State != redemption.OrderCancelled {
		report.settled(settled) // the end of the order was reported before that of its payment
	}
	return nil
}

// sweepRefunds looks at the unfinished repayments of a paid order.
func (s *Service) sweepRefunds(ctx context.Context, due store.Settled, report *SweepReport) (err error) {
	attempt := Attempt{OrderID: due.Order.ID, SessionID: due.Order.SessionID, CustomerID: due.Order.CustomerID}
	defer s.observed(ctx, OpRefund, &attempt, &err)()
	o, err := s.refreshRefunds(ctx, &attempt, due)
	if err != nil {
		return fmt.Errorf("sweep refunds of order %s: %w", due.Order.ID, err)
	}
	attempt.Flag = o.Flag
	if !redemption.SameMoney(o.Order, due.Order) {
		report.Repaid = append(report.Repaid, o)
		if o.Flag != FlagNone {
			report.Flagged++
		}
	}
	return nil
}

// settled counts an order that was looked at.
func (r *SweepReport) settled(o Outcome) {
	switch o.Order.State {
	case redemption.OrderPaid, redemption.OrderPartlyRefunded, redemption.OrderRefunded:
		r.Paid = append(r.Paid, o)
	case redemption.OrderCancelled:
		r.Cancelled = append(r.Cancelled, o)
	case redemption.OrderOpen, redemption.OrderAwaitingPayment, redemption.OrderEnding:
		r.Waiting++
	}
	for _, ended := range o.Ended {
		r.Cancelled = append(r.Cancelled, Outcome{Order: ended, Changed: true})
	}
	for _, u := range o.Uses {
		if u.PointsState == redemption.PointsRefunded {
			r.Refunded++
		}
	}
	if o.Flag != FlagNone {
		r.Flagged++
	}
}

// sweepUse gives up an exchange of points that was never finished, and refunds what is due.
func (s *Service) sweepUse(ctx context.Context, u redemption.Use, report *SweepReport) error {
	if u.State == redemption.Reserved {
		lapsed, err := s.applyToUse(ctx, redemption.Lapsed, u)
		if errors.Is(err, redemption.ErrIllegal) {
			return nil // it has moved on since it was listed
		}
		if err != nil {
			return fmt.Errorf("sweep use %s: %w", u.ID, err)
		}
		u = lapsed
		report.Lapsed++
	}
	if u.PointsState != redemption.PointsRefundDue {
		return nil
	}
	if _, err := s.refundPoints(ctx, u); err != nil {
		return err
	}
	report.Refunded++
	return nil
}

// lapsedSession returns a session as it is once it can no longer be paid. It asks first, and ends only
// what is open. See [Service.endSession] for an order without a session.
func (s *Service) lapsedSession(ctx context.Context, o redemption.Order, id string) (processor.Session, error) {
	if id == "" {
		return s.endSession(ctx, o)
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
