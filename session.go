package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// sessionDetails are what a session shows and an order does not keep.
type sessionDetails struct {
	email      string
	describe   func(pricing.Line) string
	successURL string
	cancelURL  string
}

// SessionOptions are what a payment session shows, and an order does not keep.
type SessionOptions struct {
	// Email is the address that the payment page shows, or empty.
	Email string
	// Describe, SuccessURL and CancelURL are those of [CheckoutRequest].
	Describe   func(pricing.Line) string
	SuccessURL string
	CancelURL  string
}

// OpenSession opens the payment session of an order that [Ledger.Reserve] has reserved. A repeated call
// returns the same session. The payment of an order that this order has replaced is ended first. Call
// OpenSession after the commit of the transaction that has reserved the order.
//
// OpenSession returns these errors:
//
//   - A [*validation.Error] names every invalid field of the request.
//   - store.ErrNotFound means that there is no such order.
//   - [ErrOrderEnded] means that the order has ended, or that too little of its hold is left for a session.
//   - [ErrOrderPaid] means that the order is paid, or that its payment is on its way.
//   - store.ErrSuperseded means that the order has another payment, which [Ledger.AttachPayment] has stored.
//   - A [*coupon.Rejection] that matches coupon.ErrBelowMinimumCharge means that the processor does not charge
//     the total.
//   - [ErrPaymentOpen] means that the payment of the replaced order may be created right now.
//   - processor.ErrRejected and processor.ErrForbidden mean that the processor refused the session. If no
//     session of the order can exist, the order has ended.
//   - [ErrUnavailable], or the error of the context, means that the result is unknown. Repeat the call.
//   - [ErrNoProcessor] and [ErrInTransaction] are those of [Service.Checkout].
func (s *Service) OpenSession(ctx context.Context, orderID string, options SessionOptions) (_ SessionLink, err error) {
	attempt := Attempt{OrderID: orderID}
	defer s.observed(ctx, OpOpenSession, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return SessionLink{}, err
	}
	if !s.hasProcessor() {
		return SessionLink{}, ErrNoProcessor
	}
	if s.abilities.NeedsSuccessURL && options.SuccessURL == "" {
		return SessionLink{}, validation.New("successUrl", validation.Required, "the processor needs an address to return to")
	}
	if err := settle.RequireOrderID(orderID); err != nil {
		return SessionLink{}, err
	}
	found, err := s.store.Order(ctx, store.OrderKey{ID: orderID})
	if err != nil {
		return SessionLink{}, err
	}
	attempt.CustomerID = found.Order.CustomerID
	if o := found.Order; settle.Payable(o) == nil && o.BegunAt.IsZero() && s.isTooLate(o) {
		return SessionLink{}, fmt.Errorf("%w: too little of the hold of order %s is left for a session", ErrOrderEnded, o.ID)
	}
	o, _, err := s.openSession(ctx, store.Reserved{Order: found.Order, Uses: found.Uses, Replayed: !found.Order.BegunAt.IsZero()}, sessionDetails{
		email: options.Email, describe: options.Describe, successURL: options.SuccessURL, cancelURL: options.CancelURL,
	})
	attempt.SessionID = o.SessionID
	if err != nil {
		return SessionLink{}, err
	}
	return SessionLink{ID: o.SessionID, URL: o.SessionURL, ExpiresAt: s.sessionEnd(o)}, nil
}

// errFinished tells that the customer has finished the session of the order that this one has
// replaced.
var errFinished = fmt.Errorf("%w: the customer has finished the session of an earlier order", ErrOrderEnded)

