package couponkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
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
// reason. If the processor does not answer, the error matches [ErrUnavailable].
func (s *Service) Validate(ctx context.Context, r ValidateRequest) (v Validation, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpValidate, &attempt, &err)()
	var faults validation.Error
	faults.Merge("facts", r.Facts.Validate())
	if err = faults.Err(); err != nil {
		return Validation{}, err
	}
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Validation{}, err
	}
	var d decided
	if err := s.name(ctx, &d, []string{r.Code}, r.Customer, s.mirrors.Recent, 0); err != nil {
		return Validation{}, err
	}
	c := &d.named[0].Coupon
	attempt.CouponID = c.ID
	if err := s.check(ctx, &d, r); err != nil {
		return Validation{}, err
	}
	return Validation{
		CouponID: c.ID, Code: c.Code, DiscountType: c.Discount.Type(), DiscountValue: c.Discount.Value(),
		Currency: c.Currency, CurrencySymbol: c.Currency.Symbol(s.symbols),
	}, nil
}

// check decides about one coupon without a cart.
func (s *Service) check(ctx context.Context, d *decided, r ValidateRequest) error {
	if refused := d.named[0].refused; refused != nil {
		return refusals(d.named, refused, signedIn(r.Customer, r.AllowAnonymous))
	}
	err := s.choose(ctx, d, decision{evaluate: func(set []eligibility.Candidate) (eligibility.SetResult, error) {
		c := set[0].Coupon
		decision := eligibility.Check(c, eligibility.Question{
			At: d.at, Customer: r.Customer, Facts: r.Facts, Usage: set[0].Usage, Code: set[0].Code, MirrorInvalid: set[0].MirrorInvalid,
			AllowAnonymous: r.AllowAnonymous,
		})
		return eligibility.SetResult{Coupons: []eligibility.Outcome{{CouponID: c.ID, Code: c.Code, Decision: decision}}}, nil
	}})
	if err != nil {
		return err
	}
	if refused := d.refused(); len(refused) > 0 {
		return refused[0]
	}
	return nil
}

// quoteFaults names all that is wrong with the codes, their policy, the facts and the IDs of lines. What is wrong
// with the rest of the cart is found when it is priced.
func (s *Service) quoteFaults(r QuoteRequest) error {
	var request, faults validation.Error
	request.Merge("", checkCodes(r.Codes, r.Conflicts))
	request.Merge("facts", r.Facts.Validate())
	if request.Err() == nil && checkLines(r.Cart) == nil {
		return nil
	}
	faults.Merge("", s.cartFaults(r.Cart))
	faults.Merge("", request.Err())
	return faults.Err()
}

// checkLines refuses the IDs of lines that neither the JSON of a quote nor a store keeps.
func checkLines(cart pricing.Cart) error {
	return redemption.CheckLines(len(cart.Lines), func(i int) *pricing.Line { return &cart.Lines[i] })
}

// priced is a quote with what a checkout needs beside it.
type priced struct {
	quote    Quote
	coupons  []*coupon.Coupon // those that apply, sorted by ID
	named    []named          // the codes of the request
	customer eligibility.Customer
	takes    handOver // what the order of the quote takes over
}

// couponID is the first coupon that the request has named, or empty.
func (p priced) couponID() string {
	for _, n := range p.named {
		if n.Coupon.ID != "" {
			return n.Coupon.ID
		}
	}
	return ""
}

func (s *Service) price(ctx context.Context, r QuoteRequest, check mirrors.Check) (priced, error) {
	if len(r.Codes) == 0 {
		return s.priceWithout(r)
	}
	d, err := s.decide(ctx, r, check)
	if err != nil {
		return priced{}, err
	}
	p := d.priced()
	refused := d.refused()
	switch {
	case len(refused) > 0 && r.SkipRefused:
		p.quote.Refused = refused
	case len(refused) > 0:
		return s.refuse(p, d, refusals(d.named, refused))
	}
	var anonymous error
	if len(p.coupons) == 0 {
		anonymous = signedIn(r.Customer, r.AllowAnonymous)
	}
	return p, refusals(d.named, anonymous, s.chargeable(p.quote.Quote))
}

