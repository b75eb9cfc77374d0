// Package checkout reserves uses of coupons for orders. The methods of couponkit.Service and
// couponkit.Ledger tell what hosts may rely on.
//
// A customer who checks out again hands the uses of an open order over to a new order, if a limit would
// refuse the new order otherwise (contract section 5.3). There are three steps:
//
//  1. One transaction of the store stores the new order and cancels the old one. If it fails,
//     the old order stays as it was.
//  2. The session of the old order is ended. If the customer has finished it, the old order
//     takes its claims back, and the new order is cancelled.
//  3. The session of the new order is opened. If the processor refuses it, the new order keeps
//     the claims until its deadline, and the customer can hand them over again.
//
// This package does step 1. A repeated key does what is left of these steps. The sweep does step 2 if the
// customer does not come back.
package checkout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/quote"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// maxAttempts is how often a request is priced and reserved. A coupon or a use may change between
// pricing and reserving.
const maxAttempts = 5

// A Reserver reserves orders. All fields are required. A Reserver is safe for concurrent use, unless Store
// works inside a transaction of the host.
type Reserver struct {
	Quoter quote.Quoter
	Store  interface {
		store.Coupons
		store.Orders
	}
	NewID func(prefix string) (string, error)
	// Actor names who makes the call, for the journal.
	Actor func(context.Context) string

	// Sessions tells that a processor makes the payments. SessionLines counts the lines of an order's session.
	Sessions     bool
	SessionLines func(redemption.Order) int
	Lifetime     time.Duration // of a session
	Grace        time.Duration // between the end of a session and the deadline of its order
}

// Request asks for an order.
type Request struct {
	quote.Request
	// About is what the order is about. Amount is what an order of an amount costs.
	About  quote.Subject
	Amount pricing.Money
	// OrderID is the ID of the order. If OrderID is empty, the ID is made from the customer and Key, or it is a new
	// ID if the payment begins with the order.
	OrderID string
	// Key is the customer's idempotency key. If Key is empty, OrderID is the key. Without both, every call is a new
	// order.
	Key string
	// Expected are the totals that the customer was shown, or nil.
	Expected *Totals
	Metadata map[string]string
	// Hold is the time until the deadline of the order. If Hold is 0, it lasts as long as a session with the
	// grace period.
	Hold time.Duration
	// PayNow tells that the payment of the order begins with the order. The customer then returns from the
	// payment page to SuccessURL.
	PayNow     bool
	SuccessURL string
}

// Reserved is a reserved order.
type Reserved struct {
	store.Reserved
	// Refused are the coupons that were left out of a new order.
	Refused coupon.Rejections
	// CouponID is the first coupon of the order, or of a request that was refused.
	CouponID string
}

// Reserve returns the order that the request's key has already, or a new order. It starts again if
// something has changed between the price and the reservation. It sets the IDs of the request, and the cart of
// an amount.
func (c *Reserver) Reserve(ctx context.Context, r *Request) (Reserved, error) {
	if err := c.validate(r); err != nil {
		return Reserved{}, err
	}
	request := r.Fingerprint(r.About)
	if r.OrderID == "" && r.Key != "" && !r.PayNow {
		r.OrderID = orderID(r.Customer.ID, r.Key)
	}
	if r.Key = cmp.Or(r.Key, r.OrderID); r.Key == "" {
		var err error
		if r.Key, err = c.NewID("key_"); err != nil {
			return Reserved{}, err
		}
	} else if before, err := c.repeated(ctx, r, request); !errors.Is(err, store.ErrNotFound) {
		return r.reserved(before, nil, err)
	}
	var changed error
	for range maxAttempts {
		d, err := c.Decide(ctx, r)
		if err != nil {
			return Reserved{CouponID: d.CouponID()}, err
		}
		reservation, err := c.reservation(ctx, r, request, d)
		if err == nil {
			err = c.checkSession(reservation.Order)
		}
		if err != nil {
			return Reserved{CouponID: d.CouponID()}, err
		}
		reserved, err := c.Store.Reserve(ctx, reservation)
		if err == nil || !isStale(err) {
			return r.reserved(reserved, d.Refused, err)
		}
		changed = err
	}
	return Reserved{}, fmt.Errorf("reserve: %w: %w", store.ErrConflict, changed)
}

// isStale reports whether the store refused a reservation because a coupon, a counter or a replaced
// order has changed since the decision. The next decision then finds the reason, and returns it like a
// quote.
func isStale(err error) bool {
	switch {
	case errors.Is(err, store.ErrKeyReused):
		return false
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrLimit), errors.Is(err, store.ErrNotFound):
		return true
	}
	return coupon.RejectionsOf(err) != nil
}

