package web_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/examples/service/internal/api"
	"github.com/couponkit/couponkit/examples/service/internal/web"
	"github.com/couponkit/couponkit/redemption"
)

type role int

const (
	nobody role = iota
	customer
	administrator
)

func newSite(t *testing.T, as role) *web.Site {
	t.Helper()
	site, err := web.New(web.Options{Who: func(*http.Request) (bool, bool) { return as != nobody, as == administrator }})
	require.NoError(t, err)
	return site
}

func get(t *testing.T, site http.Handler, address string) (answer *httptest.ResponseRecorder, body string) {
	t.Helper()
	answer = httptest.NewRecorder()
	site.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))
	return answer, answer.Body.String()
}

var pages = []string{"/admin/coupons", "/admin/coupons/cpn_1", "/admin/coupons/cpn_1/batches", "/plans", "/accessories", "/cart", "/orders/ord_1", "/login"}

var (
	asset  = regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`)
	inline = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s[^>]*)?>[^<]|javascript:`)
)

func TestEachPageIsServedUnderAStrictPolicy(t *testing.T) {
	t.Parallel()
	site := newSite(t, administrator)
	for _, address := range pages {
		answer, body := get(t, site, address)
		if answer.Code != http.StatusOK {
			t.Errorf("%s: status %d", address, answer.Code)
		}
		policy := answer.Header().Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("%s: the policy is %q", address, policy)
		}
		if found := inline.FindString(body); found != "" {
			t.Errorf("%s: %q is inline", address, found)
		}
		if !strings.Contains(body, `<html lang="en" data-zone="UTC">`) || !strings.Contains(body, "<h1") || !strings.Contains(body, `id="main"`) {
			t.Errorf("%s: language, heading or main part is missing", address)
		}
		for _, match := range asset.FindAllStringSubmatch(body, -1) {
			if file, _ := get(t, site, match[1]); file.Code != http.StatusOK {
				t.Errorf("%s: %s has status %d", address, match[1], file.Code)
			}
		}
		for _, match := range regexp.MustCompile(`(?:src|href)="(https?:)?//[^"]*"`).FindAllString(body, -1) {
			t.Errorf("%s: %s is somebody else's", address, match)
		}
	}
}

func TestTheAdministrationIsForAdministrators(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		as     role
		status int
		to     string
	}{
		{nobody, http.StatusSeeOther, "/login?next=%2Fadmin%2Fcoupons%3Fsearch%3Da"},
		{customer, http.StatusForbidden, ""},
		{administrator, http.StatusOK, ""},
	} {
		answer, _ := get(t, newSite(t, row.as), "/admin/coupons?search=a")
		if answer.Code != row.status || answer.Header().Get("Location") != row.to {
			t.Errorf("role %d: status %d to %q", row.as, answer.Code, answer.Header().Get("Location"))
		}
	}
	site, err := web.New(web.Options{})
	require.NoError(t, err)
	if answer, _ := get(t, site, "/admin/coupons"); answer.Code != http.StatusSeeOther {
		t.Errorf("without Who: status %d", answer.Code)
	}
}

func TestFilesAreKeptByBrowsersAndNotListed(t *testing.T) {
	t.Parallel()
	site := newSite(t, nobody)
	answer, body := get(t, site, site.Asset("css/base.css"))
	if got := answer.Header().Get("Cache-Control"); !strings.Contains(got, "immutable") || !strings.Contains(body, "body") {
		t.Errorf("the file has Cache-Control %q", got)
	}
	for _, address := range []string{"/static/", "/static/other/css/base.css", path.Dir(site.Asset("css/base.css")) + "/", site.Asset("none.css")} {
		if answer, _ := get(t, site, address); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", address, answer.Code)
		}
	}
	if answer, _ := get(t, site, "/"); answer.Header().Get("Location") != "/plans" {
		t.Errorf("/ leads to %q", answer.Header().Get("Location"))
	}
}

