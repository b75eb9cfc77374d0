package stripeprocessor_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// What Stripe has saved for a key: of one request there is one session, whatever fails how
// often, and no failure is for good.

// allRequests are a payment, a subscription with a coupon for its first period, and one
// whose every call has another expiry.
func allRequests() map[string]func(*world, string) processor.SessionRequest {
	return map[string]func(*world, string) processor.SessionRequest{
		"payment": (*world).request, "subscription": (*world).subscription, "without an expiry": withoutExpiry,
	}
}

// inOrder lets faults happen to the first calls of an operation.
func inOrder(op string, faults ...stripefake.Fault) func(stripefake.Call) stripefake.Fault {
	n := 0
	return func(c stripefake.Call) stripefake.Fault {
		if c.Op != op || n == len(faults) {
			return stripefake.None
		}
		n++
		return faults[n-1]
	}
}

// TestFailuresInARow: three of any kind, the rest of the call, and another process.
func TestFailuresInARow(t *testing.T) {
	t.Parallel()
	all := make([]stripefake.Fault, 0, stripefake.DependencyFailed)
	for f := stripefake.LostBefore; f <= stripefake.DependencyFailed; f++ {
		all = append(all, f)
	}
	failures := []stripefake.Fault{stripefake.FailBefore, stripefake.FailAfter, stripefake.BadGateway, stripefake.LostAfter}
	for name, request := range allRequests() {
		for _, first := range all {
			t.Run(fmt.Sprintf("%s/%s", name, first), func(t *testing.T) {
				t.Parallel()
				for _, second := range all {
					oneSession(t, request, first, second)
					for _, third := range failures {
						if slices.Contains(failures, first) && slices.Contains(failures, second) {
							oneSession(t, request, first, second, third)
						}
					}
				}
			})
		}
	}
}

func oneSession(t *testing.T, request func(*world, string) processor.SessionRequest, faults ...stripefake.Fault) {
	t.Helper()
	w := newWorld(t)
	defer w.server.Close()
	r := request(w, "key")
	w.account.Faults(inOrder("sessions.create", faults...))
	first, err := w.processor.CreateSession(t.Context(), r)
	if err != nil {
		require.ErrorIs(t, err, processor.ErrUnavailable, "%v", faults)
	}
	w.account.Faults(nil)
	w.clock.Advance(time.Second)
	second, another := newWorldOn(t, w).CreateSession(t.Context(), r)
	require.NoError(t, another, "%v", faults)
	if err == nil {
		require.Equal(t, first.ID, second.ID, "%v", faults)
	}
	require.Len(t, w.account.Sessions(), 1, "%v", faults)
	require.NoError(t, w.account.Pay(second.ID), "%v", faults)
}

// TestFailuresUnderTwoProcesses: the key of one that fails is the key of the other, which
// has begun before.
func TestFailuresUnderTwoProcesses(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request(w, "key")
			var first processor.Session
			slow := w.interrupted(&meanwhile{method: http.MethodPost, path: "/checkout/sessions", do: func() {
				w.account.Faults(inOrder("sessions.create", stripefake.BadGateway, stripefake.BadGateway))
				var err error
				first, err = w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
			}})
			second, err := slow.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, first.ID, second.ID)
			require.NoError(t, w.account.Pay(first.ID))
		})
	}
}

// TestSessionsEndBesideACall: a call without an expiry that meets sessions which have ended
// meanwhile comes to the one that another process makes in their place.
func TestSessionsEndBesideACall(t *testing.T) {
	t.Parallel()
	for _, later := range []time.Duration{0, time.Second} {
		w := newWorld(t)
		r := withoutExpiry(w, "key")
		creates := 0
		var third processor.Session
		slow := w.interrupted(&meanwhile{method: http.MethodPost, path: "/checkout/sessions", when: func() bool { creates++; return creates <= 2 }, do: func() {
			w.clock.Advance(later)
			if creates == 1 {
				w.endedSession(r)
				return
			}
			var err error
			third, err = w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
		}})
		s, err := slow.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, third.ID, s.ID)
		require.Len(t, w.account.Sessions(), 2)
		require.NoError(t, w.account.Pay(s.ID))
	}
}

