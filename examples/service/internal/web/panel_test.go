package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/web"
	"github.com/couponkit/couponkit/pricing"
)

// The axis of a chart has few round figures and room for them, and each bar is within the picture.
func TestTheFiguresOfAChart(t *testing.T) {
	t.Parallel()
	for most, top := range map[int64]string{0: "1", 1: "1", 9: "10", 4_000: "4000", 12_345: "15000", 1_000_000: "1000000"} {
		c := web.UsesChart([]web.Day{{Date: "2026-11-20", Completed: most}, {Date: "2026-11-21", Completed: most / 2, Reserved: most - most/2}})
		last := c.Marks[len(c.Marks)-1]
		require.Equal(t, []string{"0", top}, []string{c.Marks[0].Text, last.Text})
		require.LessOrEqual(t, len(c.Marks), 5)
		require.GreaterOrEqual(t, last.X, 7*len(last.Text), "seven pixels for a digit")
		for _, b := range c.Bars {
			require.GreaterOrEqual(t, b.X, c.Left)
			require.LessOrEqual(t, b.X+b.Width, c.Right)
			require.Equal(t, []int{c.Marks[0].Y, b.Y}, []int{b.Y + b.Height, b.UpperY + b.UpperHeight})
			require.GreaterOrEqual(t, b.UpperY, last.Y)
		}
		require.Equal(t, c.Bars[0].Y, c.Bars[1].UpperY, "a bar of completed uses and one of both are as high")
		require.True(t, strings.HasPrefix(c.Title, fmt.Sprint(most+most/2)), c.Title)
	}
}

// Each currency has a chart of its own, of what refunds have left of the discounts.
func TestChartsOfDiscounts(t *testing.T) {
	t.Parallel()
	amount := func(c pricing.Currency, discount, returned int64) web.Amount {
		return web.Amount{Discount: pricing.NewMoney(discount, c), Returned: pricing.NewMoney(returned, c)}
	}
	charts := web.DiscountCharts([]web.Day{
		{Date: "2026-11-20", Amounts: []web.Amount{amount(pricing.EUR(), 900, 100), amount(pricing.USD(), 50, 50)}},
		{Date: "2026-11-21", Amounts: []web.Amount{amount(pricing.EUR(), 25, 0)}},
	})
	require.Len(t, charts, 2)
	require.Equal(t, []string{"Discount of 8.25 EUR in 2 days", "Discount of 0.00 USD in 2 days"}, []string{charts[0].Title, charts[1].Title})
	require.Equal(t, "20 Nov 2026: 8.00 EUR", charts[0].Bars[0].Title)
	require.Empty(t, web.DiscountCharts(nil))
}
