package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// ExchangeRequest asks for a reservation of a points-redeemable coupon.
type ExchangeRequest struct {
	// Key is an idempotency key of the customer. A call with a repeated key returns the key's first
	// reservation. A key that was used for a different coupon fails with store.ErrKeyReused. The
	// customer may already hold a reservation of the coupon that no checkout uses. A call with a
	// new or empty key returns the customer's unused reservation, if any. For the same reservation,
	// the service never debits points a second time. A key has at most [redemption.MaxIDLength]
	// bytes.
	Key string
	// Coupon is the coupon's ID or code. After the coupon was deleted, a repeated key finds its
	// reservation only if Coupon is the coupon's ID.
	Coupon string
	// Customer is the customer who pays with points. A customer with an ID is required.
	Customer eligibility.Customer
}

// ExchangePoints reserves a use of a points-redeemable coupon for the customer (specification 2.3,
// 3.2). ExchangePoints also debits the coupon's price in points. The reservation has no deadline
// until a checkout uses the reservation.
//
// ExchangePoints returns these errors:
//
//   - A [*coupon.Rejection] lists the reasons for which [Service.Validate] would refuse the coupon
//     too.
//   - [ErrInsufficientPoints] means that the customer's balance is too small. ErrInsufficientPoints
//     also matches coupon.ErrPointsNotRedeemed, so check for ErrInsufficientPoints first.
//   - A [*pricing.ValidationError] means that the coupon is not points-redeemable.
//   - [ErrNoLedger] means that the service has no ledger of points.
//   - [ErrReservationClosed] means that the key's reservation was given up. ExchangePoints also
//     returns ErrReservationClosed when the coupon's price in points has changed. After
//     ErrReservationClosed, exchange points with a new key.
//
// After any other error, repeat the call with the same key. The sweep undoes exchanges that nobody
// finishes. If the coupon refuses a repeated call, the customer loses no points and the service
// gives up the reservation. A mirror is the processor's own copy of a coupon. If only the coupon's
// mirror is invalid, the service keeps the reservation.
func (s *Service) ExchangePoints(ctx context.Context, r ExchangeRequest) (reserved redemption.Redemption, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpExchangePoints, &attempt, &err)()
	if s.points == nil {
		return redemption.Redemption{}, ErrNoLedger
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return redemption.Redemption{}, err
	}
	for range placeAttempts {
		reserved, err = s.exchange(ctx, &attempt, r)
		if !errors.Is(err, store.ErrStaleRevision) {
			break
		}
	}
	return reserved, err
}

// exchange is one round of ExchangePoints. The coupon may change before the place is kept.
func (s *Service) exchange(ctx context.Context, attempt *Attempt, r ExchangeRequest) (redemption.Redemption, error) {
	found, question, err := s.ask(ctx, r.Coupon, r.Customer, s.askMirror)
	if err != nil {
		err = refusals(err, signedIn(r.Customer, false))
	}
	if id := strings.TrimSpace(r.Coupon); errors.Is(err, coupon.ErrNotFound) && coupon.IsID(id) {
		made, err := s.exchangedBefore(ctx, id, r, redemption.Redemption{}, err)
		attempt.CouponID = made.CouponID
		return made, err
	}
	if err != nil {
		return redemption.Redemption{}, err
	}
	attempt.CouponID = found.Coupon.ID
	held, holds := exchanged(found.Held, r.Key)
	refused := exchangeable(found.Coupon, question, held)
	switch {
	case holds && held.Key == r.Key:
		return s.debit(ctx, held, refused)
	case holds, refused != nil:
		return s.exchangedBefore(ctx, found.Coupon.ID, r, held, refused)
	}
	if r.Key == "" {
		r.Key = s.newID("key_")
	}
	now := s.now()
	kept, err := s.store.Reserve(ctx, store.Reservation{
		CouponRevision: found.Coupon.Revision,
		Redemption: redemption.Redemption{
			ID: s.newID(redemption.IDPrefix), Key: r.Key, CouponID: found.Coupon.ID, CustomerID: r.Customer.ID,
			State: redemption.Reserved, Origin: redemption.FromPoints,
			Points: found.Coupon.PointsRequired, PointsState: redemption.PointsPending,
			Deadline: now.Add(s.exchangeTime), CreatedAt: now, UpdatedAt: now,
		},
	})
	if err != nil {
		return redemption.Redemption{}, err
	}
	return s.debit(ctx, kept.Redemption, nil)
}

// exchanged returns the reservation by points that the key has made, also when a
// checkout uses it by now; else one that is in no checkout.
func exchanged(held []redemption.Redemption, key string) (free redemption.Redemption, ok bool) {
	for _, r := range held {
		switch {
		case r.Origin != redemption.FromPoints:
		case key != "" && r.Key == key:
			return r, true
		case r.OrderID == "" && !ok:
			free, ok = r, true
		}
	}
	return free, ok
}

