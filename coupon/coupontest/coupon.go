package coupontest

import (
	"encoding/json"
	"math"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/pricing/pricingtest"
)

// Coupon draws a valid coupon in any state, with or without a mirror, of any currency, used or not. A store takes it
// as a new coupon with the Revision 1.
func Coupon() *rapid.Generator[coupon.Coupon] {
	return rapid.Custom(func(t *rapid.T) coupon.Coupon {
		return fromDraft(t, Draft().Draw(t, "draft"))
	})
}

// For draws a valid active coupon that has a chance to apply to the cart: it is in the cart's currency more often than
// not, covers a line of it more often than not (if there is one), and a minimum purchase is close to what the cart
// costs.
func For(cart pricing.Cart) *rapid.Generator[coupon.Coupon] {
	return forCart(cart, pricingtest.DiscountFor)
}

// SimpleFor is like [For], but the discount is a percentage or a fixed amount without further terms.
func SimpleFor(cart pricing.Cart) *rapid.Generator[coupon.Coupon] {
	return forCart(cart, pricingtest.SimpleDiscountFor)
}

func forCart(cart pricing.Cart, discounts func(pricing.Cart) *rapid.Generator[pricing.Discount]) *rapid.Generator[coupon.Coupon] {
	return rapid.Custom(func(t *rapid.T) coupon.Coupon {
		d := Draft().Draw(t, "draft")
		if d.Code == "" { // customers get the coupon by its code
			d.Code = Code().Draw(t, "code").String()
		}
		currency := cart.Currency
		if rapid.IntRange(0, 4).Draw(t, "of another currency") == 0 {
			currency = pricingtest.Currency().Draw(t, "currency")
		}
		discount := discounts(pricing.Cart{Currency: currency, Step: cart.Step}).Draw(t, "discount")
		if terms := discount.Terms(); len(terms.Others) > 0 {
			currency = terms.Currency
		}
		d.Currency = currency.Code()
		setDiscount(t, &d, discount)
		d.MinPurchase, d.MinQuantity = minimums(t, nearMinimum(t, currency, cart)), coupon.Optional[int]{}
		d.MaxPurchase, d.MaxQuantity, d.Contains, d.ContainsNot = nil, coupon.Optional[int]{}, nil, nil // drawCartConditions sets these later
		if rapid.IntRange(0, 3).Draw(t, "minimum quantity") == 0 {
			d.MinQuantity = coupon.Set(rapid.IntRange(1, 3).Draw(t, "units"))
		}
		d.Budget = budgetFor(t, currency, discount)
		c := fromDraft(t, consistent(d))
		c.State = coupon.Active
		drawCartConditions(t, &c, cart)
		switch {
		case len(goods(cart)) > 0 && rapid.IntRange(0, 3).Draw(t, "covers") > 0:
			c.Scope = Covering(cart).Draw(t, "scope")
		case rapid.Bool().Draw(t, "covers nothing"):
			c.Scope = NotCovering(cart).Draw(t, "scope")
		}
		return mustBeValid(t, c)
	})
}

// nearMinimum draws no minimum purchase, or a minimum within two minor units of a partial sum of the
// lines.
func nearMinimum(t *rapid.T, c pricing.Currency, cart pricing.Cart) pricing.Money {
	if len(cart.Lines) == 0 || rapid.Bool().Draw(t, "no minimum") {
		return pricing.NewMoney(0, c)
	}
	sum := int64(0)
	for _, l := range cart.Lines {
		if rapid.Bool().Draw(t, "counted") {
			sum += l.UnitPrice * l.Quantity
		}
	}
	return pricing.NewMoney(max(min(sum, coupon.MaxMinPurchase-2)+rapid.Int64Range(-2, 2).Draw(t, "off by"), 0), c)
}

// drawCartConditions draws maximums close to the amounts of the cart, and required and forbidden
// contents. The cart may have some of them.
func drawCartConditions(t *rapid.T, c *coupon.Coupon, cart pricing.Cart) {
	if rapid.IntRange(0, 19).Draw(t, "maximum purchase") == 0 {
		m := nearMinimum(t, c.Currency, cart)
		c.Conditions.MaxPurchase = coupon.NewMoneySet(pricing.NewMoney(max(m.Minor(), 1), c.Currency))
	}
	if rapid.IntRange(0, 19).Draw(t, "maximum quantity") == 0 {
		c.Conditions.MaxQuantity = rapid.Int64Range(1, 5).Draw(t, "most units")
	}
	if rapid.IntRange(0, 19).Draw(t, "contents") == 0 {
		c.Conditions.Contains = coupon.Contents{Scope: someScope(t, cart, "required"), Quantity: rapid.Int64Range(1, 4).Draw(t, "required units")}
		if m := nearMinimum(t, c.Currency, cart); m.Minor() > 0 {
			c.Conditions.Contains.MinPurchase = coupon.NewMoneySet(m)
		}
	}
	if rapid.IntRange(0, 19).Draw(t, "excluded contents") == 0 {
		c.Conditions.ContainsNot = someScope(t, cart, "excluded")
	}
}

// someScope draws a scope. If the cart has goods, the scope may cover one of its lines.
func someScope(t *rapid.T, cart pricing.Cart, what string) coupon.Scope {
	if len(goods(cart)) > 0 && rapid.Bool().Draw(t, what+" are in the cart") {
		return Covering(cart).Draw(t, what)
	}
	return Scope().Draw(t, what)
}

