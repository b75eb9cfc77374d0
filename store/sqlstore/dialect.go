package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/pricing"
)

// Dialect is the kind of database behind a *sql.DB. The driver is the host's.
type Dialect uint8

// The dialects.
const (
	// SQLite is SQLite 3.37 or later, by any driver.
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

// grammar returns what is particular to the dialect.
func (d Dialect) grammar() (grammar, error) {
	switch d {
	case SQLite:
		return sqliteGrammar(), nil
	case MySQL:
		return mysqlGrammar(), nil
	}
	var faults pricing.ValidationError
	faults.Add("dialect", pricing.FieldUnknown, "must be SQLite or MySQL")
	return grammar{}, faults.Err()
}

// grammar is what is particular to a dialect: everything else is common SQL.
type grammar struct {
	// words replace {words} in statements.
	words map[string]string
	// rowLocks tells that rows are locked one by one. Without them a transaction
	// that writes has the database to itself.
	rowLocks bool
	// slots is in how many rows the uses of a coupon are counted. It is part of the
	// schema: a customer keeps the slot.
	slots uint32
	// duplicate tells that a row was refused because it exists already.
	duplicate func(error) bool
	// transient tells that the transaction was undone because of others and may be
	// tried again.
	transient func(error) bool
	// crowded tells that the server keeps no more prepared statements.
	crowded func(error) bool
	// lockMigrations keeps other processes away until unlock is called.
	lockMigrations func(ctx context.Context, c *sql.Conn, prefix string) (unlock func(context.Context, bool) error, err error)
}

func sqliteGrammar() grammar {
	return grammar{
		words: map[string]string{
			"for_update":   "",
			"for_share":    "",
			"or_fail":      "OR FAIL ", // of one row the same, without a copy of every page beforehand
			"or_nothing":   " ON CONFLICT DO NOTHING",
			"or_add_count": " ON CONFLICT (coupon_id, slot) DO UPDATE SET completed = completed + excluded.completed, reserved = reserved + excluded.reserved",
		},
		slots:          1,
		duplicate:      func(err error) bool { return strings.Contains(err.Error(), "UNIQUE constraint failed") },
		transient:      sqliteBusy,
		crowded:        func(error) bool { return false },
		lockMigrations: lockSQLite,
	}
}

// sqliteBusy recognises SQLITE_BUSY by the text of SQLite, which every driver
// passes on.
func sqliteBusy(err error) bool {
	text := err.Error()
	return strings.Contains(text, "database is locked") || strings.Contains(text, "SQLITE_BUSY")
}

func mysqlGrammar() grammar {
	return grammar{
		words: map[string]string{
			"for_update":   " FOR UPDATE",
			"for_share":    " LOCK IN SHARE MODE",
			"or_fail":      "",
			"or_nothing":   "",
			"or_add_count": " ON DUPLICATE KEY UPDATE completed = completed + VALUES(completed), reserved = reserved + VALUES(reserved)",
		},
		rowLocks:       true,
		slots:          16,
		duplicate:      func(err error) bool { return mysqlError(err, duplicateEntry) },
		transient:      func(err error) bool { return mysqlError(err, deadlock, lockTimeout, changedSince) },
		crowded:        func(err error) bool { return mysqlError(err, tooManyStatements) },
		lockMigrations: lockMySQL,
	}
}

// Errors of MySQL and MariaDB.
const (
	// changedSince: MariaDB has ended a transaction that reads an older state, since it
	// wanted to lock a row that was changed (innodb_snapshot_isolation, on by default
	// from 11.6.2).
	changedSince   = 1020
	duplicateEntry = 1062
	lockTimeout    = 1205
	deadlock       = 1213
	// tooManyStatements: max_prepared_stmt_count, of all clients together.
	tooManyStatements = 1461
)

// mysqlError recognises an error by its number, with which drivers begin the text:
// "Error 1062 (23000): Duplicate entry …".
func mysqlError(err error, numbers ...int) bool {
	text := err.Error()
	return slices.ContainsFunc(numbers, func(number int) bool {
		return strings.Contains(text, fmt.Sprintf("Error %d (", number)) || strings.Contains(text, fmt.Sprintf("Error %d: ", number))
	})
}
