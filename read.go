package couponkit

import (
	"context"
	"iter"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// Get returns the coupon with the given ID. Get returns coupon.ErrNotFound if the coupon is
// unknown, or if its creation or deletion is unfinished. Get returns a [*store.UnreadableError] if the
// store cannot read the coupon. [Service.Find] also accepts a code.
func (s *Service) Get(ctx context.Context, id string) (coupon.Coupon, error) {
	return s.catalog().Get(ctx, id)
}

// Find returns the coupon with the given code or ID, for administrators. Find accepts the same
// spellings of a code as [Service.Validate]. Find returns the coupon with its whole allow-list.
//
// Find returns these errors:
//
//   - coupon.ErrCodeRequired means that the text is empty.
//   - coupon.ErrNotFound means that no coupon has the code or ID. Find does not return a coupon
//     whose creation or deletion is unfinished.
//   - store.ErrUnreadable means that the store cannot read the coupon.
func (s *Service) Find(ctx context.Context, codeOrID string) (coupon.Coupon, error) {
	return s.catalog().Find(ctx, codeOrID)
}

// List returns a page of coupons for administrators, newest first (specification 4.1). The page
// includes coupons whose creation or deletion is unfinished. The page contains the number of
// addresses on each allow-list, but not the addresses. [store.CouponPage].Unreadable names the coupons
// that the store cannot read. List returns a [*validation.Error] if
// a field of the [store.CouponList] is out of bounds.
func (s *Service) List(ctx context.Context, list store.CouponList) (store.CouponPage, error) {
	return s.store.ListCoupons(ctx, list)
}

// Coupons returns the coupons of a list for administrators, newest first, from the page of the list on.
// Coupons reads one page at a time. Each coupon has the number of addresses on its allow-list, but not
// the addresses. A coupon that the store cannot read has its ID alone, together with a
// [*store.UnreadableError]; the sequence goes on after it. After any other error, the sequence ends: a
// [*validation.Error] if a field of the list is out of bounds, or an error of the store.
func (s *Service) Coupons(ctx context.Context, list store.CouponList) iter.Seq2[coupon.Coupon, error] {
	return s.catalog().Coupons(ctx, list)
}

// Orders returns a page of orders, newest first. With [store.OrderList].DueAt, the oldest order
// comes first. Orders returns a [*validation.Error] if a field of the [store.OrderList] is
// out of bounds.
func (s *Service) Orders(ctx context.Context, list store.OrderList) (store.OrderPage, error) {
	return s.store.ListOrders(ctx, list)
}

// Uses returns a page of uses, newest first. With [store.UseList].DueAt, the oldest use comes
// first. Uses returns a [*validation.Error] if a field of the [store.UseList] is out of
// bounds.
func (s *Service) Uses(ctx context.Context, list store.UseList) (store.UsePage, error) {
	return s.store.ListUses(ctx, list)
}

// Spent returns what is spent of the budget of each coupon, in the order of the coupons. The amount
// of a currency is the sum of the discounts of paid and open orders (contract section 4.11), and of
// what open orders keep for orders that they replaced; see [redemption.Order].Kept. The
// amounts have the currencies of the budget. For a coupon without a budget, the amounts are empty.
// Late payments can raise an amount above the budget. Spent reads only the IDs and the budgets of
// the coupons, and reads all counters at once. Any error comes from the store or the context.
func (s *Service) Spent(ctx context.Context, coupons ...coupon.Coupon) ([]coupon.MoneySet, error) {
	var keys []string
	for i := range coupons {
		for _, l := range eligibility.BudgetLimits(&coupons[i]) {
			keys = append(keys, l.Counter)
		}
	}
	taken := make(map[string]int64, len(keys))
	if len(keys) > 0 {
		counts, err := s.store.Counts(ctx, keys)
		if err != nil {
			return nil, err
		}
		for i, key := range keys {
			taken[key] = counts[i].Taken()
		}
	}
	spent := make([]coupon.MoneySet, len(coupons))
	for i := range coupons {
		spent[i] = eligibility.UsageOf(eligibility.BudgetLimits(&coupons[i]), func(counter string) int64 { return taken[counter] }).Spent
	}
	return spent, nil
}

// Order returns one order with its uses. An administrator reads any order with AnyCustomer. Order
// returns these errors:
//
//   - store.ErrNotFound means that the customer has no such order.
//   - store.ErrUnreadable means that the store cannot read the order or one of its uses.
//   - A [*validation.Error] names every invalid field of the request.
func (s *Service) Order(ctx context.Context, r OrderRequest) (store.Settled, error) {
	query, err := r.query()
	if err != nil {
		return store.Settled{}, err
	}
	return s.settlement().Find(ctx, query)
}

// Journal returns the journal entries after a position, in order; see [store.Journal]. The position
// 0 is before the first entry. One call returns at most [store.MaxJournalLimit] entries. Any error
// comes from the store or the context.
func (s *Service) Journal(ctx context.Context, after int64, limit int) ([]store.Entry, error) {
	return s.store.Journal(ctx, after, limit)
}

// JournalEnd returns the position of the last journal entry; see [store.Journal]. Any error comes from
// the store or the context.
func (s *Service) JournalEnd(ctx context.Context) (int64, error) { return s.store.JournalEnd(ctx) }

// History returns the journal entries about one coupon, the newest change first; see
// [store.Journal]. Data of an entry has the coupon before and after the change, and By tells who
// made it. Any error comes from the store or the context.
func (s *Service) History(ctx context.Context, couponID string, before int64, limit int) ([]store.Entry, error) {
	return s.store.History(ctx, couponID, before, limit)
}

// Sums returns how often a coupon was used on each day, what it took off and what refunds took back;
// see [store.SumList]. Sums returns a [*validation.Error] if a field of the list is out of
// bounds.
func (s *Service) Sums(ctx context.Context, list store.SumList) ([]store.DaySum, error) {
	return s.store.Sums(ctx, list)
}
