package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func raceClauses() []clause {
	return []clause{
		race("race for the last uses of a coupon", "limits are exact under any interleaving", raceForCoupon),
		race("race for the uses of a customer", "limits are exact under any interleaving", raceForCustomer),
		race("race for two coupons in opposite order", "calls that claim the same counters in any order end without a deadlock, and limits are exact", raceForTwo),
		race("race for a budget", "limits of amounts are exact under any interleaving", raceForBudget),
		race("race of one key", "a key stores one order, however many callers use it at once", raceOfOneKey),
		race("race of one exchange", "a customer who exchanges points twice at once holds one reservation", raceOfExchanges),
		race("race for points", "one checkout takes a points reservation", raceForPoints),
		race("race of hand-overs", "one order replaces another", raceOfHandOvers),
		race("hand-over against payment", "a payment always counts, and a hand-over that loses against it stands back", handOverAgainstPayment),
		race("payments at once", "a payment counts once, however often it is told of at once", paymentsAtOnce),
		race("unknown payments at once", "an unknown payment is recorded once, by its session", unknownAtOnce),
		race("sessions at once", "a session belongs to one order", sessionsAtOnce),
		race("events at once", "Paid wins, in whatever order events arrive", eventsAtOnce),
		race("edits against reservations", "a limit that is set counts every use before it, and binds every reservation of the new revision", editsAgainstReservations),
		race("deletes against reservations", "a coupon that is deleted is reserved no more", deletesAgainstReservations),
		race("edits at once", "of the changes of one revision one is made", editsAtOnce),
		race("codes at once", "one coupon has a code", codesAtOnce),
	}
}

// race is a clause that is checked several times, with new records.
func race(name, says string, check func(*probe)) clause {
	return clause{name, says, func(p *probe) {
		for range p.can.Rounds {
			check(p)
		}
	}}
}

// allReserve makes reservations at once. The goroutine i makes the request i.
func (p *probe) allReserve(n int, request func(i int) store.Reservation) []error {
	return p.together(n, func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Reserve(ctx, request(i))
		return err
	})
}

func raceForCoupon(p *probe) {
	c := p.coupon(limits(7, 0))
	errs := p.allReserve(p.can.Goroutines, func(i int) store.Reservation { return p.checkout(fmt.Sprint("c", i), c) })
	same(p, p.succeeded(errs, store.ErrLimit), 7, "how many got one of 7 uses")
	p.uses(c, 7, 0)
}

func raceForCustomer(p *probe) {
	c := p.coupon(limits(0, 2))
	errs := p.allReserve(p.can.Goroutines, func(i int) store.Reservation { return p.checkout(fmt.Sprint("c", i%3), c) })
	same(p, p.succeeded(errs, store.ErrLimit), 6, "how many uses 3 customers got, 2 each")
}

func raceForTwo(p *probe) {
	a, b := p.coupon(limits(9, 0)), p.coupon(limits(5, 0))
	errs := p.allReserve(p.can.Goroutines, func(i int) store.Reservation {
		coupons := [][]coupon.Coupon{{a, b}, {b, a}}[i%2]
		return p.checkout(fmt.Sprint("c", i), coupons...)
	})
	same(p, p.succeeded(errs, store.ErrLimit), 5, "how many got both coupons")
	p.uses(a, 5, 0)
	p.uses(b, 5, 0)
}

func raceForBudget(p *probe) {
	c, budget := p.coupon(), redemption.SharedCounter("budget", fmt.Sprint(p.next()))
	errs := p.allReserve(p.can.Goroutines, func(i int) store.Reservation {
		r := p.checkout(fmt.Sprint("c", i), c)
		r.Uses[0].Claims = append(r.Uses[0].Claims, claim(budget, 333, 1000))
		return r
	})
	same(p, p.succeeded(errs, store.ErrLimit), 3, "how many got 333 of a budget of 1000")
	p.count(budget, 999, 0)
}

func raceOfOneKey(p *probe) {
	c := p.coupon(limits(9, 0))
	key := p.checkout("ann", c).Order.Key
	ids := make([]string, p.can.Goroutines)
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		r := p.checkout("ann", c)
		r.Order.Key = key
		reserved, err := s.Reserve(ctx, r)
		ids[i] = reserved.Order.ID
		return err
	})
	p.succeeded(errs)
	for _, id := range ids {
		same(p, id, ids[0], "the order of one key")
	}
	p.uses(c, 1, 0)
}

