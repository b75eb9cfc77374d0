package store

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
)

// Store keeps everything that couponkit has to remember.
type Store interface {
	Coupons
	Orders
	Counters
	Journal
	// Close frees what the store holds. It may be called again.
	Close() error
}

// Coupons keeps coupons (specification 4.1 to 4.3).
type Coupons interface {
	// SaveCoupon creates, changes or removes a coupon and returns it as stored. The
	// allow-list of the answer tells how many addresses it has, and may hold none.
	//
	//   - coupon.ErrCodeTaken: a coupon has the code, in whatever state. The rejection
	//     names that coupon.
	//   - [ErrConflict]: the ID of a new coupon is taken, or has counters: a coupon of
	//     that ID was deleted, and its uses would count for the new one.
	//   - coupon.ErrNotFound: the coupon to change is not there.
	//   - [ErrStaleRevision]: it has another revision than the caller saw.
	//   - pricing.ErrInvalid: the coupon does not validate.
	SaveCoupon(ctx context.Context, c CouponChange) (coupon.Coupon, error)

	// LookUp returns a coupon and how often it was used. An unknown coupon is
	// coupon.ErrNotFound.
	LookUp(ctx context.Context, by LookUp) (Found, error)

	// ListCoupons returns a page of coupons, newest first. Their allow-lists tell how many
	// addresses they have, and hold none. A list out of bounds is pricing.ErrInvalid.
	ListCoupons(ctx context.Context, list CouponList) (CouponPage, error)
}

// ChangeKind is what happens to a coupon.
type ChangeKind uint8

// The changes of a coupon.
const (
	// CreateCoupon stores a new coupon of revision 1.
	CreateCoupon ChangeKind = iota + 1
	// EditCoupon replaces everything but ID, code, discount, currency, counts, mirror and
	// CreatedAt, and raises the revision by 1. An allow-list that is narrowed stays as it
	// is stored.
	EditCoupon
	// ConfirmMirror records the mirror of the given revision, and makes a pending coupon
	// active. The revision stays.
	ConfirmMirror
	// DeleteCoupon removes the coupon. Its orders, uses and counters stay, and its code
	// may be used again.
	DeleteCoupon
)

// CouponChange is one change of a coupon.
type CouponChange struct {
	Kind ChangeKind
	// Coupon is the coupon as it is to be; DeleteCoupon and ConfirmMirror read its ID,
	// Revision and Mirror only. Its Revision is the one that the caller saw.
	Coupon coupon.Coupon
	// Unlimited tells that the terms do not limit [redemption.CouponUses] of the coupon.
	// That counter may then be spread over several rows, so that nobody waits for it.
	Unlimited bool
	// By tells the journal who made the change; empty is the system.
	By string
	// At is the instant of the change; required.
	At time.Time
}

// LookUp names a coupon and the customer who wants to use it.
type LookUp struct {
	// CouponID or, when that is empty, Code names the coupon.
	CouponID string
	Code     coupon.Code
	// CustomerID is whose reserved uses are returned; empty returns none.
	CustomerID string
	// Identities are the customer's: ID, address, aliases. The uses of each are counted.
	Identities []string
	// Email is the address to which the allow-list is narrowed.
	Email string
	// Whole asks for the whole allow-list.
	Whole bool
}

// MaxHeld is the most reserved uses that [Found] lists.
const MaxHeld = 16

// Found is a coupon with the figures that a decision about one customer needs.
type Found struct {
	// Coupon as stored, with its counts; its allow-list may be narrowed to Email.
	Coupon coupon.Coupon
	// ByCustomer counts the uses of each identity, in the order of [LookUp].Identities.
	ByCustomer []redemption.Count
	// Held are the customer's reserved uses of the coupon, the newest first, at most
	// [MaxHeld].
	Held []redemption.Use
}

