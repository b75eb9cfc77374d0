package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func updateClauses() []clause {
	return []clause{
		{"update replaces what can change", "UpdateCoupon replaces everything but ID, code, discount, currency, counts and CreatedAt, and returns the coupon as stored, its revision one higher and the mirror as given", updateReplaces},
		{"update needs the revision", "UpdateCoupon changes the coupon when the stored revision is still c.Revision; otherwise it is ErrStaleRevision, or coupon.ErrNotFound", updateNeedsTheRevision},
		{"one update of a revision succeeds", "UpdateCoupon changes the coupon when the stored revision is still c.Revision: of concurrent calls with one revision exactly one succeeds", oneUpdateSucceeds},
		{"update keeps the counts", "UpdateCoupon does not replace the counts, not even those that change at the same time", updateKeepsCounts},
		{"update keeps a narrowed allow-list", "an allow-list that is narrowed stays as it is stored", updateKeepsNarrowed},
		{"a whole list after a narrowed one", "UpdateCoupon replaces the allow-list, also by the one address that an update with a narrowed list named: an address that was taken off is allowed no more", updateReplacesAfterNarrowed},
		{"update validates what is stored", "what would not validate as stored is pricing.ErrInvalid: what UpdateCoupon does not replace may be left out, and of an allow-list that is narrowed the stored one counts", updateValidatesWhatIsStored},
	}
}

func updateReplaces(p *probe) {
	samples := p.sampled(12)
	for i, from := range samples {
		to := samples[(i+5)%len(samples)]
		from.Revision = min(from.Revision, 1000)
		p.ok(p.s.CreateCoupon(p.Context(), from), "CreateCoupon")
		changed := to
		changed.ID, changed.Revision = from.ID, from.Revision
		changed.UsedCount, changed.ReservedCount = 99, 98
		want := uncounted(changed)
		want.Code, want.Discount, want.Currency, want.CreatedAt = from.Code, from.Discount, from.Currency, from.CreatedAt
		want.Revision++
		stored, err := p.s.UpdateCoupon(p.Context(), changed)
		p.ok(err, "UpdateCoupon")
		same(p, stored, want, "what UpdateCoupon returns")
		got, err := p.s.Coupon(p.Context(), from.ID)
		p.ok(err, "Coupon")
		same(p, got, want, "the coupon after the update")
		found, err := p.s.LookUp(p.Context(), store.LookUp{Code: from.Code})
		p.ok(err, "LookUp")
		found.Coupon.AllowedUserEmails = want.AllowedUserEmails
		same(p, found, store.Found{Coupon: want}, "what LookUp finds after the update")
	}
}

func updateNeedsTheRevision(p *probe) {
	c := p.coupon()
	renamed := c
	renamed.Name = "first"
	first, err := p.s.UpdateCoupon(p.Context(), renamed)
	p.ok(err, "UpdateCoupon")
	for _, revision := range []int64{c.Revision, first.Revision + 1} {
		stale := first
		stale.Name, stale.Revision = "second", revision
		_, err := p.s.UpdateCoupon(p.Context(), stale)
		p.fails(err, store.ErrStaleRevision, "UpdateCoupon at revision %d of %d", revision, first.Revision)
		p.fails(err, store.ErrConflict, "UpdateCoupon at revision %d of %d", revision, first.Revision)
		if errors.Is(err, store.ErrSuperseded) || errors.Is(err, store.ErrKeyReused) {
			p.broken("the error also matches a conflict of another kind: %v", err)
		}
	}
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, first, "the coupon after stale updates")
	_, err = p.s.UpdateCoupon(p.Context(), p.draft())
	p.fails(err, coupon.ErrNotFound, "UpdateCoupon of an unknown one")
}

