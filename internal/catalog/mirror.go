package catalog

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// writeMirror is a method of [processor.Mirror] that writes the mirror of a coupon: name, terms and
// state.
type writeMirror func(context.Context, coupon.Coupon) (coupon.Mirror, error)

// mirror writes the mirror of the coupon and records it in the store.
func (cat *Catalog) mirror(ctx context.Context, c coupon.Coupon, write writeMirror) (coupon.Coupon, error) {
	m, err := write(ctx, c)
	cat.ForgetMirror(c.ID)
	if err != nil {
		return coupon.Coupon{}, fmt.Errorf("mirror coupon %s: %w", c.ID, err)
	}
	m.Revision = c.Revision
	c.Mirror = m
	confirmed, err := cat.save(ctx, store.ConfirmMirror, c)
	switch {
	case errors.Is(err, validation.ErrInvalid):
		err = fmt.Errorf("mirror coupon %s: %w", c.ID, cat.BadAnswer(err))
	case errors.Is(err, coupon.ErrNotFound), errors.Is(err, store.ErrStaleRevision):
		cat.removeUnneeded(ctx, c)
	}
	return confirmed, err
}

func (cat *Catalog) removeMirror(ctx context.Context, c coupon.Coupon) error {
	err := cat.Mirrors.RemoveMirror(ctx, c)
	cat.ForgetMirror(c.ID)
	if err != nil {
		return fmt.Errorf("remove mirror of coupon %s: %w", c.ID, err)
	}
	return nil
}

// removeUnneeded removes a mirror that was written while its coupon was being deleted. The deletion may
// have removed the mirror before that write.
func (cat *Catalog) removeUnneeded(ctx context.Context, c coupon.Coupon) {
	cat.finish(ctx, c.ID, "the mirror of a deleted coupon is left to the reconcile", func(ctx context.Context) error {
		now, err := cat.stored(ctx, c.ID)
		switch {
		case err == nil && now.State != coupon.Deleting:
			return nil
		case err == nil, errors.Is(err, coupon.ErrNotFound):
			return cat.removeMirror(ctx, c)
		}
		return err
	})
}

// mirrorNewest writes the mirror of the newest revision, and returns that revision. It is called after
// a concurrent change of the coupon, because the processor may have received the older terms last. If
// the mirror cannot be written, mirrorNewest marks it as out of date.
func (cat *Catalog) mirrorNewest(ctx context.Context, id string) (newest coupon.Coupon, err error) {
	for range maxAttempts {
		if newest, err = cat.Get(ctx, id); err != nil {
			break
		}
		var mirrored coupon.Coupon
		if mirrored, err = cat.mirror(ctx, newest, cat.Mirrors.UpdateMirror); err == nil {
			return mirrored, nil
		}
		if !errors.Is(err, store.ErrStaleRevision) {
			break
		}
	}
	if !errors.Is(err, coupon.ErrNotFound) {
		cat.finish(ctx, id, "the mirror of a changed coupon may be out of date", func(ctx context.Context) error {
			return cat.markOutdated(ctx, id)
		})
	}
	return newest, err
}

// markOutdated raises the revision of the coupon, so that Reconcile updates the mirror.
func (cat *Catalog) markOutdated(ctx context.Context, id string) (err error) {
	for range maxAttempts {
		var newest coupon.Coupon
		if newest, err = cat.Get(ctx, id); err != nil {
			return err
		}
		if _, err = cat.save(ctx, store.EditCoupon, newest); !errors.Is(err, store.ErrStaleRevision) {
			return err
		}
	}
	return err
}
