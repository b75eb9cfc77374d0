package couponkit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// checkCodes refuses more codes than a cart can have coupons, a code that is given twice, and an
// unknown policy.
func checkCodes(codes []string, policy eligibility.ConflictPolicy) error {
	var faults validation.Error
	faults.Merge("", policy.Validate())
	if len(codes) > pricing.MaxCoupons {
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes are allowed", pricing.MaxCoupons))
		return faults.Err()
	}
	keys := make([]string, len(codes))
	for i, code := range codes {
		keys[i] = spelling(code)
		if first := slices.Index(keys[:i], keys[i]); first >= 0 {
			faults.Add(fmt.Sprintf("codes[%d]", i), validation.Mismatch, fmt.Sprintf("is the same as codes[%d]", first))
		}
	}
	return faults.Err()
}

// spelling returns one text for all forms in which a customer may type a code. Two texts may still
// name the same coupon, which only a look-up finds out.
func spelling(typed string) string {
	id := strings.TrimSpace(typed)
	code, err := coupon.TypedCode(typed)
	if err != nil || coupon.IsID(id) {
		return id
	}
	return code.String()
}

// named is a code of a request together with the coupon that the code names.
type named struct {
	code    string            // as it was given
	plain   coupon.Code       // of the coupon, whose Code is the one by which it came
	counted                   // without a coupon if the code names none
	mirror  bool              // the mirror is invalid
	refused *coupon.Rejection // why the coupon does not take part in the decision
}

// decided is a decision about the codes of a request.
type decided struct {
	cart     pricing.Cart
	customer eligibility.Customer
	named    []named // in the order of the request
	at       time.Time
	result   eligibility.SetResult
	takes    handOver // what the order takes over so that the result holds

	open   []store.Settled // the customer's open orders, if they were read
	opened bool
}

// decide finds the coupons of a request and decides about them at one instant.
func (s *Service) decide(ctx context.Context, r QuoteRequest, check mirrors.Check) (d decided, err error) {
	if d.cart, err = s.inSteps(r.Cart); err != nil {
		return decided{}, err
	}
	if err := d.cart.Validate(); err != nil {
		return decided{}, err
	}
	if err := s.name(ctx, &d, r.Codes, r.Customer, check, r.Conflicts); err != nil {
		return decided{}, err
	}
	question := eligibility.Question{
		At: d.at, Customer: r.Customer, Facts: r.Facts, AllowAnonymous: r.AllowAnonymous, Conflicts: r.Conflicts,
	}
	err = s.choose(ctx, &d, decision{
		fingerprints: requestFingerprints(r), skipRefused: r.SkipRefused,
		evaluate: func(set []eligibility.Candidate) (eligibility.SetResult, error) {
			return eligibility.EvaluateSet(set, d.cart, question)
		},
	})
	if err != nil {
		return decided{}, err
	}
	if len(d.result.Coupons) == 0 { // else the outcomes say so
		d.addReasons(signedIn(r.Customer, r.AllowAnonymous))
	}
	return d, nil
}

// addReasons adds reasons to those of every code.
func (d *decided) addReasons(more error) {
	for _, other := range coupon.RejectionsOf(more) {
		for i := range d.named {
			r := d.named[i].refused
			r.Reasons = append(r.Reasons, other.Reasons...)
			slices.SortStableFunc(r.Reasons, coupon.CompareReasons)
		}
	}
}

// choose decides about the coupons beside what the order takes over.
func (d *decided) choose(h handOver, by decision) (err error) {
	set := make([]eligibility.Candidate, 0, len(d.named))
	for i := range d.named {
		if n := &d.named[i]; n.refused == nil {
			set = append(set, eligibility.Candidate{Coupon: &n.Coupon, Code: n.Code, Usage: n.usage(h), MirrorInvalid: n.mirror})
		}
	}
	d.takes = h
	d.result, err = by.evaluate(set)
	return err
}

// leaveOutRefused leaves the coupons that are refused out of the next decision.
func (d *decided) leaveOutRefused() {
	d.named = slices.Clone(d.named)
	for i := range d.named {
		d.named[i].refused = d.rejection(d.named[i])
	}
}

// isEmpty reports whether no coupon takes part in the next decision.
func (d *decided) isEmpty() bool {
	return !slices.ContainsFunc(d.named, func(n named) bool { return n.refused == nil })
}

// limitsReached are the limits for which the decision refuses coupons.
func (d *decided) limitsReached() limitsReached {
	reached := limitsReached{counters: map[string]bool{}, points: map[string]bool{}}
	for _, n := range d.named {
		decision := d.outcome(n).Decision
		refused := decision.Has(coupon.PointsNotRedeemed)
		if refused {
			reached.points[n.Coupon.ID] = true
		}
		for _, l := range n.limits {
			if decision.Has(l.Reason) {
				refused, reached.counters[l.Counter] = true, true
			}
		}
		if refused {
			reached.coupons++
		}
	}
	return reached
}

