package storetest

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func sessionRaceClauses() []clause {
	return []clause{
		{"one session in a race", "a session that another redemption has is ErrSuperseded: of two calls at once that bring two redemptions one session, by AttachSession, Transition or Reserve, exactly one succeeds", sessionInARace},
		{"one session at once for two coupons", "a session that another redemption has, be it of another coupon, is ErrSuperseded: of two calls at once that bring redemptions of two coupons one session, exactly one succeeds", sessionOfTwoCoupons},
		{"attach and payment in a race", "a session is one redemption's: its payment and its attachment to another redemption at once leave it exactly one, which is completed", attachAndPaymentInARace},
	}
}

// bringing is a call that brings the redemption of a reservation a session.
type bringing func(ctx context.Context, s store.Store, r store.Reservation, session string) error

func byAttachment(ctx context.Context, s store.Store, r store.Reservation, session string) error {
	_, err := s.AttachSession(ctx, attachment(r.Order.ID, session))
	return err
}

func byTransition(ctx context.Context, s store.Store, r store.Reservation, session string) error {
	_, err := s.Transition(ctx, r.Redemption.ID, redemption.Event{
		Kind: redemption.SessionAttached, At: at(950), SessionID: session, OrderID: r.Order.ID, Deadline: at(2000),
	})
	return err
}

// byReservation is of one that is not stored yet.
func byReservation(ctx context.Context, s store.Store, r store.Reservation, session string) error {
	r.Redemption.SessionID = session
	_, err := s.Reserve(ctx, r)
	return err
}

func sessionInARace(p *probe) { p.bringSessionsTwice(p.coupon()) }

func sessionOfTwoCoupons(p *probe) { p.bringSessionsTwice(p.coupon(), p.coupon()) }

// bringSessionsTwice lets every two of the calls that bring a session bring the same one, and
// many such pairs at once. The redemptions are of the coupons in turn.
func (p *probe) bringSessionsTwice(coupons ...coupon.Coupon) {
	p.Helper()
	sessions, requests := make([]string, p.can.Goroutines/2), p.checkouts(p.can.Goroutines/2*2, coupons...)
	for i := range sessions {
		sessions[i] = p.session()
	}
	calls := make([]bringing, len(requests))
	var first []store.Reservation
	for i := range calls {
		kind := i / 2 % 3
		if i%2 == 1 {
			kind = i / 6 % 3
		}
		calls[i] = [...]bringing{byAttachment, byTransition, byReservation}[kind]
		if kind < 2 {
			first = append(first, requests[i])
		}
	}
	p.placeAll(first)
	errs := p.together(len(calls), func(ctx context.Context, s store.Store, i int) error {
		return calls[i](ctx, s, requests[i], sessions[i/2])
	})
	p.succeeded(errs, store.ErrSuperseded, "calls that bring a session")
	owners := p.sessionOwners(coupons...)
	for i, session := range sessions {
		p.oneHas(owners[session], requests[2*i:2*i+2], errs[2*i:2*i+2])
	}
	p.invariants()
}

// oneHas checks that of two requests at once that one succeeded whose redemption has the
// session that both brought.
func (p *probe) oneHas(owners []redemption.Redemption, requests []store.Reservation, errs []error) {
	p.Helper()
	if len(owners) != 1 {
		p.broken("of two calls that brought one session at once, which returned %v and %v, %d have it now", errs[0], errs[1], len(owners))
		return
	}
	for i, r := range requests {
		if has := owners[0].ID == r.Redemption.ID; has != (errs[i] == nil) {
			p.broken("the call for redemption %s returned %v, and %s has the session", r.Redemption.ID, errs[i], owners[0].ID)
		}
	}
}

// checkouts returns requests of so many customers, for the coupons in turn.
func (p *probe) checkouts(n int, coupons ...coupon.Coupon) []store.Reservation {
	p.Helper()
	requests := make([]store.Reservation, n)
	for i := range requests {
		requests[i] = p.checkout(coupons[i%len(coupons)], numbered(i), p.key())
	}
	return requests
}

// placeAll stores reservations for which there must be places, all at once.
func (p *probe) placeAll(requests []store.Reservation) {
	p.Helper()
	for _, err := range p.together(len(requests), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Reserve(ctx, requests[i])
		return err
	}) {
		p.ok(err, "Reserve")
	}
}

// sessionOwners returns the redemptions of coupons by their sessions.
func (p *probe) sessionOwners(coupons ...coupon.Coupon) map[string][]redemption.Redemption {
	p.Helper()
	owners := map[string][]redemption.Redemption{}
	for _, c := range coupons {
		for _, r := range p.redemptions(store.RedemptionList{CouponID: c.ID}) {
			owners[r.SessionID] = append(owners[r.SessionID], r)
		}
	}
	return owners
}

// attachAndPaymentInARace lets the payment of a session, of another reservation or of none,
// meet its attachment.
func attachAndPaymentInARace(p *probe) {
	c := p.coupon()
	pairs := p.can.Goroutines / 2
	requests := p.checkouts(2*pairs, c)
	p.placeAll(requests)
	payments := make([]store.Settlement, pairs)
	for i := range payments {
		paid := store.Reserved{Redemption: redemption.Redemption{CouponID: c.ID, CustomerID: numbered(2*i + 1)}}
		if i%2 == 0 {
			paid = store.Reserved{Redemption: requests[2*i+1].Redemption, Order: *requests[2*i+1].Order}
		}
		payments[i] = p.settlement(redemption.SessionCompleted, paid, p.session())
	}
	errs := p.together(2*pairs, func(ctx context.Context, s store.Store, i int) error {
		if i%2 == 0 {
			return byAttachment(ctx, s, requests[i], payments[i/2].Event.SessionID)
		}
		_, err := s.Settle(ctx, payments[i/2])
		return err
	})
	p.succeeded(errs, store.ErrSuperseded, "AttachSession with a session that is paid")
	owners := p.sessionOwners(c)
	for i, paid := range payments {
		p.ok(errs[2*i+1], "Settle of a session that is being attached")
		if of := owners[paid.Event.SessionID]; len(of) != 1 || of[0].State != redemption.Completed {
			p.broken("the session %q, which was attached and paid at once, has the redemptions %+v", paid.Event.SessionID, of)
		}
	}
}
