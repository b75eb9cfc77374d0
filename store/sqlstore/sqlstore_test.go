package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
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
		require.ErrorIs(t, err, pricing.ErrInvalid)
		require.ErrorIs(t, Migrate(t.Context(), nil, MySQL, o), pricing.ErrInvalid)
		_, err = Schema(SQLite, o)
		require.ErrorIs(t, err, pricing.ErrInvalid)
	}
	_, err := Schema(0, Options{})
	require.ErrorIs(t, err, pricing.ErrInvalid)
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
