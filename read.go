package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// Get returns the coupon with the given ID. Get returns coupon.ErrNotFound if the coupon is
// unknown, or if its creation or deletion is unfinished. [Service.Find] also accepts a code.
func (s *Service) Get(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := s.stored(ctx, id)
	if err == nil && c.State != coupon.Active && c.State != coupon.Inactive {
		return coupon.Coupon{}, coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
	}
	return c, err
}

// Find returns the coupon with the given code or ID, for administrators. Find accepts the same
// spellings of a code as [Service.Validate]. Find returns the coupon with its whole allow-list.
//
// Find returns these errors:
//
//   - coupon.ErrCodeRequired means that the text is empty.
//   - coupon.ErrNotFound means that no coupon has the code or ID. Find does not return a coupon
//     whose creation or deletion is unfinished.
func (s *Service) Find(ctx context.Context, codeOrID string) (coupon.Coupon, error) {
	found, err := s.lookUp(ctx, codeOrID, eligibility.Customer{})
	if err != nil {
		return coupon.Coupon{}, err
	}
	return s.Get(ctx, found.Coupon.ID)
}

// List returns a page of coupons for administrators, newest first (specification 4.1). The page
// includes coupons whose creation or deletion is unfinished. The page contains the number of
// addresses on each allow-list, but not the addresses. List returns a [*pricing.ValidationError] if
// a field of the [store.CouponList] is out of bounds.
func (s *Service) List(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return s.store.ListCoupons(ctx, list)
}

// Orders returns a page of orders, newest first. With [store.OrderList].DueAt, the oldest order
// comes first. Orders returns a [*pricing.ValidationError] if a field of the [store.OrderList] is
// out of bounds.
func (s *Service) Orders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return s.store.ListOrders(ctx, list)
}

// Uses returns a page of uses, newest first. With [store.UseList].DueAt, the oldest use comes
// first. Uses returns a [*pricing.ValidationError] if a field of the [store.UseList] is out of
// bounds.
func (s *Service) Uses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return s.store.ListUses(ctx, list)
}

// Order returns an order of the customer with its uses. Order returns store.ErrNotFound if the
// customer has no order with this ID.
func (s *Service) Order(ctx context.Context, customerID, orderID string) (store.Settled, error) {
	o, err := s.store.Order(ctx, store.OrderKey{ID: orderID})
	if err == nil && o.Order.CustomerID != customerID {
		return store.Settled{}, store.ErrNotFound
	}
	return o, err
}

// Journal returns the journal entries after a position, in order; see [store.Journal]. The position
// 0 is before the first entry. One call returns at most [store.MaxJournalLimit] entries. Any error
// comes from the store or the context.
func (s *Service) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return s.store.Journal(ctx, after, limit)
}

// History returns the journal entries about one coupon, the newest change first; see
// [store.Journal]. Data of an entry has the coupon before and after the change, and By tells who
// made it. Any error comes from the store or the context.
func (s *Service) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	return s.store.History(ctx, couponID, before, limit)
}

// Sums returns how often a coupon was used on each day, what it took off and what refunds took back;
// see [store.SumList]. Sums returns a [*pricing.ValidationError] if a field of the list is out of
// bounds.
func (s *Service) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	return s.store.Sums(ctx, list)
}
