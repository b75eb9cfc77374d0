package redemption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

// claiming returns an open order and a use whose claims count the customer.
func claiming(customer string) (redemption.Order, redemption.Use) {
	o, u := storable()
	o.CustomerID, u.CustomerID = customer, customer
	o.Claims = []eligibility.Claim{{Counter: eligibility.CustomerOrders(customer), Amount: 1, Limit: 1}}
	u.Claims = []eligibility.Claim{
		{Counter: eligibility.CouponUses("cpn_1"), Amount: 1, Limit: 9},
		{Counter: eligibility.CustomerUses("cpn_1", customer), Amount: 1, Limit: 2},
		{Counter: eligibility.CustomerPeriodUses("cpn_1", customer, "DAY", "2026-11-20"), Amount: 1, Limit: 3},
	}
	return o, u
}

// TestLearnedIdentities: a payment claims the counters of identities that it tells of, with the
// limits and in the period of the reservation, each once.
func TestLearnedIdentities(t *testing.T) {
	t.Parallel()
	email, card := eligibility.EmailIdentity("ann@example.org"), eligibility.AliasIdentity("card")
	for _, customer := range []string{"ann", "uses", "period", "cpn_1", "a/b %", eligibility.EmailIdentity("guest@example.org")} {
		o, u := claiming(customer)
		e := event(paid, "cs", 5)
		e.Learned = []string{email, card, email}
		got, uses, err := o.After(e, u)
		require.NoError(t, err)
		want := append(o.Clone().Claims,
			eligibility.Claim{Counter: eligibility.CustomerOrders(email), Amount: 1, Limit: 1},
			eligibility.Claim{Counter: eligibility.CustomerOrders(card), Amount: 1, Limit: 1})
		require.Empty(t, cmp.Diff(want, got.Claims), customer)
		want = append(u.Clone().Claims,
			eligibility.Claim{Counter: eligibility.CustomerUses("cpn_1", email), Amount: 1, Limit: 2},
			eligibility.Claim{Counter: eligibility.CustomerUses("cpn_1", card), Amount: 1, Limit: 2},
			eligibility.Claim{Counter: eligibility.CustomerPeriodUses("cpn_1", email, "DAY", "2026-11-20"), Amount: 1, Limit: 3},
			eligibility.Claim{Counter: eligibility.CustomerPeriodUses("cpn_1", card, "DAY", "2026-11-20"), Amount: 1, Limit: 3})
		require.Empty(t, cmp.Diff(want, uses[0].Claims), customer)
		require.Equal(t, redemption.OrderPaid, got.State)

		again, same, err := got.After(e, uses...)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(got, again), "the event again")
		require.Empty(t, cmp.Diff(uses, same), "the event again")
	}
}

// TestLearnedAfterThePayment: a paid order takes the claims of an identity that is learned later,
// as after a sweep that has found the payment first.
func TestLearnedAfterThePayment(t *testing.T) {
	t.Parallel()
	o, u := claiming("ann")
	o, uses, err := o.After(event(paid, "cs", 5), u)
	require.NoError(t, err)
	e := event(paid, "cs", 9)
	e.Learned = []string{eligibility.AliasIdentity("card")}
	got, grown, err := o.After(e, uses...)
	require.NoError(t, err)
	require.Equal(t, []int64{o.Version + 1, uses[0].Version + 1}, []int64{got.Version, grown[0].Version})
	require.Equal(t, uses[0].CompletedAt, grown[0].CompletedAt)
	require.Equal(t, eligibility.Count{Completed: 1}, redemption.Holdings(got, grown...)[eligibility.CustomerOrders(e.Learned[0])])
	require.Len(t, o.Claims, 1, "the order before the event stays as it was")
}

// TestNothingLearned: an order of nobody, and an order without customers' counters, learn nothing.
func TestNothingLearned(t *testing.T) {
	t.Parallel()
	e := event(paid, "cs", 5)
	e.Learned = []string{eligibility.AliasIdentity("card")}
	for _, claims := range [][]eligibility.Claim{
		nil,
		{{Counter: eligibility.CouponUses("ann"), Amount: 1}, {Counter: eligibility.SharedCounter("uses", "cpn_1", "ann"), Amount: 1}},
		{{Counter: "orders/ann", Amount: 1}, {Counter: eligibility.CustomerCounter("uses", "ann"), Amount: 1}},
		{{Counter: eligibility.CustomerOrders("bob"), Amount: 1}, {Counter: eligibility.CustomerCounter("other", "cpn_1", "ann"), Amount: 1}},
		{{Counter: eligibility.CustomerUses("ann", "bob"), Amount: 1}, {Counter: eligibility.CustomerCounter(), Amount: 1}},
	} {
		o, u := claiming("ann")
		o.Claims, u.Claims = claims, claims
		got, uses, err := o.After(e, u)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff([][]eligibility.Claim{claims, claims}, [][]eligibility.Claim{got.Claims, uses[0].Claims}))
	}
	nobody, u := claiming("")
	got, _, err := nobody.After(e, u)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(nobody.Claims, got.Claims))
}

func TestWhatAnEventMayTell(t *testing.T) {
	t.Parallel()
	card := eligibility.AliasIdentity("card")
	for name, test := range map[string]struct {
		kind    redemption.EventKind
		learned []string
		want    faults
	}{
		"identities":         {paid, []string{card, eligibility.EmailIdentity("a@example.org")}, faults{}},
		"an address":         {paid, []string{card, "ann@example.org"}, faults{"learned[1]": validation.Malformed}},
		"too many":           {paid, make([]string, redemption.MaxLearned+1), faults{"learned": validation.TooLong}},
		"without a payment":  {pending, []string{card}, faults{"learned": validation.NotAllowed}},
		"nothing, unpaid":    {pending, nil, faults{}},
		"an empty identity":  {paid, []string{""}, faults{"learned[0]": validation.Malformed}},
		"the most there are": {paid, []string{card, card, card, card, card, card, card}, faults{}},
	} {
		e := event(test.kind, "cs", 5)
		e.Learned = test.learned
		require.Empty(t, cmp.Diff(test.want, faultsOf(t, e.Validate())), name)
	}
}
