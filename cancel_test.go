package couponkit_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// annCancels is Ann's request to cancel an order, and to ask about an order.
func annCancels(orderID string) couponkit.OrderRequest {
	return couponkit.OrderRequest{OrderID: orderID, CustomerID: ann.ID}
}

// nothingUnnoticed checks that no session of a cancelled order can be paid, unless the order that
// has replaced it will end the session.
func (w *world) nothingUnnoticed(t *testing.T, when string) {
	t.Helper()
	page, err := w.store.ListOrders(t.Context(), store.OrderList{State: redemption.OrderCancelled, PageSize: store.MaxPageSize})
	require.NoError(t, err)
	payable := w.payable()
	for _, o := range page.Items {
		if o.Order.SessionID != "" && o.Order.ReplacedBy == "" {
			require.NotContains(t, payable, o.Order.SessionID, "%s order %s is cancelled", when, o.Order.ID)
		}
	}
	require.LessOrEqual(t, len(payable), 1, when)
}

// TestCancelCheckout holds contract 5.3: the session is ended, the order is cancelled, and what it
// claimed is free at once. The second call succeeds and asks nobody.
func TestCancelCheckout(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.create(t, draft())
			if c.Distribution == coupon.PointsRedeemable {
				w.exchange(t, c)
			}
			r := w.again("cart")
			first := w.checkout(t, r)
			got, err := w.CancelCheckout(couponkit.WithActor(t.Context(), "ann"), annCancels(first.Order.ID))
			require.NoError(t, err)
			require.True(t, got.Changed)
			require.Equal(t, redemption.OrderCancelled, got.Order.State)
			require.Equal(t, redemption.Released, useOf(t, got.Uses).State)
			require.Empty(t, w.payable())
			w.held(t, c.ID, 0, 0)
			w.wantBalance(t, 100)
			require.ErrorIs(t, w.fake.Pay(first.Session.ID), processor.ErrRejected)

			w.fake.ForgetCalls()
			again, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{Key: "cart", CustomerID: ann.ID})
			require.NoError(t, err)
			got.Changed = false
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("the second call (-first +second):\n%s", diff)
			}
			require.Empty(t, w.fake.Calls())
			for _, o := range w.deliver(t) { // that the session has ended
				require.False(t, o.Changed)
			}
			attempt := w.attempts[len(w.attempts)-2]
			require.Equal(t, couponkit.Attempt{
				Operation: couponkit.OpCancelCheckout, CouponID: c.ID, CustomerID: ann.ID, OrderID: first.Order.ID, SessionID: first.Session.ID, At: w.now,
			}, attempt)
			w.wantCause(t, first.Order.ID, "cancelled", "ann")

			if c.Distribution != coupon.PointsRedeemable {
				other := w.request("TEN")
				other.Customer = bob
				w.checkout(t, other)
			}
		})
	}
}

// wantCause checks the last journal entry of an order.
func (w *world) wantCause(t *testing.T, orderID, cause, by string) {
	t.Helper()
	entries, err := w.store.Journal(t.Context(), 0, store.MaxJournalLimit)
	require.NoError(t, err)
	var last store.Entry
	for _, e := range entries {
		if e.Subject == orderID {
			last = e
		}
	}
	require.Equal(t, store.OrderCancelled, last.Kind)
	require.Equal(t, by, last.By)
	require.Contains(t, string(last.Data), `"cause":"`+cause+`"`)
}

// TestCancelCheckoutFreesEveryClaim: also those that are not uses of the coupon.
func TestCancelCheckoutFreesEveryClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := tenOff()
	d.FirstOrder, d.MaxUsesPerUser = true, coupon.Set(1)
	w.create(t, d)
	first := w.checkout(t, w.request("TEN"))
	_, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	for counter := range redemption.Holdings(first.Order, first.Uses...) {
		counts, err := w.store.Counts(t.Context(), []string{counter})
		require.NoError(t, err)
		require.Equal(t, eligibility.Count{}, counts[0], counter)
	}
	again := w.checkout(t, w.request("TEN"))
	require.Empty(t, again.Order.Replaces)
}

