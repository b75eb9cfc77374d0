package redemption_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
