package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Errors of [Client]. After any other error, the outcome of the call is unknown.
var (
	// ErrNotFound means that the payment does not exist.
	ErrNotFound = errors.New("no such payment")
	// ErrRefused means that the provider refused the request and did nothing.
	ErrRefused = errors.New("refused by the provider")
)

// Client is a shop's client of the provider. Every call may be repeated.
type Client struct {
	// URL is the address of the provider, without a slash at its end.
	URL string
	// HTTP makes the requests; nil means [http.DefaultClient].
	HTTP *http.Client
}

// Create creates the payment of an order, or returns the payment that the order has. An order whose
// payment has another amount is [ErrRefused].
func (c *Client) Create(ctx context.Context, order string, amount int64, currency string) (Payment, error) {
	return c.call(ctx, http.MethodPut, &money{amount, currency}, "orders", order, "payment")
}

// Get returns a payment, or [ErrNotFound].
func (c *Client) Get(ctx context.Context, payment string) (Payment, error) {
	return c.call(ctx, http.MethodGet, nil, "payments", payment)
}

// Void ends the payment of an order, unless the customer has paid, and returns the payment. If the
// order has no payment, the error is [ErrNotFound].
func (c *Client) Void(ctx context.Context, order string) (Payment, error) {
	return c.call(ctx, http.MethodDelete, nil, "orders", order, "payment")
}

// Refund returns a part of a payment to the customer, once for each key, and returns the payment. More
// than is left, an unpaid payment and a key that was used with another amount are [ErrRefused].
func (c *Client) Refund(ctx context.Context, payment, key string, amount int64) (Payment, error) {
	return c.call(ctx, http.MethodPut, &money{Amount: amount}, "payments", payment, "refunds", key)
}

func (c *Client) call(ctx context.Context, method string, m *money, path ...string) (Payment, error) {
	escaped := make([]string, len(path))
	for i, part := range path {
		escaped[i] = url.PathEscape(part)
	}
	body := &bytes.Buffer{}
	if m != nil {
		if err := json.NewEncoder(body).Encode(m); err != nil {
			return Payment{}, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, c.URL+"/"+strings.Join(escaped, "/"), body)
	if err != nil {
		return Payment{}, err
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return Payment{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	switch {
	case err != nil:
		return Payment{}, err
	case response.StatusCode == http.StatusNotFound:
		return Payment{}, fmt.Errorf("%s %v: %w", method, path, ErrNotFound)
	case response.StatusCode == http.StatusConflict, response.StatusCode == http.StatusUnprocessableEntity:
		return Payment{}, fmt.Errorf("%s %v: %w: %s", method, path, ErrRefused, bytes.TrimSpace(text))
	case response.StatusCode != http.StatusOK:
		return Payment{}, fmt.Errorf("%s %v: status %d", method, path, response.StatusCode)
	}
	var p Payment
	if err := json.Unmarshal(text, &p); err != nil {
		return Payment{}, fmt.Errorf("%s %v: %w", method, path, err)
	}
	return p, nil
}
