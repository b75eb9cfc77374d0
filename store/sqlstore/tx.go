package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store/engine"
)

// session implements [engine.Tx]. It searches for keys without locks. It locks rows by their IDs, in
// byte order. Each row is thus locked in only one way, and nobody waits for an index entry that another
// transaction is moving.

// Load implements [engine.Tx].
func (s *session) Load(ctx context.Context, n engine.Need) (engine.Rows, error) {
	rows := engine.Rows{Counts: make(map[string]eligibility.Count, len(n.Counters))}
	for _, load := range [...]func(context.Context, engine.Need, *engine.Rows) error{
		s.loadOrders, s.loadUses, s.loadCoupons, s.loadCodes, s.loadCounters, s.loadFree,
	} {
		if err := load(ctx, n, &rows); err != nil {
			return engine.Rows{}, err
		}
	}
	return rows, nil
}

const (
	findOrdersByKey     = `SELECT id FROM {orders} WHERE (customer_id, idempotency_key) IN ({in})`
	findOrdersBySession = `SELECT id FROM {orders} WHERE session_id IN ({in})`
	lockOrders          = `SELECT ` + orderColumns + ` FROM {orders}{by_id} WHERE id IN ({in}) ORDER BY id{for_update}`
	findUsesByKey       = `SELECT id FROM {uses} WHERE idempotency_key IS NOT NULL AND (customer_id, idempotency_key) IN ({in})` // SQLite uses its partial index only with IS NOT NULL
	findUsesByExchange  = `SELECT id FROM {uses} WHERE state = 'reserved' AND exchange_id IN ({in})`
	findUsesByOrder     = `SELECT id FROM {uses} WHERE order_id IN ({in})`
	lockUses            = `SELECT ` + useColumns + ` FROM {uses}{by_id} WHERE id IN ({in}) ORDER BY id{for_update}`
	lockCoupons         = `SELECT id, state, revision, unlimited FROM {coupons}{by_id} WHERE id IN ({in}) ORDER BY id{for_share}`
	lockCounters        = `SELECT counter, reserved, completed FROM {counters}{by_id} WHERE slot = 0 AND counter IN ({in}) ORDER BY counter{for_update}`
	findFree            = `SELECT ` + useColumns + ` FROM {uses} WHERE {holder} = ? AND coupon_id = ? AND state = 'reserved' AND order_id IS NULL`
)

// unless returns the statement without its lock if peek is true.
func unless(peek bool, statement string) string {
	if peek {
		return strings.TrimSuffix(statement, "{for_update}")
	}
	return statement
}

func (s *session) loadOrders(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	ids, err := s.findIDs(ctx, n.OrderIDs,
		lookUp{findOrdersByKey, 2, pairs(n.OrderKeys)}, lookUp{findOrdersBySession, 1, anys(n.Sessions)})
	if err != nil {
		return err
	}
	return s.eachIn(ctx, unless(n.Peek, lockOrders), 1, anys(ids), collect(&rows.Orders, scanOrder))
}

func (s *session) loadUses(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	orders := each(rows.Orders, func(o redemption.Order) any { return o.ID })
	exchanged, err := s.findIDs(ctx, nil, lookUp{findUsesByExchange, 1, anys(n.Exchanges)})
	if err != nil {
		return err
	}
	ids, err := s.findIDs(ctx, slices.Concat(n.UseIDs, exchanged),
		lookUp{findUsesByKey, 2, pairs(n.UseKeys)}, lookUp{findUsesByOrder, 1, orders})
	if err != nil {
		return err
	}
	return s.eachIn(ctx, unless(n.Peek, lockUses), 1, anys(ids), func(found *sql.Rows) error {
		u, err := scanUse(found)
		if err == nil && u.State != redemption.Reserved && slices.Contains(exchanged, u.ID) {
			return fmt.Errorf("%w: use %s was released", engine.ErrAgain, u.ID) // another use has the points now
		}
		rows.Uses = append(rows.Uses, u)
		return err
	})
}

