package storetest_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// damageable is a sound store of whose records some cannot be read.
type damageable struct {
	*memstore.Store

	mu      sync.Mutex
	damaged map[store.UnreadableError]bool
}

func newDamageable() *damageable {
	return &damageable{Store: memstore.New(), damaged: map[store.UnreadableError]bool{}}
}

// damage is what the suite calls, on a sound or on a faulty store.
func damage(_ *testing.T, s store.Store, kind, id string) func() {
	d, _ := store.As[*damageable](s)
	record := recordOf(kind, id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.damaged[*record] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.damaged, *record)
	}
}

func recordOf(kind, id string) *store.UnreadableError {
	return &store.UnreadableError{Kind: kind, ID: id, Reason: "damaged"}
}

// check returns an error if the record is damaged.
func (d *damageable) check(kind, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if record := recordOf(kind, id); d.damaged[*record] {
		return record
	}
	return nil
}

func (d *damageable) checkOrder(o store.Settled) error {
	if err := d.check("order", o.Order.ID); err != nil {
		return err
	}
	for _, u := range o.Uses {
		if d.check("use", u.ID) != nil {
			return recordOf("order", o.Order.ID)
		}
	}
	return nil
}

// readable splits the records of a page.
func readable[R any](records []R, check func(R) error) (items []R, unreadable []*store.UnreadableError) {
	items = slices.DeleteFunc(records, func(r R) bool {
		var record *store.UnreadableError
		if errors.As(check(r), &record) {
			unreadable = append(unreadable, record)
		}
		return record != nil
	})
	return items, unreadable
}

func (d *damageable) SaveCoupon(ctx context.Context, c store.CouponChange) (coupon.Coupon, error) {
	if err := d.check("coupon", c.Coupon.ID); err != nil {
		return coupon.Coupon{}, err
	}
	return d.Store.SaveCoupon(ctx, c)
}

func (d *damageable) LookUp(ctx context.Context, by store.LookUp) (store.LookedUp, error) {
	found, err := d.Store.LookUp(ctx, by)
	for _, f := range found.Coupons {
		if f == nil {
			continue
		}
		_ = errors.As(d.check("coupon", f.Coupon.ID), &f.Unreadable)
		for _, u := range f.Held {
			_ = errors.As(d.check("use", u.ID), &f.Unreadable)
		}
	}
	found.Orders, found.Unreadable = readable(found.Orders, d.checkOrder)
	return found, err
}

func (d *damageable) ListCoupons(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	page, err := d.Store.ListCoupons(ctx, list)
	page.Items, page.Unreadable = readable(page.Items, func(c coupon.Coupon) error { return d.check("coupon", c.ID) })
	return page, err
}

func (d *damageable) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	found, err := d.Store.Order(ctx, by)
	if damaged := d.checkOrder(found); err == nil && damaged != nil {
		return store.Settled{}, damaged
	}
	return found, err
}

func (d *damageable) ListOrders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	page, err := d.Store.ListOrders(ctx, list)
	page.Items, page.Unreadable = readable(page.Items, d.checkOrder)
	return page, err
}

func (d *damageable) ListUses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	page, err := d.Store.ListUses(ctx, list)
	page.Items, page.Unreadable = readable(page.Items, func(u redemption.Use) error { return d.check("use", u.ID) })
	return page, err
}

func (d *damageable) Apply(ctx context.Context, s store.Settlement) (store.Settled, error) {
	if err := d.check("order", s.Event.OrderID); err != nil {
		return store.Settled{}, err
	}
	return d.Store.Apply(ctx, s)
}

// spoiled reports whether any record is damaged.
func (d *damageable) spoiled() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for record := range maps.Keys(d.damaged) {
		return &record
	}
	return nil
}

func damageFaults() map[string]fault {
	return map[string]fault{
		"a damaged coupon ends the list": {func(f *faulty) {
			f.coupons = func(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
				page, err := f.Store.ListCoupons(ctx, list)
				if err == nil && len(page.Unreadable) > 0 {
					err = page.Unreadable[0]
				}
				return page, err
			}
		}, []string{"a damaged coupon"}},
		"a damaged order is left out": {func(f *faulty) {
			f.orders = func(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
				page, err := f.Store.ListOrders(ctx, list)
				page.Unreadable = nil
				return page, err
			}
		}, []string{"a damaged order"}},
		"a damaged use does not damage its order": {func(f *faulty) {
			f.order = func(ctx context.Context, by store.OrderKey) (store.Settled, error) {
				found, err := f.Store.(*damageable).Store.Order(ctx, by)
				if damaged := f.Store.(*damageable).check("order", found.Order.ID); err == nil && damaged != nil {
					return store.Settled{}, damaged
				}
				return found, err
			}
		}, []string{"a damaged order"}},
		"a damaged order fails its batch": {func(f *faulty) {
			f.apply = func(ctx context.Context, s store.Settlement) (store.Settled, error) {
				if err := f.Store.(*damageable).spoiled(); err != nil {
					return store.Settled{}, err
				}
				return f.Store.Apply(ctx, s)
			}
		}, []string{"calls beside a damaged order"}},
	}
}
