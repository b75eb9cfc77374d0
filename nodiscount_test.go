package couponkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

func goods(lines ...pricing.Line) pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: lines}
}

func piece(id string, kind pricing.LineKind, quantity, price int64) pricing.Line {
	return pricing.Line{ID: id, Kind: kind, ItemID: id, Quantity: quantity, UnitPrice: price}
}

func eur(minor int64) coupon.Amounts {
	return coupon.NewAmounts(pricing.NewMoney(minor, pricing.EUR()))
}

// A coupon without which the total is the same is no_discount. Nothing of it is used, and its budget
// stays as it was.
func TestACouponThatChangesNothingIsNotUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gift := grouped(percentOff(100), "GIFT", "gift")
	gift.Lane, gift.AppliesTo, gift.AccessoryIDs = pricing.ItemLane, coupon.Specific, []string{"cable"}
	w.create(t, gift)
	cheap := grouped(percentOff(50), "CHEAP50", "cheap")
	cheap.DiscountType, cheap.Units, cheap.Budget = pricing.CheapestUnits, 1, eur(100_00)
	unused := w.create(t, cheap)
	cart := goods(piece("cable", pricing.Accessory, 1, 12_50), piece("phone", pricing.Device, 1, 99_00))
	request := couponkit.QuoteRequest{Cart: cart, Codes: []string{"GIFT", "CHEAP50"}, Customer: ann}
	_, err := w.Quote(t.Context(), request)
	require.Equal(t, []string{"CHEAP50 no_discount"}, refusedFor(err))
	request.SkipRefused = true
	quote, err := w.Quote(t.Context(), request)
	require.NoError(t, err)
	require.EqualValues(t, 99_00, quote.Total)
	require.Len(t, quote.Coupons, 1)
	require.EqualValues(t, 12_50, quote.Coupons[0].Discount)
	explained, err := w.Explain(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "CHEAP50", explained.Codes[1].Code)
	require.True(t, explained.Codes[1].Discount.IsZero())
	checkout := w.withCodes("GIFT", "CHEAP50")
	checkout.Cart, checkout.SkipRefused = cart, true
	w.pay(t, w.checkout(t, checkout))
	require.Zero(t, w.get(t, unused.ID).UsedCount)
	require.Equal(t, []eligibility.Count{{}}, w.taken(t, eligibility.Budget(unused.ID, "EUR")))
}

// A coupon that exceeds its budget does not take away what others could take off.
func TestACouponOverItsBudgetChangesNothingForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := grouped(percentOff(100), "ALL", "all")
	all.Lane, all.Budget = pricing.ItemLane, eur(50_00)
	w.create(t, all)
	five := grouped(tenOff(), "FIVE", "five")
	five.Amount = coupon.Amounts{"": "5"}
	w.create(t, five)
	cart := goods(piece("phone", pricing.Device, 1, 100_00))
	quote, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"ALL", "FIVE"}, Customer: ann, SkipRefused: true})
	require.NoError(t, err)
	require.EqualValues(t, 95_00, quote.Total)
	require.Equal(t, []string{"ALL budget_exhausted"}, refusedFor(quote.Refused))
	params := quote.Refused[0].Reasons[0].Params
	require.Equal(t, []string{"50.00 EUR", "50.00 EUR", "50.00 EUR"}, []string{params.Budget.String(), params.Remaining.String(), params.Missing.String()})
}

// Units that cost nothing buy nothing: free SIM cards do not make earbuds free.
func TestFreeUnitsBuyNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := percentOff(100)
	d.Code, d.DiscountType, d.BuyQuantity, d.GetQuantity = "EARBUDS", pricing.BuyXGetY, 1, 1
	d.AppliesTo, d.DeviceIDs = coupon.Specific, []string{"earbuds"}
	d.Buys = &coupon.ScopeDraft{AppliesTo: coupon.Product, Kinds: []string{"accessory"}}
	w.create(t, d)
	sim := piece("sim", pricing.Accessory, 3, 0)
	cart := goods(sim, piece("earbuds", pricing.Device, 3, 99_00), pricing.Line{ID: "S", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 4_90})
	quote, err := w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"EARBUDS"}, Customer: ann})
	require.ErrorIs(t, err, coupon.ErrRequiredItemsMissing)
	require.EqualValues(t, 301_90, quote.Total)
	cart.Lines[0].UnitPrice = 5_00
	quote, err = w.Quote(t.Context(), couponkit.QuoteRequest{Cart: cart, Codes: []string{"EARBUDS"}, Customer: ann})
	require.NoError(t, err)
	require.EqualValues(t, 297_00, quote.Discount)
}
