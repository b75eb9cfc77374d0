package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/checkout"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ExchangeRequest asks for a coupon in exchange for points.
type ExchangeRequest struct {
	// Key is an idempotency key of the customer. A call with a repeated key returns the first exchange
	// of the key. A key that was used for a different coupon fails with store.ErrKeyReused. If the
	// customer already has an exchange of the coupon that no checkout uses, a call with a new or empty
	// key returns the existing exchange. The service never debits points twice for the same exchange.
	// A key has at most [redemption.MaxIDLength] bytes.
	Key string
	// Coupon is the coupon's ID or code. A repeated call for a deleted coupon must use the coupon's
	// ID.
	Coupon string
	// Customer is the customer who pays with points. The customer's ID is required.
	Customer eligibility.Customer
}

// ExchangePoints reserves a use of a coupon for a customer who pays with points (specification 2.3,
// 3.2). ExchangePoints also debits the coupon's price in points. A completed exchange has no
// deadline until a checkout uses it.
//
// ExchangePoints returns these errors:
//
//   - A [*coupon.Rejection] lists every reason why the customer may not use the coupon.
//   - [ErrInsufficientPoints] means that the customer has too few points. The error also matches
//     coupon.ErrPointsNotRedeemed, so check for ErrInsufficientPoints first.
//   - A [*validation.Error] means that the coupon is not points-redeemable or that the key
//     is invalid.
//   - [ErrNoLedger] means that the service has no ledger of points.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrReservationClosed] means that the exchange was given up, or that the coupon's price in
//     points has changed. Exchange points again with a new key.
//   - store.ErrKeyReused means that the key was used for a different coupon.
//
// After any other error, repeat the call with the same key. The sweep undoes exchanges that stay
// unfinished. If a repeated call is refused before the points were debited, the service gives up
// the exchange. The exchange stays if the refusal matches coupon.ErrProcessorOutOfSync.
func (s *Service) ExchangePoints(ctx context.Context, r ExchangeRequest) (reserved redemption.Use, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpExchangePoints, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return redemption.Use{}, err
	}
	if s.points == nil {
		return redemption.Use{}, ErrNoLedger
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return redemption.Use{}, err
	}
	for range checkout.MaxAttempts {
		reserved, err = s.exchange(ctx, &attempt, r)
		if !errors.Is(err, store.ErrStaleRevision) && !errors.Is(err, store.ErrLimit) {
			return reserved, withCode(err, r.Coupon)
		}
	}
	return redemption.Use{}, fmt.Errorf("%w: %w", store.ErrConflict, err)
}

// exchange is one round of ExchangePoints. The coupon or its counters may change before its use is
// reserved.
func (s *Service) exchange(ctx context.Context, attempt *Attempt, r ExchangeRequest) (redemption.Use, error) {
	d, err := s.quoter(s.mirrors.Ask).Named(ctx, r.Coupon, r.Customer)
	if id := strings.TrimSpace(r.Coupon); errors.Is(err, coupon.ErrNotFound) && coupon.IsID(id) {
		made, err := s.exchangedBefore(ctx, id, r, redemption.Use{}, err)
		attempt.CouponID = made.CouponID
		return made, err
	}
	if err != nil {
		return redemption.Use{}, err
	}
	c := &d.Codes[0]
	attempt.CouponID = c.Coupon.ID
	held := exchanged(c.Held, r.Key)
	refused := exchangeable(d, held)
	switch {
	case !held.IsZero() && held.Key == r.Key:
		return s.debit(ctx, held, refused)
	case !held.IsZero(), refused != nil:
		return s.exchangedBefore(ctx, c.Coupon.ID, r, held, refused)
	}
	if r.Key == "" {
		r.Key = s.newID("key_")
	}
	reservation := s.newExchange(c, r)
	reservation.By = actorOf(ctx)
	reserved, err := s.store.Reserve(ctx, reservation)
	if err != nil {
		return redemption.Use{}, err
	}
	made, err := s.current(ctx, reserved.Uses[0])
	if err != nil {
		return redemption.Use{}, err
	}
	return s.debit(ctx, made, nil)
}