// Orders keeps orders and uses.
type Orders interface {
	// Reserve stores an order with its uses, or a points reservation without an order, and
	// takes all of its claims or none. The coupon's state and revision in the store count,
	// not the caller's copy. In this order:
	//
	//   - pricing.ErrInvalid: the reservation does not validate.
	//   - A key that the customer used before returns the first result, Replayed, whatever
	//     has become of it. With another fingerprint, or of another coupon, it is
	//     [ErrKeyReused].
	//   - A points reservation returns, Replayed, the one of the coupon that the customer
	//     holds and no checkout has taken.
	//   - [ErrNotFound], [ErrSuperseded]: the order to replace, or a points reservation to
	//     take, is not the customer's, or cannot be had any more.
	//   - coupon.ErrNotFound, coupon.ErrInactive, [ErrStaleRevision]: a coupon is gone, is
	//     off, or has another revision.
	//   - [*LimitError]: a counter leaves no room for a claim.
	//   - [ErrConflict]: an ID is taken.
	Reserve(ctx context.Context, r Reservation) (Reserved, error)

	// Apply applies an event and returns the records as they are then.
	//
	// An event that the processor tells of (Paid, PaymentPending, PaymentFailed,
	// SessionExpired) finds the order that has the session; else the order that it names,
	// if that has no session yet. If it finds none, it changes nothing and succeeds; a
	// payment is recorded then if Settlement.Unknown is given. Every other event is about
	// the order or the use that it names. An unknown one is [ErrNotFound].
	//
	// A payment always counts. If it is late, its claims are forced, and every use whose
	// claims exceed a limit is flagged OverLimit. If the customer has replaced the order
	// since, the last order of those that replaced it is cancelled if it is open. A replaced
	// order for which a payment is on its way gets its claims back from that last order, if
	// that is open and has no session.
	//
	// An event that the state forbids matches redemption.ErrIllegal. A session that
	// another order has is [ErrSuperseded], and so is attaching a session to an order that
	// was cancelled or has another session. An ID of an unknown payment that is taken is
	// [ErrConflict].
	Apply(ctx context.Context, s Settlement) (Settled, error)

	// Order returns one order with its uses, or [ErrNotFound].
	Order(ctx context.Context, by OrderKey) (Settled, error)

	// ListOrders returns a page of orders, newest first.
	ListOrders(ctx context.Context, list OrderList) (OrderPage, error)

	// ListUses returns a page of uses, newest first.
	ListUses(ctx context.Context, list UseList) (UsePage, error)
}

// CouponAt is a coupon at the revision that was priced; revision 0 accepts any.
type CouponAt struct {
	ID       string
	Revision int64
}

// Reservation is what is to be stored and claimed.
type Reservation struct {
	// Order is the order, open and without a session; its zero value makes a points
	// reservation.
	Order redemption.Order
	// Uses are the order's uses, one per coupon, or the one points reservation. A use with
	// an ExchangeID and an order takes a points reservation of the customer, or the one of
	// the order that is replaced; the claims of the reservation are kept, and those of the
	// use are all that it holds from then on.
	Uses []redemption.Use
	// Coupons are the coupons of the uses at the revisions that were priced.
	Coupons []CouponAt
	// By tells the journal who made the change; empty is the customer.
	By string
}

// Reserved is what a reservation has stored.
type Reserved struct {
	Order redemption.Order
	// Uses are sorted by coupon ID.
	Uses []redemption.Use
	// Replayed tells that nothing was stored now.
	Replayed bool
}

// Settlement is an event with what a store cannot know.
type Settlement struct {
	Event redemption.Event
	// Unknown is stored when the event is Paid and no order is found: an order in state
	// OrderPaid, which only the payment has told of, with completed uses. Its zero value
	// stores nothing.
	Unknown Reservation
	// By tells the journal who made the change; empty is the processor.
	By string
}

// Settled is an order with its uses, or a points reservation.
type Settled struct {
	// Order is the zero value for a points reservation, and when nothing was found.
	Order redemption.Order
	// Uses are sorted by coupon ID.
	Uses []redemption.Use
	// Changed tells that the event has changed something.
	Changed bool
}

// OrderKey names an order: by ID, by session, or by customer and idempotency key.
type OrderKey struct {
	ID         string
	SessionID  string
	CustomerID string
	Key        string
}

// Counters reads counters.
type Counters interface {
	// Counts returns what is held in each counter, in the order of the keys.
	Counts(ctx context.Context, keys []string) ([]redemption.Count, error)
}

// Journal tells what has happened.
type Journal interface {
	// Journal returns entries after a position, in the order of their positions, at most
	// limit. 0 begins at the first. An entry gets its position after its transaction has
	// committed: a reader that goes on from the last position it has seen misses no entry
	// and sees none twice. Entries of one order, use or coupon keep their order.
	Journal(ctx context.Context, after int64, limit int) ([]Entry, error)
}

// As finds an optional interface of a store, also beneath decorators that have a method
// Unwrap() Store.
func As[T any](s Store) (T, bool) {
	for s != nil {
		if found, ok := s.(T); ok {
			return found, true
		}
		wrapper, ok := s.(interface{ Unwrap() Store })
		if !ok {
			break
		}
		s = wrapper.Unwrap()
	}
	var none T
	return none, false
}
