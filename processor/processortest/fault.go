package processortest

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// mostRequests is more than the number of requests of any method.
const mostRequests = 64

func faultClauses() []clause {
	return []clause{
		mirrorFault("ensure", func(p *probe, id string) (coupon.Coupon, mirrorCall) {
			return p.coupon(id, "SUITE"+id), p.Processor.EnsureMirror
		}),
		mirrorFault("update of the name", func(p *probe, id string) (coupon.Coupon, mirrorCall) {
			return edited(p.mirrored(p.coupon(id, "SUITE"+id)), renamed("Another")), p.Processor.UpdateMirror
		}),
		mirrorFault("update of the limit", func(p *probe, id string) (coupon.Coupon, mirrorCall) {
			return edited(p.mirrored(p.coupon(id, "SUITE"+id)), limited(7)), p.Processor.UpdateMirror
		}),
		mirrorFault("active off", func(p *probe, id string) (coupon.Coupon, mirrorCall) {
			return edited(p.mirrored(p.coupon(id, "SUITE"+id)), switched(coupon.Inactive)), p.Processor.SetMirrorActive
		}),
		mirrorFault("active on", func(p *probe, id string) (coupon.Coupon, mirrorCall) {
			c := p.activated(edited(p.mirrored(p.coupon(id, "SUITE"+id)), switched(coupon.Inactive)))
			return edited(c, switched(coupon.Active)), p.Processor.SetMirrorActive
		}),
		{
			name:  "lost answers of remove",
			needs: []need{account(), faulty()},
			says:  "after a lost answer the same call leads to the wanted state: nothing is left",
			check: lostAnswersOfRemove,
		},
		{
			name:  "removal of what a cut-off ensure has made",
			needs: []need{account(), faulty()},
			says:  "RemoveMirror removes what an EnsureMirror whose answer was lost has made",
			check: removalOfWhatACutOffEnsureHasMade,
		},
		{
			name:  "lost answers of create",
			needs: []need{faulty()},
			says:  "repeating CreateSession with the same Key and parameters returns the same session",
			check: lostAnswersOfCreate,
		},
		{
			name:  "lost answers of create leave one session",
			needs: []need{counting(), faulty()},
			says:  "after a lost answer the same call leads to the wanted state: one session that can be paid",
			check: lostAnswersOfCreateLeaveOneSession,
		},
		{
			name:  "lost answers of expire",
			needs: []need{faulty()},
			says:  "every method can be repeated: ExpireSession ends the session",
			check: lostAnswersOfExpire,
		},
		{
			name:  "processor that is down",
			needs: []need{faulty()},
			says:  "ErrUnavailable means that the outcome is not known; VerifyMirror's error means that it could not be found out",
			check: processorThatIsDown,
		},
	}
}

func lostAnswersOfRemove(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		c := p.mirrored(p.coupon(id, "SUITE"+id))
		end := fault()
		p.lost(p.Processor.RemoveMirror(p.Context(), c), "RemoveMirror "+where)
		struck := end()
		p.removed(c, "repeated, the first one "+where)
		return struck
	})
}

func removalOfWhatACutOffEnsureHasMade(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		c := p.coupon(id, "SUITE"+id)
		end := fault()
		_, err := p.Processor.EnsureMirror(p.Context(), c)
		p.lost(err, "EnsureMirror "+where)
		struck := end()
		p.removed(c, "after an EnsureMirror "+where)
		return struck
	})
}

func lostAnswersOfCreate(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		r := p.subscription("key-" + id)
		end := fault()
		first, err := p.Processor.CreateSession(p.Context(), r)
		p.lost(err, "CreateSession "+where)
		struck := end()
		second := p.created(r)
		for range 2 {
			end := fault()
			_, err := p.Processor.CreateSession(p.Context(), r)
			p.lost(err, "CreateSession, repeated "+where)
			end()
		}
		third := p.created(r)
		if second.ID != third.ID || err == nil && first.ID != second.ID {
			p.broken("CreateSession %s, then repeated, and again after two that were cut off like it, returned the sessions %q, %q and %q",
				where, first.ID, second.ID, third.ID)
		}
		return struck
	})
}

// lostAnswersOfCreateLeaveOneSession asks the customer's side, not the adapter. After a lost answer, a
// session may exist that nobody returned. A customer who has its page can still pay it.
func lostAnswersOfCreateLeaveOneSession(p *probe) {
	p.everyLostCreate(func(r processor.SessionRequest, where string) (sessionID string) {
		s := p.created(r)
		p.onlyPayable(s.ID, "after CreateSession "+where+" was repeated")
		return s.ID
	})
}

// everyLostCreate cuts off each request of CreateSession in turn. repeat then calls CreateSession
// again. Afterwards the session is ended, so that only one session can be paid at a time.
func (p *probe) everyLostCreate(repeat func(r processor.SessionRequest, where string) (sessionID string)) {
	p.Helper()
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		r := p.subscription("key-" + id)
		end := fault()
		_, err := p.Processor.CreateSession(p.Context(), r)
		p.lost(err, "CreateSession "+where)
		struck := end()
		p.ended(repeat(r, where))
		return struck
	})
}

func lostAnswersOfExpire(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		s := p.created(p.request("key-" + id))
		end := fault()
		_, err := p.Processor.ExpireSession(p.Context(), s.ID)
		p.lost(err, "ExpireSession "+where)
		struck := end()
		p.is(p.ended(s.ID), processor.SessionExpired, processor.Unpaid, "after ExpireSession "+where+" was repeated")
		return struck
	})
}

