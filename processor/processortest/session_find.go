package processortest

import (
	"errors"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/processor"
)

// clocksApart is the maximum time by which an adapter may begin its search earlier than asked.
const clocksApart = time.Hour

func findClauses() []clause {
	find := func(needs ...need) []need { return append([]need{finding()}, needs...) }
	return []clause{
		{
			name:  "finder is declared",
			says:  "SessionFinder is an optional role that the harness declares",
			check: finderIsDeclared,
		},
		{
			name:  "find the session of an order",
			needs: find(),
			says:  "FindSession returns the session of the order in its current state, and ErrNotFound if the order has none",
			check: findTheSessionOfAnOrder,
		},
		{
			name:  "find a session that the customer has finished",
			needs: find(customer()),
			says:  "FindSession returns the session in its current state: paid, waiting for the payment, or failed",
			check: findAFinishedSession,
		},
		{
			name:  "find the newest session",
			needs: find(),
			says:  "FindSession returns the newest session of the order that has not expired, else the newest",
			check: findTheNewestSession,
		},
		{
			name:  "find a session since a time",
			needs: find(clock()),
			says:  "FindSession searches the sessions that were created at or after since, up to now",
			check: findASessionSinceATime,
		},
		{
			name:  "find refuses incomplete questions",
			needs: find(),
			says:  "ErrRejected means that orderID is empty or that since is zero",
			check: findRefusesIncompleteQuestions,
		},
		{
			name:  "find the session of a lost answer",
			needs: find(counting(), faulty()),
			says:  "FindSession finds the session of a CreateSession whose answer was lost, in whatever process: what is not found cannot be paid",
			check: findTheSessionOfALostAnswer,
		},
		{
			name:  "lost answers of find",
			needs: find(faulty()),
			says:  "after a lost answer the same call leads to the wanted state; a search that was cut off does not say that there is no session",
			check: lostAnswersOfFind,
		},
	}
}

func finderIsDeclared(p *probe) {
	if _, ok := p.Processor.(processor.SessionFinder); ok != p.FindsSessions {
		p.broken("the processor is a SessionFinder: %t, declared: %t", ok, p.FindsSessions)
	}
}

// finder returns the processor as a SessionFinder. The harness has declared that role.
func (p *probe) finder() processor.SessionFinder {
	p.Helper()
	f, ok := p.Processor.(processor.SessionFinder)
	if !ok {
		p.stop("the harness declares FindsSessions, and the processor is no processor.SessionFinder")
	}
	return f
}

// of returns the request for an order.
func of(orderID string, r processor.SessionRequest) processor.SessionRequest {
	r.OrderID, r.Metadata[processor.MetadataOrderID] = orderID, orderID
	return r
}

// finds checks that the search returns the same session as Session.
func (p *probe) finds(orderID string, since time.Time, want, when string) {
	p.Helper()
	found, err := p.finder().FindSession(p.Context(), orderID, since)
	p.ok(err, "FindSession "+when)
	if diff := cmp.Diff(p.session(want), found); diff != "" {
		p.broken("FindSession %s returned another session (-wanted +found):\n%s", when, diff)
	}
}

func (p *probe) findsNone(orderID string, since time.Time, when string) {
	p.Helper()
	found, err := p.finder().FindSession(p.Context(), orderID, since)
	p.fails(err, processor.ErrNotFound, "FindSession "+when)
	if found.ID != "" {
		p.broken("FindSession %s returned %+v", when, found)
	}
}

func findTheSessionOfAnOrder(p *probe) {
	since := p.Now()
	p.findsNone("order-1", since, "before the session was created")
	s := p.created(p.request("key-1"))
	p.finds("order-1", since, s.ID, "of the order")
	other := p.created(of("order-2", p.subscription("key-2")))
	p.finds("order-1", since, s.ID, "after another order's session was created")
	p.finds("order-2", since, other.ID, "of the other order")
	for _, unknown := range []string{"order", "order-", "order-12", "ORDER-1", s.ID, "key-1", "\x00"} {
		p.findsNone(unknown, since, "of an unknown order")
	}
	p.ended(s.ID)
	p.finds("order-1", since, s.ID, "after the session was ended")
}

