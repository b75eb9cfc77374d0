package app_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// TestTheCatalogueIsAsked: an ID that the catalogue does not have, or has of another kind,
// is a fault of its entry, at creation and in a change, beside every other fault. Nothing
// is stored.
func TestTheCatalogueIsAsked(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	at := "/admin/coupon/" + admin.creates(object{"code": "STORED", "appliesTo": "SPECIFIC", "planIds": []string{"plus"}}).text("id")
	stored := admin.get(at).body
	for name, test := range map[string]struct {
		lists object
		want  map[string]string
	}{
		"unknown":          {object{"planIds": []string{"plus", "gone"}}, map[string]string{"planIds[1]": "unknown"}},
		"another kind":     {object{"planIds": []string{"family", "plus", "watch", "phone-s"}}, map[string]string{"planIds[2]": "unknown", "planIds[3]": "unknown"}},
		"in every list":    {object{"planIds": []string{"case"}, "deviceIds": []string{"plus", "watch"}, "accessoryIds": []string{"express"}}, map[string]string{"planIds[0]": "unknown", "deviceIds[0]": "unknown", "accessoryIds[0]": "unknown"}},
		"letter case":      {object{"planIds": []string{"Plus"}}, map[string]string{"planIds[0]": "unknown"}},
		"again":            {object{"planIds": []string{"gone", "plus", "gone"}}, map[string]string{"planIds[0]": "unknown", "planIds[2]": "unknown"}},
		"beside rules":     {object{"planIds": []string{"gone", "", strings.Repeat("x", 256)}, "name": "", "maxUses": 0}, map[string]string{"planIds[0]": "unknown", "planIds[1]": "required", "planIds[2]": "too_long", "name": "required", "maxUses": "too_small"}},
		"beside illegible": {object{"planIds": []any{"gone", 5, "plus"}, "maxUses": "x", "name": ""}, map[string]string{"planIds[0]": "unknown", "planIds[1]": "malformed", "maxUses": "malformed", "name": "required"}},
		"excluded":         {object{"planIds": []string{"plus"}, "excludedItemIds": []string{"cable", "gone", "watch", "express"}}, map[string]string{"excludedItemIds[1]": "unknown", "excludedItemIds[3]": "unknown"}},
		"of no use":        {object{"appliesTo": "PRODUCT", "planIds": []string{"gone"}}, map[string]string{"planIds": "not_allowed", "planIds[0]": "unknown"}},
	} {
		draft := with(object{"code": "NEW", "name": "New", "discountType": "PERCENTAGE", "discountValue": "10", "appliesTo": "SPECIFIC"}, test.lists)
		patch := with(object{"appliesTo": "SPECIFIC"}, test.lists)
		for _, a := range []answer{admin.post("/admin/coupon", draft), admin.patch(at, patch)} {
			a.refused(http.StatusUnprocessableEntity, "invalid_input")
			if diff := cmp.Diff(test.want, a.fields()); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", name, a.of, diff)
			}
			require.Len(t, a.list("errors"), len(test.want), "%s: each once", name)
		}
	}
	admin.get("/admin/coupon/NEW").refused(http.StatusNotFound, "coupon_not_found")
	require.Equal(t, string(stored), string(admin.get(at).body))
	admin.patch("/admin/coupon/cpn_none", object{"planIds": []string{"gone"}}).refused(http.StatusNotFound, "coupon_not_found")

	kind := admin.patch(at, object{"planIds": []string{"watch"}}).list("errors")[0].(object)["message"]
	require.Contains(t, kind, "device")
	admin.patch(at, object{"name": "Renamed"}).is(http.StatusOK)
	admin.patch(at, object{"planIds": []string{"family"}}).is(http.StatusOK)
}

