package redemption_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
)

// TestWhatIsDue: what has to be done outside of the store follows from an order and its uses.
func TestWhatIsDue(t *testing.T) {
	t.Parallel()
	const begun = redemption.PaymentBegun
	cancelled := redemption.Event{Kind: redemption.Cancelled, OrderID: "ord", At: at(20)}
	for name, test := range map[string]struct {
		history []redemption.Event
		change  func(*redemption.Order)
		want    []redemption.Due
	}{
		"an open order":      {},
		"a begun payment":    {history: []redemption.Event{event(begun, "", 5)}},
		"an attached one":    {history: []redemption.Event{event(begun, "", 5), event(attached, "cs", 10)}},
		"cancelled, free":    {history: []redemption.Event{cancelled}},
		"cancelled, unknown": {history: []redemption.Event{event(begun, "", 5), cancelled}, want: []redemption.Due{{Kind: redemption.EndPayment}}},
		"cancelled": {
			history: []redemption.Event{event(begun, "", 5), event(attached, "cs", 10), withoutEnd(cancelled, "cs")},
			want:    []redemption.Due{{Kind: redemption.EndPayment, PaymentID: "cs"}},
		},
		"cancelled, and its payment ended": {
			history: []redemption.Event{event(begun, "", 5), event(attached, "cs", 10), withoutEnd(cancelled, "cs"), event(redemption.PaymentEnded, "cs", 30)},
		},
		"somebody must ask": {
			history: []redemption.Event{cancelled}, change: func(o *redemption.Order) { *o = o.Ask(event(pending, "cs", 20)) },
			want: []redemption.Due{{Kind: redemption.AskPayment, PaymentID: "cs"}},
		},
		"cancelled, and a payment that nobody asked for": {
			history: []redemption.Event{cancelled, event(opened, "cs", 30)}, want: []redemption.Due{{Kind: redemption.EndPayment, PaymentID: "cs"}},
		},
		"ending, and the payment has an ID now": {
			history: []redemption.Event{event(begun, "", 5), cancelled, event(opened, "cs", 30)}, want: []redemption.Due{{Kind: redemption.EndPayment, PaymentID: "cs"}},
		},
		"paid in another session": {
			change: func(o *redemption.Order) {
				o.State, o.SessionID, o.BegunAt = redemption.OrderPaid, "cs_other", at(5)
				o.OtherPayments = []redemption.Payment{{SessionID: "cs_other", InsteadOf: "cs"}, {SessionID: "cs_third"}}
			},
			want: []redemption.Due{{Kind: redemption.EndPayment, PaymentID: "cs"}},
		},
		"paid, and a session that nobody knows": {
			change: func(o *redemption.Order) { o.State, o.BegunAt = redemption.OrderPaid, at(5) },
			want:   []redemption.Due{{Kind: redemption.EndPayment}},
		},
		"refunds": {
			change: func(o *redemption.Order) {
				o.State, o.SessionID = redemption.OrderPaid, "cs"
				o.Refunds = []redemption.Refund{
					{ID: "rfd_1", Repayment: redemption.Repayment{State: redemption.RepaymentSucceeded, Amount: 1_00, Currency: pricing.EUR()}},
					{ID: "rfd_2", Repayment: redemption.Repayment{State: redemption.RepaymentDue, Amount: 2_00, Currency: pricing.EUR(), Attempt: 3}},
				}
			},
			want: []redemption.Due{{Kind: redemption.ReturnMoney, PaymentID: "cs", Key: "rfd_2_3", Amount: pricing.NewMoney(2_00, pricing.EUR())}},
		},
	} {
		o, uses := openOrder()
		for _, e := range test.history {
			o, uses = happens(t, o, uses, e)
		}
		if test.change != nil {
			test.change(&o)
		}
		for i := range test.want {
			test.want[i].OrderID, test.want[i].OrderVersion, test.want[i].Since = o.ID, o.Version, o.UpdatedAt
		}
		require.Empty(t, cmp.Diff(test.want, o.Due(), cmpopts.EquateComparable(pricing.Money{})), name)
	}
	o, uses := openOrder()
	require.Empty(t, o.Due(uses...))
	o, uses = happens(t, o, uses, cancelled)
	require.Empty(t, cmp.Diff([]redemption.Due{
		{Kind: redemption.ReturnPoints, OrderID: "ord", OrderVersion: o.Version, Since: at(20), Key: "x", UseID: "use_b"},
	}, o.Due(uses...), cmpopts.EquateComparable(pricing.Money{})), "points")
}

