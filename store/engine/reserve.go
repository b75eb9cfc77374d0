package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Reserve handles normalized and validated reservations and saves the changes. It sorts their uses. The transaction
// adds to the given row of unlimited counters. If thorough is true, Reserve also looks for IDs that are
// taken. Stores set thorough after [ErrAgain].
func Reserve(
	ctx context.Context, tx Tx, row int, thorough bool, requests ...*store.Reservation,
) ([]Answer[store.Reserved], error) {
	w := newWork(row)
	if err := w.loadReservations(ctx, tx, thorough, requests); err != nil {
		return nil, err
	}
	answers := make([]Answer[store.Reserved], len(requests))
	for i, r := range requests {
		answers[i].Value, answers[i].Err = w.reserve(r)
	}
	if err := w.lookAgain(ctx, tx, requests, answers); err != nil {
		return nil, err
	}
	return answers, w.save(ctx, tx)
}

// lookAgain checks refused requests again: their keys, exchanges and counters. Another transaction may
// have inserted these while this one waited for a lock. The rows of Load are then from two instants,
// and lookAgain returns [ErrAgain]. It also returns ErrAgain if the order turns out to be known from its
// payment, because the payment has made claims of the request already.
func (w *work) lookAgain(ctx context.Context, tx Tx, requests []*store.Reservation, answers []Answer[store.Reserved]) error {
	n := Need{Peek: true}
	for i, r := range requests {
		if refused(answers[i]) {
			n.names(r)
			n.Counters = append(n.Counters, w.absentOf(r, answers[i].Err)...)
			if !r.Order.IsZero() && w.orders[r.Order.ID] == nil {
				n.OrderIDs = append(n.OrderIDs, r.Order.ID)
			}
		}
	}
	if len(n.OrderKeys) == 0 && len(n.UseKeys) == 0 && len(n.Exchanges) == 0 && len(n.Counters) == 0 {
		return nil
	}
	held := map[string]bool{}
	for _, exchange := range n.Exchanges {
		_, held[exchange] = w.holder(exchange)
	}
	rows, err := tx.Load(ctx, n.sorted())
	if err != nil {
		return err
	}
	if len(rows.Counts) > 0 {
		return ErrAgain
	}
	w.add(n, rows)
	for i, r := range requests {
		if refused(answers[i]) && (w.appeared(r, held) || w.paidMeanwhile(r, n.OrderIDs)) {
			return ErrAgain
		}
	}
	return nil
}

func refused(a Answer[store.Reserved]) bool {
	return a.Err != nil && !errors.Is(a.Err, store.ErrKeyReused)
}

// absentOf returns the missing counters that the answer to a request depends on.
func (w *work) absentOf(r *store.Reservation, answer error) (absent []string) {
	if !errors.Is(answer, store.ErrLimit) {
		return nil
	}
	for _, c := range claimsOf(r) {
		if c.Limit > 0 && w.absent[c.Counter] {
			absent = append(absent, c.Counter)
		}
	}
	return absent
}

// appeared reports whether another transaction has stored a record under a key of the request, or has
// taken points that were free.
func (w *work) appeared(r *store.Reservation, held map[string]bool) bool {
	if id, used := w.keys[Key{r.Order.CustomerID, r.Order.Key}]; used && !w.orders[id].added {
		return true
	}
	return slices.ContainsFunc(r.Uses, func(u redemption.Use) bool {
		if id, used := w.useKeys[Key{u.CustomerID, u.Key}]; used && !w.uses[id].added {
			return true
		}
		if u.ExchangeID == "" || r.Order.IsZero() || held[u.ExchangeID] {
			return false
		}
		now, found := w.holder(u.ExchangeID)
		return found && !w.uses[now.ID].added
	})
}

// paidMeanwhile reports whether the order of the request, which was absent, is known from its payment.
func (w *work) paidMeanwhile(r *store.Reservation, absent []string) bool {
	row := w.orders[r.Order.ID]
	return row != nil && slices.Contains(absent, r.Order.ID) && row.order.FromPayment()
}

