package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func raceClauses() []clause {
	return []clause{
		race("race for the last uses of a coupon", "limits are exact under any interleaving", func(p *probe) {
			c := p.coupon(limits(7, 0))
			p.exactly(7, store.ErrLimit, func(i int) store.Reservation { return p.checkout(fmt.Sprint("c", i), c) })
			p.uses(c, 7, 0)
		}),
		race("race for the uses of a customer", "limits are exact under any interleaving", func(p *probe) {
			c := p.coupon(limits(0, 2))
			p.exactly(6, store.ErrLimit, func(i int) store.Reservation { return p.checkout(fmt.Sprint("c", i%3), c) })
		}),
		race("race for two coupons in opposite order", "calls that claim the same counters in any order end without a deadlock, and limits are exact", func(p *probe) {
			a, b := p.coupon(limits(9, 0)), p.coupon(limits(5, 0))
			p.exactly(5, store.ErrLimit, func(i int) store.Reservation {
				return p.checkout(fmt.Sprint("c", i), [][]coupon.Coupon{{a, b}, {b, a}}[i%2]...)
			})
			p.uses(a, 5, 0)
			p.uses(b, 5, 0)
		}),
		race("race for a budget", "limits of amounts are exact under any interleaving", func(p *probe) {
			c, budget := p.coupon(), eligibility.SharedCounter("budget", fmt.Sprint(p.next()))
			p.exactly(3, store.ErrLimit, func(i int) store.Reservation {
				return claiming(p.checkout(fmt.Sprint("c", i), c), claim(budget, 333, 1000))
			})
			p.count(budget, 999, 0)
		}),
		race("race of one key", "a key stores one order, however many callers use it at once", func(p *probe) {
			for _, oneID := range []bool{false, true} {
				c := p.coupon(limits(9, 0))
				first := p.checkout("ann", c).Order
				p.reserveOne(c, func(i int) store.Reservation {
					r := p.checkout("ann", c)
					r.Order.Key, r.Order.Metadata = first.Key, map[string]string{"caller": fmt.Sprint(i)}
					if oneID {
						r.Order.ID, r.Uses[0].OrderID = first.ID, first.ID
					}
					return r
				})
			}
		}),
		race("race of one exchange", "a customer who exchanges points twice at once holds one reservation", func(p *probe) {
			c := p.coupon(forPoints, limits(0, 0))
			p.reserveOne(c, func(int) store.Reservation { return p.exchange("ann", c) })
		}),
		race("race for points", "one checkout takes a points reservation", func(p *probe) {
			c := p.coupon(forPoints, limits(1, 1))
			held := p.exchanged("ann", c)
			p.exactly(1, store.ErrSuperseded, func(int) store.Reservation { return taking(p.checkout("ann", c), held) })
			p.uses(c, 1, 0)
		}),
		race("race of hand-overs", "one order replaces another", func(p *probe) {
			c := p.coupon(limits(1, 1))
			old := p.reserve(p.checkout("ann", c)).Order
			p.exactly(1, store.ErrSuperseded, func(int) store.Reservation { return p.retry(old, c) })
			p.uses(c, 1, 0)
		}),
	}
}

