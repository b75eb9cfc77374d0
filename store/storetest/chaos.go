package storetest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func chaosClauses() []clause {
	return []clause{
		{"everything at once", "all methods may be called from many goroutines and many processes at once: whatever the interleaving, what CheckInvariants checks is true afterwards", everythingAtOnce},
	}
}

// everythingAtOnce lets callers do what customers, processors, sweeps and
// administrators do, on few coupons of few places. Somebody else has paid with one
// before: what is done with paid orders is seen even if none of the callers gets so far.
func everythingAtOnce(p *probe) {
	const steps = 12
	coupons := []coupon.Coupon{p.coupon(limits(4, 2)), p.coupon(limits(0, 1)), p.coupon(forPoints, limits(4, 0))}
	p.settleSession(redemption.SessionCompleted, p.opened(coupons[0], "ann"))
	callers := min(p.can.Goroutines, 12)
	scripts := make([]*script, callers)
	for i := range scripts {
		scripts[i] = &script{p: p, random: rand.New(rand.NewPCG(7, uint64(i))), coupons: coupons}
		scripts[i].prepare(steps)
	}
	errs := p.together(callers, func(ctx context.Context, s store.Store, i int) error {
		for step := range steps {
			if err := scripts[i].step(ctx, s, step); err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			p.broken("a call returned the error: %v", err)
		}
	}
	p.invariants()
}

// script is what one caller does. Its requests are made before the race.
type script struct {
	p        *probe
	random   *rand.Rand
	coupons  []coupon.Coupon
	requests []store.Reservation
	orders   []store.TakeOver
}

func (s *script) prepare(steps int) {
	s.p.Helper()
	for range steps {
		c := s.coupons[s.random.IntN(len(s.coupons))]
		customer := numbered(s.random.IntN(3))
		r := s.p.checkout(c, customer, s.p.key())
		if c.Distribution == coupon.PointsRedeemable {
			r = s.p.exchange(c, customer, s.p.key())
		}
		s.requests = append(s.requests, r)
		s.orders = append(s.orders, s.p.takeOver(c, r.Redemption, s.p.key()))
	}
}

// step does one thing; a business "no" and a lost race are no errors.
func (s *script) step(ctx context.Context, in store.Store, i int) error {
	err := s.act(ctx, in, i)
	var rejection *coupon.Rejection
	if errors.As(err, &rejection) || errors.Is(err, store.ErrConflict) || errors.Is(err, redemption.ErrIllegal) {
		return nil
	}
	return err
}

func (s *script) act(ctx context.Context, in store.Store, i int) error {
	request := s.requests[i]
	kind := []redemption.EventKind{
		redemption.SessionCompleted, redemption.SessionExpired, redemption.SessionUnpaid, redemption.PaymentFailed,
	}[s.random.IntN(4)]
	choice := s.random.IntN(10)
	if choice < 3 {
		_, err := in.Reserve(ctx, request)
		return err
	}
	found, err := in.LookUp(ctx, store.LookUp{CouponID: request.Redemption.CouponID, CustomerID: request.Redemption.CustomerID})
	if err != nil || len(found.Held) == 0 {
		return err
	}
	held := found.Held[s.random.IntN(len(found.Held))]
	e := redemption.Event{Kind: redemption.Cancelled, At: at(900 + i), SessionID: held.SessionID}
	switch {
	case choice < 6: // its session, or one that is about to be attached, with all metadata
		session := held.SessionID
		if session == "" {
			session = "cs_" + held.ID + held.OrderID
		}
		_, err = in.Settle(ctx, s.p.settlement(kind, store.Reserved{Redemption: held, Order: store.Order{ID: held.OrderID}}, session))
	case choice == 6:
		_, err = in.Transition(ctx, held.ID, e)
	case held.PointsState == redemption.PointsPending:
		e.Kind = redemption.PointsExchanged
		_, err = in.Transition(ctx, held.ID, e)
	case choice == 7 && held.OrderID != "":
		_, err = in.AttachSession(ctx, attachment(held.OrderID, "cs_"+held.ID+held.OrderID))
	case choice == 8:
		return s.p.rename(ctx, in, request.Redemption.CouponID)
	default:
		over := s.orders[i]
		over.ReservationID, over.FromSessionID, over.CouponRevision = held.ID, held.SessionID, 0
		over.Order.ReservationID = held.ID
		_, err = in.TakeOver(ctx, over)
	}
	return err
}