// freePoints returns the customer's oldest points reservation of each coupon of the given
// distributions that is in no order.
func (d *decided) freePoints(of ...coupon.Distribution) map[string]redemption.Use {
	free := map[string]redemption.Use{}
	for _, n := range d.named {
		for _, u := range n.Held { // the newest comes first
			if u.Free() && slices.Contains(of, n.Coupon.Distribution) {
				free[n.Coupon.ID] = u
			}
		}
	}
	return free
}

// outcome returns the outcome for the coupon of a code.
func (d *decided) outcome(n named) eligibility.Outcome {
	for _, o := range d.result.Coupons {
		if n.refused == nil && o.CouponID == n.Coupon.ID {
			return o
		}
	}
	return eligibility.Outcome{}
}

// rejection returns why a code is refused, or nil.
func (d *decided) rejection(n named) *coupon.Rejection {
	if n.refused != nil {
		return n.refused
	}
	o := d.outcome(n)
	if o.Decision.Allowed() {
		return nil
	}
	return &coupon.Rejection{CouponID: o.CouponID, Code: n.code, Reasons: o.Decision.Reasons()}
}

// refused returns why codes are refused, in the order of the request.
func (d *decided) refused() (refused coupon.Rejections) {
	for _, n := range d.named {
		if r := d.rejection(n); r != nil {
			refused = append(refused, r)
		}
	}
	return refused
}

// priced is the quote with the coupons that apply.
func (d *decided) priced() priced {
	p := priced{quote: Quote{Quote: d.result.Quote, At: d.at}, customer: d.customer, named: d.named, takes: d.takes}
	applied := make([]named, 0, len(d.named))
	for _, n := range d.named {
		if n.refused == nil && d.outcome(n).Decision.Allowed() {
			applied = append(applied, n)
		}
	}
	slices.SortFunc(applied, func(a, b named) int { return cmp.Compare(a.Coupon.ID, b.Coupon.ID) })
	p.coupons, p.quote.Terms = slices.Grow(p.coupons, len(applied)), slices.Grow(p.quote.Terms, len(applied))
	for _, n := range applied {
		p.coupons = append(p.coupons, &n.Coupon)
		p.quote.Terms = append(p.quote.Terms, n.Coupon.Snapshot())
	}
	p.quote.Fingerprint = quoteFingerprint(d.cart, p.quote.Terms)
	return p
}

// refuse returns the cart at its list prices together with the refusal.
func (s *Service) refuse(p priced, d decided, refused error) (priced, error) {
	if len(p.coupons) > 0 {
		p.quote, p.coupons = s.listPrices(d.cart), nil
	}
	return p, refused
}

// Explanation tells what the codes of a request do to a cart.
type Explanation struct {
	// Quote is the cart priced with the coupons that apply.
	Quote Quote
	// Codes has one entry for each code of the request, in the order of the request.
	Codes []ExplainedCode
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
	// ExcludedBy are the codes of the coupons with which the coupon cannot be combined, sorted.
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
// Explain returns these errors:
//
//   - A [*validation.Error] means that the cart is malformed, that there are too many codes,
//     or that a code is given twice. Different codes of one coupon are refused as not_combinable.
//   - coupon.ErrBelowMinimumCharge means that the processor cannot charge the total. Explain returns
//     the explanation together with this error.
//   - [ErrUnavailable] means that the processor did not answer.
func (s *Service) Explain(ctx context.Context, r QuoteRequest) (e Explanation, err error) {
	attempt := Attempt{CustomerID: r.Customer.ID}
	defer s.observed(ctx, OpExplain, &attempt, &err)()
	if r.Customer, err = s.customer(ctx, r.Customer); err != nil {
		return Explanation{}, err
	}
	if err := s.quoteFaults(r); err != nil {
		return Explanation{}, err
	}
	d, err := s.decideAny(ctx, r)
	if err != nil {
		return Explanation{}, err
	}
	p := d.priced()
	attempt.CouponID = p.couponID()
	e.Quote = p.quote
	e.Quote.Refused = d.refused()
	for _, n := range d.named {
		e.Codes = append(e.Codes, d.explain(n))
	}
	return e, refusals(p.named, s.chargeable(e.Quote.Quote))
}

// decideAny is decide that also prices a cart without codes.
func (s *Service) decideAny(ctx context.Context, r QuoteRequest) (decided, error) {
	if len(r.Codes) > 0 {
		r.SkipRefused = true
		return s.decide(ctx, r, s.mirrors.Recent)
	}
	cart, err := s.inSteps(r.Cart)
	if err != nil {
		return decided{}, err
	}
	d := decided{cart: cart, at: s.now()}
	d.result.Quote, err = pricing.Price(cart)
	return d, err
}

func (d *decided) explain(n named) ExplainedCode {
	o := d.outcome(n)
	e := ExplainedCode{
		Code: n.code, CouponID: n.Coupon.ID, Applied: true,
		Discount: pricing.NewMoney(o.Discount, d.cart.Currency), Reasons: []coupon.Reason{},
	}
	if r := d.rejection(n); r != nil {
		e.Applied, e.Reasons = false, r.Reasons
	}
	for _, reason := range e.Reasons {
		if reason.Code == coupon.NotCombinable {
			e.ExcludedBy = reason.Params.ExcludedBy
		}
	}
	return e
}
