package simulation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// checkThenAct counts, and takes the place without looking again.
type checkThenAct struct {
	overlay
	limits map[string]coupon.Limits
	pause  func()
}

func newCheckThenAct(s store.Store, pause func()) store.Store {
	b := &checkThenAct{limits: make(map[string]coupon.Limits), pause: pause}
	b.overlay = overlay{Store: s, coupon: func(c coupon.Coupon) coupon.Coupon {
		c.Limits = b.limits[c.ID]
		return c
	}}
	return b
}

func (b *checkThenAct) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	b.limits[c.ID] = c.Limits
	c.Limits = coupon.Limits{}
	return b.Store.CreateCoupon(ctx, c)
}

func (b *checkThenAct) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	limits := c.Limits
	c.Limits = coupon.Limits{}
	updated, err := b.Store.UpdateCoupon(ctx, c)
	if err == nil {
		b.limits[c.ID] = limits
	}
	return b.seen(updated), err
}

func (b *checkThenAct) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	f, err := b.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
	if err != nil {
		return store.Reserved{}, err
	}
	taken := f.Coupon.UsedCount + f.Coupon.ReservedCount
	if err := store.WithinLimits(f.Coupon.ID, f.Coupon.Limits, taken, f.CompletedByCustomer+f.ReservedByCustomer); err != nil {
		return store.Reserved{}, err
	}
	b.pause()
	return b.Store.Reserve(ctx, r)
}

// newNoUserLimit forgets the limit of each customer when it reserves.
func newNoUserLimit(s store.Store, _ func()) store.Store {
	limits := make(map[string]int64)
	return &noUserLimit{limits: limits, overlay: overlay{Store: s, coupon: func(c coupon.Coupon) coupon.Coupon {
		c.Limits.MaxUsesPerUser = limits[c.ID]
		return c
	}}}
}

type noUserLimit struct {
	overlay
	limits map[string]int64
}

func (b *noUserLimit) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	b.limits[c.ID] = c.Limits.MaxUsesPerUser
	c.Limits.MaxUsesPerUser = 0
	return b.Store.CreateCoupon(ctx, c)
}

func (b *noUserLimit) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	perUser := c.Limits.MaxUsesPerUser
	c.Limits.MaxUsesPerUser = 0
	updated, err := b.Store.UpdateCoupon(ctx, c)
	if err == nil {
		b.limits[c.ID] = perUser
	}
	return b.seen(updated), err
}

// countsFirst counts a payment in one step and records it in the next.
type countsFirst struct {
	overlay
	extra map[string]int64
	pause func()
}

func newCountsFirst(s store.Store, pause func()) store.Store {
	b := &countsFirst{extra: make(map[string]int64), pause: pause}
	b.overlay = overlay{Store: s, coupon: func(c coupon.Coupon) coupon.Coupon {
		c.UsedCount += b.extra[c.ID]
		return c
	}}
	return b
}

func (b *countsFirst) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	r, err := b.Store.Redemption(ctx, t.ReservationID)
	if err == nil && t.Event.Kind == redemption.SessionCompleted && r.State == redemption.Reserved {
		b.extra[r.CouponID]++
		b.pause()
		b.extra[r.CouponID]--
	}
	return b.Store.Settle(ctx, t)
}

// releasesCompleted lets an expiry win over a payment.
type releasesCompleted struct {
	overlay
	released map[string]time.Time
}

func newReleasesCompleted(s store.Store, _ func()) store.Store {
	b := &releasesCompleted{released: make(map[string]time.Time)}
	b.overlay = overlay{Store: s, redemption: func(r redemption.Redemption) redemption.Redemption {
		if at, undone := b.released[r.ID]; undone {
			r.State, r.ReleasedAt = redemption.Released, at
		}
		return r
	}}
	return b
}

func (b *releasesCompleted) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	r, err := b.Store.Redemption(ctx, t.ReservationID)
	if err == nil && t.Event.Kind == redemption.SessionExpired && r.State == redemption.Completed {
		b.released[r.ID] = t.Event.At
	}
	return b.overlay.Settle(ctx, t)
}