func (s *session) loadCoupons(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	ids := n.Coupons
	if n.CouponsOfOrders {
		ids = unique(slices.Concat(ids, each(rows.Uses, func(u redemption.Use) string { return u.CouponID })))
	}
	return s.eachIn(ctx, lockCoupons, 1, anys(ids), func(found *sql.Rows) error {
		var c engine.Coupon
		var state string
		if err := found.Scan(&c.ID, &state, &c.Revision, &c.Unlimited); err != nil {
			return err
		}
		var err error
		c.State, err = engine.ReadCouponState(c.ID, state)
		rows.Coupons = append(rows.Coupons, c)
		return err
	})
}

func (s *session) loadCounters(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	return s.eachIn(ctx, unless(n.Peek, lockCounters), 1, s.storedAs(n.Counters), s.scanCounts(rows.Counts))
}

// scanCounts returns a function that reads the counter of a row into a map.
func (s *session) scanCounts(into map[string]eligibility.Count) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		var counter string
		var count eligibility.Count
		err := rows.Scan(&counter, &count.Reserved, &count.Completed)
		into[s.key(counter)] = count
		return err
	}
}

func (s *session) storedAs(counters []string) []any {
	return each(counters, func(counter string) any { return s.stored(counter) })
}

// loadFree reads points reservations without locks. They are returned to a customer and not changed.
func (s *session) loadFree(ctx context.Context, n engine.Need, rows *engine.Rows) error {
	for _, held := range n.Free {
		free, err := s.uses(ctx, findFree+s.find, held.CustomerID, held.CouponID)
		if err != nil {
			return err
		}
		rows.Uses = append(rows.Uses, free...) // the engine keeps one row of each record
	}
	return nil
}

// lookUp is a statement that searches for IDs by keys.
type lookUp struct {
	statement string
	width     int
	keys      []any
}

