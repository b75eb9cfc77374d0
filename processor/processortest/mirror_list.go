package processortest

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// lister returns the processor as a MirrorLister. The harness has declared that role.
func (p *probe) lister() processor.MirrorLister {
	p.Helper()
	l, ok := p.Processor.(processor.MirrorLister)
	if !ok {
		p.stop("the harness declares ListsMirrors, and the processor is no processor.MirrorLister")
	}
	return l
}

// listed returns the mirrors by coupon.
func (p *probe) listed() map[string]coupon.Mirror {
	p.Helper()
	found := map[string]coupon.Mirror{}
	for ref, err := range p.lister().Mirrors(p.Context()) {
		p.ok(err, "Mirrors")
		if _, twice := found[ref.CouponID]; twice {
			p.broken("Mirrors yields the mirror of %q twice", ref.CouponID)
		}
		found[ref.CouponID] = ref.Mirror
	}
	return found
}

func listClauses() []clause {
	return []clause{
		{
			name:  "list is declared",
			says:  "MirrorLister is an optional role that the harness declares",
			check: listIsDeclared,
		},
		{
			name:  "list yields our mirrors",
			needs: []need{listing(), account()},
			says:  "Mirrors yields every mirror that belongs to this application",
			check: listYieldsOurMirrors,
		},
		{
			name:  "list tells revision and state",
			needs: []need{listing()},
			says:  "MirrorRef has the revision that was last written, and the promotion code that is active",
			check: listTellsRevisionAndState,
		},
		{
			name:  "list stops when told",
			needs: []need{listing()},
			says:  "Mirrors is an iterator that the caller may leave",
			check: listStopsWhenTold,
		},
		{
			name:  "list ends after an error",
			needs: []need{listing()},
			says:  "Mirrors ends after the first error",
			check: listEndsAfterAnError,
		},
	}
}

func listIsDeclared(p *probe) {
	if _, ok := p.Processor.(processor.MirrorLister); ok != p.ListsMirrors {
		p.broken("the processor is a MirrorLister: %t, declared: %t", ok, p.ListsMirrors)
	}
}

func listYieldsOurMirrors(p *probe) {
	p.foreign("FOREIGN1")
	want := map[string]coupon.Mirror{}
	var last coupon.Coupon
	for i := range 25 { // more than one page of most processors
		last = p.mirrored(p.coupon(fmt.Sprintf("c%02d", i), fmt.Sprintf("SUITE%02d", i)))
		want[last.ID] = last.Mirror
	}
	if diff := cmp.Diff(want, p.listed()); diff != "" {
		p.broken("Mirrors yields others than were made (-made +listed):\n%s", diff)
	}
	p.removed(last, "of a listed coupon")
	delete(want, last.ID)
	if diff := cmp.Diff(want, p.listed()); diff != "" {
		p.broken("after a removal Mirrors yields others than are left (-left +listed):\n%s", diff)
	}
}

func listTellsRevisionAndState(p *probe) {
	c := p.mirrored(p.coupon("listed", "LISTED"))
	c.Name, c.State = "Another name", coupon.Inactive
	for _, bring := range []func(context.Context, coupon.Coupon) (coupon.Mirror, error){
		p.Processor.UpdateMirror, p.Processor.SetMirrorActive,
	} {
		c.Revision++
		m, err := bring(p.Context(), c)
		p.ok(err, "bringing the mirror to a coupon that is switched off")
		c.Mirror = m
		want := coupon.Mirror{CouponID: m.CouponID, Revision: c.Revision}
		if got := p.listed()[c.ID]; got != want {
			p.broken("Mirrors yields %+v for a coupon that is switched off, at revision %d; want %+v", got, c.Revision, want)
		}
	}
}

func listStopsWhenTold(p *probe) {
	for i := range 3 {
		p.mirrored(p.coupon(fmt.Sprintf("c%d", i), fmt.Sprintf("SUITE%d", i)))
	}
	seen := 0
	p.lister().Mirrors(p.Context())(func(_ processor.MirrorRef, err error) bool { // a range loop would panic if the iterator continued
		p.ok(err, "Mirrors")
		seen++
		return false
	})
	if seen != 1 {
		p.broken("Mirrors yielded %d mirrors to a caller that left after the first", seen)
	}
}

func listEndsAfterAnError(p *probe) {
	p.mirrored(p.coupon("a", "SUITE1"))
	p.mirrored(p.coupon("b", "SUITE2"))
	ctx, cancel := context.WithCancel(p.Context())
	cancel()
	failures := 0
	for _, err := range p.lister().Mirrors(ctx) {
		if failures > 0 {
			p.broken("Mirrors went on after an error")
		}
		if err != nil {
			p.fails(err, context.Canceled, "Mirrors with an ended context")
			failures++
		}
	}
	if failures != 1 {
		p.broken("Mirrors with an ended context yielded %d errors, want 1", failures)
	}
}
