package quote

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// maxCandidates is how many of a customer's newest open orders may be replaced.
const maxCandidates = store.MaxHeld

// A HandOver is what a new order takes over from its customer. The zero value is nothing.
type HandOver struct {
	// Replaced is the open order that the new order replaces, or nil.
	Replaced *store.Settled
	// Points are the uses that were bought with points, by coupon ID.
	Points map[string]redemption.Use
}

// held returns how much of each counter the customer hands over.
func (h *HandOver) held() map[string]eligibility.Count {
	var held map[string]eligibility.Count
	switch {
	case h.Replaced != nil:
		held = redemption.Holdings(h.Replaced.Order, h.Replaced.Uses...)
	case len(h.Points) > 0:
		held = map[string]eligibility.Count{}
	}
	for _, u := range h.Points {
		if u.OrderID != "" {
			continue // a use of the replaced order
		}
		for counter, count := range redemption.Holdings(redemption.Order{}, u) {
			held[counter] = held[counter].Plus(count)
		}
	}
	return held
}

// decide looks up the coupons of a request, and decides about all of them at one instant, and about what the order takes
// over (contract section 5.3). Quotes, explanations and checkouts all use it, so that a quote shows the result of a
// checkout. The cart was checked with [Quoter.CheckCart].
//
// The candidates are nothing and the customer's newest open orders. decide takes the first candidate
// with which limits refuse the fewest coupons. If a request skips refused coupons, it is decided again
// without them, because the other coupons, codes or automatic ones, may need nothing or another order.
func (q *Quoter) decide(ctx context.Context, r Request, about Subject) (*Decision, error) {
	d, err := q.LookUp(ctx, r, about)
	if err != nil {
		return nil, err
	}
	for {
		chosen, reached, err := q.chooseHandOver(ctx, d)
		if err != nil {
			return nil, err
		}
		switch again, err := q.reconsider(ctx, d, &chosen); {
		case err != nil:
			return nil, err
		case again:
			continue
		}
		if len(chosen.Coupons) == 0 && about != OfAmount { // otherwise the outcomes or Price report it
			d.refuseAnonymous()
		}
		refused := d.accept(&chosen.result, chosen.takes)
		if !r.SkipRefused || refused == 0 || chosen.limited == reached {
			return d, nil
		}
		if refused == len(chosen.Coupons) && len(d.Automatic) == 0 {
			d.Takes = HandOver{}
			return d, nil
		}
	}
}

// handedOver is a result with what the order takes over for it. limited is the number of codes that are refused
// because of limits.
type handedOver struct {
	result

	takes   HandOver
	limited int
}

// better reports whether limits refuse fewer codes than in another result. Automatic coupons count among
// equals.
func (h *handedOver) better(than *handedOver) bool {
	return h.limited < than.limited || h.limited == than.limited && h.Quote.Discount > than.Quote.Discount
}

// chooseHandOver returns the best result, and the number of codes that limits refuse without a replaced order.
func (q *Quoter) chooseHandOver(ctx context.Context, d *Decision) (best handedOver, without int, err error) {
	best.takes = HandOver{Points: d.freePoints(coupon.PointsRedeemable)}
	if best.result, err = d.evaluate(best.takes); err != nil {
		return best, 0, err
	}
	reached := d.limitsReached(&best.result)
	best.limited = reached.coupons
	automatic := d.automaticLimits(&reached)
	if best.limited == 0 && !automatic {
		return best, 0, nil
	}
	candidates, err := q.candidates(ctx, d, &reached, len(best.takes.Points))
	if err != nil {
		return best, 0, err
	}
	for i := 0; i < len(candidates) && (best.limited > 0 || automatic); i++ {
		other := handedOver{takes: candidates[i]}
		if other.result, err = d.evaluate(other.takes); err != nil {
			return best, 0, err
		}
		other.limited = d.limitsReached(&other.result).coupons
		if other.limited < best.limited || automatic && other.better(&best) {
			best = other
		}
	}
	return best, reached.coupons, nil
}

