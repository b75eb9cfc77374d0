package processortest

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/processor"
)

func refundClauses() []clause {
	refunds := func(needs ...need) []need { return append([]need{refunding(), customer()}, needs...) }
	return []clause{
		{
			name:  "refunder is declared",
			says:  "Refunder is an optional role that the harness declares",
			check: refunderIsDeclared,
		},
		{
			name:  "refund",
			needs: refunds(),
			says:  "Refund returns a part of the payment of a session, or all of it; Refunds returns all refunds of a payment",
			check: refund,
		},
		{
			name:  "refund can be repeated",
			needs: refunds(clock()),
			says:  "a call that repeats a Key returns the refund of the first call, however long ago the first call was and from whatever process",
			check: refundCanBeRepeated,
		},
		{
			name:  "refunds that are refused",
			needs: refunds(),
			says:  "ErrNotFound for an unknown session, ErrRejected for a faulty request, an unpaid session and more than is left; nothing is refunded then",
			check: refundsThatAreRefused,
		},
		{
			name:  "refund by staff",
			needs: refunds(events()),
			says:  "Refunds includes those of staff, without a Key; RefundChanged names the payment",
			check: refundByStaff,
		},
		{
			name:  "refund that fails",
			needs: refunds(events()),
			says:  "a refund may fail after it has succeeded, and RefundChanged tells so; a failed refund stays failed",
			check: refundThatFails,
		},
		{
			name:  "dispute",
			needs: refunds(events()),
			says:  "Refunds includes disputes, and who has the money; DisputeChanged names the payment",
			check: dispute,
		},
		{
			name:  "lost answers of refund",
			needs: refunds(faulty()),
			says:  "a repeated call after a lost answer makes no second refund",
			check: lostAnswersOfRefund,
		},
		{
			name:  "many make one refund",
			needs: refunds(),
			says:  "repeating Refund with the same Key makes one refund, also at once",
			check: manyMakeOneRefund,
		},
	}
}

func refunding() need {
	return need{"Refunds", func(h Harness) bool { return h.Refunds.ByStaff != nil }}
}

func refunderIsDeclared(p *probe) {
	if _, ok := p.Processor.(processor.Refunder); ok != (p.Refunds.ByStaff != nil) {
		p.broken("the processor is a Refunder: %t, declared: %t", ok, !ok)
	}
}

// refunder returns the processor as a Refunder. The harness has declared that role.
func (p *probe) refunder() processor.Refunder {
	p.Helper()
	r, ok := p.Processor.(processor.Refunder)
	if !ok {
		p.stop("the harness declares Refunds, and the processor is no processor.Refunder")
	}
	return r
}

// paid returns a session that the customer has paid.
func (p *probe) paid(r processor.SessionRequest) processor.Session {
	p.Helper()
	s := p.created(r)
	p.hook(p.Customer.Pay(s.ID), "Pay")
	if p.Events != nil {
		p.events()
	}
	return s
}

func refundOf(s processor.Session, key string, amount int64) processor.RefundRequest {
	return processor.RefundRequest{
		SessionID: s.ID, Key: key, Amount: amount, Metadata: map[string]string{processor.MetadataRefundID: "rfd_1"},
	}
}

// refunded makes a refund that must be accepted.
func (p *probe) refunded(r processor.RefundRequest) processor.Refund {
	p.Helper()
	made, err := p.refunder().Refund(p.Context(), r)
	p.ok(err, "Refund")
	if made.ID == "" || made.Key != r.Key || made.Amount != r.Amount || made.Status != processor.RefundPending && made.Status != processor.RefundSucceeded {
		p.broken("Refund of %d under %q returned %+v", r.Amount, r.Key, made)
	}
	return made
}

// back checks the refunds of a payment, in any order. It returns the processor's report.
func (p *probe) back(id string, s processor.Session, want ...processor.Refund) processor.PaymentRefunds {
	p.Helper()
	got, err := p.refunder().Refunds(p.Context(), id)
	p.ok(err, "Refunds")
	if got.SessionID != s.ID || !cmp.Equal(got.Metadata, s.Metadata) {
		p.broken("Refunds of %q is about the session %q with %v, want %q with %v", id, got.SessionID, got.Metadata, s.ID, s.Metadata)
	}
	byID := func(a, b processor.Refund) int { return strings.Compare(a.ID, b.ID) }
	have := slices.SortedFunc(slices.Values(got.Refunds), byID)
	for i := range have { // each processor has its own texts
		have[i].Failure = ""
	}
	if diff := cmp.Diff(slices.SortedFunc(slices.Values(want), byID), have); diff != "" {
		p.broken("Refunds of %q differ (-want +got):\n%s", id, diff)
	}
	return got
}

// eventPayment returns the payment ID of the events since the last call. All events must have the given
// type.
func (p *probe) eventPayment(kind processor.EventType) (paymentID string) {
	p.Helper()
	for _, e := range p.events() {
		switch {
		case e.Type == processor.Ignored:
		case e.Type != kind || e.PaymentID == "" || e.ID == "" || paymentID != "" && e.PaymentID != paymentID:
			p.broken("the event is %s %q of the payment %q, want %s", e.Type, e.ID, e.PaymentID, kind)
		default:
			paymentID = e.PaymentID
		}
	}
	if paymentID == "" {
		p.stop("there is no event %s", kind)
	}
	return paymentID
}

func refund(p *probe) {
	for key, r := range map[string]processor.SessionRequest{"key-1": p.request("key-1"), "key-2": p.subscription("key-2")} {
		s := p.paid(r)
		p.back(s.ID, s)
		part := p.chargeable(r.Currency, r.Total/3)
		first := p.refunded(refundOf(s, key+"-a", part))
		p.back(s.ID, s, first)
		p.back(s.ID, s, first, p.refunded(refundOf(s, key+"-b", r.Total-part)))
	}
}

