package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
)

// TestDryRunsAgreeWithRuns: a dry run has the exit code, the verdicts and the reasons of the run after it.
func TestDryRunsAgreeWithRuns(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(summer, "coupon", "create")
	m.ok("", "code", "generate", "SUMMER10", "--batch", "g", "--count", "2")
	for name, test := range map[string]struct {
		status int
		in     string
		args   []string
		words  string
	}{
		"a double":       {command.Refused, "code,owner,maxUses\nDBL-1,A@x.org,1\ndbl-1,b@x.org,5\n", []string{"import", "--batch", "d"}, "row 3: owner"},
		"the same twice": {command.OK, "code,owner\nSAME,A@x.org\nsame,email:a@x.org\n", []string{"import", "--batch", "s"}, ""},
		"an expired row": {command.Refused, "code,expiresAt\nE-1,2020-01-01\n", []string{"import", "--batch", "e"}, "row 2: expiresAt"},
		"another batch":  {command.Failed, "code\nX-1\n", []string{"import", "--batch", "g"}, "name another batch"},
		"too few codes":  {command.Failed, "a@x.org\nb@x.org\nc@x.org\n", []string{"assign", "--batch", "g"}, "too few codes"},
		"another shape":  {command.Failed, "", []string{"generate", "--batch", "g", "--count", "2", "--prefix", "NEW"}, "name another batch"},
		"another count":  {command.Failed, "", []string{"generate", "--batch", "g", "--count", "3"}, "name another batch"},
		"all are added":  {command.OK, "", []string{"generate", "--batch", "g", "--count", "2"}, ""},
	} {
		args := append([]string{"code", test.args[0], "SUMMER10", "-o", "csv"}, test.args[1:]...)
		dry, out, words := m.run(test.in, append(args, "--dry-run")...)
		require.Equal(t, test.status, dry, "%s: %s", name, words)
		require.Contains(t, words, test.words, name)
		require.NotContains(t, words, "run the same command again", name)
		status, ran, words := m.run(test.in, args...)
		require.Equal(t, test.status, status, "%s: %s", name, words)
		require.Contains(t, words, test.words, name)
		require.Equal(t, ran, out, name)
	}
	_, _, words := m.run("", "code", "generate", "SUMMER10", "--batch", "g", "--count", "2", "--dry-run")
	require.Contains(t, words, "0 codes would be added")
	out := m.ok("email,name\nAnn@x.org,Ann\n", "code", "assign", "SUMMER10", "--batch", "g", "--dry-run", "-o", "csv")
	require.Equal(t, "owner,code\nemail:ann@x.org,\n", out)
	assigned := m.ok("email,name\nAnn@x.org,Ann\n", "code", "assign", "SUMMER10", "--batch", "g", "-o", "csv")
	for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
		require.Equal(t, assigned, m.ok(assigned, "code", "assign", "SUMMER10", "--batch", "g", "-o", "csv", dry), "what the tool has printed")
	}
	require.Len(t, lines(m.ok("", "code", "export", "SUMMER10", "--batch", "g", "--owner", "ANN@x.org")), 2)
	require.Len(t, lines(m.ok("", "code", "export", "SUMMER10", "--batch", "g", "--unassigned")), 2)
	require.Contains(t, m.fails(command.Failed, "", "code", "export", "SUMMER10", "--batch", "typo"), "no batch")
	for _, flags := range [][]string{{"--count", "-5"}, {"--count", "5", "--symbols", "3"}, {"--count", "5", "--expires-at", "yesterday"}} {
		for _, dry := range []string{"--dry-run=true", "--dry-run=false"} {
			m.fails(command.Usage, "", append([]string{"code", "generate", "SUMMER10", "--batch", "x", dry}, flags...)...)
		}
	}
	require.Contains(t, m.fails(command.Failed, summer, "coupon", "create"), "cpn_")
	require.Contains(t, m.fails(command.Failed, summer, "coupon", "create", "--dry-run"), "cpn_")
}

// TestExplainCountsAutomaticCoupons: the total is that of a shop that looks for automatic coupons.
func TestExplainCountsAutomaticCoupons(t *testing.T) {
	t.Parallel()
	m := onFile(t)
	m.ok(`{"name":"All","automatic":true,"discountType":"PERCENTAGE","discountValue":"20","group":"a"}`, "coupon", "create")
	m.ok(`{"code":"STACK","name":"Stack","discountType":"FIXED_AMOUNT","discountValue":"1","group":"b"}`, "coupon", "create")
	m.ok(`{"code":"MORE","name":"More","discountType":"FIXED_AMOUNT","discountValue":"2","group":"b"}`, "coupon", "create")
	const cart = `{"currency":"EUR","lines":[{"kind":"device","itemId":"phone","quantity":1,"unitPrice":"100.00"}]}`
	explain := func(args ...string) string {
		t.Helper()
		status, out, words := m.run(cart, append([]string{"explain", "--customer", "ann", "-o", "csv"}, args...)...)
		require.Equal(t, command.OK, status, words)
		return out + words
	}
	out := explain("STACK")
	require.Len(t, lines(out), 4)
	require.NotContains(t, out, "to pay: 99.00")
	require.Contains(t, explain("STACK", "--without-automatic"), "to pay: 99.00 EUR")
	var whole struct {
		Quote            struct{ Total, Currency string }
		Codes, Automatic []struct{ CouponID string }
	}
	require.NoError(t, json.Unmarshal([]byte(m.ok(cart, "explain", "STACK", "--customer", "ann", "-o", "json")), &whole))
	require.Contains(t, out, "to pay: "+whole.Quote.Total+" "+whole.Quote.Currency, "JSON has the total")
	require.Len(t, whole.Codes, 1)
	require.Len(t, whole.Automatic, 1)
	require.Contains(t, explain("STACK", "MORE", "--without-automatic"), "to pay: 100.00 EUR")
	require.Contains(t, explain("STACK", "MORE", "--without-automatic", "--conflicts", "keep_best"), "to pay: 98.00 EUR")
	m.fails(command.Usage, cart, "explain", "STACK", "--conflicts", "odd")
}

// TestReplayReadsFilesOfOtherPrograms: a byte order mark and blank lines at the end are no carts. CSV has the totals as words.
func TestReplayReadsFilesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	m := machine{t, nil}
	drafts := filepath.Join(t.TempDir(), "drafts.json")
	require.NoError(t, os.WriteFile(drafts, []byte(summer), 0o600))
	carts := "\ufeff" + cartOf(1, "ann", "30.00") + cartOf(2, "ben", "30.00")
	for _, end := range []string{"", "\n", "\r\n \n"} {
		status, _, words := m.run(carts+end, "replay", "--coupons", drafts, "--carts", "-", "-o", "csv")
		require.Equal(t, command.OK, status, words)
		require.Contains(t, words, "EUR: list 60.00, before 60.00, after 54.00")
		require.Contains(t, words, "2 carts")
	}
	words := m.fails(command.Failed, strings.Replace(summer, `"code":"SUMMER10",`, "", 1), "replay", "--coupons", "-", "--carts", drafts)
	require.Contains(t, words, "withoutCode")
}
