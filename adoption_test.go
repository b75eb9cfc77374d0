package couponkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/validation"
)

// holding reserves order "1" of ann.
func (w *world) holding(t *testing.T, hold time.Duration) {
	t.Helper()
	r, err := w.Prepare(t.Context(), couponkit.ReserveRequest{OrderID: "1", Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones()}})
	require.NoError(t, err)
	_, err = w.In(w.store).Reserve(t.Context(), r)
	require.NoError(t, err)
}

// openOne opens the session of order "1".
func (w *world) openOne() (couponkit.SessionLink, error) {
	return w.OpenSession(w.t.Context(), "1", couponkit.SessionOptions{})
}

// TestASessionLastsAsTheHold: an order may be held for a day, and its session is opened when the customer comes back.
func TestASessionLastsAsTheHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 24*time.Hour)
	w.pass(2 * time.Hour)
	_, err := w.openOne()
	require.NoError(t, err)
}

// TestASessionWithoutAnAddress is an invalid request, and the order stays open.
func TestASessionWithoutAnAddress(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{NeedsSuccessURL: true})
	w.holding(t, 0)
	_, err := w.openOne()
	require.Equal(t, redemption.OrderOpen, w.order(t, "1").State)
	require.ErrorIs(t, err, validation.ErrInvalid)
}

// betweenReads calls then once, after the first read of an order.
type betweenReads struct {
	store.Store
	then *func()
}

func (s betweenReads) Order(ctx context.Context, by store.OrderKey) (store.Settled, error) {
	o, err := s.Store.Order(ctx, by)
	if f := *s.then; f != nil {
		*s.then = nil
		f()
	}
	return o, err
}

// TestTwoCallersOpenASession: one of them may have created it, and so the order is ending when the other is refused.
func TestTwoCallersOpenASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 0)
	then := func() {
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
		_, err := w.openOne()
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.Refuse})
	}
	second, err := couponkit.New(betweenReads{w.store, &then}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = second.OpenSession(t.Context(), "1", couponkit.SessionOptions{})
	require.ErrorIs(t, err, processor.ErrRejected)
	require.Len(t, w.payable(), 1)
	require.Equal(t, redemption.OrderEnding, w.order(t, "1").State)
}

// TestTwoCallersGetOneSession also with other options.
func TestTwoCallersGetOneSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.holding(t, 0)
	var first couponkit.SessionLink
	then := func() {
		first, _ = w.OpenSession(t.Context(), "1", couponkit.SessionOptions{Email: "ann@example.org"})
	}
	second, err := couponkit.New(betweenReads{w.store, &then}, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	link, err := second.OpenSession(t.Context(), "1", couponkit.SessionOptions{})
	require.NoError(t, err)
	require.Equal(t, first, link)
}

// coupon creates ONE, with a change.
func (s *till) coupon(change func(*coupon.Draft)) {
	d := coupon.Draft{Code: "ONE", Name: "n", DiscountType: pricing.FixedAmount, Amount: coupon.Amounts{"EUR": "1.00"}, StartsAt: "2026-11-01"}
	change(&d)
	_, err := s.Create(s.t.Context(), d)
	require.NoError(s.t, err)
}

// TestWhoHasPaidIsCountedInAnyOrder: the payer of an order has used its coupons, whether it was paid or reserved first.
func TestWhoHasPaidIsCountedInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, paymentFirst := range []bool{false, true} {
		s := newTill(t)
		s.coupon(func(d *coupon.Draft) { d.MaxUsesPerUser = coupon.Set(1) })
		p := paid("1")
		p.Payer = processor.Payer{Email: bob.Email}
		if paymentFirst {
			s.record(p)
		}
		s.reserve("1", ann)
		if !paymentFirst {
			s.record(p)
		}
		_, err := s.Reserve(t.Context(), wants("2", bob))
		require.ErrorIs(t, err, coupon.ErrUserUsageLimitReached, paymentFirst)
	}
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

// TestTaxOfAnOrderThatWasPaidFirst: the lines are known when the payment is told again.
func TestTaxOfAnOrderThatWasPaidFirst(t *testing.T) {
	t.Parallel()
	for _, paymentFirst := range []bool{false, true} {
		s := newTill(t)
		s.two(pricing.Tax{Amount: 2_00, Lines: []pricing.LineTax{{LineID: "1", Amount: 2_00}, {LineID: "2"}}}, paymentFirst)
		require.Equal(t, int64(12_00), s.one().Amount(), paymentFirst)
	}
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

// TestAttachAfterTheWebhook: the deadline is that of the payment, although its ID was known.
func TestAttachAfterTheWebhook(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.record(couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentOpen})
	o, err := s.AttachPayment(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay_1", ExpiresAt: s.now.Add(2 * time.Hour)})
	require.NoError(t, err)
	require.Equal(t, s.now.Add(2*time.Hour+couponkit.DefaultGrace), o.Order.Deadline)
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

// TestTheObserverOfAnAdoptedOrder sees its flag.
func TestTheObserverOfAnAdoptedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.Record(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(1_00, pricing.EUR())})
	require.NoError(t, err)
	w.holding(t, 0) // adopted: amount_mismatch
	require.Equal(t, couponkit.FlagAmountMismatch, w.attempts[len(w.attempts)-1].Flag)
}

// TestAHoldThatNoSessionFits is refused: the processor's session ends a grace period before the hold.
func TestAHoldThatNoSessionFits(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, processor.Abilities{MinSessionLifetime: 30 * time.Minute, MaxSessionLifetime: 24 * time.Hour})
	for hold, fits := range map[time.Duration]bool{
		30*time.Minute + couponkit.DefaultGrace - 1: false, 30*time.Minute + couponkit.DefaultGrace: true,
		24*time.Hour + couponkit.DefaultGrace: true, 24*time.Hour + couponkit.DefaultGrace + 1: false,
	} {
		_, err := w.Reserve(t.Context(), couponkit.ReserveRequest{Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones()}})
		if fits {
			require.NoError(t, err, hold)
			continue
		}
		require.Equal(t, []string{"hold"}, faultyFields(t, err), hold)
	}
	w.holding(t, 0)
	w.pass(50 * time.Minute)
	_, err := w.openOne()
	require.ErrorIs(t, err, couponkit.ErrOrderEnded, "too little of the hold is left")
	require.Equal(t, redemption.OrderOpen, w.order(t, "1").State)
}
