package processortest

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

func taxClauses() []clause {
	return []clause{
		{
			name:  "tax",
			needs: []need{taxing()},
			says:  "Total excludes the tax that the processor adds; a paid session and its event tell the tax, by line or not at all; tax and total can be refunded",
			check: tax,
		},
	}
}

func taxing() need {
	return need{"Taxing", func(h Harness) bool { return h.Taxing != nil }}
}

func tax(outer *probe) {
	h, taxOf := outer.Taxing()
	p := &probe{T: outer.T, Harness: h, says: outer.says}
	for _, r := range []processor.SessionRequest{p.request("key-1"), p.subscription("key-2")} {
		want := taxOf(r)
		if want.Amount < 1 {
			p.stop("the harness adds a tax of %d to a session of %d", want.Amount, r.Total)
		}
		s := p.created(r)
		p.hook(p.Customer.Pay(s.ID), "Pay")
		paid, err := p.Processor.Session(p.Context(), s.ID)
		p.ok(err, "Session")
		if s.Total != r.Total || paid.Total != r.Total {
			p.broken("a session of %d has the total %d, and %d once it is paid", r.Total, s.Total, paid.Total)
		}
		if diff := cmp.Diff(byLine(want), byLine(paid.Tax)); diff != "" {
			p.broken("the tax of a paid session differs (-want +got):\n%s", diff)
		}
		if p.Events != nil {
			p.taxOfEvents(s.ID, r, want)
		}
		refunder, able := p.Processor.(processor.Refunder)
		if !able {
			continue
		}
		whole := refundOf(s, "refund", r.Total+want.Amount)
		more := whole
		more.Key, more.Amount = "more", more.Amount+p.chargeable(r.Currency, 1)
		_, err = refunder.Refund(p.Context(), more)
		p.fails(err, processor.ErrRejected, "Refund of more than total and tax")
		_, err = refunder.Refund(p.Context(), whole)
		p.ok(err, "Refund of total and tax")
	}
}

// taxOfEvents checks the tax in the events of a payment. They may leave out the tax by line.
func (p *probe) taxOfEvents(sessionID string, r processor.SessionRequest, want pricing.Tax) {
	p.Helper()
	for _, e := range p.events() {
		if e.SessionID != sessionID || e.Type != processor.Completed {
			continue
		}
		if e.Total != r.Total || e.Tax.Amount != want.Amount || len(e.Tax.Lines) > 0 && !cmp.Equal(byLine(e.Tax), byLine(want)) {
			p.broken("the event of a payment of %d and %+v tells %d and %+v", r.Total, want, e.Total, e.Tax)
		}
		return
	}
	p.broken("no event tells of a payment")
}

// byLine returns a tax with sorted lines. It leaves out lines of 0.
func byLine(t pricing.Tax) pricing.Tax {
	lines := slices.DeleteFunc(slices.Clone(t.Lines), func(l pricing.LineTax) bool { return l.Amount == 0 })
	slices.SortFunc(lines, func(a, b pricing.LineTax) int { return strings.Compare(a.LineID, b.LineID) })
	return pricing.Tax{Amount: t.Amount, Lines: lines}
}
