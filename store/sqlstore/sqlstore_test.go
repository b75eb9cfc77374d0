package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/validation"
)

// variables is a driver of a server that knows these variables and has no tables.
type variables map[string]string

func (v variables) Connect(context.Context) (driver.Conn, error) { return v, nil }
func (v variables) Driver() driver.Driver                        { return nil }
func (v variables) Prepare(string) (driver.Stmt, error)          { panic("a statement is prepared") }
func (v variables) Close() error                                 { return nil }
func (v variables) Begin() (driver.Tx, error)                    { panic("a transaction begins") }

func (v variables) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	var found row
	for name, value := range v {
		if strings.Contains(query, "'"+name+"'") {
			found = row{name, value}
		}
	}
	return &found, nil
}

type row []string

func (r *row) Columns() []string { return []string{"Variable_name", "Value"} }
func (r *row) Close() error      { return nil }

func (r *row) Next(into []driver.Value) error {
	if len(*r) == 0 {
		return io.EOF
	}
	into[0], into[1], *r = (*r)[0], (*r)[1], nil
	return nil
}

func TestGaleraIsRefusedUnlessOneNodeWrites(t *testing.T) {
	var refused *GaleraError
	cluster := sql.OpenDB(variables{"wsrep_on": "ON"})
	_, err := New(t.Context(), cluster, MySQL, Options{})
	require.ErrorAs(t, err, &refused)
	require.ErrorContains(t, err, "SingleWriter")
	require.ErrorAs(t, Migrate(t.Context(), cluster, MySQL, Options{}), &refused)
	for _, server := range []variables{{"wsrep_on": "OFF"}, {}} {
		require.NoError(t, mysqlGrammar(Options{}).guard(t.Context(), sql.OpenDB(server), Options{}))
	}
	require.NoError(t, mysqlGrammar(Options{}).guard(t.Context(), cluster, Options{SingleWriter: true}))
}

// library is a driver of SQLite of this version, and knows nothing else.
type library string

func (l library) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l library) Driver() driver.Driver                        { return nil }
func (l library) Prepare(string) (driver.Stmt, error)          { return nil, errNothingElse }
func (l library) Close() error                                 { return nil }
func (l library) Begin() (driver.Tx, error)                    { return nil, errNothingElse }

func (l library) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if query != "SELECT sqlite_version()" || l == "" {
		return nil, errNothingElse
	}
	return &version{text: string(l)}, nil
}

var errNothingElse = errors.New("nothing else is known")

type version struct {
	text string
	read bool
}

func (v *version) Columns() []string { return []string{"sqlite_version()"} }
func (v *version) Close() error      { return nil }

func (v *version) Next(into []driver.Value) error {
	if v.read {
		return io.EOF
	}
	into[0], v.read = v.text, true
	return nil
}

func TestASQLiteThatDamagesItsLogIsRefused(t *testing.T) {
	for _, found := range []string{
		"3.7.0", "3.38.0", "3.40.1", "3.43.9", "3.44.5", "3.45.0", "3.49.2", "3.50.6", "3.51.0", "3.51.2", "2.8.17", "", "three", "3.51", "x3.51.3",
	} {
		db := sql.OpenDB(library(cmp.Or(found, " ")))
		for _, err := range []error{open(t, db, Options{}), Migrate(t.Context(), db, SQLite, Options{})} {
			var refused *LibraryError
			require.ErrorAs(t, err, &refused, found)
			require.Equal(t, cmp.Or(found, " "), refused.Found)
			require.ErrorContains(t, err, "SQLite "+cmp.Or(found, " "))
			require.ErrorContains(t, err, "3.51.3")
		}
	}
	for _, found := range []string{"3.44.6", "3.44.12", "3.50.7", "3.51.3", "3.51.10", "3.52.0", "3.53.4", "3.100.0", "4.0.0"} {
		db := sql.OpenDB(library(found))
		for _, err := range []error{open(t, db, Options{}), Migrate(t.Context(), db, SQLite, Options{})} {
			require.ErrorIs(t, err, errNothingElse, found) // the store went on
		}
	}
}

// An engine with settings of its own may have a log of its own, too.
func TestTheVersionOfAnEngineWithItsOwnSettingsIsItsOwn(t *testing.T) {
	db := sql.OpenDB(library("3.40.1"))
	require.ErrorIs(t, open(t, db, Options{KeepSettings: true}), errNothingElse)
	require.ErrorIs(t, Migrate(t.Context(), db, SQLite, Options{KeepSettings: true}), errNothingElse)
}

func TestASQLiteThatDoesNotTellItsVersionIsNotOpened(t *testing.T) {
	db := sql.OpenDB(library(""))
	require.ErrorContains(t, open(t, db, Options{}), "ask for the version of SQLite")
	require.ErrorContains(t, Migrate(t.Context(), db, SQLite, Options{}), "ask for the version of SQLite")
}

func open(t *testing.T, db *sql.DB, o Options) error {
	t.Helper()
	_, err := New(t.Context(), db, SQLite, o)
	return err
}

