package processortest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
)

// crowd is the number of goroutines that call at once.
const crowd = 16

// together runs f in n goroutines at once and waits for all.
func together(n int, f func(i int)) {
	var start, done sync.WaitGroup
	start.Add(1)
	for i := range n {
		done.Go(func() {
			start.Wait()
			f(i)
		})
	}
	start.Done()
	done.Wait()
}

func concurrencyClauses() []clause {
	return []clause{
		{
			name:  "many ensure one coupon",
			says:  "all methods may be called from many goroutines at once, with one coupon and one active promotion code",
			check: manyEnsureOneCoupon,
		},
		{
			name:  "many coupons want one code",
			needs: []need{keeping()},
			says:  "a promotion code that is active for another is ErrCodeTaken; one active promotion code",
			check: manyCouponsWantOneCode,
		},
		{
			name:  "many create one session",
			says:  "repeating CreateSession with the same Key and parameters returns the same session, also at once",
			check: manyCreateOneSession,
		},
		{
			name:  "customer pays while the session is expired",
			needs: []need{customer()},
			says:  "ExpireSession ends a session so that it cannot be paid any more, or returns it paid: never both",
			check: customerPaysWhileTheSessionIsExpired,
		},
		{
			name:  "many work on coupons and sessions of their own",
			says:  "all methods may be called from many goroutines at once",
			check: manyWorkOnCouponsAndSessionsOfTheirOwn,
		},
	}
}

func manyEnsureOneCoupon(p *probe) {
	c := p.coupon("a", "SUITE1")
	mirrors, errs := make([]coupon.Mirror, crowd), make([]error, crowd)
	together(crowd, func(i int) { mirrors[i], errs[i] = p.Processor.EnsureMirror(p.Context(), c) })
	for i := range crowd {
		p.ok(errs[i], "EnsureMirror beside others")
		if mirrors[i] != mirrors[0] {
			p.broken("one call made %+v and another %+v", mirrors[0], mirrors[i])
		}
	}
	p.shows(p.accepted(c, mirrors[0]), "after many calls at once")
}

func manyCouponsWantOneCode(p *probe) {
	coupons, errs := make([]coupon.Coupon, crowd), make([]error, crowd)
	for i := range crowd {
		coupons[i] = p.coupon(fmt.Sprintf("c%02d", i), "SUITE1")
	}
	together(crowd, func(i int) { coupons[i].Mirror, errs[i] = p.Processor.EnsureMirror(p.Context(), coupons[i]) })
	winners := 0
	for i, err := range errs {
		if err != nil {
			p.fails(err, processor.ErrCodeTaken, "EnsureMirror beside others that want the code")
			continue
		}
		winners++
		p.shows(coupons[i], "for the coupon that got the code")
	}
	if winners != 1 {
		p.broken("%d coupons got the code, want 1", winners)
	}
}

func manyCreateOneSession(p *probe) {
	r := p.request("key-1")
	sessions, errs := make([]processor.Session, crowd), make([]error, crowd)
	together(crowd, func(i int) { sessions[i], errs[i] = p.Processor.CreateSession(p.Context(), r) })
	for i := range crowd {
		p.ok(errs[i], "CreateSession beside others")
		if diff := cmp.Diff(sessions[0], sessions[i]); diff != "" {
			p.broken("two calls returned two sessions (-one +other):\n%s", diff)
		}
	}
	p.onlyPayable(sessions[0].ID, "after many calls at once")
}

func customerPaysWhileTheSessionIsExpired(p *probe) {
	for i := range crowd {
		s := p.created(p.request(fmt.Sprintf("key-%d", i)))
		var expired processor.Session
		var errs [2]error
		together(2, func(who int) {
			if who == 0 {
				errs[0] = p.Customer.Pay(s.ID)
			} else {
				expired, errs[1] = p.Processor.ExpireSession(p.Context(), s.ID)
			}
		})
		p.ok(errs[1], "ExpireSession while the customer pays")
		want := processor.SessionComplete
		if errs[0] != nil {
			want = processor.SessionExpired
		}
		if expired.Status != want {
			p.broken("ExpireSession says %s, and the payment went through: %t", expired.Status, errs[0] == nil)
		}
		if now := p.session(s.ID); now.Status != want {
			p.broken("the session is %s, and the payment went through: %t", now.Status, errs[0] == nil)
		}
	}
}

func manyWorkOnCouponsAndSessionsOfTheirOwn(p *probe) {
	errs := make([]error, crowd)
	together(crowd, func(i int) { errs[i] = p.life(i) })
	if err := errors.Join(errs...); err != nil {
		p.broken("%v", err)
	}
}

// life calls every method for one coupon and one session.
func (p *probe) life(i int) error {
	ctx, c := p.Context(), p.coupon(fmt.Sprintf("c%02d", i), fmt.Sprintf("SUITE%02d", i))
	var err error
	for _, call := range []mirrorCall{
		p.Processor.EnsureMirror, p.Processor.UpdateMirror, p.Processor.SetMirrorActive, p.Processor.EnsureMirror,
	} {
		if c.Mirror, err = call(ctx, c); err != nil {
			return fmt.Errorf("coupon %d: %w", i, err)
		}
		c = edited(c, limited(c.Revision))
	}
	if status, err := p.Processor.VerifyMirror(ctx, c); err != nil {
		return fmt.Errorf("coupon %d: %w", i, err)
	} else if status != p.usable() {
		return fmt.Errorf("VerifyMirror says that coupon %d is %s, want %s", i, status, p.usable())
	}
	s, err := p.Processor.CreateSession(ctx, p.request(fmt.Sprintf("key-%d", i)))
	if err != nil {
		return fmt.Errorf("session %d: %w", i, err)
	}
	if s, err = p.Processor.ExpireSession(ctx, s.ID); err != nil {
		return fmt.Errorf("session %d: %w", i, err)
	} else if s.Status != processor.SessionExpired {
		return fmt.Errorf("session %d is %s after ExpireSession, want %s", i, s.Status, processor.SessionExpired)
	}
	if err := p.Processor.RemoveMirror(ctx, c); err != nil {
		return fmt.Errorf("coupon %d: %w", i, err)
	}
	return nil
}