func eventRaceClauses() []clause {
	return []clause{
		race("hand-over against payment", "a payment always counts, and a hand-over that loses against it stands back", handOverAgainstPayment),
		race("payments at once", "a payment counts once, however often it is told of at once", func(p *probe) {
			c := p.coupon(limits(1, 0))
			o := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
			late := p.placed(p.checkout("bob", p.coupon(limits(1, 0))), redemption.Cancelled).Order
			answers, errs := atOnce(p, 2*p.can.Goroutines, store.Store.Apply, func(i int) store.Settlement {
				return settlement(event(redemption.Paid, []redemption.Order{o, late}[i%2]))
			})
			p.succeeded(errs)
			same(p, []int{changes(answers, o), changes(answers, late)}, []int{1, 1}, "how many reports of each payment changed something")
			p.uses(c, 0, 1)
		}),
		race("unknown payments at once", "an unknown payment is recorded once, by its session", func(p *probe) {
			c, session := p.coupon(limits(1, 0)), fmt.Sprint("cs_lost_", p.next())
			answers, errs := atOnce(p, p.can.Goroutines, store.Store.Apply, func(int) store.Settlement { return p.unknown("ann", session, c) })
			p.succeeded(errs)
			for _, a := range answers {
				same(p, a.Order.ID, answers[0].Order.ID, "the order of one unknown payment")
			}
			p.uses(c, 0, 1)
		}),
		race("a reservation beside its payment", "an order that is reserved and paid at once is paid and has its uses, whichever comes first", reservationBesidePayment),
		race("sessions at once", "a session belongs to one order", func(p *probe) {
			c, session := p.coupon(), fmt.Sprint("cs_", p.next())
			orders := make([]redemption.Order, p.can.Goroutines)
			for i := range orders {
				orders[i] = p.reserve(p.checkout("ann", c)).Order
			}
			_, errs := atOnce(p, len(orders), store.Store.Apply, func(i int) store.Settlement {
				e := event(redemption.SessionAttached, orders[i])
				e.SessionID = session
				return settlement(e)
			})
			same(p, p.succeeded(errs, store.ErrSuperseded), 1, "how many orders got one session")
		}),
		race("events at once", "Paid wins, in whatever order events arrive", func(p *probe) {
			c := p.coupon(limits(2, 0))
			o := p.placed(p.checkout("ann", c), redemption.SessionAttached).Order
			all := []redemption.EventKind{redemption.Paid, redemption.SessionExpired, redemption.PaymentFailed, redemption.Cancelled, redemption.PaymentPending}
			_, errs := atOnce(p, p.can.Goroutines, store.Store.Apply, func(i int) store.Settlement { return settlement(event(all[i%len(all)], o)) })
			p.succeeded(errs, redemption.ErrIllegal)
			same(p, p.order(o.ID).Order.State, redemption.OrderPaid, "the state after all events at once")
			p.uses(c, 0, 1)
		}),
		race("edits against reservations", "a limit that is set counts every use before it, and binds every reservation of the new revision", editsAgainstReservations),
		race("deletes against reservations", "a coupon that is deleted is reserved no more", func(p *probe) {
			c := p.coupon(limits(0, 0))
			p.amongReservations(changeOf(store.DeleteCoupon, c), coupon.ErrNotFound)
			p.refused(p.checkout("ann", c), coupon.ErrNotFound, "of a deleted coupon")
		}),
		race("edits at once", "of the changes of one revision one is made", func(p *probe) {
			c := p.coupon()
			_, errs := atOnce(p, p.can.Goroutines, store.Store.SaveCoupon, func(i int) store.CouponChange {
				return changeOf(store.EditCoupon, with(c, named(fmt.Sprint("name ", i))))
			})
			same(p, p.succeeded(errs, store.ErrStaleRevision), 1, "how many edits of one revision were made")
		}),
		race("codes at once", "one coupon has a code", func(p *probe) {
			code := p.draft().Code
			_, errs := atOnce(p, p.can.Goroutines, store.Store.SaveCoupon, func(int) store.CouponChange {
				return changeOf(store.CreateCoupon, p.draft(coded(code)))
			})
			same(p, p.succeeded(errs, coupon.ErrCodeTaken), 1, "how many coupons got one code")
		}),
	}
}

// race is a clause that is checked several times, each time with new records.
func race(name, says string, check func(*probe)) clause {
	return clause{name, says, func(p *probe) {
		for range p.can.Rounds {
			check(p)
		}
	}}
}

// exactly makes reservations at once, and checks how many are stored. The others must fail with the
// error.
func (p *probe) exactly(want int, others error, request func(i int) store.Reservation) {
	p.Helper()
	same(p, p.stored(others, request), want, "how many of %d reservations at once are stored", p.can.Goroutines)
}

