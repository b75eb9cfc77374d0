package couponkit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// TestADueThatWasStored: a host may keep what is due in a queue of its own.
func TestADueThatWasStored(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	s.begin("1")
	_, err := s.Cancel(t.Context(), "1")
	require.NoError(t, err)
	s.now = s.now.Add(time.Hour)
	due, _ := s.due("1")
	s.record(couponkit.Due{Due: due[0].Due, BegunBy: due[0].BegunBy}.Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
	s.uses(c, 0, 0)
}

// TestWhatNobodyAnswersHidesNothing: the list of what is due has no end but the last order.
func TestWhatNobodyAnswersHidesNothing(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	for i := range couponkit.DefaultSweepLimit {
		r := wants(fmt.Sprint("r", i), eligibility.Customer{ID: customerID(i)})
		r.Codes = nil
		_, err := s.Reserve(t.Context(), r)
		require.NoError(t, err)
	}
	s.now = s.now.Add(2 * hold)
	s.reserve("last", ann)
	s.begin("last")
	_, err := s.Cancel(t.Context(), "last")
	require.NoError(t, err)
	s.now = s.now.Add(time.Hour)
	_, told := s.due("")
	require.Len(t, told, couponkit.DefaultSweepLimit+1)
	require.Equal(t, [3]string{"end_payment", "last", ""}, told[couponkit.DefaultSweepLimit])
	for d, err := range s.Due(t.Context(), couponkit.DueOptions{}) {
		require.NoError(t, err)
		require.Equal(t, told[0][1], d.OrderID, "the oldest")
		break
	}
}

// TestARepaymentThatIsOnItsWay is to be asked for each day until it has arrived.
func TestARepaymentThatIsOnItsWay(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.record(paid("1"))
	_, err := s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}})
	require.NoError(t, err)
	due, _ := s.due("1")
	answer := func(d couponkit.Due, state redemption.RepaymentState) {
		s.record(d.Answer(couponkit.Payment{Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{{ID: "re_1", Key: d.Key, Amount: 9_00, State: state}}}))
	}
	answer(due[0], redemption.RepaymentPending)
	for range 2 {
		_, told := s.due("1")
		require.Empty(t, told, "somebody has answered today")
		s.now = s.now.Add(redemption.RepaymentPoll)
		asked, told := s.due("")
		require.Equal(t, [][3]string{{"ask_payment", "1", "pay_1"}}, told)
		require.Equal(t, []any{due[0].Key, due[0].Amount}, []any{asked[0].Key, asked[0].Amount})
		answer(asked[0], redemption.RepaymentPending)
	}
	answer(due[0], redemption.RepaymentSucceeded)
	s.now = s.now.Add(redemption.RepaymentPoll)
	_, told := s.due("")
	require.Empty(t, told)
}

// TestOldNewsPostponesNothing: a host that reads its payments before each look at what is due still returns the money
// of a second attempt. Repeating a fact changes nothing.
func TestOldNewsPostponesNothing(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.record(paid("1"))
	request := couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}}
	_, err := s.In(s.store).Refund(t.Context(), request)
	require.NoError(t, err)
	due, _ := s.due("1")
	failed := paid("1")
	failed.Repayments = []redemption.ReportedRefund{{ID: "re_1", Key: due[0].Key, Amount: due[0].Amount.Minor(), State: redemption.RepaymentFailed}}
	s.record(failed)
	again, err := s.In(s.store).Refund(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentDue, again.Refund.Repayment.State)
	for range 3 {
		s.now = s.now.Add(2 * time.Minute)
		o := s.record(failed)
		require.False(t, o.Changed)
		require.Equal(t, again.Order.Version, o.Order.Version)
		due, _ = s.due("")
		require.Len(t, due, 1)
		require.Equal(t, again.Refund.RepaymentKey(), due[0].Key)
	}
}

