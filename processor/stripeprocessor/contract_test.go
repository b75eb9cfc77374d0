package stripeprocessor_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/processortest"
	"github.com/couponkit/couponkit/processor/stripeprocessor/stripefake"
)

func TestContract(t *testing.T) {
	t.Parallel()
	processortest.Run(t, func(t *testing.T) processortest.Harness {
		t.Helper()
		w := newWorld(t)
		return processortest.Harness{
			Processor: w.processor, ListsMirrors: true, FindsSessions: true, Now: w.clock.Now, Advance: w.clock.Advance,
			Another: func() processor.Processor { return w.anotherProcess() },
			Customer: processortest.Customer{
				Pay: w.account.Pay, PayLater: w.account.PayLater,
				PaymentArrives: w.account.PaymentArrives, PaymentFails: w.account.PaymentFails, Enter: w.account.Enter,
			},
			Payable:  func() ([]string, error) { return w.payable(), nil },
			Renewal:  w.renewal,
			Events:   w.newEvents(),
			Announce: func() error { w.account.Announce("invoice.paid", map[string]any{"id": "in_1"}); return nil },
			Account: processortest.Account{
				Objects: w.objects, Codes: w.codes, PlantForeign: w.plantForeign,
				Deactivate: func(m coupon.Mirror) error { return w.account.SetCodeActive(m.PromotionCodeID, false) },
				Kill:       func(m coupon.Mirror) error { return w.account.KillCode(m.PromotionCodeID) },
				Delete:     func(m coupon.Mirror) error { return w.account.DeleteCoupon(m.CouponID) },
			},
			Refunds: processortest.Refunds{
				ByStaff: w.account.RefundInDashboard,
				Fail:    func(id string) error { return w.account.SetRefund(id, "failed") },
				Dispute: w.account.Dispute,
				CloseDispute: func(id string, won bool) error {
					return w.account.SetDispute(id, map[bool]string{true: "won", false: "lost"}[won])
				},
			},
			Taxing: func() (processortest.Harness, func(processor.SessionRequest) pricing.Tax) { return taxing(t) },
			Faults: processortest.Faults{Lose: w.lose, Down: w.down},
		}
	})
}

// taxing is Stripe with an automatic tax of 20 %. It spreads a discount over the lines.
func taxing(t *testing.T) (processortest.Harness, func(processor.SessionRequest) pricing.Tax) {
	t.Helper()
	w := newWorld(t, taxed("exclusive"))
	h := processortest.Harness{
		Processor: w.processor, Now: w.clock.Now, Events: w.newEvents(), Customer: processortest.Customer{Pay: w.account.Pay},
	}
	return h, func(r processor.SessionRequest) pricing.Tax {
		if r.FirstPeriodDiscount > 0 {
			return pricing.Tax{Amount: 11_33, Lines: []pricing.LineTax{{LineID: "P", Amount: 1_89}, {LineID: "A", Amount: 9_44}}}
		}
		return pricing.Tax{Amount: 4_98, Lines: []pricing.LineTax{{LineID: "A", Amount: 4_00}, {LineID: "S", Amount: 98}}}
	}
}

// payable are the sessions that Stripe shows a page for.
func (w *world) payable() []string {
	var ids []string
	for _, s := range w.account.Sessions() {
		if s.Status == "open" {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// renewal reads what Stripe charges in a currency with two decimals, which it has as it is.
// A session has one interval.
func (w *world) renewal(sessionID string, every pricing.Interval) (int64, error) {
	s, _ := w.account.Session(sessionID)
	for _, l := range s.Lines {
		if l.Interval != "" && l.Interval != every.String() {
			return 0, nil
		}
	}
	return w.account.Renewal(sessionID)
}

// newEvents returns a hook that parses what the account has announced since.
func (w *world) newEvents() func() ([]processor.Event, error) {
	var mu sync.Mutex
	seen := 0
	return func() ([]processor.Event, error) {
		mu.Lock()
		defer mu.Unlock()
		all := w.account.Events()
		var out []processor.Event
		for _, e := range all[seen:] {
			parsed, err := w.processor.ParseEvent(e.Payload, w.account.Sign(e.Payload, w.clock.Now()))
			if err != nil {
				return nil, err
			}
			out = append(out, parsed)
		}
		seen = len(all)
		return out, nil
	}
}

func (w *world) objects() []processortest.Object {
	var list []processortest.Object
	for _, c := range w.account.Coupons() {
		o := processortest.Object{ID: c.ID, Name: c.Name, MaxUses: c.MaxRedemptions}
		if c.Metadata["app"] == "couponkit" && c.Metadata["kind"] == "mirror" {
			o.Owner = c.Metadata["couponId"]
		}
		if c.AmountOff > 0 {
			o.Discount = w.amountOff(c.AmountOff, c.Currency)
		} else if p, err := pricing.ParsePercent(fmt.Sprintf("%.4f", c.PercentOff)); err == nil {
			o.Discount = pricing.PercentOff(p)
		}
		list = append(list, o)
	}
	return list
}

// amountOff reads an amount as Stripe has it: ISK and UGX with two decimals more
// than ISO 4217, MGA with two fewer.
func (w *world) amountOff(amount int64, code string) pricing.Discount {
	switch code {
	case "isk", "ugx":
		amount /= 100
	case "mga":
		amount *= 100
	}
	c, err := pricing.ParseCurrency(code)
	if err != nil {
		w.Errorf("coupon in %q: %v", code, err)
		return pricing.Discount{}
	}
	discount, err := pricing.AmountOff(pricing.NewMoney(amount, c))
	if err != nil {
		w.Errorf("coupon of %d %s: %v", amount, code, err)
	}
	return discount
}

func (w *world) codes() []processortest.Code {
	var list []processortest.Code
	for _, c := range w.account.PromotionCodes() {
		list = append(list, processortest.Code{ID: c.ID, CouponID: c.CouponID, Text: c.Code, Active: c.Active})
	}
	return list
}

func (w *world) plantForeign(code string) (coupon.Mirror, error) {
	id := "staff_" + code
	if err := w.account.PlantCoupon(id, nil); err != nil {
		return coupon.Mirror{}, err
	}
	promo, err := w.account.PlantCode(id, code, true, nil)
	return coupon.Mirror{CouponID: id, PromotionCodeID: promo}, err
}

// lose breaks the connection of the n-th request from now on.
func (w *world) lose(n int, when processortest.Loss) (end func() bool) {
	var mu sync.Mutex
	seen, struck := 0, false
	w.account.Faults(func(stripefake.Call) stripefake.Fault {
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen != n {
			return stripefake.None
		}
		struck = true
		if when == processortest.BeforeEffect {
			return stripefake.LostBefore
		}
		return stripefake.LostAfter
	})
	return func() bool {
		w.account.Faults(nil)
		mu.Lock()
		defer mu.Unlock()
		return struck
	}
}

func (w *world) down() (end func()) {
	w.account.Faults(func(stripefake.Call) stripefake.Fault { return stripefake.LostBefore })
	return func() { w.account.Faults(nil) }
}