// stored makes reservations at once, and returns how many are stored. The others must fail with the
// error.
func (p *probe) stored(others error, request func(i int) store.Reservation) int {
	p.Helper()
	_, errs := atOnce(p, p.can.Goroutines, store.Store.Reserve, request)
	return p.succeeded(errs, others)
}

// changes counts the answers that changed the order.
func changes(answers []store.Settled, o redemption.Order) int {
	return len(slices.DeleteFunc(slices.Clone(answers), func(a store.Settled) bool { return !a.Changed || a.Order.ID != o.ID }))
}

// reserveOne makes requests at once. All must get the same reservation of one use.
func (p *probe) reserveOne(c coupon.Coupon, request func(i int) store.Reservation) {
	p.Helper()
	answers, errs := atOnce(p, p.can.Goroutines, store.Store.Reserve, request)
	p.succeeded(errs)
	for _, a := range answers {
		a.Replayed = answers[0].Replayed
		same(p, a, answers[0], "the reservation that a call at once got")
	}
	if o := answers[0].Order; !o.IsZero() {
		same(p, p.order(o.ID).Order, o, "the order that is stored")
	}
	p.uses(c, 1, 0)
}

// handOverAgainstPayment pays orders while they are handed over. Either the payment or the hand-over
// wins, and the coupon is used once.
func handOverAgainstPayment(p *probe) {
	c := p.coupon(limits(0, 0))
	olds := make([]redemption.Order, p.can.Goroutines/2)
	retries := make([]store.Reservation, len(olds))
	for i := range olds {
		olds[i] = p.placed(p.checkout(fmt.Sprint("c", i), c), redemption.SessionAttached).Order
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

// editsAgainstReservations sets a limit while reservations without a limit are made. The counter must
// then include all of them.
func editsAgainstReservations(p *probe) {
	c := p.coupon()
	before := p.amongReservations(changeOf(store.EditCoupon, with(c, limits(3, 0))), store.ErrStaleRevision)
	edited := p.lookedUp(c.ID)
	p.refused(p.checkout("late", c), store.ErrStaleRevision, "at the revision before the limit was set")
	p.exactly(max(0, 3-before), store.ErrLimit, func(i int) store.Reservation { return p.checkout(fmt.Sprint("d", i), edited) })
	p.uses(c, int64(max(3, before)), 0)
}

// amongReservations changes a coupon while it is reserved. It returns the number of stored
// reservations. The others must fail with the error.
func (p *probe) amongReservations(change store.CouponChange, others error) int {
	p.Helper()
	c := change.Coupon
	c.Limits = coupon.Limits{}
	stored := p.succeeded(p.together(p.can.Goroutines, func(ctx context.Context, s store.Store, i int) (err error) {
		if i == p.can.Goroutines/2 {
			_, err = s.SaveCoupon(ctx, change)
			return err
		}
		_, err = s.Reserve(ctx, p.checkout(fmt.Sprint("c", i), c))
		return err
	}), others) - 1 // minus the change itself
	p.uses(c, int64(stored), 0)
	return stored
}

func reservationBesidePayment(p *probe) {
	c, session := p.coupon(limits(1, 0)), fmt.Sprint("cs_early_", p.next())
	r, s := p.checkout("ann", c), p.unknown("", session)
	s.Event.OrderID, s.Unknown.Order.ID = r.Order.ID, r.Order.ID
	meet := func(to store.Store, ctx context.Context, reserves bool) (redemption.Order, error) {
		if reserves {
			reserved, err := to.Reserve(ctx, r)
			return reserved.Order, err
		}
		settled, err := to.Apply(ctx, s)
		return settled.Order, err
	}
	_, errs := atOnce(p, p.can.Goroutines, meet, func(i int) bool { return i%2 == 0 })
	p.succeeded(errs, store.ErrConflict) // the caller repeats after this error
	answer(p, store.Store.Reserve, r)
	same(p, p.settle(s).Order.State, redemption.OrderPaid, "the state of the order")
	p.uses(c, 0, 1)
}
