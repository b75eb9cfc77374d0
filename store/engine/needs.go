package engine

import (
	"cmp"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// reservation adds the rows that a reservation needs. A thorough need also has its IDs.
func (n *Need) reservation(r *store.Reservation, thorough bool) {
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

func (n *Need) ids(r *store.Reservation) {
	if !r.Order.IsZero() {
		n.OrderIDs = append(n.OrderIDs, r.Order.ID)
	}
	for _, u := range r.Uses {
		n.UseIDs = append(n.UseIDs, u.ID)
	}
}

// names adds the keys of a reservation and the exchanges that it takes.
func (n *Need) names(r *store.Reservation) {
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

// claims adds the counters of an order's claims, or of a coupon's use. It includes counters without a
// limit. If these were locked after other counters, transactions could wait for each other in a circle.
// It leaves out the uses of a coupon without a limit. These are counted in rows of their own, after all
// other counters.
func (n *Need) claims(couponID string, claims []eligibility.Claim) {
	for _, c := range claims {
		if c.Limit > 0 || c.Counter != eligibility.CouponUses(couponID) {
			n.Counters = append(n.Counters, c.Counter)
		}
	}
}

// sorted sorts the lists in place and removes duplicates.
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

// late returns the need with Late set: Save locks the counters that all customers share.
func (n Need) late() Need {
	n.Late = slices.DeleteFunc(slices.Clone(n.Counters), func(key string) bool { return !eligibility.IsShared(key) })
	return n
}