func (s *Service) newExchange(of *quote.Code, r ExchangeRequest) store.Reservation {
	now, id, c := s.now(), s.newID(redemption.UseIDPrefix), &of.Coupon
	return store.Reservation{
		Coupons: []store.CouponAt{of.CouponAt()},
		Uses: []redemption.Use{{
			ID: id, ExchangeID: id, Key: r.Key, CouponID: c.ID, Code: c.Code, CustomerID: r.Customer.ID,
			State: redemption.Reserved, Origin: redemption.FromPoints,
			Points: c.PointsRequired, PointsState: redemption.PointsPending,
			Claims:   eligibility.Claimant{Coupon: c, Code: of.Code, Identities: quote.Identities(r.Customer), At: now}.Claims(),
			Deadline: now.Add(s.exchangeTime), CreatedAt: now,
		}},
	}
}

// exchanged returns the points reservation that the key has made, else one that is in no
// checkout; the zero value is none.
func exchanged(held []redemption.Use, key string) (free redemption.Use) {
	for _, u := range held {
		switch {
		case u.Origin != redemption.FromPoints || u.OrderID != "":
		case key != "" && u.Key == key:
			return u
		default:
			free = u // the oldest
		}
	}
	return free
}

// exchangedBefore answers with what the key has made, also where the coupon is gone or refuses
// by now; for a key that has made nothing, with another points reservation or, without it, the
// refusal.
func (s *Service) exchangedBefore(
	ctx context.Context, couponID string, r ExchangeRequest, another redemption.Use, refused error,
) (redemption.Use, error) {
	first, err := s.firstExchange(ctx, r.Customer.ID, r.Key)
	switch {
	case err != nil:
		return redemption.Use{}, err
	case !first.IsZero() && first.CouponID != couponID:
		return redemption.Use{}, store.ErrKeyReused
	case !first.IsZero():
		return s.debit(ctx, first, refused)
	case !another.IsZero():
		return s.debit(ctx, another, refused)
	}
	return redemption.Use{}, refused
}

// firstExchange returns what the key has made, as it is now; the zero value is nothing.
func (s *Service) firstExchange(ctx context.Context, customerID, key string) (redemption.Use, error) {
	if key == "" || customerID == "" {
		return redemption.Use{}, nil
	}
	page, err := s.store.ListUses(ctx, store.UseList{CustomerID: customerID, Key: key, PageSize: 1})
	switch {
	case err != nil:
		return redemption.Use{}, err
	case len(page.Unreadable) > 0: // it is there
		return redemption.Use{}, page.Unreadable[0]
	case len(page.Items) == 0:
		return redemption.Use{}, nil
	}
	return s.current(ctx, page.Items[0])
}

// current returns the use that has the points of an exchange now: the newest of those that
// one order after the other has passed on.
func (s *Service) current(ctx context.Context, u redemption.Use) (redemption.Use, error) {
	if u.PointsState != redemption.PointsPassedOn {
		return u, nil
	}
	list := store.UseList{ExchangeID: u.ExchangeID, PageSize: store.MaxPageSize}
	missing := store.ErrNotFound
	for {
		page, err := s.store.ListUses(ctx, list)
		if err != nil {
			return redemption.Use{}, err
		}
		if len(page.Unreadable) > 0 {
			missing = page.Unreadable[0]
		}
		for _, later := range page.Items {
			if later.PointsState != redemption.PointsPassedOn {
				return later, nil
			}
		}
		if list.After = page.Next; list.After == "" {
			return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, missing)
		}
	}
}

// exchangeable says why the coupon cannot be had for points, or not for those of the
// reservation, if there is one, that the customer goes on to pay. That one is not in their own
// way; one in a checkout is, for this would be another.
func exchangeable(d *quote.Decision, held redemption.Use) error {
	c := &d.Codes[0].Coupon
	if c.Distribution != coupon.PointsRedeemable {
		return validation.New("coupon", validation.NotAllowed, "the coupon is not exchanged for points")
	}
	refused := d.CheckExchange(held)
	if refused == nil && !held.IsZero() && held.Points != c.PointsRequired {
		return fmt.Errorf("exchange %s: the coupon costs %d points and not %d by now: %w",
			held.ExchangeID, c.PointsRequired, held.Points, ErrReservationClosed)
	}
	return refused
}

// passing reports whether a refusal may be over with the next attempt.
func passing(refused error) bool {
	return errors.Is(refused, coupon.ErrCartTotalsInvalid) || errors.Is(refused, coupon.ErrProcessorOutOfSync)
}

