package stripeprocessor_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/stripeprocessor"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

// TestLifeOfARequest: whatever fails, ends, is paid, told late or again, and whichever
// process does it, there is one session at a time, it can be paid, and it charges the order.
func TestLifeOfARequest(t *testing.T) {
	t.Parallel()
	for name, request := range allRequests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { liveOnce(rt, newLife(t, request)) })
		})
	}
}

func liveOnce(rt *rapid.T, l *life) {
	defer l.close()
	rt.Repeat(map[string]func(*rapid.T){
		"":       l.check,
		"create": l.create, "create beside": l.createBeside, "expire": l.expire, "end": l.end, "time": l.passes,
		"pay": l.pay, "pay later": l.payLater, "delay ends": l.delayEnds, "webhook": l.hears, "sweep": l.sweep, "prices": l.minimum,
	})
	l.rest(rt)
}

// life is a request in a world of two processes that are alike and one with other options.
type life struct {
	*world
	request   processor.SessionRequest
	processes []*stripeprocessor.Processor
	slow      *stripeprocessor.Processor
	gate      *meanwhile // before the requests of slow
	left      int        // of those until something happens
	least     map[string]int64
}

func newLife(t *testing.T, request func(*world, string) processor.SessionRequest) *life {
	t.Helper()
	l := &life{least: map[string]int64{"eur": 50}}
	l.world = newWorld(t, func(_ *stripeprocessor.Options, f *stripefake.Options) { f.MinimumCharge = l.least })
	l.request = request(l.world, "key")
	l.processes = []*stripeprocessor.Processor{l.processor, l.anotherProcess(), l.anotherProcess(inclusive)}
	l.gate = &meanwhile{when: func() bool { l.left--; return l.left == 0 }}
	l.slow = l.interrupted(l.gate)
	return l
}

func (l *life) close() { l.server.Close() }

// process is one of the processes, with what goes wrong at Stripe during its next call.
func (l *life) process(t *rapid.T) *stripeprocessor.Processor {
	l.troubles(t)
	return l.processes[rapid.IntRange(0, len(l.processes)-1).Draw(t, "process")]
}

// troubles are what goes wrong at Stripe with the next requests.
func (l *life) troubles(t *rapid.T) {
	kinds := rapid.SampledFrom([]stripefake.Fault{
		stripefake.None, stripefake.None, stripefake.None, stripefake.LostBefore, stripefake.LostAfter, stripefake.FailBefore,
		stripefake.FailAfter, stripefake.BadGateway, stripefake.Unavailable, stripefake.RateLimited, stripefake.DependencyFailed,
	})
	faults := rapid.SliceOfN(kinds, 0, 8).Draw(t, "faults")
	n := 0
	l.account.Faults(func(stripefake.Call) stripefake.Fault {
		if n++; n > len(faults) {
			return stripefake.None
		}
		return faults[n-1]
	})
}