// TestCancelCheckoutOfAnOrderThatIsPaid: the order stays, and the caller is told. If nobody knew
// of the payment before, the outcome tells it.
func TestCancelCheckoutOfAnOrderThatIsPaid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		finish         func(*fakeprocessor.Processor, string) error
		told           bool
		state          redemption.OrderState
		used, reserved int64
	}{
		"paid":                {(*fakeprocessor.Processor).Pay, false, redemption.OrderPaid, 1, 0},
		"paid, known":         {(*fakeprocessor.Processor).Pay, true, redemption.OrderPaid, 1, 0},
		"on its way":          {(*fakeprocessor.Processor).PayLater, false, redemption.OrderAwaitingPayment, 0, 1},
		"on its way, as told": {(*fakeprocessor.Processor).PayLater, true, redemption.OrderAwaitingPayment, 0, 1},
	} {
		w := newWorld(t)
		c := w.create(t, lastUse())
		first := w.checkout(t, w.request("TEN"))
		require.NoError(t, test.finish(w.fake, first.Session.ID))
		if test.told {
			w.deliver(t)
		}
		for i := range 2 {
			got, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
			require.ErrorIs(t, err, couponkit.ErrOrderPaid, name)
			require.ErrorIs(t, err, redemption.ErrIllegal, name)
			require.Equal(t, test.state, got.Order.State, name)
			require.Equal(t, !test.told && i == 0, got.Changed, name)
			require.Len(t, got.Uses, 1, name)
			w.held(t, c.ID, test.used, test.reserved)
		}
		for _, o := range w.deliver(t) {
			require.False(t, o.Changed, name)
		}
	}
}

// TestCancelCheckoutOfAFailedPayment: the processor has told nobody that the delayed payment has
// failed. The order ends.
func TestCancelCheckoutOfAFailedPayment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, lastUse())
	first := w.checkout(t, w.request("TEN"))
	require.NoError(t, w.fake.PayLater(first.Session.ID))
	require.NoError(t, w.fake.PaymentFails(first.Session.ID))
	got, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, got.Order.State)
	w.held(t, c.ID, 0, 0)
}

// TestCancelCheckoutGoesOnAfterAnyFailure: whichever call fails, before or after its effect, a
// cancelled order has no session that can be paid. The same call again, the event of the session
// or the sweep finishes the work.
func TestCancelCheckoutGoesOnAfterAnyFailure(t *testing.T) {
	t.Parallel()
	for name, draft := range handOvers {
		for calls := range 6 {
			for _, after := range []bool{false, true} {
				for _, then := range []string{"again", "event", "sweep"} {
					t.Run(fmt.Sprintf("%s, %d calls, after %t, %s", name, calls, after, then), func(t *testing.T) {
						t.Parallel()
						w, blow, c, first := begun(t, draft())
						blow.arm(calls, after)
						_, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
						if err != nil {
							require.ErrorIs(t, err, errCrash)
						}
						blow.restart()
						w.nothingUnnoticed(t, "after the crash")
						switch then {
						case "again":
							_, err = w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
							require.NoError(t, err)
						case "event":
							_, err = w.fake.ExpireSession(t.Context(), first.Session.ID)
							require.NoError(t, err)
							w.deliver(t)
						}
						w.nothingUnnoticed(t, "after "+then)
						w.pass(couponkit.DefaultSessionLifetime + couponkit.DefaultGrace)
						_, err = w.Sweep(t.Context(), 0)
						require.NoError(t, err)
						require.Equal(t, redemption.OrderCancelled, w.order(t, first.Order.ID).State)
						require.Empty(t, w.payable())
						w.held(t, c.ID, 0, 0)
						w.wantBalance(t, 100)
					})
				}
			}
		}
	}
}

// TestTheCustomerFinishesTheSessionThatIsCancelled at any step of the cancellation, and its event
// is prompt or lost: either the order is cancelled and nothing was paid, or it is the customer's.
func TestTheCustomerFinishesTheSessionThatIsCancelled(t *testing.T) {
	t.Parallel()
	for how, finish := range map[string]func(*fakeprocessor.Processor, string) error{
		"paid": (*fakeprocessor.Processor).Pay, "to be paid later": (*fakeprocessor.Processor).PayLater,
	} {
		for _, prompt := range []bool{false, true} {
			for calls := range 5 {
				t.Run(fmt.Sprintf("%s, event prompt %t, at %d", how, prompt, calls), func(t *testing.T) {
					t.Parallel()
					w, _, c, first := begun(t, lastUse())
					n, finished := 0, false
					step := func(_ string, effect func() error) error {
						if n++; n == calls {
							finished = finish(w.fake, first.Session.ID) == nil
							if prompt {
								w.deliver(t)
							}
						}
						return effect()
					}
					service, err := couponkit.New(gated{w.store, step}, couponkit.WithProcessor(gatedProcessor{w.fake, step}), couponkit.WithClock(clockOf(w)))
					require.NoError(t, err)
					got, err := service.CancelCheckout(t.Context(), annCancels(first.Order.ID))
					w.nothingUnnoticed(t, "after the call")
					if !finished {
						require.NoError(t, err)
						require.Equal(t, redemption.OrderCancelled, got.Order.State)
						w.held(t, c.ID, 0, 0)
						return
					}
					require.ErrorIs(t, err, couponkit.ErrOrderPaid)
					w.finishAndSettle(t, how == "paid", !prompt, first)
					w.held(t, c.ID, 1, 0)
					require.False(t, useOf(t, w.usesOfOrder(t, first.Order.ID)).OverLimit)
				})
			}
		}
	}
}

