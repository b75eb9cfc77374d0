package stripeprocessor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v86"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// always fails every call.
func always(f stripefake.Fault) func(stripefake.Call) stripefake.Fault {
	return func(stripefake.Call) stripefake.Fault { return f }
}

// firstly fails the first n calls.
func firstly(n int, f stripefake.Fault) func(stripefake.Call) stripefake.Fault {
	first := 0
	return func(c stripefake.Call) stripefake.Fault {
		if first == 0 {
			first = c.Number
		}
		if c.Number < first+n {
			return f
		}
		return stripefake.None
	}
}

// TestRetries: which answers are asked for again, and what the error is otherwise.
func TestRetries(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault    stripefake.Fault
		attempts int
		want     error
	}{
		{stripefake.LostBefore, 4, processor.ErrUnavailable},
		{stripefake.FailBefore, 4, processor.ErrUnavailable},
		{stripefake.KeyInUse, 4, processor.ErrUnavailable},
		{stripefake.RateLimited, 4, stripeprocessor.ErrRateLimited},
		{stripefake.LockTimeout, 4, stripeprocessor.ErrRateLimited},
		{stripefake.BadGateway, 4, processor.ErrUnavailable},
		{stripefake.Unavailable, 1, processor.ErrUnavailable}, // Stripe-Should-Retry: false
		{stripefake.DependencyFailed, 4, processor.ErrUnavailable},
	}
	for _, test := range tests {
		fault := test.fault
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.mirrored(newCoupon(t, "a", "TEN"))
			before := w.count("promotion_codes.retrieve")
			w.account.Faults(always(fault))
			_, err := w.processor.VerifyMirror(t.Context(), c)
			if !errors.Is(err, test.want) || !errors.Is(err, processor.ErrUnavailable) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			// net/http itself asks again when a kept-alive connection breaks.
			if got := w.count("promotion_codes.retrieve") - before; got < test.attempts || got > 2*test.attempts {
				t.Errorf("%d requests, want %d attempts", got, test.attempts)
			}
			w.account.Faults(firstly(test.attempts-1, fault))
			if status, err := w.processor.VerifyMirror(t.Context(), c); err != nil || status != processor.MirrorValid {
				t.Errorf("when the last attempt gets through: %s, %v", status, err)
			}
		})
	}
}

func TestAnswersThatAreFinal(t *testing.T) {
	t.Parallel()
	t.Run("401", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.Key = "sk_test_another" })
		_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
		w.final(err, processor.ErrForbidden, http.StatusUnauthorized, 1)
	})
	t.Run("403", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.account.Deny("coupons.create")
		_, err := w.processor.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
		w.final(err, processor.ErrForbidden, http.StatusForbidden, 2)
	})
	t.Run("404", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, err := w.processor.Session(t.Context(), "cs_none")
		w.final(err, processor.ErrNotFound, http.StatusNotFound, 1)
	})
	t.Run("400", func(t *testing.T) {
		t.Parallel()
		// The minimum is the one that this processor does not know of.
		w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) {
			f.MinimumCharge = map[string]int64{"eur": 5000}
		})
		_, err := w.processor.CreateSession(t.Context(), w.request("key"))
		w.final(err, stripeprocessor.ErrInvalid, http.StatusBadRequest, 1)
	})
}