func refundCanBeRepeated(p *probe) {
	s := p.paid(p.request("key-1"))
	r := refundOf(s, "refund-1", 1)
	first := p.refunded(r)
	for range 2 {
		if again := p.refunded(r); again != first {
			p.broken("repeated, Refund returned %+v instead of %+v", again, first)
		}
		p.Advance(keyRetention)
	}
	if p.Another != nil {
		if again := p.elsewhere().refunded(r); again != first {
			p.broken("repeated in another process, Refund returned %+v instead of %+v", again, first)
		}
	}
	p.back(s.ID, s, first)
}

func refundsThatAreRefused(p *probe) {
	r := p.request("key-1")
	s, open := p.paid(r), p.created(p.request("key-2"))
	for name, c := range map[string]struct {
		request processor.RefundRequest
		want    error
	}{
		"of an unknown session": {refundOf(processor.Session{ID: "unknown"}, "a", 1), processor.ErrNotFound},
		"without a session":     {refundOf(processor.Session{}, "b", 1), processor.ErrRejected},
		"without a key":         {refundOf(s, "", 1), processor.ErrRejected},
		"with a long key":       {refundOf(s, strings.Repeat("k", processor.MaxKeyLength+1), 1), processor.ErrRejected},
		"of nothing":            {refundOf(s, "c", 0), processor.ErrRejected},
		"of less than nothing":  {refundOf(s, "d", -1), processor.ErrRejected},
		"of too much":           {refundOf(s, "e", r.Total+1), processor.ErrRejected},
		"of an open session":    {refundOf(open, "f", 1), processor.ErrRejected},
	} {
		_, err := p.refunder().Refund(p.Context(), c.request)
		p.fails(err, c.want, "Refund "+name)
	}
	p.back(s.ID, s)
	first := p.refunded(refundOf(s, "g", 1))
	_, err := p.refunder().Refund(p.Context(), refundOf(s, "h", r.Total))
	p.fails(err, processor.ErrRejected, "Refund of more than is left")
	p.back(s.ID, s, first)
	_, err = p.refunder().Refunds(p.Context(), "unknown")
	p.fails(err, processor.ErrNotFound, "Refunds of an unknown session")
}

func refundByStaff(p *probe) {
	for _, r := range []processor.SessionRequest{p.request("key-1"), p.subscription("key-2")} {
		s := p.paid(r)
		amount := p.chargeable(r.Currency, r.Total/2)
		id, err := p.Refunds.ByStaff(s.ID, amount)
		p.hook(err, "Refunds.ByStaff")
		changed := p.back(p.eventPayment(processor.RefundChanged), s, processor.Refund{ID: id, Amount: amount, Status: processor.RefundSucceeded})
		if len(changed.Disputes) > 0 {
			p.broken("a refund is told as the disputes %+v", changed.Disputes)
		}
		_, err = p.refunder().Refund(p.Context(), refundOf(s, "a", r.Total))
		p.fails(err, processor.ErrRejected, "Refund of more than staff have left")
	}
}

func refundThatFails(p *probe) {
	s := p.paid(p.request("key-1"))
	made := p.refunded(refundOf(s, "refund-1", 1))
	p.events()
	p.hook(p.Refunds.Fail(made.ID), "Refunds.Fail")
	failed := made
	failed.Status = processor.RefundFailed
	p.back(p.eventPayment(processor.RefundChanged), s, failed)
	again, err := p.refunder().Refund(p.Context(), refundOf(s, "refund-1", 1))
	p.ok(err, "Refund, repeated after it has failed")
	if again.ID != made.ID || again.Status != processor.RefundFailed {
		p.broken("repeated after it has failed, Refund returned %+v", again)
	}
	p.back(s.ID, s, failed, p.refunded(refundOf(s, "refund-2", s.Total)))
}

func dispute(p *probe) {
	for won, want := range map[bool]processor.DisputeStatus{true: processor.DisputeWon, false: processor.DisputeLost} {
		s := p.paid(p.request(map[bool]string{true: "key-1", false: "key-2"}[won]))
		id, err := p.Refunds.Dispute(s.ID)
		p.hook(err, "Refunds.Dispute")
		open := []processor.Dispute{{ID: id, Amount: s.Total, Status: processor.DisputeOpen}}
		if diff := cmp.Diff(open, p.back(p.eventPayment(processor.DisputeChanged), s).Disputes); diff != "" {
			p.broken("the disputes differ (-want +got):\n%s", diff)
		}
		p.hook(p.Refunds.CloseDispute(id, won), "Refunds.CloseDispute")
		open[0].Status = want
		if diff := cmp.Diff(open, p.back(p.eventPayment(processor.DisputeChanged), s).Disputes); diff != "" {
			p.broken("the closed disputes differ (-want +got):\n%s", diff)
		}
	}
}

func lostAnswersOfRefund(p *probe) {
	p.everyRequest(func(id string, fault func() func() bool, where string) bool {
		s := p.paid(p.request("key-" + id))
		r := refundOf(s, "refund-"+id, 1)
		end := fault()
		_, err := p.refunder().Refund(p.Context(), r)
		p.lost(err, "Refund "+where)
		struck := end()
		p.back(s.ID, s, p.refunded(r))
		return struck
	})
}

func manyMakeOneRefund(p *probe) {
	s := p.paid(p.request("key-1"))
	r := refundOf(s, "refund-1", 1)
	errs := make([]error, crowd)
	together(crowd, func(i int) { _, errs[i] = p.refunder().Refund(p.Context(), r) })
	for _, err := range errs {
		p.lost(err, "Refund beside others")
	}
	p.back(s.ID, s, p.refunded(r))
}
