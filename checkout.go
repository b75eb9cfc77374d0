package couponkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// placeAttempts bounds how often a checkout is priced and placed again because
// coupon or reservation changed in between.
const placeAttempts = 5

// CheckoutRequest is a cart to be paid (specification 4.5).
type CheckoutRequest struct {
	// Key is an idempotency key of the customer. A call with a repeated key returns the key's first
	// order; see Checkout.Replayed. A call with a repeated key also finishes work that a crash has
	// left unfinished. Make a new key for each attempt to pay. Repeat a key only with the same
	// lines, line names, URLs and e-mail address. An empty key makes every call a new attempt. A
	// key has at most [redemption.MaxIDLength] bytes.
	Key string
	// Customer is the buyer. A customer with an ID is required.
	Customer eligibility.Customer
	// Cart has at least one line. Its lines have the prices of the host's catalogue; see
	// [QuoteRequest].
	Cart pricing.Cart
	// Code is a coupon's code or ID. An empty code means that no coupon is used.
	Code string
	// Expected are the totals that the customer was shown. If Expected is nil, the service does not
	// compare totals. [ParseTotals] reads the totals from a client's request. If the key is
	// repeated while its first order can be paid, Expected is compared with that order.
	Expected *Totals
	// Describe returns the name of a line for the payment page. If Describe is nil, the payment
	// page shows the line's ItemID.
	Describe func(pricing.Line) string
	// SuccessURL and CancelURL are the addresses to which the customer returns after the payment
	// session. Some processors require SuccessURL.
	SuccessURL string
	CancelURL  string
	// Metadata is the host's own data, which the service stores with the order. The service does
	// not send Metadata to the processor. Metadata has at most [store.MaxMetadata] entries, and
	// each value has at most [store.MaxMetadataLength] bytes.
	Metadata map[string]string
}

// SessionLink is the link to the payment session at which the customer pays.
type SessionLink struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	// ExpiresAt is the time at which the payment session ends by itself; see [WithSessionLifetime].
	ExpiresAt time.Time `json:"expiresAt"`
}

// Checkout is an order with its payment session. Checkout has no JSON form, because each API
// chooses what its clients need.
type Checkout struct {
	Order   store.Order
	Session SessionLink
	// Replayed is true if the idempotency key was used before. If Replayed is true, Order is the
	// first order of the key, and Order may have ended. Order.State shows that the order has ended
	// after the webhook or a sweep has recorded the end. If Replayed is false, the order is new and
	// its payment session is open.
	Replayed bool
}

// Checkout prices the cart again, reserves a use of the coupon, and stores the order. Checkout then
// opens a payment session with the discounted amounts (specification 4.5, 2.5). Checkout always
// asks the processor about the coupon's mirror, the processor's own copy of the coupon.
//
// An order with a total of 0 has a payment session too. Send the customer to the payment session
// even if the total is 0. Only the session's event counts the use. Some processors have no sessions
// with a total of 0 (processor.Abilities.NoZeroTotal). If the processor has no such sessions,
// Checkout refuses a total of 0 with coupon.ErrBelowMinimumCharge.
//
// A customer may have an open session that holds the coupon's last use. If the customer's open
// session holds the last use, Checkout ends the session. Checkout then moves the reservation of the
// ended session to the new order. If the customer's earlier session turns out to be paid, the use
// of that session counts. The observer receives an [OpSettle] for an earlier session that turns out
// to be paid.
//
// Checkout returns these errors:
//
//   - A [*pricing.ValidationError] means that the cart is malformed or empty.
//   - A [*coupon.Rejection] lists the reasons for which the coupon is refused. The rejection
//     matches coupon.ErrCartTotalsInvalid when the totals differ from the expected totals. The
//     rejection may also match coupon.ErrBelowMinimumCharge or coupon.ErrUserRequired.
//   - store.ErrKeyReused means that the key was used for a different request. Checkout also returns
//     store.ErrKeyReused when the key's open order has different totals than expected.
//   - [ErrOrderEnded] means that the key's order ended before it had a payment session.
//   - processor.ErrRejected means that the processor refused the payment session.
//   - [ErrUnavailable], or the error of the context, means that the result is unknown. Repeat the
//     call with the same key. If nobody repeats the call, [Service.Sweep] releases the reservation.
func (s *Service) Checkout(ctx context.Context, r CheckoutRequest) (Checkout, error) {
	return s.checkoutAs(ctx, OpCheckout, r)
}

