package store

import (
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// CodeChangeKind is the kind of a change of codes.
type CodeChangeKind uint8

// These constants are the kinds of changes of codes.
const (
	// AddCodes stores codes of a batch, all at once or part by part.
	AddCodes CodeChangeKind = iota + 1
	// EditCode replaces the limit, the owner, the expiry and the state of one code, and raises its
	// revision by 1. All else stays the same.
	EditCode
	// SwitchCodes switches codes of a batch on or off. It raises the revision of each code that changes by 1,
	// and returns these codes.
	SwitchCodes
	// RemoveCodes removes the codes of a batch that have no completed and no reserved use, and returns them.
	// Other codes stay as they are.
	RemoveCodes
	// AssignCodes gives each owner a code of a batch. An owner who has a code of the batch keeps it. Every other owner
	// gets the next code by position that is active and valid at At, and has no owner and no use. AssignCodes returns one
	// code for each owner, in the order of Owners. It returns ErrNoCodesLeft, and assigns nothing, if there are too few.
	AssignCodes
	// ImportCodes adds those codes that no coupon has. The batch grows with each call. ImportCodes returns the codes
	// that it has not added because this coupon or another one has them, as they are stored.
	ImportCodes
)

// MaxNewCodes is the maximum number of codes that one change adds. A batch is added in such parts, each in one
// transaction. Larger parts save little, and others wait for them on SQLite.
const MaxNewCodes = 5_000

// CodeChange changes codes of a coupon.
type CodeChange struct {
	Kind CodeChangeKind
	// CouponID is the coupon that has the codes.
	CouponID string
	// Batch is the batch of the codes. It is empty for EditCode.
	Batch string
	// Fingerprint tells whether a batch is repeated. It is empty unless codes are added.
	Fingerprint string
	// From is the position of the first of new codes in their batch. A batch has no gaps: the first part is at 0,
	// and every further part follows the codes that the batch has.
	From int64
	// Size is the number of codes that a new batch will have, at most [coupon.MaxBatchSize]. 0 means the
	// number of Codes.
	Size int64
	// Codes are the codes to add, 1 to [MaxNewCodes], to switch or to remove, 1 to [coupon.MaxCodes], or the one
	// code after an edit. The Revision of an edited code is the revision that the caller saw. Of codes to switch or to remove,
	// only the keys count. Codes of other batches stay as they are, and unknown codes are ignored.
	Codes []coupon.IssuedCode
	// Active is the new state for SwitchCodes.
	Active bool
	// Owners are those of AssignCodes, 1 to [coupon.MaxCodes]. Each is in the list once.
	Owners []coupon.Owner
	// By names who made the change, for the journal. It is empty for the system.
	By string
	// At is the time of the change. It is required.
	At time.Time
}

// Normalize returns the change with all times in UTC, to the microsecond, and without counts. The
// result shares no memory with the original.
func (c CodeChange) Normalize() CodeChange {
	c.At, c.Codes, c.Owners = instant(c.At), slices.Clone(c.Codes), slices.Clone(c.Owners)
	if c.Kind == AddCodes && c.Size == 0 {
		c.Size = int64(len(c.Codes))
	}
	for i := range c.Codes {
		code := &c.Codes[i]
		code.ExpiresAt, code.CreatedAt, code.UpdatedAt = instant(code.ExpiresAt), instant(code.CreatedAt), instant(code.UpdatedAt)
		code.UsedCount, code.ReservedCount = 0, 0
	}
	return c
}

// Validate checks the fields of a change that do not depend on what is stored. It returns a
// [*validation.Error] that lists every invalid field.
func (c CodeChange) Validate() error {
	var faults validation.Error
	changeFaults(&faults, c.At, c.By)
	if c.Kind < AddCodes || c.Kind > ImportCodes {
		faults.Add("kind", validation.Unknown, "is no change of codes")
	}
	if c.Kind != EditCode && c.Batch == "" {
		faults.Add("batch", validation.Required, "the codes have a batch")
	}
	textFaults(&faults, "couponId", c.CouponID)
	textFaults(&faults, "batch", c.Batch)
	if c.Kind == AssignCodes {
		c.ownerFaults(&faults)
		return faults.Err()
	}
	most, adds := coupon.MaxCodes, c.Kind == AddCodes || c.Kind == ImportCodes
	if adds {
		most = MaxNewCodes
	}
	switch {
	case len(c.Codes) == 0:
		faults.Add("codes", validation.Required, "at least one code")
	case c.Kind == EditCode && len(c.Codes) > 1, len(c.Codes) > most:
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes, and one to change", most))
		return faults.Err()
	}
	if adds {
		c.partFaults(&faults)
	}
	first := make(map[coupon.Code]int, len(c.Codes))
	for i, code := range c.Codes {
		if adds || c.Kind == EditCode {
			if err := code.Validate(); err != nil {
				faults.Merge(fmt.Sprintf("codes[%d]", i), err)
			}
		}
		switch before, twice := first[code.Code]; {
		case twice:
			faults.Add(fmt.Sprintf("codes[%d].code", i), validation.Mismatch, fmt.Sprintf("is also codes[%d]", before))
		case code.CouponID != c.CouponID:
			faults.Add(fmt.Sprintf("codes[%d].couponId", i), validation.Mismatch, "is another coupon")
		case adds && (code.Batch != c.Batch || code.Revision != 1):
			faults.Add(fmt.Sprintf("codes[%d].batch", i), validation.Mismatch, "a new code has the batch of the call, and revision 1")
		case c.Kind == EditCode && code.Plain():
			faults.Add(fmt.Sprintf("codes[%d].batch", i), validation.Immutable, "the plain code is changed with its coupon")
		}
		first[code.Code] = i
	}
	return faults.Err()
}

func (c CodeChange) partFaults(faults *validation.Error) {
	if c.Fingerprint == "" || len(c.Fingerprint) > redemption.MaxIDLength {
		faults.Add("fingerprint", validation.Required, "a batch has a fingerprint")
	}
	if c.Kind == AddCodes && (c.From < 0 || c.Size > coupon.MaxBatchSize || c.From > c.Size-int64(len(c.Codes))) {
		faults.Add("size", validation.Mismatch, fmt.Sprintf("the codes lie within the batch, which has at most %d", coupon.MaxBatchSize))
	}
}

func (c CodeChange) ownerFaults(faults *validation.Error) {
	switch {
	case len(c.Owners) == 0:
		faults.Add("owners", validation.Required, "at least one owner")
	case len(c.Owners) > coupon.MaxCodes:
		faults.Add("owners", validation.TooLong, fmt.Sprintf("at most %d owners", coupon.MaxCodes))
		return
	}
	first := map[coupon.Owner]int{}
	for i, owner := range c.Owners {
		field := fmt.Sprintf("owners[%d]", i)
		if owner.IsZero() {
			faults.Add(field, validation.Required, "an owner is a customer")
		}
		_, err := coupon.ParseOwner(owner.String())
		faults.Merge(field, err)
		if before, twice := first[owner]; twice {
			faults.Add(field, validation.Mismatch, fmt.Sprintf("is also owners[%d]", before))
		}
		first[owner] = i
	}
}

// CodeList selects a page of the codes of a coupon.
type CodeList struct {
	// CouponID is the coupon. It is required.
	CouponID string
	// Batch and Owner select the codes with these values. A zero value selects all codes.
	Batch string
	Owner coupon.Owner
	// State selects codes that are [coupon.Active] or [coupon.Inactive]. A zero State selects all.
	State coupon.State
	// Unused selects the codes of batches that have no completed and no reserved use.
	Unused bool
	// Used selects the codes of batches that have a completed or a reserved use. It excludes Unused.
	Used bool
	// After is the value of [CodePage].Next from the previous page. It is empty for the first page.
	After string
	// PageSize is the maximum number of codes on the page, from 1 to [coupon.MaxCodes]. A PageSize of 0
	// means [DefaultPageSize].
	PageSize int
}

// CodePage is a page of codes.
type CodePage struct {
	Items []coupon.IssuedCode
	// Next is the cursor of the next page. It is empty on the last page.
	Next string
}

// Normalize fills in default values and checks the bounds of all fields, like
// [CouponList.Normalize].
func (l CodeList) Normalize() (CodeList, error) {
	var faults validation.Error
	if l.CouponID == "" {
		faults.Add("couponId", validation.Required, "is required")
	}
	textFaults(&faults, "couponId", l.CouponID)
	textFaults(&faults, "batch", l.Batch)
	if l.State != 0 && l.State != coupon.Active && l.State != coupon.Inactive {
		faults.Add("state", validation.Unknown, "must be active or inactive")
	}
	if l.Used && l.Unused {
		faults.Add("used", validation.Mismatch, "codes are used or unused")
	}
	if l.After != "" {
		if key, err := coupon.ParseCode(l.After); err != nil || key.String() != l.After {
			faults.Add("after", validation.Malformed, "must be the Next of a page")
		}
	}
	l.PageSize = pageSize(l.PageSize, coupon.MaxCodes, &faults)
	return l, faults.Err()
}

// Wants reports whether the list selects a code, whatever its page.
func (l CodeList) Wants(c coupon.IssuedCode) bool {
	return c.CouponID == l.CouponID && (l.Batch == "" || l.Batch == c.Batch) && (l.Owner.IsZero() || l.Owner == c.Owner) &&
		(l.State == 0 || c.Active == (l.State == coupon.Active)) && (!l.Unused && !l.Used || !c.Plain() && l.Used == (c.UsedCount+c.ReservedCount > 0))
}

// CutCodes returns the first codes as a page of the given size.
func CutCodes(codes []coupon.IssuedCode, size int) (page CodePage) {
	if page.Items = codes; len(codes) > size {
		page.Items = codes[:size]
		page.Next = codes[size-1].Code.String()
	}
	return page
}

// BatchList selects a page of the batches of a coupon.
type BatchList struct {
	// CouponID is the coupon. It is required.
	CouponID string
	// ID selects the batch with this ID. An empty ID selects all batches.
	ID string
	// After is the ID of the last batch of the previous page. It is empty for the first page.
	After string
	// PageSize is the maximum number of batches on the page, from 1 to [MaxPageSize]. A PageSize of 0
	// means [DefaultPageSize].
	PageSize int
}

// BatchPage is a page of batches.
type BatchPage struct {
	Items []coupon.IssuedBatch
	// Next is the cursor of the next page. It is empty on the last page.
	Next string
}

// Normalize fills in default values and checks the bounds of all fields.
func (l BatchList) Normalize() (BatchList, error) {
	var faults validation.Error
	if l.CouponID == "" {
		faults.Add("couponId", validation.Required, "is required")
	}
	textFaults(&faults, "couponId", l.CouponID)
	textFaults(&faults, "id", l.ID)
	textFaults(&faults, "after", l.After)
	l.PageSize = pageSize(l.PageSize, MaxPageSize, &faults)
	return l, faults.Err()
}

// CutBatches returns the first batches as a page of the given size.
func CutBatches(batches []coupon.IssuedBatch, size int) (page BatchPage) {
	if page.Items = batches; len(batches) > size {
		page.Items = batches[:size]
		page.Next = batches[size-1].ID
	}
	return page
}

func textFaults(faults *validation.Error, field, text string) {
	if !IsText(text) || len(text) > redemption.MaxIDLength {
		faults.Add(field, validation.Malformed, "must be short UTF-8 text without NUL")
	}
}
