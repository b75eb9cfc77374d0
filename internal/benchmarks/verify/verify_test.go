package verify

import (
	"context"
	"flag"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// uses is the number of uses that the benchmark recounts.
var uses = flag.Int("uses", 1_000_000, "uses to recount")

// shop is a database with paid orders.
type shop struct {
	pool  *pgxpool.Pool
	store *pgxstore.Store
}

const firstCustomer = "customer-0000000"

// open makes a database with a paid order, and then copies of the order for other customers.
func open(tb testing.TB, orders int) shop {
	tb.Helper()
	ctx := tb.Context()
	server, err := postgrestest.Start(ctx, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=512MB", "max_wal_size=8GB")
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, server.Close()) })
	pool := postgrestest.NewPool(tb, server.NewDatabase(tb))
	require.NoError(tb, pgxstore.Migrate(ctx, pool, pgxstore.Options{}))
	s, err := pgxstore.New(pool, pgxstore.Options{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	service, err := couponkit.New(s)
	require.NoError(tb, err)
	_, err = service.Create(ctx, coupon.Draft{Code: "SUMMER10", Name: "Summer", DiscountType: pricing.Percentage, Percent: "10", MaxUses: coupon.Set(100_000_000)})
	require.NoError(tb, err)
	_, err = service.Reserve(ctx, couponkit.ReserveRequest{OrderID: "order-" + firstCustomer, QuoteRequest: couponkit.QuoteRequest{
		Customer: eligibility.Customer{ID: firstCustomer, Email: "ann@example.org"}, Codes: []string{"summer10"},
		Cart: pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
			{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 10_00},
			{ID: "2", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
		}},
	}})
	require.NoError(tb, err)
	_, err = service.Record(ctx, couponkit.Payment{
		OrderID: "order-" + firstCustomer, ID: "receipt-" + firstCustomer, Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(31_90, pricing.EUR()),
	})
	require.NoError(tb, err)
	multiply(ctx, tb, pool, orders)
	return shop{pool, s}
}

// multiply copies the one order and its use, until there are as many.
func multiply(ctx context.Context, tb testing.TB, pool *pgxpool.Pool, orders int) {
	tb.Helper()
	var counters string
	require.NoError(tb, pool.QueryRow(ctx, "SELECT claimed::text FROM couponkit.uses").Scan(&counters))
	hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(counters)
	require.NotEmpty(tb, hash, "the counter of the address: %s", counters)
	exec := func(statement string, args ...any) {
		_, err := pool.Exec(ctx, statement, args...)
		require.NoError(tb, err)
	}
	// Verify reads no index, and to fill them takes most of the time.
	exec(`DO $$ DECLARE name text; BEGIN FOR name IN SELECT indexrelid::regclass FROM pg_index
		WHERE indrelid IN ('couponkit.orders'::regclass, 'couponkit.uses'::regclass) AND NOT indisprimary LOOP EXECUTE 'DROP INDEX ' || name; END LOOP; END $$`)
	for _, table := range []string{"orders", "uses"} {
		var columns string
		require.NoError(tb, pool.QueryRow(ctx, `SELECT string_agg(CASE atttypid::regtype::text
				WHEN 'text' THEN format('replace(replace(%1$I, $1, n.customer), $2, n.hash)', attname)
				WHEN 'text[]' THEN format('replace(replace(%1$I::text, $1, n.customer), $2, n.hash)::text[]', attname)
				ELSE quote_ident(attname) END, ', ' ORDER BY attnum)
			FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, "couponkit."+table).Scan(&columns))
		columns = strings.Replace(columns, "replace(replace(id, $1, n.customer), $2, n.hash)", "id || n.i", 1)
		exec("INSERT INTO couponkit."+table+" SELECT "+columns+" FROM couponkit."+table+` r, LATERAL (
			SELECT i, 'customer-' || lpad(i::text, 7, '0') AS customer, encode(sha256(i::text::bytea), 'hex') AS hash FROM generate_series(1, $3::int) i) n`,
			firstCustomer, hash, orders-1)
	}
	exec("TRUNCATE couponkit.counters")
	exec(`INSERT INTO couponkit.counters SELECT counter, 0, 0, count(*) FROM (
		SELECT unnest(claimed) AS counter FROM couponkit.orders UNION ALL SELECT unnest(claimed) FROM couponkit.uses) c GROUP BY 1`)
	exec("VACUUM ANALYZE couponkit.orders, couponkit.uses, couponkit.counters")
}

// verify recounts, and returns the number of differences.
func (s shop) verify(tb testing.TB) (differences int) {
	tb.Helper()
	for d, err := range s.store.Verify(tb.Context()) {
		require.NoError(tb, err)
		tb.Log(d)
		differences++
	}
	return differences
}

// TestTheCopiesAreCounted: what the benchmark recounts is what the counters hold.
func TestTheCopiesAreCounted(t *testing.T) {
	t.Parallel()
	s := open(t, 500)
	var customers int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(DISTINCT customer_id) FROM couponkit.uses").Scan(&customers))
	require.Equal(t, 500, customers)
	require.Zero(t, s.verify(t))
	_, err := s.pool.Exec(t.Context(), "UPDATE couponkit.counters SET completed = completed + 1 WHERE counter LIKE '%customer-0000499'")
	require.NoError(t, err)
	require.Positive(t, s.verify(t))
}

// BenchmarkVerify recounts uses and their orders. The ratios are to two aggregates over the table of uses alone: one that
// reads the documents, and one that sums their claims by counter. Each takes its best turn.
func BenchmarkVerify(b *testing.B) {
	s := open(b, *uses)
	aggregates := map[string]string{
		"plain": "SELECT state, count(*), sum(length(doc)) FROM couponkit.uses GROUP BY state",
		"claims": `SELECT count(*) FROM (SELECT c.counter, sum(c.held) FROM (
			SELECT unnest(claimed) AS counter, unnest(amounts[:cardinality(claimed)]) AS held FROM couponkit.uses) c GROUP BY 1) n`,
	}
	ways := map[string]func(){"verify": func() { require.Zero(b, s.verify(b)) }}
	for name, statement := range aggregates {
		ways[name] = func() {
			_, err := s.pool.Exec(b.Context(), statement)
			require.NoError(b, err)
		}
	}
	best := map[string]time.Duration{}
	for b.Loop() {
		for name, run := range ways { // by turns: other programs slow all ways down alike
			began := time.Now()
			run()
			if took := time.Since(began); best[name] == 0 || took < best[name] {
				best[name] = took
			}
		}
	}
	for name := range ways {
		b.ReportMetric(best[name].Seconds(), name+"-s")
		b.ReportMetric(best["verify"].Seconds()/best[name].Seconds(), "x-"+name)
	}
}
