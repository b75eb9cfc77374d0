package app_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/codes/codecsv"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/examples/service/internal/app"
)

// campaign returns an administrator, and the path of the batches of a new coupon.
func (w *world) campaign(t *testing.T) (admin *browser, id, path string) {
	t.Helper()
	admin = w.as(t, "admin")
	id = admin.creates(object{"withoutCode": true}).text("id")
	return admin, id, "/admin/coupon/" + id + "/batches"
}

func inMemory(c *app.Config) { c.Store = app.Memory }

// TestGeneratingABatch: one request adds a part of a large batch, and the same request goes on. Customers use the codes.
// Another batch with the same ID is refused.
func TestGeneratingABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inMemory)
	admin, id, path := w.campaign(t)
	require.Empty(t, admin.get(path).is(http.StatusOK).list("items"))
	small := object{"id": "spring", "shape": object{"prefix": "spring", "pattern": "XXXX-XXXX-XXXX-XXXX"}, "count": 3, "expiresAt": "2099-03-31"}
	made := admin.post(path, small).is(http.StatusCreated)
	require.Equal(t, []any{"spring", id, 3, 3, 0}, []any{made.text("id"), made.text("couponId"), made.number("size"), made.number("added"), made.number("assigned")})
	again := admin.post(path, small).is(http.StatusCreated)
	require.Equal(t, string(made.body), string(again.body))

	code := admin.get("/admin/coupon/" + id + "/codes?batch=spring").is(http.StatusOK)
	require.Len(t, code.list("items"), 3)
	require.Regexp(t, "^SPRING(-[0-9A-Z]{4}){4}$", code.text("items.0.code"))
	require.Equal(t, []any{1, "2099-04-01T00:00:00Z"}, []any{code.number("items.0.maxUses"), code.text("items.0.expiresAt")})
	ann := w.as(t, "ann")
	ann.checkout(object{"lines": []object{line("plan", "basic", 1)}, "couponCode": code.text("items.0.code")}).is(http.StatusCreated)
	require.Equal(t, 1, admin.get(path).number("items.0.reservedCount"))

	large := object{"id": "mailing", "count": 20_001, "maxUses": nil}
	part := admin.post(path, large).is(http.StatusAccepted)
	require.Equal(t, 20_001, part.number("size"))
	require.LessOrEqual(t, part.number("added"), 20_000) // fewer on a machine that is busy
	for last := 0; part.status == http.StatusAccepted; part = admin.post(path, large) {
		require.Greater(t, part.number("added"), last)
		last = part.number("added")
	}
	require.Equal(t, 20_001, part.is(http.StatusCreated).number("added"))
	require.Equal(t, "mailing", admin.get(path+"?pageSize=1").is(http.StatusOK).text("next"))
	require.Equal(t, "spring", admin.get(path+"?after=mailing&pageSize=1").is(http.StatusOK).text("items.0.id"))

	for _, other := range []object{{"count": 4}, {"maxUses": 2}, {"shape": object{"prefix": "other"}}, {"expiresAt": nil}} {
		a := admin.post(path, with(small, other)).refused(http.StatusUnprocessableEntity, "idempotency_key_reused")
		require.Equal(t, map[string]string{"id": "taken"}, a.fields())
	}
	require.Equal(t, 3, admin.get(path+"?after=mailing").is(http.StatusOK).number("items.0.added"))
}

// TestBatchesThatAreRefused: every invalid field is named, and nothing is stored.
func TestBatchesThatAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, inMemory)
	admin, id, path := w.campaign(t)
	for name, test := range map[string]struct {
		body object
		want map[string]string
	}{
		"nothing":         {object{}, map[string]string{"id": "required", "count": "malformed"}},
		"too many":        {object{"id": "a", "count": 10_000_001}, map[string]string{"count": "malformed"}},
		"beyond numbers":  {object{"id": "a", "count": 1e300}, map[string]string{"count": "too_large"}},
		"easily guessed":  {object{"id": "a", "count": 10_000_000, "shape": object{"symbols": 8}}, map[string]string{"shape.symbols": "too_small"}},
		"expired":         {object{"id": "a", "count": 1, "expiresAt": "1999-12-31"}, map[string]string{"expiresAt": "too_small"}},
		"a long ID":       {object{"id": strings.Repeat("a", 65), "count": 1}, map[string]string{"id": "too_long"}},
		"a control in it": {object{"id": "a\x00", "count": 1}, map[string]string{"id": "malformed"}},
		"every field": {
			object{"id": 1, "count": 0, "shape": object{"prefix": "A B"}, "maxUses": 0, "expiresAt": "soon", "more": 1},
			map[string]string{"id": "malformed", "count": "malformed", "shape.prefix": "malformed", "maxUses": "too_small", "expiresAt": "malformed", "more": "unknown"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, admin.post(path, test.body).refused(http.StatusUnprocessableEntity, "invalid_input").fields())
		})
	}
	require.Empty(t, admin.get(path).is(http.StatusOK).list("items"))
	for _, query := range []string{"?pageSize=101", "?after=%00", "?batch=a"} {
		admin.get(path+query).refused(http.StatusUnprocessableEntity, "invalid_input")
	}
	admin.get("/admin/coupon/cpn_none/batches").refused(http.StatusNotFound, "coupon_not_found")
	admin.post("/admin/coupon/cpn_none/batches", object{"id": "a", "count": 1}).refused(http.StatusNotFound, "coupon_not_found")
	for _, batch := range []string{"none", "%2F", "%00", strings.Repeat("a", 300)} {
		for _, a := range []answer{
			admin.patch(path+"/"+batch, object{"active": false}), admin.delete(path + "/" + batch + "/unused"),
			admin.post(path+"/"+batch+"/assign", object{"owners": []string{"id:ann"}}), admin.upload(path+"/"+batch+"/assign.csv", "owner\nid:ann\n"),
			admin.get("/admin/coupon/" + id + "/codes.csv?batch=" + batch),
		} {
			require.Containsf(t, []int{http.StatusNotFound, http.StatusUnprocessableEntity}, a.status, "%s: %s", a.of, a.body)
		}
	}
}