// TestConflictIsRepeatedByItsCode: a key that is in use may be free the next time; any
// other conflict is an answer.
func TestConflictIsRepeatedByItsCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int64{"idempotency_key_in_use": 3, "resource_conflict": 1} {
		var calls atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			calls.Add(1)
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"error":{"type":"invalid_request_error","code":"` + code + `","message":"conflict"}}`))
		}))
		p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
			BaseURL: server.URL, RequestsPerSecond: -1, Retry: stripeprocessor.Retry{Attempts: 3, BaseDelay: time.Microsecond},
		})
		require.NoError(t, err)
		_, err = p.Session(t.Context(), "cs_1")
		require.ErrorIs(t, err, processor.ErrUnavailable)
		if got := calls.Load(); got != want {
			t.Errorf("%s: %d calls, want %d", code, got, want)
		}
		server.Close()
	}
}

// TestWhichAnswersAreRepeated: Stripe's own word wins, save among answers that are
// final, and what could not be read is not known.
func TestWhichAnswersAreRepeated(t *testing.T) {
	t.Parallel()
	refusal := `{"error":{"type":"invalid_request_error","message":"no"}}`
	for name, test := range map[string]struct {
		status      int
		shouldRetry string
		body        string
		calls       int64
	}{
		"not implemented":          {http.StatusNotImplemented, "", refusal, 1},
		"not implemented, yet try": {http.StatusNotImplemented, "true", refusal, 3},
		"conflict, yet try":        {http.StatusConflict, "true", refusal, 3},
		"busy, do not try":         {http.StatusTooManyRequests, "false", refusal, 1},
		"failed, do not try":       {http.StatusInternalServerError, "false", refusal, 1},
		"refused, yet try":         {http.StatusBadRequest, "true", refusal, 1},
		"forbidden, yet try":       {http.StatusForbidden, "true", refusal, 1},
		"cut in the middle":        {http.StatusOK, "", `{"id":"cs_1","object":"checkout.`, 3},
		"another page":             {http.StatusOK, "", `<html>`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				calls.Add(1)
				if test.shouldRetry != "" {
					w.Header().Set("Stripe-Should-Retry", test.shouldRetry)
				}
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
			}))
			t.Cleanup(server.Close)
			p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
				BaseURL: server.URL, RequestsPerSecond: -1, HTTPClient: server.Client(),
				Retry: stripeprocessor.Retry{Attempts: 3, BaseDelay: time.Microsecond},
			})
			require.NoError(t, err)
			if _, err = p.Session(t.Context(), "cs_1"); err == nil {
				t.Error("it is taken for an answer")
			}
			if got := calls.Load(); got != test.calls {
				t.Errorf("%d calls, want %d", got, test.calls)
			}
		})
	}
}

// TestRetryAfterIsHeld: a pause that Stripe wishes for is not made shorter, so one that
// goes beyond the time of the call ends it.
func TestRetryAfterIsHeld(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error":{"type":"invalid_request_error","code":"rate_limit"}}`))
	}))
	t.Cleanup(server.Close)
	p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
		BaseURL: server.URL, RequestsPerSecond: -1, HTTPClient: server.Client(),
		Retry: stripeprocessor.Retry{Attempts: 3, BaseDelay: time.Microsecond, MaxDelay: time.Minute},
	})
	require.NoError(t, err)
	_, err = p.Session(t.Context(), "cs_1")
	require.ErrorIs(t, err, stripeprocessor.ErrRateLimited)
	if got := calls.Load(); got != 1 {
		t.Errorf("%d calls, though Stripe asked for a minute and the call has half of one", got)
	}
}

// final checks an error of Stripe and that nothing was repeated.
func (w *world) final(err, want error, status, calls int) {
	w.Helper()
	var told *stripeprocessor.Error
	var answered *stripe.Error
	switch {
	case !errors.Is(err, want):
		w.Errorf("got %v, want %v", err, want)
	case !errors.As(err, &told) || told.Status != status || told.RequestID == "" || told.Op == "":
		w.Errorf("the error does not tell operation, status and request: %+v", told)
	case !errors.As(err, &answered) || answered.HTTPStatusCode != status:
		w.Errorf("the error holds no *stripe.Error of status %d", status)
	}
	if got := len(w.account.Calls()); got != calls {
		w.Errorf("%d calls, want %d: a final answer is not asked for again", got, calls)
	}
}

// TestErrorsMatchOneSentinel holds requirement 39 for every kind.
func TestErrorsMatchOneSentinel(t *testing.T) {
	t.Parallel()
	kinds := map[error]error{
		stripeprocessor.ErrConflict: processor.ErrRejected, stripeprocessor.ErrInvalid: processor.ErrRejected,
		stripeprocessor.ErrTotalsMismatch: processor.ErrRejected, stripeprocessor.ErrWrongOrigin: processor.ErrRejected,
		stripeprocessor.ErrRateLimited: processor.ErrUnavailable,
	}
	general := []error{
		processor.ErrUnavailable, processor.ErrRejected, processor.ErrNotFound, processor.ErrForbidden, processor.ErrSignature,
	}
	for kind, want := range kinds {
		for _, g := range general {
			if got := errors.Is(kind, g); got != errors.Is(want, g) {
				t.Errorf("%v matches %v: %t", kind, g, got)
			}
		}
	}
}