// reserved returns an order from the store. If an earlier open order is returned, its totals must equal
// the request's expected totals.
func (r *Request) reserved(s store.Reserved, refused coupon.Rejections, err error) (Reserved, error) {
	made := Reserved{Reserved: s, Refused: refused}
	if len(s.Uses) > 0 {
		made.CouponID = s.Uses[0].CouponID
	}
	if o := &s.Order; err == nil && s.Replayed && o.State == redemption.OrderOpen && r.Expected.compare(&o.Quote) != nil {
		err = fmt.Errorf("order %s has other totals than expected: %w", o.ID, store.ErrKeyReused)
	}
	return made, err
}

// Decide prices a request. It compares the totals with the expected ones, and adds to what the decision was refused
// for. Totals may differ because coupons were left out, so the error also tells of those coupons.
func (c *Reserver) Decide(ctx context.Context, r *Request) (*quote.Decision, error) {
	d, refused := c.Quoter.Price(ctx, r.Request, r.About)
	if refused != nil && !errors.Is(refused, coupon.ErrBelowMinimumCharge) {
		return d, refused
	}
	err := d.Refuse(r.Expected.compare(&d.Quote), refused)
	if err != nil && len(d.Refused) > 0 {
		err = d.Refuse(err, d.Refused)
	}
	return d, err
}

// reservation returns the order of a decision with its uses.
func (c *Reserver) reservation(ctx context.Context, of *Request, request string, d *quote.Decision) (r store.Reservation, err error) {
	now := calendar.Instant(c.Quoter.Clock())
	r = store.Reservation{By: c.Actor(ctx), Order: redemption.Order{
		ID: of.OrderID, Key: of.Key, Fingerprint: request, CustomerID: of.Customer.ID,
		State: redemption.OrderOpen, Quote: d.Quote, Coupons: d.Terms, Metadata: of.Metadata,
		Deadline: now.Add(cmp.Or(of.Hold, c.Lifetime+c.Grace)), CreatedAt: now,
	}}
	if d.Takes.Replaced != nil {
		r.Order.Replaces = d.Takes.Replaced.Order.ID
	}
	if r.Order.ID == "" {
		if r.Order.ID, err = c.NewID(redemption.OrderIDPrefix); err != nil {
			return r, err
		}
	}
	if of.PayNow {
		r.Order.BegunAt = now
	}
	identities, coupons := d.Identities(), make([]*coupon.Coupon, len(d.Applied))
	for i, code := range d.Applied {
		coupons[i] = &code.Coupon
		r.Coupons = append(r.Coupons, code.Seen)
		use, err := c.use(&r.Order, code, identities, d.Takes.Points[code.Coupon.ID])
		if err != nil {
			return r, err
		}
		r.Uses = append(r.Uses, use)
	}
	r.Order.Claims = eligibility.OrderClaims(identities, coupons...)
	return r, nil
}

// use returns an order's use of a coupon, with its claims. bought is the customer's points reservation,
// if there is one.
func (c *Reserver) use(o *redemption.Order, of *quote.Code, identities []string, bought redemption.Use) (redemption.Use, error) {
	id, err := c.NewID(redemption.UseIDPrefix)
	if err != nil {
		return redemption.Use{}, err
	}
	claimant := eligibility.Claimant{Coupon: &of.Coupon, Code: of.Code, Identities: identities, At: o.CreatedAt}
	use := redemption.Use{
		ID: id, CouponID: of.Coupon.ID, Code: of.Coupon.Code, CustomerID: o.CustomerID, OrderID: o.ID,
		State: redemption.Reserved, Origin: redemption.FromCheckout, Discount: of.Discount, Currency: o.Quote.Currency,
		Restore: of.Coupon.RestoreOnRefund, CreatedAt: o.CreatedAt,
	}
	if bought.IsZero() {
		use.Claims = claimant.Claims()
	} else {
		use.Origin, use.ExchangeID = redemption.FromPoints, bought.ExchangeID
		use.Points, use.PointsState = bought.Points, redemption.PointsDebited
		use.Claims = claimant.ClaimsAfterExchange(bought.Claims)
	}
	use.Claims = append(use.Claims, eligibility.BudgetClaims(&of.Coupon, pricing.NewMoney(of.Discount, o.Quote.Currency))...)
	return use, nil
}
