package simulation

import (
	"math/big"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// checkQuote prices an order's cart once more, from the terms that the order keeps,
// by contract sections 2 and 3 and without the code of package pricing.
func (w *world) checkQuote(o redemption.Order) {
	q := o.Quote
	var terms *coupon.Snapshot
	if len(o.Coupons) > 0 {
		terms = &o.Coupons[0]
	}
	covered := make([]bool, len(q.Lines))
	subtotal, base, shipping := new(big.Int), new(big.Int), new(big.Int)
	for i, l := range q.Lines {
		price := new(big.Int).Mul(big.NewInt(l.UnitPrice), big.NewInt(l.Quantity))
		switch {
		case l.Kind == pricing.Shipping:
			shipping.Add(shipping, price)
		default:
			subtotal.Add(subtotal, price)
			covered[i] = terms != nil && q.Discount > 0 && covers(*terms, l.Line)
		}
		if covered[i] {
			base.Add(base, price)
		}
	}
	discount := new(big.Int)
	if terms != nil && q.Discount > 0 {
		discount = discountOf(*terms, base, q.Currency)
	}
	if byAmount := len(q.Lines) == 1 && q.Lines[0].ItemID == "amount"; terms != nil && q.Discount == 0 && !byAmount {
		w.fail(QuotesAddUp, "order %s uses coupon %s for no discount", o.ID, terms.ID)
	}
	total := new(big.Int).Add(new(big.Int).Sub(subtotal, discount), shipping)
	if !is(q.Subtotal, subtotal) || !is(q.Shipping, shipping) || !is(q.Discount, discount) || !is(q.Total, total) || q.Total < 0 {
		w.fail(QuotesAddUp, "order %s is priced %d - %d + %d = %d, not %s - %s + %s = %s", o.ID,
			q.Subtotal, q.Discount, q.Shipping, q.Total, subtotal, discount, shipping, total)
		return
	}
	for i, want := range spread(q.Lines, covered, discount, base) {
		l := q.Lines[i]
		if !is(l.Discount, want) || l.Total != l.Quantity*l.UnitPrice-l.Discount || l.Total < 0 {
			w.fail(QuotesAddUp, "line %s of order %s has a discount of %d and costs %d; its part is %s", l.ID, o.ID, l.Discount, l.Total, want)
		}
	}
}

func is(n int64, want *big.Int) bool { return want.IsInt64() && want.Int64() == n }

// covers reads the selections per kind (contract section 3).
func covers(c coupon.Snapshot, l pricing.Line) bool {
	selected := map[pricing.LineKind]coupon.Items{
		pricing.Plan: c.PlanIDs, pricing.Device: c.DeviceIDs, pricing.Accessory: c.AccessoryIDs, pricing.Shipping: {},
	}[l.Kind]
	switch c.AppliesTo {
	case coupon.All:
		return true
	case coupon.Subscription:
		return l.Kind == pricing.Plan && (selected.Len() == 0 || selected.Has(l.ItemID))
	case coupon.Product:
		return l.Kind != pricing.Plan && (selected.Len() == 0 || selected.Has(l.ItemID))
	case coupon.Specific:
		return selected.Has(l.ItemID)
	}
	return false
}

// discountOf rounds once, half up, at the currency's exponent (contract section
// 2.2).
func discountOf(c coupon.Snapshot, base *big.Int, in pricing.Currency) *big.Int {
	value, err := decimal.NewFromString(c.DiscountValue)
	if err != nil {
		return big.NewInt(-1)
	}
	if c.DiscountType == pricing.FixedAmount {
		amount := value.Shift(int32(in.Exponent())).BigInt() //nolint:gosec // 0 to 4
		if amount.Cmp(base) > 0 {
			return base
		}
		return amount
	}
	exact := value.Mul(decimal.NewFromBigInt(base, -2))
	return exact.Add(decimal.New(5, -1)).Floor().BigInt()
}

// spread gives each covered line the whole part of its share, and the units that
// are left to the largest remainders, earlier lines first (contract section 2.3).
func spread(lines []pricing.QuotedLine, covered []bool, discount, base *big.Int) []*big.Int {
	parts, rests := make([]*big.Int, len(lines)), make([]*big.Int, len(lines))
	left := new(big.Int).Set(discount)
	var order []int
	for i, l := range lines {
		parts[i], rests[i] = new(big.Int), new(big.Int)
		if !covered[i] || base.Sign() == 0 {
			continue
		}
		price := new(big.Int).Mul(big.NewInt(l.UnitPrice), big.NewInt(l.Quantity))
		parts[i].QuoRem(price.Mul(price, discount), base, rests[i])
		left.Sub(left, parts[i])
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int { return rests[b].Cmp(rests[a]) })
	for _, i := range order {
		if left.Sign() > 0 && rests[i].Sign() > 0 {
			parts[i].Add(parts[i], big.NewInt(1))
			left.Sub(left, big.NewInt(1))
		}
	}
	return parts
}
