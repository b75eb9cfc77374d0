package couponkit

import (
	"context"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// LinkMode tells what a payment link sells (specification 4.6).
type LinkMode uint8

// These constants are the modes of a payment link.
const (
	// SubscriptionLink sells a cart and discounts the cart's eligible lines.
	SubscriptionLink LinkMode = iota + 1
	// ProductLink sells an amount that the caller has already discounted.
	ProductLink
)

// String returns "subscription" or "product". For an unknown mode, String returns the empty string.
func (m LinkMode) String() string {
	switch m {
	case SubscriptionLink:
		return "subscription"
	case ProductLink:
		return "product"
	}
	return ""
}

// ParseLinkMode returns the mode with the given name. For an unknown name, ParseLinkMode returns a
// [*validation.Error] for the field "mode".
func ParseLinkMode(text string) (LinkMode, error) {
	for m := SubscriptionLink; m <= ProductLink; m++ {
		if m.String() == text {
			return m, nil
		}
	}
	return 0, modeFault(validation.Unknown)
}

func modeFault(code validation.Code) error {
	return &validation.Error{Fields: []validation.Field{{
		Path: "mode", Code: code, Message: "must be subscription or product",
	}}}
}

// PaymentLinkRequest describes a payment link. The fields of [CheckoutRequest] have the same
// meaning as in [Service.Checkout].
type PaymentLinkRequest struct {
	// CheckoutRequest contains the fields that a payment link shares with a checkout. Product mode
	// ignores the fields Cart and Expected.
	CheckoutRequest
	// Mode tells whether the link sells the Cart or the Amount. Mode is required.
	Mode LinkMode
	// Amount is the price that the customer pays in product mode. Amount must be greater than 0. The
	// caller has already subtracted the discount from Amount.
	Amount pricing.Money
}

// PaymentLink opens a payment session for the wallet flow (specification 4.6).
//
// In subscription mode, PaymentLink works like [Service.Checkout]. In product mode, PaymentLink
// charges the request's Amount unchanged. If a request in product mode names a coupon, PaymentLink
// checks the coupon and reserves a use. The use is counted when the customer pays. In product mode,
// the caller must check the coupon's minimum purchase and scope, because PaymentLink does not know
// the cart.
//
// PaymentLink returns the errors of [Service.Checkout] and these errors:
//
//   - A [*validation.Error] reports a missing or unknown mode, or an invalid amount in
//     product mode. An amount is invalid if it is 0 or negative, has no currency, or is not a
//     multiple of the processor's step.
//   - coupon.ErrBelowMinimumCharge means that the amount is below the processor's minimum charge.
func (s *Service) PaymentLink(ctx context.Context, r PaymentLinkRequest) (c Checkout, err error) {
	switch r.Mode {
	case SubscriptionLink:
		return s.checkoutAs(ctx, OpPaymentLink, r.CheckoutRequest)
	case ProductLink:
		return s.productLink(ctx, r)
	}
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpPaymentLink, &attempt, &err)()
	var faults validation.Error
	wrong := validation.Unknown
	if r.Mode == 0 {
		wrong = validation.Required
	}
	faults.Merge("", modeFault(wrong))
	faults.Merge("", s.checkRequest(r.CheckoutRequest))
	return Checkout{}, faults.Err()
}

func (s *Service) productLink(ctx context.Context, r PaymentLinkRequest) (c Checkout, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpPaymentLink, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return Checkout{}, err
	}
	var faults validation.Error
	r.Cart, err = s.amountCart(r.Amount)
	faults.Merge("", err)
	faults.Merge("", s.checkRequest(r.CheckoutRequest))
	if err = faults.Err(); err != nil {
		return Checkout{}, err
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Checkout{}, err
	}
	request := amountFingerprint(r)
	price := func() (priced, error) { return s.priceAmount(ctx, r) }
	reserved, err := s.orderOfKey(ctx, &r.CheckoutRequest, request, price)
	return s.finish(ctx, &attempt, r.CheckoutRequest, reserved, err, price)
}

// amountLine is the one line of an order by amount.
const amountLine = "amount"

// amountCart is the cart of an amount, which has to be chargeable.
func (s *Service) amountCart(amount pricing.Money) (pricing.Cart, error) {
	var faults validation.Error
	if amount.Minor() <= 0 {
		faults.Add("amount", validation.TooSmall, "an amount is greater than 0")
	}
	if amount.Currency().IsZero() {
		faults.Add("currency", validation.Required, "an amount is in a currency")
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

// priceAmount validates the coupons and takes nothing off.
func (s *Service) priceAmount(ctx context.Context, r PaymentLinkRequest) (priced, error) {
	p, wrong := s.priceWithout(QuoteRequest{Cart: r.Cart, Customer: r.Customer})
	if len(r.Codes) == 0 || wrong != nil && coupon.RejectionsOf(wrong) == nil {
		return p, wrong
	}
	d := decided{cart: r.Cart}
	if err := s.name(ctx, &d, r.Codes, r.Customer, s.mirrors.Ask, r.Conflicts); err != nil {
		return p, err
	}
	question := eligibility.Question{At: d.at, Customer: r.Customer, Facts: r.Facts, Conflicts: r.Conflicts}
	err := s.choose(ctx, &d, decision{
		fingerprints: []string{amountFingerprint(r)}, skipRefused: r.SkipRefused,
		evaluate: func(set []eligibility.Candidate) (checked eligibility.SetResult, err error) {
			checked.Coupons, err = eligibility.CheckSet(set, r.Cart.Currency, question)
			return checked, err
		},
	})
	if err != nil {
		return p, err
	}
	applied, refused := d.priced(), d.refused()
	p.named = applied.named
	switch {
	case len(refused) > 0 && (!r.SkipRefused || wrong != nil):
		return p, refusals(d.named, refused, wrong)
	case wrong != nil:
		return p, refusals(d.named, wrong)
	}
	p.quote.Terms, p.quote.Refused, p.coupons, p.takes = applied.quote.Terms, refused, applied.coupons, applied.takes
	return p, nil
}

// onStep refuses an amount of money that is off the step in which the processor
// charges its currency.
func (s *Service) onStep(field string, amount pricing.Money) error {
	currency := amount.Currency()
	step := s.abilities.AmountStep[currency]
	if step == 0 || amount.Minor()%step == 0 {
		return nil
	}
	return validation.New(field, validation.TooManyDecimals, fmt.Sprintf(
		"the processor charges %s in steps of %s", currency, currency.Format(step)))
}
