package engine_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// tables is what a SQL store has: rows with unique keys, and counters in several rows. Load
// and Save are as picky as a database.
type tables struct {
	orders   map[string]redemption.Order
	uses     map[string]redemption.Use
	coupons  map[string]engine.Coupon
	counters map[cell]eligibility.Count
	entries  []store.Entry
	// meanwhile runs once before the next Save, and committed once before the next Load that
	// looks again for what a request stores: other transactions that were faster.
	meanwhile, committed func()
	loads                []engine.Need
	saves                int
	last                 engine.Writes // of the last Save
}

type cell struct {
	counter string
	row     int
}

var _ engine.Tx = (*tables)(nil)

func newTables(coupons ...engine.Coupon) *tables {
	db := &tables{
		orders: map[string]redemption.Order{}, uses: map[string]redemption.Use{},
		coupons: map[string]engine.Coupon{}, counters: map[cell]eligibility.Count{},
	}
	for _, c := range coupons {
		db.coupons[c.ID] = c
	}
	return db
}

func (db *tables) Load(_ context.Context, n engine.Need) (engine.Rows, error) {
	db.loads = append(db.loads, n)
	if other := db.committed; other != nil && n.Peek && len(n.UseIDs)+len(n.OrderKeys)+len(n.Exchanges) > 0 {
		db.committed = nil
		other()
	}
	rows := engine.Rows{Counts: map[string]eligibility.Count{}}
	coupons := slices.Clone(n.Coupons)
	for _, id := range slices.Sorted(maps.Keys(db.orders)) {
		o := db.orders[id]
		if !slices.Contains(n.OrderIDs, id) && !slices.Contains(n.Sessions, o.SessionID) && !slices.Contains(n.OrderKeys, engine.Key{CustomerID: o.CustomerID, Key: o.Key}) {
			continue
		}
		rows.Orders = append(rows.Orders, o.Clone())
		for _, u := range db.uses {
			if u.OrderID == id {
				rows.Uses = append(rows.Uses, u.Clone()) // in the order of the map, as a database may
				if n.CouponsOfOrders {
					coupons = append(coupons, u.CouponID)
				}
			}
		}
	}
	for _, u := range db.uses {
		held := u.OrderID == "" && u.State == redemption.Reserved && slices.Contains(n.Free, engine.Held{CouponID: u.CouponID, CustomerID: u.CustomerID})
		taken := u.State == redemption.Reserved && u.ExchangeID != "" && slices.Contains(n.Exchanges, u.ExchangeID)
		keyTaken := u.Key != "" && slices.Contains(n.UseKeys, engine.Key{CustomerID: u.CustomerID, Key: u.Key})
		if held || taken || keyTaken || slices.Contains(n.UseIDs, u.ID) {
			rows.Uses = append(rows.Uses, u.Clone())
		}
	}
	for _, id := range coupons {
		if c, found := db.coupons[id]; found {
			rows.Coupons = append(rows.Coupons, c)
		}
	}
	for _, key := range n.Counters { // the first row only
		if count, found := db.counters[cell{key, 0}]; found {
			rows.Counts[key] = count
		}
	}
	return rows, nil
}

func (db *tables) Save(_ context.Context, w engine.Writes) error {
	db.saves++
	db.last = w
	if db.meanwhile != nil {
		other := db.meanwhile
		db.meanwhile = nil
		other()
	}
	if db.collides(w) {
		return engine.ErrAgain
	}
	for _, o := range w.Orders { // claims stand in the document
		changed := o.Clone()
		changed.Claims = db.orders[o.ID].Claims
		db.orders[o.ID] = changed
	}
	for _, u := range w.Uses {
		changed := u.Clone()
		changed.Claims = db.uses[u.ID].Claims
		db.uses[u.ID] = changed
	}
	for _, o := range slices.Concat(w.NewOrders, w.GrownOrders) {
		db.orders[o.ID] = o.Clone()
	}
	for _, u := range slices.Concat(w.NewUses, w.GrownUses) {
		db.uses[u.ID] = u.Clone()
	}
	for _, c := range w.Counters {
		at := cell{c.Counter, c.Row}
		db.counters[at] = db.counters[at].Plus(c.By)
	}
	db.entries = append(db.entries, w.Entries...)
	return nil
}

