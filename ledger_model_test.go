package couponkit_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/internal/testsize"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

type modelPayment struct {
	id, order string
	status    couponkit.PaymentStatus
	shown     bool
	lost      bool // nobody knows that it was created
}

type modelShop struct {
	*till
	r        *rand.Rand
	orders   []string
	payments []*modelPayment
	creating []string // orders for which a payment is about to be created
	attach   []*modelPayment
	queue    []couponkit.Payment
	stale    []couponkit.Due
	log      []string
}

func (m *modelShop) logf(f string, a ...any) { m.log = append(m.log, fmt.Sprintf(f, a...)) }

func (m *modelShop) tell(p *modelPayment) {
	q := couponkit.Payment{OrderID: p.order, ID: p.id, Status: p.status}
	if p.status == couponkit.PaymentPaid {
		q.Amount = pricing.NewMoney(9_00, pricing.EUR())
	}
	m.queue = append(m.queue, q)
}

// find is the payment of an order at the provider: what can be paid first.
func (m *modelShop) find(order, id string) *modelPayment {
	var best *modelPayment
	for _, p := range m.payments {
		if id != "" && p.id != id || id == "" && p.order != order {
			continue
		}
		if best == nil || p.status < best.status || best.status == couponkit.PaymentEnded {
			best = p
		}
	}
	return best
}

func (m *modelShop) answer(d couponkit.Due) {
	if d.Kind != redemption.EndPayment && d.Kind != redemption.AskPayment {
		return
	}
	p := m.find(d.OrderID, d.PaymentID)
	a := couponkit.Payment{Status: couponkit.PaymentEnded}
	if p != nil {
		if p.status == couponkit.PaymentOpen && d.Kind == redemption.EndPayment {
			p.status = couponkit.PaymentEnded
			m.tell(p)
		}
		a.ID, a.Status = p.id, p.status
		if p.status == couponkit.PaymentPaid {
			a.Amount = pricing.NewMoney(9_00, pricing.EUR())
		}
	}
	m.logf("answer %s %s %q: %q %s", d.Kind, d.OrderID, d.PaymentID, a.ID, a.Status)
	m.record(d.Answer(a))
}

func (m *modelShop) any() string {
	if len(m.orders) == 0 {
		return "none"
	}
	return m.orders[m.r.IntN(len(m.orders))]
}

func (m *modelShop) deliver(i int, again bool) {
	p := m.queue[i]
	if !again {
		m.queue = append(m.queue[:i:i], m.queue[i+1:]...)
	}
	m.logf("webhook %s %s %s", p.OrderID, p.ID, p.Status)
	m.record(p)
}

func (m *modelShop) create() {
	if len(m.creating) == 0 {
		return
	}
	o := m.creating[0]
	m.creating = m.creating[1:]
	for _, p := range m.payments {
		if p.order == o && p.status == couponkit.PaymentOpen { // idempotent by order
			m.attach = append(m.attach, p)
			return
		}
	}
	p := &modelPayment{id: fmt.Sprintf("p%d", len(m.payments)), order: o, status: couponkit.PaymentOpen}
	m.payments = append(m.payments, p)
	m.logf("create %s of %s", p.id, o)
	m.attach = append(m.attach, p)
}

func (m *modelShop) attachNext() {
	if len(m.attach) == 0 {
		return
	}
	p := m.attach[0]
	m.attach = m.attach[1:]
	if m.r.IntN(6) == 0 {
		m.logf("crash before attach %s", p.id)
		p.lost = true
		return
	}
	_, err := m.AttachPayment(m.t.Context(), couponkit.Payment{OrderID: p.order, ID: p.id})
	m.logf("attach %s of %s: %v", p.id, p.order, err)
	switch {
	case err == nil:
		p.shown = true
	case p.status == couponkit.PaymentOpen && !p.shown:
		p.status = couponkit.PaymentEnded
		m.tell(p)
	}
}

