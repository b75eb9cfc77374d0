package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/simulation"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// planted are worlds with one broken part each. Every one has to be found, or the
// simulation proves nothing.
var planted = map[string]simulation.Parts{
	"limits are checked, and the place is taken afterwards": brokenStore(func(s store.Store, pause func()) store.Store {
		return &checkThenAct{Store: s, limits: map[string]coupon.Limits{}, pause: pause}
	}),
	"the limit of each customer is ignored": brokenStore(func(s store.Store, _ func()) store.Store {
		return &noUserLimit{Store: s, limits: map[string]int64{}}
	}),
	"every event of a payment counts":        brokenStore(func(s store.Store, _ func()) store.Store { return &eventIsKey{Store: s} }),
	"a payment after the release is dropped": brokenStore(func(s store.Store, _ func()) store.Store { return dropsLatePayments{s} }),
	"a finished session is a paid one":       brokenStore(func(s store.Store, _ func()) store.Store { return trustsFinished{s} }),
	"the sweep forgets refunds":              brokenStore(func(s store.Store, _ func()) store.Store { return forgetsRefunds{s} }),
	"the sweep forgets reservations":         brokenStore(func(s store.Store, _ func()) store.Store { return forgetsDeadlines{s} }),
	"keys are shared between customers": brokenStore(func(s store.Store, _ func()) store.Store {
		return &sharedKeys{Store: s, owner: map[string]string{}}
	}),
	"redemptions go with their coupon": brokenStore(func(s store.Store, _ func()) store.Store {
		return &cascadingDelete{Store: s, gone: map[string]bool{}}
	}),
	"a payment releases the place before it takes it": brokenStore(func(s store.Store, pause func()) store.Store {
		return settlesInTwoSteps{s, pause}
	}),
	"points are debited again when a call is repeated":  brokenLedger(func(p simulation.Points) couponkit.Points { return debitsAgain{p, new(int)} }),
	"points are debited after the refund":               brokenLedger(func(p simulation.Points) couponkit.Points { return debitsClosed{p} }),
	"points are refunded again when a call is repeated": brokenLedger(func(p simulation.Points) couponkit.Points { return refundsAgain{p} }),
	"points are refunded in words":                      brokenLedger(func(p simulation.Points) couponkit.Points { return refundsNothing{p} }),
	"removing a mirror leaves it":                       brokenProcessor(func(p processor.Processor) processor.Processor { return removesNothing{p} }),
	"switching off leaves the code active":              brokenProcessor(func(p processor.Processor) processor.Processor { return switchesNothing{p} }),
	"an update of the mirror is answered and not done":  brokenProcessor(func(p processor.Processor) processor.Processor { return updatesNothing{p} }),
	"a session that is made again is another one":       brokenProcessor(func(p processor.Processor) processor.Processor { return &forgetsKeys{Processor: p} }),
	"a session charges the list prices":                 brokenProcessor(func(p processor.Processor) processor.Processor { return chargesMore{p} }),
}

func brokenStore(wrap func(s store.Store, pause func()) store.Store) simulation.Parts {
	return simulation.Parts{Store: func(pause func()) store.Store { return wrap(memstore.New(), pause) }}
}

func brokenLedger(wrap func(simulation.Points) couponkit.Points) simulation.Parts {
	return simulation.Parts{Store: memory, Points: func(p couponkit.Points) couponkit.Points {
		gated, ok := p.(simulation.Points)
		if !ok {
			panic("the ledger is not behind a gate")
		}
		return wrap(gated)
	}}
}

func brokenProcessor(wrap func(processor.Processor) processor.Processor) simulation.Parts {
	return simulation.Parts{Store: memory, Processor: wrap}
}

// TestPlantedFaultsAreFound shows for each planted fault the seed that finds it.
func TestPlantedFaultsAreFound(t *testing.T) {
	t.Parallel()
	for name, parts := range planted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for s := uint64(1); s <= *seeds; s++ {
				_, err := simulation.Run(simulation.Config{Seed: s, Parts: parts, KeepTrace: true})
				var failure *simulation.FaultError
				if errors.As(err, &failure) {
					t.Logf("seed %d: %s", s, failure.Fault)
					return
				}
			}
			t.Errorf("%d lives have not shown the fault", *seeds)
		})
	}
}

// checkThenAct counts, and takes the place without looking again.
type checkThenAct struct {
	store.Store
	limits map[string]coupon.Limits
	pause  func()
}

