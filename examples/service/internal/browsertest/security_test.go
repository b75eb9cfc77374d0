package browsertest_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
)

// What an administrator calls a coupon is text on every page that shows it, however
// much it looks like a part of a page. A violation of the content policy would be a
// complaint of the tab.
func TestNamesAreTextOnEveryPage(t *testing.T) {
	onOneStore(t, func(w *world) {
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
		customer.see(".coupon", code)
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

// reads requires that the letters of some words stand from left to right: the first
// words like these that an element holds.
func (p page) reads(selector, words string) {
	p.t.Helper()
	p.hold(fmt.Sprintf(`(() => {
	  const host = document.querySelector(%s), words = %s;
	  const walker = document.createTreeWalker(host ?? document.createElement("p"), NodeFilter.SHOW_TEXT);
	  while (walker.nextNode()) {
	    const at = walker.currentNode.data.indexOf(words);
	    if (at < 0) continue;
	    const left = [...words].map((_, i) => {
	      const letter = document.createRange();
	      letter.setStart(walker.currentNode, at + i);
	      letter.setEnd(walker.currentNode, at + i + 1);
	      return letter.getBoundingClientRect().left;
	    });
	    return left.every((x, i) => i === 0 || x > left[i - 1]);
	  }
	  return false;
	})()`, quoted(p.t, selector), quoted(p.t, words)))
}

// A name, a description, an address or a search that asks to be read from right to left
// does not turn the sentence around that it stands in: not the question whether to delete
// a coupon either. One that ends the isolation of text does not help.
func TestNoTextTurnsASentenceAround(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.administer()
		for code, name := range map[string]string{"OVERRIDE": "Sale \u202etfel ot thgir", "ENDED": "Sale \u2069\u202etfel", "HEBREW": "\u05de\u05d1\u05e6\u05e2"} {
			made := w.create(coupon.Draft{
				Code: code, Name: name, Description: "Plain words", DiscountType: pricing.Percentage, Percent: "10",
			})
			p.visit("/admin/coupons?search=" + code)
			p.click(rowOf(code) + " [data-action=delete]")
			p.reads("#delete-text", ") stops")
			p.visit("/admin/coupons/" + made.ID)
			p.reads("#subtitle", ". ")
			p.reads("#subtitle", "Plain")
			p.visit("/admin/coupons?search=" + url.QueryEscape(name+"none"))
			p.reads("#state p", "”.")
		}
		p.visit("/admin/coupons")
		p.click("#new-coupon")
		p.fill("#f-code", "LISTED")
		p.fill("#f-name", "Listed")
		p.fill("#f-value", "10")
		p.click(radio("distribution", "USER_SPECIFIC"))
		p.fill("#f-emails", "no\u202ebody@example.org")
		p.click("#save")
		p.fault("allowedUserEmails", `no\u202ebody`)
		p.reads("[data-field=allowedUserEmails] .field-error", "address")
	})
}

// Whatever the address of the sign-in says, it leads to a page of this site.
func TestSigningInNeverLeadsToAnotherSite(t *testing.T) {
	onOneStore(t, func(w *world) {
		p := w.visitor()
		for _, next := range []string{
			"//evil.example/", "/.//evil.example/", "/..//evil.example/", "https://evil.example/", `/\evil.example/`, `/.\/evil.example`,
			"javascript:document.title='taken'", "/%09/evil.example", "data:text/html,taken", "blob:" + w.URL + "/taken", "filesystem:" + w.URL + "/temporary/taken", "/login?next=//evil.example/",
			"//", "http://[",
		} {
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
			p.must(p.Empty())
		}
	})
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	literal, err := json.Marshal(text)
	require.NoError(t, err)
	return string(literal)
}
