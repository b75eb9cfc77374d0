package pricing_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
)

// refundStep is one refund, and what is refunded and taken back, in minor units.
type refundStep struct {
	now       pricing.Returns
	amount    int64
	discounts []int64
}

func oneOf(line int) pricing.Returns {
	return pricing.Returns{Lines: []pricing.LineReturn{{Line: line, Quantity: 1}}}
}

// Golden vectors, worked out by hand from docs/refunds.md.
func TestRefundsByHand(t *testing.T) {
	t.Parallel()
	of, rest := goldenDiscounts(t), pricing.Returns{All: true}
	book := func(quantity, price int64) pricing.Line {
		return pricing.Line{Kind: "book", Quantity: quantity, UnitPrice: price}
	}
	rebill := pricing.RefundTerms{Policy: pricing.Rebill}
	from := func(minPurchase, minQuantity int64) pricing.RefundTerms {
		return pricing.RefundTerms{Policy: pricing.Rebill, MinPurchase: minPurchase, MinQuantity: minQuantity}
	}
	for name, c := range map[string]struct {
		lines []pricing.Line
		terms []pricing.Terms
		steps []refundStep
	}{
		"the most expensive unit is returned first": {
			lines: []pricing.Line{book(3, 1000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["FIXED_AMOUNT"]}},
			steps: []refundStep{{oneOf(0), 667, []int64{333}}, {oneOf(0), 667, []int64{333}}, {oneOf(0), 666, []int64{334}}},
		},
		"a kept threshold": {
			lines: []pricing.Line{book(3, 1000), book(1, 3000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["FIXED_AMOUNT"], Refund: pricing.RefundTerms{MinPurchase: 5000}}},
			steps: []refundStep{{oneOf(0), 834, []int64{166}}, {oneOf(0), 833, []int64{167}}, {rest, 3333, []int64{667}}},
		},
		"a minimum purchase": { // 60.00, at least 50.00 for 10.00 off
			lines: []pricing.Line{book(3, 1000), book(1, 3000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["FIXED_AMOUNT"], Refund: from(5000, 0)}},
			steps: []refundStep{{oneOf(0), 834, []int64{166}}, {oneOf(0), 166, []int64{834}}, {rest, 4000, []int64{0}}},
		},
		"a minimum quantity": {
			lines: []pricing.Line{book(2, 1000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["PERCENTAGE"], Refund: from(0, 2)}},
			steps: []refundStep{{oneOf(0), 0, []int64{1000}}, {oneOf(0), 1000, []int64{0}}},
		},
		"a tier": { // 10 % from 10.00, 7.00 off from 30.00
			lines: []pricing.Line{book(3, 1000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["TIERED"], Refund: rebill}},
			steps: []refundStep{{oneOf(0), 500, []int64{500}}, {oneOf(0), 900, []int64{100}}, {oneOf(0), 900, []int64{100}}},
		},
		"buy two, get one": {
			lines: []pricing.Line{book(3, 1000)},
			terms: []pricing.Terms{{ID: "a", Discount: of["BUY_X_GET_Y"], Refund: rebill}},
			steps: []refundStep{{oneOf(0), 0, []int64{1000}}, {oneOf(0), 1000, []int64{0}}, {oneOf(0), 1000, []int64{0}}},
		},
		"buy two, get one, and the free one comes back": {
			lines: []pricing.Line{book(2, 1000), book(1, 400)},
			terms: []pricing.Terms{{ID: "a", Discount: of["BUY_X_GET_Y"], Refund: rebill}},
			steps: []refundStep{{oneOf(1), 0, []int64{400}}, {oneOf(0), 1000, []int64{0}}, {oneOf(0), 1000, []int64{0}}},
		},
		"more is lost than is returned": { // 31.00, at least 31.00 for 10.00 off
			lines: []pricing.Line{book(1, 3000), book(1, 100)},
			terms: []pricing.Terms{{ID: "a", Discount: of["FIXED_AMOUNT"], Refund: from(3100, 0)}},
			steps: []refundStep{{oneOf(1), 0, []int64{100}}, {oneOf(0), 2100, []int64{900}}},
		},
		"two coupons lose more than is returned": { // 50 % of 31.00, and 10.00 of the 15.50
			lines: []pricing.Line{book(1, 3000), book(1, 100)},
			terms: []pricing.Terms{
				{ID: "a", Group: "a", Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.Percentage, Lane: pricing.ItemLane, Percent: percent(t, "50")}), Refund: from(3100, 0)},
				{ID: "b", Group: "b", Discount: of["FIXED_AMOUNT"], Refund: from(3100, 0)},
			},
			steps: []refundStep{{oneOf(1), 0, []int64{61, 39}}, {oneOf(0), 550, []int64{1489, 961}}},
		},
		"one of two coupons has a threshold": {
			lines: []pricing.Line{book(2, 1000)},
			terms: []pricing.Terms{
				{ID: "a", Group: "a", Discount: of["FIXED_AMOUNT_PER_UNIT"]},
				{ID: "b", Group: "b", Discount: of["FIXED_AMOUNT"], Refund: from(0, 2)},
			},
			steps: []refundStep{{oneOf(0), 0, []int64{231, 769}}, {rest, 400, []int64{369, 231}}},
		},
		"a lower tier beside a coupon of the item lane": { // 3.00 off each, then 7.00 of 21.00, or 10 % of 14.00
			lines: []pricing.Line{book(1, 1000), book(2, 1000)},
			terms: []pricing.Terms{
				{ID: "a", Group: "a", Discount: of["FIXED_AMOUNT_PER_UNIT"]},
				{ID: "b", Group: "b", Discount: of["TIERED"], Refund: rebill},
			},
			steps: []refundStep{{oneOf(0), 140, []int64{300, 560}}, {rest, 1260, []int64{600, 140}}},
		},
		"what is bought is also free": { // two of the third line buy both others; one of these buys the other
			lines: []pricing.Line{book(1, 1000), book(1, 1000), book(2, 2000)},
			terms: []pricing.Terms{{
				ID: "a", Refund: rebill, Eligible: []bool{true, true, false}, Bought: []bool{true, false, true},
				Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: percent(t, "100"), BuyQuantity: 1, GetQuantity: 1}),
			}},
			steps: []refundStep{
				{pricing.Returns{Lines: []pricing.LineReturn{{Line: 2, Whole: true}}}, 3000, []int64{1000}},
				{rest, 1000, []int64{1000}},
			},
		},
		"a sample does not count for a minimum quantity": { // 2 units that cost something
			lines: []pricing.Line{book(2, 1000), book(3, 0)},
			terms: []pricing.Terms{{ID: "a", Discount: of["PERCENTAGE"], Refund: from(0, 2)}},
			steps: []refundStep{{oneOf(1), 0, []int64{0}}, {oneOf(0), 0, []int64{1000}}, {rest, 1000, []int64{0}}},
		},
		"a sample does not count for a tier": { // 10 % from 1 unit, half from 2
			lines: []pricing.Line{book(2, 1000), book(3, 0)},
			terms: []pricing.Terms{{ID: "a", Refund: rebill, Discount: discountOf(t, pricing.DiscountTerms{
				Type: pricing.Tiered, TierBasis: pricing.ByQuantity, Tiers: []pricing.Tier{{From: 1, Percent: percent(t, "10")}, {From: 2, Percent: percent(t, "50")}},
			})}},
			steps: []refundStep{{oneOf(1), 0, []int64{0}}, {oneOf(0), 100, []int64{900}}, {rest, 900, []int64{100}}},
		},
		"a sample buys nothing": { // two of the first line buy the one of the second
			lines: []pricing.Line{book(2, 1000), book(1, 400), book(3, 0)},
			terms: []pricing.Terms{{ID: "a", Discount: of["BUY_X_GET_Y"], Refund: rebill}},
			steps: []refundStep{{oneOf(0), 600, []int64{400}}, {rest, 1400, []int64{0}}},
		},
		"a sample of what is bought buys nothing": {
			lines: []pricing.Line{book(1, 1000), book(3, 0), book(1, 400)},
			terms: []pricing.Terms{{
				ID: "a", Refund: rebill, Eligible: []bool{false, false, true}, Bought: []bool{true, true, false},
				Discount: discountOf(t, pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: percent(t, "100"), BuyQuantity: 1, GetQuantity: 1}),
			}},
			steps: []refundStep{{oneOf(1), 0, []int64{0}}, {oneOf(0), 600, []int64{400}}, {rest, 400, []int64{0}}},
		},
		"shipping": {
			lines: []pricing.Line{book(1, 1000), {Kind: pricing.Shipping, Quantity: 1, UnitPrice: 490}},
			terms: []pricing.Terms{{ID: "a", Discount: of["PERCENTAGE"]}},
			steps: []refundStep{{oneOf(0), 500, []int64{500}}, {pricing.Returns{Shipping: true}, 490, []int64{0}}},
		},
		"no coupon": {
			lines: []pricing.Line{book(2, 1000)},
			steps: []refundStep{{oneOf(0), 1000, nil}, {rest, 1000, nil}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			priced, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: c.lines}, c.terms...)
			require.NoError(t, err)
			for _, q := range []pricing.Quote{priced, stored(t, priced)} {
				var before pricing.Refunded
				for i, step := range c.steps {
					refund := giveBack(t, q, &before, step.now)
					if diff := cmp.Diff(step.discounts, couponParts(refund)); refund.Amount != step.amount || diff != "" && len(step.discounts) > 0 {
						t.Errorf("step %d: %d is refunded instead of %d, parts (-want +got):\n%s", i, refund.Amount, step.amount, diff)
					}
				}
				require.Equal(t, q.Total, before.Amount)
			}
		})
	}
}