// TestAnotherAmountUnderTheKey of a repayment is what was returned. It is flagged, and nothing is paid for it again.
func TestAnotherAmountUnderTheKey(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.record(paid("1"))
	request := couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}}
	_, err := s.In(s.store).Refund(t.Context(), request)
	require.NoError(t, err)
	due, _ := s.due("1")
	report := redemption.ReportedRefund{ID: "re_1", Key: due[0].Key, Amount: 1_00, State: redemption.RepaymentSucceeded}
	for range 2 {
		o := s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{report}}))
		require.Equal(t, couponkit.FlagRefundFailed, o.Flag)
		require.Equal(t, "9.00 EUR were to be returned", o.Order.Refunds[0].Repayment.Failure)
		require.Equal(t, int64(1_00), o.Order.Returned())
		_, err = s.In(s.store).Refund(t.Context(), request)
		require.NoError(t, err)
		_, told := s.due("1")
		require.Empty(t, told)
	}
	report.ID = "re_2" // two workers, and a provider that forgets keys
	o := s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{report}})
	require.Equal(t, int64(2_00), o.Order.Returned())
}

// TestAPaymentThatNobodyAskedFor: an open payment of an order that is over is to be ended, by its ID.
func TestAPaymentThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*till){
		"replaced":  func(s *till) { s.reserve("2", ann) },
		"cancelled": func(s *till) { _, err := s.Cancel(t.Context(), "1"); require.NoError(t, err) },
		"ending":    func(s *till) { s.begin("1"); _, err := s.Cancel(t.Context(), "1"); require.NoError(t, err) },
	} {
		s := newTill(t)
		s.once()
		s.reserve("1", ann)
		end(s)
		for range 2 {
			s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentOpen})
		}
		due, told := s.due("1")
		require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told, name)
		s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
		_, told = s.due("1")
		require.Empty(t, told, name)
		require.Equal(t, redemption.OrderCancelled, s.state("1"), name)
	}
}

// TestNothingFoundIsNoAnswerAboutAPaymentThatIsKnownSince: the payment was created after somebody had asked.
func TestNothingFoundIsNoAnswerAboutAPaymentThatIsKnownSince(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.reserve("2", ann)
	s.now = s.now.Add(time.Hour)
	due, _ := s.due("1")
	s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentOpen})
	s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
	_, told := s.due("1")
	require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told)
}

// TestWhoAsksKnowsThePayment: a payment of a replaced order that is on its way is asked for by its ID.
func TestWhoAsksKnowsThePayment(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.reserve("2", ann)
	s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPending})
	_, told := s.due("1")
	require.Equal(t, [][3]string{{"ask_payment", "1", "pay_1"}}, told)
}

// two pays for two phones of 10.00 EUR each.
func (s *till) two(tax pricing.Tax, paymentFirst bool) {
	s.t.Helper()
	r := wants("1", ann)
	r.Codes = nil
	r.Cart.Lines = append(r.Cart.Lines, r.Cart.Lines[0])
	r.Cart.Lines[1].ID = "2"
	p := paid("1")
	p.Amount, p.Tax = pricing.NewMoney(20_00, pricing.EUR()), tax
	if paymentFirst {
		s.record(p)
	}
	_, err := s.Reserve(s.t.Context(), r)
	require.NoError(s.t, err)
	s.record(p)
}

// one refunds the first phone.
func (s *till) one() redemption.Refund {
	s.t.Helper()
	back := pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 1}}}
	r, err := s.In(s.store).Refund(s.t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: back})
	require.NoError(s.t, err)
	return r.Refund
}

// repaid answers with repayments of the amounts.
func (s *till) repaid(d couponkit.Due, state redemption.RepaymentState, amounts ...int64) couponkit.Outcome {
	p := couponkit.Payment{Status: couponkit.PaymentPaid}
	for _, a := range amounts {
		p.Repayments = append(p.Repayments, redemption.ReportedRefund{ID: "re_" + pricing.EUR().Format(a), Key: d.Key, Amount: a, State: state})
	}
	return s.record(d.Answer(p))
}

// TestTwoRepaymentsUnderOneKey: both count, in any order.
func TestTwoRepaymentsUnderOneKey(t *testing.T) {
	t.Parallel()
	for _, amounts := range [][]int64{{4_00, 10_00}, {10_00, 4_00}} {
		s := newTill(t)
		s.two(pricing.Tax{}, false)
		s.one()
		due, _ := s.due("1")
		require.Equal(t, int64(14_00), s.repaid(due[0], redemption.RepaymentSucceeded, amounts...).Order.Returned(), amounts)
	}
}

// TestAnAskedPaymentThatCanBePaid is to be ended.
func TestAnAskedPaymentThatCanBePaid(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.reserve("2", ann)
	s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPending})
	due, _ := s.due("1")
	s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentOpen}))
	_, told := s.due("1")
	require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told)
}

