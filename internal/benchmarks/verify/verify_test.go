package verify

import (
	"context"
	"flag"
	"fmt"
	"regexp"
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
	var document string
	require.NoError(tb, pool.QueryRow(ctx, "SELECT doc FROM couponkit.uses").Scan(&document))
	hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(document)
	require.NotEmpty(tb, hash, "the counter of the address: %s", document)
	exec := func(statement string, args ...any) {
		_, err := pool.Exec(ctx, statement, args...)
		require.NoError(tb, err)
	}
	// Verify reads no index, and to fill them takes most of the time.
	exec(`DO $$ DECLARE name text; BEGIN FOR name IN SELECT indexrelid::regclass FROM pg_index
		WHERE indrelid IN ('couponkit.orders'::regclass, 'couponkit.uses'::regclass) AND NOT indisprimary LOOP EXECUTE 'DROP INDEX ' || name; END LOOP; END $$`)
	const copies = `INSERT INTO couponkit.%[1]s SELECT (jsonb_populate_record(NULL::couponkit.%[1]s,
			replace(replace(to_jsonb(r)::text, $1, 'customer-' || lpad(i::text, 7, '0')), $2, encode(sha256(i::text::bytea), 'hex'))::jsonb
			|| jsonb_build_object('id', r.id || i))).*
		FROM couponkit.%[1]s r, generate_series(1, $3::int) i`
	exec(fmt.Sprintf(copies, "orders"), firstCustomer, hash, orders-1)
	exec(fmt.Sprintf(copies, "uses"), firstCustomer, hash, orders-1)
	exec("TRUNCATE couponkit.counters")
	exec(`INSERT INTO couponkit.counters SELECT c ->> 'counter', 0, 0, sum((c ->> 'amount')::bigint) FROM (
		SELECT doc FROM couponkit.orders UNION ALL SELECT doc FROM couponkit.uses) r, jsonb_array_elements(doc::jsonb -> 'claims') c GROUP BY 1`)
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
// reads the documents, and one that groups their claims by counter.
func BenchmarkVerify(b *testing.B) {
	s := open(b, *uses)
	aggregates := map[string]string{
		"plain": "SELECT state, count(*), sum(length(doc)) FROM couponkit.uses GROUP BY state",
		"json": `SELECT count(*) FROM (SELECT c.counter, sum(c.amount) FROM couponkit.uses u,
			LATERAL json_to_recordset(u.doc::json -> 'claims') AS c (counter text, amount bigint) GROUP BY 1) n`,
	}
	var verified time.Duration
	b.ResetTimer()
	for b.Loop() {
		began := time.Now()
		require.Zero(b, s.verify(b))
		verified += time.Since(began)
	}
	b.StopTimer()
	verified /= time.Duration(b.N)
	for name, statement := range aggregates {
		best := time.Hour
		for range 3 {
			began := time.Now()
			_, err := s.pool.Exec(b.Context(), statement)
			require.NoError(b, err)
			best = min(best, time.Since(began))
		}
		b.ReportMetric(best.Seconds(), name+"-s")
		b.ReportMetric(verified.Seconds()/best.Seconds(), "x-"+name)
	}
}
