package storetest

import (
	"math"
	"strings"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func chargeClauses() []clause {
	return []clause{
		{"what was charged", "the first payment of an order stores what was charged, with its tax; a later payment only tells what was unknown", charges},
		{"a wrong charge", "a payment is stored whatever was charged, also an unknown payment", func(p *probe) {
			for _, charge := range []redemption.Charge{
				{Currency: pricing.EUR(), Amount: -math.MaxInt64, Tax: pricing.Tax{Amount: math.MaxInt64}},
				{Currency: pricing.JPY(), Amount: 5, Tax: pricing.Tax{Amount: -1, Lines: []pricing.LineTax{{LineID: "ü none", Amount: -2}, {Amount: 7}, {Amount: 7}}}},
			} {
				e := event(redemption.Paid, p.reserve(p.checkout("ann")).Order)
				e.Charge = charge
				stored := p.apply(e).Order
				same(p, stored.Charge, charge, "what was charged")
				same(p, p.order(stored.ID).Order.Charge, charge, "what is stored of a wrong charge")
				unknown := p.unknown("ann", "cs_unknown_"+stored.ID)
				unknown.Unknown.Order.Charge = charge
				same(p, p.order(p.settle(unknown).Order.ID).Order.Charge, charge, "what is stored of a charge without an order")
			}
		}},
	}
}

func charges(p *probe) {
	o := p.placed(p.checkout("ann", p.coupon()), redemption.SessionAttached).Order
	e := event(redemption.Paid, o)
	e.Charge.Tax = pricing.Tax{Amount: 7_205_759_403_792_794_001, Lines: []pricing.LineTax{
		{LineID: "2", Amount: 7_205_759_403_792_793_903}, {LineID: "3", Amount: 98}, {LineID: strings.Repeat("ü", pricing.MaxLineIDLength)},
	}}
	charge := e.Charge
	e.Charge = redemption.Charge{}
	same(p, p.apply(e).Order.Charge, redemption.Charge{}, "the charge of a payment that does not tell it")
	e.Charge = charge
	got := p.apply(e)
	same(p, got.Order.Charge, charge, "a charge that is told later")
	got.Changed = false
	same(p, p.order(o.ID), got, "the order that is stored with its charge")
	other := e
	other.Charge.Amount++
	for what, later := range map[string]redemption.Event{"again": e, "with another charge": other} {
		p.unchanged("a payment "+what, func() { same(p, p.apply(later).Order.Charge, charge, "the charge of a payment %s", what) })
	}
	for field, change := range map[string]func(*redemption.Charge){
		"charge.currency":  func(c *redemption.Charge) { c.Currency = pricing.Currency{} },
		"charge.tax.lines": func(c *redemption.Charge) { c.Tax.Lines = make([]pricing.LineTax, pricing.MaxLines+1) },
		"charge.tax.lines[0].lineId": func(c *redemption.Charge) {
			c.Tax.Lines = []pricing.LineTax{{LineID: "\x00"}}
		},
	} {
		bad := event(redemption.Paid, o)
		change(&bad.Charge)
		allNamed(p, store.Store.Apply, map[string]store.Settlement{field: settlement(bad)})
	}
	ended := event(redemption.SessionExpired, o)
	ended.Charge = charge
	allNamed(p, store.Store.Apply, map[string]store.Settlement{"charge": settlement(ended)})
}
