package redemption

import (
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/validation"
)

// MaxOtherPayments is the maximum number of payments of one order in other sessions than its own.
const MaxOtherPayments = 500

// Payment is a payment that names an order and comes in another payment session than the order has.
type Payment struct {
	// SessionID is the ID of the payment session that was paid.
	SessionID string `json:"sessionId"`
	// InsteadOf is the ID of the session that the order had, if the payment was the first one of the
	// order. The order then has the session that was paid. InsteadOf is empty for a second payment.
	InsteadOf string `json:"insteadOf,omitempty"`
	// Charge is what the processor has charged.
	Charge Charge `json:"charge,omitzero"`
	// Returned is what the processor has returned of a second payment, in minor units of the charge's
	// currency. It counts refunds that have not failed and disputes that were lost.
	Returned int64 `json:"-"`
	// At is when the payment was recorded.
	At time.Time `json:"at"`
}

// PaidTwice reports whether the order has a payment in another session than the order had, of which
// not everything was returned. Of the payment that has paid the order, refunds return the money, so that
// PaidTwice stays true; see [Payment].InsteadOf.
func (o Order) PaidTwice() bool {
	return slices.ContainsFunc(o.OtherPayments, func(p Payment) bool {
		return p.InsteadOf != "" || p.Charge.IsZero() || p.Returned < p.Charge.Total()
	})
}

// PaidIn reports whether OtherPayments has a payment in the given session.
func (o Order) PaidIn(sessionID string) bool { return o.otherPayment(sessionID) >= 0 }

func (o Order) otherPayment(sessionID string) int {
	return slices.IndexFunc(o.OtherPayments, func(p Payment) bool { return p.SessionID == sessionID })
}

// paidElsewhere records a payment in a session that is not the order's session. If the order is not
// paid, this payment pays it, and the order gets its session.
func (o Order) paidElsewhere(e Event) (Order, error) {
	if o.State.Paid() && !o.BegunAt.IsZero() && o.begunSession() == e.SessionID {
		o.BegunAt = time.Time{} // the payment that should have ended was paid
		o = o.due(e.At)
	}
	if o.PaidIn(e.SessionID) {
		return o, nil
	}
	if len(o.OtherPayments) >= MaxOtherPayments {
		var faults validation.Error
		faults.Add("sessionId", validation.TooLong, fmt.Sprintf("an order has at most %d further payments", MaxOtherPayments))
		return o, faults.Err()
	}
	p := Payment{SessionID: e.SessionID, Charge: e.Charge.Clone(), At: e.At}
	if !o.State.Paid() {
		p.InsteadOf, o.SessionURL = o.SessionID, ""
		begun := o.BegunAt
		o = o.paid(e)
		o.BegunAt = begun // the earlier session of the order keeps its begun payment
		if !begun.IsZero() {
			o.Deadline = e.At.Add(DueRetry)
		}
	}
	o.OtherPayments = append(slices.Clip(o.OtherPayments), p)
	return o, nil
}

// FromPayment reports whether the order is known from its payment alone: nobody has reserved it.
func (o Order) FromPayment() bool { return o.Key == "" && o.State.Paid() }

// Adopt returns an order that is being reserved, and its uses, as paid by the payment from which alone an
// order with its ID was known. The claims of the payer stay. Adopt reports false if the known order is
// another customer's, has uses, or has refunds of what nobody knew.
func (o Order) Adopt(known Order, hasUses bool, uses ...Use) (Order, []Use, bool) {
	if !known.FromPayment() || known.CustomerID != "" && known.CustomerID != o.CustomerID || hasUses || len(known.Refunds) > 0 {
		return o, uses, false
	}
	o.BegunAt, o.Awaits = time.Time{}, ""
	e := Event{Kind: Paid, At: o.CreatedAt, OrderID: o.ID, SessionID: known.SessionID, Charge: known.Charge, Learned: eligibility.HashedIdentities(known.Claims)}
	next, paid, err := o.After(e, uses...)
	if err != nil {
		return o, uses, false
	}
	for i := range paid { // these claims were not stored before
		paid[i].Version = uses[i].Version
	}
	for _, c := range known.Claims {
		if !slices.ContainsFunc(next.Claims, func(own eligibility.Claim) bool { return own.Counter == c.Counter }) {
			next.Claims = append(slices.Clip(next.Claims), c)
		}
	}
	next.ExternalRefunds, next.Disputes, next.OtherPayments = known.ExternalRefunds, known.Disputes, known.OtherPayments
	next.CreatedAt, next.UpdatedAt = known.CreatedAt, later(next.UpdatedAt, known.UpdatedAt)
	next.Deadline, next.Version = known.Deadline, known.Version+1
	return next, paid, true
}

// reportedElsewhere records the refunds of a payment in another session. A refund that fails after it
// succeeded lowers the amount.
func (o Order) reportedElsewhere(e Event) (Order, error) {
	i := o.otherPayment(e.SessionID)
	if i < 0 {
		return o, ErrOtherSession
	}
	returned := int64(0)
	add := func(amount int64) { returned += min(max(amount, 0), o.OtherPayments[i].Charge.Total()-returned) }
	for _, r := range e.Report.Refunds {
		if r.State != RepaymentFailed {
			add(r.Amount)
		}
	}
	for _, d := range e.Report.Disputes {
		if d.State == DisputeLost {
			add(d.Amount)
		}
	}
	o.OtherPayments = slices.Clone(o.OtherPayments)
	o.OtherPayments[i].Returned = returned
	return o, nil
}

func samePayment(p, q Payment) bool {
	return p.SessionID == q.SessionID && p.InsteadOf == q.InsteadOf && p.Charge.Equal(q.Charge) && p.Returned == q.Returned
}
