package couponkit_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

// backAt is what the processor has returned of an order's payment, without refunds that failed.
func (w *world) backAt(t *testing.T, o redemption.Order) (sum int64) {
	t.Helper()
	told, err := w.fake.Refunds(t.Context(), o.SessionID)
	require.NoError(t, err)
	for _, r := range told.Refunds {
		if r.Status != processor.RefundFailed {
			sum += r.Amount
		}
	}
	return sum
}

// sold is a paid order without a coupon, of 34.90.
func (w *world) sold(t *testing.T) redemption.Order {
	t.Helper()
	c := w.checkout(t, w.request(""))
	w.pay(t, c)
	return w.order(t, c.Order.ID)
}

func TestRefundReturnsTheMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	o := w.bought(t)
	first := w.refund(t, o, "one", onePhone)
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentSucceeded, Amount: 6_67, Currency: pricing.EUR(), Attempt: 1, ID: "re_000001"}, first.Refund.Repayment)
	require.Equal(t, int64(6_67), w.backAt(t, o))
	require.Equal(t, first.Refund, w.refund(t, o, "one", onePhone).Refund)
	require.Equal(t, int64(6_67), w.backAt(t, o), "a repeated key returns nothing more")
	w.deliver(t)
	require.Empty(t, w.order(t, o.ID).ExternalRefunds, "the events of our own refunds tell nothing new")
	rest := w.refund(t, o, "two", theRest)
	require.Equal(t, o.Quote.Total, w.backAt(t, o))
	require.Equal(t, o.Quote.Total, rest.Order.Returned())
	require.True(t, rest.Order.Deadline.IsZero(), "nothing is left for a sweep")
}

// The host may return the money itself, and has to if the processor makes no refunds.
func TestRefundElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	cash, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: onePhone, Elsewhere: true})
	require.NoError(t, err)
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentElsewhere, Amount: 10_00, Currency: pricing.EUR(), Attempt: 1}, cash.Refund.Repayment)
	require.Equal(t, cash.Refund, w.refund(t, o, "one", onePhone).Refund, "the first call has decided")
	require.Zero(t, w.backAt(t, o))
	require.Equal(t, int64(24_90), w.refund(t, o, "two", theRest).Refund.Repayment.Amount)

	s, err := couponkit.New(w.store, couponkit.WithProcessor(struct{ processor.Processor }{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	other := w.sold(t)
	result, err := s.Refund(t.Context(), couponkit.RefundRequest{OrderID: other.ID, Key: "one", Returns: theRest})
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentElsewhere, result.Refund.Repayment.State)
	require.Zero(t, w.backAt(t, other))
	o2, err := s.HandleEvent(t.Context(), processor.Event{Type: processor.RefundChanged, PaymentID: other.SessionID})
	require.NoError(t, err)
	require.True(t, o2.Order.IsZero())
}

func TestAnOrderOfTotal0ReturnsNoMoney(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := percentOff(100)
	w.create(t, d)
	r := w.request("PERCENT")
	r.Cart.Lines = r.Cart.Lines[:1]
	c := w.checkout(t, r)
	w.pay(t, c)
	result := w.refund(t, w.order(t, c.Order.ID), "one", theRest)
	require.Equal(t, redemption.OrderRefunded, result.Order.State)
	require.True(t, result.Refund.Repayment.IsZero())
	require.Zero(t, w.backAt(t, result.Order))
}

// Whatever is lost between the host, the store and the processor, the customer has the money back
// once in the end.
func TestAnInterruptedRefundConverges(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]func(*world, redemption.Order) error{
		"a repeated call": func(w *world, o redemption.Order) error {
			_, err := w.Refund(w.t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: onePhone})
			return err
		},
		"a sweep": func(w *world, _ redemption.Order) error {
			w.pass(redemption.DueRetry)
			report, err := w.Sweep(w.t.Context(), 10)
			require.Len(w.t, report.Repaid, 1)
			return err
		},
		"a refresh": func(w *world, o redemption.Order) error {
			_, err := w.Refresh(w.t.Context(), couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true})
			return err
		},
	} {
		for _, kind := range []fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter} {
			w := newWorld(t)
			o := w.sold(t)
			fault := w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: kind, Times: -1})
			result, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: onePhone})
			require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
			require.Equal(t, redemption.RepaymentDue, result.Refund.Repayment.State)
			require.Equal(t, redemption.OrderPartlyRefunded, w.order(t, o.ID).State)
			w.pass(redemption.DueRetry)
			_, err = w.Sweep(t.Context(), 10)
			require.ErrorIs(t, err, couponkit.ErrUnavailable, name)
			fault.Remove()
			require.NoError(t, retry(w, o), name)
			repaid := w.order(t, o.ID)
			require.Equal(t, redemption.RepaymentSucceeded, repaid.Refunds[0].Repayment.State, name)
			require.Equal(t, int64(10_00), w.backAt(t, o), name)
			w.deliver(t)
			w.pass(time.Hour)
			report, err := w.Sweep(t.Context(), 10)
			require.NoError(t, err)
			require.True(t, report.IsZero(), name)
			require.Equal(t, repaid, w.order(t, o.ID), name)
		}
	}
}

