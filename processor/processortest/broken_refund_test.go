package processortest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

type (
	refundCall  = func(context.Context, processor.RefundRequest) (processor.Refund, error)
	refundsCall = func(context.Context, string) (processor.PaymentRefunds, error)
)

func withRefund(replace func(*fakeprocessor.Processor) refundCall) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped { return wrapped{refund: replace(f)} })
}

// withRefunds changes what Refunds tells.
func withRefunds(change func(*processor.PaymentRefunds)) func(*fakeprocessor.Processor, *processortest.Harness) {
	return with(func(f *fakeprocessor.Processor) wrapped {
		return wrapped{refunds: func(ctx context.Context, id string) (processor.PaymentRefunds, error) {
			told, err := f.Refunds(ctx, id)
			change(&told)
			return told, err
		}}
	})
}

func brokenRefunds() map[string]subject {
	return map[string]subject{
		"refunder that is not declared": {
			how:    func(_ *fakeprocessor.Processor, h *processortest.Harness) { h.Refunds = processortest.Refunds{} },
			caught: []string{"refunder is declared"},
		},
		"refunds the whole payment": {
			how: withRefund(func(f *fakeprocessor.Processor) refundCall {
				return func(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
					if s, err := f.Session(ctx, r.SessionID); err == nil && r.Amount > 0 {
						r.Amount = s.Total
					}
					return f.Refund(ctx, r)
				}
			}),
			caught: []string{"refund"},
		},
		"a key of its own for each refund": {
			how: func() func(*fakeprocessor.Processor, *processortest.Harness) {
				var calls atomic.Int64
				return withRefund(func(f *fakeprocessor.Processor) refundCall {
					return func(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
						key := r.Key
						r.Key = ownKey(key, fmt.Sprint(calls.Add(1)))
						made, err := f.Refund(ctx, r)
						made.Key = key
						return made, err
					}
				})
			}(),
			caught: []string{"refund can be repeated", "lost answers of refund", "many make one refund"},
		},
		"refuses as if it were down": {
			how: withRefund(func(f *fakeprocessor.Processor) refundCall {
				return func(ctx context.Context, r processor.RefundRequest) (processor.Refund, error) {
					made, err := f.Refund(ctx, r)
					if errors.Is(err, processor.ErrRejected) {
						err = processor.ErrUnavailable
					}
					return made, err
				}
			}),
			caught: []string{"refunds that are refused", "refund by staff"},
		},
		"tells its own refunds only": {
			how: withRefunds(func(told *processor.PaymentRefunds) {
				told.Refunds = slices.DeleteFunc(told.Refunds, func(r processor.Refund) bool { return r.Key == "" })
			}),
			caught: []string{"refund by staff"},
		},
		"a refund that never fails": {
			how: withRefunds(func(told *processor.PaymentRefunds) {
				for i := range told.Refunds {
					told.Refunds[i].Status = processor.RefundSucceeded
				}
			}),
			caught: []string{"refund that fails"},
		},
		"tells no disputes": {
			how:    withRefunds(func(told *processor.PaymentRefunds) { told.Disputes = nil }),
			caught: []string{"dispute"},
		},
		"a dispute that is never decided": {
			how: withRefunds(func(told *processor.PaymentRefunds) {
				for i := range told.Disputes {
					told.Disputes[i].Status = processor.DisputeOpen
				}
			}),
			caught: []string{"dispute"},
		},
	}
}
