package pgxstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// A connection that has planned its statements while the tables were empty keeps these plans. Each
// call reads the rows that it is about, however many others there are later. Databases that come and
// go beside it can make the server forget the plans, so this test runs alone.
func TestPlansThatWereMadeForEmptyTables(t *testing.T) {
	const others, usual = 20_000, 8 // PostgreSQL makes five plans for the values of a statement, whatever they cost
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	s := newStore(t, pool, pgxstore.Options{})
	run := func(statement string, arguments ...any) {
		_, err := pool.Exec(t.Context(), statement, arguments...)
		require.NoError(t, err)
	}
	for _, table := range []string{"coupons", "codes", "coupon_emails", "orders", "uses", "counters"} {
		run(`ALTER TABLE couponkit.` + table + ` SET (autovacuum_enabled = false)`) // it would plan anew
	}
	c := create(t, s, newCoupon(t, "HOT", coupon.Limits{MaxUses: 1 << 40, MaxUsesPerUser: 2}))
	for n := range usual {
		for _, call := range callsAbout(t, c, fmt.Sprint("early-", n)) {
			rowsRead(t, pool, s, call.make)
		}
	}
	run(`INSERT INTO couponkit.coupons SELECT 'cpn_other' || n, 'OTHER-' || n, state, revision, version, unlimited, 'shared/uses/cpn_other' || n,
		'customer/uses/cpn_other' || n || '/', emails, discount_type, max_uses, starts_at, expires_at, created_at, updated_at, search, doc
		FROM couponkit.coupons CROSS JOIN generate_series(1, $1::integer) n WHERE id = $2`, others, c.ID)
	run(`INSERT INTO couponkit.codes SELECT $2, 'OTHER-' || n, true, 'others', n, 'shared/by-code/' || $2 || '/OTHER-' || n, 1, '', true, 0, 0, 0, 1
		FROM generate_series(1, $1::integer) n`, others, c.ID)
	run(`INSERT INTO couponkit.code_batches SELECT $2, 'others', 'f', 'shared/by-batch', $1::integer, $1::integer, 0, 0, 0, 0`, others, c.ID)
	run(`INSERT INTO couponkit.coupon_emails SELECT $2, 'other' || n || '@example.org', n FROM generate_series(1, $1::integer) n`, others, c.ID)
	run(`INSERT INTO couponkit.orders SELECT 'ord_other' || n, 'other' || n, 'k', 'paid', 'cs_other' || n, '', '', deadline, created_at - n, updated_at, 2, doc
		FROM couponkit.orders CROSS JOIN generate_series(1, $1::integer) n WHERE id = 'ord_early-0-k'`, others)
	run(`INSERT INTO couponkit.uses SELECT 'use_other' || n, 'ord_other' || n, coupon_id, 'other' || n, '', '', 'completed', points_state, false, deadline,
		created_at - n, updated_at, completed_at, released_at, 2, doc
		FROM couponkit.uses CROSS JOIN generate_series(1, $1::integer) n WHERE id = 'use_early-0-k'`, others)
	run(`INSERT INTO couponkit.counters SELECT 'customer/orders/other' || n, 0, 0, 1 FROM generate_series(1, $1::integer) n`, others)
	run(`INSERT INTO couponkit.counters SELECT 'customer/uses/' || $2 || '/other' || n, 0, 0, 1 FROM generate_series(1, $1::integer) n`, others, c.ID)
	for _, call := range callsAbout(t, c, "late") {
		if rows := rowsRead(t, pool, s, call.make); rows > call.most {
			t.Errorf("%s reads %d rows beside %d others, and at most %d are its own", call.name, rows, others, call.most)
		}
	}
	run(`ANALYZE couponkit.codes`) // PostgreSQL then knows that one coupon has all codes
	codes := make([]coupon.IssuedCode, others/40)
	for i := range codes {
		codes[i] = coupon.IssuedCode{Code: coupon.StoredCode(fmt.Sprint("OTHER-", i+1)), CouponID: c.ID}
	}
	for _, kind := range []store.CodeChangeKind{store.SwitchCodes, store.RemoveCodes} {
		change := store.CodeChange{Kind: kind, CouponID: c.ID, Batch: "others", Codes: codes, At: at}
		rows := rowsRead(t, pool, s, func(s store.Store) error {
			changed, err := s.SaveCodes(t.Context(), change)
			require.Len(t, changed, len(codes))
			return err
		})
		require.Less(t, rows, int64(20*len(codes)), "rows that a change of kind %d reads", kind)
	}
}

