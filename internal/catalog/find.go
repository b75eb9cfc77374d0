package catalog

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// Names returns the names that a typed code may mean. The first name that a coupon has is the right
// one (contract section 4.2). An ID may also be a code whose letters were typed in lower case. A
// generated code is also tried with its confused symbols replaced. Names returns
// coupon.ErrCodeRequired for empty text, and coupon.ErrNotFound for text that cannot be a code.
func Names(typed string) (names []store.Name, err error) {
	if id := strings.TrimSpace(typed); coupon.IsID(id) {
		names = store.ByID(id)
	}
	code, err := coupon.TypedCode(typed)
	var fault *validation.Error
	switch {
	case err == nil:
		names = append(names, store.Name{Code: code})
		if generated, is := code.AsGenerated(); is && generated != code {
			names = append(names, store.Name{Code: generated})
		}
		return names, nil
	case len(names) > 0:
		return names, nil
	case errors.As(err, &fault) && fault.Fields[0].Code == validation.Required:
		return nil, coupon.Reject("", coupon.CodeRequired, coupon.Params{})
	default:
		return nil, notFound("")
	}
}

// Named returns the coupon and the code that a typed text names. The coupon may have any state.
func (cat *Catalog) Named(ctx context.Context, typed string) (store.Found, error) {
	names, err := Names(typed)
	if err != nil {
		return store.Found{}, err
	}
	return store.Find(ctx, cat.Store, store.LookUp{Names: names})
}

// Find returns the whole coupon with the given code or ID, for administrators.
func (cat *Catalog) Find(ctx context.Context, codeOrID string) (coupon.Coupon, error) {
	found, err := cat.Named(ctx, codeOrID)
	if err != nil {
		return coupon.Coupon{}, err
	}
	return cat.Get(ctx, found.Coupon.ID)
}

// Get returns the whole coupon, unless its creation or deletion is unfinished.
func (cat *Catalog) Get(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := cat.stored(ctx, id)
	if err == nil && c.State != coupon.Active && c.State != coupon.Inactive {
		return coupon.Coupon{}, notFound(id)
	}
	return c, err
}

// FindCode returns a code with its counts. An ID names no code.
func (cat *Catalog) FindCode(ctx context.Context, code string) (coupon.IssuedCode, error) {
	found, err := cat.Named(ctx, code)
	switch {
	case err != nil:
		return coupon.IssuedCode{}, err
	case found.Code.Key.IsZero():
		return coupon.IssuedCode{}, notFound("")
	}
	return found.Code, nil
}

// Coupons yields the coupons of a list, page by page. An unreadable coupon comes with its ID and its
// error, and the sequence goes on. Any other error ends the sequence.
func (cat *Catalog) Coupons(ctx context.Context, list store.CouponList) iter.Seq2[coupon.Coupon, error] {
	return func(yield func(coupon.Coupon, error) bool) {
		for {
			page, err := cat.Store.ListCoupons(ctx, list)
			if err != nil {
				yield(coupon.Coupon{}, err)
				return
			}
			for _, c := range page.Items {
				if !yield(c, nil) {
					return
				}
			}
			for _, unreadable := range page.Unreadable {
				if !yield(coupon.Coupon{ID: unreadable.ID}, unreadable) {
					return
				}
			}
			if list.After = page.Next; page.Next == "" {
				return
			}
		}
	}
}

// Codes yields the codes of a list, page by page. An error ends the sequence.
func (cat *Catalog) Codes(ctx context.Context, list store.CodeList) iter.Seq2[coupon.IssuedCode, error] {
	return func(yield func(coupon.IssuedCode, error) bool) {
		for {
			page, err := cat.Store.ListCodes(ctx, list)
			if err != nil {
				yield(coupon.IssuedCode{}, err)
				return
			}
			for _, c := range page.Items {
				if !yield(c, nil) {
					return
				}
			}
			if list.After = page.Next; page.Next == "" {
				return
			}
		}
	}
}
