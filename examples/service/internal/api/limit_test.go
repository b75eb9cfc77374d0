package api

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/email"
)

// TestALimit: a burst, then one at a time, never more than the burst.
func TestALimit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{Burst: 3, Every: time.Minute}, func() time.Time { return now })
	allowed := func(want int, wait time.Duration) {
		t.Helper()
		for range want {
			_, ok := l.take("ann")
			require.True(t, ok)
		}
		got, ok := l.take("ann")
		require.False(t, ok)
		require.Equal(t, wait, got)
	}
	allowed(3, time.Minute)
	now = now.Add(30 * time.Second)
	allowed(0, 30*time.Second)
	now = now.Add(90 * time.Second)
	allowed(2, time.Minute)
	now = now.Add(time.Hour)
	allowed(3, time.Minute)
	l.giveBack("ann")
	allowed(1, time.Minute)
	_, ok := l.take("ben")
	require.True(t, ok, "a bucket is one's own")
}

// TestALimitOfAnySize: who allows as much as can be said keeps nobody out.
func TestALimitOfAnySize(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{Burst: math.MaxInt, Every: 6 * time.Second}, func() time.Time { return now })
	for range 1_000 {
		_, ok := l.take("ann")
		require.True(t, ok)
	}
}

// TestALimitForgets: somebody who tries many names does not fill the memory.
func TestALimitForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	l := newLimiter(Limit{Burst: 2, Every: time.Second}, func() time.Time { return now })
	for i := range 20 * fewBuckets {
		l.take(fmt.Sprint(i))
		now = now.Add(time.Millisecond)
	}
	if got := len(l.buckets); got > 2*fewBuckets {
		t.Errorf("%d buckets are kept", got)
	}
}

// TestALimitKeepsNoLongNames: what somebody has typed at a sign-in is cut.
func TestALimitKeepsNoLongNames(t *testing.T) {
	t.Parallel()
	l := newLimiters(Limit{Burst: 2, Every: time.Second}, Limit{Burst: 9, Every: time.Second}, time.Now)
	for _, end := range []string{"a", "b"} {
		giveBack, err := l.take(strings.Repeat("x", 60_000)+end, "203.0.113.7")
		require.NoError(t, err)
		giveBack()
	}
	for name := range l.user.buckets {
		require.LessOrEqual(t, len(name), email.MaxLength)
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
