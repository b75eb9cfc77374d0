package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func lookUpClauses() []clause {
	return []clause{
		{"look up by ID or code", "CouponID or, when that is empty, Code names the coupon; an unknown one is coupon.ErrNotFound", lookUpByIDOrCode},
		{"look up counts the customer's uses", "LookUp returns how often the coupon was used: CompletedByCustomer and ReservedByCustomer count the customer's redemptions; no customer counts none", lookUpCounts},
		{"look up lists what is held", "Held are the customer's live reservations, oldest first, at most MaxHeld", lookUpHeld},
		{"look up narrows the allow-list", "the allow-list may be narrowed to the address asked for: it still tells how many there are and whether that one is among them", lookUpNarrows},
		{"look up knows domains", "an entry of a domain lets in every address of exactly that domain; the list may be narrowed to that entry", lookUpKnowsDomains},
		{"look up is one consistent read", "LookUp returns a coupon and how often it was used, in one consistent read", lookUpIsConsistent},
	}
}

func lookUpByIDOrCode(p *probe) {
	one, two := p.coupon(), p.coupon(inState(coupon.Inactive))
	for _, test := range []struct {
		by   store.LookUp
		want coupon.Coupon
	}{
		{store.LookUp{CouponID: one.ID}, one},
		{store.LookUp{Code: two.Code}, two},
		{store.LookUp{CouponID: one.ID, Code: two.Code}, one},
	} {
		found, err := p.s.LookUp(p.Context(), test.by)
		p.ok(err, "LookUp(%+v)", test.by)
		same(p, found, store.Found{Coupon: test.want}, "what LookUp(%+v) finds", test.by)
	}
	for _, by := range []store.LookUp{
		{},
		{CouponID: "cpn_unknown"},
		{CouponID: "cpn_unknown", Code: one.Code},
		{Code: p.code("UNKNOWN")},
		{CouponID: one.Code.String()},
		{Code: p.code("CPN_0001")},
	} {
		_, err := p.s.LookUp(p.Context(), by)
		p.fails(err, coupon.ErrNotFound, "LookUp(%+v)", by)
	}
	_, err := p.s.Coupon(p.Context(), "cpn_unknown")
	p.fails(err, coupon.ErrNotFound, "Coupon of an unknown ID")
	_, err = p.s.Coupon(p.Context(), one.Code.String())
	p.fails(err, coupon.ErrNotFound, "Coupon of a code")
}

func lookUpCounts(p *probe) {
	c, other := p.coupon(), p.coupon()
	for _, customer := range []string{"ann", "ann", "ann", "bob"} {
		p.settleSession(redemption.SessionCompleted, p.opened(c, customer))
	}
	held := []redemption.Redemption{p.reserve(c, "ann").Redemption, p.opened(c, "ann").Redemption}
	p.settleSession(redemption.SessionExpired, p.opened(c, "ann"))
	p.reserve(other, "ann")
	for customer, want := range map[string]store.Found{
		"ann": {CompletedByCustomer: 3, ReservedByCustomer: 2, Held: held},
		"bob": {CompletedByCustomer: 1},
		"cem": {}, "": {},
	} {
		want.Coupon = c
		want.Coupon.UsedCount, want.Coupon.ReservedCount = 4, 2
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: customer})
		p.ok(err, "LookUp")
		same(p, found, want, "what LookUp finds for the customer %q", customer)
	}
	p.invariants()
}

func lookUpHeld(p *probe) {
	c := p.coupon()
	var held []redemption.Redemption
	for i := range store.MaxHeld + 4 {
		r := p.checkout(c, "ann", p.key())
		created := at(500 - i) // the later they come, the older they are
		r.Redemption.CreatedAt, r.Redemption.UpdatedAt = created, created
		held = append([]redemption.Redemption{p.place(r).Redemption}, held...)
	}
	p.settleSession(redemption.SessionCompleted, p.opened(c, "ann"))
	found, err := p.s.LookUp(p.Context(), store.LookUp{Code: c.Code, CustomerID: "ann"})
	p.ok(err, "LookUp")
	same(p, found.ReservedByCustomer, int64(len(held)), "the number of live reservations")
	same(p, found.Held, held[:store.MaxHeld], "the list of live reservations")
}

