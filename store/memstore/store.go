// Package memstore is a store in memory: the reference for the contract of package
// store, and what tests, examples and trials use. It forgets everything with its
// process.
//
// # Idea
//
// Everything that belongs to one coupon is kept in one book: the coupon, its
// redemptions, and the orders that use it. A call locks the one book that it is
// about, applies the rules of packages store and redemption, and changes the book
// as a whole. Calls about different coupons do not wait for each other; calls about
// one coupon are in a line, which is what makes its limits exact. A book outlives
// its coupon, because redemptions and orders do.
//
// # Locks
//
// Locks are taken in this order, and never the other way round: the customer's
// (which makes idempotency keys exact), the catalog's, a book's (of several books, in
// the order of their numbers), an index's. No method holds a lock while it waits for
// anything else.
package memstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// Store is a store in memory. Make it with [New]. All methods may be called from
// many goroutines at once; see package store for what they do.
type Store struct {
	closed  atomic.Bool
	catalog catalog

	// customers serialises the use of idempotency keys by one customer.
	customers locks
	// keyed finds what a customer's key was used for, by keyOf.
	keyed index[use]
	// coupons tells which book a coupon ID has, also that of a deleted coupon, and
	// codes that of a coupon which exists.
	coupons index[*book]
	codes   index[*book]
	// redemptions and orders tell which book a record is in.
	redemptions index[*book]
	orders      index[*book]
	// sessions tells which redemption has a session, if any, and orderSessions in which
	// books orders have it, nearly always in one. Who has a session changes under the lock
	// of the redemption's book.
	sessions      index[string]
	orderSessions index[[]*book]
	// plain holds the orders without a coupon, spread by customer.
	plain [stripes]*book
}

// catalog serialises the creation and deletion of coupons, and lists them.
type catalog struct {
	mu sync.RWMutex
	// books of the coupons that exist, and of those that did.
	books []*book
	// listed are the coupons that exist, the oldest first.
	listed []listing
}

// listing is a coupon's place in the list: what never changes of it.
type listing struct {
	createdAt time.Time
	id        string
	book      *book
}

// use is what an idempotency key was used for: an order, a reservation by points, or a
// payment for which there was no reservation.
type use struct {
	book          *book
	orderID       string
	reservationID string
	// ofRecord tells that the redemption was made with the key, and not the order alone.
	ofRecord bool
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{}
	for i := range s.plain {
		s.plain[i] = newBook(uint64(i))
	}
	return s
}

// Close makes every later call return store.ErrClosed. It may be called again.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// enter is the first thing that every method does.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return store.ErrClosed
	}
	return nil
}

// book returns the book of a coupon, or nil for one that never existed.
func (s *Store) book(couponID string) *book {
	b, _ := s.coupons.get(couponID)
	return b
}

// anyBook returns the book of a coupon, and makes it for one that never existed: a
// payment that names it is recorded all the same.
func (s *Store) anyBook(couponID string) *book {
	if b := s.book(couponID); b != nil {
		return b
	}
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	if b := s.book(couponID); b != nil {
		return b
	}
	return s.addBook(couponID)
}

// addBook makes the book of a coupon. The catalog is locked.
func (s *Store) addBook(couponID string) *book {
	b := newBook(uint64(stripes + len(s.catalog.books)))
	s.catalog.books = append(s.catalog.books, b)
	s.coupons.put(couponID, b)
	return b
}

func notFound(couponID string) error {
	return coupon.Reject(couponID, coupon.CouponNotFound, coupon.Params{})
}
