package storetest

import (
	"context"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// question is a call that reads.
type question struct {
	name string
	ask  func(ctx context.Context, s store.Store) (any, error)
}

// answer is what a question is answered with.
type answer struct {
	Value  any
	Errors []string
}

func (q question) answer(ctx context.Context, s store.Store) answer {
	value, err := q.ask(ctx, s)
	return answer{value, kinds(err)}
}

func (a answer) equal(b answer) bool { return cmp.Equal(a, b, cmpopts.EquateEmpty()) }

// questions are all that can be asked about a coupon, a reservation and an order without a
// coupon, whether they exist or not.
func questions(c coupon.Coupon, r store.Reservation, plain store.Order) []question {
	record, end := r.Redemption, at(99_999)
	return []question{
		couponOf(c), lookUpOf(c, ""), lookUpOf(c, record.CustomerID),
		{"LookUp of the ID", func(ctx context.Context, s store.Store) (any, error) {
			return s.LookUp(ctx, store.LookUp{CouponID: c.ID})
		}},
		{"ListCoupons", func(ctx context.Context, s store.Store) (any, error) { return s.ListCoupons(ctx, store.CouponList{}) }},
		{"ListCoupons with a search", func(ctx context.Context, s store.Store) (any, error) {
			return s.ListCoupons(ctx, store.CouponList{Search: "changed"})
		}},
		{"ListRedemptions", func(ctx context.Context, s store.Store) (any, error) {
			return s.ListRedemptions(ctx, store.RedemptionList{})
		}},
		{"ListRedemptions of the customer", func(ctx context.Context, s store.Store) (any, error) {
			return s.ListRedemptions(ctx, store.RedemptionList{CustomerID: record.CustomerID, State: redemption.Reserved})
		}},
		{"Due", func(ctx context.Context, s store.Store) (any, error) { return s.Due(ctx, end, 1_000) }},
		{"OpenOrders", func(ctx context.Context, s store.Store) (any, error) { return s.OpenOrders(ctx, end, 1_000) }},
		redemptionOf(record.ID), orderOf(record.OrderID), orderOf(plain.ID),
		keyOf(record.CustomerID, record.Key), keyOf(plain.CustomerID, plain.Key),
	}
}

func couponOf(c coupon.Coupon) question {
	return question{"Coupon", func(ctx context.Context, s store.Store) (any, error) { return s.Coupon(ctx, c.ID) }}
}

func lookUpOf(c coupon.Coupon, customerID string) question {
	return question{"LookUp of the code", func(ctx context.Context, s store.Store) (any, error) {
		return s.LookUp(ctx, store.LookUp{Code: c.Code, CustomerID: customerID})
	}}
}

func redemptionOf(id string) question {
	return question{"Redemption", func(ctx context.Context, s store.Store) (any, error) { return s.Redemption(ctx, id) }}
}

func orderOf(id string) question {
	return question{"Order", func(ctx context.Context, s store.Store) (any, error) { return s.Order(ctx, id) }}
}

func keyOf(customerID, key string) question {
	return question{"OrderByKey", func(ctx context.Context, s store.Store) (any, error) { return s.OrderByKey(ctx, customerID, key) }}
}
