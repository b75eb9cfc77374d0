package store

import (
	"fmt"
	"time"
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

// ExactTotal is up to where the total of a list is exact in every store.
const ExactTotal = 1_000

// CouponList asks for a page of coupons, newest first (by creation, then by ID).
//
// A page is asked for by Page, or by After, the cursor of the page before. A cursor
// neither repeats nor skips coupons that exist all the while.
type CouponList struct {
	// Search finds coupons whose name, code or description holds the text, whatever the
	// letter case; % and _ mean themselves. Empty finds all.
	Search string
	// Page counts from 1 to [MaxPage]; 0 is 1. It is ignored when After is given.
	Page int
	// After is [CouponPage].Next of the page before.
	After string
	// PageSize is 1 to [MaxPageSize]; 0 is [DefaultPageSize].
	PageSize int
}

// CouponPage is a page of coupons.
type CouponPage struct {
	Items []coupon.Coupon
	// Total is how many coupons the search finds. When AtLeast is set there are more, and
	// the store stopped counting at Total, which is [ExactTotal] or higher.
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page, empty at the end.
	Next string
}

// Normalize fills in the defaults and checks the bounds; a fault is a
// [*pricing.ValidationError]. Stores call it first.
func (l CouponList) Normalize() (CouponList, error) {
	var faults pricing.ValidationError
	if !IsText(l.Search) {
		faults.Add("search", pricing.FieldMalformed, "must be valid UTF-8 text without NUL")
	}
	if utf8.RuneCountInString(l.Search) > MaxSearchLength {
		faults.Add("search", pricing.FieldTooLong, fmt.Sprintf("at most %d characters", MaxSearchLength))
	}
	switch {
	case l.After != "":
		l.Page = 1
	case l.Page < 0:
		faults.Add("page", pricing.FieldTooSmall, "pages count from 1")
	case l.Page > MaxPage:
		faults.Add("page", pricing.FieldTooLarge, fmt.Sprintf("at most page %d", MaxPage))
	}
	l.Page = max(l.Page, 1)
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

// OrderList asks for a page of orders.
type OrderList struct {
	// CustomerID and State narrow the list; their zero values do not.
	CustomerID string
	State      redemption.OrderState
	// DueAt, when it is given, narrows the list to orders that have not ended and whose
	// deadline is not after it, the oldest first: work for the sweep.
	DueAt time.Time
	// After is [OrderPage].Next of the page before.
	After string
	// PageSize is 1 to [MaxPageSize]; 0 is [DefaultPageSize].
	PageSize int
}

// OrderPage is a page of orders with their uses.
type OrderPage struct {
	Items []Settled
	// Next is the cursor of the next page, empty at the end.
	Next string
}

// Normalize fills in the defaults and checks the bounds.
func (l OrderList) Normalize() (OrderList, error) {
	var faults pricing.ValidationError
	if l.State != 0 && l.State.String() == "" {
		faults.Add("state", pricing.FieldUnknown, "must be open, awaiting_payment, paid or cancelled")
	}
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

// UseList asks for a page of uses.
type UseList struct {
	// CouponID, CustomerID, Key, ExchangeID and State narrow the list; zero values do not.
	CouponID   string
	CustomerID string
	Key        string
	ExchangeID string
	State      redemption.State
	// DueAt, when it is given, narrows the list to points that are to be refunded, and to
	// points reservations without an order whose deadline is not after it, the oldest
	// first: work for the sweep.
	DueAt time.Time
	// After is [UsePage].Next of the page before.
	After string
	// PageSize is 1 to [MaxPageSize]; 0 is [DefaultPageSize].
	PageSize int
}

// UsePage is a page of uses.
type UsePage struct {
	Items []redemption.Use
	// Total and AtLeast are as those of [CouponPage].
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page, empty at the end.
	Next string
}

// Normalize fills in the defaults and checks the bounds.
func (l UseList) Normalize() (UseList, error) {
	var faults pricing.ValidationError
	if l.State != 0 && l.State.String() == "" {
		faults.Add("state", pricing.FieldUnknown, "must be reserved, completed or released")
	}
	l.PageSize = pageSize(l.PageSize, &faults)
	return l, faults.Err()
}

func pageSize(size int, faults *pricing.ValidationError) int {
	switch {
	case size == 0:
		return DefaultPageSize
	case size < 1, size > MaxPageSize:
		faults.Add("pageSize", pricing.FieldTooLarge, fmt.Sprintf("a page has 1 to %d entries", MaxPageSize))
	}
	return size
}