// live returns the session that is open or was finished.
func (l *life) live() (ids []string) {
	for _, s := range l.account.Sessions() {
		if s.Status != "expired" {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func (l *life) any(t *rapid.T) string {
	all := l.account.Sessions()
	if len(all) == 0 {
		t.Skip("there is no session")
	}
	return all[rapid.IntRange(0, len(all)-1).Draw(t, "session")].ID
}

func (l *life) create(t *rapid.T) {
	p := l.process(t)
	before := l.live()
	s, err := p.CreateSession(l.Context(), l.request)
	l.account.Faults(nil)
	switch {
	case errors.Is(err, processor.ErrUnavailable):
	case errors.Is(err, stripeprocessor.ErrInvalid):
		late := !l.request.ExpiresAt.IsZero() && l.request.ExpiresAt.Sub(l.clock.Now()) <= 31*time.Minute
		if len(before) > 0 || l.least["eur"] == 50 && !late {
			t.Fatalf("refused although %s is there, late: %t: %v", before, late, err)
		}
	case err != nil:
		t.Fatal(err)
	case len(before) > 0 && s.ID != before[0]:
		t.Fatalf("%s is there, the answer is %s, %s", before, s.ID, s.Status)
	case s.Status != processor.SessionExpired && !slices.Contains(l.live(), s.ID):
		t.Fatalf("the answer is %s, %s, and there is %s", s.ID, s.Status, l.live())
	}
}

// createBeside lets a call wait before one of its requests while something else happens.
func (l *life) createBeside(t *rapid.T) {
	l.troubles(t)
	beside := rapid.SampledFrom([]string{"another call", "other options", "paid", "expired", "time", "swept"}).Draw(t, "beside")
	l.left = rapid.IntRange(1, 8).Draw(t, "before request")
	l.gate.do = func() { l.happens(t, beside) }
	s, err := l.slow.CreateSession(l.Context(), l.request)
	l.left = 0
	l.account.Faults(nil)
	switch {
	case errors.Is(err, processor.ErrUnavailable), errors.Is(err, stripeprocessor.ErrInvalid):
	case err != nil:
		t.Fatalf("beside %s: %v", beside, err)
	case s.Status == processor.SessionOpen && beside != "expired" && beside != "time" && !slices.Contains(l.live(), s.ID):
		t.Fatalf("beside %s: the answer is %s, %s, and there is %s", beside, s.ID, s.Status, l.live())
	}
}

func (l *life) happens(t *rapid.T, what string) {
	live := l.live()
	var err error
	switch {
	case what == "another call":
		_, err = l.processor.CreateSession(l.Context(), l.request)
	case what == "other options":
		_, err = l.processes[2].CreateSession(l.Context(), l.request)
	case what == "time":
		l.clock.Advance(40 * time.Minute)
	case what == "swept":
		l.swept(t, l.processor)
	case len(live) == 0:
	case what == "expired":
		_, err = l.processor.ExpireSession(l.Context(), live[0])
	case what == "paid":
		err = l.account.Pay(live[0])
	}
	if err != nil && !errors.Is(err, processor.ErrUnavailable) && !errors.Is(err, stripeprocessor.ErrInvalid) && !errors.Is(err, stripefake.ErrNotPayable) {
		t.Fatalf("%s: %v", what, err)
	}
}

func (l *life) expire(t *rapid.T) {
	id := l.any(t)
	before, _ := l.account.Session(id)
	s, err := l.process(t).ExpireSession(l.Context(), id)
	l.account.Faults(nil)
	switch {
	case errors.Is(err, processor.ErrUnavailable):
	case err != nil:
		t.Fatal(err)
	case before.Status == "complete" && s.Status != processor.SessionComplete, before.Status != "complete" && s.Status != processor.SessionExpired:
		t.Fatalf("a session that was %s is %s", before.Status, s.Status)
	}
}

func (l *life) end(t *rapid.T) {
	id := l.any(t)
	err := l.process(t).EndSession(l.Context(), id)
	l.account.Faults(nil)
	if err != nil && !errors.Is(err, processor.ErrUnavailable) {
		t.Fatal(err)
	}
}

func (l *life) passes(t *rapid.T) {
	l.clock.Advance(rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute, 20 * time.Minute, 2 * time.Hour}).Draw(t, "time"))
}

func (l *life) pay(t *rapid.T)      { l.finish(t, l.account.Pay) }
func (l *life) payLater(t *rapid.T) { l.finish(t, l.account.PayLater) }

func (l *life) finish(t *rapid.T, pay func(string) error) {
	id := l.any(t)
	if s, _ := l.account.Session(id); s.Status != "open" {
		t.Skip("it has ended")
	}
	if err := pay(id); err != nil {
		t.Fatalf("an open session: %v", err)
	}
}

func (l *life) delayEnds(t *rapid.T) {
	end := rapid.SampledFrom([]func(string) error{l.account.PaymentArrives, l.account.PaymentFails}).Draw(t, "how")
	if err := end(l.any(t)); err != nil {
		t.Skip("no payment is on its way")
	}
}

// hears lets the webhook bring an event, which may be an old one.
func (l *life) hears(t *rapid.T) {
	all := l.account.Events()
	if len(all) == 0 {
		t.Skip("nothing has happened")
	}
	e := all[rapid.IntRange(0, len(all)-1).Draw(t, "event")]
	parsed, err := l.processor.ParseEvent(e.Payload, l.account.Sign(e.Payload, l.clock.Now()))
	if err != nil {
		t.Fatal(err)
	}
	if parsed.SessionID == "" {
		return
	}
	err = l.process(t).EndSession(l.Context(), parsed.SessionID)
	l.account.Faults(nil)
	if err != nil && !errors.Is(err, processor.ErrUnavailable) {
		t.Fatal(err)
	}
}

func (l *life) sweep(t *rapid.T) {
	l.swept(t, l.process(t))
	l.account.Faults(nil)
}

func (l *life) swept(t *rapid.T, p *stripeprocessor.Processor) {
	if _, err := p.Sweep(l.Context()); err != nil && !errors.Is(err, processor.ErrUnavailable) {
		t.Fatal(err)
	}
}

// minimum changes what the account is allowed to charge, as Stripe's support can.
func (l *life) minimum(t *rapid.T) {
	l.account.Faults(func(stripefake.Call) stripefake.Fault { return stripefake.None })
	l.least["eur"] = rapid.SampledFrom([]int64{50, 50, 1_000_000}).Draw(t, "minimum")
}

func (l *life) check(t *rapid.T) {
	if live := l.live(); len(live) > 1 {
		t.Fatalf("%s can be paid or were paid", live)
	}
	for _, s := range l.account.Sessions() {
		if s.AmountTotal != l.request.Total {
			t.Fatalf("%s charges %d, the order %d", s.ID, s.AmountTotal, l.request.Total)
		}
		if s.Status == "open" && s.CouponID != "" && !l.hasCoupon(s.CouponID) {
			t.Fatalf("%s is open and its coupon is gone", s.ID)
		}
	}
}

func (w *world) hasCoupon(id string) bool {
	return slices.ContainsFunc(w.account.Coupons(), func(c stripefake.Coupon) bool { return c.ID == id && c.TimesRedeemed == 0 })
}

// rest: once all is over, the sweep leaves nothing.
func (l *life) rest(t *rapid.T) {
	l.clock.Advance(30 * time.Hour)
	l.check(t)
	l.swept(t, l.processor)
	if left := l.account.Coupons(); len(left) > 0 {
		t.Fatalf("the sweep leaves %+v", left)
	}
}
