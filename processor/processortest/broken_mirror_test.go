package processortest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

func brokenEnsures() map[string]subject {
	return map[string]subject{
		"ensure makes a second coupon": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				doubled(f, h)
			},
			caught: []string{
				"ensure can be repeated", "many ensure one coupon",
				"update can be repeated with the old mirror",
			},
		},
		"ensure steals a foreign code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: stealing(f, f.EnsureMirror)}
			}),
			caught: []string{"ensure takes no foreign code", "ensure takes no code of another coupon"},
		},
		"ensure answers as if a taken code were its own": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.EnsureMirror(ctx, c)
					if errors.Is(err, processor.ErrCodeTaken) {
						return coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: c.Revision}, nil
					}
					return m, err
				}}
			}),
			caught: []string{"many coupons want one code", "ensure takes no foreign code"},
		},
		"ensure forgets the revision": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.EnsureMirror(ctx, c)
					m.Revision = 0
					return m, err
				}}
			}),
			caught: []string{"ensure makes coupon and promotion code"},
		},
		"ensure forgets the promotion code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.EnsureMirror(ctx, c)
					m.PromotionCodeID = ""
					return m, err
				}}
			}),
			caught: []string{"ensure makes coupon and promotion code"},
		},
		"ensure activates everything": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.State = coupon.Active
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"ensure takes the active state"},
		},
		"ensure takes pending for inactive": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if c.State == coupon.Pending {
						c.State = coupon.Inactive
					}
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"ensure takes the active state"},
		},
		"ensure takes deleting for active": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if c.State == coupon.Deleting {
						c.State = coupon.Active
					}
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"ensure shows the whole revision"},
		},
		"ensure adopts the old terms": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var first sync.Map
				with(func(f *fakeprocessor.Processor) wrapped {
					return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
						made, _ := first.LoadOrStore(c.ID, c)
						adopted, _ := made.(coupon.Coupon)
						c.Name, c.Limits = adopted.Name, adopted.Limits
						return f.EnsureMirror(ctx, c)
					}}
				})(f, h)
			},
			caught: []string{"ensure shows the whole revision"},
		},
		"ensure does not reactivate": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if !c.Mirror.IsZero() {
						return c.Mirror, ctx.Err()
					}
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"ensure adopts a deactivated code", "ensure makes again what was deleted", "verify sees tampering"},
		},
		"CheckCoupon is only declared": {
			bounded: true,
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				declared, free := f.Abilities(), f.Abilities()
				free.CheckCoupon = nil
				lenient, harness := newFake(free)
				*h = harness
				h.Processor = wrapped{Processor: lenient, abilities: &declared}
			},
			caught: []string{"ensure holds to CheckCoupon"},
		},
		"discount is rounded": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				honest := h.Account.Objects
				h.Account.Objects = func() []processortest.Object {
					list := honest()
					for i := range list {
						if list[i].Discount.String() == "12.5 %" {
							list[i].Discount = percent("13")
						}
					}
					return list
				}
			},
			caught: []string{"ensure shows every kind of discount"},
		},
	}
}

// doubled lets every call make a coupon and a code of its own, as an adapter does that
// does not look first. The fake would adopt; so the owner of the object is a part of
// the ID that the harness takes away again.
func doubled(f *fakeprocessor.Processor, h *processortest.Harness) {
	calls := make(chan int, 1)
	calls <- 0
	fresh := func(call mirrorCall) mirrorCall {
		return func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
			n := <-calls + 1
			calls <- n
			copied := c
			copied.ID += "#" + strings.Repeat("i", n)
			text, err := coupon.ParseCode(c.Code.String() + strings.Repeat("I", n))
			if err != nil {
				return coupon.Mirror{}, err
			}
			copied.Code = text
			return call(ctx, copied)
		}
	}
	h.Processor = wrapped{Processor: f, ensure: fresh(f.EnsureMirror), update: fresh(f.UpdateMirror)}
	h.Account.Objects = func() []processortest.Object {
		list := objects(f)
		for i := range list {
			list[i].Owner, _, _ = strings.Cut(list[i].Owner, "#")
		}
		return list
	}
	h.Account.Codes = func() []processortest.Code {
		list := codes(f)
		for i := range list {
			list[i].Text = strings.TrimRight(list[i].Text, "I")
		}
		return list
	}
}

