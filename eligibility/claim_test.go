package eligibility_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/eligibility"
)

// TestCountersOfDifferentThingsDiffer: counters of two kinds, or of different coupons, customers,
// codes, periods or currencies, never share a key. A text with a slash moves no part to the next.
func TestCountersOfDifferentThingsDiffer(t *testing.T) {
	t.Parallel()
	texts := []string{"a", "b", "a/b", "b/a", "/", "a%2Fb", "DAY", "2026-11-27"}
	keys := map[string][]string{}
	add := func(key string, parts ...string) {
		what := strings.Join(parts, "|")
		require.NotContains(t, keys, key, "%s has the key of %v", what, keys[key])
		keys[key] = parts
	}
	for _, a := range texts {
		add(eligibility.CouponUses(a), "coupon", a)
		add(eligibility.CustomerOrders(a), "orders", a)
		for _, b := range texts {
			add(eligibility.CustomerUses(a, b), "customer", a, b)
			add(eligibility.Budget(a, b), "budget", a, b)
			for _, c := range texts {
				add(eligibility.CouponPeriodUses(a, b, c), "coupon period", a, b, c)
				add(eligibility.CodePeriodUses(a, b, c), "code period", a, b, c)
				add(eligibility.CustomerPeriodUses(a, b, b, c), "customer period", a, b, b, c)
			}
		}
	}
	for key := range keys {
		customers := strings.HasPrefix(keys[key][0], "customer") || keys[key][0] == "orders"
		require.Equal(t, !customers, eligibility.IsShared(key), key)
	}
}

// TestIdentitiesHideWhatTheyAreMadeOf: an identity is always the same for one text, another for
// each text and kind, and does not contain the text.
func TestIdentitiesHideWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name, other := rapid.StringMatching(`[g-z]{3,12}`).Draw(t, "name"), rapid.StringMatching(`[g-z]{3,12}`).Draw(t, "other")
		address := name + "@example.org"
		email, alias := eligibility.EmailIdentity(address), eligibility.AliasIdentity(address)
		require.Equal(t, email, eligibility.EmailIdentity(address))
		require.NotEqual(t, email, alias)
		require.Equal(t, name == other, email == eligibility.EmailIdentity(other+"@example.org"))
		require.Equal(t, name == other, alias == eligibility.AliasIdentity(other+"@example.org"))
		for _, identity := range []string{email, alias} {
			require.NotContains(t, identity, name)
			require.True(t, eligibility.IsHashed(identity))
			require.False(t, eligibility.IsHashed(identity[:len(identity)-1]))
			require.False(t, eligibility.IsHashed(identity+"00"))
			require.False(t, eligibility.IsHashed("x"+identity))
		}
		require.False(t, eligibility.IsHashed(address))
		require.False(t, eligibility.IsHashed("email:"+address))
	})
}
