package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// usable returns the reservation of the customer that a checkout of the coupon uses:
// one that is in no session, so that none has to be ended, else the oldest. A coupon
// that is exchanged for points by now is not paid with a place that cost none.
func usable(f store.Found) (redemption.Redemption, bool) {
	best, found := redemption.Redemption{}, false
	for _, r := range f.Held {
		if f.Coupon.Distribution == coupon.PointsRedeemable && r.Origin != redemption.FromPoints {
			continue
		}
		if r.Usable() && (!found || best.SessionID != "" && r.SessionID == "") {
			best, found = r, true
		}
	}
	return best, found
}

// takeOverTime is how long a checkout has to end the session of a reservation and to take
// it over. It is more than a processor's answer takes, and than clocks of processes differ.
const takeOverTime = 5 * time.Minute

// takeOver moves the customer's own reservation to the order (contract section 5.3).
// The session that has it is ended at the processor first; if that turns out to be
// paid, the use counts and the caller decides again with the new figures.
func (s *Service) takeOver(
	ctx context.Context, held redemption.Redemption, order store.Order, revision int64,
) (store.Order, bool, error) {
	order.ReservationID = held.ID
	if held.SessionID != "" {
		// The session may be that of this very key, opened by a call at the same time.
		before, err := s.replay(ctx, order.CustomerID, order.Key, order.Fingerprint)
		if !errors.Is(err, store.ErrNotFound) {
			return before, true, err
		}
		if err := s.leave(ctx, held); err != nil {
			return order, false, err
		}
	}
	taken, err := s.store.TakeOver(ctx, store.TakeOver{
		ReservationID: held.ID, FromSessionID: held.SessionID, CouponRevision: revision,
		Order: order, Deadline: order.Deadline, At: order.CreatedAt,
	})
	var refused *coupon.Rejection
	if held.SessionID != "" && errors.As(err, &refused) {
		s.giveUp(ctx, held)
	}
	return taken.Order, taken.Replayed, err
}

// leave ends the session of a reservation that is about to be taken over. The processor
// tells of that end, and may tell it before the reservation has moved: the event would
// give away place and points of a customer who is using them. So the store knows first.
func (s *Service) leave(ctx context.Context, held redemption.Redemption) error {
	now := s.now()
	_, err := s.store.Transition(ctx, held.ID, redemption.Event{
		Kind: redemption.Leaving, At: now, SessionID: held.SessionID, Deadline: now.Add(takeOverTime),
	})
	if errors.Is(err, redemption.ErrIllegal) {
		return fmt.Errorf("%w: %w", store.ErrSuperseded, err)
	}
	if err != nil {
		return fmt.Errorf("leave session %s: %w", held.SessionID, err)
	}
	ended, err := s.endSession(ctx, held)
	if err == nil && !ended {
		err = fmt.Errorf("session %s: %w", held.SessionID, store.ErrSuperseded)
	}
	return err
}

// giveUp releases a reservation whose session has ended and that the coupon's terms let no
// order take over any more. What fails is left to the sweep.
func (s *Service) giveUp(ctx context.Context, held redemption.Redemption) {
	if err := s.release(ctx, held); err != nil {
		s.logger.WarnContext(ctx, "a reservation that no order can use is left to the sweep",
			slog.String("reservation", held.ID), slog.Any("error", err))
	}
}

// endSession ends the session of a reservation at the processor and settles what it
// turned out to be. It reports whether the session ended unpaid, so that the
// reservation is free for another order.
func (s *Service) endSession(ctx context.Context, held redemption.Redemption) (bool, error) {
	session, err := s.processor.ExpireSession(ctx, held.SessionID)
	if errors.Is(err, processor.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("end session %s: %w", held.SessionID, err)
	}
	if session.Status == processor.SessionExpired {
		return true, nil
	}
	_, err = s.settle(ctx, s.settlement(session, held))
	return false, err
}

// settlement says what the processor's session means for a reservation. A session
// that is still open says nothing: it is a delayed payment at most.
func (s *Service) settlement(session processor.Session, r redemption.Redemption) store.Settlement {
	now := s.now()
	kind := redemption.SessionUnpaid
	switch {
	case session.Status == processor.SessionExpired:
		kind = redemption.SessionExpired
	case session.PaymentFailed:
		kind = redemption.PaymentFailed
	case session.Status == processor.SessionComplete && session.PaymentStatus.Settled():
		kind = redemption.SessionCompleted
	}
	return store.Settlement{
		Event: redemption.Event{
			Kind: kind, At: now, SessionID: session.ID, OrderID: r.OrderID, Deadline: now.Add(s.paymentWait),
		},
		ReservationID: r.ID, CouponID: r.CouponID, CustomerID: r.CustomerID, NewID: s.newID(redemption.IDPrefix),
	}
}
