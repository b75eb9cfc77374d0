package eligibility

import (
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

// checkBudgets refuses a coupon whose budget is used up in every currency. Without a cart, neither
// the currency nor the discount is known.
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

// budgetLeft returns the rest of a budget. The sum of discounts may exceed a budget that was
// lowered.
func budgetLeft(budget int64, spent coupon.MoneySet, c pricing.Currency) int64 {
	taken, _ := spent.In(c)
	return max(budget-max(taken, 0), 0)
}
