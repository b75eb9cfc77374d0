package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func reserveClauses() []clause {
	return []clause{
		{"reserve keeps every field", "Reserve keeps a place and stores the order beside it; values that go in come out the same", reserveKeepsEveryField},
		{"reserve counts", "usedCount and reservedCount change with the redemption, together or not at all", reserveCounts},
		{"reserve asks the stored coupon", "the coupon's stored revision and state count, not the caller's copy: an unknown coupon is coupon.ErrNotFound, one that is not active coupon.ErrInactive, one whose revision differs from a given CouponRevision ErrStaleRevision", reserveAsksTheStoredCoupon},
		{"a refused reservation stores nothing", "a call that returns an error has changed nothing", refusedReservationStoresNothing},
		{"malformed reservations are refused", "the record to store is a reservation, and the order's ReservationID, CouponID, CustomerID and Key are the redemption's; anything else is pricing.ErrInvalid", malformedReservations},
		{"existing IDs are not overwritten", "the ID of another record or order is ErrConflict", existingIDs},
		{"IDs are unique in a race", "the ID of another record or order is ErrConflict: of many customers at once with one ID one has it", idsInARace},
		{"reserve with the session of another", "a session that another redemption has is ErrSuperseded, whatever has become of that; a key that was used before comes earlier", reserveSessionOfAnother},
	}
}

func reserveKeepsEveryField(p *probe) {
	for _, c := range p.sampled(6) {
		c.State, c.Limits = coupon.Active, coupon.Limits{}
		p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon")
		r := p.checkout(c, "ann", p.key())
		r.CouponRevision = c.Revision
		r.Order.Metadata = map[string]string{"a": "", "ключ": strings.Repeat("é", 5_000), `"quoted"`: "line\nbreak\ttab", "<&>": "\u2028"}
		r.Order.SessionURL = "https://pay.example/?a=1&b=%20"
		want := store.Reserved{Redemption: r.Redemption, Order: r.Order.Clone()}
		got, err := p.s.Reserve(p.Context(), r)
		p.ok(err, "Reserve")
		same(p, got, want, "what Reserve returns")
		same(p, p.redemption(r.Redemption.ID), want.Redemption, "the redemption")
		same(p, p.order(r.Order.ID), want.Order, "the order")
		byKey, err := p.s.OrderByKey(p.Context(), "ann", r.Order.Key)
		p.ok(err, "OrderByKey")
		same(p, byKey, want.Order, "the order of the key")
	}
	points := p.exchange(p.coupon(forPoints), "ann", p.key())
	points.Redemption.Points = coupon.MaxPointsRequired
	same(p, p.place(points), store.Reserved{Redemption: points.Redemption}, "what Reserve by points returns")
	same(p, p.redemption(points.Redemption.ID), points.Redemption, "the redemption by points")
}

