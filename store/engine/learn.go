package engine

import (
	"context"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// learnedCause is the journal's cause of a payment that only adds identities to a paid order.
const learnedCause = "identity_learned"

// chargedCause is the journal's cause of a payment that only adds the charge to a paid order.
const chargedCause = "charge_learned"

// loadLearned locks the counters of identities that payments have shown. If there are any, it locks all
// customer counters that the events may change, because these are locked in one step.
func (w *work) loadLearned(ctx context.Context, tx Tx, events ...store.Settlement) error {
	var n Need
	for _, s := range events {
		if len(s.Event.Learned) > 0 {
			w.candidates(s.Event, events, func(id string) { n.customers(w.learned(id, s.Event)) })
		}
	}
	if len(n.Counters) == 0 {
		return nil
	}
	for _, row := range w.orders {
		n.customers(row.order.Claims)
	}
	for _, row := range w.uses {
		n.customers(row.use.Claims)
	}
	return w.load(ctx, tx, n.sorted())
}

// candidates calls a function with each order that an event may belong to. An earlier event of the same
// transaction may attach the session to an order.
func (w *work) candidates(e redemption.Event, events []store.Settlement, call func(id string)) {
	call(w.sessions[e.SessionID])
	for _, s := range events {
		if s.Event.SessionID == e.SessionID {
			call(s.Event.OrderID)
		}
	}
}

// learned returns the claims that an event adds to an order and its uses.
func (w *work) learned(id string, e redemption.Event) []eligibility.Claim {
	row := w.orders[id]
	if row == nil || len(e.Learned) == 0 {
		return nil
	}
	before := w.usesOf(id)
	next, uses, err := row.order.After(e, before...)
	if err != nil {
		return nil
	}
	claims := next.Claims[len(row.order.OwnClaims()):] // a payment frees what the order has kept
	for i, u := range uses {
		claims = append(claims, u.Claims[len(before[i].Claims):]...)
	}
	return claims
}

func (n *Need) customers(claims []eligibility.Claim) {
	for _, c := range claims {
		if !eligibility.IsShared(c.Counter) {
			n.Counters = append(n.Counters, c.Counter)
		}
	}
}
