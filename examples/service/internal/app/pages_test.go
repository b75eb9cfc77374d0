package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// navigation is what browsers accept when somebody follows a link.
const navigation = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

// page requires a page of a status that says what happened and leads somewhere.
func (a answer) page(status int, says string) answer {
	a.t.Helper()
	a.is(status)
	require.Equal(a.t, "text/html; charset=utf-8", a.header.Get("Content-Type"), a.of)
	require.Equal(a.t, "no-store", a.header.Get("Cache-Control"), a.of)
	require.Contains(a.t, a.header.Get("Content-Security-Policy"), "default-src 'none'", a.of)
	require.Contains(a.t, string(a.body), says, a.of)
	require.Contains(a.t, string(a.body), `href="/plans"`, a.of)
	return a
}

// TestABrowserIsToldOfAnErrorByAPage: with the status that a program gets.
func TestABrowserIsToldOfAnErrorByAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nobody, ann := w.browser(t), w.as(t, "ann")
	nobody.header, ann.header = http.Header{"Accept": {navigation}}, http.Header{"Accept": {navigation}}
	for _, path := range []string{"/nowhere", "/orders", "/admin/coupons/"} {
		nobody.get(path).page(http.StatusNotFound, "There is no such page")
	}
	require.Empty(t, nobody.do("HEAD", "/nowhere", nil).is(http.StatusNotFound).body)
	nobody.get("/points").page(http.StatusUnauthorized, "Sign in first")
	ann.get("/admin/coupon/all").page(http.StatusForbidden, "Only administrators may do this")
	ann.get("/payment/apply-coupon/NEVER").page(http.StatusNotFound, "coupon")
	require.NoError(t, w.BreakStore())
	failed := ann.get("/payment/return?key=k").page(http.StatusServiceUnavailable, "The service is not available at the moment")
	require.NotEmpty(t, failed.header.Get("Retry-After"))
	require.Contains(t, string(failed.body), "Try again")
}

// TestAProgramIsToldOfAnErrorByADocument: who takes everything, or does not like a page
// better, is a program; so is who does more than to look.
func TestAProgramIsToldOfAnErrorByADocument(t *testing.T) {
	t.Parallel()
	b := newWorld(t, unseeded).browser(t)
	for _, accept := range [][]string{
		nil,
		{""},
		{"*/*"},
		{"application/json"},
		{"application/problem+json", "text/html"},
		{"text/html, application/json"},
		{"text/html;q=0.5, */*"},
		{"text/html;q=0"},
		{"text/html;q=much"},
		{"text/html;q=NaN"},
		{"text/html;q=2"},
		{"text/html;q=Inf, */*;q=0.1"},
		{"text/html;q=1;;, application/json"},
		{strings.Repeat(",", 1_000) + "/"},
	} {
		b.header = http.Header{"Accept": accept}
		b.get("/nowhere").refused(http.StatusNotFound, "not_found")
	}
	b.header = http.Header{"Accept": {navigation}}
	b.post("/nowhere", object{}).refused(http.StatusNotFound, "not_found")
	for _, accept := range [][]string{{"text/html"}, {"text/*"}, {"application/json;q=0.9", "text/html"}, {"*/*;q=0.1,TEXT/HTML;q=0.2"}} {
		b.header = http.Header{"Accept": accept}
		b.get("/nowhere").page(http.StatusNotFound, "There is no such page")
	}
}

// TestComingBackToAnotherAccount: somebody else has signed in while a customer paid. The
// cart says why no order is shown, and nothing that an address brings along.
func TestComingBackToAnotherAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bought := w.as(t, "ann").withKey("of-ann").checkout(object{"lines": []object{line("plan", "basic", 1)}}).is(http.StatusCreated)
	require.Contains(t, w.as(t, "ann").get("/payment/return?key=of-ann").is(http.StatusSeeOther).header.Get("Location"), bought.text("orderId"))
	back := w.as(t, "ben").get("/payment/return?key=of-ann").is(http.StatusSeeOther).header.Get("Location")
	require.NotContains(t, back, bought.text("orderId"))
	ben := w.as(t, "ben")
	ben.loose = true
	require.Contains(t, string(ben.get(back).is(http.StatusOK).body), "This account has no order for the payment that you come back from.")
	for _, address := range []string{"/cart", "/cart?notice=<b>Pay+here</b>", "/cart?notice=OTHER_ACCOUNT"} {
		page := string(ben.get(address).is(http.StatusOK).body)
		require.NotContains(t, page, "This account", address)
		require.NotContains(t, page, "Pay", address)
	}
}
