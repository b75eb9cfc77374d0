package catalog

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// PreviewCodes tells what CreateCodes would find: the batch as it is, with the size that it would have, or the same error.
func (cat *Catalog) PreviewCodes(ctx context.Context, couponID string, d coupon.BatchDraft) (coupon.IssuedBatch, error) {
	g, err := cat.generation(ctx, couponID, d)
	if err == nil {
		err = cat.hasCoupon(ctx, couponID)
	}
	if g.batch.ID == "" && err == nil {
		g.batch.ID, g.batch.CouponID, g.batch.Size = d.ID, couponID, d.Count
	}
	return g.batch, err
}

// PreviewImport yields the verdicts that ImportCodes would yield, and changes nothing.
func (cat *Catalog) PreviewImport(
	ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error],
) iter.Seq2[codecsv.Imported, error] {
	return cat.importCodes(ctx, couponID, batchID, rows, cat.preview)
}

// PreviewAssign yields what AssignCodes would yield, and changes nothing. A code that would be assigned has no Key.
func (cat *Catalog) PreviewAssign(ctx context.Context, couponID, id string, owners iter.Seq[coupon.Owner]) iter.Seq2[coupon.IssuedCode, error] {
	return cat.assignCodes(ctx, couponID, id, owners, cat.preview)
}

// preview returns a function that answers changes of codes as the store would after the changes before, and changes nothing.
func (cat *Catalog) preview() saveCodes {
	p := preview{Catalog: cat, added: map[coupon.Code]coupon.IssuedCode{}, owned: map[coupon.Owner]coupon.IssuedCode{}}
	return p.save
}

// preview is what a sequence of changes would have done.
type preview struct {
	*Catalog

	added map[coupon.Code]coupon.IssuedCode
	owned map[coupon.Owner]coupon.IssuedCode
	// free is the number of free codes that were found and are left. after is the cursor of the next page.
	free   int
	after  string
	listed bool
}

func (p *preview) save(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
	change = change.Normalize()
	if err := change.Validate(); err != nil {
		return nil, err
	}
	page, err := p.Store.ListBatches(ctx, store.BatchList{CouponID: change.CouponID, ID: change.Batch})
	if err != nil {
		return nil, err
	}
	b := coupon.IssuedBatch{}
	if len(page.Items) > 0 {
		b = page.Items[0]
	}
	switch {
	case change.Kind == store.ImportCodes:
		return p.importCodes(ctx, change, b)
	case b.ID == "":
		return nil, notFound(change.CouponID)
	}
	return p.assign(ctx, change)
}

// hasCoupon returns coupon.ErrNotFound if no coupon can have codes under the ID.
func (cat *Catalog) hasCoupon(ctx context.Context, id string) error {
	found, err := store.Find(ctx, cat.Store, store.LookUp{Names: store.ByID(id)})
	if err == nil && found.Coupon.State == coupon.Deleting {
		err = notFound(id)
	}
	return err
}

func (p *preview) importCodes(ctx context.Context, change store.CodeChange, b coupon.IssuedBatch) (known []coupon.IssuedCode, err error) {
	if b.ID != "" && b.Fingerprint != change.Fingerprint {
		return nil, store.ErrKeyReused
	}
	for part := range slices.Chunk(change.Codes, store.MaxNames) {
		by := store.LookUp{}
		for _, c := range part {
			by.Names = append(by.Names, store.Name{Code: c.Code})
		}
		answer, err := p.Store.LookUp(ctx, by)
		if err != nil {
			return nil, err
		}
		for i, c := range part {
			stored, before := p.added[c.Code]
			if found := answer.Coupons[i]; found != nil {
				stored, before = found.Code, true
				stored.Code, stored.CouponID = c.Code, found.Coupon.ID // also of a coupon that cannot be read
			}
			if before {
				known = append(known, stored)
			} else {
				p.added[c.Code] = c
			}
		}
	}
	if b.Added+int64(len(p.added)) > coupon.MaxBatchSize {
		return nil, validation.New("codes", validation.TooLong, fmt.Sprintf("a batch has at most %d codes", coupon.MaxBatchSize))
	}
	return known, nil
}

func (p *preview) assign(ctx context.Context, change store.CodeChange) ([]coupon.IssuedCode, error) {
	all := make([]coupon.IssuedCode, len(change.Owners))
	for i, owner := range change.Owners {
		c, owned := p.owned[owner]
		if !owned {
			page, err := p.Store.ListCodes(ctx, store.CodeList{CouponID: change.CouponID, Batch: change.Batch, Owner: owner, PageSize: 1})
			switch {
			case err != nil:
				return nil, err
			case len(page.Items) > 0:
				c = page.Items[0]
			default:
				if err := p.take(ctx, change); err != nil {
					return nil, err
				}
				c = coupon.IssuedCode{CouponID: change.CouponID, Batch: change.Batch, Owner: owner, Active: true}
			}
			p.owned[owner] = c
		}
		all[i] = c
	}
	return all, nil
}

// take takes a code that is active and valid, and has no owner and no use.
func (p *preview) take(ctx context.Context, change store.CodeChange) error {
	for p.free == 0 {
		if p.listed {
			return store.ErrNoCodesLeft
		}
		page, err := p.Store.ListCodes(ctx, store.CodeList{
			CouponID: change.CouponID, Batch: change.Batch, State: coupon.Active, Unused: true, After: p.after, PageSize: coupon.MaxCodes,
		})
		if err != nil {
			return err
		}
		for _, c := range page.Items {
			if c.Owner.IsZero() && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(change.At)) {
				p.free++
			}
		}
		p.after, p.listed = page.Next, page.Next == ""
	}
	p.free--
	return nil
}