// A crash between the record and the processor leaves a refund that the sweep finishes.
func TestARefundThatWasOnlyRecorded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	_, err := w.store.Apply(t.Context(), store.Settlement{Event: redemption.Event{
		Kind: redemption.Refunded, At: w.now, OrderID: o.ID, Refund: redemption.RefundRequest{Key: "one", Returns: onePhone},
	}})
	require.NoError(t, err)
	w.pass(redemption.DueRetry - time.Second)
	report, err := w.Sweep(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, report.IsZero(), "the call that has recorded it may still be at work")
	w.pass(time.Second)
	report, err = w.Sweep(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, report.Repaid, 1)
	require.Equal(t, couponkit.FlagNone, report.Repaid[0].Flag)
	require.Equal(t, int64(10_00), w.backAt(t, o))
}

// A refusal is told, stays told, and can be tried again.
func TestARefundThatTheProcessorRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse, Times: 2})
	refused := w.refund(t, o, "one", onePhone)
	require.Equal(t, redemption.RepaymentFailed, refused.Refund.Repayment.State)
	require.NotEmpty(t, refused.Refund.Repayment.Failure)
	require.Equal(t, redemption.OrderPartlyRefunded, refused.Order.State)
	require.Zero(t, refused.Order.Returned())
	require.Equal(t, couponkit.FlagRefundFailed, w.attempts[len(w.attempts)-1].Flag)
	refreshed, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, couponkit.FlagRefundFailed, refreshed.Flag)
	w.pass(time.Hour)
	report, err := w.Sweep(t.Context(), 10)
	require.NoError(t, err)
	require.True(t, report.IsZero(), "no sweep tries what was refused")
	require.Equal(t, 2, w.refund(t, o, "one", onePhone).Refund.Repayment.Attempt)
	again := w.refund(t, o, "one", onePhone)
	require.True(t, again.Replayed)
	require.Equal(t, redemption.Repayment{State: redemption.RepaymentSucceeded, Amount: 10_00, Currency: pricing.EUR(), Attempt: 3, ID: "re_000001"}, again.Refund.Repayment)
	require.Equal(t, int64(10_00), w.backAt(t, o))
}

// A refund may fail after it has succeeded. Its money is then still the customer's.
func TestARefundThatFailsLater(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fakeprocessor.Options{DelayRefunds: true})
	o := w.sold(t)
	pending := w.refund(t, o, "one", onePhone).Refund.Repayment
	require.Equal(t, redemption.RepaymentPending, pending.State)
	require.NoError(t, w.fake.FinishRefund(pending.ID))
	require.Equal(t, couponkit.FlagNone, w.last(t).Flag)
	require.Equal(t, redemption.RepaymentSucceeded, w.order(t, o.ID).Refunds[0].Repayment.State)
	require.NoError(t, w.fake.FailRefund(pending.ID, "account closed"))
	failed := w.last(t)
	require.Equal(t, couponkit.FlagRefundFailed, failed.Flag)
	require.Equal(t, "account closed", failed.Order.Refunds[0].Repayment.Failure)
	require.Zero(t, failed.Order.Returned())
	cash, err := w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: onePhone, Elsewhere: true})
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentElsewhere, cash.Refund.Repayment.State)
	require.NoError(t, w.fake.Repeat(o.SessionID))
	require.Equal(t, couponkit.FlagNone, w.last(t).Flag)
	require.Equal(t, int64(24_90), w.refund(t, o, "two", theRest).Refund.Repayment.Amount)
}

