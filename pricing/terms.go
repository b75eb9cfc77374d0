package pricing

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/couponkit/couponkit/validation"
)

// MaxCoupons is the maximum number of coupons on one cart.
const MaxCoupons = 32

// MaxTermsIDLength is the maximum length of the ID and the Group of [Terms], in bytes.
const MaxTermsIDLength = 255

// Terms are the terms of one coupon on one cart.
type Terms struct {
	// ID identifies the coupon in the quote. Several coupons need different IDs.
	ID string
	// Group names the group of the coupon. A coupon without a group is exclusive: it cannot be
	// combined with another coupon. Of one group at most one coupon can be used.
	Group string
	// Discount is what the coupon takes off. With the zero Discount, the coupon marks its lines
	// as eligible and takes nothing off.
	Discount Discount
	// Eligible has one entry for each line of the cart. If Eligible is nil, all lines except
	// shipping lines are eligible. Shipping lines are never discounted.
	Eligible []bool
	// Bought has one entry for each line of the cart. It tells which lines count as bought for a
	// [BuyXGetY] discount. If Bought is nil, the eligible lines count, and no unit counts both as
	// bought and as discounted. Other discounts have no Bought.
	Bought []bool
	// Refund are the terms that a later refund of the quote needs.
	Refund RefundTerms
}

// Combinable reports whether a coupon of one group can be used together with a coupon of the
// other. The groups are those of [Terms].
func Combinable(group, other string) bool { return group != "" && other != "" && group != other }

// fits reports whether the terms are valid for the cart.
func (t *Terms) fits(c *Cart) bool {
	lines := len(c.Lines)
	return t.Refund.valid() && (t.Eligible == nil || len(t.Eligible) == lines) &&
		(t.Bought == nil || len(t.Bought) == lines && t.Discount.kind == BuyXGetY) &&
		validName(t.ID) && validName(t.Group) && t.Discount.fits(c)
}

func validName(text string) bool {
	return text == "" || len(text) <= MaxTermsIDLength && utf8.ValidString(text)
}

// before orders coupons: by lane, then by ID.
func (t *Terms) before(u *Terms) bool {
	if t.Discount.lane != u.Discount.lane {
		return t.Discount.lane < u.Discount.lane
	}
	return t.ID < u.ID
}

func compareCoupons(a, b QuotedCoupon) int {
	return cmp.Or(cmp.Compare(a.Terms.lane, b.Terms.lane), cmp.Compare(a.ID, b.ID))
}

// covers reports whether the mask covers a line. The line must not be shipping.
func covers(mask []bool, line int) bool { return mask == nil || mask[line] }

// setFaults adds the faults of a set of coupons as a whole.
func setFaults(terms []Terms, faults *validation.Error) {
	if len(terms) > MaxCoupons {
		faults.Add("coupons", validation.TooLong, fmt.Sprintf("at most %d coupons are allowed", MaxCoupons))
		return
	}
	if len(terms) < 2 {
		return
	}
	first := make(map[string]int, len(terms))
	for i := range terms {
		id := terms[i].ID
		if id == "" {
			faults.Add(couponPath(i, "id"), validation.Required, "one of several coupons needs an ID")
		} else if earlier, twice := first[id]; twice {
			faults.Add(couponPath(i, "id"), validation.Mismatch, fmt.Sprintf("the coupon is also coupons[%d]", earlier))
		} else {
			first[id] = i
		}
		excluded := func(other Terms) bool { return !Combinable(terms[i].Group, other.Group) }
		if slices.ContainsFunc(terms[:i], excluded) || slices.ContainsFunc(terms[i+1:], excluded) {
			faults.Add(couponPath(i, "group"), validation.NotAllowed, "the coupon cannot be combined with another coupon of the set")
		}
	}
}

func couponPath(i int, field string) string { return fmt.Sprintf("coupons[%d].%s", i, field) }

