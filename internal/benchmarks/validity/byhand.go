package validity

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/email"
	"github.com/couponkit/couponkit/pricing"
)

// byHand has the rules as a developer would write them for one shop. It answers yes or no and stops at
// the first no. It has no reasons, no prices and no overflow checks.
type byHand struct {
	s       Situation
	allowed map[string]struct{}
	items   map[item]struct{}
	needed  int64
}

type item struct {
	kind pricing.LineKind
	id   string
}

func newByHand(s Situation) (Decider, error) {
	h := &byHand{s: s, allowed: addresses(s.Coupon), items: make(map[item]struct{}), needed: least(s.Coupon)}
	for kind, selected := range selections(s.Coupon.Scope) {
		for id := range selected.All() {
			h.items[item{kind, id}] = struct{}{}
		}
	}
	return h, nil
}

func (h *byHand) Allowed() (bool, error) {
	c, q := &h.s.Coupon, &h.s.Question
	if c.State != coupon.Active || q.MirrorInvalid ||
		!c.StartsAt.IsZero() && q.At.Before(c.StartsAt) || !c.ExpiresAt.IsZero() && !q.At.Before(c.ExpiresAt) {
		return false, nil
	}
	return h.placeLeft() && h.customerMay() && (h.s.Cart == nil || h.cartFits()), nil
}

func (h *byHand) placeLeft() bool {
	l, u := h.s.Coupon.Limits, &h.s.Question.Usage
	reserved, byCustomer := u.Reserved, u.ReservedByCustomer
	known := h.s.Question.Customer.ID != ""
	if known && u.CustomerHoldsReservation {
		reserved, byCustomer = max(reserved-1, 0), max(byCustomer-1, 0)
	}
	return (l.MaxUses == 0 || u.Completed+reserved < l.MaxUses) &&
		(!known || l.MaxUsesPerUser == 0 || u.CompletedByCustomer+byCustomer < l.MaxUsesPerUser)
}

func (h *byHand) customerMay() bool {
	q := &h.s.Question
	known := q.Customer.ID != ""
	switch h.s.Coupon.Distribution {
	case coupon.UserSpecific:
		own, domain := email.Entries(q.Customer.Email)
		_, listed := h.allowed[own]
		_, everybody := h.allowed[domain]
		return known && (listed || everybody)
	case coupon.PointsRedeemable:
		return known && q.Usage.CustomerHoldsReservation
	case coupon.General:
	}
	return known || q.AllowAnonymous
}

func (h *byHand) cartFits() bool {
	c := &h.s.Coupon
	if bound(*c) && c.Currency != h.s.Cart.Currency {
		return false
	}
	sum := int64(0)
	for i := range h.s.Cart.Lines {
		if l := &h.s.Cart.Lines[i]; h.covers(l) {
			sum += l.UnitPrice * l.Quantity
		}
	}
	return sum >= h.needed
}

func (h *byHand) covers(l *pricing.Line) bool {
	s := &h.s.Coupon.Scope
	switch {
	case l.Kind == pricing.Shipping,
		s.AppliesTo == coupon.Subscription && l.Kind != pricing.Plan,
		s.AppliesTo == coupon.Product && l.Kind == pricing.Plan:
		return false
	case s.AppliesTo == coupon.All, s.AppliesTo != coupon.Specific && selection(s, l.Kind).Len() == 0:
		return true
	}
	_, selected := h.items[item{l.Kind, l.ItemID}]
	return selected
}
