package couponkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
)

// lapsed is a world with orders whose deadline has passed, half of them with a coupon. The
// processor does not answer for the sessions of the first orders.
func lapsed(t *testing.T, orders, failing int) *world {
	t.Helper()
	w := newWorld(t, couponkit.WithUsers(nil))
	w.create(t, tenOff())
	silent := map[string]bool{}
	for i := range orders {
		r := w.request([]string{"TEN", ""}[i%2])
		r.Customer = eligibility.Customer{ID: customerID(i)}
		if got := w.checkout(t, r); i < failing {
			silent[got.Session.ID] = true
		}
		w.pass(1e6)
	}
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	w.fake.Inject(fakeprocessor.Fault{
		Op: fakeprocessor.GetSession, Kind: fakeprocessor.LostBefore, Times: -1,
		Match: func(c fakeprocessor.Call) bool { return silent[c.SessionID] },
	})
	return w
}

// swept is how many records of each kind a sweep reports.
type swept struct{ Paid, Cancelled, Waiting, Lapsed, Refunded, Repaid, Flagged, Failed int }

func counted(r couponkit.SweepReport) swept {
	return swept{len(r.Paid), len(r.Cancelled), r.Waiting, r.Lapsed, r.Refunded, len(r.Repaid), r.Flagged, r.Failed}
}

// TestASweepHasALimit: so many orders are finished. Orders that fail do not keep others from
// their turn, until ten times the limit have failed.
func TestASweepHasALimit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		orders, failing, limit int
		want                   swept
	}{
		"fewer than the limit":   {2, 0, 3, swept{Cancelled: 2}},
		"more than the limit":    {5, 0, 3, swept{Cancelled: 3}},
		"failures in front":      {5, 2, 2, swept{Cancelled: 2, Failed: 2}},
		"a failure among them":   {5, 1, 2, swept{Cancelled: 2, Failed: 1}},
		"nothing but failures":   {3, 3, 9, swept{Failed: 3}},
		"too many failures":      {14, 12, 1, swept{Failed: 10}},
		"just not too many":      {10, 9, 1, swept{Cancelled: 1, Failed: 9}},
		"more than a page":       {store.MaxPageSize + 20, store.MaxPageSize + 5, 150, swept{Cancelled: 15, Failed: store.MaxPageSize + 5}},
		"a limit below 1 is all": {6, 0, -1, swept{Cancelled: 6}},
		"no limit":               {3, 1, math.MaxInt, swept{Cancelled: 2, Failed: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lapsed(t, tc.orders, tc.failing)
			got, err := w.Sweep(t.Context(), tc.limit)
			if tc.want.Failed > 0 {
				require.ErrorIs(t, err, couponkit.ErrUnavailable)
			} else {
				require.NoError(t, err)
			}
			if diff := cmp.Diff(tc.want, counted(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestASweepAsksTheStoreNoMoreThanItMust: once, unless what failed has taken the turn
// of something that may come behind it.
func TestASweepAsksTheStoreNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ due, failing, limit, want int }{
		"nothing":              {0, 0, 2, 1},
		"all that there is":    {1, 0, 2, 1},
		"just the limit":       {2, 0, 2, 1},
		"more than the limit":  {3, 0, 2, 1},
		"a failure, and less":  {2, 1, 3, 1},
		"failures in a row":    {3, 2, 3, 1},
		"failures, then more":  {4, 2, 2, 2},
		"failures and no more": {2, 2, 2, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := lapsed(t, tc.due, tc.failing), 0
			w.behind(func(call string, effect func() error) error {
				if call == "ListOrders" {
					asked++
				}
				return effect()
			}, couponkit.WithClock(clockOf(w)))
			_, err := w.Sweep(t.Context(), tc.limit)
			if (err != nil) != (tc.failing > 0) {
				t.Errorf("got %v", err)
			}
			if asked != tc.want {
				t.Errorf("the store was asked %d times, want %d", asked, tc.want)
			}
		})
	}
}

// TestASweepTellsWhatItCouldNotFind: an error of either list is told with what was
// done before it.
func TestASweepTellsWhatItCouldNotFind(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]swept{"ListOrders": {}, "ListUses": {Cancelled: 2, Failed: 1}} {
		w := lapsed(t, 3, 1)
		w.behind((&refusal{call: call, err: errDown}).gate, couponkit.WithClock(clockOf(w)))
		got, err := w.Sweep(t.Context(), 0)
		require.ErrorIs(t, err, errDown)
		if diff := cmp.Diff(want, counted(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", call, diff)
		}
	}
}

// TestASweepCountsEachRefundOnce: of points that it gives back itself, and of those
// that the release has given back with it.
func TestASweepCountsEachRefundOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		customer func(w *world, session string) error
		want     swept // but for what is paid
		paid     int
	}{
		"an abandoned session":     {func(*world, string) error { return nil }, swept{Cancelled: 1, Refunded: 1}, 0},
		"a payment that failed":    {failLater, swept{Cancelled: 1, Refunded: 1}, 0},
		"a payment on its way":     {func(w *world, id string) error { return w.fake.PayLater(id) }, swept{Waiting: 1}, 0},
		"a payment that has come":  {func(w *world, id string) error { return w.fake.Pay(id) }, swept{}, 1},
		"a session that is nobody": {nil, swept{Cancelled: 1, Refunded: 1}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exchange(t, w.create(t, forPoints()))
			if tc.customer == nil { // its session was never made
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
				_, err := w.Checkout(t.Context(), w.request("TEN"))
				require.ErrorIs(t, err, couponkit.ErrUnavailable)
			} else {
				require.NoError(t, tc.customer(w, w.checkout(t, w.request("TEN")).Session.ID))
			}
			w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace) // and every event is lost
			w.fake.ForgetCalls()
			got, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			for _, call := range w.fake.Calls() {
				if call.Op == fakeprocessor.ExpireSession {
					t.Error("a session that has ended was to be ended again")
				}
			}
			if diff := cmp.Diff(tc.want, counted(got), cmpopts.IgnoreFields(swept{}, "Paid")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			require.Len(t, got.Paid, tc.paid)
			again, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			if !again.IsZero() {
				t.Errorf("the next sweep: %+v", again)
			}
		})
	}
}

