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
	id, err := cat.NewID(coupon.IDPrefix)
	if err != nil {
		return coupon.Coupon{}, err
	}
	by := coupon.Creation{ID: id, At: cat.Now(), Currency: cat.Currency, Location: cat.Location}
	c, err := coupon.New(d, by)
	if err != nil {
		return coupon.Coupon{}, cat.addMirrorFaults(d, by, err)
	}
	if err := cat.checkHandmade(c.Code); err != nil {
		return coupon.Coupon{}, err
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
		// If the store recorded the mirror and the answer was lost, the coupon stays active. Such a
		// coupon looks like a successful Create.
		cat.finish(ctx, c.ID, "a failed creation is left to the reconcile", func(ctx context.Context) error {
			return cat.remove(ctx, c)
		})
		return c, codeTaken(err)
	}
	return mirrored, nil
}

// storeNew stores the pending coupon. If another coupon has the code, the rejection names that coupon.
// If that coupon is being deleted, storeNew finishes the deletion and tries again.
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
	return coupon.Reject("", coupon.CodeTaken, coupon.Params{}) // another coupon had the code at each attempt
}

// holder returns the ID of the coupon that has the code. It first finishes the deletion of such a
// coupon. It returns "" if the code is free.
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
	if err := cat.finishDelete(ctx, found.Coupon); err != nil {
		return found.Coupon.ID, nil //nolint:nilerr // the coupon still has the code
	}
	return "", nil
}

// codeTaken converts the processor's ErrCodeTaken to the rejection for administrators. The rejection
// names no coupon, because no coupon of the store has the code.
func codeTaken(err error) error {
	if errors.Is(err, processor.ErrCodeTaken) {
		return fmt.Errorf("%w: %w", coupon.Reject("", coupon.CodeTaken, coupon.Params{}), err)
	}
	return err
}

// Update changes the editable fields of a coupon in the store and at the processor.
func (cat *Catalog) Update(ctx context.Context, id string, p coupon.Patch) (coupon.Coupon, error) {
	return cat.change(ctx, id, cat.Mirrors.UpdateMirror, func(c coupon.Coupon) (coupon.Coupon, error) {
		if revision, given := p.Revision.Value(); given && revision != c.Revision {
			return coupon.Coupon{}, store.ErrStaleRevision
		}
		changed, err := c.Apply(p, coupon.Edit{At: cat.Now(), Location: cat.Location})
		if err != nil {
			return coupon.Coupon{}, err
		}
		return changed, cat.checkMirrorable(changed)
	})
}

// SetActive switches a coupon on or off in the store and at the processor.
func (cat *Catalog) SetActive(ctx context.Context, id string, active bool) (coupon.Coupon, error) {
	return cat.change(ctx, id, cat.Mirrors.SetMirrorActive, func(c coupon.Coupon) (coupon.Coupon, error) {
		c.State, c.UpdatedAt = coupon.Inactive, cat.Now()
		if active {
			c.State = coupon.Active
		}
		return c, nil
	})
}

// change applies a change to the coupon, stores the coupon, and updates its mirror. If the processor
// fails, change undoes the change in the store.
func (cat *Catalog) change(
	ctx context.Context, id string, write writeMirror, apply func(coupon.Coupon) (coupon.Coupon, error),
) (coupon.Coupon, error) {
	before, after, err := cat.storeChange(ctx, id, apply)
	if err != nil {
		return coupon.Coupon{}, err
	}
	unchanged := after.Revision == before.Revision
	if unchanged && after.Mirrored() {
		return after, nil
	}
	mirrored, err := cat.mirror(ctx, after, write)
	switch {
	case err == nil:
		return mirrored, nil
	case errors.Is(err, store.ErrStaleRevision):
		newest, err := cat.mirrorNewest(ctx, after.ID)
		if newest.ID == "" {
			return after, err
		}
		return newest, nil // the change is stored, even if the mirror is out of date
	case errors.Is(err, coupon.ErrNotFound): // there is nothing to undo
		return coupon.Coupon{}, err
	case !unchanged:
		cat.undoChange(ctx, before, after)
	}
	return coupon.Coupon{}, codeTaken(err)
}

// storeChange applies a change to the stored coupon. If nothing changes, nothing is stored, and the
// revision stays the same.
func (cat *Catalog) storeChange(
	ctx context.Context, id string, apply func(coupon.Coupon) (coupon.Coupon, error),
) (before, after coupon.Coupon, err error) {
	for range maxAttempts {
		if before, err = cat.Get(ctx, id); err != nil {
			return before, after, err
		}
		if after, err = apply(before); err != nil || sameContent(before, after) {
			return before, before, err
		}
		after, err = cat.save(ctx, store.EditCoupon, after)
		if !errors.Is(err, store.ErrStaleRevision) {
			return before, after, err
		}
	}
	return before, after, err
}

// sameContent compares the fields that an administrator sets: name, description, state and terms.
func sameContent(a, b coupon.Coupon) bool {
	return a.Name == b.Name && a.Description == b.Description && a.State == b.State && a.Terms.Equal(b.Terms)
}

// undoChange restores the coupon as it was before a change. The mirror stays marked as out of date,
// because the outcome at the processor is unknown. Reconcile repairs the mirror.
func (cat *Catalog) undoChange(ctx context.Context, before, after coupon.Coupon) {
	cat.finish(ctx, before.ID, "a change is left to the reconcile", func(ctx context.Context) error {
		before.Revision = after.Revision
		_, err := cat.save(ctx, store.EditCoupon, before)
		if errors.Is(err, store.ErrStaleRevision) {
			err = cat.markOutdated(ctx, before.ID)
		}
		return err
	})
}

// Delete removes a coupon with its codes and its mirror.
func (cat *Catalog) Delete(ctx context.Context, id string) (err error) {
	for range maxAttempts {
		var c coupon.Coupon
		if c, err = cat.stored(ctx, id); err != nil {
			return err
		}
		if err = cat.remove(ctx, c); !errors.Is(err, store.ErrStaleRevision) {
			return err
		}
	}
	return err
}

// remove marks the coupon as being deleted and finishes the deletion.
func (cat *Catalog) remove(ctx context.Context, c coupon.Coupon) (err error) {
	if c.State != coupon.Deleting {
		c.State, c.UpdatedAt = coupon.Deleting, cat.Now()
		if c, err = cat.save(ctx, store.EditCoupon, c); err != nil {
			return err
		}
	}
	return cat.finishDelete(ctx, c)
}

// finishDelete removes the mirror and then the coupon. Another call may remove the coupon first.
func (cat *Catalog) finishDelete(ctx context.Context, c coupon.Coupon) error {
	if err := cat.removeMirror(ctx, c); err != nil {
		return err
	}
	err := store.ErrCodesLeft
	for errors.Is(err, store.ErrCodesLeft) && ctx.Err() == nil {
		_, err = cat.save(ctx, store.DeleteCoupon, c)
	}
	if errors.Is(err, coupon.ErrNotFound) {
		return nil
	}
	return err
}
