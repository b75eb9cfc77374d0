package simulation

import (
	"errors"
	"reflect"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book is what the checks have seen of a shop, and what follows from it. It is kept
// from what the store shows, never from what a caller was told.
type book struct {
	coupons     map[string]coupon.Coupon
	redemptions map[string]redemption.Redemption
	orders      map[string]store.Order
	codes       map[coupon.Code]string
	terms       map[terms]coupon.Snapshot // of every revision that was seen
	tallies     map[string]*tally         // by coupon
	completed   map[string]string         // redemption by session
	accounts    map[string]*account       // by customer
	sessions    map[string]struct{}
	answered    map[string]string   // order by customer and key
	givenUp     map[string]struct{} // reservations that their customers asked to cancel
	endedBy     map[string]*task    // checkouts by the open session that they have ended
	unscanned   int                 // effects since the shop was read as a whole
}

type terms struct {
	coupon   string
	revision int64
}

// tally counts the rows of a coupon.
type tally struct {
	completed, live int64
	byCustomer      map[string]int64
}

// account sums the points of a customer's rows.
type account struct {
	credited         bool
	debited, pending int64
	elsewhere        int64 // spent on something else, and that thing's number
	thing            int
}

func newBook() book {
	return book{
		coupons: make(map[string]coupon.Coupon), redemptions: make(map[string]redemption.Redemption),
		orders: make(map[string]store.Order), codes: make(map[coupon.Code]string), terms: make(map[terms]coupon.Snapshot),
		tallies: make(map[string]*tally), completed: make(map[string]string), accounts: make(map[string]*account),
		sessions: make(map[string]struct{}), answered: make(map[string]string), givenUp: make(map[string]struct{}),
		endedBy: make(map[string]*task),
	}
}

func (b *book) tally(couponID string) *tally {
	t, known := b.tallies[couponID]
	if !known {
		t = &tally{byCustomer: make(map[string]int64)}
		b.tallies[couponID] = t
	}
	return t
}

func (b *book) account(customerID string) *account {
	a, known := b.accounts[customerID]
	if !known {
		a = &account{}
		b.accounts[customerID] = a
	}
	return a
}

// inspect looks at what was touched since the last time.
func (w *world) inspect() {
	for _, s := range w.shops {
		halfDone := w.active == nil && slices.ContainsFunc(w.tasks, func(t *task) bool { return t.shop == s && t.call == paused })
		if s.touched.effects == 0 && len(s.touched.customers) == 0 && len(s.touched.sessions) == 0 && !halfDone {
			continue
		}
		t := s.touched
		s.touched = touched{}
		s.book.unscanned += t.effects
		w.inspectTouched(s, t)
		if halfDone || s.book.unscanned >= w.config.ScanEvery {
			w.scanShop(s)
		}
	}
}

func (w *world) inspectTouched(s *shop, t touched) {
	changed := false
	for _, id := range t.coupons {
		changed = w.lookAtCoupon(s, id) || changed
	}
	for i := 0; i < len(t.redemptions); i++ {
		id := t.redemptions[i]
		t.orders = append(t.orders, s.book.redemptions[id].OrderID)
		changed = w.lookAtRedemption(s, id) || changed
		t.orders = append(t.orders, s.book.redemptions[id].OrderID)
		t.coupons = append(t.coupons, s.book.redemptions[id].CouponID)
	}
	for _, id := range t.orders {
		changed = w.lookAtOrder(s, id) || changed
	}
	for _, id := range t.coupons {
		_ = w.lookAtCoupon(s, id)
		w.checkCounts(s, id)
	}
	for _, id := range t.customers {
		w.checkPoints(s, id)
	}
	for _, id := range t.sessions {
		w.checkSession(s, id)
	}
	if changed && t.failed != nil {
		w.fail(ErrorsChangeNothing, "a call of the store answered %q and has changed something", t.failed)
	}
}

// lookAtCoupon reads a coupon again and reports whether it is not as it was.
func (w *world) lookAtCoupon(s *shop, id string) bool {
	before, known := s.book.coupons[id]
	if id == "" {
		return false
	}
	now, err := s.eyes.Coupon(background(), id)
	if errors.Is(err, coupon.ErrNotFound) {
		if known {
			w.couponGone(s, before)
		}
		return known
	}
	if err != nil {
		w.fail(NoSurprise, "read coupon %s: %v", id, err)
		return false
	}
	return w.sawCoupon(s, now)
}

func (w *world) couponGone(s *shop, before coupon.Coupon) {
	w.coverage.count("coupon", before.State.String(), "deleted")
	if before.State != coupon.Deleting {
		w.fail(StatesMoveForward, "coupon %s is gone, and was %s", before.ID, before.State)
	}
	delete(s.book.coupons, before.ID)
	delete(s.book.codes, before.Code)
	s.deleted[before.Code.String()] = true
}

func (w *world) sawCoupon(s *shop, now coupon.Coupon) bool {
	before, known := s.book.coupons[now.ID]
	if other, taken := s.book.codes[now.Code]; taken && other != now.ID {
		w.fail(CodesAreUnique, "coupons %s and %s have code %s", other, now.ID, now.Code)
	}
	if known && before.State == now.State && before.Revision == now.Revision && before.Mirror == now.Mirror {
		s.book.coupons[now.ID] = now
		return false
	}
	from := "new"
	if known {
		from = before.State.String()
	}
	w.coverage.count("coupon", from, now.State.String())
	if known && (now.Revision < before.Revision || before.State == coupon.Deleting && now.State != coupon.Deleting ||
		before.State != coupon.Pending && now.State == coupon.Pending) {
		w.fail(StatesMoveForward, "coupon %s was %s at revision %d, and is %s at %d", now.ID, before.State, before.Revision, now.State, now.Revision)
	}
	s.book.coupons[now.ID] = now
	s.book.codes[now.Code] = now.ID
	s.book.terms[terms{now.ID, now.Revision}] = now.Snapshot()
	return true
}

// lookAtRedemption reads a redemption again and reports whether it is not as it was.
func (w *world) lookAtRedemption(s *shop, id string) bool {
	if id == "" {
		return false
	}
	now, err := s.eyes.Redemption(background(), id)
	switch _, known := s.book.redemptions[id]; {
	case errors.Is(err, store.ErrNotFound):
		if known {
			w.fail(RowsStay, "redemption %s is gone", id)
		}
		return false
	case err != nil:
		w.fail(NoSurprise, "read redemption %s: %v", id, err)
		return false
	}
	return w.sawRedemption(s, now)
}

func (w *world) sawRedemption(s *shop, now redemption.Redemption) bool {
	before := s.book.redemptions[now.ID]
	if now.Equal(before) {
		return false
	}
	w.countTransition(before, now)
	w.checkTransition(before, now)
	s.book.redemptions[now.ID] = now
	s.book.take(before, -1)
	s.book.take(now, +1)
	if now.CouponID != "" {
		_ = w.lookAtCoupon(s, now.CouponID)
	}
	w.checkPlace(s, before, now)
	w.checkCompleted(s, before, now)
	w.checkReleased(s, before, now)
	w.checkKept(s, before, now)
	w.checkLeaving(s, before, now)
	w.checkPoints(s, now.CustomerID)
	return true
}

// take adds a row to the sums, or takes it out of them.
func (b *book) take(r redemption.Redemption, sign int64) {
	if r.ID == "" {
		return
	}
	completed, live := r.Counts()
	t := b.tally(r.CouponID)
	t.completed += sign * completed
	t.live += sign * live
	t.byCustomer[r.CustomerID] += sign * (completed + live)
	switch a := b.account(r.CustomerID); r.PointsState {
	case redemption.PointsDebited:
		a.debited += sign * r.Points
	case redemption.PointsPending, redemption.PointsRefundDue:
		a.pending += sign * r.Points
	case redemption.NoPoints, redemption.PointsRefunded:
	}
}

func (w *world) countTransition(before, now redemption.Redemption) {
	from := "none"
	if before.ID != "" {
		from = before.State.String()
	}
	w.coverage.count("redemption", from, now.State.String())
	if before.PointsState != now.PointsState {
		w.coverage.count("points", before.PointsState.String(), now.PointsState.String())
	}
	switch {
	case before.ID == "":
		w.coverage.count("origin", now.Origin.String(), "")
	case before.OrderID != now.OrderID && before.SessionID != "":
		w.coverage.count("redemption", "reserved", "taken over from another session")
	case before.OrderID != now.OrderID:
		w.coverage.count("redemption", "reserved", "taken into a checkout")
	case !now.LeavingUntil.IsZero() && before.LeavingUntil.IsZero():
		w.coverage.count("redemption", "reserved", "leaving its session")
	case now.Live() && !now.LeavingUntil.IsZero() && now.Deadline.Before(before.Deadline):
		w.coverage.count("redemption", "reserved", "kept when its session expires")
	case now.AwaitingPayment && !before.AwaitingPayment:
		w.coverage.count("redemption", "reserved", "awaiting payment")
	case before.SessionID == "" && now.SessionID != "" && now.State == redemption.Reserved:
		w.coverage.count("redemption", "reserved", "in a session")
	}
	if now.OverLimit && !before.OverLimit {
		w.coverage.count("redemption", "completed", "over the limit")
	}
	if now.State == redemption.Completed && before.State != redemption.Completed && now.PointsState > redemption.PointsDebited {
		w.coverage.count("redemption", "completed", "after the refund of its points")
	}
}

// lookAtOrder reads an order again and reports whether it is not as it was.
func (w *world) lookAtOrder(s *shop, id string) bool {
	if id == "" {
		return false
	}
	before, known := s.book.orders[id]
	now, err := s.eyes.Order(background(), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if known {
			w.fail(RowsStay, "order %s is gone", id)
		}
		return false
	case err != nil:
		w.fail(NoSurprise, "read order %s: %v", id, err)
		return false
	case known:
		w.checkOrder(before, now)
	default:
		w.coverage.count("order", "new", now.State.String())
		w.checkNewOrder(s, now)
	}
	s.book.orders[id] = now
	return !known || before.State != now.State || before.SessionID != now.SessionID || !before.Deadline.Equal(now.Deadline)
}

func (w *world) checkNewOrder(s *shop, o store.Order) {
	w.checkQuote(o)
	if o.Coupon == nil {
		return
	}
	if seen, known := s.book.terms[terms{o.CouponID, o.Coupon.Revision}]; !known || !reflect.DeepEqual(seen, *o.Coupon) {
		w.fail(QuotesAddUp, "order %s keeps terms of coupon %s that revision %d never had", o.ID, o.CouponID, o.Coupon.Revision)
	}
}

// checkOrder holds an order to what it froze, and to the ways it may go.
func (w *world) checkOrder(before, now store.Order) {
	if before.State != now.State {
		w.coverage.count("order", before.State.String(), now.State.String())
	}
	switch {
	case before.Key != now.Key || before.CustomerID != now.CustomerID || before.CouponID != now.CouponID ||
		before.ReservationID != now.ReservationID || before.DiscountAmount != now.DiscountAmount ||
		!before.Quote.Equal(now.Quote) || !reflect.DeepEqual(before.Coupon, now.Coupon):
		w.fail(RowsStay, "order %s is not the one that was placed", now.ID)
	case before.State == store.OrderPaid && now.State != store.OrderPaid,
		before.State != store.OrderOpen && now.State == store.OrderOpen,
		before.State == store.OrderCancelled && now.State == store.OrderAwaitingPayment:
		w.fail(StatesMoveForward, "order %s was %s, and is %s", now.ID, before.State, now.State)
	case before.SessionID != "" && before.SessionID != now.SessionID && now.State != store.OrderPaid:
		w.fail(RowsStay, "order %s had session %s, and has %q", now.ID, before.SessionID, now.SessionID)
	}
}

// scanShop reads the shop as a whole, for changes where none was to be.
func (w *world) scanShop(s *shop) {
	s.book.unscanned = 0
	coupons, redemptions := w.allCoupons(s), w.allRedemptions(s)
	if w.fault != nil {
		return
	}
	for _, r := range redemptions {
		if r.Equal(s.book.redemptions[r.ID]) {
			continue
		}
		_ = w.sawRedemption(s, r)
	}
	if len(redemptions) < len(s.book.redemptions) {
		w.fail(RowsStay, "%d redemptions are there of %d", len(redemptions), len(s.book.redemptions))
	}
	for _, c := range coupons {
		_ = w.sawCoupon(s, c)
		w.checkCounts(s, c.ID)
	}
	if len(coupons) != len(s.book.coupons) {
		w.fail(RowsStay, "%d coupons are there of %d", len(coupons), len(s.book.coupons))
	}
}

func (w *world) allCoupons(s *shop) (all []coupon.Coupon) {
	list := store.CouponList{PageSize: store.MaxPageSize}
	for {
		page, err := s.eyes.ListCoupons(background(), list)
		if err != nil {
			w.fail(NoSurprise, "list coupons: %v", err)
			return nil
		}
		all = append(all, page.Items...)
		if list.After = page.Next; list.After == "" {
			return all
		}
	}
}

func (w *world) allRedemptions(s *shop) (all []redemption.Redemption) {
	list := store.RedemptionList{PageSize: store.MaxPageSize}
	for {
		page, err := s.eyes.ListRedemptions(background(), list)
		if err != nil {
			w.fail(NoSurprise, "list redemptions: %v", err)
			return nil
		}
		all = append(all, page.Items...)
		if list.After = page.Next; list.After == "" {
			return all
		}
	}
}
