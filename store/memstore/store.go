// Package memstore keeps all data in memory. It is for tests, examples and trials. It is also
// the reference implementation of package store.
//
// One mutex guards all maps, so every call is a transaction. Package engine makes the
// decisions. Package memstore only finds and keeps rows.
package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// Store is a store in memory. Use [New] to make a Store. It is safe for concurrent use.
type Store struct {
	mu     sync.Mutex
	closed bool

	coupons     map[string]*couponRow
	codes       map[coupon.Code]string // by live code: its coupon
	issued      map[engine.CodeKey]coupon.IssuedCode
	codesOf     map[string][]string // by coupon: the sorted keys of its codes
	batches     map[engine.CodeKey]batch
	couponLists timeline

	orders     map[string]redemption.Order
	orderKeys  map[engine.Key]string
	sessions   map[string]string
	orderLists timelines

	uses     map[string]redemption.Use
	useKeys  map[engine.Key]string
	usesOf   map[string][]string // use IDs by order
	reserved map[string]string   // by exchange: the use that has the points
	useLists timelines

	counters map[string]eligibility.Count
	attempts map[string]time.Time // when each bucket is full
	journal  []store.Entry
	// histories has the journal entries of each coupon, oldest first.
	histories map[string][]store.Entry
}

var _ store.Store = (*Store)(nil)

type couponRow struct {
	coupon    coupon.Coupon
	unlimited bool
	version   int64
}

// New returns an empty store.
func New() *Store {
	return &Store{
		coupons: map[string]*couponRow{}, codes: map[coupon.Code]string{},
		issued: map[engine.CodeKey]coupon.IssuedCode{}, codesOf: map[string][]string{}, batches: map[engine.CodeKey]batch{},
		orders: map[string]redemption.Order{}, orderKeys: map[engine.Key]string{}, sessions: map[string]string{},
		orderLists: timelines{}, uses: map[string]redemption.Use{}, useKeys: map[engine.Key]string{},
		usesOf: map[string][]string{}, reserved: map[string]string{}, useLists: timelines{},
		counters: map[string]eligibility.Count{}, attempts: map[string]time.Time{}, histories: map[string][]store.Entry{},
	}
}

// Close makes every later call fail with [store.ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// enter begins a call and locks the mutex. The caller must unlock it.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// Reserve implements [store.Orders].
func (s *Store) Reserve(ctx context.Context, r store.Reservation) (store.Reserved, error) {
	r = r.Normalize()
	if err := r.Validate(); err != nil {
		return store.Reserved{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Reserved{}, err
	}
	defer s.mu.Unlock()
	reserved, err := engine.Only(engine.Reserve(ctx, tx{s}, 0, true, &r))
	reserved.Order, reserved.Uses = copyRecords(reserved.Order, reserved.Uses)
	return reserved, err
}

// Apply implements [store.Orders].
func (s *Store) Apply(ctx context.Context, e store.Settlement) (store.Settled, error) {
	e = e.Normalize()
	if err := e.Validate(); err != nil {
		return store.Settled{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.Settled{}, err
	}
	defer s.mu.Unlock()
	settled, err := engine.ApplyLate(ctx, tx{s}, 0, e)
	settled.Order, settled.Uses = copyRecords(settled.Order, settled.Uses)
	return settled, err
}

// SaveCoupon implements [store.Coupons].
func (s *Store) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	c = c.Normalize()
	if err := c.Validate(); err != nil {
		return coupon.Coupon{}, err
	}
	if err := s.enter(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	defer s.mu.Unlock()
	return engine.SaveCoupon(ctx, couponTx{s}, c)
}

// Order implements [store.Orders].
func (s *Store) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	if err := s.enter(ctx); err != nil {
		return store.Settled{}, err
	}
	defer s.mu.Unlock()
	id := by.ID
	switch {
	case id != "":
	case by.SessionID != "":
		id = s.sessions[by.SessionID]
	default:
		id = s.orderKeys[engine.Key{CustomerID: by.CustomerID, Key: by.Key}]
	}
	if _, found := s.orders[id]; !found {
		return store.Settled{}, store.ErrNotFound
	}
	return s.whole(id), nil
}

// whole returns a copy of an order with its uses.
func (s *Store) whole(id string) store.Settled {
	var whole store.Settled
	whole.Order, whole.Uses = copyRecords(s.orders[id], s.usesOfOrder(id))
	return whole
}

func (s *Store) usesOfOrder(id string) []redemption.Use {
	var uses []redemption.Use
	for _, use := range s.usesOf[id] {
		uses = append(uses, s.uses[use])
	}
	slices.SortFunc(uses, func(a, b redemption.Use) int { return cmp.Compare(a.CouponID, b.CouponID) })
	return uses
}

// Counts implements [store.Counters].
func (s *Store) Counts(ctx context.Context, keys []string) ([]eligibility.Count, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	counts := make([]eligibility.Count, len(keys))
	for i, key := range keys {
		counts[i] = s.counters[key]
	}
	return counts, nil
}

// Journal implements [store.Journal].
func (s *Store) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	first := min(max(after, 0), int64(len(s.journal)))
	limit = min(max(limit, 0), store.MaxJournalLimit, len(s.journal)-int(first))
	entries := append([]store.Entry(nil), s.journal[first:int(first)+limit]...)
	for i := range entries {
		entries[i].Data = append([]byte(nil), entries[i].Data...)
	}
	return entries, nil
}

// JournalEnd implements [store.Journal].
func (s *Store) JournalEnd(ctx context.Context) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return int64(len(s.journal)), nil
}

func copyRecords(o redemption.Order, uses []redemption.Use) (redemption.Order, []redemption.Use) {
	copied := make([]redemption.Use, len(uses))
	for i, u := range uses {
		copied[i] = u.Clone()
	}
	if len(copied) == 0 {
		copied = nil
	}
	return o.Clone(), copied
}
