package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// upload sends a CSV file.
func (b *browser) upload(path, file string) answer {
	b.t.Helper()
	sender := *b
	sender.header = http.Header{"Content-Type": {"text/csv"}}
	return sender.do("POST", path, file)
}

// lines returns the lines of an answer as texts: a row with its verdict, the other members and the faulty fields. The last
// line is the summary.
func (a answer) lines() (rows []string, last map[string]any) {
	a.t.Helper()
	a.is(http.StatusOK)
	require.Equal(a.t, "application/jsonl", a.header.Get("Content-Type"))
	for text := range bytes.Lines(a.body) {
		require.Nil(a.t, last, "a line after the summary")
		var line map[string]any
		require.NoError(a.t, json.Unmarshal(text, &line))
		if _, is := line["done"]; is {
			last = line
			continue
		}
		row := fmt.Sprint(line["row"], " ", line["verdict"])
		for _, member := range []string{"code", "owner"} {
			if value, is := line[member]; is {
				row += " " + value.(string)
			}
		}
		if faults, is := line["errors"]; is {
			for _, f := range faults.([]any) {
				row += fmt.Sprint(" ", f.(map[string]any)["field"], ":", f.(map[string]any)["code"])
			}
		}
		rows = append(rows, row)
	}
	require.NotNil(a.t, last, "no summary")
	return rows, last
}

// TestImportingCodes: each row of a file has one verdict, with the number of the row. A file that is sent again changes nothing.
func TestImportingCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, id, path := w.campaign(t)
	at := path + "/mailing/codes.csv"
	file := "\xef\xbb\xbfcode;owner;maxUses;expiresAt\r\n" +
		"first;email:ann@example.org;1;2099-12-31\r\n" +
		"SUMMER10;;;\r\n" +
		"two words;nobody;many;31/02/2099\r\n" +
		"\"'=1+1\";;;\r\n" +
		"FIRST;Ann@Example.org;1;2099-12-31\r\n"
	rows, last := admin.upload(at, file).lines()
	require.Equal(t, []string{
		"2 added first", "3 taken SUMMER10", "4 refused two words owner:malformed maxUses:malformed expiresAt:malformed code:malformed",
		"5 added =1+1", "6 known FIRST",
	}, rows)
	require.Equal(t, map[string]any{"done": true, "counts": map[string]any{"added": 2.0, "taken": 1.0, "refused": 1.0, "known": 1.0}}, last)
	rows, last = admin.upload(at, file).lines()
	require.Equal(t, "2 known first", rows[0])
	require.Equal(t, map[string]any{"known": 3.0, "taken": 1.0, "refused": 1.0}, last["counts"])
	require.Equal(t, []int{2, 2, 1}, []int{admin.get(path).number("items.0.size"), admin.get(path).number("items.0.added"), admin.get(path).number("items.0.assigned")})
	rows, _ = admin.upload(at, "code;owner;maxUses;expiresAt\nFIRST;id:ben;;\n").lines()
	require.Equal(t, []string{"2 refused FIRST owner:mismatch maxUses:mismatch expiresAt:mismatch"}, rows)
	rows, last = admin.upload(path+"/mine/codes.csv", "Kunde;email;Code\nAnn;ann@example.org;MINE\n").lines()
	require.Equal(t, []string{"2 added MINE"}, rows)
	require.Equal(t, []any{"Kunde"}, last["ignored"])
	require.Equal(t, "email:ann@example.org", admin.get("/admin/coupon/"+id+"/codes/MINE").text("owner"))
	_, last = admin.upload(path+"/other/codes.csv", "code\nfirst\n").lines()
	require.Equal(t, map[string]any{"taken": 1.0}, last["counts"])

	many := new(strings.Builder)
	many.WriteString("code\n")
	for i := range store.MaxNewCodes + 7 {
		fmt.Fprintf(many, "MANY-%04d\n", i)
	}
	rows, last = admin.upload(path+"/many/codes.csv", many.String()).lines()
	require.Len(t, rows, store.MaxNewCodes+7)
	require.Equal(t, true, last["done"])
	rows, _ = admin.upload(path+"/many/codes.csv?ignore=Start+Date,+limits", "code,start_date\nMANY-0000,2026-01-01\nMANY-NEW,2026-01-01\n").lines()
	require.Equal(t, []string{"2 known MANY-0000", "3 added MANY-NEW"}, rows)
	rows, _ = admin.upload(path+"/many/codes.csv", "code,startDate\nMANY-NEWER,2026-01-01\n").lines()
	require.Equal(t, []string{"2 refused MANY-NEWER startsAt:not_allowed"}, rows)
	require.Len(t, admin.get("/admin/coupon/"+id+"/codes?batch=mailing").list("items"), 2)
}

