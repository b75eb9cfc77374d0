package couponkit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// reserveAttempts bounds how often a checkout is priced and reserved again because
// coupon or reservation changed in between.
const reserveAttempts = 5

// CheckoutRequest describes a cart that a customer wants to pay for (specification 4.5).
type CheckoutRequest struct {
	// Key is an idempotency key of the customer. A call with a repeated key returns the first order of
	// the key, or [ErrOrderEnded] or [ErrOrderPaid]. A repeated call also finishes work that a crash has
	// interrupted. Make a new key for each attempt to pay. Repeat a key only with the same lines, line
	// names, coupon codes, facts, URLs and e-mail address. If Key is empty, every call is a new attempt. A key
	// has at most [redemption.MaxIDLength] bytes.
	Key string
	// Customer is the buyer. The customer's ID is required.
	Customer eligibility.Customer
	// Facts are what the host knows about the purchase, such as the country of delivery. Conditions of
	// coupons look at them.
	Facts eligibility.Facts
	// Cart contains at least one line. The prices in the cart come from the host's catalog; see
	// [QuoteRequest].
	Cart pricing.Cart
	// Codes are the codes or IDs of the coupons that the customer uses, at most [pricing.MaxCoupons].
	// The order of the codes does not matter, except with [eligibility.KeepFirst]. Codes is empty if
	// the customer uses no coupon. The order has one use of each coupon. All uses are reserved, or
	// none.
	Codes []string
	// Conflicts tells which coupons are refused if coupons exclude each other. By default, all of them
	// are refused. SkipRefused tells whether a refused coupon refuses the checkout.
	Conflicts eligibility.ConflictPolicy
	// SkipRefused leaves out the coupons that are refused, and reports them in [Checkout].Refused. By
	// default, one refused coupon refuses the checkout.
	SkipRefused bool
	// Expected contains the totals that the customer was shown. If Expected is nil, the service does
	// not compare totals. [ParseTotals] reads the totals from a client's request. If an open order
	// already has the key, the service compares Expected with that order.
	Expected *Totals
	// Describe returns the name of a line for the payment page. If Describe is nil, the payment page
	// shows the line's ItemID.
	Describe func(pricing.Line) string
	// SuccessURL and CancelURL are the addresses to which the customer returns from the payment page.
	// Some processors require SuccessURL.
	SuccessURL string
	CancelURL  string
	// Metadata is stored with the order but not sent to the processor. Metadata has at most
	// [redemption.MaxMetadata] entries. Each value has at most [redemption.MaxMetadataLength] bytes.
	Metadata map[string]string

	order newOrder
}

// newOrder is what a reservation tells of its order.
type newOrder struct {
	id     string        // of the host, or empty
	hold   time.Duration // of a ledger
	ledger bool          // the payment begins later
}

// SessionLink links to the payment session in which the customer pays.
type SessionLink struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	// ExpiresAt is the time at which the payment session expires; see [WithSessionLifetime].
	ExpiresAt time.Time `json:"expiresAt"`
}

// Checkout is an order with its payment session. Checkout has no JSON form, because each API shows
// its clients different fields.
type Checkout struct {
	Order   redemption.Order
	Uses    []redemption.Use
	Session SessionLink
	// Replayed is true if the idempotency key was used before, so that the order is not new.
	Replayed bool
	// Refused are the coupons that were left out of a new order, in the order of the request's codes;
	// see [CheckoutRequest].SkipRefused. Refused is empty if Replayed is true.
	Refused coupon.Rejections
}