// TestKindsOfAnswers are read from status, type and code; what Stripe tells is kept.
func TestKindsOfAnswers(t *testing.T) {
	t.Parallel()
	stripe, p := newAnswering(t)
	for name, test := range map[string]struct {
		status int
		text   string
		want   error
	}{
		"404":                  {http.StatusNotFound, `{"error":{"type":"t","param":"p","message":"m"}}`, processor.ErrNotFound},
		"missing":              {http.StatusBadRequest, `{"error":{"type":"t","code":"resource_missing","param":"p"}}`, processor.ErrNotFound},
		"there already":        {http.StatusBadRequest, `{"error":{"type":"t","code":"resource_already_exists","param":"p"}}`, stripeprocessor.ErrConflict},
		"key of other":         {http.StatusBadRequest, `{"error":{"type":"idempotency_error","param":"p"}}`, stripeprocessor.ErrConflict},
		"400":                  {http.StatusBadRequest, `{"error":{"type":"t","param":"p"}}`, stripeprocessor.ErrInvalid},
		"408":                  {http.StatusRequestTimeout, `{"error":{"type":"t","param":"p"}}`, processor.ErrUnavailable},
		"424":                  {http.StatusFailedDependency, `{"error":{"type":"t","param":"p"}}`, processor.ErrUnavailable},
		"conflict":             {http.StatusConflict, `{"error":{"type":"t","param":"p"}}`, processor.ErrUnavailable},
		"401 in between":       {http.StatusUnauthorized, `<html>`, processor.ErrForbidden},
		"403 in between":       {http.StatusForbidden, `<html>`, processor.ErrForbidden},
		"404 in between":       {http.StatusNotFound, `<html>`, processor.ErrUnavailable},
		"a redirect to itself": {http.StatusNotModified, ``, processor.ErrUnavailable},
	} {
		stripe.status, stripe.text = test.status, []byte(test.text)
		_, err := p.Session(t.Context(), "cs_1")
		require.ErrorIs(t, err, test.want, name)
		var told *stripeprocessor.Error
		require.ErrorAs(t, err, &told, name)
		if strings.HasPrefix(test.text, "{") && (told.Param != "p" || told.Type == "") {
			t.Errorf("%s: %+v does not tell what Stripe told", name, told)
		}
	}
}

// TestTimeOfTheClient: that the HTTP client has lost patience is no end of the caller's
// context.
func TestTimeOfTheClient(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(server.Close)
	client := server.Client()
	client.Timeout = time.Millisecond
	p, err := stripeprocessor.New(testKey, stripeprocessor.Options{
		BaseURL: server.URL, HTTPClient: client, Retry: stripeprocessor.Retry{Attempts: 1},
	})
	require.NoError(t, err)
	_, err = p.Session(t.Context(), "cs_1")
	require.ErrorIs(t, err, processor.ErrUnavailable)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
}

// TestRetryKeepsTheKeyOfALostAnswer: same key and same parameters, so that Stripe
// does it once.
func TestRetryKeepsTheKeyOfALostAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account.Faults(firstly(1, stripefake.LostAfter))
	_, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	calls := w.account.Calls()
	var keys []string
	var forms []string
	for _, c := range calls {
		if c.Op == "sessions.create" {
			keys, forms = append(keys, c.Key), append(forms, c.Form.Encode())
		}
	}
	require.GreaterOrEqual(t, len(keys), 2)
	for i := range keys {
		if keys[i] != keys[0] || forms[i] != forms[0] {
			t.Errorf("attempt %d has another key or other parameters: %s\n%s", i+1, keys[i], cmp.Diff(forms[0], forms[i]))
		}
	}
	if n := len(w.account.Sessions()); n != 1 {
		t.Errorf("%d sessions, want 1", n)
	}
}

// TestSavedFailureDoesNotBlock: Stripe replays a saved 500 for the same key for a day;
// the state is looked up, and the next write has a new key.
func TestSavedFailureDoesNotBlock(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"coupons.create", "promotion_codes.create", "sessions.create"} {
		for _, fault := range []stripefake.Fault{stripefake.FailBefore, stripefake.FailAfter} {
			t.Run(op+"/"+fault.String(), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				struck := false
				w.account.Faults(func(c stripefake.Call) stripefake.Fault {
					if c.Op == op && !struck {
						struck = true
						return fault
					}
					return stripefake.None
				})
				c, err := newCoupon(t, "a", "TEN"), error(nil)
				c.Mirror, err = w.processor.EnsureMirror(t.Context(), c)
				require.NoError(t, err)
				_, err = w.processor.CreateSession(t.Context(), w.request("key"))
				require.NoError(t, err)
				require.True(t, struck)
				w.showsExactly(c, false, "after a saved failure")
				if n := len(w.account.Sessions()); n != 1 {
					t.Errorf("%d sessions, want 1", n)
				}
			})
		}
	}
}