func findAFinishedSession(p *probe) {
	since := p.Now()
	paid, failed := p.created(p.request("key-1")), p.created(of("order-2", p.request("key-2")))
	p.hook(p.Customer.Pay(paid.ID), "Pay")
	p.finds("order-1", since, paid.ID, "after the payment")
	p.hook(p.Customer.PayLater(failed.ID), "PayLater")
	p.finds("order-2", since, failed.ID, "while the payment is on its way")
	p.hook(p.Customer.PaymentFails(failed.ID), "PaymentFails")
	p.finds("order-2", since, failed.ID, "after the payment has failed")
}

func findTheNewestSession(p *probe) {
	since := p.Now()
	first, second, third := p.created(p.request("key-1")), p.created(p.request("key-2")), p.created(p.request("key-3"))
	p.finds("order-1", since, third.ID, "of three open sessions")
	p.ended(third.ID)
	p.finds("order-1", since, second.ID, "after the newest of three was ended")
	p.ended(first.ID)
	p.finds("order-1", since, second.ID, "while only the second is open")
	p.ended(second.ID)
	p.finds("order-1", since, third.ID, "after all were ended")
}

func findASessionSinceATime(p *probe) {
	since := p.Now()
	s := p.created(p.request("key-1"))
	p.Advance(clocksApart)
	p.finds("order-1", since, s.ID, "an hour after the session was created")
	p.findsNone("order-1", p.Now(), "since an hour after the session was created")
	later := p.created(p.request("key-2"))
	p.finds("order-1", since, later.ID, "since an hour before the session was created")
	p.Advance(keyRetention)
	p.finds("order-1", since, later.ID, "two days after the session was created")
	p.findsNone("order-1", p.Now(), "since two days after the session was created")
}

func findRefusesIncompleteQuestions(p *probe) {
	r := p.request("key-1")
	delete(r.Metadata, processor.MetadataOrderID) // an adapter may add this entry
	_, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession without the order in its metadata")
	for name, call := range map[string]struct {
		orderID string
		since   time.Time
	}{
		"without an order": {"", p.Now()}, "without a time": {"order-1", time.Time{}}, "without both": {},
	} {
		found, err := p.finder().FindSession(p.Context(), call.orderID, call.since)
		p.fails(err, processor.ErrRejected, "FindSession "+name)
		if found.ID != "" {
			p.broken("FindSession %s returned %+v", name, found)
		}
	}
}

// findTheSessionOfALostAnswer compares the search with the sessions that the customer could pay.
func findTheSessionOfALostAnswer(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		since, r := p.Now(), of("order-"+id, p.subscription("key-"+id))
		end := fault()
		_, err := p.Processor.CreateSession(p.Context(), r)
		p.lost(err, "CreateSession "+where)
		struck := end()
		payable, err := p.Payable()
		p.hook(err, "Payable")
		asking := p
		if p.Another != nil {
			asking = p.elsewhere()
		}
		found, err := asking.finder().FindSession(p.Context(), r.OrderID, since)
		switch {
		case errors.Is(err, processor.ErrNotFound) && len(payable) == 0:
			return struck
		case err != nil:
			p.stop("FindSession after CreateSession %s returned %s, and these can be paid: %q", where, errorText(err), payable)
		}
		p.onlyPayable(found.ID, "found after CreateSession "+where)
		p.matches(found, r)
		p.ended(found.ID)
		return struck
	})
}

func lostAnswersOfFind(p *probe) {
	since, s := p.Now(), p.created(p.request("key-1"))
	p.everyRequest(func(_ string, fault func() func() bool, where string) bool {
		end := fault()
		found, err := p.finder().FindSession(p.Context(), "order-1", since)
		p.lost(err, "FindSession "+where)
		if err == nil && found.ID != s.ID {
			p.broken("FindSession %s returned the session %q, want %q", where, found.ID, s.ID)
		}
		struck := end()
		p.finds("order-1", since, s.ID, "repeated, the first one "+where)
		return struck
	})
}
