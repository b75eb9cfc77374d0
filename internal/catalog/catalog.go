// Package catalog administers coupons, their codes and their mirrors. A mirror is the processor's own
// copy of a coupon. The methods of couponkit.Service tell what hosts may rely on.
package catalog

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// maxAttempts is how often a change is tried while other calls change the same coupon.
const maxAttempts = 5

// Catalog administers the coupons of a store. All fields are required. A Catalog is safe for
// concurrent use.
type Catalog struct {
	Store store.Coupons
	// InTransaction tells that Store works inside a transaction of the host.
	InTransaction bool

	Mirrors   processor.Mirror
	Abilities processor.Abilities
	// ForgetMirror drops the cached status of a coupon's mirror.
	ForgetMirror func(couponID string)
	// BadAnswer is the error for a mirror that the store refuses to record.
	BadAnswer func(error) error

	Now   func() time.Time
	NewID func(prefix string) (string, error)
	// Actor names who makes the call, for the journal.
	Actor func(context.Context) string
	// Detached returns a context that outlives the caller, to finish a call.
	Detached func(context.Context) (context.Context, context.CancelFunc)
	Logger   *slog.Logger

	// Forms are forms of generated codes. A handmade code in such a form needs a correct check symbol.
	Forms    []codes.Form
	Currency pricing.Currency // of a draft that names no currency
	Location *time.Location   // of a date without a time
}

// stored returns a coupon in any state, with its allow-list. It may return coupon.ErrNotFound.
func (cat *Catalog) stored(ctx context.Context, id string) (coupon.Coupon, error) {
	if id == "" {
		return coupon.Coupon{}, notFound("")
	}
	found, err := store.Find(ctx, cat.Store, store.LookUp{Names: store.ByID(id), Whole: true})
	return found.Coupon, err
}

// save stores c. It returns the stored coupon with the allow-list of c, because the store's answer may
// have only the list's length.
func (cat *Catalog) save(ctx context.Context, kind store.ChangeKind, c coupon.Coupon) (coupon.Coupon, error) {
	saved, err := cat.Store.SaveCoupon(ctx, store.CouponChange{
		Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, By: cat.Actor(ctx), At: cat.Now(),
	})
	if err == nil {
		saved.AllowedUserEmails = c.AllowedUserEmails
	}
	return saved, err
}

// finish runs complete, even if the caller's context has ended. It logs a failure. Reconcile repairs it
// later.
func (cat *Catalog) finish(ctx context.Context, couponID, failure string, complete func(context.Context) error) {
	ctx, cancel := cat.Detached(ctx)
	defer cancel()
	if err := complete(ctx); err != nil {
		cat.Logger.WarnContext(ctx, failure, slog.String("coupon", couponID), slog.Any("error", err))
	}
}

// checkHandmade refuses a code that customers could not enter.
func (cat *Catalog) checkHandmade(code coupon.Code) error {
	if slices.ContainsFunc(cat.Forms, func(f codes.Form) bool { return f.Refuses(code) }) {
		return validation.New("code", validation.Malformed, "has the form of a generated code, and a wrong check symbol")
	}
	return nil
}

func notFound(id string) error { return coupon.Reject(id, coupon.CouponNotFound, coupon.Params{}) }

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
		if generated, is := codes.AsGenerated(code); is && generated != code {
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
	case found.Code.Code.IsZero():
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
	return pages(func(next *string) ([]coupon.IssuedCode, error) {
		list.After = *next
		page, err := cat.Store.ListCodes(ctx, list)
		*next = page.Next
		return page.Items, err
	}, list.After)
}

// Batches yields the batches of a list, page by page. An error ends the sequence.
func (cat *Catalog) Batches(ctx context.Context, list store.BatchList) iter.Seq2[coupon.IssuedBatch, error] {
	return pages(func(next *string) ([]coupon.IssuedBatch, error) {
		list.After = *next
		page, err := cat.Store.ListBatches(ctx, list)
		*next = page.Next
		return page.Items, err
	}, list.After)
}

// pages yields the items of all pages. The function read returns the page at a cursor, and sets the cursor of the next page.
func pages[T any](read func(cursor *string) ([]T, error), cursor string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for at := cursor; ; {
			items, err := read(&at)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if at == "" {
				return
			}
		}
	}
}
