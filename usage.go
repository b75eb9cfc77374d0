package couponkit

import (
	"context"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// figures are what the store has counted for a coupon and a customer.
type figures struct {
	found      store.Found
	identities []string
	at         time.Time
	counts     map[string]int64 // of period limits, budgets and orders
}

// usage reads the figures. What the customer holds, and a checkout can take over, is not in
// their own way.
func (s *Service) usage(
	ctx context.Context, found store.Found, c eligibility.Customer, at time.Time,
) (eligibility.Usage, error) {
	f := figures{found: found, identities: identities(c), at: at}
	var err error
	if f.counts, err = s.counts(ctx, f.keys()); err != nil {
		return eligibility.Usage{}, err
	}
	u := f.usage(nil)
	if found.Coupon.Distribution != coupon.PointsRedeemable && !f.tight(u) {
		return u, nil
	}
	own, err := s.own(ctx, found, f.identities)
	if err != nil {
		return eligibility.Usage{}, err
	}
	u = f.usage(own.held())
	u.CustomerHoldsReservation = !own.use.IsZero()
	return f.beside(u, own), nil
}

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

// keys are the counters of the limits that a look-up does not count.
func (f figures) keys() (keys []string) {
	c := f.found.Coupon
	for _, l := range c.Limits.Periods {
		keys = append(keys, periodCounters(c, l, l.Period.Window(f.at, l.Zone), f.identities)...)
	}
	keys = append(keys, budgetCounters(c)...)
	if c.Conditions.FirstOrder {
		for _, identity := range f.identities {
			keys = append(keys, redemption.CustomerOrders(identity))
		}
	}
	return keys
}

// usage is what is taken by others than the holdings.
func (f figures) usage(held map[string]redemption.Count) eligibility.Usage {
	c := f.found.Coupon
	u := eligibility.Usage{Completed: c.UsedCount, Reserved: c.ReservedCount}
	if best := f.mostUsed(held); best >= 0 {
		u.CompletedByCustomer, u.ReservedByCustomer = f.found.ByCustomer[best].Completed, f.found.ByCustomer[best].Reserved
	}
	for _, l := range c.Limits.Periods {
		u.Periods = append(u.Periods, f.most(held, periodCounters(c, l, l.Period.Window(f.at, l.Zone), f.identities)))
	}
	u.Spent = spentOf(c, func(counter string) int64 { return f.most(held, []string{counter}) })
	if c.Conditions.FirstOrder {
		for _, identity := range f.identities {
			u.Orders = max(u.Orders, f.most(held, []string{redemption.CustomerOrders(identity)}))
		}
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
func spentOf(c coupon.Coupon, taken func(counter string) int64) coupon.Amounts {
	budget := c.Limits.Budget.Slice()
	for i, counter := range budgetCounters(c) {
		budget[i] = pricing.NewMoney(taken(counter), budget[i].Currency())
	}
	return coupon.NewAmounts(budget...)
}

// most returns the largest of the counters, without what is held.
func (f figures) most(held map[string]redemption.Count, counters []string) (most int64) {
	for _, key := range counters {
		most = max(most, f.counts[key]-held[key].Taken())
	}
	return most
}

// mostUsed returns the position of the identity that has used the coupon most, without what is
// held, or -1.
func (f figures) mostUsed(held map[string]redemption.Count) int {
	best, most := -1, int64(0)
	for i, count := range f.found.ByCustomer {
		left := count.Taken() - held[redemption.CustomerUses(f.found.Coupon.ID, f.identities[i])].Taken()
		if best < 0 || left > most {
			best, most = i, left
		}
	}
	return best
}

// beside corrects the uses of an identity that the customer's own use does not count for, as one
// that was not known when it was reserved: package eligibility takes the own use off.
func (f figures) beside(u eligibility.Usage, own takeover) eligibility.Usage {
	held := own.held()
	if best := f.mostUsed(held); best >= 0 && u.CustomerHoldsReservation {
		if key := redemption.CustomerUses(f.found.Coupon.ID, f.identities[best]); held[key].Taken() == 0 {
			u.ReservedByCustomer++
		}
	}
	return u
}

// tight reports whether a limit may leave no use.
func (f figures) tight(u eligibility.Usage) bool {
	l := f.found.Coupon.Limits
	if full(l, u) || u.Orders > 0 || !u.Spent.IsZero() && len(f.found.Held) > 0 {
		return true
	}
	for i, limit := range l.Periods {
		if u.Periods[i] >= limit.MaxUses {
			return true
		}
	}
	return false
}

// full reports whether a limit leaves no use.
func full(l coupon.Limits, u eligibility.Usage) bool {
	return l.MaxUses > 0 && u.Completed+u.Reserved >= l.MaxUses ||
		l.MaxUsesPerUser > 0 && u.CompletedByCustomer+u.ReservedByCustomer >= l.MaxUsesPerUser
}