// candidates returns what the order can take over so that limits refuse fewer coupons. First come all
// points reservations without an order, if more of them exist than points, the number taken over in any
// case. Then come open orders: orders of the same request, orders whose payment has not begun, and
// orders with a known session. Among equals, the oldest order comes first.
func (q *Quoter) candidates(ctx context.Context, d *Decision, reached *limitsReached, points int) ([]HandOver, error) {
	if d.Request.Customer.ID == "" {
		return nil, nil
	}
	if !d.openRead {
		if _, err := q.readOpen(ctx, d, nil); err != nil {
			return nil, err
		}
	}
	other := d.Request
	other.SkipRefused = !other.SkipRefused
	same, alsoSame := other.Fingerprint(d.about), d.Request.Fingerprint(d.about)
	rank := func(o *redemption.Order) (rank int) {
		if o.Fingerprint != same && o.Fingerprint != alsoSame {
			rank = 3
		}
		if !o.BegunAt.IsZero() {
			rank++
			if o.SessionID == "" {
				rank++ // another call may be creating its session
			}
		}
		return rank
	}
	slices.SortFunc(d.openOrders, func(a, b store.Settled) int {
		return cmp.Or(cmp.Compare(rank(&a.Order), rank(&b.Order)), a.Order.CreatedAt.Compare(b.Order.CreatedAt), cmp.Compare(a.Order.ID, b.Order.ID))
	})
	var list []HandOver
	free := d.freePoints(coupon.PointsRedeemable, coupon.General, coupon.UserSpecific)
	if len(free) > points { // there are reservations of coupons that no longer cost points
		list = append(list, HandOver{Points: free})
	}
	for i := range d.openOrders {
		o := &d.openOrders[i]
		if !reached.anyOf(o) {
			continue
		}
		h := HandOver{Replaced: o, Points: map[string]redemption.Use{}}
		maps.Copy(h.Points, free)
		for _, u := range o.Uses {
			if _, has := h.Points[u.CouponID]; !has && u.ExchangeID != "" {
				h.Points[u.CouponID] = u
			}
		}
		list = append(list, h)
	}
	return list, nil
}

// freePoints returns the customer's points reservations without an order: the oldest for each coupon of
// the given distributions.
func (d *Decision) freePoints(of ...coupon.Distribution) map[string]redemption.Use {
	var free map[string]redemption.Use
	for i := range d.Codes {
		c := &d.Codes[i]
		for _, u := range c.Held { // newest first, so that the oldest reservation stays
			if u.Free() && slices.Contains(of, c.Coupon.Distribution) {
				if free == nil {
					free = map[string]redemption.Use{}
				}
				free[c.Coupon.ID] = u
			}
		}
	}
	return free
}

// limitsReached has the limits because of which coupons are refused.
type limitsReached struct {
	coupons  int      // number of coupons refused because of a limit
	counters []string // counters of these limits
	points   []string // refused coupons that cost points
}

// limitsReached returns the limits because of which a decision refuses coupons.
func (d *Decision) limitsReached(r *result) (reached limitsReached) {
	for i := range d.Codes {
		c := &d.Codes[i]
		if c.Refused != nil {
			continue
		}
		decision := &outcomeOf(&r.SetResult, c.Coupon.ID).Decision
		limited := decision.Has(coupon.PointsNotRedeemed)
		if limited {
			reached.points = append(reached.points, c.Coupon.ID)
		}
		for _, l := range c.limits {
			if decision.Has(l.Reason) {
				limited, reached.counters = true, append(reached.counters, l.Counter)
			}
		}
		if limited {
			reached.coupons++
		}
	}
	return reached
}

// anyOf reports whether the order holds any of the counters.
func (l *limitsReached) anyOf(o *store.Settled) bool {
	for counter := range redemption.Holdings(o.Order, o.Uses...) {
		if slices.Contains(l.counters, counter) {
			return true
		}
	}
	return slices.ContainsFunc(o.Uses, func(u redemption.Use) bool { return u.ExchangeID != "" && slices.Contains(l.points, u.CouponID) })
}