func (s *checkThenAct) hide(c coupon.Coupon) coupon.Coupon {
	s.limits[c.ID] = c.Limits
	c.Limits = coupon.Limits{}
	return c
}

func (s *checkThenAct) show(c coupon.Coupon) coupon.Coupon {
	c.Limits = s.limits[c.ID]
	return c
}

func (s *checkThenAct) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	return s.Store.CreateCoupon(ctx, s.hide(c))
}

func (s *checkThenAct) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	before := s.limits[c.ID]
	updated, err := s.Store.UpdateCoupon(ctx, s.hide(c))
	if err != nil {
		s.limits[c.ID] = before
	}
	return s.show(updated), err
}

func (s *checkThenAct) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	c, err := s.Store.ConfirmMirror(ctx, id, m)
	return s.show(c), err
}

func (s *checkThenAct) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := s.Store.Coupon(ctx, id)
	return s.show(c), err
}

func (s *checkThenAct) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	f, err := s.Store.LookUp(ctx, by)
	f.Coupon = s.show(f.Coupon)
	return f, err
}

func (s *checkThenAct) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	page, err := s.Store.ListCoupons(ctx, l)
	for i := range page.Items {
		page.Items[i] = s.show(page.Items[i])
	}
	return page, err
}

func (s *checkThenAct) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	f, err := s.LookUp(ctx, store.LookUp{CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID})
	if err != nil {
		return store.Reserved{}, err
	}
	if err := store.WithinLimits(f.Coupon.ID, f.Coupon.Limits, f.Coupon.UsedCount+f.Coupon.ReservedCount, f.CompletedByCustomer+f.ReservedByCustomer); err != nil {
		return store.Reserved{}, err
	}
	s.pause()
	return s.Store.Reserve(ctx, r)
}

// noUserLimit keeps the limit of each customer to itself.
type noUserLimit struct {
	store.Store
	limits map[string]int64
}

func (s *noUserLimit) show(c coupon.Coupon) coupon.Coupon {
	c.Limits.MaxUsesPerUser = s.limits[c.ID]
	return c
}

func (s *noUserLimit) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	s.limits[c.ID] = c.Limits.MaxUsesPerUser
	c.Limits.MaxUsesPerUser = 0
	return s.Store.CreateCoupon(ctx, c)
}

func (s *noUserLimit) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	c.Limits.MaxUsesPerUser = 0
	c, err := s.Store.UpdateCoupon(ctx, c)
	return s.show(c), err
}

func (s *noUserLimit) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := s.Store.Coupon(ctx, id)
	return s.show(c), err
}

func (s *noUserLimit) ListCoupons(ctx context.Context, l store.CouponList) (store.CouponPage, error) {
	page, err := s.Store.ListCoupons(ctx, l)
	for i := range page.Items {
		page.Items[i] = s.show(page.Items[i])
	}
	return page, err
}

// eventIsKey takes every event for a payment of its own.
type eventIsKey struct {
	store.Store
	events int
}

func (s *eventIsKey) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionCompleted {
		s.events++
		t.Event.SessionID = fmt.Sprintf("%s#%d", t.Event.SessionID, s.events)
	}
	return s.Store.Settle(ctx, t)
}

// dropsLatePayments trusts the order of events: released is released.
type dropsLatePayments struct{ store.Store }

func (s dropsLatePayments) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionCompleted {
		if r, err := s.Redemption(ctx, t.ReservationID); err == nil && r.State == redemption.Released {
			return store.Settled{Redemption: r}, nil
		}
	}
	return s.Store.Settle(ctx, t)
}

// trustsFinished does not know of delayed payments.
type trustsFinished struct{ store.Store }

func (s trustsFinished) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind == redemption.SessionUnpaid {
		t.Event.Kind = redemption.SessionCompleted
	}
	return s.Store.Settle(ctx, t)
}

// forgetsRefunds tells the sweep of reservations alone.
type forgetsRefunds struct{ store.Store }

func (s forgetsRefunds) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := s.Store.Due(ctx, at, limit)
	return slices.DeleteFunc(due, redemption.Redemption.RefundDue), err
}

// forgetsDeadlines tells the sweep of refunds alone.
type forgetsDeadlines struct{ store.Store }

func (s forgetsDeadlines) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	due, err := s.Store.Due(ctx, at, limit)
	return slices.DeleteFunc(due, redemption.Redemption.Live), err
}

// sharedKeys looks orders up by key, whoever asks.
type sharedKeys struct {
	store.Store
	owner map[string]string
}