// checkoutAs is a checkout that the observer knows as what the host has called.
func (s *Service) checkoutAs(ctx context.Context, op Operation, r CheckoutRequest) (c Checkout, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, op, &attempt, &err)()
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Checkout{}, err
	}
	order, replayed, err := s.order(ctx, r)
	attempt.CouponID, attempt.OrderID = order.CouponID, order.ID
	if err != nil {
		return Checkout{}, err
	}
	order, err = s.openSession(ctx, order, r.details(), replayed)
	attempt.SessionID = order.SessionID
	if err != nil {
		return Checkout{}, err
	}
	return s.newCheckout(order, replayed), nil
}

func (s *Service) newCheckout(o store.Order, replayed bool) Checkout {
	return Checkout{
		Order: o, Replayed: replayed,
		Session: SessionLink{ID: o.SessionID, URL: o.SessionURL, ExpiresAt: s.sessionEnd(o)},
	}
}

func (r CheckoutRequest) details() sessionDetails {
	return sessionDetails{
		email: r.Customer.Email, describe: r.Describe, successURL: r.SuccessURL, cancelURL: r.CancelURL,
	}
}

// order returns the order of the request: the one that its key has already, or a
// new one with its place kept.
func (s *Service) order(ctx context.Context, r CheckoutRequest) (store.Order, bool, error) {
	var faults pricing.ValidationError
	faults.Merge("", s.checkCart(r.Cart))
	faults.Merge("", s.checkRequest(r))
	if err := faults.Err(); err != nil {
		return store.Order{}, false, err
	}
	order, replayed, err := s.keyed(ctx, &r, requestFingerprint(r), func() (priced, error) {
		p, err := s.price(ctx, QuoteRequest{Cart: r.Cart, Code: r.Code, Customer: r.Customer}, s.askMirror)
		if err != nil && !errors.Is(err, coupon.ErrBelowMinimumCharge) {
			return p, err
		}
		return p, refusals(r.Expected.compare(p.quote.Quote, p.couponID()), err)
	})
	if err == nil && replayed && order.State == store.OrderOpen && !r.Expected.are(order.Quote) {
		err = fmt.Errorf("order %s has other totals than expected: %w", order.ID, store.ErrKeyReused)
	}
	return order, replayed, err
}

// checkCart refuses what cannot be priced, what can and sells nothing, and what the processor
// takes no session for, as far as that is known before the cart is priced: lines that recur in
// another interval than the first that does where all have one, and too many lines.
func (s *Service) checkCart(cart pricing.Cart) error {
	var faults pricing.ValidationError
	faults.Merge("", s.cartFaults(cart))
	if len(cart.Lines) == 0 {
		faults.Add("lines", pricing.FieldRequired, "the cart is empty")
	}
	if s.abilities.OneInterval {
		faults.Merge("", processor.CheckIntervals(len(cart.Lines), func(i int) pricing.Interval { return cart.Lines[i].Recurs }))
	}
	faults.Merge("", s.checkLength(func() int { return len(cart.Lines) }))
	return faults.Err()
}

// checkLength refuses more lines than the processor takes; it counts them only where that
// matters.
func (s *Service) checkLength(lines func() int) error {
	var faults pricing.ValidationError
	if most := s.abilities.MaxLines; most > 0 && lines() > most {
		faults.Add("lines", pricing.FieldTooLong, fmt.Sprintf("the processor takes at most %d lines", most))
	}
	return faults.Err()
}

// cartFaults names all that is wrong with a cart.
func (s *Service) cartFaults(cart pricing.Cart) error {
	var faults pricing.ValidationError
	stepped, err := s.inSteps(cart)
	if err == nil {
		err = stepped.Validate()
	}
	faults.Merge("", err)
	faults.Merge("", checkLines(cart))
	return faults.Err()
}

// checkRequest refuses a request without an address to which the customer returns, where
// the processor needs one, and with a key or metadata that no store keeps.
func (s *Service) checkRequest(r CheckoutRequest) error {
	var faults pricing.ValidationError
	if s.abilities.NeedsSuccessURL && r.SuccessURL == "" {
		faults.Add("successUrl", pricing.FieldRequired, "the processor needs an address to return to")
	}
	faults.Merge("", store.CheckRequest(r.Key, r.Metadata))
	return faults.Err()
}

// checkOrder names what no store keeps, and what the processor takes no session for because
// of two unit prices in a line, before a session that the customer could pay is ended for it.
func (s *Service) checkOrder(o store.Order) error {
	var faults pricing.ValidationError
	faults.Merge("", o.Validate())
	faults.Merge("", s.checkLength(func() int { return len(s.sessionRequest(o, sessionDetails{}).Lines) }))
	return faults.Err()
}