func oneUpdateSucceeds(p *probe) {
	c := p.coupon()
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		mine := c
		mine.Name = fmt.Sprintf("by %d", i)
		_, err := s.UpdateCoupon(ctx, mine)
		return err
	})
	if n := p.succeeded(errs, store.ErrStaleRevision, "UpdateCoupon"); n != 1 {
		p.broken("of %d calls %d succeeded", len(errs), n)
	}
	want := c
	want.Name, want.Revision = fmt.Sprintf("by %d", slices.Index(errs, nil)), c.Revision+1
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, want, "the coupon after the race")
}

func updateKeepsCounts(p *probe) {
	c := p.coupon(limits(int64(p.can.Goroutines), 0))
	requests := make([]store.Reservation, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.checkout(c, fmt.Sprintf("customer %d", i), "k")
	}
	errs := p.together(len(requests), func(ctx context.Context, s store.Store, i int) error {
		if i%4 != 0 {
			_, err := s.Reserve(ctx, requests[i])
			return err
		}
		return p.rename(ctx, s, c.ID)
	})
	p.succeeded(errs, nil, "Reserve and UpdateCoupon")
	updates := (len(requests) + 3) / 4
	p.counts(c.ID, 0, int64(len(requests)-updates))
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	if got.Revision != c.Revision+int64(updates) {
		p.broken("the revision is %d after %d updates of revision %d", got.Revision, updates, c.Revision)
	}
	p.invariants()
}

// rename changes a coupon as an administrator does: read, change, and again if
// somebody was faster.
func (p *probe) rename(ctx context.Context, s store.Store, id string) error {
	for {
		c, err := s.Coupon(ctx, id)
		if err != nil {
			return err
		}
		c.Name = fmt.Sprintf("renamed from %d", c.Revision)
		if _, err = s.UpdateCoupon(ctx, c); !errors.Is(err, store.ErrStaleRevision) {
			return err
		}
	}
}

func updateKeepsNarrowed(p *probe) {
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org", "cem@example.org")
	p.own(err)
	c := p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	for _, narrowed := range []coupon.EmailSet{emails.Narrow("bob@example.org"), emails.Narrow("")} {
		changed := c
		changed.Name, changed.AllowedUserEmails = c.Name+"+", narrowed
		want := changed
		want.AllowedUserEmails, want.Revision = emails, c.Revision+1
		c, err = p.s.UpdateCoupon(p.Context(), changed)
		p.ok(err, "UpdateCoupon with a narrowed allow-list")
		same(p, c, want, "what UpdateCoupon returns")
		c, err = p.s.Coupon(p.Context(), c.ID)
		p.ok(err, "Coupon")
		same(p, c, want, "the coupon after the update")
	}
	shorter, err := coupon.NewEmailSet("cem@example.org", "ann@example.org")
	p.own(err)
	c.AllowedUserEmails = shorter
	c, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon with a whole allow-list")
	same(p, c.AllowedUserEmails, shorter, "an allow-list that was replaced by a whole one")
}

func updateReplacesAfterNarrowed(p *probe) {
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
	p.own(err)
	only, err := coupon.NewEmailSet("ann@example.org")
	p.own(err)
	c := p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	for _, list := range []coupon.EmailSet{emails.Narrow("ann@example.org"), only} {
		c.AllowedUserEmails = list
		c, err = p.s.UpdateCoupon(p.Context(), c)
		p.ok(err, "UpdateCoupon")
	}
	same(p, c.AllowedUserEmails, only, "the allow-list that UpdateCoupon returns")
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, c, "the coupon after an address was taken off")
	for address, allowed := range map[string]bool{"ann@example.org": true, "bob@example.org": false} {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, Email: address})
		p.ok(err, "LookUp")
		if list := found.Coupon.AllowedUserEmails; list.Has(address) != allowed || list.Len() != 1 {
			p.broken("LookUp says of %s that it is allowed: %t, of %d addresses", address, list.Has(address), list.Len())
		}
	}
}

