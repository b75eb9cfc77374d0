package engine

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

func reserveNeed(requests []store.Reservation, thorough bool) Need {
	var n Need
	for _, r := range requests {
		n.reservation(r, thorough)
	}
	return n.sorted()
}

func (n *Need) reservation(r store.Reservation, thorough bool) {
	if thorough {
		n.ids(r)
	}
	n.claims("", r.Order.Claims)
	for _, c := range r.Coupons {
		n.Coupons = append(n.Coupons, c.ID)
		if !c.Code.IsZero() {
			n.Codes = append(n.Codes, CodeKey{c.ID, c.Code.String()})
		}
	}
	if r.Order.Replaces != "" {
		n.OrderIDs = append(n.OrderIDs, r.Order.Replaces)
		n.CouponsOfOrders = true // to know whether the counters of their coupons are spread
	}
	n.names(r)
	for _, u := range r.Uses {
		n.claims(u.CouponID, u.Claims)
		if r.Order.IsZero() {
			n.Free = append(n.Free, Held{u.CouponID, u.CustomerID})
		}
	}
}

func (n *Need) ids(r store.Reservation) {
	if !r.Order.IsZero() {
		n.OrderIDs = append(n.OrderIDs, r.Order.ID)
	}
	for _, u := range r.Uses {
		n.UseIDs = append(n.UseIDs, u.ID)
	}
}

func (n *Need) names(r store.Reservation) {
	if !r.Order.IsZero() {
		n.OrderKeys = append(n.OrderKeys, Key{r.Order.CustomerID, r.Order.Key})
	}
	for _, u := range r.Uses {
		switch {
		case r.Order.IsZero():
			n.UseKeys = append(n.UseKeys, Key{u.CustomerID, u.Key})
		case u.ExchangeID != "":
			n.Exchanges = append(n.Exchanges, u.ExchangeID)
		}
	}
}

func (n *Need) claims(couponID string, claims []eligibility.Claim) {
	for _, c := range claims {
		if c.Limit > 0 || c.Counter != eligibility.CouponUses(couponID) {
			n.Counters = append(n.Counters, c.Counter)
		}
	}
}

func (n *Need) sorted() Need {
	for _, list := range []*[]string{&n.OrderIDs, &n.Sessions, &n.UseIDs, &n.Exchanges, &n.Coupons, &n.Counters} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(n.Codes, func(a, b CodeKey) int {
		return cmp.Or(cmp.Compare(a.CouponID, b.CouponID), cmp.Compare(a.Code, b.Code))
	})
	n.Codes = slices.Compact(n.Codes)
	return *n
}

func (n Need) late() Need {
	n.Late = slices.DeleteFunc(slices.Clone(n.Counters), func(key string) bool { return !eligibility.IsShared(key) })
	return n
}
