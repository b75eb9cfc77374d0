package eligibility_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/calendar"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
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

// claimant is a customer with two identities who uses a coupon with every kind of limit.
func claimant(t *testing.T) eligibility.Claimant {
	t.Helper()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	limit := func(per coupon.LimitSubject, most int64) coupon.PeriodLimit {
		zone, err := calendar.ParseZone("UTC")
		require.NoError(t, err)
		return coupon.PeriodLimit{Per: per, Period: calendar.Day, Zone: zone, MaxUses: most}
	}
	c, err := coupon.New(coupon.Draft{
		Code: "TEN", Name: "Ten", DiscountType: pricing.Percentage, Percent: "10", FirstOrder: true,
		MaxUses: coupon.Set(9), MaxUsesPerUser: coupon.Set(8), Budget: coupon.Amounts{"EUR": "7", "USD": "6"},
		PeriodLimits: []coupon.PeriodLimit{limit(coupon.PerCustomer, 5), limit(coupon.PerCoupon, 4), limit(coupon.PerCode, 3)},
	}, coupon.Creation{ID: "cpn_1", At: at})
	require.NoError(t, err)
	key, err := coupon.ParseCode("TEN-1")
	require.NoError(t, err)
	return eligibility.Claimant{
		Coupon: &c, Code: coupon.IssuedCode{Code: key, Batch: "b", MaxUses: 2, Active: true}, Identities: []string{"ann", "card"}, At: at,
	}
}

// Each counter of a decision has the limit of the rule that reads it, the reason of that rule, and its
// place in Usage. Keys and their order are what stores keep.
func TestLimitsOfADecision(t *testing.T) {
	t.Parallel()
	type row struct {
		counter string
		amount  int64
		limit   int64
		reason  coupon.RejectionCode
	}
	want := []row{
		{"shared/uses/cpn_1", 1, 9, coupon.UsageLimitReached},
		{"customer/uses/cpn_1/ann", 1, 8, coupon.UserUsageLimitReached},
		{"customer/uses/cpn_1/card", 1, 8, coupon.UserUsageLimitReached},
		{"shared/by-code/cpn_1/TEN-1", 1, 2, coupon.UsageLimitReached},
		{"customer/period/cpn_1/ann/DAY/2026-11-20", 1, 5, coupon.PeriodLimitReached},
		{"customer/period/cpn_1/card/DAY/2026-11-20", 1, 5, coupon.PeriodLimitReached},
		{"shared/period/cpn_1/DAY/2026-11-20", 1, 4, coupon.PeriodLimitReached},
		{"shared/code/TEN/DAY/2026-11-20", 1, 3, coupon.PeriodLimitReached},
		{"shared/budget/cpn_1/EUR", 0, 7_00, coupon.BudgetExhausted},
		{"shared/budget/cpn_1/USD", 0, 6_00, coupon.BudgetExhausted},
		{"customer/orders/ann", 1, 1, coupon.NotFirstOrder},
		{"customer/orders/card", 1, 1, coupon.NotFirstOrder},
	}
	c := claimant(t)
	limits, taken := c.Limits(), map[string]int64{}
	var got []row
	var uses []eligibility.Claim
	for i, l := range limits {
		got = append(got, row{l.Counter, l.Amount, l.Limit, l.Reason})
		taken[l.Counter] = int64(i + 1)
		if i < 8 {
			uses = append(uses, l.Claim)
		}
	}
	require.Equal(t, want, got)
	uses = append(uses, eligibility.Claim{Counter: "shared/by-batch/cpn_1/b", Amount: 1}) // counted without a limit
	require.Equal(t, uses, c.Claims())
	usd, err := pricing.ParseCurrency("USD")
	require.NoError(t, err)
	usage := eligibility.UsageOf(limits, func(counter string) int64 { return taken[counter] })
	if diff := cmp.Diff(eligibility.Usage{
		Reserved: 1, ReservedByCustomer: 3, ByCode: 4, Periods: []int64{6, 7, 8}, Orders: 12,
		Spent: coupon.NewMoneySet(pricing.NewMoney(9, pricing.EUR()), pricing.NewMoney(10, usd)),
	}, usage); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, []eligibility.Claim{{Counter: "shared/budget/cpn_1/EUR", Amount: 100, Limit: 7_00}},
		eligibility.BudgetClaims(c.Coupon, pricing.NewMoney(100, pricing.EUR())))
	require.Empty(t, eligibility.BudgetClaims(c.Coupon, pricing.NewMoney(0, pricing.EUR())))
}

