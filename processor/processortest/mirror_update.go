package processortest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

func updateClauses() []clause {
	return []clause{
		{
			name:  "update brings the name",
			says:  "UpdateMirror brings the name of the mirror to that of c",
			check: updateBringsTheName,
		},
		{
			name:  "update replaces what cannot change",
			says:  "where the processor cannot change a term it replaces the objects, and the answer names the new ones",
			check: updateReplacesWhatCannotChange,
		},
		{
			name:  "update can be repeated with the old mirror",
			says:  "after a lost answer the same call leads to the wanted state, with one coupon and one active promotion code",
			check: updateCanBeRepeatedWithTheOldMirror,
		},
		{
			name:  "update back and forth",
			says:  "UpdateMirror brings the terms of the mirror to those of c, with one coupon and one active promotion code",
			check: updateBackAndForth,
		},
		{
			name:  "update makes again what is gone",
			needs: []need{account()},
			says:  "a mirror that is gone is made again",
			check: updateMakesAgainWhatIsGone,
		},
		{
			name:  "update keeps an inactive coupon inactive",
			says:  "UpdateMirror replaces objects; the promotion code of an inactive coupon is not active",
			check: updateKeepsAnInactiveCouponInactive,
		},
		{
			name:  "update shows the whole revision",
			says:  "the mirror's Revision is that of the coupon which it shows: a change of the active state that was missed is made up for",
			check: updateShowsTheWholeRevision,
		},
		{
			name:  "update changes nothing foreign",
			needs: []need{account()},
			says:  "a code that somebody else has active is ErrCodeTaken; nothing of somebody else is changed",
			check: updateChangesNothingForeign,
		},
		{
			name:  "update leaves other coupons alone",
			needs: []need{account()},
			says:  "UpdateMirror brings the mirror of c to c, and no other",
			check: updateLeavesOtherCouponsAlone,
		},
	}
}

func updateBringsTheName(p *probe) {
	c := p.updated(edited(p.mirrored(p.coupon("a", "SUITE1")), renamed("Another name")))
	p.shows(c, "after a new name")
	p.verifies(c, processor.MirrorValid, "after a new name")
}

func updateReplacesWhatCannotChange(p *probe) {
	old := p.mirrored(p.coupon("a", "SUITE1"))
	c := p.updated(edited(old, limited(7)))
	p.shows(c, "after a new limit")
	p.verifies(c, processor.MirrorValid, "after a new limit")
	if c.Mirror.PromotionCodeID != old.Mirror.PromotionCodeID {
		status, err := p.Processor.VerifyMirror(p.Context(), old)
		p.ok(err, "VerifyMirror of the replaced mirror")
		if status == processor.MirrorValid {
			p.broken("the mirror that was replaced is still valid")
		}
	}
}

func updateCanBeRepeatedWithTheOldMirror(p *probe) {
	asked := edited(p.mirrored(p.coupon("a", "SUITE1")), limited(7))
	first, second := p.updated(asked), p.updated(asked)
	if first.Mirror != second.Mirror {
		p.broken("the first call answered %+v and the second %+v", first.Mirror, second.Mirror)
	}
	p.shows(second, "after the call was repeated")
}

func updateBackAndForth(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	for _, uses := range []int64{10, 20, 10, 0, 10} {
		c = p.updated(edited(c, limited(uses)))
		p.shows(c, "after one of several changes of the limit")
	}
	p.verifies(c, processor.MirrorValid, "after several changes of the limit")
}

func updateMakesAgainWhatIsGone(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	c = p.updated(edited(c, renamed("Again")))
	p.shows(c, "after the coupon was deleted and updated")
	p.verifies(c, processor.MirrorValid, "after the coupon was deleted and updated")
}

func updateKeepsAnInactiveCouponInactive(p *probe) {
	c := p.activated(edited(p.mirrored(p.coupon("a", "SUITE1")), switched(coupon.Inactive)))
	c = p.updated(edited(c, limited(7)))
	p.shows(c, "after the terms of an inactive coupon have changed")
	p.verifies(c, processor.MirrorInvalid, "of an inactive coupon")
}

