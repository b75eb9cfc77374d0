package catalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// AddCodes adds a batch of codes to a coupon: all of them, or none.
func (cat *Catalog) AddCodes(
	ctx context.Context, couponID string, b coupon.Batch, drafts []coupon.CodeDraft,
) (issued []coupon.IssuedCode, err error) {
	by := coupon.Edit{At: cat.Now(), Location: cat.Location}
	wanted, err := coupon.NewCodes(couponID, b, drafts, by)
	if err != nil {
		return nil, err
	}
	var faults validation.Error
	for i := range wanted {
		faults.Merge(fmt.Sprintf("codes[%d]", i), cat.checkHandmade(wanted[i].Code))
	}
	if err := faults.Err(); err != nil {
		return nil, err
	}
	form, err := codes.NewForm(b.Shape)
	if err != nil {
		return nil, err
	}
	if !coupon.IsID(couponID) {
		return nil, notFound(couponID)
	}
	change := store.CodeChange{
		Kind: store.AddCodes, CouponID: couponID, Batch: b.ID, Fingerprint: batchFingerprint(form.Shape(), wanted),
		By: cat.Actor(ctx), At: by.At,
	}
	for range maxAttempts {
		if change.Codes, err = withGenerated(form, wanted); err != nil {
			return nil, err
		}
		issued, err = cat.Store.SaveCodes(ctx, change)
		var taken *coupon.TakenError
		if !errors.As(err, &taken) {
			return issued, otherBatch(b.ID, err)
		}
		free, holderErr := cat.freeTaken(ctx, taken, wanted)
		if holderErr != nil || !free {
			return nil, errors.Join(err, holderErr)
		}
	}
	return nil, err
}

// withGenerated returns the codes with a generated key for each code without a key.
func withGenerated(form codes.Form, issued []coupon.IssuedCode) ([]coupon.IssuedCode, error) {
	issued = slices.Clone(issued)
	for i := range issued {
		if !issued[i].Code.IsZero() {
			continue
		}
		key, err := form.Random(rand.Reader)
		if err != nil {
			return nil, err
		}
		issued[i].Code = key
	}
	return issued, nil
}

// freeTaken reports whether another attempt may succeed, because the taken codes were generated or have
// become free. It finishes the deletions of coupons that have the codes. In a transaction of the host
// it cannot do that.
func (cat *Catalog) freeTaken(ctx context.Context, taken *coupon.TakenError, wanted []coupon.IssuedCode) (bool, error) {
	for _, t := range taken.Taken {
		if wanted[t.Index].Code.IsZero() {
			continue
		}
		if cat.InTransaction {
			return false, nil
		}
		holder, err := cat.holder(ctx, t.Key)
		if err != nil || holder != "" {
			return false, err
		}
	}
	return true, nil
}

// batchFingerprint returns a text that is equal for equal batches. The shape must be normalized.
// Generated codes are left out.
func batchFingerprint(shape coupon.CodeShape, issued []coupon.IssuedCode) string {
	var d fingerprint.Digest
	d.Text("codes")
	d.Text(shape.Prefix)
	d.Text(shape.Pattern)
	d.Number(int64(len(issued)))
	for _, c := range issued {
		d.Text(c.Code.String())
		d.Text(c.Owner.String())
		d.Number(c.MaxUses)
		d.Number(c.ExpiresAt.UnixMicro())
	}
	return d.Sum()
}

// UpdateCode changes one code of a batch. If the change fails, UpdateCode returns the code as it was,
// together with the error. If the code is not found, the returned code is zero.
func (cat *Catalog) UpdateCode(ctx context.Context, code string, p coupon.CodePatch) (c coupon.IssuedCode, err error) {
	for range maxAttempts {
		if c, err = cat.FindCode(ctx, code); err != nil {
			return c, err
		}
		if c, err = cat.updateCode(ctx, c, p); !errors.Is(err, store.ErrStaleRevision) || p.Revision.Given() {
			return c, err
		}
	}
	return c, err
}

func (cat *Catalog) updateCode(ctx context.Context, before coupon.IssuedCode, p coupon.CodePatch) (coupon.IssuedCode, error) {
	if revision, given := p.Revision.Value(); given && revision != before.Revision {
		return before, store.ErrStaleRevision
	}
	after, err := before.Apply(p, coupon.Edit{At: cat.Now(), Location: cat.Location})
	if err != nil {
		return before, err
	}
	if after.Active == before.Active && after.MaxUses == before.MaxUses && after.Owner == before.Owner && after.ExpiresAt.Equal(before.ExpiresAt) {
		return before, nil
	}
	saved, err := cat.Store.SaveCodes(ctx, store.CodeChange{
		Kind: store.EditCode, CouponID: before.CouponID, Codes: []coupon.IssuedCode{after}, By: cat.Actor(ctx), At: after.UpdatedAt,
	})
	if err != nil {
		return before, err
	}
	return saved[0], nil
}
