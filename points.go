package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/redemption"
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
//   - [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
//   - [ErrInsufficientPoints] means that the customer has too few points. The error also matches
//     coupon.ErrPointsNotRedeemed, so check for ErrInsufficientPoints first.
//   - A [*validation.Error] means that the coupon is not points-redeemable or that the key
//     is invalid.
//   - [ErrNoLedger] means that the service has no ledger of points.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrReservationClosed] means that the exchange was given up, or that the coupon's price in
//     points has changed. Exchange points again with a new key.
//   - [ErrPaymentOpen] means that the order with the exchange was replaced, and can perhaps still be paid.
//     The points are refunded with the end of its payment.
//   - store.ErrKeyReused means that the key was used for a different coupon.
//
// After any other error, repeat the call with the same key. The sweep undoes exchanges that stay
// unfinished. If a repeated call is refused before the points were debited, the service gives up
// the exchange. The exchange stays if the refusal matches coupon.ErrProcessorOutOfSync.
func (s *Service) ExchangePoints(ctx context.Context, r ExchangeRequest) (reserved redemption.Use, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
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
	payer := s.payments()
	payer.Quoter = s.quoter(s.mirrors.Ask, &attempt)
	reserved, err = payer.Exchange(ctx, &attempt, payments.ExchangeRequest(r))
	return reserved, withCode(err, r.Coupon)
}

// CancelExchange gives up an exchange and refunds its points. If an open order uses the exchange,
// CancelExchange first ends the order's payment session. Repeating the call is safe.
//
// CancelExchange returns these errors:
//
//   - store.ErrNotFound means that the customer has no such exchange.
//   - redemption.ErrIllegal means that the order was paid, or that its payment is on its way.
//   - store.ErrConflict means that other checkouts took the exchange during all five attempts.
//   - [ErrPaymentOpen] means that the order with the exchange was replaced, and can perhaps still be paid.
//     The points are refunded with the end of its payment.
//   - [ErrNoLedger] means that the service has no ledger of points.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrUnavailable] means that the processor did not answer.
//   - [ErrNoProcessor] means that the payment of the order was begun at the host's own provider. Use
//     [Service.Cancel] first.
func (s *Service) CancelExchange(ctx context.Context, customerID, exchangeID string) (err error) {
	attempt := settle.Attempt{CustomerID: customerID}
	defer s.observed(ctx, OpCancelExchange, &attempt, &err)()
	if err := s.changesOutside(); err != nil {
		return err
	}
	return s.payments().CancelExchange(ctx, &attempt, customerID, exchangeID)
}

// Exchanges returns the customer's reserved uses that were bought with points, newest first.
// Exchanges returns at most [store.MaxPageSize] uses. The points of a returned use may not be
// debited yet; see [redemption.Use].PointsState. If the store cannot read some of the uses, Exchanges
// returns the others beside an error that matches [store.ErrUnreadable]. Any other error comes from
// the store or the context.
func (s *Service) Exchanges(ctx context.Context, customerID string) ([]redemption.Use, error) {
	return s.payments().Exchanges(ctx, customerID)
}
