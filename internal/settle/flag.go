package settle

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// These constants are the flags of a payment that a person should check. Package couponkit documents them.
const (
	FlagUnknownOrder   = "unknown_order"
	FlagPaidTwice      = "paid_twice"
	FlagOverLimit      = "over_limit"
	FlagAmountMismatch = "amount_mismatch"
	FlagPointsRefunded = "points_refunded"
	FlagRefundFailed   = "refund_failed"
	FlagDisputed       = "disputed"
	FlagExternalRefund = "external_refund"
)

// Outcome is what a settlement has changed.
type Outcome struct {
	store.Settled
	Flag string // empty if nobody needs to check the payment
}

// Outcome is the outcome of an event that was applied.
func (l *Ledger) Outcome(ctx context.Context, settled store.Settled, e redemption.Event) Outcome {
	if e.SessionID != settled.Order.SessionID {
		e.Charge = redemption.Charge{} // of another payment
	}
	return Outcome{settled, l.Flag(ctx, e.Charge, settled)}
}

// Flag is the flag of an order. It compares the charge with what the provider tells of it now, if it tells it.
func (l *Ledger) Flag(ctx context.Context, reported redemption.Charge, settled store.Settled) string {
	o := settled.Order
	err := o.CheckCharge()
	if o.State.Paid() && o.Charge.Differs(reported) {
		err = fmt.Errorf("%d %s and a tax of %d were charged before, %d %s and a tax of %d now",
			o.Charge.Amount, o.Charge.Currency, o.Charge.Tax.Amount, reported.Amount, reported.Currency, reported.Tax.Amount)
	}
	if err == nil {
		return FlagOf(settled)
	}
	l.Logger.ErrorContext(ctx, "a session charged another amount than its order",
		slog.String("order", o.ID), slog.String("session", o.SessionID), slog.Any("error", err))
	return FlagAmountMismatch
}

// FlagOf returns the flag of a stored payment. An order that is not paid has no flag.
func FlagOf(settled store.Settled) string {
	o := settled.Order
	failed := func(r redemption.Refund) bool {
		return r.Repayment.Failure != "" || r.Repayment.State == redemption.RepaymentFailed
	}
	returned := func(r redemption.ExternalRefund) bool { return r.State != redemption.RepaymentFailed }
	lost := func(u redemption.Use) bool { // or the customer has paid for another order with the points
		return u.PointsState == redemption.PointsRefundDue || u.PointsState == redemption.PointsRefunded ||
			u.State == redemption.Completed && u.PointsState == redemption.PointsPassedOn
	}
	switch {
	case !o.State.Paid():
		return ""
	case o.CheckCharge() != nil:
		return FlagAmountMismatch
	case o.Key == "": // no checkout has made it
		return FlagUnknownOrder
	case o.PaidTwice():
		return FlagPaidTwice
	case slices.ContainsFunc(settled.Uses, func(u redemption.Use) bool { return u.OverLimit }):
		return FlagOverLimit
	case o.State == redemption.OrderPaid && slices.ContainsFunc(settled.Uses, lost): // a refund gives points back, too
		return FlagPointsRefunded
	case slices.ContainsFunc(o.Refunds, failed):
		return FlagRefundFailed
	case slices.ContainsFunc(o.Disputes, func(d redemption.Dispute) bool { return d.State != redemption.DisputeWon }):
		return FlagDisputed
	case slices.ContainsFunc(o.ExternalRefunds, returned):
		return FlagExternalRefund
	}
	return ""
}
