package quote

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/store"
)

// A Guard keeps strangers from finding codes by guessing. The zero Guard does nothing.
// See docs/design.md, section "Guessing".
type Guard struct {
	// Take takes n attempts before codes are looked up. It returns a function that gives n of them back. Take
	// may be nil.
	Take func(ctx context.Context, n int) (giveBack func(n int), err error)
	// Opaque refuses a code that is not for the customer like a code that does not exist. Hidden gets the true
	// refusals of a look-up, if there are any.
	Opaque bool
	Hidden func(coupon.Rejections)
	// Forms are the forms of generated codes. A code in such a form with a wrong check symbol is not looked up.
	Forms []codes.Form
}

// attempt takes an attempt for each code that is not blank. The returned function gives back those that have
// not failed.
func (g *Guard) attempt(ctx context.Context, typed []string) (outcome func(failed int), err error) {
	n := len(typed)
	for _, code := range typed {
		if strings.TrimSpace(code) == "" {
			n--
		}
	}
	if g.Take == nil || n == 0 {
		return func(int) {}, nil
	}
	giveBack, err := g.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	return func(failed int) { giveBack(n - failed) }, nil
}

// refuses reports whether the names of a typed code have a wrong check symbol.
func (g *Guard) refuses(names []store.Name) bool {
	return slices.ContainsFunc(names, func(n store.Name) bool {
		return slices.ContainsFunc(g.Forms, func(f codes.Form) bool { return f.Refuses(n.Code) })
	})
}

// screen finds the codes that are not for the customer, and refuses them if the guard is opaque. From then on, they
// are codes that do not exist: nothing more is read for them, and they exclude no other code. screen
// returns the number of failed guesses, which does not depend on whether a code exists.
func (g *Guard) screen(d *Decision) (failed int) {
	if g.Take == nil && !g.Opaque {
		return 0 // nobody counts guesses
	}
	var hidden coupon.Rejections
	for i := range d.Codes {
		c := &d.Codes[i]
		if c.Refused != nil {
			if c.Refused.Has(coupon.CouponNotFound) {
				failed++
			}
			continue
		}
		reasons := d.stranger(c)
		if reasons == nil {
			continue
		}
		if failed++; g.Opaque {
			hidden = append(hidden, &coupon.Rejection{CouponID: c.Coupon.ID, Code: c.Typed, Reasons: reasons})
			*c = Code{Typed: c.Typed}
			c.refuse(coupon.Reject("", coupon.CouponNotFound, coupon.Params{}))
		}
	}
	if len(hidden) > 0 {
		g.Hidden(hidden)
	}
	return failed
}

// notTheirs are the reasons that tell that a code is not for the customer.
var notTheirs = [...]coupon.RejectionCode{coupon.UserRequired, coupon.UserNotAllowed, coupon.CustomerTagsNotMet}

// stranger returns why a code is refused, if it is not for the customer. A code that staff has switched off is
// for nobody, except for its owner.
func (d *Decision) stranger(c *Code) []coupon.Reason {
	decision := eligibility.Check(&c.Coupon, eligibility.Question{
		At: d.At, Customer: d.Request.Customer, Facts: d.Request.Facts, Usage: c.usage(&HandOver{}, nil), Code: c.Code,
		AllowAnonymous: true, // otherwise every code is refused
	})
	if slices.ContainsFunc(notTheirs[:], decision.Has) || decision.Has(coupon.CouponInactive) && !c.ownedBy() {
		return decision.Reasons()
	}
	return nil
}

// ownedBy reports whether a code that is not refused as somebody else's belongs to the customer: by name, by the
// allow-list of its coupon, or by a use that the customer holds.
func (c *Code) ownedBy() bool {
	return !c.Code.Owner.IsZero() || c.Coupon.Distribution == coupon.UserSpecific || len(c.Held) > 0
}

// refuseUnknown refuses all codes of an anonymous customer who has to sign in first. No code is looked up.
func (d *Decision) refuseUnknown() {
	for i := range d.Codes {
		c := &d.Codes[i]
		c.Typed = d.Request.Codes[i]
		reason := coupon.UserRequired
		if _, err := catalog.Names(c.Typed); errors.Is(err, coupon.ErrCodeRequired) {
			reason = coupon.CodeRequired
		}
		c.refuse(coupon.Reject("", reason, coupon.Params{}))
	}
}
