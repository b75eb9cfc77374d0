package couponkit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// A customer who checks out again hands the uses of an open order over to a new order, where
// they would be in their own way otherwise (contract section 5.3). There are three steps:
//
//  1. One transaction of the store stores the new order and cancels the old one. If it fails,
//     the old order stays as it was.
//  2. The session of the old order is ended. If the customer has finished it, the old order
//     takes its claims back, and the new order is cancelled.
//  3. The session of the new order is opened. If the processor refuses it, the new order keeps
//     the claims until its deadline, and the customer can hand them over again.
//
// A repeated key does what is left of these steps. The sweep does step 2 for an order that
// nobody has come back for.

// What a checkout has to do to take a use.
const (
	takeFree    = iota // nothing
	takeOrder          // replace an order that has no session
	takeSession        // replace an order and end its session
	notTaken           // it cannot be taken
)

// A takeover is what a checkout can take over from the customer. The zero value is nothing.
type takeover struct {
	use   redemption.Use   // of the coupon; zero if the order does not use it
	order redemption.Order // zero for a points reservation that is in no order
	uses  []redemption.Use // of the order
}

// held is what the takeover holds in each counter.
func (t takeover) held() map[string]redemption.Count {
	held := redemption.Holdings(t.order, t.uses...)
	if t.use.OrderID == "" {
		for key, count := range redemption.Holdings(redemption.Order{}, t.use) {
			held[key] = held[key].Plus(count)
		}
	}
	return held
}

// own returns what a checkout of the coupon can take over: the customer's own use, and of a
// coupon for first orders the customer's one open order.
func (s *Service) own(ctx context.Context, f store.Found, identities []string) (takeover, error) {
	own, err := s.ownUse(ctx, f.Coupon, f.Held)
	if err != nil || !f.Coupon.Conditions.FirstOrder || !own.order.IsZero() || len(identities) == 0 {
		return own, err
	}
	page, err := s.store.ListOrders(ctx, store.OrderList{CustomerID: identities[0], State: redemption.OrderOpen, PageSize: 2})
	if err == nil && len(page.Items) == 1 {
		own.order, own.uses = page.Items[0].Order, page.Items[0].Uses
	}
	return own, err
}

// ownUse returns the customer's use that a checkout of the coupon can take: of those that cost
// the least effort the oldest.
func (s *Service) ownUse(ctx context.Context, c coupon.Coupon, held []redemption.Use) (takeover, error) {
	best, least := takeover{}, notTaken
	for _, u := range slices.Backward(held) { // the newest comes first
		if c.Distribution == coupon.PointsRedeemable && u.Origin != redemption.FromPoints {
			continue // it has cost no points
		}
		effort, o, err := s.effort(ctx, u)
		if err != nil {
			return takeover{}, err
		}
		if effort < least {
			best, least = takeover{use: u, order: o.Order, uses: o.Uses}, effort
		}
	}
	return best, nil
}

func (s *Service) effort(ctx context.Context, u redemption.Use) (int, store.Settled, error) {
	switch {
	case u.Free():
		return takeFree, store.Settled{}, nil
	case u.OrderID == "":
		return notTaken, store.Settled{}, nil
	}
	o, err := s.store.Order(ctx, store.OrderKey{ID: u.OrderID})
	switch {
	case err != nil:
		return notTaken, o, err
	case o.Order.State != redemption.OrderOpen:
		return notTaken, o, nil
	case o.Order.SessionID == "":
		return takeOrder, o, nil
	}
	return takeSession, o, nil
}

// A setTakeover is what a checkout of several coupons takes over: at most one order, which it
// replaces, and a use of each coupon.
type setTakeover struct {
	order string           // empty for points reservations that are in no order
	uses  []redemption.Use // for each coupon of the checkout the use to take; zero is none
}

// takeovers returns what a checkout can take over, one possibility for each order that holds a
// use of one of its coupons. Points reservations that are in no order are part of all of them.
func (s *Service) takeovers(ctx context.Context, p priced) ([]setTakeover, error) {
	free := make([]redemption.Use, len(p.found))
	var orders []takeover
	anyFree := false
	for i, f := range p.found {
		own, err := s.own(ctx, f, identities(p.customer))
		if err != nil {
			return nil, err
		}
		if own.use.OrderID == "" && !own.use.IsZero() {
			free[i], anyFree = own.use, true
		}
		known := slices.ContainsFunc(orders, func(t takeover) bool { return t.order.ID == own.order.ID })
		if !own.order.IsZero() && !known {
			orders = append(orders, own)
		}
	}
	var all []setTakeover
	if anyFree {
		all = append(all, setTakeover{uses: free})
	}
	for _, t := range orders {
		all = append(all, t.with(p.found, free))
	}
	return all, nil
}

