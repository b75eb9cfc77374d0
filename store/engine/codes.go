package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// A code is live until its coupon is deleted. Only one coupon can have a live code. When its coupon is
// deleted, a code with uses is kept and retired. Another coupon may then have the same code.

// CodeNeed selects codes.
type CodeNeed struct {
	CouponID string
	// Keys selects the live codes with these keys, of any coupon.
	Keys []coupon.Code
	// Batch selects the record of a batch of the coupon. An empty Batch selects none.
	Batch string
	// All selects all codes of the batch, at most [store.MaxNewCodes]. Owners selects the codes of the batch that
	// these owners have. Free is how many codes are wanted that are active, have no owner and no use, and are
	// valid at At, first by position.
	All    bool
	Owners []coupon.Owner
	Free   int
	At     time.Time
	// Live is how many live codes of the coupon are wanted, whatever they are.
	Live int
}

// CodeRows are the selected codes that exist, with their counts.
type CodeRows struct {
	// Codes are those that Keys and Live have selected.
	Codes []coupon.IssuedCode
	// Batch is the batch without the counts of uses. It is the zero value if the coupon has no such batch.
	Batch coupon.IssuedBatch
	// All are all codes of the batch, and Free the free ones, by position. Owned are those of the owners.
	All   []coupon.IssuedCode
	Owned []coupon.IssuedCode
	Free  []coupon.IssuedCode
}

// CodeWrites are new and changed codes of one coupon.
type CodeWrites struct {
	// Batch is the batch of the codes after the change, without the counts of uses. It is the zero value if no batch
	// changes. NewBatch tells that the batch is new.
	Batch    coupon.IssuedBatch
	NewBatch bool
	// New are new codes. From is the position of the first one.
	New     []coupon.IssuedCode
	From    int64
	Changed []coupon.IssuedCode
	// Removed are keys of codes that go. Retired are keys of codes that stay, and are live no more.
	Removed []coupon.Code
	Retired []coupon.Code
}

// CounterOf returns the key of the counter of a code's uses, or "" for the plain code.
func CounterOf(c coupon.IssuedCode) string {
	if c.Plain() {
		return ""
	}
	return eligibility.CodeUses(c.CouponID, c.Code.String())
}

// SaveCodes applies a change of codes and saves the result. The caller must normalize and validate
// the change.
func SaveCodes(ctx context.Context, tx CouponTx, c store.CodeChange) ([]coupon.IssuedCode, error) {
	stored, err := tx.LoadCoupon(ctx, c.CouponID, coupon.Code{})
	if err != nil {
		return nil, err
	}
	if stored.Coupon.ID == "" || stored.Coupon.State == coupon.Deleting {
		return nil, coupon.Reject(c.CouponID, coupon.CouponNotFound, coupon.Params{})
	}
	need := CodeNeed{CouponID: c.CouponID, Batch: c.Batch, Owners: c.Owners, Free: len(c.Owners), At: c.At}
	need.All = c.Kind == store.AddCodes && c.Size == int64(len(c.Codes))
	for _, code := range c.Codes {
		need.Keys = append(need.Keys, code.Code)
		if c.Kind == store.EditCode {
			need.Batch = code.Batch
		}
	}
	rows, err := tx.LoadCodes(ctx, need)
	if err != nil {
		return nil, err
	}
	if adds := c.Kind == store.AddCodes || c.Kind == store.ImportCodes; !adds && rows.Batch.ID == "" {
		return nil, coupon.Reject(c.CouponID, coupon.CouponNotFound, coupon.Params{})
	}
	// Only the version of the coupon changes.
	w := codeWork{change: c, rows: rows, CouponWrite: CouponWrite{
		Kind: store.ConfirmMirror, Coupon: stored.Coupon, Unlimited: stored.Unlimited, KeepEmails: true, Version: stored.Version + 1,
		Codes: CodeWrites{Batch: rows.Batch},
		Entry: store.Entry{Subject: c.CouponID, Version: stored.Version + 1, At: c.At, By: c.By},
	}}
	codes, err := w.decide()
	if err != nil || w.Entry.Kind == "" {
		return codes, err
	}
	if w.Entry.Data, err = json.Marshal(w.data); err != nil {
		return nil, err
	}
	return codes, tx.SaveCoupon(ctx, w.CouponWrite)
}

// codeWork decides a change of codes.
type codeWork struct {
	CouponWrite

	change store.CodeChange
	rows   CodeRows
	data   codesData // data of the journal entry
}

// decide returns the codes for the caller. If it sets no Kind in the entry, nothing changes.
func (w *codeWork) decide() ([]coupon.IssuedCode, error) {
	switch w.change.Kind {
	case store.AddCodes:
		return w.add()
	case store.EditCode:
		return w.edit()
	case store.SwitchCodes:
		return w.switchCodes(), nil
	case store.RemoveCodes:
		return w.remove(), nil
	case store.AssignCodes:
		return w.assign()
	case store.ImportCodes:
		return w.importCodes()
	}
	return nil, errUnknownChange
}