// loadReservations loads in one step. It needs two steps if orders or points are taken over: their
// counters are known only from the records, and all counters are locked together.
func (w *work) loadReservations(ctx context.Context, tx Tx, thorough bool, requests []*store.Reservation) error {
	var n Need
	for _, r := range requests {
		n.reservation(r, thorough)
	}
	n = n.sorted()
	if len(n.OrderIDs) == 0 && len(n.Exchanges) == 0 {
		return w.load(ctx, tx, n.late())
	}
	counters := Need{Counters: n.Counters, Free: n.Free}
	n.Counters, n.Free = nil, nil
	if thorough {
		if err := n.awaited(ctx, tx, requests); err != nil {
			return err
		}
	}
	if err := w.load(ctx, tx, n); err != nil {
		return err
	}
	if !thorough && w.lacksAwaited(requests) {
		return ErrAgain
	}
	for _, row := range w.orders {
		counters.claims("", row.order.Claims)
	}
	for _, row := range w.uses {
		counters.claims(row.use.CouponID, row.use.Claims)
	}
	for _, r := range requests { // with the identities of earlier payments
		if taken := (store.Reserved{Order: r.Order, Uses: r.Uses}); w.adopt(&taken) {
			counters.claims("", taken.Order.Claims)
			for _, u := range taken.Uses {
				counters.claims(u.CouponID, u.Claims)
			}
		}
	}
	return w.load(ctx, tx, counters.sorted().late())
}

// awaited adds the orders that replaced orders wait for. It reads the replaced orders without locks. All orders
// are then locked together, in the order of their IDs.
func (n *Need) awaited(ctx context.Context, tx Tx, requests []*store.Reservation) error {
	replaced := Need{Peek: true}
	for _, r := range requests {
		if r.Order.Replaces != "" {
			replaced.OrderIDs = append(replaced.OrderIDs, r.Order.Replaces)
		}
	}
	if len(replaced.OrderIDs) == 0 {
		return nil
	}
	rows, err := tx.Load(ctx, replaced.sorted())
	if err != nil {
		return err
	}
	for _, o := range rows.Orders {
		if o.Awaits != "" {
			n.OrderIDs = append(n.OrderIDs, o.Awaits)
		}
	}
	n.sorted()
	return nil
}

// lacksAwaited reports whether a request replaces an order that waits for an order which is not loaded. Locking
// that order afterwards would break the sequence of locks.
func (w *work) lacksAwaited(requests []*store.Reservation) bool {
	return slices.ContainsFunc(requests, func(r *store.Reservation) bool {
		row := w.orders[r.Order.Replaces]
		return row != nil && row.order.BegunAt.IsZero() && row.order.Awaits != "" && w.orders[row.order.Awaits] == nil
	})
}

// load loads the rows of a need, and adds them to the work.
func (w *work) load(ctx context.Context, tx Tx, n Need) error {
	rows, err := tx.Load(ctx, n)
	if err != nil {
		return err
	}
	w.add(n, rows)
	return nil
}

// reserve decides one reservation over the loaded rows, and applies it to them.
func (w *work) reserve(r *store.Reservation) (store.Reserved, error) {
	before, replayed, err := w.replayed(r)
	if err != nil || replayed {
		return before, err
	}
	s := new(step)
	if err := w.takeOver(s, r); err != nil {
		return store.Reserved{}, err
	}
	if err := w.usable(r); err != nil {
		return store.Reserved{}, err
	}
	slices.SortFunc(r.Uses, compareUses)
	taken := store.Reserved{Order: r.Order, Uses: r.Uses}
	adopted := w.adopt(&taken)
	if adopted {
		s.change(w, taken.Order, taken.Uses...)
	} else {
		w.await(&taken)
		s.create(taken.Order, taken.Uses...)
	}
	if exceeded := s.exceeded(w, claimsOf(r)); len(exceeded) > 0 {
		return store.Reserved{}, &store.LimitError{Exceeded: exceeded}
	}
	if !adopted && w.idTaken(r) { // after the other checks: without the thorough run, only Save finds out
		return store.Reserved{}, store.ErrConflict
	}
	w.make(s)
	w.noteReserved(s, taken, r.By)
	if id := r.Order.Replaces; id != "" {
		taken.Ended = []store.Settled{{Order: w.orders[id].order, Uses: w.usesOf(id), Changed: true}}
	}
	return taken, nil
}

// adopt turns a reservation into a paid order if the order is already known from its payment.
func (w *work) adopt(taken *store.Reserved) bool {
	row := w.orders[taken.Order.ID]
	if row == nil || taken.Order.IsZero() {
		return false
	}
	o, uses, adopted := taken.Order.Adopt(row.order, len(row.uses) > 0, taken.Uses...)
	if adopted {
		taken.Order, taken.Uses = o, uses
	}
	return adopted
}

