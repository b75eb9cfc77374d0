package payments_test

import (
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/couponkit/couponkit/examples/service/internal/payments"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

const (
	success = "http://shop.example/payment/return?key=k"
	maxForm = 4 << 10
)

// state is what has become of a session.
type state string

const (
	open    state = "open"
	paid    state = "paid"
	waiting state = "waiting"
	failed  state = "failed"
	expired state = "expired"
)

// leadTo are actions that lead to each state.
var leadTo = []struct {
	state   state
	actions []string
}{
	{open, nil},
	{paid, []string{"pay"}},
	{waiting, []string{"later"}},
	{failed, []string{"later", "fails"}},
	{expired, []string{"expire"}},
}

// becomes is the table of the payment page: what an action does, and the status of its
// answer. What is not in it is not possible any more.
var becomes = map[state]map[string]struct {
	state  state
	status int
}{
	open: {
		"pay": {paid, http.StatusSeeOther}, "later": {waiting, http.StatusSeeOther},
		"expire": {expired, http.StatusSeeOther}, "decline": {open, http.StatusOK},
	},
	waiting: {"arrives": {paid, http.StatusSeeOther}, "fails": {failed, http.StatusSeeOther}},
	expired: {"expire": {expired, http.StatusSeeOther}},
	paid:    {},
	failed:  {},
}

var actions = []string{"pay", "later", "arrives", "fails", "decline", "expire"}

// FuzzPaymentForm posts any form to the payment page of a session in any state. A
// form that can be read does what the table says and leads to the shop; any other
// changes nothing. The page never fails, and shows names as text.
func FuzzPaymentForm(f *testing.F) {
	const form = "application/x-www-form-urlencoded"
	for before := range byte(len(leadTo)) {
		for _, action := range actions {
			f.Add(before, true, form, "action="+action, "Phone")
		}
	}
	f.Add(byte(0), true, form, "action=pay&action=expire", "<b>Phone</b>")
	f.Add(byte(0), true, form, "action=%zz", `"><script>alert(1)</script>`)
	f.Add(byte(0), true, form, "x="+strings.Repeat("x", maxForm)+"&action=pay", "Phone")
	f.Add(byte(0), true, "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"action\"\r\n\r\npay\r\n--x--\r\n", "Phone")
	f.Add(byte(0), true, "", "action=pay", "Phone")
	f.Add(byte(0), true, form+"; charset=utf-16", "action=pay", "'Phone'")
	f.Add(byte(0), true, "a/b;;=", "action=pay", "&lt;")
	f.Add(byte(0), false, form, "action=later", "Phone")
	w := newPage(f)
	f.Fuzz(func(t *testing.T, before byte, costs bool, contentType, body, name string) {
		if w.sessions++; w.sessions > 500 { // it forgets nothing
			w = newPage(t)
		}
		id := w.open(t, costs, name)
		from := leadTo[int(before)%len(leadTo)]
		for _, action := range from.actions {
			w.post(t, id, "application/x-www-form-urlencoded", "action="+action)
		}
		was := w.state(t, id)
		if costs && was != from.state {
			t.Fatalf("%q lead to %s, want %s", from.actions, was, from.state)
		}
		answer := w.post(t, id, contentType, body)
		action, legible := actionOf(contentType, body)
		want, possible := becomes[was][action]
		if !legible || !possible || action == "later" && !costs {
			want.state, want.status = was, http.StatusConflict
			if !legible || !known(action) {
				want.status = http.StatusBadRequest
			}
		}
		if now := w.state(t, id); now != want.state || answer.Code != want.status {
			t.Errorf("%s, %q: %d and %s, want %d and %s", was, action, answer.Code, now, want.status, want.state)
		}
		checkPage(t, answer, name)
	})
}

func known(action string) bool { return slices.Contains(actions, action) }

// actionOf reads a form; legible is false when a page may refuse it.
func actionOf(contentType, body string) (action string, legible bool) {
	if contentType == "" {
		return "", false
	}
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "application/x-www-form-urlencoded" || len(body) > maxForm {
		return "", false
	}
	values, err := url.ParseQuery(body)
	return values.Get("action"), err == nil
}

func checkPage(t *testing.T, answer *httptest.ResponseRecorder, name string) {
	t.Helper()
	if answer.Code == http.StatusSeeOther {
		if to := answer.Header().Get("Location"); to != success {
			t.Errorf("leads to %q", to)
		}
		return
	}
	text := answer.Body.String()
	if !strings.HasPrefix(text, "<!doctype html>") || answer.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("no page: %s", text)
	}
	if strings.Contains(name, "<") && strings.Contains(text, "× "+name) {
		t.Errorf("the page holds %q as it is", name)
	}
}

// page is a simulator with its pages, and no network.
type page struct {
	simulator *payments.Simulator
	mux       *http.ServeMux
	sessions  int
}

func noon() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

func newPage(tb testing.TB) *page {
	tb.Helper()
	p := &page{simulator: payments.NewSimulator("http://shop.example", noon), mux: http.NewServeMux()}
	pages, err := payments.NewPages(p.simulator)
	if err != nil {
		tb.Fatal(err)
	}
	pages.Register(p.mux)
	return p
}

func (p *page) open(t *testing.T, costs bool, name string) (id string) {
	t.Helper()
	amount := int64(0)
	if costs {
		amount = 2490
	}
	session, err := p.simulator.CreateSession(t.Context(), processor.SessionRequest{
		Key: "k" + time.Duration(p.sessions).String(), OrderID: "ord_1", Mode: processor.Payment, Currency: pricing.EUR(), Total: amount,
		Lines:      []processor.SessionLine{{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: name, Quantity: 1, UnitAmount: amount}},
		SuccessURL: success, CancelURL: "http://shop.example/cart", ExpiresAt: noon().Add(time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	return session.ID
}

func (p *page) post(t *testing.T, id, contentType, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, payments.PagePrefix+id, strings.NewReader(body))
	r.Header["Content-Type"] = []string{contentType}
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, r)
	return w
}

func (p *page) state(t *testing.T, id string) state {
	t.Helper()
	s, err := p.simulator.Session(t.Context(), id)
	switch {
	case err != nil:
		t.Fatal(err)
	case s.Status == processor.SessionOpen:
		return open
	case s.Status == processor.SessionExpired:
		return expired
	case s.PaymentStatus.Settled():
		return paid
	case s.PaymentFailed:
		return failed
	}
	return waiting
}

// TestNoSuchPayment: the page of a session that is not there says so, whatever is
// asked of it.
func TestNoSuchPayment(t *testing.T) {
	t.Parallel()
	p := newPage(t)
	for _, action := range actions {
		if answer := p.post(t, "sim_none", "application/x-www-form-urlencoded", "action="+action); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", action, answer.Code)
		}
	}
}
