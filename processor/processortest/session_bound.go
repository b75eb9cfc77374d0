package processortest

import (
	"fmt"
	"strings"
	"time"

	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
)

func boundClauses() []clause {
	return []clause{
		{
			name:  "create refuses sums that are off",
			says:  "Lines sum to Total + FirstPeriodDiscount; an amount out of bounds is ErrRejected",
			check: checkSums,
		},
		{
			name:  "create at total 0",
			says:  "NoZeroTotal tells that a session of total 0 cannot be made; otherwise it can, and needs no payment",
			check: checkZeroTotal,
		},
		{
			name:  "create at the minimum charge",
			says:  "MinimumCharge is the least total above 0 that can be charged; below it is ErrBelowMinimum",
			check: createAtTheMinimumCharge,
		},
		{
			name:  "create off the step",
			says:  "AmountStep is the step of chargeable amounts; an amount out of bounds is ErrRejected",
			check: createOffTheStep,
		},
		{
			name:  "create with many lines",
			says:  "MaxLines is the most lines of a session; 0 is no bound; more is ErrRejected",
			check: checkManyLines,
		},
		{
			name:  "create with two intervals",
			says:  "OneInterval tells that all that recurs in a session recurs in one interval; more is ErrRejected; otherwise each line has its own",
			check: checkTwoIntervals,
		},
		{
			name:  "create with a lifetime",
			says:  "MinSessionLifetime and MaxSessionLifetime bound how far ahead ExpiresAt may lie; beyond is ErrRejected",
			check: checkLifetimes,
		},
		{
			name:  "create with what is required only",
			says:  "NeedsSuccessURL tells that a session cannot be made without a SuccessURL, which is ErrRejected then; coupon, e-mail, CancelURL and metadata may be empty",
			check: createWithWhatIsRequiredOnly,
		},
		{
			name:  "create with odd decoration",
			says:  "what only decorates the payment page never refuses a request: an unsuitable CustomerEmail is left out, and a long Name is cut",
			check: createWithOddDecoration,
		},
		{
			name:  "create refuses amounts below zero",
			says:  "UnitAmount is at least 0 and Quantity at least 1; otherwise it is ErrRejected",
			check: createRefusesAmountsBelowZero,
		},
		{
			name:  "create with a key at its bounds",
			says:  "Key has 1 to MaxKeyLength bytes, all of which count; otherwise it is ErrRejected",
			check: createWithAKeyAtItsBounds,
		},
		{
			name:  "create in the mode of the lines",
			says:  "Mode is Subscription when a line recurs, else Payment; otherwise it is ErrRejected",
			check: createInTheModeOfTheLines,
		},
		{
			name:  "create refuses what there is not",
			says:  "Kind, Recurs and Currency are those that package pricing has; otherwise it is ErrRejected",
			check: createRefusesWhatThereIsNot,
		},
	}
}

func createAtTheMinimumCharge(p *probe) {
	for c, least := range p.Processor.Abilities().MinimumCharge {
		step := max(p.Processor.Abilities().AmountStep[c], 1)
		p.created(p.single("least-"+c.Code(), c, p.chargeable(c, least)))
		if below := (least - 1) / step * step; below > 0 {
			r, why := p.single("below-"+c.Code(), c, below), "below the least charge in "+c.Code()
			p.refused(r, why)
			_, err := p.Processor.CreateSession(p.Context(), r)
			p.fails(err, processor.ErrBelowMinimum, "CreateSession "+why)
		}
	}
	free := currencies("EUR")[0]
	if _, bound := p.Processor.Abilities().MinimumCharge[free]; !bound {
		p.created(p.single("unbounded", free, p.chargeable(free, 1)))
	}
}

func createOffTheStep(p *probe) {
	for c, step := range p.Processor.Abilities().AmountStep {
		amount := p.chargeable(c, 100*step)
		p.created(p.single("on-"+c.Code(), c, amount))
		if step > 1 {
			p.refused(p.single("off-"+c.Code(), c, amount+1), "off the step of amounts in "+c.Code())
		}
	}
}

