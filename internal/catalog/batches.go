package catalog

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// CreateCodes generates the codes of a batch and adds them part by part. It goes on where an earlier call has ended. It calls
// progress after each part.
func (cat *Catalog) CreateCodes(
	ctx context.Context, couponID string, d coupon.BatchDraft, progress func(coupon.IssuedBatch),
) (b coupon.IssuedBatch, err error) {
	begun, err := cat.generation(ctx, couponID, d)
	if b = begun.batch; err != nil {
		return b, err
	}
	g, err := newKeys(begun.draft.Shape)
	if err != nil {
		return b, err
	}
	change, template := begun.change, begun.template
	for b.Added < d.Count {
		change.From = b.Added
		if change.Codes, err = g.next(template, min(store.MaxNewCodes, d.Count-b.Added)); err != nil {
			return b, err
		}
		if err := cat.addPart(ctx, change, template, g); err != nil && !errors.Is(err, store.ErrStaleRevision) {
			return b, err
		}
		if b, err = cat.batch(ctx, couponID, d.ID); err != nil {
			return b, err
		}
		if progress != nil {
			progress(b)
		}
	}
	return b, nil
}

// generation is a batch of generated codes before a part of it is added.
type generation struct {
	draft    coupon.BatchDraft
	template coupon.IssuedCode
	change   store.CodeChange
	batch    coupon.IssuedBatch // as it is stored, or the zero value
}

// generation checks a draft beside the batch as it is stored.
func (cat *Catalog) generation(ctx context.Context, couponID string, d coupon.BatchDraft) (g generation, err error) {
	by := coupon.Edit{At: cat.Now(), Location: cat.Location}
	if g.template, err = d.Code(couponID, by); err != nil {
		return g, err
	}
	if !coupon.IsID(couponID) {
		return g, notFound(couponID)
	}
	var faults validation.Error
	d.Shape, err = codes.Policy{}.Shape(d.Shape, uint64(d.Count)) //nolint:gosec // the draft was checked
	faults.Merge("shape", err)
	if err := faults.Err(); err != nil {
		return g, err
	}
	g.draft = d
	g.change = store.CodeChange{
		Kind: store.AddCodes, CouponID: couponID, Batch: d.ID, Fingerprint: draftFingerprint(d, g.template), Size: d.Count, By: cat.Actor(ctx), At: by.At,
	}
	if g.batch, err = cat.batch(ctx, couponID, d.ID); err != nil && !errors.Is(err, coupon.ErrNotFound) {
		return g, err
	}
	if g.batch.ID != "" && g.batch.Fingerprint != g.change.Fingerprint {
		return g, otherBatch(d.ID, store.ErrKeyReused)
	}
	if g.batch.Added < d.Count && coupon.ExpiredCodes([]coupon.IssuedCode{g.template}) != nil {
		return g, validation.New("expiresAt", validation.TooSmall, "a new code expires after its creation")
	}
	return g, nil
}

// addPart adds codes. If other coupons have some of the codes, it generates others.
func (cat *Catalog) addPart(ctx context.Context, change store.CodeChange, template coupon.IssuedCode, g *keys) (err error) {
	for range maxAttempts {
		_, err = cat.Store.SaveCodes(ctx, change)
		taken, is := errors.AsType[*coupon.TakenError](err)
		if !is {
			return err
		}
		others, generated := g.next(template, int64(len(taken.Taken)))
		if generated != nil {
			return generated
		}
		for i, c := range others {
			change.Codes[taken.Taken[i].Index] = c
		}
	}
	return err
}

// keys generates random codes of one shape, without repetitions.
type keys struct {
	generator *codes.Generator
	used      uint64
}

func newKeys(shape coupon.CodeShape) (*keys, error) {
	key := make([]byte, codes.MinKeyLength)
	_, _ = rand.Read(key) // never fails
	generator, err := codes.NewGenerator(key, shape)
	return &keys{generator: generator}, err
}

func (k *keys) next(template coupon.IssuedCode, count int64) ([]coupon.IssuedCode, error) {
	list := make([]coupon.IssuedCode, 0, count)
	all, err := k.generator.Codes(k.used, k.used+uint64(count)) //nolint:gosec // at most a batch
	if err != nil {
		return nil, err
	}
	for key := range all {
		template.Code = key
		list = append(list, template)
	}
	k.used += uint64(len(list))
	return list, nil
}

// draftFingerprint returns a text that is equal for equal drafts of generated codes.
func draftFingerprint(d coupon.BatchDraft, template coupon.IssuedCode) string {
	shape, _ := d.Shape.Normalize() // no error: the draft was checked
	var digest fingerprint.Digest
	digest.Text("generated codes")
	digest.Text(shape.Prefix)
	digest.Text(shape.Pattern)
	digest.Number(d.Count)
	digest.Number(template.MaxUses)
	digest.Number(template.ExpiresAt.UnixMicro())
	return digest.Sum()
}