func (s *sharedKeys) OrderByKey(ctx context.Context, customerID, key string) (store.Order, error) {
	if s.owner[key] == "" {
		s.owner[key] = customerID
	}
	return s.Store.OrderByKey(ctx, s.owner[key], key)
}

// cascadingDelete takes the redemptions along with the coupon.
type cascadingDelete struct {
	store.Store
	gone map[string]bool
}

func (s *cascadingDelete) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	err := s.Store.DeleteCoupon(ctx, id, revision)
	s.gone[id] = s.gone[id] || err == nil
	return err
}

func (s *cascadingDelete) ListRedemptions(ctx context.Context, l store.RedemptionList) (store.RedemptionPage, error) {
	page, err := s.Store.ListRedemptions(ctx, l)
	page.Items = slices.DeleteFunc(page.Items, func(r redemption.Redemption) bool { return s.gone[r.CouponID] })
	return page, err
}

// settlesInTwoSteps ends the session before it records the payment.
type settlesInTwoSteps struct {
	store.Store
	pause func()
}

func (s settlesInTwoSteps) Settle(ctx context.Context, t store.Settlement) (store.Settled, error) {
	if t.Event.Kind != redemption.SessionCompleted {
		return s.Store.Settle(ctx, t)
	}
	settled, err := s.Store.Settle(ctx, store.Settlement{Event: redemption.Event{
		Kind: redemption.SessionExpired, At: t.Event.At, SessionID: t.Event.SessionID, OrderID: t.Event.OrderID,
	}, ReservationID: t.ReservationID})
	if err != nil || settled.Redemption.State == redemption.Released {
		return settled, err
	}
	s.pause()
	return s.Store.Settle(ctx, t)
}

// debitsAgain does not remember what it has debited.
type debitsAgain struct {
	simulation.Points
	debits *int
}

func (p debitsAgain) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	return p.Gate("Debit", func() error {
		if *p.debits++; *p.debits > 1 {
			reservationID = fmt.Sprintf("%s#%d", reservationID, *p.debits)
		}
		return p.Inner.Debit(ctx, customerID, reservationID, points)
	})
}

// debitsClosed does not remember what it has refunded.
type debitsClosed struct{ simulation.Points }

func (p debitsClosed) Debit(ctx context.Context, customerID, reservationID string, points int64) error {
	return p.Gate("Debit", func() error {
		err := p.Inner.Debit(ctx, customerID, reservationID, points)
		if errors.Is(err, couponkit.ErrReservationClosed) {
			return p.Inner.Debit(ctx, customerID, reservationID+"#late", points)
		}
		return err
	})
}

// refundsAgain gives points back each time it is asked.
type refundsAgain struct{ simulation.Points }

func (p refundsAgain) Refund(ctx context.Context, customerID, reservationID string) error {
	return p.Gate("Refund", func() error {
		if credit, ok := p.Inner.(interface{ Credit(string, int64) }); ok {
			defer credit.Credit(customerID, 1)
		}
		return p.Inner.Refund(ctx, customerID, reservationID)
	})
}

// refundsNothing says that it has.
type refundsNothing struct{ simulation.Points }

func (p refundsNothing) Refund(context.Context, string, string) error { return nil }

// removesNothing says that it has.
type removesNothing struct{ processor.Processor }

func (removesNothing) RemoveMirror(context.Context, coupon.Coupon) error { return nil }

// switchesNothing leaves promotion codes as they are.
type switchesNothing struct{ processor.Processor }

func (p switchesNothing) SetMirrorActive(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return c.Mirror, nil
}

// updatesNothing says that it has.
type updatesNothing struct{ processor.Processor }

func (p updatesNothing) UpdateMirror(_ context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	c.Mirror.Revision = c.Revision
	return c.Mirror, nil
}

// forgetsKeys makes a new session each time.
type forgetsKeys struct {
	processor.Processor
	made int
}

func (p *forgetsKeys) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	p.made++
	r.Key = fmt.Sprintf("%s#%d", r.Key, p.made)
	return p.Processor.CreateSession(ctx, r)
}

// chargesMore charges a cent more, and says that it does not.
type chargesMore struct{ processor.Processor }

func (p chargesMore) CreateSession(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
	total := r.Total
	r.Total++
	r.Lines = append(slices.Clone(r.Lines), processor.SessionLine{Kind: r.Lines[0].Kind, Name: "fee", Quantity: 1, UnitAmount: 1})
	session, err := p.Processor.CreateSession(ctx, r)
	session.Total = total
	return session, err
}