// Checkout prices the cart again, reserves a use of each coupon, and stores the order (specification
// 4.5, 2.5). Checkout then opens a payment session for the discounted amounts. Checkout always asks
// the processor about the mirrors of the coupons.
//
// An order with a total of 0 has a payment session too. Send the customer to the payment session
// even if the total is 0. The service counts the use only after the event of the payment session.
// If the processor does not support a total of 0 (processor.Abilities.NoZeroTotal), Checkout
// refuses an order that costs 0 with coupon.ErrBelowMinimumCharge.
//
// If Checkout succeeds, the customer can pay the order now.
//
// A customer may check out again while their open order holds what a limit leaves, such as the
// coupon's last use. The new order then replaces the open order, and Checkout ends the old payment
// session. Order.Replaces is the ID of the order that has ended. [Service.Quote] decides alike. If the
// customer has already paid the old session, the old order stays and the observer receives an
// [OpSettle] attempt.
//
// Checkout returns these errors:
//
//   - A [*validation.Error] names every invalid field of the request. An empty cart is
//     invalid.
//   - A [*coupon.Rejection] lists every reason for the refusal. For example,
//     coupon.ErrCartTotalsInvalid means that the totals differ from the expected totals. Even
//     without a coupon, the reason may be coupon.ErrBelowMinimumCharge or coupon.ErrUserRequired.
//     If several coupons are refused, the error is [coupon.Rejections], in the order of the request's
//     codes. errors.As with a *coupon.Rejection finds only the first; use [coupon.RejectionsOf] to
//     read all.
//   - store.ErrKeyReused means that the key was used for a different request, or that the key's
//     open order has different totals than expected.
//   - store.ErrConflict means that five attempts failed because of concurrent changes.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrNoProcessor] means that the service has no processor. Use [Service.Reserve].
//   - [ErrOrderEnded] means that the order of the key has ended unpaid. Check out again with a new
//     key.
//   - [ErrOrderPaid] means that the order of the key is paid, or that its payment is on its way.
//     Together with this error, Checkout returns the order, without a Session.
//   - processor.ErrRejected and processor.ErrForbidden mean that the processor refused the payment
//     session.
//   - [ErrUnavailable], or the error of the context, means that the result is unknown. Repeat the
//     call with the same key. If nobody repeats the call, [Service.Sweep] releases the use.
func (s *Service) Checkout(ctx context.Context, r CheckoutRequest) (Checkout, error) {
	return s.checkoutAs(ctx, OpCheckout, r)
}

// checkoutAs is a checkout that the observer knows as what the host has called.
func (s *Service) checkoutAs(ctx context.Context, op Operation, r CheckoutRequest) (c Checkout, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, op, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return Checkout{}, err
	}
	if !s.hasProcessor() {
		return Checkout{}, ErrNoProcessor
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Checkout{}, err
	}
	price := func() (*quote.Decision, error) { return s.priceCheckout(ctx, r, s.mirrors.Ask) }
	reserved, err := s.order(ctx, &r, price)
	return s.finish(ctx, &attempt, r, reserved, err, price)
}

// finish opens the session of a reserved order.
func (s *Service) finish(
	ctx context.Context, attempt *Attempt, r CheckoutRequest, reserved reservedOrder, err error, price func() (*quote.Decision, error),
) (Checkout, error) {
	attempt.OrderID = reserved.Order.ID
	if len(reserved.Uses) > 0 {
		attempt.CouponID = reserved.Uses[0].CouponID
	}
	if err != nil {
		return Checkout{}, err
	}
	order, uses, err := s.openSession(ctx, reserved.Reserved, r.details())
	attempt.SessionID = order.SessionID
	if errors.Is(err, errFinished) { // most likely the limit holds now
		if _, refused := price(); refused != nil {
			err = refused
		}
	}
	made := Checkout{Order: order, Uses: uses, Replayed: reserved.Replayed, Refused: reserved.refused}
	switch {
	case errors.Is(err, ErrOrderPaid):
		return made, err
	case err != nil:
		return Checkout{}, withCode(err, r.Codes...)
	}
	made.Session = SessionLink{ID: order.SessionID, URL: order.SessionURL, ExpiresAt: s.sessionEnd(order)}
	return made, nil
}

func (r CheckoutRequest) details() sessionDetails {
	return sessionDetails{
		email: r.Customer.Email, describe: r.Describe, successURL: r.SuccessURL, cancelURL: r.CancelURL,
	}
}

// reservedOrder is a reserved order and the coupons that were left out of it.
type reservedOrder struct {
	store.Reserved
	refused coupon.Rejections
}

// order returns the order of the request: the one that its key has already, or a
// new one with its place kept.
func (s *Service) order(ctx context.Context, r *CheckoutRequest, price func() (*quote.Decision, error)) (reservedOrder, error) {
	var faults validation.Error
	faults.Merge("", s.checkCart(r.Cart))
	faults.Merge("", s.checkRequest(*r))
	if err := faults.Err(); err != nil {
		return reservedOrder{}, err
	}
	request := r.quoteRequest()
	reserved, err := s.orderOfKey(ctx, r, request.Fingerprint(quote.OfCart), price)
	o := reserved.Order
	if err == nil && reserved.Replayed && o.State == redemption.OrderOpen && !r.Expected.are(o.Quote) {
		err = fmt.Errorf("order %s has other totals than expected: %w", o.ID, store.ErrKeyReused)
	}
	return reserved, err
}

