package redemption

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/pricing"
)

// DueRetry is the time after which a sweep does what is due and what nobody has answered.
const DueRetry = time.Minute

// DueKind is what has to be done outside of the store.
type DueKind uint8

// These constants are the kinds of [Due].
const (
	// EndPayment means that the payment of an order that has ended, or is ending, can perhaps still be
	// paid. It must be ended.
	EndPayment DueKind = iota + 1
	// AskPayment means that somebody must ask whether a payment is still on its way.
	AskPayment
	// ReturnMoney means that the money of a refund must be returned.
	ReturnMoney
	// ReturnPoints means that the points of a use must be given back.
	ReturnPoints
)

var dueKinds = enum.Names{
	EndPayment: "end_payment", AskPayment: "ask_payment", ReturnMoney: "return_money", ReturnPoints: "return_points",
}

// String returns "end_payment", "ask_payment", "return_money" or "return_points".
func (k DueKind) String() string { return dueKinds.Of(uint8(k)) }

// MarshalText returns the same name as String.
func (k DueKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Due is something that has to be done outside of the store, because an order or a use has changed.
// What is recorded of the answer ends it.
type Due struct {
	Kind    DueKind
	OrderID string
	// PaymentID is the ID of the payment. It is empty if the ID is unknown: find the payment by the
	// order. It is empty for ReturnPoints.
	PaymentID string
	// Since is when the order or the use last changed.
	Since time.Time
	// OrderVersion is the version of the order; see [Event.AskedAt].
	OrderVersion int64
	// Key is the idempotency key under which the money is returned; see [Refund.RepaymentKey]. AskPayment
	// has it for a repayment that is on its way. For ReturnPoints, it is the ID of the exchange.
	Key string
	// Amount is what is returned under Key. It is zero for ReturnPoints.
	Amount pricing.Money
	// UseID is the ID of the use whose points are given back. It is empty for the other kinds.
	UseID string
}

// Due returns what has to be done outside of the store for the order and its uses.
func (o Order) Due(uses ...Use) (due []Due) {
	if o.endIsDue() {
		due = append(due, o.outside(EndPayment, o.begunSession()))
	} else if o.Asks > 0 {
		due = append(due, o.outside(AskPayment, o.SessionID))
	}
	for i := range o.Refunds {
		if o.Refunds[i].Repayment.State == RepaymentDue {
			due = append(due, o.repaymentOf(ReturnMoney, &o.Refunds[i]))
		}
	}
	for _, u := range uses {
		if u.PointsState == PointsRefundDue {
			due = append(due, Due{Kind: ReturnPoints, OrderID: o.ID, Since: u.UpdatedAt, OrderVersion: o.Version, Key: u.ExchangeID, UseID: u.ID})
		}
	}
	return due
}

// PendingRepayments returns the repayments of a paid order that are on their way. Ask for them when the
// deadline of the order has passed.
func (o Order) PendingRepayments() (list []Due) {
	for i := range o.Refunds {
		if o.Refunds[i].Repayment.State == RepaymentPending {
			list = append(list, o.repaymentOf(AskPayment, &o.Refunds[i]))
		}
	}
	return list
}

func (o Order) outside(kind DueKind, paymentID string) Due {
	return Due{Kind: kind, OrderID: o.ID, PaymentID: paymentID, Since: o.UpdatedAt, OrderVersion: o.Version}
}

func (o Order) repaymentOf(kind DueKind, r *Refund) Due {
	d := o.outside(kind, o.SessionID)
	d.Key, d.Amount = r.RepaymentKey(), pricing.NewMoney(r.Repayment.Amount, r.Repayment.Currency)
	return d
}

// endIsDue reports whether the order has ended or is ending, and its payment may still be possible.
func (o Order) endIsDue() bool {
	return !o.BegunAt.IsZero() && (o.State.Ended() || o.State == OrderEnding)
}

// begunSession returns the session of the payment that began at BegunAt. If a payment in another
// session has paid the order, this is the order's earlier session.
func (o Order) begunSession() string {
	if !o.State.Paid() {
		return o.SessionID
	}
	for _, p := range slices.Backward(o.OtherPayments) {
		if p.InsteadOf != "" {
			return p.InsteadOf
		}
	}
	return ""
}

// Concerns reports whether an event about the session, or about no session, is about the order.
func (o Order) Concerns(sessionID string) bool {
	return sessionID == "" || o.SessionID == "" || o.SessionID == sessionID || o.PaidIn(sessionID) ||
		!o.BegunAt.IsZero() && o.begunSession() == sessionID
}