// TestCancelCheckoutWhileTheProcessorIsDown: the order stays open, and the call says so.
func TestCancelCheckoutWhileTheProcessorIsDown(t *testing.T) {
	t.Parallel()
	for _, fault := range []fakeprocessor.Fault{
		{Kind: fakeprocessor.LostBefore},
		{Kind: fakeprocessor.LostAfter},
		{Kind: fakeprocessor.Refuse},
		{Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden},
	} {
		w, _, c, first := begun(t, lastUse())
		fault.Op, fault.Times = fakeprocessor.ExpireSession, -1
		down := w.fake.Inject(fault)
		for range 2 {
			_, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
			if fault.Kind == fakeprocessor.Refuse {
				require.True(t, errors.Is(err, processor.ErrRejected) || errors.Is(err, processor.ErrForbidden), err)
			} else {
				require.ErrorIs(t, err, couponkit.ErrUnavailable)
			}
			require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
			w.held(t, c.ID, 0, 1)
		}
		down.Remove()
		_, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
		require.NoError(t, err)
		w.held(t, c.ID, 0, 0)
	}
}

// TestCancelCheckoutOfAStubbornSession: a session that stays open cancels nothing.
func TestCancelCheckoutOfAStubbornSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, lastUse())
	first := w.checkout(t, w.request("TEN"))
	service, err := couponkit.New(w.store, couponkit.WithProcessor(stubborn{w.fake}), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	_, err = service.CancelCheckout(t.Context(), annCancels(first.Order.ID))
	require.ErrorIs(t, err, couponkit.ErrUnavailable)
	w.held(t, c.ID, 0, 1)
}

// TestCancelCheckoutOfAForgottenSession: a session that the processor does not have cannot be paid.
func TestCancelCheckoutOfAForgottenSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.create(t, lastUse())
	first := w.checkout(t, w.request("TEN"))
	w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.Refuse, Err: processor.ErrNotFound})
	_, err := w.CancelCheckout(t.Context(), annCancels(first.Order.ID))
	require.NoError(t, err)
	w.held(t, c.ID, 0, 0)
}

// TestCancelCheckoutWithoutASession: the answer of the processor was lost, and the order has no
// session. A session that is found is ended. If none is found, the order keeps its claims until no
// call can create one any more.
func TestCancelCheckoutWithoutASession(t *testing.T) {
	t.Parallel()
	for _, kind := range []fakeprocessor.Kind{fakeprocessor.LostBefore, fakeprocessor.LostAfter} {
		w := newWorld(t)
		c := w.create(t, lastUse())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: kind})
		_, err := w.Checkout(t.Context(), w.again("cart"))
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		got, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{Key: "cart", CustomerID: ann.ID})
		require.NoError(t, err)
		require.Empty(t, w.payable())
		_, err = w.Checkout(t.Context(), w.again("cart"))
		require.ErrorIs(t, err, couponkit.ErrOrderEnded)
		if kind == fakeprocessor.LostBefore {
			require.Equal(t, redemption.OrderEnding, got.Order.State)
			w.held(t, c.ID, 0, 1)
			w.pass(couponkit.DefaultCreateTime)
			report, err := w.Sweep(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, swept{Cancelled: 1}, counted(report))
			got.Order = report.Cancelled[0].Order
		}
		require.Equal(t, redemption.OrderCancelled, got.Order.State)
		w.held(t, c.ID, 0, 0)
	}
}

