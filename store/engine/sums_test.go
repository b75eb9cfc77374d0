package engine_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// TestSumsThatDoNotFit: a sum of discounts that an int64 does not hold is an error.
func TestSumsThatDoNotFit(t *testing.T) {
	t.Parallel()
	sums := engine.NewSums(store.SumList{CouponID: "cpn_1", From: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC), Days: 2})
	row := engine.SumRow{State: "completed", Currency: "EUR", Uses: 1, Discount: math.MaxInt64}
	require.NoError(t, sums.Add(sums.Runs[0], row))
	require.Error(t, sums.Add(sums.Runs[0], row))
}

// TestADayThatAZoneSkips: Samoa had no 30 December 2011. The day has the instant at which the next
// one begins, and no uses.
func TestADayThatAZoneSkips(t *testing.T) {
	t.Parallel()
	samoa, err := time.LoadLocation("Pacific/Apia")
	require.NoError(t, err)
	sums := engine.NewSums(store.SumList{CouponID: "cpn_1", From: time.Date(2011, 12, 28, 9, 0, 0, 0, samoa), Days: 5})
	require.Len(t, sums.Runs, 2)
	require.True(t, sums.Days[2].Start.Equal(sums.Days[3].Start))
	require.NoError(t, sums.Add(sums.Runs[1], engine.SumRow{State: "completed", Uses: 1}))
	require.Equal(t, []int64{0, 0, 0, 1, 0}, []int64{
		sums.Days[0].Completed, sums.Days[1].Completed, sums.Days[2].Completed, sums.Days[3].Completed, sums.Days[4].Completed,
	})
}