// inSteps gives the cart the step in which the processor charges its currency, so
// that whatever is quoted can be charged. A host that has a step of its own keeps it
// if it is a multiple of the processor's.
func (s *Service) inSteps(cart pricing.Cart) (pricing.Cart, error) {
	step := s.abilities.AmountStep[cart.Currency]
	if step <= 1 || cart.Step < 0 {
		return cart, nil
	}
	if cart.Step <= 1 {
		cart.Step = step
		return cart, nil
	}
	if cart.Step%step != 0 {
		var faults validation.Error
		faults.Add("step", validation.Mismatch, fmt.Sprintf(
			"the processor charges %s in steps of %s", cart.Currency, cart.Currency.Format(step)))
		faults.Merge("", cart.Validate())
		return pricing.Cart{}, faults.Err()
	}
	return cart, nil
}

func (s *Service) priceWithout(r QuoteRequest) (priced, error) {
	cart, err := s.inSteps(r.Cart)
	if err != nil {
		return priced{}, err
	}
	quote, err := pricing.Price(cart)
	if err != nil {
		return priced{}, err
	}
	p := priced{quote: Quote{Quote: quote, At: s.now(), Fingerprint: quoteFingerprint(cart, nil)}, customer: r.Customer}
	return p, refusals(nil, signedIn(r.Customer, r.AllowAnonymous), s.chargeable(quote))
}

// signedIn refuses nobody, unless anonymous customers are allowed. Where there is a coupon,
// package eligibility does.
func signedIn(c eligibility.Customer, allowAnonymous bool) error {
	if c.ID != "" || allowAnonymous {
		return nil
	}
	return coupon.Reject("", coupon.UserRequired, coupon.Params{})
}

// refusals is what several rules refuse, in the order of the codes of a request. What concerns the
// whole request comes first, or belongs to the only code. An error that is no refusal comes before
// all. The reasons of each code are in the order of their ranks.
func refusals(codes []named, errs ...error) error {
	var all coupon.Rejections
	for _, err := range errs {
		if err == nil {
			continue
		}
		refused := coupon.RejectionsOf(err)
		if refused == nil {
			return err
		}
		for _, r := range refused {
			if len(codes) == 1 {
				r = &coupon.Rejection{CouponID: cmp.Or(codes[0].Coupon.ID, r.CouponID), Code: codes[0].code, Reasons: r.Reasons}
			}
			all = addRefusal(all, r)
		}
	}
	for _, r := range all {
		slices.SortStableFunc(r.Reasons, coupon.CompareReasons)
		r.Reasons = slices.CompactFunc(r.Reasons, func(a, b coupon.Reason) bool { return a.Code == b.Code && a.Code == coupon.UserRequired })
	}
	place := func(r *coupon.Rejection) int {
		return slices.IndexFunc(codes, func(n named) bool { return r.Code != "" && n.code == r.Code })
	}
	slices.SortStableFunc(all, func(a, b *coupon.Rejection) int { return cmp.Compare(place(a), place(b)) })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
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

// addRefusal adds reasons to those of the same code.
func addRefusal(all coupon.Rejections, r *coupon.Rejection) coupon.Rejections {
	for _, known := range all {
		if known.CouponID == r.CouponID && known.Code == r.Code {
			known.Reasons = append(known.Reasons, r.Reasons...)
			return all
		}
	}
	return append(all, &coupon.Rejection{CouponID: r.CouponID, Code: r.Code, Reasons: slices.Clone(r.Reasons)})
}

// listPrices is what a customer sees whose coupons are refused.
func (s *Service) listPrices(cart pricing.Cart) Quote {
	quote, err := pricing.Price(cart)
	if err != nil {
		return Quote{}
	}
	return Quote{Quote: quote, At: s.now(), Fingerprint: quoteFingerprint(cart, nil)}
}

// chargeable refuses a total that the processor cannot charge.
func (s *Service) chargeable(q pricing.Quote) error {
	minimum := s.abilities.MinimumCharge[q.Currency]
	if q.Total == 0 && !s.abilities.NoZeroTotal || q.Total > 0 && q.Total >= minimum {
		return nil
	}
	return coupon.Reject("", coupon.BelowMinimumCharge, coupon.Params{
		Total:   coupon.Amount{Money: pricing.NewMoney(q.Total, q.Currency)},
		Minimum: coupon.Amount{Money: pricing.NewMoney(max(minimum, s.abilities.AmountStep[q.Currency], 1), q.Currency)},
	})
}