// PostgreSQL compiles a plan that it expects to cost more than jit_above_cost, which takes 20 ms. No
// statement looks that expensive, even before its tables were ever analyzed.
func TestNoPlanIsCompiled(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(c *pgxpool.Config) { c.MaxConns = 1 })
	s := newStore(t, pool, pgxstore.Options{})
	for _, call := range callsAbout(t, create(t, s, newCoupon(t, "HOT", coupon.Limits{MaxUses: 1 << 40})), "ann") {
		require.NoError(t, call.make(s), call.name)
	}
	_, err := s.Journal(t.Context(), 0, 10)
	require.NoError(t, err)
	rows, err := pool.Query(t.Context(), `SELECT name, cardinality(parameter_types), substring(statement FROM 'couponkit: ([a-z ]+)')
		FROM pg_prepared_statements WHERE statement LIKE '/* couponkit: %'`)
	require.NoError(t, err)
	type statement struct {
		Name       string
		Parameters int
		Work       string
	}
	statements, err := pgx.CollectRows(rows, pgx.RowToStructByPos[statement])
	require.NoError(t, err)
	require.Greater(t, len(statements), 10)
	_, err = pool.Exec(t.Context(), `SET plan_cache_mode = force_generic_plan`)
	require.NoError(t, err)
	for _, st := range statements {
		execute := "EXPLAIN (FORMAT JSON) EXECUTE " + pgx.Identifier{st.Name}.Sanitize()
		if st.Parameters > 0 {
			execute += "(NULL" + strings.Repeat(", NULL", st.Parameters-1) + ")"
		}
		var plans []struct {
			Plan struct {
				Cost float64 `json:"Total Cost"`
			}
		}
		require.NoError(t, pool.QueryRow(t.Context(), execute, pgx.QueryExecModeSimpleProtocol).Scan(&plans), st.Work)
		require.Less(t, plans[0].Plan.Cost, 50_000.0, "what PostgreSQL expects of %q", st.Work)
	}
}

// about is a call, with how many rows it may read.
type about struct {
	name string
	most int64
	make func(store.Store) error
}