var errUnknownChange = errors.New("engine: an unknown change of codes")

func (w *codeWork) add() ([]coupon.IssuedCode, error) {
	c, known := w.change, w.rows.Batch
	size := int64(len(c.Codes))
	switch {
	case known.ID != "" && (known.Fingerprint != c.Fingerprint || known.Size != c.Size):
		return nil, store.ErrKeyReused
	case size == c.Size && known.Added == c.Size:
		return w.rows.All, nil
	case known.Added != c.From:
		return nil, store.ErrStaleRevision
	}
	if err := coupon.ExpiredCodes(c.Codes); err != nil {
		return nil, err
	}
	holders := map[coupon.Code]string{}
	for _, code := range w.rows.Codes {
		holders[code.Code] = code.CouponID
	}
	var taken coupon.TakenError
	for i, code := range c.Codes {
		if holder, is := holders[code.Code]; is {
			taken.Taken = append(taken.Taken, coupon.TakenCode{Index: i, Key: code.Code, CouponID: holder})
		}
	}
	if len(taken.Taken) > 0 {
		return nil, &taken
	}
	w.grow(c.Codes)
	w.Codes.Batch.Size = c.Size
	return slices.Clone(c.Codes), nil
}

// grow adds codes to the batch, which may be new.
func (w *codeWork) grow(added []coupon.IssuedCode) {
	c := w.change
	if w.Codes.NewBatch = w.rows.Batch.ID == ""; w.Codes.NewBatch {
		w.Codes.Batch = coupon.IssuedBatch{ID: c.Batch, CouponID: c.CouponID, Fingerprint: c.Fingerprint, CreatedAt: c.At}
	}
	for _, code := range added {
		w.count(coupon.IssuedCode{Active: true}, code)
	}
	w.Codes.New, w.Codes.From = added, w.Codes.Batch.Added
	w.Codes.Batch.Added += int64(len(added))
	w.Entry.Kind, w.data = store.CodesAdded, codesData{Batch: c.Batch, Added: len(added)}
}

func (w *codeWork) importCodes() (known []coupon.IssuedCode, err error) {
	if b := w.rows.Batch; b.ID != "" && b.Fingerprint != w.change.Fingerprint {
		return nil, store.ErrKeyReused
	}
	stored := map[coupon.Code]coupon.IssuedCode{}
	for _, code := range w.rows.Codes {
		stored[code.Code] = code
	}
	added := make([]coupon.IssuedCode, 0, len(w.change.Codes))
	for _, code := range w.change.Codes {
		if other, is := stored[code.Code]; is {
			known = append(known, other)
		} else {
			added = append(added, code)
		}
	}
	if err := coupon.ExpiredCodes(added); err != nil {
		return nil, err
	}
	if w.rows.Batch.Added+int64(len(added)) > coupon.MaxBatchSize {
		return nil, validation.New("codes", validation.TooLong, fmt.Sprintf("a batch has at most %d codes", coupon.MaxBatchSize))
	}
	if len(added) > 0 {
		w.grow(added)
		w.Codes.Batch.Size = w.Codes.Batch.Added
	}
	return known, nil
}

// count updates the counts of the batch for a changed code.
func (w *codeWork) count(before, after coupon.IssuedCode) {
	one := func(is bool) int64 {
		if is {
			return 1
		}
		return 0
	}
	w.Codes.Batch.Assigned += one(!after.Owner.IsZero()) - one(!before.Owner.IsZero())
	w.Codes.Batch.Inactive += one(!after.Active) - one(!before.Active)
}

// replace writes the new state of a code.
func (w *codeWork) replace(before, after coupon.IssuedCode) coupon.IssuedCode {
	after.Revision, after.UpdatedAt = before.Revision+1, w.change.At
	w.count(before, after)
	w.Codes.Changed = append(w.Codes.Changed, after)
	return after
}

func (w *codeWork) edit() ([]coupon.IssuedCode, error) {
	c := w.change.Codes[0]
	at := slices.IndexFunc(w.rows.Codes, func(known coupon.IssuedCode) bool { return known.CouponID == c.CouponID && known.Batch == c.Batch })
	if at < 0 {
		return nil, coupon.Reject(c.CouponID, coupon.CouponNotFound, coupon.Params{})
	}
	before := w.rows.Codes[at]
	if before.Revision != c.Revision {
		return nil, store.ErrStaleRevision
	}
	after := before
	after.MaxUses, after.Owner, after.ExpiresAt, after.Active = c.MaxUses, c.Owner, c.ExpiresAt, c.Active
	after = w.replace(before, after)
	w.Entry.Kind, w.data = store.CodeChanged, codesData{Before: codeDataOf(before), After: codeDataOf(after)}
	return w.Codes.Changed, nil
}

// asked returns the requested codes that belong to the batch.
func (w *codeWork) asked() []coupon.IssuedCode {
	return slices.DeleteFunc(w.rows.Codes, func(c coupon.IssuedCode) bool {
		return c.CouponID != w.change.CouponID || c.Batch != w.change.Batch
	})
}

