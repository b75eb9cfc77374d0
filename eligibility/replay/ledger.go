package replay

import (
	"cmp"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

func compareIDs(a, b *coupon.Coupon) int { return cmp.Compare(a.ID, b.ID) }

// ledger has the counters of the limits. Counters without a limit are left out.
type ledger struct {
	coupons []state
	slots   map[*coupon.Coupon]int32
	counts  map[string]int64
	users   map[user]struct{} // who has used a coupon with limits for each customer
	orders  bool              // a coupon is for first orders
}

// state is a coupon with its shared counters.
type state struct {
	coupon    *coupon.Coupon
	limited   bool // the coupon has a limit
	total     bool // the coupon has a limit or a budget for all customers
	customers bool // the coupon has limits for each customer
	periods   bool // the coupon has limits in periods
	used      bool // the coupon was used
	shared    eligibility.Usage
}

// user is a customer who has used a coupon.
type user struct {
	identity string
	coupon   int32
}

func (l *ledger) begin(coupons []*coupon.Coupon) {
	l.coupons = make([]state, len(coupons))
	l.slots = make(map[*coupon.Coupon]int32, len(coupons))
	l.counts, l.users = map[string]int64{}, map[user]struct{}{}
	for i, c := range coupons {
		s := &l.coupons[i]
		s.coupon = c
		s.periods = len(c.Limits.Periods) > 0
		s.customers = c.Limits.MaxUsesPerUser > 0
		for _, p := range c.Limits.Periods {
			s.customers = s.customers || p.Per == coupon.PerCustomer
		}
		s.total = c.Limits.MaxUses > 0 || !c.Limits.Budget.IsZero()
		s.limited = s.customers || s.periods || s.total
		l.orders = l.orders || c.Conditions.FirstOrder
		l.slots[c] = int32(i)
	}
}

// appendClaims appends what a coupon of a cart takes from limits.
func (l *ledger) appendClaims(claims []eligibility.Claim, slot int32, d *decision, discount int64) []eligibility.Claim {
	s := &l.coupons[slot]
	if !s.limited {
		return claims
	}
	by := eligibility.Claimant{Coupon: s.coupon, Identities: d.identities, At: d.event.At}
	for _, c := range by.Claims() {
		if c.Limit > 0 {
			claims = append(claims, c)
		}
	}
	return append(claims, eligibility.BudgetClaims(s.coupon, pricing.NewMoney(discount, d.event.Cart.Currency))...)
}

// appendOrderClaims appends what the order takes from the limit of first orders.
func (l *ledger) appendOrderClaims(claims []eligibility.Claim, d *decision, coupons []taken) []eligibility.Claim {
	if !l.orders {
		return claims
	}
	for _, t := range coupons {
		if c := l.coupons[t.coupon].coupon; c.Conditions.FirstOrder {
			return append(claims, eligibility.OrderClaims(d.identities, c)...)
		}
	}
	return append(claims, eligibility.OrderClaims(d.identities)...)
}

// fits reports whether all claims fit.
func (l *ledger) fits(claims []eligibility.Claim) bool {
	for i := range claims {
		if !claims[i].Fits(l.count(claims[i].Counter)) {
			return false
		}
	}
	return true
}

func (l *ledger) count(counter string) eligibility.Count {
	return eligibility.Count{Completed: l.counts[counter]}
}

// take takes the claims of a cart, which fit. It returns false if there are too many counters.
func (l *ledger) take(d *decision, c *choice, most int) bool {
	if l.orders && len(c.claims) == 0 {
		c.claims = l.appendOrderClaims(c.claims, d, nil) // an order without coupons counts, too
	}
	for i := range c.claims {
		l.counts[c.claims[i].Counter] += c.claims[i].Amount
	}
	for _, t := range c.coupons {
		s := &l.coupons[t.coupon]
		if !s.limited {
			continue
		}
		s.used = true
		if s.customers {
			for _, identity := range d.identities {
				l.users[user{identity, t.coupon}] = struct{}{}
			}
		}
		if s.total {
			by := eligibility.Claimant{Coupon: s.coupon}
			s.shared = eligibility.UsageOf(by.Limits(), l.taken)
		}
	}
	return len(l.counts)+len(l.users) <= most
}

func (l *ledger) taken(counter string) int64 { return l.counts[counter] }

// customer asks the ledger about one customer at an instant.
type customer struct {
	ledger     *ledger
	identities []string
	at         time.Time
	orders     int64 // -1 if not yet counted
}

// usage returns how often a coupon was used. Most coupons need no counter of the customer.
func (c *customer) usage(of *coupon.Coupon) eligibility.Usage {
	l := c.ledger
	slot := l.slots[of]
	s := &l.coupons[slot]
	var u eligibility.Usage
	switch {
	case s.periods || s.customers && s.used && c.hasUsed(slot): // coupons with the same code share counters of periods
		by := eligibility.Claimant{Coupon: of, Identities: c.identities, At: c.at}
		return eligibility.UsageOf(by.Limits(), l.taken)
	default:
		u = s.shared
	}
	if of.Conditions.FirstOrder {
		u.Orders = c.countOrders()
	}
	return u
}

func (c *customer) hasUsed(slot int32) bool {
	return slices.ContainsFunc(c.identities, func(identity string) bool {
		_, has := c.ledger.users[user{identity, slot}]
		return has
	})
}

func (c *customer) countOrders() int64 {
	if c.orders < 0 {
		c.orders = 0
		for _, identity := range c.identities {
			c.orders = max(c.orders, c.ledger.counts[eligibility.CustomerOrders(identity)])
		}
	}
	return c.orders
}
