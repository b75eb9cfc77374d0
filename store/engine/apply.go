package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Apply applies validated events and saves the changes. For these events, the answer has the
// error [ErrAlone]:
//
//   - a payment for a cancelled order
//   - a payment on its way for a replaced order
//   - a payment whose order the store does not know
//
// The caller must pass events with the answer ErrAlone to [ApplyLate].
func Apply(ctx context.Context, tx Tx, row int, events ...store.Settlement) ([]Answer[store.Settled], error) {
	w := newWork(row)
	if err := w.load(ctx, tx, applyNeed(events, slices.ContainsFunc(events, moves))); err != nil {
		return nil, err
	}
	if err := w.loadLearned(ctx, tx, events...); err != nil {
		return nil, err
	}
	if err := w.loadAwaited(ctx, tx, events...); err != nil {
		return nil, err
	}
	answers := make([]Answer[store.Settled], len(events))
	for i, e := range events {
		answers[i].Value, answers[i].Err = w.apply(e)
	}
	return answers, w.save(ctx, tx)
}

// moves reports whether an event may change counters.
func moves(s store.Settlement) bool {
	switch s.Event.Kind { //nolint:exhaustive // all others may
	case redemption.SessionAttached, redemption.Reported, redemption.PaymentBegun, redemption.PaymentOpened:
		return false
	}
	return true
}

// waits reports whether an event must wait until the payment of another order has ended. Until then,
// the payment of the order must not begin, and the claims that it took over must not be freed.
func waits(o redemption.Order, e redemption.Event) bool {
	if o.State != redemption.OrderOpen || o.Awaits == "" || !o.BegunAt.IsZero() {
		return false
	}
	switch e.Kind { //nolint:exhaustive // the others concern a payment of the order
	case redemption.PaymentBegun, redemption.Cancelled, redemption.Lapsed, redemption.PaymentEnded:
		return true
	}
	return false
}

// isOver reports whether the end of a replaced order's payment is recorded. A host's transaction may
// read an older state, in which the order was not replaced yet or did not exist.
func (w *work) isOver(orderID string) bool {
	row := w.orders[orderID]
	return row != nil && row.order.State.Ended() && row.order.BegunAt.IsZero()
}

// loadAwaited reads the orders that must end before a payment begins. An end that was read is final.
// Because no lock is taken, an end that is being recorded may be missed.
func (w *work) loadAwaited(ctx context.Context, tx Tx, events ...store.Settlement) error {
	n := Need{Peek: true}
	for _, s := range events {
		row := w.orders[s.Event.OrderID] // an order that waits has no session yet
		if row != nil && waits(row.order, s.Event) && w.orders[row.order.Awaits] == nil {
			n.OrderIDs = append(n.OrderIDs, row.order.Awaits)
		}
	}
	if len(n.OrderIDs) == 0 {
		return nil
	}
	return w.load(ctx, tx, n.sorted())
}

func applyNeed(events []store.Settlement, coupons bool) Need {
	n := Need{CouponsOfOrders: coupons}
	for _, s := range events {
		if s.Event.UseID != "" {
			n.UseIDs = append(n.UseIDs, s.Event.UseID)
			continue
		}
		if s.Event.SessionID != "" {
			n.Sessions = append(n.Sessions, s.Event.SessionID)
		}
		if s.Event.OrderID != "" {
			n.OrderIDs = append(n.OrderIDs, s.Event.OrderID)
		}
	}
	return n.sorted()
}

func (w *work) apply(s store.Settlement) (store.Settled, error) {
	if s.Event.UseID != "" {
		return w.applyToUse(s)
	}
	id, found := w.find(s.Event)
	if !found {
		return w.unfound(s)
	}
	o := w.orders[id].order
	if late(o, s.Event) {
		return store.Settled{}, ErrAlone
	}
	if owner, taken := w.sessions[s.Event.SessionID]; taken && owner != id && s.Event.SessionID != "" {
		return store.Settled{}, fmt.Errorf("%w: session %s is that of order %s, as when a processor gives an ID twice",
			store.ErrSuperseded, s.Event.SessionID, owner)
	}
	if waits(o, s.Event) && !w.isOver(o.Awaits) {
		if s.Event.Kind == redemption.PaymentEnded {
			return store.Settled{Order: o, Uses: w.usesOf(id)}, nil // the order had no session
		}
		return store.Settled{}, store.ErrPaymentOpen
	}
	return w.change(o, s)
}