func (w *codeWork) switchCodes() []coupon.IssuedCode {
	for _, before := range w.asked() {
		if after := before; before.Active != w.change.Active {
			after.Active = w.change.Active
			w.replace(before, after)
		}
	}
	if n := len(w.Codes.Changed); n > 0 {
		w.Entry.Kind, w.data = store.CodesChanged, codesData{Batch: w.change.Batch, Switched: n, Active: &w.change.Active}
	}
	return w.Codes.Changed
}

func (w *codeWork) remove() (removed []coupon.IssuedCode) {
	for _, c := range w.asked() {
		if c.UsedCount+c.ReservedCount == 0 {
			w.count(c, coupon.IssuedCode{Active: true})
			w.Codes.Removed = append(w.Codes.Removed, c.Code)
			removed = append(removed, c)
		}
	}
	if n := len(removed); n > 0 {
		w.Codes.Batch.Removed += int64(n)
		w.Entry.Kind, w.data = store.CodesChanged, codesData{Batch: w.change.Batch, Removed: n}
	}
	return removed
}

func (w *codeWork) assign() ([]coupon.IssuedCode, error) {
	of := map[coupon.Owner]coupon.IssuedCode{}
	for _, c := range w.rows.Owned {
		if _, another := of[c.Owner]; !another {
			of[c.Owner] = c
		}
	}
	free, codes := w.rows.Free, make([]coupon.IssuedCode, len(w.change.Owners))
	for i, owner := range w.change.Owners {
		c, owned := of[owner]
		if !owned {
			if len(free) == 0 {
				return nil, store.ErrNoCodesLeft
			}
			after := free[0]
			after.Owner = owner
			c, free = w.replace(free[0], after), free[1:]
		}
		codes[i] = c
	}
	if n := len(w.Codes.Changed); n > 0 {
		w.Entry.Kind, w.data = store.CodesChanged, codesData{Batch: w.change.Batch, Assigned: n}
	}
	return codes, nil
}

// codesData is the data of an entry about several codes.
type codesData struct {
	Batch    string    `json:"batch,omitempty"`
	Added    int       `json:"added,omitempty"`
	Switched int       `json:"switched,omitempty"`
	Active   *bool     `json:"active,omitempty"` // new state of the switched codes
	Removed  int       `json:"removed,omitempty"`
	Assigned int       `json:"assigned,omitempty"`
	Before   *codeData `json:"before,omitempty"`
	After    *codeData `json:"after,omitempty"`
}

// codeData is the data of a code in the journal, without its owner.
type codeData struct {
	Code      coupon.Code `json:"code"`
	MaxUses   int64       `json:"maxUses,omitempty"`
	Owned     bool        `json:"owned,omitempty"`
	ExpiresAt time.Time   `json:"expiresAt,omitzero"`
	Active    bool        `json:"active"`
	Revision  int64       `json:"revision"`
}

func codeDataOf(c coupon.IssuedCode) *codeData {
	return &codeData{Code: c.Code, MaxUses: c.MaxUses, Owned: !c.Owner.IsZero(), ExpiresAt: c.ExpiresAt, Active: c.Active, Revision: c.Revision}
}

// deleteCoupon deletes a coupon with its codes. If there are too many codes, it deletes some of them
// and keeps the coupon.
func deleteCoupon(ctx context.Context, tx CouponTx, stored StoredCoupon, w CouponWrite) error {
	rows, err := tx.LoadCodes(ctx, CodeNeed{CouponID: stored.Coupon.ID, Live: coupon.MaxCodes + 1})
	if err != nil {
		return err
	}
	left := len(rows.Codes) > coupon.MaxCodes
	for _, code := range rows.Codes[:min(len(rows.Codes), coupon.MaxCodes)] {
		used := code.UsedCount+code.ReservedCount > 0
		if code.Plain() {
			used = stored.Coupon.UsedCount+stored.Coupon.ReservedCount > 0
		}
		if used {
			w.Codes.Retired = append(w.Codes.Retired, code.Code)
		} else {
			w.Codes.Removed = append(w.Codes.Removed, code.Code)
		}
	}
	if !left {
		return tx.SaveCoupon(ctx, w)
	}
	part := CouponWrite{
		Kind: store.ConfirmMirror, Coupon: stored.Coupon, Unlimited: stored.Unlimited, KeepEmails: true,
		Version: stored.Version, Codes: w.Codes,
	}
	if err := tx.SaveCoupon(ctx, part); err != nil {
		return err
	}
	return store.ErrCodesLeft
}

// ReadCode completes a code with its key and its owner, as a store keeps them.
func ReadCode(c *coupon.IssuedCode, key, owner string) (err error) {
	c.Code = coupon.StoredCode(key)
	if c.Owner, err = coupon.ParseOwner(owner); err != nil {
		return unreadable("coupon", c.CouponID, "the owner of code "+key, err)
	}
	return nil
}
