package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Calls that wait together and want the same are decided together: what they need is
// read in one statement for many of them, nothing is asked again, and the rows are
// written several to a statement. Only the usual case is: a reservation that nothing
// speaks against, and the payment of what is reserved. Everything else, and whoever
// meets another call of the batch in the same customer, redemption, order or session,
// is left over and runs by itself afterwards, in the order of arrival. All of them
// wait at the same time, so that any order is as good.

// wish is what a call wants of its batch, where it is of a kind that can be decided
// together with others. Settled, it does not run.
type wish struct {
	reserve  *reservation
	reserved *store.Reserved
	settle   *store.Settlement
	settled  func(store.Settled, storedOrder)
}

// together decides what can be decided together, and returns the rest. It needs the
// database to itself.
func (t *tx) together(ctx context.Context, requests []*request) (rest []*request, err error) {
	if rest, err = t.reserveTogether(ctx, requests); err != nil {
		return nil, err
	}
	return t.settleTogether(ctx, rest)
}

// choose returns the wanted requests if they are several: nothing is gained for one.
func choose(requests []*request, wanted func(*request) bool) (chosen []*request) {
	for _, r := range requests {
		if wanted(r) {
			chosen = append(chosen, r)
		}
	}
	if len(chosen) < 2 {
		return nil
	}
	return chosen
}

// remaining returns the requests without those that are answered.
func remaining(requests []*request, answered map[*request]struct{}) []*request {
	if len(answered) == 0 {
		return requests
	}
	rest := make([]*request, 0, len(requests)-len(answered))
	for _, r := range requests {
		if _, done := answered[r]; !done {
			rest = append(rest, r)
		}
	}
	return rest
}

// foreseen is what was read for a reservation before it is decided.
type foreseen struct {
	taken int64 // by the customer, of the coupon
	known bool  // the key was used before
}

func (t *tx) reserveTogether(ctx context.Context, requests []*request) ([]*request, error) {
	wishes := choose(requests, func(r *request) bool { return r.wish.reserve != nil })
	if len(wishes) == 0 {
		return requests, nil
	}
	seen, err := t.foresee(ctx, wishes)
	if err != nil {
		return nil, fmt.Errorf("read keys and uses of customers: %w", err)
	}
	answered := make(map[*request]struct{}, len(wishes))
	customers := make(map[string]struct{}, len(wishes))
	var records, orders [][]any
	for i, r := range wishes {
		asked := r.wish.reserve
		if _, met := customers[asked.record.CustomerID]; met {
			continue
		}
		fits, err := t.fits(ctx, asked, seen[i])
		if err != nil {
			return nil, err
		}
		if !fits {
			continue
		}
		if asked.order != nil {
			orders = append(orders, asked.order.values)
		}
		records = append(records, reservedValues(asked.record))
		customers[asked.record.CustomerID] = struct{}{}
		answered[r] = struct{}{}
		t.count(redemption.Redemption{}, asked.record)
		*r.wish.reserved, r.err = asked.reserved(), nil
	}
	if err := t.writeMany(ctx, insertOrders, orders); err != nil { // first, as one by one
		return nil, err
	}
	return remaining(requests, answered), t.writeMany(ctx, insertReserved, records)
}

// fits reports whether nothing speaks against the reservation.
func (t *tx) fits(ctx context.Context, r *reservation, seen foreseen) (bool, error) {
	// The customer may hold an exchange, and another redemption may have the session.
	if seen.known || r.order == nil && seen.taken > 0 || r.record.SessionID != "" {
		return false, nil
	}
	c, err := t.hold(ctx, r.record.CouponID)
	if err != nil || c.acceptable(r.record.CouponID, r.revision) != nil {
		return false, err
	}
	return store.WithinLimits(r.record.CouponID, c.limits, c.taken, seen.taken) == nil, nil
}

// foresee reads what is to be known of the keys and customers of reservations.
func (t *tx) foresee(ctx context.Context, wishes []*request) ([]foreseen, error) {
	seen, counting := make([]foreseen, len(wishes)), make([]any, len(wishes))
	for i, r := range wishes {
		asked := r.wish.reserve
		c, err := t.hold(ctx, asked.record.CouponID)
		if err != nil {
			return nil, err
		}
		if asked.order == nil || c.limits.MaxUsesPerUser > 0 { // else nobody asks how many there are
			counting[i] = asked.record.CouponID
		}
	}
	return seen, t.readMany(ctx, selectForeseen, len(wishes), func(i int) []any {
		v := &wishes[i].wish.reserve.record
		return []any{counting[i], v.CustomerID, v.Key}
	}, func(rows *sql.Rows, offset int) error {
		var i int
		var found foreseen
		if err := rows.Scan(&i, &found.taken, &found.known); err != nil {
			return err
		}
		seen[offset+i] = found
		return nil
	})
}

// payment is what a settlement is about, and where SQLite has the two rows as long as the
// transaction lasts, so that they are not looked up by their IDs again.
type payment struct {
	record      redemption.Redemption
	order       storedOrder
	recordRowID int64
	orderRowID  int64
}

