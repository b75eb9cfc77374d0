package processortest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
	"github.com/couponkit/couponkit/validation"
)

// clock is a clock that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// newFake makes a fake and a harness around it.
func newFake(abilities processor.Abilities) (*fakeprocessor.Processor, processortest.Harness) {
	return newFakeOf(fakeprocessor.Options{Abilities: abilities})
}

// newFakeOf makes a fake with options and a harness around it.
func newFakeOf(options fakeprocessor.Options) (*fakeprocessor.Processor, processortest.Harness) {
	c := newClock()
	options.Now = c.Now
	fake := fakeprocessor.New(options)
	return fake, processortest.Harness{
		Processor: fake, ListsMirrors: true, FindsSessions: true, Now: c.Now, Advance: c.Advance,
		Another: func() processor.Processor { return fake }, // it is the account, and keeps nothing beside it
		Customer: processortest.Customer{
			Pay: fake.Pay, PayLater: fake.PayLater,
			PaymentArrives: fake.PaymentArrives, PaymentFails: fake.PaymentFails,
			Enter: func(id, email string) error { return fake.Enter(id, processor.Payer{Email: email}) },
		},
		Payable:  func() ([]string, error) { return payable(fake), nil },
		Renewal:  fake.Renewal,
		Events:   func() ([]processor.Event, error) { return delivered(fake) },
		Announce: func() error { fake.Announce("coupon.deleted"); return nil },
		Account: processortest.Account{
			Objects: func() []processortest.Object { return objects(fake) },
			Codes:   func() []processortest.Code { return codes(fake) },
			PlantForeign: func(code string) (coupon.Mirror, error) {
				return fake.PlantForeignCode(code)
			},
			Deactivate: fake.TamperDeactivate, Kill: fake.TamperKill, Delete: fake.TamperDelete,
		},
		Refunds: processortest.Refunds{
			ByStaff:      fake.RefundByStaff,
			Fail:         func(id string) error { return fake.FailRefund(id, "lost card") },
			Dispute:      fake.Dispute,
			CloseDispute: fake.CloseDispute,
		},
		Taxing: func() (processortest.Harness, func(processor.SessionRequest) pricing.Tax) { return taxing(options) },
		Faults: processortest.Faults{
			Lose: func(n int, when processortest.Loss) func() bool { return lose(fake, n, when) },
			Down: func() func() {
				return fake.Inject(fakeprocessor.Fault{Step: fakeprocessor.AnyStep, Kind: fakeprocessor.LostBefore, Times: -1}).Remove
			},
		},
	}
}

// taxing makes a fake that adds a tax of 7 % to the shipping and of 20 % to all other lines.
func taxing(options fakeprocessor.Options) (processortest.Harness, func(processor.SessionRequest) pricing.Tax) {
	options.Tax = fakeprocessor.TaxByLine(func(l processor.SessionLine) int64 {
		if l.ClassOf() == pricing.ShippingClass {
			return 7
		}
		return 20
	})
	_, h := newFakeOf(options)
	return h, options.Tax
}