func reserveCounts(p *probe) {
	c := p.coupon(limits(10, 0))
	first, second := p.opened(c, "ann"), p.opened(c, "bob")
	p.counts(c.ID, 0, 2)
	p.settleSession(redemption.SessionCompleted, first)
	p.counts(c.ID, 1, 1)
	p.settleSession(redemption.SessionExpired, second)
	p.counts(c.ID, 1, 0)
	third := p.reserve(c, "ann")
	p.counts(c.ID, 1, 1)
	p.transition(third.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	p.counts(c.ID, 1, 0)
	p.settleSession(redemption.SessionCompleted, second)
	p.counts(c.ID, 2, 0)
	p.invariants()
}

func reserveAsksTheStoredCoupon(p *probe) {
	_, err := p.s.Reserve(p.Context(), p.checkout(p.draft(), "ann", p.key()))
	p.fails(err, coupon.ErrNotFound, "Reserve of an unknown coupon")
	for _, state := range []coupon.State{coupon.Pending, coupon.Inactive, coupon.Deleting} {
		_, err := p.s.Reserve(p.Context(), p.checkout(p.coupon(inState(state)), "ann", p.key()))
		p.fails(err, coupon.ErrInactive, "Reserve of a coupon that is %s", state)
	}
	c := p.coupon()
	for _, given := range []int64{0, 1} {
		r := p.checkout(c, "ann", p.key())
		r.CouponRevision = given
		_, err := p.s.Reserve(p.Context(), r)
		p.ok(err, "Reserve at revision %d", given)
	}
	c.Name = "changed"
	changed, err := p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	for given, fits := range map[int64]bool{0: true, 1: false, 2: true, 3: false} {
		r := p.checkout(c, "bob", p.key())
		r.CouponRevision = given
		if _, err := p.s.Reserve(p.Context(), r); fits {
			p.ok(err, "Reserve at revision %d of 2", given)
		} else {
			p.fails(err, store.ErrStaleRevision, "Reserve at revision %d of 2", given)
		}
	}
	changed.State = coupon.Inactive
	_, err = p.s.UpdateCoupon(p.Context(), changed)
	p.ok(err, "UpdateCoupon")
	_, err = p.s.Reserve(p.Context(), p.checkout(c, "cem", p.key()))
	p.fails(err, coupon.ErrInactive, "Reserve of a coupon that was switched off")
	stale := p.checkout(c, "cem", p.key())
	stale.CouponRevision = 1
	_, err = p.s.Reserve(p.Context(), stale)
	p.fails(err, coupon.ErrInactive, "Reserve, at an old revision, of a coupon that was switched off")
}

func refusedReservationStoresNothing(p *probe) {
	full := p.coupon(limits(1, 0))
	p.reserve(full, "bob")
	for name, r := range map[string]store.Reservation{
		"used up":  p.checkout(full, "ann", "key 1"),
		"inactive": p.checkout(p.coupon(inState(coupon.Inactive)), "ann", "key 2"),
		"unknown":  p.checkout(p.draft(), "ann", "key 3"),
	} {
		_, err := p.s.Reserve(p.Context(), r)
		if err == nil {
			p.stop("Reserve of a coupon that is %s succeeded", name)
		}
		_, err = p.s.Redemption(p.Context(), r.Redemption.ID)
		p.fails(err, store.ErrNotFound, "Redemption of a reservation that was refused (%s)", name)
		_, err = p.s.Order(p.Context(), r.Order.ID)
		p.fails(err, store.ErrNotFound, "Order of a reservation that was refused (%s)", name)
		_, err = p.s.OrderByKey(p.Context(), "ann", r.Order.Key)
		p.fails(err, store.ErrNotFound, "OrderByKey of a reservation that was refused (%s)", name)
		again := p.place(p.checkout(p.coupon(), "ann", r.Redemption.Key)) // the key is free
		same(p, p.redemption(again.Redemption.ID), again.Redemption, "the redemption with the key of one that was refused")
	}
	p.counts(full.ID, 0, 1)
	p.invariants()
}

func malformedReservations(p *probe) {
	c := p.coupon()
	for what, spoil := range map[string]func(r *store.Reservation){
		"no ID":                        func(r *store.Reservation) { r.Redemption.ID, r.Order.ReservationID = "", "" },
		"no key":                       func(r *store.Reservation) { r.Redemption.Key, r.Order.Key = "", "" },
		"no customer":                  func(r *store.Reservation) { r.Redemption.CustomerID, r.Order.CustomerID = "", "" },
		"a completed record":           func(r *store.Reservation) { r.Redemption.State, r.Redemption.SessionID = redemption.Completed, "cs" },
		"a released record":            func(r *store.Reservation) { r.Redemption.State = redemption.Released },
		"no instant of creation":       func(r *store.Reservation) { r.Redemption.CreatedAt = r.Redemption.ReleasedAt },
		"points at a checkout":         func(r *store.Reservation) { r.Redemption.Points = 5 },
		"another reservation's order":  func(r *store.Reservation) { r.Order.ReservationID += "x" },
		"another coupon's order":       func(r *store.Reservation) { r.Order.CouponID += "x" },
		"another customer's order":     func(r *store.Reservation) { r.Order.CustomerID += "x" },
		"an order of another key":      func(r *store.Reservation) { r.Order.Key += "x" },
		"an order of no state":         func(r *store.Reservation) { r.Order.State = 0 },
		"an order of another discount": func(r *store.Reservation) { r.Order.DiscountAmount++ },
		"an order of a long line": func(r *store.Reservation) {
			r.Order.Quote.Lines[0].ID = strings.Repeat("x", pricing.MaxLineIDLength+1)
		},
		"points debited before": func(r *store.Reservation) {
			*r = p.exchange(p.coupon(forPoints), "ann", p.key())
			r.Redemption.PointsState = redemption.PointsDebited
		},
		"a checkout without an order": func(r *store.Reservation) { r.Order = nil },
		"an ID that is too long":      func(r *store.Reservation) { r.Redemption.CustomerID = strings.Repeat("x", redemption.MaxIDLength+1) },
	} {
		r := p.checkout(c, "ann", p.key())
		spoil(&r)
		_, err := p.s.Reserve(p.Context(), r)
		p.fails(err, pricing.ErrInvalid, "Reserve with %s", what)
	}
	same(p, p.redemptions(store.RedemptionList{}), nil, "the list of redemptions")
	p.counts(c.ID, 0, 0)
}

func existingIDs(p *probe) {
	c := p.coupon()
	first := p.reserve(c, "ann")
	record := p.checkout(c, "bob", p.key())
	record.Redemption.ID, record.Order.ReservationID = first.Redemption.ID, first.Redemption.ID
	order := p.checkout(c, "bob", p.key())
	order.Redemption.OrderID, order.Order.ID = first.Order.ID, first.Order.ID
	for what, r := range map[string]store.Reservation{"redemption": record, "order": order} {
		_, err := p.s.Reserve(p.Context(), r)
		p.fails(err, store.ErrConflict, "Reserve with the ID of another %s", what)
	}
	plain := p.plain("bob", p.key())
	plain.ID = first.Order.ID
	_, _, err := p.s.CreateOrder(p.Context(), plain)
	p.fails(err, store.ErrConflict, "CreateOrder with the ID of another order")
	other := p.reserve(c, "bob")
	over := p.takeOver(c, other.Redemption, p.key())
	over.Order.ID = first.Order.ID
	_, err = p.s.TakeOver(p.Context(), over)
	p.fails(err, store.ErrConflict, "TakeOver with the ID of another order")
	same(p, p.redemption(first.Redemption.ID), first.Redemption, "the first redemption")
	same(p, p.order(first.Order.ID), first.Order, "the first order")
	same(p, p.redemption(other.Redemption.ID), other.Redemption, "the reservation that was not taken over")
	p.counts(c.ID, 0, 2)
	p.invariants()
}

func reserveSessionOfAnother(p *probe) {
	c := p.coupon()
	for what, session := range p.takenSessions(c) {
		for _, r := range []store.Reservation{p.checkout(c, "bob", p.key()), p.exchange(p.coupon(forPoints), "bob", p.key())} {
			taken, free := r, r
			taken.Redemption.SessionID, free.Redemption.SessionID = session, p.session()
			_, err := p.s.Reserve(p.Context(), taken)
			p.fails(err, store.ErrSuperseded, "Reserve with the session of a redemption that is %s", what)
			_, err = p.s.Redemption(p.Context(), r.Redemption.ID)
			p.fails(err, store.ErrNotFound, "Redemption of a reservation with the session of one that is %s", what)
			same(p, p.place(free).Redemption, free.Redemption, "the redemption with a session of its own")
			again, err := p.s.Reserve(p.Context(), taken)
			p.ok(err, "Reserve with a used key and the session of a redemption that is %s", what)
			same(p, again.Redemption, free.Redemption, "the result of the key")
		}
	}
	p.counts(c.ID, 1, 4)
	p.invariants()
}

// takenSessions returns a session of a redemption in each of its states.
func (p *probe) takenSessions(c coupon.Coupon) map[string]string {
	p.Helper()
	reserved, completed, released := p.opened(c, "ann"), p.opened(c, "ann"), p.opened(c, "ann")
	p.settleSession(redemption.SessionCompleted, completed)
	p.settleSession(redemption.SessionExpired, released)
	return map[string]string{
		"reserved": reserved.Order.SessionID, "completed": completed.Order.SessionID, "released": released.Order.SessionID,
	}
}

// idsInARace lets customers of several coupons, and some without one, ask for one ID.
func idsInARace(p *probe) {
	coupons := []coupon.Coupon{p.coupon(), p.coupon(), p.coupon()}
	callers := min(p.can.Goroutines, 12)
	for range 6 {
		records, orders, plain := make([]store.Reservation, callers), make([]store.Reservation, callers), make([]store.Order, callers)
		for i := range callers {
			records[i] = p.checkout(coupons[i%len(coupons)], numbered(i), p.key())
			records[i].Redemption.ID, records[i].Order.ReservationID = records[0].Redemption.ID, records[0].Redemption.ID
			orders[i] = p.checkout(coupons[i%len(coupons)], numbered(i), p.key())
			orders[i].Redemption.OrderID, orders[i].Order.ID = orders[0].Order.ID, orders[0].Order.ID
			plain[i] = p.plain(numbered(i), p.key())
			plain[i].ID = plain[0].ID
		}
		for what, do := range map[string]func(ctx context.Context, s store.Store, i int) error{
			"redemptions": func(ctx context.Context, s store.Store, i int) error {
				_, err := s.Reserve(ctx, records[i])
				return err
			},
			"orders": func(ctx context.Context, s store.Store, i int) error {
				_, err := s.Reserve(ctx, orders[i])
				return err
			},
			"orders without a coupon": func(ctx context.Context, s store.Store, i int) error {
				_, _, err := s.CreateOrder(ctx, plain[i])
				return err
			},
		} {
			if n := p.succeeded(p.together(callers, do), store.ErrConflict, "calls with one ID"); n != 1 {
				p.broken("of %d %s with one ID %d were stored", callers, what, n)
			}
		}
	}
	p.invariants()
}

func limitClauses() []clause {
	return []clause{
		{"maxUses is exact in a race", "Reserve keeps a place if the limit over all customers leaves one: of many calls at once exactly maxUses succeed, never more and never fewer", maxUsesInARace},
		{"maxUsesPerUser is exact in a race", "Reserve keeps a place if the limit of the customer leaves one: of many calls of each at once exactly maxUsesPerUser succeed", maxUsesPerUserInARace},
		{"no limit lets all pass", "a limit of 0 is none: of many calls at once all succeed", noLimitInARace},
		{"both limits hold together", "both limits hold at once, in any interleaving of reservations, payments and releases", bothLimitsHold},
		{"rejections name the limits", "no place left is a *coupon.Rejection with UsageLimitReached, UserUsageLimitReached, or both in this order", rejectionsNameTheLimits},
		{"released places are free", "a place that was given back can be reserved again, and one that was used cannot", releasedPlacesAreFree},
	}
}

func (p *probe) race(c coupon.Coupon, customer func(i int) string) []error {
	p.Helper()
	requests := make([]store.Reservation, p.can.Goroutines)
	for i := range requests {
		requests[i] = p.checkout(c, customer(i), p.key())
	}
	return p.together(len(requests), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Reserve(ctx, requests[i])
		return err
	})
}