func lookUpNarrows(p *probe) {
	emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org", "jürgen@bücher.example")
	p.own(err)
	c := p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	for address, allowed := range map[string]bool{
		"ann@example.org": true, " Bob@Example.ORG ": true, "JÜRGEN@bücher.example": true,
		"cem@example.org": false, "": false, "ann@example.or": false, "%": false, "nn@example.org": false,
	} {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: "u", Email: address})
		p.ok(err, "LookUp")
		list := found.Coupon.AllowedUserEmails
		if list.Has(address) != allowed || list.Len() != 3 {
			p.broken("for the address %q the list of %d addresses says %t", address, list.Len(), list.Has(address))
		}
		found.Coupon.AllowedUserEmails = emails
		same(p, found, store.Found{Coupon: c}, "what LookUp finds beside the allow-list")
	}
	whole, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, whole, c, "the whole coupon")
}

func lookUpKnowsDomains(p *probe) {
	emails, err := coupon.NewEmailSet("*@example.org", "ann@example.com", "*@bücher.example")
	p.own(err)
	c := p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails })
	only, err := coupon.NewEmailSet("*@example.net")
	p.own(err)
	alone := p.coupon(func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, only })
	for address, allowed := range map[string]bool{
		"bob@example.org": true, " BOB@Example.ORG ": true, "jürgen@BÜCHER.example": true, "ann@example.com": true,
		"bob@example.com": false, "bob@sub.example.org": false, "bob@xexample.org": false, "@example.org": false, "example.org": false,
		"b\x00b@example.org": false, "b\xffb@example.org": false, strings.Repeat("b", 300) + "@example.org": false,
	} {
		found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: c.ID, CustomerID: "u", Email: address})
		p.ok(err, "LookUp")
		list := found.Coupon.AllowedUserEmails
		if list.Has(address) != allowed || list.Len() != 3 {
			p.broken("for the address %q the list of %d entries says %t", address, list.Len(), list.Has(address))
		}
	}
	found, err := p.s.LookUp(p.Context(), store.LookUp{CouponID: alone.ID, Email: "bob@example.net"})
	p.ok(err, "LookUp")
	same(p, found, store.Found{Coupon: alone}, "what LookUp finds where the only entry is a domain")
}

// lookUpIsConsistent lets one customer be the only one, so that their figures are
// those of the coupon in every consistent read.
func lookUpIsConsistent(p *probe) {
	c := p.coupon()
	const rounds = 20
	requests := make([]store.Reservation, rounds)
	for i := range requests {
		requests[i] = p.checkout(c, "ann", p.key())
	}
	sessions := make([]string, rounds)
	for i := range sessions {
		sessions[i] = p.session()
	}
	var done atomic.Bool
	errs := p.together(4, func(ctx context.Context, s store.Store, i int) error {
		if i == 0 {
			defer done.Store(true)
			return p.useUp(ctx, s, requests, sessions)
		}
		for !done.Load() {
			if err := consistent(ctx, s, c.ID); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			p.broken("%v", err)
		}
	}
	p.counts(c.ID, rounds/2, 0)
}

// useUp completes and cancels the requests in turn.
func (p *probe) useUp(ctx context.Context, s store.Store, requests []store.Reservation, sessions []string) error {
	for i, r := range requests {
		reserved, err := s.Reserve(ctx, r)
		if err != nil {
			return err
		}
		if err := consistent(ctx, s, r.Redemption.CouponID); err != nil {
			return err
		}
		kind := redemption.SessionExpired
		if i%2 == 0 {
			kind = redemption.SessionCompleted
		}
		if _, err := s.Settle(ctx, p.settlement(kind, reserved, sessions[i])); err != nil {
			return err
		}
	}
	return nil
}

func consistent(ctx context.Context, s store.Store, couponID string) error {
	found, err := s.LookUp(ctx, store.LookUp{CouponID: couponID, CustomerID: "ann"})
	if err != nil {
		return err
	}
	var faults []string
	if found.Coupon.UsedCount != found.CompletedByCustomer {
		faults = append(faults, fmt.Sprintf("UsedCount is %d and CompletedByCustomer %d", found.Coupon.UsedCount, found.CompletedByCustomer))
	}
	if found.Coupon.ReservedCount != found.ReservedByCustomer || found.ReservedByCustomer != int64(len(found.Held)) {
		faults = append(faults, fmt.Sprintf("ReservedCount is %d, ReservedByCustomer %d and %d are held",
			found.Coupon.ReservedCount, found.ReservedByCustomer, len(found.Held)))
	}
	if len(faults) > 0 {
		return errors.New("while one customer was the only one to use the coupon, " + strings.Join(faults, ", "))
	}
	return nil
}
