package couponkit

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/coupon"
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
	attempt := Attempt{CouponID: couponID}
	defer s.observed(ctx, OpAddCodes, &attempt, &err)()
	by := coupon.Edit{At: s.now(), Location: s.location}
	wanted, err := coupon.NewCodes(couponID, b, drafts, by)
	if err != nil {
		return nil, err
	}
	if !coupon.IsID(couponID) {
		return nil, coupon.Reject(couponID, coupon.CouponNotFound, coupon.Params{})
	}
	change := store.CodeChange{
		Kind: store.AddCodes, CouponID: couponID, Batch: b.ID, Fingerprint: batchFingerprint(b.Shape, wanted), By: actorOf(ctx), At: by.At,
	}
	for range changeAttempts {
		if change.Codes, err = withGenerated(b.Shape, wanted); err != nil {
			return nil, err
		}
		codes, err = s.store.SaveCodes(ctx, change)
		var taken *coupon.TakenError
		if !errors.As(err, &taken) {
			return codes, err
		}
		free, holderErr := s.freeTaken(ctx, taken, wanted)
		if holderErr != nil || !free {
			return nil, errors.Join(err, holderErr)
		}
	}
	return nil, err
}

// withGenerated returns the codes with generated keys where they have none.
func withGenerated(shape coupon.CodeShape, codes []coupon.IssuedCode) ([]coupon.IssuedCode, error) {
	codes = slices.Clone(codes)
	for i := range codes {
		if !codes[i].Key.IsZero() {
			continue
		}
		key, err := coupon.GenerateCode(rand.Reader, shape)
		if err != nil {
			return nil, fmt.Errorf("generate a code: %w", err)
		}
		codes[i].Key = key
	}
	return codes, nil
}

// freeTaken reports whether all taken codes are free by now, or are generated anew. It finishes
// deletions of coupons that hold them, which a transaction of the host cannot.
func (s *Service) freeTaken(ctx context.Context, taken *coupon.TakenError, wanted []coupon.IssuedCode) (bool, error) {
	for _, t := range taken.Taken {
		if wanted[t.Index].Key.IsZero() {
			continue
		}
		if s.changesOutside() != nil {
			return false, nil
		}
		holder, err := s.holder(ctx, t.Key)
		if err != nil || holder != "" {
			return false, err
		}
	}
	return true, nil
}

// batchFingerprint tells whether two batches are the same. Generated codes are left out.
func batchFingerprint(shape coupon.CodeShape, codes []coupon.IssuedCode) string {
	shape, _ = shape.Normalize() // coupon.NewCodes has checked it
	var d digest
	d.text("codes")
	d.text(shape.Prefix)
	d.number(int64(shape.Symbols))
	d.number(int64(len(codes)))
	for _, c := range codes {
		d.text(c.Key.String())
		d.text(c.Owner.String())
		d.number(c.MaxUses)
		d.number(c.ExpiresAt.UnixMicro())
	}
	return d.sum()
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
	var attempt Attempt
	defer s.observed(ctx, OpUpdateCode, &attempt, &err)()
	for range changeAttempts {
		if c, err = s.FindCode(ctx, code); err != nil {
			return coupon.IssuedCode{}, err
		}
		attempt.CouponID = c.CouponID
		if c, err = s.updateCode(ctx, c, p); !errors.Is(err, store.ErrStaleRevision) || p.Revision.Given() {
			return c, err
		}
	}
	return coupon.IssuedCode{}, err
}

func (s *Service) updateCode(ctx context.Context, before coupon.IssuedCode, p coupon.CodePatch) (coupon.IssuedCode, error) {
	if revision, given := p.Revision.Value(); given && revision != before.Revision {
		return coupon.IssuedCode{}, store.ErrStaleRevision
	}
	after, err := before.Apply(p, coupon.Edit{At: s.now(), Location: s.location})
	if err != nil {
		return coupon.IssuedCode{}, err
	}
	if after.Active == before.Active && after.MaxUses == before.MaxUses && after.Owner == before.Owner && after.ExpiresAt.Equal(before.ExpiresAt) {
		return before, nil
	}
	saved, err := s.store.SaveCodes(ctx, store.CodeChange{
		Kind: store.EditCode, CouponID: before.CouponID, Codes: []coupon.IssuedCode{after}, By: actorOf(ctx), At: after.UpdatedAt,
	})
	if err != nil {
		return coupon.IssuedCode{}, err
	}
	return saved[0], nil
}

// FindCode returns a code with its counts, for administrators. FindCode accepts the same spellings of a
// code as [Service.Validate], and no ID. FindCode returns coupon.ErrCodeRequired if the text is empty,
// and coupon.ErrNotFound if no coupon has the code.
func (s *Service) FindCode(ctx context.Context, code string) (coupon.IssuedCode, error) {
	found, err := s.findCode(ctx, code)
	switch {
	case err != nil:
		return coupon.IssuedCode{}, err
	case found.Code.Key.IsZero():
		return coupon.IssuedCode{}, unknownCode()
	}
	return found.Code, nil
}

// Codes returns the codes of a coupon, sorted by the bytes of their keys, beginning after
// [store.CodeList].After. Codes reads one page at a time. After an error, the sequence ends: a
// [*validation.Error] if a field of the list is out of bounds, or an error of the store.
func (s *Service) Codes(ctx context.Context, list store.CodeList) iter.Seq2[coupon.IssuedCode, error] {
	return func(yield func(coupon.IssuedCode, error) bool) {
		for {
			page, err := s.store.ListCodes(ctx, list)
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

// ListCodes returns a page of the codes of a coupon; see [store.CodeList]. ListCodes returns a
// [*validation.Error] if a field of the list is out of bounds.
func (s *Service) ListCodes(ctx context.Context, list store.CodeList) (store.CodePage, error) {
	return s.store.ListCodes(ctx, list)
}
