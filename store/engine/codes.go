package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// A code is live until its coupon is deleted. One coupon has a live code. A code that has uses
// stays when its coupon is deleted, and is retired then: another coupon may have the same code.

// CodeNeed selects codes.
type CodeNeed struct {
	CouponID string
	// Keys selects the live codes with these keys, of any coupon.
	Keys []coupon.Code
	// Batch selects the codes of a batch of the coupon. An empty Batch selects none.
	Batch string
	// Live is how many live codes of the coupon are wanted, whatever they are.
	Live int
}

// CodeRows are the selected codes that exist.
type CodeRows struct {
	// Codes are those that Keys and Live have selected, with their counts.
	Codes []coupon.IssuedCode
	// Fingerprint is that of the batch. It is empty if the coupon has no such batch.
	Fingerprint string
	// Batch are the codes of the batch with their counts, in the order in which they were added.
	Batch []coupon.IssuedCode
}

// CodeWrites are new and changed codes of one coupon.
type CodeWrites struct {
	// Batch and Fingerprint are a new batch, if New are the codes of one.
	Batch       string
	Fingerprint string
	New         []coupon.IssuedCode
	Changed     []coupon.IssuedCode
	// Removed are keys of codes that go. Retired are keys of codes that stay, and are live no more.
	Removed []coupon.Code
	Retired []coupon.Code
}

// CounterOf returns the key of the counter of a code's uses, or "" for the plain code.
func CounterOf(c coupon.IssuedCode) string {
	if c.Plain() {
		return ""
	}
	return eligibility.CodeUses(c.CouponID, c.Key.String())
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
	need := CodeNeed{CouponID: c.CouponID, Batch: c.Batch}
	for _, code := range c.Codes {
		need.Keys = append(need.Keys, code.Key)
	}
	rows, err := tx.LoadCodes(ctx, need)
	if err != nil {
		return nil, err
	}
	// The coupon is written as it is, but for its version.
	w := CouponWrite{
		Kind: store.ConfirmMirror, Coupon: stored.Coupon, Unlimited: stored.Unlimited, KeepEmails: true, Version: stored.Version + 1,
		Entry: store.Entry{Subject: c.CouponID, Version: stored.Version + 1, At: c.At, By: c.By},
	}
	if c.Kind == store.EditCode {
		return editCode(ctx, tx, w, rows, c.Codes[0])
	}
	return addCodes(ctx, tx, w, rows, c)
}

func addCodes(ctx context.Context, tx CouponTx, w CouponWrite, rows CodeRows, c store.CodeChange) ([]coupon.IssuedCode, error) {
	switch rows.Fingerprint {
	case "":
	case c.Fingerprint:
		return rows.Batch, nil
	default:
		return nil, store.ErrKeyReused
	}
	if err := coupon.ExpiredCodes(c.Codes); err != nil {
		return nil, err
	}
	holders := map[coupon.Code]string{}
	for _, code := range rows.Codes {
		holders[code.Key] = code.CouponID
	}
	var taken coupon.TakenError
	for i, code := range c.Codes {
		if holder, is := holders[code.Key]; is {
			taken.Taken = append(taken.Taken, coupon.TakenCode{Index: i, Key: code.Key, CouponID: holder})
		}
	}
	if len(taken.Taken) > 0 {
		return nil, &taken
	}
	w.Codes = CodeWrites{Batch: c.Batch, Fingerprint: c.Fingerprint, New: c.Codes}
	var err error
	w.Entry.Kind = store.CodesAdded
	w.Entry.Data, err = json.Marshal(codesData{Batch: c.Batch, Added: len(c.Codes)})
	if err != nil {
		return nil, err
	}
	return slices.Clone(c.Codes), tx.SaveCoupon(ctx, w)
}

func editCode(ctx context.Context, tx CouponTx, w CouponWrite, rows CodeRows, c coupon.IssuedCode) ([]coupon.IssuedCode, error) {
	at := slices.IndexFunc(rows.Codes, func(known coupon.IssuedCode) bool { return known.CouponID == c.CouponID && !known.Plain() })
	if at < 0 {
		return nil, coupon.Reject(c.CouponID, coupon.CouponNotFound, coupon.Params{})
	}
	before := rows.Codes[at]
	if before.Revision != c.Revision {
		return nil, store.ErrStaleRevision
	}
	after := before
	after.MaxUses, after.Owner, after.ExpiresAt, after.Active, after.UpdatedAt = c.MaxUses, c.Owner, c.ExpiresAt, c.Active, c.UpdatedAt
	after.Revision++
	w.Codes.Changed = []coupon.IssuedCode{after}
	var err error
	w.Entry.Kind = store.CodeChanged
	w.Entry.Data, err = json.Marshal(codesData{Before: codeDataOf(before), After: codeDataOf(after)})
	if err != nil {
		return nil, err
	}
	return w.Codes.Changed, tx.SaveCoupon(ctx, w)
}

// codesData is the data of an entry about codes.
type codesData struct {
	Batch  string    `json:"batch,omitempty"`
	Added  int       `json:"added,omitempty"`
	Before *codeData `json:"before,omitempty"`
	After  *codeData `json:"after,omitempty"`
}

// codeData is a code without its owner.
type codeData struct {
	Code      coupon.Code `json:"code"`
	MaxUses   int64       `json:"maxUses,omitempty"`
	Owned     bool        `json:"owned,omitempty"`
	ExpiresAt time.Time   `json:"expiresAt,omitzero"`
	Active    bool        `json:"active"`
	Revision  int64       `json:"revision"`
}

func codeDataOf(c coupon.IssuedCode) *codeData {
	return &codeData{Code: c.Key, MaxUses: c.MaxUses, Owned: !c.Owner.IsZero(), ExpiresAt: c.ExpiresAt, Active: c.Active, Revision: c.Revision}
}

// deleteCoupon deletes a coupon with its codes. Of many codes it removes a part, and leaves the
// coupon.
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
			w.Codes.Retired = append(w.Codes.Retired, code.Key)
		} else {
			w.Codes.Removed = append(w.Codes.Removed, code.Key)
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
	c.Key = coupon.StoredCode(key)
	if c.Owner, err = coupon.ParseOwner(owner); err != nil {
		return unreadable("coupon", c.CouponID, "the owner of code "+key, err)
	}
	return nil
}