// openSession makes the order's session, or returns the order with the one that it has. The
// session of an order that it has replaced is ended first. An order of a repeated key may be
// too old for a session, have ended, or be paid.
func (s *Service) openSession(
	ctx context.Context, reserved store.Reserved, d sessionDetails,
) (redemption.Order, []redemption.Use, error) {
	o, uses := reserved.Order, reserved.Uses
	switch err := settle.Payable(o); {
	case err != nil:
		return o, uses, err
	case o.SessionID != "" && o.SessionURL != "":
		return s.reopen(ctx, o, uses)
	}
	begun, err := s.beginPayment(ctx, reserved)
	repeated := reserved.Replayed || begun.Order.Version > o.Version+1 // another call has begun since
	o, uses = begun.Order, begun.Uses
	switch {
	case err != nil:
		return o, uses, err
	case o.SessionID != "" && o.SessionURL != "": // and has attached its session
		return s.reopen(ctx, o, uses)
	}
	session, err := s.processor.CreateSession(ctx, s.sessionRequest(o, d))
	if err == nil {
		return s.attach(ctx, o, uses, session)
	}
	if answered(err) {
		s.refused(ctx, o, repeated)
		if errors.Is(err, processor.ErrBelowMinimum) {
			return o, uses, belowMinimum(o)
		}
		if repeated && s.isTooLate(o) {
			return o, uses, fmt.Errorf("%w: %s", ErrOrderEnded, err.Error())
		}
	}
	return o, uses, fmt.Errorf("open session for order %s: %w", o.ID, noInput(err))
}

// isTooLate reports whether too little of an open order's hold is left for a new session.
func (s *Service) isTooLate(o redemption.Order) bool {
	return s.sessionEnd(o).Sub(s.now()) < max(s.abilities.MinSessionLifetime, 1)
}

// reopen returns an open order if its session can be paid. It asks the processor once the session's
// time is over, for the event of its end may be late or lost.
func (s *Service) reopen(ctx context.Context, o redemption.Order, uses []redemption.Use) (redemption.Order, []redemption.Use, error) {
	if s.now().Before(s.sessionEnd(o)) {
		return o, uses, nil
	}
	session, forgotten, err := s.sessionOf(ctx, o)
	if err != nil || !s.newOf(session, o, forgotten) {
		return o, uses, err
	}
	settled, err := s.settleSession(ctx, session, o)
	if err != nil {
		return o, uses, err
	}
	return settled.Order, settled.Uses, settle.Payable(settled.Order)
}

// belowMinimum refuses an order whose total the processor does not charge, as it told only when it
// was asked. The minimum is unknown.
func belowMinimum(o redemption.Order) error {
	couponID := ""
	if len(o.Coupons) == 1 {
		couponID = o.Coupons[0].ID
	}
	return coupon.Reject(couponID, coupon.BelowMinimumCharge, coupon.Params{
		Total: coupon.Amount{Money: pricing.NewMoney(o.Quote.Total, o.Quote.Currency)},
	})
}

// attach records the session that was made for the order.
func (s *Service) attach(
	ctx context.Context, o redemption.Order, uses []redemption.Use, session processor.Session,
) (redemption.Order, []redemption.Use, error) {
	if session.Status == processor.SessionExpired { // an earlier call has made it, whose answer was lost
		s.abandon(ctx, o)
		return o, uses, ErrOrderEnded
	}
	if session.Total != o.Quote.Total || session.Currency != o.Quote.Currency {
		s.discard(ctx, o, session.ID)
		return o, uses, fmt.Errorf("session %s charges %s and not %s: %w", session.ID,
			pricing.NewMoney(session.Total, session.Currency), pricing.NewMoney(o.Quote.Total, o.Quote.Currency),
			processor.ErrRejected)
	}
	attached, err := s.store.Apply(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.SessionAttached, At: s.now(), OrderID: o.ID,
		SessionID: session.ID, SessionURL: session.URL, Deadline: o.Deadline,
	}, By: actorOf(ctx)})
	switch {
	case err == nil:
		return attached.Order, attached.Uses, nil
	case errors.Is(err, store.ErrSuperseded):
		s.discard(ctx, o, session.ID)
		if late := (*redemption.TransitionError)(nil); errors.As(err, &late) && late.State != redemption.OrderOpen.String() {
			err = fmt.Errorf("%w: %w", ErrOrderEnded, err) // it was cancelled or replaced meanwhile
		}
	case errors.Is(err, validation.ErrInvalid):
		s.discard(ctx, o, session.ID)
		err = badAnswer(err)
	}
	return o, uses, fmt.Errorf("attach session to order %s: %w", o.ID, err)
}

