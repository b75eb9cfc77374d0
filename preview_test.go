package couponkit_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// verdicts returns a line for each row of a file, and the error at the end.
func verdicts(t *testing.T, rows iter.Seq2[codecsv.Imported, error]) (lines []string, end error) {
	t.Helper()
	for row, err := range rows {
		if end = err; err == nil {
			lines = append(lines, fmt.Sprint(row.Number, row.Verdict, row.CouponID, row.Refusal))
		}
	}
	return lines, end
}

// A preview of an import has the verdicts of the import after it, also for a code that is in two parts of the file.
func TestPreviewImport(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	c.created(t, coupon.BatchDraft{Batch: coupon.Batch{ID: "generated"}, Count: 1})
	var many strings.Builder
	many.WriteString("code,owner\nFAR,id:ann\nTEN,\n,\n")
	for i := range coupon.MaxCodes {
		fmt.Fprintf(&many, "CODE-%04d,\n", i)
	}
	many.WriteString("far,id:ann\nfar,id:ben\nlast,\n")
	for _, test := range []struct{ couponID, batch, file string }{
		{c.coupon.ID, "import", many.String()},
		{c.coupon.ID, "import", many.String()},
		{c.coupon.ID, "generated", many.String()},
		{c.coupon.ID, "", many.String()},
		{"cpn_unknown", "import", many.String()},
		{"no ID", "import", many.String()},
		{c.coupon.ID, "import", "code\nA\n\"B"},
	} {
		read := func() iter.Seq2[codecsv.Row, error] {
			r, err := codecsv.NewReader(strings.NewReader(test.file), codecsv.Options{})
			require.NoError(t, err)
			return r.Rows()
		}
		would, end := verdicts(t, c.PreviewImport(t.Context(), test.couponID, test.batch, read()))
		did, err := verdicts(t, c.ImportCodes(t.Context(), test.couponID, test.batch, read()))
		require.Equal(t, did, would)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(end))
	}
}

// A preview of an assignment has the owners and the error of the assignment after it. Codes that are used, switched off or
// assigned are not free.
func TestPreviewAssign(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	const parts = coupon.MaxCodes + 3
	c.created(t, coupon.BatchDraft{Batch: coupon.Batch{ID: "few"}, Count: parts})
	var all []coupon.IssuedCode
	for code, err := range c.Codes(t.Context(), store.CodeList{CouponID: c.coupon.ID, Batch: "few"}) {
		require.NoError(t, err)
		all = append(all, code)
	}
	c.use(t, all[0].Code.String(), eligibility.Customer{ID: "zoe"})
	_, err := c.UpdateCode(t.Context(), all[1].Code.String(), coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	owners := make([]coupon.Owner, 0, parts)
	for i := range parts {
		owners = append(owners, coupon.OwnerID(fmt.Sprint(i%(parts-1))))
	}
	for _, test := range []struct {
		batch  string
		owners []coupon.Owner
	}{
		{"none", owners[:1]}, {"few", owners[:5]}, {"few", owners}, {"few", owners[:parts-2]}, {"few", []coupon.Owner{{}}},
	} {
		given := func(codes iter.Seq2[coupon.IssuedCode, error]) (to []coupon.Owner, end error) {
			for code, err := range codes {
				if end = err; err == nil {
					to = append(to, code.Owner)
				}
			}
			return to, end
		}
		would, end := given(c.PreviewAssign(t.Context(), c.coupon.ID, test.batch, slices.Values(test.owners)))
		did, err := given(c.AssignCodes(t.Context(), c.coupon.ID, test.batch, slices.Values(test.owners)))
		require.Equal(t, did, would)
		require.Equal(t, fmt.Sprint(err), fmt.Sprint(end))
	}
}

func TestPreviewCodes(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	b, err := c.PreviewCodes(t.Context(), c.coupon.ID, spring())
	require.NoError(t, err)
	require.Equal(t, coupon.IssuedBatch{ID: spring().ID, CouponID: c.coupon.ID, Size: spring().Count}, b)
	made := c.created(t, spring())
	b, err = c.PreviewCodes(t.Context(), c.coupon.ID, spring())
	require.NoError(t, err)
	require.Equal(t, made, b)
	other := spring()
	other.Count++
	_, err = c.PreviewCodes(t.Context(), c.coupon.ID, other)
	require.ErrorIs(t, err, store.ErrKeyReused)
	_, err = c.PreviewCodes(t.Context(), "cpn_unknown", spring())
	require.ErrorIs(t, err, coupon.ErrNotFound)
}
