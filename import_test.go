package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// imported imports a file into the batch "import". It returns a line for each row, and the error at the end.
func (c *campaign) imported(t *testing.T, file string) (lines []string, end error) {
	t.Helper()
	r, err := codecsv.NewReader(strings.NewReader(file), codecsv.Options{})
	require.NoError(t, err)
	for row, err := range c.ImportCodes(t.Context(), c.coupon.ID, "import", r.Rows()) {
		if err != nil {
			require.NoError(t, end, "a second error")
			end = err
			continue
		}
		require.NoError(t, end, "a row after an error")
		line := fmt.Sprint(row.Number, " ", row.Verdict)
		if faults, is := errors.AsType[*validation.Error](row.Refusal); is {
			for _, f := range faults.Fields {
				line += " " + f.Path
			}
		}
		lines = append(lines, line)
	}
	return lines, end
}

// Each row has one verdict, and a file that is imported again changes nothing.
func TestImportCodes(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	other, err := c.Create(t.Context(), percentOff(5))
	require.NoError(t, err)
	_, err = c.AddCodes(t.Context(), other.ID, coupon.Batch{ID: "theirs"}, []coupon.CodeDraft{{Code: "THEIRS"}})
	require.NoError(t, err)
	file := strings.Join([]string{
		"code;owner;maxUses;usedCount;expiresAt;active",
		"first;id:ann;1;;;yes",
		"theirs;;;;;",
		"second;;5;2;2099-12-31;no",
		"spaces inside;;;;;",
		"FIRST;id:ann;1;;;1",
		"used-up;;3;3;;",
		"late;;;;2020-01-01;",
		";id:bob;;;;",
		"third;;;;;",
		"TEN;;;;;",
		"first;id:bob;5;;2099-12-31;no",
		"second;;4;2;2099-12-31;no",
		"ten;id:ann;;;;",
	}, "\n")
	lines, err := c.imported(t, file)
	require.NoError(t, err)
	require.Equal(t, []string{
		"2 added", "3 taken", "4 added", "5 refused code", "6 known", "7 refused usedCount", "8 refused expiresAt", "9 refused code", "10 added", "11 taken",
		"12 refused owner maxUses expiresAt active", "13 refused maxUses", "14 taken",
	}, lines)
	var codes []string
	for code, err := range c.Codes(t.Context(), store.CodeList{CouponID: c.coupon.ID, Batch: "import"}) {
		require.NoError(t, err)
		codes = append(codes, fmt.Sprint(code.Code, " ", code.Owner, " ", code.MaxUses, " ", code.Active, " ", !code.ExpiresAt.IsZero()))
	}
	require.Equal(t, []string{"FIRST id:ann 1 true false", "SECOND  3 false true", "THIRD  0 true false"}, codes)

	lines, err = c.imported(t, file)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, "; "), "added")
	batches := slices.Collect(func(yield func(coupon.IssuedBatch) bool) {
		for b, err := range c.Batches(t.Context(), store.BatchList{CouponID: c.coupon.ID}) {
			require.NoError(t, err)
			yield(b)
		}
	})
	require.Len(t, batches, 1)
	require.Equal(t, []int64{3, 3, 1, 1}, []int64{batches[0].Size, batches[0].Added, batches[0].Assigned, batches[0].Inactive})
}

// A file of several parts that stops in the middle, or a store that fails in the middle, keeps what was added before. The
// whole file adds the rest.
func TestImportCodesGoesOn(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	var file strings.Builder
	file.WriteString("code,maxUses\n")
	const rows = 2*part + part/2
	for i := range rows {
		fmt.Fprintf(&file, "CODE-%05d,1\n", i)
	}
	whole := file.String()
	lines, err := c.imported(t, whole[:len(whole)/2]+"\n\"")
	require.ErrorIs(t, err, codecsv.ErrTruncated)
	added := len(lines)
	require.Greater(t, added, part)

	lost, save := errors.New("connection lost"), c.store.save
	calls := 0
	c.store.save = func(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
		if calls++; calls == 2 {
			return nil, lost
		}
		return save(ctx, change)
	}
	lines, err = c.imported(t, whole)
	require.ErrorIs(t, err, lost)
	require.Len(t, lines, part)
	lines, err = c.imported(t, whole)
	require.NoError(t, err)
	require.Len(t, lines, rows)
	n := 0
	for _, line := range lines {
		if strings.HasSuffix(line, " added") {
			n++
		}
	}
	require.Positive(t, n)
	require.Less(t, n, rows-part+1)
	lines, err = c.imported(t, whole)
	require.NoError(t, err)
	require.NotContains(t, strings.Join(lines, ";"), "added")
}

