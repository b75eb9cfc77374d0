package store

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
)

// Store keeps all data of couponkit.
type Store interface {
	Coupons
	Orders
	Counters
	Journal
	Attempts
	// Close releases the resources of the store. Close may be called more than once.
	Close() error
}

// Coupons stores coupons (specification 4.1 to 4.3).
type Coupons interface {
	// SaveCoupon creates, changes or deletes a coupon and returns the stored coupon. The
	// returned coupon has the number of addresses in its allow-list, but may lack the
	// addresses. SaveCoupon returns these errors:
	//
	//   - coupon.ErrCodeTaken: another coupon, active or not, has the code. The rejection
	//     names the other coupon.
	//   - [ErrConflict]: the ID of a new coupon is taken, or a deleted coupon with the same
	//     ID was used.
	//   - coupon.ErrNotFound: the coupon to change does not exist.
	//   - [ErrStaleRevision]: the stored coupon has a different revision than the caller saw.
	//   - [ErrUnreadable]: the stored coupon cannot be read.
	//   - validation.ErrInvalid: the coupon is invalid.
	SaveCoupon(ctx context.Context, c CouponChange) (coupon.Coupon, error)

	// LookUp returns all that a decision about one request needs. A record that cannot be read
	// is named in the answer, and does not affect the others. If the request is out of bounds,
	// LookUp returns validation.ErrInvalid. [Find] looks up one coupon.
	LookUp(ctx context.Context, by LookUp) (LookedUp, error)

	// ListCoupons returns a page of coupons, newest first. Each listed coupon has the number
	// of addresses in its allow-list, but no addresses. A coupon that cannot be read is named in
	// CouponPage.Unreadable and does not end the list. If the list is out of bounds, ListCoupons
	// returns validation.ErrInvalid.
	ListCoupons(ctx context.Context, list CouponList) (CouponPage, error)

	// SaveCodes changes codes of a coupon, all or none; see [CodeChangeKind]. It returns the codes that were
	// added, changed or removed, as they are stored. SaveCodes returns these errors:
	//
	//   - A [*coupon.TakenError] lists the new codes that a coupon has, active or not.
	//   - [ErrKeyReused]: the coupon has a batch with the same ID and another fingerprint or size. A call with
	//     all codes of the same batch returns the codes that the batch has.
	//   - coupon.ErrNotFound: the coupon, the batch, or the code to edit does not exist, or the coupon is
	//     being deleted.
	//   - [ErrStaleRevision]: the stored code has a different revision than the caller saw, or the part
	//     of a batch does not follow the codes that the batch has.
	//   - [ErrNoCodesLeft]: AssignCodes finds fewer free codes than it needs.
	//   - validation.ErrInvalid: a code is invalid, or the code to change is the plain code. A code
	//     of a new part has expired when it is created; a batch that is repeated may have expired.
	SaveCodes(ctx context.Context, c CodeChange) ([]coupon.IssuedCode, error)

	// ListCodes returns a page of the codes of a coupon, sorted by the bytes of their keys. Used
	// codes of a deleted coupon are listed too. If the list is out of bounds, ListCodes returns
	// validation.ErrInvalid.
	ListCodes(ctx context.Context, list CodeList) (CodePage, error)

	// ListBatches returns a page of the batches of a coupon with their counts, sorted by the bytes of their
	// IDs. A deleted coupon has none. If the list is out of bounds, ListBatches returns validation.ErrInvalid.
	ListBatches(ctx context.Context, list BatchList) (BatchPage, error)
}

// ChangeKind is the kind of a change to a coupon.
type ChangeKind uint8

// These constants are the kinds of changes to a coupon.
const (
	// CreateCoupon stores a new coupon with revision 1.
	CreateCoupon ChangeKind = iota + 1
	// EditCoupon replaces a coupon and raises its revision by 1. The ID, code, discount,
	// currency, counts, mirror and CreatedAt stay the same. If the given allow-list is
	// narrowed, the stored allow-list also stays the same.
	EditCoupon
	// ConfirmMirror stores the mirror of the given revision and makes a pending coupon
	// active. The revision stays the same.
	ConfirmMirror
	// DeleteCoupon removes a coupon and its codes. The orders, uses and counters of the coupon
	// stay, and so do the codes that have uses. All of its codes become free for other coupons.
	// If the coupon has more than [coupon.MaxCodes] codes, DeleteCoupon removes so many of them
	// and returns [ErrCodesLeft].
	DeleteCoupon
)

