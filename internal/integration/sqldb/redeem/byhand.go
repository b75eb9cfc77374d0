package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

var errFull = errors.New("no place is left")

// The statements that the ways by hand have in common.
const (
	beginImmediate = "BEGIN IMMEDIATE"
	commit         = "COMMIT"
	rollback       = "ROLLBACK"
	knownKey       = "SELECT 1 FROM coupon_redemptions WHERE customer_id = ? AND idempotency_key = ? AND origin <> 'checkout'"
	knownOrder     = "SELECT 1 FROM orders WHERE customer_id = ? AND idempotency_key = ?"
	terms          = `SELECT c.state, c.max_uses, c.max_uses_per_user, COALESCE(SUM(k.completed + k.reserved), 0)
		FROM coupons c LEFT JOIN coupon_counts k ON k.coupon_id = c.id WHERE c.id = ? GROUP BY c.id`
	usesOfCustomer   = "SELECT COUNT(*) FROM coupon_redemptions WHERE coupon_id = ? AND customer_id = ? AND state IN ('reserved', 'completed')"
	insertRedemption = `INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id,
		points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at) VALUES ` + redemptionRow
	redemptionRow = "(?, ?, ?, ?, 'reserved', ?, ?, '', ?, ?, 0, 0, ?, ?, ?)"
	insertOrder   = `INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount,
		session_id, session_url, deadline, created_at, updated_at, quote, coupon) VALUES ` + orderRow
	orderRow = "(?, ?, ?, ?, 'open', ?, ?, ?, '', '', ?, ?, ?, ?, ?)"
	// takePlace counts up if both limits leave a place.
	takePlace = `UPDATE coupon_counts SET reserved = reserved + 1 WHERE coupon_id = ?1 AND slot = 0
		AND (SELECT c.state = 'active' AND completed + reserved < c.max_uses AND c.max_uses_per_user >
			(SELECT COUNT(*) FROM coupon_redemptions r WHERE r.coupon_id = ?1 AND r.customer_id = ?2 AND r.state IN ('reserved', 'completed'))
			FROM coupons c WHERE c.id = ?1)`
	count       = "UPDATE coupon_counts SET completed = completed + ?, reserved = reserved + ? WHERE coupon_id = ? AND slot = 0"
	stateOf     = "SELECT state, order_id FROM coupon_redemptions WHERE id = ?"
	setComplete = `UPDATE coupon_redemptions SET state = 'completed', session_id = ?, deadline = NULL, updated_at = ?, completed_at = ?
		WHERE id = ? AND state = 'reserved'`
	setPaid = "UPDATE orders SET state = 'paid', session_id = ?, deadline = NULL, updated_at = ? WHERE id = ?"
)

// rowsTogether is how many rows the unchecked batches write in one statement, which
// is as fast as it gets: it need not remember how pages were before it.
const rowsTogether = 8

var insertRedemptions, insertOrders = several(insertRedemption, redemptionRow), several(insertOrder, orderRow)

func several(insert, row string) string {
	return strings.Replace(insert, "INSERT", "INSERT OR FAIL", 1) + strings.Repeat(", "+row, rowsTogether-1)
}