func failLater(w *world, session string) error {
	if err := w.fake.PayLater(session); err != nil {
		return err
	}
	return w.fake.PaymentFails(session)
}

// TestASweepOfOrdersWithoutACoupon: their state follows the session's, also when all
// that is known of a delayed payment is that the processor has forgotten it.
func TestASweepOfOrdersWithoutACoupon(t *testing.T) {
	t.Parallel()
	told := func(w *world, session string) error {
		err := w.fake.PayLater(session)
		w.deliver(w.t)
		return err
	}
	cases := map[string]struct {
		customer  func(w *world, session string) error
		forgotten bool
		want      swept // but for what is paid
		state     redemption.OrderState
	}{
		"abandoned":      {func(*world, string) error { return nil }, false, swept{Cancelled: 1}, redemption.OrderCancelled},
		"paid":           {func(w *world, id string) error { return w.fake.Pay(id) }, false, swept{}, redemption.OrderPaid},
		"payment failed": {failLater, false, swept{Cancelled: 1}, redemption.OrderCancelled},
		"payment on its way": {
			func(w *world, id string) error { return w.fake.PayLater(id) }, false, swept{Waiting: 1}, redemption.OrderAwaitingPayment,
		},
		"payment arrived": {func(w *world, id string) error {
			require.NoError(w.t, told(w, id))
			return w.fake.PaymentArrives(id)
		}, false, swept{}, redemption.OrderPaid},
		"payment forgotten": {told, true, swept{Cancelled: 1}, redemption.OrderCancelled},
		"session forgotten": {
			func(*world, string) error { return nil }, true, swept{Cancelled: 1}, redemption.OrderCancelled,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got := w.checkout(t, w.request(""))
			require.NoError(t, tc.customer(w, got.Session.ID))
			w.pass(couponkit.DefaultPaymentWait)
			if tc.forgotten {
				w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.GetSession, Kind: fakeprocessor.Refuse, Err: processor.ErrNotFound})
			}
			report, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			if diff := cmp.Diff(tc.want, counted(report), cmpopts.IgnoreFields(swept{}, "Paid")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			after := w.order(t, got.Order.ID)
			if after.State != tc.state {
				t.Errorf("the order is %s, want %s", after.State, tc.state)
			}
			var paid []couponkit.Outcome
			if tc.state == redemption.OrderPaid {
				paid = []couponkit.Outcome{{Order: after, Changed: true}}
			}
			if diff := cmp.Diff(paid, report.Paid); diff != "" {
				t.Errorf("paid (-want +got):\n%s", diff)
			}
		})
	}
}