// faults adds the faults of one coupon's terms on the cart.
func (t *Terms) faults(cart *Cart, faults *validation.Error) {
	for _, mask := range [...]struct {
		field   string
		entries []bool
	}{{"eligible", t.Eligible}, {"bought", t.Bought}} {
		if mask.entries != nil && len(mask.entries) != len(cart.Lines) {
			faults.Add(mask.field, validation.Mismatch, fmt.Sprintf("%d entries for %d lines", len(mask.entries), len(cart.Lines)))
		}
	}
	if t.Bought != nil && t.Discount.kind != BuyXGetY {
		faults.Add("bought", validation.NotAllowed, "only a BUY_X_GET_Y discount has lines that are bought")
	}
	nameFaults("id", t.ID, faults)
	nameFaults("group", t.Group, faults)
	t.Refund.faults(faults)
	if !cart.Currency.IsZero() {
		faults.Merge("", t.Discount.FitsCart(*cart))
	}
}

// nameFaults checks the ID or the group of a coupon.
func nameFaults(field, text string, faults *validation.Error) {
	if len(text) > MaxTermsIDLength {
		faults.Add(field, validation.TooLong, fmt.Sprintf("at most %d bytes are allowed", MaxTermsIDLength))
	}
	if !utf8.ValidString(text) {
		faults.Add(field, validation.Malformed, "must be UTF-8")
	}
}

// faultsOf returns all faults of an input that Reprice rejected.
func faultsOf(cart Cart, terms []Terms) error {
	var faults validation.Error
	faults.Merge("", cart.Validate())
	setFaults(terms, &faults)
	for i := range terms[:min(len(terms), MaxCoupons)] {
		if len(terms) == 1 {
			terms[i].faults(&cart, &faults)
			continue
		}
		var own validation.Error
		terms[i].faults(&cart, &own)
		faults.Merge(fmt.Sprintf("coupons[%d]", i), own.Err())
	}
	return faults.Err()
}

// QuotedCoupon is a coupon in a quote. All amounts are in minor units.
type QuotedCoupon struct {
	// ID and Group are those of the coupon's [Terms].
	ID    string
	Group string
	// Terms are the terms of the discount, as they were when the quote was made.
	Terms Discount
	// Refund are the terms that a refund needs.
	Refund RefundTerms
	// EligibleSubtotal is the list price of the lines that the coupon covers.
	EligibleSubtotal int64
	// EligibleQuantity is the number of units in these lines that cost something.
	EligibleQuantity int64
	// Discount is what the coupon takes off the cart.
	Discount int64

	eligible []bool // nil if the coupon covers all eligible lines of the quote
	bought   []bool // nil if no separate scope says which lines count as bought

	gives  bool // it has a discount before its lane is limited to the units' cost
	lowers bool // without it, the units would cost more at the end of its lane
}

// Equal reports whether c and d are the same. Package go-cmp uses Equal to compare values.
func (c QuotedCoupon) Equal(d QuotedCoupon) bool {
	return c.ID == d.ID && c.Group == d.Group && c.Terms.Equal(d.Terms) && c.Refund == d.Refund &&
		c.EligibleSubtotal == d.EligibleSubtotal && c.EligibleQuantity == d.EligibleQuantity && c.Discount == d.Discount &&
		slices.Equal(c.eligible, d.eligible) && slices.Equal(c.bought, d.bought)
}

// Covers reports whether the coupon with the given index in Coupons covers the line. It is false
// for an index outside of the quote.
func (q Quote) Covers(coupon, line int) bool {
	return coupon >= 0 && coupon < len(q.Coupons) && line >= 0 && line < len(q.Lines) && q.covers(coupon, line)
}

// covers implements Covers without a copy of the quote.
func (q *Quote) covers(coupon, line int) bool {
	if mask := q.Coupons[coupon].eligible; mask != nil {
		return mask[line]
	}
	return q.Lines[line].Eligible
}
