package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

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

// takeOver moves the customer's own reservation to the order (contract section 5.3).
// The session that has it is ended at the processor first; if that turns out to be
// paid, the use counts and the caller decides again with the new figures.
func (s *Service) takeOver(
	ctx context.Context, held redemption.Redemption, order store.Order, revision int64,
) (store.Order, bool, error) {
	order.ReservationID = held.ID
	request := store.TakeOver{
		ReservationID: held.ID, FromSessionID: held.SessionID, CouponRevision: revision,
		Order: order, Deadline: order.Deadline, At: order.CreatedAt,
	}
	if held.SessionID != "" {
		// The session may be that of this very key, opened by a call at the same time.
		before, err := s.replay(ctx, order.CustomerID, order.Key, order.Fingerprint)
		if !errors.Is(err, store.ErrNotFound) {
			return before, true, err
		}
		s.leaving.LoadOrStore(held.SessionID, &request)
		defer s.leaving.CompareAndDelete(held.SessionID, &request)
		ended, err := s.endSession(ctx, held)
		if err != nil {
			return order, false, err
		}
		if !ended {
			return order, false, fmt.Errorf("session %s: %w", held.SessionID, store.ErrSuperseded)
		}
	}
	taken, err := s.store.TakeOver(ctx, request)
	return taken.Order, taken.Replayed && taken.Order.ID != order.ID, err
}

// letGo moves the reservation that a checkout of this process is about to take out of
// the session, which has ended. The processor tells of the end that the checkout has
// asked for, and may do so before the checkout has its answer: the event would give
// away place and points of a customer who is using them. Where the move is refused the
// event goes on, and the checkout decides again; where it fails the event waits.
func (s *Service) letGo(ctx context.Context, sessionID string) error {
	leaving, _ := s.leaving.Load(sessionID)
	request, under := leaving.(*store.TakeOver)
	if !under {
		return nil
	}
	_, err := s.store.TakeOver(ctx, *request)
	var refused *coupon.Rejection
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) || errors.As(err, &refused) {
		s.logger.DebugContext(ctx, "a reservation stays in the session that has ended",
			slog.String("session", sessionID), slog.Any("error", err))
		return nil
	}
	if err != nil {
		return fmt.Errorf("take the reservation out of session %s: %w", sessionID, err)
	}
	return nil
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