// unreadableOrder is a store in which one order is damaged.
type unreadableOrder struct {
	store.Store
	id string
}

func (s unreadableOrder) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	if by.ID == s.id {
		return store.Settled{}, &store.UnreadableError{Kind: "order", ID: s.id, Reason: "damaged"}
	}
	return s.Store.Order(ctx, by)
}

// TestAnUnreadableOrderHidesNothing also if another order waits for it.
func TestAnUnreadableOrderHidesNothing(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.show("1")
	s.reserve("2", ann) // waits for 1
	s.now = s.now.Add(time.Second)
	r := wants("3", bob)
	r.Codes = nil
	_, err := s.Reserve(t.Context(), r)
	require.NoError(t, err)
	s.now = s.now.Add(time.Hour)
	damaged, err := couponkit.New(unreadableOrder{s.store, "1"}, couponkit.WithClock(func() time.Time { return s.now }))
	require.NoError(t, err)
	var ids []string
	for d, err := range damaged.Due(t.Context(), couponkit.DueOptions{}) {
		if err == nil {
			ids = append(ids, d.OrderID)
		}
	}
	require.Contains(t, ids, "3")
}

// TestAnUnreadableOrderBesideOneThatIsDue hides nothing.
func TestAnUnreadableOrderBesideOneThatIsDue(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.show("1")
	s.reserve("2", ann)
	s.record(ended("1", "pay_1"))
	s.begin("2")
	s.now = s.now.Add(time.Hour)
	damaged, err := couponkit.New(unreadableOrder{s.store, "1"}, couponkit.WithClock(func() time.Time { return s.now }))
	require.NoError(t, err)
	var ids []string
	for d, err := range damaged.Due(t.Context(), couponkit.DueOptions{OrderID: "2"}) {
		if err == nil {
			ids = append(ids, d.OrderID)
		}
	}
	require.Equal(t, []string{"2"}, ids)
}

// TestARepaymentIsAskedForAfterADay although the money was due for a minute.
func TestARepaymentIsAskedForAfterADay(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.two(pricing.Tax{}, false)
	s.one()
	due, _ := s.due("1")
	s.repaid(due[0], redemption.RepaymentPending, 10_00)
	s.now = s.now.Add(time.Minute)
	_, told := s.due("")
	require.Empty(t, told)
}

// TestDueEndsWithTheContext: any error but that of an unreadable order is the last.
func TestDueEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.show("1")
	s.reserve("2", ann)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, by := range []couponkit.DueOptions{{}, {OrderID: "2"}} {
		var failures []error
		for _, err := range s.Due(ctx, by) {
			failures = append(failures, err)
		}
		require.Len(t, failures, 1)
		require.ErrorIs(t, failures[0], context.Canceled)
	}
}

// TestAHostThatNeverSweeps: after its hold, an order keeps its use, which nobody else gets. The customer's next order takes it,
// a late payment counts, and an answer to what is due frees it.
func TestAHostThatNeverSweeps(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then                func(*till)
		state               redemption.OrderState
		reserved, completed int64
	}{
		"nothing happens":   {func(*till) {}, redemption.OrderOpen, 1, 0},
		"the customer asks": {func(s *till) { s.reserve("2", ann) }, redemption.OrderCancelled, 1, 0},
		"a late payment":    {func(s *till) { require.Empty(s.t, s.record(paid("1")).Flag) }, redemption.OrderPaid, 0, 1},
		"what is due": {func(s *till) {
			due, told := s.due("")
			require.Equal(s.t, [][3]string{{"end_payment", "1", ""}}, told)
			s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentEnded}))
		}, redemption.OrderCancelled, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTill(t)
			c := s.once()
			s.reserve("1", ann)
			s.now = s.now.AddDate(0, 6, 0)
			_, err := s.Reserve(t.Context(), wants("3", bob))
			require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
			test.then(s)
			require.Equal(t, test.state, s.state("1"))
			s.uses(c, test.reserved, test.completed)
			_, err = s.Reserve(t.Context(), wants("3", bob))
			require.Equal(t, test.reserved+test.completed > 0, errors.Is(err, coupon.ErrUsageLimitReached), err)
		})
	}
}
