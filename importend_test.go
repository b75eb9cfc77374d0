package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// numbered yields rows with the codes CODE-1 to CODE-n.
func numbered(n int) func(func(codecsv.Row, error) bool) {
	return func(yield func(codecsv.Row, error) bool) {
		for i := range n {
			row := codecsv.Row{Number: int64(i + 1), Draft: coupon.CodeDraft{Code: fmt.Sprint("CODE-", i+1)}, Active: true}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// A store that panics, or that ends its goroutine, does so in the goroutine of the caller, who can recover.
func TestImportOnAStoreThatPanics(t *testing.T) {
	t.Parallel()
	broken := errors.New("store panics")
	for _, test := range []struct {
		name string
		end  func()
		want any
	}{
		{name: "panic", end: func() { panic(broken) }, want: broken},
		{name: "end of the goroutine", end: runtime.Goexit},
	} {
		for _, fails := range []int32{1, 2} {
			t.Run(fmt.Sprint(test.name, " in part ", fails), func(t *testing.T) {
				t.Parallel()
				var told atomic.Pointer[couponkit.Attempt]
				inner := memstore.New()
				failing := &savingStore{inner, inner.SaveCodes}
				service, err := couponkit.New(failing, couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) { told.Store(&a) })))
				require.NoError(t, err)
				c, err := service.Create(t.Context(), tenOff())
				require.NoError(t, err)
				var calls atomic.Int32
				failing.save = func(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
					if calls.Add(1) == fails {
						test.end()
					}
					return inner.SaveCodes(ctx, change)
				}
				var rows, ended int32
				var caught any
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { caught = recover() }()
					for _, err := range service.ImportCodes(t.Context(), c.ID, "import", numbered(part+1)) {
						if rows++; err != nil {
							ended = -1
						}
					}
					ended++
				}()
				<-done
				require.Equal(t, test.want, caught)
				require.Zero(t, ended, "the loop has neither ended nor got an error")
				require.Equal(t, (fails-1)*part, rows)
				require.Equal(t, couponkit.OpImportCodes, told.Load().Operation)
				if test.want != nil {
					require.Error(t, told.Load().Err)
				}
			})
		}
	}
}

// inTransaction is a store that works in a transaction of the host, which one goroutine uses at a time.
type inTransaction struct {
	*savingStore

	used atomic.Bool
}

func (*inTransaction) InTransaction() bool { return true }

// use reports whether nobody else uses the transaction.
func (s *inTransaction) use(f func()) bool {
	if s.used.Swap(true) {
		return false
	}
	for range 100 {
		runtime.Gosched()
	}
	f()
	s.used.Store(false)
	return true
}

// Rows may come from the transaction of the host in which the codes are added.
func TestImportInATransaction(t *testing.T) {
	t.Parallel()
	c := newCampaign(t)
	tx := &inTransaction{savingStore: c.store}
	save, busy := c.store.save, errors.New("the transaction is busy")
	c.store.save = func(ctx context.Context, change store.CodeChange) (all []coupon.IssuedCode, err error) {
		if !tx.use(func() { all, err = save(ctx, change) }) {
			return nil, busy
		}
		return all, err
	}
	service, err := couponkit.New(tx)
	require.NoError(t, err)
	rows := func(yield func(codecsv.Row, error) bool) {
		for row := range numbered(part + 1) {
			var err error
			if !tx.use(func() {}) {
				err = busy
			}
			if !yield(row, err) {
				return
			}
		}
	}
	n := 0
	for row, err := range service.ImportCodes(t.Context(), c.coupon.ID, "import", rows) {
		require.NoError(t, err)
		require.Equal(t, codecsv.Added, row.Verdict)
		n++
	}
	require.Equal(t, part+1, n)
}

// An import needs the memory of two parts, however many rows are added and refused.
func TestImportNeedsConstantMemory(t *testing.T) {
	c := newCampaign(t)
	c.store.save = func(context.Context, store.CodeChange) ([]coupon.IssuedCode, error) { return nil, nil }
	const codes = 6 // of which one is refused
	rows := testsize.Of(50_000, 1_000_000)
	file := func(yield func(codecsv.Row, error) bool) {
		for row, err := range numbered(rows) {
			if row.Number%codes == 0 {
				row.Draft.Code = "spaces inside"
			}
			if !yield(row, err) {
				return
			}
		}
	}
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most, read := stats.HeapAlloc, uint64(0), 0
	for row, err := range c.ImportCodes(t.Context(), c.coupon.ID, "import", file) {
		require.NoError(t, err)
		require.Equal(t, row.Number%codes == 0, row.Verdict == codecsv.Refused)
		if read++; read%(rows/5) == 0 {
			runtime.GC()
			runtime.ReadMemStats(&stats)
			most = max(most, stats.HeapAlloc)
		}
	}
	require.Equal(t, rows, read)
	require.Less(t, most, before+10<<20)
}
