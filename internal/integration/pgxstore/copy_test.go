package pgxstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/integration/postgrestest"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/pgxstore"
)

// TestManyCodesAreCopied: many new codes are written by COPY, few by an insert. Both answer and keep what the store in
// memory does, in transactions of the store and of the host, also if a coupon has one of the codes already.
func TestManyCodesAreCopied(t *testing.T) {
	t.Parallel()
	ctx, at := t.Context(), time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	pool := postgrestest.NewPool(t, shared.NewCopy(t), func(*pgxpool.Config) {})
	durable, memory := newStore(t, pool, pgxstore.Options{}), memstore.New()
	draft := func(id string) coupon.Coupon {
		c, err := coupon.New(coupon.Draft{
			Code: "TEN" + id[len(id)-1:], Name: "Ten", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"},
		}, coupon.Creation{ID: id, At: at})
		require.NoError(t, err)
		return c
	}
	ids := []string{coupon.IDPrefix + "1", coupon.IDPrefix + "2"}
	for _, id := range ids {
		for _, s := range []store.Store{durable, memory} {
			_, err := s.SaveCoupon(ctx, store.CouponChange{Kind: store.CreateCoupon, Coupon: draft(id), At: at})
			require.NoError(t, err)
		}
	}
	unexported := cmp.AllowUnexported(coupon.Code{}, coupon.Owner{})
	change := func(kind store.CodeChangeKind, id, batch string, first, count int) store.CodeChange {
		drafts := make([]coupon.CodeDraft, count)
		for i := range drafts {
			n := (first + 7_919*i) % 10_000 // in no order
			drafts[i].Code = fmt.Sprintf("CODE-%04d", n)
			if n%2 == 0 {
				drafts[i].MaxUses = coupon.Set(1 + n%5)
			}
			if n%3 == 0 {
				drafts[i].Owner = coupon.OwnerID(fmt.Sprint("customer-", n))
			}
		}
		var codes []coupon.IssuedCode
		for part := range (count + coupon.MaxCodes - 1) / coupon.MaxCodes {
			some, err := coupon.NewCodes(id, coupon.Batch{ID: batch}, drafts[part*coupon.MaxCodes:min((part+1)*coupon.MaxCodes, count)], coupon.Edit{At: at})
			require.NoError(t, err)
			codes = append(codes, some...)
		}
		for i := range codes {
			codes[i].Active = i%4 != 0
			if i%5 == 0 {
				codes[i].ExpiresAt = at.Add(time.Duration(1+i) * time.Hour)
			}
		}
		return store.CodeChange{Kind: kind, CouponID: id, Batch: batch, Fingerprint: batch, Codes: codes, At: at}
	}
	apply := func(c store.CodeChange) {
		t.Helper()
		want, wanted := memory.SaveCodes(ctx, c)
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		got, failed := durable.WithTx(tx).SaveCodes(ctx, c)
		require.NoError(t, tx.Rollback(ctx))
		require.Equal(t, wanted, failed)
		byKey := cmp.Transformer("keys", func(all []coupon.IssuedCode) map[string]coupon.IssuedCode {
			keys := map[string]coupon.IssuedCode{}
			for _, code := range all {
				keys[code.Code.String()] = code
			}
			return keys
		})
		require.Empty(t, cmp.Diff(want, got, byKey, unexported))
		got, failed = durable.SaveCodes(ctx, c)
		require.Equal(t, wanted, failed)
		require.Empty(t, cmp.Diff(want, got, byKey, unexported))
		for _, id := range ids {
			list := store.CodeList{CouponID: id, PageSize: coupon.MaxCodes}
			for more := true; more; more = list.After != "" {
				want, err := memory.ListCodes(ctx, list)
				require.NoError(t, err)
				got, err := durable.ListCodes(ctx, list)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(want, got, unexported))
				list.After = got.Next
			}
			wanted, err := memory.ListBatches(ctx, store.BatchList{CouponID: id})
			require.NoError(t, err)
			listed, err := durable.ListBatches(ctx, store.BatchList{CouponID: id})
			require.NoError(t, err)
			require.Equal(t, wanted, listed)
		}
	}
	apply(change(store.AddCodes, ids[0], "few", 0, 199))
	apply(change(store.AddCodes, ids[0], "many", 199*7_919, 200))
	repeated := change(store.AddCodes, ids[0], "many", 199*7_919, 200)
	got, err := durable.SaveCodes(ctx, repeated)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(repeated.Codes, got, unexported), "codes in the order of the batch")
	apply(change(store.AddCodes, ids[0], "taken", 0, 300))
	apply(change(store.ImportCodes, ids[0], "imported", 1_000*7_919, 2_000))
	apply(change(store.ImportCodes, ids[0], "imported", 2_900*7_919, 2_000))
	apply(change(store.ImportCodes, ids[1], "theirs", 2_900*7_919, 2_500))

	// A transaction of the host is usable after codes that exist.
	tx, err := pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, err = durable.WithTx(tx).SaveCodes(ctx, change(store.AddCodes, ids[1], "again", 0, 1_000))
	require.ErrorIs(t, err, coupon.ErrCodeTaken)
	_, err = tx.Exec(ctx, "SELECT 1")
	require.NoError(t, err)
}