// Rows are read while codes are added. When a reading ends in whatever way, nothing is added after it.
func TestImportReadsAhead(t *testing.T) {
	t.Parallel()
	panics := errors.New("rows panic")
	for _, test := range []struct {
		name string
		stop func(row codecsv.Imported) bool // by the reader
		last error                           // of the rows
		want int                             // added codes
	}{
		{name: "everything is read", want: 2*part + 1},
		{name: "the reader stops", stop: func(row codecsv.Imported) bool { return row.Number == part/2 }, want: part},
		{name: "the rows panic", last: panics, want: 2 * part},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCampaign(t)
			ahead, save, ended := make(chan struct{}), c.store.save, false
			c.store.save = func(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
				if change.Codes[0].Code.String() == "CODE-1" {
					<-ahead // no code is added before a row of the next part is read
				}
				if ended {
					t.Error("codes are added after the end")
				}
				return save(ctx, change)
			}
			rows := func(yield func(codecsv.Row, error) bool) {
				for i := range 2*part + 1 {
					n := i + 1
					if n == part+1 {
						close(ahead)
					}
					if n == 2*part+1 && test.last != nil {
						panic(test.last)
					}
					if !yield(codecsv.Row{Number: int64(n), Draft: coupon.CodeDraft{Code: fmt.Sprint("CODE-", n)}, Active: true}, nil) {
						return
					}
				}
			}
			func() {
				defer func() { require.Equal(t, test.last, recover()) }()
				for row, err := range c.ImportCodes(t.Context(), c.coupon.ID, "import", rows) {
					require.NoError(t, err)
					if test.stop != nil && test.stop(row) {
						break
					}
				}
			}()
			ended = true
			page, err := c.store.ListBatches(t.Context(), store.BatchList{CouponID: c.coupon.ID})
			require.NoError(t, err)
			require.EqualValues(t, test.want, page.Items[0].Added)
		})
	}
}

func TestImportsThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	row := func(yield func(codecsv.Row, error) bool) {
		yield(codecsv.Row{Number: 2, Draft: coupon.CodeDraft{Code: "NEW"}, Active: true}, nil)
	}
	one := func(couponID, batch string) (end error) {
		for _, err := range c.ImportCodes(t.Context(), couponID, batch, row) {
			end = err
		}
		return end
	}
	require.ErrorIs(t, one("cpn_unknown", "import"), coupon.ErrNotFound)
	require.ErrorIs(t, one("no ID", "import"), coupon.ErrNotFound)
	require.ErrorIs(t, one(c.coupon.ID, ""), validation.ErrInvalid)
	c.created(t, coupon.BatchDraft{Batch: coupon.Batch{ID: "generated"}, Count: 1})
	require.ErrorIs(t, one(c.coupon.ID, "generated"), store.ErrKeyReused)
	require.ErrorContains(t, one(c.coupon.ID, "generated"), `batch "generated" has other content`)
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	for _, err := range c.ImportCodes(ctx, c.coupon.ID, "import", row) {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
	require.NoError(t, one(c.coupon.ID, "import"))
}

