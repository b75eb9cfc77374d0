package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/ratelimit"
)

// TestLimits: zero fields have defaults, and a request may have as many codes as a cart.
func TestLimits(t *testing.T) {
	t.Parallel()
	require.NoError(t, Limits{}.Named().Validate())
	require.Equal(t, pricing.MaxCoupons, Limits{}.Named()[attempts+perUser].Attempts)
	five := ratelimit.Limit{Attempts: 5, Window: time.Hour}
	require.Equal(t, five, Limits{CheckoutsPerAddress: five}.Named()[checkouts+perAddress])
}

// TestSubjects: what somebody has typed, or a proxy has written, is always a valid subject.
func TestSubjects(t *testing.T) {
	t.Parallel()
	limiter, err := ratelimit.NewMemory(Limits{}.Named(), ratelimit.MemoryOptions{})
	require.NoError(t, err)
	for _, address := range []string{"", "203.0.113.7", strings.Repeat("x", 60_000)} {
		a := &API{Options: Options{Limiter: limiter, ClientAddress: func(*http.Request) string { return address }}}
		for _, user := range []string{"", "ann", strings.Repeat("y", 60_000)} {
			giveBack, err := a.take(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), logins, user)
			require.NoError(t, err)
			giveBack()
		}
	}
}

// TestNetworks: what counts as one client.
func TestNetworks(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "::ffff:203.0.113.7": "203.0.113.7",
		"2001:db8:1:2:3::4": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "@": "@",
	} {
		require.Equal(t, want, network(address), address)
	}
}
