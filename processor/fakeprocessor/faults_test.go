package fakeprocessor_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

func TestFaultKinds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault    fakeprocessor.Fault
		want     error // nil for success
		sessions int   // that exist after the call
	}{
		"lost before":       {fakeprocessor.Fault{Kind: fakeprocessor.LostBefore}, processor.ErrUnavailable, 0},
		"lost after":        {fakeprocessor.Fault{Kind: fakeprocessor.LostAfter}, processor.ErrUnavailable, 1},
		"refused":           {fakeprocessor.Fault{Kind: fakeprocessor.Refuse}, processor.ErrRejected, 0},
		"refused otherwise": {fakeprocessor.Fault{Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden}, processor.ErrForbidden, 0},
		"late":              {fakeprocessor.Fault{Kind: fakeprocessor.Delay, Latency: time.Microsecond}, nil, 1},
		"one step": {fakeprocessor.Fault{
			Step: fakeprocessor.CreateSessionStep, Kind: fakeprocessor.LostAfter,
		}, processor.ErrUnavailable, 1},
		"another method": {fakeprocessor.Fault{Op: fakeprocessor.EnsureMirror, Kind: fakeprocessor.LostBefore}, nil, 1},
		"another step":   {fakeprocessor.Fault{Step: fakeprocessor.ReadSession, Kind: fakeprocessor.LostBefore}, nil, 1},
		"another call": {fakeprocessor.Fault{
			Kind: fakeprocessor.LostBefore, Match: func(c fakeprocessor.Call) bool { return c.Key != "key-1" },
		}, nil, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			in := p.Inject(test.fault)
			s, err := p.CreateSession(t.Context(), request("key-1"))
			if !errors.Is(err, test.want) {
				t.Errorf("the call returned %v, want %v", err, test.want)
			}
			if (err == nil) != (s.ID != "") {
				t.Errorf("the session %+v beside the error %v", s, err)
			}
			if got := len(p.Sessions()); got != test.sessions {
				t.Errorf("%d sessions exist, want %d", got, test.sessions)
			}
			wantFired := 1
			if strings.HasPrefix(name, "another") {
				wantFired = 0
			}
			if in.Fired() != wantFired {
				t.Errorf("the fault has hit %d calls, want %d", in.Fired(), wantFired)
			}
		})
	}
}

func TestFaultsAreCounted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault fakeprocessor.Fault
		want  string // of six calls: x is hit
	}{
		"once by default": {fakeprocessor.Fault{}, "x....."},
		"twice":           {fakeprocessor.Fault{Times: 2}, "xx...."},
		"skips":           {fakeprocessor.Fault{Skip: 2}, "..x..."},
		"skips, twice":    {fakeprocessor.Fault{Skip: 3, Times: 2}, "...xx."},
		"always":          {fakeprocessor.Fault{Times: -1}, "xxxxxx"},
		"always, later":   {fakeprocessor.Fault{Skip: 4, Times: -1}, "....xx"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			s := created(t, p, request("key-1"))
			test.fault.Kind = fakeprocessor.LostBefore
			in := p.Inject(test.fault)
			if got := sixReads(t, p, s.ID); got != test.want {
				t.Errorf("hit %s, want %s", got, test.want)
			}
			if want := strings.Count(test.want, "x"); in.Fired() != want {
				t.Errorf("Fired says %d, want %d", in.Fired(), want)
			}
		})
	}
}

func sixReads(t *testing.T, p *fakeprocessor.Processor, id string) string {
	t.Helper()
	var hits strings.Builder
	for range 6 {
		if _, err := p.Session(t.Context(), id); err != nil {
			hits.WriteByte('x')
		} else {
			hits.WriteByte('.')
		}
	}
	return hits.String()
}

func TestFaultsWaitForEachOther(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	s := created(t, p, request("key-1"))
	hooked := 0
	p.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostBefore})
	p.Inject(fakeprocessor.Fault{Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden})
	p.Inject(fakeprocessor.Fault{Kind: fakeprocessor.Hook, Times: 2, Do: func(fakeprocessor.Call) { hooked++ }})
	_, err := p.Session(t.Context(), s.ID)
	wantError(t, err, processor.ErrUnavailable)
	_, err = p.Session(t.Context(), s.ID)
	wantError(t, err, processor.ErrForbidden)
	_, err = p.Session(t.Context(), s.ID)
	require.NoError(t, err)
	if hooked != 2 {
		t.Errorf("the hook ran %d times beside the other faults, want 2", hooked)
	}
}

func TestRemoveAndHeal(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	s := created(t, p, request("key-1"))
	always := fakeprocessor.Fault{Kind: fakeprocessor.LostBefore, Times: -1}
	p.Inject(always).Remove()
	if got := sixReads(t, p, s.ID); got != "......" {
		t.Errorf("after Remove: %s", got)
	}
	p.Inject(always)
	p.Inject(always)
	p.Heal()
	if got := sixReads(t, p, s.ID); got != "......" {
		t.Errorf("after Heal: %s", got)
	}
}

func TestContextEndsDuringAFault(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(cancel func()) fakeprocessor.Fault{
		"delay": func(cancel func()) fakeprocessor.Fault {
			return fakeprocessor.Fault{Kind: fakeprocessor.Delay, Latency: time.Hour, Match: func(fakeprocessor.Call) bool {
				cancel()
				return true
			}}
		},
		"hook": func(cancel func()) fakeprocessor.Fault {
			return fakeprocessor.Fault{Kind: fakeprocessor.Hook, Do: func(fakeprocessor.Call) { cancel() }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p.Inject(fault(cancel))
			_, err := p.CreateSession(ctx, request("key-1"))
			wantError(t, err, context.Canceled)
			if got := p.Sessions(); len(got) > 0 {
				t.Errorf("the call took effect all the same: %+v", got)
			}
		})
	}
}

