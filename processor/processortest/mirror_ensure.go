package processortest

import (
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/validation"
)

func ensureClauses() []clause {
	return []clause{
		{
			name:  "ensure makes coupon and promotion code",
			says:  "EnsureMirror makes the coupon and its promotion code, and the mirror's Revision is the coupon's",
			check: ensureMakesCouponAndPromotionCode,
		},
		{
			name:  "ensure shows every kind of discount",
			says:  "amounts are integer minor units of couponkit's currency; a mirror shows the coupon's terms",
			check: checkDiscounts,
		},
		{
			name:  "ensure can be repeated",
			says:  "every method can be repeated; EnsureMirror adopts what an earlier call has made",
			check: ensureCanBeRepeated,
		},
		{
			name:  "ensure adopts a deactivated code",
			needs: []need{account()},
			says:  "EnsureMirror adopts what an earlier call has made and brings the promotion code's active state to the coupon's",
			check: ensureAdoptsADeactivatedCode,
		},
		{
			name:  "ensure makes again what was deleted",
			needs: []need{account()},
			says:  "every method looks at what is there and does what is missing",
			check: ensureMakesAgainWhatWasDeleted,
		},
		{
			name:  "ensure takes the active state",
			says:  "EnsureMirror brings the promotion code's active state to c.Active(); a pending coupon counts as active",
			check: checkStates,
		},
		{
			name:  "ensure shows the whole revision",
			needs: []need{account()},
			says:  "methods that return a mirror promise that name, terms and active state are those of its revision: an earlier call may not have arrived, and EnsureMirror adopts what a call for an older revision has made",
			check: ensureShowsTheWholeRevision,
		},
		{
			name:  "ensure takes no foreign code",
			needs: []need{account()},
			says:  "a code that somebody else has active is ErrCodeTaken, which matches ErrRejected; nothing of somebody else is changed",
			check: ensureTakesNoForeignCode,
		},
		{
			name:  "ensure takes no code of another coupon",
			needs: []need{account()},
			says:  "a promotion code stands for one coupon; with one coupon and one active promotion code",
			check: ensureTakesNoCodeOfAnotherCoupon,
		},
		{
			name:  "ensure holds to CheckCoupon",
			says:  "CheckCoupon returns a *validation.Error when the processor cannot mirror the coupon; EnsureMirror is then ErrRejected",
			check: checkUnsuitable,
		},
	}
}

func ensureMakesCouponAndPromotionCode(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.verifies(c, processor.MirrorValid, "after EnsureMirror")
	p.shows(c, "after EnsureMirror")
}

func ensureCanBeRepeated(p *probe) {
	c := p.coupon("a", "SUITE1")
	first, second := p.mirrored(c), p.mirrored(c)
	if first.Mirror != second.Mirror {
		p.broken("the first call made %+v and the second %+v", first.Mirror, second.Mirror)
	}
	p.shows(p.mirrored(second), "after three calls")
}

func ensureAdoptsADeactivatedCode(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	p.shows(p.mirrored(c), "after the code was deactivated and ensured")
}

func ensureMakesAgainWhatWasDeleted(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	c = p.mirrored(c)
	p.shows(c, "after the coupon was deleted and ensured")
	p.verifies(c, processor.MirrorValid, "after the coupon was deleted and ensured")
}

func ensureShowsTheWholeRevision(p *probe) {
	c := p.coupon("a", "SUITE1")
	p.mirrored(c) // ignore the answer, as if it was lost
	for _, edit := range []struct {
		what   string
		change func(*coupon.Coupon)
	}{
		{"renamed", renamed("Another name")},
		{"limited", limited(7)},
		{"without a limit", limited(0)},
		{"switched off", switched(coupon.Inactive)},
		{"switched on", switched(coupon.Active)},
		{"being deleted", switched(coupon.Deleting)},
	} {
		c = edited(c, edit.change)
		p.shows(p.mirrored(c), "after EnsureMirror of a coupon that was made before and is "+edit.what)
	}
}

