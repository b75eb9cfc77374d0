package stripefake_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// api calls an account as any client of Stripe does.
type api struct {
	*testing.T
	account *stripefake.Account
	server  *httptest.Server
	now     time.Time
}

func newAPI(t *testing.T, o stripefake.Options) *api {
	t.Helper()
	a := &api{T: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	o.Now = func() time.Time { return a.now }
	a.account = stripefake.New(o)
	a.server = httptest.NewServer(a.account)
	t.Cleanup(a.server.Close)
	return a
}

type answer struct {
	status int
	header http.Header
	body   map[string]any
}

// code is that of the error, if there is one.
func (a answer) code() string {
	e, _ := a.body["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

func (a *api) call(method, path, form, key string) answer {
	a.Helper()
	request, err := http.NewRequestWithContext(a.Context(), method, a.server.URL+path, strings.NewReader(form))
	require.NoError(a, err)
	request.Header.Set("Authorization", "Bearer sk_test_1")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := a.server.Client().Do(request)
	require.NoError(a, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(a, err)
	out := answer{status: response.StatusCode, header: response.Header}
	require.NoError(a, json.Unmarshal(text, &out.body), string(text))
	return out
}

func (a *api) post(path, form string) answer {
	a.Helper()
	return a.call(http.MethodPost, path, form, "")
}

// TestRefusals are those that Stripe documents or was seen to make, and that a stub
// without state lets pass.
func TestRefusals(t *testing.T) {
	t.Parallel()
	a := newAPI(t, stripefake.Options{})
	now := a.now.Unix()
	require.Equal(t, 200, a.post("/v1/coupons", "id=c1&percent_off=10").status)
	require.Equal(t, 200, a.post("/v1/coupons", "id=usd&amount_off=100&currency=usd").status)
	require.Equal(t, 200, a.post("/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=c1&code=TEN").status)
	line := func(amount, more string) string {
		return "&line_items[0][quantity]=1&line_items[0][price_data][currency]=eur&line_items[0][price_data][product_data][name]=A" +
			"&line_items[0][price_data][unit_amount]=" + amount + more
	}
	session := func(more string) string {
		return "mode=payment&success_url=https://a.example" + line("1000", "") + more
	}
	code := func(coupon, text, more string) string {
		return "promotion[type]=coupon&promotion[coupon]=" + coupon + "&code=" + text + more
	}
	var manyLines, manyKeys strings.Builder
	for i := range 101 {
		fmt.Fprintf(&manyLines, "&line_items[%d][quantity]=1&line_items[%d][price_data][currency]=eur&line_items[%d][price_data][unit_amount]=9&line_items[%d][price_data][product_data][name]=A", i, i, i, i)
		fmt.Fprintf(&manyKeys, "&metadata[k%d]=v", i)
	}
	tests := map[string]struct{ path, form string }{
		"taken ID":               {"/v1/coupons", "id=c1&percent_off=10"},
		"name of 41":             {"/v1/coupons", "percent_off=10&name=" + strings.Repeat("x", 41)},
		"0 percent":              {"/v1/coupons", "percent_off=0"},
		"150 percent":            {"/v1/coupons", "percent_off=150"},
		"both":                   {"/v1/coupons", "percent_off=10&amount_off=100&currency=eur"},
		"neither":                {"/v1/coupons", "name=x"},
		"amount of no currency":  {"/v1/coupons", "amount_off=100"},
		"negative amount":        {"/v1/coupons", "amount_off=-100&currency=eur"},
		"0 redemptions":          {"/v1/coupons", "percent_off=10&max_redemptions=0"},
		"redeem_by in the past":  {"/v1/coupons", fmt.Sprint("percent_off=10&redeem_by=", now-1)},
		"redeem_by in six years": {"/v1/coupons", fmt.Sprint("percent_off=10&redeem_by=", now+6*366*86400)},
		"too many redemptions":   {"/v1/coupons", "percent_off=10&max_redemptions=10000000001"},
		"all the redemptions":    {"/v1/coupons", "percent_off=10&max_redemptions=9223372036854775807"},
		"beyond all numbers":     {"/v1/coupons", "percent_off=10&max_redemptions=9223372036854775808"},
		"13 digits off":          {"/v1/coupons", "amount_off=1000000000000&currency=eur"},
		"third decimal":          {"/v1/coupons", "percent_off=33.333"},
		"ID of 5001":             {"/v1/coupons", "percent_off=10&id=" + strings.Repeat("x", 5001)},
		"renamed to 41":          {"/v1/coupons/c1", "name=" + strings.Repeat("x", 41)},
		"code of 501":            {"/v1/promotion_codes", code("c1", strings.Repeat("X", 501), "")},
		"unit of 13 digits":      {"/v1/checkout/sessions", "mode=payment&success_url=https://a.example" + line("1000000000000", "")},
		"sum of 13 digits":       {"/v1/checkout/sessions", session("&line_items[1][quantity]=2&line_items[1][price_data][currency]=eur&line_items[1][price_data][product_data][name]=B&line_items[1][price_data][unit_amount]=500000000000")},
		"a million units":        {"/v1/checkout/sessions", strings.Replace(session(""), "[quantity]=1", "[quantity]=1000000", 1)},
		"line name of 251":       {"/v1/checkout/sessions", strings.Replace(session(""), "[name]=A", "[name]="+strings.Repeat("A", 251), 1)},
		"address of 513":         {"/v1/checkout/sessions", session("&customer_email=" + strings.Repeat("a", 513))},
		"page of 5001":           {"/v1/checkout/sessions", session("&cancel_url=https://a.example/" + strings.Repeat("a", 5001))},
		"51 keys of metadata":    {"/v1/coupons", "percent_off=10" + manyKeys.String()},
		"key of 41":              {"/v1/coupons", "percent_off=10&metadata[" + strings.Repeat("k", 41) + "]=v"},
		"value of 501":           {"/v1/coupons", "percent_off=10&metadata[k]=" + strings.Repeat("v", 501)},
		"unknown parameter":      {"/v1/coupons", "percent_off=10&colour=red"},
		"scalar expand":          {"/v1/coupons", "percent_off=10&expand="},
		"frozen field":           {"/v1/coupons/c1", "max_redemptions=3"},
		"old coupon parameter":   {"/v1/promotion_codes", "coupon=c1&code=OTHER"},
		"code with a space":      {"/v1/promotion_codes", code("c1", "A+B", "")},
		"code with an umlaut":    {"/v1/promotion_codes", code("c1", url.QueryEscape("RÄ"), "")},
		"active code again":      {"/v1/promotion_codes", code("c1", "ten", "")},
		"unknown coupon":         {"/v1/promotion_codes", code("none", "OTHER", "")},
		"expiry in the past":     {"/v1/promotion_codes", code("c1", "OTHER", fmt.Sprint("&expires_at=", now-1))},
		"no lines":               {"/v1/checkout/sessions", "mode=payment&success_url=https://a.example"},
		"101 lines":              {"/v1/checkout/sessions", "mode=payment&success_url=https://a.example" + manyLines.String()},
		"negative line":          {"/v1/checkout/sessions", "mode=payment&success_url=https://a.example" + line("-1", "")},
		"below the minimum":      {"/v1/checkout/sessions", "mode=payment&success_url=https://a.example" + line("49", "")},
		"recurring payment":      {"/v1/checkout/sessions", session("&line_items[0][price_data][recurring][interval]=month")},
		"subscription of none":   {"/v1/checkout/sessions", strings.Replace(session(""), "payment", "subscription", 1)},
		"two intervals": {"/v1/checkout/sessions", strings.Replace(session("&line_items[0][price_data][recurring][interval]=month"+
			"&line_items[1][quantity]=1&line_items[1][price_data][currency]=eur&line_items[1][price_data][unit_amount]=9"+
			"&line_items[1][price_data][product_data][name]=B&line_items[1][price_data][recurring][interval]=year"), "payment", "subscription", 1)},
		"no success address":  {"/v1/checkout/sessions", "mode=payment" + line("1000", "")},
		"29 minutes":          {"/v1/checkout/sessions", session(fmt.Sprint("&expires_at=", now+29*60))},
		"25 hours":            {"/v1/checkout/sessions", session(fmt.Sprint("&expires_at=", now+25*3600))},
		"two discounts":       {"/v1/checkout/sessions", session("&discounts[0][coupon]=c1&discounts[1][coupon]=c1")},
		"discount of none":    {"/v1/checkout/sessions", session("&discounts[0][coupon]=none")},
		"discount in dollars": {"/v1/checkout/sessions", session("&discounts[0][coupon]=usd")},
		"long reference":      {"/v1/checkout/sessions", session("&client_reference_id=" + strings.Repeat("x", 201))},
		"other mode's data":   {"/v1/checkout/sessions", session("&subscription_data[metadata][a]=b")},
		"promotion codes":     {"/v1/checkout/sessions", session("&allow_promotion_codes=true")},
		"two currencies": {"/v1/checkout/sessions", session("&line_items[1][quantity]=1&line_items[1][price_data][currency]=usd" +
			"&line_items[1][price_data][unit_amount]=9&line_items[1][price_data][product_data][name]=B")},
	}
	for name, test := range tests {
		if got := a.post(test.path, test.form); got.status != http.StatusBadRequest {
			t.Errorf("%s: status %d, %v", name, got.status, got.body)
		}
	}
	if got := a.post("/v1/checkout/sessions", session("")); got.status != 200 || got.body["amount_total"] != float64(1000) {
		t.Errorf("a sound session: %d, %v", got.status, got.body)
	}
	if got := a.call(http.MethodGet, "/v1/coupons/", "", ""); got.status != http.StatusNotFound {
		t.Errorf("an empty ID: status %d", got.status)
	}
	if got := a.call(http.MethodDelete, "/v1/promotion_codes/promo_1", "", ""); got.status != http.StatusNotFound {
		t.Errorf("a promotion code was deleted: status %d", got.status)
	}
}

// TestDeadCodes: what became invalid once is inactive for good, also when another
// coupon gets the ID.
func TestDeadCodes(t *testing.T) {
	t.Parallel()
	a := newAPI(t, stripefake.Options{})
	a.post("/v1/coupons", "id=c1&percent_off=10")
	id, _ := a.post("/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=c1&code=TEN").body["id"].(string)
	require.Equal(t, 200, a.call(http.MethodDelete, "/v1/coupons/c1", "", "").status)
	require.Equal(t, "resource_missing", a.call(http.MethodDelete, "/v1/coupons/c1", "", "").code())
	require.Equal(t, "resource_missing", a.call(http.MethodGet, "/v1/coupons/c1", "", "").code())
	require.Equal(t, 200, a.post("/v1/coupons", "id=c1&percent_off=20").status, "the ID can be used again")
	require.Equal(t, 400, a.post("/v1/promotion_codes/"+id, "active=true").status)
	require.Equal(t, 200, a.post("/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=c1&code=TEN").status)
}

// TestIdempotency: a key replays its answer, a saved failure too, and fits one set of
// parameters. A refused parameter is not saved, another refusal is.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	a := newAPI(t, stripefake.Options{})
	create := func(key, form string) answer { return a.call(http.MethodPost, "/v1/coupons", form, key) }
	first := create("k1", "percent_off=10")
	again := create("k1", "percent_off=10")
	require.Equal(t, first.body["id"], again.body["id"])
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, 400, create("k1", "percent_off=20").status)
	require.Equal(t, 400, create("k2", "percent_off=0").status)
	require.Equal(t, 200, create("k2", "percent_off=20").status, "a refusal was saved")

	code := func(key string) answer {
		return a.call(http.MethodPost, "/v1/promotion_codes", "promotion[type]=coupon&promotion[coupon]=c1&code=TEN", key)
	}
	a.post("/v1/coupons", "id=c1&percent_off=10")
	id, _ := code("k3").body["id"].(string)
	require.Equal(t, 400, code("k4").status, "the code is taken")
	require.Equal(t, 200, a.post("/v1/promotion_codes/"+id, "active=false").status)
	refused := code("k4")
	require.Equal(t, 400, refused.status)
	require.Equal(t, "true", refused.header.Get("Idempotent-Replayed"))
	require.Equal(t, 200, code("k5").status)

	for _, failure := range []struct {
		fault        stripefake.Fault
		status, made int
	}{{stripefake.FailBefore, 500, 0}, {stripefake.FailAfter, 500, 1}, {stripefake.DependencyFailed, 424, 0}} {
		fault := failure.fault
		before := len(a.account.Coupons())
		a.account.Faults(func(stripefake.Call) stripefake.Fault { return fault })
		require.Equal(t, failure.status, create(fault.String(), "percent_off=10").status)
		a.account.Faults(nil)
		replay := create(fault.String(), "percent_off=10")
		require.Equal(t, failure.status, replay.status)
		require.Equal(t, "true", replay.header.Get("Idempotent-Replayed"))
		require.Len(t, a.account.Coupons(), before+failure.made)
	}
	for fault, status := range map[stripefake.Fault]int{ //nolint:exhaustive // those that are not saved
		stripefake.KeyInUse: 409, stripefake.RateLimited: 429, stripefake.LockTimeout: 429, stripefake.Unavailable: 503,
	} {
		a.account.Faults(func(stripefake.Call) stripefake.Fault { return fault })
		require.Equal(t, status, create("later"+fault.String(), "percent_off=10").status)
		a.account.Faults(nil)
		require.Equal(t, 200, create("later"+fault.String(), "percent_off=10").status)
	}
}

// TestPages: newest first, and after an object that is there.
func TestPages(t *testing.T) {
	t.Parallel()
	a := newAPI(t, stripefake.Options{})
	for i := range 25 {
		a.post("/v1/coupons", fmt.Sprintf("id=c%02d&percent_off=10", i))
	}
	list := func(query string) []string {
		got := a.call(http.MethodGet, "/v1/coupons?"+query, "", "")
		require.Equal(t, 200, got.status)
		data, _ := got.body["data"].([]any)
		var ids []string
		for _, item := range data {
			object, _ := item.(map[string]any)
			id, _ := object["id"].(string)
			ids = append(ids, id)
		}
		if more, _ := got.body["has_more"].(bool); more {
			ids = append(ids, "…")
		}
		return ids
	}
	require.Len(t, list(""), 11, "ten and a sign of more")
	require.Equal(t, []string{"c24", "c23", "…"}, list("limit=2"))
	require.Equal(t, []string{"c01", "c00"}, list("limit=2&starting_after=c02"))
	require.Equal(t, 400, a.call(http.MethodGet, "/v1/coupons?starting_after=none", "", "").status)
	require.Equal(t, 400, a.call(http.MethodGet, "/v1/coupons?limit=101", "", "").status)
}

// TestKeys: a wrong key, and one without a permission.
func TestKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, 401, newAPI(t, stripefake.Options{Key: "sk_test_2"}).post("/v1/coupons", "percent_off=10").status)
	a := newAPI(t, stripefake.Options{Key: "sk_test_1"})
	a.account.Deny("coupons.create")
	require.Equal(t, 403, a.post("/v1/coupons", "percent_off=10").status)
	a.account.Allow()
	require.Equal(t, 200, a.post("/v1/coupons", "percent_off=10").status)
}
