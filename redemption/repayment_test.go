package redemption_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/validation"
)

func reported(seconds int, refunds ...redemption.ReportedRefund) redemption.Event {
	return redemption.Event{Kind: redemption.Reported, SessionID: "cs", At: at(seconds), Report: redemption.Report{Refunds: refunds}}
}

func disputed(seconds int, state redemption.DisputeState, amount int64) redemption.Event {
	e := reported(seconds)
	e.Report.Disputes = []redemption.Dispute{{ID: "dp", Amount: amount, State: state}}
	return e
}

// after applies events that have to be allowed.
func after(t *testing.T, o redemption.Order, events ...redemption.Event) redemption.Order {
	t.Helper()
	for _, e := range events {
		require.NoError(t, e.Validate())
		next, _, err := o.After(e)
		require.NoError(t, err)
		o = next
	}
	return o
}

// Reports about one refund may come in any order and however often: the last state wins.
func TestReportsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	paid, _ := paidOrder(t, 3, coupon.RestoreFull)
	start := after(t, paid, refundOf("one", 1, 10))
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentDue, Amount: 500, Currency: pricing.EUR(), Attempt: 1}, start.Refunds[0].Repayment)
	require.Equal(t, at(10).Add(redemption.DueRetry), start.Deadline)
	key := start.Refunds[0].RepaymentKey()
	require.Equal(t, redemption.RefundID("ord", "one")+"_1", key)
	states := []redemption.RepaymentState{redemption.RepaymentPending, redemption.RepaymentSucceeded, redemption.RepaymentFailed}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 42))
		o, last, external := start, redemption.RepaymentDue, redemption.RepaymentNone
		for i := range 1 + r.IntN(6) {
			own, other := states[r.IntN(3)], states[r.IntN(3)]
			before := o
			o = after(t, o, reported(20+i,
				redemption.ReportedRefund{Key: key, ID: "re_1", Amount: 500, State: own},
				redemption.ReportedRefund{ID: "re_2", Amount: 300, State: other}))
			last = max(last, own)
			external = max(external, other)
			require.Equal(t, !redemption.SameMoney(before, o) || !before.Deadline.Equal(o.Deadline), before.Version != o.Version)
		}
		require.Equal(t, last, o.Refunds[0].Repayment.State)
		require.Equal(t, "re_1", o.Refunds[0].Repayment.ID)
		want := int64(0)
		if last != redemption.RepaymentFailed {
			want += 500
		}
		if external != redemption.RepaymentNone {
			require.Len(t, o.ExternalRefunds, 1)
			require.Equal(t, external, o.ExternalRefunds[0].State)
			if external != redemption.RepaymentFailed {
				want += 300
			}
		}
		require.Equal(t, want, o.Returned())
		require.Equal(t, last != redemption.RepaymentPending, o.Deadline.IsZero(), "only what is unfinished is looked at again")
		require.Len(t, o.Refunds, 1)
		require.Equal(t, redemption.OrderPartlyRefunded, o.State)
	}
}

// Old news of an attempt that has failed since does not take money from later refunds.
func TestOldNewsOfAFailedAttempt(t *testing.T) {
	t.Parallel()
	paid, _ := paidOrder(t, 3, coupon.RestoreFull)
	o := after(t, paid, refundOf("one", 1, 10))
	old := redemption.ReportedRefund{Key: o.Refunds[0].RepaymentKey(), ID: "re_1", Amount: 500, State: redemption.RepaymentSucceeded}
	failed := old
	failed.State = redemption.RepaymentFailed
	o = after(t, o, reported(20, failed), refundOf("one", 1, 30))
	require.Equal(t, []string{"re_1"}, o.Refunds[0].FailedIDs)
	require.Equal(t, o, after(t, o, reported(31, old), reported(32, failed)))
	require.Equal(t, int64(500), o.Returned(), "of the new attempt alone")
	require.Zero(t, o.Owed())
	require.Empty(t, o.ExternalRefunds)

	o = after(t, paid, reported(20, redemption.ReportedRefund{ID: "re_2", Amount: 300, State: redemption.RepaymentFailed}),
		reported(21, redemption.ReportedRefund{ID: "re_2", Amount: 300, State: redemption.RepaymentSucceeded}))
	require.Zero(t, o.Returned(), "of staff")
}

