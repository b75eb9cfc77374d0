package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// Get returns the coupon with the ID. Get returns a rejection that matches coupon.ErrNotFound for
// an unknown coupon. Get also returns the rejection coupon.ErrNotFound while the coupon's creation
// or deletion is unfinished. [Service.Find] accepts a code as well as an ID.
func (s *Service) Get(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := s.store.Coupon(ctx, id)
	if err == nil && c.State != coupon.Active && c.State != coupon.Inactive {
		return coupon.Coupon{}, coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
	}
	return c, err
}

// Find returns the coupon that has the code or ID codeOrID, for administrators. Find reads codes as
// [Service.Validate] does. Find returns the whole coupon, as [Service.Get] does.
//
// Find refuses with a [*coupon.Rejection]. The rejection matches coupon.ErrCodeRequired for an
// empty text. In all other cases, the rejection matches coupon.ErrNotFound. Find does not find a
// coupon whose creation or deletion is unfinished.
func (s *Service) Find(ctx context.Context, codeOrID string) (coupon.Coupon, error) {
	found, err := s.lookUp(ctx, codeOrID, eligibility.Customer{})
	if err != nil {
		return coupon.Coupon{}, err
	}
	return s.Get(ctx, found.Coupon.ID)
}

// List returns a page of coupons for administrators, with the newest coupon first (specification
// 4.1). List shows a coupon as inactive while its creation or deletion is unfinished. Instead of an
// allow-list, the page contains only the number of its entries. List returns a
// [*pricing.ValidationError] when a field of the [store.CouponList] is out of bounds.
func (s *Service) List(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return s.store.ListCoupons(ctx, list)
}

// Redemptions returns a page of redemptions, with the newest redemption first. Redemptions returns
// a [*pricing.ValidationError] when a field of the [store.RedemptionList] is out of bounds.
func (s *Service) Redemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	return s.store.ListRedemptions(ctx, list)
}

// Order returns an order of the customer. Order returns store.ErrNotFound for an unknown order and
// for an order of a different customer.
func (s *Service) Order(ctx context.Context, customerID, orderID string) (store.Order, error) {
	o, err := s.store.Order(ctx, orderID)
	if err == nil && o.CustomerID != customerID {
		return store.Order{}, store.ErrNotFound
	}
	return o, err
}