// late reports whether the event is a late payment. That is a payment of a canceled order, or a delayed
// payment of a replaced order.
func late(o redemption.Order, e redemption.Event) bool {
	return o.State == redemption.OrderCancelled &&
		(e.Kind == redemption.Paid || e.Kind == redemption.PaymentPending && o.ReplacedBy != "")
}

// find returns the order of an event. This is the order that has the session. If no order has it, this
// is the named order, if that order may have the session. A payment belongs to the named order even if
// the order has another session. SessionAttached, Cancelled, Lapsed, Refunded and PaymentBegun always
// belong to the named order.
func (w *work) find(e redemption.Event) (string, bool) {
	switch e.Kind {
	case redemption.SessionAttached, redemption.Cancelled, redemption.Lapsed, redemption.Refunded, redemption.PaymentBegun:
		return e.OrderID, w.orders[e.OrderID] != nil
	case redemption.Paid, redemption.PaymentPending, redemption.PaymentFailed, redemption.SessionExpired, redemption.Reported,
		redemption.PaymentEnded, redemption.PaymentOpened:
	case redemption.PointsExchanged, redemption.PointsRefused, redemption.PointsGivenBack:
		return "", false
	}
	if id, found := w.sessions[e.SessionID]; found && e.SessionID != "" {
		return id, true
	}
	named := w.orders[e.OrderID]
	return e.OrderID, named != nil && (e.Kind == redemption.Paid || named.order.Concerns(e.SessionID))
}

// unfound answers an event whose order is not in the store.
func (w *work) unfound(s store.Settlement) (store.Settled, error) {
	switch {
	case s.Event.Kind == redemption.Paid && !s.Unknown.Order.IsZero():
		return store.Settled{}, ErrAlone
	case s.Event.Kind == redemption.SessionAttached, s.Event.Kind == redemption.Cancelled, s.Event.Kind == redemption.Lapsed,
		s.Event.Kind == redemption.Refunded, s.Event.Kind == redemption.PaymentBegun:
		return store.Settled{}, store.ErrNotFound
	}
	return store.Settled{}, nil
}

// Causes in the journal that are not names of events.
const (
	repeatedCause = "refund_repeated" // a new attempt at the processor begins
	secondCause   = "paid_twice"      // a second payment of an order
	unknownCause  = "unknown_payment" // a payment whose order is not in the store
	adoptedCause  = "adopted"         // an order that was known from its payment alone is reserved
)

func (w *work) change(o redemption.Order, s store.Settlement) (store.Settled, error) {
	learned := w.learned(o.ID, s.Event)
	next, uses, err := o.After(s.Event, w.usesOf(o.ID)...)
	switch {
	case err != nil && s.Event.Kind == redemption.SessionAttached:
		return store.Settled{}, fmt.Errorf("%w: %w", store.ErrSuperseded, err)
	case errors.Is(err, redemption.ErrOtherRefund):
		return store.Settled{}, fmt.Errorf("%w: %w", store.ErrKeyReused, err)
	case err != nil:
		return store.Settled{}, err
	case next.Version == o.Version:
		return store.Settled{Order: o, Uses: uses}, nil
	}
	st := new(step)
	st.change(w, next, uses...)
	if len(learned) > 0 {
		w.flag(st, next, uses)
	}
	w.make(st)
	cause := s.Event.Kind.String()
	switch {
	case o.State.Paid() && len(next.OtherPayments) > len(o.OtherPayments):
		cause = secondCause
	case o.State.Paid() && len(learned) > 0:
		cause = learnedCause
	case o.State.Paid() && s.Event.Kind == redemption.Paid:
		cause = chargedCause
	case s.Event.Kind == redemption.Refunded && len(next.Refunds) == len(o.Refunds):
		cause = repeatedCause
	}
	w.noteOrder(cause, next, s.By)
	return store.Settled{Order: next, Uses: uses, Changed: true}, nil
}

