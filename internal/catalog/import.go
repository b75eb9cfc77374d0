package catalog

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
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
	if rows == nil {
		rows = func(func(codecsv.Row, error) bool) {}
	}
	return func(yield func(codecsv.Imported, error) bool) {
		if err := cat.hasCoupon(ctx, couponID); err != nil {
			yield(codecsv.Imported{}, err)
			return
		}
		im := importing{Catalog: cat, couponID: couponID, batch: coupon.Batch{ID: batchID}, saveCodes: begin(), yield: yield}
		defer im.wait()
		part := im.part()
		for row, err := range rows {
			if err != nil {
				if im.save(ctx, part) && im.finish() {
					yield(codecsv.Imported{Row: row, Verdict: codecsv.Refused}, err)
				}
				return
			}
			part.add(row)
			if len(part.rows) < store.MaxNewCodes {
				continue
			}
			if !im.save(ctx, part) {
				return
			}
			part = im.part()
		}
		if im.save(ctx, part) {
			im.finish()
		}
	}
}

// importing is the reading of a sequence. It reads and checks a part while the part before is saved.
type importing struct {
	*Catalog

	couponID  string
	batch     coupon.Batch
	saveCodes saveCodes
	yield     func(codecsv.Imported, error) bool
	saving    *importPart // nil if none is saved
}

func (im *importing) part() *importPart {
	return &importPart{importing: im, by: coupon.Edit{At: im.Now(), Location: im.Location}, first: map[coupon.Code]int{}}
}

// save yields the rows of the part before, and then saves a part in a goroutine. In a transaction of the host, it saves in the
// goroutine of the caller, because the rows may come from that transaction. save returns false if the sequence ends.
func (im *importing) save(ctx context.Context, p *importPart) bool {
	p.prepare()
	if !im.finish() {
		return false
	}
	im.saving, p.saved = p, make(chan struct{})
	run := func() {
		defer close(p.saved)
		defer func() {
			if !p.returned {
				p.panicked = recover()
			}
		}()
		if p.err == nil {
			p.err = p.save(ctx)
		}
		p.returned = true
	}
	if im.InTransaction {
		run()
	} else {
		go run()
	}
	return true
}

// finish yields the rows of the part that is being saved, or its error.
func (im *importing) finish() bool {
	p := im.wait()
	if p == nil {
		return true
	}
	if p.err != nil {
		im.yield(codecsv.Imported{}, p.err)
		return false
	}
	for _, row := range p.rows {
		if !im.yield(row, nil) {
			return false
		}
	}
	return true
}

// wait waits for the part that is being saved, and returns it. If the store has panicked or has ended its goroutine, wait does
// the same in the goroutine of the caller.
func (im *importing) wait() *importPart {
	p := im.saving
	if im.saving = nil; p == nil {
		return nil
	}
	<-p.saved
	switch {
	case p.panicked != nil:
		panic(p.panicked)
	case !p.returned:
		runtime.Goexit()
	}
	return p
}

// importPart is a part of an import, with at most [store.MaxNewCodes] rows. It is saved in one transaction.
type importPart struct {
	*importing

	by     coupon.Edit
	rows   []codecsv.Imported
	keys   []coupon.Code // of the rows that are not refused, and of those that are spent
	spent  []int         // rows that are refused only because their codes are used up or have expired
	drafts []coupon.CodeDraft
	active []bool              // of the drafts
	first  map[coupon.Code]int // the draft of a key
	added  []coupon.IssuedCode // of the drafts
	err    error
	// saved is closed once err and the verdicts are final. returned is false if the store has ended its goroutine.
	saved    chan struct{}
	returned bool
	panicked any
}

// prepare makes codes of the drafts.
func (p *importPart) prepare() {
	p.added = make([]coupon.IssuedCode, 0, len(p.drafts))
	for some := range slices.Chunk(p.drafts, coupon.MaxCodes) {
		codes, err := coupon.NewCodes(p.couponID, p.batch, some, p.by)
		if err != nil {
			p.err = err
			return
		}
		p.added = append(p.added, codes...)
	}
	for i := range p.added {
		p.added[i].Active = p.active[i]
	}
}

// add checks a row. A code that the part has already is known.
func (p *importPart) add(r codecsv.Row) {
	row := codecsv.Imported{Row: r}
	draft, key := p.check(&row)
	if row.Verdict == codecsv.Refused {
		if key != (coupon.Code{}) {
			p.spent = append(p.spent, len(p.rows))
		}
	} else {
		if _, twice := p.first[key]; twice {
			row.Verdict = codecsv.Known
		} else {
			row.Verdict, p.first[key] = codecsv.Added, len(p.drafts)
			p.drafts, p.active = append(p.drafts, draft), append(p.active, row.Active)
		}
	}
	p.rows, p.keys = append(p.rows, row), append(p.keys, key)
}

