package store

import (
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// These constants limit the pages of lists.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
	MaxPage         = 10_000_000 // of those asked for by their number
	MaxSearchLength = 255        // code points, as many as the longest code has
)

// ExactTotal is the highest total that every store counts exactly.
const ExactTotal = 1_000

// CouponList selects a page of coupons. Coupons are sorted by creation time and then by ID,
// newest first.
//
// Callers select a page by its number or by a cursor. The cursor of a page is
// [CouponPage].Next of the previous page. Paging by cursors neither repeats nor skips a
// coupon that exists all the time.
type CouponList struct {
	// Search selects coupons whose name, plain code or description contains the text, ignoring
	// letter case, and the coupon of which a batch has the text as a code. The characters % and _ have no special meaning. An empty Search selects
	// all coupons.
	Search string
	// State and DiscountType select the coupons with these values. A zero value selects all
	// coupons.
	State        coupon.State
	DiscountType pricing.DiscountType
	// Starts and Expires select the coupons whose StartsAt or ExpiresAt is in the period.
	Starts, Expires Period
	// ExpiredAt selects the coupons that have expired at this instant.
	ExpiredAt time.Time
	// UsedUp selects the coupons whose completed and reserved uses together reach MaxUses.
	UsedUp bool
	// Page is the number of the page, from 1 to [MaxPage]. A Page of 0 means page 1. If After
	// is set, Page is ignored.
	Page int
	// After is the value of [CouponPage].Next from the previous page. It is empty for the
	// first page.
	After string
	// PageSize is the maximum number of coupons on the page, from 1 to [MaxPageSize]. A
	// PageSize of 0 means [DefaultPageSize].
	PageSize int
}

// CouponPage is a page of coupons.
type CouponPage struct {
	Items []coupon.Coupon
	// Unreadable names the coupons of the page that cannot be read, in the order of the list. They
	// are not in Items, but they count for the size of the page and for Total.
	Unreadable []*UnreadableError
	// Total is the number of coupons that the search finds. If AtLeast is true, the search
	// finds more coupons than Total. A store may stop counting at [ExactTotal] or at a higher
	// number.
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page. It is empty on the last page.
	Next string
}

// Normalize fills in default values and checks the bounds of all fields. It returns a
// [*validation.Error] if a field is out of bounds. Stores normalize every list before
// they use it.
func (l CouponList) Normalize() (CouponList, error) {
	var faults validation.Error
	if !IsText(l.Search) {
		faults.Add("search", validation.Malformed, "must be valid UTF-8 text without NUL")
	}
	if utf8.RuneCountInString(l.Search) > MaxSearchLength {
		faults.Add("search", validation.TooLong, fmt.Sprintf("at most %d characters", MaxSearchLength))
	}
	if l.State != 0 && l.State.String() == "" {
		faults.Add("state", validation.Unknown, "must be pending, active, inactive or deleting")
	}
	if l.DiscountType != 0 && l.DiscountType.String() == "" {
		faults.Add("discountType", validation.Unknown, "is no discount type")
	}
	l.Starts = l.Starts.normalize("starts", &faults)
	l.Expires = l.Expires.normalize("expires", &faults)
	if !l.ExpiredAt.IsZero() {
		l = l.expired(&faults)
	}
	switch {
	case l.After != "":
		l.Page = 1
	case l.Page < 0:
		faults.Add("page", validation.TooSmall, "pages count from 1")
	case l.Page > MaxPage:
		faults.Add("page", validation.TooLarge, fmt.Sprintf("at most page %d", MaxPage))
	}
	l.Page = max(l.Page, 1)
	l.PageSize = pageSize(l.PageSize, MaxPageSize, &faults)
	return l, faults.Err()
}

// Code returns the code that Search is, or the zero Code if it cannot be one.
func (l CouponList) Code() coupon.Code {
	code, err := coupon.TypedCode(l.Search)
	if err != nil {
		return coupon.Code{}
	}
	return code
}

// expired moves ExpiredAt into the bound Expires.Until.
func (l CouponList) expired(faults *validation.Error) CouponList {
	by := Period{Until: l.ExpiredAt.Truncate(time.Microsecond).Add(time.Microsecond)}.normalize("expiredAt", faults)
	if l.Expires.Until.IsZero() || by.Until.Before(l.Expires.Until) {
		l.Expires.Until = by.Until
	}
	l.ExpiredAt = time.Time{}
	return l
}

// Period is a range of instants. From is inclusive, Until is exclusive, and a zero bound is no
// bound. A period with a bound does not contain the zero instant.
type Period struct{ From, Until time.Time }

// IsZero reports whether the period has no bound.
func (p Period) IsZero() bool { return p.From.IsZero() && p.Until.IsZero() }

