package catalog

import (
	"context"
	"iter"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// ImportCodes adds the codes of rows to a batch, part by part. It yields each row with its verdict. An error ends the
// sequence.
func (cat *Catalog) ImportCodes(
	ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error],
) iter.Seq2[codecsv.Imported, error] {
	return func(yield func(codecsv.Imported, error) bool) {
		part := importPart{Catalog: cat, couponID: couponID, batch: coupon.Batch{ID: batchID}}
		flush := func() bool {
			err := part.save(ctx)
			for _, row := range part.rows {
				if err == nil && !yield(row, nil) {
					return false
				}
			}
			if part.rows = part.rows[:0]; err != nil {
				yield(codecsv.Imported{}, err)
			}
			return err == nil
		}
		for row, err := range rows {
			if err != nil {
				if flush() {
					yield(codecsv.Imported{Row: row, Verdict: codecsv.Refused}, err)
				}
				return
			}
			if part.rows = append(part.rows, codecsv.Imported{Row: row}); len(part.rows) == coupon.MaxCodes && !flush() {
				return
			}
		}
		flush()
	}
}

// importPart is a part of an import, with at most MaxCodes rows. It is saved in one transaction.
type importPart struct {
	*Catalog

	couponID string
	batch    coupon.Batch
	rows     []codecsv.Imported
}

// save adds the codes of the rows and sets the verdict of each row.
func (p *importPart) save(ctx context.Context) error {
	by := coupon.Edit{At: p.Now(), Location: p.Location}
	drafts, active := make([]coupon.CodeDraft, 0, len(p.rows)), make([]bool, 0, len(p.rows))
	first := map[coupon.Code]bool{}
	keys := make([]coupon.Code, len(p.rows))
	for i := range p.rows {
		row := &p.rows[i]
		var draft coupon.CodeDraft
		if draft, keys[i] = p.check(row, by); row.Verdict == codecsv.Refused {
			continue
		}
		row.CouponID = p.couponID
		if row.Verdict = codecsv.Known; !first[keys[i]] {
			row.Verdict = codecsv.Added
			drafts, active = append(drafts, draft), append(active, row.Active)
		}
		first[keys[i]] = true
	}
	if len(drafts) == 0 {
		return nil
	}
	known, err := p.add(ctx, by, drafts, active)
	for i := range p.rows {
		if stored, is := known[keys[i]]; is && p.rows[i].Verdict != codecsv.Refused {
			p.rows[i].CouponID, p.rows[i].Verdict = stored.CouponID, codecsv.Taken
			if stored.CouponID == p.couponID && stored.Batch == p.batch.ID {
				p.rows[i].Verdict = codecsv.Known
			}
		}
	}
	return err
}

// check refuses an invalid row. Otherwise it returns the draft of the code, with the remaining uses.
func (p *importPart) check(row *codecsv.Imported, by coupon.Edit) (coupon.CodeDraft, coupon.Code) {
	draft, left := row.Remaining()
	var faults validation.Error
	if row.Draft.Code == "" {
		faults.Add("code", validation.Required, "a code is required")
	}
	faults.Merge("", row.Draft.Validate(by.Location))
	if key, err := coupon.ParseCode(row.Draft.Code); err == nil {
		faults.Merge("", p.checkHandmade(key))
	}
	end, _ := draft.ExpiresAt.End(by.Location)
	switch {
	case !left:
		faults.Add("usedCount", validation.TooLarge, "the code was used as often as it may be")
	case !end.IsZero() && !end.After(by.At):
		faults.Add("expiresAt", validation.TooSmall, "the code has expired")
	}
	if row.Refusal == nil {
		row.Refusal = faults.Err()
	}
	if row.Refusal != nil {
		row.Verdict = codecsv.Refused
		return draft, coupon.Code{}
	}
	key, _ := coupon.ParseCode(draft.Code) // no error: the draft is valid
	return draft, key
}

// add saves new codes. It returns the codes that coupons already have.
func (p *importPart) add(ctx context.Context, by coupon.Edit, drafts []coupon.CodeDraft, active []bool) (map[coupon.Code]coupon.IssuedCode, error) {
	if !coupon.IsID(p.couponID) {
		return nil, notFound(p.couponID)
	}
	issued, err := coupon.NewCodes(p.couponID, p.batch, drafts, by)
	if err != nil {
		return nil, err
	}
	for i := range issued {
		issued[i].Active = active[i]
	}
	var imported fingerprint.Digest
	imported.Text("imported codes")
	stored, err := p.Store.SaveCodes(ctx, store.CodeChange{
		Kind: store.ImportCodes, CouponID: p.couponID, Batch: p.batch.ID, Fingerprint: imported.Sum(), Codes: issued, By: p.Actor(ctx), At: by.At,
	})
	known := make(map[coupon.Code]coupon.IssuedCode, len(stored))
	for _, c := range stored {
		known[c.Key] = c
	}
	return known, err
}