func delivered(fake *fakeprocessor.Processor) ([]processor.Event, error) {
	var list []processor.Event
	for _, d := range fake.Deliveries() {
		e, err := fake.ParseEvent(d.Payload, d.Signature)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func payable(fake *fakeprocessor.Processor) []string {
	var ids []string
	for _, s := range fake.Sessions() {
		if s.Status == processor.SessionOpen {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func objects(fake *fakeprocessor.Processor) []processortest.Object {
	var list []processortest.Object
	for _, c := range fake.Coupons() {
		list = append(list, processortest.Object{ID: c.ID, Owner: c.Owner, Name: c.Name, Discount: c.Discount, MaxUses: c.MaxUses})
	}
	return list
}

func codes(fake *fakeprocessor.Processor) []processortest.Code {
	var list []processortest.Code
	for _, c := range fake.PromotionCodes() {
		list = append(list, processortest.Code{ID: c.ID, CouponID: c.CouponID, Text: c.Code, Active: c.Active})
	}
	return list
}

func lose(fake *fakeprocessor.Processor, n int, when processortest.Loss) (end func() bool) {
	kind := fakeprocessor.LostBefore
	if when == processortest.AfterEffect {
		kind = fakeprocessor.LostAfter
	}
	in := fake.Inject(fakeprocessor.Fault{Step: fakeprocessor.AnyStep, Kind: kind, Skip: n - 1})
	return func() bool {
		in.Remove()
		return in.Fired() > 0
	}
}

// bounded are abilities like those of a card processor.
func bounded() processor.Abilities {
	euro, _ := pricing.ParseCurrency("EUR")
	yen, _ := pricing.ParseCurrency("JPY")
	dinar, _ := pricing.ParseCurrency("KWD")
	return processor.Abilities{
		MinimumCharge: map[pricing.Currency]int64{euro: 50, yen: 50, dinar: 150},
		AmountStep:    map[pricing.Currency]int64{dinar: 10},
		NoZeroTotal:   true, MaxLines: 100, OneInterval: true, MirrorsExpiry: true,
		MinSessionLifetime: 30 * time.Minute, MaxSessionLifetime: 24 * time.Hour,
		CheckCoupon: func(c coupon.Coupon) error {
			for _, r := range c.Code.String() {
				if r > '~' || r != '-' && (r < '0' || r > 'Z' || '9' < r && r < 'A') {
					var faults validation.Error
					faults.Add("code", validation.Malformed, "only letters, digits and hyphens")
					return faults.Err()
				}
			}
			return nil
		},
	}
}

func TestFakeProcessor(t *testing.T) {
	t.Parallel()
	processortest.Run(t, func(*testing.T) processortest.Harness {
		_, h := newFake(processor.Abilities{})
		return h
	})
}

func TestFakeProcessorWithBounds(t *testing.T) {
	t.Parallel()
	processortest.Run(t, func(*testing.T) processortest.Harness {
		_, h := newFake(bounded())
		return h
	})
}

// TestFakeProcessorOfSimpleCoupons is a fake that cannot express every coupon.
func TestFakeProcessorOfSimpleCoupons(t *testing.T) {
	t.Parallel()
	processortest.Run(t, func(*testing.T) processortest.Harness {
		_, h := newFakeOf(fakeprocessor.Options{Abilities: bounded(), CanMirror: isSimple})
		return h
	})
}

func isSimple(c coupon.Coupon) bool { return c.Discount.Simple() }

// sessionsOnly is a processor that keeps no coupons: the fake's sessions, and no mirror.
type sessionsOnly struct {
	processor.NoMirror
	processor.Sessions

	abilities processor.Abilities
}

func (s sessionsOnly) Abilities() processor.Abilities { return s.abilities }

// TestRepeatingCaller is a fake of which every second new code loses its answer, behind a caller
// that repeats: the suite's clauses hold all the same.
func TestRepeatingCaller(t *testing.T) {
	t.Parallel()
	processortest.Run(t, func(*testing.T) processortest.Harness {
		fake, h := newFake(processor.Abilities{})
		fake.Inject(fakeprocessor.Fault{
			Step: fakeprocessor.CreateCode, Kind: fakeprocessor.LostAfter, Times: -1,
			Match: func() func(fakeprocessor.Call) bool {
				var mu sync.Mutex
				calls := 0
				return func(fakeprocessor.Call) bool {
					mu.Lock()
					defer mu.Unlock()
					calls++
					return calls%2 == 1
				}
			}(),
		})
		h.Processor = repeating{fake}
		return h
	})
}

// repeating tries twice, as adapters do.
type repeating struct{ *fakeprocessor.Processor }

func (r repeating) EnsureMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return again(ctx, c, r.Processor.EnsureMirror)
}

func (r repeating) UpdateMirror(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return again(ctx, c, r.Processor.UpdateMirror)
}

func (r repeating) SetMirrorActive(ctx context.Context, c coupon.Coupon) (coupon.Mirror, error) {
	return again(ctx, c, r.Processor.SetMirrorActive)
}

func again(
	ctx context.Context, c coupon.Coupon, call func(context.Context, coupon.Coupon) (coupon.Mirror, error),
) (m coupon.Mirror, err error) {
	for range 8 {
		if m, err = call(ctx, c); err == nil || !isUnavailable(err) {
			return m, err
		}
	}
	return m, err
}

func isUnavailable(err error) bool { return errors.Is(err, processor.ErrUnavailable) }