// The attempts that have failed are kept by their IDs, the last MaxFailedIDs of each refund.
func TestFailedAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	o, _ := paidOrder(t, 3, coupon.RestoreFull)
	o = after(t, o, refundOf("one", 1, 10), refundOf("two", 1, 11))
	fails := func(o redemption.Order, id string) redemption.Order {
		report := redemption.ReportedRefund{Key: o.Refunds[0].RepaymentKey(), ID: id, Amount: 500, State: redemption.RepaymentFailed}
		return after(t, o, reported(20, report), refundOf("one", 1, 30))
	}
	var want []string
	for i := range redemption.MaxFailedIDs + 2 {
		before, kept := o, slices.Clone(want)
		id := fmt.Sprint("re_", i)
		o = fails(o, id)
		want = append(want, id)
		want = want[max(0, len(want)-redemption.MaxFailedIDs):]
		require.Equal(t, [][]string{want, nil}, [][]string{o.Refunds[0].FailedIDs, o.Refunds[1].FailedIDs})
		fails(before, "re_other")
		require.Equal(t, [][]string{kept, want}, [][]string{before.Refunds[0].FailedIDs, o.Refunds[0].FailedIDs}, "orders share no memory")
	}
	o = fails(o, "") // a refused call: nobody knows its ID
	require.Equal(t, want, o.Refunds[0].FailedIDs)
	clone := o.Clone()
	clone.Refunds[0].FailedIDs[0] = "changed"
	require.Equal(t, want, o.Refunds[0].FailedIDs)
}

// A refund that has counted an external one owes its money again when that fails, but never money that
// a failed repayment owes.
func TestMoneyThatIsOwed(t *testing.T) {
	t.Parallel()
	start, _ := paidOrder(t, 3, coupon.RestoreFull)
	total := start.Quote.Total
	staff := redemption.ReportedRefund{ID: "re_1", Amount: total, State: redemption.RepaymentPending}
	o := after(t, start, reported(10, staff), refundOf("one", 1, 20))
	require.True(t, o.Refunds[0].Repayment.IsZero())
	require.Zero(t, o.Owed())
	require.Equal(t, o.Version, after(t, o, refundOf("one", 1, 21)).Version, "nothing is to be repeated")

	staff.State = redemption.RepaymentFailed
	o = after(t, o, reported(30, staff))
	require.Equal(t, int64(500), o.Owed())
	o = after(t, o, refundOf("two", 1, 40))
	own := redemption.ReportedRefund{Key: o.Refunds[1].RepaymentKey(), State: redemption.RepaymentFailed}
	o = after(t, o, reported(41, own))
	require.Equal(t, int64(1000), o.Owed())
	o = after(t, o, refundOf("one", 1, 50))
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentDue, Amount: 500, Currency: pricing.EUR(), Attempt: 1}, o.Refunds[0].Repayment)
	require.Equal(t, o.Version, after(t, o, refundOf("one", 1, 51)).Version, "what is left is owed by the other refund")
	o = after(t, o, refundOf("two", 1, 60))
	require.Zero(t, o.Owed())
	require.Equal(t, int64(1000), o.Returned())
}

// If the charge is in another currency, each refund returns its part of it, and all return all of it.
func TestRepaymentsInAnotherCurrency(t *testing.T) {
	t.Parallel()
	for _, charged := range []redemption.Charge{
		{Currency: pricing.USD(), Amount: 16_01}, {Currency: pricing.USD(), Amount: 7}, {Currency: pricing.USD(), Amount: 16_00, Tax: pricing.Tax{Amount: 3_20}},
	} {
		o, _ := paidOrder(t, 3, coupon.RestoreFull)
		o.Charge = charged
		for i := range o.Quote.Lines[0].Quantity {
			o = after(t, o, refundOf(fmt.Sprint(i), 1, 20+int(i)))
			refunded := o.Refunded().Amount
			require.Equal(t, (2*charged.Total()*refunded+o.Quote.Total)/(2*o.Quote.Total), o.Returned())
			require.Zero(t, o.Owed())
		}
		require.Equal(t, redemption.OrderRefunded, o.State)
		require.Equal(t, charged.Total(), o.Returned())
		require.Zero(t, o.RefundedTax())
	}
}

