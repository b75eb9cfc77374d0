package sqldb_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// reserver stores one redemption and its order.
type reserver func(ctx context.Context, r store.Reservation) error

// BenchmarkReserve compares ways to keep a place of one hot coupon in SQLite, all
// of them with the same rows and indexes:
//
//		go test -run '^$' -bench Reserve -benchtime 3s ./internal/integration/sqldb
//
//	  - store: this library;
//	  - single: this library with MaxBatch 1, a transaction for each call;
//	  - textbook: look up, count, insert, update in a transaction for each call,
//	    exact like the store, written by hand with prepared statements;
//	  - unchecked: the same rows inserted in batches, with no question asked: what no
//	    store can be faster than.
func BenchmarkReserve(b *testing.B) {
	for _, synchronous := range []sqlstore.Synchronous{sqlstore.Full, sqlstore.Normal} {
		name := map[sqlstore.Synchronous]string{sqlstore.Full: "full", sqlstore.Normal: "normal"}[synchronous]
		for _, callers := range []int{1, 8, 64, 256} {
			for _, way := range []string{"store", "single", "textbook", "unchecked"} {
				b.Run(fmt.Sprintf("%s/%d/%s", name, callers, way), func(b *testing.B) {
					benchmarkReserve(b, way, synchronous, callers)
				})
			}
		}
	}
}

// BenchmarkReserveAndComplete measures a whole use: the place is kept, and the
// payment arrives; with batches and without.
func BenchmarkReserveAndComplete(b *testing.B) {
	for _, synchronous := range []sqlstore.Synchronous{sqlstore.Full, sqlstore.Normal} {
		name := map[sqlstore.Synchronous]string{sqlstore.Full: "full", sqlstore.Normal: "normal"}[synchronous]
		for way, batch := range map[string]int{"store": 0, "single": 1} {
			b.Run(name+"/64/"+way, func(b *testing.B) {
				db, err := openSQLite(b.Context(), "sqlite", filepath.Join(b.TempDir(), "coupons.db"))
				require.NoError(b, err)
				b.Cleanup(func() { _ = db.Close() })
				require.NoError(b, sqlstore.Migrate(b.Context(), db, sqlstore.SQLite, ""))
				s, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{Synchronous: synchronous, MaxBatch: batch})
				require.NoError(b, err)
				b.Cleanup(func() { require.NoError(b, s.Close()) })
				c := limitedCoupon("HOT", 1_000_000_000, 5)
				require.NoError(b, s.CreateCoupon(b.Context(), c))
				measure(b, c, 64, func(ctx context.Context, r store.Reservation) error {
					if _, err := s.Reserve(ctx, r); err != nil {
						return err
					}
					_, err := s.Settle(ctx, settlementOf(redemption.SessionCompleted, r.Redemption, "cs_"+r.Redemption.ID))
					return err
				})
			})
		}
	}
}

func benchmarkReserve(b *testing.B, way string, synchronous sqlstore.Synchronous, callers int) {
	b.Helper()
	db, err := openSQLite(b.Context(), "sqlite", filepath.Join(b.TempDir(), "coupons.db"))
	require.NoError(b, err)
	b.Cleanup(func() { _ = db.Close() })
	require.NoError(b, sqlstore.Migrate(b.Context(), db, sqlstore.SQLite, ""))
	options := sqlstore.Options{Synchronous: synchronous}
	if way == "single" {
		options.MaxBatch = 1
	}
	s, err := sqlstore.New(db, sqlstore.SQLite, options)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	c := limitedCoupon("HOT", 1_000_000_000, 5)
	require.NoError(b, s.CreateCoupon(b.Context(), c))
	reserve := func(ctx context.Context, r store.Reservation) error {
		_, err := s.Reserve(ctx, r)
		return err
	}
	switch way {
	case "textbook":
		reserve = newTextbook(b, db, synchronous).reserve
	case "unchecked":
		reserve = newUnchecked(b, db, synchronous).reserve
	}
	measure(b, c, callers, reserve)
}

