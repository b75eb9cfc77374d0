package stripeprocessor_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// searched is as many sessions as a search looks at.
const searched = 2000

// withoutExpiry is a request whose sessions end as late as the options say.
func withoutExpiry(w *world, key string) processor.SessionRequest {
	w.Helper()
	r := w.subscription(key)
	r.ExpiresAt = time.Time{}
	return r
}

// lists returns the bounds of every list of sessions so far.
func (w *world) lists() (bounds [][2]string) {
	w.Helper()
	for _, c := range w.account.Calls() {
		if c.Op == "sessions.list" {
			bounds = append(bounds, [2]string{c.Form.Get("created[gte]"), c.Form.Get("created[lte]")})
		}
	}
	return bounds
}

// lostAnswer makes the session of a request, whose answer does not arrive.
func (w *world) lostAnswer(r processor.SessionRequest) stripefake.Session {
	w.Helper()
	return w.troubled(r, stripefake.LostAfter)
}

// savedFailure makes the session of a request although Stripe says, and has saved, that it
// failed.
func (w *world) savedFailure(r processor.SessionRequest) stripefake.Session {
	w.Helper()
	return w.troubled(r, stripefake.FailAfter)
}

// troubled makes the session of a request by a process that is cut off at the first trouble.
func (w *world) troubled(r processor.SessionRequest, f stripefake.Fault) stripefake.Session {
	w.Helper()
	struck := false
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		switch {
		case struck:
			return stripefake.LostBefore
		case c.Op != "sessions.create":
			return stripefake.None
		}
		struck = true
		return f
	})
	_, err := w.processor.CreateSession(w.Context(), r)
	w.account.Faults(nil)
	require.ErrorIs(w, err, processor.ErrUnavailable)
	require.Len(w, w.account.Sessions(), 1)
	return w.account.Sessions()[0]
}

// TestSearchLooksWhereTheSessionCanBe: from when the order was made, less what clocks may
// be apart, to half an hour before the session ends. What a busy shop sells before and
// after is not looked at, and the session is found among it.
func TestSearchLooksWhereTheSessionCanBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.request("key")
	r.OrderedAt = w.clock.Now()
	lost := w.lostAnswer(r)
	w.account.PlantSessions(searched+1, r.OrderedAt.Add(-301*time.Second))
	w.account.PlantSessions(searched+1, r.ExpiresAt.Add(-29*time.Minute+time.Second))

	w.clock.Advance(2 * time.Hour) // too late for a new one
	found, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, lost.ID, found.ID)
	require.Equal(t, processor.SessionExpired, found.Status)
	want := [][2]string{{"1795175700", "1795177860"}} // 11:55:00 to 12:31:00
	if diff := cmp.Diff(want, w.lists()); diff != "" {
		t.Errorf("bounds of the lists (-want +got):\n%s", diff)
	}
}

// TestSearchAmongEarlierSessions: a failure that Stripe has saved blocks no shop of many
// sessions, because those from before the order are not looked at.
func TestSearchAmongEarlierSessions(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]func(*world, string) processor.SessionRequest{
		"with an expiry": (*world).request, "without": withoutExpiry,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request(w, "key")
			w.account.PlantSessions(searched+1, w.clock.Now())
			w.clock.Advance(6 * time.Minute)
			r.OrderedAt = w.clock.Now()
			w.account.Faults(once("sessions.create", stripefake.FailBefore))
			made, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, processor.SessionOpen, made.Status)
			again, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, made.ID, again.ID)
		})
	}
}

// once is a fault of the first call of an operation.
func once(op string, f stripefake.Fault) func(stripefake.Call) stripefake.Fault {
	struck := false
	return func(c stripefake.Call) stripefake.Fault {
		if c.Op != op || struck {
			return stripefake.None
		}
		struck = true
		return f
	}
}