// last is the outcome of the last event that the webhook receives.
func (w *world) last(t *testing.T) couponkit.Outcome {
	t.Helper()
	outcomes := w.deliver(t)
	require.NotEmpty(t, outcomes)
	return outcomes[len(outcomes)-1]
}

// A pending refund whose events are lost is asked about.
func TestASweepAsksAboutPendingRefunds(t *testing.T) {
	t.Parallel()
	w := newWorldOf(t, fakeprocessor.Options{DelayRefunds: true})
	o := w.sold(t)
	pending := w.refund(t, o, "one", onePhone).Refund.Repayment
	sweep := func() couponkit.SweepReport {
		report, err := w.Sweep(t.Context(), 10)
		require.NoError(t, err)
		return report
	}
	w.pass(redemption.DueRetry)
	require.True(t, sweep().IsZero())
	before := len(w.fake.Calls())
	require.True(t, sweep().IsZero())
	require.Len(t, w.fake.Calls(), before, "the next look is a day later")
	require.NoError(t, w.fake.FinishRefund(pending.ID))
	w.pass(redemption.RepaymentPoll)
	require.Len(t, sweep().Repaid, 1)
	require.Equal(t, redemption.RepaymentSucceeded, w.order(t, o.ID).Refunds[0].Repayment.State)
}

// A refund in the dashboard counts against what was paid, and names no units.
func TestARefundByStaff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	id, err := w.fake.RefundByStaff(o.SessionID, 20_00)
	require.NoError(t, err)
	told := w.last(t)
	require.Equal(t, []redemption.ExternalRefund{{ID: id, Currency: pricing.EUR(), Amount: 20_00, State: redemption.RepaymentSucceeded, At: w.now}}, told.Order.ExternalRefunds)
	require.Equal(t, couponkit.FlagExternalRefund, told.Flag)
	require.Equal(t, redemption.OrderPaid, told.Order.State)
	require.True(t, told.Changed)
	require.NoError(t, w.fake.Repeat(o.SessionID))
	require.False(t, w.last(t).Changed)
	require.Equal(t, int64(10_00), w.refund(t, o, "one", onePhone).Refund.Repayment.Amount)
	rest := w.refund(t, o, "two", theRest)
	require.Equal(t, int64(24_90), rest.Refund.Result.Amount, "the units are worth what they are")
	require.Equal(t, int64(4_90), rest.Refund.Repayment.Amount, "and no more goes back than was paid")
	require.Equal(t, o.Quote.Total, w.backAt(t, o))
	require.Equal(t, o.Quote.Total, rest.Order.Returned())
}

// A refund by staff that fails counts no longer; a refresh learns of it without an event. A refund that
// has counted it lacks the money: a person hears of it, and a repeated call returns it.
func TestARefundByStaffThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	id, err := w.fake.RefundByStaff(o.SessionID, o.Quote.Total)
	require.NoError(t, err)
	refresh := func() couponkit.Outcome {
		refreshed, err := w.Refresh(t.Context(), couponkit.OrderRequest{OrderID: o.ID, AnyCustomer: true})
		require.NoError(t, err)
		return refreshed
	}
	all := refresh()
	require.True(t, all.Changed)
	require.Equal(t, couponkit.FlagExternalRefund, all.Flag)
	none := w.refund(t, o, "one", onePhone)
	require.True(t, none.Refund.Repayment.IsZero())
	require.NoError(t, w.fake.FailRefund(id, "lost card"))
	require.Equal(t, couponkit.FlagRefundFailed, refresh().Flag)
	require.Zero(t, w.order(t, o.ID).Returned())
	require.Equal(t, int64(10_00), w.order(t, o.ID).Owed())
	require.Equal(t, int64(10_00), w.refund(t, o, "one", onePhone).Refund.Repayment.Amount)
	require.Equal(t, couponkit.FlagNone, refresh().Flag)
	require.Equal(t, int64(10_00), w.backAt(t, o))
	require.Equal(t, int64(10_00), w.refund(t, o, "one", onePhone).Refund.Repayment.Amount, "it is returned once")
	require.Equal(t, int64(10_00), w.backAt(t, o))
}

