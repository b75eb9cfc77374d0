package shop

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/couponkit/couponkit"
)

// ErrNotFound tells that there is no such user or session.
var ErrNotFound = errors.New("not found in the shop")

// Options of a [DB]. The zero value is the default.
type Options struct {
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// PasswordCost is bcrypt's work factor; 0 is its default. Tests lower it.
	PasswordCost int
	// Prepare keeps what most requests ask prepared, for drivers that otherwise read the
	// text every time, as SQLite's does. pgx remembers statements by itself.
	Prepare bool
	// SessionLifetime is how long somebody stays signed in; 0 is
	// [DefaultSessionLifetime].
	SessionLifetime time.Duration
}

// DefaultSessionLifetime is how long somebody stays signed in.
const DefaultSessionLifetime = 12 * time.Hour

// DB is the shop's tables. It is safe for concurrent use, and many processes may
// share one database.
type DB struct {
	db      *sql.DB
	options Options
	session query
	user    query
	balance query
	// hashing limits how many passwords are compared at once.
	hashing chan struct{}
	// decoy is a hash that is compared if there is no such user. The answer then takes equally long.
	decoy []byte
}

var (
	_ couponkit.Users  = (*DB)(nil)
	_ couponkit.Points = (*DB)(nil)
)

// Open returns the shop in a database, making its tables if they are missing. The
// database stays the caller's.
func Open(ctx context.Context, db *sql.DB, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SessionLifetime == 0 {
		o.SessionLifetime = DefaultSessionLifetime
	}
	if err := migrate(ctx, db); err != nil {
		return nil, fmt.Errorf("make the tables of the shop: %w", err)
	}
	d := &DB{db: db, options: o, hashing: make(chan struct{}, hashingAtOnce()), session: query{text: sessionQuery}, user: query{text: userQuery}, balance: query{text: balanceQuery}}
	var err error
	if d.decoy, err = d.hash("nobody has this password"); err != nil || !o.Prepare {
		return d, err
	}
	for _, q := range d.queries() {
		if q.prepared, err = db.PrepareContext(ctx, q.text); err != nil {
			return nil, errors.Join(fmt.Errorf("prepare the queries of the shop: %w", err), d.Close())
		}
	}
	return d, nil
}

// query is a frequent query.
type query struct {
	text     string
	prepared *sql.Stmt // nil if it is not prepared
}

// row runs the query for one row.
func (q query) row(ctx context.Context, db *sql.DB, values ...any) *sql.Row {
	if q.prepared != nil {
		return q.prepared.QueryRowContext(ctx, values...)
	}
	return db.QueryRowContext(ctx, q.text, values...)
}

func (d *DB) queries() []*query { return []*query{&d.session, &d.user, &d.balance} }

// Close frees what Open has prepared. The database stays open.
func (d *DB) Close() error {
	var failures []error
	for _, q := range d.queries() {
		if q.prepared != nil {
			failures = append(failures, q.prepared.Close())
		}
	}
	return errors.Join(failures...)
}

// migrate creates the tables. If two processes create a table at once, PostgreSQL refuses one of them,
// even with IF NOT EXISTS. The next attempt finds the table.
func migrate(ctx context.Context, db *sql.DB) error {
	const attempts = 3
	for _, statement := range schema {
		var err error
		for range attempts {
			if _, err = db.ExecContext(ctx, statement); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// schema works in SQLite and PostgreSQL. Instants are microseconds since 1970. Prices are minor units
// of the shop's currency.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS shop_users (
		id TEXT PRIMARY KEY,
		email TEXT NOT NULL UNIQUE,
		name TEXT NOT NULL,
		role TEXT NOT NULL CHECK (role IN ('customer', 'administrator')),
		password_hash TEXT NOT NULL
	)`,
	`CREATE TABLE IF NOT EXISTS shop_sessions (
		token_hash TEXT PRIMARY KEY,
		user_id TEXT NOT NULL REFERENCES shop_users (id) ON DELETE CASCADE,
		csrf_token TEXT NOT NULL,
		expires_at BIGINT NOT NULL
	)`,
	`CREATE INDEX IF NOT EXISTS shop_sessions_by_end ON shop_sessions (expires_at)`,
	`CREATE INDEX IF NOT EXISTS shop_sessions_by_user ON shop_sessions (user_id, expires_at)`,
	`CREATE TABLE IF NOT EXISTS shop_secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS shop_points (
		user_id TEXT PRIMARY KEY REFERENCES shop_users (id) ON DELETE CASCADE,
		balance BIGINT NOT NULL CHECK (balance >= 0)
	)`,
	`CREATE TABLE IF NOT EXISTS shop_point_entries (
		reservation_id TEXT PRIMARY KEY,
		user_id TEXT NOT NULL,
		debited BIGINT NOT NULL,
		closed INTEGER NOT NULL,
		changed_at BIGINT NOT NULL
	)`,
	`CREATE TABLE IF NOT EXISTS shop_items (
		kind TEXT NOT NULL CHECK (kind IN ('plan', 'device', 'accessory', 'shipping')),
		id TEXT NOT NULL,
		name TEXT NOT NULL,
		description TEXT NOT NULL,
		price BIGINT NOT NULL CHECK (price >= 0),
		recurs TEXT NOT NULL,
		position BIGINT NOT NULL,
		PRIMARY KEY (kind, id)
	)`,
}

// Ping reports whether the database answers.
func (d *DB) Ping(ctx context.Context) error { return d.db.PingContext(ctx) }

// Secret returns the random key of a name. The first call makes the key. All later calls return the
// same key, also those of other processes on the same database.
func (d *DB) Secret(ctx context.Context, name string) ([]byte, error) {
	_, err := d.db.ExecContext(ctx, `INSERT INTO shop_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, rand.Text()+rand.Text())
	if err != nil {
		return nil, err
	}
	var value string
	err = d.db.QueryRowContext(ctx, `SELECT value FROM shop_secrets WHERE name = $1`, name).Scan(&value)
	return []byte(value), err
}

// within runs work in a transaction. It commits if work returns nil.
func (d *DB) within(ctx context.Context, work func(*sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing after a commit
	if err := work(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func changed(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err
}