// TestAnOutageDoesNotBlock: however many calls fail, each with a failure that Stripe has
// saved, the one after them makes the session, also in place of others.
func TestAnOutageDoesNotBlock(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		for before := range 3 {
			for _, calls := range []int{1, 2, 30} {
				t.Run(fmt.Sprintf("%s, %d calls after %d sessions", name, calls, before), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					r := request(w, "key")
					for range before {
						w.endedSession(r)
					}
					w.outage(r, calls)
					s, err := w.processor.CreateSession(t.Context(), r)
					require.NoError(t, err)
					require.Equal(t, processor.SessionOpen, s.Status)
					again, err := newWorldOn(t, w).CreateSession(t.Context(), r)
					require.NoError(t, err)
					require.Equal(t, s.ID, again.ID)
					require.Len(t, w.account.Sessions(), before+1)
					for _, c := range w.account.Coupons() { // a call that has failed apart from others leaves its own to the sweep
						if _, tag, _ := strings.Cut(c.ID, "-"); !r.ExpiresAt.IsZero() && len(tag) < 12 {
							t.Errorf("the coupon of spent keys is left: %s", c.ID)
						}
					}
					require.NoError(t, w.account.Pay(s.ID))
				})
			}
		}
	}
}

func (w *world) endedSession(r processor.SessionRequest) {
	w.Helper()
	s, err := w.processor.CreateSession(w.Context(), r)
	require.NoError(w, err)
	_, err = w.processor.ExpireSession(w.Context(), s.ID)
	require.NoError(w, err)
	w.clock.Advance(time.Second)
}

// outage lets calls fail at Stripe, a second apart.
func (w *world) outage(r processor.SessionRequest, calls int) {
	w.Helper()
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Op == "sessions.create" {
			return stripefake.FailBefore
		}
		return stripefake.None
	})
	for range calls {
		_, err := w.processor.CreateSession(w.Context(), r)
		require.ErrorIs(w, err, processor.ErrUnavailable)
		w.clock.Advance(time.Second)
	}
	w.account.Faults(nil)
}

// TestACallCostsTheSameAfterMany: it goes past a few keys that all processes come to, and
// then has one of its own.
func TestACallCostsTheSameAfterMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) {
		f.MinimumCharge = map[string]int64{"eur": 1_000_000}
	})
	r := w.subscription("key")
	for n := range 30 {
		before := len(w.account.Calls())
		_, err := w.processor.CreateSession(t.Context(), r)
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
		require.LessOrEqual(t, len(w.account.Calls())-before, 13, "after %d", n)
	}
	require.Empty(t, w.account.Coupons(), "what is refused apart from others leaves no coupon")
}

// TestSessionsApart: once the keys that all processes come to are spent, of two that make a
// session at once the one that sees the other's takes its own back.
func TestSessionsApart(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request(w, "key")
			w.outage(r, 3) // costs more than four keys
			var first processor.Session
			slow := w.interrupted(&meanwhile{method: http.MethodPost, path: "/checkout/sessions", when: fifth(), do: func() {
				var err error
				first, err = w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
			}})
			_, err := slow.CreateSession(t.Context(), r)
			require.ErrorIs(t, err, processor.ErrUnavailable)
			require.ErrorContains(t, err, first.ID)
			again, err := slow.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, first.ID, again.ID)
			open := 0
			for _, s := range w.account.Sessions() {
				if s.Status == "open" {
					open++
				}
			}
			require.Equal(t, 1, open)
			_, err = w.account.Deliver(t.Context(), w.server.Client(), w.webhook(nil))
			require.NoError(t, err)
			require.NoError(t, w.account.Pay(first.ID), "the other's end took nothing from it")
		})
	}
}

