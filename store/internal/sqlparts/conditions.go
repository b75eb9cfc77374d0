// Package sqlparts contains the SQL that stores of several databases have in common.
package sqlparts

import (
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// Historical are the kinds of entries about coupons, as a list of SQL. Partial indexes have the same
// text.
const Historical = `'coupon_created', 'coupon_changed', 'coupon_mirrored', 'coupon_deleted', 'codes_added', 'code_changed', 'codes_changed'`

// usesOfCoupon counts the completed and reserved uses of a coupon c.
const usesOfCoupon = `(SELECT COALESCE(SUM(k.reserved + k.completed), 0) FROM {counters} k WHERE k.counter = c.uses_counter)`

// none is a lower bound that selects all instants. It excludes rows that store "no instant".
const none = -62_135_596_800_000_000

// Conditions select rows. A row must meet all of them, and the zero value selects every row.
type Conditions struct {
	// Args are the arguments. Each ? of the conditions stands for the next one.
	Args  []any
	terms []string
}

// And adds a condition.
func (c *Conditions) And(condition string, args ...any) {
	c.terms = append(c.terms, condition)
	c.Args = append(c.Args, args...)
}

// Equal adds that a column has a text, unless the text is empty. No row has a text that no store
// can keep.
func (c *Conditions) Equal(column, text string) {
	switch {
	case text == "":
	case store.IsText(text) && len(text) <= eligibility.MaxCounterLength:
		c.And(column+" = ?", text)
	default:
		c.And("1 = 0")
	}
}

// Period adds that the instant of a column is in a normalized period.
func (c *Conditions) Period(column string, p store.Period) {
	if p.IsZero() {
		return
	}
	from := int64(none + 1)
	if !p.From.IsZero() {
		from = p.From.UnixMicro()
	}
	c.And(column+" >= ?", from)
	if !p.Until.IsZero() {
		c.And(column+" < ?", p.Until.UnixMicro())
	}
}

// Coupons adds the conditions of a normalized list of coupons c, except for Search and After.
func (c *Conditions) Coupons(list store.CouponList) {
	c.Equal("c.state", list.State.String())
	c.Equal("c.discount_type", list.DiscountType.String())
	if list.UsedUp {
		c.And("c.max_uses > 0 AND c.max_uses <= " + usesOfCoupon)
	}
	c.Period("c.starts_at", list.Starts)
	c.Period("c.expires_at", list.Expires)
}

// Codes adds the conditions of a normalized list of codes k, whose counts n may be NULL.
func (c *Conditions) Codes(list store.CodeList) {
	c.Equal("k.coupon_id", list.CouponID)
	c.Equal("k.batch", list.Batch)
	c.Equal("k.owner", list.Owner.String())
	switch list.State {
	case coupon.Active:
		c.And("k.active")
	case coupon.Inactive:
		c.And("NOT k.active")
	case coupon.Pending, coupon.Deleting:
	}
	switch {
	case list.Unused:
		c.And("k.batch <> '' AND COALESCE(n.reserved + n.completed, 0) = 0")
	case list.Used:
		c.And("k.batch <> '' AND n.reserved + n.completed > 0")
	}
	// Add the condition even without a cursor. PostgreSQL then expects few rows, and reads them along
	// the primary key.
	c.And("k.code_key > ?", list.After)
}

// Empty reports whether every row is selected.
func (c *Conditions) Empty() bool { return len(c.terms) == 0 }

// Where returns the WHERE of a statement, with further conditions that have no arguments.
func (c *Conditions) Where(more ...string) string {
	all := slices.Concat(c.terms, more)
	if len(all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(all, " AND ")
}
