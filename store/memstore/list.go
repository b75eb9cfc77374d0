package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// entry is the sort key of a record in a list.
type entry struct {
	createdAt time.Time
	id        string
}

func (e entry) compare(f entry) int {
	return cmp.Or(e.createdAt.Compare(f.createdAt), cmp.Compare(e.id, f.id))
}

// timeline is a list of records, oldest first.
type timeline struct{ entries []entry }

func (t *timeline) add(e entry) {
	at, _ := slices.BinarySearchFunc(t.entries, e, entry.compare)
	t.entries = slices.Insert(t.entries, at, e)
}

func (t *timeline) remove(e entry) {
	if at, found := slices.BinarySearchFunc(t.entries, e, entry.compare); found {
		t.entries = slices.Delete(t.entries, at, at+1)
	}
}

// newest returns the records that want selects, newest first.
func (t *timeline) newest(want func(id string) bool) []entry {
	var found []entry
	for _, e := range slices.Backward(t.entries) {
		if want(e.id) {
			found = append(found, e)
		}
	}
	return found
}

// timelines has a timeline for each value of a filter.
type timelines map[string]*timeline

const everything = ""

func customerList(id string) string { return "customer " + id }

func couponList(id string) string { return "coupon " + id }

func (t timelines) add(e entry, lists ...string) {
	for _, name := range lists {
		if t[name] == nil {
			t[name] = &timeline{}
		}
		t[name].add(e)
	}
}

func (t timelines) of(name string) *timeline {
	if found := t[name]; found != nil {
		return found
	}
	return &timeline{}
}

// ListOrders implements [store.Orders].
func (s *Store) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.OrderPage{}, err
	}
	after, err := parseAfter(list.After)
	if err != nil {
		return store.OrderPage{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.OrderPage{}, err
	}
	defer s.mu.Unlock()
	name := everything
	if list.CustomerID != "" {
		name = customerList(list.CustomerID)
	}
	found := s.orderLists.of(name).newest(func(id string) bool {
		o := s.orders[id]
		due := list.DueAt.IsZero() || !o.Deadline.IsZero() && !o.Deadline.After(list.DueAt)
		return due && (list.State == 0 || list.State == o.State) && list.Created.Contains(o.CreatedAt)
	})
	found, next := pageOf(found, after, !list.DueAt.IsZero(), list.After != "", list.PageSize)
	page := store.OrderPage{Next: next}
	for _, e := range found {
		page.Items = append(page.Items, s.whole(e.id))
	}
	return page, nil
}

// ListUses implements [store.Orders].
func (s *Store) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.UsePage{}, err
	}
	after, err := parseAfter(list.After)
	if err != nil {
		return store.UsePage{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.UsePage{}, err
	}
	defer s.mu.Unlock()
	name := everything
	switch {
	case list.CustomerID != "":
		name = customerList(list.CustomerID)
	case list.CouponID != "":
		name = couponList(list.CouponID)
	}
	found := s.useLists.of(name).newest(func(id string) bool { return wantedUse(s.uses[id], list) })
	page := store.UsePage{Total: int64(len(found))}
	found, page.Next = pageOf(found, after, !list.DueAt.IsZero(), list.After != "", list.PageSize)
	for _, e := range found {
		page.Items = append(page.Items, s.uses[e.id].Clone())
	}
	return page, nil
}

func wantedUse(u redemption.Use, list store.UseList) bool {
	return (list.CouponID == "" || list.CouponID == u.CouponID) &&
		(list.CustomerID == "" || list.CustomerID == u.CustomerID) &&
		(list.Key == "" || list.Key == u.Key) &&
		(list.ExchangeID == "" || list.ExchangeID == u.ExchangeID) &&
		(list.State == 0 || list.State == u.State) &&
		(list.DueAt.IsZero() || u.Due(list.DueAt))
}

// pageOf returns a page of found, which is sorted newest first. If oldest is true, the page is sorted
// oldest first.
func pageOf(found []entry, after store.Cursor, oldest, resume bool, size int) ([]entry, string) {
	if oldest {
		slices.Reverse(found)
	}
	switch cursor := (entry{after.CreatedAt, after.ID}); {
	case resume && oldest:
		found = found[indexOf(found, func(e entry) bool { return e.compare(cursor) > 0 }):]
	case resume:
		found = afterCursor(found, after)
	}
	return cut(found, size)
}

func afterCursor(found []entry, after store.Cursor) []entry {
	return found[indexOf(found, func(e entry) bool { return after.Before(e.createdAt, e.id) }):]
}

func indexOf(found []entry, is func(entry) bool) int {
	if i := slices.IndexFunc(found, is); i >= 0 {
		return i
	}
	return len(found)
}

// cut returns the first size entries, and the cursor of the next page.
func cut(found []entry, size int) ([]entry, string) {
	if len(found) <= size {
		return found, ""
	}
	last := found[size-1]
	return found[:size], store.Cursor{CreatedAt: last.createdAt, ID: last.id}.String()
}

func parseAfter(text string) (store.Cursor, error) {
	if text == "" {
		return store.Cursor{}, nil
	}
	return store.ParseCursor(text)
}