func (t *tx) settleTogether(ctx context.Context, requests []*request) ([]*request, error) {
	wishes := choose(requests, func(r *request) bool { return r.wish.settle != nil })
	if len(wishes) == 0 {
		return requests, nil
	}
	found, err := t.named(ctx, wishes)
	if err != nil {
		return nil, fmt.Errorf("read redemptions and orders: %w", err)
	}
	answered := make(map[*request]struct{}, len(wishes))
	met := make(map[string]struct{}, 3*len(wishes))
	for i, r := range wishes {
		s := r.wish.settle
		if found[i].record.ID == "" || !firstMet(met, "r"+s.ReservationID, "o"+s.Event.OrderID, "s"+s.Event.SessionID) {
			continue
		}
		paid, ok, err := t.pay(ctx, found[i], *s)
		if err != nil {
			return nil, err
		}
		if ok {
			answered[r] = struct{}{}
			r.err = nil
			r.wish.settled(store.Settled{Redemption: paid.record, Changed: true}, paid.order)
		}
	}
	return remaining(requests, answered), nil
}

// firstMet reports whether none of the names was there, and adds them.
func firstMet(met map[string]struct{}, names ...string) bool {
	first := true
	for _, name := range names {
		_, there := met[name]
		first = first && !there
		met[name] = struct{}{}
	}
	return first
}

// pay completes a reserved redemption and its order, or reports that something
// speaks against it and changes nothing. An update takes one row: with several in one
// statement it was no faster. One that is refused, for its session is another's by now, ends
// the batch.
func (t *tx) pay(ctx context.Context, p payment, s store.Settlement) (paid payment, ok bool, err error) {
	before := p.record
	p.record, err = redemption.Apply(before, s.Event)
	if !concerns(before, s) || err != nil || p.record.Validate() != nil || !onlyPaid(before, p.record) {
		return payment{}, false, nil
	}
	p.order.Order = p.order.After(s.Event)
	r, o := p.record, p.order
	if _, err := t.write(ctx, completeByRowID, r.SessionID, micros(r.UpdatedAt), micros(r.CompletedAt), p.recordRowID); err != nil {
		return payment{}, false, err
	}
	t.count(before, r)
	_, err = t.write(ctx, payByRowID, o.SessionID, micros(o.UpdatedAt), p.orderRowID)
	return p, err == nil, err
}

const (
	// What selectNamed demands is not read.
	namedRedemption = `r.idempotency_key, r.coupon_id, r.customer_id, r.origin, r.session_id, r.points, r.points_state,
	r.deadline, r.created_at, r.updated_at`
	namedOrder = `o.idempotency_key, o.fingerprint, o.state, o.discount_amount, o.session_id, o.session_url,
	o.deadline, o.created_at, o.updated_at, o.quote, o.coupon, o.metadata`
)

// named reads the redemption and the order that each settlement names, as [tx.about]
// does for one, if one is reserved and the other's.
func (t *tx) named(ctx context.Context, wishes []*request) ([]payment, error) {
	found := make([]payment, len(wishes))
	var i int
	var p payment
	var record redemptionRow
	var order orderRow
	r, o := &record.r, &order.o
	targets := []any{
		&i, &p.recordRowID, &p.orderRowID,
		&r.Key, &r.CouponID, &r.CustomerID, &record.origin, &r.SessionID, &r.Points, &record.pointsState,
		&record.deadline, &record.created, &record.updated,
		&o.Key, &o.Fingerprint, &order.state, &o.DiscountAmount, &o.SessionID, &o.SessionURL,
		&order.deadline, &order.created, &order.updated, &o.quote, &order.snapshot, &order.meta,
	}
	return found, t.readMany(ctx, selectNamed, len(wishes), func(i int) []any {
		s := wishes[i].wish.settle
		return []any{s.ReservationID, s.Event.OrderID, s.Event.SessionID}
	}, func(rows *sql.Rows, offset int) error {
		record, order = redemptionRow{}, orderRow{}
		err := rows.Scan(targets...)
		if err != nil {
			return err
		}
		s := wishes[offset+i].wish.settle
		record.state, r.ID, r.OrderID = redemption.Reserved.String(), s.ReservationID, s.Event.OrderID
		o.ID, o.CouponID, o.CustomerID, o.ReservationID = s.Event.OrderID, r.CouponID, r.CustomerID, s.ReservationID
		if p.record, err = record.redemption(); err != nil {
			return err
		}
		p.order, err = order.order()
		found[offset+i] = p
		return err
	})
}

// Statements that take many are prepared in few sizes. A driver that looks for every
// argument among all makes large ones slow.
const (
	manyAsked = 32
	fewAsked  = 8
)

// asking is a statement that reads for many: it has a row of arguments for each, after
// its number.
type asking struct{ few, many string }

func ask(statement string, width int) asking {
	of := func(n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf("(%d%s)", i, strings.Repeat(", ?", width))
		}
		return strings.Replace(statement, "{asked}", strings.Join(rows, ", "), 1)
	}
	return asking{of(fewAsked), of(manyAsked)}
}

