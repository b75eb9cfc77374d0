package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/ratelimit"
	"github.com/couponkit/couponkit/store"
	"github.com/couponkit/couponkit/store/memstore"
	"github.com/couponkit/couponkit/validation"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// clock is a clock that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) { c.at = c.at.Add(d) }

// limiters returns one limiter of each kind.
func limiters(t require.TestingT, c *clock, limits ratelimit.Limits) map[string]ratelimit.Limiter {
	memory, err := ratelimit.NewMemory(limits, ratelimit.MemoryOptions{Now: c.now})
	require.NoError(t, err)
	stored, err := ratelimit.NewStored(memstore.New(), limits, c.now)
	require.NoError(t, err)
	return map[string]ratelimit.Limiter{"memory": memory, "stored": stored}
}

func of(limit, id string) ratelimit.Subject { return ratelimit.Subject{Limit: limit, ID: id} }

// wait takes attempts that are not left, and returns how long to wait.
func wait(t *testing.T, c *clock, l ratelimit.Limiter, n int, subjects ...ratelimit.Subject) time.Duration {
	t.Helper()
	err := l.Take(t.Context(), n, subjects...)
	require.ErrorIs(t, err, ratelimit.ErrTooManyAttempts)
	refused, ok := errors.AsType[*ratelimit.TooManyAttemptsError](err)
	require.True(t, ok)
	return refused.RetryAt.Sub(c.at)
}

func TestASubjectFailsAsOftenAsItsLimitAllows(t *testing.T) {
	t.Parallel()
	limits := ratelimit.Limits{"customer": {Attempts: 3, Window: 3 * time.Minute}, "address": {Attempts: 5, Window: 5 * time.Minute}}
	ann, ben, here := of("customer", "ann"), of("customer", "ben"), of("address", "203.0.113.7")
	clock := &clock{noon}
	for name, l := range limiters(t, clock, limits) {
		t.Run(name, func(t *testing.T) {
			clock.at = noon
			for range 3 {
				require.NoError(t, l.Take(t.Context(), 1, ann, here))
			}
			require.Equal(t, time.Minute, wait(t, clock, l, 1, ann, here))
			require.NoError(t, l.Take(t.Context(), 2, ben, here), "a refusal takes nothing of any subject")
			require.Equal(t, time.Minute, wait(t, clock, l, 1, ben, here), "the address has failed five times")
			require.NoError(t, l.Take(t.Context(), 1, ben), "the customer has not")

			require.NoError(t, l.Return(t.Context(), 2, ann))
			require.NoError(t, l.Take(t.Context(), 2, ann), "what succeeds does not count")
			clock.pass(30 * time.Second)
			require.Equal(t, 30*time.Second, wait(t, clock, l, 1, ann))
			require.Equal(t, 150*time.Second, wait(t, clock, l, 3, ann))
			clock.pass(time.Hour)
			require.NoError(t, l.Take(t.Context(), 3, ann), "all attempts are back")
			clock.pass(-10 * time.Hour)
			require.Equal(t, time.Minute, wait(t, clock, l, 1, ann), "a clock that goes back locks nobody out for longer than a window")
		})
	}
}

func TestTooManyAttemptsNamesNobody(t *testing.T) {
	t.Parallel()
	clock := &clock{noon}
	for name, l := range limiters(t, clock, ratelimit.Limits{"customer": {Attempts: 1, Window: time.Minute}}) {
		require.NoError(t, l.Take(t.Context(), 1, of("customer", "ann@shop.example")))
		err := l.Take(t.Context(), 1, of("customer", "ann@shop.example"))
		require.EqualError(t, err, "too many attempts: try again at 2026-11-20T12:01:00Z", name)
	}
}

func TestInvalidCallsAreRefused(t *testing.T) {
	t.Parallel()
	ann := of("customer", "ann")
	many := make([]ratelimit.Subject, ratelimit.MaxSubjects+1)
	for name, l := range limiters(t, &clock{noon}, ratelimit.Limits{"customer": {Attempts: 2, Window: time.Minute}}) {
		for _, c := range []struct {
			n        int
			subjects []ratelimit.Subject
			fault    validation.Field
		}{
			{1, nil, validation.Field{Path: "subjects", Code: validation.Required}},
			{0, nil, validation.Field{Path: "subjects", Code: validation.Required}},
			{1, many, validation.Field{Path: "subjects", Code: validation.TooLong}},
			{1, []ratelimit.Subject{ann, of("customer", "")}, validation.Field{Path: "subjects[1].id", Code: validation.Required}},
			{1, []ratelimit.Subject{of("customer", strings.Repeat("x", ratelimit.MaxIDLength+1))}, validation.Field{Path: "subjects[0].id", Code: validation.TooLong}},
			{1, []ratelimit.Subject{of("session", "x")}, validation.Field{Path: "subjects[0].limit", Code: validation.Unknown}},
			{1, []ratelimit.Subject{ann, ann}, validation.Field{Path: "subjects[1]", Code: validation.Mismatch}},
			{-1, []ratelimit.Subject{ann}, validation.Field{Path: "attempts", Code: validation.TooSmall}},
			{3, []ratelimit.Subject{ann}, validation.Field{Path: "attempts", Code: validation.TooLarge}},
		} {
			for _, call := range []func(context.Context, int, ...ratelimit.Subject) error{l.Take, l.Return} {
				invalid, ok := errors.AsType[*validation.Error](call(t.Context(), c.n, c.subjects...))
				require.True(t, ok, "%s: %v", name, c)
				require.Len(t, invalid.Fields, 1)
				invalid.Fields[0].Message = ""
				require.Equal(t, c.fault, invalid.Fields[0], name)
			}
		}
		require.NoError(t, l.Take(t.Context(), 0, ann), "nothing is taken")
		require.NoError(t, l.Take(t.Context(), 2, ann), "invalid calls take nothing")
	}
}

