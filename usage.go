package couponkit

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/store"
)

// counted is a coupon with what the store has counted for it and for one customer.
type counted struct {
	*store.Found
	at     time.Time
	limits []eligibility.Limit
	taken  map[string]int64 // by the counter of a limit
}

// countedUses returns what a look-up has counted.
func countedUses(found *store.Found, identities []string, at time.Time) counted {
	id := found.Coupon.ID
	claimant := eligibility.Claimant{Coupon: &found.Coupon, Code: found.Code, Identities: identities, At: at}
	c := counted{Found: found, at: at, limits: claimant.Limits()}
	c.taken = map[string]int64{eligibility.CouponUses(id): c.Coupon.UsedCount + c.Coupon.ReservedCount}
	if !c.Code.Plain() {
		c.taken[eligibility.CodeUses(id, c.Code.Key.String())] = c.Code.UsedCount + c.Code.ReservedCount
	}
	for i, identity := range identities {
		c.taken[eligibility.CustomerUses(id, identity)] = found.ByCustomer[i].Taken()
	}
	return c
}

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
			if slices.ContainsFunc(n.limits, func(l eligibility.Limit) bool { return l.Counter == key }) {
				n.taken[key] = counts[i].Taken()
			}
		}
	}
	return nil
}

// open reads the customer's open orders, and counters.
func (s *Service) open(ctx context.Context, d *decided, counters []string) ([]eligibility.Count, error) {
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
	u := eligibility.UsageOf(c.limits, func(counter string) int64 { return max(c.taken[counter]-held[counter].Taken(), 0) })
	if _, own := h.points[c.Coupon.ID]; own { // package eligibility takes the own use off
		u.CustomerHoldsReservation = true
		u.Reserved++
		u.ReservedByCustomer++
	}
	return u
}