// Every import of a module is a file, every module is strict about text, and every
// colour comes from the scale.
func TestTheStaticFilesKeepTheirRules(t *testing.T) {
	t.Parallel()
	files := os.DirFS("static")
	imports := regexp.MustCompile(`(?m)^import .* from "([^"]+)";$|^import "([^"]+)";$`)
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		switch path.Ext(name) {
		case ".js":
			for _, match := range imports.FindAllStringSubmatch(string(text), -1) {
				target := path.Join(path.Dir(name), match[1]+match[2])
				if _, err := fs.Stat(files, target); err != nil {
					t.Errorf("%s imports %s: %v", name, target, err)
				}
			}
			for _, banned := range []string{"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "parseFloat", "setAttribute(\"style\""} {
				if strings.Contains(string(text), banned) {
					t.Errorf("%s uses %s", name, banned)
				}
			}
		case ".css":
			if name != "css/tokens.css" {
				for _, colour := range regexp.MustCompile(`#[0-9a-fA-F]{6}\b`).FindAllString(string(text), -1) {
					t.Errorf("%s has the colour %s of its own", name, colour)
				}
			}
			if strings.Contains(string(text), "@import") || strings.Contains(string(text), "url(") {
				t.Errorf("%s loads something else", name)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

// TestThePageOfAnError: in the clothes of the shop, under the same policy, and without a
// module, which would ask what has failed.
func TestThePageOfAnError(t *testing.T) {
	t.Parallel()
	site := newSite(t, nobody)
	show := func(method string, status int, title, text string) (answer *httptest.ResponseRecorder, body string) {
		answer = httptest.NewRecorder()
		site.Error(answer, httptest.NewRequestWithContext(t.Context(), method, "/nowhere", http.NoBody), status, title, text)
		return answer, answer.Body.String()
	}
	answer, body := show(http.MethodGet, http.StatusServiceUnavailable, "Out of <order>.", "Not for <long>.")
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("status %d, kept %q", answer.Code, answer.Header().Get("Cache-Control"))
	}
	if policy := answer.Header().Get("Content-Security-Policy"); policy != web.ContentSecurityPolicy {
		t.Errorf("the policy is %q", policy)
	}
	for _, want := range []string{
		`<html lang="en">`, "<title>Out of &lt;order&gt; · couponkit</title>", "<h1>Out of &lt;order&gt;</h1>",
		"<p>Not for &lt;long&gt;.</p>", `id="main"`, ">Try again</a>", `href="/plans">Back to the shop</a>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing in\n%s", want, body)
		}
	}
	if found := inline.FindString(body); found != "" || strings.Contains(body, "module") {
		t.Errorf("%q is inline, or there is a module", found)
	}
	for _, match := range asset.FindAllStringSubmatch(body, -1) {
		if file, _ := get(t, site, match[1]); file.Code != http.StatusOK {
			t.Errorf("%s has status %d", match[1], file.Code)
		}
	}
	if _, body = show(http.MethodGet, http.StatusNotFound, "There is no such page.", ""); strings.Contains(body, "Try again") || strings.Contains(body, "<p></p>") {
		t.Errorf("trying again does not help:\n%s", body)
	}
	if _, body = show(http.MethodGet, http.StatusUnauthorized, "Sign in first.", ""); !strings.Contains(body, `href="/login">Sign in</a>`) {
		t.Errorf("nobody is told where to sign in:\n%s", body)
	}
	if answer, body = show(http.MethodHead, http.StatusNotFound, "There is no such page.", ""); answer.Code != http.StatusNotFound || body != "" {
		t.Errorf("HEAD: status %d, %q", answer.Code, body)
	}
}

// shownOrder is a panel that shows one order.
type shownOrder struct{ order api.SoldOrder }

func (p shownOrder) Show(string, *http.Request) (web.Shown, error) {
	return web.Shown{Data: struct {
		api.RefundForm

		Token string
	}{api.RefundForm{Order: p.order}, "token"}}, nil
}

func (shownOrder) Failure(error) (status int, text string) { return http.StatusInternalServerError, "" }

// Every state of a repayment and of a dispute, what is due, and every flag, is told in words of its own. Only a
// failed repayment can be repeated.
func TestTheMoneyOfAnOrderIsToldInWords(t *testing.T) {
	t.Parallel()
	shown := func(order api.SoldOrder) string {
		t.Helper()
		order.ID = "ord_1"
		site, err := web.New(web.Options{
			Who: func(*http.Request) (bool, bool) { return true, true }, Panel: shownOrder{order},
		})
		require.NoError(t, err)
		answer, body := get(t, site, "/admin/orders/ord_1")
		require.Equal(t, http.StatusOK, answer.Code)
		require.NotRegexp(t, inline, body)
		return body
	}
	seen := map[string]string{}
	told := func(name, element, body string) {
		t.Helper()
		found := regexp.MustCompile(`(?s)` + element + `[^>]*>(.*?)</`).FindStringSubmatch(body)
		require.NotEmpty(t, found, name)
		text := strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(found[1], ""))
		require.True(t, strings.HasSuffix(text, "."), "%s: %q", name, text)
		require.Empty(t, seen[text], "%s has the words of %s", name, seen[text])
		seen[text] = name
	}
	told("no repayment", "data-repayment", shown(api.SoldOrder{Refunds: []api.Refund{{ID: "rfd_1"}}}))
	for state := redemption.RepaymentElsewhere; state <= redemption.RepaymentFailed; state++ {
		body := shown(api.SoldOrder{Refunds: []api.Refund{{ID: "rfd_1", Repayment: &api.Repayment{State: state}}}})
		told(state.String(), "data-repayment", body)
		require.Equal(t, state == redemption.RepaymentFailed, strings.Contains(body, `name="again" value="rfd_1"`), state)
	}
	for kind := redemption.EndPayment; kind <= redemption.ReturnPoints; kind++ {
		told(kind.String(), `data-due="`+kind.String()+`"`, shown(api.SoldOrder{Due: []api.Due{{Kind: kind}}}))
	}
	clear(seen)
	for state := redemption.DisputeOpen; state <= redemption.DisputeLost; state++ {
		told(state.String(), `id="disputes"[^>]*>\s*<li><strong>.*?</strong`, shown(api.SoldOrder{Disputes: []api.Dispute{{ID: "dp_1", State: state}}}))
	}
	for _, flag := range []couponkit.Flag{
		couponkit.FlagOverLimit, couponkit.FlagPointsRefunded, couponkit.FlagRefundFailed, couponkit.FlagDisputed, couponkit.FlagExternalRefund,
	} {
		told(string(flag), `id="order-flag"`, shown(api.SoldOrder{Flag: flag}))
	}
	require.NotContains(t, shown(api.SoldOrder{}), "order-flag")
}
