package app_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// Beside a coupon that cannot be read the list has all others, in any order and on any page. The
// coupon has a line of its own.
func TestACouponThatCannotBeReadHasALineOfItsOwn(t *testing.T) {
	t.Parallel()
	w, damage := newDamageableWorld(t)
	admin := w.as(t, "admin")
	ids := map[string]string{}
	for _, code := range []string{"DAMAGED-A", "DAMAGED-B", "DAMAGED-C"} {
		ids[code] = admin.creates(object{"code": code}).text("id")
		w.clock.advance(time.Second)
	}
	damage("coupons", ids["DAMAGED-B"], `{"later":true}`)
	for query, want := range map[string][]string{
		"":                              {"DAMAGED-C", "DAMAGED-A", ids["DAMAGED-B"]},
		"&sort=code&order=asc":          {"DAMAGED-A", "DAMAGED-C", ids["DAMAGED-B"]},
		"&usable=true":                  {"DAMAGED-C", "DAMAGED-A"},
		"&pageSize=2":                   {"DAMAGED-C", ids["DAMAGED-B"]},
		"&pageSize=2&page=2":            {"DAMAGED-A"},
		"&sort=code&pageSize=2":         {"DAMAGED-A", "DAMAGED-C"},
		"&sort=code&pageSize=2&page=2":  {ids["DAMAGED-B"]},
		"&sort=code&pageSize=50&page=2": {},
	} {
		page := admin.get("/admin/coupon/all?search=DAMAGED-" + query).is(http.StatusOK)
		got := []string{}
		for _, item := range page.list("items") {
			got = append(got, item.(map[string]any)["code"].(string))
		}
		unreadable, _ := page.value("unreadable").([]any)
		for _, record := range unreadable {
			got = append(got, record.(map[string]any)["id"].(string))
			require.Contains(t, record.(map[string]any)["reason"], `"later"`)
		}
		require.Equal(t, want, got, query)
		if query != "&usable=true" {
			require.Equal(t, 3, page.number("total"), query)
		}
	}
	admin.get("/admin/coupon/"+ids["DAMAGED-B"]).refused(http.StatusInternalServerError, "unreadable")
	admin.get("/admin/coupon/DAMAGED-B").refused(http.StatusInternalServerError, "unreadable")
	admin.get("/admin/coupon/DAMAGED-A").is(http.StatusOK)
	w.as(t, "ann").get("/payment/apply-coupon/DAMAGED-A").is(http.StatusOK)
	require.Equal(t, ids["DAMAGED-B"], admin.post("/admin/coupon", with(object{
		"name": "Again", "discountType": "PERCENTAGE", "discountValue": "10", "appliesTo": "ALL", "distribution": "GENERAL",
	}, object{"code": "DAMAGED-B"})).refused(http.StatusConflict, "code_taken").text("couponId"))
}

// Beside an order that cannot be read the lists of orders and redemptions have all others.
func TestAnOrderThatCannotBeReadHasALineOfItsOwn(t *testing.T) {
	t.Parallel()
	w, damage := newDamageableWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	coupon := admin.creates(object{"code": "OFTEN", "maxUsesPerUser": nil}).text("id")
	var orders []string
	for range 3 {
		made := ann.checkout(object{"lines": []object{line("accessory", "charger", 1)}, "shippingOptionId": "pickup", "couponCode": "OFTEN"}).is(http.StatusCreated)
		ann.pays(made)
		orders = append(orders, made.text("orderId"))
		w.clock.advance(time.Second)
	}
	damage("orders", orders[1], "{")
	page := admin.get("/admin/order/all").is(http.StatusOK)
	require.Equal(t, []string{orders[2], orders[0], orders[1]}, []string{page.text("items.0.id"), page.text("items.1.id"), page.text("unreadable.0.id")})
	require.Len(t, page.list("items"), 2)
	require.Len(t, admin.get("/admin/coupon/"+coupon+"/redemptions").is(http.StatusOK).list("items"), 3)
	admin.get("/admin/order/"+orders[1]).refused(http.StatusInternalServerError, "unreadable")
	shown := *admin
	shown.loose = true
	require.Contains(t, string(shown.get("/admin/orders").is(http.StatusOK).body), "Order "+orders[1]+" cannot be read: its document")
}

// newDamageableWorld returns a world on a file, and a function that replaces the document of a record.
func newDamageableWorld(t *testing.T) (w *world, damage func(table, id, document string)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "couponkit.db")
	w = newWorld(t, func(c *app.Config) { c.Store = file })
	return w, func(table, id, document string) {
		db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)")
		require.NoError(t, err)
		defer db.Close()
		done, err := db.ExecContext(t.Context(), fmt.Sprintf("UPDATE couponkit_%s SET doc = ? WHERE id = ?", table), document, id)
		require.NoError(t, err)
		rows, err := done.RowsAffected()
		require.NoError(t, err)
		require.EqualValues(t, 1, rows)
	}
}