// TestFilesThatEndEarly: the rows before the end have their verdicts, and the last line names the row at which the work ended.
func TestFilesThatEndEarly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, _, path := w.campaign(t)
	rows, last := admin.upload(path+"/torn/codes.csv", "code,owner\nONE,\n\"TW").lines()
	require.Equal(t, []string{"2 added ONE"}, rows)
	require.Equal(t, false, last["done"])
	problem := last["problem"].(map[string]any)
	require.Equal(t, []any{"incomplete_file", 422.0, "The file stops in the middle of row 3."}, []any{problem["code"], problem["status"], problem["detail"]})
	rows, _ = admin.upload(path+"/torn/codes.csv", "code,owner\nONE,\n\"TWO\",\n").lines()
	require.Equal(t, []string{"2 known ONE", "3 added TWO"}, rows)

	for name, test := range map[string]struct {
		file   string
		status int
		code   string
	}{
		"an empty file":        {"", 422, "invalid_input"},
		"no column":            {"name\nA\n", 422, "invalid_input"},
		"a torn header":        {"\"code", 422, "incomplete_file"},
		"a spreadsheet":        {"PK\x03\x04 and so on", 422, "invalid_input"},
		"more than a file has": {"code\n" + strings.Repeat("A\n", 32<<20), 413, "too_large"},
	} {
		admin.upload(path+"/none/codes.csv", test.file).refused(test.status, test.code)
		admin.upload(path+"/torn/assign.csv", test.file).refused(test.status, test.code)
		require.Lenf(t, admin.get(path).list("items"), 1, name)
	}
	admin.post(path+"/none/codes.csv", object{}).refused(http.StatusUnsupportedMediaType, "csv_required")
	admin.upload(path+"/none/codes.csv?x=1", "code\nA\n").refused(http.StatusUnprocessableEntity, "invalid_input")
	admin.upload("/admin/coupon/cpn_none/batches/a/codes.csv", "code\nA\n").refused(http.StatusNotFound, "coupon_not_found")
	admin.post(path, object{"id": "made", "count": 1}).is(http.StatusCreated)
	require.Equal(t, map[string]string{"id": "taken"}, admin.upload(path+"/made/codes.csv", "code\nA\n").refused(http.StatusUnprocessableEntity, "idempotency_key_reused").fields())
	w.as(t, "ann").upload(path+"/none/codes.csv", "code\nA\n").refused(http.StatusForbidden, "administrator_required")
}

// TestAssigningCodesToAFile: each customer of a file has one code, the same one when the file is sent again. Rows without a
// customer are refused, and the others get their codes. Too few codes are told with the first row that has none.
func TestAssigningCodesToAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, id, path := w.campaign(t)
	admin.post(path, object{"id": "spring", "count": 1500}).is(http.StatusCreated)
	at := path + "/spring/assign.csv"
	file := "Name,E-Mail\nAnn,Ann@Example.org\nBen,nowhere\nCem,\nAnn again,ann@example.org\n"
	rows, last := admin.upload(at, file).lines()
	require.Len(t, rows, 4)
	require.Equal(t, []string{"3 refused owner:malformed", "4 refused owner:required"}, rows[:2])
	ann := admin.get("/admin/coupon/" + id + "/codes?owner=email:ann@example.org").text("items.0.code")
	require.Equal(t, []string{"2 assigned " + ann + " email:ann@example.org", "5 assigned " + ann + " email:ann@example.org"}, rows[2:])
	require.Equal(t, map[string]any{"done": true, "counts": map[string]any{"assigned": 2.0, "refused": 2.0}}, last)
	again, _ := admin.upload(at, file).lines()
	require.Equal(t, rows, again)

	list := new(strings.Builder)
	list.WriteString("customerId\n")
	for i := range 1600 {
		fmt.Fprintf(list, "customer %d\n", i)
	}
	rows, last = admin.upload(at, list.String()).lines()
	require.Len(t, rows, coupon.MaxCodes)
	problem := last["problem"].(map[string]any)
	require.Equal(t, []any{false, "no_codes_left"}, []any{last["done"], problem["code"]})
	require.Contains(t, problem["detail"], "from row 1002 on")
	require.Equal(t, coupon.MaxCodes+1, admin.get(path).number("items.0.assigned"))
	rows, last = admin.upload(at, list.String()[:20_000]).lines()
	require.Equal(t, []any{false, "no_codes_left"}, []any{last["done"], last["problem"].(map[string]any)["code"]}, len(rows))
	rows, _ = admin.upload(at, "owner\nid:customer 0\nid:customer 1\n").lines()
	require.Len(t, rows, 2)
	admin.upload(path+"/winter/assign.csv", "owner\nid:1\n").refused(http.StatusNotFound, "coupon_not_found")
}
