package replay

import (
	"math"
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// Report tells what the coupons would have changed.
type Report struct {
	// Carts is the number of carts that were replayed. Refused is the number of items that were not.
	Carts   int64 `json:"carts"`
	Refused int64 `json:"refused"`
	// Unproved is the number of carts whose search ended at Options.MaxNodes. A better set may exist.
	Unproved int64 `json:"unproved"`
	// From and Until are the instants of the first and of the last cart. They are zero without a cart.
	From  time.Time `json:"from,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Currencies has the sums of each currency, by its code.
	Currencies []Sums `json:"currencies"`
	// Coupons has an entry for each coupon, by its ID.
	Coupons []CouponSums `json:"coupons"`
}

// Sums are the sums of the carts in one currency.
type Sums struct {
	Currency pricing.Currency `json:"currency"`
	Carts    int64            `json:"carts"`
	// Kept is the number of carts whose customers kept what they had; see Options.Keep.
	Kept int64 `json:"kept"`
	// List is the sum of the list prices with shipping. Before is what was paid, and After what would have
	// been paid. Discount is what the coupons take off.
	List     pricing.Money `json:"list"`
	Before   pricing.Money `json:"before"`
	After    pricing.Money `json:"after"`
	Discount pricing.Money `json:"discount"`
	// Wins are the carts that would have cost less, Loses those that would have cost more, and Stays those
	// that would have cost the same.
	Wins  Share `json:"wins"`
	Loses Share `json:"loses"`
	Stays Share `json:"stays"`
	// Histogram counts carts by their change. It has every bucket from the least change to the greatest.
	Histogram []Bucket `json:"histogram"`
}

// Share is a part of the carts, with the sum of their changes. The amount is not negative.
type Share struct {
	Carts  int64         `json:"carts"`
	Amount pricing.Money `json:"amount"`
}

// CouponSums is what one coupon would have done.
type CouponSums struct {
	ID   string      `json:"id"`
	Code coupon.Code `json:"code,omitzero"`
	Name string      `json:"name"`
	// Uses is the number of carts that had the coupon. MaxUses is its limit, or 0 without one. RanOutAt is the
	// instant of the cart that had the last use, or zero.
	Uses     int64     `json:"uses"`
	MaxUses  int64     `json:"maxUses,omitempty"`
	RanOutAt time.Time `json:"ranOutAt,omitzero"`
	// Discounts are what the coupon took off, by the code of the currency.
	Discounts []Spent `json:"discounts"`
	// Refusals count the carts that limits refused the coupon. Without limits, it was in their best set.
	Refusals []Refusal `json:"refusals"`
}

// Spent is what a coupon took off in one currency.
type Spent struct {
	Currency pricing.Currency `json:"currency"`
	Discount pricing.Money    `json:"discount"`
	// Budget is the coupon's budget. It is zero without one.
	Budget pricing.Money `json:"budget,omitzero"`
	// RanOutAt is the instant of the cart that took the last of the budget, or of the first cart that the budget
	// refused, whichever is earlier. It is zero for a budget that did not run out.
	RanOutAt time.Time `json:"ranOutAt,omitzero"`
}

// Refusal counts the carts to which a coupon was refused for one reason.
type Refusal struct {
	Reason coupon.RejectionCode `json:"reason"`
	Carts  int64                `json:"carts"`
	// First is the instant of the first such cart.
	First time.Time `json:"first"`
}

// sums are the numbers from which a report is made.
type sums struct {
	currencies map[pricing.Currency]*currencySums
	coupons    []couponSums
}

type currencySums struct {
	carts, kept, list, before, after, discount int64
	wins, loses, stays                         share
	changes                                    histogram
}

type share struct{ carts, amount int64 }

type couponSums struct {
	uses     int64
	usedUpAt time.Time
	money    map[pricing.Currency]int64
	ranOut   map[pricing.Currency]time.Time // of budgets
	refusals []Refusal
}

func (s *sums) begin(coupons int) {
	s.currencies = map[pricing.Currency]*currencySums{}
	s.coupons = make([]couponSums, coupons)
	for i := range s.coupons {
		s.coupons[i] = couponSums{money: map[pricing.Currency]int64{}, ranOut: map[pricing.Currency]time.Time{}}
	}
}

// plus adds to a sum. It returns false on overflow.
func plus(sum *int64, n int64) bool {
	if *sum > math.MaxInt64-n {
		return false
	}
	*sum += n
	return true
}

// count counts a cart whose claims were taken.
func (c *contest) count(d *decision, kept bool) error {
	in := d.event.Cart.Currency
	s := c.sums.currencies[in]
	if s == nil {
		s = new(currencySums)
		c.sums.currencies[in] = s
	}
	if c.report.Carts == 0 {
		c.report.From = d.event.At
	}
	c.report.Carts++
	c.report.Until = d.event.At
	if !d.proved {
		c.report.Unproved++
	}
	after := d.list - d.chosen.discount
	if kept {
		after = d.before
		s.kept++
	}
	s.carts++
	change := after - d.before
	of, amount := &s.stays, int64(0)
	switch {
	case change < 0:
		of, amount = &s.wins, -change
	case change > 0:
		of, amount = &s.loses, change
	}
	of.carts++
	s.changes.add(change)
	if !plus(&of.amount, amount) || !plus(&s.list, d.list) || !plus(&s.before, d.before) || !plus(&s.after, after) ||
		!plus(&s.discount, d.chosen.discount) {
		return ErrOverflow
	}
	for _, t := range d.chosen.coupons {
		c.countUse(t, d)
	}
	return nil
}

// countUse counts a coupon of a cart. Its sum is at most that of all discounts in the currency.
func (c *contest) countUse(t taken, d *decision) {
	s, in := &c.sums.coupons[t.coupon], d.event.Cart.Currency
	s.uses++
	s.money[in] += t.discount
	of := c.ledger.coupons[t.coupon].coupon
	if s.uses == of.Limits.MaxUses {
		s.usedUpAt = d.event.At
	}
	if budget, limited := of.Limits.Budget.In(in); limited && s.money[in] == budget {
		s.runOut(in, d.event.At)
	}
}

// runOut records when a budget ran out.
func (s *couponSums) runOut(in pricing.Currency, at time.Time) {
	if _, has := s.ranOut[in]; !has {
		s.ranOut[in] = at
	}
}

// countRefusals counts the coupons that a cart would have without limits, and that a limit refuses.
func (c *contest) countRefusals(d *decision) {
	in := d.event.Cart.Currency
	for _, t := range d.wish.coupons {
		if slices.ContainsFunc(d.chosen.coupons, func(u taken) bool { return u.coupon == t.coupon }) {
			continue
		}
		of := c.ledger.coupons[t.coupon].coupon
		s := &c.sums.coupons[t.coupon]
		by := eligibility.Claimant{Coupon: of, Identities: d.identities, At: d.event.At}
		var reasons []coupon.RejectionCode
		for _, l := range by.Limits() {
			if l.Reason == coupon.BudgetExhausted {
				if l.Counter != eligibility.Budget(of.ID, in.Code()) {
					continue
				}
				l.Amount = t.discount
			}
			if l.Fits(c.ledger.count(l.Counter)) || slices.Contains(reasons, l.Reason) {
				continue
			}
			reasons = append(reasons, l.Reason)
			s.refuse(l.Reason, d.event.At)
			if l.Reason == coupon.BudgetExhausted {
				s.runOut(in, d.event.At)
			}
		}
	}
}

func (s *couponSums) refuse(reason coupon.RejectionCode, at time.Time) {
	i := slices.IndexFunc(s.refusals, func(r Refusal) bool { return r.Reason == reason })
	if i < 0 {
		i = len(s.refusals)
		s.refusals = append(s.refusals, Refusal{Reason: reason, First: at})
	}
	s.refusals[i].Carts++
}

// result returns the report of the carts that were counted.
func (c *contest) result() Report {
	r := c.report
	r.Currencies, r.Coupons = []Sums{}, []CouponSums{}
	for in, s := range c.sums.currencies {
		r.Currencies = append(r.Currencies, s.result(in))
	}
	slices.SortFunc(r.Currencies, func(a, b Sums) int { return compareCodes(a.Currency, b.Currency) })
	for i := range c.sums.coupons {
		r.Coupons = append(r.Coupons, c.sums.coupons[i].result(c.ledger.coupons[i].coupon))
	}
	return r
}

func (s *currencySums) result(in pricing.Currency) Sums {
	money := func(minor int64) pricing.Money { return pricing.NewMoney(minor, in) }
	part := func(s share) Share { return Share{s.carts, money(s.amount)} }
	return Sums{
		Currency: in, Carts: s.carts, Kept: s.kept,
		List: money(s.list), Before: money(s.before), After: money(s.after), Discount: money(s.discount),
		Wins: part(s.wins), Loses: part(s.loses), Stays: part(s.stays),
		Histogram: s.changes.buckets(in),
	}
}

func (s *couponSums) result(of *coupon.Coupon) CouponSums {
	r := CouponSums{
		ID: of.ID, Code: of.Code, Name: of.Name, Uses: s.uses, MaxUses: of.Limits.MaxUses, RanOutAt: s.usedUpAt,
		Discounts: []Spent{}, Refusals: append([]Refusal{}, s.refusals...),
	}
	slices.SortFunc(r.Refusals, func(a, b Refusal) int { return a.Reason.Rank() - b.Reason.Rank() })
	for budget := range of.Limits.Budget.All() {
		in := budget.Currency()
		r.Discounts = append(r.Discounts, Spent{in, pricing.NewMoney(s.money[in], in), budget, s.ranOut[in]})
	}
	for in, sum := range s.money {
		if _, limited := of.Limits.Budget.In(in); !limited {
			r.Discounts = append(r.Discounts, Spent{Currency: in, Discount: pricing.NewMoney(sum, in)})
		}
	}
	slices.SortFunc(r.Discounts, func(a, b Spent) int { return compareCodes(a.Currency, b.Currency) })
	return r
}
