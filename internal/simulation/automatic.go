package simulation

import (
	"context"
	"maps"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/eligibility/offers"
)

// index is what a process knows of the automatic coupons of a shop. It follows the store now and then, and is old
// in between. A world without automatic coupons has none.
type index struct {
	offers  *couponkit.Offers
	follows *bool // an update waits for an answer; another one would wait for it
}

func (w *world) newIndex(n *node, s *shop) index {
	if !w.parts.Automatic {
		return index{}
	}
	return index{couponkit.NewOffers(wiredStore{s, n, w.wire(n, s, ofStore)}, offers.Limits{}), new(bool)}
}

// loadIndexes fills the indexes of half of the processes when they start. Others are first empty.
func (w *world) loadIndexes(n *node) {
	for _, x := range n.indexes {
		if x.offers != nil && w.odds(2) {
			_, err := x.offers.Update(background())
			w.sound("load an index", err)
		}
	}
}

// withoutIndex returns a service in which customers get no automatic coupons.
func (w *world) withoutIndex(n *node, s *shop) *couponkit.Service {
	if !w.parts.Automatic {
		return n.services[s.number]
	}
	bare := *n
	bare.indexes = make([]index, len(w.shops))
	return w.newService(&bare, s)
}

// updateIndex brings an index up to date.
func (w *world) updateIndex() bool {
	return w.begin(w.shop(), "index", "an index follows", func(ctx context.Context, t *task) error {
		x := t.node.indexes[t.shop.number]
		if *x.follows {
			return nil
		}
		*x.follows = true
		defer func() { *x.follows = false }()
		read, err := x.offers.Update(ctx)
		w.when(read > 0, "index", "has read coupons", "")
		return err
	})
}

// makeAutomatic lets carts get most coupons without a code. Half of these have none.
func (w *world) makeAutomatic(d *coupon.Draft) {
	if !w.parts.Automatic || d.Distribution == coupon.PointsRedeemable || w.odds(6) {
		return
	}
	if d.Automatic = true; w.odds(2) {
		d.Code = ""
	}
}

// checkAutomatic looks for an automatic coupon that a stranger may use, and that takes more off than what they
// get.
func (w *world) checkAutomatic(s *shop, n *node) {
	x := n.indexes[s.number]
	if x.offers == nil || w.fault != nil {
		return
	}
	_, err := x.offers.Update(background())
	w.must(NoSurprise, err == nil, "at rest, an index follows: %v", err)
	stranger := eligibility.Customer{ID: "stranger", Email: email("stranger")}
	cart := w.cart()
	got, err := n.services[s.number].Quote(background(), couponkit.QuoteRequest{Cart: cart, Customer: stranger})
	if coupon.RejectionsOf(err) != nil { // the processor does not charge so little
		return
	}
	w.must(NoSurprise, err == nil, "at rest, a cart without codes: %v", err)
	for _, id := range slices.Sorted(maps.Keys(s.book.coupons)) {
		c := s.book.coupons[id]
		limits := eligibility.Claimant{Coupon: &c, Identities: stranger.Identities(), At: w.now}.Limits()
		usage := eligibility.UsageOf(limits, func(counter string) int64 { return s.book.held[counter].Taken() })
		r, err := eligibility.EvaluateSet([]eligibility.Candidate{{Coupon: &c, Usage: usage}}, cart, eligibility.Question{At: w.now, Customer: stranger})
		given := err == nil && c.Automatic && r.Err() == nil && (r.Quote.Total == 0 || r.Quote.Total >= 50)
		w.must(FreeUsesCanBeHad, !given || r.Quote.Discount <= got.Discount, "automatic coupon %s takes %d off, and a stranger gets %d", id, r.Quote.Discount, got.Discount)
		w.when(given && got.Discount > 0, "automatic", "at rest", "")
	}
}
