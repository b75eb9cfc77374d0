package couponkit

import (
	"context"
	"iter"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/store"
)

// CreateCodes generates up to [coupon.MaxBatchSize] codes and adds them to a coupon as one batch, a part of
// [store.MaxNewCodes] at a time. Customers can use the codes of a part at once. CreateCodes needs the same memory for any
// number of codes. It calls progress with the batch after each part; progress may be nil.
//
// After an error or a crash, repeat the call with the same draft: it adds the codes that are missing. Several calls may
// run at once. The batch ends with exactly the number of codes that the draft asks for, each of which is different. Read
// the codes with [Service.Codes].
//
// CreateCodes returns the batch as it is, together with these errors:
//
//   - A [*validation.Error] names every invalid field, such as count or shape.symbols. So few symbols
//     that somebody could guess a code are invalid; see the Policy of package codes.
//   - coupon.ErrNotFound means that the coupon is unknown, or is being deleted.
//   - store.ErrKeyReused means that the coupon has a batch with this ID and another shape, count, limit or expiry.
//   - All other errors come from the store or the context.
func (s *Service) CreateCodes(ctx context.Context, couponID string, d coupon.BatchDraft, progress func(coupon.IssuedBatch)) (b coupon.IssuedBatch, err error) {
	attempt := settle.Attempt{CouponID: couponID}
	defer s.observed(ctx, OpCreateCodes, &attempt, &err)()
	return s.catalog().CreateCodes(ctx, couponID, d, progress)
}

// Batches returns the batches of a coupon with their counts, sorted by the bytes of their IDs, beginning after
// [store.BatchList].After. After an error, the sequence ends: a [*validation.Error] if a field of the list is out of
// bounds, or an error of the store.
func (s *Service) Batches(ctx context.Context, list store.BatchList) iter.Seq2[coupon.IssuedBatch, error] {
	return s.catalog().Batches(ctx, list)
}

// SetBatchActive switches all codes of a batch on or off, [coupon.MaxCodes] at a time, and returns the batch afterwards.
// Orders that use the codes stay as they are. Repeat the call after an error.
//
// SetBatchActive returns coupon.ErrNotFound if the coupon has no such batch, or an error of the store.
func (s *Service) SetBatchActive(ctx context.Context, couponID, batchID string, active bool) (b coupon.IssuedBatch, err error) {
	attempt := settle.Attempt{CouponID: couponID}
	defer s.observed(ctx, OpChangeBatch, &attempt, &err)()
	return s.catalog().SetBatchActive(ctx, couponID, batchID, active)
}

// RemoveUnusedCodes removes the codes of a batch that have no use, [coupon.MaxCodes] at a time, and returns the batch
// afterwards. A code whose use was cancelled counts as unused. Other coupons may have a removed code then. Repeat the call
// after an error.
//
// RemoveUnusedCodes returns coupon.ErrNotFound if the coupon has no such batch, or an error of the store.
func (s *Service) RemoveUnusedCodes(ctx context.Context, couponID, batchID string) (b coupon.IssuedBatch, err error) {
	attempt := settle.Attempt{CouponID: couponID}
	defer s.observed(ctx, OpChangeBatch, &attempt, &err)()
	return s.catalog().RemoveCodes(ctx, couponID, batchID)
}

// AssignCodes gives each owner a code of a batch, and yields one code for each owner, in their order. An owner who has a
// code of the batch keeps it, so that the call can be repeated. Every other owner gets the next code that is active and
// valid, and has no owner and no use. Codes are assigned while the sequence is read, [coupon.MaxCodes] at a time.
//
// After an error, the sequence ends:
//
//   - A [*validation.Error] names an invalid owner.
//   - coupon.ErrNotFound means that the coupon has no such batch.
//   - store.ErrNoCodesLeft means that the batch has too few codes for the next owners.
//   - All other errors come from the store or the context.
func (s *Service) AssignCodes(ctx context.Context, couponID, batchID string, owners iter.Seq[coupon.Owner]) iter.Seq2[coupon.IssuedCode, error] {
	return observedSequence(ctx, s, OpAssignCodes, couponID, s.catalog().AssignCodes(ctx, couponID, batchID, owners))
}

// ImportCodes adds the codes of rows to a batch of a coupon, [store.MaxNewCodes] at a time, and yields each row with its
// verdict, in order. [codecsv.Reader.Rows] reads such rows from a file. A code that a coupon has already stays as it is, so
// that a file can be imported again, and so that two imports may run at once. Codes are added while the sequence is read, and
// rows are read ahead while codes are added, unless the store works in a transaction of the host. A row whose code was used
// before keeps the uses that are left; see [codecsv.Row.Remaining].
//
// A row is refused if the batch has its code with another owner, limit, expiry or state, from an earlier row or an earlier
// call. Once the code was changed, for example by AssignCodes, its state is not compared, and its owner only if the row
// names one. An export of the batch may be imported again after uses of its codes.
//
// A refused row does not end the sequence. After one of these errors, the sequence ends, and the rows before the error that have
// no verdict were not added:
//
//   - An error of rows, such as a [*codecsv.Error].
//   - A [*validation.Error] means that the ID of the batch is invalid.
//   - coupon.ErrNotFound means that the coupon is unknown, or is being deleted.
//   - store.ErrKeyReused means that the codes of the batch were not imported.
//   - All other errors come from the store or the context.
func (s *Service) ImportCodes(ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error]) iter.Seq2[codecsv.Imported, error] {
	return observedSequence(ctx, s, OpImportCodes, couponID, s.catalog().ImportCodes(ctx, couponID, batchID, rows))
}

// observedSequence reports the reading of a sequence as one attempt.
func observedSequence[T any](ctx context.Context, s *Service, op Operation, couponID string, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		attempt, end := settle.Attempt{CouponID: couponID}, error(nil)
		defer s.observed(ctx, op, &attempt, &end)()
		for item, err := range all {
			if end = err; !yield(item, err) {
				return
			}
		}
	}
}