// badAnswer is the error for an answer of the processor that the store refuses, such as an answer
// without an ID. The error does not match validation.ErrInvalid, because the caller's input is valid.
func badAnswer(err error) error {
	return fmt.Errorf("%w, whose answer cannot be stored: %s", processor.ErrRejected, err.Error())
}

// noInput is the error of a processor that refuses a session, which names fields of
// ours and none of the caller's: the cart was checked before, so that what is left is a
// matter of configuration, such as two clocks.
func noInput(err error) error {
	if errors.Is(err, validation.ErrInvalid) {
		return sessionRefusedError{err}
	}
	return err
}

// sessionRefusedError matches what the error of the processor matches, except that it is no
// malformed input.
type sessionRefusedError struct{ error }

func (r sessionRefusedError) Is(target error) bool {
	return target != validation.ErrInvalid && errors.Is(r.error, target)
}

func (r sessionRefusedError) As(target any) bool {
	_, input := target.(**validation.Error)
	return !input && errors.As(r.error, target)
}

// answered reports whether the processor has refused, as opposed to not having
// answered.
func answered(err error) bool {
	return errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrForbidden) ||
		errors.Is(err, processor.ErrNotFound)
}

// refused gives up an order for which the processor refuses a session. If an earlier call may have created
// one, the order is ending, or keeps its claims until its deadline, and the sweep looks for the session.
func (s *Service) refused(ctx context.Context, o redemption.Order, repeated bool) {
	switch {
	case !repeated:
		s.abandon(ctx, o)
	case o.Replaces == "":
		ctx, cancel := detached(ctx)
		defer cancel()
		if _, err := s.settle(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Cancelled, At: s.now(), OrderID: o.ID}}); err != nil {
			s.logger.WarnContext(ctx, "a refused order is left to the sweep", slog.String("order", o.ID), slog.Any("error", err))
		}
	}
}

// abandon cancels an order whose session cannot be paid. An order that has replaced another one
// keeps its claims until its deadline, so that the customer can go back to the first cart.
// What fails here is left to the sweep.
func (s *Service) abandon(ctx context.Context, o redemption.Order) {
	ctx, cancel := detached(ctx)
	defer cancel()
	e := redemption.Event{Kind: redemption.SessionExpired, At: s.now(), BegunBy: o.BegunAt, OrderID: o.ID}
	if o.Replaces != "" {
		e.Kind = redemption.PaymentEnded
	}
	if _, err := s.settle(ctx, store.Settlement{Event: e}); err != nil {
		s.logger.WarnContext(ctx, "an abandoned order is left to the sweep",
			slog.String("order", o.ID), slog.Any("error", err))
	}
}

// discard ends a session that was created for the order and that no customer will see. If it cannot
// be ended now, the order is ending, and the sweep ends the session.
func (s *Service) discard(ctx context.Context, o redemption.Order, sessionID string) {
	ctx, cancel := detached(ctx)
	defer cancel()
	session, err := s.expire(ctx, sessionID)
	switch {
	case sessionID == "", errors.Is(err, processor.ErrNotFound), err == nil && session.Status == processor.SessionExpired:
		s.abandon(ctx, o)
		return
	case err != nil:
		s.logger.WarnContext(ctx, "a superseded session could not be ended",
			slog.String("session", sessionID), slog.Any("error", err))
		_, err = s.settle(ctx, store.Settlement{Event: redemption.Event{Kind: redemption.Cancelled, At: s.now(), OrderID: o.ID}})
	default: // it was paid
		_, err = s.settleSession(ctx, session, o)
	}
	if err != nil {
		s.logger.WarnContext(ctx, "an abandoned order is left to the sweep",
			slog.String("order", o.ID), slog.Any("error", err))
	}
}

