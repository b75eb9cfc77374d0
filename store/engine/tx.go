package engine

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// Tx is a transaction of a store. Until the transaction ends, only the engine may change the
// rows that Load returned, except the rows of Need.Late.
type Tx interface {
	// Load locks the needed rows and returns copies of those that exist, in any order. The engine ignores
	// rows that it does not need.
	Load(ctx context.Context, n Need) (Rows, error)
	// Save writes changes. The engine calls Save at most once. If a new row exists already,
	// Save returns [ErrAgain].
	Save(ctx context.Context, w Writes) error
}

// ErrAgain means that another transaction has inserted a row first. The caller must roll back
// and repeat the same requests in a new transaction. The new transaction finds the inserted
// row.
var ErrAgain = errors.New("another transaction was first")

// ErrAlone is the answer of [Apply] to a late payment. The caller must pass the event to
// [ApplyLate] in a separate transaction.
var ErrAlone = errors.New("the event needs a transaction of its own")

// Need selects rows by their keys. All lists are sorted and free of duplicates.
type Need struct {
	// Peek tells that the rows need no lock.
	Peek bool
	// OrderIDs, OrderKeys and Sessions select orders together with all of their uses.
	OrderIDs  []string
	OrderKeys []Key
	Sessions  []string
	// UseIDs and UseKeys select uses. Exchanges selects the reserved use of each exchange.
	UseIDs    []string
	UseKeys   []Key
	Exchanges []string
	// Coupons selects coupons and locks them against changes. CouponsOfOrders also selects
	// the coupons of the selected orders.
	Coupons         []string
	CouponsOfOrders bool
	// Codes selects codes of coupons, with the plain one. They are read after the coupons are locked: who changes a code
	// has locked its coupon.
	Codes []CodeKey
	// Counters selects the first row of each counter.
	Counters []string
	// Late lists the Counters that all customers share. Load may leave their rows unlocked. In
	// that case, Save locks them after all other rows and checks the bounds of the writes.
	Late []string
	// Free selects reserved uses without an order, by coupon and customer, whether their points are debited
	// or not. They are loaded after the counters are locked, in any sequence.
	Free []Held
}

// Key is an idempotency key of a customer.
type Key struct{ CustomerID, Key string }

// CodeKey names a code of a coupon.
type CodeKey struct{ CouponID, Code string }

// Held names a coupon and a customer who may hold a points reservation.
type Held struct{ CouponID, CustomerID string }

// Rows are the selected rows that exist.
type Rows struct {
	Orders  []redemption.Order
	Uses    []redemption.Use
	Coupons []Coupon
	Codes   []Code
	// Counts contains the counters that exist, by their keys.
	Counts map[string]eligibility.Count
}

// Coupon contains the fields of a coupon that a reservation depends on.
type Coupon struct {
	ID       string
	State    coupon.State
	Revision int64
	// Unlimited is taken from the last [store.CouponChange].
	Unlimited bool
}

// Code contains the fields of a code that a reservation depends on.
type Code struct {
	CodeKey
	Active   bool
	Revision int64
}

// Writes are new and changed rows. The orders and uses are the engine's: Save copies what it keeps.
type Writes struct {
	NewOrders []*redemption.Order
	// Orders are orders with a changed state, session, ReplacedBy, Deadline, UpdatedAt or
	// Version.
	Orders  []*redemption.Order
	NewUses []*redemption.Use
	// Uses are uses with a changed state, points state, OverLimit, times or Version.
	Uses []*redemption.Use
	// GrownOrders and GrownUses are those of Orders and Uses whose documents and claims change, too;
	// see [AppendOrder], [AppendUse] and [AppendClaims].
	GrownOrders []*redemption.Order
	GrownUses   []*redemption.Use
	// AdoptedOrders are those of GrownOrders that have got a customer and a key.
	AdoptedOrders []*redemption.Order
	// Counters are sorted by key and row.
	Counters []CounterWrite
	Entries  []store.Entry
}

// CounterWrite adds a count to one row of a counter.
type CounterWrite struct {
	Counter string
	// Row is 0, or one of the rows over which an unlimited counter is spread.
	Row int
	By  eligibility.Count
	// New tells that Load did not find the row. If the row exists now, Save returns
	// [ErrAgain]. Without New, Save adds to the row, or inserts it. New is never set for a Row above 0.
	New bool
	// Least and Most are the inclusive bounds of what the row may hold before the write, reserved
	// and completed together. Outside of them, the engine would have decided otherwise. Save then
	// returns [ErrAgain]. Save may ignore the bounds of rows that Load has locked.
	Least, Most int64
}

// SpreadRows is the number of rows over which an unlimited counter is spread. A store may
// instead make one row for each concurrent transaction.
const SpreadRows = 16

// Answer is the result of one request.
type Answer[A any] struct {
	Value A
	Err   error
}

// Only returns the result of a call of [Reserve], [Apply] or [SaveAttempts] with one request.
func Only[A any](answers []Answer[A], err error) (A, error) {
	if err != nil {
		return *new(A), err
	}
	return answers[0].Value, answers[0].Err
}
