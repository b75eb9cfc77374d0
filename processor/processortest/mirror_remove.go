package processortest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

func (p *probe) removed(c coupon.Coupon, when string) {
	p.Helper()
	p.ok(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror "+when)
	p.verifies(c, processor.MirrorMissing, "after RemoveMirror "+when)
	p.nothingOf(c, "after RemoveMirror "+when)
}

func removeClauses() []clause {
	return []clause{
		{
			name:  "remove",
			says:  "RemoveMirror deactivates the promotion code and removes the coupon; what is gone already is no error",
			check: remove,
		},
		{
			name:  "remove finds what a lost call has made",
			needs: []need{account()},
			says:  "RemoveMirror removes what an EnsureMirror whose answer was lost has made",
			check: removeFindsWhatALostCallHasMade,
		},
		{
			name:  "remove after tampering",
			needs: []need{account()},
			says:  "what is gone already is no error",
			check: removeAfterTampering,
		},
		{
			name:  "remove nothing foreign",
			needs: []need{account()},
			says:  "nothing that belongs to somebody else is changed or removed",
			check: removeNothingForeign,
		},
		{
			name:  "remove leaves other coupons alone",
			needs: []need{account()},
			says:  "RemoveMirror removes the mirror of c, and no other",
			check: removeLeavesOtherCouponsAlone,
		},
		{
			name:  "remove frees the code",
			says:  "a deleted coupon's code may be used again (contract section 4.3)",
			check: removeFreesTheCode,
		},
	}
}

func remove(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.removed(c, "once")
	p.removed(c, "twice")
	p.removed(p.coupon("b", "SUITE2"), "of a coupon that never had a mirror")
}

func removeFindsWhatALostCallHasMade(p *probe) {
	c := p.coupon("a", "SUITE1")
	p.mirrored(c) // ignore the answer
	p.removed(c, "without knowing the mirror")

	old := p.mirrored(p.coupon("b", "SUITE2"))
	p.updated(edited(old, limited(7))) // ignore the answer
	p.removed(old, "knowing only the mirror that was replaced")
}

func removeAfterTampering(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	p.removed(c, "after the code was deactivated")
	c = p.mirrored(p.coupon("b", "SUITE2"))
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	p.removed(c, "after the coupon was deleted")
}

func removeNothingForeign(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	_, untouched := p.foreign("SUITE1")
	p.ok(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror")
	p.nothingOf(c, "after RemoveMirror")
	untouched("that has the same code, after RemoveMirror")

	other := p.coupon("b", "SUITE2")
	planted, untouched := p.foreign("SUITE3")
	other.Mirror = planted
	if err := p.Processor.RemoveMirror(p.Context(), other); err != nil {
		p.oneKind(err, "RemoveMirror of a coupon whose mirror is somebody else's")
	}
	untouched("that the coupon wrongly names as its mirror, after RemoveMirror")
}

func removeLeavesOtherCouponsAlone(p *probe) {
	a, ab := p.mirrored(p.coupon("a", "SUITE1")), p.mirrored(p.coupon("ab", "SUITE12"))
	p.removed(a, "of one of two coupons")
	p.shows(ab, "after the removal of another coupon whose ID and code are a part of its own")
	p.verifies(ab, processor.MirrorValid, "after the removal of another coupon")
}

func removeFreesTheCode(p *probe) {
	p.removed(p.mirrored(p.coupon("a", "SUITE1")), "once")
	c := p.mirrored(p.coupon("b", "SUITE1"))
	p.shows(c, "with the code of a removed coupon")
	p.verifies(c, processor.MirrorValid, "with the code of a removed coupon")
}

func verifyClauses() []clause {
	return []clause{
		{
			name:  "verify before and after",
			says:  "VerifyMirror tells whether coupon and promotion code are there and usable",
			check: verifyBeforeAndAfter,
		},
		{
			name:  "verify sees tampering",
			needs: []need{account()},
			says:  "VerifyMirror says invalid when the objects are there but not active, and missing when they are not there",
			check: verifySeesTampering,
		},
		{
			name:  "verify after the expiry",
			needs: []need{clock()},
			says:  "the mirror of a coupon that has expired is MirrorInvalid where MirrorsExpiry tells that its promotion code ends with it, and valid elsewhere",
			check: verifyAfterTheExpiry,
		},
		{
			name:  "verify changes nothing",
			needs: []need{account()},
			says:  "VerifyMirror tells",
			check: verifyChangesNothing,
		},
	}
}

func verifyBeforeAndAfter(p *probe) {
	c := p.coupon("a", "SUITE1")
	p.verifies(c, processor.MirrorMissing, "of a coupon without a mirror")
	p.verifies(p.mirrored(c), processor.MirrorValid, "after EnsureMirror")
}

func verifySeesTampering(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	p.verifies(c, processor.MirrorInvalid, "after the code was deactivated")
	p.verifies(p.mirrored(c), processor.MirrorValid, "after it was ensured again")
	p.hook(p.Account.Delete(c.Mirror), "Delete")
	p.verifies(c, processor.MirrorMissing, "after the coupon was deleted")
}

func verifyAfterTheExpiry(p *probe) {
	c := p.coupon("a", "SUITE1")
	c.ExpiresAt = p.Now().Add(time.Hour)
	c = p.mirrored(c)
	p.verifies(c, processor.MirrorValid, "before the coupon expires")
	p.Advance(time.Hour)
	want := processor.MirrorValid
	if p.Processor.Abilities().MirrorsExpiry {
		want = processor.MirrorInvalid
	}
	p.verifies(c, want, "once the coupon has expired")
}

func verifyChangesNothing(p *probe) {
	c := p.mirrored(p.coupon("a", "SUITE1"))
	p.hook(p.Account.Deactivate(c.Mirror), "Deactivate")
	objects, codes := p.Account.Objects(), p.Account.Codes()
	p.verifies(c, processor.MirrorInvalid, "after the code was deactivated")
	if diff := cmp.Diff(objects, p.Account.Objects()); diff != "" {
		p.broken("the coupons have changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(codes, p.Account.Codes()); diff != "" {
		p.broken("the promotion codes have changed (-before +after):\n%s", diff)
	}
}
