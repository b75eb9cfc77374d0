package storetest

import (
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// boundsClauses are about values that are as large as they may be.
func boundsClauses() []clause {
	return []clause{
		{"the largest order", "an order that validates is stored whole: the most and the longest metadata, the most lines and the longest URL of a session", largestOrder},
		{"a long allow-list", "an allow-list that validates is stored whole, and one address among many is found", longAllowList},
	}
}

func largestOrder(p *probe) {
	c := p.coupon()
	r := p.checkout(c, "ann", p.key())
	r.Order.Metadata = make(map[string]string, store.MaxMetadata)
	for i := range store.MaxMetadata {
		name := fmt.Sprintf("%0*d", redemption.MaxIDLength, i)
		r.Order.Metadata[name] = strings.Repeat("<\n\"é", store.MaxMetadataLength/5)
	}
	lines := make([]pricing.Line, pricing.MaxLines)
	for i := range lines {
		lines[i] = pricing.Line{ID: fmt.Sprint(i), Kind: pricing.Device, ItemID: fmt.Sprintf("phone-%d", i), Quantity: 3, UnitPrice: 333}
	}
	quote, err := pricing.Price(pricing.Cart{Currency: c.Currency, Lines: lines}, c.Discount, nil)
	p.own(err)
	r.Order.Quote, r.Order.DiscountAmount = quote, quote.Discount
	p.own(r.Validate())
	want := store.Reserved{Redemption: r.Redemption, Order: r.Order.Clone()}
	same(p, p.place(r), want, "what Reserve returns of the largest order")
	a := attachment(want.Order.ID, p.session())
	a.SessionURL = strings.Repeat("x", store.MaxMetadataLength)
	attached, err := p.s.AttachSession(p.Context(), a)
	p.ok(err, "AttachSession with the longest URL")
	want.Order, err = want.Order.Attach(a)
	p.own(err)
	same(p, attached, want.Order, "what AttachSession with the longest URL returns")
	same(p, p.order(want.Order.ID), want.Order, "the largest order")
}

func longAllowList(p *probe) {
	const many = 1<<16 + 5
	addresses := make([]string, many)
	for i := range addresses {
		addresses[i] = fmt.Sprintf("user%d@example.org", i)
	}
	c := p.coupon(p.forAddresses(addresses...))
	for address, allowed := range map[string]bool{
		addresses[0]: true, addresses[many-1]: true, fmt.Sprintf("user%d@example.org", many): false,
	} {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, Email: address})
		p.ok(err, "LookUp")
		if list := found.Coupon.AllowedUserEmails; list.Has(address) != allowed || list.Len() != many {
			p.broken("LookUp says of %s that it is allowed: %t, of %d addresses and not %d", address, list.Has(address), list.Len(), many)
		}
	}
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	if !got.AllowedUserEmails.Equal(c.AllowedUserEmails) {
		p.broken("of %d addresses the coupon has %d", many, got.AllowedUserEmails.Len())
	}
	got.AllowedUserEmails, c.AllowedUserEmails = coupon.EmailSet{}, coupon.EmailSet{}
	same(p, got, c, "the rest of the coupon")
}
