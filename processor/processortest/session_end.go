package processortest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/processor"
)

func endClauses() []clause {
	return []clause{
		{
			name:  "expire an open session",
			says:  "ExpireSession ends an open session, so that it cannot be paid any more, and returns it; it can be repeated",
			check: expireAnOpenSession,
		},
		{
			name:  "expire keeps what the session is",
			says:  "ExpireSession returns the session with its total and metadata",
			check: expireKeepsWhatTheSessionIs,
		},
		{
			name:  "create again when the session has ended unpaid",
			says:  "CreateSession returns the session that has ended unpaid as it is, or a new one in its place",
			check: createAgainAfterTheEnd,
		},
		{
			name:  "create again when the session has ended by itself",
			needs: []need{clock()},
			says:  "CreateSession returns the session that has ended unpaid as it is, or a new one while ExpiresAt allows it",
			check: createAgainTooLate,
		},
		{
			name:  "create again and end the first again",
			needs: []need{customer()},
			says:  "a new session in place of one that has ended can be paid, whatever is repeated of the one that has ended",
			check: createAgainAndEndTheFirstAgain,
		},
		{
			name:  "create again when the payment has failed",
			needs: []need{customer()},
			says:  "repeating CreateSession returns the same session; PaymentFailed tells that the delayed payment did not arrive",
			check: createAgainAfterAFailedPayment,
		},
		{
			name:  "create again when the session was paid",
			needs: []need{customer()},
			says:  "repeating CreateSession returns the same session, one that was paid as it is now",
			check: createAgainAfterThePayment,
		},
		{
			name:  "create again too late when the session was paid",
			needs: []need{clock(), customer()},
			says:  "repeating CreateSession returns the same session, one that was paid as it is now: it is no new request, and is answered after ExpiresAt too",
			check: createAgainTooLateAfterThePayment,
		},
		{
			name:  "expire a paid session",
			needs: []need{customer()},
			says:  "a session that has ended already is returned as it is: the caller reads in its status whether it was paid",
			check: expireAPaidSession,
		},
		{
			name:  "expire a session that waits for its payment",
			needs: []need{customer()},
			says:  "a session that has ended already is returned as it is; Unpaid on a complete session means that a delayed payment is on its way",
			check: expireASessionThatWaitsForItsPayment,
		},
		{
			name:  "payment that fails",
			needs: []need{customer()},
			says:  "PaymentFailed tells that the delayed payment did not arrive",
			check: paymentThatFails,
		},
		{
			name:  "session ends by itself",
			needs: []need{clock()},
			says:  "ExpiresAt is when the session ends by itself",
			check: sessionEndsByItself,
		},
		{
			name:  "paid session does not end by itself",
			needs: []need{clock(), customer()},
			says:  "Expired is for a session that ended unpaid",
			check: paidSessionDoesNotEndByItself,
		},
	}
}

func createAgainAfterTheEnd(p *probe) {
	r := p.request("key-1")
	first := p.ended(p.created(r).ID)
	again, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession after the session was expired")
	if again.ID != first.ID {
		p.matches(again, r)
		return
	}
	if diff := cmp.Diff(first, again); diff != "" {
		p.broken("the session that has ended is another now (-ended +again):\n%s", diff)
	}
}

func createAgainTooLate(p *probe) {
	p.againTooLate(p.request("key-1"))
	p.againTooLate(p.subscription("key-2"))
}

func (p *probe) againTooLate(r processor.SessionRequest) {
	p.Helper()
	first := p.created(r)
	p.Advance(first.ExpiresAt.Sub(p.Now()))
	again, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession after the session has ended by itself")
	if again.ID != first.ID {
		p.broken("after its end the session %q is answered with another, %q, whose end is over too", first.ID, again.ID)
	}
	p.is(again, processor.SessionExpired, processor.Unpaid, "created again after its end")
}

func createAgainAndEndTheFirstAgain(p *probe) {
	for _, r := range []processor.SessionRequest{p.request("key-1"), p.subscription("key-2")} {
		first := p.ended(p.created(r).ID)
		again, err := p.Processor.CreateSession(p.Context(), r)
		p.ok(err, "CreateSession after the session was expired")
		if again.ID == first.ID {
			continue // no new session was made
		}
		p.is(p.ended(first.ID), processor.SessionExpired, processor.Unpaid, "ended again")
		if err := p.Customer.Pay(again.ID); err != nil {
			p.broken("the session in place of one that has ended cannot be paid: %v", err)
		}
		paid := p.session(again.ID)
		p.is(paid, processor.SessionComplete, processor.Paid, "paid in place of one that has ended")
		if paid.Total != r.Total {
			p.broken("the customer paid %d, want %d", paid.Total, r.Total)
		}
	}
}

func createAgainAfterAFailedPayment(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.hook(p.Customer.PayLater(s.ID), "PayLater")
	again, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession while the payment is on its way")
	if again.ID != s.ID || again.PaymentFailed {
		p.broken("while the payment of %q is on its way the answer is %q, failed: %t", s.ID, again.ID, again.PaymentFailed)
	}
	p.hook(p.Customer.PaymentFails(s.ID), "PaymentFails")
	again, err = p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession after the payment has failed")
	if again.ID == s.ID && !again.PaymentFailed {
		p.broken("PaymentFailed is false after the payment failed: the session is %s and %s", again.Status, again.PaymentStatus)
	}
}

