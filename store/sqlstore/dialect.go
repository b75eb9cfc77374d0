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

	"github.com/couponkit/couponkit/store"
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

// grammar has the SQL that differs between the databases, for tables with one prefix. All other SQL is
// common.
type grammar struct {
	dialect Dialect
	prefix  string
	// words replaces {words} in statements. Other {names} are names of tables.
	words map[string]string
	// pairs begins a list of pairs in an IN.
	pairs string
	// stored returns the stored form of a counter's key. key is its inverse.
	stored, key func(string) string
	// slots is the number of rows over which unlimited counters are spread.
	slots int
	// parameters is the maximum number of placeholders in a statement.
	parameters int
	// duplicate reports whether an insert failed because the row exists.
	duplicate func(error) bool
	// transient reports whether the database rolled a transaction back because of other transactions.
	transient func(error) bool

	expanded sync.Map // cache: a statement of this package, with names and words replaced
}

// grammarOf returns the grammar for a database, which must not be nil.
func (d Dialect) grammarOf(db *sql.DB, o Options) (*grammar, error) {
	g, err := d.grammar(o)
	if db != nil {
		return g, err
	}
	var faults validation.Error
	faults.Add("db", validation.Required, "is required")
	faults.Merge("", err)
	return nil, faults.Err()
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

// Drivers of SQLite search all arguments for each argument, so statements with many placeholders are
// slow. MySQL gets no placeholders. There, the bound limits the length of a statement.
const (
	sqliteParameters = 160
	mysqlParameters  = 2_048
)

func sqliteGrammar(o Options) *grammar {
	return &grammar{
		dialect: SQLite, prefix: o.prefix(),
		words: map[string]string{
			"for_update": "", "for_share": "", "by_id": "",
			// Without the index, SQLite reads all codes for each list of owners.
			"by_batch": " INDEXED BY " + o.prefix() + "codes_batch",
			// An error rolls back the whole transaction. With FAIL, SQLite does not copy every page
			// before the statement.
			"insert":      "INSERT OR FAIL INTO",
			"update":      "UPDATE OR FAIL",
			"or_add":      " ON CONFLICT (counter, slot) DO UPDATE SET reserved = reserved + excluded.reserved, completed = completed + excluded.completed",
			"new_entries": o.prefix() + "journal",
			"forgotten":   fmt.Sprintf("bucket IN (SELECT bucket FROM %sattempts WHERE full_at <= ? LIMIT %d)", o.prefix(), store.MaxForgotten),
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
			// Without the index, the server reads and locks all rows of a small table.
			"by_id":       " FORCE INDEX (PRIMARY)",
			"by_batch":    "",
			"insert":      "INSERT INTO",
			"update":      "UPDATE",
			"or_add":      " ON DUPLICATE KEY UPDATE reserved = reserved + VALUES(reserved), completed = completed + VALUES(completed)",
			"new_entries": o.prefix() + "journal_pending",
			"forgotten":   fmt.Sprintf("full_at <= ? LIMIT %d", store.MaxForgotten),
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

// lastFirst moves the last part of a counter's key to the front. A batch changes two counters of each
// customer. Next to each other, they often share a page.
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

// sqliteBusy reports whether an error is SQLITE_BUSY. It searches the message, because every driver
// keeps SQLite's text.
func sqliteBusy(err error) bool {
	text := err.Error()
	return strings.Contains(text, "database is locked") || strings.Contains(text, "SQLITE_BUSY")
}

// Error numbers of MySQL and MariaDB.
const (
	// changedSince means that MariaDB ended a transaction because it locked a row that changed after
	// the transaction's snapshot (innodb_snapshot_isolation, on by default from 11.6.2).
	changedSince   = 1020
	duplicateEntry = 1062
	noSuchTable    = 1146
	lockTimeout    = 1205
	deadlock       = 1213
)

// mysqlError reports whether an error has one of the numbers. Drivers begin the text with the number:
// "Error 1062 (23000): Duplicate entry …".
func mysqlError(err error, numbers ...int) bool {
	text := err.Error()
	return slices.ContainsFunc(numbers, func(number int) bool {
		return strings.Contains(text, fmt.Sprintf("Error %d (", number)) || strings.Contains(text, fmt.Sprintf("Error %d: ", number))
	})
}

// missingTable reports whether an error means that a table does not exist.
func missingTable(err error) bool {
	return strings.Contains(err.Error(), "no such table") || mysqlError(err, noSuchTable)
}

var namePattern = regexp.MustCompile(`\{([a-z][a-z0-9_]*)\}`)

// sql replaces the names and words of a statement: {coupons} becomes couponkit_coupons.
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

// guard refuses a database that would break the guarantees of the store.
func (g *grammar) guard(ctx context.Context, db *sql.DB, o Options) error {
	switch {
	case g.dialect == SQLite && !o.KeepSettings:
		return g.guardLibrary(ctx, db)
	case g.dialect == MySQL && !o.SingleWriter:
		return g.guardCluster(ctx, db)
	}
	return nil
}

// guardCluster refuses a Galera cluster. A server without the variable is not in a cluster.
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
