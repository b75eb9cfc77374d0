package redemption_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/redemption"
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
		add(redemption.CouponUses(a), "coupon", a)
		add(redemption.CustomerOrders(a), "orders", a)
		for _, b := range texts {
			add(redemption.CustomerUses(a, b), "customer", a, b)
			add(redemption.Budget(a, b), "budget", a, b)
			for _, c := range texts {
				add(redemption.CouponPeriodUses(a, b, c), "coupon period", a, b, c)
				add(redemption.CodePeriodUses(a, b, c), "code period", a, b, c)
				add(redemption.CustomerPeriodUses(a, b, b, c), "customer period", a, b, b, c)
			}
		}
	}
	for key := range keys {
		customers := strings.HasPrefix(keys[key][0], "customer") || keys[key][0] == "orders"
		require.Equal(t, !customers, redemption.IsShared(key), key)
	}
}

// TestIdentitiesHideWhatTheyAreMadeOf: an identity is always the same for one text, another for
// each text and kind, and does not contain the text.
func TestIdentitiesHideWhatTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name, other := rapid.StringMatching(`[g-z]{3,12}`).Draw(t, "name"), rapid.StringMatching(`[g-z]{3,12}`).Draw(t, "other")
		address := name + "@example.org"
		email, alias := redemption.EmailIdentity(address), redemption.AliasIdentity(address)
		require.Equal(t, email, redemption.EmailIdentity(address))
		require.NotEqual(t, email, alias)
		require.Equal(t, name == other, email == redemption.EmailIdentity(other+"@example.org"))
		require.Equal(t, name == other, alias == redemption.AliasIdentity(other+"@example.org"))
		for _, identity := range []string{email, alias} {
			require.NotContains(t, identity, name)
			require.True(t, redemption.IsHashed(identity))
			require.False(t, redemption.IsHashed(identity[:len(identity)-1]))
			require.False(t, redemption.IsHashed(identity+"00"))
			require.False(t, redemption.IsHashed("x"+identity))
		}
		require.False(t, redemption.IsHashed(address))
		require.False(t, redemption.IsHashed("email:"+address))
	})
}
