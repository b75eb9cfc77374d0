package memstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// ListCoupons returns a page of coupons; see store.CouponReader. The allow-lists of its
// coupons are narrowed to none.
func (s *Store) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	if err := s.enter(ctx); err != nil {
		return store.CouponPage{}, err
	}
	list, err := list.Normalise()
	if err != nil {
		return store.CouponPage{}, err
	}
	from := place{skip: (list.Page - 1) * list.PageSize}
	if list.After != "" {
		if from, err = after(list.After); err != nil {
			return store.CouponPage{}, err
		}
	}
	var page store.CouponPage
	if !isText(list.Search) {
		return page, nil
	}
	search := store.Fold(list.Search)
	s.catalog.mu.RLock()
	defer s.catalog.mu.RUnlock()
	for _, l := range slices.Backward(s.catalog.listed) {
		c, found := l.book.search(search)
		if !found {
			continue
		}
		page.Total++
		if !from.take(c.CreatedAt, c.ID) {
			continue
		}
		if len(page.Items) < list.PageSize {
			c.AllowedUserEmails = c.AllowedUserEmails.Narrow("")
			page.Items = append(page.Items, c)
		} else if page.Next == "" {
			last := page.Items[list.PageSize-1]
			page.Next = store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()
		}
	}
	return page, nil
}

func (b *book) search(text string) (coupon.Coupon, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.coupon, strings.Contains(b.folded, text)
}

// place is where a page begins: after a number of records, or after a cursor.
type place struct {
	skip   int
	cursor *store.Cursor
}

func after(text string) (place, error) {
	cursor, err := store.ParseCursor(text)
	return place{cursor: &cursor}, err
}

// take reports whether the next record of the list is on the page or behind it.
func (p *place) take(createdAt time.Time, id string) bool {
	if p.cursor != nil {
		return p.cursor.Before(createdAt, id)
	}
	p.skip--
	return p.skip < 0
}

// Redemption returns one record; see store.RedemptionReader.
func (s *Store) Redemption(ctx context.Context, id string) (redemption.Redemption, error) {
	if err := s.enter(ctx); err != nil {
		return redemption.Redemption{}, err
	}
	b, known := s.redemptions.get(id)
	if !known {
		return redemption.Redemption{}, store.ErrNotFound
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	r, known := b.records[id]
	if !known {
		return redemption.Redemption{}, store.ErrNotFound
	}
	return r, nil
}

// ListRedemptions returns a page of redemptions; see store.RedemptionReader.
func (s *Store) ListRedemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	if err := s.enter(ctx); err != nil {
		return store.RedemptionPage{}, err
	}
	list, err := list.Normalise()
	if err != nil {
		return store.RedemptionPage{}, err
	}
	var from place
	if list.After != "" {
		if from, err = after(list.After); err != nil {
			return store.RedemptionPage{}, err
		}
	}
	found := s.find(list.CouponID, func(b *book) []redemption.Redemption { return b.matching(list) })
	slices.SortFunc(found, oldest)
	page := store.RedemptionPage{Total: int64(len(found))}
	for _, r := range slices.Backward(found) {
		if !from.take(r.CreatedAt, r.ID) {
			continue
		}
		if len(page.Items) == list.PageSize {
			last := page.Items[list.PageSize-1]
			page.Next = store.Cursor{CreatedAt: last.CreatedAt, ID: last.ID}.String()
			break
		}
		page.Items = append(page.Items, r)
	}
	return page, nil
}

func (b *book) matching(list store.RedemptionList) []redemption.Redemption {
	var found []redemption.Redemption
	for _, r := range b.records {
		if (list.CustomerID == "" || r.CustomerID == list.CustomerID) && (list.State == 0 || r.State == list.State) {
			found = append(found, r)
		}
	}
	return found
}

// Due returns records for the sweep; see store.RedemptionReader.
func (s *Store) Due(ctx context.Context, at time.Time, limit int) ([]redemption.Redemption, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	due := s.find("", func(b *book) []redemption.Redemption { return b.due(at) })
	slices.SortFunc(due, oldest)
	return due[:min(len(due), max(limit, 0))], nil
}

func (b *book) due(at time.Time) []redemption.Redemption {
	var due []redemption.Redemption
	for id := range b.watched {
		if r := b.records[id]; r.RefundDue() || !r.Deadline.After(at) {
			due = append(due, r)
		}
	}
	return due
}

// find gathers records of one coupon's book, or of all.
func (s *Store) find(couponID string, in func(*book) []redemption.Redemption) []redemption.Redemption {
	var found []redemption.Redemption
	for _, b := range s.books(couponID) {
		b.mu.Lock()
		found = append(found, in(b)...)
		b.mu.Unlock()
	}
	return found
}

func (s *Store) books(couponID string) []*book {
	if couponID != "" {
		if b := s.book(couponID); b != nil {
			return []*book{b}
		}
		return nil
	}
	s.catalog.mu.RLock()
	defer s.catalog.mu.RUnlock()
	return slices.Clone(s.catalog.books)
}
