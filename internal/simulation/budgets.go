package simulation

import (
	"errors"
	"slices"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// currencies are the currencies of all carts.
var currencies = [...]string{"EUR", "JPY", "KWD"}

// share is the part of a coupon's budget that an order takes. It is computed from the quote, the state
// and the refunds of the order, and from the coupon's terms at the reservation. Claims and counters are
// not used.
type share struct {
	couponID      string
	counter       string // counter of the budget
	amount, limit int64  // the discount, and the budget at the reservation
	restore       coupon.Restore
	back          int64             // part of the amount that refunds gave back
	holds         eligibility.Count // the order's current claim
}

// moment has a budget and the amount taken from it, between two effects.
type moment struct{ at, budget, taken int64 }

// sharesOf returns the budget shares of a new order.
func (b *book) sharesOf(o redemption.Order) (all []share) {
	for _, k := range o.Coupons {
		amount := amountOf(o, k.ID)
		c := b.terms[terms{k.ID, k.Revision}]
		limit, budgeted := c.Limits.Budget.In(o.Quote.Currency)
		if o.Key == "" || amount == 0 || !budgeted {
			continue
		}
		counter := eligibility.Budget(c.ID, o.Quote.Currency.Code())
		all = append(all, share{couponID: c.ID, counter: counter, amount: amount, limit: limit, restore: c.RestoreOnRefund})
	}
	return all
}

// amountOf returns the discount of a coupon on an order.
func amountOf(o redemption.Order, couponID string) int64 {
	for _, c := range o.Quote.Coupons {
		if c.ID == couponID {
			return c.Discount
		}
	}
	return 0
}

// shareOf returns the share of an order in the budget of a coupon.
func (b *book) shareOf(orderID, couponID string) (p share, budgeted bool) {
	for _, p := range b.shares[orderID] {
		if p.couponID == couponID {
			return p, true
		}
	}
	return p, false
}

// settle updates a share from the state and the refunds of its order.
func (p share) settle(o redemption.Order) share {
	p.back = 0
	if p.restore == coupon.RestoreAlways {
		p.back = min(discountsBack(o, p.couponID), p.amount)
	}
	if p.restore != coupon.RestoreNever && o.State == redemption.OrderRefunded {
		p.back = p.amount
	}
	switch follows[o.State] {
	case redemption.Reserved:
		p.holds = eligibility.Count{Reserved: p.amount}
	case redemption.Completed:
		p.holds = eligibility.Count{Completed: p.amount - p.back}
	case redemption.Released:
		p.holds = eligibility.Count{}
	}
	return p
}

// discountsBack sums the discounts of a coupon that the refunds of an order reversed.
func discountsBack(o redemption.Order, couponID string) (sum int64) {
	for _, r := range o.Refunds {
		for _, c := range r.Result.Coupons {
			if c.ID == couponID {
				sum += c.Discount
			}
		}
	}
	return sum
}

// spend updates the sums of discounts for the changed orders. It returns the sums before.
func (w *world) spend(s *shop, c *change) map[string]eligibility.Count {
	b, before := &s.book, map[string]eligibility.Count{}
	for _, o := range c.orders {
		w.keep(s, c, before, o.before, -1)
		w.keep(s, c, before, o.now, +1)
		if o.before.IsZero() {
			b.shares[o.now.ID] = b.sharesOf(o.now)
		}
		for i, p := range b.shares[o.now.ID] {
			now := p.settle(o.now)
			if _, seen := before[p.counter]; !seen {
				before[p.counter] = b.spent[p.counter]
			}
			b.shares[o.now.ID][i] = now
			b.spent[p.counter] = b.spent[p.counter].Plus(now.holds).Plus(eligibility.Count{Reserved: -p.holds.Reserved, Completed: -p.holds.Completed})
			c.watch(b, p.counter)
			w.noteBudget(s, p.couponID, o.now.Quote.Currency)
			w.countShare(p, now)
		}
	}
	return before
}

// keep adds to the sums what an order keeps of budgets for the late payment of an order that it replaced,
// or takes it out of them.
func (w *world) keep(s *shop, c *change, before map[string]eligibility.Count, o redemption.Order, sign int64) {
	b := &s.book
	for _, kept := range o.Claims[len(o.OwnClaims()):] {
		if !eligibility.IsBudget(kept.Counter) {
			continue
		}
		if _, seen := before[kept.Counter]; !seen {
			before[kept.Counter] = b.spent[kept.Counter]
		}
		b.spent[kept.Counter] = b.spent[kept.Counter].Plus(eligibility.Count{Reserved: sign * kept.Amount})
		c.watch(b, kept.Counter)
		w.noteKeptBudget(s, o, kept.Counter)
	}
}

// noteKeptBudget notes a budget of which an order keeps a part. One of the orders before it has a share of the budget.
func (w *world) noteKeptBudget(s *shop, o redemption.Order, counter string) {
	b := &s.book
	for older := b.orders[o.Replaces]; !older.IsZero(); older = b.orders[older.Replaces] {
		for _, p := range b.shares[older.ID] {
			if p.counter == counter {
				w.noteBudget(s, p.couponID, older.Quote.Currency)
				return
			}
		}
	}
}

// checkBudgets checks that a new order stayed within the budget at the time of the order. A late
// payment may exceed the budget; its order then says so. An order that replaces another order and takes
// no more than that order exceeds nothing.
func (w *world) checkBudgets(s *shop, c *change) {
	b, before := &s.book, w.spend(s, c)
	for _, o := range c.orders {
		held := !o.before.IsZero() && follows[o.before.State] != redemption.Released
		if held || follows[o.now.State] == redemption.Released {
			continue
		}
		for _, p := range b.shares[o.now.ID] {
			taken := b.spent[p.counter].Taken()
			exceeds := taken > p.limit && taken > before[p.counter].Taken()
			flagged := !o.before.IsZero() && slices.ContainsFunc(b.usesOf[o.now.ID], func(id string) bool {
				return b.uses[id].OverLimit && b.uses[id].CouponID == p.couponID
			})
			w.must(BudgetsHold, !exceeds || flagged, "order %s is %s and takes %d from %s, of which %d of %d are taken", o.now.ID, o.now.State, p.amount, p.counter, taken, p.limit)
			w.when(exceeds, "budget", "exceeded", "by a late payment")
			w.when(!exceeds && taken > p.limit, "budget", "exceeded", "and handed over")
		}
	}
}

func (w *world) countShare(was, is share) {
	w.when(is.holds.Reserved > 0 && was.holds.Taken() == 0, "budget", "reserved", "")
	w.when(was.holds.Reserved > 0 && is.holds.Completed > 0, "budget", "completed", "")
	w.when(was.holds.Reserved > 0 && is.holds.Taken() == 0, "budget", "given back", "unpaid")
	w.when(is.back > was.back && is.back < is.amount, "budget", "given back", "by a refund, in part")
	w.when(is.back > was.back && is.back == is.amount, "budget", "given back", "by a refund, to the end")
}

// sawBudget records the budget of a coupon that was created or edited.
func (w *world) sawBudget(s *shop, before, now coupon.Coupon) {
	for _, code := range currencies {
		if in, err := pricing.ParseCurrency(code); err == nil {
			w.noteBudget(s, now.ID, in)
		}
	}
	was, _ := before.Limits.Budget.In(now.Currency)
	is, limited := now.Limits.Budget.In(now.Currency)
	w.when(limited && is < was, "budget", "edited", "lowered")
	w.when(limited && is > was && was > 0, "budget", "edited", "raised")
	w.when(limited && was == 0 && before.ID != "", "budget", "edited", "added")
	w.when(!limited && was > 0, "budget", "edited", "removed")
	w.when(limited && now.Limits.MaxUses > 0, "budget", "beside", "a limit of uses")
	w.when(limited && now.Limits.MaxUsesPerUser > 0, "budget", "beside", "a limit of each customer")
}

func (w *world) noteBudget(s *shop, couponID string, in pricing.Currency) {
	b, counter := &s.book, eligibility.Budget(couponID, in.Code())
	budget, limited := b.coupons[couponID].Limits.Budget.In(in)
	if limited || len(b.budgets[counter]) > 0 {
		w.moments++
		b.budgets[counter] = append(b.budgets[counter], moment{w.moments, budget, b.spent[counter].Taken()})
	}
}

// checkSpent checks a refusal against the budgets during the call. The call reads the budget and the
// taken amount one after the other.
func (w *world) checkSpent(t *task, couponID string, p coupon.Params) {
	w.must(BudgetsCanBeSpent, !p.Missing.IsZero(), "%s: coupon %s refuses because of its budget, and does not tell what is missing", t.name, couponID)
	budget, needs := p.Budget.Minor(), p.Remaining.Minor()+p.Missing.Minor()
	w.when(true, "budget", "refuses", "a price")
	had, spent := false, false
	for _, m := range slices.Backward(t.shop.book.budgets[eligibility.Budget(couponID, p.Budget.Currency().Code())]) {
		had = had || m.budget == budget
		spent = spent || m.taken > budget-needs
		if m.at <= t.began {
			break
		}
	}
	w.must(BudgetsCanBeSpent, had && spent, "%s: coupon %s refuses a discount of %d because of its budget of %d: was it the budget? %t, was so little left? %t",
		t.name, couponID, needs, budget, had, spent)
}

// exhausted reports whether nothing is left of the budget of a coupon, in any currency.
func (b *book) exhausted(c coupon.Coupon) bool {
	for m := range c.Limits.Budget.All() {
		if b.spent[eligibility.Budget(c.ID, m.Currency().Code())].Taken() < m.Minor() {
			return false
		}
	}
	return !c.Limits.Budget.IsZero()
}

// checkLeft asks for a price with a coupon that a customer may use. A discount must be refused if, and
// only if, it exceeds the rest of the budget.
func (w *world) checkLeft(s *shop, service *couponkit.Service, c coupon.Coupon, who eligibility.Customer) {
	budget, limited := c.Limits.Budget.In(c.Currency)
	if !limited {
		return
	}
	cart := pricing.Cart{Currency: c.Currency}
	for _, l := range catalogue {
		l.ID, l.Quantity = l.ItemID, 1
		cart.Lines = append(cart.Lines, l)
	}
	left := max(budget-s.book.spent[eligibility.Budget(c.ID, c.Currency.Code())].Taken(), 0)
	q, err := service.Quote(background(), couponkit.QuoteRequest{Cart: cart, Codes: []string{c.ID}, Customer: who})
	var refused *coupon.Rejection
	switch {
	case err == nil:
		w.must(BudgetsCanBeSpent, q.Discount <= left, "coupon %s takes off %d, and %d of its budget of %d are left", c.ID, q.Discount, left, budget)
		w.coverage.count("budget", "at rest", "left")
	case errors.As(err, &refused):
		for _, r := range refused.Reasons {
			p := r.Params
			w.must(BudgetsCanBeSpent, r.Code != coupon.BudgetExhausted || p.Budget.Minor() == budget && p.Remaining.Minor() == left && p.Missing.Minor() > 0,
				"coupon %s is refused with %+v, and %d of its budget of %d are left", c.ID, p, left, budget)
			w.when(r.Code == coupon.BudgetExhausted, "budget", "at rest", "too little left")
		}
	default:
		w.sound("at rest, a quote", err)
	}
}