// with takes over the order, with its uses of the coupons and points reservations beside it.
func (t takeover) with(found []store.Found, free []redemption.Use) setTakeover {
	set := setTakeover{order: t.order.ID, uses: slices.Clone(free)}
	for i, f := range found {
		for _, u := range t.uses {
			ofPoints := u.Origin == redemption.FromPoints || f.Coupon.Distribution != coupon.PointsRedeemable
			if u.CouponID == f.Coupon.ID && set.uses[i].IsZero() && ofPoints {
				set.uses[i] = u
			}
		}
	}
	return set
}

// take lets the order take what the customer has already.
func (t setTakeover) take(r store.Reservation, p priced) store.Reservation {
	r.Order.Replaces = t.order
	r.Uses = slices.Clone(r.Uses)
	for i, own := range t.uses {
		if own.ExchangeID == "" {
			continue
		}
		use := r.Uses[i] // in the order of the coupons, too
		use.Origin, use.ExchangeID = redemption.FromPoints, own.ExchangeID
		use.Points, use.PointsState = own.Points, redemption.PointsDebited
		use.Claims = exchangedClaims(p.found[i].Coupon, use, own, identities(p.customer))
		r.Uses[i] = use
	}
	return r
}

// exchangedClaims are what a use claims that was exchanged for points: the uses of the coupon and
// of the customer, the periods that the exchange has decided, and what depends on the quote. An
// identity that was not known at the exchange claims the current periods.
func exchangedClaims(c coupon.Coupon, use, exchanged redemption.Use, identities []string) []redemption.Claim {
	budget := redemption.Budget(c.ID, "")
	var learned []string
	for _, identity := range identities {
		if !claims(exchanged.Claims, redemption.CustomerUses(c.ID, identity)) {
			learned = append(learned, identity)
		}
	}
	ofLearned := useClaims(c, learned, use.CreatedAt)
	current := c
	current.Limits.Periods = nil
	lasting := useClaims(current, identities, use.CreatedAt)
	taken := slices.DeleteFunc(slices.Clone(use.Claims), func(claim redemption.Claim) bool {
		shared := redemption.IsShared(claim.Counter)
		return !claims(lasting, claim.Counter) && !strings.HasPrefix(claim.Counter, budget) &&
			(shared || !claims(ofLearned, claim.Counter))
	})
	for _, claim := range exchanged.Claims {
		if !claims(taken, claim.Counter) && !strings.HasPrefix(claim.Counter, budget) {
			taken = append(taken, claim)
		}
	}
	return taken
}

// claims reports whether one of the claims is on the counter.
func claims(list []redemption.Claim, counter string) bool {
	return slices.ContainsFunc(list, func(claim redemption.Claim) bool { return claim.Counter == counter })
}

// endReplaced ends the session of the order that o has replaced, so that one of both can be
// paid at most. If the customer has finished that session, it returns the older order, and o
// has ended. The zero value tells that o can be paid.
//
// Orders that never had a session are passed over. Before an order gets its session, those of
// all orders before it have ended.
func (s *Service) endReplaced(ctx context.Context, o redemption.Order) (older Outcome, err error) {
	for o.Replaces != "" {
		before, err := s.store.Order(ctx, store.OrderKey{ID: o.Replaces})
		switch {
		case err != nil:
			return Outcome{}, err
		case before.Order.State != redemption.OrderCancelled:
			return Outcome{Order: before.Order, Uses: before.Uses}, nil
		case before.Order.SessionID != "":
			return s.endSession(ctx, before.Order)
		}
		o = before.Order
	}
	return Outcome{}, nil
}

// endSession ends the session of an order at the processor. If the customer has finished that
// session, it settles the order and returns it. The zero value tells that the session has ended
// unpaid, or that the order was cancelled before and its delayed payment has failed.
func (s *Service) endSession(ctx context.Context, o redemption.Order) (finished Outcome, err error) {
	session, err := s.expire(ctx, o.SessionID)
	switch {
	case errors.Is(err, processor.ErrNotFound):
		return Outcome{}, nil
	case err != nil:
		return Outcome{}, fmt.Errorf("end session %s: %w", o.SessionID, err)
	case session.Status == processor.SessionExpired, o.State == redemption.OrderCancelled && session.PaymentFailed:
		return Outcome{}, nil
	}
	return s.settleSession(ctx, session, o)
}

// endReplacing ends the session of the last order that has replaced a paid one, if that order was
// cancelled for the payment. It had a session only if nobody knew of the session that was paid,
// as when the processor's answer was lost. A session that cannot be ended now ends by itself.
func (s *Service) endReplacing(ctx context.Context, paid redemption.Order) {
	last := paid
	for last.ReplacedBy != "" {
		next, err := s.store.Order(ctx, store.OrderKey{ID: last.ReplacedBy})
		if err != nil {
			s.logger.WarnContext(ctx, "an order that was superseded by a payment could not be read",
				slog.String("order", last.ReplacedBy), slog.Any("error", err))
			return
		}
		last = next.Order
	}
	if last.ID != paid.ID && last.State == redemption.OrderCancelled {
		s.discard(ctx, last.SessionID)
	}
}
