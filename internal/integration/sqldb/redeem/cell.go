package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/sqldb/sqlitedriver"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// cell is one measurement.
type cell struct {
	perSecond float64
	p50, p99  time.Duration
}

func open(ctx context.Context, driver, file string) (*sql.DB, error) {
	db, err := sql.Open(sqlitedriver.ByName()[driver], sqlitedriver.DSN(file))
	if err != nil {
		return nil, err
	}
	return db, db.PingContext(ctx)
}

// template makes a file with the tables, the coupon, and uses that are there before.
// It is made once for each driver.
func (p plan) template(ctx context.Context, driver string) (file string, err error) {
	file = filepath.Join(p.dir, driver+".template")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	db, err := open(ctx, driver, file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, ""); err != nil {
		return "", err
	}
	for _, index := range p.drop {
		if _, err := db.ExecContext(ctx, "DROP INDEX "+index); err != nil {
			return "", err
		}
	}
	c, err := hotCoupon()
	if err != nil {
		return "", err
	}
	s, err := sqlstore.New(db, sqlstore.SQLite, sqlstore.Options{})
	if err != nil {
		return "", err
	}
	if err := errors.Join(s.CreateCoupon(ctx, c), s.Close()); err != nil {
		return "", err
	}
	return file, seed(ctx, db, c.ID, p.seeded)
}

// seed stores uses that were completed long before.
func seed(ctx context.Context, db *sql.DB, couponID string, uses int) error {
	for _, statement := range []string{
		`INSERT INTO coupon_redemptions (id, idempotency_key, coupon_id, customer_id, state, origin, order_id, session_id,
			points, points_state, awaiting_payment, over_limit, created_at, updated_at, completed_at)
			WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?1)
			SELECT printf('rsv_%016x', (n * 2654435761) % 4294967296), 'key-' || n, ?2, printf('old-%06d', n % 50000), 'completed',
				'checkout', 'ord_' || n, 'cs_' || n, 0, 'none', 0, 0, n, n, n FROM n WHERE n <= ?1`,
		`INSERT INTO coupon_counts (coupon_id, slot, completed, reserved) VALUES (?2, 0, ?1, 0)
			ON CONFLICT (coupon_id, slot) DO UPDATE SET completed = excluded.completed`,
	} {
		if _, err := db.ExecContext(ctx, statement, uses, couponID); err != nil {
			return fmt.Errorf("seed: %w", err)
		}
	}
	_, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// hotCoupon has limits that nobody reaches while it is measured.
func hotCoupon() (coupon.Coupon, error) {
	code, err := coupon.ParseCode("HOT")
	if err != nil {
		return coupon.Coupon{}, err
	}
	percent, err := pricing.ParsePercent("12.5")
	return coupon.Coupon{
		ID: coupon.IDPrefix + "hot", Code: code, Name: "Hot", Discount: pricing.PercentOff(percent), Currency: pricing.EUR(),
		Scope: coupon.Scope{AppliesTo: coupon.All}, Distribution: coupon.General,
		Limits: coupon.Limits{MaxUses: 1_000_000_000, MaxUsesPerUser: 5},
		State:  coupon.Active, Revision: 1, CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}, err
}

// checkout makes the requests of the clients: each is another customer's.
type checkout struct {
	what     string
	random   bool
	coupon   coupon.Coupon
	snapshot coupon.Snapshot
	quote    pricing.Quote
}

func (p plan) newCheckout(what string) (checkout, error) {
	c, err := hotCoupon()
	if err != nil {
		return checkout{}, err
	}
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 9999},
		{ID: "2", Kind: pricing.Shipping, ItemID: "post", Quantity: 1, UnitPrice: 490},
	}}, c.Discount, nil)
	return checkout{what: what, random: p.random, coupon: c, snapshot: c.Snapshot(), quote: quote}, err
}

// request is request n of a client. IDs begin with the time, as those of a service.
func (c checkout) request(client, n int) store.Reservation {
	x := uint64(client)*0x9e3779b97f4a7c15 + uint64(n)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	name := fmt.Sprintf("%016x%04x%06x", x^x>>29, client, n)
	now := time.Now().UTC().Truncate(time.Microsecond)
	id := fmt.Sprintf("%014x%s", now.UnixMicro(), name[14:])
	if c.random {
		id = name
	}
	r := store.Reservation{Redemption: redemption.Redemption{
		ID: redemption.IDPrefix + id, Key: name, CouponID: c.coupon.ID, CustomerID: "customer-" + name,
		State: redemption.Reserved, Deadline: now.Add(time.Hour), CreatedAt: now, UpdatedAt: now,
	}}
	v := &r.Redemption
	if c.what == place {
		v.Origin, v.Points, v.PointsState = redemption.FromPoints, 50, redemption.PointsPending
		return r
	}
	v.Origin, v.OrderID = redemption.FromCheckout, store.OrderIDPrefix+id
	r.Order = &store.Order{
		ID: v.OrderID, Key: v.Key, Fingerprint: "cart", CustomerID: v.CustomerID, State: store.OrderOpen,
		CouponID: v.CouponID, Coupon: &c.snapshot, ReservationID: v.ID, DiscountAmount: c.quote.Discount, Quote: c.quote,
		Deadline: v.Deadline, CreatedAt: now, UpdatedAt: now,
	}
	return r
}