// callsAbout are calls of every kind about one new customer, but for the administrators' list of
// coupons: until the table is analyzed, that may sort all coupons.
func callsAbout(t *testing.T, c coupon.Coupon, customer string) []about {
	t.Helper()
	const few, page, counted = 40, 200, 2*store.ExactTotal + 200
	q := quote(t)
	order := redemption.OrderIDPrefix + customer + "-k"
	apply := func(kind redemption.EventKind) func(store.Store) error {
		return func(s store.Store) error {
			e := redemption.Event{Kind: kind, At: at, OrderID: order, SessionID: "cs_" + order}
			if kind == redemption.Cancelled {
				e.SessionID = ""
			}
			_, err := s.Apply(t.Context(), store.Settlement{Event: e})
			return err
		}
	}
	read := func(by store.OrderKey) func(store.Store) error {
		return func(s store.Store) error { _, err := s.Order(t.Context(), by); return err }
	}
	orders := func(list store.OrderList) func(store.Store) error {
		return func(s store.Store) error { _, err := s.ListOrders(t.Context(), list); return err }
	}
	uses := func(list store.UseList) func(store.Store) error {
		return func(s store.Store) error { _, err := s.ListUses(t.Context(), list); return err }
	}
	return []about{
		{"reserve", few, func(s store.Store) error { _, err := s.Reserve(t.Context(), checkout(c, q, customer, "k")); return err }},
		{"reserve again", few, func(s store.Store) error { _, err := s.Reserve(t.Context(), checkout(c, q, customer, "k")); return err }},
		{"attach a session", few, apply(redemption.SessionAttached)},
		{"pay", few, apply(redemption.Paid)},
		{"pay again", few, apply(redemption.Paid)},
		{"look up by code", few, func(s store.Store) error {
			_, err := store.Find(t.Context(), s, store.LookUp{Names: store.ByCode(c.Code), CustomerID: customer, Identities: []string{customer}, Email: "ann@example.org"})
			return err
		}},
		{"look up by ID", few, func(s store.Store) error {
			_, err := store.Find(t.Context(), s, store.LookUp{Names: store.ByID(c.ID), CustomerID: customer, Identities: []string{customer}, Email: "other7@example.org"})
			return err
		}},
		{"look up by a code of a batch", few, func(s store.Store) error {
			_, err := s.LookUp(t.Context(), store.LookUp{Names: store.ByCode(codeOfBatch(t), c.Code), CustomerID: customer, Identities: []string{customer}})
			return err
		}},
		{"list codes", 300, func(s store.Store) error {
			_, err := s.ListCodes(t.Context(), store.CodeList{CouponID: c.ID, PageSize: 100})
			return err
		}},
		{"list batches with their counts", few, func(s store.Store) error {
			_, err := s.ListBatches(t.Context(), store.BatchList{CouponID: c.ID})
			return err
		}},
		{"order by ID", few, read(store.OrderKey{ID: order})},
		{"order by session", few, read(store.OrderKey{SessionID: "cs_" + order})},
		{"order by key", few, read(store.OrderKey{CustomerID: customer, Key: "k"})},
		{"counts", few, func(s store.Store) error {
			_, err := s.Counts(t.Context(), []string{eligibility.CouponUses(c.ID), eligibility.CustomerOrders(customer)})
			return err
		}},
		{"list orders", page, orders(store.OrderList{})},
		{"list a customer's orders", page, orders(store.OrderList{CustomerID: customer})},
		{"list orders that are due", page, orders(store.OrderList{DueAt: at.Add(1 << 40)})},
		{"list a coupon's uses", counted, uses(store.UseList{CouponID: c.ID})},
		{"list a customer's uses", page, uses(store.UseList{CustomerID: customer})},
		{"list uses that are due", page, uses(store.UseList{DueAt: at})},
	}
}

func codeOfBatch(t *testing.T) coupon.Code {
	t.Helper()
	code, err := coupon.ParseCode("OTHER-77")
	require.NoError(t, err)
	return code
}

// rowsRead makes a call and returns how many rows of the store's tables it has read.
func rowsRead(t *testing.T, pool *pgxpool.Pool, s *pgxstore.Store, call func(store.Store) error) (rows int64) {
	t.Helper()
	const sum = `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables WHERE schemaname = 'couponkit'`
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var before, after int64
		err := tx.QueryRow(t.Context(), sum).Scan(&before)
		if err == nil {
			err = call(s.WithTx(tx))
		}
		if err == nil {
			err = tx.QueryRow(t.Context(), sum).Scan(&after)
		}
		rows = after - before
		return err
	}))
	return rows
}

// TestClaimsOfARecordAreWhole: the database refuses claims that no program can read.
func TestClaimsOfARecordAreWhole(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(*pgxpool.Config) {})
	s := newStore(t, pool, pgxstore.Options{})
	for _, call := range callsAbout(t, create(t, s, newCoupon(t, "HOT", coupon.Limits{MaxUses: 10})), "ann") {
		require.NoError(t, call.make(s), call.name)
	}
	for _, table := range []string{"orders", "uses"} {
		for _, claims := range []string{"'{a}', '{1}'", "'{a,b}', '{1,1,1}'", "'{NULL}', '{1,1,1}'", "'{a}', '{1,NULL,1}'"} {
			_, err := pool.Exec(t.Context(), "UPDATE couponkit."+table+" SET (claimed, amounts) = ROW ("+claims+")")
			require.ErrorContains(t, err, table+"_claims", claims)
		}
	}
}
