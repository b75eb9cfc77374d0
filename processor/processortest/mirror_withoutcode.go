package processortest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

func withoutCodeClauses() []clause {
	return []clause{
		{
			name:  "without a code the mirror is the coupon",
			says:  "the mirror of a coupon without a plain code is the coupon object alone, and PromotionCodeID is empty",
			check: withoutCodeTheMirrorIsTheCoupon,
		},
		{
			name:  "without a code the mirror has no state",
			says:  "without a plain code SetMirrorActive writes the revision, and VerifyMirror does not tell an active coupon from an inactive one",
			check: withoutCodeTheMirrorHasNoState,
		},
		{
			name:  "without a code the mirror is removed and made again",
			needs: []need{account()},
			says:  "RemoveMirror removes the coupon object, also that of an EnsureMirror whose answer was lost; UpdateMirror makes again what is gone",
			check: withoutCodeTheMirrorIsRemoved,
		},
	}
}

// withoutCode returns a coupon without a plain code.
func (p *probe) withoutCode(id string) coupon.Coupon {
	p.Helper()
	return p.draft(id, coupon.Draft{Name: "Suite " + id, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "10"}})
}

func withoutCodeTheMirrorIsTheCoupon(p *probe) {
	c := p.mirrored(p.withoutCode("a"))
	p.shows(c, "of a coupon without a code")
	p.verifies(c, processor.MirrorValid, "of a coupon without a code")
	again := p.mirrored(p.withoutCode("a"))
	if again.Mirror != c.Mirror {
		p.broken("the first EnsureMirror answered %+v and the second %+v", c.Mirror, again.Mirror)
	}
	other := p.mirrored(p.withoutCode("b"))
	p.shows(other, "of a second coupon without a code")
	c = p.updated(edited(edited(c, renamed("Another name")), limited(7)))
	p.shows(c, "after a new name and a new limit")
	p.verifies(c, processor.MirrorValid, "after a new name and a new limit")
	p.shows(other, "after the first coupon was changed")
}

func withoutCodeTheMirrorHasNoState(p *probe) {
	c := p.mirrored(p.withoutCode("a"))
	for _, state := range []coupon.State{coupon.Inactive, coupon.Active} {
		c = p.activated(edited(c, switched(state)))
		p.shows(c, "of a coupon that is "+state.String())
		p.verifies(c, processor.MirrorValid, "of a coupon that is "+state.String())
	}
}

func withoutCodeTheMirrorIsRemoved(p *probe) {
	p.mirrored(p.withoutCode("a")) // ignore the answer
	p.removed(p.withoutCode("a"), "without knowing the mirror")
	c := p.mirrored(p.withoutCode("b"))
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	p.verifies(c, processor.MirrorMissing, "after the coupon was deleted")
	c = p.updated(edited(c, renamed("Again")))
	p.shows(c, "after the coupon was deleted and updated")
	p.removed(c, "once")
	p.removed(c, "twice")
}
