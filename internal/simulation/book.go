package simulation

import (
	"errors"
	"maps"
	"reflect"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book is what the checks have seen of a shop, and what follows from it. It is kept from what
// the store shows, never from what a caller was told.
type book struct {
	coupons  map[string]coupon.Coupon
	codes    map[coupon.Code]string
	terms    map[terms]coupon.Snapshot // of every revision that was seen
	orders   map[string]redemption.Order
	uses     map[string]redemption.Use
	usesOf   map[string][]string         // by order
	held     map[string]redemption.Count // by counter: the sum of what records hold
	holders  map[string]string           // the use that has the points, by exchange
	sessions map[string]string           // the order that has the session
	keys     map[string]string           // orders by customer and key, in the store
	answered map[string]string           // orders by customer and key, in answers
	accounts map[string]*account         // by customer
	givenUp  map[string]struct{}         // exchanges that their customers asked to cancel
	journal  []entry                     // in the order of positions
	versions map[string]int64            // of the subjects of the journal
	kinds    map[string]store.EntryKind  // of the last entry of each order
	unread   int                         // effects since the shop was read as a whole
}

// entry is where an entry of the journal stands, and what it is about.
type entry struct {
	position, version int64
	subject           string
}

type terms struct {
	coupon   string
	revision int64
}

// account sums the points of a customer's uses.
type account struct {
	credited         bool
	debited, pending int64
	elsewhere        int64 // spent on something else, and that thing's number
	thing            int
}

func newBook() book {
	return book{
		coupons: map[string]coupon.Coupon{}, codes: map[coupon.Code]string{}, terms: map[terms]coupon.Snapshot{},
		orders: map[string]redemption.Order{}, uses: map[string]redemption.Use{}, usesOf: map[string][]string{},
		held: map[string]redemption.Count{}, holders: map[string]string{}, sessions: map[string]string{},
		keys: map[string]string{}, answered: map[string]string{}, accounts: map[string]*account{}, givenUp: map[string]struct{}{},
		versions: map[string]int64{}, kinds: map[string]store.EntryKind{},
	}
}

func (b *book) account(customerID string) *account {
	a, known := b.accounts[customerID]
	if !known {
		a = &account{}
		b.accounts[customerID] = a
	}
	return a
}

// change is what an effect has changed in a shop.
type change struct {
	orders []orderChange
	uses   []useChange
	before map[string]redemption.Count // counters that have changed, as they were
	any    bool
}

type orderChange struct{ before, now redemption.Order }

type useChange struct{ before, now redemption.Use }

// inspect looks at what was touched since the last time.
func (w *world) inspect() {
	for _, s := range w.shops {
		halfDone := w.active == nil && slices.ContainsFunc(w.tasks, func(t *task) bool { return t.shop == s && t.call == paused })
		if t := s.touched; t.effects == 0 && !t.points && len(t.sessions) == 0 && !halfDone {
			continue
		}
		t := s.touched
		s.touched = touched{}
		s.book.unread += t.effects
		w.look(s, t, halfDone || s.book.unread >= w.config.ScanEvery)
	}
}

// look reads what was touched, or everything, and checks what has changed.
func (w *world) look(s *shop, t touched, everything bool) {
	c := &change{before: map[string]redemption.Count{}}
	w.readJournal(s, &t, c)
	if everything {
		w.readAll(s, &t, c)
	}
	for _, id := range t.uses { // a use comes with its order, or by its exchange
		if order := s.book.uses[id].OrderID; order != "" {
			t.orders = append(t.orders, order)
		} else if id != "" {
			w.lookAtExchange(s, id, c)
		}
	}
	for _, id := range unique(t.orders) {
		w.lookAtOrder(s, id, c)
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
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lookAtCoupon reads a coupon again.
func (w *world) lookAtCoupon(s *shop, id string, c *change) {
	before, known := s.book.coupons[id]
	found, err := s.eyes.LookUp(background(), store.LookUp{CouponID: id})
	switch {
	case err == nil:
		w.sawCoupon(s, found.Coupon, c)
	case !errors.Is(err, coupon.ErrNotFound):
		w.fail(NoSurprise, "read coupon %s: %v", id, err)
	case known:
		w.couponGone(s, before, c)
	}
}

func (w *world) couponGone(s *shop, before coupon.Coupon, c *change) {
	c.any = true
	w.coverage.count("coupon", before.State.String(), "deleted")
	if before.State != coupon.Deleting {
		w.fail(StatesMoveForward, "coupon %s is gone, and was %s", before.ID, before.State)
	}
	delete(s.book.coupons, before.ID)
	delete(s.book.codes, before.Code)
	s.deleted[before.Code.String()] = true
}

func (w *world) sawCoupon(s *shop, now coupon.Coupon, c *change) {
	before, known := s.book.coupons[now.ID]
	if other, taken := s.book.codes[now.Code]; taken && other != now.ID {
		w.fail(CodesAreUnique, "coupons %s and %s have code %s", other, now.ID, now.Code)
	}
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
	if known && (now.Revision < before.Revision || before.State == coupon.Deleting && now.State != coupon.Deleting ||
		before.State != coupon.Pending && now.State == coupon.Pending) {
		w.fail(StatesMoveForward, "coupon %s was %s at revision %d, and is %s at %d", now.ID, before.State, before.Revision, now.State, now.Revision)
	}
	s.book.codes[now.Code] = now.ID
	s.book.terms[terms{now.ID, now.Revision}] = now.Snapshot()
}

// lookAtOrder reads an order with its uses again.
func (w *world) lookAtOrder(s *shop, id string, c *change) {
	now, err := s.eyes.Order(background(), store.OrderKey{ID: id})
	switch _, known := s.book.orders[id]; {
	case err == nil:
		w.sawOrder(s, now, c)
	case !errors.Is(err, store.ErrNotFound):
		w.fail(NoSurprise, "read order %s: %v", id, err)
	case known:
		w.fail(RecordsStay, "order %s is gone", id)
	}
}

// lookAtExchange reads the uses of an exchange that are in no order.
func (w *world) lookAtExchange(s *shop, id string, c *change) {
	page, err := s.eyes.ListUses(background(), store.UseList{ExchangeID: id, PageSize: store.MaxPageSize})
	if err != nil {
		w.fail(NoSurprise, "read exchange %s: %v", id, err)
	}
	for _, u := range page.Items {
		w.sawUse(s, u, c)
	}
	if _, known := s.book.uses[id]; known && len(page.Items) == 0 {
		w.fail(RecordsStay, "use %s is gone", id)
	}
}

func (w *world) sawOrder(s *shop, now store.Settled, c *change) {
	b, before := &s.book, s.book.orders[now.Order.ID]
	if !reflect.DeepEqual(before, now.Order) {
		c.any = true
		c.orders = append(c.orders, orderChange{before, now.Order})
		b.orders[now.Order.ID] = now.Order
		c.moved(b, redemption.Holdings(before), redemption.Holdings(now.Order))
	}
	for _, u := range now.Uses {
		w.sawUse(s, u, c)
	}
	if len(now.Uses) != len(b.usesOf[now.Order.ID]) {
		w.fail(RecordsStay, "order %s has %d uses of %d", now.Order.ID, len(now.Uses), len(b.usesOf[now.Order.ID]))
	}
}

func (w *world) sawUse(s *shop, now redemption.Use, c *change) {
	b, before := &s.book, s.book.uses[now.ID]
	if reflect.DeepEqual(before, now) {
		return
	}
	c.any = true
	c.uses = append(c.uses, useChange{before, now})
	b.uses[now.ID] = now
	if before.IsZero() && now.OrderID != "" {
		b.usesOf[now.OrderID] = append(b.usesOf[now.OrderID], now.ID)
	}
	c.moved(b, redemption.Holdings(redemption.Order{}, before), redemption.Holdings(redemption.Order{}, now))
	b.points(before, -1)
	b.points(now, +1)
}

// moved brings the sums to what records hold now.
func (c *change) moved(b *book, before, now map[string]redemption.Count) {
	for _, m := range redemption.Moves(before, now) {
		if _, known := c.before[m.Counter]; !known {
			c.before[m.Counter] = b.held[m.Counter]
		}
		b.held[m.Counter] = b.held[m.Counter].Plus(m.By)
	}
}

// points adds a use to the sums of its customer, or takes it out of them.
func (b *book) points(u redemption.Use, sign int64) {
	if u.IsZero() {
		return
	}
	switch a := b.account(u.CustomerID); u.PointsState {
	case redemption.PointsDebited:
		a.debited += sign * u.Points
	case redemption.PointsPending, redemption.PointsRefundDue:
		a.pending += sign * u.Points
	case redemption.NoPoints, redemption.PointsRefunded, redemption.PointsPassedOn:
	}
}

// readAll reads the shop as a whole, for changes where none was to be.
func (w *world) readAll(s *shop, t *touched, c *change) {
	s.book.unread = 0
	coupons, orders, uses := w.allCoupons(s), w.allOrders(s), w.allUses(s)
	if w.fault != nil {
		return
	}
	for _, o := range orders {
		w.sawOrder(s, o, c)
	}
	for _, u := range uses {
		w.sawUse(s, u, c)
	}
	if len(orders) != len(s.book.orders) || len(uses) != len(s.book.uses) {
		w.fail(RecordsStay, "%d orders are there of %d, and %d uses of %d", len(orders), len(s.book.orders), len(uses), len(s.book.uses))
	}
	there := make(map[string]bool, len(coupons))
	for _, k := range coupons {
		there[k.ID] = true
		t.coupons = append(t.coupons, k.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(s.book.coupons)) {
		if !there[id] {
			w.couponGone(s, s.book.coupons[id], c)
		}
	}
	for key, count := range s.book.held { // all of them are compared
		if _, known := c.before[key]; !known {
			c.before[key] = count
		}
	}
}

// pages reads a list to its end.
func pages[T any](w *world, what string, page func(after string) ([]T, string, error)) (all []T) {
	for after := ""; ; {
		items, next, err := page(after)
		if err != nil {
			w.fail(NoSurprise, "list %s: %v", what, err)
			return nil
		}
		if all = append(all, items...); next == "" {
			return all
		}
		after = next
	}
}

func (w *world) allCoupons(s *shop) []coupon.Coupon {
	return pages(w, "coupons", func(after string) ([]coupon.Coupon, string, error) {
		page, err := s.eyes.ListCoupons(background(), store.CouponList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	})
}

func (w *world) allOrders(s *shop) []store.Settled {
	return pages(w, "orders", func(after string) ([]store.Settled, string, error) {
		page, err := s.eyes.ListOrders(background(), store.OrderList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	})
}

func (w *world) allUses(s *shop) []redemption.Use {
	return pages(w, "uses", func(after string) ([]redemption.Use, string, error) {
		page, err := s.eyes.ListUses(background(), store.UseList{PageSize: store.MaxPageSize, After: after})
		return page.Items, page.Next, err
	})
}