func (m *modelShop) step() {
	ctx := m.t.Context()
	switch m.r.IntN(13) {
	case 0:
		id := fmt.Sprint(len(m.orders) + 1)
		customer := []eligibility.Customer{ann, ann, bob}[m.r.IntN(3)]
		got, err := m.Reserve(ctx, wants(id, customer))
		m.logf("reserve %s for %s: %v, replaces %s awaits %s", id, customer.ID, err, got.Order.Replaces, got.Order.Awaits)
		if err == nil {
			m.orders = append(m.orders, id)
		}
	case 1, 2:
		id := m.any()
		o, err := m.BeginPayment(ctx, id)
		m.logf("begin %s: %v", id, err)
		if err == nil && o.SessionID == "" {
			m.creating = append(m.creating, id)
		}
	case 3, 4:
		m.create()
	case 5, 6:
		m.attachNext()
	case 7:
		id := m.any()
		_, err := m.Cancel(ctx, id)
		m.logf("cancel %s: %v", id, err)
	case 8: // the customer or the provider
		if len(m.payments) == 0 {
			return
		}
		p := m.payments[m.r.IntN(len(m.payments))]
		switch {
		case p.status == couponkit.PaymentOpen && p.shown:
			p.status = []couponkit.PaymentStatus{couponkit.PaymentPaid, couponkit.PaymentPending, couponkit.PaymentEnded}[m.r.IntN(3)]
		case p.status == couponkit.PaymentPending:
			p.status = []couponkit.PaymentStatus{couponkit.PaymentPaid, couponkit.PaymentEnded}[m.r.IntN(2)]
		default:
			return
		}
		m.logf("%s of %s is %s", p.id, p.order, p.status)
		m.tell(p)
	case 9:
		if len(m.queue) > 0 {
			m.deliver(m.r.IntN(len(m.queue)), m.r.IntN(3) == 0)
		}
	case 10:
		due, _ := m.due(m.any2())
		for _, d := range due {
			switch m.r.IntN(4) {
			case 0:
				m.stale = append(m.stale, d)
			default:
				m.answer(d)
			}
		}
	case 11:
		if len(m.creating) == 0 {
			m.now = m.now.Add(time.Duration(m.r.IntN(12)) * time.Minute)
		} else {
			m.now = m.now.Add(10 * time.Second)
		}
	case 12:
		if len(m.stale) > 0 { // asked long ago, answered now with what is true then
			m.answer(m.stale[0])
			m.stale = m.stale[1:]
		}
	}
}

func (m *modelShop) any2() string {
	if m.r.IntN(2) == 0 || len(m.orders) == 0 {
		return ""
	}
	return m.any()
}

// check: of one use, two payments are never payable.
func (m *modelShop) check() string {
	payable := 0
	for _, p := range m.payments {
		if p.status == couponkit.PaymentOpen && p.shown || p.status == couponkit.PaymentPending || p.status == couponkit.PaymentPaid {
			payable++
		}
	}
	if payable > 1 {
		return fmt.Sprintf("%d payments that are payable, pending or paid", payable)
	}
	return ""
}

func (m *modelShop) finish() string {
	for range 200 {
		for len(m.creating) > 0 {
			m.create()
		}
		for len(m.attach) > 0 {
			m.attachNext()
		}
		for len(m.queue) > 0 {
			m.deliver(0, false)
		}
		for _, p := range m.payments {
			if p.status == couponkit.PaymentPending {
				p.status = couponkit.PaymentEnded
				m.logf("%s of %s fails", p.id, p.order)
				m.tell(p)
			}
		}
		m.now = m.now.Add(11 * time.Minute)
		due, _ := m.due("")
		for _, d := range due {
			m.answer(d)
		}
	}
	m.now = m.now.Add(90 * 24 * time.Hour)
	for range 5 {
		due, _ := m.due("")
		for _, d := range due {
			m.answer(d)
		}
	}
	paid := 0
	for _, p := range m.payments {
		switch {
		case p.status == couponkit.PaymentPaid:
			paid++
		case p.status == couponkit.PaymentOpen && (p.shown || !p.lost):
			return fmt.Sprintf("%s of %s stays open for ever (shown: %v)", p.id, p.order, p.shown)
		}
	}
	paidOrders := 0
	for _, id := range m.orders {
		o := m.order(id)
		if !o.State.Ended() || len(o.Due()) > 0 {
			return fmt.Sprintf("order %s is %s for ever, due %v", id, o.State, o.Due())
		}
		if o.State.Paid() {
			paidOrders += 1 + len(o.OtherPayments)
		}
	}
	if paid != paidOrders {
		return fmt.Sprintf("%d payments and %d of orders", paid, paidOrders)
	}
	return ""
}

func TestAShopOfItsOwn(t *testing.T) {
	t.Parallel()
	shown := map[string]int{}
	for seed := range testsize.Of[uint64](200, 3000) {
		s := newTill(t)
		c := s.once()
		m := &modelShop{till: s, r: rand.New(rand.NewPCG(seed, 0))}
		fault := ""
		for i := 0; i < 60 && fault == ""; i++ {
			m.step()
			fault = m.check()
		}
		if fault == "" {
			fault = m.finish()
		}
		if fault == "" {
			got, err := store.Find(t.Context(), s.store, store.LookUp{Names: store.ByID(c.ID), Whole: true})
			require.NoError(t, err)
			if got.Coupon.ReservedCount != 0 {
				fault = fmt.Sprintf("%d uses are taken for ever", got.Coupon.ReservedCount)
			}
		}
		if fault != "" {
			key := fault[len(fault)-20:]
			if shown[key]++; shown[key] == 1 {
				t.Errorf("seed %d: %s", seed, fault)
				for _, l := range m.log {
					t.Log(l)
				}
			}
		}
	}
	t.Log(shown)
}