func brokenUpdates() map[string]subject {
	return map[string]subject{
		"update leaves two active codes": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				honest := h.Account.Codes
				h.Account.Codes = func() []processortest.Code { // nothing was deactivated when objects were replaced
					list := honest()
					for i := range list {
						list[i].Active = true
					}
					return list
				}
			},
			caught: []string{
				"update replaces what cannot change", "update back and forth",
				"lost answers of update of the limit", "active off and on",
			},
		},
		"update keeps the old object": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.Limits = coupon.Limits{}
					return f.UpdateMirror(ctx, c)
				}}
			}),
			caught: []string{"update replaces what cannot change", "update back and forth"},
		},
		"update answers with the old mirror": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.UpdateMirror(ctx, c)
					if err == nil && !c.Mirror.IsZero() {
						m.CouponID, m.PromotionCodeID = c.Mirror.CouponID, c.Mirror.PromotionCodeID
					}
					return m, err
				}}
			}),
			caught: []string{"update replaces what cannot change", "update makes again what is gone"},
		},
		"update forgets the name": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.Name = "Suite SUITE1"
					return f.UpdateMirror(ctx, c)
				}}
			}),
			caught: []string{"update brings the name"},
		},
		"update activates an inactive coupon": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.State = coupon.Active
					return f.UpdateMirror(ctx, c)
				}}
			}),
			caught: []string{"update keeps an inactive coupon inactive", "update shows the whole revision"},
		},
		"update fails when the mirror is gone": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if status, err := f.VerifyMirror(ctx, c); err == nil && status == processor.MirrorMissing {
						return coupon.Mirror{}, processor.ErrNotFound
					}
					return f.UpdateMirror(ctx, c)
				}}
			}),
			caught: []string{"update makes again what is gone", "update can be repeated with the old mirror"},
		},
		"update steals a foreign code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: stealing(f, f.UpdateMirror), setActive: stealing(f, f.SetMirrorActive)}
			}),
			caught: []string{"update changes nothing foreign", "active takes no foreign code"},
		},
		"update by prefix": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					for _, o := range f.Coupons() {
						if strings.HasPrefix(o.Owner, c.ID) && o.Owner != c.ID {
							_ = f.TamperDelete(coupon.Mirror{CouponID: o.ID})
						}
					}
					return f.UpdateMirror(ctx, c)
				}}
			}),
			caught: []string{"update leaves other coupons alone"},
		},
		"gives up for good after a lost answer": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var stuck sync.Map
				saved := func(call mirrorCall) mirrorCall {
					return func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
						key := fmt.Sprint(c.ID, c.Revision)
						if _, known := stuck.Load(key); known { // as a saved answer of an idempotency key does
							return coupon.Mirror{}, processor.ErrUnavailable
						}
						m, err := call(ctx, c)
						if errors.Is(err, processor.ErrUnavailable) {
							stuck.Store(key, true)
						}
						return m, err
					}
				}
				h.Processor = wrapped{
					Processor: f, ensure: saved(f.EnsureMirror), update: saved(f.UpdateMirror), setActive: saved(f.SetMirrorActive),
				}
			},
			caught: []string{
				"lost answers of ensure", "lost answers of update of the name", "lost answers of update of the limit",
				"lost answers of active off", "lost answers of active on",
			},
		},
		"takes the first coupon for every caller's": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				var once sync.Once
				var shared coupon.Coupon
				h.Processor = wrapped{Processor: f, ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					once.Do(func() { shared = c })
					return f.EnsureMirror(ctx, shared)
				}}
			},
			caught: []string{"many work on coupons and sessions of their own"},
		},
		"active only switches off": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{setActive: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.State = coupon.Inactive
					return f.SetMirrorActive(ctx, c)
				}}
			}),
			caught: []string{"active off and on", "active replaces a code that is dead", "active makes again what is gone"},
		},
		"active gives up on a dead code": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{setActive: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if err := f.TamperActivate(c.Mirror); c.Active() && err != nil {
						return coupon.Mirror{}, processor.ErrRejected
					}
					return f.SetMirrorActive(ctx, c)
				}}
			}),
			caught: []string{"active replaces a code that is dead", "active makes again what is gone"},
		},
		"active changes nothing else": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{setActive: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					c.Name = "Suite SUITE1"
					return f.SetMirrorActive(ctx, c)
				}}
			}),
			caught: []string{"active shows the whole revision"},
		},
	}
}