// debit takes the points of a pending reservation and confirms it. One that cannot be had any
// more is given up instead: its points would be gone for a coupon that no checkout takes.
func (s *Service) debit(ctx context.Context, u redemption.Use, refused error) (redemption.Use, error) {
	switch {
	case u.State == redemption.Released:
		return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, ErrReservationClosed)
	case u.PointsState != redemption.PointsPending:
		return u, nil
	case passing(refused):
		return redemption.Use{}, refused
	case refused != nil:
		return s.refuseExchange(ctx, u, refused)
	}
	err := s.points.Debit(ctx, u.CustomerID, u.ExchangeID, u.Points)
	switch {
	case errors.Is(err, ErrInsufficientPoints):
		return s.refuseExchange(ctx, u, fmt.Errorf("%w: %w", coupon.Reject(
			u.CouponID, coupon.PointsNotRedeemed, coupon.Params{PointsRequired: u.Points}), err))
	case errors.Is(err, ErrReservationClosed):
		return redemption.Use{}, fmt.Errorf("exchange %s: %w", u.ExchangeID, err)
	case err != nil:
		return redemption.Use{}, fmt.Errorf("debit points for exchange %s: %w", u.ExchangeID, err)
	}
	confirmed, err := s.applyToUse(ctx, redemption.PointsExchanged, u)
	if errors.Is(err, redemption.ErrIllegal) {
		return redemption.Use{}, s.tooLate(ctx, u, err)
	}
	return confirmed, err
}

// applyToUse applies an event of points.
func (s *Service) applyToUse(ctx context.Context, kind redemption.EventKind, u redemption.Use) (redemption.Use, error) {
	settled, err := s.store.Apply(ctx, store.Settlement{Event: redemption.Event{Kind: kind, At: s.now(), UseID: u.ID}, By: actorOf(ctx)})
	if err != nil {
		return redemption.Use{}, err
	}
	return settled.Uses[0], nil
}

// newest returns the exchange as it is now.
func (s *Service) newest(ctx context.Context, exchangeID string) (redemption.Use, error) {
	if exchangeID == "" {
		return redemption.Use{}, store.ErrNotFound // the list would be everybody's
	}
	return s.current(ctx, redemption.Use{ExchangeID: exchangeID, PointsState: redemption.PointsPassedOn})
}

// refuseExchange gives up an exchange whose points were not taken, unless another call has
// debited them meanwhile: that one has told the customer that the exchange succeeded. What
// fails is left to the sweep.
func (s *Service) refuseExchange(ctx context.Context, u redemption.Use, refused error) (redemption.Use, error) {
	released, err := s.applyToUse(ctx, redemption.PointsRefused, u)
	switch {
	case err == nil && released.PointsState == redemption.PointsRefundDue:
		_, err = s.refundPoints(ctx, released)
	case errors.Is(err, redemption.ErrIllegal), released.PointsState == redemption.PointsPassedOn:
		var now redemption.Use
		if now, err = s.newest(ctx, u.ExchangeID); err == nil && now.PointsState == redemption.PointsDebited {
			return now, nil
		}
	}
	if err != nil {
		s.logger.WarnContext(ctx, "an exchange that was refused is left to the sweep",
			slog.String("exchange", u.ExchangeID), slog.Any("error", err))
	}
	return redemption.Use{}, refused
}