// exchangedBefore answers with the reservation that the key has made, also where the coupon
// is gone or refuses by now; for a key that has made none, with another one or, without it,
// the refusal.
func (s *Service) exchangedBefore(
	ctx context.Context, couponID string, r ExchangeRequest, another redemption.Redemption, refused error,
) (redemption.Redemption, error) {
	first, err := s.firstExchange(ctx, r.Customer.ID, r.Key)
	switch {
	case err != nil:
		return redemption.Redemption{}, err
	case first.ID != "" && first.CouponID != couponID:
		return redemption.Redemption{}, store.ErrKeyReused
	case first.ID != "":
		return s.debit(ctx, first, refused)
	case another.ID != "":
		return s.debit(ctx, another, refused)
	}
	return redemption.Redemption{}, refused
}

// firstExchange returns the reservation by points that the key has made, whatever has become
// of it; the zero value is none. Where the coupon lets the customer exchange points, the store
// finds it by itself.
func (s *Service) firstExchange(ctx context.Context, customerID, key string) (redemption.Redemption, error) {
	if key == "" || customerID == "" {
		return redemption.Redemption{}, nil
	}
	list := store.RedemptionList{CustomerID: customerID, PageSize: store.MaxPageSize}
	for {
		page, err := s.store.ListRedemptions(ctx, list)
		if err != nil {
			return redemption.Redemption{}, err
		}
		for _, made := range page.Items {
			if made.Origin == redemption.FromPoints && made.Key == key {
				return made, nil
			}
		}
		if list.After = page.Next; list.After == "" {
			return redemption.Redemption{}, nil
		}
	}
}

// exchangeable says why the coupon cannot be had for points, or not for those of the
// reservation, if there is one, that the customer goes on to pay. That one is not in their own
// way; one in a checkout is, for this would be another.
func exchangeable(c coupon.Coupon, q eligibility.Question, held redemption.Redemption) error {
	if c.Distribution != coupon.PointsRedeemable {
		var faults pricing.ValidationError
		faults.Add("coupon", pricing.FieldNotAllowed, "the coupon is not exchanged for points")
		return faults.Err()
	}
	q.Usage.CustomerHoldsReservation = held.ID != ""
	refused := eligibility.Check(c, q).Without(coupon.PointsNotRedeemed).Err()
	if refused == nil && held.ID != "" && held.Points != c.PointsRequired {
		return fmt.Errorf("reservation %s: the coupon costs %d points and not %d by now: %w",
			held.ID, c.PointsRequired, held.Points, ErrReservationClosed)
	}
	return refused
}

// debit takes the points of a pending reservation and confirms it. One that cannot be had
// any more is given up instead: its points would be gone for a coupon that no checkout takes.
func (s *Service) debit(ctx context.Context, r redemption.Redemption, refused error) (redemption.Redemption, error) {
	switch {
	case r.State == redemption.Released: // no answer that the customer holds one
		return redemption.Redemption{}, fmt.Errorf("reservation %s: %w", r.ID, ErrReservationClosed)
	case r.PointsState != redemption.PointsPending:
		return r, nil
	case passing(refused):
		return redemption.Redemption{}, refused
	case refused != nil:
		return s.refuseExchange(ctx, r, refused)
	}
	err := s.points.Debit(ctx, r.CustomerID, r.ID, r.Points)
	switch {
	case errors.Is(err, ErrInsufficientPoints):
		return s.refuseExchange(ctx, r, fmt.Errorf("%w: %w", coupon.Reject(
			r.CouponID, coupon.PointsNotRedeemed, coupon.Params{PointsRequired: r.Points}), err))
	case errors.Is(err, ErrReservationClosed):
		return redemption.Redemption{}, fmt.Errorf("reservation %s: %w", r.ID, err)
	case err != nil:
		return redemption.Redemption{}, fmt.Errorf("debit points for reservation %s: %w", r.ID, err)
	}
	confirmed, err := s.store.Transition(ctx, r.ID, redemption.Event{Kind: redemption.PointsExchanged, At: s.now()})
	if errors.Is(err, redemption.ErrIllegal) {
		return redemption.Redemption{}, s.tooLate(ctx, r.ID, err)
	}
	return confirmed, err
}

// refuseExchange gives up a reservation whose points were not taken, or of which that is not
// known, unless another call has debited them meanwhile: that one has told the customer that
// the reservation is theirs, and so it is. What fails is left to the sweep.
func (s *Service) refuseExchange(ctx context.Context, r redemption.Redemption, refused error) (redemption.Redemption, error) {
	released, err := s.store.Transition(ctx, r.ID, redemption.Event{
		Kind: redemption.PointsRefused, At: s.now(), SessionID: r.SessionID,
	})
	switch {
	case errors.Is(err, redemption.ErrIllegal):
		var now redemption.Redemption
		if now, err = s.store.Redemption(ctx, r.ID); err == nil && now.State != redemption.Released && now.PointsState != redemption.PointsPending {
			return now, nil
		}
	case err == nil && released.RefundDue():
		_, err = s.refund(ctx, released)
	}
	if err != nil {
		s.logger.WarnContext(ctx, "an exchange that was refused is left to the sweep",
			slog.String("reservation", r.ID), slog.Any("error", err))
	}
	return redemption.Redemption{}, refused
}