type mirrorCall = func(context.Context, coupon.Coupon) (coupon.Mirror, error)

// stealing deactivates whatever stands in the way of a call.
func stealing(f *fakeprocessor.Processor, call mirrorCall) mirrorCall {
	return func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
		for _, code := range f.PromotionCodes() {
			if code.Active && strings.EqualFold(code.Code, c.Code.String()) && !strings.Contains(code.CouponID, c.ID+"_") {
				_ = f.TamperDeactivate(coupon.Mirror{PromotionCodeID: code.ID})
			}
		}
		return call(ctx, c)
	}
}

func brokenRemovals() map[string]subject {
	return map[string]subject{
		"remove deletes foreign objects": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					_ = f.TamperDelete(c.Mirror) // whoever's it is
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove nothing foreign"},
		},
		"remove deactivates by text": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					for _, code := range f.PromotionCodes() {
						if strings.EqualFold(code.Code, c.Code.String()) {
							_ = f.TamperDeactivate(coupon.Mirror{PromotionCodeID: code.ID})
						}
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove nothing foreign", "ensure takes no foreign code"},
		},
		"remove by prefix": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					for _, o := range f.Coupons() {
						if strings.HasPrefix(o.Owner, c.ID) {
							_ = f.TamperDelete(coupon.Mirror{CouponID: o.ID})
						}
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove leaves other coupons alone"},
		},
		"remove cannot be repeated": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					if status, err := f.VerifyMirror(ctx, c); err == nil && status == processor.MirrorMissing {
						return processor.ErrNotFound
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove", "remove after tampering", "lost answers of remove"},
		},
		"remove needs to know the mirror": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					if c.Mirror.IsZero() {
						return ctx.Err()
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove finds what a lost call has made", "removal of what a cut-off ensure has made"},
		},
		"remove keeps the code": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				h.Processor = wrapped{Processor: f, remove: func(ctx context.Context, c coupon.Coupon) error {
					err := f.RemoveMirror(ctx, c)
					_, _ = f.PlantForeignCode(c.Code.String()) // what stays behind is in the way
					return err
				}}
			},
			caught: []string{"remove frees the code"},
		},
		"remove only deactivates": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					c.State = coupon.Inactive
					_, err := f.SetMirrorActive(ctx, c)
					return err
				}}
			}),
			caught: []string{"remove"},
		},
	}
}

func brokenVerifications() map[string]subject {
	return map[string]subject{
		"keeps coupons and declares that it does not": {
			how:    func(_ *fakeprocessor.Processor, h *processortest.Harness) { h.NoMirror = true },
			caught: []string{"no mirror is declared"},
		},
		"keeps no coupons and does not declare it": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				h.Processor = sessionsOnly{Sessions: f, abilities: f.Abilities()}
			},
			caught: []string{"no mirror is declared"},
		},
		"verify is always valid": {
			how: with(func(*fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, _ coupon.Coupon) (processor.MirrorStatus, error) {
					return processor.MirrorValid, ctx.Err()
				}}
			}),
			caught: []string{"verify before and after", "verify sees tampering", "active off and on", "remove"},
		},
		"verify looks at the coupon only": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
					status, err := f.VerifyMirror(ctx, c)
					if status == processor.MirrorInvalid {
						status = processor.MirrorValid
					}
					return status, err
				}}
			}),
			caught: []string{"verify sees tampering", "ensure takes the active state"},
		},
		"verify repairs": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
					status, err := f.VerifyMirror(ctx, c)
					_ = f.TamperActivate(c.Mirror)
					return status, err
				}}
			}),
			caught: []string{"verify changes nothing"},
		},
		"expiry is only declared": {
			bounded: true,
			how:     declaring,
			caught:  []string{"verify after the expiry"},
		},
		"expiry is mirrored undeclared": {
			how:    strict,
			caught: []string{"verify after the expiry"},
		},
	}
}

