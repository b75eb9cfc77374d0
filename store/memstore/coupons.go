package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// CreateCoupon stores a new coupon; see store.Catalog.
func (s *Store) CreateCoupon(ctx context.Context, c coupon.Coupon) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	c = storedCoupon(c)
	if err := c.Validate(); err != nil {
		return err
	}
	if c.AllowedUserEmails.Narrowed() {
		return invalid("allowedUserEmails", "the whole allow-list is stored, and not a part of it")
	}
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	if _, taken := s.codes.get(c.Code.String()); taken {
		return coupon.Reject(c.ID, coupon.CodeTaken, coupon.Params{})
	}
	b := s.book(c.ID)
	if b == nil {
		b = s.addBook(c.ID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.exists || len(b.records) > 0 {
		return fmt.Errorf("coupon %s exists already, or its redemptions do: %w", c.ID, store.ErrConflict)
	}
	b.coupon = coupon.Coupon{}
	b.write(c)
	s.codes.put(c.Code.String(), b)
	at, _ := slices.BinarySearchFunc(s.catalog.listed, c, func(l listing, c coupon.Coupon) int {
		return inOrder(l.createdAt, l.id, c.CreatedAt, c.ID)
	})
	s.catalog.listed = slices.Insert(s.catalog.listed, at, listing{createdAt: c.CreatedAt, id: c.ID, book: b})
	return nil
}

// UpdateCoupon changes a coupon; see store.Catalog.
func (s *Store) UpdateCoupon(ctx context.Context, c coupon.Coupon) (coupon.Coupon, error) {
	return s.change(ctx, c.ID, c.Revision, func(stored coupon.Coupon) (coupon.Coupon, error) {
		c.Code, c.Discount, c.Currency, c.CreatedAt = stored.Code, stored.Discount, stored.Currency, stored.CreatedAt
		c.Revision = stored.Revision + 1
		if c.AllowedUserEmails.Narrowed() {
			c.AllowedUserEmails = stored.AllowedUserEmails
		}
		c = storedCoupon(c)
		return c, c.Validate()
	})
}

// ConfirmMirror records a coupon's mirror; see store.Catalog.
func (s *Store) ConfirmMirror(ctx context.Context, id string, m coupon.Mirror) (coupon.Coupon, error) {
	return s.change(ctx, id, m.Revision, func(stored coupon.Coupon) (coupon.Coupon, error) {
		stored.Mirror = m
		if stored.State == coupon.Pending {
			stored.State = coupon.Active
		}
		return stored, stored.Validate()
	})
}

// change replaces a coupon that still has the revision.
func (s *Store) change(
	ctx context.Context, id string, revision int64, apply func(coupon.Coupon) (coupon.Coupon, error),
) (coupon.Coupon, error) {
	if err := s.enter(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	b := s.book(id)
	if b == nil {
		return coupon.Coupon{}, notFound(id)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.exists:
		return coupon.Coupon{}, notFound(id)
	case b.coupon.Revision != revision:
		return coupon.Coupon{}, store.ErrStaleRevision
	}
	changed, err := apply(b.coupon)
	if err != nil {
		return coupon.Coupon{}, err
	}
	return b.write(changed), nil
}

// DeleteCoupon removes a coupon and keeps its book; see store.Catalog.
func (s *Store) DeleteCoupon(ctx context.Context, id string, revision int64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	s.catalog.mu.Lock()
	defer s.catalog.mu.Unlock()
	b := s.book(id)
	if b == nil {
		return notFound(id)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case !b.exists:
		return notFound(id)
	case b.coupon.Revision != revision:
		return store.ErrStaleRevision
	}
	b.exists = false
	s.codes.remove(b.coupon.Code.String())
	s.catalog.listed = slices.DeleteFunc(s.catalog.listed, func(l listing) bool { return l.book == b })
	return nil
}

// Coupon returns one coupon; see store.CouponReader.
func (s *Store) Coupon(ctx context.Context, id string) (coupon.Coupon, error) {
	if err := s.enter(ctx); err != nil {
		return coupon.Coupon{}, err
	}
	if b := s.book(id); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.exists {
			return b.coupon, nil
		}
	}
	return coupon.Coupon{}, notFound(id)
}

// LookUp returns a coupon and its use; see store.CouponReader.
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.Found, error) {
	if err := s.enter(ctx); err != nil {
		return store.Found{}, err
	}
	b := s.named(by)
	if b == nil {
		return store.Found{}, notFound(by.CouponID)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.exists {
		return store.Found{}, notFound(by.CouponID)
	}
	found := store.Found{Coupon: b.coupon}
	found.Coupon.AllowedUserEmails = b.coupon.AllowedUserEmails.Narrow(by.Email)
	if use := b.uses[by.CustomerID]; use != nil && by.CustomerID != "" {
		found.CompletedByCustomer, found.ReservedByCustomer = use.completed, use.reserved
		held := b.held(by.CustomerID)
		found.Held = held[:min(len(held), store.MaxHeld)]
	}
	return found, nil
}

func (s *Store) named(by store.LookUp) *book {
	if by.CouponID != "" {
		return s.book(by.CouponID)
	}
	b, _ := s.codes.get(by.Code.String())
	return b
}
