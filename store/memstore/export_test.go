package memstore

import (
	"maps"
	"slices"
)

// Clone returns a store with the same orders, uses and counters, which shares no memory that changes. The
// coupons are shared, and the journal and the lists by time are left out.
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
	return c
}
