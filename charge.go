package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// charge is what a processor tells of a payment, as it is recorded. A payment is always recorded:
// what no store keeps is left out here, and the order is then flagged.
func charge(total int64, currency pricing.Currency, tax pricing.Tax) redemption.Charge {
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

// chargeOfEvent is the charge of a payment event. If the event tells a tax and not of which lines,
// the session may tell that. A processor that refuses to tell it leaves the payment as it is.
func (s *Service) chargeOfEvent(ctx context.Context, e processor.Event) (redemption.Charge, error) {
	reported := charge(e.Total, e.Currency, e.Tax)
	if e.Tax.Amount == 0 || len(e.Tax.Lines) > 0 {
		return reported, nil
	}
	session, err := s.processor.Session(ctx, e.SessionID)
	switch {
	case errors.Is(err, processor.ErrNotFound), errors.Is(err, processor.ErrForbidden), errors.Is(err, processor.ErrRejected):
		return reported, nil
	case err != nil:
		return reported, fmt.Errorf("tax of session %s: %w", e.SessionID, err)
	}
	return chargeOf(session), nil
}

// flag is the flag of an order whose processor tells of a charge now. The charge may be unknown.
func (s *Service) flag(ctx context.Context, reported redemption.Charge, settled store.Settled) Flag {
	o := settled.Order
	err := o.CheckCharge()
	if o.State.Paid() && o.Charge.Differs(reported) {
		err = fmt.Errorf("%d %s and a tax of %d were charged before, %d %s and a tax of %d now",
			o.Charge.Amount, o.Charge.Currency, o.Charge.Tax.Amount, reported.Amount, reported.Currency, reported.Tax.Amount)
	}
	if err == nil {
		return FlagOf(settled)
	}
	s.logger.ErrorContext(ctx, "a session charged another amount than its order",
		slog.String("order", o.ID), slog.String("session", o.SessionID), slog.Any("error", err))
	return FlagAmountMismatch
}

// chargeOf is the charge of a session that was paid.
func chargeOf(session processor.Session) redemption.Charge {
	return charge(session.Total, session.Currency, session.Tax)
}
