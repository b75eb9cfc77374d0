package leaks_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// faultyStore has a fault when it saves codes for the second time.
type faultyStore struct {
	*memstore.Store

	calls int
	fault func() error
}

func (s *faultyStore) SaveCodes(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
	if s.calls++; s.calls == 2 {
		if err := s.fault(); err != nil {
			return nil, err
		}
	}
	return s.Store.SaveCodes(ctx, c)
}

// TestAnImportLeavesNothing: a whole import, and some that the rows, the reader or the store end in the middle.
func TestAnImportLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	broken := errors.New("broken")
	end := func() error { runtime.Goexit(); return nil }
	for _, test := range []struct {
		name                string
		rows, reader, store func() error
	}{
		{name: "whole"},
		{name: "error of the rows", rows: func() error { return broken }},
		{name: "panic of the rows", rows: func() error { panic(broken) }},
		{name: "rows end the goroutine", rows: end},
		{name: "reader stops", reader: func() error { return broken }},
		{name: "panic of the reader", reader: func() error { panic(broken) }},
		{name: "error of the store", store: func() error { return broken }},
		{name: "panic of the store", store: func() error { panic(broken) }},
		{name: "store ends the goroutine", store: end},
	} {
		call := func(f func() error) error {
			if f == nil {
				return nil
			}
			return f()
		}
		s := &faultyStore{Store: memstore.New(), fault: func() error { return call(test.store) }}
		service, err := couponkit.New(s)
		require.NoError(t, err, test.name)
		c, err := service.Create(t.Context(), coupon.Draft{Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10"})
		require.NoError(t, err, test.name)
		const fault = store.MaxNewCodes + 2
		rows := func(yield func(codecsv.Row, error) bool) {
			for i := range fault {
				var err error
				if i == fault-1 {
					err = call(test.rows)
				}
				row := codecsv.Row{Number: int64(i), Draft: coupon.CodeDraft{Code: fmt.Sprint("CODE-", i)}, Active: true}
				if !yield(row, err) || err != nil {
					return
				}
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { _ = recover() }()
			for row := range service.ImportCodes(t.Context(), c.ID, "import", rows) {
				if row.Number == 3 && call(test.reader) != nil {
					break
				}
			}
		}()
		<-done
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
}
