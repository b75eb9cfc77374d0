package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// TestUnitsToBuyAndToGet: the refusal of a cart that lacks units for a BUY_X_GET_Y discount tells which units are
// missing, and how many. The coupon makes one of three books free, or cases for two phones.
func TestUnitsToBuyAndToGet(t *testing.T) {
	t.Parallel()
	percent, err := pricing.ParsePercent("100")
	require.NoError(t, err)
	offer := func(buy, get int64) pricing.Discount {
		d, err := pricing.NewDiscount(pricing.DiscountTerms{Type: pricing.BuyXGetY, Percent: percent, BuyQuantity: buy, GetQuantity: get})
		require.NoError(t, err)
		return d
	}
	of := func(item string, quantity, price int64) pricing.Line {
		return pricing.Line{ID: item, Kind: pricing.Device, ItemID: item, Quantity: quantity, UnitPrice: price}
	}
	only := func(item string) coupon.Scope {
		return coupon.Scope{AppliesTo: coupon.Specific, Devices: coupon.NewItems(item)}
	}
	const (
		phones  = `required_items_missing {"missingQuantity":1,"contains":{"appliesTo":"SPECIFIC","deviceIds":["phone"],"quantity":2},"containedQuantity":1}`
		noPhone = `required_items_missing {"missingQuantity":2,"contains":{"appliesTo":"SPECIFIC","deviceIds":["phone"],"quantity":2}}`
	)
	for name, test := range map[string]struct {
		covers, buys coupon.Scope
		discount     pricing.Discount
		minQuantity  int64
		contains     coupon.Contents
		lines        []pricing.Line
		want         []string
	}{
		"3 for 2, of 2":              {covers: only("book"), discount: offer(2, 1), lines: []pricing.Line{of("book", 2, 8_00)}, want: []string{`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`}},
		"3 for 2, of 3":              {covers: only("book"), discount: offer(2, 1), lines: []pricing.Line{of("book", 3, 8_00)}},
		"3 for 2, one of them free":  {covers: only("book"), discount: offer(2, 1), lines: []pricing.Line{of("book", 2, 8_00), of("book", 1, 0)}, want: []string{`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`}},
		"a larger minimum quantity":  {covers: only("book"), discount: offer(2, 1), minQuantity: 5, lines: []pricing.Line{of("book", 2, 8_00)}, want: []string{`minimum_quantity_not_met {"minQuantity":5,"eligibleQuantity":2,"missingQuantity":3}`}},
		"a smaller minimum quantity": {covers: only("book"), discount: offer(2, 1), minQuantity: 2, lines: []pricing.Line{of("book", 2, 8_00)}, want: []string{`minimum_quantity_not_met {"minQuantity":3,"eligibleQuantity":2,"missingQuantity":1}`}},
		"a phone too few":            {covers: only("case"), buys: only("phone"), discount: offer(2, 1), lines: []pricing.Line{of("phone", 1, 99_00), of("case", 1, 9_00)}, want: []string{phones}},
		"a free phone buys nothing":  {covers: only("case"), buys: only("phone"), discount: offer(2, 1), lines: []pricing.Line{of("phone", 1, 99_00), of("phone", 1, 0), of("case", 1, 9_00)}, want: []string{phones}},
		"a case too few":             {covers: only("case"), buys: only("phone"), discount: offer(2, 2), lines: []pricing.Line{of("phone", 2, 99_00), of("case", 1, 9_00)}, want: []string{`minimum_quantity_not_met {"minQuantity":2,"eligibleQuantity":1,"missingQuantity":1}`}},
		"phones and a case":          {covers: only("case"), buys: only("phone"), discount: offer(2, 1), lines: []pricing.Line{of("phone", 2, 99_00), of("case", 1, 9_00)}},
		"a required cable, too": {covers: only("case"), buys: only("phone"), discount: offer(2, 1), contains: coupon.Contents{Scope: only("cable"), Quantity: 1}, lines: []pricing.Line{of("phone", 1, 99_00), of("case", 1, 9_00)}, want: []string{
			`required_items_missing {"missingQuantity":1,"contains":{"appliesTo":"SPECIFIC","deviceIds":["cable"],"quantity":1}}`, phones,
		}},
		"neither":                      {covers: only("case"), buys: only("phone"), discount: offer(2, 1), lines: []pricing.Line{of("cable", 1, 9_00)}, want: []string{`minimum_quantity_not_met {"minQuantity":1,"missingQuantity":1}`, noPhone, `no_eligible_items {}`}},
		"what is got cannot be bought": {covers: only("phone"), buys: only("phone"), discount: offer(2, 1), lines: []pricing.Line{of("phone", 2, 99_00)}, want: []string{`no_discount {}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			s.coupon.Scope, s.coupon.Buys, s.coupon.Discount = test.covers, test.buys, test.discount
			s.coupon.Conditions.Contains = test.contains
			s.coupon.Conditions.MinPurchase, s.coupon.Conditions.MinQuantity = least(0), test.minQuantity
			s.cart.Lines = test.lines
			for i := range s.cart.Lines {
				s.cart.Lines[i].ID += string(rune('a' + i))
			}
			got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
			require.NoError(t, err)
			if diff := cmp.Diff(test.want, reasonsOf(t, got.Decision)); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}