// fifth is true of the fifth request.
func fifth() func() bool {
	n := 0
	return func() bool { n++; return n == 5 }
}

// TestSavedRefusalAtTheEndOfACall: a call that ends while it goes past what was refused
// earlier takes nothing from the session that was made since.
func TestSavedRefusalAtTheEndOfACall(t *testing.T) {
	t.Parallel()
	minimum := map[string]int64{"eur": 1_000_000}
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.MinimumCharge = minimum })
	r := w.subscription("key")
	_, err := w.processor.CreateSession(t.Context(), r)
	require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	minimum["eur"] = 50
	s, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	w.account.Faults(inOrder("sessions.create", slices.Repeat([]stripefake.Fault{stripefake.RateLimited}, 3)...))
	again, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, s.ID, again.ID)
	require.NoError(t, w.account.Pay(s.ID))
}

// TestSessionCouponGoesBeforeItsSession: another call of the request has found a session and
// removes the coupon which it had made for one of its own.
func TestSessionCouponGoesBeforeItsSession(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		if name == "payment" {
			continue // has no coupon
		}
		for times, want := range map[int]error{1: nil, 3: nil, 100: processor.ErrUnavailable} {
			t.Run(fmt.Sprintf("%s, %d times", name, times), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				left := times
				slow := w.interrupted(&meanwhile{
					method: http.MethodPost, path: "/checkout/sessions", when: func() bool { left--; return left >= 0 },
					do: func() { require.NoError(t, w.account.DeleteCoupon(w.account.Coupons()[0].ID)) },
				})
				s, err := slow.CreateSession(t.Context(), request(w, "key"))
				if want != nil {
					require.ErrorIs(t, err, want)
					require.NotErrorIs(t, err, processor.ErrNotFound)
					require.NotErrorIs(t, err, processor.ErrRejected)
					return
				}
				require.NoError(t, err)
				require.NoError(t, w.account.Pay(s.ID))
			})
		}
	}
}

// TestSameSecondUnderOtherOptions: two calls without an expiry may come to the same coupon,
// and the one that finds the other's session leaves it its coupon.
func TestSameSecondUnderOtherOptions(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{"same second": 0, "a second later": time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := withoutExpiry(w, "key")
			var first processor.Session
			slow := w.interrupted(&meanwhile{method: http.MethodPost, path: "/checkout/sessions", do: func() {
				w.clock.Advance(later)
				var err error
				first, err = w.processor.CreateSession(t.Context(), r)
				require.NoError(t, err)
			}}, inclusive)
			second, err := slow.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, first.ID, second.ID)
			require.Len(t, w.account.Coupons(), 1, "the session's own")
			require.NoError(t, w.account.Pay(first.ID))
		})
	}
}

// TestErrorsQuoteNoBodies: what cannot be read may be about a customer. Error and log tell
// the status and the request, by which Stripe's support finds the rest.
func TestErrorsQuoteNoBodies(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	for name, body := range map[string]string{
		"other JSON": `{"customer_email":"ann@example.org","pad":"` + long + `"}`,
		"cut off":    `{"customer_email":"ann@example.org","id":"cs`,
		"of a page":  "<html>ann@example.org " + long,
		"text":       `"ann@example.org"`,
		"a list":     `["ann@example.org"]`,
		"null":       "null",
		"nothing":    "",
	} {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusNotFound, http.StatusBadGateway} {
			t.Run(fmt.Sprintf("%s/%d", name, status), func(t *testing.T) {
				t.Parallel()
				var log bytes.Buffer
				w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
					o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				})
				a := &answering{status: status, text: []byte(body)}
				p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
					RequestsPerSecond: -1, Clock: w.clock.Now, HTTPClient: &http.Client{Transport: a},
					Retry:  stripeprocessor.Retry{BaseDelay: time.Microsecond, MaxDelay: time.Millisecond},
					Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				require.NoError(t, err)
				_, err = p.Session(t.Context(), "cs_1")
				require.ErrorIs(t, err, processor.ErrUnavailable)
				for _, text := range []string{err.Error(), log.String()} {
					if strings.Contains(text, "ann@") || len(text) > 2000 {
						t.Errorf("%d bytes: %.300s", len(text), text)
					}
				}
				require.ErrorContains(t, err, fmt.Sprintf("status=%d request=req_1", status))
			})
		}
	}
}