// hand is a connection with prepared statements, as a careful host would write it.
type hand struct {
	mu    sync.Mutex
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newHand(ctx context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (*hand, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	h := &hand{conn: conn, stmts: make(map[string]*sql.Stmt)}
	pragma := "PRAGMA synchronous = FULL"
	if synchronous == sqlstore.Normal {
		pragma = "PRAGMA synchronous = NORMAL"
	}
	for _, pragma := range []string{pragma, "PRAGMA cache_size = -8192", "PRAGMA wal_autocheckpoint = 8192"} { // as the store
		if _, err := conn.ExecContext(ctx, pragma); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	for _, text := range []string{
		beginImmediate, commit, rollback, knownKey, knownOrder, terms, usesOfCustomer, insertRedemption, insertOrder, takePlace,
		count, stateOf, setComplete, setPaid, insertRedemptions, insertOrders,
	} {
		if h.stmts[text], err = conn.PrepareContext(ctx, text); err != nil { //nolint:sqlclosecheck // by close
			return nil, errors.Join(err, h.close())
		}
	}
	return h, nil
}

func (h *hand) close() error {
	var failures []error
	for _, stmt := range h.stmts {
		if stmt != nil {
			failures = append(failures, stmt.Close())
		}
	}
	return errors.Join(append(failures, h.conn.Close())...)
}

func (h *hand) exec(ctx context.Context, text string, args ...any) error {
	_, err := h.stmts[text].ExecContext(ctx, args...)
	return err
}

// changed is exec for a statement that must change a row.
func (h *hand) changed(ctx context.Context, text string, args ...any) error {
	result, err := h.stmts[text].ExecContext(ctx, args...)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return errors.Join(errFull, err)
	}
	return nil
}

// alone runs a transaction, one at a time: SQLite takes no more.
func (h *hand) alone(ctx context.Context, run func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.exec(ctx, beginImmediate); err != nil {
		return err
	}
	if err := run(); err != nil {
		return errors.Join(err, h.exec(ctx, rollback))
	}
	return h.exec(ctx, commit)
}

// rows are what is inserted, made by the caller. A place alone has no order.
type rows struct{ redemption, order []any }

func rowsOf(r store.Reservation) (rows, error) {
	v, o := r.Redemption, r.Order
	redemption := []any{
		v.ID, v.Key, v.CouponID, v.CustomerID, v.Origin.String(), v.OrderID, v.Points, v.PointsState.String(),
		v.Deadline.UnixMicro(), v.CreatedAt.UnixMicro(), v.UpdatedAt.UnixMicro(),
	}
	if o == nil {
		return rows{redemption: redemption}, nil
	}
	quote, err := json.Marshal(r.Order.Quote)
	if err != nil {
		return rows{}, err
	}
	snapshot, err := json.Marshal(r.Order.Coupon)
	if err != nil {
		return rows{}, err
	}
	return rows{
		redemption: redemption,
		order: []any{
			o.ID, o.Key, o.Fingerprint, o.CustomerID, o.CouponID, o.ReservationID, o.DiscountAmount,
			o.Deadline.UnixMicro(), o.CreatedAt.UnixMicro(), o.UpdatedAt.UnixMicro(), string(quote), string(snapshot),
		},
	}, nil
}

func (h *hand) insert(ctx context.Context, r rows) error {
	if err := h.exec(ctx, insertRedemption, r.redemption...); err != nil {
		return err
	}
	if r.order == nil {
		return nil
	}
	return h.exec(ctx, insertOrder, r.order...)
}

// pay completes a redemption and its order.
func (h *hand) pay(ctx context.Context, s store.Settlement) error {
	at := s.Event.At.UnixMicro()
	if err := h.changed(ctx, setComplete, s.Event.SessionID, at, at, s.ReservationID); err != nil {
		return err
	}
	return h.exec(ctx, setPaid, s.Event.SessionID, at, s.Event.OrderID)
}

// textbook is what most code does: look up, count, insert, update, in a transaction
// for each call.
type textbook struct{ *hand }

func newTextbook(ctx context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (user, error) {
	h, err := newHand(ctx, db, synchronous)
	return textbook{h}, err
}

func (h textbook) reserve(ctx context.Context, r store.Reservation) error {
	values, err := rowsOf(r)
	if err != nil {
		return err
	}
	return h.alone(ctx, func() error { return h.checked(ctx, r, values) })
}

func (h textbook) checked(ctx context.Context, r store.Reservation, values rows) error {
	var one, most, perUser, taken, byCustomer int64
	var state string
	v := r.Redemption
	for _, known := range []string{knownKey, knownOrder} {
		if err := h.stmts[known].QueryRowContext(ctx, v.CustomerID, v.Key).Scan(&one); !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("known key: %w", err)
		}
	}
	if err := h.stmts[terms].QueryRowContext(ctx, v.CouponID).Scan(&state, &most, &perUser, &taken); err != nil {
		return err
	}
	if err := h.stmts[usesOfCustomer].QueryRowContext(ctx, v.CouponID, v.CustomerID).Scan(&byCustomer); err != nil {
		return err
	}
	if state != "active" || taken >= most || byCustomer >= perUser {
		return errFull
	}
	if err := h.insert(ctx, values); err != nil {
		return err
	}
	return h.changed(ctx, count, 0, 1, v.CouponID)
}

func (h textbook) complete(ctx context.Context, s store.Settlement) error {
	return h.alone(ctx, func() error {
		var state, order string
		if err := h.stmts[stateOf].QueryRowContext(ctx, s.ReservationID).Scan(&state, &order); err != nil {
			return err
		}
		if state != "reserved" || order != s.Event.OrderID {
			return fmt.Errorf("%s is %s", s.ReservationID, state)
		}
		if err := h.pay(ctx, s); err != nil {
			return err
		}
		return h.changed(ctx, count, 1, -1, s.CouponID)
	})
}

// conditional counts up if there is a place, in one statement, and inserts if it
// did. That the key is new is left to the unique index.
type conditional struct{ *hand }

func newConditional(ctx context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (user, error) {
	h, err := newHand(ctx, db, synchronous)
	return conditional{h}, err
}

func (h conditional) reserve(ctx context.Context, r store.Reservation) error {
	values, err := rowsOf(r)
	if err != nil {
		return err
	}
	return h.alone(ctx, func() error {
		if err := h.changed(ctx, takePlace, r.Redemption.CouponID, r.Redemption.CustomerID); err != nil {
			return err
		}
		return h.insert(ctx, values)
	})
}

func (h conditional) complete(ctx context.Context, s store.Settlement) error {
	return h.alone(ctx, func() error {
		if err := h.pay(ctx, s); err != nil {
			return err
		}
		return h.changed(ctx, count, 1, -1, s.CouponID)
	})
}

// ceiling writes whatever waits in one transaction, and asks nothing.
type ceiling struct {
	*hand
	queue chan *job
	ended chan struct{}
}

// job is a call that waits: rows to insert, or a payment.
type job struct {
	rows     rows
	payment  *store.Settlement
	couponID string
	done     chan error
}

func newCeiling(ctx context.Context, db *sql.DB, synchronous sqlstore.Synchronous) (user, error) {
	h, err := newHand(ctx, db, synchronous)
	if err != nil {
		return nil, err
	}
	c := ceiling{h, make(chan *job, sqlstore.DefaultMaxBatch), make(chan struct{})}
	go c.work()
	return c, nil
}

func (c ceiling) work() {
	defer close(c.ended)
	for first := range c.queue {
		batch := []*job{first}
		for more := true; more && len(batch) < sqlstore.DefaultMaxBatch; {
			select {
			case next, open := <-c.queue:
				if more = open; open {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		err := c.write(context.Background(), batch)
		for _, j := range batch {
			j.done <- err
		}
	}
}

func (c ceiling) write(ctx context.Context, batch []*job) error {
	return c.alone(ctx, func() error {
		var completed, reserved int
		var made []rows
		for _, j := range batch {
			if j.payment == nil {
				made = append(made, j.rows)
				reserved++
				continue
			}
			if err := c.pay(ctx, *j.payment); err != nil {
				return err
			}
			completed++
			reserved--
		}
		if err := c.insertAll(ctx, made); err != nil {
			return err
		}
		return c.changed(ctx, count, completed, reserved, batch[0].couponID)
	})
}

func (c ceiling) insertAll(ctx context.Context, made []rows) error {
	for ; len(made) >= rowsTogether; made = made[rowsTogether:] {
		var redemptions, orders []any
		for _, r := range made[:rowsTogether] {
			redemptions, orders = append(redemptions, r.redemption...), append(orders, r.order...)
		}
		if err := c.exec(ctx, insertRedemptions, redemptions...); err != nil {
			return err
		}
		if orders == nil {
			continue
		}
		if err := c.exec(ctx, insertOrders, orders...); err != nil {
			return err
		}
	}
	for _, r := range made {
		if err := c.insert(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (c ceiling) wait(j *job) error {
	j.done = make(chan error, 1)
	c.queue <- j
	return <-j.done
}

func (c ceiling) reserve(_ context.Context, r store.Reservation) error {
	values, err := rowsOf(r)
	if err != nil {
		return err
	}
	return c.wait(&job{rows: values, couponID: r.Redemption.CouponID})
}

func (c ceiling) complete(_ context.Context, s store.Settlement) error {
	return c.wait(&job{payment: &s, couponID: s.CouponID})
}

func (c ceiling) close() error {
	close(c.queue)
	<-c.ended
	return c.hand.close()
}
