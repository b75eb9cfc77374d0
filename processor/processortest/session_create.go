package processortest

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

func createClauses() []clause {
	return []clause{
		{
			name:  "create a session",
			says:  "CreateSession makes a session that the customer pays: open, unpaid, with total, currency, end and metadata as asked",
			check: createASession,
		},
		{
			name:  "create is idempotent by key",
			says:  "repeating CreateSession with the same Key and parameters returns the same session; OrderedAt is none of them",
			check: createIsIdempotentByKey,
		},
		{
			name:  "create with a used key and other parameters",
			says:  "the same session is returned for the same Key and parameters: never one of another total",
			check: checkKeyReuse,
		},
		{
			name:  "session keeps its metadata",
			says:  "Metadata is stored with the session; no map is shared with the caller",
			check: sessionKeepsItsMetadata,
		},
		{
			name:  "session in every currency",
			says:  "amounts are integer minor units of couponkit's currency (exponent of ISO 4217)",
			check: sessionInEveryCurrency,
		},
		{
			name:  "session in steps of the currency",
			says:  "AmountStep is the step of chargeable amounts: what is priced in it is charged to the last minor unit",
			check: sessionInSteps,
		},
		{
			name:  "session is not discounted again",
			says:  "the amounts already have the coupon's discount; adapters must not let the processor discount again",
			check: sessionIsNotDiscountedAgain,
		},
		{
			name:  "session of a subscription",
			says:  "FirstPeriodDiscount is taken off the first payment of a subscription: Total is what the customer pays now",
			check: sessionOfASubscription,
		},
		{
			name:  "renewals of a subscription",
			says:  "FirstPeriodDiscount is taken off the first payment of a subscription and not off its renewals: what recurs costs its UnitAmount in each interval",
			needs: []need{renewing(), customer()},
			check: renewalsOfASubscription,
		},
		{
			name:  "session with free lines",
			says:  "UnitAmount is at least 0",
			check: sessionWithFreeLines,
		},
		{
			name:  "session is found by its ID only",
			says:  "Session returns ErrNotFound for what is not there",
			check: sessionIsFoundByItsIDOnly,
		},
	}
}

func createASession(p *probe) {
	r := p.request("key-1")
	s := p.created(r)
	if diff := cmp.Diff(s, p.session(s.ID)); diff != "" {
		p.broken("Session returns another than CreateSession (-created +read):\n%s", diff)
	}
}

func createIsIdempotentByKey(p *probe) {
	r := p.request("key-1")
	first := p.created(r)
	for name, ordered := range map[string]time.Time{"none": {}, "its own": p.Now(), "an earlier one": p.Now().Add(-time.Minute)} {
		r.OrderedAt = ordered
		if diff := cmp.Diff(first, p.created(r)); diff != "" {
			p.broken("the session of the repeated call, whose OrderedAt is %s, is another (-first +second):\n%s", name, diff)
		}
	}
	if other := p.created(p.request("key-2")); other.ID == first.ID {
		p.broken("another key returned the same session %q", other.ID)
	}
}

func sessionKeepsItsMetadata(p *probe) {
	r := p.request("key-1")
	r.Metadata[processor.MetadataCouponCode] = strings.Repeat("Ü", coupon.MaxCodeLength)
	r.Metadata["note"] = `"quoted" <b>&amp;</b> עברית 日本 é 🎁`
	maps.Copy(r.Metadata, manyCoupons(r.Coupons[0]))
	want := maps.Clone(r.Metadata)
	s := p.created(r)
	r.Metadata["note"], s.Metadata["note"] = "changed by the caller", "changed by the caller"
	read := p.session(s.ID)
	if diff := cmp.Diff(want, read.Metadata); diff != "" {
		p.broken("the metadata has changed (-asked +read):\n%s", diff)
	}
	read.Metadata["note"] = "changed by the caller"
	if diff := cmp.Diff(want, p.session(s.ID).Metadata); diff != "" {
		p.broken("a reader has changed the metadata (-asked +read):\n%s", diff)
	}
}

// manyCoupons returns the metadata of an order with the maximum number of coupons.
func manyCoupons(first coupon.Snapshot) map[string]string {
	coupons := make([]coupon.Snapshot, pricing.MaxCoupons)
	for i := range coupons {
		coupons[i] = first
		coupons[i].ID = fmt.Sprintf("%s%0*d", coupon.IDPrefix, coupon.MaxIDLength-len(coupon.IDPrefix), i)
	}
	m := processor.MetadataOfCoupons(coupons)
	delete(m, processor.MetadataCouponCode)
	return m
}

func sessionInEveryCurrency(p *probe) {
	for _, c := range currencies("EUR", "USD", "GBP", "JPY", "KRW", "KWD", "HUF", "ISK", "UGX", "BHD") {
		p.created(p.single("key-"+c.Code(), c, p.chargeable(c, 123457))) // only the declared step divides the amount
	}
}

