package couponkit

import (
	"context"
	"errors"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/checkout"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

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
	// Expected contains the totals that the customer was shown. All four are compared. If Expected is nil, the service does
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
//   - [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
//   - store.ErrKeyReused means that the key was used for a different request, or that the key's
//     open order has different totals than expected.
//   - store.ErrConflict means that five attempts failed because of concurrent changes.
//   - [ErrInTransaction] means that the store works inside a transaction of the host.
//   - [ErrNoProcessor] means that the service has no processor. Use [Service.Reserve].
//   - [ErrOrderEnded] means that the order of the key has ended unpaid. Check out again with a new
//     key.
//   - [ErrOrderPaid] means that the order of the key is paid, or that its payment is on its way.
//     Together with this error, Checkout returns the order, without a Session.
//   - [ErrPaymentOpen] means that another call creates the session of the replaced order right now. The new
//     order holds the use already. Repeat the call with the same key.
//   - processor.ErrRejected and processor.ErrForbidden mean that the processor refused the payment
//     session.
//   - [ErrUnavailable], or the error of the context, means that the result is unknown. Repeat the
//     call with the same key. If nobody repeats the call, [Service.Sweep] releases the use.
func (s *Service) Checkout(ctx context.Context, r CheckoutRequest) (Checkout, error) {
	return s.checkoutAs(ctx, OpCheckout, PaymentLinkRequest{CheckoutRequest: r, Mode: SubscriptionLink})
}

// reserver returns the Reserver for the service's store.
func (s *Service) reserver(check mirrors.Check, attempt *settle.Attempt) *checkout.Reserver {
	return &checkout.Reserver{
		Quoter: *s.quoter(check, attempt), Store: s.store, NewID: s.id, Actor: actorOf,
		Sessions: s.hasProcessor(), Lifetime: s.sessionLifetime, Grace: s.grace,
		SessionLines: func(o redemption.Order) int { return s.payments().CountLines(o) },
	}
}

// checkoutAs makes a checkout. The observer gets op, the method that the host called. In product mode,
// the checkout is for the amount and ignores the cart.
func (s *Service) checkoutAs(ctx context.Context, op Operation, r PaymentLinkRequest) (c Checkout, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, op, &attempt, &err)()
	reserver := s.reserver(s.mirrors.Ask, &attempt)
	of := checkout.Request{
		Request: quote.Request{Cart: r.Cart, Codes: r.Codes, Conflicts: r.Conflicts, SkipRefused: r.SkipRefused, Facts: r.Facts},
		Key:     r.Key, Expected: (*checkout.Totals)(r.Expected), Metadata: r.Metadata, PayNow: true, SuccessURL: r.SuccessURL,
	}
	switch {
	case r.Mode.String() == "":
		var faults validation.Error
		faults.Merge("", r.Mode.fault())
		faults.Merge("", reserver.CheckRequest(&of))
		return Checkout{}, faults.Err()
	case s.inTransaction:
		return Checkout{}, ErrInTransaction
	case !s.hasProcessor():
		return Checkout{}, ErrNoProcessor
	case r.Mode == ProductLink:
		of.About, of.Amount, of.Expected = quote.OfAmount, r.Amount, nil
	}
	if of.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Checkout{}, err
	}
	reserved, err := reserver.Reserve(ctx, &of)
	attempt.OrderID, attempt.CouponID = reserved.Order.ID, reserved.CouponID
	if err != nil {
		return Checkout{}, err
	}
	opened, err := s.payments().Open(ctx, store.Settled{Order: reserved.Order, Uses: reserved.Uses}, reserved.Replayed, payments.Details{
		Email: of.Customer.Email, Describe: r.Describe, SuccessURL: r.SuccessURL, CancelURL: r.CancelURL,
	})
	attempt.SessionID = opened.Order.SessionID
	if errors.Is(err, payments.ErrFinished) { // the limit has probably been reached meanwhile
		if _, refused := reserver.Decide(ctx, &of); refused != nil {
			err = refused
		}
	}
	made := Checkout{Order: opened.Order, Uses: opened.Uses, Replayed: reserved.Replayed, Refused: reserved.Refused}
	switch {
	case errors.Is(err, ErrOrderPaid):
		return made, err
	case err != nil:
		return Checkout{}, withCode(err, r.Codes...)
	}
	made.Session = s.linkOf(opened.Order)
	return made, nil
}

// withCode sets the code of refusals without a code, if the request has exactly one code.
func withCode(err error, codes ...string) error {
	for _, r := range coupon.RejectionsOf(err) {
		if len(codes) == 1 && r.Code == "" {
			r.Code = codes[0]
		}
	}
	return err
}
