package engine

import (
	"context"
	"encoding/json"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// CouponTx is a transaction of a store that changes one coupon.
type CouponTx interface {
	// LoadCoupon locks the coupon with the given ID and returns the data that is stored for
	// the ID and the code. The returned allow-list has the number of addresses, but no
	// addresses.
	LoadCoupon(ctx context.Context, id string, code coupon.Code) (StoredCoupon, error)
	// SaveCoupon writes the change. If a new row exists already, SaveCoupon returns
	// [ErrAgain].
	SaveCoupon(ctx context.Context, w CouponWrite) error
	// LoadCodes returns codes. The caller has locked their coupon with LoadCoupon.
	LoadCodes(ctx context.Context, n CodeNeed) (CodeRows, error)
}

// StoredCoupon is the data that is stored for the ID and the code of a coupon.
type StoredCoupon struct {
	// Coupon is the coupon with the ID. It is the zero value if there is no such coupon.
	Coupon coupon.Coupon
	// Unlimited is taken from the last change of the coupon.
	Unlimited bool
	// Version is the number of changes of the coupon, for the journal.
	Version int64
	// CodeOf is the ID of the coupon that has the code. It is empty if no coupon has the
	// code.
	CodeOf string
	// Counted tells that a counter of uses already exists for the ID.
	Counted bool
}

// CouponWrite is a change of a coupon that must be saved.
type CouponWrite struct {
	// Kind is the kind of the change. A write of codes alone has the Kind ConfirmMirror.
	Kind store.ChangeKind
	// Coupon is the coupon to store. For DeleteCoupon, Coupon is the deleted coupon.
	Coupon    coupon.Coupon
	Unlimited bool
	Version   int64
	// KeepEmails tells that the stored allow-list must not change.
	KeepEmails bool
	// Fold is the counter whose rows must be merged into one row. This happens if the counter
	// gets a limit or the coupon is deleted. An empty Fold merges nothing.
	Fold string
	// Codes are new and changed codes. A write that deletes the coupon also removes its batches.
	Codes CodeWrites
	// Entry is the entry of the journal. Without a Kind, it is none.
	Entry store.Entry
}

// SaveCoupon applies a normalized and validated change of a coupon and saves the result. After
// store.ErrCodesLeft, the caller commits what was removed. After any other error, it rolls back.
func SaveCoupon(ctx context.Context, tx CouponTx, c store.CouponChange) (coupon.Coupon, error) {
	stored, err := tx.LoadCoupon(ctx, c.Coupon.ID, c.Coupon.Code)
	if err != nil {
		return coupon.Coupon{}, err
	}
	w, err := decideCoupon(stored, c)
	if err != nil {
		return coupon.Coupon{}, err
	}
	if w.Entry, err = couponEntry(stored, w, c); err != nil {
		return coupon.Coupon{}, err
	}
	if c.Kind == store.DeleteCoupon {
		return w.Coupon, deleteCoupon(ctx, tx, stored, w)
	}
	return w.Coupon, tx.SaveCoupon(ctx, w)
}

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
			w.Fold = eligibility.CouponUses(c.Coupon.ID)
		}
	case store.ConfirmMirror:
		w.Coupon, w.Unlimited = stored.Coupon, stored.Unlimited
		w.Coupon.Mirror = c.Coupon.Mirror
		if w.Coupon.State == coupon.Pending {
			w.Coupon.State = coupon.Active
		}
	case store.DeleteCoupon, store.CreateCoupon:
		w.Coupon, w.Unlimited = stored.Coupon, stored.Unlimited
		if stored.Unlimited { // so that late payments find one row
			w.Fold = eligibility.CouponUses(c.Coupon.ID)
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
	if !c.Code.IsZero() {
		w.Codes.New = []coupon.IssuedCode{{
			Code: c.Code, CouponID: c.ID, Active: true, CreatedAt: c.CreatedAt, UpdatedAt: c.CreatedAt, Revision: 1,
		}}
	}
	return w, nil
}

// edited returns the stored coupon with the editable fields of the change. It keeps the stored mirror.
// Only ConfirmMirror records a mirror, without a new revision, so the change may have an older mirror.
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

// couponData is the data of an entry about a coupon. Allow-lists have only their length.
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