// sessionInSteps requests what the service requests in a currency with a step. The units of one line
// have two prices, one step apart. There is a discount of the first period.
func sessionInSteps(p *probe) {
	for c, step := range p.Processor.Abilities().AmountStep {
		price := p.chargeable(c, 66*step)
		r := p.request("units-" + c.Code())
		r.Currency, r.Coupons = c, nil
		r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.Lines[2].UnitAmount = price+step, price, 7*step
		r.Total = 3*price + 9*step
		p.created(r)
		r = p.subscription("period-" + c.Code())
		r.Currency, r.Coupons = c, nil
		r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.FirstPeriodDiscount = 5*step, price, 3*step
		r.Total = price + 2*step
		p.created(r)
		if step > 1 {
			r = p.subscription("off-period-" + c.Code())
			r.Currency, r.Coupons = c, nil
			r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.FirstPeriodDiscount = 5*step, price, 3*step-1
			r.Total = price + 2*step + 1
			p.refused(r, "with a discount of the first period off the step in "+c.Code())
		}
	}
}

func sessionIsNotDiscountedAgain(p *probe) {
	c, d := p.mirrored(p.coupon("a", "TEN")), p.mirrored(p.coupon("b", "OTHER")) // the processor could have applied these coupons itself
	for key, coupons := range map[string][]coupon.Snapshot{
		"key-1": {c.Snapshot()}, "key-2": {c.Snapshot(), d.Snapshot()},
	} {
		r := p.request(key)
		r.Coupons = coupons
		maps.Copy(r.Metadata, processor.MetadataOfCoupons(coupons))
		p.paysAsAsked(r)
	}
}

// paysAsAsked checks that the customer pays the total of the request.
func (p *probe) paysAsAsked(r processor.SessionRequest) {
	p.Helper()
	s := p.created(r)
	if p.Customer.Pay != nil {
		p.hook(p.Customer.Pay(s.ID), "Pay")
		if paid := p.session(s.ID); paid.Total != r.Total {
			p.broken("the customer paid %d, want %d", paid.Total, r.Total)
		}
	}
}

func sessionOfASubscription(p *probe) {
	p.created(p.subscription("key-1"))
	every := p.subscription("key-2") // the lower price applies to every period
	every.Lines[0].UnitAmount, every.FirstPeriodDiscount = 666, 0
	p.created(every)
}

var intervals = [...]pricing.Interval{pricing.Daily, pricing.Weekly, pricing.Monthly, pricing.Yearly}

func renewalsOfASubscription(p *probe) {
	for _, every := range intervals {
		r := p.subscription("first-" + every.String())
		r.Lines[0].Recurs = every
		p.renews(r)
	}
	lower := p.subscription("lower") // the lower price applies to every period
	lower.Lines[0].UnitAmount, lower.FirstPeriodDiscount = 666, 0
	p.renews(lower)
	units := p.subscription("units") // three units at two prices
	units.Lines = append(units.Lines, units.Lines[0])
	units.Lines[0].Quantity, units.Lines[2].UnitAmount = 2, 998
	units.Total += 999 + 998
	p.renews(units)
	if !p.Processor.Abilities().OneInterval {
		p.renews(p.plans("two", pricing.Yearly))
	}
	if !p.Processor.Abilities().NoZeroTotal {
		p.renews(p.freeStart("free"))
	}
}

// renews pays a session, and checks the later charges of its subscription.
func (p *probe) renews(r processor.SessionRequest) {
	p.Helper()
	s := p.created(r)
	p.hook(p.Customer.Pay(s.ID), "Pay")
	for _, every := range intervals {
		var want int64
		for _, l := range r.Lines {
			if l.Recurs == every {
				want += l.Quantity * l.UnitAmount
			}
		}
		got, err := p.Renewal(s.ID, every)
		p.hook(err, "Renewal")
		if got != want {
			p.broken("the subscription of %s charges %d every %s from its second period on, want %d", r.Key, got, every, want)
		}
	}
}

func sessionWithFreeLines(p *probe) {
	r := p.request("key-1")
	r.Lines[0].UnitAmount, r.Lines[1].UnitAmount, r.Total = 0, 0, 490
	r.Lines[2].UnitAmount = p.chargeable(r.Currency, r.Total)
	r.Total = r.Lines[2].UnitAmount
	p.created(r)
}

func sessionIsFoundByItsIDOnly(p *probe) {
	for _, id := range []string{"cs_there_is_none", "", "../sessions", "\x00"} {
		s, err := p.Processor.Session(p.Context(), id)
		p.fails(err, processor.ErrNotFound, "Session of an unknown ID")
		if s.ID != "" {
			p.broken("Session of an unknown ID returned %+v", s)
		}
		_, err = p.Processor.ExpireSession(p.Context(), id)
		p.fails(err, processor.ErrNotFound, "ExpireSession of an unknown ID")
	}
}

func checkKeyReuse(p *probe) {
	r := p.single("key-1", pricing.EUR(), 2490)
	first := p.created(r)
	other := p.single("key-1", pricing.EUR(), 4980)
	switch s, err := p.Processor.CreateSession(p.Context(), other); {
	case err != nil:
		p.fails(err, processor.ErrRejected, "CreateSession with a used key and another total")
	case s.ID == first.ID || s.Total != other.Total:
		p.broken("another total with a used key returned the session %q of %d", s.ID, s.Total)
	}
	abroad := p.single("key-1", currencies("USD")[0], 2490)
	switch s, err := p.Processor.CreateSession(p.Context(), abroad); {
	case err != nil:
		p.fails(err, processor.ErrRejected, "CreateSession with a used key and another currency")
	case s.ID == first.ID || s.Currency != abroad.Currency:
		p.broken("another currency with a used key returned the session %q in %s", s.ID, s.Currency)
	}
	if again := p.session(first.ID); again.Total != r.Total {
		p.broken("the first session now charges %d, want %d", again.Total, r.Total)
	}
}
