package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/internal/payments"
	"github.com/couponkit/couponkit/internal/settle"
)

// catalog returns the administration of the coupons in the service's store.
func (s *Service) catalog() *catalog.Catalog {
	return &catalog.Catalog{
		Store: s.store, InTransaction: s.inTransaction,
		Mirrors: s.processor, Abilities: s.abilities,
		ForgetMirror: s.mirrors.Forget, BadAnswer: payments.BadAnswer,
		Now: s.now, NewID: s.id, Actor: actorOf, Detached: detached, Logger: s.logger,
		Forms: s.forms, Currency: s.currency, Location: s.location,
	}
}

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
	var attempt settle.Attempt
	defer s.observed(ctx, OpCreate, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	c, err = s.catalog().Create(ctx, d)
	attempt.CouponID = c.ID
	if err != nil {
		return coupon.Coupon{}, err
	}
	return c, nil
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
	attempt := settle.Attempt{CouponID: id}
	defer s.observed(ctx, OpUpdate, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	return s.catalog().Update(ctx, id, p)
}

// SetActive switches a coupon on or off in the store and at the processor (specification 3.1, 4.3).
// Open payment sessions stay as they are. If the coupon already has the requested state, SetActive
// works like a call of [Service.Update] that changes nothing.
//
// SetActive returns coupon.ErrNotFound, store.ErrStaleRevision, coupon.ErrCodeTaken,
// [ErrInTransaction] or an error of the processor, as Update does. If the processor fails, SetActive undoes its change in the store.
func (s *Service) SetActive(ctx context.Context, id string, active bool) (c coupon.Coupon, err error) {
	attempt := settle.Attempt{CouponID: id}
	defer s.observed(ctx, OpSetActive, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return coupon.Coupon{}, err
	}
	return s.catalog().SetActive(ctx, id, active)
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
	attempt := settle.Attempt{CouponID: id}
	defer s.observed(ctx, OpDelete, &attempt, &err)()
	if err = s.changesOutside(); err != nil {
		return err
	}
	return s.catalog().Delete(ctx, id)
}