// measure reports the rate and the time that all but one of a hundred calls need.
func measure(b *testing.B, c coupon.Coupon, callers int, reserve reserver) {
	b.Helper()
	requests := make([]store.Reservation, b.N)
	for i := range requests {
		requests[i] = checkoutOf(c, customer(i), fmt.Sprintf("%09d", i))
	}
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= b.N {
					return
				}
				begin := time.Now()
				if err := reserve(b.Context(), requests[i]); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(begin)
			}
		})
	}
	all.Wait()
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reservations/s")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// hand is a connection with prepared statements, as a careful host would write it.
type hand struct {
	mu    sync.Mutex
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

const (
	handBegin    = "BEGIN IMMEDIATE"
	handCommit   = "COMMIT"
	handRollback = "ROLLBACK"
	handKnown    = "SELECT 1 FROM coupon_redemptions WHERE customer_id = ? AND idempotency_key = ?"
	handTerms    = `SELECT c.state, c.revision, c.max_uses, c.max_uses_per_user, COALESCE(SUM(k.completed + k.reserved), 0)
		FROM coupons c LEFT JOIN coupon_counts k ON k.coupon_id = c.id WHERE c.id = ? GROUP BY c.id`
	handByCustomer = "SELECT COUNT(*) FROM coupon_redemptions WHERE coupon_id = ? AND customer_id = ? AND state IN ('reserved', 'completed')"
	handRedemption = `INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id,
		points, points_state, awaiting_payment, over_limit, deadline, created_at, updated_at)
		VALUES (?, ?, ?, ?, 'reserved', 'checkout', ?, '', 0, 'none', 0, 0, ?, ?, ?)`
	handOrder = `INSERT INTO orders (id, idempotency_key, fingerprint, customer_id, state, coupon_id, reservation_id, discount_amount,
		session_id, session_url, deadline, created_at, updated_at, quote, coupon) VALUES (?, ?, ?, ?, 'open', ?, ?, ?, '', '', ?, ?, ?, ?, ?)`
	handCount = `INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES (?, 0, 0, ?)
		ON CONFLICT (coupon_id, slot) DO UPDATE SET reserved = reserved + excluded.reserved`
)

func newHand(b *testing.B, db *sql.DB, synchronous sqlstore.Synchronous) *hand {
	b.Helper()
	conn, err := db.Conn(b.Context())
	require.NoError(b, err)
	pragma := "PRAGMA synchronous = FULL"
	if synchronous == sqlstore.Normal {
		pragma = "PRAGMA synchronous = NORMAL"
	}
	_, err = conn.ExecContext(b.Context(), pragma)
	require.NoError(b, err)
	h := &hand{conn: conn, stmts: make(map[string]*sql.Stmt)}
	for _, text := range []string{
		handBegin, handCommit, handRollback, handKnown, handTerms, handByCustomer, handRedemption, handOrder, handCount,
	} {
		h.stmts[text], err = conn.PrepareContext(b.Context(), text) //nolint:sqlclosecheck // closed with the connection
		require.NoError(b, err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	return h
}

func (h *hand) exec(ctx context.Context, text string, args ...any) error {
	_, err := h.stmts[text].ExecContext(ctx, args...)
	return err
}

// row is what is inserted, made by the caller.
type row struct{ redemption, order []any }

func rowOf(r store.Reservation) (row, error) {
	quote, err := json.Marshal(r.Order.Quote)
	if err != nil {
		return row{}, err
	}
	snapshot, err := json.Marshal(r.Order.Coupon)
	if err != nil {
		return row{}, err
	}
	v, o := r.Redemption, r.Order
	return row{
		redemption: []any{v.ID, v.Key, v.CouponID, v.CustomerID, v.OrderID, v.Deadline.UnixMicro(), v.CreatedAt.UnixMicro(), v.UpdatedAt.UnixMicro()},
		order: []any{
			o.ID, o.Key, o.Fingerprint, o.CustomerID, o.CouponID, o.ReservationID, o.DiscountAmount,
			o.Deadline.UnixMicro(), o.CreatedAt.UnixMicro(), o.UpdatedAt.UnixMicro(), string(quote), string(snapshot),
		},
	}, nil
}

func (h *hand) insert(ctx context.Context, r row) error {
	if err := h.exec(ctx, handRedemption, r.redemption...); err != nil {
		return err
	}
	return h.exec(ctx, handOrder, r.order...)
}

type textbook struct{ *hand }

func newTextbook(b *testing.B, db *sql.DB, synchronous sqlstore.Synchronous) textbook {
	b.Helper()
	return textbook{newHand(b, db, synchronous)}
}

func (h textbook) reserve(ctx context.Context, r store.Reservation) error {
	values, err := rowOf(r)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.exec(ctx, handBegin); err != nil {
		return err
	}
	if err := h.checked(ctx, r, values); err != nil {
		return errors.Join(err, h.exec(ctx, handRollback))
	}
	return h.exec(ctx, handCommit)
}

func (h textbook) checked(ctx context.Context, r store.Reservation, values row) error {
	var one, revision, most, perUser, taken, byCustomer int64
	var state string
	v := r.Redemption
	if err := h.stmts[handKnown].QueryRowContext(ctx, v.CustomerID, v.Key).Scan(&one); !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("known key: %w", err)
	}
	if err := h.stmts[handTerms].QueryRowContext(ctx, v.CouponID).Scan(&state, &revision, &most, &perUser, &taken); err != nil {
		return err
	}
	if err := h.stmts[handByCustomer].QueryRowContext(ctx, v.CouponID, v.CustomerID).Scan(&byCustomer); err != nil {
		return err
	}
	if state != "active" || taken >= most || byCustomer >= perUser {
		return coupon.ErrUsageLimitReached
	}
	if err := h.insert(ctx, values); err != nil {
		return err
	}
	return h.exec(ctx, handCount, v.CouponID, 1)
}

// unchecked inserts whatever waits in one transaction.
type unchecked struct {
	*hand
	queue chan *waitingRow
}

type waitingRow struct {
	row
	couponID string
	done     chan error
}

func newUnchecked(b *testing.B, db *sql.DB, synchronous sqlstore.Synchronous) unchecked {
	b.Helper()
	u := unchecked{newHand(b, db, synchronous), make(chan *waitingRow, sqlstore.DefaultMaxBatch)}
	var worker sync.WaitGroup
	worker.Go(func() {
		for first := range u.queue {
			batch := []*waitingRow{first}
			for more := true; more && len(batch) < sqlstore.DefaultMaxBatch; {
				select {
				case next, open := <-u.queue:
					if more = open; open {
						batch = append(batch, next)
					}
				default:
					more = false
				}
			}
			err := u.together(batch)
			for _, r := range batch {
				r.done <- err
			}
		}
	})
	b.Cleanup(func() {
		close(u.queue)
		worker.Wait()
	})
	return u
}

func (u unchecked) together(batch []*waitingRow) error {
	ctx := context.Background()
	if err := u.exec(ctx, handBegin); err != nil {
		return err
	}
	for _, r := range batch {
		if err := u.insert(ctx, r.row); err != nil {
			return errors.Join(err, u.exec(ctx, handRollback))
		}
	}
	if err := u.exec(ctx, handCount, batch[0].couponID, len(batch)); err != nil {
		return err
	}
	return u.exec(ctx, handCommit)
}

func (u unchecked) reserve(_ context.Context, r store.Reservation) error {
	values, err := rowOf(r)
	if err != nil {
		return err
	}
	waiting := &waitingRow{row: values, couponID: r.Redemption.CouponID, done: make(chan error, 1)}
	u.queue <- waiting
	return <-waiting.done
}
