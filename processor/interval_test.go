package processor_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

// TestCheckIntervals: lines that differ from the first that recurs are named, each of them.
func TestCheckIntervals(t *testing.T) {
	t.Parallel()
	const once, month, year = pricing.Once, pricing.Monthly, pricing.Yearly
	for name, row := range map[string]struct {
		lines []pricing.Interval
		want  []string
	}{
		"no line":                           {nil, nil},
		"paid once":                         {[]pricing.Interval{once, once}, nil},
		"one interval":                      {[]pricing.Interval{month, month}, nil},
		"one interval among what is once":   {[]pricing.Interval{once, month, once, month}, nil},
		"another one":                       {[]pricing.Interval{month, year}, []string{"lines[1].recurs"}},
		"the first that recurs decides":     {[]pricing.Interval{once, year, month, once, month, year}, []string{"lines[2].recurs", "lines[4].recurs"}},
		"one that does not exist, in front": {[]pricing.Interval{year + 1, month, year + 1, month}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := processor.CheckIntervals(len(row.lines), func(i int) pricing.Interval { return row.lines[i] })
			if row.want == nil {
				require.NoError(t, err)
				return
			}
			var faults *validation.Error
			require.ErrorAs(t, err, &faults)
			var got []string
			for _, f := range faults.Fields {
				require.Equal(t, validation.Mismatch, f.Code)
				got = append(got, f.Path)
			}
			require.Empty(t, cmp.Diff(row.want, got))
		})
	}
}