// TestASweepTellsWhatIsPaid as HandleEvent would, flag included, with and without a coupon.
func TestASweepTellsWhatIsPaid(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"TEN", ""} {
		for _, p := range []func(*world) processor.Processor{
			func(w *world) processor.Processor { return w.fake },
			func(w *world) processor.Processor { return charging{w.fake} },
		} {
			w := newWorld(t)
			w.create(t, tenOff())
			got := w.checkout(t, w.request(code))
			require.NoError(t, w.fake.Pay(got.Session.ID))
			w.pass(2 * time.Hour)
			service, err := couponkit.New(w.store, couponkit.WithProcessor(p(w)), couponkit.WithClock(clockOf(w)))
			require.NoError(t, err)
			report, err := service.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.False(t, report.IsZero())
			want, err := w.HandleEvent(t.Context(), w.event(got, processor.Completed, processor.Paid))
			require.NoError(t, err)
			require.False(t, want.Changed, "code %q: the sweep was first", code)
			want.Changed = true
			if _, less := p(w).(charging); less {
				want.Flag = couponkit.FlagAmountMismatch
			}
			if diff := cmp.Diff([]couponkit.Outcome{want}, report.Paid); diff != "" {
				t.Errorf("code %q (-want +got):\n%s", code, diff)
			}
		}
	}
}

// TestALogKeepsNoOrderOfAReport: it has their IDs, and all that was counted.
func TestALogKeepsNoOrderOfAReport(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	report := couponkit.SweepReport{
		Paid: []couponkit.Outcome{
			{Order: redemption.Order{ID: "ord_1", CustomerID: "somebody", Metadata: map[string]string{"note": "private"}}},
			{Order: redemption.Order{ID: "ord_2"}},
		},
		Repaid:    []couponkit.Outcome{{Order: redemption.Order{ID: "ord_3"}}},
		Cancelled: []couponkit.Outcome{{Order: redemption.Order{ID: "ord_4", CustomerID: "somebody"}}}, Waiting: 2, Lapsed: 3, Refunded: 4, Flagged: 5, Failed: 6,
	}
	slog.New(slog.NewJSONHandler(&log, nil)).Info("swept", slog.Any("report", report))
	var line struct{ Report map[string]any }
	require.NoError(t, json.Unmarshal(log.Bytes(), &line))
	if diff := cmp.Diff(map[string]any{
		"paid": []any{"ord_1", "ord_2"}, "cancelled": []any{"ord_4"}, "waiting": 2.0, "lapsed": 3.0, "refunded": 4.0, "repaid": []any{"ord_3"},
		"flagged": 5.0, "failed": 6.0,
	}, line.Report); diff != "" {
		t.Errorf("what is logged (-want +got):\n%s", diff)
	}
}

// TestAReportIsZeroWhenNothingWasFound, and only then.
func TestAReportIsZeroWhenNothingWasFound(t *testing.T) {
	t.Parallel()
	for want, reports := range map[bool][]couponkit.SweepReport{
		true: {{}},
		false: {
			{Paid: make([]couponkit.Outcome, 1)},
			{Cancelled: make([]couponkit.Outcome, 1)},
			{Repaid: make([]couponkit.Outcome, 1)},
			{Waiting: 1},
			{Lapsed: 1},
			{Refunded: 1},
			{Flagged: 1},
			{Failed: 1},
			{Paid: make([]couponkit.Outcome, 1), Cancelled: make([]couponkit.Outcome, 1)},
			{Cancelled: make([]couponkit.Outcome, 1), Waiting: 1},
			{Waiting: 1, Lapsed: 1},
			{Lapsed: 1, Refunded: 1},
			{Refunded: 1, Flagged: 1},
			{Flagged: 1, Failed: 1},
		},
	} {
		for _, report := range reports {
			if got := report.IsZero(); got != want {
				t.Errorf("%+v: got %t", report, got)
			}
		}
	}
}

