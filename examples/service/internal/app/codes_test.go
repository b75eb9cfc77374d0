package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// combinable makes two coupons that can be used together, and one that cannot.
func (w *world) combinable(t *testing.T) {
	t.Helper()
	for code, group := range map[string]string{"SPRING": "season", "HELLO": "welcome", "LONELY": ""} {
		_, err := w.Service.Create(t.Context(), coupon.Draft{
			Code: code, Name: code, Group: group, DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "5"},
		})
		require.NoError(t, err)
	}
}

// TestTheFirstCodeIsKept: with keep_first, a code that excludes those before it is refused alone; a
// quote and a checkout agree. By default all of them are refused.
func TestTheFirstCodeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "codes": []string{"SPRING", "LONELY"}}
	require.Equal(t, "0.00", ann.post("/payment/quote", cart).is(http.StatusOK).text("quote.discount"))
	first := with(cart, object{"conflicts": "keep_first"})
	quoted := ann.post("/payment/quote", first).is(http.StatusOK)
	require.Equal(t, []any{"5.00", "SPRING", true, "LONELY", false}, []any{
		quoted.text("quote.discount"), quoted.text("coupons.0.code"), quoted.value("coupons.0.applied"), quoted.text("coupons.1.code"), quoted.value("coupons.1.applied"),
	})
	require.Equal(t, []any{"SPRING"}, quoted.list("coupons.1.excludedBy"))
	ann.checkout(first).refused(http.StatusUnprocessableEntity, "not_combinable")
	bought := ann.post("/payment/cart-checkout", with(first, object{"skipRefused": true, "expected": expected(quoted)})).is(http.StatusCreated)
	require.Equal(t, []any{"5.00", "LONELY"}, []any{bought.text("quote.discount"), bought.text("refused.0.code")})
	reversed := ann.post("/payment/quote", with(first, object{"codes": []string{"LONELY", "SPRING"}})).is(http.StatusOK)
	require.Equal(t, []any{true, false}, []any{reversed.value("coupons.0.applied"), reversed.value("coupons.1.applied")})
}

// TestTheBestCodeIsKept: with keep_best, a cart costs as little as its codes allow, and the others tell what
// they would save.
func TestTheBestCodeIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	_, err := w.Service.Create(t.Context(), coupon.Draft{Code: "SUPER", Name: "Super", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"": "8"}})
	require.NoError(t, err)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "conflicts": "keep_best"}
	for _, codes := range [][]string{{"SUPER", "SPRING"}, {"SPRING", "SUPER"}} {
		quoted := ann.post("/payment/quote", with(cart, object{"codes": codes})).is(http.StatusOK)
		require.Equal(t, "8.00", quoted.text("quote.discount"))
		spring := fmt.Sprintf("coupons.%d.", slices.Index(codes, "SPRING"))
		require.Equal(t, []any{false, "5.00", "SUPER"}, []any{quoted.value(spring + "applied"), quoted.text(spring + "instead"), quoted.text(spring + "excludedBy.0")})
	}
	all := with(cart, object{"codes": []string{"SUPER", "SPRING", "HELLO"}, "skipRefused": true}) // two together are better than one
	quoted := ann.post("/payment/quote", with(cart, object{"codes": []string{"SUPER", "SPRING", "HELLO"}})).is(http.StatusOK)
	require.Equal(t, []any{"10.00", "8.00"}, []any{quoted.text("quote.discount"), quoted.text("coupons.0.instead")})
	bought := ann.post("/payment/cart-checkout", with(all, object{"expected": expected(quoted)})).is(http.StatusCreated)
	require.Equal(t, []any{"10.00", "SUPER"}, []any{bought.text("quote.discount"), bought.text("refused.0.code")})
	wrong := ann.post("/payment/quote", with(cart, object{"conflicts": "keep_all"})).refused(http.StatusUnprocessableEntity, "invalid_input")
	require.Equal(t, map[string]string{"conflicts": "unknown"}, wrong.fields())
}

// TestSeveralCodesInOneCart: quote, checkout and order with a list of codes.
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
	require.Equal(t, "spring", quoted.text("coupons.0.code"))
	require.Equal(t, "5.00", quoted.text("coupons.0.discount"))

	refused := ann.post("/payment/quote", cart("LONELY", "HELLO", "NOSUCH")).is(http.StatusOK)
	require.Equal(t, "0.00", refused.text("quote.discount"))
	require.Equal(t, "HELLO", refused.text("coupons.0.excludedBy.0"))
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
	checkout := with(cart, object{"expected": object{"subtotal": "1", "discount": "0", "shipping": "0", "total": "1"}})
	for path, body := range map[string]object{
		"/payment/quote": cart, "/payment/cart-checkout": checkout,
		"/payment/payment-link": {"mode": "product", "amount": "10", "currency": "EUR"},
	} {
		for field, codes := range map[string]any{"codes": many, "codes[1]": []string{"SPRING", "spring"}} {
			a := ann.post(path, with(body, object{"codes": codes})).refused(http.StatusUnprocessableEntity, "invalid_input")
			require.Contains(t, a.fields(), field, path)
			if field == "codes" {
				require.Equal(t, "at most 32 codes are allowed", a.text("errors.0.message"), path)
			}
		}
		a := ann.post(path, with(body, object{"codes": []string{"SPRING"}, "couponCode": "HELLO"})).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, map[string]string{"codes": "not_allowed"}, a.fields(), path)
	}
}

// TestARefusedCodeIsLeftOut: by default it refuses the checkout; the request may leave it out, and
// is then told which.
func TestARefusedCodeIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.combinable(t)
	ann := w.as(t, "ann")
	cart := object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "express", "codes": []string{"SPRING", "NOSUCH"}}
	quoted := ann.post("/payment/quote", cart).is(http.StatusOK)
	require.Equal(t, "5.00", quoted.text("quote.discount"))
	require.Equal(t, "coupon_not_found", quoted.text("coupons.1.rejections.0.code"))
	ann.checkout(cart).refused(http.StatusNotFound, "coupon_not_found")
	bought := ann.post("/payment/cart-checkout", with(cart, object{"skipRefused": true, "expected": expected(quoted)})).is(http.StatusCreated)
	require.Equal(t, "5.00", bought.text("quote.discount"))
	require.Len(t, bought.list("refused"), 1)
	require.Equal(t, "NOSUCH", bought.text("refused.0.code"))
	require.Equal(t, "coupon_not_found", bought.text("refused.0.rejections.0.code"))
	link := object{"mode": "product", "amount": "10", "currency": "EUR", "codes": []string{"NOSUCH"}}
	ann.post("/payment/payment-link", link).refused(http.StatusNotFound, "coupon_not_found")
	linked := ann.post("/payment/payment-link", with(link, object{"skipRefused": true})).is(http.StatusCreated)
	require.Equal(t, "NOSUCH", linked.text("refused.0.code"))
	ann.post("/payment/quote", with(cart, object{"skipRefused": true})).refused(http.StatusUnprocessableEntity, "invalid_input")
}
