package memstore

import (
	"maps"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// Clone returns a store with the same orders, uses and counters, which shares no memory that changes. The
// coupons are shared, and the journal is left out.
func (s *Store) Clone() *Store {
	c := New()
	c.coupons, c.codes, c.issued, c.codesOf, c.batches = s.coupons, s.codes, s.issued, s.codesOf, s.batches
	c.orders, c.orderKeys, c.sessions = maps.Clone(s.orders), maps.Clone(s.orderKeys), maps.Clone(s.sessions)
	c.uses, c.useKeys, c.reserved = maps.Clone(s.uses), maps.Clone(s.useKeys), maps.Clone(s.reserved)
	for id, uses := range s.usesOf {
		c.usesOf[id] = slices.Clone(uses)
	}
	c.counters = maps.Clone(s.counters)
	for _, o := range c.orders {
		c.orderLists.add(entry{o.CreatedAt, o.ID}, everything, customerList(o.CustomerID))
	}
	for _, u := range c.uses {
		c.useLists.add(entry{u.CreatedAt, u.ID}, everything, customerList(u.CustomerID), couponList(u.CouponID))
	}
	return c
}

// Taken returns how much of a counter is reserved or completed.
func (s *Store) Taken(counter string) int64 { return s.counters[counter].Taken() }

// UsesOf returns the uses of an exchange of points, in any order.
func (s *Store) UsesOf(exchange string) (uses []redemption.Use) {
	for _, u := range s.uses {
		if u.ExchangeID == exchange {
			uses = append(uses, u)
		}
	}
	return uses
}

// Keep gives an order other claims, of which it keeps the last ones for a replaced order.
func (s *Store) Keep(orderID string, claims []eligibility.Claim, kept int) {
	o := s.orders[orderID]
	before := redemption.Holdings(o)
	o.Claims, o.Kept = claims, kept
	s.orders[orderID] = o
	for _, m := range redemption.Moves(before, redemption.Holdings(o)) {
		s.counters[m.Counter] = s.counters[m.Counter].Plus(m.By)
	}
}

// ReturnPoints gives the points of released uses back.
func (s *Store) ReturnPoints(exchange string) {
	for _, u := range s.UsesOf(exchange) {
		if u.State == redemption.Released && u.PointsState == redemption.PointsDebited {
			u.PointsState = redemption.PointsRefundDue
			s.uses[u.ID] = u
		}
	}
}