// await sets the order whose payment must end before the payment of a new order begins. This is the
// replaced order, or the order that the replaced order waits for. Until then, the new order also holds
// what that order has held, so that nobody else can take it before a late payment.
func (w *work) await(taken *store.Reserved) {
	o := &taken.Order
	if o.Replaces == "" {
		return
	}
	replaced := w.orders[o.Replaces].order
	o.Awaits = replaced.Awaits
	if !replaced.BegunAt.IsZero() {
		o.Awaits = replaced.ID
	}
	if o.Awaits == "" {
		return
	}
	o.BegunAt = time.Time{}
	if row := w.orders[o.Awaits]; row != nil && !w.isOver(o.Awaits) {
		*o = o.Keep(taken.Uses, row.order, w.usesOf(o.Awaits)...)
	}
}

func (w *work) noteReserved(s *step, taken store.Reserved, by string) {
	for _, o := range s.orders {
		if o.ID != taken.Order.ID {
			w.noteOrder("replaced", o, by)
		}
	}
	if taken.Order.IsZero() {
		w.noteUse(store.PointsReserved, "reserved", taken.Uses[0], by)
		return
	}
	for _, u := range s.uses {
		switch {
		case u.OrderID == "": // a points reservation that the order has taken over
			w.noteUse(store.PointsChanged, "checked_out", u, by)
		case !slices.ContainsFunc(s.orders, func(o redemption.Order) bool { return o.ID == u.OrderID }):
			w.noteUse(store.PointsChanged, "passed_back", u, by)
		}
	}
	cause := "opened"
	if taken.Order.State.Paid() {
		cause = adoptedCause
	}
	w.noteOrder(cause, taken.Order, by)
}

func claimsOf(r *store.Reservation) []eligibility.Claim {
	count := len(r.Order.Claims)
	for i := range r.Uses {
		count += len(r.Uses[i].Claims)
	}
	claims := append(make([]eligibility.Claim, 0, count), r.Order.Claims...)
	for i := range r.Uses {
		claims = append(claims, r.Uses[i].Claims...)
	}
	return claims
}

// replayed returns the first result of a key, or the points reservation that the customer already has.
func (w *work) replayed(r *store.Reservation) (store.Reserved, bool, error) {
	if o := r.Order; !o.IsZero() {
		id, used := w.keys[Key{o.CustomerID, o.Key}]
		if !used {
			return store.Reserved{}, false, nil
		}
		first := w.orders[id].order
		if first.Fingerprint != o.Fingerprint {
			return store.Reserved{}, false, store.ErrKeyReused
		}
		return store.Reserved{Order: first, Uses: w.usesOf(id), Replayed: true}, true, nil
	}
	u := r.Uses[0]
	if id, used := w.useKeys[Key{u.CustomerID, u.Key}]; used {
		first := w.uses[id].use
		if first.CouponID != u.CouponID {
			return store.Reserved{}, false, store.ErrKeyReused
		}
		return store.Reserved{Uses: []redemption.Use{first}, Replayed: true}, true, nil
	}
	if held, found := w.free(u.CouponID, u.CustomerID); found {
		return store.Reserved{Uses: []redemption.Use{held}, Replayed: true}, true, nil
	}
	return store.Reserved{}, false, nil
}

// free returns the oldest points reservation of the coupon that is in no checkout.
func (w *work) free(couponID, customerID string) (found redemption.Use, ok bool) {
	for _, id := range sortedKeys(w.uses) {
		u := w.uses[id].use
		mine := u.CouponID == couponID && u.CustomerID == customerID
		if !mine || u.State != redemption.Reserved || u.OrderID != "" || u.Origin != redemption.FromPoints {
			continue
		}
		if !ok || u.CreatedAt.Before(found.CreatedAt) {
			found, ok = u, true
		}
	}
	return found, ok
}

func (w *work) idTaken(r *store.Reservation) bool {
	if !r.Order.IsZero() && w.orders[r.Order.ID] != nil {
		return true
	}
	return slices.ContainsFunc(r.Uses, func(u redemption.Use) bool { return w.uses[u.ID] != nil })
}

// takeOver adds the records that the reservation takes over to the step: the replaced order and points
// reservations.
func (w *work) takeOver(s *step, r *store.Reservation) error {
	if id := r.Order.Replaces; id != "" {
		row := w.orders[id]
		if row == nil || row.order.CustomerID != r.Order.CustomerID {
			return store.ErrNotFound
		}
		replaced, uses, err := row.order.Replace(r.Order.ID, r.Order.CreatedAt, w.usesOf(id)...)
		if err != nil {
			return store.ErrSuperseded
		}
		s.change(w, replaced, w.keepPoints(s, r, uses)...)
	}
	for _, u := range r.Uses {
		if u.ExchangeID == "" || r.Order.IsZero() {
			continue
		}
		if err := w.takePoints(s, r, u); err != nil {
			return err
		}
	}
	return nil
}