// withoutEnd is a cancellation of an order while its payment can perhaps be paid.
func withoutEnd(e redemption.Event, sessionID string) redemption.Event {
	e.SessionID = sessionID
	return e
}

// TestThePaymentThatAPaidOrderHadBegun: an order is paid in another session than it has begun, which nobody knows.
// That nothing was found ends it when it can no longer be created.
func TestThePaymentThatAPaidOrderHadBegun(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	o.State, o.SessionID, o.BegunAt, o.Deadline = redemption.OrderPaid, "cs_other", at(5), at(70)
	nothing := event(ended, "", 20)
	o, uses = happens(t, o, uses, nothing)
	require.Len(t, o.Due(), 1, "it may be created right now")
	nothing.BegunBy = at(5)
	o, _ = happens(t, o, uses, nothing)
	require.Empty(t, o.Due())
}

// TestPendingRepayments are asked for under their keys.
func TestPendingRepayments(t *testing.T) {
	t.Parallel()
	o := redemption.Order{ID: "ord", State: redemption.OrderPaid, SessionID: "cs", Refunds: []redemption.Refund{
		{ID: "rfd_1", Repayment: redemption.Repayment{State: redemption.RepaymentDue, Amount: 1_00, Currency: pricing.EUR(), Attempt: 1}},
		{ID: "rfd_2", Repayment: redemption.Repayment{State: redemption.RepaymentPending, Amount: 2_00, Currency: pricing.EUR(), Attempt: 1}},
	}}
	require.Equal(t, []redemption.Due{{Kind: redemption.AskPayment, OrderID: "ord", PaymentID: "cs", Key: "rfd_2_1", Amount: pricing.NewMoney(2_00, pricing.EUR())}}, o.PendingRepayments())
}

// TestConcerns: an order is found by its own sessions, and by any session while it has none.
func TestConcerns(t *testing.T) {
	t.Parallel()
	o, uses := openOrder()
	require.True(t, o.Concerns("cs"))
	o, _ = happens(t, o, uses, event(attached, "cs", 10))
	require.Equal(t, []bool{true, true, false}, []bool{o.Concerns(""), o.Concerns("cs"), o.Concerns("cs_other")})
	o.State, o.SessionID, o.BegunAt = redemption.OrderPaid, "cs_other", at(5)
	o.OtherPayments = []redemption.Payment{{SessionID: "cs_other", InsteadOf: "cs"}}
	require.Equal(t, []bool{true, true, false}, []bool{o.Concerns("cs"), o.Concerns("cs_other"), o.Concerns("cs_third")})
}

func TestNamesOfWhatIsDue(t *testing.T) {
	t.Parallel()
	for kind, name := range map[redemption.DueKind]string{
		redemption.EndPayment: "end_payment", redemption.AskPayment: "ask_payment", redemption.ReturnMoney: "return_money", redemption.ReturnPoints: "return_points",
		0: "", redemption.ReturnPoints + 1: "",
	} {
		text, err := kind.MarshalText()
		require.NoError(t, err)
		require.Equal(t, []string{name, name}, []string{kind.String(), string(text)})
	}
}

// TestIDsOfTheHost: an ID of an order is short text without NUL, and may be left out.
func TestIDsOfTheHost(t *testing.T) {
	t.Parallel()
	for id, fine := range map[string]bool{
		"": true, "1001": true, strings.Repeat("x", redemption.MaxIDLength): true,
		strings.Repeat("x", redemption.MaxIDLength+1): false, "a\x00b": false, "\xff": false,
	} {
		require.Equal(t, fine, redemption.CheckOrderID(id) == nil, "%q", id)
	}
}