// The event of a refund may come before that of the payment.
func TestARefundThatIsToldBeforeThePayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.checkout(t, w.request(""))
	require.NoError(t, w.fake.Pay(c.Session.ID))
	_, err := w.fake.RefundByStaff(c.Session.ID, 5_00)
	require.NoError(t, err)
	for _, d := range slices.Backward(w.fake.Deliveries()) {
		e, err := w.fake.ParseEvent(d.Payload, d.Signature)
		require.NoError(t, err)
		o, err := w.HandleEvent(t.Context(), e)
		require.NoError(t, err)
		require.Equal(t, redemption.OrderPaid, o.Order.State)
		require.Equal(t, couponkit.FlagExternalRefund, o.Flag)
	}
	require.Equal(t, int64(5_00), w.order(t, c.Order.ID).Returned())
}

// gatedRefunder is a processor that makes refunds behind a gate.
type gatedRefunder struct {
	gatedProcessor
	refunder processor.Refunder
}

func (p gatedRefunder) Refund(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
	return through(p.gate, "Refund", func() (processor.Refund, error) { return p.refunder.Refund(ctx, r) })
}

func (p gatedRefunder) Refunds(ctx context.Context, id string) (processor.PaymentRefunds, error) {
	return through(p.gate, "Refunds", func() (processor.PaymentRefunds, error) { return p.refunder.Refunds(ctx, id) })
}

// Whichever call fails, before or after its effect, a recorded refund returns the money, the use and
// the points once in the end.
func TestARefundGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for calls := range 6 {
		for i := range 4 {
			after, repeated := i%2 == 0, i < 2
			t.Run(fmt.Sprintf("%d calls, after %t, repeated %t", calls, after, repeated), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				d := forPoints()
				d.RestoreOnRefund = coupon.RestoreAlways
				c := w.create(t, d)
				balance := w.ledger.Balance(ann.ID)
				w.exchange(t, c)
				o := w.bought(t)
				blow := &fuse{}
				blow.arm(calls, after)
				s, err := couponkit.New(crashingStore(w.store, blow), couponkit.WithProcessor(gatedRefunder{gatedProcessor{w.fake, blow.gate}, w.fake}),
					couponkit.WithClock(clockOf(w)), couponkit.WithPoints(crashingPoints(w.ledger, blow)))
				require.NoError(t, err)
				if _, err := s.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: onePhone}); err != nil {
					require.ErrorIs(t, err, errCrash)
				}
				if repeated || len(w.order(t, o.ID).Refunds) == 0 {
					w.refund(t, o, "one", onePhone)
				}
				w.pass(redemption.DueRetry)
				_, err = w.Sweep(t.Context(), 10)
				require.NoError(t, err)
				w.deliver(t)
				final := w.order(t, o.ID)
				require.Len(t, final.Refunds, 1)
				require.Equal(t, redemption.RepaymentSucceeded, final.Refunds[0].Repayment.State)
				require.Empty(t, final.ExternalRefunds)
				require.Equal(t, int64(6_67), w.backAt(t, o))
				w.held(t, c.ID, 0, 0)
				w.wantBalance(t, balance)
			})
		}
	}
}

// A refund event that cannot be read now comes again; one of a payment of others is acknowledged.
func TestEventsOfRefundsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refunds, Kind: fakeprocessor.LostBefore})
	_, err := w.HandleEvent(t.Context(), processor.Event{Type: processor.RefundChanged, PaymentID: o.SessionID})
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	for _, id := range []string{"", "cs_foreign"} {
		foreign, err := w.HandleEvent(t.Context(), processor.Event{Type: processor.DisputeChanged, PaymentID: id})
		require.NoError(t, err)
		require.True(t, foreign.Order.IsZero())
	}
}

// A dispute is recorded and changes no amount twice, also after a refund.
func TestDisputes(t *testing.T) {
	t.Parallel()
	for won, want := range map[bool]int64{true: 10_00, false: 34_90} {
		w := newWorld(t)
		o := w.sold(t)
		w.refund(t, o, "one", onePhone)
		id, err := w.fake.Dispute(o.SessionID)
		require.NoError(t, err)
		open := w.last(t)
		require.Equal(t, []redemption.Dispute{{ID: id, Amount: 34_90, Currency: pricing.EUR(), State: redemption.DisputeOpen, At: w.now}}, open.Order.Disputes)
		require.Equal(t, couponkit.FlagDisputed, open.Flag)
		require.Equal(t, int64(10_00), open.Order.Returned())
		refused := w.refund(t, o, "two", onePhone)
		require.Equal(t, redemption.RepaymentFailed, refused.Refund.Repayment.State, "the bank decides first")
		require.NoError(t, w.fake.CloseDispute(id, won))
		require.NoError(t, w.fake.Repeat(o.SessionID))
		w.deliver(t)
		closed := w.order(t, o.ID)
		require.Equal(t, want, closed.Returned(), "won: %t", won)
		require.Equal(t, int64(20_00), closed.Refunded().Amount)
		again := w.refund(t, o, "two", onePhone)
		require.Equal(t, min(10_00, 34_90-want), again.Refund.Repayment.Amount, "won: %t", won)
		require.Equal(t, map[bool]int64{true: 20_00, false: 10_00}[won], w.backAt(t, o))
	}
}

