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

// usable returns the reservation of the customer that a checkout of the coupon uses: of
// those that end the least, the oldest. A coupon that is exchanged for points by now is
// not paid with a place that cost none.
func usable(f store.Found) (redemption.Redemption, bool) {
	best, found := redemption.Redemption{}, false
	for _, r := range f.Held {
		if f.Coupon.Distribution == coupon.PointsRedeemable && r.Origin != redemption.FromPoints {
			continue
		}
		if r.Usable() && (!found || ends(r) < ends(best)) {
			best, found = r, true
		}
	}
	return best, found
}

// ends ranks what it ends to take the reservation over: nothing, an order that may be about
// to get its session, a session.
func ends(r redemption.Redemption) int {
	switch {
	case r.OrderID == "":
		return 0
	case r.SessionID == "":
		return 1
	}
	return 2
}

// takeOverTime is how long a checkout has to end the session of a reservation and to take
// it over. It is more than a processor's answer takes, and than clocks of processes differ.
const takeOverTime = 5 * time.Minute

// takeOver moves the customer's own reservation to the order (contract section 5.3).
// The session that has it is ended at the processor first; if that turns out to be
// paid, the use counts and the caller decides again with the new figures. If it has
// ended unpaid, left is the reservation: the order's, or in no session that can be paid.
func (s *Service) takeOver(
	ctx context.Context, held redemption.Redemption, p priced, order store.Order, left *redemption.Redemption,
) (store.Order, bool, error) {
	order.ReservationID = held.ID
	if held.SessionID != "" {
		// The session may be that of this very key, opened by a call at the same time.
		before, err := s.replay(ctx, order.CustomerID, order.Key, order.Fingerprint)
		if !errors.Is(err, store.ErrNotFound) {
			return before, true, err
		}
		if err := s.notOfExchange(ctx, p, order.Key); err != nil {
			return order, false, err
		}
		if err := s.leave(ctx, held); err != nil {
			return order, false, err
		}
		*left = held
	}
	taken, err := s.store.TakeOver(ctx, store.TakeOver{
		ReservationID: held.ID, FromSessionID: held.SessionID, CouponRevision: p.found.Coupon.Revision,
		Order: order, Deadline: order.Deadline, At: order.CreatedAt,
	})
	return taken.Order, taken.Replayed, err
}

// notOfExchange refuses a key that is that of an exchange of points, of whatever coupon and
// whatever has become of it, which no order can have: the store says so too, but only once
// the session has been ended. Of coupons that cost no points it has said so already. It
// reads the customer's redemptions, a page at a time.
func (s *Service) notOfExchange(ctx context.Context, p priced, key string) error {
	if p.found.Coupon.Distribution != coupon.PointsRedeemable {
		return nil
	}
	made, err := s.firstExchange(ctx, p.customer.ID, key)
	if err == nil && made.ID != "" {
		err = store.ErrKeyReused
	}
	return err
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

// giveUp releases a reservation whose session has ended for an order that the coupon
// refuses by now. Totals that are not those expected, and a mirror that is being written,
// are no such refusal: the next attempt may have the place.
func (s *Service) giveUp(ctx context.Context, left redemption.Redemption, cause error) {
	var refused *coupon.Rejection
	if !errors.As(cause, &refused) || passing(cause) {
		return
	}
	s.free(ctx, left)
}

// passing reports whether a refusal may be over with the next attempt.
func passing(refused error) bool {
	return errors.Is(refused, coupon.ErrCartTotalsInvalid) || errors.Is(refused, coupon.ErrProcessorOutOfSync)
}

// free releases a reservation, if there is one, that is in no session that can be paid. What
// fails is left to the sweep.
func (s *Service) free(ctx context.Context, left redemption.Redemption) {
	if left.ID == "" {
		return
	}
	ctx, cancel := detached(ctx)
	defer cancel()
	if err := s.release(ctx, left); err != nil {
		s.logger.WarnContext(ctx, "a reservation that no order can use is left to the sweep",
			slog.String("reservation", left.ID), slog.Any("error", err))
	}
}

// endSession ends the session of a reservation at the processor and settles what it
// turned out to be. It reports whether the session ended unpaid, so that the
// reservation is free for another order.
func (s *Service) endSession(ctx context.Context, held redemption.Redemption) (bool, error) {
	session, err := s.expire(ctx, held.SessionID)
	if errors.Is(err, processor.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("end session %s: %w", held.SessionID, err)
	}
	if session.Status == processor.SessionExpired {
		return true, nil
	}
	_, err = s.settleSession(ctx, session, s.settlement(session, held))
	return false, err
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

// settlement says what the processor's session means for a reservation once it is open no
// more: one that was neither paid nor has ended unpaid waits for a delayed payment.
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
