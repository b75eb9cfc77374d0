package settle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Record records what is known of a payment: a fact, and what goes back to the payer. The outcome has
// the order as it is after that. It is empty if there is no order.
func (l *Ledger) Record(ctx context.Context, fact redemption.Event, payer eligibility.Customer, back redemption.Report) (Outcome, error) {
	settled, err := l.fact(ctx, fact, payer)
	if err == nil && len(back.Refunds)+len(back.Disputes) > 0 {
		settled, err = l.returned(ctx, settled, fact.SessionID, back)
	}
	if err != nil {
		return Outcome{}, err
	}
	return l.Outcome(ctx, settled, fact), nil
}

func (l *Ledger) fact(ctx context.Context, e redemption.Event, payer eligibility.Customer) (store.Settled, error) {
	switch {
	case e.OrderID == "" && e.SessionID == "":
		return store.Settled{}, ErrNoOrder
	case e.Kind == redemption.PaymentOpened && e.SessionID == "":
		return l.orderOf(ctx, e) // nobody can find this payment again
	}
	settled, err := l.Apply(ctx, store.Settlement{Event: e})
	switch {
	case errors.Is(err, redemption.ErrIllegal), errors.Is(err, store.ErrSuperseded) && e.Kind == redemption.PaymentOpened:
		return l.orderOf(ctx, e) // for example, the end of a payment that the order does not have
	case err != nil || !settled.Order.IsZero():
		return settled, err
	case e.OrderID == "":
		return store.Settled{}, ErrNoOrder
	case e.Kind != redemption.Paid:
		return l.orderOf(ctx, e)
	}
	unknown, err := l.Unknown(ctx, e, payer, nil)
	if err != nil {
		return store.Settled{}, err
	}
	return l.Apply(ctx, store.Settlement{Event: e, Unknown: unknown})
}

// orderOf returns the order of a payment, or the zero value.
func (l *Ledger) orderOf(ctx context.Context, e redemption.Event) (store.Settled, error) {
	by := store.OrderKey{ID: e.OrderID}
	if e.OrderID == "" {
		by = store.OrderKey{SessionID: e.SessionID}
	}
	found, err := l.Store.Order(ctx, by)
	if errors.Is(err, store.ErrNotFound) {
		return store.Settled{}, nil
	}
	return found, err
}

// returned records the money that goes back to the customer.
func (l *Ledger) returned(ctx context.Context, settled store.Settled, paymentID string, back redemption.Report) (store.Settled, error) {
	o := settled.Order
	if !o.State.Paid() {
		return settled, nil
	}
	if paymentID == "" || !o.PaidIn(paymentID) {
		paymentID = o.SessionID
	}
	after, err := l.Apply(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Reported, At: l.Now(), OrderID: o.ID, SessionID: paymentID, Report: back,
	}})
	after.Changed = after.Changed || settled.Changed
	after.Ended = settled.Ended
	return after, err
}

// Unknown is the record of a payment whose order the store does not have. The customer has paid, and the
// coupons that the payment names are used. What was bought is unknown: the quote has one line that costs what
// was paid, so that it can be refunded.
func (l *Ledger) Unknown(
	ctx context.Context, paid redemption.Event, payer eligibility.Customer, couponIDs []string,
) (store.Reservation, error) {
	id := paid.OrderID
	if id == "" {
		var err error
		if id, err = l.NewID(redemption.OrderIDPrefix); err != nil {
			return store.Reservation{}, err
		}
	}
	identities := payer.Identities()
	o := redemption.Order{
		ID: id, CustomerID: payer.ID, State: redemption.OrderPaid,
		SessionID: paid.SessionID, Charge: paid.Charge.Clone(), Quote: quoteOf(paid.Charge), CreatedAt: paid.At,
	}
	o.Charge.Tax.Lines = nil // the lines of the order are unknown
	if len(identities) > 0 {
		o.Claims = eligibility.OrderClaims(identities)
	}
	unknown := store.Reservation{Order: o}
	for _, couponID := range couponIDs {
		if redemption.CheckOrderID(couponID) != nil {
			continue // no coupon has such an ID
		}
		found, err := store.Find(ctx, l.Store, store.LookUp{Names: store.ByID(couponID)})
		if err != nil && !errors.Is(err, coupon.ErrNotFound) {
			return store.Reservation{}, err
		}
		found.Coupon.ID = couponID // a deleted coupon has no limits
		useID, err := l.NewID(redemption.UseIDPrefix)
		if err != nil {
			return store.Reservation{}, err
		}
		unknown.Uses = append(unknown.Uses, redemption.Use{
			ID: useID, CouponID: couponID, CustomerID: payer.ID, OrderID: o.ID,
			State: redemption.Completed, Origin: redemption.FromPayment,
			Claims:    eligibility.Claimant{Coupon: &found.Coupon, Identities: identities, At: paid.At}.Claims(),
			Restore:   found.Coupon.RestoreOnRefund,
			CreatedAt: paid.At, CompletedAt: paid.At,
		})
	}
	return unknown, nil
}

