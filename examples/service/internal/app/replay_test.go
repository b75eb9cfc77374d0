package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A coupon that is not switched on is tried on the last orders, and stays as it is.
func TestACouponIsTriedOnTheLastOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	id := admin.post("/admin/coupon", object{
		"code": "DRAFT", "name": "Draft", "discountType": "FIXED_AMOUNT", "discountValue": "5", "startsAt": "2099-01-01", "maxUses": 7,
	}).is(http.StatusCreated).text("id")
	admin.patch("/admin/coupon/"+id+"/status", object{"active": false}).is(http.StatusOK)
	path := "/admin/coupon/" + id + "/replay"
	none := admin.get(path).is(http.StatusOK)
	require.Zero(t, none.number("carts"))
	require.Contains(t, none.text("svg"), "There is no cart.")

	w.sold(t) // three cases at 24.90 with 10 % off
	w.clock.advance(time.Minute)
	w.as(t, "ben").checkout(object{"lines": []object{line("accessory", "case", 1)}, "shippingOptionId": "standard"}).is(http.StatusCreated) // not paid
	ben := w.as(t, "cleo")
	ben.pays(ben.checkout(object{"lines": []object{line("accessory", "case", 2)}, "shippingOptionId": "standard"}).is(http.StatusCreated))
	w.clock.advance(time.Minute)
	r := admin.get(path + "?orders=100").is(http.StatusOK)
	require.Equal(t, 2, r.number("carts"))
	require.Equal(t, 1, r.number("currencies.0.wins.carts"), "the order with 7.47 off keeps them")
	require.Equal(t, "5.00", r.text("currencies.0.wins.amount"))
	require.Equal(t, 1, r.number("currencies.0.kept"))
	require.Equal(t, "-9.99", r.text("currencies.0.histogram.0.from"))
	require.Equal(t, 1, r.number("coupons.0.uses"))
	require.Contains(t, r.text("svg"), "5.00 to 9.99 less")
	require.False(t, admin.get("/admin/coupon/"+id).value("active").(bool))

	for _, orders := range []string{"0", "10001", "x"} {
		admin.get(path+"?orders="+orders).refused(http.StatusUnprocessableEntity, "invalid_input")
	}
	admin.get("/admin/coupon/cpn_none/replay").refused(http.StatusNotFound, "coupon_not_found")
	w.as(t, "ann").get(path).refused(http.StatusForbidden, "administrator_required")
	require.NotContains(t, none.text("svg"), "<script")
}