func (w *work) applyToUse(s store.Settlement) (store.Settled, error) {
	row := w.uses[s.Event.UseID]
	if row == nil {
		return store.Settled{}, store.ErrNotFound
	}
	before := row.use
	next, err := before.After(s.Event)
	if err != nil {
		return store.Settled{}, err
	}
	changed := next.Version != before.Version
	if changed {
		st := new(step)
		st.change(w, redemption.Order{}, next)
		w.make(st)
		kind := store.PointsChanged
		if next.PointsState == redemption.PointsRefunded {
			kind = store.PointsGivenBack
		}
		w.noteUse(kind, s.Event.Kind.String(), next, s.By)
	}
	return store.Settled{Uses: []redemption.Use{next}, Changed: changed}, nil
}

// ApplyLate applies one event, like [Apply]. ApplyLate also applies the payments for which
// Apply returns [ErrAlone].
func ApplyLate(ctx context.Context, tx Tx, row int, s store.Settlement) (store.Settled, error) {
	n := lateNeed(s)
	if err := n.successors(ctx, tx, s.Event); err != nil {
		return store.Settled{}, err
	}
	w := newWork(row)
	if err := w.load(ctx, tx, n.sorted()); err != nil {
		return store.Settled{}, err
	}
	id, found := w.find(s.Event)
	found = found && s.Event.UseID == ""
	if !found && s.Event.UseID == "" && s.Event.Kind == redemption.Paid {
		return w.recordUnknown(ctx, tx, s)
	}
	if !found || !late(w.orders[id].order, s.Event) {
		if err := errors.Join(w.loadLearned(ctx, tx, s), w.loadAwaited(ctx, tx, s)); err != nil {
			return store.Settled{}, err
		}
		settled, err := w.apply(s) // this is not a payment, or another call was faster
		return settled, errors.Join(err, w.save(ctx, tx))
	}
	last, err := w.lastOf(id)
	if err != nil {
		return store.Settled{}, err
	}
	if err := w.loadCounters(ctx, tx, w.learned(id, s.Event), id, last); err != nil {
		return store.Settled{}, err
	}
	settle := w.payLate
	if s.Event.Kind == redemption.PaymentPending {
		settle = w.resume
	}
	settled, err := settle(id, last, s)
	return settled, errors.Join(err, w.save(ctx, tx))
}

func lateNeed(s store.Settlement) Need {
	n := applyNeed([]store.Settlement{s}, false)
	if o := s.Unknown.Order; !o.IsZero() {
		n.OrderIDs = append(n.OrderIDs, o.ID)
		for _, u := range s.Unknown.Uses {
			n.UseIDs = append(n.UseIDs, u.ID)
		}
	}
	return n.sorted()
}

// successors adds the chain of orders that replaced the order of an event. It reads them without locks.
// All orders are then locked together, in the order of their IDs.
func (n *Need) successors(ctx context.Context, tx Tx, e redemption.Event) error {
	seen := newWork(0)
	if err := seen.load(ctx, tx, Need{Peek: true, OrderIDs: n.OrderIDs, Sessions: n.Sessions}); err != nil {
		return err
	}
	id, found := seen.find(e)
	for found && seen.orders[id].order.ReplacedBy != "" {
		id = seen.orders[id].order.ReplacedBy
		if err := seen.load(ctx, tx, Need{Peek: true, OrderIDs: []string{id}}); err != nil {
			return err
		}
		n.OrderIDs = append(n.OrderIDs, id)
		found = seen.orders[id] != nil
	}
	return nil
}

