package simulation

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/couponkit/couponkit"
	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/processor"
	"github.com/couponkit/couponkit/processor/fakeprocessor"
)

// happening is something that may happen in a step; weight is how often, beside the
// others.
type happening struct {
	weight int
	happen func(*World)
}

// begins are operations that begin on a node, happens what goes on around them.
var (
	begins = []happening{
		{2, (*World).create},
		{1, (*World).edit},
		{1, (*World).switchState},
		{1, (*World).remove},
		{3, (*World).exchange},
		{1, (*World).cancelExchange},
		{8, (*World).checkout},
		{2, (*World).product},
		{5, (*World).deliver},
		{2, (*World).sweep},
		{1, (*World).reconcile},
	}
	happens = []happening{
		{6, (*World).pay},
		{1, (*World).payLater},
		{2, (*World).decideLate},
		{3, (*World).pass},
		{1, (*World).tamper},
		{1, (*World).stopOne},
	}
)

func draw(w *World, of []happening) func(*World) {
	sum := 0
	for _, h := range of {
		sum += h.weight
	}
	n := w.random.IntN(sum)
	for _, h := range of {
		if n -= h.weight; n < 0 {
			return h.happen
		}
	}
	return of[0].happen
}

// step lets one thing happen. Its dice depend on the seed and its number alone, so
// that leaving out another step does not change them.
func (w *World) step(number int) {
	w.random = rand.New(rand.NewPCG(w.config.Seed, uint64(number))) //nolint:gosec // a simulation wants to be predictable
	w.log("step %d at %s", number, w.now.Format(time.DateTime))
	switch n := w.random.IntN(10); {
	case n < 6 && len(w.tasks) > 0:
		w.advance()
	case n < 9 && len(w.tasks) < maxInFlight:
		draw(w, begins)(w)
	default:
		draw(w, happens)(w)
	}
}

// advance decides the fate of one call that waits.
func (w *World) advance() {
	t := w.tasks[w.random.IntN(len(w.tasks))]
	f := arrives
	if t.call != "pause" && w.random.IntN(12) == 0 {
		f = fate(1 + w.random.IntN(3)) //nolint:gosec // 1 to 3
	}
	w.log("  %s: %s%s", t.name, t.call, f)
	w.run(t, f)
	for t.call == "pause" && !t.done && w.random.IntN(2) == 0 {
		w.run(t, arrives)
	}
}

func (w *World) node() *node { return w.nodes[w.random.IntN(len(w.nodes))] }

func (w *World) limit() coupon.Optional[int64] {
	if n := w.random.Int64N(4); n > 0 {
		return coupon.Set(n)
	}
	return coupon.Clear[int64]()
}

func (w *World) create() {
	d := coupon.Draft{
		Code: []string{"alpha", "beta", "gamma"}[w.random.IntN(3)], Name: "A coupon",
		DiscountType: pricing.Percentage, DiscountValue: decimal.NewFromInt(1 + w.random.Int64N(100)),
		MaxUses: w.limit(), MaxUsesPerUser: w.limit(),
	}
	if w.random.IntN(2) == 0 {
		d.DiscountType = pricing.FixedAmount
	}
	if w.random.IntN(3) == 0 {
		d.Distribution, d.PointsRequired = coupon.PointsRedeemable, 1+w.random.Int64N(200)
	}
	n := w.node()
	w.start(n, "create "+d.Code, func() error {
		c, err := n.service.Create(background(), d)
		if err == nil {
			w.coupons = append(w.coupons, c.ID)
		}
		return err
	})
}

func (w *World) edit() {
	n, id := w.node(), w.anyCoupon()
	p := coupon.Patch{Name: coupon.Set([]string{"One", "Two"}[w.random.IntN(2)])}
	if w.random.IntN(2) == 0 {
		p.MaxUses = w.limit()
	}
	w.start(n, "edit "+id, func() error {
		_, err := n.service.Update(background(), id, p)
		return err
	})
}

func (w *World) switchState() {
	n, id, active := w.node(), w.anyCoupon(), w.random.IntN(3) > 0
	w.start(n, "switch "+id, func() error {
		_, err := n.service.SetActive(background(), id, active)
		return err
	})
}

func (w *World) remove() {
	n, id := w.node(), w.anyCoupon()
	w.start(n, "delete "+id, func() error { return n.service.Delete(background(), id) })
}

func (w *World) exchange() {
	n := w.node()
	r := couponkit.ExchangeRequest{
		Coupon: w.anyCoupon(), Customer: eligibility.Customer{ID: w.customer()}, Key: w.key(),
	}
	w.start(n, r.Customer.ID+" exchanges points for "+r.Coupon, func() error {
		_, err := n.service.ExchangePoints(background(), r)
		return err
	})
}

func (w *World) cancelExchange() {
	n, customer := w.node(), w.customer()
	w.start(n, customer+" cancels an exchange", func() error {
		held, err := n.service.Reservations(background(), customer)
		if err != nil || len(held) == 0 {
			return err
		}
		return n.service.CancelExchange(background(), customer, held[0].ID)
	})
}

func cart() pricing.Cart {
	return pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 33_33},
		{ID: "2", Kind: pricing.Plan, ItemID: "gold", Quantity: 1, UnitPrice: 9_99, Recurs: pricing.Monthly},
		{ID: "3", Kind: pricing.Shipping, ItemID: "parcel", Quantity: 1, UnitPrice: 4_90},
	}}
}

