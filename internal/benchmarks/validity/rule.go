package validity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// dialect has the differences between the languages of the engines.
type dialect struct {
	// field returns the expression for a field of a line.
	field func(name string) string
	// sum returns the expression for the sum of price times quantity over the lines that meet the
	// condition.
	sum func(condition string) string
}

// rule returns the coupon's rule. It has only the conditions that the coupon needs, the cheapest first.
func (d dialect) rule(s Situation) string {
	terms := []string{"active", "!mirrorInvalid"}
	c := s.Coupon
	if !c.StartsAt.IsZero() {
		terms = append(terms, fmt.Sprintf("now >= %d", c.StartsAt.UnixMicro()))
	}
	if !c.ExpiresAt.IsZero() {
		terms = append(terms, fmt.Sprintf("now < %d", c.ExpiresAt.UnixMicro()))
	}
	terms = append(terms, customerTerms(c)...)
	if s.Cart != nil {
		if bound(c) {
			terms = append(terms, "currency == "+strconv.Quote(c.Currency.Code()))
		}
		terms = append(terms, fmt.Sprintf("%s >= %d", d.sum(d.covered(c.Scope)), least(c)))
	}
	return strings.Join(terms, " && ")
}

func customerTerms(c coupon.Coupon) []string {
	known := `customer != ""`
	terms := []string{known}
	switch c.Distribution {
	case coupon.General:
		terms = []string{"(" + known + " || anonymous)"}
	case coupon.PointsRedeemable:
		terms = append(terms, "holds")
	case coupon.UserSpecific:
		terms = append(terms, "(email in allowed || domain in allowed)")
	}
	const taken = "(holds && %[1]s > 0 ? %[1]s - 1 : %[1]s)"
	if c.Limits.MaxUses > 0 {
		terms = append(terms, fmt.Sprintf("completed + "+taken+" < %d", "reserved", c.Limits.MaxUses))
	}
	if c.Limits.MaxUsesPerUser > 0 {
		term := fmt.Sprintf("completedByCustomer + "+taken+" < %d", "reservedByCustomer", c.Limits.MaxUsesPerUser)
		if c.Distribution == coupon.General {
			term = `(customer == "" || ` + term + ")"
		}
		terms = append(terms, term)
	}
	return terms
}

// covered returns the condition that the scope covers a line.
func (d dialect) covered(s coupon.Scope) string {
	if s.AppliesTo == coupon.All {
		return d.field("kind") + ` != "shipping"`
	}
	var either []string
	for _, kind := range []pricing.LineKind{pricing.Plan, pricing.Device, pricing.Accessory} {
		plan := kind == pricing.Plan
		if plan && s.AppliesTo == coupon.Product || !plan && s.AppliesTo == coupon.Subscription {
			continue
		}
		condition := d.field("kind") + " == " + strconv.Quote(kind.String())
		switch ids := selection(&s, kind).Slice(); {
		case len(ids) > 0:
			condition += " && " + d.field("item") + " in " + quoted(ids)
		case s.AppliesTo == coupon.Specific:
			continue
		}
		either = append(either, condition)
	}
	return strings.Join(either, " || ")
}

func quoted(ids []string) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Quote(id)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// selection returns the items of a kind that the scope selects.
func selection(s *coupon.Scope, kind pricing.LineKind) coupon.Items {
	return selections(*s)[kind]
}

// selections returns the selected items of the scope, by kind.
func selections(s coupon.Scope) map[pricing.LineKind]coupon.Items {
	//nolint:exhaustive // shipping is never discounted
	return map[pricing.LineKind]coupon.Items{pricing.Plan: s.Plans, pricing.Device: s.Devices, pricing.Accessory: s.Accessories}
}

// bound reports whether the coupon applies only to carts of its currency.
func bound(c coupon.Coupon) bool {
	return c.Discount.Type() == pricing.FixedAmount || !c.Conditions.MinPurchase.IsZero()
}

// least returns the least eligible subtotal with which the coupon is accepted. It is at least the
// minimum purchase, and large enough that the discount does not round to 0.
func least(c coupon.Coupon) int64 {
	enough := int64(1)
	if c.Discount.Type() == pricing.Percentage {
		// base * percent / 1,000,000 + 1/2 >= 1
		percent := c.Discount.Percent().Decimal().Shift(4).IntPart()
		enough = (500_000 + percent - 1) / percent
	}
	minimum, _ := c.Minimum(c.Currency)
	return max(minimum, enough)
}

func addresses(c coupon.Coupon) map[string]struct{} {
	set := make(map[string]struct{}, c.AllowedUserEmails.Len())
	for _, address := range slices.Collect(c.AllowedUserEmails.All()) {
		set[address] = struct{}{}
	}
	return set
}