// TestSearchAtItsBound: a search that has not looked at all sessions in question does not
// know that there is none. The error may be repeated, and no second session is made.
func TestSearchAtItsBound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		request func(*world, string) processor.SessionRequest
		lose    func(*world, processor.SessionRequest) stripefake.Session
		later   time.Duration
		again   func(*world) *stripeprocessor.Processor
	}{
		"too late for another": {(*world).request, (*world).lostAnswer, 40 * time.Minute, nil},
		"after a failure":      {(*world).request, (*world).savedFailure, time.Minute, nil},
		"of a key":             {(*world).request, (*world).lostAnswer, time.Minute, (*world).otherOptions},
		"without an expiry":    {withoutExpiry, (*world).lostAnswer, time.Minute, nil},
	}
	for name, test := range tests {
		for sessions, found := range map[int]bool{searched - 1: true, searched: false} {
			t.Run(name+map[bool]string{true: ", within", false: ", beyond"}[found], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				r := test.request(w, "key")
				r.OrderedAt = w.clock.Now()
				lost := test.lose(w, r)
				w.clock.Advance(test.later)
				w.account.PlantSessions(sessions, r.OrderedAt.Add(30*time.Second))
				p := w.processor
				if test.again != nil {
					p = test.again(w)
				}
				got, err := p.CreateSession(t.Context(), r)
				if found {
					require.NoError(t, err)
					require.Equal(t, lost.ID, got.ID)
				} else {
					require.ErrorIs(t, err, processor.ErrUnavailable)
					require.NotErrorIs(t, err, processor.ErrRejected)
					var failure *stripeprocessor.Error
					require.ErrorAs(t, err, &failure)
					require.Equal(t, "list sessions", failure.Op)
					require.ErrorContains(t, err, "not found among 2000 sessions")
				}
				require.Equal(t, 1+sessions, len(w.account.Sessions()), "another session was made") //nolint:testifylint // thousands would be printed
				if r.FirstPeriodDiscount > 0 {
					// A call that does not find the session keeps its own: the session might carry it.
					want := map[bool]int{true: 1, false: 2}[found]
					require.Len(t, w.account.Coupons(), want)
				}
			})
		}
	}
}

// otherOptions is the processor of a host that was set up otherwise.
func (w *world) otherOptions() *stripeprocessor.Processor { return w.anotherProcess(inclusive) }

// TestSearchOfAnImpossibleOrder: an order that was made after its session could be is told
// wrongly, and the search goes back as far as without.
func TestSearchOfAnImpossibleOrder(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{10 * time.Minute, 24 * time.Hour} {
		for _, request := range []func(*world, string) processor.SessionRequest{(*world).request, withoutExpiry} {
			w := newWorld(t)
			r := request(w, "key")
			r.OrderedAt = w.clock.Now().Add(ahead)
			first, err := w.processor.CreateSession(t.Context(), r)
			require.NoError(t, err)
			again, err := w.otherOptions().CreateSession(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, first.ID, again.ID)
		}
	}
	w := newWorld(t)
	r := w.request("key")
	lost := w.lostAnswer(r)
	w.clock.Advance(2 * time.Hour)
	r.OrderedAt = r.ExpiresAt.Add(-20 * time.Minute) // before now, and too late for the session
	found, err := w.processor.CreateSession(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, lost.ID, found.ID)
}

// TestSearchOfABusyShop: without an expiry the search comes before the session. Where it
// ends at its bound the key decides, and a new request gets its session.
func TestSearchOfABusyShop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.account.PlantSessions(searched+1, w.clock.Now())
	made, err := w.processor.CreateSession(t.Context(), withoutExpiry(w, "key"))
	require.NoError(t, err)
	require.Equal(t, processor.SessionOpen, made.Status)
}

// TestOrderedAtIsNoParameter: with it or without, a request has the same session, and the
// same key.
func TestOrderedAtIsNoParameter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := w.request("key")
	with.OrderedAt = w.clock.Now()
	for _, r := range []processor.SessionRequest{with, w.request("key")} {
		_, err := w.processor.CreateSession(t.Context(), r)
		require.NoError(t, err)
	}
	require.Len(t, w.account.Sessions(), 1)
	for _, c := range w.account.Calls() {
		if c.Op == "sessions.create" && c.Key != "session:ord_1:1.0:cb084609377547fe5e88df730ea4b7bb" {
			t.Errorf("the key is %s", c.Key)
		}
	}
}