func raceOfExchanges(p *probe) {
	c := p.coupon(forPoints, limits(0, 0))
	ids := make([]string, p.can.Goroutines)
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		reserved, err := s.Reserve(ctx, p.exchange("ann", c))
		if err == nil {
			ids[i] = reserved.Uses[0].ID
		}
		return err
	})
	p.succeeded(errs)
	for _, id := range ids {
		same(p, id, ids[0], "the reservation that is held")
	}
	p.uses(c, 1, 0)
}

func raceForPoints(p *probe) {
	c := p.coupon(forPoints, limits(1, 1))
	held := p.exchanged("ann", c)
	errs := p.allReserve(p.can.Goroutines, func(int) store.Reservation { return taking(p.checkout("ann", c), held) })
	same(p, p.succeeded(errs, store.ErrSuperseded), 1, "how many checkouts took one reservation")
	p.uses(c, 1, 0)
}

func raceOfHandOvers(p *probe) {
	c := p.coupon(limits(1, 1))
	old := p.reserve(p.checkout("ann", c)).Order
	errs := p.allReserve(p.can.Goroutines, func(int) store.Reservation { return p.retry(old, c) })
	same(p, p.succeeded(errs, store.ErrSuperseded), 1, "how many orders replaced one")
	p.uses(c, 1, 0)
}

// handOverAgainstPayment pays orders while they are handed over. One of the two wins, and
// the coupon is used once.
func handOverAgainstPayment(p *probe) {
	c := p.coupon(limits(0, 0))
	olds := make([]redemption.Order, p.can.Goroutines/2)
	retries := make([]store.Reservation, len(olds))
	for i := range olds {
		olds[i] = p.happen(p.reserve(p.checkout(fmt.Sprint("c", i), c)).Order, redemption.SessionAttached).Order
		retries[i] = p.retry(olds[i], c)
	}
	errs := p.together(2*len(olds), func(ctx context.Context, s store.Store, i int) error {
		if i%2 == 0 {
			_, err := s.Apply(ctx, settlement(event(redemption.Paid, olds[i/2])))
			return err
		}
		_, err := s.Reserve(ctx, retries[i/2])
		return err
	})
	p.succeeded(errs, store.ErrSuperseded)
	for i, old := range olds {
		same(p, p.order(old.ID).Order.State, redemption.OrderPaid, "the state of an order that was paid and handed over at once")
		successor, err := p.s.Order(p.Context(), store.OrderKey{ID: retries[i].Order.ID})
		if !errors.Is(err, store.ErrNotFound) {
			p.ok(err, "Order")
			same(p, successor.Order.State, redemption.OrderCancelled, "the state of the order that replaced a paid one")
		}
	}
	p.uses(c, 0, int64(len(olds)))
}

func paymentsAtOnce(p *probe) {
	c := p.coupon(limits(1, 0))
	o := p.happen(p.reserve(p.checkout("ann", c)).Order, redemption.SessionAttached).Order
	late := p.reserve(p.checkout("bob", p.coupon(limits(1, 0)))).Order
	p.happen(late, redemption.Cancelled)
	var changed [2][]bool
	for i := range changed {
		changed[i] = make([]bool, p.can.Goroutines)
	}
	errs := p.together(2*p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		settled, err := s.Apply(ctx, settlement(event(redemption.Paid, []redemption.Order{o, late}[i%2])))
		changed[i%2][i/2] = settled.Changed
		return err
	})
	p.succeeded(errs)
	for _, answers := range changed {
		count := 0
		for _, is := range answers {
			if is {
				count++
			}
		}
		same(p, count, 1, "how many reports of one payment changed something")
	}
	p.uses(c, 0, 1)
}

func unknownAtOnce(p *probe) {
	c, session := p.coupon(limits(1, 0)), fmt.Sprint("cs_lost_", p.next())
	ids := make([]string, p.can.Goroutines)
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		settled, err := s.Apply(ctx, p.unknown("ann", session, c))
		ids[i] = settled.Order.ID
		return err
	})
	p.succeeded(errs)
	for _, id := range ids {
		same(p, id, ids[0], "the order of one unknown payment")
	}
	p.uses(c, 0, 1)
}