func createWithWhatIsRequiredOnly(p *probe) {
	r := p.single("key-1", pricing.EUR(), 2490)
	r.CustomerEmail, r.CancelURL, r.SuccessURL, r.Metadata = "", "", "", nil
	if p.Processor.Abilities().NeedsSuccessURL {
		p.refused(r, "without a SuccessURL")
		r.SuccessURL = "https://shop.example/thanks"
	}
	s, err := p.Processor.CreateSession(p.Context(), r)
	p.ok(err, "CreateSession with what is required only")
	r.Metadata = s.Metadata // the adapter may add entries
	p.matches(s, r)
}

func createWithOddDecoration(p *probe) {
	for i, email := range []string{"ann@localhost", "ann@bücher.example", "ännchen@example.org", strings.Repeat("a", 600) + "@example.org"} {
		r := p.request(fmt.Sprint("email-", i))
		r.CustomerEmail = email
		first := p.created(r)
		if again := p.created(r); again.ID != first.ID {
			p.broken("the repeated call with the address %.20q made another session", email)
		}
	}
	r := p.request("name")
	for i := range r.Lines {
		r.Lines[i].Name = strings.Repeat("ü", 1000)
	}
	p.created(r)
}

func createRefusesAmountsBelowZero(p *probe) {
	negative := p.request("negative")
	negative.Lines[2].UnitAmount, negative.Total = -490, 2000-490
	p.refused(negative, "with a negative line")
	none := p.request("none")
	none.Lines[2].Quantity, none.Total = 0, 2000
	p.refused(none, "with a quantity of 0")
	total := p.single("total", pricing.EUR(), -100)
	p.refused(total, "with a negative total")
}

func createWithAKeyAtItsBounds(p *probe) {
	p.refused(p.request(""), "without a key")
	p.refused(p.request(strings.Repeat("k", processor.MaxKeyLength+1)), "with a key of more than MaxKeyLength bytes")
	p.created(p.request("k"))
	most := strings.Repeat("k", processor.MaxKeyLength-1)
	first, other := p.created(p.request(most+"1")), p.created(p.request(most+"2"))
	if first.ID == other.ID {
		p.broken("two keys of MaxKeyLength bytes that differ in the last returned the same session %q", first.ID)
	}
}

func createInTheModeOfTheLines(p *probe) {
	for name, mode := range map[string]processor.Mode{
		"without a mode": 0, "as a subscription in which nothing recurs": processor.Subscription,
		"in a mode that there is not": processor.Subscription + 1,
	} {
		r := p.request("key-" + name)
		r.Mode = mode
		p.refused(r, name)
	}
	for name, mode := range map[string]processor.Mode{
		"of a plan without a mode": 0, "of a plan for one payment": processor.Payment,
		"of a plan in a mode that there is not": processor.Subscription + 1,
	} {
		r := p.plans("key-"+name, pricing.Monthly)
		r.Mode, r.FirstPeriodDiscount, r.Total = mode, 0, r.Total+r.FirstPeriodDiscount
		p.refused(r, name)
	}
}

func createRefusesWhatThereIsNot(p *probe) {
	p.refusesEach(p.request, map[string]func(*processor.SessionRequest){
		"with a line of no kind":    func(r *processor.SessionRequest) { r.Lines[1].Kind = "" },
		"with a line of a bad kind": func(r *processor.SessionRequest) { r.Lines[1].Kind = "No Kind" },
		"without a currency":        func(r *processor.SessionRequest) { r.Currency = pricing.Currency{} },
		"in an unknown interval": func(r *processor.SessionRequest) {
			r.Mode, r.Lines[1].Recurs = processor.Subscription, pricing.Yearly+1
		},
	})
	p.refusesEach(p.subscription, map[string]func(*processor.SessionRequest){
		"in a month and an unknown interval": func(r *processor.SessionRequest) { r.Lines[1].Recurs = pricing.Yearly + 1 },
	})
}

// refusesEach checks that a request is refused with each of the changes alone.
func (p *probe) refusesEach(request func(key string) processor.SessionRequest, changes map[string]func(*processor.SessionRequest)) {
	p.Helper()
	for name, change := range changes {
		r := request("key-" + name)
		change(&r)
		p.refused(r, name)
	}
}