// TestChangingABatch: all codes of a batch are switched at once, and unused ones are removed. Used codes stay. A batch may
// have any name.
func TestChangingABatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, id, path := w.campaign(t)
	for _, test := range []struct{ name, segment, customer string }{{"spring 50 %/2", url.PathEscape("spring 50 %/2"), "ann"}, {"..", "..%20", "ben"}} {
		customer := w.as(t, test.customer)
		admin.post(path, object{"id": test.name, "count": 3}).is(http.StatusCreated)
		at := path + "/" + test.segment
		code := admin.get("/admin/coupon/" + id + "/codes?batch=" + url.QueryEscape(test.name)).text("items.1.code")
		cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": code}
		require.Equal(t, 3, admin.patch(at, object{"active": false}).is(http.StatusOK).number("inactive"))
		customer.checkout(cart).refused(http.StatusNotFound, "coupon_not_found")
		require.Equal(t, 0, admin.patch(at, object{"active": true}).is(http.StatusOK).number("inactive"))
		customer.pays(customer.checkout(cart).is(http.StatusCreated))
		removed := admin.delete(at + "/unused").is(http.StatusOK)
		require.Equal(t, []int{3, 2, 1}, []int{removed.number("added"), removed.number("removed"), removed.number("usedCount")})
		require.Equal(t, string(removed.body), string(admin.delete(at+"/unused").is(http.StatusOK).body))
		admin.patch(at, object{"active": "yes"}).refused(http.StatusUnprocessableEntity, "invalid_input")
	}
}

// TestAssigningCodes: each owner gets one code, the same one each time. All owners get one, or none.
func TestAssigningCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, _, path := w.campaign(t)
	admin.post(path, object{"id": "spring", "count": 3}).is(http.StatusCreated)
	at := path + "/spring/assign"
	two := object{"owners": []string{"email:ann@example.org", "id:usr_ben", "email:ann@example.org"}}
	assigned := admin.post(at, two).is(http.StatusOK)
	require.Equal(t, []string{"email:ann@example.org", "id:usr_ben"}, []string{assigned.text("items.0.owner"), assigned.text("items.1.owner")})
	require.Equal(t, assigned.text("items.0.code"), assigned.text("items.2.code"))
	require.Equal(t, string(assigned.body), string(admin.post(at, two).is(http.StatusOK).body))
	admin.post(at, object{"owners": []string{"id:3", "id:4"}}).refused(http.StatusConflict, "no_codes_left")
	require.Equal(t, 2, admin.get(path).number("items.0.assigned"))
	ann, ben := w.as(t, "ann"), w.as(t, "ben")
	cart := object{"lines": []object{line("plan", "basic", 1)}, "couponCode": assigned.text("items.0.code")}
	ben.checkout(cart).refused(http.StatusNotFound, "coupon_not_found")
	ann.checkout(cart).is(http.StatusCreated)

	many := make([]string, coupon.MaxCodes+1)
	for i := range many {
		many[i] = fmt.Sprintf("id:%d", i)
	}
	for want, owners := range map[string]any{"owners": many, "owners[1]": []string{"id:a", "ann"}, "owners[2]": []string{"id:a", "id:b", ""}, "owners[0]": []any{nil}} {
		require.Contains(t, admin.post(at, object{"owners": owners}).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), want)
	}
	for _, none := range []object{{}, {"owners": []string{}}, {"owners": "id:a"}} {
		require.Contains(t, admin.post(at, none).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), "owners")
	}
}