func brokenLists() map[string]subject {
	return map[string]subject{
		"list is not declared": {
			how:    func(_ *fakeprocessor.Processor, h *processortest.Harness) { h.ListsMirrors = false },
			caught: []string{"list is declared"},
		},
		"list is declared and missing": {
			how: func(f *fakeprocessor.Processor, h *processortest.Harness) {
				h.Processor = struct{ processor.Processor }{f}
			},
			caught: []string{"list is declared", "list yields our mirrors"},
		},
		"list ends after a page": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{mirrors: func(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
					return func(yield func(processor.MirrorRef, error) bool) {
						n := 0
						for ref, err := range f.Mirrors(ctx) {
							if n++; n > 10 || !yield(ref, err) {
								return
							}
						}
					}
				}}
			}),
			caught: []string{"list yields our mirrors"},
		},
		"list yields foreign coupons": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{mirrors: func(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
					return func(yield func(processor.MirrorRef, error) bool) {
						for _, c := range f.Coupons() {
							if !yield(processor.MirrorRef{CouponID: c.Owner, Mirror: coupon.Mirror{CouponID: c.ID}}, ctx.Err()) {
								return
							}
						}
					}
				}}
			}),
			caught: []string{"list yields our mirrors", "list ends after an error"},
		},
		"list tells the first revision": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{mirrors: func(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
					return func(yield func(processor.MirrorRef, error) bool) {
						for ref, err := range f.Mirrors(ctx) {
							if ref.Mirror.Revision = 1; !yield(ref, err) {
								return
							}
						}
					}
				}}
			}),
			caught: []string{"list tells revision and state"},
		},
		"list does not stop": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{mirrors: func(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
					return func(yield func(processor.MirrorRef, error) bool) {
						for ref, err := range f.Mirrors(ctx) {
							yield(ref, err)
						}
					}
				}}
			}),
			caught: []string{"list stops when told"},
		},
		"list swallows its error": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{mirrors: func(ctx context.Context) iter.Seq2[processor.MirrorRef, error] {
					return func(yield func(processor.MirrorRef, error) bool) {
						for ref, err := range f.Mirrors(ctx) {
							if errors.Is(err, context.Canceled) || !yield(ref, err) {
								return
							}
						}
					}
				}}
			}),
			caught: []string{"list ends after an error"},
		},
	}
}

func brokenUnsupported() map[string]subject {
	return map[string]subject{
		"mirrors the value without the further terms": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					if c.Discount.Type() == pricing.Percentage {
						c.Discount = pricing.PercentOff(c.Discount.Percent())
					}
					return f.EnsureMirror(ctx, c)
				}}
			}),
			caught: []string{"mirror shows all terms or is unsupported"},
		},
		"says unsupported and makes the objects": {
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{ensure: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.EnsureMirror(ctx, c)
					if err == nil && !isSimple(c) {
						m = coupon.Mirror{Revision: c.Revision, Unsupported: true}
					}
					return m, err
				}}
			}),
			caught: []string{"mirror shows all terms or is unsupported"},
		},
		"unsupported without a revision": {
			simple: true,
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{update: func(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
					m, err := f.UpdateMirror(ctx, c)
					if m.Unsupported {
						m.Revision = 0
					}
					return m, err
				}}
			}),
			caught: []string{"mirror shows all terms or is unsupported"},
		},
		"verify misses the mirror of an unsupported coupon": {
			simple: true,
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{verify: func(ctx context.Context, c coupon.Coupon) (processor.MirrorStatus, error) {
					status, err := f.VerifyMirror(ctx, c)
					if status == processor.MirrorUnsupported {
						status = processor.MirrorMissing
					}
					return status, err
				}}
			}),
			caught: []string{"verify of an unsupported coupon"},
		},
		"remove refuses an unsupported coupon": {
			simple: true,
			how: with(func(f *fakeprocessor.Processor) wrapped {
				return wrapped{remove: func(ctx context.Context, c coupon.Coupon) error {
					if !isSimple(c) {
						return processor.ErrRejected
					}
					return f.RemoveMirror(ctx, c)
				}}
			}),
			caught: []string{"remove of an unsupported coupon"},
		},
	}
}
