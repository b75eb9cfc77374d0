package api

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/strictjson"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/validation"
)

// Limits of a cart, far above real purchases.
const (
	maxCartLines = 100
	maxQuantity  = 9_999
)

// cartRequest is a cart as a browser sends it. It has no prices.
type cartRequest struct {
	lines      []lineRequest
	shippingID string
	code       string // a single code, as the specification has it
	codes      []string
	skip       bool   // checkouts only: leave out refused coupons
	conflicts  policy // for codes that exclude each other
	email      string // of a guest
	country    string // country of delivery
}

func (c *cartRequest) targets() map[string]any {
	return map[string]any{"lines": &c.lines, "shippingOptionId": &c.shippingID, "couponCode": &c.code, "codes": &c.codes, "email": &c.email, "country": &c.country, "conflicts": &c.conflicts}
}

// policy is a conflict policy by its name.
type policy eligibility.ConflictPolicy

// UnmarshalText refuses other names.
func (p *policy) UnmarshalText(text []byte) error {
	parsed, err := eligibility.ParseConflictPolicy(string(text))
	*p = policy(parsed)
	return err
}

// channel is the sales channel of this shop.
const channel = "web"

// facts returns the shop's facts about the purchase.
func (c *cartRequest) facts(faults *validation.Error) eligibility.Facts {
	facts := eligibility.Facts{Country: c.country, Channel: channel}
	faults.Merge("", facts.Validate())
	return facts
}

// coupons are the codes of the request. A request has one code, or a list of codes.
func (c *cartRequest) coupons(faults *validation.Error) []string {
	switch {
	case len(c.codes) > pricing.MaxCoupons: // report the length only; the codes are not looked up
		faults.Add("codes", validation.TooLong, fmt.Sprintf("at most %d codes are allowed", pricing.MaxCoupons))
		return nil
	case c.code == "":
		return c.codes
	case c.codes != nil:
		faults.Add("codes", validation.NotAllowed, "a request has couponCode or codes, not both")
	}
	return []string{c.code}
}

type lineRequest struct {
	kind     pricing.LineKind
	itemID   string
	quantity *int64 // nil if the request has no quantity
}

// soldKind is a kind of line that this shop sells.
type soldKind pricing.LineKind

// UnmarshalText refuses other kinds.
func (k *soldKind) UnmarshalText(text []byte) error {
	switch kind := pricing.LineKind(text); kind {
	case pricing.Plan, pricing.Device, pricing.Accessory, pricing.Shipping:
		*k = soldKind(kind)
		return nil
	}
	return &validation.Error{Fields: []validation.Field{{
		Code: validation.Unknown, Message: "must be plan, device, accessory or shipping",
	}}}
}

// UnmarshalJSON reads a line strictly.
func (l *lineRequest) UnmarshalJSON(data []byte) error {
	return strictjson.Object(data, map[string]any{"kind": (*soldKind)(&l.kind), "itemId": &l.itemID, "quantity": &l.quantity})
}

// cart adds the prices of the catalog and the shipping to the lines. If the catalog does not have an
// item, the field with its name gets a fault.
func (a *API) cart(c cartRequest, faults *validation.Error) pricing.Cart {
	cart := pricing.Cart{Currency: a.currency()}
	if len(c.lines) == 0 {
		faults.Add("lines", validation.Required, "the cart is empty")
	}
	lines := c.lines
	if len(lines) > maxCartLines {
		faults.Add("lines", validation.TooLong, fmt.Sprintf("at most %d lines", maxCartLines))
		lines = nil // too many lines are not checked one by one
	}
	goods := false
	for i, l := range lines {
		cart.Lines = append(cart.Lines, a.line(i, l, faults))
		goods = goods || l.kind.Class() == pricing.ProductClass
	}
	switch option, known := a.Catalog.Find(pricing.Shipping, c.shippingID); {
	case c.shippingID == "":
	case !known:
		faults.Add("shippingOptionId", validation.Unknown, "there is no such shipping option")
	case !goods && !kindsKnown(cart): // the cart may have goods, so the shipping is not judged
	case !goods:
		faults.Add("shippingOptionId", validation.NotAllowed, "nothing in the cart is shipped")
	default:
		cart.Lines = append(cart.Lines, pricing.Line{
			ID: "shipping", Kind: pricing.Shipping, ItemID: option.ID, Quantity: 1, UnitPrice: option.Price,
		})
	}
	return cart
}

// kindsKnown reports whether every line has a known kind.
func kindsKnown(cart pricing.Cart) bool {
	return len(cart.Lines) > 0 && !slices.ContainsFunc(cart.Lines, func(l pricing.Line) bool { return l.Kind == "" })
}

func (a *API) line(i int, l lineRequest, faults *validation.Error) pricing.Line {
	path := func(field string) string { return fmt.Sprintf("lines[%d].%s", i, field) }
	item, known := a.Catalog.Find(l.kind, l.itemID)
	sold := l.kind != "" && l.kind != pricing.Shipping
	switch {
	case l.kind == "":
		faults.Add(path("kind"), validation.Required, "must be plan, device or accessory")
	case l.kind == pricing.Shipping:
		faults.Add(path("kind"), validation.NotAllowed, "shipping is chosen by shippingOptionId")
	}
	switch {
	case l.itemID == "":
		faults.Add(path("itemId"), validation.Required, "an ID is required")
	case sold && !known:
		faults.Add(path("itemId"), validation.Unknown, "there is no such "+l.kind.String())
	}
	line := pricing.Line{
		ID: fmt.Sprintf("line-%d", i+1), Kind: l.kind, ItemID: l.itemID, UnitPrice: item.Price, Recurs: item.Recurs,
	}
	switch {
	case l.quantity == nil:
		faults.Add(path("quantity"), validation.Required, "a quantity is required")
	case *l.quantity < 1:
		faults.Add(path("quantity"), validation.TooSmall, "a quantity is at least 1")
	case *l.quantity > maxQuantity:
		faults.Add(path("quantity"), validation.TooLarge, fmt.Sprintf("a quantity is at most %d", maxQuantity))
	default:
		line.Quantity = *l.quantity
	}
	return line
}

// needsShipping reports whether a cart has goods but no shipping line.
func needsShipping(cart pricing.Cart) bool {
	goods := false
	for _, l := range cart.Lines {
		if l.ClassOf() == pricing.ShippingClass {
			return false
		}
		goods = goods || l.ClassOf() == pricing.ProductClass
	}
	return goods
}

// shownTotals reads the totals that the customer saw.
func shownTotals(raw json.RawMessage, c pricing.Currency, faults *validation.Error) *couponkit.Totals {
	if len(raw) == 0 || string(raw) == "null" {
		faults.Add("expected", validation.Required, "the totals that the customer was shown are required")
		return nil
	}
	totals, err := couponkit.ParseTotals(raw, c)
	faults.Merge("expected", err)
	return &totals
}