// byEventID takes every event for a fact of its own, and a repeated one for none.
type byEventID struct {
	overlay
	seenBefore map[string]store.Settled
}

func newByEventID(s store.Store, _ func()) store.Store {
	return &byEventID{seenBefore: make(map[string]store.Settled), overlay: overlay{
		Store: s,
		redemption: func(r redemption.Redemption) redemption.Redemption {
			r.SessionID, _, _ = strings.Cut(r.SessionID, "#")
			return r
		},
		order: func(o store.Order) store.Order {
			o.SessionID, _, _ = strings.Cut(o.SessionID, "#")
			return o
		},
	}}
}

func (b *byEventID) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	id := simulation.EventID(ctx)
	if id == "" || t.Event.Kind != redemption.SessionCompleted {
		return b.overlay.Settle(ctx, t)
	}
	if before, again := b.seenBefore[id]; again {
		return before, nil
	}
	r, err := b.Store.Redemption(ctx, t.ReservationID)
	if err == nil && r.State == redemption.Completed {
		t.Event.SessionID += "#" + id
	}
	settled, err := b.overlay.Settle(ctx, t)
	if err == nil {
		b.seenBefore[id] = settled
	}
	return settled, err
}

// dropsLatePayments trusts the order of events: released is released.
type dropsLatePayments struct{ store.Store }

func newDropsLatePayments(s store.Store, _ func()) store.Store { return dropsLatePayments{s} }

func (b dropsLatePayments) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionCompleted {
		if r, err := b.Redemption(ctx, t.ReservationID); err == nil && r.State == redemption.Released {
			return store.Settled{Redemption: r}, nil
		}
	}
	return b.Store.Settle(ctx, t)
}

// refusesDebited takes points that one call found too few for a cancellation, whatever
// another call has debited.
type refusesDebited struct{ store.Store }

func newRefusesDebited(s store.Store, _ func()) store.Store { return refusesDebited{s} }

func (b refusesDebited) Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error) {
	if e.Kind == redemption.PointsRefused {
		e.Kind = redemption.Cancelled
	}
	return b.Store.Transition(ctx, id, e)
}

// givesAway takes the end of a session for the end of its reservation, whoever is about to
// take that over.
type givesAway struct{ store.Store }

func newGivesAway(s store.Store, _ func()) store.Store { return givesAway{s} }

func (b givesAway) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if r, err := b.Redemption(ctx, t.ReservationID); err == nil && t.Event.At.Before(r.LeavingUntil) {
		t.Event.At = r.LeavingUntil
	}
	return b.Store.Settle(ctx, t)
}

// attachedOnly finds redemption and order of a session only where it was attached.
type attachedOnly struct{ store.Store }

func newAttachedOnly(s store.Store, _ func()) store.Store { return attachedOnly{s} }

func (b attachedOnly) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	o, err := b.Order(ctx, t.Event.OrderID)
	if err == nil && o.SessionID == "" && t.Event.SessionID != "" {
		return store.Settled{}, nil
	}
	return b.Store.Settle(ctx, t)
}

// needsReservation records no payment whose reservation another order has taken.
type needsReservation struct{ store.Store }

func newNeedsReservation(s store.Store, _ func()) store.Store { return needsReservation{s} }

func (b needsReservation) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	t.CouponID = ""
	return b.Store.Settle(ctx, t)
}

// trustsFinished does not know of delayed payments.
type trustsFinished struct{ store.Store }

func newTrustsFinished(s store.Store, _ func()) store.Store { return trustsFinished{s} }

func (b trustsFinished) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionUnpaid {
		t.Event.Kind = redemption.SessionCompleted
	}
	return b.Store.Settle(ctx, t)
}

// settlesInTwoSteps ends the session before it records the payment.
type settlesInTwoSteps struct {
	store.Store
	pause func()
}

func newSettlesInTwoSteps(s store.Store, pause func()) store.Store {
	return settlesInTwoSteps{s, pause}
}

func (b settlesInTwoSteps) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionCompleted {
		first := t
		first.Event.Kind = redemption.SessionExpired
		if settled, err := b.Store.Settle(ctx, first); err != nil {
			return settled, err
		}
		b.pause()
	}
	return b.Store.Settle(ctx, t)
}

