package processortest

import (
	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/processor"
)

func eventClauses() []clause {
	return []clause{
		{
			name:  "event of a payment",
			needs: []need{customer(), events()},
			says:  "Completed tells that the session was finished, PaymentStatus whether it is paid; Currency, Total and Metadata are the session's",
			check: eventOfAPayment,
		},
		{
			name:  "event of a payer",
			needs: []need{customer(), entering(), events()},
			says:  "Payer is what the processor knows about the payer, in events and in the session",
			check: eventOfAPayer,
		},
		{
			name:  "event of a subscription",
			needs: []need{customer(), events()},
			says:  "Completed tells that the session was finished, in both modes; Total is what it charges",
			check: eventOfASubscription,
		},
		{
			name:  "event of a session of total 0",
			needs: []need{customer(), events()},
			says:  "NoPaymentRequired: the total is 0",
			check: eventOfASessionOfTotal0,
		},
		{
			name:  "events of a delayed payment",
			needs: []need{customer(), events()},
			says:  "Completed and Unpaid, then PaymentSucceeded when the delayed payment has arrived",
			check: eventsOfADelayedPayment,
		},
		{
			name:  "events of a payment that fails",
			needs: []need{customer(), events()},
			says:  "Completed and Unpaid, then PaymentFailed when the delayed payment has failed",
			check: eventsOfAPaymentThatFails,
		},
		{
			name:  "event of a session that was expired",
			needs: []need{events()},
			says:  "Expired: the session ended unpaid",
			check: eventOfASessionThatWasExpired,
		},
		{
			name:  "event of a session that ended by itself",
			needs: []need{clock(), events()},
			says:  "Expired: the session ended unpaid",
			check: eventOfASessionThatEndedByItself,
		},
		{
			name:  "event of something else",
			needs: []need{announcing(), events()},
			says:  "what an adapter cannot map to another is Ignored",
			check: eventOfSomethingElse,
		},
	}
}

func eventOfAPayment(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.none(0, p.events(), "of a session that is open")
	p.hook(p.Customer.Pay(s.ID), "Pay")
	p.reports(r, s, processor.Completed, processor.Paid)
}

func eventOfAPayer(p *probe) {
	const email = "payer@shop.example"
	s := p.created(p.request("key-1"))
	p.hook(p.Customer.Enter(s.ID, email), "Enter")
	p.hook(p.Customer.Pay(s.ID), "Pay")
	told := 0
	for _, e := range p.events() {
		if e.Type == processor.Ignored {
			continue
		}
		told++
		if e.Payer.Email != email {
			p.broken("the event tells of the payer %q, who entered %q", e.Payer.Email, email)
		}
	}
	if told == 0 {
		p.broken("there is no event of the payment")
	}
	if read := p.session(s.ID); read.Payer.Email != email {
		p.broken("the session tells of the payer %q, who entered %q", read.Payer.Email, email)
	}
}

func eventOfASubscription(p *probe) {
	r := p.subscription("key-1")
	s := p.created(r)
	p.hook(p.Customer.Pay(s.ID), "Pay")
	p.reports(r, s, processor.Completed, processor.Paid)
}

func eventOfASessionOfTotal0(p *probe) {
	if p.Processor.Abilities().NoZeroTotal {
		return // another clause checks that there is no session
	}
	r := p.request("key-1")
	for i := range r.Lines {
		r.Lines[i].UnitAmount = 0
	}
	r.Total = 0
	s := p.created(r)
	p.hook(p.Customer.Pay(s.ID), "Pay")
	p.reports(r, s, processor.Completed, processor.NoPaymentRequired)
}

func eventsOfADelayedPayment(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.hook(p.Customer.PayLater(s.ID), "PayLater")
	p.reports(r, s, processor.Completed, processor.Unpaid)
	p.hook(p.Customer.PaymentArrives(s.ID), "PaymentArrives")
	p.reports(r, s, processor.PaymentSucceeded, processor.Paid)
}

func eventsOfAPaymentThatFails(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.hook(p.Customer.PayLater(s.ID), "PayLater")
	p.reports(r, s, processor.Completed, processor.Unpaid)
	p.hook(p.Customer.PaymentFails(s.ID), "PaymentFails")
	p.reports(r, s, processor.PaymentFailed, processor.Unpaid)
}

func eventOfASessionThatWasExpired(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.ended(s.ID)
	p.reports(r, s, processor.Expired, processor.Unpaid)
}

func eventOfASessionThatEndedByItself(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	p.Advance(s.ExpiresAt.Sub(p.Now()))
	p.reports(r, s, processor.Expired, processor.Unpaid)
}

func eventOfSomethingElse(p *probe) {
	p.hook(p.Announce(), "Announce")
	for _, e := range p.events() {
		if e.Type != processor.Ignored {
			p.broken("an event that does not concern sessions is %s", e.Type)
		}
	}
}

func (p *probe) events() []processor.Event {
	p.Helper()
	list, err := p.Events()
	p.hook(err, "Events")
	return list
}

// none checks that the list has no event of a type. A type of 0 stands for every type except Ignored.
func (p *probe) none(kind processor.EventType, list []processor.Event, of string) {
	p.Helper()
	for _, e := range list {
		if e.Type != processor.Ignored && (kind == 0 || e.Type == kind) {
			p.broken("there is an event %s %s", e.Type, of)
		}
	}
}

// reports checks the events since the last call. They must report one fact, once or repeated, with all
// data of the session.
func (p *probe) reports(r processor.SessionRequest, s processor.Session, kind processor.EventType, status processor.PaymentStatus) {
	p.Helper()
	found := 0
	for _, e := range p.events() {
		if e.Type == processor.Ignored {
			continue
		}
		found++
		want := processor.Event{
			ID: e.ID, Type: kind, SessionID: s.ID, PaymentStatus: status,
			Currency: r.Currency, Total: r.Total, Metadata: r.Metadata, CreatedAt: e.CreatedAt, Payer: e.Payer,
		}
		if diff := cmp.Diff(want, e); diff != "" {
			p.broken("the event is another (-want +got):\n%s", diff)
		}
		if e.ID == "" || e.CreatedAt.IsZero() {
			p.broken("the event has the ID %q and was made at %s", e.ID, e.CreatedAt)
		}
	}
	if found == 0 {
		p.broken("there is no event %s", kind)
	}
}