// quoteRequest is what the checkout asks the price of.
func (r CheckoutRequest) quoteRequest() quote.Request {
	return quote.Request{
		Cart: r.Cart, Codes: r.Codes, Conflicts: r.Conflicts, SkipRefused: r.SkipRefused, Customer: r.Customer, Facts: r.Facts,
	}
}

// priceCheckout prices the cart and compares the totals with the expected ones. Totals may differ
// because coupons were left out, so that a refusal tells of those, too.
func (s *Service) priceCheckout(ctx context.Context, r CheckoutRequest, check mirrors.Check) (*quote.Decision, error) {
	d, err := s.quoter(check).Price(ctx, r.quoteRequest(), quote.OfCart)
	if err != nil && !errors.Is(err, coupon.ErrBelowMinimumCharge) {
		return d, err
	}
	err = d.Refuse(r.Expected.compare(d.Quote), err)
	if err != nil && len(d.Refused) > 0 {
		err = d.Refuse(err, d.Refused)
	}
	return d, err
}

// checkCart refuses what cannot be priced, what can and sells nothing, and what the processor
// takes no session for, as far as that is known before the cart is priced: lines that recur in
// another interval than the first that does where all have one, and too many lines.
func (s *Service) checkCart(cart pricing.Cart) error {
	var faults validation.Error
	faults.Merge("", s.quoter(nil).CheckCart(cart))
	if len(cart.Lines) == 0 {
		faults.Add("lines", validation.Required, "the cart is empty")
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
	var faults validation.Error
	if most := s.abilities.MaxLines; most > 0 && lines() > most {
		faults.Add("lines", validation.TooLong, fmt.Sprintf("the processor takes at most %d lines", most))
	}
	return faults.Err()
}

// checkRequest refuses a request without an address to which the customer returns, where
// the processor needs one, and with a key or metadata that no store keeps.
func (s *Service) checkRequest(r CheckoutRequest) error {
	var faults validation.Error
	if s.abilities.NeedsSuccessURL && r.SuccessURL == "" && !r.order.ledger {
		faults.Add("successUrl", validation.Required, "the processor needs an address to return to")
	}
	faults.Merge("", redemption.CheckRequest(r.Key, r.Metadata))
	faults.Merge("", quote.CheckCodes(r.Codes, r.Conflicts))
	faults.Merge("facts", r.Facts.Validate())
	return faults.Err()
}

// checkOrder names what no store keeps, and what the processor takes no session for because
// of two unit prices in a line, before a session that the customer could pay is ended for it.
func (s *Service) checkOrder(r store.Reservation) error {
	var faults validation.Error
	faults.Merge("", r.Order.Validate())
	faults.Merge("", s.checkLength(func() int { return len(s.sessionRequest(r.Order, sessionDetails{}).Lines) }))
	return faults.Err()
}

// orderOfKey returns the existing order of the request's key. Without such an order, it prices and
// reserves a new order. It starts again if something has changed between the price and the reservation.
func (s *Service) orderOfKey(
	ctx context.Context, r *CheckoutRequest, request string, price func() (*quote.Decision, error),
) (reservedOrder, error) {
	if r.Key == "" {
		r.Key = s.newID("key_")
	} else if before, err := s.repeated(ctx, *r, request); !errors.Is(err, store.ErrNotFound) {
		before.Replayed = true
		return reservedOrder{Reserved: before}, err
	}
	var changed error
	for range reserveAttempts {
		d, err := price()
		if err != nil {
			return failedFor(d), err
		}
		reservation := s.newReservation(ctx, *r, request, d)
		if err := s.checkOrder(reservation); err != nil {
			return failedFor(d), err
		}
		reserved, err := s.store.Reserve(ctx, reservation)
		if err == nil || !decidedTooEarly(err) {
			return reservedOrder{reserved, d.Refused}, err
		}
		changed = err
	}
	return reservedOrder{}, fmt.Errorf("reserve: %w: %w", store.ErrConflict, changed)
}

// decidedTooEarly reports whether a coupon, a counter or what the order takes over has changed
// since the checkout was priced. The next decision knows why, and tells it as a quote does.
func decidedTooEarly(err error) bool {
	switch {
	case errors.Is(err, store.ErrKeyReused):
		return false
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrLimit), errors.Is(err, store.ErrNotFound):
		return true
	}
	return coupon.RejectionsOf(err) != nil
}