// findIDs adds the IDs found to ids, and sorts them.
func (s *session) findIDs(ctx context.Context, ids []string, by ...lookUp) ([]string, error) {
	ids = slices.Clone(ids)
	for _, l := range by {
		if err := s.eachIn(ctx, l.statement+s.find, l.width, l.keys, collect(&ids, one[string])); err != nil {
			return nil, err
		}
	}
	return unique(ids), nil
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// each returns the result of the function for each value.
func each[V, R any](values []V, of func(V) R) []R {
	all := make([]R, len(values))
	for i, value := range values {
		all[i] = of(value)
	}
	return all
}

func anys(texts []string) []any { return each(texts, func(text string) any { return text }) }

func pairs(keys []engine.Key) []any {
	return slices.Concat(each(keys, func(k engine.Key) []any { return []any{k.CustomerID, k.Key} })...)
}

const (
	insertOrders = `{insert} {orders} (` + orderColumns + `) VALUES {rows}`
	updateOrder  = `{update} {orders} SET state = ?, session_id = ?, session_url = ?, replaced_by = ?, deadline = ?,
	updated_at = ?, version = ?, doc = COALESCE(?, doc), claims = COALESCE(?, claims) WHERE id = ?`
	adoptOrder = `{update} {orders} SET customer_id = ?, idempotency_key = ? WHERE id = ?`
	insertUses = `{insert} {uses} (` + useColumns + `) VALUES {rows}`
	updateUse  = `{update} {uses} SET state = ?, points_state = ?, over_limit = ?, deadline = ?, updated_at = ?,
	completed_at = ?, released_at = ?, version = ?, doc = COALESCE(?, doc), claims = COALESCE(?, claims) WHERE id = ?`
	addToCounters = `{insert} {counters} (counter, slot, reserved, completed) VALUES {rows}{or_add}`
	insertEntries = `{insert} {new_entries} (` + entryColumns + `) VALUES {rows}`
)

// Save implements [engine.Tx].
func (s *session) Save(ctx context.Context, w engine.Writes) error {
	docs, err := s.docs.others(w)
	if err != nil {
		return &failure{err}
	}
	if err := s.saveOrders(ctx, w, docs); err != nil {
		return err
	}
	if err := s.saveUses(ctx, w, docs); err != nil {
		return err
	}
	if err := s.saveCounters(ctx, w.Counters); err != nil {
		return err
	}
	return s.insert(ctx, insertEntries, each(w.Entries, entryRow))
}

func (s *session) saveOrders(ctx context.Context, w engine.Writes, docs documents) error {
	for _, o := range w.Orders {
		doc := docs.orders[o.ID]
		if err := s.exec(ctx, updateOrder, o.State.String(), orNull(o.SessionID), o.SessionURL, o.ReplacedBy,
			micros(o.Deadline), o.UpdatedAt.UnixMicro(), o.Version, orNull(doc.text), orNull(doc.claims), o.ID); err != nil {
			return fmt.Errorf("update order: %w", err)
		}
	}
	for _, o := range w.AdoptedOrders {
		if err := s.exec(ctx, adoptOrder, o.CustomerID, o.Key, o.ID); err != nil {
			return fmt.Errorf("adopt order: %w", err)
		}
	}
	return s.insert(ctx, insertOrders, each(w.NewOrders, func(o *redemption.Order) []any {
		return orderRow(o, cmp.Or(docs.orders[o.ID], s.docs.orders[o.ID]))
	}))
}

func (s *session) saveUses(ctx context.Context, w engine.Writes, docs documents) error {
	for _, u := range w.Uses {
		doc := docs.uses[u.ID]
		if err := s.exec(ctx, updateUse, u.State.String(), u.PointsState.String(), flag(u.OverLimit), micros(u.Deadline),
			u.UpdatedAt.UnixMicro(), micros(u.CompletedAt), micros(u.ReleasedAt), u.Version, orNull(doc.text), orNull(doc.claims), u.ID); err != nil {
			return fmt.Errorf("update use: %w", err)
		}
	}
	return s.insert(ctx, insertUses, each(w.NewUses, func(u *redemption.Use) []any {
		return useRow(u, cmp.Or(docs.uses[u.ID], s.docs.uses[u.ID]))
	}))
}

// saveCounters writes counters in the order of their keys, which is the order of locks. On SQLite there
// is only one writer. There, it writes in the order of the rows. A counter that Load has not found does
// not exist.
func (s *session) saveCounters(ctx context.Context, writes []engine.CounterWrite) error {
	if s.dialect == SQLite {
		rows := s.counterRows(writes)
		slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(a[0].(string), b[0].(string)) }) //nolint:errcheck,forcetypeassert // keys
		return s.insert(ctx, addToCounters, rows)
	}
	for len(writes) > 0 {
		alike := slices.IndexFunc(writes, func(w engine.CounterWrite) bool { return showsNew(w) != showsNew(writes[0]) })
		if alike < 0 {
			alike = len(writes)
		}
		s.changed = 0
		if err := s.insert(ctx, addToCounters, s.counterRows(writes[:alike])); err != nil {
			return fmt.Errorf("count: %w", err)
		}
		// MySQL counts a changed row as two. This count shows counters that already existed. A plain
		// insert would fail for them and leave a shared lock. Transactions that start again would then
		// wait for each other in a circle.
		if showsNew(writes[0]) && s.changed > int64(alike) {
			return fmt.Errorf("%w: a counter is new no more", engine.ErrAgain)
		}
		writes = writes[alike:]
	}
	return nil
}

// showsNew reports whether the number of changed rows shows on MySQL that the counter was new.
func showsNew(w engine.CounterWrite) bool { return w.New && w.By != (eligibility.Count{}) }

func (s *session) counterRows(writes []engine.CounterWrite) [][]any {
	return each(writes, func(w engine.CounterWrite) []any {
		return []any{s.stored(w.Counter), int64(w.Row), w.By.Reserved, w.By.Completed}
	})
}
