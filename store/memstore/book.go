package memstore

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// book holds everything of one coupon. Its lock guards all of it.
type book struct {
	mu sync.Mutex
	// number is the book's place in the order in which several are locked.
	number uint64

	// coupon is meaningful while exists is true; its counts are kept up to date.
	coupon coupon.Coupon
	exists bool
	// folded is what a search looks in.
	folded string

	records map[string]redemption.Redemption
	orders  map[string]store.Order
	uses    map[string]*customerUse
	// orderSessions finds the orders that have a session, nearly always one.
	orderSessions map[string][]string
	// watched are the records that a sweep may have to look at.
	watched map[string]struct{}
}

// customerUse is how one customer has used the coupon.
type customerUse struct {
	completed int64
	reserved  int64
	live      []string // redemption IDs, the oldest first
}

func newBook(number uint64) *book {
	return &book{
		number:  number,
		records: make(map[string]redemption.Redemption), orders: make(map[string]store.Order), orderSessions: make(map[string][]string),
		uses: make(map[string]*customerUse), watched: make(map[string]struct{}),
	}
}

// write replaces the coupon and keeps its counts.
func (b *book) write(c coupon.Coupon) coupon.Coupon {
	c.UsedCount, c.ReservedCount = b.coupon.UsedCount, b.coupon.ReservedCount
	b.coupon, b.exists = c, true
	// NUL is in no search.
	b.folded = store.Fold(c.Name) + "\x00" + store.Fold(c.Code.String()) + "\x00" + store.Fold(c.Description)
	return c
}

// put stores a record, new or changed, and everything that follows from it.
func (b *book) put(r redemption.Redemption) {
	before := b.records[r.ID]
	b.records[r.ID] = r
	b.count(before, r)
	if r.RefundDue() || r.Live() && !r.Deadline.IsZero() {
		b.watched[r.ID] = struct{}{}
	} else {
		delete(b.watched, r.ID)
	}
}

func (b *book) count(before, after redemption.Redemption) {
	completed, reserved := after.Counts()
	wasCompleted, wasReserved := before.Counts()
	b.coupon.UsedCount += completed - wasCompleted
	b.coupon.ReservedCount += reserved - wasReserved
	use := b.uses[after.CustomerID]
	if use == nil {
		use = &customerUse{}
		b.uses[after.CustomerID] = use
	}
	use.completed += completed - wasCompleted
	use.reserved += reserved - wasReserved
	switch {
	case reserved > wasReserved:
		use.live = append(use.live, after.ID)
	case reserved < wasReserved:
		use.live = slices.DeleteFunc(use.live, func(id string) bool { return id == after.ID })
	}
}

// held returns the customer's live reservations, the oldest first.
func (b *book) held(customerID string) []redemption.Redemption {
	use := b.uses[customerID]
	if use == nil {
		return nil
	}
	held := make([]redemption.Redemption, 0, len(use.live))
	for _, id := range use.live {
		held = append(held, b.records[id])
	}
	slices.SortFunc(held, oldest)
	return held
}

// limits decides whether one more use of the customer fits; a coupon that is gone
// has no limits.
func (b *book) limits(customerID string) error {
	if !b.exists {
		return nil
	}
	var byCustomer int64
	if use := b.uses[customerID]; use != nil && customerID != "" {
		byCustomer = use.completed + use.reserved
	}
	return store.WithinLimits(b.coupon.ID, b.coupon.Limits, b.coupon.UsedCount+b.coupon.ReservedCount, byCustomer)
}

// putOrder stores a copy of the order, and reports whether it has come to have a session,
// which it keeps.
func (b *book) putOrder(o store.Order) (joined bool) {
	joined = o.SessionID != "" && b.orders[o.ID].SessionID == ""
	b.orders[o.ID] = o.Clone()
	if joined {
		b.orderSessions[o.SessionID] = append(b.orderSessions[o.SessionID], o.ID)
	}
	return joined
}

// advanced returns an order of the book after an event, and whether that changes it.
func (b *book) advanced(orderID string, e redemption.Event) (order store.Order, changed bool) {
	before, known := b.orders[orderID]
	if !known {
		return store.Order{}, false
	}
	after := before.After(e)
	changed = after.State != before.State || after.SessionID != before.SessionID || !after.Deadline.Equal(before.Deadline)
	return after.Clone(), changed
}

func oldest(a, b redemption.Redemption) int {
	return inOrder(a.CreatedAt, a.ID, b.CreatedAt, b.ID)
}

// inOrder compares two records by creation, then by ID.
func inOrder(createdA time.Time, idA string, createdB time.Time, idB string) int {
	if c := createdA.Compare(createdB); c != 0 {
		return c
	}
	return strings.Compare(idA, idB)
}
