package sqldb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/store/sqlstore"
)

// BenchmarkLookUp is the look-up of one code in memory and on SQLite.
func BenchmarkLookUp(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkLookUp(b, memstore.New()) })
	b.Run("sqlite", func(b *testing.B) {
		d := databases()["modernc"](b)
		db := d.connect(b)
		require.NoError(b, sqlstore.Migrate(b.Context(), db, d.dialect, sqlstore.Options{}))
		s, err := sqlstore.New(b.Context(), db, d.dialect, sqlstore.Options{})
		require.NoError(b, err)
		defer func() { require.NoError(b, s.Close()) }()
		benchmarkLookUp(b, s)
	})
}

func benchmarkLookUp(b *testing.B, s store.Store) {
	b.Helper()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	code, err := coupon.ParseCode("TEN")
	require.NoError(b, err)
	percent, err := pricing.ParsePercent("10")
	require.NoError(b, err)
	c := coupon.Coupon{
		ID: coupon.IDPrefix + "1", Code: code, Name: "Ten", State: coupon.Active, CreatedAt: at, UpdatedAt: at, Revision: 1,
		Terms: coupon.Terms{
			Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All},
			Distribution: coupon.General, RefundPolicy: pricing.Keep,
		},
	}
	_, err = s.SaveCoupon(b.Context(), store.CouponChange{Kind: store.CreateCoupon, Coupon: c, Unlimited: true, At: at})
	require.NoError(b, err)
	by := store.LookUp{Names: store.ByCode(code), CustomerID: "ann", Identities: []string{"ann"}, Email: "ann@example.org"}
	b.ReportAllocs()
	for b.Loop() {
		found, err := s.LookUp(b.Context(), by)
		require.NoError(b, err)
		require.Equal(b, c.ID, found.Coupons[0].Coupon.ID)
	}
}