// TestSavedRefusalDoesNotBlock: Stripe replays a saved refusal too, although what was wrong
// may have been put right meanwhile.
func TestSavedRefusalDoesNotBlock(t *testing.T) {
	t.Parallel()
	for _, request := range allRequests() {
		minimum := map[string]int64{"eur": 1_000_000}
		w := newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.MinimumCharge = minimum })
		r := request(w, "key")
		for range 6 {
			_, err := w.processor.CreateSession(t.Context(), r)
			require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
			w.clock.Advance(time.Second)
		}
		minimum["eur"] = 50
		s, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		again, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, s.ID, again.ID)
		require.Len(t, w.account.Sessions(), 1)
		require.NoError(t, w.account.Pay(s.ID))
	}
}

// TestLookBeforeNewKey: after a received failure the object is read before the next
// write, which has another key.
func TestLookBeforeNewKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Number == 2 {
			return stripefake.FailBefore
		}
		return stripefake.None
	})
	w.mirrored(newCoupon(t, "a", "TEN"))
	w.account.Faults(nil)
	var ops, keys []string
	for _, c := range w.account.Calls() {
		ops = append(ops, c.Op)
		if c.Op == "coupons.create" {
			keys = append(keys, c.Key)
		}
	}
	want := []string{"promotion_codes.list", "coupons.create", "coupons.retrieve", "coupons.create", "promotion_codes.create"}
	if diff := cmp.Diff(want, ops); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if len(keys) == 2 && keys[0] == keys[1] {
		t.Errorf("the second write has the key of the first: %s", keys[0])
	}
}

// TestContextEndsAWait: a call returns at once when its context ends, also while it
// waits for its next attempt or for the rate limit.
func TestContextEndsAWait(t *testing.T) {
	t.Parallel()
	c := newCoupon(t, "a", "TEN")
	c.Mirror = coupon.Mirror{CouponID: "ck_cpn_a_r1", PromotionCodeID: "promo_1"}
	calls := map[string]func(*stripeprocessor.Options){
		"between attempts": func(o *stripeprocessor.Options) {
			o.Retry = stripeprocessor.Retry{BaseDelay: time.Hour, MaxDelay: time.Hour, MaxTime: 24 * time.Hour}
		},
		"for the rate limit": func(o *stripeprocessor.Options) { o.RequestsPerSecond = 0.0001 },
	}
	for name, change := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { change(o) })
			w.account.Faults(always(stripefake.RateLimited))
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			ended := make(chan error, 2)
			for range 2 { // the first takes the only token of the rate limit
				running.Go(func() {
					_, err := w.processor.VerifyMirror(ctx, c)
					ended <- err
				})
			}
			for len(w.account.Calls()) == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
			running.Wait() // an hour, were the wait deaf
			for range 2 {
				if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, processor.ErrUnavailable) {
					t.Errorf("got %v, want the context's error", err)
				}
			}
		})
	}
}

// TestDeadlineBeforeTheRateLimit: a wait that cannot end in time is not begun.
func TestDeadlineBeforeTheRateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.RequestsPerSecond = 0.0001 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := w.processor.Session(ctx, "cs_1")
	require.ErrorIs(t, err, processor.ErrNotFound)
	_, err = w.processor.Session(ctx, "cs_1")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestAttemptsAreBounded in number and in time.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]stripeprocessor.Retry{
		"number": {Attempts: 2, BaseDelay: time.Microsecond},
		"time":   {Attempts: 1000, BaseDelay: time.Second, MaxDelay: time.Second, MaxTime: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) { o.Retry = retry })
			w.account.Faults(always(stripefake.RateLimited))
			_, err := w.processor.Session(t.Context(), "cs_1")
			require.ErrorIs(t, err, stripeprocessor.ErrRateLimited)
			if got := len(w.account.Calls()); got > 2 {
				t.Errorf("%d calls", got)
			}
		})
	}
}