// collides checks the unique keys, as a database does.
func (db *tables) collides(w engine.Writes) bool {
	for _, o := range w.NewOrders {
		if _, taken := db.orders[o.ID]; taken {
			return true
		}
		for _, other := range db.orders {
			if o.Key != "" && o.Key == other.Key && o.CustomerID == other.CustomerID {
				return true
			}
		}
	}
	for _, u := range w.NewUses {
		if _, taken := db.uses[u.ID]; taken {
			return true
		}
		for _, other := range db.uses {
			if u.Key != "" && u.Key == other.Key && u.CustomerID == other.CustomerID {
				return true
			}
		}
	}
	for _, o := range slices.Concat(w.NewOrders, w.Orders) {
		for _, other := range db.orders {
			if o.SessionID != "" && o.SessionID == other.SessionID && o.ID != other.ID {
				return true
			}
		}
	}
	return slices.ContainsFunc(w.Counters, func(c engine.CounterWrite) bool {
		count, there := db.counters[cell{c.Counter, c.Row}]
		if !eligibility.IsShared(c.Counter) && !c.New && !there && c.By != (eligibility.Count{}) {
			panic("the engine adds to a counter that was never made: " + c.Counter)
		}
		return c.New && there || count.Taken() < c.Least || count.Taken() > c.Most
	})
}

// reserve runs requests as a store does: again, and thoroughly, if another was first.
func (db *tables) reserve(ctx context.Context, row int, requests ...store.Reservation) ([]engine.Answer[store.Reserved], error) {
	answers, err := db.attempt(ctx, row, false, requests...)
	if err == engine.ErrAgain { //nolint:errorlint // the engine passes it on as it is
		answers, err = db.attempt(ctx, row, true, requests...)
	}
	return answers, err
}

// attempt runs requests once.
func (db *tables) attempt(ctx context.Context, row int, thorough bool, requests ...store.Reservation) ([]engine.Answer[store.Reserved], error) {
	all := make([]*store.Reservation, len(requests))
	for i := range requests {
		all[i] = &requests[i]
	}
	return engine.Reserve(ctx, db, row, thorough, all...)
}

// total adds the rows of a counter up.
func (db *tables) total(counter string) (sum eligibility.Count) {
	for at, count := range db.counters {
		if at.counter == counter {
			sum = sum.Plus(count)
		}
	}
	return sum
}

// state is what tables hold, without the rows over which counters are spread.
type state struct {
	Orders   map[string]redemption.Order
	Uses     map[string]redemption.Use
	Counters map[string]eligibility.Count
	Entries  []store.Entry
}

func (db *tables) state() state {
	s := state{db.orders, db.uses, map[string]eligibility.Count{}, db.entries}
	for at := range db.counters {
		s.Counters[at.counter] = db.total(at.counter)
	}
	return s
}

func at(seconds int) time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

func active(id string, unlimited bool) engine.Coupon {
	return engine.Coupon{ID: id, State: coupon.Active, Revision: 1, Unlimited: unlimited}
}

func claim(counter string, amount, limit int64) eligibility.Claim {
	return eligibility.Claim{Counter: counter, Amount: amount, Limit: limit}
}

// order returns a request for an order with one use of each coupon and no claims.
func order(id, customer string, coupons ...string) store.Reservation {
	r := store.Reservation{Order: redemption.Order{
		ID: "ord_" + id, Key: "key_" + id, CustomerID: customer, State: redemption.OrderOpen, CreatedAt: at(0), Deadline: at(1000),
		Quote: pricing.Quote{Currency: pricing.EUR()},
	}}
	for _, c := range coupons {
		r.Coupons = append(r.Coupons, store.CouponAt{ID: c, Revision: 1})
		r.Uses = append(r.Uses, redemption.Use{
			ID: "use_" + id + "_" + c, CouponID: c, CustomerID: customer, OrderID: r.Order.ID,
			State: redemption.Reserved, Origin: redemption.FromCheckout, CreatedAt: at(0),
		})
	}
	return r.Normalize()
}

// exchange returns a request for a points reservation.
func exchange(id, customer, couponID string) store.Reservation {
	r := store.Reservation{Coupons: []store.CouponAt{{ID: couponID, Revision: 1}}, Uses: []redemption.Use{{
		ID: "use_" + id, Key: "key_" + id, ExchangeID: "use_" + id, CouponID: couponID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromPoints, Points: 5, PointsState: redemption.PointsPending, CreatedAt: at(0), Deadline: at(1000),
		Claims: []eligibility.Claim{claim(eligibility.CustomerUses(couponID, customer), 1, 0)},
	}}}
	return r.Normalize()
}

func taking(r store.Reservation, exchangeID string) store.Reservation {
	u := &r.Uses[0]
	u.Origin, u.ExchangeID, u.Points, u.PointsState = redemption.FromPoints, exchangeID, 5, redemption.PointsDebited
	return r
}

func event(kind redemption.EventKind, orderID, session string) store.Settlement {
	return store.Settlement{Event: redemption.Event{Kind: kind, OrderID: orderID, SessionID: session, At: at(500), Deadline: at(2000)}}
}