// Contains reports whether the instant is in the period.
func (p Period) Contains(at time.Time) bool {
	return p.IsZero() || !at.IsZero() && !at.Before(p.From) && (p.Until.IsZero() || at.Before(p.Until))
}

// normalize rounds the bounds up to microseconds. The period then contains the same stored instants.
func (p Period) normalize(field string, faults *validation.Error) Period {
	p.From, p.Until = roundUp(p.From, field+".from", faults), roundUp(p.Until, field+".until", faults)
	if !p.From.IsZero() && !p.Until.IsZero() && !p.From.Before(p.Until) {
		faults.Add(field+".until", validation.Mismatch, "must be after from")
	}
	return p
}

func roundUp(bound time.Time, field string, faults *validation.Error) time.Time {
	if bound.IsZero() {
		return bound
	}
	if year := bound.UTC().Year(); year < 1 || year > maxYear {
		faults.Add(field, validation.Malformed, "the year is within 1 to 9999")
	}
	return calendar.Instant(bound.Add(time.Microsecond - time.Nanosecond))
}

const maxYear = 9_999

// OrderList selects a page of orders.
type OrderList struct {
	// CustomerID selects the orders of one customer. State selects the orders in one state. A
	// zero value selects all orders.
	CustomerID string
	State      redemption.OrderState
	// Created selects the orders whose CreatedAt is in the period.
	Created Period
	// DueAt selects orders whose deadline is at or before DueAt, by CreatedAt and ID, oldest first. Orders that have ended
	// have a deadline only while a payment or a repayment of them is unfinished. A sweep uses
	// DueAt to find its work. A zero DueAt selects all orders.
	DueAt time.Time
	// After is the value of [OrderPage].Next from the previous page. It is empty for the
	// first page.
	After string
	// PageSize is the maximum number of orders on the page, from 1 to [MaxPageSize]. A
	// PageSize of 0 means [DefaultPageSize].
	PageSize int
}

// OrderPage is a page of orders with their uses.
type OrderPage struct {
	Items []Settled
	// Unreadable names the orders of the page that cannot be read, as in [CouponPage]. An order
	// cannot be read if one of its uses cannot be read.
	Unreadable []*UnreadableError
	// Next is the cursor of the next page. It is empty on the last page.
	Next string
}

// Normalize fills in default values and checks the bounds of all fields, like
// [CouponList.Normalize].
func (l OrderList) Normalize() (OrderList, error) {
	var faults validation.Error
	if l.State != 0 && l.State.String() == "" {
		faults.Add("state", validation.Unknown, "must be open, awaiting_payment, paid, cancelled, partly_refunded, refunded or ending")
	}
	l.Created = l.Created.normalize("created", &faults)
	l.PageSize = pageSize(l.PageSize, MaxPageSize, &faults)
	return l, faults.Err()
}

// UseList selects a page of uses.
type UseList struct {
	// CouponID, CustomerID, Key, ExchangeID and State select the uses with these values. A
	// zero value selects all uses.
	CouponID   string
	CustomerID string
	Key        string
	ExchangeID string
	State      redemption.State
	// DueAt selects uses whose points must be refunded, oldest first. DueAt also selects
	// points reservations without an order whose deadline is at or before DueAt. A sweep uses
	// DueAt to find its work. A zero DueAt selects all uses.
	DueAt time.Time
	// After is the value of [UsePage].Next from the previous page. It is empty for the first
	// page.
	After string
	// PageSize is the maximum number of uses on the page, from 1 to [MaxPageSize]. A PageSize
	// of 0 means [DefaultPageSize].
	PageSize int
}

// UsePage is a page of uses.
type UsePage struct {
	Items []redemption.Use
	// Unreadable names the uses of the page that cannot be read, as in [CouponPage].
	Unreadable []*UnreadableError
	// Total and AtLeast count the uses in the list, as in [CouponPage].
	Total   int64
	AtLeast bool
	// Next is the cursor of the next page. It is empty on the last page.
	Next string
}

// Normalize fills in default values and checks the bounds of all fields, like
// [CouponList.Normalize].
func (l UseList) Normalize() (UseList, error) {
	var faults validation.Error
	if l.State != 0 && l.State.String() == "" {
		faults.Add("state", validation.Unknown, "must be reserved, completed or released")
	}
	l.PageSize = pageSize(l.PageSize, MaxPageSize, &faults)
	return l, faults.Err()
}

func pageSize(size, most int, faults *validation.Error) int {
	switch {
	case size == 0:
		return DefaultPageSize
	case size < 1, size > most:
		faults.Add("pageSize", validation.TooLarge, fmt.Sprintf("a page has 1 to %d entries", most))
	}
	return size
}
