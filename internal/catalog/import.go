package catalog

import (
	"context"
	"iter"
	"slices"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/fingerprint"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// saveCodes applies a change of codes, as [store.Coupons].SaveCodes does.
type saveCodes func(context.Context, store.CodeChange) ([]coupon.IssuedCode, error)

// ImportCodes adds the codes of rows to a batch, part by part. It yields each row with its verdict. An error ends the
// sequence.
func (cat *Catalog) ImportCodes(
	ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error],
) iter.Seq2[codecsv.Imported, error] {
	return cat.importCodes(ctx, couponID, batchID, rows, func() saveCodes { return cat.Store.SaveCodes })
}

// importCodes imports rows. It calls begin for each reading of the sequence.
func (cat *Catalog) importCodes(
	ctx context.Context, couponID, batchID string, rows iter.Seq2[codecsv.Row, error], begin func() saveCodes,
) iter.Seq2[codecsv.Imported, error] {
	return func(yield func(codecsv.Imported, error) bool) {
		part := importPart{Catalog: cat, couponID: couponID, batch: coupon.Batch{ID: batchID}, saveCodes: begin()}
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
		if rows == nil {
			rows = func(func(codecsv.Row, error) bool) {}
		}
		for row, err := range rows {
			if err != nil {
				if flush() {
					yield(codecsv.Imported{Row: row, Verdict: codecsv.Refused}, err)
				}
				return
			}
			if part.rows = append(part.rows, codecsv.Imported{Row: row}); len(part.rows) == store.MaxNewCodes && !flush() {
				return
			}
		}
		flush()
	}
}

// importPart is a part of an import, with at most [store.MaxNewCodes] rows. It is saved in one transaction.
type importPart struct {
	*Catalog

	couponID  string
	batch     coupon.Batch
	rows      []codecsv.Imported
	saveCodes saveCodes
}

// save adds the codes of the rows and sets the verdict of each row.
func (p *importPart) save(ctx context.Context) error {
	by := coupon.Edit{At: p.Now(), Location: p.Location}
	drafts, active := make([]coupon.CodeDraft, 0, len(p.rows)), make([]bool, 0, len(p.rows))
	first := make(map[coupon.Code]int, len(p.rows)) // the draft of a key
	keys := make([]coupon.Code, len(p.rows))
	for i := range p.rows {
		row := &p.rows[i]
		var draft coupon.CodeDraft
		if draft, keys[i] = p.check(row, by); row.Verdict == codecsv.Refused {
			continue
		}
		if _, twice := first[keys[i]]; twice {
			row.Verdict = codecsv.Known
			continue
		}
		row.Verdict, first[keys[i]] = codecsv.Added, len(drafts)
		drafts, active = append(drafts, draft), append(active, row.Active)
	}
	if len(drafts) == 0 {
		return nil
	}
	added, known, err := p.add(ctx, by, drafts, active)
	if err != nil {
		return err
	}
	for i := range p.rows {
		row := &p.rows[i]
		if row.Verdict == codecsv.Refused {
			continue
		}
		c, stored := known[keys[i]]
		if !stored {
			c = added[first[keys[i]]]
		} else if row.Verdict == codecsv.Added {
			row.Verdict = codecsv.Known
		}
		p.compare(row, c, by)
	}
	return nil
}

// compare compares a row with the code that has its key. A row that repeats the code is known. It is refused if it says
// something else, because nothing would keep what it says.
func (p *importPart) compare(row *codecsv.Imported, c coupon.IssuedCode, by coupon.Edit) {
	row.CouponID = c.CouponID
	switch {
	case c.CouponID != p.couponID || c.Batch != p.batch.ID:
		row.Verdict = codecsv.Taken
	case row.Verdict == codecsv.Known:
		if row.Refusal = differences(row.Row, c, by); row.Refusal != nil {
			row.Verdict, row.CouponID = codecsv.Refused, ""
		}
	}
}

// differences names the terms in which a row differs from a code of the batch. A code that was changed after its creation
// may have another state, and an owner whom the row does not name. A row with the limit of the code, and no more uses, is
// from an export of the batch.
func differences(row codecsv.Row, c coupon.IssuedCode, by coupon.Edit) error {
	draft, _ := row.Remaining()
	limit, _ := row.Draft.MaxUses.Value()
	left, _ := draft.MaxUses.Value()
	end, _ := draft.ExpiresAt.End(by.Location) // no error: the draft is valid
	changed := c.Revision > 1
	var faults validation.Error
	for _, term := range [...]struct {
		field, other string
		same         bool
	}{
		{"owner", "another owner", draft.Owner == c.Owner || draft.Owner.IsZero() && changed},
		{"maxUses", "another limit", int64(left) == c.MaxUses || int64(limit) == c.MaxUses && row.UsedCount <= c.UsedCount},
		{"expiresAt", "another expiry", calendar.Instant(end).Equal(c.ExpiresAt)},
		{"active", "another state", row.Active == c.Active || changed},
	} {
		if !term.same {
			faults.Add(term.field, validation.Mismatch, "the batch has this code with "+term.other)
		}
	}
	return faults.Err()
}

// check refuses an invalid row. Otherwise it returns the draft of the code, with the remaining uses.
func (p *importPart) check(row *codecsv.Imported, by coupon.Edit) (coupon.CodeDraft, coupon.Code) {
	draft, left := row.Remaining()
	var faults validation.Error
	if row.Draft.Code == "" {
		faults.Add("code", validation.Required, "a code is required")
	}
	faults.Merge("", row.Draft.Validate(by.Location))
	key, err := coupon.ParseCode(row.Draft.Code)
	if err == nil {
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
	return draft, key
}

// add saves new codes. It returns a code for each draft, and the codes that coupons already have.
func (p *importPart) add(
	ctx context.Context, by coupon.Edit, drafts []coupon.CodeDraft, active []bool,
) (added []coupon.IssuedCode, known map[coupon.Code]coupon.IssuedCode, err error) {
	if !coupon.IsID(p.couponID) {
		return nil, nil, notFound(p.couponID)
	}
	added = make([]coupon.IssuedCode, 0, len(drafts))
	for some := range slices.Chunk(drafts, coupon.MaxCodes) {
		codes, err := coupon.NewCodes(p.couponID, p.batch, some, by)
		if err != nil {
			return nil, nil, err
		}
		added = append(added, codes...)
	}
	for i := range added {
		added[i].Active = active[i]
	}
	var imported fingerprint.Digest
	imported.Text("imported codes")
	stored, err := p.saveCodes(ctx, store.CodeChange{
		Kind: store.ImportCodes, CouponID: p.couponID, Batch: p.batch.ID, Fingerprint: imported.Sum(), Codes: added, By: p.Actor(ctx), At: by.At,
	})
	known = make(map[coupon.Code]coupon.IssuedCode, len(stored))
	for _, c := range stored {
		known[c.Key] = c
	}
	return added, known, err
}
