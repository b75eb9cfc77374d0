package couponkit

import (
	"context"

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
	return 0, validation.New("mode", validation.Unknown, modeMessage)
}

const modeMessage = "must be subscription or product"

// fault returns the error for a missing or unknown mode.
func (m LinkMode) fault() error {
	if m == 0 {
		return validation.New("mode", validation.Required, modeMessage)
	}
	return validation.New("mode", validation.Unknown, modeMessage)
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
func (s *Service) PaymentLink(ctx context.Context, r PaymentLinkRequest) (Checkout, error) {
	return s.checkoutAs(ctx, OpPaymentLink, r)
}