// lastOf returns the last order in the chain of replacements, or "" if the order was not replaced. If
// the chain has grown since successors read it, lastOf returns [ErrAgain].
func (w *work) lastOf(id string) (last string, err error) {
	for next := w.orders[id].order.ReplacedBy; next != ""; next = w.orders[next].order.ReplacedBy {
		if w.orders[next] == nil {
			return "", ErrAgain
		}
		last = next
	}
	return last, nil
}

// loadCounters locks the coupons and counters of orders, and the counters of learned claims.
func (w *work) loadCounters(ctx context.Context, tx Tx, learned []eligibility.Claim, orders ...string) error {
	var n Need
	n.customers(learned)
	for _, id := range orders {
		if row := w.orders[id]; row != nil {
			n.claims("", row.order.Claims)
		}
		for _, u := range w.usesOf(id) {
			n.Coupons = append(n.Coupons, u.CouponID)
			n.claims(u.CouponID, u.Claims)
		}
	}
	return w.load(ctx, tx, n.sorted())
}

// payLate completes a canceled order. The customer has paid, so the order takes its claims even if they
// exceed a limit. The open order that replaced it is canceled first.
func (w *work) payLate(id, last string, s store.Settlement) (store.Settled, error) {
	o := w.orders[id].order
	next, uses, err := o.After(s.Event, w.usesOf(id)...)
	if err != nil {
		return store.Settled{}, err
	}
	st := new(step)
	ended, err := w.makeRoom(st, last, id, s.Event.At, uses)
	if err != nil {
		return store.Settled{}, err
	}
	st.change(w, next, uses...)
	w.flag(st, next, uses)
	return w.won(st, next, uses, ended, s), nil
}

// resume returns the claims of a replaced order, because its payment is on its way. The replacing order
// is canceled if it is open and its payment has not begun. If it cannot be canceled, or if the claims
// do not fit, nothing changes. The claims return only after a fresh answer of the processor. After any
// other event, the order is marked so that the processor is asked.
func (w *work) resume(id, last string, s store.Settlement) (store.Settled, error) {
	o, before := w.orders[id].order, w.usesOf(id)
	unchanged := store.Settled{Order: o, Uses: before}
	if row := w.orders[last]; row == nil || row.order.State != redemption.OrderOpen || !row.order.BegunAt.IsZero() {
		return unchanged, nil
	}
	if !o.Fresh(s.Event) {
		return w.ask(o, before, s), nil
	}
	next, uses, err := o.Resume(s.Event, before...)
	if err != nil {
		return store.Settled{}, err
	}
	st := new(step)
	ended, err := w.makeRoom(st, last, id, s.Event.At, uses)
	if err != nil {
		return store.Settled{}, err
	}
	st.change(w, next, uses...)
	if len(st.exceeded(w, claimsOf(&store.Reservation{Order: next, Uses: uses}))) > 0 {
		return unchanged, nil
	}
	return w.won(st, next, uses, ended, s), nil
}

// ask marks a replaced order so that the processor is asked about its payment.
func (w *work) ask(o redemption.Order, uses []redemption.Use, s store.Settlement) store.Settled {
	next := o.Ask(s.Event)
	if next.Version == o.Version {
		return store.Settled{Order: o, Uses: uses}
	}
	st := new(step)
	st.change(w, next, uses...)
	w.make(st)
	w.noteOrder("payment_to_ask", next, s.By)
	return store.Settled{Order: next, Uses: uses, Changed: true}
}

// makeRoom cancels the open order that replaced another order, as part of a step. The uses of the older
// order get their points back. It returns the zero value if there is no open order.
func (w *work) makeRoom(st *step, last, older string, at time.Time, uses []redemption.Use) (redemption.Order, error) {
	row := w.orders[last]
	if row == nil || row.order.State != redemption.OrderOpen && row.order.State != redemption.OrderEnding {
		return redemption.Order{}, nil
	}
	ended, released, err := row.order.Replace(older, at, w.usesOf(last)...)
	if err != nil {
		return redemption.Order{}, err
	}
	ended.ReplacedBy = "" // the older order is paid, so the newer order replaces nothing
	st.change(w, ended, passBack(uses, released)...)
	return ended, nil
}