// readMany reads for n of them; what is left over of a statement is filled up with
// NULL, which finds nothing. Rows begin with the number of whom they are for, counted
// from the offset.
func (t *tx) readMany(ctx context.Context, a asking, n int, args func(i int) []any, row func(rows *sql.Rows, offset int) error) error {
	for offset := 0; offset < n; {
		statement, size := a.few, fewAsked
		if n-offset > fewAsked {
			statement, size = a.many, manyAsked
		}
		var all []any
		width := 0
		for i := offset; i < min(offset+size, n); i++ {
			one := args(i)
			width = len(one)
			all = append(all, one...)
		}
		all = append(all, make([]any, size*width-len(all))...)
		if err := t.readRows(ctx, statement, all, func(rows *sql.Rows) error { return row(rows, offset) }); err != nil {
			return err
		}
		offset += size
	}
	return nil
}

func (t *tx) readRows(ctx context.Context, statement string, args []any, row func(*sql.Rows) error) error {
	rows, err := t.query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writing is a statement that writes 1, 2, 4 or 8 rows. It fails with the first row
// that cannot be written, and leaves those before it: SQLite need not remember how
// pages were.
type writing [4]string

func writeRows(statement, row string) (w writing) {
	for k := range w {
		w[k] = strings.Replace(statement, "{rows}", strings.Repeat(row+", ", 1<<k-1)+row, 1)
	}
	return w
}

// writeMany writes the rows in as few statements as there are sizes for.
func (t *tx) writeMany(ctx context.Context, statements writing, rows [][]any) error {
	for k := len(statements) - 1; k >= 0; k-- {
		for size := 1 << k; len(rows) >= size; rows = rows[size:] {
			args := make([]any, 0, size*len(rows[0]))
			for _, row := range rows[:size] {
				args = append(args, row...)
			}
			if _, err := t.write(ctx, statements[k], args...); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	// Customers who have used neither the coupon nor the key have no row.
	selectForeseen = ask(`WITH asked (n, coupon_id, customer_id, idempotency_key) AS (VALUES {asked})
	SELECT f.n, f.taken, f.known FROM (SELECT a.n,
		(SELECT COUNT(*) FROM {coupon_redemptions} r
			WHERE r.coupon_id = a.coupon_id AND r.customer_id = a.customer_id AND r.state <> 'released') AS taken,
		EXISTS (SELECT 1 FROM {coupon_redemptions} r
			WHERE r.customer_id = a.customer_id AND r.idempotency_key = a.idempotency_key AND r.origin <> 'checkout')
		OR EXISTS (SELECT 1 FROM {orders} o WHERE o.customer_id = a.customer_id AND o.idempotency_key = a.idempotency_key) AS known
		FROM asked a) f WHERE f.taken > 0 OR f.known`, 3)

	selectNamed = ask(`WITH asked (n, reservation_id, order_id, session_id) AS (VALUES {asked})
	SELECT a.n, r.rowid, o.rowid, `+namedRedemption+`, `+namedOrder+` FROM asked a
	CROSS JOIN {coupon_redemptions} r ON r.id = a.reservation_id CROSS JOIN {orders} o ON o.id = a.order_id
	WHERE r.state = 'reserved' AND r.awaiting_payment = 0 AND r.leaving_until IS NULL AND r.order_id = o.id
	AND o.reservation_id = r.id AND o.coupon_id = r.coupon_id AND o.customer_id = r.customer_id
	AND NOT EXISTS (SELECT 1 FROM {coupon_redemptions} x
		WHERE x.session_id = a.session_id AND x.session_id <> '' AND x.id <> r.id)`, 3)

	// What payRedemption and updateOrder write for a payment.
	completeByRowID = `UPDATE {coupon_redemptions} SET state = 'completed', session_id = ?, deadline = NULL,
	updated_at = ?, completed_at = ? WHERE rowid = ?`
	payByRowID = `UPDATE {orders} SET state = 'paid', session_id = ?, deadline = NULL, updated_at = ? WHERE rowid = ?`

	insertOrders = writeRows(`INSERT OR FAIL INTO {orders} (`+orderInserted+`) VALUES {rows}`,
		"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")

	// What every reservation begins with is written out.
	insertReserved = writeRows(`INSERT OR FAIL INTO {coupon_redemptions} (`+insertedColumns+`) VALUES {rows}`,
		"(?, ?, ?, ?, 'reserved', ?, ?, ?, ?, ?, 0, 0, ?, NULL, ?, ?, NULL, NULL)")
)

// reservedValues returns the arguments of insertReserved.
func reservedValues(r redemption.Redemption) []any {
	return []any{
		r.ID, r.Key, r.CouponID, r.CustomerID, r.Origin.String(), r.OrderID, r.SessionID,
		r.Points, r.PointsState.String(), optionalMicros(r.Deadline), micros(r.CreatedAt), micros(r.UpdatedAt),
	}
}
