package redemption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// A second payment is recorded once. The order counts as paid twice until all of it was returned, and
// again if such a refund fails.
func TestASecondPaymentUntilItIsReturned(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	charge := redemption.Charge{Currency: pricing.EUR(), Amount: 18_00}
	o := redemption.Order{ID: "ord_1", CustomerID: "ann", State: redemption.OrderPaid, SessionID: "cs_1", Charge: charge, CreatedAt: noon}
	after := func(e redemption.Event) {
		t.Helper()
		e.OrderID, e.SessionID, e.At = o.ID, "cs_2", noon
		next, _, err := o.After(e)
		require.NoError(t, err)
		o = next
	}
	reported := func(state redemption.RepaymentState, lost int64) {
		t.Helper()
		after(redemption.Event{Kind: redemption.Reported, Report: redemption.Report{
			Refunds:  []redemption.ReportedRefund{{ID: "re_1", Amount: 17_00, State: state}},
			Disputes: []redemption.Dispute{{ID: "dp_1", Amount: lost, State: redemption.DisputeLost}},
		}})
	}
	for range 2 {
		after(redemption.Event{Kind: redemption.Paid, Charge: charge})
	}
	require.Len(t, o.OtherPayments, 1)
	require.True(t, o.PaidTwice())
	reported(redemption.RepaymentSucceeded, 0)
	require.True(t, o.PaidTwice())
	reported(redemption.RepaymentSucceeded, 5_00)
	require.False(t, o.PaidTwice())
	require.EqualValues(t, 18_00, o.OtherPayments[0].Returned)
	reported(redemption.RepaymentFailed, 0)
	require.Zero(t, o.OtherPayments[0].Returned)
	require.True(t, o.PaidTwice())

	_, _, err := o.After(redemption.Event{Kind: redemption.Reported, OrderID: o.ID, SessionID: "cs_3", At: noon})
	require.ErrorIs(t, err, redemption.ErrOtherSession)
}

// TestAnAdoptedOrder keeps its payment, what is known of it, and the claims of who has paid.
func TestAnAdoptedOrder(t *testing.T) {
	t.Parallel()
	known := redemption.Order{
		ID: "ord", State: redemption.OrderPaid, SessionID: "cs", Charge: redemption.Charge{Currency: pricing.EUR(), Amount: 9_00},
		CreatedAt: at(0), UpdatedAt: at(5), Version: 3, Deadline: at(70),
		Claims:          []eligibility.Claim{{Counter: "orders", Amount: 1}, {Counter: "payer", Amount: 1}},
		ExternalRefunds: []redemption.ExternalRefund{{ID: "re", Amount: 1, State: redemption.RepaymentSucceeded}},
	}
	o, uses := openOrder()
	o.Key, o.CreatedAt, o.Awaits = "key", at(10), "ord_0"
	got, paid, adopted := o.Adopt(known, false, uses...)
	require.True(t, adopted)
	require.Equal(t, []any{redemption.OrderPaid, "cs", "key", "", int64(4), at(0), at(70), known.Charge, known.ExternalRefunds},
		[]any{got.State, got.SessionID, got.Key, got.Awaits, got.Version, got.CreatedAt, got.Deadline, got.Charge, got.ExternalRefunds})
	require.Equal(t, []string{"orders", "payer"}, []string{got.Claims[0].Counter, got.Claims[1].Counter})
	require.Len(t, got.Claims, 2)
	for i, u := range paid {
		require.Equal(t, []any{redemption.Completed, uses[i].Version, at(10)}, []any{u.State, u.Version, u.CompletedAt})
	}
	for name, change := range map[string]func(*redemption.Order){
		"an open order":         func(k *redemption.Order) { k.State = redemption.OrderOpen },
		"a reserved order":      func(k *redemption.Order) { k.Key = "key" },
		"of another customer":   func(k *redemption.Order) { k.CustomerID = "bob" },
		"a part was refunded":   func(k *redemption.Order) { k.Refunds = []redemption.Refund{{ID: "rfd"}} },
		"it is no order at all": func(k *redemption.Order) { *k = redemption.Order{} },
	} {
		other := known
		change(&other)
		same, _, adopted := o.Adopt(other, false, uses...)
		require.False(t, adopted, name)
		require.Equal(t, o, same, name)
	}
	_, _, adopted = o.Adopt(known, true, uses...)
	require.False(t, adopted, "it has uses")
}