// Refunds at once return each unit's money once.
func TestRefundsAtOnce(t *testing.T) {
	t.Parallel()
	fake := fakeprocessor.New(fakeprocessor.Options{})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(fake))
	require.NoError(t, err)
	w := &world{Service: service, fake: fake}
	c := w.checkout(t, couponkit.CheckoutRequest{Cart: phones(), Customer: ann})
	require.NoError(t, fake.Pay(c.Session.ID))
	w.deliver(t)
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = service.Refund(t.Context(), couponkit.RefundRequest{OrderID: c.Order.ID, Key: fmt.Sprint(i / 2), Returns: onePhone})
		})
	}
	wg.Wait()
	refused := 0
	for _, err := range errs {
		if err != nil {
			require.ErrorIs(t, err, validation.ErrInvalid)
			refused++
		}
	}
	require.Equal(t, 6, refused, "six keys want three phones")
	got, err := service.Refresh(t.Context(), couponkit.OrderRequest{OrderID: c.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, int64(30_00), got.Order.Returned())
	require.Equal(t, int64(30_00), w.backAt(t, got.Order))
	require.Empty(t, got.Order.ExternalRefunds)
}

// Whatever happens in whatever order, the processor never returns more than was paid, and the order
// knows what went back.
func TestNeverMoreThanWasPaidGoesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		w := newWorldOf(t, fakeprocessor.Options{DelayRefunds: rapid.Bool().Draw(r, "delayed")})
		o := w.sold(t)
		for i := range rapid.IntRange(1, 8).Draw(r, "steps") {
			switch rapid.SampledFrom([]string{"refund", "staff", "fail", "finish", "lose", "refuse", "sweep", "deliver", "repeat"}).Draw(r, "step") {
			case "refund":
				_, _ = w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: fmt.Sprint(i % 3), Returns: onePhone})
			case "staff":
				_, _ = w.fake.RefundByStaff(o.SessionID, rapid.Int64Range(1, 40_00).Draw(r, "amount"))
			case "fail":
				_ = w.fake.FailRefund(fmt.Sprintf("re_%06d", rapid.IntRange(1, 3).Draw(r, "refund")), "")
			case "finish":
				_ = w.fake.FinishRefund(fmt.Sprintf("re_%06d", rapid.IntRange(1, 3).Draw(r, "refund")))
			case "lose":
				kind := rapid.SampledFrom([]fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter}).Draw(r, "kind")
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: kind})
			case "refuse":
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse})
			case "sweep":
				w.pass(redemption.DueRetry)
				_, _ = w.Sweep(t.Context(), 10)
			case "deliver":
				w.deliver(t)
			case "repeat":
				_ = w.fake.Repeat(o.SessionID)
			}
		}
		w.fake.Heal()
		w.pass(redemption.RepaymentPoll)
		_, err := w.Sweep(t.Context(), 10)
		require.NoError(r, err)
		w.deliver(t)
		final := w.order(t, o.ID)
		require.LessOrEqual(r, w.backAt(t, o), o.Quote.Total)
		require.Equal(r, w.backAt(t, o), final.Returned())
		for _, refund := range final.Refunds {
			require.NotEqual(r, redemption.RepaymentDue, refund.Repayment.State)
		}
	})
}