// What a report of an earlier attempt tells is not about the current one.
func TestAttemptsOfARepayment(t *testing.T) {
	t.Parallel()
	paid, _ := paidOrder(t, 3, coupon.RestoreFull)
	o := after(t, paid, refundOf("one", 1, 10))
	first := redemption.ReportedRefund{Key: o.Refunds[0].RepaymentKey(), State: redemption.RepaymentFailed, Failure: strings.Repeat("ä", 1000)}
	o = after(t, o, reported(20, first))
	require.Less(t, len(o.Refunds[0].Repayment.Failure), redemption.MaxFailureLength)
	require.Zero(t, o.Returned())
	require.Equal(t, o, after(t, o, reported(21, first)))
	o = after(t, o, refundOf("one", 1, 30))
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentDue, Amount: 500, Currency: pricing.EUR(), Attempt: 2}, o.Refunds[0].Repayment)
	require.Len(t, o.Refunds, 1)
	require.Equal(t, o.Version, after(t, o, reported(31, first), refundOf("one", 1, 32)).Version)
	// The first attempt was made after all: its money counts, as that of others does.
	first.State, first.ID = redemption.RepaymentSucceeded, "re_1"
	o = after(t, o, reported(33, first))
	require.Equal(t, []redemption.ExternalRefund{{ID: "re_1", Currency: pricing.EUR(), State: redemption.RepaymentSucceeded, At: at(33)}}, o.ExternalRefunds)
	require.Equal(t, redemption.RepaymentDue, o.Refunds[0].Repayment.State)

	// A refusal that the processor's own record contradicts was none.
	o = after(t, paid, refundOf("one", 1, 10))
	refusal := redemption.ReportedRefund{Key: o.Refunds[0].RepaymentKey(), State: redemption.RepaymentFailed}
	made := refusal
	made.ID, made.State = "re_1", redemption.RepaymentSucceeded
	o = after(t, o, reported(20, refusal), reported(21, made))
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentSucceeded, Amount: 500, Currency: pricing.EUR(), Attempt: 1, ID: "re_1"}, o.Refunds[0].Repayment)
}

// A dispute is recorded once, is not opened again, and with refunds never counts above what was paid.
func TestDisputesOfAnOrder(t *testing.T) {
	t.Parallel()
	paid, _ := paidOrder(t, 3, coupon.RestoreFull)
	o := after(t, paid, refundOf("one", 1, 10))
	o = after(t, o, disputed(20, redemption.DisputeOpen, 1500))
	require.Equal(t, int64(500), o.Returned())
	lost := after(t, o, disputed(30, redemption.DisputeLost, 1500))
	require.Equal(t, paid.Quote.Total, lost.Returned())
	require.Equal(t, lost, after(t, lost, disputed(31, redemption.DisputeLost, 1500), disputed(32, redemption.DisputeOpen, 1500)))
	require.Equal(t, []redemption.Dispute{{ID: "dp", Amount: 1500, Currency: pricing.EUR(), State: redemption.DisputeLost, At: at(20)}}, lost.Disputes)
	require.True(t, after(t, lost, refundOf("two", 0, 40)).Refunds[1].Repayment.IsZero(), "nothing is left to return")
	require.Equal(t, int64(500), after(t, lost, disputed(33, redemption.DisputeWon, 1500)).Returned())
}

func TestReportsThatAreRefused(t *testing.T) {
	t.Parallel()
	o, _ := paidOrder(t, 1, coupon.RestoreFull)
	for _, state := range []redemption.OrderState{redemption.OrderOpen, redemption.OrderAwaitingPayment, redemption.OrderCancelled} {
		unpaid := o
		unpaid.State = state
		_, _, err := unpaid.After(reported(10))
		require.ErrorIs(t, err, redemption.ErrIllegal, state)
	}
	foreign := reported(10)
	foreign.SessionID = "cs_other"
	_, _, err := o.After(foreign)
	require.ErrorIs(t, err, redemption.ErrOtherSession)

	bad := reported(10, redemption.ReportedRefund{Amount: -1, State: redemption.RepaymentDue})
	bad.SessionID = ""
	bad.Report.Disputes = []redemption.Dispute{{Amount: -1}}
	require.Equal(t, map[string]validation.Code{
		"sessionId":            validation.Required,
		"report.refunds[0].id": validation.Required, "report.refunds[0].state": validation.Unknown, "report.refunds[0].amount": validation.TooSmall,
		"report.disputes[0].id": validation.Required, "report.disputes[0].state": validation.Unknown, "report.disputes[0].amount": validation.TooSmall,
		"orderId": validation.Required,
	}, codesOf(t, bad.Validate()))
	many := reported(10, make([]redemption.ReportedRefund, redemption.MaxReported+1)...)
	require.Equal(t, map[string]validation.Code{"report.refunds": validation.TooLong}, codesOf(t, many.Validate()))
	misplaced := event(lapsed, "cs", 10)
	misplaced.Report.Disputes = bad.Report.Disputes
	require.Equal(t, validation.NotAllowed, codesOf(t, misplaced.Validate())["report"])

	for i := range redemption.MaxReported {
		o = after(t, o, reported(10, redemption.ReportedRefund{ID: fmt.Sprint(i), State: redemption.RepaymentSucceeded}))
	}
	same, _, err := o.After(reported(10, redemption.ReportedRefund{ID: "more", State: redemption.RepaymentSucceeded}))
	require.ErrorIs(t, err, validation.ErrInvalid)
	require.Equal(t, o.Version, same.Version)
}

