package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/couponkit/couponkit/store/engine"
	"github.com/couponkit/couponkit/store/internal/sqlparts"
	"github.com/couponkit/couponkit/validation"
)

// Dialect is the kind of database behind a *sql.DB. The driver is the host's.
type Dialect uint8

// The dialects.
const (
	// SQLite is SQLite [LeastSQLite] or later, by any driver.
	SQLite Dialect = iota + 1
	// MySQL is MySQL 8.0.16 or later and MariaDB 10.5 or later, with InnoDB.
	MySQL
)

// String returns "sqlite" or "mysql".
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "sqlite"
	case MySQL:
		return "mysql"
	}
	return ""
}

// grammar is what one database says otherwise than the other, for the tables of one
// prefix. All other SQL is common.
type grammar struct {
	dialect Dialect
	prefix  string
	// words replace {words} in statements; other {names} are tables.
	words map[string]string
	// pairs begins a list of pairs in an IN.
	pairs string
	// stored is how a counter's key is stored, and key is its inverse.
	stored, key func(string) string
	// slots is over how many rows unlimited counters are spread.
	slots int
	// parameters is the most placeholders of a statement.
	parameters int
	// duplicate recognizes that a row was there already.
	duplicate func(error) bool
	// transient recognizes that the database has undone a transaction because of others.
	transient func(error) bool

	expanded sync.Map // statement as written in this package -> as the database gets it
}

func (d Dialect) grammar(o Options) (*grammar, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	switch d {
	case SQLite:
		return sqliteGrammar(o), nil
	case MySQL:
		return mysqlGrammar(o), nil
	}
	var faults validation.Error
	faults.Add("dialect", validation.Unknown, "must be SQLite or MySQL")
	return nil, faults.Err()
}

// Drivers of SQLite look for each argument among all: statements of very many
// placeholders are slow. MySQL gets none, and its bound is the length of a statement.
const (
	sqliteParameters = 160
	mysqlParameters  = 2_048
)

func sqliteGrammar(o Options) *grammar {
	return &grammar{
		dialect: SQLite, prefix: o.prefix(),
		words: map[string]string{
			"for_update": "", "for_share": "", "by_id": "",
			// After an error the transaction is undone as a whole. FAIL saves SQLite a copy
			// of every page before the statement.
			"insert":      "INSERT OR FAIL INTO",
			"update":      "UPDATE OR FAIL",
			"or_add":      " ON CONFLICT (counter, slot) DO UPDATE SET reserved = reserved + excluded.reserved, completed = completed + excluded.completed",
			"new_entries": o.prefix() + "journal",
			"holder":      "exchange_id IS NOT NULL AND customer_id",
			"coupon":      "kind IN (" + sqlparts.Historical + ") AND subject",
		},
		stored: lastFirst, key: firstLast,
		pairs: "VALUES ", slots: 1, parameters: min(cmp.Or(o.MaxParameters, sqliteParameters), sqliteParameters),
		duplicate: func(err error) bool { return strings.Contains(err.Error(), "UNIQUE constraint failed") },
		transient: sqliteBusy,
	}
}

func mysqlGrammar(o Options) *grammar {
	return &grammar{
		dialect: MySQL, prefix: o.prefix(),
		words: map[string]string{
			"for_update": " FOR UPDATE", "for_share": " LOCK IN SHARE MODE",
			// In a small table the server would read, and lock, all rows.
			"by_id":       " FORCE INDEX (PRIMARY)",
			"insert":      "INSERT INTO",
			"update":      "UPDATE",
			"or_add":      " ON DUPLICATE KEY UPDATE reserved = reserved + VALUES(reserved), completed = completed + VALUES(completed)",
			"new_entries": o.prefix() + "journal_pending",
			"holder":      "holder",
			"coupon":      "coupon",
		},
		stored: asItIs, key: asItIs,
		slots: engine.SpreadRows, parameters: min(cmp.Or(o.MaxParameters, mysqlParameters), mysqlParameters),
		duplicate: func(err error) bool { return mysqlError(err, duplicateEntry) },
		transient: func(err error) bool { return mysqlError(err, deadlock, lockTimeout, changedSince) },
	}
}

