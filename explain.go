package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
)

// Explanation tells what the codes of a request do to a cart.
type Explanation struct {
	// Quote is the cart priced with the coupons that apply.
	Quote Quote `json:"quote"`
	// Codes has one entry for each code of the request, in the order of the request.
	Codes []ExplainedCode `json:"codes"`
	// Automatic are the automatic coupons that apply, sorted by ID. They have no Code.
	Automatic []ExplainedCode `json:"automatic,omitempty"`
}

// ExplainedCode tells whether a code applies to a cart.
type ExplainedCode struct {
	// Code is the code or ID as it was given.
	Code string `json:"code"`
	// CouponID is empty if the code names no coupon.
	CouponID string `json:"couponId,omitempty"`
	// Applied is true if the coupon applies. Discount is what the coupon then takes off the cart, in
	// the cart's currency. The Discount of a refused coupon is 0.
	Applied  bool          `json:"applied"`
	Discount pricing.Money `json:"discount"`
	// Instead is what the cart would save in all with the coupon and the others that it allows. With
	// [eligibility.KeepBest], a coupon has an Instead if it is refused because others are better.
	Instead pricing.Money `json:"instead,omitzero"`
	// ExcludedBy are the codes of the coupons with which the coupon cannot be combined, sorted. An automatic
	// coupon has its ID there.
	ExcludedBy []string `json:"excludedBy,omitempty"`
	// Reasons are all reasons why the coupon is refused. The parameters of a reason tell how far the
	// cart or the customer is from meeting it. Reasons is empty if the coupon applies.
	Reasons []coupon.Reason `json:"rejections"`
}

// Explain tells for each code of a request whether it applies to the cart, with its discount, or
// every reason why it is refused. Explain prices the cart with the coupons that apply, as
// [Service.Quote] does with SkipRefused. A refused coupon is no error. Explain changes nothing and
// reserves nothing. The order of the codes changes only the order of the entries, except with
// [eligibility.KeepFirst].
//
// Staff who need the true reasons ask a service without [WithOpaqueRefusals] and [WithLimiter].
//
// Explain returns these errors:
//
//   - A [*validation.Error] means that the cart is malformed, that there are too many codes,
//     or that a code is given twice. Different codes of one coupon are refused as not_combinable.
//   - coupon.ErrBelowMinimumCharge means that the processor cannot charge the total. Explain returns
//     the explanation together with this error.
//   - [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
//   - [ErrUnavailable] means that the processor did not answer.
func (s *Service) Explain(ctx context.Context, r QuoteRequest) (e Explanation, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpExplain, &attempt, &err)()
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Explanation{}, err
	}
	quoter, request := s.quoter(s.mirrors.Recent, &attempt), quote.Request(r)
	if err := quoter.Validate(&request); err != nil {
		return Explanation{}, err
	}
	d, err := quoter.Explain(ctx, request)
	if d == nil {
		return Explanation{}, err
	}
	attempt.CouponID = d.CouponID()
	e = Explanation{Quote: newQuote(d), Codes: make([]ExplainedCode, len(d.Codes))}
	for i := range d.Codes {
		e.Codes[i] = explained(&d.Codes[i], d.Quote.Currency)
	}
	for _, c := range d.Applied {
		if c.Typed == "" {
			e.Automatic = append(e.Automatic, explained(c, d.Quote.Currency))
		}
	}
	return e, err
}

func explained(c *quote.Code, currency pricing.Currency) ExplainedCode {
	e := ExplainedCode{
		Code: c.Typed, CouponID: c.Coupon.ID, Applied: c.Refused == nil,
		Discount: pricing.NewMoney(c.Discount, currency), Reasons: []coupon.Reason{},
	}
	if c.Instead > 0 {
		e.Instead = pricing.NewMoney(c.Instead, currency)
	}
	if !e.Applied {
		e.Reasons = c.Refused.Reasons
	}
	for _, reason := range e.Reasons {
		if reason.Code == coupon.NotCombinable {
			e.ExcludedBy = reason.Params.ExcludedBy
		}
	}
	return e
}
