package engine

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Tx is a transaction of a store. Rows that Load returns stay as they are until the
// transaction ends, but for the engine's own changes.
type Tx interface {
	// Load locks and returns the rows that are there.
	Load(ctx context.Context, n Need) (Rows, error)
	// Save writes changes. It is called at most once. A row that is to be inserted and is
	// there already is [ErrAgain].
	Save(ctx context.Context, w Writes) error
}

// ErrAgain tells that another transaction has inserted a row first. The caller rolls back
// and runs the same requests again in a new transaction, which finds that row.
var ErrAgain = errors.New("another transaction was first")

// ErrAlone is the answer to a late payment in [Apply]: the caller runs it with
// [ApplyLate], in a transaction of its own.
var ErrAlone = errors.New("the event needs a transaction of its own")

// Need names rows by their keys. Lists are sorted and hold no key twice.
type Need struct {
	// Peek tells that the engine only asks whether the rows are there. They need no lock.
	Peek bool
	// OrderIDs, OrderKeys and Sessions name orders, which come with all of their uses.
	OrderIDs  []string
	OrderKeys []Key
	Sessions  []string
	// UseIDs, UseKeys and Exchanges name uses; an exchange names its reserved use.
	UseIDs    []string
	UseKeys   []Key
	Exchanges []string
	// Coupons are locked against changes. CouponsOfOrders adds those of the orders found.
	Coupons         []string
	CouponsOfOrders bool
	// Counters are the first rows of counters.
	Counters []string
	// Free are coupons and customers whose points reservation is looked for, once the
	// counters are locked: reserved, debited or to be debited, and in no order.
	Free []Held
}

// Key is an idempotency key of a customer.
type Key struct{ CustomerID, Key string }

// Held is a coupon that a customer holds.
type Held struct{ CouponID, CustomerID string }

// Rows are the rows that were found.
type Rows struct {
	Orders  []redemption.Order
	Uses    []redemption.Use
	Coupons []Coupon
	// Counts has the counters that are there.
	Counts map[string]redemption.Count
}

// Coupon is what a reservation has to know of a coupon.
type Coupon struct {
	ID       string
	State    coupon.State
	Revision int64
	// Unlimited is that of the last [store.CouponChange].
	Unlimited bool
}

// Writes are changed rows.
type Writes struct {
	NewOrders []redemption.Order
	// Orders have changed in state, session, replacedBy, deadline, updatedAt and version.
	Orders  []redemption.Order
	NewUses []redemption.Use
	// Uses have changed in state, points state, over limit, instants and version.
	Uses []redemption.Use
	// Counters are sorted by key and row.
	Counters []CounterWrite
	Entries  []store.Entry
}

// CounterWrite adds to one row of a counter.
type CounterWrite struct {
	Counter string
	// Row is 0, or one of the rows over which an unlimited counter is spread.
	Row int
	By  redemption.Count
	// New tells that Load did not find the row and the engine has decided on that: if the
	// row is there by now, Save returns [ErrAgain].
	New bool
}

// SpreadRows is over how many rows an unlimited counter is spread, unless the store makes a
// row for every transaction that is open at once.
const SpreadRows = 16

// Answer is what became of one request.
type Answer[A any] struct {
	Value A
	Err   error
}