// keepPoints marks the points of a replaced order for a refund if the new order does not use them. An order
// that can perhaps still be paid keeps them until the end of its payment, or has them back.
func (w *work) keepPoints(s *step, r *store.Reservation, uses []redemption.Use) []redemption.Use {
	replaced := w.orders[r.Order.Replaces].order
	for i, u := range uses {
		wanted := slices.ContainsFunc(r.Uses, func(v redemption.Use) bool { return v.ExchangeID == u.ExchangeID })
		if u.PointsState != redemption.PointsPassedOn || wanted {
			continue
		}
		switch awaited, found := w.awaitedUse(replaced, u.ExchangeID); {
		case !replaced.BegunAt.IsZero():
			uses[i].PointsState = redemption.PointsDebited
		case found:
			s.change(w, redemption.Order{}, awaited.TakeBack(r.Order.CreatedAt))
		default:
			uses[i].PointsState = redemption.PointsRefundDue
		}
	}
	return uses
}

// awaitedUse returns the use of an exchange in the order that a replaced order waits for, if that order can
// perhaps still be paid.
func (w *work) awaitedUse(replaced redemption.Order, exchangeID string) (redemption.Use, bool) {
	if replaced.Awaits == "" || w.isOver(replaced.Awaits) {
		return redemption.Use{}, false
	}
	for _, u := range w.usesOf(replaced.Awaits) {
		if u.ExchangeID == exchangeID && u.PointsState == redemption.PointsPassedOn {
			return u, true
		}
	}
	return redemption.Use{}, false
}

// takePoints adds the points reservation of a use to the step. The reservation is free, or it belongs
// to the replaced order.
func (w *work) takePoints(s *step, r *store.Reservation, u redemption.Use) error {
	held, found := w.holder(u.ExchangeID)
	switch {
	case !found || held.CustomerID != u.CustomerID || held.CouponID != u.CouponID:
		return store.ErrNotFound
	case held.OrderID != "" && held.OrderID == r.Order.Replaces:
		return nil // the step already has it
	case !held.Free():
		return store.ErrSuperseded
	}
	s.change(w, redemption.Order{}, held.PassOn(r.Order.CreatedAt))
	return nil
}

// holder returns the use that has the points of an exchange.
func (w *work) holder(exchangeID string) (redemption.Use, bool) {
	for _, row := range w.uses {
		if row.use.ExchangeID == exchangeID && row.use.State == redemption.Reserved {
			return row.use, true
		}
	}
	return redemption.Use{}, false
}

// usable refuses coupons that have changed since they were priced.
func (w *work) usable(r *store.Reservation) error {
	for _, want := range r.Coupons {
		c, found := w.coupons[want.ID]
		switch {
		case !found:
			return coupon.Reject(want.ID, coupon.CouponNotFound, coupon.Params{})
		case c.State != coupon.Active:
			return coupon.Reject(want.ID, coupon.CouponInactive, coupon.Params{})
		case want.Revision != 0 && want.Revision != c.Revision:
			return store.ErrStaleRevision
		case c.Unlimited && limits(r, eligibility.CouponUses(want.ID)):
			return store.ErrStaleRevision // the stored terms do not have this limit
		}
		if err := w.usableCode(want); err != nil {
			return err
		}
	}
	return nil
}

// usableCode refuses a code that has changed since the decision about it.
func (w *work) usableCode(want store.CouponAt) error {
	if want.Code.IsZero() {
		return nil
	}
	switch code, found := w.codes[CodeKey{want.ID, want.Code.String()}]; {
	case !found:
		return coupon.Reject(want.ID, coupon.CouponNotFound, coupon.Params{})
	case !code.Active:
		return coupon.Reject(want.ID, coupon.CouponInactive, coupon.Params{})
	case want.CodeRevision != 0 && want.CodeRevision != code.Revision:
		return store.ErrStaleRevision
	}
	return nil
}

func limits(r *store.Reservation, counter string) bool {
	return slices.ContainsFunc(claimsOf(r), func(c eligibility.Claim) bool { return c.Counter == counter && c.Limit > 0 })
}
