package couponkit

import (
	"context"
	"iter"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/settle"
	"github.com/couponkit/couponkit/store"
)

// AddCodes adds a batch of codes to a coupon: all of them, or none. A draft without a Code gets a
// generated one, in the shape of the batch. Customers can use the codes as soon as AddCodes has
// succeeded. A call with the ID of an earlier batch, the same shape and the same drafts returns the
// codes of the first call, also after the codes have expired. AddCodes asks no processor: the coupon's
// mirror stays as it is.
//
// AddCodes returns these errors:
//
//   - A [*validation.Error] names every invalid field, such as codes[3].owner or batch.shape.prefix.
//     A code that is in the call twice is invalid.
//   - A [*coupon.TakenError] lists the codes that a coupon has. It matches coupon.ErrCodeTaken.
//   - coupon.ErrNotFound means that the coupon is unknown, or is being deleted.
//   - store.ErrKeyReused means that the coupon has a batch with this ID and another shape or
//     other drafts.
//   - All other errors come from the store or the context.
func (s *Service) AddCodes(
	ctx context.Context, couponID string, b coupon.Batch, drafts []coupon.CodeDraft,
) (codes []coupon.IssuedCode, err error) {
	attempt := settle.Attempt{CouponID: couponID}
	defer s.observed(ctx, OpAddCodes, &attempt, &err)()
	return s.catalog().AddCodes(ctx, couponID, b, drafts)
}

// UpdateCode changes the state, the limit, the owner or the expiry of one code of a batch. Orders that
// use the code stay as they are. UpdateCode accepts the same spellings as [Service.Find], but no ID. A
// patch that changes nothing keeps the code's Revision and UpdatedAt.
//
// UpdateCode returns these errors:
//
//   - A [*validation.Error] names every invalid field. All fields of a plain code are immutable.
//   - coupon.ErrNotFound means that no coupon has the code, or that the coupon is being deleted.
//   - store.ErrStaleRevision means that the patch names an outdated revision of the code, or that five
//     attempts failed because of concurrent changes.
func (s *Service) UpdateCode(ctx context.Context, code string, p coupon.CodePatch) (c coupon.IssuedCode, err error) {
	var attempt settle.Attempt
	defer s.observed(ctx, OpUpdateCode, &attempt, &err)()
	c, err = s.catalog().UpdateCode(ctx, code, p)
	attempt.CouponID = c.CouponID
	if err != nil {
		return coupon.IssuedCode{}, err
	}
	return c, nil
}

// FindCode returns a code with its counts, for administrators. FindCode accepts the same spellings of a
// code as [Service.Validate], and no ID. FindCode returns coupon.ErrCodeRequired if the text is empty,
// and coupon.ErrNotFound if no coupon has the code.
func (s *Service) FindCode(ctx context.Context, code string) (coupon.IssuedCode, error) {
	return s.catalog().FindCode(ctx, code)
}

// Codes returns the codes of a coupon, sorted by the bytes of their keys, beginning after
// [store.CodeList].After. Codes reads one page at a time. After an error, the sequence ends: a
// [*validation.Error] if a field of the list is out of bounds, or an error of the store.
func (s *Service) Codes(ctx context.Context, list store.CodeList) iter.Seq2[coupon.IssuedCode, error] {
	return s.catalog().Codes(ctx, list)
}

// ListCodes returns a page of the codes of a coupon; see [store.CodeList]. ListCodes returns a
// [*validation.Error] if a field of the list is out of bounds.
func (s *Service) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return s.store.ListCodes(ctx, list)
}
