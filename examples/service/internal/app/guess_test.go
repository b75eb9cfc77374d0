package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// plainRefusals tells customers why a code is not for them, as section 7 of the specification lists it.
func plainRefusals(c *app.Config) { c.PlainRefusals = true }

// TestStrangersHearTheSame: status and body of every call are equal for a code that does not exist and for every code
// that is not the customer's.
func TestStrangersHearTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, withGuests)
	admin := w.as(t, "admin")
	id := admin.get("/admin/coupon/SUMMER10").is(http.StatusOK).text("id")
	admin.post("/admin/coupon/"+id+"/codes", object{
		"batch": object{"id": "personal"}, "codes": []object{{"code": "BENSOWN", "owner": "id:usr_ben"}, {"code": "BENSTOO", "owner": "email:ben@example.org", "expiresAt": "2099-01-01"}},
	}).is(http.StatusCreated)
	gone := admin.post("/admin/coupon", object{"code": "DELETED", "name": "x", "discountType": "PERCENTAGE", "discountValue": "5"}).is(http.StatusCreated).text("id")
	admin.do(http.MethodDelete, "/admin/coupon/"+gone, nil).is(http.StatusNoContent)
	totals := object{"subtotal": "9.99", "discount": "0", "shipping": "0", "total": "9.99"}
	body := func(codes ...string) object {
		return object{"lines": []object{line("plan", "basic", 1)}, "codes": codes}
	}
	calls := map[string]func(b *browser, code string) answer{
		"apply":                func(b *browser, code string) answer { return b.get("/payment/apply-coupon/" + code) },
		"quote":                func(b *browser, code string) answer { return b.post("/payment/quote", body(code)) },
		"quote beside another": func(b *browser, code string) answer { return b.post("/payment/quote", body(code, "SUMMER10")) },
		"checkout": func(b *browser, code string) answer {
			return b.post("/payment/cart-checkout", with(body(code), object{"expected": totals}))
		},
		"link": func(b *browser, code string) answer {
			return b.post("/payment/payment-link", with(body(code), object{"mode": "subscription"}))
		},
		"points": func(b *browser, code string) answer { return b.post("/points/redeem/"+code, nil) },
	}
	// at asks as a new customer each time, so that limits are not reached. A body without the typed code is the answer.
	at := func(user, code string, call func(b *browser, code string) answer) (int, string) {
		b := w.browser(t)
		if user != "" {
			b = w.as(t, user)
		}
		a := call(b, code)
		w.clock.advance(1)
		return a.status, strings.ReplaceAll(string(a.body), code, "CODE")
	}
	for name, call := range calls {
		for _, user := range []string{"ann", ""} {
			status, unknown := at(user, "NOSUCHCODE", call)
			for _, code := range []string{"VIP15", "PAUSED", "BENSOWN", "BENSTOO", "DELETED"} {
				if code == "VIP15" && user == "ann" {
					continue // it is hers
				}
				got, heard := at(user, code, call)
				require.Equal(t, status, got, "%s: %s as %q: %s", name, code, user, heard)
				require.Equal(t, unknown, heard, "%s: %s as %q", name, code, user)
			}
		}
	}
}
