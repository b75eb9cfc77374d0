package pgxstore_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	pgxstore "github.com/couponkit/couponkit/store/pgxstore"
)

// BenchmarkBatches stores codes of a new batch: generated ones, those of a file, and for comparison a bare COPY of the same
// rows into an equal table with the same indexes.
func BenchmarkBatches(b *testing.B) {
	const count = 100_000
	pool := postgrestest.NewPool(b, shared.NewCopy(b), func(*pgxpool.Config) {})
	service, err := couponkit.New(newStore(b, pool, pgxstore.Options{}))
	require.NoError(b, err)
	c, err := service.Create(b.Context(), coupon.Draft{
		Code: "TEN", Name: "Ten off", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
	})
	require.NoError(b, err)
	batches := 0
	create := func() string {
		batches++
		d := coupon.BatchDraft{Batch: coupon.Batch{ID: fmt.Sprint("created ", batches), Shape: coupon.CodeShape{Symbols: 16}}, Count: count}
		_, err := service.CreateCodes(b.Context(), c.ID, d, nil)
		require.NoError(b, err)
		return d.ID
	}
	b.Run("generate", func(b *testing.B) {
		for b.Loop() {
			create()
		}
		reportRate(b, count)
	})
	b.Run("import", func(b *testing.B) {
		for b.Loop() {
			batches++
			for row, err := range service.ImportCodes(b.Context(), c.ID, fmt.Sprint("imported ", batches), numbered(batches, count)) {
				require.NoError(b, err)
				require.Equal(b, codecsv.Added, row.Verdict)
			}
		}
		reportRate(b, count)
	})
	b.Run("copy", func(b *testing.B) {
		rows := rowsOfCodes(b, pool, create())
		_, err := pool.Exec(b.Context(), `CREATE TABLE bare (LIKE couponkit.codes INCLUDING ALL)`)
		require.NoError(b, err)
		for b.Loop() {
			n, err := pool.CopyFrom(b.Context(), pgx.Identifier{"bare"}, codeColumns, pgx.CopyFromRows(rows))
			require.NoError(b, err)
			require.Equal(b, int64(count), n)
			b.StopTimer()
			_, err = pool.Exec(b.Context(), `TRUNCATE bare`)
			require.NoError(b, err)
			b.StartTimer()
		}
		reportRate(b, count)
	})
	b.Run("look up one", func(b *testing.B) {
		page, err := service.ListCodes(b.Context(), store.CodeList{CouponID: c.ID, Batch: "created 1", PageSize: 100})
		require.NoError(b, err)
		for i := 0; b.Loop(); i++ {
			_, err := service.FindCode(b.Context(), page.Items[i%100].Code.String())
			require.NoError(b, err)
		}
	})
}

func reportRate(b *testing.B, count int) {
	b.Helper()
	b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "codes/s")
}

// numbered are rows of a file with different codes.
func numbered(batch, count int) func(yield func(codecsv.Row, error) bool) {
	return func(yield func(codecsv.Row, error) bool) {
		for i := range count {
			draft := coupon.CodeDraft{Code: fmt.Sprintf("FILE-%d-%07d", batch, i), MaxUses: coupon.Set(1)}
			if !yield(codecsv.Row{Number: int64(i) + 2, Draft: draft, Active: true}, nil) {
				return
			}
		}
	}
}

var codeColumns = []string{
	"coupon_id", "code_key", "live", "batch", "position", "counter", "max_uses", "owner", "active", "expires_at", "created_at", "updated_at", "revision",
}

func rowsOfCodes(b *testing.B, pool *pgxpool.Pool, batch string) (all [][]any) {
	b.Helper()
	rows, err := pool.Query(b.Context(), `SELECT coupon_id, code_key, live, batch, position, counter, max_uses, owner, active, expires_at,
		created_at, updated_at, revision FROM couponkit.codes WHERE batch = $1`, batch)
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		values, err := rows.Values()
		require.NoError(b, err)
		all = append(all, values)
	}
	require.NoError(b, rows.Err())
	return all
}

// TestAnImportBesideKnownCodes: codes are inserted without a look-up, and rows of codes that exist are told all the
// same.
func TestAnImportBesideKnownCodes(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(*pgxpool.Config) {})
	service, err := couponkit.New(newStore(t, pool, pgxstore.Options{}))
	require.NoError(t, err)
	create := func(code string) coupon.Coupon {
		c, err := service.Create(t.Context(), coupon.Draft{Code: code, Name: code, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"}})
		require.NoError(t, err)
		return c
	}
	ten, other := create("TEN"), create("OTHER")
	imports := func(c coupon.Coupon, batch string, file, count int) map[string]int {
		verdicts := map[string]int{}
		for row, err := range service.ImportCodes(t.Context(), c.ID, batch, numbered(file, count)) {
			require.NoError(t, err)
			verdicts[string(row.Verdict)]++
		}
		return verdicts
	}
	type verdicts = map[string]int
	require.Equal(t, verdicts{"added": 1_500}, imports(ten, "spring", 1, 1_500))
	require.Equal(t, verdicts{"known": 1_500, "added": 700}, imports(ten, "spring", 1, 2_200))
	require.Equal(t, verdicts{"taken": 2_200, "added": 100}, imports(other, "spring", 1, 2_300))
	require.Equal(t, verdicts{"added": 1_500}, imports(other, "spring", 2, 1_500))
	require.Equal(t, verdicts{"taken": 1_500}, imports(ten, "summer", 2, 1_500))
}
