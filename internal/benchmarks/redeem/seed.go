package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/couponkit/couponkit/store/pgxstore"
)

const (
	hour      = time.Hour
	customers = 100_000       // of the seeded redemptions; the measured ones are each of another
	places    = 1_000_000_000 // nobody runs out while it is measured
)

// next is request n of a client: a customer and a coupon that look random and are
// the same in every run. IDs begin with the time, as those of the library.
func next(client, n, coupons int) request {
	x := uint64(client)*0x9e3779b97f4a7c15 + uint64(n)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb
	x ^= x >> 29
	key, at := fmt.Sprintf("%016x%08x", x, client<<20|n&0xfffff), time.Now()
	return request{
		id: fmt.Sprintf("rsv_%010x%s", at.UnixMilli(), key[8:]), key: key, coupon: couponID(int(x % uint64(coupons))),
		customer: fmt.Sprintf("customer-%016x", x), at: at,
	}
}

// database is what a row redeems on.
type database struct {
	dsn     string
	drop    func(context.Context) error
	before  int   // redemptions that the template has
	made    int64 // acknowledged since
	clients int   // that have redeemed here; the next ones have other numbers and keys
}

// databases are those of one round, by row.
type databases map[row]*database

// of returns the row's database, and makes it when it is asked for first.
func (all *databases) of(ctx context.Context, b *bench, c cell) (*database, error) {
	if d, made := (*all)[c.row]; made {
		return d, nil
	}
	d, err := b.database(ctx, c.content, c.commit)
	if err != nil {
		return nil, err
	}
	if *all == nil {
		*all = make(databases)
	}
	(*all)[c.row] = d
	return d, nil
}

func (all databases) drop(ctx context.Context) (err error) {
	for _, d := range all {
		err = errors.Join(err, d.drop(ctx))
	}
	return err
}

// database makes a database with the content, a copy of a template, in which commits
// take longer by the delay.
func (b *bench) database(ctx context.Context, c content, commit time.Duration) (*database, error) {
	template, made := b.templates[c]
	if !made {
		template = fmt.Sprintf("couponkit_redeem_%d", len(b.templates))
		if err := b.makeTemplate(ctx, template, c); err != nil {
			return nil, fmt.Errorf("seed: %w", err)
		}
		b.templates[c] = template
	}
	b.made++
	name := fmt.Sprintf("couponkit_redeem_%d_%d", len(b.templates), b.made+1000)
	statement := fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s`, name, template)
	if b.fileCopy {
		statement += ` STRATEGY file_copy`
	}
	if _, err := b.admin.Exec(ctx, statement); err != nil {
		return nil, err
	}
	d := &database{before: c.redemptions, drop: func(ctx context.Context) error {
		_, err := b.admin.Exec(ctx, fmt.Sprintf(`DROP DATABASE %s WITH (FORCE)`, name))
		return err
	}}
	var err error
	if d.dsn, err = b.dsn(name); err == nil && commit > 0 {
		err = b.delayCommits(ctx, name, commit)
	}
	if err != nil {
		return nil, errors.Join(err, d.drop(context.WithoutCancel(ctx)))
	}
	return d, nil
}

func (b *bench) delayCommits(ctx context.Context, name string, delay time.Duration) error {
	for _, setting := range []string{fmt.Sprintf("commit_delay = %d", delay.Microseconds()), "commit_siblings = 0"} {
		if _, err := b.admin.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s SET %s", name, setting)); err != nil {
			return err
		}
	}
	return nil
}

// dsn is the URL of a database of the server.
func (b *bench) dsn(name string) (string, error) {
	u, err := url.Parse(b.server.DSN())
	if err != nil {
		return "", err
	}
	u.Path = "/" + name
	return u.String(), nil
}

// makeTemplate makes a database with the tables, the coupons, and redemptions that
// are there before.
func (b *bench) makeTemplate(ctx context.Context, name string, c content) error {
	if _, err := b.admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		return err
	}
	dsn, err := b.dsn(name)
	if err != nil {
		return err
	}
	pool, err := pgxpool.New(ctx, dsn)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Namespace{}); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, fmt.Sprintf(`
		INSERT INTO coupons (id, code, name, discount_type, percent_off, currency, applies_to, distribution, max_uses,
			max_uses_per_user, state, search_text, created_at, updated_at, revision)
		SELECT 'cpn_' || lpad(n::text, 5, '0'), 'CODE' || n, 'Coupon ' || n, 'PERCENTAGE', 10, 'EUR', 'ALL', 'GENERAL', %d,
			1000000, 'active', 'code' || n, now(), now(), 1 FROM generate_series(0, %d) n;
		INSERT INTO coupon_redemptions (id, key, coupon_id, customer_id, state, origin, order_id, session_id, created_at,
			updated_at, completed_at)
		SELECT 'rsv_' || lpad(to_hex(%d - n), 10, '0') || left(md5(n::text), 16), 'k' || n, 'cpn_' || lpad((n %% %d)::text, 5, '0'),
			'customer-' || lpad((hashint8(n) & 2147483647)::bigint %% %d || '', 6, '0'), 'completed', 'checkout', 'ord_' || n, 'cs_' || n,
			now() - n * interval '1 second', now(), now() FROM generate_series(1, %d) n;
		ALTER TABLE coupons ADD COLUMN uses bigint NOT NULL DEFAULT 0;
		UPDATE coupons c SET uses = g.uses FROM (SELECT coupon_id, count(*) AS uses FROM coupon_redemptions GROUP BY 1) g
			WHERE g.coupon_id = c.id;
		UPDATE coupon_counters s SET completed = c.uses FROM coupons c WHERE s.coupon_id = c.id AND s.stripe = 0;
		`, places, c.coupons-1, time.Now().UnixMilli(), c.coupons, customers, c.redemptions), pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	if err := prepareAlternatives(ctx, pool); err != nil {
		return err
	}
	if c.redemptions == 0 {
		return nil // as a new database is
	}
	_, err = pool.Exec(ctx, `VACUUM ANALYZE`)
	return err
}

// verify checks that every redemption that was acknowledged is there and counted.
func (d *database) verify(ctx context.Context, unchecked bool) error {
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var rows, counted int64
	if err := conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM coupon_redemptions),
		(SELECT sum(uses) FROM coupons) + (SELECT sum(completed + reserved) FROM coupon_counters)`).Scan(&rows, &counted); err != nil {
		return err
	}
	before := int64(d.before)
	want := before + d.made
	if rows != want {
		return fmt.Errorf("%d rows for %d acknowledged redemptions", rows, want)
	}
	counted -= before                                       // which both have, the coupon's row and its gate
	if !unchecked && counted != want && counted != before { // slots count elsewhere
		return errors.New("the counts are not those of the rows")
	}
	return nil
}