// save adds the codes and sets the verdict of each row.
func (p *importPart) save(ctx context.Context) error {
	if err := p.saveAdded(ctx); err != nil {
		return err
	}
	return p.recognize(ctx)
}

// recognize accepts spent rows that repeat codes of the batch: the codes were spent after they were imported.
func (p *importPart) recognize(ctx context.Context) error {
	for some := range slices.Chunk(p.spent, store.MaxNames) {
		by := store.LookUp{}
		for _, i := range some {
			by.Names = append(by.Names, store.Name{Code: p.keys[i]})
		}
		answer, err := p.Store.LookUp(ctx, by)
		if err != nil {
			return err
		}
		for n, i := range some {
			found, row := answer.Coupons[n], &p.rows[i]
			if found == nil || found.Unreadable != nil || found.Coupon.ID != p.couponID || found.Code.Batch != p.batch.ID {
				continue
			}
			if differences(row.Row, found.Code, p.by) == nil {
				row.Verdict, row.Refusal, row.CouponID = codecsv.Known, nil, p.couponID
			}
		}
	}
	return nil
}

func (p *importPart) saveAdded(ctx context.Context) error {
	if len(p.added) == 0 {
		return nil
	}
	var imported fingerprint.Digest
	imported.Text("imported codes")
	stored, err := p.saveCodes(ctx, store.CodeChange{
		Kind: store.ImportCodes, CouponID: p.couponID, Batch: p.batch.ID, Fingerprint: imported.Sum(), Codes: p.added, By: p.Actor(ctx), At: p.by.At,
	})
	if err != nil {
		return otherBatch(p.batch.ID, err)
	}
	known := make(map[coupon.Code]coupon.IssuedCode, len(stored))
	for _, c := range stored {
		known[c.Code] = c
	}
	for i := range p.rows {
		row := &p.rows[i]
		if row.Verdict == codecsv.Refused {
			continue
		}
		c, stored := known[p.keys[i]]
		if !stored {
			c = p.added[p.first[p.keys[i]]]
		} else if row.Verdict == codecsv.Added {
			row.Verdict = codecsv.Known
		}
		p.compare(row, c)
	}
	return nil
}

// compare compares a row with the code that has its key. A row that repeats the code is known. It is refused if it says
// something else, because nothing would keep what it says.
func (p *importPart) compare(row *codecsv.Imported, c coupon.IssuedCode) {
	row.CouponID = c.CouponID
	switch {
	case c.CouponID != p.couponID || c.Batch != p.batch.ID:
		row.Verdict = codecsv.Taken
	case row.Verdict == codecsv.Known:
		if row.Refusal = differences(row.Row, c, p.by); row.Refusal != nil {
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

// check refuses an invalid row. Otherwise it returns the draft of the code, with the remaining uses. It returns the key also
// if the row is refused only because its code is spent.
func (p *importPart) check(row *codecsv.Imported) (coupon.CodeDraft, coupon.Code) {
	draft, left := row.Remaining()
	var faults validation.Error
	if row.Draft.Code == "" {
		faults.Add("code", validation.Required, "a code is required")
	}
	faults.Merge("", row.Draft.Validate(p.by.Location))
	key, err := coupon.ParseCode(row.Draft.Code)
	if err == nil {
		faults.Merge("", p.checkHandmade(key))
	}
	end, _ := draft.ExpiresAt.End(p.by.Location)
	valid := faults.Err() == nil && row.Refusal == nil
	if !left {
		faults.Add("usedCount", validation.TooLarge, "the code was used as often as it may be")
	}
	if !end.IsZero() && !end.After(p.by.At) {
		faults.Add("expiresAt", validation.TooSmall, "the code has expired")
	}
	if row.Refusal == nil {
		row.Refusal = faults.Err()
	}
	if row.Refusal != nil {
		row.Verdict = codecsv.Refused
	}
	if !valid {
		key = coupon.Code{}
	}
	return draft, key
}

// otherBatch tells which batch has other content than a call wants to add to it.
func otherBatch(id string, err error) error {
	if errors.Is(err, store.ErrKeyReused) {
		return fmt.Errorf("batch %q has other content: %w", id, err)
	}
	return err
}
