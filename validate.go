package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Validation describes a coupon that the customer may use (specification 4.4).
type Validation struct {
	CouponID       string               `json:"couponId"`
	Code           coupon.Code          `json:"code"`
	DiscountType   pricing.DiscountType `json:"discountType"`
	DiscountValue  string               `json:"discountValue,omitempty"`
	Currency       pricing.Currency     `json:"currency"`
	CurrencySymbol string               `json:"currencySymbol"`
}

// ValidateRequest asks whether a customer may use a coupon.
type ValidateRequest struct {
	// Code is the coupon's code or ID.
	Code string
	// Customer is the person who wants to use the coupon.
	Customer eligibility.Customer
	// Facts are what the host knows already about the purchase. A fact that is not given refuses no
	// coupon yet.
	Facts eligibility.Facts
	// AllowAnonymous accepts a customer without an ID if everybody may use the coupon. For a customer
	// without an ID, the service does not check the coupon's limit per customer.
	AllowAnonymous bool
}

// Validate checks whether the customer may use a coupon, before the customer has a cart
// (specification 4.4). Validate changes nothing and reserves nothing. Validate may have to ask the
// processor about the coupon; see [WithMirrorTTL].
//
// If the customer may not use the coupon, Validate returns a [*coupon.Rejection] that lists every
// reason; see [WithOpaqueRefusals]. If the processor does not answer, the error matches [ErrUnavailable].
// [ErrTooManyAttempts] means that the customer has entered too many wrong codes.
func (s *Service) Validate(ctx context.Context, r ValidateRequest) (v Validation, err error) {
	attempt := settle.Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpValidate, &attempt, &err)()
	var faults validation.Error
	faults.Merge("facts", r.Facts.Validate())
	if err = faults.Err(); err != nil {
		return Validation{}, err
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Validation{}, err
	}
	d, err := s.quoter(s.mirrors.Recent, &attempt).Check(ctx, quote.Request{
		Codes: []string{r.Code}, Customer: r.Customer, Facts: r.Facts, AllowAnonymous: r.AllowAnonymous,
	})
	attempt.CouponID = d.CouponID()
	if err != nil {
		return Validation{}, err
	}
	c := &d.Codes[0].Coupon
	return Validation{
		CouponID: c.ID, Code: c.Code, DiscountType: c.Discount.Type(), DiscountValue: c.Discount.Value(),
		Currency: c.Currency, CurrencySymbol: c.Currency.Symbol(s.symbols),
	}, nil
}