// keyed returns the order that the request's key has already, or prices and places
// a new one, again and again while coupon or reservation change in between.
func (s *Service) keyed(
	ctx context.Context, r *CheckoutRequest, request string, price func() (priced, error),
) (store.Order, bool, error) {
	if r.Key == "" {
		r.Key = s.newID("key_")
	} else if before, err := s.repeated(ctx, *r, request); !errors.Is(err, store.ErrNotFound) {
		return before, true, err
	}
	var (
		conflict error
		left     redemption.Redemption // is in no session any more, for this order
	)
	for range placeAttempts {
		p, err := price()
		if err != nil {
			s.giveUp(ctx, left, err)
			return store.Order{CouponID: p.couponID()}, false, err
		}
		order := s.newOrder(r.Key, request, r.Metadata, p)
		if err := s.checkOrder(order); err != nil { // its faults are the request's, and not a reservation's
			return store.Order{CouponID: p.couponID()}, false, err
		}
		placed, replayed, err := s.keepPlace(ctx, p, order, &left)
		switch {
		case err == nil:
			if placed.ReservationID != left.ID {
				s.free(ctx, left)
			}
			return placed, replayed, nil
		case !errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrKeyReused):
			s.giveUp(ctx, left, err)
			return store.Order{CouponID: p.couponID()}, false, err // the order is not known to be stored
		}
		conflict = err
	}
	return store.Order{}, false, fmt.Errorf("place order: %w", conflict)
}

// replay returns the order that the customer's key has already.
func (s *Service) replay(ctx context.Context, customerID, key, request string) (store.Order, error) {
	if customerID == "" {
		return store.Order{}, store.ErrNotFound
	}
	before, err := s.store.OrderByKey(ctx, customerID, key)
	switch {
	case err != nil:
		return store.Order{}, err
	case before.Fingerprint != request:
		return store.Order{}, store.ErrKeyReused
	}
	return before, nil
}

func (s *Service) newOrder(key, request string, metadata map[string]string, p priced) store.Order {
	now := s.now()
	order := store.Order{
		ID: s.newID(store.OrderIDPrefix), Key: key, Fingerprint: request, CustomerID: p.customer.ID,
		State: store.OrderOpen, Quote: p.quote.Quote, DiscountAmount: p.quote.Discount,
		Metadata: metadata, Deadline: now.Add(s.sessionLifetime + s.grace), CreatedAt: now, UpdatedAt: now,
	}
	if p.quote.Coupon != nil {
		order.CouponID, order.Coupon = p.quote.Coupon.ID, p.quote.Coupon
		order.ReservationID = s.newID(redemption.IDPrefix)
	}
	return order
}

// keepPlace stores the order, with a place if it has a coupon; see takeOver for left.
func (s *Service) keepPlace(
	ctx context.Context, p priced, order store.Order, left *redemption.Redemption,
) (store.Order, bool, error) {
	if order.CouponID == "" {
		return s.store.CreateOrder(ctx, order)
	}
	held, holds := usable(p.found)
	if p.found.Coupon.Distribution == coupon.PointsRedeemable {
		if !holds {
			return order, false, coupon.Reject(order.CouponID, coupon.PointsNotRedeemed,
				coupon.Params{PointsRequired: p.found.Coupon.PointsRequired})
		}
		return s.takeOver(ctx, held, p, order, left)
	}
	reserved, err := s.store.Reserve(ctx, store.Reservation{
		Redemption: redemption.Redemption{
			ID: order.ReservationID, Key: order.Key, CouponID: order.CouponID, CustomerID: order.CustomerID,
			State: redemption.Reserved, Origin: redemption.FromCheckout, OrderID: order.ID,
			Deadline: order.Deadline, CreatedAt: order.CreatedAt, UpdatedAt: order.CreatedAt,
		},
		CouponRevision: p.found.Coupon.Revision,
		Order:          &order,
	})
	full := errors.Is(err, coupon.ErrUsageLimitReached) || errors.Is(err, coupon.ErrUserUsageLimitReached)
	if full && holds {
		return s.takeOver(ctx, held, p, order, left)
	}
	return reserved.Order, reserved.Replayed, err
}

// sessionEnd is when the order's session ends. It depends on nothing that changes,
// so that a repeated call asks for the same session: the deadline does change, when
// a delayed payment is on its way.
func (s *Service) sessionEnd(o store.Order) time.Time { return o.CreatedAt.Add(s.sessionLifetime) }