func updateValidatesWhatIsStored(p *probe) {
	plain, listed := p.coupon(), p.coupon(p.forAddresses("ann@example.org"))
	few := plain
	few.Name, few.Code, few.Discount, few.Currency, few.CreatedAt = "few fields", coupon.Code{}, pricing.Discount{}, pricing.Currency{}, time.Time{}
	got, err := p.s.UpdateCoupon(p.Context(), few)
	p.ok(err, "UpdateCoupon without code, discount, currency and CreatedAt")
	plain.Name, plain.Revision = few.Name, plain.Revision+1
	same(p, got, plain, "what UpdateCoupon returns")

	narrowed := coupon.NarrowedEmailSet(3, "ann@example.org")
	for what, test := range map[string]struct {
		stored coupon.Coupon
		change terms
	}{
		"a narrowed list where none is stored": {plain, func(c *coupon.Coupon) {
			c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, narrowed
		}},
		"a narrowed list, which stays, for everybody": {listed, func(c *coupon.Coupon) {
			c.Distribution, c.AllowedUserEmails = coupon.General, narrowed
		}},
		"an empty list": {listed, func(c *coupon.Coupon) { c.AllowedUserEmails = coupon.EmailSet{} }},
	} {
		changed := test.stored
		test.change(&changed)
		_, err := p.s.UpdateCoupon(p.Context(), changed)
		p.fails(err, pricing.ErrInvalid, "UpdateCoupon with %s", what)
		got, err := p.s.Coupon(p.Context(), changed.ID)
		p.ok(err, "Coupon")
		same(p, got, test.stored, "the coupon after an update with %s", what)
	}
}

func mirrorClauses() []clause {
	return []clause{
		{"confirm the mirror", "ConfirmMirror records the mirror of the revision that m names, and makes a pending coupon active; the coupon's revision does not change, and repeating it is harmless", confirmTheMirror},
		{"confirm needs the revision", "when the stored revision is not m.Revision it is ErrStaleRevision", confirmNeedsTheRevision},
	}
}

func confirmTheMirror(p *probe) {
	for before, after := range map[coupon.State]coupon.State{
		coupon.Pending: coupon.Active, coupon.Active: coupon.Active,
		coupon.Inactive: coupon.Inactive, coupon.Deleting: coupon.Deleting,
	} {
		c := p.coupon(inState(before), func(c *coupon.Coupon) { c.Revision = 3 })
		m := coupon.Mirror{CouponID: "co_'" + c.ID, PromotionCodeID: "promo_" + c.ID, Revision: 3}
		want := c
		want.Mirror, want.State = m, after
		for range 2 {
			got, err := p.s.ConfirmMirror(p.Context(), c.ID, m)
			p.ok(err, "ConfirmMirror of a coupon that is %s", before)
			got.UpdatedAt = want.UpdatedAt // the contract does not say
			same(p, got, want, "what ConfirmMirror returns")
			got, err = p.s.Coupon(p.Context(), c.ID)
			p.ok(err, "Coupon")
			got.UpdatedAt = want.UpdatedAt
			same(p, got, want, "the coupon whose mirror was confirmed")
		}
		again := coupon.Mirror{CouponID: m.CouponID + "2", PromotionCodeID: m.PromotionCodeID + "2", Revision: 3}
		got, err := p.s.ConfirmMirror(p.Context(), c.ID, again)
		p.ok(err, "ConfirmMirror of a mirror that was made anew")
		same(p, got.Mirror, again, "the mirror that was made anew")
		if after == coupon.Active {
			reserved := p.reserve(c, "ann")
			p.transition(reserved.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
		}
	}
}

func confirmNeedsTheRevision(p *probe) {
	c := p.coupon(inState(coupon.Pending), func(c *coupon.Coupon) { c.Revision = 3 })
	for _, revision := range []int64{2, 4, 0} {
		m := coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: revision}
		_, err := p.s.ConfirmMirror(p.Context(), c.ID, m)
		p.fails(err, store.ErrStaleRevision, "ConfirmMirror of revision %d", revision)
	}
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, c, "the coupon after mirrors of other revisions")
	_, err = p.s.ConfirmMirror(p.Context(), "cpn_unknown", coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 3})
	p.fails(err, coupon.ErrNotFound, "ConfirmMirror of an unknown coupon")
}