func createAgainAfterThePayment(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.hook(p.Customer.Pay(s.ID), "Pay")
	again, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession after the session was paid")
	if again.ID != s.ID {
		p.broken("the session %q was paid, and there is another %q to be paid", s.ID, again.ID)
	}
	p.is(again, processor.SessionComplete, processor.Paid, "created again after the payment")
}

func createAgainTooLateAfterThePayment(p *probe) {
	p.againAfter("Pay", p.Customer.Pay, processor.Paid, p.request("key-1"))
	p.againAfter("Pay", p.Customer.Pay, processor.Paid, p.subscription("key-2"))
	p.againAfter("PayLater", p.Customer.PayLater, processor.Unpaid, p.request("key-3"))
}

// keyRetention is longer than processors keep an idempotency key.
const keyRetention = 48 * time.Hour

// againAfter requests a session again that the customer has finished: when it ends, and long after.
func (p *probe) againAfter(how string, finish func(sessionID string) error, want processor.PaymentStatus, r processor.SessionRequest) {
	p.Helper()
	s := p.created(r)
	p.hook(finish(s.ID), how)
	for _, later := range []time.Duration{s.ExpiresAt.Sub(p.Now()), keyRetention} {
		p.Advance(later)
		call := fmt.Sprintf("CreateSession %s after ExpiresAt, once the customer has finished the session,", p.Now().Sub(s.ExpiresAt))
		again, err := p.Processor.CreateSession(p.Context(), r)
		p.ok(err, call)
		if again.ID != s.ID {
			p.broken("%s returned %q instead of %q", call, again.ID, s.ID)
		}
		p.is(again, processor.SessionComplete, want, "returned by "+call)
	}
}

func expireAnOpenSession(p *probe) {
	s := p.created(p.request("key-1"))
	for range 2 {
		p.is(p.ended(s.ID), processor.SessionExpired, processor.Unpaid, "after ExpireSession")
	}
	p.is(p.session(s.ID), processor.SessionExpired, processor.Unpaid, "read after ExpireSession")
	p.unpayable(s.ID, "after ExpireSession")
}

func expireKeepsWhatTheSessionIs(p *probe) {
	want := p.created(p.request("key-1"))
	got := p.ended(want.ID)
	want.Status, want.URL, got.URL = processor.SessionExpired, "", "" // an expired session may have no page
	want.Payer = got.Payer                                            // the processor may know more of the payer
	if diff := cmp.Diff(want, got); diff != "" {
		p.broken("the ended session is another (-made +ended):\n%s", diff)
	}
}

func expireAPaidSession(p *probe) {
	s := p.created(p.request("key-1"))
	p.hook(p.Customer.Pay(s.ID), "Pay")
	p.is(p.ended(s.ID), processor.SessionComplete, processor.Paid, "expired after it was paid")
	p.is(p.session(s.ID), processor.SessionComplete, processor.Paid, "read after that")
}

func expireASessionThatWaitsForItsPayment(p *probe) {
	s := p.created(p.request("key-1"))
	p.hook(p.Customer.PayLater(s.ID), "PayLater")
	p.is(p.ended(s.ID), processor.SessionComplete, processor.Unpaid, "expired while it waits")
	p.hook(p.Customer.PaymentArrives(s.ID), "PaymentArrives")
	p.is(p.ended(s.ID), processor.SessionComplete, processor.Paid, "expired after the payment came")
}

func paymentThatFails(p *probe) {
	s := p.created(p.request("key-1"))
	p.hook(p.Customer.PayLater(s.ID), "PayLater")
	if waiting := p.session(s.ID); waiting.PaymentFailed {
		p.broken("the payment is reported as failed while it is on its way")
	}
	p.hook(p.Customer.PaymentFails(s.ID), "PaymentFails")
	failed := p.session(s.ID)
	p.is(failed, processor.SessionComplete, processor.Unpaid, "after the payment failed")
	if !failed.PaymentFailed {
		p.broken("PaymentFailed is false after the payment failed")
	}
}

func sessionEndsByItself(p *probe) {
	s := p.created(p.request("key-1"))
	p.Advance(s.ExpiresAt.Sub(p.Now()) / 2)
	p.is(p.session(s.ID), processor.SessionOpen, processor.Unpaid, "before ExpiresAt")
	p.Advance(s.ExpiresAt.Sub(p.Now()))
	p.is(p.session(s.ID), processor.SessionExpired, processor.Unpaid, "at ExpiresAt")
	p.is(p.ended(s.ID), processor.SessionExpired, processor.Unpaid, "ended after ExpiresAt")
	p.unpayable(s.ID, "after ExpiresAt")
}

func paidSessionDoesNotEndByItself(p *probe) {
	paid, later := p.created(p.request("key-1")), p.created(p.request("key-2"))
	p.hook(p.Customer.Pay(paid.ID), "Pay")
	p.hook(p.Customer.PayLater(later.ID), "PayLater")
	p.Advance(2 * paid.ExpiresAt.Sub(p.Now()))
	p.is(p.session(paid.ID), processor.SessionComplete, processor.Paid, "long after it was paid")
	p.is(p.session(later.ID), processor.SessionComplete, processor.Unpaid, "while its payment is on its way")
	if p.Events != nil {
		p.none(processor.Expired, p.events(), "of sessions that were finished")
	}
}

// unpayable checks that the harness's customer, if there is one, cannot pay.
func (p *probe) unpayable(id, when string) {
	p.Helper()
	if p.Customer.Pay == nil {
		return
	}
	if err := p.Customer.Pay(id); err == nil {
		p.broken("the session can be paid %s", when)
	}
	p.is(p.session(id), processor.SessionExpired, processor.Unpaid, "after the customer tried to pay")
}
