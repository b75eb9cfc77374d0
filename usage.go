package couponkit

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// counted is a coupon with what the store has counted for it and for one customer.
type counted struct {
	store.Found
	identities []string // of the customer
	at         time.Time
	limits     []claimedLimit
	taken      map[string]int64 // by the counter of a limit
}

// countedUses returns what a look-up has counted.
func countedUses(found store.Found, identities []string, at time.Time) counted {
	c := counted{Found: found, identities: identities, at: at, limits: allLimits(found.Coupon, found.Code, identities, at)}
	c.taken = map[string]int64{redemption.CouponUses(c.Coupon.ID): c.Coupon.UsedCount + c.Coupon.ReservedCount}
	if !c.Code.Plain() {
		c.taken[c.codeCounter()] = c.Code.UsedCount + c.Code.ReservedCount
	}
	for i, identity := range identities {
		c.taken[redemption.CustomerUses(c.Coupon.ID, identity)] = found.ByCustomer[i].Taken()
	}
	return c
}

// codeCounter is the counter of the uses by the code of a batch.
func (c counted) codeCounter() string { return redemption.CodeUses(c.Coupon.ID, c.Code.Key.String()) }

// count reads the counters of the coupons' limits that the look-up has not read. The customer's open
// orders are read with them: a limit may refuse, and the decision then needs them.
func (s *Service) count(ctx context.Context, d *decided) error {
	var keys []string
	for _, n := range d.named {
		for _, l := range n.limits {
			if _, known := n.taken[l.Counter]; !known {
				keys = append(keys, l.Counter)
			}
		}
	}
	if len(keys) == 0 {
		return nil
	}
	counts, err := s.open(ctx, d, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		for _, n := range d.named {
			if slices.ContainsFunc(n.limits, func(l claimedLimit) bool { return l.Counter == key }) {
				n.taken[key] = counts[i].Taken()
			}
		}
	}
	return nil
}

// open reads the customer's open orders, and counters.
func (s *Service) open(ctx context.Context, d *decided, counters []string) ([]redemption.Count, error) {
	answer, err := s.store.LookUp(ctx, store.LookUp{CustomerID: d.customer.ID, Orders: maxCandidates, Counters: counters})
	d.open, d.opened = answer.Orders, err == nil
	for _, unreadable := range answer.Unreadable { // nobody knows what could be taken over
		s.logger.WarnContext(ctx, "an open order of the customer cannot be replaced", slog.Any("error", unreadable))
	}
	return answer.Counts, err
}

// counts returns how much is taken of counters.
func (s *Service) counts(ctx context.Context, keys []string) (map[string]int64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	counts, err := s.store.Counts(ctx, keys)
	if err != nil {
		return nil, err
	}
	taken := make(map[string]int64, len(keys))
	for i, key := range keys {
		taken[key] = counts[i].Taken()
	}
	return taken, nil
}

// usage is what is taken of the coupon's limits once the customer has handed something over.
func (c counted) usage(h handOver) eligibility.Usage {
	held := h.held()
	left := func(counter string) int64 { return max(c.taken[counter]-held[counter].Taken(), 0) }
	most := make(map[coupon.RejectionCode]int64, len(c.limits))
	for _, l := range c.limits {
		if c.Code.Plain() || l.Counter != c.codeCounter() {
			most[l.reason] = max(most[l.reason], left(l.Counter))
		}
	}
	u := eligibility.Usage{
		Reserved: most[coupon.UsageLimitReached], ReservedByCustomer: most[coupon.UserUsageLimitReached],
		Orders: most[coupon.NotFirstOrder], Spent: spentOf(c.Coupon, left),
	}
	if !c.Code.Plain() {
		u.ByCode = left(c.codeCounter())
	}
	for _, l := range c.Coupon.Limits.Periods {
		most := int64(0)
		for _, counter := range periodCounters(c.Coupon, l, c.identities, c.at) {
			most = max(most, left(counter))
		}
		u.Periods = append(u.Periods, most)
	}
	if _, own := h.points[c.Coupon.ID]; own { // package eligibility takes the own use off
		u.CustomerHoldsReservation = true
		u.Reserved++
		u.ReservedByCustomer++
	}
	return u
}

// budgetCounters are the counters of the coupon's budget, in the order of its currencies.
func budgetCounters(c coupon.Coupon) (keys []string) {
	for m := range c.Limits.Budget.All() {
		keys = append(keys, redemption.Budget(c.ID, m.Currency().Code()))
	}
	return keys
}

// spentOf returns the taken amounts of the coupon's budget, in its currencies.
func spentOf(c coupon.Coupon, taken func(counter string) int64) coupon.MoneySet {
	budget := c.Limits.Budget.Slice()
	for i, counter := range budgetCounters(c) {
		budget[i] = pricing.NewMoney(taken(counter), budget[i].Currency())
	}
	return coupon.NewMoneySet(budget...)
}