func checkSums(p *probe) {
	p.refusesEach(p.request, map[string]func(*processor.SessionRequest){
		"with a total of one minor unit more": func(r *processor.SessionRequest) { r.Total++ },
		"with a total of one minor unit less": func(r *processor.SessionRequest) { r.Total-- },
		"without one of the lines":            func(r *processor.SessionRequest) { r.Lines = r.Lines[:2] },
		"without lines":                       func(r *processor.SessionRequest) { r.Lines = nil },
		"with lines that overflow": func(r *processor.SessionRequest) {
			r.Lines[0].Quantity, r.Lines[0].UnitAmount = 1<<40, 1<<40
		},
		"with lines that overflow to the total": func(r *processor.SessionRequest) {
			r.Total -= r.Lines[0].Quantity * r.Lines[0].UnitAmount
			r.Lines[0].Quantity, r.Lines[0].UnitAmount = 1<<32, 1<<32
		},
	})
	r := p.subscription("key-first-period")
	r.FirstPeriodDiscount++
	p.refused(r, "with a discount of the first period that does not fit the total")
	r = p.subscription("key-too-much")
	sum := r.FirstPeriodDiscount + r.Total
	r.FirstPeriodDiscount, r.Total = sum+1, -1
	p.refused(r, "with a discount of the first period above the lines")
	r.Key, r.FirstPeriodDiscount, r.Total = "key-surcharge", -10, sum+10
	p.refused(r, "with a discount of the first period below 0")
	once := p.request("key-once")
	once.FirstPeriodDiscount, once.Total = 10, once.Total-10
	p.refused(once, "with a discount of the first period where nothing recurs")
}

func checkZeroTotal(p *probe) {
	for name, r := range map[string]processor.SessionRequest{
		"with a total of 0":                    p.single("key-1", pricing.EUR(), 0),
		"of a plan whose first period is free": p.freeStart("key-2"),
	} {
		if p.Processor.Abilities().NoZeroTotal {
			p.refused(r, name+", which the abilities rule out")
			continue
		}
		s := p.created(r)
		if p.Customer.Pay == nil {
			continue
		}
		p.hook(p.Customer.Pay(s.ID), "Pay")
		p.is(p.session(s.ID), processor.SessionComplete, processor.NoPaymentRequired, name+", once it was finished,")
	}
}

func checkManyLines(p *probe) {
	many := func(key string, n int) processor.SessionRequest {
		r := p.request(key)
		r.Lines, r.Total = nil, 0
		for i := range n {
			r.Lines = append(r.Lines, processor.SessionLine{
				LineID: "L", Kind: pricing.Accessory, ItemID: "case", Name: "Case", Quantity: 1, UnitAmount: int64(100 + i),
			})
			r.Total += int64(100 + i)
		}
		return r
	}
	most := p.Processor.Abilities().MaxLines
	if most == 0 {
		p.created(many("many", 250))
		return
	}
	p.created(many("most", most))
	p.refused(many("more", most+1), "with more lines than MaxLines")
}

func checkTwoIntervals(p *probe) {
	p.created(p.plans("one", pricing.Monthly))
	if r := p.plans("two", pricing.Yearly); p.Processor.Abilities().OneInterval {
		p.refused(r, "with a month and a year beside each other, which the abilities rule out")
	} else {
		p.created(r)
	}
}

func checkLifetimes(p *probe) {
	a := p.Processor.Abilities()
	at := func(key string, lifetime time.Duration) processor.SessionRequest {
		r := p.request(key)
		r.ExpiresAt = p.Now().UTC().Truncate(time.Second).Add(lifetime)
		return r
	}
	p.created(at("usual", p.lifetime()))
	p.refused(at("past", -time.Minute), "that ended in the past")
	if a.MinSessionLifetime > time.Minute {
		p.created(at("shortest", a.MinSessionLifetime+time.Minute))
		p.refused(at("shorter", a.MinSessionLifetime-time.Minute), "that ends too soon")
	}
	if a.MaxSessionLifetime > 0 {
		p.created(at("longest", a.MaxSessionLifetime-time.Minute))
		p.refused(at("longer", a.MaxSessionLifetime+time.Minute), "that ends too late")
	} else {
		p.created(at("a year", 365*24*time.Hour))
	}
}
