package couponkit

import (
	"context"
	"errors"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// repeated returns the order that the key has already. Texts that may name two coupons have one
// fingerprint: an ID and the code that reads like it, a generated code and a code of which it
// may be a misreading. So repeated also compares the coupons of the order with the codes.
func (s *Service) repeated(ctx context.Context, r CheckoutRequest, request string) (store.Reserved, error) {
	before, err := s.replay(ctx, r.Customer.ID, r.Key, request)
	if err != nil {
		return before, err
	}
	for i := range before.Order.Coupons {
		switch is, err := s.anyNames(ctx, r.Codes, before.Order.Coupons[i]); {
		case err != nil:
			return store.Reserved{}, err
		case !is:
			return store.Reserved{}, store.ErrKeyReused
		}
	}
	return before, nil
}

// anyNames reports whether one of the codes names the coupon of an order.
func (s *Service) anyNames(ctx context.Context, codes []string, used coupon.Snapshot) (bool, error) {
	for _, code := range codes {
		if is, err := s.names(ctx, code, used); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

func (s *Service) names(ctx context.Context, typed string, used coupon.Snapshot) (bool, error) {
	id := strings.TrimSpace(typed)
	if used.ID == id {
		return true, nil
	}
	code, err := coupon.TypedCode(typed)
	generated, _ := code.AsGenerated()
	if err != nil || code != used.Code && generated != used.Code {
		return false, nil //nolint:nilerr // what is no code names no coupon
	}
	if code == used.Code && !coupon.IsID(id) {
		return true, nil
	}
	found, err := s.catalog().Named(ctx, typed)
	if errors.Is(err, coupon.ErrNotFound) {
		return true, nil
	}
	return found.Coupon.ID == used.ID, err
}