// failedFor tells the observer which coupon was asked for.
func failedFor(d *quote.Decision) reservedOrder {
	if d.CouponID() == "" {
		return reservedOrder{}
	}
	return reservedOrder{Reserved: store.Reserved{Uses: []redemption.Use{{CouponID: d.CouponID()}}}}
}

// replay returns the order that the customer's key has already.
func (s *Service) replay(ctx context.Context, customerID, key, request string) (store.Reserved, error) {
	if customerID == "" {
		return store.Reserved{}, store.ErrNotFound
	}
	before, err := s.store.Order(ctx, store.OrderKey{CustomerID: customerID, Key: key})
	switch {
	case err != nil:
		return store.Reserved{}, err
	case before.Order.Fingerprint != request:
		return store.Reserved{}, store.ErrKeyReused
	}
	return store.Reserved{Order: before.Order, Uses: before.Uses}, nil
}

func (s *Service) newReservation(ctx context.Context, of CheckoutRequest, request string, d *quote.Decision) store.Reservation {
	now := s.now()
	r := store.Reservation{By: actorOf(ctx), Order: redemption.Order{
		ID: of.order.id, Key: of.Key, Fingerprint: request, CustomerID: of.Customer.ID,
		State: redemption.OrderOpen, Quote: d.Quote, Coupons: d.Terms,
		Metadata: of.Metadata, Deadline: now.Add(s.sessionLifetime + s.grace), CreatedAt: now, BegunAt: now,
		Replaces: d.Takes.Replaced.Order.ID,
	}}
	if r.Order.ID == "" {
		r.Order.ID = s.newID(redemption.OrderIDPrefix)
	}
	if of.order.ledger {
		r.Order.Deadline, r.Order.BegunAt = now.Add(of.order.hold), time.Time{}
	}
	identities, coupons := quote.Identities(of.Customer), make([]*coupon.Coupon, len(d.Applied))
	for i, c := range d.Applied {
		coupons[i] = &c.Coupon
		r.Coupons = append(r.Coupons, c.CouponAt())
		r.Uses = append(r.Uses, s.newUse(&r.Order, c, identities, d.Takes.Points[c.Coupon.ID]))
	}
	r.Order.Claims = eligibility.OrderClaims(identities, coupons...)
	return r
}

// newUse returns the order's use of a coupon, with what it claims. The customer may have bought it with points.
func (s *Service) newUse(o *redemption.Order, of *quote.Code, identities []string, bought redemption.Use) redemption.Use {
	c := &of.Coupon
	claimant := eligibility.Claimant{Coupon: c, Code: of.Code, Identities: identities, At: o.CreatedAt}
	use := redemption.Use{
		ID: s.newID(redemption.UseIDPrefix), CouponID: c.ID, Code: c.Code, CustomerID: o.CustomerID, OrderID: o.ID,
		State: redemption.Reserved, Origin: redemption.FromCheckout, Discount: of.Discount, Currency: o.Quote.Currency,
		Restore: c.RestoreOnRefund, CreatedAt: o.CreatedAt,
	}
	if bought.IsZero() {
		use.Claims = claimant.Claims()
	} else {
		use.Origin, use.ExchangeID = redemption.FromPoints, bought.ExchangeID
		use.Points, use.PointsState = bought.Points, redemption.PointsDebited
		use.Claims = claimant.ClaimsAfterExchange(bought.Claims)
	}
	use.Claims = append(use.Claims, eligibility.BudgetClaims(c, pricing.NewMoney(of.Discount, o.Quote.Currency))...)
	return use
}

// withCode adds the only code of a request to the refusals that have none.
func withCode(err error, codes ...string) error {
	for _, r := range coupon.RejectionsOf(err) {
		if len(codes) == 1 && r.Code == "" {
			r.Code = codes[0]
		}
	}
	return err
}

// sessionEnd is when the session of an open order ends: a grace period before the deadline. That changes
// only when the payment is on its way or the order ends, so that a repeated call asks for the same session.
func (s *Service) sessionEnd(o redemption.Order) time.Time { return o.Deadline.Add(-s.grace) }
