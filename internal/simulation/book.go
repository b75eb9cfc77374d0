package simulation

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book has the records that the checks saw in the store of a shop, and sums over them.
type book struct {
	coupons  map[string]coupon.Coupon
	codes    map[coupon.Code]string
	terms    map[terms]coupon.Coupon // every revision that was seen
	orders   map[string]redemption.Order
	uses     map[string]redemption.Use
	usesOf   map[string][]string          // use IDs by order
	held     map[string]eligibility.Count // by counter: the sum of the claims of all records
	shares   map[string][]share           // shares of budgets, by order
	spent    map[string]eligibility.Count // by counter of the budget: the sum of the shares
	budgets  map[string][]moment          // by counter of the budget: its history
	holders  map[string]string            // by exchange: the use that has the points
	sessions map[string]string            // by session: its order
	made     map[string]bool              // orders for which a session was made
	madeFor  map[string][]string          // by order: the sessions that were created for it
	begun    map[string]time.Time         // by order: when its payment began last
	pending  map[string]int64             // by order: its version when the processor last said that the payment is on its way
	since    map[string]int64             // by order: the version at which its payment had to be looked up
	keys     map[string]string            // orders in the store, by customer and key
	answered map[string]string            // orders in answers, by customer and key
	accounts map[string]*account          // by customer
	givenUp  map[string]struct{}          // exchanges that their customers asked to cancel
	journal  []entry                      // in the order of positions, after a zero entry
	versions map[string]int64             // by subject of the journal: its version
	kinds    map[string]store.EntryKind   // by order: the kind of its last entry
	placed   []string                     // orders of checkouts and payment links, in their sequence
	unwanted map[string]bool              // orders for which a cancellation was requested
	sold     []string                     // orders that were paid, in their sequence
	asked    map[string]pricing.Returns   // requested refunds, by order and key
	unread   int                          // effects since the shop was read as a whole
}

type terms struct {
	coupon   string
	revision int64
}

// account sums the points of a customer's uses.
type account struct {
	credited         bool
	debited, pending int64
	elsewhere        int64 // points that the customer spent outside the service
}

func newBook() book {
	return book{
		coupons: map[string]coupon.Coupon{}, codes: map[coupon.Code]string{}, terms: map[terms]coupon.Coupon{},
		orders: map[string]redemption.Order{}, uses: map[string]redemption.Use{}, usesOf: map[string][]string{},
		held: map[string]eligibility.Count{}, shares: map[string][]share{}, spent: map[string]eligibility.Count{}, budgets: map[string][]moment{}, holders: map[string]string{}, sessions: map[string]string{},
		made: map[string]bool{}, madeFor: map[string][]string{}, begun: map[string]time.Time{}, pending: map[string]int64{}, since: map[string]int64{}, keys: map[string]string{}, answered: map[string]string{}, accounts: map[string]*account{}, givenUp: map[string]struct{}{},
		journal: []entry{{}}, versions: map[string]int64{}, kinds: map[string]store.EntryKind{}, asked: map[string]pricing.Returns{}, unwanted: map[string]bool{},
	}
}

func (b *book) account(customerID string) *account {
	if b.accounts[customerID] == nil {
		b.accounts[customerID] = &account{}
	}
	return b.accounts[customerID]
}

// change has the changed records, each before and after the change.
type change struct {
	orders []struct{ before, now redemption.Order }
	uses   []struct{ before, now redemption.Use }
	before map[string]eligibility.Count // previous values of the counters that changed
	any    bool
}

// inspect checks the records that calls touched since the last inspection.
func (w *world) inspect() {
	for _, s := range w.shops {
		halfDone := w.active == nil && slices.ContainsFunc(w.tasks, func(t *task) bool { return t.shop == s && t.call == paused })
		t := s.touched
		if t.effects == 0 && !t.points && len(t.sessions)+len(t.payments) == 0 && !halfDone {
			continue
		}
		s.touched = touched{}
		s.book.unread += t.effects
		w.look(s, t, halfDone || s.book.unread >= w.config.ScanEvery)
	}
}