func numbered(i int) string { return fmt.Sprintf("customer %d", i) }

func maxUsesInARace(p *probe) {
	for _, places := range []int{1, p.can.Goroutines/2 + 1} {
		c := p.coupon(limits(int64(places), 0))
		errs := p.race(c, numbered)
		if n := p.succeeded(errs, coupon.ErrUsageLimitReached, "Reserve"); n != places {
			p.broken("of %d customers at once %d got one of %d places", len(errs), n, places)
		}
		p.counts(c.ID, 0, int64(places))
		_, err := p.s.Reserve(p.Context(), p.checkout(c, "late", p.key()))
		p.fails(err, coupon.ErrUsageLimitReached, "Reserve after the race")
	}
	p.invariants()
}

func maxUsesPerUserInARace(p *probe) {
	const customers, places = 4, 2
	c := p.coupon(limits(0, places))
	errs := p.race(c, func(i int) string { return numbered(i % customers) })
	if n := p.succeeded(errs, coupon.ErrUserUsageLimitReached, "Reserve"); n != customers*places {
		p.broken("%d customers got %d places, with %d for each", customers, n, places)
	}
	for i := range customers {
		held := p.redemptions(store.RedemptionList{CouponID: c.ID, CustomerID: numbered(i)})
		if len(held) != places {
			p.broken("a customer got %d of %d places", len(held), places)
		}
	}
	p.invariants()
}

