package memstore

import (
	"context"
	"slices"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// tx implements [engine.Tx]. The caller holds the mutex.
type tx struct{ *Store }

func (s tx) Load(_ context.Context, n engine.Need) (engine.Rows, error) {
	rows := engine.Rows{Counts: map[string]eligibility.Count{}}
	s.loadOrders(n, &rows)
	s.loadUses(n, &rows)
	coupons := slices.Clone(n.Coupons)
	if n.CouponsOfOrders {
		for _, u := range rows.Uses {
			coupons = append(coupons, u.CouponID)
		}
	}
	for _, id := range coupons {
		if row := s.coupons[id]; row != nil {
			rows.Coupons = append(rows.Coupons, engine.Coupon{
				ID: id, State: row.coupon.State, Revision: row.coupon.Revision, Unlimited: row.unlimited,
			})
		}
	}
	for _, key := range n.Codes {
		if c, found := s.issued[key]; found {
			rows.Codes = append(rows.Codes, engine.Code{CodeKey: key, Active: c.Active, Revision: c.Revision})
		}
	}
	for _, key := range n.Counters {
		if count, found := s.counters[key]; found {
			rows.Counts[key] = count
		}
	}
	return rows, nil
}

func (s *Store) loadOrders(n engine.Need, rows *engine.Rows) {
	ids := slices.Clone(n.OrderIDs)
	for _, session := range n.Sessions {
		ids = append(ids, s.sessions[session])
	}
	for _, key := range n.OrderKeys {
		ids = append(ids, s.orderKeys[key])
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if o, found := s.orders[id]; found {
			rows.Orders = append(rows.Orders, o)
			rows.Uses = append(rows.Uses, s.usesOfOrder(id)...)
		}
	}
}

func (s *Store) loadUses(n engine.Need, rows *engine.Rows) {
	ids := slices.Clone(n.UseIDs)
	for _, key := range n.UseKeys {
		ids = append(ids, s.useKeys[key])
	}
	for _, exchange := range n.Exchanges {
		ids = append(ids, s.reserved[exchange])
	}
	for _, held := range n.Free {
		for _, u := range s.held(held.CouponID, held.CustomerID) {
			if u.OrderID == "" && u.Origin == redemption.FromPoints {
				ids = append(ids, u.ID)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if u, found := s.uses[id]; found {
			rows.Uses = append(rows.Uses, u)
		}
	}
}

// held returns the reserved uses of a customer, oldest first.
func (s *Store) held(couponID, customerID string) []redemption.Use {
	var held []redemption.Use
	for _, at := range s.useLists.of(customerList(customerID)).entries {
		if u := s.uses[at.id]; u.CouponID == couponID && u.State == redemption.Reserved {
			held = append(held, u)
		}
	}
	return held
}

// Save implements [engine.Tx]. The caller holds the mutex, so a row to insert cannot exist.
func (s tx) Save(_ context.Context, w engine.Writes) error {
	for _, o := range w.NewOrders {
		at := entry{o.CreatedAt, o.ID}
		s.orderLists.add(at, everything, customerList(o.CustomerID))
		if o.Key != "" {
			s.orderKeys[engine.Key{CustomerID: o.CustomerID, Key: o.Key}] = o.ID
		}
		s.putOrder(o.Clone())
	}
	for _, o := range w.AdoptedOrders {
		if s.orders[o.ID].CustomerID != o.CustomerID {
			s.orderLists.add(entry{o.CreatedAt, o.ID}, customerList(o.CustomerID))
		}
		s.orderKeys[engine.Key{CustomerID: o.CustomerID, Key: o.Key}] = o.ID
	}
	for _, o := range w.Orders {
		s.putOrder(*o)
	}
	for _, u := range w.NewUses {
		at := entry{u.CreatedAt, u.ID}
		s.useLists.add(at, everything, customerList(u.CustomerID), couponList(u.CouponID))
		if u.Key != "" {
			s.useKeys[engine.Key{CustomerID: u.CustomerID, Key: u.Key}] = u.ID
		}
		if u.OrderID != "" {
			s.usesOf[u.OrderID] = append(s.usesOf[u.OrderID], u.ID)
		}
		s.uses[u.ID] = u.Clone()
	}
	for _, u := range w.Uses {
		s.uses[u.ID] = *u
		if s.reserved[u.ExchangeID] == u.ID && u.State != redemption.Reserved {
			delete(s.reserved, u.ExchangeID)
		}
	}
	for _, u := range w.NewUses {
		if u.ExchangeID != "" && u.State == redemption.Reserved {
			s.reserved[u.ExchangeID] = u.ID
		}
	}
	for _, c := range w.Counters {
		s.counters[c.Counter] = s.counters[c.Counter].Plus(c.By)
	}
	s.write(w.Entries...)
	return nil
}

func (s *Store) putOrder(o redemption.Order) {
	if before := s.orders[o.ID].SessionID; before != o.SessionID {
		delete(s.sessions, before)
	}
	s.orders[o.ID] = o
	if o.SessionID != "" {
		s.sessions[o.SessionID] = o.ID
	}
}

// write appends entries to the journal. Entries are committed in the order of the calls.
func (s *Store) write(entries ...store.Entry) {
	for _, e := range entries {
		e.Position = int64(len(s.journal)) + 1
		s.journal = append(s.journal, e)
	}
}