// sessionRequest is a function of the order, and of what the caller shows beside it:
// a repeated call asks for the same session.
func (s *Service) sessionRequest(o redemption.Order, d sessionDetails) processor.SessionRequest {
	r := processor.SessionRequest{
		Key: o.ID, OrderID: o.ID, Mode: processor.Payment, Currency: o.Quote.Currency, Total: o.Quote.Total,
		Coupons: o.Coupons, CustomerEmail: d.email, SuccessURL: d.successURL, CancelURL: d.cancelURL,
		ExpiresAt: s.sessionEnd(o), OrderedAt: o.CreatedAt, Metadata: sessionMetadata(o),
	}
	var few []processor.SessionLine
	for i, l := range o.Quote.Lines {
		if l.Recurs != pricing.Once {
			r.Mode = processor.Subscription
		}
		name := l.ItemID
		if d.describe != nil {
			name = d.describe(l.Line)
		}
		units := o.Quote.Units(i)
		if l.Recurs != pricing.Once && s.recurring == FirstPeriod {
			r.FirstPeriodDiscount += l.Discount
			units = []pricing.UnitGroup{{Quantity: l.Quantity, UnitPrice: l.UnitPrice}}
		}
		for _, group := range units {
			r.Lines = append(r.Lines, sessionLine(l, name, group))
		}
		few = append(few, mergeUnits(r.Lines[len(r.Lines)-len(units):])...)
	}
	if most := s.abilities.MaxLines; most > 0 && len(r.Lines) > most {
		r.Lines = few
	}
	return r
}

func sessionLine(l pricing.QuotedLine, name string, units pricing.UnitGroup) processor.SessionLine {
	return processor.SessionLine{
		LineID: l.ID, Kind: l.Kind, Class: l.Class, ItemID: l.ItemID, Name: name,
		Quantity: units.Quantity, UnitAmount: units.UnitPrice, Recurs: l.Recurs,
	}
}

// mergeUnits joins the unit prices of one line of a quote into one line of quantity 1
// with the quantity in its name, for processors that take few lines. A line that recurs
// stays as it is: its quantity is the number of seats.
func mergeUnits(units []processor.SessionLine) []processor.SessionLine {
	if len(units) < 2 || units[0].Recurs != pricing.Once {
		return units
	}
	merged := units[0]
	merged.Quantity, merged.UnitAmount = 0, 0
	for _, group := range units {
		merged.Quantity += group.Quantity
		merged.UnitAmount += group.UnitAmount * group.Quantity
	}
	merged.Name = fmt.Sprintf("%d x %s", merged.Quantity, merged.Name)
	merged.Quantity = 1
	return []processor.SessionLine{merged}
}

// sessionMetadata lets an event find its order and reservation when the session was
// never attached to them.
func sessionMetadata(o redemption.Order) map[string]string {
	m := map[string]string{
		processor.MetadataOrderID:    o.ID,
		processor.MetadataCustomerID: o.CustomerID,
	}
	if len(o.Coupons) > 0 {
		maps.Copy(m, processor.MetadataOfCoupons(o.Coupons))
		m[processor.MetadataDiscountAmount] = strconv.FormatInt(o.Quote.Discount, 10)
	}
	return m
}

// expire ends a session at the processor. One that is open all the same, against the
// contract of the processor, can still be paid and has not ended.
func (s *Service) expire(ctx context.Context, id string) (processor.Session, error) {
	session, err := s.processor.ExpireSession(ctx, id)
	if err == nil && session.Status == processor.SessionOpen {
		err = fmt.Errorf("session %s could not be ended: %w", id, processor.ErrUnavailable)
	}
	return session, err
}

// ending is what the processor's session means for its order once it is open no more: one
// that was neither paid nor has ended unpaid waits for a delayed payment.
func (s *Service) ending(session processor.Session, o redemption.Order) redemption.Event {
	now := s.now()
	kind := redemption.PaymentPending
	var identities []string
	var charged redemption.Charge
	switch {
	case session.Status == processor.SessionExpired && o.State == redemption.OrderAwaitingPayment:
		kind = redemption.PaymentFailed // the processor knows of no payment any more
	case session.Status == processor.SessionExpired:
		kind = redemption.SessionExpired
	case session.PaymentFailed:
		kind = redemption.PaymentFailed
	case session.Status == processor.SessionComplete && session.PaymentStatus.Settled():
		kind, identities, charged = redemption.Paid, payer(session.Payer).Identities(), chargeOf(session)
	}
	return redemption.Event{
		Kind: kind, At: now, SessionID: session.ID, OrderID: o.ID, Deadline: now.Add(s.paymentWait),
		Learned: identities, Charge: charged, AskedAt: o.Version, BegunBy: o.BegunAt,
	}
}
