package quote

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A Code is a code of a request with the coupon that it names.
type Code struct {
	// Typed is the code as it was given.
	Typed string
	// Found is empty if the code names no coupon. The coupon in it has the code by which it came.
	*store.Found
	// Seen is the coupon, and its code of a batch, as they were found.
	Seen store.CouponAt
	// Refused tells why the coupon does not apply.
	Refused *coupon.Rejection
	// Discount is what the coupon takes off the cart, in minor units.
	Discount int64
	// Instead is what the best choice with the coupon would take off, if better coupons exclude it.
	Instead int64

	plain         coupon.Code // plain code of the coupon
	claimant      eligibility.Claimant
	limits        []eligibility.Limit // limits of the coupon
	taken         []int64             // of the limits that are known: the first ones, or all
	mirrorInvalid bool
	mirrorAsked   bool // only of an automatic coupon
}

// Identities returns the texts by which limits count the customer. No limit counts an anonymous customer.
func (d *Decision) Identities() []string {
	if d.identities == nil && d.Request.Customer.ID != "" {
		d.identities = d.Request.Customer.Identities()
	}
	return d.identities
}

// LookUp looks up what the codes of a request name, and the first automatic coupons, in at most two calls of the store. It
// refuses a code that names no coupon, and codes that name the same coupon. It decides nothing else. The guard
// stands around it.
func (q *Quoter) LookUp(ctx context.Context, r Request, about Subject) (*Decision, error) {
	d := &Decision{Request: r, At: calendar.Instant(q.Clock()), Codes: make([]Code, len(r.Codes)), about: about, quoter: q}
	if len(r.Codes) == 0 && q.Automatic == nil {
		return d, nil
	}
	if q.Guard.Opaque && signedIn(r) != nil {
		d.refuseUnknown()
		return d, nil
	}
	outcome, err := q.Guard.attempt(ctx, r.Codes)
	if err != nil {
		return nil, err
	}
	if err := q.find(ctx, d); err != nil {
		outcome(0)
		return nil, err
	}
	outcome(q.Guard.screen(d))
	if err := q.count(ctx, d); err != nil {
		return nil, err
	}
	d.refuseSameCoupons()
	for i := range d.Codes {
		c := &d.Codes[i]
		if c.Refused != nil {
			continue
		}
		var err error
		if c.mirrorInvalid, err = q.Mirror.Invalid(ctx, &c.Coupon, c.plain, d.At); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// find finds the coupons of the codes, automatic coupons, and the customer's uses of them.
func (q *Quoter) find(ctx context.Context, d *Decision) error {
	customer := &d.Request.Customer
	by := store.LookUp{CustomerID: customer.ID, Email: customer.Email, Identities: d.Identities()}
	ends := make([]int, len(d.Codes)) // end of each code's names in by.Names
	for i := range d.Codes {
		c := &d.Codes[i]
		c.Typed = d.Request.Codes[i]
		names, err := catalog.Names(c.Typed)
		if err != nil {
			c.refuse(err)
		}
		if !q.Guard.refuses(names) {
			by.Names = append(by.Names, names...)
		}
		ends[i] = len(by.Names)
	}
	typed := len(by.Names)
	by.Names = append(by.Names, store.ByID(q.propose(d, store.MaxNames-typed)...)...)
	var answer store.LookedUp
	if len(by.Names) > 0 {
		var err error
		if answer, err = q.Store.LookUp(ctx, by); err != nil {
			return err
		}
	}
	begin := 0
	for i := range d.Codes {
		c, found := &d.Codes[i], answer.Coupons[begin:ends[i]]
		begin = ends[i]
		if at := slices.IndexFunc(found, reachable); at >= 0 {
			if err := c.read(found[at], by.Identities, d); err != nil {
				return err
			}
		} else if c.Refused == nil {
			c.refuse(coupon.Reject("", coupon.CouponNotFound, coupon.Params{}))
		}
	}
	if len(by.Names) > typed {
		q.readAutomatic(ctx, d, answer.Coupons[typed:])
	}
	return nil
}

// reachable reports whether the customer may name the coupon in this way. They may use its ID only if
// the coupon has a plain code. The ID must not bypass the owner and the limit of a batch code.
func reachable(f *store.Found) bool {
	return f != nil && (f.Unreadable != nil || !f.Code.Code.IsZero() || !f.Coupon.Code.IsZero())
}

// refuse refuses a code that names no coupon.
func (c *Code) refuse(rejection error) {
	c.Found, c.Refused = new(store.Found), &coupon.Rejection{Code: c.Typed, Reasons: coupon.RejectionsOf(rejection)[0].Reasons}
}

// read takes the coupon and its counts from the result of a look-up.
func (c *Code) read(f *store.Found, identities []string, d *Decision) error {
	if f.Unreadable != nil {
		return f.Unreadable
	}
	id := f.Coupon.ID
	if err := f.Coupon.Validate(); err != nil {
		// The caller's input is valid, so the error must not match validation.ErrInvalid.
		return &store.UnreadableError{Kind: "coupon", ID: id, Reason: "its terms: " + err.Error()}
	}
	c.Found, c.Seen, c.plain = f, store.CouponAt{ID: id, Revision: f.Coupon.Revision}, f.Coupon.Code
	if !f.Code.Code.IsZero() {
		f.Coupon.Code = f.Code.Code
	}
	c.claimant = eligibility.Claimant{Coupon: &f.Coupon, Code: f.Code, Identities: identities, At: d.At}
	c.limits = c.claimant.Limits()
	c.taken = append(make([]int64, 0, len(c.limits)), f.Coupon.UsedCount+f.Coupon.ReservedCount)
	for i := range identities {
		c.taken = append(c.taken, f.ByCustomer[i].Taken())
	}
	if !f.Code.Plain() {
		c.Seen.Code, c.Seen.CodeRevision = f.Code.Code, f.Code.Revision
		c.taken = append(c.taken, f.Code.UsedCount+f.Code.ReservedCount)
	}
	return nil
}

// count reads the counters that the look-up has not read. It also reads the customer's open orders: if
// a limit refuses a coupon, the decision needs them.
func (q *Quoter) count(ctx context.Context, d *Decision) error {
	var counters []string
	d.codes(func(c *Code) {
		for _, l := range c.limits[len(c.taken):] {
			counters = append(counters, l.Counter)
		}
	})
	if len(counters) == 0 {
		return nil
	}
	counts, err := q.readOpen(ctx, d, counters)
	if err != nil {
		return err
	}
	at := 0
	d.codes(func(c *Code) {
		for range c.limits[len(c.taken):] {
			c.taken = append(c.taken, counts[at].Taken())
			at++
		}
	})
	return nil
}

// readOpen reads the customer's open orders and counters.
func (q *Quoter) readOpen(ctx context.Context, d *Decision, counters []string) ([]eligibility.Count, error) {
	answer, err := q.Store.LookUp(ctx, store.LookUp{CustomerID: d.Request.Customer.ID, Orders: maxCandidates, Counters: counters})
	d.openOrders, d.openRead = answer.Orders, err == nil
	for _, unreadable := range answer.Unreadable { // its uses are unknown
		q.Logger.WarnContext(ctx, "an open order of the customer cannot be replaced", slog.Any("error", unreadable))
	}
	return answer.Counts, err
}

// refuseSameCoupons finds codes of the same coupon, and refuses them. A code that is refused already excludes no
// code.
func (d *Decision) refuseSameCoupons() {
	for i := range d.Codes {
		c := &d.Codes[i]
		var others []*Code // later codes of the same coupon
		for j := i + 1; j < len(d.Codes) && c.Refused == nil; j++ {
			if o := &d.Codes[j]; o.Refused == nil && o.Coupon.ID == c.Coupon.ID {
				others = append(others, o)
			}
		}
		if len(others) > 0 {
			d.refuseSame(append([]*Code{c}, others...))
		}
	}
}

// refuseSame refuses codes of one coupon: all of them, or with [eligibility.KeepFirst] the later codes. With
// [eligibility.KeepBest] it keeps the code with the least key. A code that is refused alone excludes no code.
func (d *Decision) refuseSame(same []*Code) {
	same = slices.DeleteFunc(same, func(c *Code) bool {
		question := eligibility.Question{At: d.At, Customer: d.Request.Customer, Usage: c.usage(&HandOver{}, nil)}
		if reasons := eligibility.CheckCode(c.Code, question); reasons != nil {
			c.Refused = &coupon.Rejection{CouponID: c.Coupon.ID, Code: c.Typed, Reasons: reasons}
		}
		return c.Refused != nil
	})
	if d.Request.Conflicts == eligibility.KeepBest {
		slices.SortFunc(same, func(a, b *Code) int {
			return cmp.Or(cmp.Compare(a.Code.Code.String(), b.Code.Code.String()), cmp.Compare(a.Typed, b.Typed))
		})
	}
	for i, c := range same {
		by := same[:1]
		if d.Request.Conflicts == eligibility.RefuseAll {
			by = slices.Delete(slices.Clone(same), i, i+1)
		} else if i == 0 {
			continue
		}
		if len(by) > 0 {
			c.Refused = &coupon.Rejection{CouponID: c.Coupon.ID, Code: c.Typed, Reasons: excludedBy(by)}
		}
	}
}

// excludedBy returns the reason of a code that is excluded by other codes of its coupon.
func excludedBy(others []*Code) []coupon.Reason {
	keys := make([]string, len(others))
	for i, c := range others {
		keys[i] = c.Coupon.Code.String()
	}
	slices.Sort(keys)
	return []coupon.Reason{{Code: coupon.NotCombinable, Params: coupon.Params{ExcludedBy: slices.Compact(keys)}}}
}

// usage returns the usage of a coupon's limits after the customer has handed over. held has the
// handed-over part of each counter. A use that was bought with points was counted in the periods of the
// exchange, so the current periods do not limit it.
func (c *Code) usage(takes *HandOver, held map[string]eligibility.Count) eligibility.Usage {
	bought, own := takes.Points[c.Coupon.ID]
	var claims []eligibility.Claim
	if own {
		claims = c.claimant.ClaimsAfterExchange(bought.Claims)
	}
	u := eligibility.UsageOf(c.limits, func(counter string) int64 {
		known := c.limits[:len(c.taken)]
		at := slices.IndexFunc(known, func(l eligibility.Limit) bool { return l.Counter == counter })
		if at < 0 {
			return 0 // not read yet
		}
		if own && known[at].Reason == coupon.PeriodLimitReached &&
			!slices.ContainsFunc(claims, func(claim eligibility.Claim) bool { return claim.Counter == counter }) {
			return 0 // the use takes nothing from it
		}
		return max(c.taken[at]-held[counter].Taken(), 0)
	})
	if own { // package eligibility subtracts the customer's own use
		u.CustomerHoldsReservation = true
		u.Reserved++
		u.ReservedByCustomer++
	}
	return u
}

// Named looks up a code for which a customer wants to exchange points. [Decision.CheckExchange] decides about its
// coupon. If the code names no coupon, the error also tells whether the customer has to sign in.
func (q *Quoter) Named(ctx context.Context, code string, c eligibility.Customer) (*Decision, error) {
	d, err := q.LookUp(ctx, Request{Codes: []string{code}, Customer: c}, ofCoupon)
	if err != nil {
		return nil, err
	}
	if refused := d.Codes[0].Refused; refused != nil {
		d.refuseAnonymous()
		return nil, refused
	}
	return d, nil
}

// CheckExchange decides whether the customer may exchange points for the coupon that [Quoter.Named] has found. An
// exchange that the customer is paying for is not counted. Without it, the use is zero.
func (d *Decision) CheckExchange(own redemption.Use) error {
	c, takes := &d.Codes[0], HandOver{}
	if !own.IsZero() {
		takes.Points = map[string]redemption.Use{c.Coupon.ID: own}
	}
	return eligibility.Check(&c.Coupon, eligibility.Question{
		At: d.At, Customer: d.Request.Customer, Usage: c.usage(&takes, takes.held()), MirrorInvalid: c.mirrorInvalid,
	}).Without(coupon.PointsNotRedeemed).Err()
}
