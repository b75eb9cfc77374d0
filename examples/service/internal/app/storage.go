package app

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// storage is the coupon store and the shop's database. Both are in the same file or database.
type storage struct {
	coupons store.Store
	shop    *sql.DB
	close   []func() error
}

// Close closes everything in reverse order of opening.
func (s *storage) Close() error {
	var failures []error
	for _, end := range slices.Backward(s.close) {
		failures = append(failures, end())
	}
	s.close = nil
	return errors.Join(failures...)
}

func (s *storage) closes(f func() error) { s.close = append(s.close, f) }

// openStorage opens the storage that Config.Store names, and migrates its tables.
func openStorage(ctx context.Context, where string) (_ *storage, err error) {
	s := &storage{}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open the store: %w", err), s.Close())
		}
	}()
	switch {
	case where == Memory:
		return s, s.openMemory(ctx)
	case isPostgres(where):
		return s, s.openPostgres(ctx, where)
	case strings.Contains(where, "://"): // an unknown scheme; as a file name it could contain a password
		return s, errors.New("a store is a file, memory, or postgres://…")
	}
	return s, s.openSQLite(ctx, where)
}

// openMemory keeps coupons in memstore, and the shop in an in-memory database. That database exists as
// long as a connection to it. One connection is reserved, because canceled requests may close other
// connections.
func (s *storage) openMemory(ctx context.Context) (err error) {
	s.coupons = memstore.New()
	s.closes(s.coupons.Close)
	s.shop, err = sql.Open("sqlite", "file:"+rand.Text()+"?mode=memory&cache=shared&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		return err
	}
	s.closes(s.shop.Close)
	keeper, err := s.shop.Conn(ctx)
	if err != nil {
		return err
	}
	s.closes(keeper.Close)
	s.shop.SetMaxOpenConns(1 + 1) // more connections with a shared cache would block each other
	return nil
}

func (s *storage) openSQLite(ctx context.Context, file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	// Transactions of the shop take the write lock when they begin. Otherwise, one of two concurrent
	// transactions would fail.
	const options = "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_txlock=immediate"
	path := (&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()
	db, err := sql.Open("sqlite", "file:"+path+options)
	if err != nil {
		return err
	}
	s.shop = db
	s.closes(db.Close)
	// Opening a connection is more expensive than most queries, because it reads the schema and
	// prepares statements. So all connections stay open.
	connections := max(fileConnections, 2*runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	if err := sqlstore.Migrate(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return err
	}
	if s.coupons, err = sqlstore.New(ctx, db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		return err
	}
	s.closes(s.coupons.Close)
	return nil
}

// Maximum numbers of connections. A file has one writer at a time. In PostgreSQL, concurrent
// transactions share the wait for the disk.
const (
	fileConnections     = 8
	postgresConnections = 24
)

func (s *storage) openPostgres(ctx context.Context, address string) error {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return err
	}
	if !strings.Contains(address, "pool_max_conns=") { // pgx reads this parameter from the address
		config.MaxConns = postgresConnections
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	s.closes(func() error { pool.Close(); return nil })
	if err := pgxstore.Migrate(ctx, pool, pgxstore.Options{}); err != nil {
		return err
	}
	if s.coupons, err = pgxstore.New(pool, pgxstore.Options{}); err != nil {
		return err
	}
	s.closes(s.coupons.Close)
	s.shop = stdlib.OpenDBFromPool(pool)
	s.closes(s.shop.Close)
	return nil
}
