package eligibility

import (
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkBudget refuses a coupon whose discount exceeds the rest of the budget.
func (d *Decision) checkBudget(c *coupon.Coupon, spent coupon.MoneySet, discount pricing.Money) {
	if !exceeds(c, spent, discount) {
		return
	}
	in := discount.Currency()
	budget, _ := c.Limits.Budget.In(in)
	d.refuse(coupon.BudgetExhausted, beyondBudget{budget, budgetLeft(budget, spent, in), discount})
}

type beyondBudget struct {
	budget, left int64
	discount     pricing.Money
}

func (r beyondBudget) params() coupon.Params {
	in := r.discount.Currency()
	return coupon.Params{
		Budget: amountOf(r.budget, in), Remaining: amountOf(r.left, in), Missing: amountOf(r.discount.Minor()-r.left, in),
	}
}

// exceeds reports whether a discount is greater than the rest of the budget in its currency.
func exceeds(c *coupon.Coupon, spent coupon.MoneySet, discount pricing.Money) bool {
	budget, limited := c.Limits.Budget.In(discount.Currency())
	return limited && discount.Minor() > budgetLeft(budget, spent, discount.Currency())
}

// checkBudgets refuses a coupon whose budget is used up in every currency. It is used without a cart,
// when currency and discount are unknown.
func (d *Decision) checkBudgets(c *coupon.Coupon, q *Question) {
	budgets := c.Limits.Budget
	if budgets.IsZero() {
		return
	}
	at := pricing.Currency{}
	for b := range budgets.All() {
		if at.IsZero() || b.Currency() == c.Currency {
			at = b.Currency()
		}
		if budgetLeft(b.Minor(), q.Usage.Spent, b.Currency()) > 0 {
			return
		}
	}
	d.checkBudget(c, q.Usage.Spent, pricing.NewMoney(1, at))
}

// budgetLeft returns the rest of a budget. The rest is 0 if the budget was lowered below the sum of
// discounts.
func budgetLeft(budget int64, spent coupon.MoneySet, c pricing.Currency) int64 {
	taken, _ := spent.In(c)
	return max(budget-max(taken, 0), 0)
}

// BudgetLimits returns the limits of the coupon's budget, in the order of its currencies. The Amount of
// each limit is 0.
func BudgetLimits(c *coupon.Coupon) (limits []Limit) {
	for m := range c.Limits.Budget.All() {
		limits = append(limits, Limit{
			Claim:  Claim{Counter: Budget(c.ID, m.Currency().Code()), Limit: m.Minor()},
			Reason: coupon.BudgetExhausted, budget: m.Currency(),
		})
	}
	return limits
}

// BudgetClaims returns what a discount takes from the coupon's budget. The result is empty for a
// coupon without a budget in the currency of the discount.
func BudgetClaims(c *coupon.Coupon, discount pricing.Money) (claims []Claim) {
	budget, limited := c.Limits.Budget.In(discount.Currency())
	if limited && discount.Minor() > 0 {
		claims = []Claim{{Counter: Budget(c.ID, discount.Currency().Code()), Amount: discount.Minor(), Limit: budget}}
	}
	return claims
}

// Budget returns the key of the counter for the sum of a coupon's discounts in one currency, in
// minor units.
func Budget(couponID, currency string) string {
	return SharedCounter(sharedBudget, couponID, currency)
}

// IsBudget reports whether [Budget] returned the given key.
func IsBudget(counter string) bool {
	return strings.HasPrefix(counter, sharedPrefix+sharedBudget+"/")
}

const sharedBudget = "budget"