// TestEmptyIDsAreNotSent: Stripe would read the path of an empty ID as that of the
// list.
// TestPauses: they double, half of each is random so that clients that failed together
// do not come back together, and none is longer than the bound, whatever Stripe asks
// for.
func TestPauses(t *testing.T) {
	t.Parallel()
	r := stripeprocessor.Retry{BaseDelay: time.Second, MaxDelay: 10 * time.Second}
	for n, most := range map[int]time.Duration{
		1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 8 * time.Second, 5: 10 * time.Second, 64: 10 * time.Second,
	} {
		least, greatest := most, time.Duration(0)
		for range 200 {
			pause := stripeprocessor.Pause(r, n, 0)
			least, greatest = min(least, pause), max(greatest, pause)
		}
		if least < most/2 || greatest > most {
			t.Errorf("after attempt %d: %s to %s, want %s to %s", n, least, greatest, most/2, most)
		}
		if greatest-least < most/10 {
			t.Errorf("after attempt %d: %s to %s: clients come back together", n, least, greatest)
		}
	}
	if got := stripeprocessor.Pause(r, 1, 7*time.Second); got != 7*time.Second {
		t.Errorf("Retry-After of 7 s: %s", got)
	}
	if got := stripeprocessor.Pause(r, 1, time.Hour); got != 10*time.Second {
		t.Errorf("Retry-After of an hour: %s", got)
	}
	if got := stripeprocessor.Pause(stripeprocessor.Retry{}, 100, 0); got < 2*time.Second || got > 4*time.Second {
		t.Errorf("by default, after attempt 100: %s", got)
	}
}

// direct sends requests to a handler without a network. So time passes only in waits.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	d.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// TestRateOfOneOperation: no operation is called more often than Stripe allows each,
// and the calls of one do not hold up another.
func TestRateOfOneOperation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		account := stripefake.New(stripefake.Options{Key: testKey})
		made, err := stripeprocessor.New(testKey, stripeprocessor.Options{HTTPClient: &http.Client{Transport: direct{account}}, RequestsPerSecond: 100})
		require.NoError(t, err)
		w := &world{T: t, account: account, processor: made}
		c := w.mirrored(newCoupon(t, "a", "TEN"))
		time.Sleep(time.Second) // no token is missing
		before := w.count("promotion_codes.retrieve")
		ctx, cancel := context.WithTimeout(t.Context(), 990*time.Millisecond)
		defer cancel()
		for err == nil {
			_, err = w.processor.VerifyMirror(ctx, c)
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 25+24, w.count("promotion_codes.retrieve")-before, "25 at once, and one every 40 ms")
		began := time.Now()
		_, err = w.processor.Session(t.Context(), "cs_none")
		require.ErrorIs(t, err, processor.ErrNotFound)
		require.Zero(t, time.Since(began), "another operation")
	})
}

func TestEmptyIDsAreNotSent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.processor.Session(t.Context(), "")
	require.ErrorIs(t, err, processor.ErrNotFound)
	_, err = w.processor.ExpireSession(t.Context(), "")
	require.ErrorIs(t, err, processor.ErrNotFound)
	require.ErrorIs(t, w.processor.RemoveMirror(t.Context(), coupon.Coupon{}), stripeprocessor.ErrInvalid)
	status, err := w.processor.VerifyMirror(t.Context(), coupon.Coupon{})
	require.NoError(t, err)
	require.Equal(t, processor.MirrorMissing, status)
	if calls := w.account.Calls(); len(calls) != 0 {
		t.Errorf("calls were made: %+v", calls)
	}
}

// TestNothingSecretIsLogged: neither keys, secrets nor bodies.
func TestNothingSecretIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := newWorld(t, func(o *stripeprocessor.Options, _ *stripefake.Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	w.account.Faults(firstly(2, stripefake.FailBefore))
	w.mirrored(newCoupon(t, "a", "TEN"))
	status, _ := w.post(w.webhook(nil), []byte(`{"card":"4242424242424242"}`), "t=1,v1=00")
	require.Equal(t, http.StatusBadRequest, status)
	text := log.String()
	for _, secret := range []string{testKey, testSecret, "4242", "Bearer"} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q:\n%s", secret, text)
		}
	}
	if !strings.Contains(text, "stripe call is repeated") || !strings.Contains(text, "webhook delivery is refused") {
		t.Errorf("the log does not tell of repeated calls and refused deliveries:\n%s", text)
	}
}

