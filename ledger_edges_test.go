package couponkit_test

import (
	"context"
	"strings"
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
)

// free is a request without a coupon.
func free(id string) couponkit.ReserveRequest { r := wants(id, ann); r.Codes = nil; return r }

func ended(id, payment string) couponkit.Payment {
	return couponkit.Payment{OrderID: id, ID: payment, Status: couponkit.PaymentEnded}
}

func (s *till) order(id string) redemption.Order {
	s.t.Helper()
	found, err := s.store.Order(s.t.Context(), store.OrderKey{ID: id})
	require.NoError(s.t, err)
	return found.Order
}

// TestBothPaymentsOfAnOrderArePaid: the end of the first is due for ever.
func TestBothPaymentsOfAnOrderArePaid(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.attach("1")
	other := paid("1")
	other.ID = "pay_other"
	s.record(other)
	due, told := s.due("1")
	require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told)
	o := s.record(due[0].Answer(paid("1"))) // the customer was faster
	require.Equal(t, couponkit.FlagPaidTwice, o.Flag)
	_, told = s.due("1")
	require.Empty(t, told, "it was answered: it is paid")
}

// TestBothSessionsArePaid is the same with a processor.
func TestNoPaymentOfAPaidOrder(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.attach("1")
	other := paid("1")
	other.ID = "pay_other"
	s.record(other)
	s.now = s.now.Add(time.Hour)
	due, told := s.due("1")
	require.Equal(t, [][3]string{{"end_payment", "1", "pay_1"}}, told)
	s.record(due[0].Answer(couponkit.Payment{Status: couponkit.PaymentEnded})) // "If the provider has no payment, record PaymentEnded without an ID"
	_, told = s.due("1")
	require.Empty(t, told)
}

// TestASecondPaymentOfAnOrderThatWasPaidWithoutAnID is swallowed.
func TestASecondPaymentAfterOneWithoutID(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	first := paid("1")
	first.ID = ""
	s.record(first)
	s.record(paid("1")) // the provider's webhook names it
	second := paid("1")
	second.ID = "pay_second"
	o := s.record(second)
	require.Equal(t, couponkit.FlagPaidTwice, o.Flag)
	found, err := s.store.Order(t.Context(), store.OrderKey{SessionID: "pay_1"})
	require.NoError(t, err, "a paid payment that no order knows")
	require.Equal(t, "1", found.Order.ID)
}

// TestTheMoneyOfAnOrderThatWasPaidWithoutAnID is due for ever.
func TestMoneyOfAnOrderPaidWithoutID(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	first := paid("1")
	first.ID = ""
	s.record(first)
	_, err := s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}})
	require.NoError(t, err)
	due, told := s.due("1")
	require.Equal(t, [][3]string{{"return_money", "1", ""}}, told)
	_, err = s.Record(t.Context(), due[0].Answer(couponkit.Payment{Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{{
		ID: "re_1", Key: due[0].Key, Amount: 9_00, State: redemption.RepaymentSucceeded,
	}}}))
	require.NoError(t, err)
	_, told = s.due("1")
	require.Empty(t, told)
}

// TestAFreeOrder: "For an order of 0, record a payment at once" (Reserve).
func TestAFreeOrder(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	r := free("1")
	r.Cart.Lines[0].UnitPrice = 0
	_, err := s.Reserve(t.Context(), r)
	require.NoError(t, err)
	o := s.record(couponkit.Payment{OrderID: "1", Status: couponkit.PaymentPaid})
	require.Equal(t, redemption.OrderPaid, o.Order.State)
	require.Equal(t, couponkit.FlagNone, o.Flag)
}

// TestHalfWritten: bad input writes nothing, and names the caller's field.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	p := paid("1")
	p.Repayments = []redemption.ReportedRefund{{ID: "re_1", Amount: -1, State: redemption.RepaymentSucceeded}}
	_, err := s.Record(t.Context(), p)
	require.Equal(t, []string{"repayments[0].amount"}, faultyFields(t, err))
	require.Equal(t, redemption.OrderOpen, s.state("1"), "half-written")
}

// TestReserveAfterTheHold: "If Reserve returns no error, the order can be paid".
func TestReserveAfterTheHold(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.now = s.now.Add(hold)
	_, err := s.Reserve(t.Context(), wants("1", ann))
	_, begin := s.BeginPayment(t.Context(), "1")
	require.ErrorIs(t, begin, couponkit.ErrOrderEnded)
	require.ErrorIs(t, err, couponkit.ErrOrderEnded)
}

// TestAKeyWithAnotherOrderID gives the host an order that is not the one it has asked for.
func TestAKeyWithAnotherOrderID(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	r := wants("1", ann)
	r.Key = "cart"
	_, err := s.Reserve(t.Context(), r)
	require.NoError(t, err)
	r.OrderID = "2"
	got, err := s.Reserve(t.Context(), r)
	t.Log(got.Order.ID, err)
	require.ErrorIs(t, err, store.ErrKeyReused)
}

