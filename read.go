package couponkit

import (
	"context"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// Get returns the coupon with the ID. A coupon that is unknown, half made or being deleted is a
// rejection that matches coupon.ErrNotFound. [Service.Find] takes a code too.
func (s *Service) Get(ctx context.Context, id string) (coupon.Coupon, error) {
	c, err := s.store.Coupon(ctx, id)
	if err == nil && c.State != coupon.Active && c.State != coupon.Inactive {
		return coupon.Coupon{}, coupon.Reject(id, coupon.CouponNotFound, coupon.Params{})
	}
	return c, err
}

// Find returns the coupon that has the code or ID, for administrators. It reads codes as
// [Service.Validate] does, and returns the whole coupon as [Service.Get] does.
//
// Refusals are a [*coupon.Rejection]: coupon.ErrCodeRequired for an empty text, else
// coupon.ErrNotFound. A coupon that is half made or being deleted is not found.
func (s *Service) Find(ctx context.Context, codeOrID string) (coupon.Coupon, error) {
	found, err := s.lookUp(ctx, codeOrID, eligibility.Customer{})
	if err != nil {
		return coupon.Coupon{}, err
	}
	return s.Get(ctx, found.Coupon.ID)
}

// List returns a page of coupons for administrators, newest first (specification 4.1). Coupons
// that are half made or being deleted are shown as inactive. For an allow-list the page has only
// the number of entries. A list out of bounds is a [*pricing.ValidationError].
func (s *Service) List(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return s.store.ListCoupons(ctx, list)
}

// Redemptions returns a page of redemptions, newest first. A list out of bounds is a
// [*pricing.ValidationError].
func (s *Service) Redemptions(ctx context.Context, list store.RedemptionList) (store.RedemptionPage, error) {
	return s.store.ListRedemptions(ctx, list)
}

// Order returns an order of the customer. An unknown order, and an order of another customer, is
// store.ErrNotFound.
func (s *Service) Order(ctx context.Context, customerID, orderID string) (store.Order, error) {
	o, err := s.store.Order(ctx, orderID)
	if err == nil && o.CustomerID != customerID {
		return store.Order{}, store.ErrNotFound
	}
	return o, err
}