func TestArgumentsAreWrittenIntoTheText(t *testing.T) {
	text, err := withLiterals("a = ?, b = ?, c = ?, d = ?", []any{int64(-7), "it's \\ \x00?", nil, ""})
	require.NoError(t, err)
	require.Equal(t, "a = -7, b = x'69742773205c20003f', c = NULL, d = x''", text)
	for _, wrong := range [][]any{{}, {int64(1), int64(2)}, {1.5}} {
		_, err := withLiterals("a = ?", wrong)
		require.Error(t, err)
	}
}

func TestACounterIsStoredWithItsLastPartFirst(t *testing.T) {
	for key, stored := range map[string]string{
		"customer/orders/ann": "ann/customer/orders", "shared/uses/cpn_a": "cpn_a/shared/uses", "plain": "plain", "/": "/", "a/": "/a", "/a": "a/",
	} {
		require.Equal(t, stored, lastFirst(key))
		require.Equal(t, key, firstLast(stored))
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	for _, o := range []Options{
		{TablePrefix: "a-b"},
		{TablePrefix: "1a"},
		{TablePrefix: strings.Repeat("a", MaxTablePrefix+1)},
		{MaxParameters: MinParameters - 1},
		{MaxBatch: -1},
		{BusyTimeout: -1},
	} {
		_, err := New(t.Context(), nil, SQLite, o)
		require.ErrorIs(t, err, validation.ErrInvalid)
		require.ErrorIs(t, Migrate(t.Context(), nil, MySQL, o), validation.ErrInvalid)
		_, err = Schema(SQLite, o)
		require.ErrorIs(t, err, validation.ErrInvalid)
	}
	_, err := Schema(0, Options{})
	require.ErrorIs(t, err, validation.ErrInvalid)
	for _, d := range []Dialect{SQLite, MySQL} {
		_, err = New(t.Context(), nil, d, Options{})
		require.ErrorContains(t, err, "db: is required")
		require.ErrorContains(t, Migrate(t.Context(), nil, d, Options{}), "db: is required")
	}
}

func TestTheSchemaHasThePrefix(t *testing.T) {
	for _, d := range []Dialect{SQLite, MySQL} {
		text, err := Schema(d, Options{})
		require.NoError(t, err)
		require.Contains(t, text, "couponkit_coupons")
		require.NotContains(t, text, "{")
		text, err = Schema(d, Options{TablePrefix: "shop_"})
		require.NoError(t, err)
		require.Contains(t, text, "shop_orders")
		require.NotContains(t, text, "couponkit")
	}
}

// Every name of a table or index carries the prefix, so that two stores share a database. No
// name is too long with the longest prefix.
func TestEveryNameHasThePrefix(t *testing.T) {
	longest := strings.Repeat("p", MaxTablePrefix)
	named := regexp.MustCompile(`(?:TABLE(?: IF NOT EXISTS)?|INDEX|KEY|CONSTRAINT) ([a-z][a-z0-9_]*)`)
	for _, d := range []Dialect{SQLite, MySQL} {
		text, err := Schema(d, Options{TablePrefix: longest})
		require.NoError(t, err)
		names := named.FindAllStringSubmatch(text, -1)
		require.Greater(t, len(names), 10)
		for _, found := range names {
			require.True(t, strings.HasPrefix(found[1], longest), found[1])
			require.LessOrEqual(t, len(found[1]), 64, found[1])
		}
	}
}

func TestErrorsAreKnownByTheirNumber(t *testing.T) {
	sqlite, mysql := sqliteGrammar(Options{}), mysqlGrammar(Options{})
	for text, want := range map[string]bool{
		"database is locked (5) (SQLITE_BUSY)": true, "sqlite3: database is locked": true,
		"constraint failed: UNIQUE constraint failed: orders.id (1555)": false, "disk I/O error": false,
	} {
		require.Equal(t, want, sqlite.transient(errors.New(text)), text)
	}
	for text, want := range map[string]bool{
		"Error 1213 (40001): Deadlock found": true, "Error 1205 (HY000): Lock wait timeout exceeded": true,
		"Error 1205: Lock wait timeout exceeded": true, "Error 1020 (HY000): Record has changed": true,
		"Error 1062 (23000): Duplicate entry": false, "Error 12130 (HY000): another": false, "invalid connection": false,
	} {
		require.Equal(t, want, mysql.transient(errors.New(text)), text)
	}
	require.True(t, sqlite.duplicate(errors.New("constraint failed: UNIQUE constraint failed: orders.id (1555)")))
	require.True(t, mysql.duplicate(errors.New("Error 1062 (23000): Duplicate entry 'a'")))
	require.False(t, mysql.duplicate(errors.New("Error 1064 (42000): syntax")))
}

func TestTablesOfAnotherVersionAreNamed(t *testing.T) {
	require.EqualError(t, &SchemaError{Table: "shop_schema", Found: 7}, "the tables of couponkit have version 7 (shop_schema), this program needs 1")
	require.ErrorContains(t, &SchemaError{Table: "shop_schema"}, "no tables of couponkit (shop_schema): call Migrate")
}