func noLimitInARace(p *probe) {
	c := p.coupon()
	errs := p.race(c, func(i int) string { return numbered(i % 2) })
	if n := p.succeeded(errs, nil, "Reserve"); n != len(errs) {
		p.broken("of %d calls %d succeeded", len(errs), n)
	}
	p.counts(c.ID, 0, int64(len(errs)))
	p.invariants()
}

// bothLimitsHold lets customers reserve, pay and give up, and looks at the figures
// meanwhile.
func bothLimitsHold(p *probe) {
	const most, perUser, rounds = 5, 2, 4
	c := p.coupon(limits(most, perUser))
	callers := min(p.can.Goroutines, 16)
	requests := make([][rounds]store.Reservation, callers)
	for i := range requests {
		for j := range rounds {
			requests[i][j] = p.checkout(c, numbered(i%4), p.key())
		}
	}
	errs := p.together(callers, func(ctx context.Context, s store.Store, i int) error {
		for _, r := range requests[i] {
			if err := p.tryOnce(ctx, s, r, i); err != nil {
				return err
			}
			found, err := s.LookUp(ctx, store.LookUp{CouponID: c.ID, CustomerID: r.Redemption.CustomerID})
			if err != nil {
				return err
			}
			if taken := found.Coupon.UsedCount + found.Coupon.ReservedCount; taken > most {
				return fmt.Errorf("%d of %d places were taken", taken, most)
			}
			if taken := found.CompletedByCustomer + found.ReservedByCustomer; taken > perUser {
				return fmt.Errorf("%d of the %d places of a customer were taken", taken, perUser)
			}
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			p.broken("%v", err)
		}
	}
	p.invariants()
}

// tryOnce reserves if there is a place; two of the callers pay, the others give up.
func (p *probe) tryOnce(ctx context.Context, s store.Store, r store.Reservation, caller int) error {
	reserved, err := s.Reserve(ctx, r)
	if errors.Is(err, coupon.ErrUsageLimitReached) || errors.Is(err, coupon.ErrUserUsageLimitReached) {
		return nil
	}
	if err != nil {
		return err
	}
	if caller < 2 {
		_, err = s.Settle(ctx, p.settlement(redemption.SessionCompleted, reserved, "cs_"+r.Redemption.ID))
		return err
	}
	_, err = s.Transition(ctx, r.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	return err
}

func rejectionsNameTheLimits(p *probe) {
	all := coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 1}}
	own := coupon.Reason{Code: coupon.UserUsageLimitReached, Params: coupon.Params{MaxUsesPerUser: 1}}
	one, perUser, both := p.coupon(limits(1, 0)), p.coupon(limits(0, 1)), p.coupon(limits(1, 1))
	for _, c := range []coupon.Coupon{one, perUser, both} {
		p.reserve(c, "ann")
	}
	for _, test := range []struct {
		coupon   coupon.Coupon
		customer string
		want     []coupon.Reason
	}{
		{one, "ann", []coupon.Reason{all}},
		{one, "bob", []coupon.Reason{all}},
		{perUser, "ann", []coupon.Reason{own}},
		{both, "bob", []coupon.Reason{all}},
		{both, "ann", []coupon.Reason{all, own}},
	} {
		_, err := p.s.Reserve(p.Context(), p.checkout(test.coupon, test.customer, p.key()))
		var rejection *coupon.Rejection
		if !errors.As(err, &rejection) {
			p.stop("Reserve without a place returned the error %v, which is no *coupon.Rejection", err)
		}
		want := &coupon.Rejection{CouponID: test.coupon.ID, Reasons: test.want}
		if diff := cmp.Diff(want, rejection); diff != "" {
			p.broken("the rejection is another (-want +got):\n%s", diff)
		}
	}
	p.reserve(perUser, "bob")
}

func releasedPlacesAreFree(p *probe) {
	c := p.coupon(limits(1, 1))
	full := func(what string) {
		p.Helper()
		_, err := p.s.Reserve(p.Context(), p.checkout(c, "late", p.key()))
		p.fails(err, coupon.ErrUsageLimitReached, "Reserve while the only place is %s", what)
	}
	expired := p.opened(c, "ann")
	full("reserved")
	p.settleSession(redemption.SessionExpired, expired)
	failed := p.opened(c, "ann")
	p.settleSession(redemption.SessionUnpaid, failed)
	full("waiting for its payment")
	p.settleSession(redemption.PaymentFailed, failed)
	cancelled := p.reserve(c, "bob")
	p.transition(cancelled.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	lapsed := p.reserve(c, "ann")
	p.transition(lapsed.Redemption.ID, redemption.Event{Kind: redemption.Lapsed, At: at(1000)})
	paid := p.opened(c, "ann")
	p.settleSession(redemption.SessionCompleted, paid)
	full("used")
	p.settleSession(redemption.SessionExpired, paid)
	full("used, whatever comes later")
	p.invariants()
}