func sessionsAtOnce(p *probe) {
	c, session := p.coupon(), fmt.Sprint("cs_", p.next())
	orders := make([]redemption.Order, p.can.Goroutines)
	for i := range orders {
		orders[i] = p.reserve(p.checkout("ann", c)).Order
	}
	errs := p.together(len(orders), func(ctx context.Context, s store.Store, i int) error {
		e := event(redemption.SessionAttached, orders[i])
		e.SessionID = session
		_, err := s.Apply(ctx, settlement(e))
		return err
	})
	same(p, p.succeeded(errs, store.ErrSuperseded), 1, "how many orders got one session")
}

func eventsAtOnce(p *probe) {
	c := p.coupon(limits(2, 0))
	o := p.happen(p.reserve(p.checkout("ann", c)).Order, redemption.SessionAttached).Order
	all := []redemption.EventKind{redemption.Paid, redemption.SessionExpired, redemption.PaymentFailed, redemption.Cancelled, redemption.PaymentPending}
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		_, err := s.Apply(ctx, settlement(event(all[i%len(all)], o)))
		return err
	})
	p.succeeded(errs, redemption.ErrIllegal)
	same(p, p.order(o.ID).Order.State, redemption.OrderPaid, "the state after all events at once")
	p.uses(c, 0, 1)
}

// editsAgainstReservations sets a limit while reservations without one are made. The fold
// of the counter misses none of them.
func editsAgainstReservations(p *probe) {
	c := p.coupon()
	limited := make(chan coupon.Coupon, 1)
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		if i == p.can.Goroutines/2 {
			changed := c
			changed.Limits.MaxUses = 3
			saved, err := s.SaveCoupon(ctx, changeOf(store.EditCoupon, changed))
			limited <- saved
			return err
		}
		_, err := s.Reserve(ctx, p.checkout(fmt.Sprint("c", i), c))
		return err
	})
	before := p.succeeded(errs, store.ErrStaleRevision) - 1 // the edit
	p.uses(c, int64(before), 0)
	edited := <-limited
	p.refused(p.checkout("late", c), store.ErrStaleRevision, "at the revision before the limit was set")
	errs = p.allReserve(p.can.Goroutines, func(i int) store.Reservation { return p.checkout(fmt.Sprint("d", i), edited) })
	same(p, p.succeeded(errs, store.ErrLimit), max(0, 3-before), "how many got a use after a limit of 3 was set beside %d uses", before)
	p.uses(c, int64(max(3, before)), 0)
}

func deletesAgainstReservations(p *probe) {
	c := p.coupon(limits(0, 0))
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		if i == p.can.Goroutines/2 {
			_, err := s.SaveCoupon(ctx, changeOf(store.DeleteCoupon, c))
			return err
		}
		_, err := s.Reserve(ctx, p.checkout(fmt.Sprint("c", i), c))
		return err
	})
	stored := p.succeeded(errs, coupon.ErrNotFound) - 1
	p.uses(c, int64(stored), 0)
	p.refused(p.checkout("ann", c), coupon.ErrNotFound, "of a deleted coupon")
}

func editsAtOnce(p *probe) {
	c := p.coupon()
	errs := p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) error {
		changed := c
		changed.Name = fmt.Sprint("name ", i)
		_, err := s.SaveCoupon(ctx, changeOf(store.EditCoupon, changed))
		return err
	})
	same(p, p.succeeded(errs, store.ErrStaleRevision), 1, "how many edits of one revision were made")
}

func codesAtOnce(p *probe) {
	code := p.draft().Code
	drafts := make([]coupon.Coupon, p.can.Goroutines)
	for i := range drafts {
		drafts[i] = p.draft(coded(code))
	}
	errs := p.together(len(drafts), func(ctx context.Context, s store.Store, i int) error {
		_, err := s.SaveCoupon(ctx, changeOf(store.CreateCoupon, drafts[i]))
		return err
	})
	same(p, p.succeeded(errs, coupon.ErrCodeTaken), 1, "how many coupons got one code")
}
