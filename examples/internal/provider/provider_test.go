package provider_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/examples/internal/provider"
)

func open() (*provider.Provider, *provider.Client) {
	p := provider.New("https://pay.example/")
	return p, &provider.Client{URL: "https://provider.example", HTTP: &http.Client{Transport: p}}
}

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An order has one payment, which a repeated call returns as it is now.
func TestCreate(t *testing.T) {
	t.Parallel()
	p, client := open()
	made, err := client.Create(t.Context(), "o/1 ü", 95_00, "EUR")
	require.NoError(t, err)
	want := provider.Payment{
		ID: "pay-1", Order: "o/1 ü", Amount: 95_00, Currency: "EUR", State: provider.Open,
		URL: "https://pay.example/pay-1", Refunds: []provider.Refund{},
	}
	equal(t, want, made)
	require.NoError(t, p.Pay(made.ID))
	want.State = provider.Paid
	again, err := client.Create(t.Context(), "o/1 ü", 95_00, "EUR")
	require.NoError(t, err)
	equal(t, want, again)
	for _, other := range []struct {
		amount   int64
		currency string
	}{{94_99, "EUR"}, {95_00, "USD"}, {0, "EUR"}, {-1, "EUR"}, {95_00, ""}} {
		_, err = client.Create(t.Context(), "o/1 ü", other.amount, other.currency)
		require.ErrorIs(t, err, provider.ErrRefused, other)
	}
	other, err := client.Create(t.Context(), "o", 1, "EUR")
	require.NoError(t, err)
	equal(t, []provider.Payment{want, other}, p.Payments())
	equal(t, "pay-2", other.ID)
}

func TestGet(t *testing.T) {
	t.Parallel()
	_, client := open()
	made, err := client.Create(t.Context(), "o", 1, "EUR")
	require.NoError(t, err)
	read, err := client.Get(t.Context(), made.ID)
	require.NoError(t, err)
	equal(t, made, read)
	_, err = client.Get(t.Context(), "pay-2")
	require.ErrorIs(t, err, provider.ErrNotFound)
}

// TestStates: what the customer and the shop can do with a payment in each state.
func TestStates(t *testing.T) {
	t.Parallel()
	void := func(_ *provider.Provider, c *provider.Client) error {
		_, err := c.Void(t.Context(), "o")
		return err
	}
	customer := func(act func(*provider.Provider, string) error) func(*provider.Provider, *provider.Client) error {
		return func(p *provider.Provider, _ *provider.Client) error { return act(p, "pay-1") }
	}
	actions := map[string]func(*provider.Provider, *provider.Client) error{
		"void": void, "pay": customer((*provider.Provider).Pay), "pay later": customer((*provider.Provider).PayLater),
		"settle": customer((*provider.Provider).Settle), "fail": customer((*provider.Provider).Fail),
	}
	for _, test := range []struct {
		before []string
		act    string
		want   provider.State
		may    bool
	}{
		{nil, "pay", provider.Paid, true},
		{nil, "pay later", provider.Processing, true},
		{nil, "settle", provider.Open, false},
		{nil, "fail", provider.Open, false},
		{nil, "void", provider.Voided, true},
		{[]string{"pay later"}, "pay", provider.Processing, false},
		{[]string{"pay later"}, "void", provider.Processing, true},
		{[]string{"pay later"}, "settle", provider.Paid, true},
		{[]string{"pay later"}, "fail", provider.Voided, true},
		{[]string{"pay later", "fail"}, "settle", provider.Voided, false},
		{[]string{"pay"}, "void", provider.Paid, true},
		{[]string{"pay"}, "pay", provider.Paid, false},
		{[]string{"void"}, "pay", provider.Voided, false},
		{[]string{"void"}, "pay later", provider.Voided, false},
		{[]string{"void"}, "void", provider.Voided, true},
	} {
		p, client := open()
		_, err := client.Create(t.Context(), "o", 1, "EUR")
		require.NoError(t, err)
		for _, act := range test.before {
			require.NoError(t, actions[act](p, client))
		}
		err = actions[test.act](p, client)
		if (err == nil) != test.may {
			t.Errorf("%s after %v: %v", test.act, test.before, err)
		}
		if err != nil {
			require.ErrorIs(t, err, provider.ErrState)
		}
		equal(t, test.want, p.Payments()[0].State)
	}
	p, client := open()
	require.ErrorIs(t, p.Pay("pay-1"), provider.ErrNotFound)
	_, err := client.Void(t.Context(), "o")
	require.ErrorIs(t, err, provider.ErrNotFound)
}

