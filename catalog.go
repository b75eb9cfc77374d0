package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// changeAttempts bounds how often a change is tried again because somebody else
// has changed the coupon in between.
const changeAttempts = 5

// Create makes a coupon and its mirror (specification 4.2). A mirror is the processor's own copy of
// a coupon. The coupon is active as soon as Create has succeeded. If the draft names no currency,
// the coupon gets the currency of [WithCurrency]. If the draft has no Code, customers reach the coupon
// by the codes of its batches alone; see [Service.AddCodes].
//
// Some processors cannot express every coupon. Such a coupon is activated without a mirror. Its
// Mirror.Unsupported is then true, and the service does not check its mirror.
//
// Create returns these errors:
//
//   - A [*validation.Error] names every field of the draft that is invalid or that the
//     processor refuses.
//   - A [*coupon.Rejection] that matches coupon.ErrCodeTaken means that the code is in use. The
//     rejection's CouponID is the ID of the coupon that has the code. CouponID is empty if the code
//     is taken only at the processor.
//   - [ErrUnavailable] or another error of the processor means that the creation failed. Create or
//     a later [Service.Reconcile] removes the unfinished coupon.
//   - [ErrInTransaction] means that the store works inside a transaction of the host. A rollback
//     would leave a mirror that holds the code.
//   - All other errors come from the store. After an error of the store, the coupon may already be
//     active. Look up the coupon's code with [Service.Find] before you repeat the call. Without a
//     code, look for its name with [Service.Coupons].
func (s *Service) Create(ctx context.Context, d coupon.Draft) (c coupon.Coupon, err error) {
	var attempt Attempt
	defer s.observed(ctx, OpCreate, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	by := coupon.Creation{ID: s.newID(coupon.IDPrefix), At: s.now(), Currency: s.currency, Location: s.location}
	if !coupon.IsID(by.ID) { // no fault of the draft, and so no error that looks like one
		return coupon.Coupon{}, fmt.Errorf("make a coupon's ID: the maker of WithIDs returned %q, which is none", by.ID)
	}
	c, err = coupon.New(d, by)
	if err != nil {
		return coupon.Coupon{}, s.addMirrorFaults(d, by, err)
	}
	if err := s.mirrorable(c); err != nil {
		return coupon.Coupon{}, err
	}
	c.State = coupon.Pending
	if err := s.claim(ctx, c); err != nil {
		return coupon.Coupon{}, err
	}
	attempt.CouponID = c.ID
	mirrored, err := s.mirror(ctx, c, s.processor.EnsureMirror)
	if err != nil {
		s.undoCreate(ctx, c)
		return coupon.Coupon{}, taken(err)
	}
	return mirrored, nil
}

// claim stores the pending coupon. A refusal names the coupon that has the code. Where that
// coupon is being deleted, claim finishes the deletion and tries again.
func (s *Service) claim(ctx context.Context, c coupon.Coupon) error {
	for range changeAttempts {
		_, err := s.saveCoupon(ctx, store.CreateCoupon, c)
		if !errors.Is(err, coupon.ErrCodeTaken) {
			return err
		}
		holder, err := s.holder(ctx, c.Code)
		if err != nil {
			return err
		}
		if holder != "" {
			return coupon.Reject(holder, coupon.CodeTaken, coupon.Params{})
		}
	}
	return coupon.Reject("", coupon.CodeTaken, coupon.Params{}) // held by one coupon after another
}

// holder returns the ID of the coupon that has the code, or "" when the code is free by now.
func (s *Service) holder(ctx context.Context, code coupon.Code) (string, error) {
	found, err := store.Find(ctx, s.store, store.LookUp{Names: store.ByCode(code)})
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
	if _, err := s.finishDelete(ctx, found.Coupon); err != nil {
		return found.Coupon.ID, nil //nolint:nilerr // the code is still taken, and that is the answer
	}
	return "", nil
}

// taken turns a code that is active at the processor for something else into the rejection
// that administrators know. No coupon of the store has the code, so the rejection names none.
func taken(err error) error {
	if errors.Is(err, processor.ErrCodeTaken) {
		return fmt.Errorf("%w: %w", coupon.Reject("", coupon.CodeTaken, coupon.Params{}), err)
	}
	return err
}

// mirror brings the processor's copy to the coupon and records it.
func (s *Service) mirror(
	ctx context.Context, c coupon.Coupon, bring func(context.Context, coupon.Coupon) (coupon.Mirror, error),
) (coupon.Coupon, error) {
	m, err := bring(ctx, c)
	s.mirrors.forget(c.ID)
	if err != nil {
		return coupon.Coupon{}, fmt.Errorf("mirror coupon %s: %w", c.ID, err)
	}
	m.Revision = c.Revision
	c.Mirror = m
	confirmed, err := s.saveCoupon(ctx, store.ConfirmMirror, c)
	switch {
	case errors.Is(err, validation.ErrInvalid):
		err = fmt.Errorf("mirror coupon %s: %w", c.ID, badAnswer(err))
	case errors.Is(err, coupon.ErrNotFound), errors.Is(err, store.ErrStaleRevision):
		s.unmirror(ctx, c)
	}
	return confirmed, err
}

// unmirror removes the mirror of a coupon that somebody has deleted while it was being
// mirrored: the deletion has perhaps removed it before it was made again, and nobody
// would come back for it. What cannot be removed now is left to the reconcile.
func (s *Service) unmirror(ctx context.Context, c coupon.Coupon) {
	ctx, cancel := detached(ctx)
	defer cancel()
	now, err := s.stored(ctx, c.ID)
	switch {
	case err == nil && now.State != coupon.Deleting:
		return
	case err == nil, errors.Is(err, coupon.ErrNotFound):
		err = s.processor.RemoveMirror(ctx, c)
	}
	if err != nil {
		s.logger.WarnContext(ctx, "the mirror of a deleted coupon is left to the reconcile",
			slog.String("coupon", c.ID), slog.Any("error", err))
	}
}

// undoCreate removes what a failed Create has made. What it cannot remove now is left to a
// reconcile, but for a coupon whose mirror was confirmed in an answer that was lost: that one
// is active by then, and nobody can tell it from one whose creation succeeded.
func (s *Service) undoCreate(ctx context.Context, c coupon.Coupon) {
	ctx, cancel := detached(ctx)
	defer cancel()
	if _, err := s.remove(ctx, c); err != nil {
		s.logger.WarnContext(ctx, "a failed creation is left to the reconcile",
			slog.String("coupon", c.ID), slog.Any("error", err))
	}
}

// Update changes the editable fields of a coupon in the store and at the processor (specification
// 4.3).
//
// A patch that changes nothing keeps the coupon's Revision and UpdatedAt. If the coupon's mirror is
// out of date, a patch that changes nothing still updates the mirror. A mirror is the processor's
// own copy of a coupon.
//
// Update returns these errors:
//
//   - A [*validation.Error] names every field of the patch that is invalid or that the
//     processor cannot mirror.
//   - coupon.ErrNotFound means that the coupon is unknown.
//   - store.ErrStaleRevision means that the patch names an outdated revision of the coupon. Update
//     also returns store.ErrStaleRevision after five attempts that failed because of concurrent
//     changes.
//   - A [*coupon.Rejection] that matches coupon.ErrCodeTaken means that the code is already in use
//     at the processor.
//   - [ErrUnavailable] or another error of the processor means that the mirror could not be
//     updated.
//   - [ErrInTransaction] means that the store works inside a transaction of the host. After a
//     rollback, another change would have the same revision as the mirror.
//
// If the processor fails, Update undoes the change in the store. The coupon then has its old
// content, but its revision is two higher than before. Before you repeat a patch that names a
// revision, read the coupon again. If a concurrent call has changed the coupon again, Update keeps
// both changes and [Service.Reconcile] updates the mirror.
func (s *Service) Update(ctx context.Context, id string, p coupon.Patch) (c coupon.Coupon, err error) {
	attempt := Attempt{CouponID: id}
	defer s.observed(ctx, OpUpdate, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	return s.change(ctx, id, s.processor.UpdateMirror, func(c coupon.Coupon) (coupon.Coupon, error) {
		if revision, given := p.Revision.Value(); given && revision != c.Revision {
			return coupon.Coupon{}, store.ErrStaleRevision
		}
		changed, err := c.Apply(p, coupon.Edit{At: s.now(), Location: s.location})
		if err != nil {
			return coupon.Coupon{}, err
		}
		return changed, s.mirrorable(changed)
	})
}

// SetActive switches a coupon on or off in the store and at the processor (specification 3.1, 4.3).
// Open payment sessions stay as they are. If the coupon already has the requested state, SetActive
// works like a call of [Service.Update] that changes nothing.
//
// SetActive returns coupon.ErrNotFound, store.ErrStaleRevision, coupon.ErrCodeTaken,
// [ErrInTransaction] or an error of the processor, as Update does. If the processor fails, SetActive undoes its change in the store.
func (s *Service) SetActive(ctx context.Context, id string, active bool) (c coupon.Coupon, err error) {
	attempt := Attempt{CouponID: id}
	defer s.observed(ctx, OpSetActive, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	return s.change(ctx, id, s.processor.SetMirrorActive, func(c coupon.Coupon) (coupon.Coupon, error) {
		c.State, c.UpdatedAt = coupon.Inactive, s.now()
		if active {
			c.State = coupon.Active
		}
		return c, nil
	})
}

// change applies a change to the coupon, stores it, and brings the mirror along. If
// the mirror cannot follow, the change is taken back.
func (s *Service) change(
	ctx context.Context, id string,
	bring func(context.Context, coupon.Coupon) (coupon.Mirror, error),
	apply func(coupon.Coupon) (coupon.Coupon, error),
) (coupon.Coupon, error) {
	before, after, err := s.storeChange(ctx, id, apply)
	if err != nil {
		return coupon.Coupon{}, err
	}
	unchanged := after.Revision == before.Revision
	if unchanged && after.Mirrored() {
		return after, nil
	}
	mirrored, err := s.mirror(ctx, after, bring)
	switch {
	case err == nil:
		return mirrored, nil
	case errors.Is(err, store.ErrStaleRevision):
		newest, err := s.catchUp(ctx, after.ID)
		if newest.ID == "" {
			return after, err
		}
		return newest, nil // the change is stored, whatever its mirror shows
	case errors.Is(err, coupon.ErrNotFound): // there is nothing to take back
		return coupon.Coupon{}, err
	case !unchanged:
		s.takeBack(ctx, before, after)
	}
	return coupon.Coupon{}, taken(err)
}

// catchUp brings the mirror to the newest revision, which it returns. Somebody has
// changed the coupon once more, and has perhaps mirrored it before the older terms
// arrived at the processor. If that cannot be mended now, the mirror is marked as out of
// date.
func (s *Service) catchUp(ctx context.Context, id string) (newest coupon.Coupon, err error) {
	for range changeAttempts {
		if newest, err = s.Get(ctx, id); err != nil {
			break
		}
		var mirrored coupon.Coupon
		if mirrored, err = s.remirror(ctx, newest); err == nil {
			return mirrored, nil
		}
		if !errors.Is(err, store.ErrStaleRevision) {
			break
		}
	}
	if !errors.Is(err, coupon.ErrNotFound) {
		s.markOutdated(ctx, id)
	}
	return newest, err
}

// markOutdated lets the reconcile look at the mirror of a coupon that could not be brought up
// to date.
func (s *Service) markOutdated(ctx context.Context, id string) {
	ctx, cancel := detached(ctx)
	defer cancel()
	if err := s.outdate(ctx, id); err != nil {
		s.logger.WarnContext(ctx, "the mirror of a changed coupon may be out of date",
			slog.String("coupon", id), slog.Any("error", err))
	}
}

// storeChange applies a change to the stored coupon. A change that changes nothing is not
// stored, and the coupon keeps its revision.
func (s *Service) storeChange(
	ctx context.Context, id string, apply func(coupon.Coupon) (coupon.Coupon, error),
) (before, after coupon.Coupon, err error) {
	for range changeAttempts {
		if before, err = s.Get(ctx, id); err != nil {
			return before, after, err
		}
		if after, err = apply(before); err != nil || sameTerms(before, after) {
			return before, before, err
		}
		after, err = s.saveCoupon(ctx, store.EditCoupon, after)
		if !errors.Is(err, store.ErrStaleRevision) {
			return before, after, err
		}
	}
	return before, after, err
}

// sameTerms reports whether a change has left everything that an administrator decides.
func sameTerms(a, b coupon.Coupon) bool {
	return a.Name == b.Name && a.Description == b.Description && a.State == b.State && a.Terms.Equal(b.Terms)
}

// takeBack restores the coupon as it was before a change that the processor did
// not follow. The mirror stays marked as out of date: what the processor has done
// is not known, and a reconcile looks.
func (s *Service) takeBack(ctx context.Context, before, after coupon.Coupon) {
	ctx, cancel := detached(ctx)
	defer cancel()
	before.Revision = after.Revision
	_, err := s.saveCoupon(ctx, store.EditCoupon, before)
	if errors.Is(err, store.ErrStaleRevision) {
		err = s.outdate(ctx, before.ID)
	}
	if err != nil {
		s.logger.WarnContext(ctx, "a change is left to the reconcile",
			slog.String("coupon", before.ID), slog.Any("error", err))
	}
}

// outdate marks the mirror as out of date. Somebody has changed the coupon once more,
// and has perhaps mirrored it before the change arrived that seemed to have failed.
func (s *Service) outdate(ctx context.Context, id string) (err error) {
	for range changeAttempts {
		var newest coupon.Coupon
		if newest, err = s.Get(ctx, id); err != nil {
			return err
		}
		if _, err = s.saveCoupon(ctx, store.EditCoupon, newest); !errors.Is(err, store.ErrStaleRevision) {
			return err
		}
	}
	return err
}

// Delete removes a coupon with its codes and its mirror (specification 3.1). A mirror is the processor's own copy
// of a coupon. Customers cannot use the coupon while Delete removes the mirror. After the deletion,
// other coupons may have the same codes.
//
// Delete keeps the coupon's orders, their uses, and open payment sessions. Delete also keeps uses
// that were bought with points, although no checkout accepts these uses any more.
// [Service.CancelExchange] refunds points that a customer paid for a deleted coupon.
//
// Delete returns these errors:
//
//   - coupon.ErrNotFound means that the coupon is unknown.
//   - store.ErrStaleRevision means that five attempts failed because of concurrent changes.
//   - [ErrUnavailable] or another error of the processor means that the mirror could not be
//     removed. The coupon stays unusable until a second Delete or a [Service.Reconcile] finishes
//     the deletion.
//   - [ErrInTransaction] means that the store works inside a transaction of the host. A rollback
//     would leave a coupon without its mirror.
func (s *Service) Delete(ctx context.Context, id string) (err error) {
	attempt := Attempt{CouponID: id}
	defer s.observed(ctx, OpDelete, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return err
	}
	for range changeAttempts {
		var c coupon.Coupon
		if c, err = s.stored(ctx, id); err != nil {
			return err
		}
		if _, err = s.remove(ctx, c); !errors.Is(err, store.ErrStaleRevision) {
			return err
		}
	}
	return err
}

// remove marks the coupon as being deleted and finishes the deletion.
func (s *Service) remove(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	if c.State != coupon.Deleting {
		c.State, c.UpdatedAt = coupon.Deleting, s.now()
		var err error
		if c, err = s.saveCoupon(ctx, store.EditCoupon, c); err != nil {
			return c, err
		}
	}
	return s.finishDelete(ctx, c)
}

func (s *Service) finishDelete(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	err := s.processor.RemoveMirror(ctx, c)
	s.mirrors.forget(c.ID)
	if err != nil {
		return c, fmt.Errorf("remove mirror of coupon %s: %w", c.ID, err)
	}
	err = store.ErrCodesLeft
	for errors.Is(err, store.ErrCodesLeft) && ctx.Err() == nil {
		_, err = s.saveCoupon(ctx, store.DeleteCoupon, c)
	}
	if errors.Is(err, coupon.ErrNotFound) {
		return c, nil // somebody else has finished it
	}
	return c, err
}

// stored returns the whole coupon, in whatever state, or coupon.ErrNotFound.
func (s *Service) stored(ctx context.Context, id string) (coupon.Coupon, error) {
	if id == "" {
		return coupon.Coupon{}, coupon.Reject("", coupon.CouponNotFound, coupon.Params{})
	}
	found, err := store.Find(ctx, s.store, store.LookUp{Names: store.ByID(id), Whole: true})
	return found.Coupon, err
}

// saveCoupon returns the coupon as stored, with the allow-list of c: the store's answer may
// only tell how many addresses it has.
func (s *Service) saveCoupon(ctx context.Context, kind store.ChangeKind, c coupon.Coupon) (coupon.Coupon, error) {
	saved, err := s.store.SaveCoupon(ctx, store.CouponChange{Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, By: actorOf(ctx), At: s.now()})
	if err == nil {
		saved.AllowedUserEmails = c.AllowedUserEmails
	}
	return saved, err
}