func ensureTakesNoForeignCode(p *probe) {
	planted, untouched := p.foreign("SUITE1")
	c := p.coupon("a", "SUITE1")
	for range 2 {
		_, err := p.Processor.EnsureMirror(p.Context(), c)
		p.fails(err, processor.ErrCodeTaken, "EnsureMirror of a foreign code")
		untouched("after the refusal")
	}
	p.ok(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror after the refusal")
	untouched("after RemoveMirror of the refused coupon")
	p.nothingOf(c, "after RemoveMirror of the refused coupon")

	p.hook(p.Account.Deactivate(planted), "Deactivate")
	p.shows(p.mirrored(c), "once the foreign code is free")
}

func ensureTakesNoCodeOfAnotherCoupon(p *probe) {
	first := p.mirrored(p.coupon("a", "SUITE1"))
	_, err := p.Processor.EnsureMirror(p.Context(), p.coupon("b", "SUITE1"))
	p.fails(err, processor.ErrCodeTaken, "EnsureMirror of another coupon with the same code")
	p.shows(first, "after the second coupon was refused")
	p.verifies(first, processor.MirrorValid, "after the second coupon was refused")
}

func checkDiscounts(p *probe) {
	for i, d := range []coupon.Draft{
		{DiscountType: pricing.Percentage, Percent: "12.5"},
		{DiscountType: pricing.Percentage, Percent: "100"},
		{DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "19.99"}, Currency: "EUR"},
		{DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "500"}, Currency: "JPY"},
		{DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "1.230"}, Currency: "KWD"},
	} {
		id := string(rune('a' + i))
		d.Code, d.Name, d.MaxUses = "SUITE"+id, "Discount "+id, coupon.Set(10+i)
		c := p.draft(id, d)
		if check := p.Processor.Abilities().CheckCoupon; check != nil && check(c) != nil {
			continue
		}
		p.shows(p.mirrored(c), "for "+c.Discount.String())
	}
}

func checkStates(p *probe) {
	for id, test := range map[string]struct {
		state coupon.State
		want  processor.MirrorStatus
	}{
		"a": {coupon.Pending, processor.MirrorValid},
		"b": {coupon.Active, processor.MirrorValid},
		"c": {coupon.Inactive, processor.MirrorInvalid},
	} {
		c := p.coupon(id, "SUITE"+id)
		c.State = test.state
		c = p.mirrored(c)
		p.verifies(c, test.want, "of a coupon that is "+test.state.String())
		p.shows(c, "of a coupon that is "+test.state.String())
		switch c.State {
		case coupon.Inactive:
			c.State = coupon.Active
		case coupon.Pending, coupon.Active, coupon.Deleting:
			c.State = coupon.Inactive
		}
		p.shows(p.mirrored(c), "after it was ensured as "+c.State.String())
	}
}

func checkUnsuitable(p *probe) {
	check := p.Processor.Abilities().CheckCoupon
	if check == nil {
		return // other clauses check that every coupon is suitable
	}
	for i, code := range []string{"ÄÖÜ", "A/B", "A+B", "ЛЕТО", "😀", "A.B", "A_B", "A-B"} {
		id := string(rune('a' + i))
		c := p.coupon(id, code)
		err := check(c)
		if err == nil {
			p.shows(p.mirrored(c), "for the code "+code)
			continue
		}
		if _, ok := errors.AsType[*validation.Error](err); !ok {
			p.broken("CheckCoupon of the code %s returned %v, which is no *validation.Error", code, err)
		}
		_, err = p.Processor.EnsureMirror(p.Context(), c)
		p.fails(err, processor.ErrRejected, "EnsureMirror of a coupon that CheckCoupon refuses, with the code "+code)
		p.nothingOf(c, "after it was refused")
	}
}