// won makes a step in which an order is paid. The order that replaced it, if any, ends.
func (w *work) won(
	st *step, o redemption.Order, uses []redemption.Use, ended redemption.Order, s store.Settlement,
) store.Settled {
	w.make(st)
	settled := store.Settled{Order: o, Uses: uses, Changed: true}
	if !ended.IsZero() {
		w.noteOrder("superseded_by_payment", ended, s.By)
		settled.Ended = []store.Settled{{Order: ended, Uses: w.usesOf(ended.ID), Changed: true}}
	}
	w.noteOrder(s.Event.Kind.String(), o, s.By)
	return settled
}

// passBack moves the points of the released uses to the uses of the same exchanges. Points of other
// exchanges are to be refunded.
func passBack(uses, released []redemption.Use) []redemption.Use {
	for i, r := range released {
		if r.PointsState != redemption.PointsPassedOn {
			continue
		}
		at := slices.IndexFunc(uses, func(u redemption.Use) bool { return u.ExchangeID == r.ExchangeID })
		if at < 0 {
			released[i].PointsState = redemption.PointsRefundDue
			continue
		}
		uses[at].PointsState = redemption.PointsDebited
	}
	return released
}

// flag marks uses whose claims exceed a limit. If the order's own claims exceed a limit, it marks the
// uses of coupons for first orders. If no such coupon is known, it marks all uses. The uses must be the
// last uses of the step.
func (w *work) flag(st *step, o redemption.Order, uses []redemption.Use) {
	later := len(st.exceeded(w, o.Claims)) > 0
	first := func(u redemption.Use) bool { return isForFirstOrders(o, u.CouponID) }
	unknown := !slices.ContainsFunc(uses, first)
	for i := range uses {
		over := later && (unknown || first(uses[i])) || len(st.exceeded(w, uses[i].Claims)) > 0
		uses[i].OverLimit = uses[i].OverLimit || over
	}
	copy(st.uses[len(st.uses)-len(uses):], uses)
}

// isForFirstOrders reports whether a coupon of the order is for first orders.
func isForFirstOrders(o redemption.Order, couponID string) bool {
	return slices.ContainsFunc(o.Coupons, func(c coupon.Snapshot) bool { return c.ID == couponID && c.Conditions.FirstOrder })
}

// recordUnknown stores a payment whose order is not in the store.
func (w *work) recordUnknown(ctx context.Context, tx Tx, s store.Settlement) (store.Settled, error) {
	if s.Unknown.Order.IsZero() {
		return store.Settled{}, nil
	}
	if w.idTaken(&s.Unknown) {
		return store.Settled{}, store.ErrConflict
	}
	var n Need
	n.claims("", s.Unknown.Order.Claims)
	for _, u := range s.Unknown.Uses {
		n.Coupons = append(n.Coupons, u.CouponID)
		n.claims(u.CouponID, u.Claims)
	}
	if err := w.load(ctx, tx, n.sorted().late()); err != nil {
		return store.Settled{}, err
	}
	if err := w.stillUnknown(ctx, tx, s); err != nil {
		return store.Settled{}, err
	}
	paid := store.Settled{Order: s.Unknown.Order, Uses: slices.SortedFunc(slices.Values(s.Unknown.Uses), compareUses), Changed: true}
	st := new(step)
	st.create(paid.Order, paid.Uses...)
	w.flag(st, paid.Order, paid.Uses)
	w.make(st)
	w.noteOrder(unknownCause, paid.Order, s.By)
	return paid, w.save(ctx, tx)
}

// stillUnknown returns [ErrAgain] if the order of the payment was stored while this transaction waited
// for counters.
func (w *work) stillUnknown(ctx context.Context, tx Tx, s store.Settlement) error {
	n := lateNeed(s)
	n.Peek = true
	if err := w.load(ctx, tx, n); err != nil {
		return err
	}
	if _, found := w.find(s.Event); found || w.idTaken(&s.Unknown) {
		return ErrAgain
	}
	return nil
}