// paymentLine is the ID of the only line in an order that is known only from its payment.
const paymentLine = "payment"

// quoteOf returns a quote with one line that costs the charge. Each minor unit is a unit of the line,
// so that every amount can be refunded. If the charge is unknown, the quote is empty.
func quoteOf(c redemption.Charge) pricing.Quote {
	line := pricing.Line{ID: paymentLine, Kind: paymentLine, ItemID: paymentLine, Quantity: c.Amount, UnitPrice: 1}
	if c.Amount == 0 {
		line.Quantity, line.UnitPrice = 1, 0
	}
	q, err := pricing.Price(pricing.Cart{Currency: c.Currency, Lines: []pricing.Line{line}})
	if err != nil {
		return pricing.Quote{} // a price cannot be negative
	}
	return q
}

// Charge returns what was charged, as it is recorded. A payment is always recorded: what no store keeps is
// left out, and the order is then flagged.
func Charge(total int64, currency pricing.Currency, tax pricing.Tax) redemption.Charge {
	if currency.IsZero() {
		return redemption.Charge{}
	}
	storable := func(minor int64) int64 { return max(minor, -math.MaxInt64) }
	c := redemption.Charge{Currency: currency, Amount: storable(total), Tax: pricing.Tax{Amount: storable(tax.Amount)}}
	for _, l := range tax.Lines[:min(len(tax.Lines), pricing.MaxLines)] {
		if fits := utf8.RuneCountInString(l.LineID) <= pricing.MaxLineIDLength; fits && utf8.ValidString(l.LineID) && !slices.Contains([]byte(l.LineID), 0) {
			c.Tax.Lines = append(c.Tax.Lines, pricing.LineTax{LineID: l.LineID, Amount: storable(l.Amount)})
		}
	}
	return c
}

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
		e.Charge = redemption.Charge{} // the charge belongs to another payment
	}
	return Outcome{settled, l.Flag(ctx, e.Charge, settled)}
}

// Flag is the flag of an order. It compares the charge with the charge that the provider reports now, if any.
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
	lost := func(u redemption.Use) bool { // the customer may have spent the points on another order
		return u.PointsState == redemption.PointsRefundDue || u.PointsState == redemption.PointsRefunded ||
			u.State == redemption.Completed && u.PointsState == redemption.PointsPassedOn
	}
	switch {
	case !o.State.Paid():
		return ""
	case o.CheckCharge() != nil:
		return FlagAmountMismatch
	case o.Key == "": // the order was not made by a checkout
		return FlagUnknownOrder
	case o.PaidTwice():
		return FlagPaidTwice
	case slices.ContainsFunc(settled.Uses, func(u redemption.Use) bool { return u.OverLimit }):
		return FlagOverLimit
	case o.State == redemption.OrderPaid && slices.ContainsFunc(settled.Uses, lost): // a refund also returns points
		return FlagPointsRefunded
	case slices.ContainsFunc(o.Refunds, failed), o.Owed() > 0:
		return FlagRefundFailed
	case slices.ContainsFunc(o.Disputes, func(d redemption.Dispute) bool { return d.State != redemption.DisputeWon }):
		return FlagDisputed
	case slices.ContainsFunc(o.ExternalRefunds, returned):
		return FlagExternalRefund
	}
	return ""
}
