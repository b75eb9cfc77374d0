// Package catalog administers coupons, their codes and their mirrors. A mirror is the processor's own
// copy of a coupon. The methods of couponkit.Service tell what hosts may rely on.
package catalog

import (
	"context"
	"log/slog"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// maxAttempts bounds how often a change is tried while somebody else changes the same coupon.
const maxAttempts = 5

// Catalog administers the coupons of a store. All fields are required. A Catalog is safe for
// concurrent use.
type Catalog struct {
	Store store.Coupons
	// InTransaction tells that Store works inside a transaction of the host.
	InTransaction bool

	Mirrors   processor.Mirror
	Abilities processor.Abilities
	// OnStep refuses an amount that the processor cannot charge.
	OnStep func(field string, amount pricing.Money) error
	// ForgetMirror drops the cached status of a coupon's mirror.
	ForgetMirror func(couponID string)
	// BadAnswer is the error for a mirror that the store refuses to record.
	BadAnswer func(error) error

	Now   func() time.Time
	NewID func(prefix string) string
	// Actor names who makes the call, for the journal.
	Actor func(context.Context) string
	// Detached returns a context that outlives the caller, to finish a call.
	Detached func(context.Context) (context.Context, context.CancelFunc)
	Logger   *slog.Logger

	Currency pricing.Currency // of a draft that names no currency
	Location *time.Location   // of a date without a time
	// PendingTime is the age at which Reconcile removes an unfinished coupon.
	PendingTime time.Duration
}

// stored returns the whole coupon in any state, or coupon.ErrNotFound.
func (cat *Catalog) stored(ctx context.Context, id string) (coupon.Coupon, error) {
	if id == "" {
		return coupon.Coupon{}, notFound("")
	}
	found, err := store.Find(ctx, cat.Store, store.LookUp{Names: store.ByID(id), Whole: true})
	return found.Coupon, err
}

// save returns the stored coupon with the allow-list of c. The store's answer may only have the number
// of its addresses.
func (cat *Catalog) save(ctx context.Context, kind store.ChangeKind, c coupon.Coupon) (coupon.Coupon, error) {
	saved, err := cat.Store.SaveCoupon(ctx, store.CouponChange{
		Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, By: cat.Actor(ctx), At: cat.Now(),
	})
	if err == nil {
		saved.AllowedUserEmails = c.AllowedUserEmails
	}
	return saved, err
}

// finish completes a call even if its caller has gone. A failure is logged and left to Reconcile.
func (cat *Catalog) finish(ctx context.Context, couponID, failure string, complete func(context.Context) error) {
	ctx, cancel := cat.Detached(ctx)
	defer cancel()
	if err := complete(ctx); err != nil {
		cat.Logger.WarnContext(ctx, failure, slog.String("coupon", couponID), slog.Any("error", err))
	}
}

func notFound(id string) error { return coupon.Reject(id, coupon.CouponNotFound, coupon.Params{}) }