// TestCancelCheckoutDuringAHandOver: the session of the first order can still be paid, because the
// second order did not get so far. Cancelling either order leaves nothing that can be paid.
func TestCancelCheckoutDuringAHandOver(t *testing.T) {
	t.Parallel()
	for _, cancelled := range []string{"first", "second"} {
		for _, pays := range []bool{false, true} {
			w, _, c, first := begun(t, lastUse())
			w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
			_, err := w.Checkout(t.Context(), w.again("second"))
			require.ErrorIs(t, err, couponkit.ErrUnavailable)
			second, err := w.orderByKey("second")
			require.NoError(t, err)
			require.Equal(t, first.Order.ID, second.Replaces)
			if pays {
				require.NoError(t, w.fake.Pay(first.Session.ID)) // and the event is late
			}
			id := map[string]string{"first": first.Order.ID, "second": second.ID}[cancelled]
			got, err := w.CancelCheckout(t.Context(), annCancels(id))
			require.Empty(t, w.payable())
			switch {
			case !pays && cancelled == "first":
				require.NoError(t, err)
				require.Equal(t, redemption.OrderOpen, w.order(t, second.ID).State)
				w.held(t, c.ID, 0, 1)
				continue
			case !pays:
				require.NoError(t, err)
				w.held(t, c.ID, 0, 0)
				continue
			case cancelled == "first":
				require.ErrorIs(t, err, couponkit.ErrOrderPaid)
				require.True(t, got.Changed)
			default:
				require.NoError(t, err)
				require.Equal(t, redemption.OrderCancelled, got.Order.State)
			}
			require.Equal(t, redemption.OrderPaid, w.order(t, first.Order.ID).State)
			require.Equal(t, redemption.OrderCancelled, w.order(t, second.ID).State)
			w.held(t, c.ID, 1, 0)
			require.False(t, useOf(t, w.usesOfOrder(t, first.Order.ID)).OverLimit)
		}
	}
}

// TestCancelCheckoutOfAnOrderThatAPaymentHasEnded: nobody knew the session of the first order when
// the second replaced it. The first session is paid, and the second cannot be ended at that moment.
// Its order is cancelled and its session open until somebody asks.
func TestCancelCheckoutOfAnOrderThatAPaymentHasEnded(t *testing.T) {
	t.Parallel()
	for _, pays := range []bool{false, true} {
		w, _ := newCrashingWorld(t) // whose processor finds no session by its order
		c := w.create(t, lastUse())
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.CreateSession, Kind: fakeprocessor.LostAfter})
		_, err := w.Checkout(t.Context(), w.request("TEN"))
		require.ErrorIs(t, err, couponkit.ErrUnavailable)
		unknown := w.payable()
		w.pass(couponkit.DefaultCreateTime)
		second := w.checkout(t, w.again("second"))
		require.NotEmpty(t, second.Order.Replaces)
		require.Len(t, unknown, 1)
		require.NoError(t, w.fake.Pay(unknown[0]))
		w.fake.Inject(fakeprocessor.Fault{Op: fakeprocessor.ExpireSession, Kind: fakeprocessor.LostBefore})
		w.deliver(t)
		require.Equal(t, redemption.OrderPaid, w.order(t, second.Order.Replaces).State)
		require.Equal(t, redemption.OrderCancelled, w.order(t, second.Order.ID).State)
		require.Equal(t, []string{second.Session.ID}, w.payable())
		if pays {
			require.NoError(t, w.fake.Pay(second.Session.ID)) // and the event is late
			got, err := w.CancelCheckout(t.Context(), annCancels(second.Order.ID))
			require.ErrorIs(t, err, couponkit.ErrOrderPaid)
			require.Equal(t, []any{redemption.OrderPaid, true}, []any{got.Order.State, got.Changed})
			require.True(t, useOf(t, w.usesOfOrder(t, second.Order.ID)).OverLimit)
			continue
		}
		got, err := w.CancelCheckout(t.Context(), annCancels(second.Order.ID))
		require.NoError(t, err)
		require.Equal(t, []any{redemption.OrderCancelled, true}, []any{got.Order.State, got.Changed}, "the end of its payment is recorded")
		require.Empty(t, w.payable())
		w.held(t, c.ID, 1, 0)
	}
}