// TestHolds of odd lengths.
func TestHolds(t *testing.T) {
	t.Parallel()
	for _, h := range []time.Duration{couponkit.MinHold, couponkit.MinHold + 1500, couponkit.MaxHold, 0} {
		s := newTill(t)
		s.once()
		r := wants("1", ann)
		r.Hold = h
		got, err := s.Reserve(t.Context(), r)
		require.NoError(t, err, h)
		require.Equal(t, s.order("1").Deadline, got.Order.Deadline, h)
		require.Equal(t, got.Order.Deadline, coupon.Instant(got.Order.Deadline), h)
		again, err := s.Reserve(t.Context(), wants("1", ann))
		require.NoError(t, err, h)
		require.Equal(t, got.Order.Deadline, again.Order.Deadline)
	}
}

// TestEndingBeforeALatePayment: A pays late while its replacement is ending.
func TestALatePaymentWhileTheReplacementIsEnding(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.attach("1")
	s.reserve("2", ann)
	s.record(ended("1", "pay_1"))
	s.begin("2")
	s.attach("2")
	_, err := s.Cancel(t.Context(), "2")
	require.NoError(t, err)
	o := s.record(paid("1"))
	s.uses(c, 0, 1)
	require.Equal(t, couponkit.FlagNone, o.Flag, "one use, and one payment")
}

// TestAttachWithoutBegin of an order that waits.
func TestAttachWithoutBegin(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.attach("1")
	s.reserve("2", ann)
	_, err := s.AttachPayment(t.Context(), couponkit.Payment{OrderID: "2", ID: "pay_2"})
	t.Log(err)
	require.ErrorIs(t, err, couponkit.ErrPaymentOpen)
}

// TestPointsOfAReplacedOrder: Due "for one order and for the orders that it replaced and ended".
func TestPointsOfAReplacedOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, grouped(forPoints(), "TEN", "amount"))
	d := grouped(percentOff(10), "PERCENT", "percent")
	d.MaxUses = coupon.Set(1)
	w.create(t, d)
	w.exchange(t, c)
	reserve := func(id string, codes ...string) couponkit.Reserved {
		r, err := w.Reserve(t.Context(), couponkit.ReserveRequest{OrderID: id, Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones(), Codes: codes}})
		require.NoError(t, err)
		return r
	}
	both := reserve("1", "TEN", "PERCENT")
	t.Log(len(both.Uses))
	one := reserve("2", "PERCENT")
	require.Equal(t, "1", one.Ended[0].ID)
	w.wantBalance(t, 40)
	due, err := w.Due(t.Context(), couponkit.DueOptions{OrderID: "2"})
	require.NoError(t, err)
	require.NotEmpty(t, due, "the points of order 1")
	require.NoError(t, w.RunDue(t.Context(), "2"))
	w.wantBalance(t, 100)
}

// TestLongIDs and other odd payments.
func TestOddPayments(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	long := paid("1")
	long.ID = strings.Repeat("x", 256)
	_, err := s.Record(t.Context(), long)
	require.Equal(t, []string{"id"}, faultyFields(t, err))
	_, err = s.AttachPayment(t.Context(), couponkit.Payment{OrderID: "1", ID: "pay_1", URL: strings.Repeat("x", 10_001)})
	t.Log(err)
	require.Equal(t, []string{"url"}, faultyFields(t, err))
}

// TestHugeAmounts of an order that nobody knows are refundable.
func TestHugeAmounts(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	for id, amount := range map[string]int64{"a": 1, "b": 10_000_000_00, "c": 1 << 53, "d": 1<<63 - 1} {
		o := s.record(couponkit.Payment{
			OrderID: id, ID: "pay_" + id, Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(amount, pricing.EUR()),
			Tax: pricing.Tax{Amount: amount / 10, Lines: []pricing.LineTax{{LineID: "z", Amount: amount / 10}}},
		})
		t.Log(id, o.Flag, o.Order.Quote.Total)
		r, err := s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: id, Key: "k", Returns: pricing.Returns{All: true}})
		require.NoError(t, err, id)
		t.Log(r.Refund.Amount(), r.Refund.Repayment.Amount)
	}
}

// TestRunDueTellsOfAFailure: ErrUnavailable means that the processor did not answer.
func TestRunDueTellsOfAFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	require.NoError(t, w.handle(t.Context(), processor.Event{
		ID: "evt_other", Type: processor.Completed, SessionID: "cs_other", PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	}))
	due, err := w.Due(t.Context(), couponkit.DueOptions{OrderID: c.Order.ID})
	require.NoError(t, err)
	require.Len(t, due, 1)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore})
	require.ErrorIs(t, w.RunDue(t.Context(), c.Order.ID), couponkit.ErrUnavailable)
}

// TestBothSessionsArePaid: Sweep asks about it every minute, for ever.
func TestBothSessionsArePaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(c.Session.ID))
	require.NoError(t, w.handle(t.Context(), processor.Event{
		ID: "evt_other", Type: processor.Completed, SessionID: "cs_other", PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	}))
	w.pass(time.Hour)
	_, err := w.Sweep(t.Context(), 0)
	t.Log(err)
	due, err := w.Due(t.Context(), couponkit.DueOptions{OrderID: c.Order.ID})
	require.NoError(t, err)
	require.Empty(t, due)
}