// TestTheCatalogueIsAskedForEveryScope: the items of the scopes of what is bought, and of what a cart must
// and must not contain, are checked as those of the coupon are.
func TestTheCatalogueIsAskedForEveryScope(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	at := "/admin/coupon/" + admin.creates(object{"code": "STORED"}).text("id")
	draft := object{"code": "NEW", "name": "New", "discountType": "BUY_X_GET_Y", "discountValue": "100", "buyQuantity": 1, "getQuantity": 1}
	for name, test := range map[string]struct {
		buys object
		want map[string]string
	}{
		"unknown": {object{"appliesTo": "SPECIFIC", "planIds": []string{"plus", "gone"}, "deviceIds": []string{"case", "watch"}, "accessoryIds": []string{"none"}, "excludedItemIds": []string{"cable", "none"}}, map[string]string{
			"buys.planIds[1]": "unknown", "buys.deviceIds[0]": "unknown", "buys.accessoryIds[0]": "unknown", "buys.excludedItemIds[1]": "unknown",
		}},
		"beside rules":     {object{"appliesTo": "SUBSCRIPTION", "planIds": []string{"", "gone"}, "categories": []string{""}}, map[string]string{"buys.planIds[0]": "required", "buys.planIds[1]": "unknown", "buys.categories[0]": "required"}},
		"beside illegible": {object{"planIds": []any{"gone", 5}}, map[string]string{"buys.planIds[0]": "unknown", "buys.planIds[1]": "malformed"}},
	} {
		for _, scope := range []string{"buys", "contains", "containsNot"} {
			want := map[string]string{}
			for field, code := range test.want {
				want[strings.Replace(field, "buys.", scope+".", 1)] = code
			}
			answers := []answer{
				admin.post("/admin/coupon", with(draft, object{scope: test.buys})), admin.post("/admin/coupon/preview", with(draft, object{scope: test.buys})),
			}
			if scope != "buys" {
				answers = append(answers, admin.patch(at, object{scope: test.buys}))
			}
			for _, a := range answers {
				a.refused(http.StatusUnprocessableEntity, "invalid_input")
				if diff := cmp.Diff(want, a.fields()); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", name, a.of, diff)
				}
			}
		}
	}
	admin.post("/admin/coupon", with(draft, object{"buys": object{"appliesTo": "SPECIFIC", "planIds": []string{"plus"}, "excludedItemIds": []string{"watch"}}})).is(http.StatusCreated)
}

// TestLongListsOfFaultsAreShort: whatever is wrong with thousands of entries, in whatever
// form they come, the answer names a thousand and counts the others.
func TestLongListsOfFaultsAreShort(t *testing.T) {
	t.Parallel()
	admin := newWorld(t).as(t, "admin")
	at := "/admin/coupon/" + admin.creates(object{"code": "STORED"}).text("id")
	const many, bad = 100_000, 20_000
	array := func(entry string, n int) string { return "[" + strings.Repeat(entry+",", n-1) + entry + "]" }
	text := func(n int) string { return `"` + strings.Repeat("b,", n-1) + `b"` }
	emails := `{"code":"NEW","name":"New","discountType":"PERCENTAGE","discountValue":"10","distribution":"USER_SPECIFIC","allowedUserEmails":`
	items := `{"code":"NEW","name":"New","discountType":"PERCENTAGE","discountValue":"10","appliesTo":"SPECIFIC","planIds":` + array(`"gone"`, 10_000) + "}"
	for name, test := range map[string]struct {
		a       answer
		list    string
		counted string
	}{
		"array":             {admin.post("/admin/coupon", emails+array(`"b"`, many)+"}"), "allowedUserEmails", "99000 "},
		"text":              {admin.post("/admin/coupon", emails+text(bad)+"}"), "allowedUserEmails", "19000 "},
		"change, array":     {admin.patch(at, `{"distribution":"USER_SPECIFIC","allowedUserEmails":`+array(`"b"`, bad)+`}`), "allowedUserEmails", "19000 "},
		"change, text":      {admin.patch(at, `{"distribution":"USER_SPECIFIC","allowedUserEmails":`+text(bad)+`}`), "allowedUserEmails", "19000 "},
		"beside illegible":  {admin.post("/admin/coupon", strings.Replace(emails, `"10"`, `"x"`, 1)+array(`"b"`, bad)+"}"), "allowedUserEmails", "19000 "},
		"numbers":           {admin.post("/admin/coupon", emails+array("5", bad)+"}"), "allowedUserEmails", ""},
		"items":             {admin.post("/admin/coupon", items), "planIds", "9000 "},
		"items of a change": {admin.patch(at, `{"appliesTo":"SPECIFIC","planIds":`+array(`"gone"`, 10_000)+`}`), "planIds", "9000 "},
		"illegible items":   {admin.post("/admin/coupon", strings.Replace(items, `"SPECIFIC"`, "5", 1)), "planIds", "9000 "},
	} {
		test.a.refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Less(t, len(test.a.body), 200_000, name)
		entries, more := 0, ""
		for _, f := range test.a.list("errors") {
			switch f := f.(object); {
			case strings.HasPrefix(f["field"].(string), test.list+"["):
				entries++
			case f["code"] == "more":
				more = f["message"].(string)
			}
		}
		require.Equal(t, 1_000, entries, name)
		require.Truef(t, more != "" && strings.HasPrefix(more, test.counted), "%s: %q", name, more)
	}
}