// look reads the touched records, or everything, and checks the changes.
func (w *world) look(s *shop, t touched, everything bool) {
	c := &change{before: map[string]eligibility.Count{}}
	w.readJournal(s, &t, c)
	if everything {
		w.readAll(s, &t, c)
	}
	for _, id := range t.uses { // a use is read with its order or its exchange
		if order := s.book.uses[id].OrderID; order != "" {
			t.orders = append(t.orders, order)
		} else if id != "" {
			w.lookAtExchange(s, id, c)
		}
	}
	for _, id := range unique(t.orders) {
		now, err := s.eyes.Order(background(), store.OrderKey{ID: id})
		_, known := s.book.orders[id]
		w.must(RecordsStay, err == nil || errors.Is(err, store.ErrNotFound) && !known, "order %s is gone (%v)", id, err)
		if err == nil {
			w.sawOrder(s, now, c)
		}
	}
	for _, u := range c.uses {
		t.coupons = append(t.coupons, u.now.CouponID)
	}
	for _, id := range unique(t.coupons) {
		w.lookAtCoupon(s, id, c)
	}
	w.check(s, t, c)
}

func unique(ids []string) []string {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// lookAtCoupon reads a coupon again and notes its changes.
func (w *world) lookAtCoupon(s *shop, id string, c *change) {
	before, known := s.book.coupons[id]
	found, err := store.Find(background(), s.eyes, store.LookUp{Names: store.ByID(id)})
	switch gone := errors.Is(err, coupon.ErrNotFound); {
	case err == nil:
		w.sawCoupon(s, before, found.Coupon, c)
	case known || !gone:
		c.any = true
		w.coverage.count("coupon", before.State.String(), "deleted")
		w.must(StatesMoveForward, gone && before.State == coupon.Deleting, "coupon %s is gone, and was %s (%v)", before.ID, before.State, err)
		delete(s.book.coupons, before.ID)
		delete(s.book.codes, before.Code)
		s.deleted[before.Code.String()] = true
	}
}

func (w *world) sawCoupon(s *shop, before, now coupon.Coupon, c *change) {
	known, other := before.ID != "", s.book.codes[now.Code]
	w.must(CodesAreUnique, other == "" || now.Code.IsZero() || other == now.ID, "coupons %s and %s have code %s", other, now.ID, now.Code)
	s.book.coupons[now.ID] = now
	if known && before.State == now.State && before.Revision == now.Revision && before.Mirror == now.Mirror {
		return
	}
	c.any = true
	from := "new"
	if known {
		from = before.State.String()
	}
	w.coverage.count("coupon", from, now.State.String())
	backwards := now.Revision < before.Revision || before.State == coupon.Deleting && now.State != coupon.Deleting ||
		before.State != coupon.Pending && now.State == coupon.Pending
	w.must(StatesMoveForward, !known || !backwards, "coupon %s was %s at revision %d, and is %s at %d", now.ID, before.State, before.Revision, now.State, now.Revision)
	s.book.codes[now.Code] = now.ID
	s.book.terms[terms{now.ID, now.Revision}] = now
	w.sawBudget(s, before, now)
}

// lookAtExchange reads the uses of an exchange that have no order.
func (w *world) lookAtExchange(s *shop, id string, c *change) {
	page, err := s.eyes.ListUses(background(), store.UseList{ExchangeID: id, PageSize: store.MaxPageSize})
	_, known := s.book.uses[id]
	w.must(RecordsStay, err == nil && (!known || len(page.Items) > 0), "use %s is gone (%v)", id, err)
	for _, u := range page.Items {
		w.sawUse(s, u, c)
	}
}

func (w *world) sawOrder(s *shop, now store.Settled, c *change) {
	b, id := &s.book, now.Order.ID
	if before := b.orders[id]; !reflect.DeepEqual(before, now.Order) {
		c.any = true
		c.orders = append(c.orders, struct{ before, now redemption.Order }{before, now.Order})
		b.orders[id] = now.Order
		if at := now.Order.BegunAt; at.After(b.begun[id]) {
			b.begun[id] = at
		}
		c.moved(b, redemption.Holdings(before), redemption.Holdings(now.Order))
	}
	for _, u := range now.Uses {
		w.sawUse(s, u, c)
	}
	w.must(RecordsStay, len(now.Uses) == len(b.usesOf[id]), "order %s has %d uses of %d", id, len(now.Uses), len(b.usesOf[id]))
}

func (w *world) sawUse(s *shop, now redemption.Use, c *change) {
	b, before := &s.book, s.book.uses[now.ID]
	if reflect.DeepEqual(before, now) {
		return
	}
	c.any = true
	c.uses = append(c.uses, struct{ before, now redemption.Use }{before, now})
	b.uses[now.ID] = now
	if before.IsZero() && now.OrderID != "" {
		b.usesOf[now.OrderID] = append(b.usesOf[now.OrderID], now.ID)
	}
	c.moved(b, redemption.Holdings(redemption.Order{}, before), redemption.Holdings(redemption.Order{}, now))
	b.points(before, -1)
	b.points(now, +1)
}

// moved updates the sums after the claims of a record changed.
func (c *change) moved(b *book, before, now map[string]eligibility.Count) {
	for _, m := range redemption.Moves(before, now) {
		c.watch(b, m.Counter)
		b.held[m.Counter] = b.held[m.Counter].Plus(m.By)
	}
}

// watch adds a counter to the list of counters to compare.
func (c *change) watch(b *book, counter string) {
	if _, known := c.before[counter]; !known {
		c.before[counter] = b.held[counter]
	}
}

// points adds a use to the sums of its customer, or takes it out of them.
func (b *book) points(u redemption.Use, sign int64) {
	switch a := b.account(u.CustomerID); u.PointsState {
	case redemption.PointsDebited:
		a.debited += sign * u.Points
	case redemption.PointsPending, redemption.PointsRefundDue:
		a.pending += sign * u.Points
	case redemption.NoPoints, redemption.PointsRefunded, redemption.PointsPassedOn:
	}
}

// readAll reads the whole shop. It finds records that changed although no call touched them.
func (w *world) readAll(s *shop, t *touched, c *change) {
	s.book.unread = 0
	orders := pages(w, func(after string) ([]store.Settled, string, error) {
		page, err := s.eyes.ListOrders(background(), store.OrderList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	})
	for _, o := range orders {
		w.sawOrder(s, o, c)
	}
	uses := pages(w, func(after string) ([]redemption.Use, string, error) {
		page, err := s.eyes.ListUses(background(), store.UseList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	})
	for _, u := range uses {
		w.sawUse(s, u, c)
	}
	w.must(RecordsStay, len(orders) == len(s.book.orders) && len(uses) == len(s.book.uses),
		"%d orders are there of %d, and %d uses of %d", len(orders), len(s.book.orders), len(uses), len(s.book.uses))
	for _, k := range pages(w, func(after string) ([]coupon.Coupon, string, error) {
		page, err := s.eyes.ListCoupons(background(), store.CouponList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	}) {
		t.coupons = append(t.coupons, k.ID)
	}
	t.coupons = slices.AppendSeq(t.coupons, maps.Keys(s.book.coupons))
	for key := range s.book.held { // compare every counter
		c.watch(&s.book, key)
	}
	for key := range s.book.spent {
		c.watch(&s.book, key)
	}
}

// pages reads a list to its end.
func pages[T any](w *world, page func(after string) ([]T, string, error)) (all []T) {
	for after := ""; ; {
		items, next, err := page(after)
		w.must(NoSurprise, err == nil, "read a list: %v", err)
		if all = append(all, items...); next == "" || err != nil {
			return all
		}
		after = next
	}
}
