package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/cmd/couponkit/internal/command"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// shop is a reference service that the tool has started.
type shop struct {
	machine

	base   string
	client *http.Client
	token  string
}

// patience is for machines that are busy: the passwords of the demo are hashed.
const patience = 3 * time.Minute

// serve starts the reference service with the tool.
func serve(m machine) *shop {
	m.Helper()
	var out, words text
	ctx, stop := context.WithCancel(m.Context())
	ended := make(chan int, 1)
	go func() {
		args := []string{"serve", "--", "-addr", "127.0.0.1:0", "-log", "error", "-sweep", "1h", "-reconcile", "300ms"}
		ended <- command.Run(ctx, args, m.environment("", &out, &words))
	}()
	transport := &http.Transport{}
	m.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		require.Equal(m, command.OK, <-ended, words.String())
	})
	address := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+) `)
	require.Eventually(m, func() bool { return address.MatchString(out.String()) }, patience, 10*time.Millisecond, words.String())
	return &shop{machine: m, base: address.FindStringSubmatch(out.String())[1], client: &http.Client{Transport: transport, Timeout: time.Minute}}
}

// ask calls the service and returns its answer.
func (s *shop) ask(method, path, body string) []byte {
	s.Helper()
	if !strings.HasPrefix(path, "http") {
		path = s.base + path
	}
	request, err := http.NewRequestWithContext(s.Context(), method, path, strings.NewReader(body))
	require.NoError(s, err)
	request.Header.Set("X-CSRF-Token", s.token)
	request.Header.Set("Idempotency-Key", "session-1")
	request.Header.Set("Content-Type", "application/json")
	if strings.HasPrefix(body, "action=") {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	answer, err := s.client.Do(request)
	require.NoError(s, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	require.NoError(s, err)
	require.Less(s, answer.StatusCode, 400, "%s %s: %s", method, path, data)
	return data
}

// object is a JSON object.
type object map[string]any

func (s *shop) get(path string) object { return s.parsed(s.ask(http.MethodGet, path, "")) }

func (m machine) parsed(data []byte) (o object) {
	m.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	require.NoError(m, d.Decode(&o), "%s", data)
	return o
}

func (s *shop) signIn(name string) {
	s.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(s, err)
	s.client.Jar, s.token = jar, ""
	answer := s.parsed(s.ask(http.MethodPost, "/login", `{"email":"`+name+`@example.org","password":"`+name+`-demo-1"}`))
	s.token, _ = answer["csrfToken"].(string)
	require.NotEmpty(s, s.token)
}

// buy buys three chargers with TENOFF, and returns the ID of the paid order.
func (s *shop) buy() string {
	s.Helper()
	s.signIn("ann")
	checkout := s.parsed(s.ask(http.MethodPost, "/payment/cart-checkout", `{"lines":[{"kind":"accessory","itemId":"charger","quantity":3}],
		"shippingOptionId":"standard","couponCode":"tenoff",
		"expected":{"subtotal":"119.70","discount":"10.00","shipping":"4.90","total":"114.60"}}`))
	page, _ := checkout["url"].(string)
	order, _ := checkout["orderId"].(string)
	s.ask(http.MethodPost, page, "action=pay")
	require.Eventually(s, func() bool { return s.get("/order/" + order)["state"] == "paid" }, patience, 20*time.Millisecond)
	return order
}

// same compares what the tool prints with what the service shows. The service may show more.
func (s *shop) same(printed, shown object, but ...string) {
	s.Helper()
	for _, name := range but {
		delete(printed, name)
	}
	require.NotEmpty(s, printed)
	for name, value := range printed {
		require.Equal(s, shown[name], value, name)
	}
}

// objects returns the rows of the tool as JSON.
func (s *shop) objects(in string, args ...string) (rows []object) {
	s.Helper()
	for _, row := range lines(s.ok(in, append(args, "-o", "json")...)) {
		if row != "" {
			rows = append(rows, s.parsed([]byte(row)))
		}
	}
	return rows
}

// TestSessionOnSQLite and TestSessionOnPostgres: whatever the tool shows or changes, the service shows the same.
func TestSessionOnSQLite(t *testing.T) {
	t.Parallel()
	session(on(t, filepath.Join(t.TempDir(), "shop.db")))
}

func TestSessionOnPostgres(t *testing.T) {
	t.Parallel()
	session(on(t, postgres.NewCopy(t)))
}

func session(m machine) {
	m.Helper()
	m.ok("", "store", "migrate", "--dry-run")
	m.ok("", "store", "migrate")
	m.ok("", "store", "migrate")
	s := serve(m)
	order := s.buy()
	s.signIn("admin")
	s.coupons()
	s.codes()
	s.orders(order)
	s.restOfTheTool()
}

// shown returns a coupon of the service, whose mirror has followed.
func (s *shop) shown(id string) (shown object) {
	s.Helper()
	require.Eventually(s, func() bool {
		shown = s.get("/admin/coupon/" + id)
		return shown["mirrorUnsupported"] == nil
	}, patience, 20*time.Millisecond, "the reconcile of the service repairs the mirror")
	return shown
}

// mirror are the members that a reconcile of the service changes meanwhile.
var mirror = []string{"processorCouponId", "promotionCodeId", "mirrorUnsupported"}

func (s *shop) coupons() {
	s.Helper()
	listed := s.objects("", "coupon", "list")
	all, _ := s.get("/admin/coupon/all?pageSize=100")["items"].([]any)
	require.Len(s, listed, len(all))
	for i, c := range listed {
		row, _ := all[i].(map[string]any)
		require.Equal(s, row["id"], c["id"])
		require.Equal(s, row["usedCount"], c["usedCount"])
	}
	require.Len(s, s.objects("", "coupon", "list", "--search", "tenoff"), 1)
	require.Len(s, lines(s.ok("", "coupon", "list", "--limit", "3", "-o", "csv")), 4)
	require.Len(s, s.objects("", "coupon", "list", "--expired"), 1)
	require.Len(s, s.objects("", "coupon", "list", "--state", "inactive", "--type", "PERCENTAGE"), 1)

	tenOff := s.objects("", "coupon", "show", "TENOFF")[0]
	require.Equal(s, json.Number("1"), tenOff["usedCount"])
	require.Empty(s, s.objects("", "code", "export", "TENOFF", "--used"), "the plain code counts with its coupon")
	id, _ := tenOff["id"].(string)
	s.same(tenOff, s.shown(id), mirror...)

	require.Empty(s, s.objects(strings.ReplaceAll(summer, "10", "20"), "coupon", "create", "--dry-run")[0]["id"])
	s.fails(command.Failed, "", "coupon", "show", "SUMMER20")
	created := s.objects(strings.ReplaceAll(summer, "10", "20"), "coupon", "create")[0]
	id, _ = created["id"].(string)
	s.same(created, s.shown(id), append(mirror, "updatedAt", "revision")...)

	s.ok(`{"name":"Never"}`, "coupon", "edit", id, "--dry-run")
	edited := s.objects(`{"name":"High summer","maxUses":7}`, "coupon", "edit", "summer20")[0]
	s.same(edited, s.shown(id), append(mirror, "updatedAt", "revision")...)
	require.Equal(s, "High summer", edited["name"])

	s.ok("", "coupon", "disable", "SUMMER20", "--dry-run")
	require.Equal(s, true, s.shown(id)["active"])
	s.ok("", "coupon", "disable", "SUMMER20")
	require.Equal(s, false, s.shown(id)["active"])
	s.ok("", "coupon", "enable", "SUMMER20")
	require.Equal(s, true, s.shown(id)["active"])

	copied := s.objects(`{"maxUses":9}`, "coupon", "duplicate", "SUMMER20", "--code", "AUTUMN20", "--name", "Autumn", "-f", "-")[0]
	id, _ = copied["id"].(string)
	shown := s.shown(id)
	s.same(copied, shown, append(mirror, "updatedAt", "revision")...)
	require.Equal(s, []any{"Autumn", "AUTUMN20", json.Number("9"), "20"}, []any{shown["name"], shown["code"], shown["maxUses"], shown["discountValue"]})
	require.Empty(s, s.objects("", "coupon", "duplicate", "SUMMER20", "--dry-run")[0]["code"])
}

func (s *shop) codes() {
	s.Helper()
	id, _ := s.objects("", "coupon", "show", "SUMMER20")[0]["id"].(string)
	batch := func(name string) object {
		items, _ := s.get("/admin/coupon/" + id + "/batches")["items"].([]any)
		for _, item := range items {
			if b, _ := item.(map[string]any); b["id"] == name {
				return b
			}
		}
		return nil
	}
	made := s.objects("", "code", "generate", "SUMMER20", "--batch", "mailing", "--count", "1200", "--max-uses", "0", "--expires-at", "2099-12-31")[0]
	s.same(made, batch("mailing"))

	owners := "ann@example.org\nid:customer-7\n"
	s.ok(owners, "code", "assign", "SUMMER20", "--batch", "mailing", "--dry-run")
	require.Equal(s, json.Number("0"), batch("mailing")["assigned"])
	given := s.objects(owners, "code", "assign", "SUMMER20", "--batch", "mailing")
	require.Equal(s, given, s.objects(owners, "code", "assign", "SUMMER20", "--batch", "mailing"), "safe to repeat")
	require.Equal(s, json.Number("2"), batch("mailing")["assigned"])
	key, _ := given[1]["code"].(string)
	s.same(s.objects("", "code", "check", strings.ToLower(key))[0], s.get("/admin/coupon/"+id+"/codes/"+key))
	s.fails(command.Failed, "", "code", "check", "NO-SUCH-CODE")
	require.Equal(s, "id:customer-7", s.objects("", "code", "export", "SUMMER20", "--owner", "id:customer-7")[0]["owner"])

	require.Contains(s, s.ok("code\nHAND-MADE\n", "code", "import", "SUMMER20", "--batch", "hand", "-o", "csv"), "\n1,0,0,0")
	s.same(s.objects("", "code", "check", "hand-made")[0], s.get("/admin/coupon/"+id+"/codes/HAND-MADE"))

	exported := s.ok("", "code", "export", "SUMMER20", "--batch", "mailing", "--byte-order-mark")
	require.Equal(s, string(s.ask(http.MethodGet, "/admin/coupon/"+id+"/codes.csv?batch=mailing", "")), exported)

	s.ok("", "code", "disable", "HAND-MADE", "--dry-run")
	require.Equal(s, json.Number("0"), batch("hand")["inactive"])
	s.ok("", "code", "disable", "HAND-MADE")
	require.Equal(s, json.Number("1"), batch("hand")["inactive"])
	s.ok("", "code", "enable", "HAND-MADE")
	s.ok("", "code", "disable", "--coupon", "SUMMER20", "--batch", "mailing", "--dry-run")
	require.Equal(s, json.Number("0"), batch("mailing")["inactive"])
	s.same(s.objects("", "code", "disable", "--coupon", "SUMMER20", "--batch", "mailing")[0], batch("mailing"))
	require.Equal(s, json.Number("1200"), batch("mailing")["inactive"])
	require.Empty(s, lines(s.ok("", "code", "export", "SUMMER20", "--batch", "mailing", "--state", "active"))[1:])
}

func (s *shop) orders(id string) {
	s.Helper()
	printed := s.parsed([]byte(s.ok("", "order", "show", id, "-o", "json")))
	order, _ := printed["order"].(map[string]any)
	require.Equal(s, []any{id, "paid"}, []any{order["id"], order["state"]})
	require.Contains(s, s.ok("", "order", "show", id), "114.60 EUR")
	s.fails(command.Failed, "", "order", "show", "ord_unknown")

	would := s.ok("", "order", "refund", id, "--key", "note-1", "--line", "0=1", "--dry-run", "-o", "csv")
	require.Contains(s, would, ",36.57 EUR,")
	require.Equal(s, "paid", s.get("/admin/order/" + id)["state"])
	require.Contains(s, s.ok("", "order", "refund", id, "--key", "note-1", "--line", "0=1", "-o", "csv"), ",36.57 EUR,")
	require.Contains(s, s.ok("", "order", "refund", id, "--key", "note-1", "--line", "0=1", "-o", "csv"), ",36.57 EUR,")
	require.Equal(s, "partly_refunded", s.get("/admin/order/" + id)["state"])
	s.fails(command.Failed, "", "order", "refund", id, "--key", "note-2", "--line", "9")
	s.fails(command.Failed, "", "order", "refund", id, "--key", "note-2", "--line", "0=9")
	s.ok("", "order", "refund", id, "--key", "note-2", "--all", "--elsewhere")
	require.Equal(s, "refunded", s.get("/admin/order/" + id)["state"])
}

func (s *shop) restOfTheTool() {
	s.Helper()
	cart := `{"currency":"EUR","lines":[{"kind":"accessory","itemId":"charger","quantity":1,"unitPrice":"39.90"}]}`
	explained := s.objects(cart, "explain", "summer20", "VIP15", "unknown", "--customer", "customer-7", "--email", "zoe@example.org")
	require.Len(s, explained, 1)
	codes, _ := explained[0]["codes"].([]any)
	require.Len(s, codes, 3)
	first, _ := codes[0].(map[string]any)
	require.Equal(s, true, first["applied"])
	require.Contains(s, s.ok(cart, "explain", "VIP15", "--customer", "customer-7"), "user_not_allowed: ")

	s.ok("", "sweep", "--dry-run")
	s.ok("", "sweep")
	s.fails(command.Usage, "", "reconcile")
	require.Empty(s, s.objects("", "store", "verify"), "the service counts what its records hold")
	s.ok(`{"description":"the last change"}`, "coupon", "edit", "SUMMER20")
	by := map[any]bool{}
	for _, e := range s.objects("", "journal", "tail", "-n", "10") {
		by[e["by"]] = true
	}
	require.True(s, by["couponkit:tester"], "the newest entries, which name the person: %v", by)
}

// TestStripe: with a key, changes reach Stripe. What a tool without a key has changed is repaired.
func TestStripe(t *testing.T) {
	t.Parallel()
	account := stripefake.New(stripefake.Options{Key: "sk_test_tool"})
	server := httptest.NewServer(account)
	t.Cleanup(server.Close)
	blind := onFile(t)
	m := blind.with("STRIPE_SECRET_KEY", "sk_test_tool").with("STRIPE_API_URL", server.URL)
	m.ok(summer, "coupon", "create")
	require.Len(t, account.PromotionCodes(), 1)
	require.Empty(t, m.ok("", "reconcile", "-o", "json"))

	_, _, words := blind.run("", "coupon", "disable", "SUMMER10")
	require.Contains(t, words, "STRIPE_SECRET_KEY")
	require.True(t, account.PromotionCodes()[0].Active)
	require.Contains(t, m.ok("", "reconcile", "--dry-run", "-o", "json"), `"repaired":false`)
	require.Contains(t, m.ok("", "reconcile", "-o", "json"), `"repaired":true`)
	for _, code := range account.PromotionCodes() {
		require.False(t, code.Active)
	}
	require.Empty(t, m.ok("", "reconcile", "-o", "json"))

	server.Close()
	words = m.fails(command.Failed, "", "coupon", "enable", "SUMMER10")
	require.NotContains(t, words, "sk_test_tool")
}