// answersFirst answers a payment and records it when it has time.
type answersFirst struct {
	store.Store
	queue []store.Settlement
}

func newAnswersFirst(s store.Store, _ func()) store.Store { return &answersFirst{Store: s} }

func (b *answersFirst) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	for _, waiting := range b.queue {
		if settled, err := b.Store.Settle(ctx, waiting); err != nil {
			return settled, err
		}
	}
	b.queue = append(b.queue[:0], t)
	return store.Settled{}, nil
}

// forgetsRefunds tells the sweep of reservations alone.
type forgetsRefunds struct{ store.Store }

func newForgetsRefunds(s store.Store, _ func()) store.Store { return forgetsRefunds{s} }

func (b forgetsRefunds) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := b.Store.Due(ctx, at, limit)
	return slices.DeleteFunc(due, redemption.Redemption.RefundDue), err
}

// forgetsDeadlines tells the sweep of refunds alone.
type forgetsDeadlines struct{ store.Store }

func newForgetsDeadlines(s store.Store, _ func()) store.Store { return forgetsDeadlines{s} }

func (b forgetsDeadlines) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := b.Store.Due(ctx, at, limit)
	return slices.DeleteFunc(due, redemption.Redemption.Live), err
}

// forgetsOrders tells the sweep of no order.
type forgetsOrders struct{ store.Store }

func newForgetsOrders(s store.Store, _ func()) store.Store { return forgetsOrders{s} }

func (b forgetsOrders) OpenOrders(context.Context, time.Time, int) ([]store.Order, error) {
	return nil, nil
}

// sharedKeys looks orders up by key, whoever asks.
type sharedKeys struct {
	store.Store
	owner map[string]string
}

func newSharedKeys(s store.Store, _ func()) store.Store {
	return &sharedKeys{Store: s, owner: make(map[string]string)}
}

func (b *sharedKeys) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	if b.owner[key] == "" {
		b.owner[key] = customerID
	}
	return b.Store.OrderByKey(ctx, b.owner[key], key)
}

// forgetsKeys takes every request for a new one.
type forgetsKeys struct {
	store.Store
}

func newForgetsKeys(s store.Store, _ func()) store.Store { return forgetsKeys{s} }

func (b forgetsKeys) OrderByKey(context.Context, string, string) (store.Order, error) {
	return store.Order{}, store.ErrNotFound
}

func (b forgetsKeys) CreateOrder(ctx context.Context, o store.Order) (store.Order, bool, error) {
	o.Key = o.ID
	return b.Store.CreateOrder(ctx, o)
}

// cascadingDelete takes the redemptions along with the coupon.
type cascadingDelete struct {
	store.Store
	gone map[string]bool
}

func newCascadingDelete(s store.Store, _ func()) store.Store {
	return &cascadingDelete{Store: s, gone: make(map[string]bool)}
}

func (b *cascadingDelete) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	err := b.Store.DeleteCoupon(ctx, id, revision)
	b.gone[id] = b.gone[id] || err == nil
	return err
}

func (b *cascadingDelete) ListRedemptions(ctx context.Context, l store.RedemptionList) (store.RedemptionPage, error) {
	page, err := b.Store.ListRedemptions(ctx, l)
	page.Items = slices.DeleteFunc(page.Items, func(r redemption.Redemption) bool { return b.gone[r.CouponID] })
	return page, err
}

// newEditsOrders shows orders with the name that their coupon has now.
func newEditsOrders(s store.Store, _ func()) store.Store {
	return overlay{Store: s, order: func(o store.Order) store.Order {
		if c, err := s.Coupon(context.Background(), o.CouponID); err == nil && o.Coupon != nil {
			terms := *o.Coupon
			terms.Name = c.Name
			o.Coupon = &terms
		}
		return o
	}}
}

