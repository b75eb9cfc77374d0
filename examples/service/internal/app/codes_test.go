package app_test

import (
	"net/http"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// combinable makes two coupons that can be used together, and one that cannot.
func (w *world) combinable(t *testing.T) {
	t.Helper()
	for code, group := range map[string]string{"SPRING": "season", "HELLO": "welcome", "LONELY": ""} {
		_, err := w.Service.Create(t.Context(), coupon.Draft{
			Code: code, Name: code, Group: group, DiscountType: pricing.FixedAmount, DiscountValue: decimal.NewFromInt(5),
		})
		require.NoError(t, err)
	}
}

// TestSeveralCodesInOneCart: issue 41; quote, checkout and order with a list of codes.
func TestSeveralCodesInOneCart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	ann := w.as(t, "ann")
	cart := func(codes ...string) object {
		return object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "express", "codes": codes}
	}
	quoted := ann.post("/payment/quote", cart("spring", "HELLO")).is(http.StatusOK)
	require.Equal(t, "10.00", quoted.text("quote.discount"))
	require.Len(t, quoted.list("coupons"), 2)
	require.Equal(t, "HELLO", quoted.text("coupons.0.code"))
	require.Equal(t, "5.00", quoted.text("coupons.0.discount"))

	refused := ann.post("/payment/quote", cart("LONELY", "HELLO", "NOSUCH")).is(http.StatusOK)
	require.Equal(t, "0.00", refused.text("quote.discount"))
	require.Equal(t, "LONELY", refused.text("coupons.0.excludedBy.0"))
	require.Len(t, refused.list("rejections"), 3)
	problem := ann.checkout(cart("LONELY", "HELLO")).refused(http.StatusUnprocessableEntity, "not_combinable")
	require.Len(t, problem.list("coupons"), 2)

	bought := ann.checkout(cart("HELLO", "spring")).is(http.StatusCreated)
	require.Equal(t, "10.00", bought.text("quote.discount"))
	ann.pays(bought)
	require.Len(t, ann.get("/order/"+bought.text("orderId")).list("coupons"), 2)
}

// TestCodesAndTheirBounds: each fault names its field.
func TestCodesAndTheirBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "express"}
	many := make([]string, 33)
	for i := range many {
		many[i] = string(rune('A'+i%26)) + string(rune('A'+i/26))
	}
	for field, codes := range map[string]any{"codes": many, "codes[1]": []string{"SPRING", "spring"}} {
		cart["codes"] = codes
		require.Equal(t, field, ann.post("/payment/quote", cart).refused(http.StatusUnprocessableEntity, "invalid_input").text("errors.0.field"))
	}
	cart["codes"], cart["couponCode"] = []string{"SPRING"}, "HELLO"
	require.Equal(t, "codes", ann.post("/payment/quote", cart).refused(http.StatusUnprocessableEntity, "invalid_input").text("errors.0.field"))
}