// TestTheObserverHearsOfEachSettlement, whichever call has found the payment, or that there
// is none, before its event.
func TestTheObserverHearsOfEachSettlement(t *testing.T) {
	t.Parallel()
	sweep := func(w *world) {
		w.pass(2 * time.Hour)
		_, err := w.Sweep(w.t.Context(), 0)
		require.NoError(w.t, err)
	}
	pay := func(w *world, id string) error { return w.fake.Pay(id) }
	leave := func(*world, string) error { return nil }
	for name, test := range map[string]struct {
		code     string
		customer func(w *world, session string) error
		find     func(*world)
	}{
		"a sweep":                              {"TEN", pay, sweep},
		"a sweep without a coupon":             {"", pay, sweep},
		"a sweep, unpaid":                      {"TEN", leave, sweep},
		"a sweep without a coupon, unpaid":     {"", leave, sweep},
		"a sweep, a payment on its way":        {"TEN", func(w *world, id string) error { return w.fake.PayLater(id) }, sweep},
		"another checkout":                     {"TEN", pay, func(w *world) { _, _ = w.Checkout(w.t.Context(), w.request("TEN")) }},
		"another payment link":                 {"TEN", pay, func(w *world) { _, _ = w.PaymentLink(w.t.Context(), w.link("TEN")) }},
		"a cancellation of the points":         {"TEN", pay, func(w *world) { require.ErrorIs(w.t, w.cancel(), redemption.ErrIllegal) }},
		"a cancellation, a payment on its way": {"TEN", func(w *world, id string) error { return w.fake.PayLater(id) }, func(w *world) { require.ErrorIs(w.t, w.cancel(), redemption.ErrIllegal) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, forPoints())
			w.exchange(t, c)
			got := w.checkout(t, w.request(test.code))
			require.NoError(t, test.customer(w, got.Session.ID))
			w.attempts = nil
			test.find(w)
			require.Len(t, w.attempts, 2, "the settlement, then the call")
			want := couponkit.Attempt{
				Operation: couponkit.OpSettle, CouponID: couponOf(got.Order), CustomerID: ann.ID,
				OrderID: got.Order.ID, SessionID: got.Session.ID, At: w.now,
			}
			if diff := cmp.Diff(want, w.attempts[0]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheObserverHearsOfASettlementThatFails, with what is known of it.
func TestTheObserverHearsOfASettlementThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	got := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.Pay(got.Session.ID))
	w.pass(2 * time.Hour)
	w.attempts = nil
	w.behind((&refusal{call: "Apply paid", err: errDown}).gate, couponkit.WithClock(clockOf(w)),
		couponkit.WithObserver(couponkit.ObserverFunc(func(_ context.Context, a couponkit.Attempt) { w.attempts = append(w.attempts, a) })))
	report, err := w.Sweep(t.Context(), 0)
	require.ErrorIs(t, err, errDown)
	if diff := cmp.Diff(couponkit.SweepReport{Failed: 1}, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	require.Len(t, w.attempts, 2, "the settlement, then the sweep")
	require.ErrorIs(t, w.attempts[0].Err, errDown)
	want := couponkit.Attempt{
		Operation: couponkit.OpSettle, CouponID: couponOf(got.Order), CustomerID: ann.ID,
		OrderID: got.Order.ID, SessionID: got.Session.ID, Err: w.attempts[0].Err, At: w.now,
	}
	if diff := cmp.Diff(want, w.attempts[0], cmpopts.EquateErrors()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// link asks for an amount that the coupon has reduced.
func (w *world) link(code string) couponkit.PaymentLinkRequest {
	return couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(10_00, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{Codes: only(code), Customer: ann},
	}
}

// cancel gives up what Ann has exchanged points for.
func (w *world) cancel() error {
	held, err := w.Exchanges(w.t.Context(), ann.ID)
	require.NoError(w.t, err)
	require.Len(w.t, held, 1)
	return w.CancelExchange(w.t.Context(), ann.ID, held[0].ExchangeID)
}

// TestASweepOfAnOrderThatHasNoSession: it was stored, and its session never asked for.
func TestASweepOfAnOrderThatHasNoSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostBefore})
	r := w.request("")
	r.Key = "once"
	_, err := w.Checkout(t.Context(), r)
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	left, err := w.orderByKey("once")
	require.NoError(t, err)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	if diff := cmp.Diff(swept{Cancelled: 1}, counted(report)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	require.Equal(t, redemption.OrderCancelled, w.order(t, left.ID).State)
}

// A host marks its own orders by the outcomes of those that ended.
func TestASweepTellsWhichOrdersEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	r := w.request("TEN")
	r.Metadata = map[string]string{"shopOrder": "7"}
	with := w.checkout(t, r)
	w.pass(time.Second)
	bobs := w.request("")
	bobs.Customer = bob
	without := w.checkout(t, bobs)
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, report.Cancelled, 2)
	for i, checkout := range []couponkit.Checkout{with, without} {
		want, err := w.Order(t.Context(), couponkit.OrderRequest{OrderID: checkout.Order.ID, AnyCustomer: true})
		require.NoError(t, err)
		require.Equal(t, redemption.OrderCancelled, want.Order.State)
		if diff := cmp.Diff(couponkit.Outcome{Order: want.Order, Uses: want.Uses, Changed: true}, report.Cancelled[i]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	require.Equal(t, "7", report.Cancelled[0].Order.Metadata["shopOrder"])
}

// TestCouponsOfSweptReservationsAreFree is what the sweep is for.
func TestCouponsOfSweptReservationsAreFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.MaxUses = coupon.Set(1)
	c := w.create(t, d)
	w.checkout(t, w.request("TEN"))
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	_, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	r := w.request("TEN")
	r.Customer = bob
	got := w.checkout(t, r)
	require.NoError(t, w.handle(t.Context(), w.event(got, processor.Completed, processor.Paid)))
	require.Equal(t, int64(1), w.get(t, c.ID).UsedCount)
}

// unending answers the end of a session with the session as it is: still open.
type unending struct{ *fakeprocessor.Processor }

func (p unending) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	return p.Session(ctx, id)
}

// TestASessionThatStaysOpenKeepsItsPlace: an open session can still be paid.
func TestASessionThatStaysOpenKeepsItsPlace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	late := now // the processor's clock lags behind
	fake := fakeprocessor.New(fakeprocessor.Options{Now: func() time.Time { return late }})
	service, err := couponkit.New(memstore.New(), couponkit.WithProcessor(unending{fake}), couponkit.WithClock(func() time.Time { return now }))
	require.NoError(t, err)
	_, err = service.Create(t.Context(), tenOff())
	require.NoError(t, err)
	c, err := service.Checkout(t.Context(), couponkit.CheckoutRequest{Cart: phones(), Codes: []string{"TEN"}, Customer: ann})
	require.NoError(t, err)
	now = now.Add(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	report, err := service.Sweep(t.Context(), 0)
	require.NoError(t, fake.Pay(c.Session.ID), "the session was open all the time")
	if len(report.Cancelled) != 0 || report.Failed != 1 || err == nil {
		t.Errorf("the sweep reports %+v and %v, want one that failed", report, err)
	}
}

// TestAReservationThatIsPaidBesideTheSweep has moved on since the sweep has listed it, and
// is told as what it is.
func TestAReservationThatIsPaidBesideTheSweep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, tenOff())
	paid := w.checkout(t, w.request("TEN"))
	w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
	whole := w.Service
	w.behind(func(call string, effect func() error) error {
		if call == "Apply session_expired" {
			_, err := whole.HandleEvent(t.Context(), w.event(paid, processor.Completed, processor.Paid))
			require.NoError(t, err)
		}
		return effect()
	}, couponkit.WithClock(clockOf(w)))
	report, err := w.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, report.Paid, 1)
	require.Equal(t, couponkit.SweepReport{Paid: report.Paid}, report)
	require.EqualValues(t, 1, w.get(t, c.ID).UsedCount)
}