// batch returns a batch, or coupon.ErrNotFound.
func (cat *Catalog) batch(ctx context.Context, couponID, id string) (coupon.IssuedBatch, error) {
	page, err := cat.Store.ListBatches(ctx, store.BatchList{CouponID: couponID, ID: id})
	switch {
	case err != nil:
		return coupon.IssuedBatch{}, err
	case len(page.Items) == 0:
		return coupon.IssuedBatch{}, notFound(couponID)
	}
	return page.Items[0], nil
}

// SetBatchActive switches the codes of a batch. It returns the batch afterwards.
func (cat *Catalog) SetBatchActive(ctx context.Context, couponID, id string, active bool) (coupon.IssuedBatch, error) {
	from := coupon.Active
	if active {
		from = coupon.Inactive
	}
	list := store.CodeList{CouponID: couponID, Batch: id, State: from}
	return cat.changeBatch(ctx, list, store.CodeChange{Kind: store.SwitchCodes, Active: active})
}

// RemoveCodes removes the unused codes of a batch. It returns the batch afterwards.
func (cat *Catalog) RemoveCodes(ctx context.Context, couponID, id string) (coupon.IssuedBatch, error) {
	return cat.changeBatch(ctx, store.CodeList{CouponID: couponID, Batch: id, Unused: true}, store.CodeChange{Kind: store.RemoveCodes})
}

// changeBatch changes the listed codes of one batch, page by page.
func (cat *Catalog) changeBatch(ctx context.Context, list store.CodeList, change store.CodeChange) (coupon.IssuedBatch, error) {
	change.CouponID, change.Batch, change.By = list.CouponID, list.Batch, cat.Actor(ctx)
	b, err := cat.batch(ctx, list.CouponID, list.Batch)
	for list.PageSize = coupon.MaxCodes; err == nil; {
		page, err := cat.Store.ListCodes(ctx, list)
		if err != nil {
			return b, err
		}
		if len(page.Items) > 0 {
			change.Codes, change.At = page.Items, cat.Now()
			if _, err := cat.Store.SaveCodes(ctx, change); err != nil {
				return b, err
			}
		}
		if list.After = page.Next; page.Next == "" {
			return cat.batch(ctx, list.CouponID, list.Batch)
		}
	}
	return b, err
}

// AssignCodes yields a code of the batch for each owner, in their order. It assigns codes part by part. An error ends the
// sequence.
func (cat *Catalog) AssignCodes(ctx context.Context, couponID, id string, owners iter.Seq[coupon.Owner]) iter.Seq2[coupon.IssuedCode, error] {
	return cat.assignCodes(ctx, couponID, id, owners, func() saveCodes { return cat.Store.SaveCodes })
}

// assignCodes assigns codes. It calls begin for each reading of the sequence.
func (cat *Catalog) assignCodes(
	ctx context.Context, couponID, id string, owners iter.Seq[coupon.Owner], begin func() saveCodes,
) iter.Seq2[coupon.IssuedCode, error] {
	return func(yield func(coupon.IssuedCode, error) bool) {
		if _, err := cat.batch(ctx, couponID, id); err != nil {
			yield(coupon.IssuedCode{}, err)
			return
		}
		part, save := make([]coupon.Owner, 0, coupon.MaxCodes), begin()
		flush := func() bool {
			assigned, err := cat.assign(ctx, couponID, id, part, save)
			if err != nil {
				yield(coupon.IssuedCode{}, err)
				return false
			}
			for _, c := range assigned {
				if !yield(c, nil) {
					return false
				}
			}
			part = part[:0]
			return true
		}
		if owners == nil {
			return
		}
		n := -1
		for owner := range owners {
			n++
			if err := checkOwner(owner, n); err != nil {
				if len(part) == 0 || flush() {
					yield(coupon.IssuedCode{}, err)
				}
				return
			}
			if part = append(part, owner); len(part) == cap(part) && !flush() {
				return
			}
		}
		if len(part) > 0 {
			flush()
		}
	}
}

// checkOwner refuses an owner who is no customer. The fault names the position in the sequence of the caller.
func checkOwner(owner coupon.Owner, n int) error {
	var faults validation.Error
	field := fmt.Sprintf("owners[%d]", n)
	if owner.IsZero() {
		faults.Add(field, validation.Required, "an owner is a customer")
	}
	_, err := coupon.ParseOwner(owner.String())
	faults.Merge(field, err)
	return faults.Err()
}

// assign returns one code for each entry in owners. An owner may be listed twice.
func (cat *Catalog) assign(ctx context.Context, couponID, id string, owners []coupon.Owner, save saveCodes) ([]coupon.IssuedCode, error) {
	change := store.CodeChange{Kind: store.AssignCodes, CouponID: couponID, Batch: id, By: cat.Actor(ctx), At: cat.Now()}
	at := map[coupon.Owner]int{}
	for _, owner := range owners {
		if _, known := at[owner]; !known {
			at[owner] = len(change.Owners)
			change.Owners = append(change.Owners, owner)
		}
	}
	assigned, err := save(ctx, change)
	if err != nil {
		return nil, err
	}
	all := make([]coupon.IssuedCode, len(owners))
	for i, owner := range owners {
		all[i] = assigned[at[owner]]
	}
	return all, nil
}
