package processortest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

func unsupportedClauses() []clause {
	return []clause{
		{
			name:  "mirror shows all terms or is unsupported",
			says:  "for a coupon that the processor cannot express, the three methods create nothing and return a mirror without IDs that is Unsupported; a mirror never shows other terms than its coupon",
			check: showsAllTermsOrNone,
		},
		{
			name:  "verify of an unsupported coupon",
			says:  "VerifyMirror of a coupon that the processor cannot express returns MirrorUnsupported, with and without the mirror on record",
			check: verifyOfAnUnsupportedCoupon,
		},
		{
			name:  "remove of an unsupported coupon",
			says:  "RemoveMirror ignores objects that do not exist",
			check: removeOfAnUnsupportedCoupon,
		},
	}
}

// elaborate returns coupons with discounts of every kind that has optional terms.
func (p *probe) elaborate() []coupon.Coupon {
	p.Helper()
	var coupons []coupon.Coupon
	for i, d := range []coupon.Draft{
		{DiscountType: pricing.Percentage, Percent: "20", MaxDiscount: coupon.Amounts{"": "5"}},
		{DiscountType: pricing.Percentage, Percent: "20", MaxUnits: 2},
		{DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "20", "JPY": "500"}},
		{DiscountType: pricing.FixedAmountPerUnit, Amount: coupon.Amounts{"": "2"}},
		{DiscountType: pricing.FixedUnitPrice, Amount: coupon.Amounts{"": "9"}},
		{DiscountType: pricing.CheapestUnits, Percent: "100", Units: 1},
		{DiscountType: pricing.BuyXGetY, Percent: "100", BuyQuantity: 2, GetQuantity: 1},
		{
			DiscountType: pricing.Tiered, TierBasis: pricing.ByQuantity,
			Tiers: []coupon.TierDraft{{From: "2", Percent: "5"}},
		},
	} {
		id := string(rune('a' + i))
		d.Code, d.Name = "SUITE"+id, "Discount "+id
		c := p.draft(id, d)
		if check := p.Processor.Abilities().CheckCoupon; check == nil || check(c) == nil {
			coupons = append(coupons, c)
		}
	}
	return coupons
}

func showsAllTermsOrNone(p *probe) {
	for _, c := range p.elaborate() {
		of := "of the discount " + c.Discount.String()
		m, err := p.Processor.EnsureMirror(p.Context(), c)
		p.ok(err, "EnsureMirror "+of)
		if !m.Unsupported {
			p.shows(p.accepted(c, m), of)
			continue
		}
		p.withoutMirror(c, m, "EnsureMirror "+of)
		for name, call := range map[string]mirrorCall{
			"EnsureMirror": p.Processor.EnsureMirror, "UpdateMirror": p.Processor.UpdateMirror, "SetMirrorActive": p.Processor.SetMirrorActive,
		} {
			for _, change := range []func(*coupon.Coupon){renamed("Another name"), limited(7), switched(coupon.Inactive), switched(coupon.Active)} {
				c.Mirror = m
				c = edited(c, change)
				m, err = call(p.Context(), c)
				p.ok(err, name+" "+of)
				p.withoutMirror(c, m, name+" "+of)
			}
		}
	}
}

// withoutMirror checks that the answer marks the mirror as unsupported, and that the coupon has no
// mirror.
func (p *probe) withoutMirror(c coupon.Coupon, m coupon.Mirror, call string) {
	p.Helper()
	if want := (coupon.Mirror{Revision: c.Revision, Unsupported: true}); m != want {
		p.broken("%s returned %+v, want %+v", call, m, want)
	}
	p.nothingOf(c, "after "+call)
}

// unsupported calls check with every coupon that the processor cannot express.
func (p *probe) unsupported(check func(c coupon.Coupon)) {
	p.Helper()
	for _, c := range p.elaborate() {
		m, err := p.Processor.EnsureMirror(p.Context(), c)
		p.ok(err, "EnsureMirror of the discount "+c.Discount.String())
		if !m.Unsupported {
			continue
		}
		for _, known := range []coupon.Mirror{{}, m} {
			c.Mirror = known
			check(c)
		}
	}
}

func verifyOfAnUnsupportedCoupon(p *probe) {
	p.unsupported(func(c coupon.Coupon) {
		for _, state := range []coupon.State{coupon.Active, coupon.Inactive} {
			c.State = state
			p.verifies(c, processor.MirrorUnsupported, "of a coupon that is "+state.String())
		}
	})
}

func removeOfAnUnsupportedCoupon(p *probe) {
	p.unsupported(func(c coupon.Coupon) {
		p.ok(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror of the discount "+c.Discount.String())
		p.nothingOf(c, "after RemoveMirror")
	})
}
