package redemption

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/couponkit/couponkit/internal/enum"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// These constants are the inclusive upper bounds of what a processor reports about one order.
const (
	// MaxReported is the maximum number of refunds, and of disputes, in a Reported event.
	MaxReported = 500
	// MaxFailedIDs is the maximum number of IDs in Refund.FailedIDs.
	MaxFailedIDs = 20
	// MaxFailureLength is the maximum length of Repayment.Failure, in bytes.
	MaxFailureLength = 1_000
)

// RepaymentPoll is the time after which a sweep asks about a pending repayment.
const RepaymentPoll = 24 * time.Hour

// RepaymentState tells whether the money of a refund was returned.
type RepaymentState uint8

// These constants are the states of a repayment.
const (
	// RepaymentNone means that there is nothing to return. The customer has paid nothing for the
	// returned units, or has everything back.
	RepaymentNone RepaymentState = iota
	// RepaymentElsewhere means that the host returns the money without the service.
	RepaymentElsewhere
	// RepaymentDue means that the processor has not answered yet. A sweep asks the processor again.
	RepaymentDue
	// RepaymentPending means that the processor has accepted the repayment and has not finished it.
	RepaymentPending
	// RepaymentSucceeded means that the processor has returned the money.
	RepaymentSucceeded
	// RepaymentFailed means that the processor did not return the money. The processor may find out
	// after it has reported a success.
	RepaymentFailed
)

var repaymentStates = enum.Names{
	RepaymentNone: "none", RepaymentElsewhere: "elsewhere", RepaymentDue: "due", RepaymentPending: "pending",
	RepaymentSucceeded: "succeeded", RepaymentFailed: "failed",
}

// String returns "none", "elsewhere", "due", "pending", "succeeded" or "failed".
func (s RepaymentState) String() string { return repaymentStates.Of(uint8(s)) }