// charging is a processor that has charged a cent less than the order says.
type charging struct{ processor.Processor }

func (p charging) Session(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.Processor.Session(ctx, id)
	s.Total--
	return s, err
}

func (p charging) ExpireSession(ctx context.Context, id string) (processor.Session, error) {
	s, err := p.Processor.ExpireSession(ctx, id)
	s.Total--
	return s, err
}

// TestAPaymentOfAnotherAmountIsFoundWithoutAnEvent: whoever finds it says so.
func TestAPaymentOfAnotherAmountIsFoundWithoutAnEvent(t *testing.T) {
	t.Parallel()
	sweep := func(w *world) {
		w.pass(2 * time.Hour)
		_, err := w.Sweep(w.t.Context(), 0)
		require.NoError(w.t, err)
	}
	for name, test := range map[string]struct {
		code string
		find func(*world)
	}{
		"sweep":                  {"TEN", sweep},
		"sweep without a coupon": {"", sweep},
		"another checkout":       {"TEN", func(w *world) { _, _ = w.Checkout(w.t.Context(), w.request("TEN")) }},
	} {
		for _, p := range []func(*world) processor.Processor{
			func(w *world) processor.Processor { return w.fake },
			func(w *world) processor.Processor { return charging{w.fake} },
		} {
			w := newWorld(t)
			w.create(t, tenOff())
			order := w.checkout(t, w.request(test.code))
			require.NoError(t, w.fake.Pay(order.Session.ID))
			log, charged := &messages{}, p(w)
			service, err := couponkit.New(w.store, couponkit.WithProcessor(charged), couponkit.WithClock(clockOf(w)), couponkit.WithLogger(slog.New(log)))
			require.NoError(t, err)
			w.Service = service
			test.find(w)
			require.Equal(t, redemption.OrderPaid, w.order(t, order.Order.ID).State, name)
			_, less := charged.(charging)
			require.Equal(t, less, slices.Contains(log.lines, "a session charged another amount than its order"), name)
		}
	}
}

