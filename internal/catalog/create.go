package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
)

// Create makes a coupon and its mirror. If the mirror fails, Create returns the coupon that it has
// stored and removes again, together with the error. After any other error, the coupon is zero.
func (cat *Catalog) Create(ctx context.Context, d coupon.Draft) (coupon.Coupon, error) {
	by := coupon.Creation{ID: cat.NewID(coupon.IDPrefix), At: cat.Now(), Currency: cat.Currency, Location: cat.Location}
	if !coupon.IsID(by.ID) { // no fault of the draft, and so no *validation.Error
		return coupon.Coupon{}, fmt.Errorf("make a coupon's ID: the maker of WithIDs returned %q, which is none", by.ID)
	}
	c, err := coupon.New(d, by)
	if err != nil {
		return coupon.Coupon{}, cat.addMirrorFaults(d, by, err)
	}
	if err := cat.checkMirrorable(c); err != nil {
		return coupon.Coupon{}, err
	}
	c.State = coupon.Pending
	if err := cat.storeNew(ctx, c); err != nil {
		return coupon.Coupon{}, err
	}
	mirrored, err := cat.mirror(ctx, c, cat.Mirrors.EnsureMirror)
	if err != nil {
		cat.undoCreate(ctx, c)
		return c, codeTaken(err)
	}
	return mirrored, nil
}

// storeNew stores the pending coupon. A rejection names the coupon that has the code. If that coupon
// is being deleted, storeNew finishes its deletion and tries again.
func (cat *Catalog) storeNew(ctx context.Context, c coupon.Coupon) error {
	for range maxAttempts {
		_, err := cat.save(ctx, store.CreateCoupon, c)
		if !errors.Is(err, coupon.ErrCodeTaken) {
			return err
		}
		holder, err := cat.holder(ctx, c.Code)
		if err != nil {
			return err
		}
		if holder != "" {
			return coupon.Reject(holder, coupon.CodeTaken, coupon.Params{})
		}
	}
	return coupon.Reject("", coupon.CodeTaken, coupon.Params{}) // each attempt met another coupon with the code
}

// holder returns the ID of the coupon that has the code, or "" if the code has become free. It first
// finishes the deletion of a coupon with the code.
func (cat *Catalog) holder(ctx context.Context, code coupon.Code) (string, error) {
	found, err := store.Find(ctx, cat.Store, store.LookUp{Names: store.ByCode(code)})
	var unreadable *store.UnreadableError
	switch {
	case errors.Is(err, coupon.ErrNotFound):
		return "", nil
	case errors.As(err, &unreadable):
		return unreadable.ID, nil
	case err != nil:
		return "", fmt.Errorf("find the coupon of a taken code: %w", err)
	case found.Coupon.State != coupon.Deleting:
		return found.Coupon.ID, nil
	}
	if _, err := cat.finishDelete(ctx, found.Coupon); err != nil {
		return found.Coupon.ID, nil //nolint:nilerr // the coupon still has the code
	}
	return "", nil
}

// codeTaken turns the processor's ErrCodeTaken into the rejection that administrators know. The
// rejection names no coupon, because no coupon of the store has the code.
func codeTaken(err error) error {
	if errors.Is(err, processor.ErrCodeTaken) {
		return fmt.Errorf("%w: %w", coupon.Reject("", coupon.CodeTaken, coupon.Params{}), err)
	}
	return err
}

// undoCreate removes the coupon of a failed Create. If the store confirmed the mirror but its answer
// was lost, the coupon stays active. Nobody can then tell the failed Create from a successful one.
func (cat *Catalog) undoCreate(ctx context.Context, c coupon.Coupon) {
	cat.finish(ctx, c.ID, "a failed creation is left to the reconcile", func(ctx context.Context) error {
		_, err := cat.remove(ctx, c)
		return err
	})
}