// TestCancelCheckoutAtAnyStepOfACheckout: another device cancels the order while the checkout, or
// its hand-over, is under way. A cancelled order has no session that can be paid.
func TestCancelCheckoutAtAnyStepOfACheckout(t *testing.T) {
	t.Parallel()
	for _, handsOver := range []bool{false, true} {
		for calls := range 14 {
			t.Run(fmt.Sprintf("hands over %t, at %d", handsOver, calls), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				c := w.create(t, lastUse())
				if handsOver {
					w.checkout(t, w.again("first"))
				}
				n, cancelled := 0, false
				step := func(_ string, effect func() error) error {
					if n++; n == calls {
						_, err := w.CancelCheckout(t.Context(), couponkit.OrderRequest{Key: "second", CustomerID: ann.ID})
						if cancelled = err == nil; !cancelled {
							require.ErrorIs(t, err, store.ErrNotFound)
						}
					}
					return effect()
				}
				service, err := couponkit.New(gated{w.store, step}, couponkit.WithProcessor(gatedProcessor{w.fake, step}), couponkit.WithClock(clockOf(w)))
				require.NoError(t, err)
				got, err := service.Checkout(t.Context(), w.again("second"))
				w.nothingUnnoticed(t, "after the checkout")
				if !cancelled {
					require.NoError(t, err)
					require.Equal(t, []string{got.Session.ID}, w.payable())
					return
				}
				if err == nil {
					require.Equal(t, redemption.OrderCancelled, w.order(t, got.Order.ID).State)
				} else {
					require.ErrorIs(t, err, couponkit.ErrOrderEnded)
				}
				require.Empty(t, w.payable())
				w.held(t, c.ID, 0, 0)
				w.checkout(t, w.again("third"))
			})
		}
	}
}

// TestCancelCheckoutAtManyDevices: customers check out, pay and cancel at once. What was paid
// counts once, and nothing else holds a use.
func TestCancelCheckoutAtManyDevices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	service, err := couponkit.New(w.store, couponkit.WithProcessor(w.fake), couponkit.WithClock(clockOf(w)))
	require.NoError(t, err)
	w.Service = service
	c := w.create(t, lastUse())
	handler := fakeprocessor.Serve(w.fake.Handler(service.Webhook(nil)))
	var group sync.WaitGroup
	for device := range 6 {
		group.Go(func() {
			for i := range 15 {
				got, err := service.Checkout(t.Context(), w.again(fmt.Sprint(device, "/", i)))
				var refused *coupon.Rejection
				if err != nil {
					if !errors.As(err, &refused) && !isConflict(err) {
						t.Errorf("checkout: %v", err)
					}
					continue
				}
				if device == 0 && i == 14 {
					_ = w.fake.Pay(got.Session.ID) // ended perhaps
				}
				_, err = service.CancelCheckout(t.Context(), annCancels(got.Order.ID))
				if err != nil && !errors.Is(err, couponkit.ErrOrderPaid) {
					t.Errorf("cancel: %v", err)
				}
				_ = w.fake.Deliver(t.Context(), handler)
			}
		})
	}
	group.Wait()
	require.NoError(t, w.fake.Deliver(t.Context(), handler))
	require.Empty(t, w.payable())
	paid := int64(0)
	for _, s := range w.fake.Sessions() {
		if s.PaymentStatus.Settled() {
			paid++
		}
	}
	w.held(t, c.ID, paid, 0)
}

// TestWhoMayCancel: an order is its customer's, unless the host asks for itself.
func TestWhoMayCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cart := w.request("")
	cart.Key = "cart"
	first := w.checkout(t, cart)
	for name, r := range map[string]couponkit.OrderRequest{
		"another customer":            {OrderID: first.Order.ID, CustomerID: bob.ID},
		"the key of another customer": {Key: "cart", CustomerID: bob.ID},
		"an unknown order":            annCancels("ord_none"),
		"of anybody":                  {OrderID: "ord_none", AnyCustomer: true},
	} {
		_, err := w.CancelCheckout(t.Context(), r)
		require.ErrorIs(t, err, store.ErrNotFound, name)
	}
	for want, r := range map[string]couponkit.OrderRequest{
		"orderId,customerId": {}, "orderId": {CustomerID: ann.ID}, "customerId": {OrderID: first.Order.ID},
		"key": {OrderID: first.Order.ID, Key: "cart", CustomerID: ann.ID}, "key ": {Key: "cart", AnyCustomer: true},
	} {
		_, err := w.CancelCheckout(t.Context(), r)
		require.Equal(t, strings.Split(strings.TrimSpace(want), ","), faultyFields(t, err))
	}
	require.Equal(t, redemption.OrderOpen, w.order(t, first.Order.ID).State)
	got, err := w.CancelCheckout(couponkit.WithActor(t.Context(), "support"), couponkit.OrderRequest{OrderID: first.Order.ID, AnyCustomer: true})
	require.NoError(t, err)
	require.Equal(t, redemption.OrderCancelled, got.Order.State)
	w.wantCause(t, first.Order.ID, "cancelled", "support")
}