// Two imports of one file at once: every code is added once, and each of the imports has a verdict for every row.
func TestTwoImportsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	const rows = part + part/2
	file := func(yield func(codecsv.Row, error) bool) {
		for i := range rows {
			draft := coupon.CodeDraft{Code: fmt.Sprintf("CODE-%04d", i), MaxUses: coupon.Set(1)}
			if !yield(codecsv.Row{Number: int64(i) + 2, Draft: draft, Active: true}, nil) {
				return
			}
		}
	}
	var group sync.WaitGroup
	counts, errs := make([]map[codecsv.Verdict]int, 2), make([]error, 2)
	for i := range counts {
		counts[i] = make(map[codecsv.Verdict]int)
		group.Go(func() {
			for row, err := range c.ImportCodes(t.Context(), c.coupon.ID, "import", file) {
				errs[i] = errors.Join(errs[i], err)
				counts[i][row.Verdict]++
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Equal(t, rows, counts[0][codecsv.Added]+counts[1][codecsv.Added])
	for _, verdicts := range counts {
		require.Equal(t, rows, verdicts[codecsv.Added]+verdicts[codecsv.Known])
	}
	var stored int
	for _, err := range c.Codes(t.Context(), store.CodeList{CouponID: c.coupon.ID, Batch: "import"}) {
		require.NoError(t, err)
		stored++
	}
	require.Equal(t, rows, stored)
}

// A row that repeats a code of the batch is known, also after the code was assigned, switched or used. A row with other terms
// is refused, also when it is far from the first row.
func TestImportsBesideCodesOfTheBatch(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	const file = "code,maxUses\nA,2\nB,2\n"
	_, err := c.imported(t, file)
	require.NoError(t, err)
	for _, err := range c.AssignCodes(t.Context(), c.coupon.ID, "import", slices.Values([]coupon.Owner{coupon.OwnerID("ann")})) {
		require.NoError(t, err)
	}
	_, err = c.UpdateCode(t.Context(), "B", coupon.CodePatch{Active: coupon.Set(false)})
	require.NoError(t, err)
	c.use(t, "A", eligibility.Customer{ID: "ann"})
	for _, test := range []struct {
		file string
		want string
	}{
		{file, "2 known; 3 known"},
		{"code,maxUses,usedCount,owner,active\nA,2,1,id:ann,true\nB,2,0,,false\n", "2 known; 3 known"},
		{"code,maxUses,usedCount,owner\nA,2,0,id:ann\n", "2 known"},
		{"code,maxUses,usedCount\nB,2,1\n", "2 refused maxUses"},
		{"code,maxUses,owner\nA,2,id:ben\nB,2,id:ann\n", "2 refused owner; 3 refused owner"},
		{"code,maxUses,expiresAt\nA,2,2099-12-31\n", "2 refused expiresAt"},
		{"code\nA\n", "2 refused maxUses"},
	} {
		lines, err := c.imported(t, test.file)
		require.NoError(t, err)
		require.Equal(t, test.want, strings.Join(lines, "; "), test.file)
	}
	var far strings.Builder
	far.WriteString("code,owner\nFAR,id:ann\n")
	for i := range part {
		fmt.Fprintf(&far, "CODE-%04d,\n", i)
	}
	lines, err := c.imported(t, far.String()+"far,id:ann\nfar,id:ben\n")
	require.NoError(t, err)
	require.Equal(t, []string{fmt.Sprint(part+3, " known"), fmt.Sprint(part+4, " refused owner")}, lines[len(lines)-2:])
}

// Codes that are spent, by their uses or by time, are known when their file comes again. New codes that are spent are refused.
func TestImportsOfSpentCodes(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	const file = "code,maxUses,expiresAt\nA,1,\nB,2,2027-01-01T00:00:00Z\n"
	now := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	var err error
	c.Service, err = couponkit.New(c.store, couponkit.WithClock(func() time.Time { return now }))
	require.NoError(t, err)
	_, err = c.imported(t, file)
	require.NoError(t, err)
	c.use(t, "A", eligibility.Customer{ID: "ann"})
	now = now.AddDate(1, 0, 0)
	var export strings.Builder
	w, err := codecsv.NewWriter(&export, codecsv.WriteOptions{})
	require.NoError(t, err)
	for code, err := range c.Codes(t.Context(), store.CodeList{CouponID: c.coupon.ID, Batch: "import"}) {
		require.NoError(t, err)
		require.NoError(t, w.Write(code))
	}
	require.NoError(t, w.Flush())
	many := new(strings.Builder)
	many.WriteString("code,maxUses,usedCount,expiresAt\n")
	for i := range 2 * store.MaxNames {
		fmt.Fprintf(many, "NEW-%d,1,1,\n", i)
	}
	for _, test := range []struct{ file, want string }{
		{file, "2 known; 3 known"},
		{export.String(), "2 known; 3 known"},
		{"code,maxUses,usedCount,expiresAt\nA,1,1,\nB,2,0,2027-01-01T00:00:00Z\n", "2 known; 3 known"},
		{"code,maxUses,usedCount,expiresAt\nA,3,3,\nB,2,1,2027-01-01T00:00:00Z\n", "2 refused usedCount; 3 refused expiresAt"},
		{"code,maxUses,usedCount,expiresAt\nA,1,1,2027-01-01\nB,2,2,2027-01-01\n", "2 refused usedCount expiresAt; 3 refused usedCount expiresAt"},
		{"code,owner,maxUses,usedCount\nA,id:bob,1,1\nTEN,,1,1\nNEW,,1,1\n", "2 refused usedCount; 3 refused usedCount; 4 refused usedCount"},
	} {
		lines, err := c.imported(t, test.file)
		require.NoError(t, err)
		require.Equal(t, test.want, strings.Join(lines, "; "), test.file)
	}
	lines, err := c.imported(t, many.String()+"A,1,1,\n")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(2*store.MaxNames+2, " known"), lines[len(lines)-1])
	require.NotContains(t, strings.Join(lines, "; "), "added")
}

// use lets a customer pay an order with a code.
func (c *campaign) use(t *testing.T, code string, customer eligibility.Customer) {
	t.Helper()
	r := wants("used", customer)
	r.Codes, r.Cart.Lines[0].Quantity = []string{code}, 2
	reserved, err := c.Reserve(t.Context(), r)
	require.NoError(t, err)
	_, err = c.Record(t.Context(), couponkit.Payment{OrderID: "used", ID: "pay", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(reserved.Order.Quote.Total, pricing.EUR())})
	require.NoError(t, err)
}