// TestErrorsQuoteNoAddresses: what Stripe tells is kept, but for the customer's address and
// what is longer than anybody reads.
func TestErrorsQuoteNoAddresses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"error":{"type":"invalid_request_error","param":"customer_email","message":"Invalid email address: ann+1@example"}}`: "Invalid email address: [e-mail]",
		`{"error":{"type":"invalid_request_error","message":"No 'ann@example.org' (bob@x) here"}}`:                             "No '[e-mail]' ([e-mail]) here",
		`{"error":{"type":"invalid_request_error","message":"` + strings.Repeat("ü", 900) + `"}}`:                              strings.Repeat("ü", 500) + "…",
		`{"error":{"type":"card_error","payment_intent":{"id":"pi_1","receipt_email":"ann@example.org"}}}`:                     "type=card_error request=req_1",
	} {
		a := &answering{status: http.StatusBadRequest, text: []byte(text)}
		p, err := stripeprocessor.New(testKey, stripeprocessor.Options{RequestsPerSecond: -1, HTTPClient: &http.Client{Transport: a}})
		require.NoError(t, err)
		_, err = p.Session(t.Context(), "cs_1")
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
		if got := err.Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%s, want it to end in %s", got, want)
		}
	}
}

// TestFoundSessionsAreCompared: also a session that was found, or that has ended, charges the
// order or is refused.
func TestFoundSessionsAreCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request func(*world, string) processor.SessionRequest
		later   time.Duration
	}{
		"too late for another": {(*world).request, 40 * time.Minute}, "without an expiry": {withoutExpiry, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := test.request(w, "key")
			w.account.TamperSessions(func(s *stripefake.Session) { s.AmountTotal += 100 })
			w.lostAnswer(r)
			w.clock.Advance(test.later)
			_, err := w.processor.CreateSession(t.Context(), r)
			require.ErrorIs(t, err, stripeprocessor.ErrTotalsMismatch)
			require.Equal(t, "expired", w.account.Sessions()[0].Status)
		})
	}
	minimum := map[string]int64{"eur": 1_000_000}
	w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.MinimumCharge = minimum })
	r := w.request("key")
	for range 4 {
		_, err := w.processor.CreateSession(t.Context(), r)
		require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	}
	minimum["eur"] = 50
	w.account.TamperSessions(func(s *stripefake.Session) { s.AmountTotal += 100 })
	lost := append(make([]stripefake.Fault, 4), stripefake.LostAfter) // after what Stripe replays
	w.account.Faults(inOrder("sessions.create", append(lost, slices.Repeat([]stripefake.Fault{stripefake.LostBefore}, 20)...)...))
	_, err := w.processor.CreateSession(t.Context(), r)
	require.ErrorIs(t, err, processor.ErrUnavailable)
	w.account.Faults(nil)
	require.Len(t, w.account.Sessions(), 1)
	_, err = w.processor.CreateSession(t.Context(), r)
	require.ErrorIs(t, err, stripeprocessor.ErrTotalsMismatch)
	require.Equal(t, "expired", w.account.Sessions()[0].Status)
	w = newWorld(t)
	w.account.TamperSessions(func(s *stripefake.Session) { s.AmountTotal += 100 })
	for range 8 { // more than it replaces
		_, err := w.processor.CreateSession(t.Context(), w.request("key"))
		require.ErrorIs(t, err, stripeprocessor.ErrTotalsMismatch)
	}
}