// tooLate gives back points that were debited for a reservation that the sweep had
// released meanwhile.
func (s *Service) tooLate(ctx context.Context, id string, cause error) error {
	now, err := s.store.Redemption(ctx, id)
	if err != nil {
		return err
	}
	if now.RefundDue() {
		if _, err := s.refund(ctx, now); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrReservationClosed, cause)
}

// CancelExchange gives up a reservation that the customer has bought with points, and refunds the
// points. If a checkout uses the reservation, CancelExchange first ends the checkout. Repeating the
// call is safe.
//
// CancelExchange returns these errors:
//
//   - store.ErrNotFound means that the reservation is unknown or belongs to a different customer.
//     CancelExchange also returns store.ErrNotFound for a reservation that was not bought with
//     points.
//   - redemption.ErrIllegal means that the checkout was paid, or that its payment is on its way.
//   - store.ErrConflict means that, in five attempts, a new checkout took the reservation each
//     time.
func (s *Service) CancelExchange(ctx context.Context, customerID, reservationID string) (err error) {
	attempt := Attempt{CustomerID: customerID}
	defer s.observed(ctx, OpCancelExchange, &attempt, &err)()
	r, err := s.store.Redemption(ctx, reservationID)
	if err != nil {
		return err
	}
	if r.CustomerID != customerID || r.Origin != redemption.FromPoints {
		return store.ErrNotFound
	}
	for range placeAttempts {
		attempt.CouponID, attempt.OrderID = r.CouponID, r.OrderID
		if r.Live() && r.SessionID != "" {
			if r, err = s.endCheckout(ctx, r); err != nil {
				return err
			}
		}
		if err = s.release(ctx, r); !errors.Is(err, redemption.ErrOtherSession) {
			return err
		}
		if r, err = s.store.Redemption(ctx, reservationID); err != nil { // a checkout has taken it meanwhile
			return err
		}
	}
	return fmt.Errorf("cancel reservation %s: %w", reservationID, store.ErrConflict)
}

// endCheckout ends the session that uses the reservation and returns the reservation
// as it is then. One whose session the customer has finished with a delayed payment
// method cannot be given up: the points would be back, and the payment might arrive.
func (s *Service) endCheckout(ctx context.Context, r redemption.Redemption) (redemption.Redemption, error) {
	ended, err := s.endSession(ctx, r)
	if err != nil || ended {
		return r, err
	}
	now, err := s.store.Redemption(ctx, r.ID)
	if err == nil && now.AwaitingPayment {
		err = fmt.Errorf("reservation %s: a payment is on its way: %w", r.ID, redemption.ErrIllegal)
	}
	return now, err
}

// release cancels the reservation and refunds its points.
func (s *Service) release(ctx context.Context, r redemption.Redemption) error {
	released, err := s.store.Transition(ctx, r.ID, redemption.Event{
		Kind: redemption.Cancelled, At: s.now(), SessionID: r.SessionID,
	})
	if err != nil {
		return fmt.Errorf("cancel reservation %s: %w", r.ID, err)
	}
	if released.RefundDue() {
		_, err = s.refund(ctx, released)
	}
	return err
}

// refund gives the points of a released reservation back and records that it is
// done. Both steps may be repeated.
func (s *Service) refund(ctx context.Context, r redemption.Redemption) (redemption.Redemption, error) {
	if s.points == nil {
		return r, ErrNoLedger
	}
	if err := s.points.Refund(ctx, r.CustomerID, r.ID); err != nil {
		return r, fmt.Errorf("refund points of reservation %s: %w", r.ID, err)
	}
	return s.store.Transition(ctx, r.ID, redemption.Event{Kind: redemption.PointsGivenBack, At: s.now()})
}

// Reservations returns the customer's open reservations that were bought with points, with the
// newest reservation first. Reservations returns at most [store.MaxPageSize] entries. The result
// includes reservations whose points are not yet debited. The PointsState of each reservation tells
// whether its points are debited.
func (s *Service) Reservations(ctx context.Context, customerID string) ([]redemption.Redemption, error) {
	if customerID == "" {
		return nil, nil // the list would be everybody's
	}
	list := store.RedemptionList{CustomerID: customerID, State: redemption.Reserved, PageSize: store.MaxPageSize}
	var held []redemption.Redemption
	for len(held) < store.MaxPageSize {
		page, err := s.store.ListRedemptions(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			if r.Origin == redemption.FromPoints {
				held = append(held, r)
			}
		}
		if list.After = page.Next; list.After == "" {
			break
		}
	}
	return held[:min(len(held), store.MaxPageSize)], nil
}
