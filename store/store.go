package store

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
)

// Store keeps coupons, redemptions and orders. It is composed of roles; functions
// that need only one should ask for that one.
type Store interface {
	Catalog
	CouponReader
	Redemptions
	RedemptionReader
	Orders
	// Close frees what the store holds. It may be called again.
	Close() error
}

// Catalog changes coupons (specification 4.2, 4.3).
type Catalog interface {
	// CreateCoupon stores a new coupon with its counts at 0, whatever they are in c.
	// A code that a coupon has, in whatever state, is coupon.ErrCodeTaken, a
	// rejection that names c; the service finds out which coupon has the code. An ID that exists already, with a code that is free, is ErrConflict, and so is
	// that of a coupon which is not there and has redemptions, for they would count for
	// the new one: it was deleted, or a payment has named it. A coupon that does not
	// validate, or whose allow-list is narrowed, is pricing.ErrInvalid. Of concurrent
	// calls with one code exactly one succeeds.
	CreateCoupon(ctx context.Context, c coupon.Coupon) error

	// UpdateCoupon replaces everything but ID, code, discount, currency, counts and
	// CreatedAt, when the stored revision is still c.Revision, and returns the
	// coupon as stored, its revision one higher and the mirror as given. An allow-list
	// that is narrowed stays as it is stored. Otherwise it is ErrStaleRevision, or
	// coupon.ErrNotFound. What would not validate as stored is pricing.ErrInvalid.
	UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error)

	// ConfirmMirror records the mirror of the revision that m names, and makes a
	// pending coupon active. The coupon's revision does not change. When the stored
	// revision is not m.Revision it is ErrStaleRevision: somebody has changed the
	// coupon meanwhile and the mirror is out of date. An unknown coupon is
	// coupon.ErrNotFound; a mirror with which the coupon does not validate is
	// pricing.ErrInvalid. Repeating it is harmless.
	ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error)

	// DeleteCoupon removes the coupon when its revision is still the given one. Its
	// redemptions and orders stay, and its code may be used again. Otherwise it is
	// ErrStaleRevision, or coupon.ErrNotFound.
	DeleteCoupon(ctx context.Context, id string, revision int64) error
}

// CouponReader reads coupons.
type CouponReader interface {
	// Coupon returns the whole coupon, or coupon.ErrNotFound.
	Coupon(ctx context.Context, id string) (coupon.Coupon, error)

	// LookUp returns a coupon and how often it was used, in one consistent read: what
	// validation needs. An unknown coupon is coupon.ErrNotFound.
	LookUp(ctx context.Context, by LookUp) (Found, error)

	// ListCoupons returns a page of coupons, newest first; see [CouponList]. Their
	// allow-lists are narrowed to no address, and still tell how many there are. What is
	// out of bounds, and a cursor that is none, is pricing.ErrInvalid.
	ListCoupons(ctx context.Context, list CouponList) (CouponPage, error)
}

// LookUp names a coupon and the customer who wants to use it.
type LookUp struct {
	// CouponID or, when that is empty, Code names the coupon.
	CouponID string
	Code     coupon.Code
	// CustomerID is whose uses are counted; empty counts none.
	CustomerID string
	// Email is the address to which the allow-list is narrowed.
	Email string
}

// MaxHeld is the most reservations that [Found] lists.
const MaxHeld = 16

// Found is a coupon with the figures that a decision about one customer needs.
type Found struct {
	// Coupon as stored; its allow-list may be narrowed to the address asked for.
	Coupon coupon.Coupon
	// CompletedByCustomer and ReservedByCustomer count the customer's redemptions.
	CompletedByCustomer int64
	ReservedByCustomer  int64
	// Held are the customer's live reservations, oldest first, at most [MaxHeld].
	Held []redemption.Redemption
}