func updateShowsTheWholeRevision(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	c = p.updated(edited(c, switched(coupon.Inactive)))
	p.shows(c, "after UpdateMirror of a coupon that was switched off")
	c = p.updated(edited(c, switched(coupon.Active)))
	p.shows(c, "after UpdateMirror of a coupon that was switched on")
}

func updateChangesNothingForeign(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	_, untouched := p.foreign("SUITE1")
	_, err := p.Processor.UpdateMirror(p.Context(), edited(c, limited(7)))
	p.fails(err, processor.ErrCodeTaken, "UpdateMirror while somebody else has the code")
	untouched("after UpdateMirror")
}

func updateLeavesOtherCouponsAlone(p *probe) {
	a, ab := p.mirrored(p.coupon("a", "SUITE1")), p.mirrored(p.coupon("ab", "SUITE12"))
	p.shows(p.updated(edited(a, limited(3))), "after its own update")
	p.shows(ab, "after the update of another coupon whose ID and code are a part of its own")
}

func activeClauses() []clause {
	return []clause{
		{
			name:  "active off and on",
			says:  "SetMirrorActive brings the active state of the promotion code to c.Active(), and can be repeated",
			check: activeOffAndOn,
		},
		{
			name:  "active replaces a code that is dead",
			needs: []need{account(), killing()},
			says:  "where the processor cannot activate the code again, it is replaced",
			check: activeReplacesACodeThatIsDead,
		},
		{
			name:  "active makes again what is gone",
			needs: []need{account()},
			says:  "every method looks at what is there and does what is missing",
			check: activeMakesAgainWhatIsGone,
		},
		{
			name:  "active takes no foreign code",
			needs: []need{account()},
			says:  "a code that somebody else has active is ErrCodeTaken; nothing of somebody else is changed",
			check: activeTakesNoForeignCode,
		},
		{
			name:  "active shows the whole revision",
			says:  "the mirror's Revision is that of the coupon which it shows: a change of name or terms that was missed is made up for",
			check: activeShowsTheWholeRevision,
		},
	}
}

func activeOffAndOn(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	for _, state := range []coupon.State{coupon.Inactive, coupon.Active, coupon.Inactive, coupon.Active} {
		want := processor.MirrorValid
		if state == coupon.Inactive {
			want = processor.MirrorInvalid
		}
		c = edited(c, switched(state))
		for range 2 {
			c = p.activated(c)
			p.verifies(c, want, "after SetMirrorActive to "+state.String())
			p.shows(c, "after SetMirrorActive to "+state.String())
		}
	}
}

func activeReplacesACodeThatIsDead(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Kill(c.Mirror), "Kill")
	c = p.activated(edited(c, switched(coupon.Active)))
	p.shows(c, "after the code had ended for good")
	p.verifies(c, processor.MirrorValid, "after the code had ended for good")
}

func activeMakesAgainWhatIsGone(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	c = p.activated(edited(c, switched(coupon.Active)))
	p.shows(c, "after the coupon was deleted and switched on")
	p.verifies(c, processor.MirrorValid, "after the coupon was deleted and switched on")
}

func activeTakesNoForeignCode(p *probe) {
	c := p.activated(edited(p.mirrored(p.coupon("a", "SUITE1")), switched(coupon.Inactive)))
	_, untouched := p.foreign("SUITE1")
	_, err := p.Processor.SetMirrorActive(p.Context(), edited(c, switched(coupon.Active)))
	p.fails(err, processor.ErrCodeTaken, "SetMirrorActive while somebody else has the code")
	untouched("after SetMirrorActive on")
	p.activated(edited(c, switched(coupon.Inactive)))
	untouched("after SetMirrorActive off")
}

func activeShowsTheWholeRevision(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	c = edited(edited(edited(c, renamed("Missed")), limited(9)), switched(coupon.Inactive))
	p.shows(p.activated(c), "after SetMirrorActive of a coupon of a later revision")
}
