// Package quote decides which coupons of a request apply, and prices the cart with these coupons. The
// methods of couponkit.Service tell what hosts may rely on.
package quote

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/mirrors"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// A Quoter decides about requests. Guard, Automatic and Prepared may be zero, and Mirror may be nil for requests
// without coupons. A Quoter is
// safe for concurrent use.
type Quoter struct {
	Store     store.Coupons
	Abilities processor.Abilities
	Mirror    mirrors.Check
	Clock     func() time.Time
	Logger    *slog.Logger
	Guard     Guard
	// Automatic finds automatic coupons. With a nil Automatic, only codes apply. Prepared are the IDs that an earlier
	// look-up has found, or nil.
	Automatic *Automatic
	Prepared  []string
}

// Request is a request for a price. Its fields are those of couponkit.QuoteRequest.
type Request struct {
	Cart           pricing.Cart
	Codes          []string
	Conflicts      eligibility.ConflictPolicy
	SkipRefused    bool
	Customer       eligibility.Customer
	Facts          eligibility.Facts
	AllowAnonymous bool
}

// Subject tells what a request is about.
type Subject uint8

// These constants are the subjects of requests.
const (
	// OfCart is a cart from which coupons take something off.
	OfCart Subject = iota
	// OfAmount is an amount from which the host has subtracted the discount. The cart has one line of this amount.
	OfAmount
	// ofCoupon is the subject of a request about a coupon without a cart.
	ofCoupon
)

// A Decision tells which coupons of a request apply, and what the cart costs.
type Decision struct {
	// Request is the request. Its cart has the step of the processor.
	Request Request
	At      time.Time
	// Codes are the codes of the request, in its order.
	Codes []Code
	// Automatic are the automatic coupons that the decision looks at. Each has an empty Typed.
	Automatic []Code
	// Quote is the cart priced with the coupons that apply. A request that is refused has list prices.
	Quote pricing.Quote
	// Applied are the codes and automatic coupons that apply, sorted by the IDs of the coupons. Terms are their
	// terms.
	Applied []*Code
	Terms   []coupon.Snapshot
	// Refused are the coupons that do not apply, in the order of the codes. It is empty if the request is refused.
	Refused coupon.Rejections
	// Takes is what an order takes over so that the coupons apply.
	Takes HandOver

	quoter     *Quoter
	about      Subject
	identities []string        // identities of the customer, computed on demand
	openOrders []store.Settled // open orders of the customer
	openRead   bool            // whether openOrders was read
	proposals  proposals
}

// CouponID returns the ID of the first coupon that the request names. The ID of a nil Decision is empty.
func (d *Decision) CouponID() string {
	if d != nil {
		for i := range d.Codes {
			if id := d.Codes[i].Coupon.ID; id != "" {
				return id
			}
		}
	}
	return ""
}

// Price prices a cart or an amount. Without a Decision, nothing was decided. A Decision together with an
// error tells what was refused.
func (q *Quoter) Price(ctx context.Context, r Request, about Subject) (*Decision, error) {
	d, err := q.decide(ctx, r, about)
	if err != nil {
		return nil, err
	}
	uncharged := q.chargeable(d.Quote)
	var anonymous error
	if about == OfAmount || len(d.Applied) == 0 { // otherwise the decision about each coupon reports it
		anonymous = signedIn(r)
	}
	refused := d.Refused
	if len(refused) == 0 || r.SkipRefused && (about == OfCart || anonymous == nil && uncharged == nil) {
		return d, d.Refuse(anonymous, uncharged)
	}
	d.Refused = nil
	if about == OfAmount {
		return d, d.Refuse(refused, anonymous, uncharged)
	}
	if len(d.Applied) > 0 {
		d.Quote, _ = pricing.Price(d.Request.Cart) // no error: the cart was priced before
		d.Applied, d.Terms = nil, nil
	}
	return d, d.Refuse(refused)
}

// Explain decides about the coupons of a cart. A refused coupon is no error. A Decision together with an
// error tells what the processor does not charge.
func (q *Quoter) Explain(ctx context.Context, r Request) (*Decision, error) {
	r.SkipRefused = true
	d, err := q.decide(ctx, r, OfCart)
	if err != nil {
		return nil, err
	}
	return d, d.Refuse(q.chargeable(d.Quote))
}

