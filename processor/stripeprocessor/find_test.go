package stripeprocessor_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
	"github.com/couponkit/couponkit/validation"
)

// findBound is as many sessions as FindSession reads.
const findBound = 5_000

// TestFindSessionAfterALostAnswer: Stripe has made the session and said that it failed, or its
// answer was lost, and the process has ended. The next process finds the session by its order.
func TestFindSessionAfterALostAnswer(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*world, processor.SessionRequest) stripefake.Session{
		"lost answer": (*world).lostAnswer, "saved failure": (*world).savedFailure,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			began := w.clock.Now()
			lost := lose(w, w.request("key"))
			w.clock.Advance(10 * time.Minute)
			found, err := w.anotherProcess().FindSession(t.Context(), "ord_1", began)
			require.NoError(t, err)
			require.Equal(t, lost.ID, found.ID)
			require.Equal(t, processor.SessionOpen, found.Status)
			require.NoError(t, w.account.Pay(found.ID))
			found, err = w.anotherProcess().FindSession(t.Context(), "ord_1", began)
			require.NoError(t, err)
			require.Equal(t, []any{lost.ID, processor.SessionComplete, processor.Paid}, []any{found.ID, found.Status, found.PaymentStatus})
		})
	}
}

// TestFindSessionLists: the list begins five minutes before the given time, for clocks that differ,
// and has no end.
func TestFindSessionLists(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := w.clock.Now()
	created, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	w.account.PlantSessions(findBound+1, since.Add(-301*time.Second))
	w.account.PlantSessions(250, since.Add(time.Minute)) // three pages
	w.clock.Advance(time.Hour)
	for ahead, found := range map[time.Duration]bool{0: true, 300 * time.Second: true, 301 * time.Second: false} {
		s, err := w.processor.FindSession(t.Context(), "ord_1", since.Add(ahead))
		if found {
			require.NoError(t, err, ahead)
			require.Equal(t, created.ID, s.ID)
		} else {
			require.ErrorIs(t, err, processor.ErrNotFound, ahead)
		}
	}
	before := len(w.lists())
	_, err = w.processor.FindSession(t.Context(), "ord_none", since)
	require.ErrorIs(t, err, processor.ErrNotFound)
	page := [2]string{"1795175700", ""} // 11:55:00
	if diff := cmp.Diff([][2]string{page, page, page}, w.lists()[before:]); diff != "" {
		t.Errorf("bounds of the lists (-want +got):\n%s", diff)
	}
}

// TestFindSessionAtItsBound: a search that has not read all sessions does not say that the order
// has no session, or that its session has expired.
func TestFindSessionAtItsBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.processor.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	_, err = w.processor.ExpireSession(t.Context(), s.ID)
	require.NoError(t, err)
	w.account.PlantSessions(findBound-1, w.clock.Now().Add(-time.Second))
	found, err := w.processor.FindSession(t.Context(), "ord_1", w.clock.Now())
	require.NoError(t, err)
	require.Equal(t, s.ID, found.ID)
	w.account.PlantSessions(1, w.clock.Now().Add(-time.Second))
	_, err = w.processor.FindSession(t.Context(), "ord_1", w.clock.Now()) // another session may be open
	require.ErrorIs(t, err, processor.ErrUnavailable)
	var failure *stripeprocessor.Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "list sessions", failure.Op)
}

// TestFindSessionOfAnotherApplication: applications that share the account may have orders with
// the same IDs.
func TestFindSessionOfAnotherApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.anotherProcess(func(o *stripeprocessor.Options) { o.App = "another" })
	theirs, err := other.CreateSession(t.Context(), w.request("key"))
	require.NoError(t, err)
	_, err = w.processor.FindSession(t.Context(), "ord_1", w.clock.Now())
	require.ErrorIs(t, err, processor.ErrNotFound)
	found, err := other.FindSession(t.Context(), "ord_1", w.clock.Now())
	require.NoError(t, err)
	require.Equal(t, theirs.ID, found.ID)
}

func TestFindSessionErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.processor.FindSession(t.Context(), "", time.Time{})
	require.ErrorIs(t, err, stripeprocessor.ErrInvalid)
	var faults *validation.Error
	require.ErrorAs(t, err, &faults)
	require.Equal(t, []string{"orderId", "since"}, []string{faults.Fields[0].Path, faults.Fields[1].Path})
	require.Empty(t, w.account.Calls())

	w.account.Deny("sessions.list")
	_, err = w.processor.FindSession(t.Context(), "ord_1", w.clock.Now())
	require.ErrorIs(t, err, processor.ErrForbidden)
	w.account.Allow()

	_, err = w.anotherProcess(through(emptyPages{w.server.Client().Transport})).FindSession(t.Context(), "ord_1", w.clock.Now())
	require.ErrorIs(t, err, processor.ErrUnavailable)

	w.account.PlantSessions(250, w.clock.Now())
	ctx, cancel := context.WithCancel(t.Context())
	w.account.Faults(func(c stripefake.Call) stripefake.Fault {
		if c.Form.Get("starting_after") != "" { // the second page
			cancel()
		}
		return stripefake.None
	})
	_, err = w.processor.FindSession(ctx, "ord_1", w.clock.Now())
	require.ErrorIs(t, err, context.Canceled)
}