// A key refunds once, and no more goes back than was paid.
func TestRefund(t *testing.T) {
	t.Parallel()
	p, client := open()
	_, err := client.Create(t.Context(), "o", 10_00, "EUR")
	require.NoError(t, err)
	_, err = client.Refund(t.Context(), "pay-1", "a", 1)
	require.ErrorIs(t, err, provider.ErrRefused, "not paid")
	require.NoError(t, p.Pay("pay-1"))
	for range 2 {
		back, err := client.Refund(t.Context(), "pay-1", "a", 6_00)
		require.NoError(t, err)
		equal(t, []provider.Refund{{Key: "a", Amount: 6_00}}, back.Refunds)
	}
	for name, refund := range map[string]provider.Refund{
		"more than is left": {Key: "b", Amount: 4_01}, "another amount": {Key: "a", Amount: 1}, "nothing": {Key: "c", Amount: 0},
	} {
		_, err = client.Refund(t.Context(), "pay-1", refund.Key, refund.Amount)
		require.ErrorIs(t, err, provider.ErrRefused, name)
	}
	_, err = client.Refund(t.Context(), "pay-2", "a", 1)
	require.ErrorIs(t, err, provider.ErrNotFound)
	_, err = client.Refund(t.Context(), "pay-1", "b", 4_00)
	require.NoError(t, err)
	equal(t, int64(10_00), p.Payments()[0].Refunded())
}

// shop is a webhook's receiver that answers with a status, and keeps the payments that were named.
func shop(status int, named *[]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*named = append(*named, r.FormValue("payment"))
		w.WriteHeader(status)
	})
}

// A webhook comes when the test sends it, and waits until the shop has taken it.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	p, client := open()
	for _, order := range []string{"a", "b"} {
		_, err := client.Create(t.Context(), order, 10_00, "EUR")
		require.NoError(t, err)
	}
	require.Empty(t, p.Webhooks())
	require.NoError(t, p.PayLater("pay-1"))
	require.NoError(t, p.Pay("pay-2"))
	require.NoError(t, p.Settle("pay-1"))
	for range 2 { // the second changes nothing
		_, err := client.Refund(t.Context(), "pay-2", "k", 1)
		require.NoError(t, err)
		_, err = client.Void(t.Context(), "a")
		require.NoError(t, err)
	}
	equal(t, []string{"pay-1", "pay-2", "pay-1", "pay-2"}, p.Webhooks())

	var named []string
	require.Equal(t, 503, p.Notify(t.Context(), 1, shop(503, &named)))
	equal(t, []string{"pay-1", "pay-2", "pay-1", "pay-2"}, p.Webhooks())
	require.Equal(t, 204, p.Notify(t.Context(), 1, shop(204, &named)))
	equal(t, []string{"pay-1", "pay-1", "pay-2"}, p.Webhooks())
	p.Repeat(0)
	p.Drop(2)
	equal(t, []string{"pay-1", "pay-1", "pay-1"}, p.Webhooks())
	equal(t, []string{"pay-2", "pay-2"}, named)
	require.Panics(t, func() {
		p.Notify(t.Context(), 0, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the shop dies") }))
	})
	require.Len(t, p.Webhooks(), 3)
	for range 3 {
		p.Notify(t.Context(), 0, shop(200, &named))
	}
	require.Empty(t, p.Webhooks())
}

// TestOverHTTP: a real connection, faulty requests, and errors whose outcome is unknown.
func TestOverHTTP(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(provider.New(""))
	t.Cleanup(server.Close)
	client := &provider.Client{URL: server.URL}
	made, err := client.Create(t.Context(), "o", 1, "EUR")
	require.NoError(t, err)
	require.Equal(t, "pay-1", made.URL)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = client.Get(ctx, "pay-1")
	require.ErrorIs(t, err, context.Canceled)
	_, inMemory := open()
	_, err = inMemory.Get(ctx, "pay-1")
	require.ErrorIs(t, err, context.Canceled)
	for status, body := range map[int]string{200: "{", 500: "", 301: ""} {
		broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		_, err := (&provider.Client{URL: broken.URL}).Get(t.Context(), "pay-1")
		require.Error(t, err)
		require.NotErrorIs(t, err, provider.ErrRefused)
		require.NotErrorIs(t, err, provider.ErrNotFound)
		broken.Close()
	}
	for _, body := range []string{"", "x", `{"amount":"1"}`, `{"amount":1,"currency":"` + strings.Repeat("E", 1<<12) + `"}`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/orders/p/payment", strings.NewReader(body))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusUnprocessableEntity, response.StatusCode, body)
	}
}