func (w *World) checkout() {
	n := w.node()
	r := couponkit.CheckoutRequest{Key: w.key(), Customer: eligibility.Customer{ID: w.customer()}, Cart: cart()}
	if w.random.IntN(10) > 0 {
		r.Code = w.anyCoupon()
	}
	w.start(n, r.Customer.ID+" checks out with "+r.Key+" and "+r.Code, func() error {
		c, err := n.service.Checkout(background(), r)
		w.checkOwner(r.Customer.ID, c, err)
		return err
	})
}

func (w *World) product() {
	n := w.node()
	r := couponkit.PaymentLinkRequest{
		Mode: couponkit.ProductLink, Amount: pricing.NewMoney(20_00, pricing.EUR()),
		CheckoutRequest: couponkit.CheckoutRequest{
			Key: w.key(), Customer: eligibility.Customer{ID: w.customer()}, Code: w.anyCoupon(),
		},
	}
	w.start(n, r.Customer.ID+" buys a product with "+r.Key+" and "+r.Code, func() error {
		c, err := n.service.PaymentLink(background(), r)
		w.checkOwner(r.Customer.ID, c, err)
		return err
	})
}

// checkOwner fails when a customer gets somebody else's order, or one that does not
// charge what was quoted.
func (w *World) checkOwner(customer string, c couponkit.Checkout, err error) {
	if err != nil {
		return
	}
	if c.Order.CustomerID != customer {
		w.fail("%s got order %s of %s", customer, c.Order.ID, c.Order.CustomerID)
	}
	session, err := w.fake.Session(background(), c.Session.ID)
	if err != nil || session.Total != c.Order.Quote.Total {
		w.fail("session %s of order %s charges %d, not %d (%v)", c.Session.ID, c.Order.ID, session.Total, c.Order.Quote.Total, err)
	}
}

// deliver hands one event to a node: any of those that were sent, which may be
// delivered again later, now and then a forged one.
func (w *World) deliver() {
	w.deliveries = append(w.deliveries, w.fake.Deliveries()...)
	if len(w.deliveries) == 0 {
		return
	}
	i := w.random.IntN(len(w.deliveries))
	d := w.deliveries[i]
	if w.random.IntN(12) == 0 {
		d.Payload = append(slices.Clone(d.Payload), ' ')
	}
	n := w.node()
	w.start(n, "deliver "+d.EventID, func() error {
		err := w.hand(n.service, d)
		if errors.Is(err, processor.ErrSignature) {
			return nil
		}
		if err == nil && !n.stopped {
			w.acknowledge(d)
		}
		return err
	})
}

// acknowledge ends the redelivery of an event, half of the time: processors repeat
// themselves.
func (w *World) acknowledge(d fakeprocessor.Delivery) {
	for i, other := range w.deliveries {
		if other.EventID == d.EventID && i%2 == 0 {
			w.deliveries = slices.Delete(w.deliveries, i, i+1)
			return
		}
	}
}

func (w *World) hand(s *couponkit.Service, d fakeprocessor.Delivery) error {
	e, err := w.fake.ParseEvent(d.Payload, d.Signature)
	if err != nil {
		return err
	}
	_, err = s.HandleEvent(background(), e)
	return err
}

func (w *World) sweep() {
	n := w.node()
	w.start(n, "sweep", func() error {
		_, err := n.service.Sweep(background(), 0)
		return err
	})
}

func (w *World) reconcile() {
	n := w.node()
	w.start(n, "reconcile", func() error {
		_, err := n.service.Reconcile(background(), couponkit.ReconcileOptions{})
		return err
	})
}

// act does something to a recent session, if it is in a state that allows it.
func (w *World) act(name string, what func(id string) error) {
	sessions := w.fake.Sessions()
	if len(sessions) == 0 {
		return
	}
	recent := sessions[max(0, len(sessions)-4):]
	id := recent[w.random.IntN(len(recent))].ID
	err := what(id)
	w.log("  %s %s: %v", name, id, err)
	if err != nil && !errors.Is(err, processor.ErrRejected) {
		w.fail("%s %s: %v", name, id, err)
	}
}

func (w *World) pay()      { w.act("pay", w.fake.Pay) }
func (w *World) payLater() { w.act("pay later", w.fake.PayLater) }

func (w *World) decideLate() {
	if w.random.IntN(3) > 0 {
		w.act("payment arrives", w.fake.PaymentArrives)
	} else {
		w.act("payment fails", w.fake.PaymentFails)
	}
}

func (w *World) pass() {
	d := time.Duration(1+w.random.IntN(90)) * time.Minute
	w.now = w.now.Add(d)
	w.log("  %v pass", d)
}

func (w *World) tamper() {
	c, err := w.store.Coupon(background(), w.anyCoupon())
	if err != nil || c.Mirror.IsZero() {
		return
	}
	how := w.random.IntN(4)
	tampers := []func(coupon.Mirror) error{
		w.fake.TamperActivate, w.fake.TamperDeactivate, w.fake.TamperDelete, w.fake.TamperKill,
	}
	w.log("  tamper %d with %s: %v", how, c.ID, tampers[how](c.Mirror))
}

func (w *World) stopOne() {
	i := w.random.IntN(len(w.nodes))
	w.log("  node %d stops", i)
	w.stop(i)
}
