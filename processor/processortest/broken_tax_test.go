package processortest_test

import (
	"context"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

// wronglyTaxed is a processor whose sessions tell something else of their tax.
type wronglyTaxed struct {
	*fakeprocessor.Processor
	change func(*processor.Session)
}

func (w wronglyTaxed) Session(ctx context.Context, id string) (processor.Session, error) {
	s, err := w.Processor.Session(ctx, id)
	w.change(&s)
	return s, err
}

func brokenTaxes() map[string]subject {
	broken := map[string]subject{}
	for name, change := range map[string]func(*processor.Session){
		"no tax":                func(s *processor.Session) { s.Tax = pricing.Tax{} },
		"tax in the total":      func(s *processor.Session) { s.Total += s.Tax.Amount },
		"tax without its lines": func(s *processor.Session) { s.Tax.Lines = nil },
		"tax of the wrong line": func(s *processor.Session) {
			s.Tax.Lines[0].LineID, s.Tax.Lines[1].LineID = s.Tax.Lines[1].LineID, s.Tax.Lines[0].LineID
		},
		"tax that is another sum": func(s *processor.Session) { s.Tax.Amount++ },
	} {
		broken[name] = subject{caught: []string{"tax"}, how: func(_ *fakeprocessor.Processor, h *processortest.Harness) {
			sound := h.Taxing
			h.Taxing = func() (processortest.Harness, func(processor.SessionRequest) pricing.Tax) {
				taxed, tax := sound()
				taxed.Processor = wronglyTaxed{taxed.Processor.(*fakeprocessor.Processor), change} //nolint:forcetypeassert // it is a fake
				return taxed, tax
			}
		}}
	}
	for name, change := range map[string]func(*processor.Event){
		"events without tax":       func(e *processor.Event) { e.Tax = pricing.Tax{} },
		"events with other lines":  func(e *processor.Event) { e.Tax.Lines = e.Tax.Lines[:1] },
		"events with a full total": func(e *processor.Event) { e.Total += e.Tax.Amount },
	} {
		broken[name] = subject{caught: []string{"tax"}, how: func(_ *fakeprocessor.Processor, h *processortest.Harness) {
			sound := h.Taxing
			h.Taxing = func() (processortest.Harness, func(processor.SessionRequest) pricing.Tax) {
				taxed, tax := sound()
				events := taxed.Events
				taxed.Events = func() ([]processor.Event, error) {
					list, err := events()
					for i := range list {
						change(&list[i])
					}
					return list, err
				}
				return taxed, tax
			}
		}}
	}
	return broken
}
