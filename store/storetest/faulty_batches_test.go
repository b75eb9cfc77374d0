package storetest_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// answers replaces what SaveCodes returns for changes of a kind.
func (f *faulty) answers(kind store.CodeChangeKind, change func(c store.CodeChange, codes []coupon.IssuedCode, err error) ([]coupon.IssuedCode, error)) {
	f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
		codes, err := f.Store.SaveCodes(ctx, c)
		if c.Kind == kind {
			return change(c, codes, err)
		}
		return codes, err
	}
}

func batchFaults() map[string]fault {
	return map[string]fault{
		"a second part is lost": {func(f *faulty) {
			f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
				if c.Kind == store.AddCodes && c.From > 0 {
					return c.Codes, nil
				}
				return f.Store.SaveCodes(ctx, c)
			}
		}, []string{"a batch in parts", "race for the parts of a batch"}},
		"batches count no uses": {func(f *faulty) {
			f.batches = func(ctx context.Context, list store.BatchList) (store.BatchPage, error) {
				page, err := f.Store.ListBatches(ctx, list)
				for i := range page.Items {
					page.Items[i].UsedCount = 0
				}
				return page, err
			}
		}, []string{"batches are listed"}},
		"nobody hears which codes were switched": {func(f *faulty) {
			f.answers(store.SwitchCodes, func(_ store.CodeChange, _ []coupon.IssuedCode, err error) ([]coupon.IssuedCode, error) {
				return nil, err
			})
		}, []string{agreement, "codes are switched"}},
		"used codes are removed, as it seems": {func(f *faulty) {
			var reserved atomic.Int64
			f.reserve = func(ctx context.Context, r store.Reservation) (store.Reserved, error) {
				stored, err := f.Store.Reserve(ctx, r)
				if err == nil {
					reserved.Add(1)
				}
				return stored, err
			}
			f.issue = func(ctx context.Context, c store.CodeChange) ([]coupon.IssuedCode, error) {
				if c.Kind != store.RemoveCodes {
					return f.Store.SaveCodes(ctx, c)
				}
				for before, tries := reserved.Load(), 0; reserved.Load() == before && len(c.Codes) == 1 && tries < 200; tries++ {
					time.Sleep(5 * time.Millisecond)
				}
				_, err := f.Store.SaveCodes(ctx, c)
				return c.Codes, err
			}
		}, []string{agreement, "codes are removed", "codes are removed among reservations"}},
		"one code is given to all owners": {func(f *faulty) {
			f.answers(store.AssignCodes, func(_ store.CodeChange, codes []coupon.IssuedCode, err error) ([]coupon.IssuedCode, error) {
				for i := range codes {
					codes[i].Code = codes[0].Code
				}
				return codes, err
			})
		}, []string{agreement, "codes are assigned", "race for codes to assign"}},
		"nobody hears which codes existed": {func(f *faulty) {
			f.answers(store.ImportCodes, func(_ store.CodeChange, _ []coupon.IssuedCode, err error) ([]coupon.IssuedCode, error) {
				return nil, err
			})
		}, []string{agreement, "codes are imported", "race of imports"}},
		"some owners get no code": {func(f *faulty) {
			f.answers(store.AssignCodes, func(_ store.CodeChange, codes []coupon.IssuedCode, err error) ([]coupon.IssuedCode, error) {
				if errors.Is(err, store.ErrNoCodesLeft) {
					err = nil
				}
				return codes, err
			})
		}, []string{agreement, "too few codes to assign"}},
		"an owner who is named twice is named once": {func(f *faulty) {
			f.issues(func(c *store.CodeChange) { c.Owners = slices.Compact(c.Owners) })
		}, []string{"invalid changes of batches"}},
	}
}
