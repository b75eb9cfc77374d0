package browsertest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
)

// What an administrator calls a coupon is text on every page that shows it, however
// much it looks like a part of a page. A violation of the content policy would be a
// complaint of the tab.
func TestNamesAreTextOnEveryPage(t *testing.T) {
	onEveryStore(t, func(w *world) {
		const code, name = `<B>HOSTILE</B>`, `"><img id=planted src=x onerror="document.title='taken'">`
		text, err := json.Marshal(map[string]any{
			"code": code, "name": name, "description": name, "discountType": "PERCENTAGE", "discountValue": "10",
		})
		require.NoError(w.t, err)
		var draft coupon.Draft
		require.NoError(w.t, json.Unmarshal(text, &draft))
		made, err := w.Service.Create(w.t.Context(), draft)
		require.NoError(w.t, err)

		p := w.administer()
		p.see("#rows", code)
		p.see("#rows", name)
		p.sound()
		p.visit("/admin/coupons/" + made.ID)
		p.see("#main", code)
		p.sound()
		customer := w.as(ann)
		customer.visit("/plans")
		customer.click("[data-item=family] button")
		customer.see("[data-total=total]", "€49.00")
		customer.apply(code)
		customer.see("#main", code)
		customer.sound()
		customer.toPayment("44.10 EUR")
		customer.see("#coupon", code)
		customer.sound()
	})
}

// sound requires that nothing was planted into the page.
func (p page) sound() {
	p.t.Helper()
	var planted bool
	p.eval(`document.querySelector("#planted") !== null || document.title === "taken" || document.querySelector("#main b, #rows b") !== null`, &planted)
	require.False(p.t, planted, "text has become a part of the page")
}

// Whatever the address of the sign-in says, it leads to a page of this site.
func TestSigningInNeverLeadsToAnotherSite(t *testing.T) {
	onEveryStore(t, func(w *world) {
		for _, next := range []string{
			"//evil.example/", "/.//evil.example/", "/..//evil.example/", "https://evil.example/", `/\evil.example/`, `/.\/evil.example`,
			"javascript:document.title='taken'", "/%09/evil.example", "data:text/html,taken", "/login?next=//evil.example/",
			"//", "http://[",
		} {
			p := w.visitor()
			p.visit("/login")
			var address string
			p.eval(`"/login?next=" + encodeURIComponent(`+quoted(t, next)+`)`, &address)
			p.visit(address)
			p.eval(`window.stays = location.origin`, nil)
			p.fill("#email", "ann@example.org")
			p.fill("#password", "ann-demo-1")
			p.click("#login-form [type=submit]")
			p.hold(`location.pathname !== "/login" && document.readyState === "complete"`)
			var origin string
			p.eval(`location.origin`, &origin)
			require.Equal(w.t, w.URL, origin, "sign-in with next=%s", next)
		}
	})
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	literal, err := json.Marshal(text)
	require.NoError(t, err)
	return string(literal)
}