// payment is what the processor says of the request's session.
func payment(r store.Reservation) store.Settlement {
	return store.Settlement{
		Event: redemption.Event{
			Kind: redemption.SessionCompleted, At: r.Redemption.CreatedAt, SessionID: "cs_" + r.Redemption.ID, OrderID: r.Redemption.OrderID,
		},
		ReservationID: r.Redemption.ID, CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID, NewID: r.Redemption.ID + "n",
	}
}

// cell measures one way with a number of clients on a file of its own.
func (p plan) cell(ctx context.Context, template string, in setting, w way, clients int) (c cell, err error) {
	file := filepath.Join(p.dir, "cell.db")
	data, err := os.ReadFile(template)
	if err != nil {
		return cell{}, err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return cell{}, err
	}
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if removed := os.Remove(file + suffix); removed != nil && !errors.Is(removed, os.ErrNotExist) {
				err = errors.Join(err, removed)
			}
		}
	}()
	db, err := open(ctx, in.driver, file)
	if err != nil {
		return cell{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	u, err := w.open(ctx, db, settings[in.synchronous])
	if err != nil {
		return cell{}, err
	}
	c, made, err := p.measure(ctx, in.what, u, clients)
	if err = errors.Join(err, u.close()); err != nil {
		return cell{}, err
	}
	return c, p.verify(ctx, db, in.what, made)
}

// measure lets the clients use the coupon as fast as they can, and times the uses
// after a warm-up. It returns how many there were in all.
func (p plan) measure(ctx context.Context, what string, u user, clients int) (cell, int64, error) {
	shop, err := p.newCheckout(what)
	if err != nil {
		return cell{}, 0, err
	}
	var made atomic.Int64
	var stop atomic.Bool
	begin := time.Now().Add(p.duration / 4)
	times := make([][]time.Duration, clients)
	failures := make([]error, clients)
	var running sync.WaitGroup
	for client := range clients {
		running.Go(func() {
			// On a slow disk whatever began in time may have begun before the measurement.
			for n := 0; (!stop.Load() || len(times[client]) == 0) && failures[client] == nil; n++ {
				request := shop.request(client, n)
				started := time.Now()
				failures[client] = u.reserve(ctx, request)
				if failures[client] == nil && what == use {
					failures[client] = u.complete(ctx, payment(request))
				}
				if failures[client] == nil {
					made.Add(1)
				}
				if started.After(begin) {
					times[client] = append(times[client], time.Since(started))
				}
			}
		})
	}
	select {
	case <-time.After(time.Until(begin.Add(p.duration))):
	case <-ctx.Done():
	}
	stop.Store(true)
	running.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	slices.Sort(all)
	if err := errors.Join(failures...); err != nil {
		return cell{}, 0, err
	}
	return cell{
		perSecond: float64(len(all)) / took.Seconds(), p50: all[len(all)/2], p99: all[len(all)*99/100],
	}, made.Load(), nil
}

// verify checks that every use that was acknowledged is there and counted.
func (p plan) verify(ctx context.Context, db *sql.DB, what string, made int64) error {
	var completed, reserved, countedCompleted, countedReserved int64
	if err := db.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM coupon_redemptions WHERE state = 'completed'),
		(SELECT COUNT(*) FROM coupon_redemptions WHERE state = 'reserved'),
		(SELECT SUM(completed) FROM coupon_counts), (SELECT SUM(reserved) FROM coupon_counts)`).
		Scan(&completed, &reserved, &countedCompleted, &countedReserved); err != nil {
		return err
	}
	wantCompleted, wantReserved := int64(p.seeded)+made, int64(0)
	if what == place {
		wantCompleted, wantReserved = int64(p.seeded), made
	}
	if completed != wantCompleted || reserved != wantReserved || countedCompleted != completed || countedReserved != reserved {
		return fmt.Errorf("%d completed and %d reserved rows, counted as %d and %d, for %d and %d",
			completed, reserved, countedCompleted, countedReserved, wantCompleted, wantReserved)
	}
	return nil
}