func TestMirrorsUnderFaults(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	mirrored(t, p, newCoupon(t, "a", "TEN"))
	mirrored(t, p, newCoupon(t, "b", "TWENTY"))
	p.Inject(fakeprocessor.Fault{Op: fakeprocessor.Mirrors, Kind: fakeprocessor.LostBefore})
	for ref, err := range p.Mirrors(t.Context()) {
		wantError(t, err, processor.ErrUnavailable)
		require.Zero(t, ref)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []error
	for _, err := range p.Mirrors(ctx) {
		seen = append(seen, err)
		cancel()
	}
	require.Len(t, seen, 2)
	require.NoError(t, seen[0])
	wantError(t, seen[1], context.Canceled)
}

// TestEveryStepCanFail walks through the steps of a replacement, each refused once.
func TestEveryStepCanFail(t *testing.T) {
	t.Parallel()
	for _, step := range []fakeprocessor.Step{
		fakeprocessor.FindCode, fakeprocessor.ListCoupons, fakeprocessor.ListCodes, fakeprocessor.DeactivateCode,
		fakeprocessor.DeleteCoupon, fakeprocessor.CreateCoupon, fakeprocessor.CreateCode,
	} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			c := mirrored(t, p, newCoupon(t, "a", "TEN"))
			c.Limits.MaxUses = 5
			in := p.Inject(fakeprocessor.Fault{Step: step, Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden})
			_, err := p.UpdateMirror(t.Context(), c)
			wantError(t, err, processor.ErrForbidden)
			if in.Fired() != 1 {
				t.Errorf("the step was refused %d times", in.Fired())
			}
			_, err = p.UpdateMirror(t.Context(), c)
			require.NoError(t, err)
		})
	}
	for _, step := range []fakeprocessor.Step{fakeprocessor.ListCoupons, fakeprocessor.ListCodes, fakeprocessor.DeactivateCode, fakeprocessor.DeleteCoupon} {
		t.Run("remove: "+string(step), func(t *testing.T) {
			t.Parallel()
			p, _ := newFake(t, fakeprocessor.Options{})
			c := mirrored(t, p, newCoupon(t, "a", "TEN"))
			p.Inject(fakeprocessor.Fault{Op: fakeprocessor.RemoveMirror, Step: step, Kind: fakeprocessor.Refuse, Err: processor.ErrForbidden})
			wantError(t, p.RemoveMirror(t.Context(), c), processor.ErrForbidden)
			require.NoError(t, p.RemoveMirror(t.Context(), c))
		})
	}
}

func TestCallLog(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	c := mirrored(t, p, newCoupon(t, "a", "TEN"))
	p.ForgetCalls()
	_, err := p.VerifyMirror(t.Context(), c)
	require.NoError(t, err)
	created(t, p, request("key-1"))
	_, err = p.ExpireSession(t.Context(), "cs_none")
	wantError(t, err, processor.ErrNotFound)

	var got []string
	for _, call := range p.Calls() {
		line := call.String() + " " + call.CouponID + call.Key + call.SessionID
		if call.Err != nil {
			line += " failed"
		}
		got = append(got, line)
	}
	want := []string{
		"VerifyMirror: read coupon and promotion code cpn_a", "VerifyMirror cpn_a",
		"CreateSession: create a session key-1", "CreateSession key-1",
		"ExpireSession: expire a session cs_none failed", "ExpireSession cs_none failed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestLostAnswerHidesARefusal(t *testing.T) {
	t.Parallel()
	p, _ := newFake(t, fakeprocessor.Options{})
	_, err := p.PlantForeignCode("TEN")
	require.NoError(t, err)
	p.Inject(fakeprocessor.Fault{Kind: fakeprocessor.LostAfter})
	m, err := p.EnsureMirror(t.Context(), newCoupon(t, "a", "TEN"))
	wantError(t, err, processor.ErrUnavailable)
	require.NotErrorIs(t, err, processor.ErrCodeTaken)
	require.Equal(t, coupon.Mirror{}, m)
}

// TestFaultsOfFindSession: the log and the faults know the order of a search.
func TestFaultsOfFindSession(t *testing.T) {
	t.Parallel()
	p, c := newFake(t, fakeprocessor.Options{})
	began := c.Now()
	s := created(t, p, request("key-1"))
	p.ForgetCalls()
	orderID := s.Metadata[processor.MetadataOrderID]
	p.Inject(fakeprocessor.Fault{
		Op: fakeprocessor.FindSession, Kind: fakeprocessor.LostAfter,
		Match: func(call fakeprocessor.Call) bool { return call.OrderID == orderID },
	})
	_, err := p.FindSession(t.Context(), "another", began)
	wantError(t, err, processor.ErrNotFound)
	_, err = p.FindSession(t.Context(), orderID, began)
	wantError(t, err, processor.ErrUnavailable)
	found, err := p.FindSession(t.Context(), orderID, began)
	require.NoError(t, err)
	require.Equal(t, s.ID, found.ID)
	require.Len(t, p.Calls(), 6, "three searches of one step each")
}
