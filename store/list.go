package store

import (
	"fmt"
	"unicode/utf8"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// Bounds of a page.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
	MaxPage         = 10_000_000 // of those asked for by their number
	MaxSearchLength = 255        // code points, as many as the longest code has
)

// ExactTotal is up to where the total of a list is exact in every store. What is
// more a store need not count, for that would take the longer the more there is.
const ExactTotal = 1_000

// CouponList asks for a page of coupons, newest first (by creation, then by ID).
//
// A page is asked for either by Page, for a table with page numbers, or by After,
// the opaque cursor of the page before. A cursor is stable: it neither repeats nor
// skips coupons that exist all the while, whatever is created or deleted in
// between.
type CouponList struct {
	// Search finds coupons whose name, code or description holds the text, as [Fold] has
	// both; % and _ mean themselves. Empty finds all.
	Search string
	// Page counts from 1 to [MaxPage]; 0 is 1. It is ignored when After is given.
	Page int
	// After is [CouponPage.Next] of the page before. Only the store can read it: another text
	// is named as a fault of after once the bounds hold, and not beside what breaks them.
	After string
	// PageSize is 1 to [MaxPageSize]; 0 is [DefaultPageSize].
	PageSize int
}

// CouponPage is a page of coupons. It has no JSON form of its own, for an API counts pages or
// hands out cursors as it likes; its coupons have.
type CouponPage struct {
	Items []coupon.Coupon
	// Total is how many coupons the search finds in all. When AtLeast is set there are
	// more, and the store stopped counting at Total, which is [ExactTotal] or higher.
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page, empty at the end.
	Next string
}

// Normalise fills in the defaults and checks the bounds; a fault is a
// [*pricing.ValidationError]. Stores call it first.
func (l CouponList) Normalise() (CouponList, error) {
	var faults pricing.ValidationError
	if utf8.RuneCountInString(l.Search) > MaxSearchLength {
		faults.Add("search", pricing.FieldTooLong, fmt.Sprintf("at most %d characters", MaxSearchLength))
	}
	switch {
	case l.After != "" && (l.Page < 0 || l.Page > MaxPage):
		l.Page = 1 // nobody reads it
	case l.Page < 0:
		faults.Add("page", pricing.FieldTooSmall, "pages count from 1")
	case l.Page > MaxPage:
		faults.Add("page", pricing.FieldTooLarge, fmt.Sprintf("at most page %d", MaxPage))
	}
	l.Page = max(l.Page, 1)
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

// RedemptionList asks for a page of redemptions, newest first (by creation, then
// by ID).
type RedemptionList struct {
	// CouponID and CustomerID narrow the list; empty does not.
	CouponID   string
	CustomerID string
	// State narrows the list; 0 does not, and one that there is not is refused.
	State redemption.State
	// After is [RedemptionPage.Next] of the page before, and read once the bounds hold, as
	// that of [CouponList] is.
	After string
	// PageSize is 1 to [MaxPageSize]; 0 is [DefaultPageSize].
	PageSize int
}

// RedemptionPage is a page of redemptions. As [CouponPage] it has no JSON form of its own.
type RedemptionPage struct {
	Items []redemption.Redemption
	// Total is how many redemptions there are in all. When AtLeast is set there are
	// more, and the store stopped counting at Total, which is [ExactTotal] or higher.
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page, empty at the end.
	Next string
}

// Normalise fills in the defaults and checks the bounds; a fault is a
// [*pricing.ValidationError]. Stores call it first.
func (l RedemptionList) Normalise() (RedemptionList, error) {
	var faults pricing.ValidationError
	if l.State > redemption.Released {
		faults.Add("state", pricing.FieldUnknown, "must be reserved, completed or released")
	}
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

func pageSize(size int, faults *pricing.ValidationError) int {
	switch {
	case size == 0:
		return DefaultPageSize
	case size < 1:
		faults.Add("pageSize", pricing.FieldTooSmall, pageBounds())
	case size > MaxPageSize:
		faults.Add("pageSize", pricing.FieldTooLarge, pageBounds())
	}
	return size
}

func pageBounds() string { return fmt.Sprintf("a page has 1 to %d entries", MaxPageSize) }