// A recorded refund has all that a repeated call needs, and names who asked for it first.
func TestARefundIsRepeatedFromItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.sold(t)
	returns := pricing.Returns{Lines: []pricing.LineReturn{{Line: 1, Whole: true}, {Line: 0, Quantity: 2}}}
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.Refund, Kind: fakeprocessor.Refuse})
	_, err := w.Refund(couponkit.WithActor(t.Context(), "clerk"), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: returns})
	require.NoError(t, err)
	made := w.order(t, o.ID).Refunds[0]
	require.Equal(t, "clerk", made.By)
	require.Equal(t, pricing.Returns{Lines: []pricing.LineReturn{{Line: 0, Quantity: 2}, {Line: 1, Whole: true}}}, made.Returns)
	again, err := w.Refund(couponkit.WithActor(t.Context(), "other"), couponkit.RefundRequest{OrderID: o.ID, Key: made.Key, Returns: made.Returns})
	require.NoError(t, err)
	require.Equal(t, redemption.RepaymentSucceeded, again.Refund.Repayment.State)
	require.Equal(t, []any{"clerk", true}, []any{again.Refund.By, again.Replayed})
	for _, other := range []pricing.Returns{{}, theRest, onePhone, {Lines: returns.Lines[:1]}, {Lines: returns.Lines, Shipping: true}} {
		_, err = w.Refund(t.Context(), couponkit.RefundRequest{OrderID: o.ID, Key: "one", Returns: other})
		require.ErrorIs(t, err, store.ErrKeyReused, "%+v", other)
	}
}

// The flag of a stored payment is the first one that applies.
func TestFlagOf(t *testing.T) {
	t.Parallel()
	paid := redemption.Order{Key: "key", State: redemption.OrderPaid}
	unknown := paid
	unknown.Key = ""
	twice := func(returned int64) redemption.Order {
		o := paid
		o.OtherPayments = []redemption.Payment{{Charge: redemption.Charge{Currency: pricing.EUR(), Amount: 9_00, Tax: pricing.Tax{Amount: 1_00}}, Returned: returned}}
		return o
	}
	failed := paid
	failed.Refunds = []redemption.Refund{{Repayment: redemption.Repayment{State: redemption.RepaymentFailed}}}
	failed.Disputes = []redemption.Dispute{{State: redemption.DisputeLost}}
	disputed := paid
	disputed.Disputes = failed.Disputes
	disputed.ExternalRefunds = []redemption.ExternalRefund{{State: redemption.RepaymentPending}}
	won := disputed
	won.Disputes = []redemption.Dispute{{State: redemption.DisputeWon}}
	nothing := won
	nothing.ExternalRefunds = []redemption.ExternalRefund{{State: redemption.RepaymentFailed}}
	over, points := redemption.Use{State: redemption.Completed, OverLimit: true}, redemption.Use{State: redemption.Completed, PointsState: redemption.PointsRefunded}
	in := func(o redemption.Order, state redemption.OrderState) redemption.Order { o.State = state; return o }
	for name, test := range map[string]struct {
		order redemption.Order
		uses  []redemption.Use
		want  couponkit.Flag
	}{
		"unknown":                   {unknown, []redemption.Use{over}, couponkit.FlagUnknownOrder},
		"twice":                     {twice(0), []redemption.Use{over}, couponkit.FlagPaidTwice},
		"twice, partly returned":    {twice(9_99), nil, couponkit.FlagPaidTwice},
		"twice, returned":           {twice(10_00), []redemption.Use{over}, couponkit.FlagOverLimit},
		"paid":                      {paid, []redemption.Use{{State: redemption.Completed}}, couponkit.FlagNone},
		"over limit":                {failed, []redemption.Use{points, over}, couponkit.FlagOverLimit},
		"over limit, refunded":      {in(paid, redemption.OrderRefunded), []redemption.Use{over}, couponkit.FlagOverLimit},
		"points":                    {failed, []redemption.Use{points}, couponkit.FlagPointsRefunded},
		"points back with a refund": {in(paid, redemption.OrderPartlyRefunded), []redemption.Use{points}, couponkit.FlagNone},
		"failed":                    {failed, nil, couponkit.FlagRefundFailed},
		"disputed":                  {disputed, nil, couponkit.FlagDisputed},
		"dispute won":               {won, nil, couponkit.FlagExternalRefund},
		"external refund failed":    {nothing, nil, couponkit.FlagNone},
		"not paid":                  {in(failed, redemption.OrderCancelled), []redemption.Use{over}, couponkit.FlagNone},
	} {
		require.Equal(t, test.want, couponkit.FlagOf(store.Settled{Order: test.order, Uses: test.uses}), name)
	}
}
