package eligibility

import (
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// checkBudget refuses a coupon whose discount exceeds the rest of the budget.
func (d *Decision) checkBudget(c *coupon.Coupon, discount pricing.Money) {
	if !d.exceeds(c, discount) {
		return
	}
	budget, _ := c.Limits.Budget.In(discount.Currency())
	d.facts.budget, d.facts.discount = budget, discount
	d.facts.remaining = budgetLeft(budget, d.facts.spent, discount.Currency())
	d.refuse(coupon.BudgetExhausted)
}

// exceeds reports whether a discount is greater than the rest of the budget in its currency.
func (d *Decision) exceeds(c *coupon.Coupon, discount pricing.Money) bool {
	budget, limited := c.Limits.Budget.In(discount.Currency())
	return limited && discount.Minor() > budgetLeft(budget, d.facts.spent, discount.Currency())
}

// checkBudgets refuses a coupon whose budget is used up in every currency. Without a cart, neither
// the currency nor the discount is known.
func (d *Decision) checkBudgets(c *coupon.Coupon, q *Question) {
	d.facts.spent = q.Usage.Spent
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
	d.checkBudget(c, pricing.NewMoney(1, at))
}

// budgetLeft returns the rest of a budget. The sum of discounts may exceed a budget that was
// lowered.
func budgetLeft(budget int64, spent coupon.Amounts, c pricing.Currency) int64 {
	taken, _ := spent.In(c)
	return max(budget-max(taken, 0), 0)
}

func (f *facts) budgetParams() coupon.Params {
	amount := func(minor int64) coupon.Amount {
		return coupon.Amount{Money: pricing.NewMoney(minor, f.discount.Currency())}
	}
	return coupon.Params{
		Budget: amount(f.budget), Remaining: amount(f.remaining), Missing: amount(f.discount.Minor() - f.remaining),
	}
}