func fromDraft(t *rapid.T, d coupon.Draft) coupon.Coupon {
	c, err := coupon.New(d, coupon.Creation{ID: ID().Draw(t, "id"), At: instantBefore(newUntil).Draw(t, "created")})
	if err != nil {
		t.Fatalf("drew an impossible draft: %v", err)
	}
	start, end := window(t) // as an administrator may have changed it
	c.StartsAt, _ = start.Start(nil)
	c.ExpiresAt, _ = end.End(nil)
	c.State = rapid.SampledFrom([]coupon.State{
		coupon.Active, coupon.Active, coupon.Inactive, coupon.Pending, coupon.Deleting,
	}).Draw(t, "state")
	c.Revision = rapid.OneOf(rapid.Int64Range(1, 5), rapid.Int64Range(1, math.MaxInt64)).Draw(t, "revision")
	c.UpdatedAt = c.CreatedAt.Add(time.Duration(rapid.Int64Range(0, 1_000_000).Draw(t, "age")) * time.Microsecond)
	c.UsedCount = rapid.Int64Range(0, 1_000).Draw(t, "used")
	c.ReservedCount = rapid.Int64Range(0, 10).Draw(t, "reserved")
	switch rapid.IntRange(0, 4).Draw(t, "mirror") {
	case 0:
		c.Mirror = coupon.Mirror{Unsupported: true, Revision: rapid.Int64Range(1, c.Revision).Draw(t, "mirrored revision")}
	case 1, 2:
		c.Mirror = coupon.Mirror{
			CouponID:        rapid.StringMatching(`[A-Za-z0-9]{8}`).Draw(t, "processor coupon"),
			PromotionCodeID: rapid.StringMatching(`promo_[A-Za-z0-9]{24}`).Draw(t, "promotion code"),
			Revision:        rapid.Int64Range(1, c.Revision).Draw(t, "mirrored revision"),
		}
		if c.Code.IsZero() {
			c.Mirror.PromotionCodeID = ""
		}
	}
	return mustBeValid(t, c)
}

func mustBeValid(t *rapid.T, c coupon.Coupon) coupon.Coupon {
	if err := c.Validate(); err != nil {
		t.Fatalf("drew an impossible coupon: %v", err)
	}
	return c
}

// Patch draws a change that [coupon.Coupon.Apply] accepts for c: any part of the editable fields, given or cleared,
// those that depend on each other together; at times the fields that cannot change, with the value that they have.
func Patch(c coupon.Coupon) *rapid.Generator[coupon.Patch] {
	return rapid.Custom(func(t *rapid.T) coupon.Patch {
		var d coupon.Draft
		drawTerms(t, &d, c.Currency, c.Discount)
		drawn, changed := map[string]any{}, map[string]any{"maxUses": d.MaxUses, "maxUsesPerUser": d.MaxUsesPerUser}
		through(t, d, &drawn)
		for _, members := range [...]string{
			"name", "description", "group", "minPurchase", "automatic distribution allowedUserEmails pointsRequired", "startsAt expiresAt",
			"appliesTo planIds deviceIds accessoryIds kinds categories excludedItemIds excludedCategories", conditionsAndLimits,
		} {
			audience := strings.HasPrefix(members, "automatic distribution") && c.AllowedUserEmails.Narrowed()
			if rapid.Bool().Draw(t, "change "+members) || audience {
				for name := range strings.FieldsSeq(members) {
					changed[name] = drawn[name] // a missing value becomes null and clears the field
				}
			}
		}
		var p coupon.Patch
		through(t, changed, &p)
		if rapid.Bool().Draw(t, "change nothing that cannot change") {
			repeatImmutable(t, &p, c)
		}
		if _, err := c.Apply(p, coupon.Edit{At: time.Unix(0, 0)}); err != nil { // the terms contradict each other
			for name := range strings.FieldsSeq(conditionsAndLimits) {
				changed[name] = nil
			}
			delete(changed, "minPurchase")
			through(t, changed, &p)
		}
		return p
	})
}

const conditionsAndLimits = "minQuantity maxQuantity maxPurchase contains containsNot customerTags firstOrder schedule channels countries " +
	"budget periodLimits restoreOnRefund"

// through converts a value to another type with the same JSON.
func through(t *rapid.T, from, to any) {
	text, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatalf("drew impossible terms: %v", err)
	}
}

// repeatImmutable sets the fields of the patch that cannot change, and the revision, to the values of
// the coupon.
func repeatImmutable(t *rapid.T, p *coupon.Patch, c coupon.Coupon) {
	if p.Code = coupon.Set(""); !c.Code.IsZero() {
		p.Code = coupon.Set(Spelling(c.Code).Draw(t, "code"))
	}
	p.DiscountType = coupon.Set(c.Discount.Type())
	p.Currency = coupon.Set(c.Currency.Code())
	switch d := (coupon.Draft{}).WithDiscount(c.Discount); {
	case d.Percent != "":
		p.DiscountValue = coupon.Set(coupon.Amounts{"": d.Percent})
	case d.Amount != nil:
		p.DiscountValue = coupon.Set(d.Amount)
	}
	p.Revision = coupon.Set(c.Revision)
}