// An order is counted for each identity, with a limit only if a coupon is for first orders.
func TestClaimsOfAnOrder(t *testing.T) {
	t.Parallel()
	first := claimant(t).Coupon
	require.Equal(t, []eligibility.Claim{{Counter: "customer/orders/ann", Amount: 1}}, eligibility.OrderClaims([]string{"ann"}, new(coupon.Coupon)))
	require.Equal(t, []eligibility.Claim{{Counter: "customer/orders/ann", Amount: 1, Limit: 1}}, eligibility.OrderClaims([]string{"ann"}, new(coupon.Coupon), first))
	require.Empty(t, eligibility.OrderClaims(nil, first))
}

// A use that was bought with points keeps the periods of the exchange, but no budget of an order that it
// was in. An identity that the exchange did not know is counted in the current period.
func TestClaimsAfterAnExchange(t *testing.T) {
	t.Parallel()
	before := claimant(t)
	before.Identities, before.At = []string{"ann"}, before.At.AddDate(0, 0, -1)
	exchange := append(before.Claims(), eligibility.BudgetClaims(before.Coupon, pricing.NewMoney(100, pricing.EUR()))...)
	var got []string
	for _, claim := range claimant(t).ClaimsAfterExchange(exchange) {
		got = append(got, claim.Counter)
	}
	require.Equal(t, []string{
		"shared/uses/cpn_1", "customer/uses/cpn_1/ann", "customer/uses/cpn_1/card", "shared/by-code/cpn_1/TEN-1", "shared/by-batch/cpn_1/b",
		"customer/period/cpn_1/card/DAY/2026-11-20", "customer/period/cpn_1/ann/DAY/2026-11-19",
		"shared/period/cpn_1/DAY/2026-11-19", "shared/code/TEN/DAY/2026-11-19",
	}, got)
}

// A use that was bought with points by one code, and used by another, is counted for both codes.
func TestClaimsAfterAnExchangeByAnotherCode(t *testing.T) {
	t.Parallel()
	issued := claimant(t)
	plain := issued
	plain.Code, plain.Coupon = coupon.IssuedCode{}, new(*issued.Coupon)
	var err error
	plain.Coupon.Code, err = coupon.ParseCode("PLAIN")
	require.NoError(t, err)
	issued.Coupon.Code = issued.Code.Code
	for _, test := range []struct {
		name         string
		bought, used eligibility.Claimant
		want         []string
	}{
		{"same plain code", plain, plain, []string{"shared/code/PLAIN/DAY/2026-11-19"}},
		{"same issued code", issued, issued, []string{"shared/code/TEN-1/DAY/2026-11-19"}},
		{"plain, then issued", plain, issued, []string{"shared/code/TEN-1/DAY/2026-11-20", "shared/code/PLAIN/DAY/2026-11-19"}},
		{"issued, then plain", issued, plain, []string{"shared/code/PLAIN/DAY/2026-11-20", "shared/code/TEN-1/DAY/2026-11-19"}},
	} {
		test.bought.At = test.bought.At.AddDate(0, 0, -1)
		var got []string
		for _, claim := range test.used.ClaimsAfterExchange(test.bought.Claims()) {
			if strings.HasPrefix(claim.Counter, "shared/code/") {
				got = append(got, claim.Counter)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// The identities are the ID and the hashed address and aliases, each once.
func TestIdentitiesOfACustomer(t *testing.T) {
	t.Parallel()
	email, card := eligibility.EmailIdentity("ann@example.org"), eligibility.AliasIdentity("card")
	for _, test := range []struct {
		customer eligibility.Customer
		want     []string
	}{
		{eligibility.Customer{}, nil},
		{eligibility.Customer{ID: "ann", Email: " Ann@example.ORG ", Aliases: []string{"card", "", "card"}}, []string{"ann", email, card}},
		{eligibility.Customer{ID: email, Email: "ann@example.org"}, []string{email}},
		{eligibility.Customer{ID: "ann", Email: "no address"}, []string{"ann"}},
		{eligibility.Customer{Aliases: []string{"card"}}, []string{card}},
	} {
		require.Equal(t, test.want, test.customer.Identities())
	}
}