// Check decides about the only code of a request, before there is a cart. Without a Decision, nothing was
// decided.
func (q *Quoter) Check(ctx context.Context, r Request) (*Decision, error) {
	d, err := q.decide(ctx, r, ofCoupon)
	if err == nil && len(d.Refused) > 0 {
		err = d.Refused[0]
	}
	return d, err
}

// Foresee looks up a request, and decides about it if there may be automatic coupons. So it asks about the mirrors of
// all coupons that an order is likely to have. A cart that cannot be priced gets no automatic coupons.
func (q *Quoter) Foresee(ctx context.Context, r Request) (*Decision, error) {
	if err := q.CheckCart(&r.Cart); err != nil || q.Automatic == nil {
		return q.LookUp(ctx, r, OfCart)
	}
	return q.decide(ctx, r, OfCart)
}

// evaluate decides about the coupons that are not refused yet, with the given hand-over.
func (d *Decision) evaluate(takes HandOver) (r result, err error) {
	held := takes.held()
	set := make([]eligibility.Candidate, 0, len(d.Codes))
	for i := range d.Codes {
		if c := &d.Codes[i]; c.Refused == nil {
			set = append(set, eligibility.Candidate{
				Coupon: &c.Coupon, Code: c.Code, Usage: c.usage(&takes, held), MirrorInvalid: c.mirrorInvalid,
			})
		}
	}
	question := d.question()
	switch d.about {
	case OfCart:
		err = r.Reevaluate(set, d.Request.Cart, question)
		if err == nil && len(d.proposals.ids) > 0 {
			err = d.addAutomatic(&r, set, &takes, held)
		}
	case OfAmount:
		if r.Quote, err = pricing.Price(d.Request.Cart); err == nil {
			r.Coupons, err = eligibility.CheckSet(set, d.Request.Cart.Currency, question)
		}
	case ofCoupon:
		for i := range set {
			c := &set[i]
			question.Code, question.Usage, question.MirrorInvalid = c.Code, c.Usage, c.MirrorInvalid
			r.Coupons = append(r.Coupons, eligibility.Outcome{
				CouponID: c.Coupon.ID, Code: c.Coupon.Code, Decision: eligibility.Check(c.Coupon, question),
			})
		}
	}
	return r, err
}

// accept records the outcomes of the codes that were not refused before. It lists the coupons that
// apply. It returns the number of refusals.
func (d *Decision) accept(r *result, takes HandOver) (refused int) {
	d.Quote, d.Takes, d.Applied, d.Refused = r.Quote, takes, make([]*Code, 0, len(d.Codes)), nil
	for i := range d.Codes {
		c := &d.Codes[i]
		if c.Refused == nil {
			o := outcomeOf(&r.SetResult, c.Coupon.ID)
			if c.Discount, c.Instead = o.Discount, o.Instead; !o.Decision.Allowed() {
				c.Refused = &coupon.Rejection{CouponID: o.CouponID, Code: c.Typed, Reasons: o.Decision.Reasons()}
				refused++
			}
		}
		if c.Refused == nil {
			d.Applied = append(d.Applied, c)
		} else {
			d.Refused = append(d.Refused, c.Refused)
		}
	}
	for _, chosen := range r.automatic {
		chosen.code.Discount = chosen.discount
		d.Applied = append(d.Applied, chosen.code)
	}
	slices.SortFunc(d.Applied, func(a, b *Code) int { return cmp.Compare(a.Coupon.ID, b.Coupon.ID) })
	d.Terms = slices.Grow(d.Terms[:0], len(d.Applied))
	for _, c := range d.Applied {
		d.Terms = append(d.Terms, c.Coupon.Snapshot())
	}
	return refused
}

// outcomeOf returns the outcome of a coupon that takes part in a decision.
func outcomeOf(r *eligibility.SetResult, couponID string) *eligibility.Outcome {
	return &r.Coupons[slices.IndexFunc(r.Coupons, func(o eligibility.Outcome) bool { return o.CouponID == couponID })]
}
