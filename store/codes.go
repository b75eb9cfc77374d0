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
	// AddCodes stores the codes of a new batch.
	AddCodes CodeChangeKind = iota + 1
	// EditCode replaces the limit, the owner, the expiry and the state of one code, and raises its
	// revision by 1. All else stays the same.
	EditCode
)

// CodeChange adds codes to a coupon, or changes one.
type CodeChange struct {
	Kind CodeChangeKind
	// CouponID is the coupon that has the codes.
	CouponID string
	// Batch and Fingerprint are those of new codes. The same fingerprint tells that a batch is
	// repeated. Both are empty for EditCode.
	Batch       string
	Fingerprint string
	// Codes are the new codes, 1 to [coupon.MaxCodes], or the one code after the change. Its
	// Revision is the revision that the caller saw.
	Codes []coupon.IssuedCode
	// By names who made the change, for the journal. It is empty for the system.
	By string
	// At is the time of the change. It is required.
	At time.Time
}

// Normalize returns the change with all times in UTC, to the microsecond, and without counts. The
// result shares no memory with the original.
func (c CodeChange) Normalize() CodeChange {
	c.At, c.Codes = instant(c.At), slices.Clone(c.Codes)
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
	switch most := coupon.MaxCodes; {
	case c.Kind != AddCodes && c.Kind != EditCode:
		faults.Add("kind", validation.Unknown, "is no change of codes")
	case len(c.Codes) == 0:
		faults.Add("codes", validation.Required, "at least one code")
	case c.Kind == EditCode && len(c.Codes) > 1, len(c.Codes) > most:
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes, and one to change", most))
		return faults.Err()
	}
	if c.Kind == AddCodes && (c.Batch == "" || c.Fingerprint == "" || len(c.Fingerprint) > redemption.MaxIDLength) {
		faults.Add("batch", validation.Required, "a batch has an ID and a fingerprint")
	}
	first := map[coupon.Code]int{}
	for i, code := range c.Codes {
		field := fmt.Sprintf("codes[%d]", i)
		faults.Merge(field, code.Validate())
		switch before, twice := first[code.Key]; {
		case twice:
			faults.Add(field+".code", validation.Mismatch, fmt.Sprintf("is also codes[%d]", before))
		case code.CouponID != c.CouponID:
			faults.Add(field+".couponId", validation.Mismatch, "is another coupon")
		case c.Kind == AddCodes && (code.Batch != c.Batch || code.Revision != 1):
			faults.Add(field+".batch", validation.Mismatch, "a new code has the batch of the call, and revision 1")
		case c.Kind == EditCode && code.Plain():
			faults.Add(field+".batch", validation.Immutable, "the plain code is changed with its coupon")
		}
		first[code.Key] = i
	}
	return faults.Err()
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
	// After is the value of [CodePage].Next from the previous page. It is empty for the first page.
	After string
	// PageSize is the maximum number of codes on the page, from 1 to [MaxPageSize]. A PageSize of 0
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
	for _, member := range [...]struct{ field, text string }{{"couponId", l.CouponID}, {"batch", l.Batch}} {
		if !IsText(member.text) || len(member.text) > redemption.MaxIDLength {
			faults.Add(member.field, validation.Malformed, "must be short UTF-8 text without NUL")
		}
	}
	if l.State != 0 && l.State != coupon.Active && l.State != coupon.Inactive {
		faults.Add("state", validation.Unknown, "must be active or inactive")
	}
	if l.After != "" {
		if key, err := coupon.ParseCode(l.After); err != nil || key.String() != l.After {
			faults.Add("after", validation.Malformed, "must be the Next of a page")
		}
	}
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

// Wants reports whether the list selects a code, whatever its page.
func (l CodeList) Wants(c coupon.IssuedCode) bool {
	return c.CouponID == l.CouponID && (l.Batch == "" || l.Batch == c.Batch) && (l.Owner.IsZero() || l.Owner == c.Owner) &&
		(l.State == 0 || c.Active == (l.State == coupon.Active)) && (!l.Unused || !c.Plain() && c.UsedCount+c.ReservedCount == 0)
}

// CutCodes returns the first codes as a page of the given size.
func CutCodes(codes []coupon.IssuedCode, size int) (page CodePage) {
	if page.Items = codes; len(codes) > size {
		page.Items = codes[:size]
		page.Next = codes[size-1].Key.String()
	}
	return page
}