// Redemptions changes redemptions. Every method applies redemption.Apply under the
// store's lock, and changes record, counts and order together or not at all.
type Redemptions interface {
	// Reserve keeps a place, if both limits leave one, counting completed
	// redemptions and live reservations, and stores the order beside it.
	//
	//   - The coupon's stored revision and state count, not the caller's copy: an
	//     unknown coupon is coupon.ErrNotFound, one that is not active
	//     coupon.ErrInactive, one whose revision differs from a given
	//     CouponRevision ErrStaleRevision, in this order. Only a key that was used
	//     before comes earlier.
	//   - No place left is a *coupon.Rejection with coupon.UsageLimitReached,
	//     coupon.UserUsageLimitReached, or both in this order.
	//   - A key that the customer used before returns the first result, Replayed,
	//     whatever has become of it and whether or not a place is left now. When the
	//     first request was another one (another coupon, another fingerprint of the
	//     order, an order where there was none, a payment that Settle has recorded) it
	//     is ErrKeyReused. Nothing else is compared: prices may have changed meanwhile.
	//     Of a reservation by points and an order without a coupon, or of a take-over, that
	//     ask for one key at the same moment both may be made: they have nothing in common
	//     that a database would have to lock.
	//   - A reservation by points returns, Replayed, the one that the customer holds
	//     for this coupon already and has not yet taken into a checkout. That does
	//     not use the key up: when the one held is gone, the key reserves anew.
	//   - A record that is not at its beginning, a checkout without its own order, and
	//     whatever does not validate, is pricing.ErrInvalid. The ID of another record
	//     or order is ErrConflict.
	//   - A session that another redemption has, whatever has become of that, is
	//     ErrSuperseded.
	//   - Where several of these are true at once, an ID that another one has, such a
	//     session and no place left, the store tells one of them.
	Reserve(ctx context.Context, r Reservation) (Reserved, error)

	// TakeOver gives a live reservation to another order of its customer and stores
	// that order; the order before, if it is not paid, is cancelled. It needs no
	// place, for the reservation has one. In this order: what does not validate
	// ([TakeOver.Validate]) is pricing.ErrInvalid; the order's key is idempotent as in
	// Reserve; an unknown reservation, one of another customer or coupon than the order's,
	// and one that the order does not name, is ErrNotFound; the coupon is asked as in
	// Reserve; a reservation that is not attached to FromSessionID any more, or cannot be
	// used, is ErrSuperseded. The ID of another order is ErrConflict.
	TakeOver(ctx context.Context, t TakeOver) (Reserved, error)

	// Settle applies what the processor says of a session: completed, completed
	// unpaid, payment failed, expired. It finds the redemption by the session, else
	// by ReservationID if that has no session yet and the order that the event names;
	// an event of an order alone, without a session, finds that order's reservation if
	// that has no session yet.
	// The order is the one that the event names, else the session's; of several that
	// have the session it is the one whose UpdatedAt is the latest. Then it applies the
	// event to both, and neither looks at the other: an expiry cancels the order of a
	// reservation that is leaving its session. NoPlaceLeft is for the store to find out.
	//
	// A completed session for which no redemption is found, but whose metadata names a
	// coupon, is recorded as a new redemption, redemption.FromPayment, with NewID for
	// its ID and key, over the limit if no place is left: the customer has paid. A
	// payment of an unknown customer takes no place of a customer, and a coupon that is
	// gone has no limits. A NewID that another redemption has for its ID, or one of the
	// same customer for its key, is ErrConflict: with another NewID the payment is
	// recorded.
	//
	// An event that changes nothing, or that concerns nothing in the store, is no
	// error; one of another kind, or a payment that names no session, is an error that
	// matches redemption.ErrIllegal. One without an instant, and one with which the redemption
	// or the order, or the payment's new record, does not validate, is pricing.ErrInvalid.
	Settle(ctx context.Context, s Settlement) (Settled, error)

	// Transition applies an event that does not come from a session (points
	// exchanged or refused, leaving, cancelled, lapsed, points given back) to one
	// redemption, and cancels its order when this event releases it; any other event
	// leaves the order alone. An event that redemption.Apply refuses, and one of
	// a session, which Settle takes and counts, is an error that matches
	// redemption.ErrIllegal; an unknown ID is ErrNotFound. One that Apply takes and that
	// would bring the redemption a session which another one has
	// (redemption.SessionAttached) is ErrSuperseded; one without an instant, and one with
	// which the redemption does not validate, is pricing.ErrInvalid.
	Transition(ctx context.Context, id string, e redemption.Event) (redemption.Redemption, error)
}

// Reservation is a request for a place; see [Reservation.Validate].
type Reservation struct {
	// Redemption is the record to store; its state is redemption.Reserved.
	Redemption redemption.Redemption
	// CouponRevision is the revision that was quoted; 0 accepts any.
	CouponRevision int64
	// Order is stored with the reservation; nil for a reservation by points. Its
	// ReservationID, CouponID, CustomerID and Key are the redemption's.
	Order *Order
}