func TestInvalidLimitsAreRefused(t *testing.T) {
	t.Parallel()
	sound := ratelimit.Limit{Attempts: 1, Window: time.Second}
	for what, c := range map[string]struct {
		limits ratelimit.Limits
		want   []string
	}{
		"none":                    {nil, []string{"limits required"}},
		"a negative limit":        {ratelimit.Limits{"a": {-1, time.Second}}, []string{"limits.a.attempts too_small"}},
		"a limit of 0":            {ratelimit.Limits{"a": {0, time.Second}}, []string{"limits.a.attempts too_small"}},
		"a window of 0":           {ratelimit.Limits{"a": {1, 0}}, []string{"limits.a.window too_small"}},
		"a negative window":       {ratelimit.Limits{"a": {1, -1}}, []string{"limits.a.window too_small"}},
		"a window of centuries":   {ratelimit.Limits{"a": {1, 1<<63 - 1}}, []string{"limits.a.window too_large"}},
		"more than a microsecond": {ratelimit.Limits{"a": {1001, time.Millisecond}}, []string{"limits.a.attempts too_large"}},
		"all that is wrong":       {ratelimit.Limits{"a": {}, "b": {}, "c": sound}, []string{"limits.a.attempts too_small", "limits.a.window too_small", "limits.b.attempts too_small", "limits.b.window too_small"}},
		"odd names":               {ratelimit.Limits{"": sound, "Customer": sound}, []string{`limits."" malformed`, `limits."Customer" malformed`}},
	} {
		_, inMemory := ratelimit.NewMemory(c.limits, ratelimit.MemoryOptions{})
		_, stored := ratelimit.NewStored(memstore.New(), c.limits, nil)
		for _, err := range []error{inMemory, stored} {
			invalid, ok := errors.AsType[*validation.Error](err)
			require.True(t, ok, what)
			var got []string
			for _, f := range invalid.Fields {
				got = append(got, f.Path+" "+string(f.Code))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
	}
	_, err := ratelimit.NewMemory(ratelimit.Limits{"a": sound}, ratelimit.MemoryOptions{MaxTracked: -1})
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, err = ratelimit.NewStored(nil, ratelimit.Limits{"a": sound}, nil)
	require.ErrorIs(t, err, validation.ErrInvalid)
	_, err = ratelimit.NewStored(inTransaction{}, ratelimit.Limits{"a": sound}, nil)
	require.ErrorIs(t, err, validation.ErrInvalid)
}

type inTransaction struct{ store.Attempts }

func (inTransaction) InTransaction() bool { return true }

// failing is a store that is down.
type failing struct{ store.Attempts }

var errDown = errors.New("down")

func (failing) SaveAttempts(context.Context, store.AttemptChange) (time.Time, error) {
	return time.Time{}, errDown
}

func TestWhoCannotBeCountedDoesNotGuess(t *testing.T) {
	t.Parallel()
	limits := ratelimit.Limits{"customer": {Attempts: 2, Window: time.Minute}}
	down, err := ratelimit.NewStored(failing{}, limits, nil)
	require.NoError(t, err)
	require.ErrorIs(t, down.Take(t.Context(), 1, of("customer", "ann")), errDown)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, l := range limiters(t, &clock{noon}, limits) {
		require.ErrorIs(t, l.Take(gone, 1, of("customer", "ann")), context.Canceled, name)
	}
}

func TestTheStoreForgetsSubjectsThatHaveAllAttempts(t *testing.T) {
	t.Parallel()
	s, c := memstore.New(), &clock{noon}
	l, err := ratelimit.NewStored(s, ratelimit.Limits{"customer": {Attempts: 2, Window: 2 * time.Minute}}, c.now)
	require.NoError(t, err)
	for i := range 2*store.MaxForgotten + 1 {
		require.NoError(t, l.Take(t.Context(), 1, of("customer", fmt.Sprint(i))))
	}
	c.pass(30 * time.Second)
	require.NoError(t, l.Take(t.Context(), 2, of("customer", "ann")))
	c.pass(30 * time.Second)
	require.NoError(t, l.Forget(t.Context()))
	left, err := s.ForgetAttempts(t.Context(), c.at.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, left, "the only subject whose attempts were not back")
}

// A clock that no store keeps is refused at once.
func TestAClockOutsideOfTheCalendar(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := ratelimit.NewStored(memstore.New(), ratelimit.Limits{"user": {Attempts: 1, Window: time.Minute}}, func() time.Time { return at })
		require.ErrorIs(t, err, validation.ErrInvalid, at.String())
		require.ErrorContains(t, err, "now", at.String())
	}
}