// TestTwoProcessors with different keys work side by side: stripe-go's global key is
// never set.
func TestTwoProcessors(t *testing.T) {
	t.Parallel()
	worlds := []*world{
		newWorld(t),
		newWorld(t, func(o *stripeprocessor.Options, f *stripefake.Options) { o.App, o.IDPrefix = "other", "other" }),
	}
	var running sync.WaitGroup
	for _, w := range worlds {
		running.Go(func() {
			for i := range 20 {
				c := newCoupon(t, "a", "TEN")
				c.Revision = int64(i + 1)
				if _, err := w.processor.EnsureMirror(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	if stripe.Key != "" {
		t.Error("the global key of stripe-go is set")
	}
	shared := &http.Client{}
	for _, key := range []string{"sk_test_1", "sk_test_2"} {
		_, err := stripeprocessor.New(key, stripeprocessor.Options{HTTPClient: shared})
		require.NoError(t, err)
	}
	if shared.Transport != nil {
		t.Error("the client that both were given is changed")
	}
	for _, w := range worlds {
		for _, c := range w.account.Calls() {
			if got := c.Header.Get("Authorization"); got != "Bearer "+testKey {
				t.Errorf("a call was authorised with %q", got)
			}
			if c.Header.Get("X-Stripe-Client-Telemetry") != "" {
				t.Error("telemetry is sent")
			}
		}
	}
}

// TestConnectedAccount: what a platform's key makes belongs to the connected account,
// whose events are the ones that are accepted.
func TestConnectedAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *stripeprocessor.Options, f *stripefake.Options) {
		o.Account, f.ConnectedAccount = "acct_1", "acct_1"
	})
	c := w.mirrored(newCoupon(t, "a", "TEN"))
	if status, err := w.processor.VerifyMirror(t.Context(), c); err != nil || status != processor.MirrorValid {
		t.Errorf("the mirror is %s, %v", status, err)
	}
	s, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	require.NoError(t, w.account.Pay(s.ID))
	refused, err := w.account.Deliver(t.Context(), w.server.Client(), w.webhook(nil))
	require.NoError(t, err)
	require.Zero(t, refused, "deliveries are refused")
	for _, call := range w.account.Calls() {
		if got := call.Header.Values("Stripe-Account"); !slices.Equal(got, []string{"acct_1"}) {
			t.Errorf("%s is made for %q", call.Op, got)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		key     string
		options stripeprocessor.Options
		field   string
	}{
		"no key":                 {"", stripeprocessor.Options{}, "key"},
		"key with a line end":    {"sk_test_x\n", stripeprocessor.Options{}, "key"},
		"key of neither":         {"secret", stripeprocessor.Options{}, "environment"},
		"app":                    {testKey, stripeprocessor.Options{App: "a b"}, "app"},
		"prefix":                 {testKey, stripeprocessor.Options{IDPrefix: strings.Repeat("x", 21)}, "idPrefix"},
		"test key, live":         {"sk_test_x", stripeprocessor.Options{Environment: stripeprocessor.Live}, "environment"},
		"live key, sandbox":      {"rk_live_x", stripeprocessor.Options{Environment: stripeprocessor.Sandbox}, "environment"},
		"empty secret":           {testKey, stripeprocessor.Options{WebhookSecrets: []string{""}}, "webhookSecrets"},
		"secret with a line end": {testKey, stripeprocessor.Options{WebhookSecrets: []string{testSecret, testSecret + "\n"}}, "webhookSecrets"},
		"short session":          {testKey, stripeprocessor.Options{SessionLifetime: time.Minute}, "sessionLifetime"},
		"long session":           {testKey, stripeprocessor.Options{SessionLifetime: 25 * time.Hour}, "sessionLifetime"},
		"tax behaviour":          {testKey, stripeprocessor.Options{TaxBehavior: "maybe"}, "taxBehavior"},
		"account":                {testKey, stripeprocessor.Options{Account: "acct_1\r\n"}, "account"},
		"negative minimum":       {testKey, stripeprocessor.Options{MinimumCharge: map[pricing.Currency]int64{pricing.EUR(): -1}}, "minimumCharge"},
		"unknown environment":    {testKey, stripeprocessor.Options{Environment: 9}, "environment"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := stripeprocessor.New(test.key, test.options)
			requireField(t, err, test.field)
			if test.key != "" && strings.Contains(err.Error(), test.key) {
				t.Errorf("the error tells the key: %v", err)
			}
		})
	}
	for _, key := range []string{"sk_test_1", "rk_test_1", "sk_live_1", "rk_live_1"} {
		if _, err := stripeprocessor.New(key, stripeprocessor.Options{}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}