// CouponChange is one change to a coupon.
type CouponChange struct {
	Kind ChangeKind
	// Coupon is the coupon after the change. Its Revision is the revision that the caller
	// saw. DeleteCoupon and ConfirmMirror read only the ID, the Revision and the Mirror.
	Coupon coupon.Coupon
	// Unlimited tells that the total number of uses of the coupon has no limit. A store may
	// then spread the counter [eligibility.CouponUses] over several rows, so that transactions
	// do not wait for each other.
	Unlimited bool
	// By names who made the change, for the journal. It is empty for the system.
	By string
	// At is the time of the change. It is required.
	At time.Time
}

// Orders stores orders and uses.
type Orders interface {
	// Reserve stores an order with its uses, or a points reservation without an order.
	// Reserve takes all of their claims or none. Reserve checks the stored coupons, not the
	// caller's copies. Reserve makes these checks in order:
	//
	//   - If the reservation is invalid, Reserve returns validation.ErrInvalid.
	//   - If the customer used the key before, Reserve returns the first result with Replayed
	//     set.
	//   - If a repeated key has another fingerprint or another coupon, Reserve returns
	//     [ErrKeyReused].
	//   - If the customer already holds a points reservation of the coupon without an order,
	//     a new points reservation returns the first one with Replayed set.
	//   - If the order to replace, or the points reservation to take, does not exist or is
	//     another customer's, Reserve returns [ErrNotFound].
	//   - If the order can no longer be replaced, or the points reservation can no longer be
	//     taken, Reserve returns [ErrSuperseded].
	//   - If a coupon does not exist, Reserve returns coupon.ErrNotFound.
	//   - If a coupon is not active, Reserve returns coupon.ErrInactive.
	//   - If a coupon has a different revision, Reserve returns [ErrStaleRevision].
	//   - If a coupon does not have the code, Reserve returns coupon.ErrNotFound.
	//   - If a code is switched off, Reserve returns coupon.ErrInactive.
	//   - If a code has a different revision, Reserve returns [ErrStaleRevision].
	//   - If a claim exceeds its limit, Reserve returns a [*LimitError].
	//   - If an ID is taken, Reserve returns [ErrConflict].
	//
	// If an order or a use that Reserve needs cannot be read, Reserve returns an
	// [*UnreadableError].
	Reserve(ctx context.Context, r Reservation) (Reserved, error)

	// Apply applies an event and returns the order and its uses after the event.
	//
	// The payment processor reports the events Paid, PaymentPending, PaymentFailed and
	// SessionExpired. For these events, Apply finds the order by its payment session. If no
	// order has the session, Apply takes the order that the event names, provided that the
	// order has no session yet. If no order is found for a Paid event, Apply stores
	// Settlement.Unknown, if given. In all other cases without an order, Apply changes
	// nothing and succeeds.
	//
	// A Paid event that names an order with another session is recorded in Order.OtherPayments.
	// If the order is not paid, the event pays it, and the order then has the session of the event.
	//
	// A Refunded event records a refund in Order.Refunds, and gives claims back as the uses
	// say. A repeated key changes nothing. The state of the order tells whether everything is
	// refunded.
	//
	// All other events name their order or their use. If the named record does not exist,
	// Apply returns [ErrNotFound].
	//
	// A payment always counts. A late payment takes its claims even if they exceed a limit. So do
	// the claims of identities in Event.Learned, which are stored with the order and its uses.
	// Apply sets OverLimit on every use whose claims exceed a limit. If the customer has
	// replaced the paid order, Apply cancels the last replacement if it is still open. If a
	// payment for a replaced order is on its way, the order may get its claims back from the
	// last replacement. The last replacement must be open, and no payment of it may have begun. If
	// Event.AskedAt is 0 or too old, the event sets Order.Asks instead.
	//
	// While the payment of Order.Awaits can perhaps still be paid, the payment of the order does not
	// begin, and the order is not cancelled: it has the claims of both.
	//
	// Apply returns these errors:
	//
	//   - redemption.ErrIllegal: the state of the order or the use forbids the event.
	//   - validation.ErrInvalid: the order's quote has not what is to be refunded.
	//   - [ErrKeyReused]: the key of a refund was used for another refund of the order.
	//   - [ErrSuperseded]: another order has the session, or the order of a new session was
	//     cancelled or has another session.
	//   - [ErrPaymentOpen]: the payment of an earlier order can perhaps still be paid.
	//   - [ErrConflict]: an ID in Settlement.Unknown is taken.
	//   - [ErrUnreadable]: the order or one of its uses cannot be read.
	Apply(ctx context.Context, s Settlement) (Settled, error)

	// Order returns one order with its uses. If there is no such order, Order returns
	// [ErrNotFound]. If the order or one of its uses cannot be read, Order returns an
	// [*UnreadableError].
	Order(ctx context.Context, by OrderKey) (Settled, error)

	// ListOrders returns a page of orders, newest first. An order that cannot be read is named in
	// OrderPage.Unreadable.
	ListOrders(ctx context.Context, list OrderList) (OrderPage, error)

	// ListUses returns a page of uses, newest first. A use that cannot be read is named in
	// UsePage.Unreadable.
	ListUses(ctx context.Context, list UseList) (UsePage, error)

	// Sums returns the sums of each day of the list, in order. A use counts on the day of its
	// CreatedAt. Days without uses have zeros. If the list is out of bounds, Sums returns
	// validation.ErrInvalid.
	Sums(ctx context.Context, list SumList) ([]DaySum, error)
}

