package eligibility_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
)

// broken gives the coupon one condition that the sound situation does not meet, by its JSON name, with
// the parameters of the refusal.
func broken() map[string]struct {
	change func(*coupon.Conditions)
	params coupon.Params
} {
	return map[string]struct {
		change func(*coupon.Conditions)
		params coupon.Params
	}{
		"minPurchase": {
			func(c *coupon.Conditions) { c.MinPurchase = least(5001) },
			coupon.Params{MinPurchase: euroParam(5001), EligibleSubtotal: euroParam(5000), Missing: euroParam(1)},
		},
		"maxPurchase": {
			func(c *coupon.Conditions) { c.MaxPurchase = least(4999) },
			coupon.Params{MaxPurchase: euroParam(4999), EligibleSubtotal: euroParam(5000), Excess: euroParam(1)},
		},
		"minQuantity": {
			func(c *coupon.Conditions) { c.MinQuantity = 5 },
			coupon.Params{MinQuantity: 5, EligibleQuantity: 2, MissingQuantity: 3},
		},
		"maxQuantity": {
			func(c *coupon.Conditions) { c.MaxQuantity = 1 },
			coupon.Params{MaxQuantity: 1, EligibleQuantity: 2, ExcessQuantity: 1},
		},
		"contains": {
			func(c *coupon.Conditions) { c.Contains = coupon.Contents{Scope: plans(), Quantity: 2} },
			coupon.Params{Contains: coupon.Contents{Scope: plans(), Quantity: 2}, MissingQuantity: 2},
		},
		"containsNot": {
			func(c *coupon.Conditions) { c.ContainsNot = coupon.Scope{AppliesTo: coupon.Product} },
			coupon.Params{ContainsNot: coupon.Scope{AppliesTo: coupon.Product}, ExcludedQuantity: 3},
		},
		"customerTags": {
			func(c *coupon.Conditions) { c.CustomerTags.All = []string{"gold"} }, coupon.Params{MissingTags: []string{"gold"}},
		},
		"firstOrder": {func(c *coupon.Conditions) { c.FirstOrder = true }, coupon.Params{Orders: 1}},
		"schedule": {
			func(c *coupon.Conditions) { c.Schedule = mondays() }, coupon.Params{TimeZone: mondays().Zone.String()},
		},
		"channels": {
			func(c *coupon.Conditions) { c.Channels = coupon.NewItems("app", "store") },
			coupon.Params{Channel: "web", Channels: []string{"app", "store"}},
		},
		"countries": {
			func(c *coupon.Conditions) { c.Countries = coupon.NewItems("AT", "CH") },
			coupon.Params{Country: "DE", Countries: []string{"AT", "CH"}},
		},
	}
}

// plans covers no line of the sound situation.
func plans() coupon.Scope { return coupon.Scope{AppliesTo: coupon.Subscription} }

func euroParam(minor int64) coupon.Amount {
	return coupon.Amount{Money: pricing.NewMoney(minor, pricing.EUR())}
}

// TestEveryConditionHasARule holds the tables of the packages coupon and eligibility together: each
// condition of a coupon refuses a purchase that does not meet it, with its code and its parameters,
// alone and beside all others.
func TestEveryConditionHasARule(t *testing.T) {
	t.Parallel()
	conditions, codes := broken(), make(map[coupon.RejectionCode]string)
	purchase := func() situation {
		s := sound()
		s.question.Facts, s.question.Usage.Orders = eligibility.Facts{Channel: "web", Country: "DE"}, 1
		return s
	}
	all := purchase()
	for name, code := range coupon.ConditionCodes() {
		condition, known := conditions[name]
		require.True(t, known, "%s has no rule here", name)
		codes[code] = name
		s := purchase()
		condition.change(&s.coupon.Conditions)
		condition.change(&all.coupon.Conditions)
		require.NoError(t, s.coupon.Validate())
		got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		if diff := cmp.Diff([]coupon.Reason{{Code: code, Params: condition.params}}, got.Decision.Reasons()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	require.Len(t, codes, len(conditions))
	got, err := eligibility.Evaluate(&all.coupon, all.cart, all.question)
	require.NoError(t, err)
	for _, reason := range got.Decision.Reasons() {
		delete(codes, reason.Code)
	}
	require.Empty(t, codes)
}

// A condition on a fact is judged where the cart is, and before that only if the fact is given.
func TestAFactThatIsNotGiven(t *testing.T) {
	t.Parallel()
	s := sound()
	s.coupon.Conditions.Channels = coupon.NewItems("app")
	require.True(t, eligibility.Check(&s.coupon, s.question).Allowed())
	for facts, want := range map[eligibility.Facts]bool{{}: false, {Channel: "web"}: false, {Channel: "App"}: false, {Channel: "app"}: true} {
		s.question.Facts = facts
		got, err := eligibility.Evaluate(&s.coupon, s.cart, s.question)
		require.NoError(t, err)
		require.Equal(t, want, got.Decision.Allowed(), "%+v", facts)
		set, err := eligibility.CheckSet(s.set(), s.cart.Currency, s.question)
		require.NoError(t, err)
		require.Equal(t, want, set[0].Decision.Allowed(), "%+v", facts)
		require.Equal(t, want || facts.IsZero(), eligibility.Check(&s.coupon, s.question).Allowed(), "%+v", facts)
	}
}