// TestAdministratorsFindByCode: the call for one coupon takes an ID, or a code in any form
// that customers may type, and so does the search.
func TestAdministratorsFindByCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	ids := map[string]string{}
	for _, code := range []string{"SUMMER-10", "straße10", "İNDİRİM10", "ＡＢＣ", "ALL"} {
		ids[code] = admin.creates(object{"code": code}).text("id")
	}
	for _, test := range []struct{ code, typed string }{
		{"SUMMER-10", "summer-10"},
		{"SUMMER-10", " summer-10 "},
		{"SUMMER-10", "\u200bSUMMER-10\ufeff"},
		{"SUMMER-10", "SUM\u00adMER\u201310"},
		{"SUMMER-10", "SUMMER\u221210\u200e"},
		{"straße10", "STRASSE10"},
		{"İNDİRİM10", "indirim10"},
		{"İNDİRİM10", "ındırım10"},
		{"ＡＢＣ", "abc"},
	} {
		a := admin.get("/admin/coupon/" + url.PathEscape(test.typed))
		require.Equal(t, ids[test.code], a.is(http.StatusOK).text("id"), "%+q", test.typed)
		found := admin.get("/admin/coupon/all?search=" + url.QueryEscape(test.typed)).is(http.StatusOK)
		require.Truef(t, slices.ContainsFunc(found.list("items"), func(item any) bool { return item.(object)["id"] == ids[test.code] }), "search for %+q", test.typed)
	}
	require.Equal(t, ids["ALL"], admin.get("/admin/coupon/ALL").is(http.StatusOK).text("id"))
	require.Equal(t, ids["SUMMER-10"], admin.get("/admin/coupon/"+ids["SUMMER-10"]).is(http.StatusOK).text("id"))
	require.NotEmpty(t, admin.get("/admin/coupon/vip15").is(http.StatusOK).list("allowedUserEmails"), "the whole allow-list")
	admin.get("/admin/coupon/none").refused(http.StatusNotFound, "coupon_not_found")
	w.as(t, "ann").get("/admin/coupon/summer-10").refused(http.StatusForbidden, "administrator_required")

	taken := admin.post("/admin/coupon", object{"code": "summer-10", "name": "Again", "discountType": "PERCENTAGE", "discountValue": "1"})
	require.Equal(t, ids["SUMMER-10"], taken.refused(http.StatusConflict, "code_taken").text("couponId"))
}

// TestACouponIsNotMadeExpired: what could never apply is refused at creation. Ending a
// coupon by its expiry stays possible.
func TestACouponIsNotMadeExpired(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin := w.as(t, "admin")
	draft := object{"code": "LATE", "name": "Late", "discountType": "PERCENTAGE", "discountValue": "10"}
	for _, end := range []string{"2020-01-01", "2026-11-19", "2026-11-20T11:59:59Z", "2026-11-20T12:00:00Z"} {
		a := admin.post("/admin/coupon", with(draft, object{"expiresAt": end, "name": ""})).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Contains(t, a.fields(), "expiresAt", end)
		require.Contains(t, a.fields(), "name", end)
	}
	at := "/admin/coupon/" + admin.post("/admin/coupon", with(draft, object{"expiresAt": "2026-11-20"})).is(http.StatusCreated).text("id")
	admin.patch(at, object{"expiresAt": "2026-11-20T11:00:00Z"}).is(http.StatusOK)
	w.as(t, "ann").get("/payment/apply-coupon/late").refused(http.StatusUnprocessableEntity, "coupon_expired")
	w.as(t, "ben").get("/payment/apply-coupon/OLD").refused(http.StatusUnprocessableEntity, "coupon_expired")
}

// TestADomainIsListed: an entry of an allow-list may be a domain, which is exact.
func TestADomainIsListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, ann := w.as(t, "admin"), w.as(t, "ann")
	listed := func(code, emails string) answer {
		return admin.creates(object{"code": code, "distribution": "USER_SPECIFIC", "allowedUserEmails": emails})
	}
	require.Equal(t, []any{"*@example.org", "zoe@example.com"}, listed("STAFF", "*@Example.ORG;Zoe <zoe@example.com>\t\n").list("allowedUserEmails"))
	listed("OTHERS", "*@example.com,*@mail.example.org,*@org.example")
	ann.get("/payment/apply-coupon/STAFF").is(http.StatusOK)
	ann.get("/payment/apply-coupon/OTHERS").refused(http.StatusNotFound, "coupon_not_found")
	for _, entry := range []string{"*", "*@*", "*@*.example.org", "a*@example.org", "*@localhost", "@example.org", "ann@example"} {
		a := admin.post("/admin/coupon", object{
			"code": "WIDE", "name": "Wide", "discountType": "PERCENTAGE", "discountValue": "1", "distribution": "USER_SPECIFIC", "allowedUserEmails": []string{entry},
		}).refused(http.StatusUnprocessableEntity, "invalid_input")
		require.Equal(t, map[string]string{"allowedUserEmails[0]": "malformed"}, a.fields(), entry)
	}
}