// TestDownloadingCodes: the file has every code of the batch, or those that were asked for, and can be imported again. No
// spreadsheet runs a cell of it.
func TestDownloadingCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, id, path := w.campaign(t)
	const name = `=HYPERLINK("https://evil.example","€")`
	codes := []object{{"code": "=1+1", "owner": "email:ann@example.org", "maxUses": 2}, {"code": "@SUM(A1)", "owner": "id:-2+3"}, {"code": "PLAIN"}, {}}
	admin.post("/admin/coupon/"+id+"/codes", object{"batch": object{"id": name}, "codes": codes}).is(http.StatusCreated)
	admin.patch("/admin/coupon/"+id+"/codes/plain", object{"active": false}).is(http.StatusOK)
	csvOf := func(batch string) string { return "/admin/coupon/" + id + "/codes.csv?batch=" + url.QueryEscape(batch) }
	at := csvOf(name)
	file := admin.get(at).is(http.StatusOK)
	require.Equal(t, "text/csv; charset=utf-8", file.header.Get("Content-Type"))
	require.Equal(t, "attachment; filename=codes--HYPERLINK--https---evil-example------.csv", file.header.Get("Content-Disposition"))
	rows, err := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file.body, []byte("\ufeff")))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(codes))
	for _, row := range rows {
		for _, cell := range row {
			require.NotContains(t, []string{"=", "+", "-", "@"}, cell[:min(1, len(cell))], cell)
		}
	}
	require.Equal(t, "'"+name, rows[1][2])
	require.Len(t, readBack(t, file), len(codes))
	require.Contains(t, readBack(t, file), "=1+1 of email:ann@example.org")

	require.Empty(t, cmp.Diff([]string{"PLAIN of "}, readBack(t, admin.get(at+"&state=inactive").is(http.StatusOK))))
	require.Len(t, readBack(t, admin.get(at+"&state=active&unused=true").is(http.StatusOK)), 3)
	for query, field := range map[string]string{
		"&state=pending": "state", "&unused=perhaps": "unused", "&used=2": "used", "&used=true&unused=true": "used", "&owner=ann": "owner", "&page=1": "page", "&batch=other": "batch",
	} {
		require.Contains(t, admin.get(at+query).refused(http.StatusUnprocessableEntity, "invalid_input").fields(), field)
	}
	admin.post(path, object{"id": "pages", "count": 2_001}).is(http.StatusCreated)
	require.Len(t, readBack(t, admin.get(csvOf("pages")).is(http.StatusOK)), 2_001)
}

// TestDownloadingSomeCodes: a file has the codes of an owner, the used or the unused ones, of one batch or of all.
func TestDownloadingSomeCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, id, _ := w.campaign(t)
	for batch, codes := range map[string][]object{
		"spring": {{"code": "S-ANN", "owner": "email:ann@example.org"}, {"code": "S-PAID"}, {"code": "S-OPEN"}, {"code": "S-NEW"}},
		"autumn": {{"code": "A-ANN", "owner": "email:ann@example.org"}, {"code": "A-PAID"}},
	} {
		admin.post("/admin/coupon/"+id+"/codes", object{"batch": object{"id": batch}, "codes": codes}).is(http.StatusCreated)
	}
	ann, ben := w.as(t, "ann"), w.as(t, "ben")
	cart := object{"lines": []object{line("plan", "basic", 1)}}
	ann.pays(ann.checkout(with(cart, object{"couponCode": "S-PAID"})).is(http.StatusCreated))
	ben.pays(ben.checkout(with(cart, object{"couponCode": "A-PAID"})).is(http.StatusCreated))
	w.as(t, "admin").checkout(with(cart, object{"couponCode": "S-OPEN"})).is(http.StatusCreated)
	for query, want := range map[string]string{
		"":                             "A-ANN A-PAID S-ANN S-NEW S-OPEN S-PAID",
		"?batch=spring":                "S-ANN S-NEW S-OPEN S-PAID",
		"?used=true":                   "A-PAID S-OPEN S-PAID",
		"?used=true&batch=spring":      "S-OPEN S-PAID",
		"?unused=true":                 "A-ANN S-ANN S-NEW",
		"?owner=email:ann@example.org": "A-ANN S-ANN",
		"?owner=email:ann@example.org&batch=autumn&unused=true&state=active": "A-ANN",
		"?owner=id:nobody":                       "",
		"?used=true&owner=email:ann@example.org": "",
	} {
		var codes []string
		for _, line := range readBack(t, admin.get("/admin/coupon/"+id+"/codes.csv"+query).is(http.StatusOK)) {
			code, _, _ := strings.Cut(line, " of ")
			codes = append(codes, code)
		}
		require.Equal(t, want, strings.Join(codes, " "), query)
	}
	admin.get("/admin/coupon/"+id+"/codes.csv?batch=winter").refused(http.StatusNotFound, "coupon_not_found")
	admin.get("/admin/coupon/cpn_none/codes.csv").refused(http.StatusNotFound, "coupon_not_found")
	w.as(t, "ann").get("/admin/coupon/"+id+"/codes.csv").refused(http.StatusForbidden, "administrator_required")
}

// readBack returns the codes of a file with their owners.
func readBack(t *testing.T, file answer) (codes []string) {
	t.Helper()
	reader, err := codecsv.NewReader(bytes.NewReader(file.body), codecsv.Options{})
	require.NoError(t, err)
	for row, err := range reader.Rows() {
		require.NoError(t, err)
		require.NoError(t, row.Refusal)
		codes = append(codes, row.Draft.Code+" of "+row.Draft.Owner.String())
	}
	return codes
}
