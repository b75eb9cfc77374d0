package memstore

import (
	"context"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/engine"
)

// couponTx implements [engine.CouponTx]. The caller holds the mutex.
type couponTx struct{ *Store }

func (tx couponTx) LoadCoupon(_ context.Context, id string, code coupon.Code) (engine.StoredCoupon, error) {
	stored := engine.StoredCoupon{CodeOf: tx.codes[code]}
	_, stored.Counted = tx.counters[eligibility.CouponUses(id)]
	if row := tx.coupons[id]; row != nil {
		stored.Coupon, stored.Unlimited, stored.Version = tx.counted(row.coupon), row.unlimited, row.version
	}
	return stored, nil
}

func (tx couponTx) SaveCoupon(_ context.Context, w engine.CouponWrite) error {
	c := w.Coupon
	switch w.Kind {
	case store.CreateCoupon:
		tx.coupons[c.ID] = &couponRow{coupon: c}
		tx.couponLists.add(entry{c.CreatedAt, c.ID})
	case store.DeleteCoupon:
		delete(tx.coupons, c.ID)
		tx.couponLists.remove(entry{c.CreatedAt, c.ID})
	case store.EditCoupon, store.ConfirmMirror:
	}
	if row := tx.coupons[c.ID]; row != nil {
		if w.KeepEmails {
			c.AllowedUserEmails = row.coupon.AllowedUserEmails
		}
		row.coupon, row.unlimited, row.version = c, w.Unlimited, w.Version
	}
	tx.saveCodes(c.ID, w.Codes)
	if w.Entry.Kind != "" {
		tx.write(w.Entry)
		tx.histories[c.ID] = append(tx.histories[c.ID], tx.journal[len(tx.journal)-1])
	}
	return nil
}

// counted returns the coupon with its counts.
func (s *Store) counted(c coupon.Coupon) coupon.Coupon {
	count := s.counters[eligibility.CouponUses(c.ID)]
	c.UsedCount, c.ReservedCount = count.Completed, count.Reserved
	return c
}

// LookUp implements [store.Coupons].
func (s *Store) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	if err := by.Validate(); err != nil {
		return store.LookedUp{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.LookedUp{}, err
	}
	defer s.mu.Unlock()
	var found store.LookedUp
	found.Coupons = make([]*store.Found, len(by.Names))
	for i, name := range by.Names {
		found.Coupons[i] = s.find(name, &by)
	}
	for _, key := range by.Counters {
		found.Counts = append(found.Counts, s.counters[key])
	}
	if by.CustomerID != "" && by.Orders > 0 {
		open := s.orderLists.of(customerList(by.CustomerID)).newest(func(id string) bool { return s.orders[id].State == redemption.OrderOpen })
		for _, e := range open[:min(len(open), by.Orders)] {
			found.Orders = append(found.Orders, s.whole(e.id))
		}
	}
	return found, nil
}

// find returns the coupon of a name, or nil.
func (s *Store) find(name store.Name, by *store.LookUp) *store.Found {
	id := name.CouponID
	if id == "" {
		id = s.codes[name.Code]
	}
	row := s.coupons[id]
	if row == nil {
		return nil
	}
	found := &store.Found{Coupon: s.counted(row.coupon)}
	if name.CouponID == "" {
		found.Code = s.countedCode(s.issued[codeKey(id, name.Code)])
	}
	if !by.Whole {
		found.Coupon.AllowedUserEmails = row.coupon.AllowedUserEmails.Narrow(by.Email)
	}
	for _, identity := range by.Identities {
		found.ByCustomer = append(found.ByCustomer, s.counters[eligibility.CustomerUses(id, identity)])
	}
	if by.CustomerID != "" {
		held := s.held(id, by.CustomerID)
		slices.Reverse(held)
		_, found.Held = copyRecords(redemption.Order{}, held[:min(len(held), store.MaxHeld)])
	}
	return found
}

// ListCoupons implements [store.Coupons].
func (s *Store) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	list, err := list.Normalize()
	if err != nil {
		return store.CouponPage{}, err
	}
	after, err := parseAfter(list.After)
	if err != nil {
		return store.CouponPage{}, err
	}
	if err := s.enter(ctx); err != nil {
		return store.CouponPage{}, err
	}
	defer s.mu.Unlock()
	search, holder := store.Fold(list.Search), s.codes[list.Code()]
	found := s.couponLists.newest(func(id string) bool {
		c := s.counted(s.coupons[id].coupon)
		return wanted(c, list) && (id == holder || matches(c, search))
	})
	page := store.CouponPage{Total: int64(len(found))}
	rest := found
	if list.After != "" {
		rest = afterCursor(found, after)
	} else {
		rest = rest[min((list.Page-1)*list.PageSize, len(rest)):]
	}
	rest, page.Next = cut(rest, list.PageSize)
	for _, at := range rest {
		c := s.counted(s.coupons[at.id].coupon)
		c.AllowedUserEmails = c.AllowedUserEmails.Narrow("")
		page.Items = append(page.Items, c)
	}
	return page, nil
}

func wanted(c coupon.Coupon, list store.CouponList) bool {
	return (list.State == 0 || list.State == c.State) &&
		(list.DiscountType == 0 || list.DiscountType == c.Discount.Type()) &&
		list.Starts.Contains(c.StartsAt) && list.Expires.Contains(c.ExpiresAt) &&
		(!list.UsedUp || c.Limits.MaxUses > 0 && c.Limits.MaxUses <= c.UsedCount+c.ReservedCount)
}

func matches(c coupon.Coupon, search string) bool {
	for _, text := range [...]string{c.Name, c.Code.String(), c.Description} {
		if strings.Contains(store.Fold(text), search) {
			return true
		}
	}
	return false
}
