package engine

import (
	"context"
	"encoding/json"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// CouponTx is a transaction of a store that changes one coupon.
type CouponTx interface {
	// LoadCoupon locks the coupon of that ID against everybody, and returns what is stored
	// under the ID and the code. Its allow-list is narrowed to no address.
	LoadCoupon(ctx context.Context, id string, code coupon.Code) (StoredCoupon, error)
	// SaveCoupon writes the change. A row that is to be inserted and is there already is
	// [ErrAgain].
	SaveCoupon(ctx context.Context, w CouponWrite) error
}

// StoredCoupon is what is known under an ID and a code.
type StoredCoupon struct {
	// Coupon is that of the ID; its zero value is none.
	Coupon coupon.Coupon
	// Unlimited is that of its last change.
	Unlimited bool
	// Version counts its changes, for the journal.
	Version int64
	// CodeOf is the ID of the coupon that has the code; empty is none.
	CodeOf string
	// Counted tells that the uses of the ID are counted already.
	Counted bool
}

// CouponWrite is the change of a coupon.
type CouponWrite struct {
	Kind store.ChangeKind
	// Coupon as it is to be stored. For DeleteCoupon it is the coupon as it was.
	Coupon    coupon.Coupon
	Unlimited bool
	Version   int64
	// KeepEmails tells that the stored allow-list stays as it is.
	KeepEmails bool
	// Fold names the counter whose rows become one row, because it has a limit from now
	// on, or the coupon is gone; empty is none.
	Fold  string
	Entry store.Entry
}

// SaveCoupon decides a change of a coupon that [ValidateChange] has accepted, and saves it.
func SaveCoupon(ctx context.Context, tx CouponTx, c store.CouponChange) (coupon.Coupon, error) {
	stored, err := tx.LoadCoupon(ctx, c.Coupon.ID, c.Coupon.Code)
	if err != nil {
		return coupon.Coupon{}, err
	}
	w, err := decideCoupon(stored, c)
	if err != nil {
		return coupon.Coupon{}, err
	}
	w.Entry, err = couponEntry(stored, w, c)
	if err != nil {
		return coupon.Coupon{}, err
	}
	return w.Coupon, tx.SaveCoupon(ctx, w)
}

// ValidateChange is [store.CouponChange.Validate].
func ValidateChange(c store.CouponChange) error { return c.Validate() }

func decideCoupon(stored StoredCoupon, c store.CouponChange) (CouponWrite, error) {
	w := CouponWrite{Kind: c.Kind, Unlimited: c.Unlimited, Version: stored.Version + 1}
	if c.Kind == store.CreateCoupon {
		return decideCreate(stored, w, c.Coupon)
	}
	revision := c.Coupon.Revision
	if c.Kind == store.ConfirmMirror {
		revision = c.Coupon.Mirror.Revision
	}
	switch {
	case stored.Coupon.ID == "":
		return w, coupon.Reject(c.Coupon.ID, coupon.CouponNotFound, coupon.Params{})
	case stored.Coupon.Revision != revision:
		return w, store.ErrStaleRevision
	}
	w.KeepEmails = true
	switch c.Kind {
	case store.EditCoupon:
		w.Coupon = edited(stored.Coupon, c.Coupon)
		w.KeepEmails = c.Coupon.AllowedUserEmails.Narrowed()
		if stored.Unlimited && !c.Unlimited {
			w.Fold = redemption.CouponUses(c.Coupon.ID)
		}
	case store.ConfirmMirror:
		w.Coupon, w.Unlimited = stored.Coupon, stored.Unlimited
		w.Coupon.Mirror = c.Coupon.Mirror
		if w.Coupon.State == coupon.Pending {
			w.Coupon.State = coupon.Active
		}
	case store.DeleteCoupon, store.CreateCoupon:
		w.Coupon, w.Unlimited = stored.Coupon, stored.Unlimited
		if stored.Unlimited { // late payments find one row
			w.Fold = redemption.CouponUses(c.Coupon.ID)
		}
		return w, nil
	}
	return w, w.Coupon.Validate()
}

func decideCreate(stored StoredCoupon, w CouponWrite, c coupon.Coupon) (CouponWrite, error) {
	switch {
	case stored.CodeOf != "":
		return w, coupon.Reject(stored.CodeOf, coupon.CodeTaken, coupon.Params{})
	case stored.Coupon.ID != "", stored.Counted:
		return w, store.ErrConflict
	}
	w.Coupon = c
	w.Coupon.UsedCount, w.Coupon.ReservedCount = 0, 0
	return w, nil
}

// edited returns the coupon with the editable parts of the change. A mirror is recorded by
// ConfirmMirror only, which leaves the revision as it is: the change may not know it yet.
func edited(stored, c coupon.Coupon) coupon.Coupon {
	c.Mirror = stored.Mirror
	c.Code, c.Discount, c.Currency, c.CreatedAt = stored.Code, stored.Discount, stored.Currency, stored.CreatedAt
	c.UsedCount, c.ReservedCount = stored.UsedCount, stored.ReservedCount
	c.Revision = stored.Revision + 1
	if c.AllowedUserEmails.Narrowed() {
		c.AllowedUserEmails = stored.AllowedUserEmails
	}
	return c
}

// couponData is the data of an entry about a coupon. Allow-lists tell their length only.
type couponData struct {
	Before       *coupon.Coupon `json:"before,omitempty"`
	EmailsBefore int            `json:"emailsBefore,omitempty"`
	After        *coupon.Coupon `json:"after,omitempty"`
	EmailsAfter  int            `json:"emailsAfter,omitempty"`
}

func couponEntry(stored StoredCoupon, w CouponWrite, c store.CouponChange) (store.Entry, error) {
	kinds := map[store.ChangeKind]store.EntryKind{
		store.CreateCoupon: store.CouponCreated, store.EditCoupon: store.CouponChanged,
		store.ConfirmMirror: store.CouponMirrored, store.DeleteCoupon: store.CouponDeleted,
	}
	var data couponData
	if c.Kind != store.CreateCoupon {
		data.Before, data.EmailsBefore = withoutEmails(stored.Coupon)
	}
	if c.Kind != store.DeleteCoupon {
		data.After, data.EmailsAfter = withoutEmails(w.Coupon)
	}
	text, err := json.Marshal(data)
	return store.Entry{
		Kind: kinds[c.Kind], Subject: c.Coupon.ID, Version: w.Version, At: c.At, By: c.By, Data: text,
	}, err
}

func withoutEmails(c coupon.Coupon) (*coupon.Coupon, int) {
	count := c.AllowedUserEmails.Len()
	c.AllowedUserEmails = coupon.NarrowedEmailSet(count, "")
	return &c, count
}
