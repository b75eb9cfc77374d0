package leaks_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
	"github.com/couponkit/couponkit/processor/processortest"
)

// TestTheSuiteOfProcessorsLeavesNothing: crowds of goroutines on the fake processor, and
// calls whose context ends.
func TestTheSuiteOfProcessorsLeavesNothing(t *testing.T) {
	processortest.Run(t, func(*testing.T) processortest.Harness {
		h := harness(nil)
		h.Taxing = func() (processortest.Harness, func(processor.SessionRequest) pricing.Tax) {
			tax := fakeprocessor.TaxOfTotal(19)
			return harness(tax), tax
		}
		return h
	})
}

// harness returns a fake processor with a clock of its own that adds a tax, unless tax is nil.
func harness(tax func(processor.SessionRequest) pricing.Tax) processortest.Harness {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	fake := fakeprocessor.New(fakeprocessor.Options{Now: now, Tax: tax})
	return processortest.Harness{
		Processor: fake, ListsMirrors: true, FindsSessions: true, Now: now, Advance: func(d time.Duration) { ahead.Add(int64(d)) },
		Another: func() processor.Processor { return fake },
		Customer: processortest.Customer{
			Pay: fake.Pay, PayLater: fake.PayLater, PaymentArrives: fake.PaymentArrives, PaymentFails: fake.PaymentFails,
			Enter: func(id, email string) error { return fake.Enter(id, processor.Payer{Email: email}) },
		},
		Payable:  func() ([]string, error) { return payable(fake), nil },
		Renewal:  fake.Renewal,
		Events:   func() ([]processor.Event, error) { return events(fake) },
		Announce: func() error { fake.Announce("coupon.deleted"); return nil },
		Account:  account(fake),
		Refunds: processortest.Refunds{
			ByStaff:      fake.RefundByStaff,
			Fail:         func(id string) error { return fake.FailRefund(id, "lost card") },
			Dispute:      fake.Dispute,
			CloseDispute: fake.CloseDispute,
		},
		Faults: processortest.Faults{
			Lose: func(n int, when processortest.Loss) func() bool {
				kind := fakeprocessor.LostBefore
				if when == processortest.AfterEffect {
					kind = fakeprocessor.LostAfter
				}
				fault := fake.Inject(fakeprocessor.Fault{Step: fakeprocessor.AnyStep, Kind: kind, Skip: n - 1})
				return func() bool { fault.Remove(); return fault.Fired() > 0 }
			},
			Down: func() func() {
				return fake.Inject(fakeprocessor.Fault{Step: fakeprocessor.AnyStep, Kind: fakeprocessor.LostBefore, Times: -1}).Remove
			},
		},
	}
}

func events(fake *fakeprocessor.Processor) (list []processor.Event, err error) {
	for _, d := range fake.Deliveries() {
		e, err := fake.ParseEvent(d.Payload, d.Signature)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func payable(fake *fakeprocessor.Processor) (ids []string) {
	for _, s := range fake.Sessions() {
		if s.Status == processor.SessionOpen {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

func account(fake *fakeprocessor.Processor) processortest.Account {
	return processortest.Account{
		Objects: func() (list []processortest.Object) {
			for _, c := range fake.Coupons() {
				list = append(list, processortest.Object{ID: c.ID, Owner: c.Owner, Name: c.Name, Discount: c.Discount, MaxUses: c.MaxUses})
			}
			return list
		},
		Codes: func() (list []processortest.Code) {
			for _, c := range fake.PromotionCodes() {
				list = append(list, processortest.Code{ID: c.ID, CouponID: c.CouponID, Text: c.Code, Active: c.Active})
			}
			return list
		},
		PlantForeign: fake.PlantForeignCode,
		Deactivate:   fake.TamperDeactivate, Kill: fake.TamperKill, Delete: fake.TamperDelete,
	}
}