// newRoundsPercent keeps percentages with two decimals.
func newRoundsPercent(s store.Store, _ func()) store.Store {
	return overlay{Store: s, order: func(o store.Order) store.Order {
		if o.Coupon != nil {
			terms := *o.Coupon
			if whole, decimals, has := strings.Cut(terms.DiscountValue, "."); has && len(decimals) > 2 {
				terms.DiscountValue = whole + "." + decimals[:2]
			}
			o.Coupon = &terms
		}
		return o
	}}
}

// newFlagsNothing never tells that a use is over the limit.
func newFlagsNothing(s store.Store, _ func()) store.Store {
	return overlay{Store: s, redemption: func(r redemption.Redemption) redemption.Redemption {
		r.OverLimit = false
		return r
	}}
}

// newFlagsLate tells so of every payment that came after the release.
func newFlagsLate(s store.Store, _ func()) store.Store {
	late := make(map[string]bool)
	return overlay{Store: s, redemption: func(r redemption.Redemption) redemption.Redemption {
		late[r.ID] = late[r.ID] || r.State == redemption.Released
		r.OverLimit = r.OverLimit || late[r.ID] && r.State == redemption.Completed
		return r
	}}
}

// failsAfterCommit answers that a take-over was superseded, and has done it.
type failsAfterCommit struct{ store.Store }

func newFailsAfterCommit(s store.Store, _ func()) store.Store { return failsAfterCommit{s} }

func (b failsAfterCommit) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	if _, err := b.Store.TakeOver(ctx, t); err != nil {
		return store.Reserved{}, err
	}
	return store.Reserved{}, store.ErrSuperseded
}

// twoOfACode lets a second coupon have a code that is taken.
type twoOfACode struct {
	overlay
	codes map[string]coupon.Code
}

func newTwoOfACode(s store.Store, _ func()) store.Store {
	b := &twoOfACode{codes: make(map[string]coupon.Code)}
	b.overlay = overlay{Store: s, coupon: func(c coupon.Coupon) coupon.Coupon {
		if code, taken := b.codes[c.ID]; taken {
			c.Code = code
		}
		return c
	}}
	return b
}

func (b *twoOfACode) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	err := b.Store.CreateCoupon(ctx, c)
	if !errors.Is(err, coupon.ErrCodeTaken) {
		return err
	}
	b.codes[c.ID] = c.Code
	if c.Code, err = coupon.ParseCode(c.ID); err != nil {
		return err
	}
	return b.Store.CreateCoupon(ctx, c)
}

// reservesInactive keeps places of coupons that were switched off.
type reservesInactive struct {
	overlay
	off map[string]bool
}

func newReservesInactive(s store.Store, _ func()) store.Store {
	b := &reservesInactive{off: make(map[string]bool)}
	b.overlay = overlay{Store: s, coupon: func(c coupon.Coupon) coupon.Coupon {
		if b.off[c.ID] && c.State == coupon.Active {
			c.State = coupon.Inactive
		}
		return c
	}}
	return b
}

func (b *reservesInactive) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	state := c.State
	if state == coupon.Inactive {
		c.State = coupon.Active
	}
	updated, err := b.Store.UpdateCoupon(ctx, c)
	if err == nil {
		b.off[c.ID] = state == coupon.Inactive
	}
	return b.seen(updated), err
}

func (b *reservesInactive) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	r.CouponRevision = 0
	return b.Store.Reserve(ctx, r)
}

// countsTwice counts a live reservation twice when it is asked for one coupon.
type countsTwice struct{ store.Store }

func newCountsTwice(s store.Store, _ func()) store.Store { return countsTwice{s} }

func (b countsTwice) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	f, err := b.Store.LookUp(ctx, by)
	f.Coupon.UsedCount *= 2
	return f, err
}

// leaksErrors shows the error of its driver.
type leaksErrors struct{ store.Store }

func newLeaksErrors(s store.Store, _ func()) store.Store { return leaksErrors{s} }

func (b leaksErrors) TakeOver(ctx context.Context, t store.TakeOver) (store.Reserved, error) {
	reserved, err := b.Store.TakeOver(ctx, t)
	if errors.Is(err, store.ErrConflict) {
		err = errors.New("could not serialize access due to concurrent update")
	}
	return reserved, err
}