// TestPreparedForAnother customer.
func TestPreparedForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := couponkit.ReserveRequest{OrderID: "1", Hold: hold, QuoteRequest: couponkit.QuoteRequest{Customer: ann, Cart: phones(), Codes: []string{"TEN"}}}
	prepared, err := w.Prepare(t.Context(), r)
	require.NoError(t, err)
	prepared.Customer, prepared.OrderID = bob, "2"
	got, err := w.Reserve(t.Context(), prepared)
	if err == nil {
		require.Equal(t, bob.ID, got.Order.CustomerID)
	}
}

// dry records nothing, as a transaction that is rolled back.
type dry struct{ store.Store }

func (dry) Apply(_ context.Context, s store.Settlement) (store.Settled, error) {
	return store.Settled{Order: redemption.Order{ID: s.Event.OrderID, State: redemption.OrderPaid}, Changed: true}, nil
}

// TestARecorderWhoseRepetitionFails and that returns no error has recorded nothing.
func TestARecorderWhoseRepetitionFails(t *testing.T) {
	t.Parallel()
	var w *world
	w = newWorld(t, couponkit.WithRecorder(func(ctx context.Context, p couponkit.Payment) error {
		_, err := w.In(dry{w.store}).Record(ctx, p)
		require.NoError(t, err)
		_, err = w.In(closed{w.store}).Record(ctx, p)
		require.ErrorIs(t, err, store.ErrClosed)
		return nil
	}))
	w.create(t, tenOff())
	c := w.checkout(t, w.request("TEN"))
	err := w.handle(t.Context(), processor.Event{
		ID: "evt_1", Type: processor.Completed, SessionID: c.Session.ID, PaymentStatus: processor.Paid, Currency: pricing.EUR(), Total: c.Order.Quote.Total,
		Metadata: map[string]string{processor.MetadataOrderID: c.Order.ID}, CreatedAt: w.now,
	})
	require.ErrorContains(t, err, "has not recorded")
}

// TestADueThatWasStored: a host that keeps what is due in a queue of its own has only the exported fields.
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
	require.Equal(t, redemption.OrderCancelled, s.state("1"))
	s.uses(c, 0, 0)
}

// TestWhatHidesWhatIsDue: repayments on their way are listed, tell nothing, and hide everything after them.
func TestWhatHidesWhatIsDue(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	for i := range couponkit.DefaultSweepLimit {
		id := "r" + strings.Repeat("x", i%7) + time.Duration(i).String()
		r := free(id)
		r.Customer.ID, r.Customer.Email = "customer"+id, ""
		_, err := s.Reserve(t.Context(), r)
		require.NoError(t, err)
		p := paid(id)
		p.Amount = pricing.NewMoney(10_00, pricing.EUR())
		s.record(p)
		_, err = s.In(s.store).Refund(t.Context(), couponkit.RefundRequest{OrderID: id, Key: "k", Returns: pricing.Returns{All: true}})
		require.NoError(t, err)
		s.record(couponkit.Payment{OrderID: id, ID: p.ID, Status: couponkit.PaymentPaid, Repayments: []redemption.ReportedRefund{{
			ID: "re_" + id, Key: s.order(id).Refunds[0].RepaymentKey(), Amount: 10_00, State: redemption.RepaymentPending,
		}}})
	}
	s.now = s.now.Add(30 * 24 * time.Hour)
	s.reserve("1", ann)
	s.begin("1")
	_, err := s.Cancel(t.Context(), "1")
	require.NoError(t, err)
	s.now = s.now.Add(time.Hour)
	_, told := s.due("")
	require.Equal(t, [][3]string{{"end_payment", "1", ""}}, told)
	s.uses(c, 1, 0)
}

// TestAnOrderHasOnePayment: with the end of its payment, the order ends. So no later payment is taken for an
// earlier one, and none is forgotten.
func TestAnOrderHasOnePayment(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	c := s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.record(ended("1", "pay_0")) // such as the end of a payment that another call has created
	require.False(t, s.order("1").BegunAt.IsZero())
	s.attach("1")
	for range 2 {
		require.Equal(t, redemption.OrderCancelled, s.record(ended("1", "pay_1")).Order.State)
		s.uses(c, 0, 0)
		_, err := s.BeginPayment(t.Context(), "1")
		require.ErrorIs(t, err, couponkit.ErrOrderEnded)
	}
	require.Equal(t, redemption.OrderPaid, s.record(paid("1")).Order.State, "paid after all")
}

// TestRunDueOfAWaitingOrder whose hold is over: the payment that it waits for is ended, and then the order.
func TestRunDueOfAWaitingOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	first := w.checkout(t, w.again("first"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
	_, err := w.Checkout(t.Context(), w.again("second"))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	second, err := w.orderByKey("second")
	require.NoError(t, err)
	require.Equal(t, first.Order.ID, second.Awaits)
	w.pass(100 * time.Hour)
	require.NoError(t, w.RunDue(t.Context(), second.ID))
	require.Equal(t, redemption.OrderCancelled, w.order(t, second.ID).State)
	w.held(t, c.ID, 0, 0)
}
