package storetest

import (
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func identityClauses() []clause {
	return []clause{
		{"first order", "an order that must be the first is refused beside any other order of the customer, and a payment is never given back", firstOrderOnly},
		{"first order handed over", "a hand-over keeps the claim on the first order", func(p *probe) {
			const customer = "ann"
			c := p.coupon(limits(0, 1))
			plain := p.reserve(p.checkout(customer))
			kept := p.reserve(first(p.retry(plain.Order, c)))
			p.count(eligibility.CustomerOrders(customer), 1, 0)
			again := p.reserve(first(p.retry(kept.Order, c)))
			p.count(eligibility.CustomerOrders(customer), 1, 0)
			p.happen(again.Order, redemption.SessionAttached, redemption.Paid)
			p.count(eligibility.CustomerOrders(customer), 0, 1)
		}},
		{"identities", "what one identity of a customer has taken is taken for every identity, and a refusal takes nothing", func(p *probe) {
			c := p.coupon(limits(0, 1))
			email := eligibility.EmailIdentity("ann@example.org")
			p.reserve(known(p.checkout("ann", c), c, email, eligibility.AliasIdentity("card")))
			p.refused(p.checkout(email, c), store.ErrLimit, "of a guest with the address of a member")
			p.refused(known(p.checkout("bob", c), c, eligibility.AliasIdentity("card")), store.ErrLimit, "of another member with the same card")
			p.count(eligibility.CustomerUses(c.ID, "bob"), 0, 0)
			p.count(eligibility.CustomerUses(c.ID, email), 1, 0)
		}},
		{"identities learned at payment", "a payment takes the claims of identities that it tells of, fit or not, and stores them with the order and its uses; the same payment again changes nothing", identitiesLearned},
		race("race of learned identities", "claims of payments at once are all taken, and those beyond a limit are flagged", func(p *probe) {
			c, card := p.coupon(limits(0, 3)), eligibility.AliasIdentity(fmt.Sprint(p.next()))
			orders := make([]redemption.Order, p.can.Goroutines)
			for i := range orders {
				orders[i] = p.reserve(p.checkout(fmt.Sprint("c", i), c)).Order
			}
			answers, errs := atOnce(p, len(orders), store.Store.Apply, func(i int) store.Settlement { return learning(orders[i], card) })
			p.succeeded(errs)
			answers = slices.DeleteFunc(answers, func(a store.Settled) bool { return a.Uses[0].OverLimit })
			same(p, len(answers), 3, "how many payments with one card are not flagged")
			p.count(eligibility.CustomerUses(c.ID, card), 0, int64(len(orders)))
		}),
		race("race for a first order", "of the first orders of one customer one is stored, whatever other orders are stored at once", raceForFirstOrder),
		race("race of identities", "limits per customer are exact if orders share any identity, in whatever order they claim", func(p *probe) {
			c, n := p.coupon(limits(0, 1)), p.next()
			email, card := eligibility.EmailIdentity(fmt.Sprint(n)), eligibility.AliasIdentity(fmt.Sprint(n))
			p.exactly(1, store.ErrLimit, func(i int) store.Reservation {
				identities := [][]string{{email, card}, {card, email}, {card}}[i%3]
				return known(p.checkout(fmt.Sprintf("member-%d-%d", n, i), c), c, identities...)
			})
			p.count(eligibility.CustomerUses(c.ID, card), 1, 0)
		}),
	}
}

// first returns the request with a claim: the order must be the customer's first.
func first(r store.Reservation) store.Reservation {
	r.Order.Claims = []eligibility.Claim{claim(eligibility.CustomerOrders(r.Order.CustomerID), 1, 1)}
	return r
}

func firstOrderOnly(p *probe) {
	const customer = "ann"
	c := p.coupon()
	given := p.reserve(first(p.checkout(customer, c)))
	p.refused(first(p.checkout(customer, c)), store.ErrLimit, "of a second first order")
	p.happen(given.Order, redemption.SessionAttached, redemption.SessionExpired)
	plain := p.reserve(p.checkout(customer))
	p.refused(first(p.checkout(customer, c)), store.ErrLimit, "of a first order beside an order without a coupon")
	p.happen(plain.Order, redemption.SessionAttached, redemption.SessionExpired)
	p.placed(first(p.checkout(customer, c)), redemption.SessionAttached, redemption.Paid, redemption.SessionExpired)
	p.refused(first(p.checkout(customer, c)), store.ErrLimit, "of a first order after an order that was paid")
	p.reserve(p.checkout(customer, c))
	p.count(eligibility.CustomerOrders(customer), 1, 1)
	p.uses(c, 1, 1)
}

// known adds the claims of further identities to a request.
func known(r store.Reservation, c coupon.Coupon, identities ...string) store.Reservation {
	for _, identity := range identities {
		r.Order.Claims = append(r.Order.Claims, claim(eligibility.CustomerOrders(identity), 1, 0))
		r.Uses[0].Claims = append(r.Uses[0].Claims, claim(eligibility.CustomerUses(c.ID, identity), 1, c.Limits.MaxUsesPerUser))
	}
	return r
}

// learning returns a payment of an order that reports identities of the customer.
func learning(o redemption.Order, identities ...string) store.Settlement {
	s := settlement(event(redemption.Paid, o))
	s.Event.Learned = identities
	return s
}

func identitiesLearned(p *probe) {
	c, card := p.coupon(limits(0, 1)), eligibility.AliasIdentity("card")
	for i, history := range [][]redemption.EventKind{{redemption.SessionAttached}, {}, {redemption.Cancelled}, {redemption.Paid}} {
		o := p.placed(p.checkout(fmt.Sprint("c", i), c), history...).Order
		got := p.settle(learning(o, card))
		same(p, []any{got.Changed, got.Uses[0].OverLimit, len(got.Order.Claims), len(got.Uses[0].Claims)}, []any{true, i > 0, 2, 3}, "what a payment after %v returns", history)
		got.Changed = false
		same(p, p.order(o.ID), got, "the order that is stored")
		p.unchanged("the same payment again", func() { same(p, p.settle(learning(o, card)), got, "what it returns") })
		p.count(eligibility.CustomerUses(c.ID, card), 0, int64(i+1))
		p.count(eligibility.CustomerOrders(card), 0, int64(i+1))
	}
	p.refused(known(p.checkout("dan", c), c, card), store.ErrLimit, "of a customer with an identity that was learned")
}

func raceForFirstOrder(p *probe) {
	c, customer := p.coupon(), fmt.Sprint("first-", p.next())
	stored := p.stored(store.ErrLimit, func(i int) store.Reservation {
		if i%3 == 0 {
			return p.checkout(customer)
		}
		return first(p.checkout(customer, c))
	})
	plain := (p.can.Goroutines + 2) / 3
	if stored != plain && stored != plain+1 {
		p.stop("%d orders of a customer are stored, want %d without a coupon and at most one first order", stored, plain)
	}
	p.count(eligibility.CustomerOrders(customer), int64(stored), 0)
	p.uses(c, int64(stored-plain), 0)
}
