package couponkit

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// LinkMode tells what a payment link sells (specification 4.6).
type LinkMode uint8

// The modes of a payment link.
const (
	// SubscriptionLink sells a cart and discounts its eligible lines.
	SubscriptionLink LinkMode = iota + 1
	// ProductLink sells an amount that the caller has discounted.
	ProductLink
)

// String returns "subscription" or "product".
func (m LinkMode) String() string {
	switch m {
	case SubscriptionLink:
		return "subscription"
	case ProductLink:
		return "product"
	}
	return ""
}

// ParseLinkMode returns the mode whose name is text. Any other text is a
// [*pricing.ValidationError] for the field mode.
func ParseLinkMode(text string) (LinkMode, error) {
	for m := SubscriptionLink; m <= ProductLink; m++ {
		if m.String() == text {
			return m, nil
		}
	}
	return 0, modeFault(pricing.FieldUnknown)
}

func modeFault(code pricing.FieldCode) error {
	return &pricing.ValidationError{Fields: []pricing.FieldError{{
		Field: "mode", Code: code, Message: "must be subscription or product",
	}}}
}

// PaymentLinkRequest asks for a payment link. The fields of [CheckoutRequest] have the same
// meaning as in [Service.Checkout].
type PaymentLinkRequest struct {
	// CheckoutRequest is the request. Cart and Expected are used in subscription mode only.
	CheckoutRequest
	// Mode tells whether Cart or Amount is sold. It is required.
	Mode LinkMode
	// Amount is what the customer pays in product mode. It is greater than 0. The caller has
	// taken the discount off.
	Amount pricing.Money
}

// PaymentLink opens a payment session for the wallet flow (specification 4.6).
//
// In subscription mode it works like [Service.Checkout]. In product mode it charges the amount
// as given. If there is a coupon, it checks the coupon, reserves a use, and records the use. The
// caller has checked minimum purchase and scope, because only the caller knows the cart.
//
// Errors are those of [Service.Checkout]. In product mode, a [*pricing.ValidationError] also
// reports an amount that is not above 0, has no currency, or is no multiple of the processor's
// step. An amount below the processor's minimum charge matches coupon.ErrBelowMinimumCharge.
func (s *Service) PaymentLink(ctx context.Context, r PaymentLinkRequest) (c Checkout, err error) {
	switch r.Mode {
	case SubscriptionLink:
		return s.checkoutAs(ctx, OpPaymentLink, r.CheckoutRequest)
	case ProductLink:
		return s.productLink(ctx, r)
	}
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpPaymentLink, &attempt, &err)()
	var faults pricing.ValidationError
	wrong := pricing.FieldUnknown
	if r.Mode == 0 {
		wrong = pricing.FieldRequired
	}
	faults.Merge("", modeFault(wrong))
	faults.Merge("", s.checkRequest(r.CheckoutRequest))
	return Checkout{}, faults.Err()
}

func (s *Service) productLink(ctx context.Context, r PaymentLinkRequest) (c Checkout, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpPaymentLink, &attempt, &err)()
	var faults pricing.ValidationError
	r.Cart, err = s.amountCart(r.Amount)
	faults.Merge("", err)
	faults.Merge("", s.checkRequest(r.CheckoutRequest))
	if err = faults.Err(); err != nil {
		return Checkout{}, err
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Checkout{}, err
	}
	request := amountFingerprint(r.Amount, r.Code)
	price := func() (priced, error) { return s.priceAmount(ctx, r) }
	reserved, err := s.keyed(ctx, &r.CheckoutRequest, request, price)
	return s.finish(ctx, &attempt, r.CheckoutRequest, reserved, err, price)
}

// amountLine is the one line of an order by amount.
const amountLine = "amount"

// amountCart is the cart of an amount, which has to be chargeable.
func (s *Service) amountCart(amount pricing.Money) (pricing.Cart, error) {
	var faults pricing.ValidationError
	if amount.Minor() <= 0 {
		faults.Add("amount", pricing.FieldTooSmall, "an amount is greater than 0")
	}
	if amount.Currency().IsZero() {
		faults.Add("currency", pricing.FieldRequired, "an amount is in a currency")
	}
	if err := faults.Err(); err != nil {
		return pricing.Cart{}, err
	}
	if err := s.onStep("amount", amount); err != nil {
		return pricing.Cart{}, err
	}
	cart, err := s.inSteps(pricing.Cart{Currency: amount.Currency(), Lines: []pricing.Line{{
		ID: amountLine, Kind: pricing.Device, ItemID: amountLine, Quantity: 1, UnitPrice: amount.Minor(),
	}}})
	if err != nil {
		return pricing.Cart{}, err
	}
	return cart, cart.Validate()
}

// priceAmount validates the coupon and takes nothing off.
func (s *Service) priceAmount(ctx context.Context, r PaymentLinkRequest) (priced, error) {
	p, refused := s.priceWithout(QuoteRequest{Cart: r.Cart, Customer: r.Customer})
	var rejected *coupon.Rejection
	if r.Code == "" || refused != nil && !errors.As(refused, &rejected) {
		return p, refused
	}
	found, question, err := s.ask(ctx, r.Code, r.Customer, s.askMirror)
	if err != nil {
		return p, refusals(err, refused)
	}
	p.found = found
	decision := eligibility.Check(found.Coupon, question).CheckCurrency(found.Coupon, r.Cart.Currency)
	if err := refusals(decision.Err(), refused); err != nil {
		return p, err
	}
	snapshot := found.Coupon.Snapshot()
	p.quote.Coupon = &snapshot
	return p, nil
}
