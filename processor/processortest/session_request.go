package processortest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

// request returns a request for a session of 24.90 EUR, with the metadata of a checkout. It has three
// devices at two unit prices, and shipping.
func (p *probe) request(key string) processor.SessionRequest {
	p.Helper()
	snapshot := p.coupon("snapshot", "TEN").Snapshot()
	return processor.SessionRequest{
		Key: key, OrderID: "order-1", Mode: processor.Payment, Currency: pricing.EUR(),
		Lines: []processor.SessionLine{
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 2, UnitAmount: 667},
			{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 666},
			{LineID: "S", Kind: pricing.Shipping, ItemID: "dhl", Name: "Shipping", Quantity: 1, UnitAmount: 490},
		},
		Total: 2490, Coupons: []coupon.Snapshot{snapshot}, CustomerEmail: "ann@example.org",
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart",
		ExpiresAt: p.Now().UTC().Truncate(time.Second).Add(p.lifetime()),
		Metadata: map[string]string{
			processor.MetadataCouponCode: "TEN", processor.MetadataCouponID: "cpn_snapshot",
			processor.MetadataOrderID:    "order-1",
			processor.MetadataCustomerID: "customer-1", processor.MetadataDiscountAmount: "1000",
		},
	}
}

// lifetime returns about an hour, strictly within the processor's limits.
func (p *probe) lifetime() time.Duration {
	a := p.Processor.Abilities()
	lifetime := max(time.Hour, a.MinSessionLifetime+time.Minute)
	if a.MaxSessionLifetime > 0 {
		lifetime = min(lifetime, a.MaxSessionLifetime-time.Second)
	}
	return lifetime
}

// single returns a request with one line of one unit.
func (p *probe) single(key string, c pricing.Currency, amount int64) processor.SessionRequest {
	p.Helper()
	r := p.request(key)
	r.Currency, r.Total, r.Coupons = c, amount, nil
	r.Lines = []processor.SessionLine{
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: amount},
	}
	return r
}

// subscription returns a request with a recurring plan, a device, and a discount of the first period.
func (p *probe) subscription(key string) processor.SessionRequest {
	p.Helper()
	r := p.request(key)
	r.Mode, r.FirstPeriodDiscount, r.Total = processor.Subscription, 333, 999+5000-333
	r.Lines = []processor.SessionLine{
		{LineID: "P", Kind: pricing.Plan, ItemID: "gold", Name: "Gold", Quantity: 1, UnitAmount: 999, Recurs: pricing.Monthly},
		{LineID: "A", Kind: pricing.Device, ItemID: "phone", Name: "Phone", Quantity: 1, UnitAmount: 5000},
	}
	return r
}

// freeStart returns a subscription whose first total is 0: the device and the first period of the plan
// are free.
func (p *probe) freeStart(key string) processor.SessionRequest {
	p.Helper()
	r := p.subscription(key)
	r.Lines[1].UnitAmount = 0
	r.FirstPeriodDiscount, r.Total = r.Lines[0].UnitAmount, 0
	return r
}

// plans returns a subscription with two plans. The second costs 49.00 and recurs with the given
// interval.
func (p *probe) plans(key string, second pricing.Interval) processor.SessionRequest {
	p.Helper()
	r := p.subscription(key)
	r.Lines = append(r.Lines, processor.SessionLine{
		LineID: "B", Kind: pricing.Plan, ItemID: "backup", Name: "Backup", Quantity: 1, UnitAmount: 4900, Recurs: second,
	})
	r.Total += 4900
	return r
}

// chargeable returns the least chargeable amount of a currency that is at least amount.
func (p *probe) chargeable(c pricing.Currency, amount int64) int64 {
	a := p.Processor.Abilities()
	amount = max(amount, a.MinimumCharge[c])
	if step := a.AmountStep[c]; step > 1 {
		amount = (amount + step - 1) / step * step
	}
	return amount
}

func (p *probe) created(r processor.SessionRequest) processor.Session {
	p.Helper()
	s, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession")
	p.matches(s, r)
	return s
}

// matches checks that an open session matches its request.
func (p *probe) matches(s processor.Session, r processor.SessionRequest) {
	p.Helper()
	if s.ID == "" || s.URL == "" {
		p.stop("the session has the ID %q and the URL %q", s.ID, s.URL)
	}
	want := processor.Session{
		ID: s.ID, URL: s.URL, Status: processor.SessionOpen, PaymentStatus: processor.Unpaid,
		Currency: r.Currency, Total: r.Total, Tax: s.Tax, ExpiresAt: r.ExpiresAt, Metadata: r.Metadata,
	}
	if diff := cmp.Diff(want, s); diff != "" {
		p.broken("the session is another than asked for (-asked +made):\n%s", diff)
	}
}

func (p *probe) session(id string) processor.Session {
	p.Helper()
	s, err := p.Processor.Session(p.Context(), id)
	p.ok(err, "Session")
	return s
}

func (p *probe) ended(id string) processor.Session {
	p.Helper()
	s, err := p.Processor.ExpireSession(p.Context(), id)
	p.ok(err, "ExpireSession")
	return s
}

// onlyPayable checks that only this session can be paid. It uses the processor's account, if the
// harness can read it.
func (p *probe) onlyPayable(id, when string) {
	p.Helper()
	if p.Payable == nil {
		return
	}
	payable, err := p.Payable()
	p.hook(err, "Payable")
	if len(payable) != 1 || payable[0] != id {
		p.broken("%s the session is %q, and these can be paid: %q", when, id, payable)
	}
}

// is checks the status and the payment status of a session.
func (p *probe) is(s processor.Session, status processor.SessionStatus, payment processor.PaymentStatus, when string) {
	p.Helper()
	if s.Status != status || s.PaymentStatus != payment {
		p.broken("%s the session is %s and %s, want %s and %s", when, s.Status, s.PaymentStatus, status, payment)
	}
}

// refused checks that a request for a session is refused.
func (p *probe) refused(r processor.SessionRequest, why string) {
	p.Helper()
	s, err := p.Processor.CreateSession(p.Context(), r)
	p.fails(err, processor.ErrRejected, "CreateSession "+why)
	if err != nil && s.ID != "" {
		p.broken("CreateSession %s returned an error and the session %q", why, s.ID)
	}
}

func currencies(codes ...string) []pricing.Currency {
	var list []pricing.Currency
	for _, code := range codes {
		if c, err := pricing.ParseCurrency(code); err == nil {
			list = append(list, c)
		}
	}
	return list
}