func TestRepaymentsAsJSON(t *testing.T) {
	t.Parallel()
	for s := redemption.RepaymentNone; s <= redemption.RepaymentFailed; s++ {
		var read redemption.RepaymentState
		require.NoError(t, read.UnmarshalText([]byte(s.String())))
		require.Equal(t, s, read)
	}
	for s := redemption.DisputeOpen; s <= redemption.DisputeLost; s++ {
		var read redemption.DisputeState
		require.NoError(t, read.UnmarshalText([]byte(s.String())))
		require.Equal(t, s, read)
	}
	require.Error(t, new(redemption.RepaymentState).UnmarshalText([]byte("lost")))
	require.Error(t, new(redemption.DisputeState).UnmarshalText(nil))
	o, _ := paidOrder(t, 2, coupon.RestoreFull)
	failed := redemption.ReportedRefund{Key: redemption.RefundID(o.ID, "one") + "_1", ID: "re_0", State: redemption.RepaymentFailed}
	o = after(t, o, refundOf("one", 1, 10), reported(11, failed), refundOf("one", 1, 12))
	o = after(t, o, disputed(20, redemption.DisputeOpen, 7), reported(21, redemption.ReportedRefund{ID: "re", State: redemption.RepaymentPending}))
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.Contains(t, string(text), `"repayment":{"state":"due","currency":"EUR","attempt":2,"amount":"5.00"},"failedIds":["re_0"]`)
	var read redemption.Order
	require.NoError(t, json.Unmarshal(text, &read))
	require.True(t, redemption.SameMoney(o, read))
	require.Equal(t, o.Refunds, read.Refunds)
	clone := o.Clone()
	clone.Disputes[0].State, clone.ExternalRefunds[0].Amount = redemption.DisputeLost, 9
	require.Equal(t, redemption.DisputeOpen, o.Disputes[0].State)
	require.Zero(t, o.ExternalRefunds[0].Amount)
	require.WithinDuration(t, at(21), o.ExternalRefunds[0].At, time.Second)
}

// The key of a repayment depends on the order, on the refund's key and on the attempt alone, and
// processors that take 40 ASCII characters take it.
func TestRepaymentKeys(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", redemption.MaxIDLength/2)
	key := func(orderID, key string, attempt int) string {
		return redemption.Refund{ID: redemption.RefundID(orderID, key), Repayment: redemption.Repayment{Attempt: attempt}}.RepaymentKey()
	}
	seen := map[string]bool{}
	for _, orderID := range []string{"a", "ab", long} {
		for _, name := range []string{"bc", "c", long} {
			for _, attempt := range []int{1, 2, 999_999_999} {
				made := key(orderID, name, attempt)
				require.Equal(t, made, key(orderID, name, attempt))
				require.Regexp(t, "^[a-z0-9_]{1,40}$", made)
				require.False(t, seen[made], "a key of its own")
				seen[made] = true
			}
		}
	}
	require.Equal(t, "rfd_h693vsis0n3qvdpj92deql8jnk_1", key("ord_1", "return-1", 1), "the same on every version of Go")
	paid, _ := paidOrder(t, 3, coupon.RestoreFull)
	for _, o := range []redemption.Order{after(t, paid, refundOf("one", 1, 10)), after(t, paid, refundOf("one", 1, 99))} {
		require.Equal(t, key(o.ID, "one", 1), o.Refunds[0].RepaymentKey(), "when the refund was recorded does not matter")
	}
}