// CouponAt is a coupon at the revision for which the cart was priced. The Revision 0 accepts
// every revision. Code is the code of a batch by which the coupon came, at its revision. It is zero
// for the plain code.
type CouponAt struct {
	ID           string
	Revision     int64
	Code         coupon.Code
	CodeRevision int64
}

// Reservation is an order with its uses, or a points reservation, that a store is asked to
// store.
type Reservation struct {
	// Order is an open order without a payment session. It is the zero value for a points
	// reservation. With BegunAt, the payment of the order begins with the order. If the payment of an
	// order that the order replaces can perhaps still be paid, Reserve sets Awaits and clears BegunAt.
	Order redemption.Order
	// Uses are the uses of the order, one for each coupon. For a points reservation, Uses
	// contains one use. A use of an order may have the ExchangeID of a points reservation
	// that the customer holds. The order then takes over the points reservation and keeps its
	// claims. After that, the claims of the new use are all that it holds.
	Uses []redemption.Use
	// Coupons are the coupons of the uses, with the revisions for which the cart was priced.
	Coupons []CouponAt
	// By names who made the change, for the journal. It is empty for the customer.
	By string
}

// Reserved is the result of Reserve.
type Reserved struct {
	Order redemption.Order
	// Uses are the stored uses, sorted by coupon ID.
	Uses []redemption.Use
	// Replayed tells that an earlier call has stored the records.
	Replayed bool
	// Ended is the order that the new order has replaced, with its uses. It is empty if Replayed is true.
	Ended []Settled
}

// Settlement is an event with the data that a store needs to apply it.
type Settlement struct {
	Event redemption.Event
	// Unknown is stored if the event is Paid and no order is found. Its order has the state
	// OrderPaid, and its uses are completed. The zero value stores nothing.
	Unknown Reservation
	// By names who made the change, for the journal. It is empty for the payment processor.
	By string
}

// Settled is an order with its uses, or a points reservation.
type Settled struct {
	// Order is the zero value for a points reservation, or if no order was found.
	Order redemption.Order
	// Uses are the uses of the order, sorted by coupon ID.
	Uses []redemption.Use
	// Changed tells that the event has changed a record.
	Changed bool
	// Ended are other orders that the event has cancelled, with their uses.
	Ended []Settled
}

// OrderKey selects an order by its ID, by its payment session, or by its customer and
// idempotency key.
type OrderKey struct {
	ID         string
	SessionID  string
	CustomerID string
	Key        string
}

// Counters reads the counters of claims.
type Counters interface {
	// Counts returns the number of reserved and completed claims of each counter, in the
	// order of the keys.
	Counts(ctx context.Context, keys []string) ([]eligibility.Count, error)
}

// Journal reads the journal of changes.
type Journal interface {
	// Journal returns the entries after the given position, sorted by position. Journal
	// returns at most limit entries, and never more than [MaxJournalLimit]. The position 0
	// returns the first entries.
	//
	// An entry gets its position after its transaction has committed. A reader that continues
	// after the last position misses no entry and reads no entry twice. Entries about the
	// same order, use or coupon are in the sequence of the changes.
	Journal(ctx context.Context, after int64, limit int) ([]Entry, error)

	// JournalEnd returns the last position, or 0 if no entry has a position. An entry that has none yet gets
	// a higher one. A reader that starts after this position sees every change that a call of the store
	// which began later did not show.
	JournalEnd(ctx context.Context) (int64, error)

	// History returns the entries about one coupon, the highest Version first. It also returns
	// entries that have no position yet. If before is not 0, History returns only the entries
	// with a lower Version. History returns at most limit entries, and never more than
	// [MaxJournalLimit]. The entries of a deleted coupon stay.
	History(ctx context.Context, couponID string, before int64, limit int) ([]Entry, error)
}

// Transactional is an optional interface of a [Store]. A store that can work inside a transaction
// of the host has it. A store without it never works inside such a transaction.
type Transactional interface {
	// InTransaction reports whether the host decides about commit and rollback of what the store
	// writes. Each call of the same store returns the same answer.
	InTransaction() bool
}

// As returns the optional interface T of a store, and whether the store has it. As also
// searches wrapped stores. A wrapper has a method Unwrap() Store.
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
