package processortest_test

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

func brokenWithoutCode() map[string]subject {
	return map[string]subject{
		"a coupon without a code is refused": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if c.Code.IsZero() {
						return coupon.Mirror{}, processor.ErrRejected
					}
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"without a code the mirror is the coupon", "without a code the mirror has no state"},
		},
		"a coupon without a code gets a promotion code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if !c.Code.IsZero() {
						return f.EnsureMirror(ctx, c)
					}
					c.Code = coupon.StoredCode("MADE-UP")
					m, err := f.EnsureMirror(ctx, c)
					m.PromotionCodeID = ""
					return m, err
				}}
			}),
			caught: []string{"without a code the mirror is the coupon"},
		},
		"verify wants a promotion code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
					if c.Mirror.PromotionCodeID == "" {
						return processor.MirrorMissing, ctx.Err()
					}
					return f.VerifyMirror(ctx, c)
				}}
			}),
			caught: []string{"without a code the mirror is the coupon", "without a code the mirror has no state"},
		},
		"an inactive coupon without a code loses its mirror": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{setActive: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.SetMirrorActive(ctx, c)
					if c.Code.IsZero() && !c.Active() {
						err = errors.Join(err, f.RemoveMirror(ctx, c))
					}
					return m, err
				}}
			}),
			caught: []string{"without a code the mirror has no state"},
		},
		"remove without a code removes nothing": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					if c.Code.IsZero() {
						return ctx.Err()
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"without a code the mirror is removed and made again"},
		},
	}
}