func asItIs(counter string) string { return counter }

// lastFirst puts the last part of a counter's key first. A batch changes two counters of
// each customer: where they lie together it writes one page for them.
func lastFirst(counter string) string {
	if i := strings.LastIndexByte(counter, '/'); i >= 0 {
		return counter[i+1:] + "/" + counter[:i]
	}
	return counter
}

// firstLast is the inverse of lastFirst.
func firstLast(stored string) string {
	if last, rest, found := strings.Cut(stored, "/"); found {
		return rest + "/" + last
	}
	return stored
}

// sqliteBusy recognizes SQLITE_BUSY by the text of SQLite, which every driver passes on.
func sqliteBusy(err error) bool {
	text := err.Error()
	return strings.Contains(text, "database is locked") || strings.Contains(text, "SQLITE_BUSY")
}

// Errors of MySQL and MariaDB.
const (
	// changedSince: MariaDB has ended a transaction that reads an older state, since it
	// wanted to lock a row that was changed (innodb_snapshot_isolation, on by default
	// from 11.6.2).
	changedSince   = 1020
	duplicateEntry = 1062
	noSuchTable    = 1146
	lockTimeout    = 1205
	deadlock       = 1213
)

// mysqlError recognizes an error by its number, with which drivers begin the text:
// "Error 1062 (23000): Duplicate entry …".
func mysqlError(err error, numbers ...int) bool {
	text := err.Error()
	return slices.ContainsFunc(numbers, func(number int) bool {
		return strings.Contains(text, fmt.Sprintf("Error %d (", number)) || strings.Contains(text, fmt.Sprintf("Error %d: ", number))
	})
}

// missingTable recognizes that a table is not there.
func missingTable(err error) bool {
	return strings.Contains(err.Error(), "no such table") || mysqlError(err, noSuchTable)
}

var namePattern = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)

// sql writes names and words into a statement: {coupons} becomes couponkit_coupons.
func (g *grammar) sql(statement string) string {
	if text, ok := g.expanded.Load(statement); ok {
		return text.(string) //nolint:errcheck,forcetypeassert // only strings are stored
	}
	text := namePattern.ReplaceAllStringFunc(statement, func(found string) string {
		name := strings.Trim(found, "{}")
		if word, ok := g.words[name]; ok {
			return word
		}
		return g.prefix + name
	})
	g.expanded.Store(statement, text)
	return text
}

// GaleraError tells that the server belongs to a Galera cluster, and that the host has not
// declared that one node alone writes ([Options].SingleWriter).
type GaleraError struct{}

// Error says why the store refuses to work.
func (*GaleraError) Error() string {
	return "the server is a node of a Galera cluster (wsrep_on): locks of rows end at the node, " +
		"so that writing on several nodes exceeds limits; send all writes to one node and set Options.SingleWriter"
}

// guard refuses a database that would not keep what the store promises.
func (g *grammar) guard(ctx context.Context, db *sql.DB, o Options) error {
	switch {
	case g.dialect == SQLite && !o.KeepSettings:
		return g.guardLibrary(ctx, db)
	case g.dialect == MySQL && !o.SingleWriter:
		return g.guardCluster(ctx, db)
	}
	return nil
}

// guardCluster refuses a Galera cluster. A server without the variable belongs to none.
func (g *grammar) guardCluster(ctx context.Context, db *sql.DB) error {
	var name, value string
	err := g.on(db).each(ctx, "SHOW GLOBAL VARIABLES LIKE 'wsrep_on'", func(rows *sql.Rows) error { return rows.Scan(&name, &value) })
	switch {
	case err != nil:
		return fmt.Errorf("ask for wsrep_on: %w", err)
	case strings.EqualFold(value, "ON") || value == "1":
		return &GaleraError{}
	}
	return nil
}