// TestASweepCountsWhatIsFlagged, and nothing else.
func TestASweepCountsWhatIsFlagged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(t, tenOff())
	for _, customer := range []eligibility.Customer{ann, bob} {
		for _, code := range []string{"TEN", ""} {
			r := w.request(code)
			r.Customer = customer
			require.NoError(t, w.fake.Pay(w.checkout(t, r).Session.ID))
		}
	}
	w.pass(2 * time.Hour)
	report, err := w.Sweep(t.Context(), 1)
	require.NoError(t, err)
	require.Zero(t, report.Flagged)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(charging{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	report, err = service.Sweep(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, 3, report.Flagged)
}

// TestASweepWithoutAProcessor ends only orders whose payment was never begun. The others keep their uses,
// and their payments stay due.
func TestASweepWithoutAProcessor(t *testing.T) {
	t.Parallel()
	pay := func(status couponkit.PaymentStatus) couponkit.Payment {
		return couponkit.Payment{OrderID: "1", Status: status}
	}
	ten := couponkit.Payment{OrderID: "1", ID: "pay_1", Status: couponkit.PaymentPaid, Amount: pricing.NewMoney(9_00, pricing.EUR())}
	for name, test := range map[string]struct {
		before func(*till)
		want   swept
		kinds  []redemption.DueKind
	}{
		"reserved":             {want: swept{Cancelled: 1}},
		"begun":                {func(s *till) { s.begin("1") }, swept{Waiting: 1}, []redemption.DueKind{redemption.EndPayment}},
		"shown":                {func(s *till) { s.begin("1"); s.attach("1") }, swept{Waiting: 1}, []redemption.DueKind{redemption.EndPayment}},
		"on its way":           {func(s *till) { s.record(pay(couponkit.PaymentPending)) }, swept{Waiting: 1}, []redemption.DueKind{redemption.EndPayment}},
		"cancelled when begun": {func(s *till) { s.begin("1"); _, _ = s.Cancel(t.Context(), "1") }, swept{Waiting: 1}, []redemption.DueKind{redemption.EndPayment}},
		"refunded": {func(s *till) {
			s.record(ten)
			_, _ = s.Refund(t.Context(), couponkit.RefundRequest{OrderID: "1", Key: "k", Returns: pricing.Returns{All: true}})
		}, swept{Waiting: 1}, []redemption.DueKind{redemption.ReturnMoney}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTill(t)
			s.once()
			s.reserve("1", ann)
			if test.before != nil {
				test.before(s)
			}
			s.now = s.now.Add(30 * 24 * time.Hour)
			report, err := s.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, test.want, counted(report))
			due, _ := s.due("")
			require.Len(t, due, len(test.kinds))
			for i, kind := range test.kinds {
				require.Equal(t, kind, due[i].Kind)
			}
			_, err = s.Reserve(t.Context(), wants("2", bob))
			free := test.want.Cancelled == 1 || name == "refunded"
			require.Equal(t, !free, err != nil, "a use is kept as long as its payment may be paid: %v", err)
		})
	}
}

// TestOnlyTheHostEndsItsPayments: a service without a processor cannot know whether a begun payment exists.
func TestOnlyTheHostEndsItsPayments(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	s.once()
	s.reserve("1", ann)
	s.begin("1")
	s.now = s.now.Add(time.Hour)
	o, err := s.CancelCheckout(t.Context(), couponkit.OrderRequest{OrderID: "1", AnyCustomer: true})
	require.ErrorIs(t, err, couponkit.ErrNoProcessor)
	require.Zero(t, o)
	_, err = s.Reserve(t.Context(), wants("2", bob))
	require.ErrorIs(t, err, coupon.ErrUsageLimitReached)
}