// tooLate gives back points that were debited for an exchange that the sweep had given up
// meanwhile.
func (s *Service) tooLate(ctx context.Context, u redemption.Use, cause error) error {
	now, err := s.newest(ctx, u.ExchangeID)
	if err != nil {
		return err
	}
	if now.PointsState == redemption.PointsRefundDue {
		if _, err := s.refundPoints(ctx, now); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: %w", ErrReservationClosed, cause)
}

// CancelExchange gives up an exchange and refunds its points. If an open order uses the exchange,
// CancelExchange first ends the order's payment session. Repeating the call is safe.
//
// CancelExchange returns these errors:
//
//   - store.ErrNotFound means that the customer has no such exchange.
//   - redemption.ErrIllegal means that the order was paid, or that its payment is on its way.
//   - store.ErrConflict means that other checkouts took the exchange during all five attempts.
//   - [ErrNoLedger] means that the service has no ledger of points.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrUnavailable] means that the processor did not answer.
func (s *Service) CancelExchange(ctx context.Context, customerID, exchangeID string) (err error) {
	attempt := Attempt{CustomerID: customerID}
	defer s.observed(ctx, OpCancelExchange, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return err
	}
	for range checkout.MaxAttempts {
		u, err := s.newest(ctx, exchangeID)
		if err != nil {
			return err
		}
		if u.CustomerID != customerID {
			return store.ErrNotFound
		}
		attempt.CouponID, attempt.OrderID = u.CouponID, u.OrderID
		if err = s.giveUp(ctx, u); !errors.Is(err, redemption.ErrOtherSession) && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("cancel exchange %s: %w", exchangeID, store.ErrConflict)
}

// giveUp cancels a points reservation, or the order that uses it, and refunds the points. It
// returns store.ErrConflict if the use has moved on meanwhile.
func (s *Service) giveUp(ctx context.Context, u redemption.Use) error {
	if u.OrderID == "" || u.State != redemption.Reserved {
		return s.giveUpFree(ctx, u)
	}
	o, err := s.store.Order(ctx, store.OrderKey{ID: u.OrderID})
	if err != nil {
		return err
	}
	switch finished, err := s.endUnpaid(ctx, o.Order); {
	case err != nil:
		return err
	case finished.Order.State == redemption.OrderAwaitingPayment:
		return fmt.Errorf("exchange %s: a payment is on its way: %w", u.ExchangeID, redemption.ErrIllegal)
	case !finished.Order.IsZero():
		return store.ErrConflict
	}
	settled, err := s.settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.Cancelled, At: s.now(), OrderID: u.OrderID, SessionID: o.Order.SessionID, PaymentOver: true, BegunBy: o.Order.BegunAt,
	}})
	passedOn := slices.ContainsFunc(settled.Uses, func(v redemption.Use) bool { return v.PointsState == redemption.PointsPassedOn })
	if err == nil && (passedOn || settled.Order.State == redemption.OrderEnding) { // replaced, or begun meanwhile
		return store.ErrConflict
	}
	return err
}

// giveUpFree cancels a use that was in no order when it was read, or that has ended.
func (s *Service) giveUpFree(ctx context.Context, u redemption.Use) error {
	released, err := s.applyToUse(ctx, redemption.Cancelled, u)
	switch {
	case err != nil:
		return fmt.Errorf("cancel exchange %s: %w", u.ExchangeID, err)
	case released.PointsState == redemption.PointsPassedOn:
		return store.ErrConflict
	case released.PointsState == redemption.PointsRefundDue:
		_, err = s.refundPoints(ctx, released)
	}
	return err
}

// refundPoints gives the points of a released use back and records that. Both steps may be
// repeated.
func (s *Service) refundPoints(ctx context.Context, u redemption.Use) (redemption.Use, error) {
	if s.points == nil {
		return u, ErrNoLedger
	}
	if err := s.points.Refund(ctx, u.CustomerID, u.ExchangeID); err != nil {
		return u, fmt.Errorf("refund points of exchange %s: %w", u.ExchangeID, err)
	}
	return s.applyToUse(ctx, redemption.PointsGivenBack, u)
}

// Exchanges returns the customer's reserved uses that were bought with points, newest first.
// Exchanges returns at most [store.MaxPageSize] uses. The points of a returned use may not be
// debited yet; see [redemption.Use].PointsState. If the store cannot read some of the uses, Exchanges
// returns the others beside an error that matches [store.ErrUnreadable]. Any other error comes from
// the store or the context.
func (s *Service) Exchanges(ctx context.Context, customerID string) ([]redemption.Use, error) {
	if customerID == "" {
		return nil, nil // the list would be everybody's
	}
	list := store.UseList{CustomerID: customerID, State: redemption.Reserved, PageSize: store.MaxPageSize}
	var held []redemption.Use
	var failures []error
	for len(held) < store.MaxPageSize {
		page, err := s.store.ListUses(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, unreadable := range page.Unreadable {
			failures = append(failures, unreadable)
		}
		for _, u := range page.Items {
			if u.Origin == redemption.FromPoints {
				held = append(held, u)
			}
		}
		if list.After = page.Next; list.After == "" {
			break
		}
	}
	return held[:min(len(held), store.MaxPageSize)], errors.Join(failures...)
}
