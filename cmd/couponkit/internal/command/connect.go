package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility/offers"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
	"github.com/couponkit/couponkit/store/sqlstore"
)

const (
	// connectTime is how long the tool waits for a database that does not answer.
	connectTime = 10 * time.Second
	// connections are enough for one command. Others use the database at the same time.
	connections = 4
)

// errNoFile means that there is no SQLite file.
var errNoFile = errors.New("no SQLite file")

// kind is a kind of database.
type kind uint8

const (
	sqliteFile kind = iota
	postgresServer
	mysqlServer
)

// schemePattern matches the scheme of a URL. A single letter is a drive of Windows.
var schemePattern = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):(//)?`)

// kindOf returns the kind of the database, and the path of an SQLite file.
func (s settings) kindOf() (k kind, path string, err error) {
	if s.Database == "" {
		return 0, "", usagef("which database? Set COUPONKIT_DATABASE, or name a settings file with --config")
	}
	path = s.Database
	if found := schemePattern.FindStringSubmatch(s.Database); found != nil {
		path = strings.TrimPrefix(s.Database, found[0])
		switch strings.ToLower(found[1] + found[2]) {
		case "postgres//", "postgresql//":
			return postgresServer, "", nil
		case "mysql//", "mariadb//":
			return mysqlServer, "", nil
		case "sqlite//", "sqlite":
		default:
			return 0, "", usagef("the database is neither postgres://, mysql:// nor sqlite://, nor the path of a file")
		}
	}
	if path == "" || strings.Contains(path, "\x00") {
		return 0, "", usagef("the database is no path of a file")
	}
	return sqliteFile, path, nil
}

// connection is an open database.
type connection struct {
	kind   kind
	pool   *pgxpool.Pool
	db     *sql.DB
	pgx    pgxstore.Options
	sql    sqlstore.Options
	closes []func() error
}

func (c *connection) Close() error {
	var failures []error
	for _, end := range c.closes {
		failures = append(failures, end())
	}
	return errors.Join(failures...)
}

func (c *connection) dialect() sqlstore.Dialect {
	if c.kind == mysqlServer {
		return sqlstore.MySQL
	}
	return sqlstore.SQLite
}

// connect opens the database. A file is only made if create says so.
func (t *tool) connect(ctx context.Context, create bool) (_ *connection, err error) {
	if err := t.load(); err != nil {
		return nil, err
	}
	k, path, err := t.settings.kindOf()
	if err != nil {
		return nil, err
	}
	c := &connection{kind: k, pgx: pgxstore.Options{Schema: t.settings.Schema}, sql: sqlstore.Options{TablePrefix: t.settings.TablePrefix}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	waiting, stop := context.WithTimeout(ctx, connectTime)
	defer stop()
	switch k {
	case postgresServer:
		err = c.openPostgres(waiting, t.settings.Database)
	case mysqlServer:
		err = c.openMySQL(waiting, t.settings.Database)
	case sqliteFile:
		err = c.openSQLite(path, create)
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("the database does not answer: %w", err)
	}
	return c, err
}

func (c *connection) openPostgres(ctx context.Context, address string) error {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return usagef("the database has no valid address of PostgreSQL")
	}
	config.MaxConns = connections
	if c.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	c.closes = append(c.closes, func() error { c.pool.Close(); return nil })
	return c.pool.Ping(ctx)
}

func (c *connection) openMySQL(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || len(u.Path) < 2 {
		return usagef("the database has no valid address of MySQL, as mysql://user@host/database is")
	}
	config := mysql.NewConfig()
	config.User, config.Net, config.DBName = u.User.Username(), "tcp", strings.TrimPrefix(u.Path, "/")
	config.Passwd, _ = u.User.Password()
	if config.Addr = u.Host; u.Port() == "" {
		config.Addr += ":3306"
	}
	config.Logger = log.New(io.Discard, "", 0) // the error is returned, too
	for name, values := range u.Query() {
		if name != "tls" {
			return usagef("the address of MySQL has the parameter %q; only tls is known", name)
		}
		config.TLSConfig = values[0]
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return usagef("the database has no valid address of MySQL")
	}
	c.db = sql.OpenDB(connector)
	c.closes = append(c.closes, c.db.Close)
	c.db.SetMaxOpenConns(connections)
	return c.db.PingContext(ctx)
}

func (c *connection) openSQLite(path string, create bool) error {
	mode := "rw"
	if create {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		mode = "rwc"
	} else if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("%w: %w", errNoFile, err)
	}
	file := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	db, err := sql.Open("sqlite", "file:"+file+"?mode="+mode+"&_pragma=busy_timeout(10000)&_txlock=immediate")
	if err != nil {
		return err
	}
	c.db = db
	c.closes = append(c.closes, db.Close)
	db.SetMaxOpenConns(connections)
	return nil
}

// store returns the store in the database.
func (c *connection) store(ctx context.Context) (store.Store, error) {
	if c.kind == postgresServer {
		return pgxstore.New(c.pool, c.pgx)
	}
	return sqlstore.New(ctx, c.db, c.dialect(), c.sql)
}

// withStore runs a command on the store.
func (t *tool) withStore(ctx context.Context, run func(store.Store) error) (err error) {
	c, err := t.connect(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	s, err := c.store(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return run(s)
}

// withService runs a command on the service. The journal names the person.
func (t *tool) withService(ctx context.Context, run func(context.Context, *couponkit.Service) error) error {
	return t.withShop(ctx, false, run)
}

// withShop runs a command on the service, perhaps with the automatic coupons of the store.
func (t *tool) withShop(ctx context.Context, automatic bool, run func(context.Context, *couponkit.Service) error) error {
	return t.withStore(ctx, func(s store.Store) error {
		var options []couponkit.Option
		if automatic {
			index := couponkit.NewOffers(s, offers.Limits{})
			if _, err := index.Update(ctx); err != nil {
				return err
			}
			options = append(options, couponkit.WithAutomatic(index))
		}
		service, err := t.service(s, options...)
		if err != nil {
			return err
		}
		return run(couponkit.WithActor(ctx, t.actor()), service)
	})
}

// actor names the person in the journal.
func (t *tool) actor() string {
	if user := t.Getenv("USER"); user != "" {
		return "couponkit:" + user
	}
	return "couponkit"
}

func (t *tool) service(s store.Store, options ...couponkit.Option) (*couponkit.Service, error) {
	words := slog.New(slog.NewTextHandler(wordWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	options = append(options,
		couponkit.WithClock(t.Now), couponkit.WithLocation(t.settings.location), couponkit.WithCurrency(t.settings.currency),
		couponkit.WithLogger(words),
	)
	if t.hasProcessor() {
		stripe, err := stripeprocessor.New(t.settings.StripeSecretKey, stripeprocessor.Options{
			BaseURL: t.settings.StripeURL, Clock: t.Now, Logger: words,
		})
		if err != nil {
			return nil, usageError{err}
		}
		options = append(options, couponkit.WithProcessor(stripe))
	}
	return couponkit.New(s, options...)
}

// hasProcessor reports whether the tool reaches the payment processor.
func (t *tool) hasProcessor() bool { return t.settings.StripeSecretKey != "" }

// advice tells what to do about an error of a database.
func advice(err error) string {
	var postgres *pgconn.PgError
	var schema *sqlstore.SchemaError
	const undefinedTable = "42P01"
	if errors.As(err, &postgres) && postgres.Code == undefinedTable || errors.As(err, &schema) && schema.Found == 0 {
		return "couponkit store migrate makes the tables"
	}
	if errors.Is(err, errNoFile) {
		return "couponkit store migrate makes the file with the tables"
	}
	return ""
}
