package payments

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// maxFailures is the maximum number of failures of a sweep, as a multiple of its limit.
const maxFailures = 10

// Report is the result of a sweep. The type couponkit.SweepReport documents the fields.
type Report struct {
	Paid, Cancelled, Repaid                    []settle.Outcome
	Waiting, Lapsed, Refunded, Flagged, Failed int
}

// Sweep finishes orders and exchanges of points whose deadline is over, at most limit of each.
func (p *Payments) Sweep(ctx context.Context, limit int) (report Report, err error) {
	most := min(limit, store.MaxPageSize)
	failures, err := sweep(limit, p.Orders(ctx, store.OrderList{DueAt: p.Now(), PageSize: most}), func(o store.Settled) error {
		err := p.sweepOrder(ctx, o, &report)
		if errors.Is(err, ErrNoProcessor) {
			report.Waiting++
		}
		return err
	})
	report.Failed = len(failures)
	if err != nil {
		return report, errors.Join(append(failures, fmt.Errorf("find lapsed orders: %w", err))...)
	}
	if p.InTransaction {
		return report, errors.Join(failures...) // a rollback would lose the record of refunded points
	}
	failedUses, err := sweep(limit, p.Uses(ctx, store.UseList{DueAt: p.Now(), PageSize: most}), func(u redemption.Use) error {
		return p.sweepUse(ctx, u, &report)
	})
	report.Failed += len(failedUses)
	failures = append(failures, failedUses...)
	if err != nil {
		failures = append(failures, fmt.Errorf("find points that are due: %w", err))
	}
	return report, errors.Join(failures...)
}

// sweep finishes records until limit of them are finished. It skips records that fail, cannot be read,
// or wait for the host's own provider of payments.
func sweep[T any](limit int, records iter.Seq2[T, error], finish func(T) error) (failures []error, err error) {
	finished, waiting := 0, 0
	for r, err := range records {
		switch {
		case err == nil:
			err = finish(r)
		case !errors.Is(err, store.ErrUnreadable):
			return failures, err
		}
		switch {
		case err == nil:
			finished++
		case errors.Is(err, ErrNoProcessor):
			waiting++
		default:
			failures = append(failures, err)
		}
		if finished == limit || (len(failures)+waiting)/maxFailures >= limit { // the product could overflow
			break
		}
	}
	return failures, nil
}

func (p *Payments) sweepOrder(ctx context.Context, due store.Settled, report *Report) error {
	o := due.Order
	if _, none := p.Processor.(NoProcessor); none && (o.State != redemption.OrderOpen || !o.BegunAt.IsZero()) {
		return ErrNoProcessor // the host asks its provider; see Due
	}
	if o.State.Paid() {
		return errors.Join(p.endDue(ctx, o), p.sweepRefunds(ctx, due, report))
	}
	if o.BegunAt.IsZero() {
		older, err := p.endAwaited(ctx, o)
		if err != nil {
			return fmt.Errorf("sweep order %s: %w", o.ID, err)
		}
		if !older.Order.IsZero() { // the older order was paid, and this order has ended
			if older.Changed {
				report.count(older)
			}
			return nil
		}
	}
	session, err := p.lapsedSession(ctx, o, openSessionID(o))
	if err != nil {
		return fmt.Errorf("sweep order %s: %w", o.ID, err)
	}
	settled, err := p.settleSession(ctx, session, o)
	if err != nil {
		return err
	}
	if o.State != redemption.OrderCancelled || settled.Changed && settled.Order.State != redemption.OrderCancelled {
		report.count(settled) // an order that was canceled before was counted then
	}
	return nil
}

// sweepRefunds checks the unfinished repayments of a paid order.
func (p *Payments) sweepRefunds(ctx context.Context, due store.Settled, report *Report) (err error) {
	attempt := settle.Attempt{OrderID: due.Order.ID, SessionID: due.Order.SessionID, CustomerID: due.Order.CustomerID}
	defer p.Observe(ctx, OpRefund, &attempt, &err)()
	o, err := p.refreshRefunds(ctx, &attempt, due)
	if err != nil {
		return fmt.Errorf("sweep refunds of order %s: %w", due.Order.ID, err)
	}
	attempt.Flag = o.Flag
	if !redemption.SameMoney(o.Order, due.Order) {
		report.Repaid = append(report.Repaid, o)
		if o.Flag != "" {
			report.Flagged++
		}
	}
	return nil
}

// count counts an order that was checked.
func (r *Report) count(o settle.Outcome) {
	switch o.Order.State {
	case redemption.OrderPaid, redemption.OrderPartlyRefunded, redemption.OrderRefunded:
		r.Paid = append(r.Paid, o)
	case redemption.OrderCancelled:
		r.Cancelled = append(r.Cancelled, o)
	case redemption.OrderOpen, redemption.OrderAwaitingPayment, redemption.OrderEnding:
		r.Waiting++
	}
	for _, ended := range o.Ended {
		r.Cancelled = append(r.Cancelled, settle.Outcome{Settled: store.Settled{Order: ended.Order, Changed: true}})
	}
	for _, u := range o.Uses {
		if u.PointsState == redemption.PointsRefunded {
			r.Refunded++
		}
	}
	if o.Flag != "" {
		r.Flagged++
	}
}

// sweepUse gives up an unfinished exchange of points, and refunds due points.
func (p *Payments) sweepUse(ctx context.Context, u redemption.Use, report *Report) error {
	if u.State == redemption.Reserved {
		lapsed, err := p.applyToUse(ctx, redemption.Lapsed, u)
		if errors.Is(err, redemption.ErrIllegal) {
			return nil // the use has changed since it was listed
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
	if _, err := p.refundPoints(ctx, u); err != nil {
		return err
	}
	report.Refunded++
	return nil
}

// RunDue does what is due for an order and for the orders around it.
func (p *Payments) RunDue(ctx context.Context, attempt *settle.Attempt, orderID string) error {
	orders, err := p.OrdersAround(ctx, orderID)
	if len(orders) == 0 {
		return err
	}
	attempt.CustomerID = orders[0].Order.CustomerID
	failures := []error{err} // other orders are swept even if one cannot be read
	var report Report        // not returned: recorder and observer get all results
	for _, o := range orders {
		now, err := p.Store.Order(ctx, store.OrderKey{ID: o.Order.ID}) // read again, because ending another order may have changed it
		var list []settle.Due
		if err == nil {
			list, err = p.DueFor(ctx, now)
		}
		failures = append(failures, err)
		if err != nil || len(list) == 0 {
			continue
		}
		for _, u := range now.Uses {
			if u.PointsState == redemption.PointsRefundDue {
				failures = append(failures, p.sweepUse(ctx, u, &report))
			}
		}
		if slices.ContainsFunc(list, func(d settle.Due) bool { return d.Kind != redemption.ReturnPoints }) {
			failures = append(failures, p.sweepOrder(ctx, now, &report))
		}
	}
	return errors.Join(failures...)
}