func processorThatIsDown(p *probe) {
	c, s := p.mirrored(p.coupon("a", "SUITE1")), p.created(p.request("key-1"))
	end := p.Faults.Down()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	for name, call := range p.requests(c, s.ID) {
		p.fails(call(ctx), processor.ErrUnavailable, name+" while the processor is down")
	}
	end()
	p.verifies(c, p.usable(), "once the processor is back")
	p.is(p.session(s.ID), processor.SessionOpen, processor.Unpaid, "once the processor is back")
}

type mirrorCall func(context.Context, coupon.Coupon) (coupon.Mirror, error)

// mirrorFault returns a clause that cuts off each request of a call that returns a mirror.
func mirrorFault(name string, prepare func(p *probe, id string) (coupon.Coupon, mirrorCall)) clause {
	return clause{
		name: "lost answers of " + name, needs: []need{account(), faulty()},
		says: "after a lost answer, a crash or a refusal the same call leads to the wanted state, with one coupon and one active promotion code",
		check: func(p *probe) {
			p.everyRequest(func(id string, fault func() func() bool, where string) bool {
				c, call := prepare(p, id)
				end := fault()
				_, err := call(p.Context(), c)
				p.lost(err, name+" "+where)
				struck := end()
				m, err := call(p.Context(), c)
				p.ok(err, name+" repeated, the first one "+where)
				p.shows(p.accepted(c, m), "after "+name+" "+where+" was repeated")
				return struck
			})
		},
	}
}

// everyRequest runs a case with the first request of a method cut off, then the second, and so on. It
// ends when a method has no more requests. It runs all cases for both kinds of loss.
func (p *probe) everyRequest(run func(id string, fault func() func() bool, where string) (struck bool)) {
	p.Helper()
	for _, loss := range []Loss{BeforeEffect, AfterEffect} {
		for n := 1; ; n++ {
			id := fmt.Sprintf("%c%02d", 'a'+loss, n)
			where := fmt.Sprintf("with request %d cut off %s", n, loss)
			if struck := run(id, func() func() bool { return p.Faults.Lose(n, loss) }, where); !struck || p.Failed() {
				break
			}
			if n == mostRequests {
				p.Fatalf("the harness reports more than %d requests for one call", mostRequests)
			}
		}
	}
}

// lost checks the error of a call that was cut off. There may be no error, because an adapter may
// repeat a request.
func (p *probe) lost(err error, call string) {
	p.Helper()
	if err != nil {
		p.fails(err, processor.ErrUnavailable, call)
	}
}

// methods has calls by the names of the contract's methods.
type methods map[string]func(context.Context) error

// calls returns a call of each method, on a coupon with a mirror and on an open session.
func (p *probe) calls(c coupon.Coupon, sessionID string) methods {
	all := p.sessionCalls(sessionID)
	maps.Copy(all, p.mirrorCalls(c))
	return all
}

// requests returns the calls that reach the processor. Without mirrors, only calls of sessions do.
func (p *probe) requests(c coupon.Coupon, sessionID string) methods {
	if p.NoMirror {
		return p.sessionCalls(sessionID)
	}
	return p.calls(c, sessionID)
}

func (p *probe) mirrorCalls(c coupon.Coupon) methods {
	return methods{
		"EnsureMirror": func(ctx context.Context) error {
			_, err := p.Processor.EnsureMirror(ctx, p.coupon("new", "SUITENEW"))
			return err
		},
		"UpdateMirror": func(ctx context.Context) error {
			_, err := p.Processor.UpdateMirror(ctx, edited(c, limited(9)))
			return err
		},
		"SetMirrorActive": func(ctx context.Context) error {
			_, err := p.Processor.SetMirrorActive(ctx, edited(c, switched(coupon.Inactive)))
			return err
		},
		"RemoveMirror": func(ctx context.Context) error { return p.Processor.RemoveMirror(ctx, c) },
		"VerifyMirror": func(ctx context.Context) error {
			_, err := p.Processor.VerifyMirror(ctx, c)
			return err
		},
	}
}

func (p *probe) sessionCalls(sessionID string) methods {
	all := methods{
		"CreateSession": func(ctx context.Context) error {
			_, err := p.Processor.CreateSession(ctx, p.request("key-new"))
			return err
		},
		"Session": func(ctx context.Context) error {
			_, err := p.Processor.Session(ctx, sessionID)
			return err
		},
		"ExpireSession": func(ctx context.Context) error {
			_, err := p.Processor.ExpireSession(ctx, sessionID)
			return err
		},
	}
	if f, ok := p.Processor.(processor.SessionFinder); ok {
		all["FindSession"] = func(ctx context.Context) error {
			_, err := f.FindSession(ctx, "order-1", p.Now().Add(-time.Minute))
			return err
		}
	}
	if r, ok := p.Processor.(processor.Refunder); ok {
		all["Refund"] = func(ctx context.Context) error {
			_, err := r.Refund(ctx, processor.RefundRequest{SessionID: sessionID, Key: "refund-new", Amount: 1})
			return err
		}
		all["Refunds"] = func(ctx context.Context) error {
			_, err := r.Refunds(ctx, sessionID)
			return err
		}
	}
	return all
}
