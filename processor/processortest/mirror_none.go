package processortest

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

func noMirrorClauses() []clause {
	return []clause{{
		name:  "no mirror is declared",
		says:  "the mirror of a processor that keeps no coupons is that of processor.NoMirror, and every other one is made before it is there",
		check: noMirrorIsDeclared,
	}}
}

func noMirrorIsDeclared(p *probe) {
	a := p.coupon("a", "SUITE1")
	if !p.NoMirror {
		if status, err := p.Processor.VerifyMirror(p.Context(), a); err == nil && status == processor.MirrorUnsupported {
			p.broken("VerifyMirror of a coupon that has no mirror yet says %q, want %q; the harness of an adapter that embeds processor.NoMirror sets NoMirror",
				status, processor.MirrorMissing)
		}
		p.verifies(a, processor.MirrorMissing, "of a coupon that has no mirror yet")
		return
	}
	var want processor.NoMirror
	for _, c := range []coupon.Coupon{
		a, p.coupon("b", "SUITE1"), edited(a, renamed("Another")),
		edited(a, switched(coupon.Inactive)), edited(a, switched(coupon.Pending)), edited(a, switched(coupon.Deleting)),
	} {
		mirror, err := want.EnsureMirror(p.Context(), c)
		p.ok(err, "NoMirror")
		for _, call := range []mirrorCall{p.Processor.EnsureMirror, p.Processor.UpdateMirror, p.Processor.SetMirrorActive} {
			got, err := call(p.Context(), c)
			p.ok(err, "a method that returns a mirror")
			if got != mirror {
				p.broken("the mirror of coupon %s is %+v, want %+v", c.ID, got, mirror)
			}
		}
		p.ok(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror")
		status, err := want.VerifyMirror(p.Context(), c)
		p.ok(err, "NoMirror")
		p.verifies(c, status, "of a coupon that is "+c.State.String())
	}
}