// MarshalText returns the same name as String.
func (s RepaymentState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name that String returns.
func (s *RepaymentState) UnmarshalText(text []byte) error {
	return repaymentStates.Parse(text, (*uint8)(s))
}

// Repayment tells how the money of a refund goes back to the customer.
type Repayment struct {
	State RepaymentState `json:"state"`
	// Amount is the amount that is returned, in minor units of Currency. It is at most the refund's
	// amount with its tax, and at most what was paid less what was returned before.
	Amount int64 `json:"-"`
	// Currency is the currency of the payment; see [Order.PaidCurrency].
	Currency pricing.Currency `json:"currency,omitzero"`
	// Attempt counts the attempts at the processor, from 1. After a failure, a repeated request
	// begins a new attempt.
	Attempt int `json:"attempt,omitempty"`
	// ID is the processor's ID of the refund. ID is empty until the processor has accepted it.
	ID string `json:"id,omitempty"`
	// Failure is the processor's reason for a failure. It is text for staff. If the processor has returned
	// another amount than it was asked for, Failure tells that, and Amount is what was returned.
	Failure string `json:"failure,omitempty"`
}

// IsZero reports whether there is nothing to return.
func (r Repayment) IsZero() bool { return r == Repayment{} }

// ExternalRefund is a refund at the processor that the service did not ask for, such as a refund in
// the processor's dashboard. It names no units.
type ExternalRefund struct {
	// ID is the processor's ID of the refund.
	ID string `json:"id"`
	// Amount is the returned amount, in minor units of Currency. Tax is the part of it that is tax, if
	// the processor tells that. Later refunds return this tax no more.
	Amount int64 `json:"-"`
	Tax    int64 `json:"-"`
	// Currency is the currency of the payment; see [Order.PaidCurrency].
	Currency pricing.Currency `json:"currency,omitzero"`
	// State is RepaymentPending, RepaymentSucceeded or RepaymentFailed.
	State RepaymentState `json:"state"`
	// At is when the service learned of the refund.
	At time.Time `json:"at"`
}

// DisputeState is the state of a [Dispute].
type DisputeState uint8

// These constants are the states of a dispute.
const (
	// DisputeOpen means that the customer's bank has not decided.
	DisputeOpen DisputeState = iota + 1
	// DisputeWon means that the host keeps the money.
	DisputeWon
	// DisputeLost means that the customer has the money back.
	DisputeLost
)

var disputeStates = enum.Names{DisputeOpen: "open", DisputeWon: "won", DisputeLost: "lost"}

// String returns "open", "won" or "lost".
func (s DisputeState) String() string { return disputeStates.Of(uint8(s)) }

// MarshalText returns the same name as String.
func (s DisputeState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name that String returns.
func (s *DisputeState) UnmarshalText(text []byte) error {
	return disputeStates.Parse(text, (*uint8)(s))
}

// Dispute tells that the customer asks their bank for the money of a payment.
type Dispute struct {
	// ID is the processor's ID of the dispute.
	ID string `json:"id"`
	// Amount is the disputed amount, in minor units of Currency.
	Amount int64 `json:"-"`
	// Currency is the currency of the payment; see [Order.PaidCurrency].
	Currency pricing.Currency `json:"currency,omitzero"`
	// State tells who has the money.
	State DisputeState `json:"state"`
	// At is when the service learned of the dispute.
	At time.Time `json:"at"`
}

// Report is what a processor tells about the payment of an order. A report may be incomplete, late
// or repeated. In a Reported event, the At and the Currency of disputes are ignored.
type Report struct {
	Refunds  []ReportedRefund
	Disputes []Dispute
}

func (r Report) isZero() bool { return len(r.Refunds) == 0 && len(r.Disputes) == 0 }

// ReportedRefund is a refund at the processor.
type ReportedRefund struct {
	// Key is the key of the repayment; see [Refund.RepaymentKey]. Key is empty for an external refund.
	Key string
	// ID is the processor's ID of the refund. A failed refund of which the processor keeps no record
	// has no ID.
	ID string
	// Amount is the returned amount, in minor units. It is at least 0. Tax is the part of it that is
	// tax which the processor had added, from 0 to Amount. It is 0 if the processor does not tell it.
	Amount int64
	Tax    int64
	// State is RepaymentPending, RepaymentSucceeded or RepaymentFailed.
	State RepaymentState
	// Failure is the reason of a failure. After MaxFailureLength bytes, it is cut.
	Failure string
}

// RepaymentKey returns the idempotency key of the refund's current attempt at the processor. It
// depends on the order's ID, on the refund's key and on the number of the attempt. The number rises
// only after a failure was recorded. The key has at most 40 ASCII characters.
func (r Refund) RepaymentKey() string { return fmt.Sprintf("%s_%d", r.ID, r.Repayment.Attempt) }

// Returned is the amount that was returned to the customer or is to be returned, in minor units. It
// counts repayments and external refunds that have not failed, and disputes that were lost. It is
// at most what was paid, even if a dispute follows a refund of the same money.
func (o Order) Returned() int64 {
	left := o.Paid()
	take := func(amount int64) { left -= min(left, max(amount, 0)) }
	for i := range o.Refunds {
		if o.Refunds[i].Repayment.State != RepaymentFailed {
			take(o.Refunds[i].Repayment.Amount)
		}
	}
	for _, r := range o.ExternalRefunds {
		if r.State != RepaymentFailed {
			take(r.Amount)
		}
	}
	for _, d := range o.Disputes {
		if d.State == DisputeLost {
			take(d.Amount)
		}
	}
	return o.Paid() - left
}

// Owed is what the customer should still get back for the refunds of the order, in minor units of
// [Order.PaidCurrency]. It counts refunds whose repayment has failed. It also counts money that a
// refund left out because an external refund had returned it, if that refund has failed since.
func (o Order) Owed() int64 {
	sum, before, paid := int64(0), int64(0), o.Paid()
	for i := range o.Refunds {
		sum += min(o.worth(before, &o.Refunds[i]), paid-sum)
		before += o.Refunds[i].Result.Amount
	}
	return max(0, sum-o.Returned())
}

// worth returns what a refund is worth in the payment's currency, after refunds of the given sum. In
// another currency than that of the quote, it is a part of what was paid.
func (o Order) worth(before int64, r *Refund) int64 {
	if o.PaidCurrency() == o.Quote.Currency {
		return max(0, r.Amount())
	}
	return o.paidFor(before+r.Result.Amount) - o.paidFor(before)
}

// paidFor returns the part of what was paid that an amount has of the quote's total, rounded half-up.
func (o Order) paidFor(amount int64) int64 {
	if o.Quote.Total <= 0 {
		return 0
	}
	total := big.NewInt(o.Quote.Total)
	part := new(big.Int).Mul(big.NewInt(o.Paid()), big.NewInt(amount))
	part.Add(part.Lsh(part, 1), total)
	return part.Div(part, total.Lsh(total, 1)).Int64()
}

// repayment returns a new attempt to return the money of a refund.
func (o Order) repayment(worth int64, attempt int, elsewhere bool) Repayment {
	r := Repayment{State: RepaymentDue, Amount: min(worth, o.Paid()-o.Returned()), Currency: o.PaidCurrency(), Attempt: attempt}
	switch {
	case r.Amount == 0:
		return Repayment{}
	case elsewhere:
		r.State = RepaymentElsewhere
	}
	return r
}

// repeated begins a new attempt for a refund whose repayment failed. It also begins one for a refund
// without a repayment, if money is owed that no failed repayment had. It does not change other refunds.
// It keeps the ID of the failed attempt, so that old news of it does not count.
func (o Order) repeated(i int, e Event) Order {
	before, owed := int64(0), o.Owed()
	for j := range o.Refunds {
		if j < i {
			before += o.Refunds[j].Result.Amount
		}
		if own := o.Refunds[j].Repayment; own.State == RepaymentFailed {
			owed -= min(owed, max(own.Amount, 0))
		}
	}
	r := o.Refunds[i]
	worth := o.worth(before, &r)
	switch failed := r.Repayment; {
	case failed.State == RepaymentFailed:
		if failed.ID != "" {
			ids := append(slices.Clip(r.FailedIDs), failed.ID)
			r.FailedIDs = ids[max(0, len(ids)-MaxFailedIDs):]
		}
	case failed.State == RepaymentNone && min(worth, owed) > 0:
		worth = min(worth, owed)
	default:
		return o
	}
	r.Repayment = o.repayment(worth, r.Repayment.Attempt+1, e.Refund.Elsewhere)
	o.Refunds = slices.Clone(o.Refunds)
	o.Refunds[i] = r
	return o.due(e.At)
}

// reported records a report of the processor.
func (o Order) reported(e Event) (Order, error) {
	if !o.State.Paid() {
		return o, ErrIllegal
	}
	before, wait := o, o.wait()
	o.Refunds, o.ExternalRefunds, o.Disputes = slices.Clone(o.Refunds), slices.Clone(o.ExternalRefunds), slices.Clone(o.Disputes)
	for _, r := range e.Report.Refunds {
		if i := slices.IndexFunc(o.Refunds, func(own Refund) bool { return own.reportedAs(r) }); i >= 0 {
			o.Refunds[i].Repayment = o.Refunds[i].Repayment.after(r)
			continue
		}
		if slices.ContainsFunc(o.Refunds, func(own Refund) bool { return slices.Contains(own.FailedIDs, r.ID) }) {
			continue
		}
		o.ExternalRefunds = external(o.ExternalRefunds, r, o.PaidCurrency(), e.At)
	}
	for _, d := range e.Report.Disputes {
		switch i := slices.IndexFunc(o.Disputes, func(known Dispute) bool { return known.ID == d.ID }); {
		case i < 0:
			d.At, d.Currency = e.At, o.PaidCurrency()
			o.Disputes = append(o.Disputes, d)
		case d.State != DisputeOpen || o.Disputes[i].State == DisputeOpen: // a decided dispute does not open again
			o.Disputes[i].State, o.Disputes[i].Amount, o.Disputes[i].Currency = d.State, d.Amount, o.PaidCurrency()
		}
	}
	if len(o.ExternalRefunds) > MaxReported || len(o.Disputes) > MaxReported {
		var faults validation.Error
		faults.Add("report", validation.TooLong, fmt.Sprintf("an order has at most %d external refunds and disputes", MaxReported))
		return o, faults.Err()
	}
	if wait == DueRetry && SameMoney(before, o) {
		return o, nil // what is due stays due: old news must not postpone it
	}
	if wait == DueRetry && o.wait() == RepaymentPoll {
		o.Deadline = time.Time{} // the due repayment is on its way
	}
	return o.due(e.At), nil
}

// reportedAs reports whether the report is about the current attempt of the refund.
func (r Refund) reportedAs(report ReportedRefund) bool {
	own := r.Repayment
	return own.State >= RepaymentDue && report.Key != "" && report.Key == r.RepaymentKey() &&
		(own.ID == "" || report.ID == "" || own.ID == report.ID) // two repayments may have the same key
}

// after returns the repayment after a report. A repayment never returns to an earlier state, with one
// exception. A failure without an ID comes from a refused call, and a record of the processor replaces
// it.
func (r Repayment) after(report ReportedRefund) Repayment {
	refused := r.State == RepaymentFailed && r.ID == "" && report.ID != ""
	if report.State <= r.State && !refused {
		return r
	}
	r.State, r.ID, r.Failure = report.State, report.ID, ""
	switch {
	case r.State == RepaymentFailed:
		r.Failure = cut(report.Failure)
	case report.Amount != 0 && report.Amount != r.Amount: // a report without an amount means the requested amount
		r.Failure = fmt.Sprintf("%v were to be returned", pricing.NewMoney(r.Amount, r.Currency))
		r.Amount = report.Amount
	}
	return r
}

// external adds a refund that the service did not request, or updates its state. A failed refund is
// recorded too, because older news that it succeeded may come later.
func external(list []ExternalRefund, r ReportedRefund, c pricing.Currency, at time.Time) []ExternalRefund {
	i := slices.IndexFunc(list, func(known ExternalRefund) bool { return known.ID == r.ID })
	switch {
	case i >= 0:
		list[i].State = max(list[i].State, r.State)
	case r.ID != "":
		list = append(list, ExternalRefund{ID: r.ID, Amount: r.Amount, Tax: r.Tax, Currency: c, State: r.State, At: at})
	}
	return list
}

// cut shortens text to the stored length. It does not split a character.
func cut(text string) string {
	if !isText(text) {
		return ""
	}
	for i := range text {
		if i > MaxFailureLength-4 {
			return text[:i]
		}
	}
	return text
}

// wait returns how long a sweep waits before it checks a paid order. 0 means that nothing is due.
func (o Order) wait() (wait time.Duration) {
	if o.endIsDue() {
		return DueRetry
	}
	for i := range o.Refunds {
		switch o.Refunds[i].Repayment.State { //nolint:exhaustive // the others are over
		case RepaymentDue:
			return DueRetry
		case RepaymentPending:
			wait = RepaymentPoll
		}
	}
	return wait
}

// due sets the deadline at which a sweep checks a paid order.
func (o Order) due(at time.Time) Order {
	wait := o.wait()
	next := at.Add(wait)
	switch passed := !at.Before(o.Deadline); {
	case wait == 0:
		o.Deadline = time.Time{}
	case passed || next.Before(o.Deadline): // a zero deadline counts as passed
		o.Deadline = next
	}
	return o
}

// SameMoney reports whether two states of an order have the same charge, refunds, repayments,
// disputes and other payments.
func SameMoney(o, p Order) bool {
	return o.Charge.Equal(p.Charge) && slices.EqualFunc(o.Refunds, p.Refunds, func(a, b Refund) bool { return a.ID == b.ID && a.Repayment == b.Repayment }) &&
		slices.Equal(o.ExternalRefunds, p.ExternalRefunds) && slices.Equal(o.Disputes, p.Disputes) &&
		slices.EqualFunc(o.OtherPayments, p.OtherPayments, samePayment)
}

// reportFaults reports every part of a report that a store would refuse.
func (e Event) reportFaults(faults *validation.Error) {
	switch {
	case e.Kind == Reported:
		faults.Merge("", e.Report.Validate("report.refunds", "report.disputes"))
	case !e.Report.isZero():
		faults.Add("report", validation.NotAllowed, "the event is no report")
	}
}

// Validate returns a [*validation.Error] that names every part of the report that no store keeps. The
// refunds and the disputes have the given names in it.
func (r Report) Validate(refunds, disputes string) error {
	var faults validation.Error
	for field, n := range map[string]int{refunds: len(r.Refunds), disputes: len(r.Disputes)} {
		if n > MaxReported {
			faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d", MaxReported))
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	for i, refund := range r.Refunds {
		refund.faults(&faults, fmt.Sprintf("%s[%d].", refunds, i))
	}
	for i, d := range r.Disputes {
		field := fmt.Sprintf("%s[%d].", disputes, i)
		textFault(&faults, field+"id", d.ID, MaxIDLength, true)
		if d.State.String() == "" {
			faults.Add(field+"state", validation.Unknown, "must be open, won or lost")
		}
		if d.Amount < 0 {
			faults.Add(field+"amount", validation.TooSmall, "must be at least 0")
		}
	}
	return faults.Err()
}

func (r ReportedRefund) faults(faults *validation.Error, field string) {
	textFault(faults, field+"id", r.ID, MaxIDLength, r.State != RepaymentFailed)
	if r.State < RepaymentPending || r.State > RepaymentFailed {
		faults.Add(field+"state", validation.Unknown, "must be pending, succeeded or failed")
	}
	if r.Amount < 0 {
		faults.Add(field+"amount", validation.TooSmall, "must be at least 0")
	}
	if r.Tax < 0 || r.Tax > max(r.Amount, 0) {
		faults.Add(field+"tax", validation.Mismatch, "must be at least 0 and at most the amount")
	}
}
