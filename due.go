package couponkit

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
)

// Due is something that has to be done outside of the store, such as ending a payment.
type Due struct {
	redemption.Due
	// BegunBy is when the payment was begun. [Due.Answer] passes it on. BegunBy is zero if no payment was
	// begun, and while the payment may be created right now.
	BegunBy time.Time
}

// Answer completes what the provider has answered: it names the order, and what was due. Record the
// result. A payment without an ID keeps that of the question.
func (d Due) Answer(p Payment) Payment {
	p.OrderID, p.askedAt, p.begunBy = d.OrderID, d.OrderVersion, d.BegunBy
	if p.ID == "" {
		p.ID = d.PaymentID
	}
	return p
}

// DueOptions selects what [Service.Due] returns.
type DueOptions struct {
	// OrderID selects what is due for one order and for the orders that it replaced and ended. Without an
	// OrderID, Due returns what has been due for a minute, of all orders, the oldest first.
	OrderID string
}

// Due returns what has to be done outside of the store. Due reads committed data: after a rollback, it
// finds nothing of the transaction. Do it after each commit, and record the answers with [Due.Answer]. Call
// Due without an OrderID every minute, for what a crash has left and for orders whose hold is over.
//
//   - EndPayment: void the payment, found by its ID or else by its order. Record what it has become. If
//     the customer was faster, it is paid. If the provider has no payment, record PaymentEnded without an ID.
//   - AskPayment: ask for the payment and record it. With a Key, record it with the repayment under the
//     key, which has been on its way for a day.
//   - ReturnMoney: return the amount under the key, after looking for the key at the provider. Record the
//     payment with the repayment.
//   - ReturnPoints: the service does it, with [WithPoints]; see [Service.Sweep].
//
// Due may be called by several processes at once, and returns the same to all of them. Its Since tells how
// long something has been due. The loop may record answers: Due reads as the loop goes on. Due returns an error
// that matches store.ErrUnreadable for each order that cannot be read, and goes on. Any other error is the last.
func (s *Service) Due(ctx context.Context, by DueOptions) iter.Seq2[Due, error] {
	return func(yield func(Due, error) bool) {
		for d, err := range s.settlement().Due(ctx, by.OrderID) {
			if !yield(Due(d), err) {
				return
			}
		}
	}
}

// RunDue does at the processor what is due for an order, for the order whose end it awaits, and for those
// that have replaced it, and records the answers. Call RunDue after the commit of a transaction in which a
// [Ledger] was used: after a rollback, RunDue finds nothing of it. What fails stays due; the next call or
// [Service.Sweep] tries again.
//
// RunDue returns these errors:
//
//   - store.ErrNotFound means that there is no such order.
//   - [ErrPaymentOpen] means that the payment may be created right now.
//   - [ErrUnavailable] means that the processor did not answer.
//   - [ErrNoProcessor] means that the service has no processor. Do what is [Service.Due] instead.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
func (s *Service) RunDue(ctx context.Context, orderID string) (err error) {
	attempt := settle.Attempt{OrderID: orderID}
	defer s.observed(ctx, OpRunDue, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return err
	}
	if !s.hasProcessor() {
		return ErrNoProcessor
	}
	return s.payments().RunDue(ctx, &attempt, orderID)
}

// DefaultSweepLimit is the limit that [Service.Sweep] uses if the given limit is 0 or negative.
const DefaultSweepLimit = 1_000

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
	// Waiting is the number of orders that wait for a delayed payment. Without a processor, it is the number
	// of orders that wait for what is [Service.Due] at the host's provider.
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
// processor whether the customer has paid. Without a processor, Sweep cancels only orders whose payment
// was never begun; all others are [Service.Due]. Call Sweep every minute. Several nodes may call Sweep at
// once.
//
// The limit is the maximum number of orders, and also the maximum number of exchanges, that one
// call finishes. If the limit is 0 or negative, Sweep uses [DefaultSweepLimit]. If an order or
// exchange fails, Sweep continues with the others. When the number of orders that failed, or that wait
// for the host's own provider, reaches ten times the limit, Sweep skips the remaining orders. Sweep
// counts failed exchanges separately.
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
	defer s.observed(ctx, OpSweep, &settle.Attempt{}, &err)()
	if limit <= 0 {
		limit = DefaultSweepLimit
	}
	found, err := s.payments().Sweep(ctx, limit)
	err = errors.Join(err, s.forgetAttempts(ctx))
	return SweepReport{
		Paid: outcomesOf(found.Paid), Cancelled: outcomesOf(found.Cancelled), Repaid: outcomesOf(found.Repaid),
		Waiting: found.Waiting, Lapsed: found.Lapsed, Refunded: found.Refunded, Flagged: found.Flagged, Failed: found.Failed,
	}, err
}

func outcomesOf(found []settle.Outcome) (outcomes []Outcome) {
	for _, o := range found {
		outcomes = append(outcomes, outcomeOf(o))
	}
	return outcomes
}