// Reserved is a place that is kept.
type Reserved struct {
	Redemption redemption.Redemption
	// Order is that of the key; the zero value for a reservation by points, also when
	// its key is repeated and it is in a checkout of another key.
	Order Order
	// Replayed tells that nothing was stored now: this is the first result of the
	// key, or the reservation that the customer held already.
	Replayed bool
}

// TakeOver is a request to use a reservation for another order.
type TakeOver struct {
	// ReservationID names the reservation.
	ReservationID string
	// FromSessionID is the session that it is attached to, empty for none. The
	// caller has said that the reservation is redemption.Leaving it, and has expired
	// it at the processor.
	FromSessionID string
	// CouponRevision is the revision that was quoted; 0 accepts any.
	CouponRevision int64
	// Order is the new order.
	Order Order
	// Deadline is the reservation's new deadline; zero is never.
	Deadline time.Time
	// At is the instant of the change; one without is refused.
	At time.Time
}

// Settlement is what the processor says of a session.
type Settlement struct {
	// Event is of one of the kinds redemption.SessionCompleted, SessionUnpaid,
	// PaymentFailed and SessionExpired, and names the session and, if the session's
	// metadata has it, the order. SessionExpired may name the order alone: its
	// session never came to be.
	Event redemption.Event
	// ReservationID, CouponID and CustomerID are from the session's metadata, empty
	// where that has none.
	ReservationID string
	CouponID      string
	CustomerID    string
	// NewID is the ID of the record that is made when a payment has none.
	NewID string
}

// Settled is the state after a settlement.
type Settled struct {
	// Redemption is the zero value when the session has none.
	Redemption redemption.Redemption
	// Order is the zero value when the session has none.
	Order Order
	// Changed tells that redemption or order are not as before.
	Changed bool
}

// RedemptionReader reads redemptions.
type RedemptionReader interface {
	// Redemption returns one record, or ErrNotFound.
	Redemption(ctx context.Context, id string) (redemption.Redemption, error)

	// ListRedemptions returns a page of redemptions, newest first; see [RedemptionList].
	// What is out of bounds, and a cursor that is none, is pricing.ErrInvalid.
	ListRedemptions(ctx context.Context, list RedemptionList) (RedemptionPage, error)

	// Due returns work for the sweep, the oldest first (by creation, then by ID), limit
	// records or, if there are fewer, all, and none if limit is 0 or less: live reservations
	// whose deadline is not after at, and, at any instant, records whose points are still to
	// be refunded.
	Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error)
}

// Orders keeps orders (specification 2.5).
type Orders interface {
	// CreateOrder stores an order without a coupon; one with a coupon or reservation
	// is pricing.ErrInvalid, for it needs a place, and so is one that does not validate. A
	// key that the customer used before returns the first order, replayed; ErrKeyReused as
	// in Reserve. The ID of another order is ErrConflict.
	CreateOrder(ctx context.Context, o Order) (stored Order, replayed bool, err error)

	// AttachSession records the processor's session in the order, and in its
	// reservation with the new deadline. An unknown order is ErrNotFound. An order that has
	// ended, has another session, or whose reservation another order has taken over, is
	// ErrSuperseded, and so is, for an order with a reservation, a session that another
	// redemption has. An attachment that does not validate ([Attachment.Validate]), or with
	// which the order does not, is pricing.ErrInvalid. An order that the session has paid for
	// already is no error. Repeating it is harmless.
	AttachSession(ctx context.Context, a Attachment) (Order, error)

	// Order returns one order, or ErrNotFound.
	Order(ctx context.Context, id string) (Order, error)

	// OrderByKey returns the customer's order of that key, ended or not, or ErrNotFound.
	OrderByKey(ctx context.Context, customerID, key string) (Order, error)

	// OpenOrders returns orders without a redemption that have not ended and whose
	// deadline is not after at, the oldest first (by creation, then by ID), limit orders
	// or, if there are fewer, all, and none if limit is 0 or less: work for the sweep.
	OpenOrders(ctx context.Context, at time.Time, limit int) ([]Order, error)
}

// Attachment joins a session to an order.
type Attachment struct {
	OrderID    string
	SessionID  string
	SessionURL string
	// Deadline is the new deadline of order and reservation; zero is never.
	Deadline time.Time
	// At is the instant of the change; one without is refused.
	At time.Time
}
