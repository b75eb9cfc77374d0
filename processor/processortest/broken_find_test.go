package processortest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

type findCall = func(ctx context.Context, orderID string, since time.Time) (processor.Session, error)

func withFind(replace func(*fakeprocessor.Processor) findCall) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped { return wrapped{find: replace(f)} })
}

// searching is a search of its own among the sessions, from the newest to the oldest.
func searching(wanted func(s processor.Session, orderID string) bool) func(*fakeprocessor.Processor, *processortest.Harness) {
	return withFind(func(f *fakeprocessor.Processor) findCall {
		return func(_ context.Context, orderID string, _ time.Time) (processor.Session, error) {
			for _, s := range slices.Backward(f.Sessions()) {
				if wanted(s, orderID) {
					return s, nil
				}
			}
			return processor.Session{}, fmt.Errorf("session of %s: %w", orderID, processor.ErrNotFound)
		}
	})
}

func brokenFinders() map[string]subject {
	return map[string]subject{
		"finder that is not declared": {
			how:    func(_ *fakeprocessor.Processor, h *processortest.Harness) { h.FindsSessions = false },
			caught: []string{"finder is declared"},
		},
		"finds the session of any order": {
			how:    searching(func(processor.Session, string) bool { return true }),
			caught: []string{"find the session of an order"},
		},
		"finds open sessions only": {
			how: searching(func(s processor.Session, orderID string) bool {
				return s.Status == processor.SessionOpen && s.Metadata[processor.MetadataOrderID] == orderID
			}),
			caught: []string{"find the session of an order", "find a session that the customer has finished", "find the newest session"},
		},
		"finds the newest session, which may have expired": {
			how: searching(func(s processor.Session, orderID string) bool {
				return s.Metadata[processor.MetadataOrderID] == orderID
			}),
			caught: []string{"find the newest session", "find a session since a time", "find refuses incomplete questions"},
		},
		"finds sessions as they were created": {
			how: withFind(func(f *fakeprocessor.Processor) findCall {
				return func(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
					s, err := f.FindSession(ctx, orderID, since)
					s.Status, s.PaymentStatus, s.PaymentFailed = processor.SessionOpen, processor.Unpaid, false
					return s, err
				}
			}),
			caught: []string{"find the session of an order", "find a session that the customer has finished"},
		},
		"finds what this process knows": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				known := map[string]string{} // by order
				return wrapped{
					create: func(ctx context.Context, r processor.SessionRequest) (processor.Session, error) {
						s, err := f.CreateSession(ctx, r)
						if err == nil {
							known[r.OrderID] = s.ID
						}
						return s, err
					},
					find: func(ctx context.Context, orderID string, _ time.Time) (processor.Session, error) {
						return f.Session(ctx, known[orderID])
					},
				}
			}),
			caught: []string{"find the session of a lost answer"},
		},
		"finds nothing where it could not search": {
			how: withFind(func(f *fakeprocessor.Processor) findCall {
				return func(ctx context.Context, orderID string, since time.Time) (processor.Session, error) {
					s, err := f.FindSession(ctx, orderID, since)
					if errors.Is(err, processor.ErrUnavailable) || errors.Is(err, processor.ErrRejected) {
						err = processor.ErrNotFound
					}
					return s, err
				}
			}),
			caught: []string{"lost answers of find", "find refuses incomplete questions", "processor that is down"},
		},
	}
}
