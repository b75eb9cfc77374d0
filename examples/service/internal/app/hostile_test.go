package app_test

import (
	"net/http"
	"net/url"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTextThatNoDatabaseKeeps: NUL and bytes that are no UTF-8, wherever a request can
// carry them, are refused or find nothing. They never make the service fail, on no
// database.
func TestTextThatNoDatabaseKeeps(t *testing.T) {
	t.Parallel()
	onEveryStore(t, func(t *testing.T, w *world) {
		t.Helper()
		nobody, ann, admin := w.browser(t), w.as(t, "ann"), w.as(t, "admin")
		for _, b := range []*browser{nobody, ann, admin} {
			b.loose = true
		}
		batches := "/admin/coupon/" + admin.creates(object{"withoutCode": true}).text("id") + "/batches"
		for _, text := range []string{"\x00", "a\x00b", "a\xffb", "\xed\xa0\x80", "';--\x00", `\`, "%", "_"} {
			inPath := url.PathEscape(text)
			inQuery := url.QueryEscape(text)
			for _, a := range []answer{
				nobody.post("/login", object{"email": text, "password": text}),
				nobody.post("/login", `{"email":"`+text+`","password":"x"}`),
				nobody.post("/payment/quote", object{"lines": []object{line("plan", text, 1)}, "couponCode": text}),
				ann.get("/payment/apply-coupon/" + inPath),
				ann.get("/order/" + inPath),
				ann.get("/payment/return?key=" + inQuery),
				ann.post("/points/redeem/"+inPath, nil),
				ann.delete("/points/reservation/" + inPath),
				ann.post("/payment/payment-link", object{"mode": "product", "amount": text, "currency": text, "couponCode": text}),
				admin.get("/admin/coupon/all?search=" + inQuery),
				admin.get("/admin/catalog/search?kind=device&search=" + inQuery),
				admin.get("/admin/coupon/" + inPath),
				admin.get("/admin/coupon/" + inPath + "/redemptions?after=" + inQuery),
				admin.get("/admin/coupon/" + inPath + "/usage"),
				admin.delete("/admin/coupon/" + inPath),
				admin.get(batches + "?after=" + inQuery),
				admin.post(batches, object{"id": text, "count": 1, "shape": object{"prefix": text}}),
				admin.patch(batches+"/"+inPath, object{"active": true}),
				admin.delete(batches + "/" + inPath + "/unused"),
				admin.post(batches+"/"+inPath+"/assign", object{"owners": []string{"id:" + text}}),
				admin.get(path.Dir(batches) + "/codes.csv?batch=" + inQuery),
				admin.upload(batches+"/"+inPath+"/codes.csv", "code\n"+text+"\n"),
				admin.upload(batches+"/"+inPath+"/assign.csv", "owner\n"+text+"\n"),
				admin.patch("/admin/coupon/"+inPath, object{"name": text}),
				admin.post("/admin/coupon", object{
					"code": text, "name": text, "description": text, "discountType": "PERCENTAGE", "discountValue": "10",
					"appliesTo": "SPECIFIC", "planIds": []string{text}, "allowedUserEmails": text,
				}),
			} {
				require.Lessf(t, a.status, http.StatusInternalServerError, "%s with %q: %s", a.of, text, a.body)
			}
		}
		admin.get("/admin/coupon/all?search=%00").refused(http.StatusUnprocessableEntity, "invalid_input")
	})
}

// TestSomebodyElsesReservation: a place that was bought with points is its customer's:
// nobody else gives it up, uses it, or gets the order of the same key.
func TestSomebodyElsesReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ann, ben := w.as(t, "ann"), w.as(t, "ben")
	before := ben.get("/points").number("balance")
	reserved := ann.post("/points/redeem/POINTS25", nil).is(http.StatusCreated)
	ben.delete("/points/reservation/"+reserved.text("id")).refused(http.StatusNotFound, "not_found")
	require.Len(t, ann.get("/points").list("reservations"), 1, "it is still Ann's")
	require.Equal(t, before, ben.get("/points").number("balance"), "nothing was refunded to Ben")
	cart := object{"lines": []object{line("accessory", "earbuds", 1)}, "shippingOptionId": "pickup", "couponCode": "POINTS25"}
	refused := ben.post("/payment/quote", cart).is(http.StatusOK)
	require.Equal(t, "points_not_redeemed", refused.text("rejections.0.code"))

	bought := ann.withKey("the-same-key").checkout(cart).is(http.StatusCreated)
	plain := with(cart, object{})
	delete(plain, "couponCode")
	others := ben.withKey("the-same-key").checkout(plain).is(http.StatusCreated)
	require.NotEqual(t, bought.text("orderId"), others.text("orderId"))
	require.Empty(t, others.header.Get("Idempotency-Replayed"))
	ben.get("/payment/return?key=the-same-key").is(http.StatusSeeOther)
	require.Contains(t, ben.get("/payment/return?key=the-same-key").header.Get("Location"), others.text("orderId"))
}

// TestHTMLStaysText: what an administrator names a coupon is shown as it was written,
// and never becomes a part of a page.
func TestHTMLStaysText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const code, name = `<SCRIPT>ALERT(1)</SCRIPT>`, `"><img src=x onerror=alert(1)>`
	w.as(t, "admin").creates(object{"code": code, "name": name, "description": name})
	ann := w.as(t, "ann")
	bought := ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": code}).is(http.StatusCreated)
	loose := *ann
	loose.loose = true
	page := loose.get(w.path(bought.text("url"))).is(http.StatusOK)
	require.Contains(t, string(page.body), "&lt;SCRIPT&gt;ALERT(1)&lt;/SCRIPT&gt;")
	require.NotContains(t, string(page.body), code)
	for _, path := range []string{"/payment/apply-coupon/" + url.PathEscape(code), "/payment/apply-coupon/" + url.PathEscape(name)} {
		a := loose.get(path)
		require.NotContains(t, string(a.body), "<", "JSON for a browser that guesses what it is")
		require.Equal(t, "nosniff", a.header.Get("X-Content-Type-Options"))
	}
}
