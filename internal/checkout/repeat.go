package checkout

import (
	"context"
	"errors"
	"strings"

	"github.com/couponkit/couponkit/codes"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/internal/catalog"
	"github.com/couponkit/couponkit/store"
)

// repeated returns the existing order for the customer's key. Two different codes may have the same
// fingerprint: an ID and a code that looks like the ID, or a generated code and its misreading. So
// repeated also compares the codes with the coupons of the order.
func (c *Reserver) repeated(ctx context.Context, r *Request, request string) (store.Reserved, error) {
	if r.Customer.ID == "" {
		return store.Reserved{}, store.ErrNotFound
	}
	before, err := c.Store.Order(ctx, store.OrderKey{CustomerID: r.Customer.ID, Key: r.Key})
	if err == nil && before.Order.Fingerprint != request {
		err = store.ErrKeyReused
	}
	for i := range before.Order.Coupons {
		if err == nil && !before.Order.Coupons[i].Code.IsZero() { // an automatic coupon has no code
			err = c.named(ctx, r.Codes, before.Order.Coupons[i])
		}
	}
	if err != nil {
		return store.Reserved{}, err
	}
	return store.Reserved{Order: before.Order, Uses: before.Uses, Replayed: true}, nil
}

// named returns store.ErrKeyReused if none of the codes names the coupon of an order.
func (c *Reserver) named(ctx context.Context, codes []string, used coupon.Snapshot) error {
	for _, code := range codes {
		if is, err := c.names(ctx, code, used); is || err != nil {
			return err
		}
	}
	return store.ErrKeyReused
}

// names reports whether a typed code names the coupon of an order.
func (c *Reserver) names(ctx context.Context, typed string, used coupon.Snapshot) (bool, error) {
	id := strings.TrimSpace(typed)
	if used.ID == id {
		return true, nil
	}
	code, err := coupon.TypedCode(typed)
	generated, _ := codes.AsGenerated(code)
	if err != nil || code != used.Code && generated != used.Code {
		return false, nil //nolint:nilerr // a text that is no code names no coupon
	}
	if code == used.Code && !coupon.IsID(id) {
		return true, nil
	}
	found, err := (&catalog.Catalog{Store: c.Store}).Named(ctx, typed)
	if errors.Is(err, coupon.ErrNotFound) {
		return true, nil
	}
	return found.Coupon.ID == used.ID, err
}
