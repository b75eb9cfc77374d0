package storetest

import (
	"fmt"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// at is an instant of the suite's calendar: so many seconds after its beginning, at
// a microsecond that no coarser store keeps.
func at(seconds int) time.Time {
	return time.Date(2026, time.November, 20, 12, 0, 0, 123_456_000, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// terms changes a coupon before it is stored.
type terms func(*coupon.Coupon)

// limits returns the terms of a coupon with these limits, 0 for none.
func limits(maxUses, maxUsesPerUser int64) terms {
	return func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: maxUses, MaxUsesPerUser: maxUsesPerUser} }
}

func named(name string) terms { return func(c *coupon.Coupon) { c.Name = name } }

func coded(code coupon.Code) terms { return func(c *coupon.Coupon) { c.Code = code } }

func inState(s coupon.State) terms { return func(c *coupon.Coupon) { c.State = s } }

func createdAt(t time.Time) terms {
	return func(c *coupon.Coupon) { c.CreatedAt, c.UpdatedAt = t, t }
}

// forPoints are the terms of a coupon that costs points.
func forPoints(c *coupon.Coupon) { c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 250 }

// forAddresses are the terms of a coupon for these addresses.
func (p *probe) forAddresses(addresses ...string) terms {
	p.Helper()
	emails, err := coupon.NewEmailSet(addresses...)
	p.own(err)
	return func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails }
}

// draft returns a coupon that is not stored: ten percent off everything, active,
// without limits.
func (p *probe) draft(changes ...terms) coupon.Coupon {
	p.Helper()
	n := p.next()
	percent, err := pricing.ParsePercent("10")
	p.own(err)
	c := coupon.Coupon{
		ID: fmt.Sprintf("cpn_%04d", n), Code: p.code(fmt.Sprintf("CODE-%d", n)), Name: fmt.Sprintf("coupon %d", n),
		Discount: pricing.PercentOff(percent), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All},
		Distribution: coupon.General, State: coupon.Active, CreatedAt: at(n), UpdatedAt: at(n), Revision: 1,
	}
	for _, change := range changes {
		change(&c)
	}
	p.own(c.Validate())
	return c
}

// own stops when the suite itself makes a mistake.
func (p *probe) own(err error) {
	p.Helper()
	if err != nil {
		p.Fatalf("storetest made something invalid: %v", err)
	}
}

func (p *probe) code(text string) coupon.Code {
	p.Helper()
	code, err := coupon.ParseCode(text)
	p.own(err)
	return code
}

// coupon stores a coupon.
func (p *probe) coupon(changes ...terms) coupon.Coupon {
	p.Helper()
	c := p.draft(changes...)
	p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon")
	return c
}

// quote prices a cart with the coupon; an exact amount, larger than a float64 holds,
// is among its prices.
func (p *probe) quote(c coupon.Coupon) pricing.Quote {
	p.Helper()
	quote, err := pricing.Price(pricing.Cart{Currency: c.Currency, Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 333},
		{ID: "2", Kind: pricing.Plan, ItemID: "basic", Quantity: 1, UnitPrice: 36_028_797_018_963_971, Recurs: pricing.Monthly},
		{ID: "3", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}, c.Discount, nil)
	p.own(err)
	return quote
}

// plain returns an order without a coupon that is not stored.
func (p *probe) plain(customer, key string) store.Order {
	p.Helper()
	n := p.next()
	quote := p.quote(coupon.Coupon{Currency: pricing.EUR()})
	return store.Order{
		ID: fmt.Sprintf("ord_%04d", n), Key: key, Fingerprint: "the same cart", CustomerID: customer, State: store.OrderOpen,
		Quote: quote, Metadata: map[string]string{"channel": "web", "empty": ""},
		Deadline: at(1000), CreatedAt: at(n), UpdatedAt: at(n),
	}
}

// discounted returns an order with the coupon, and the reservation that it names.
func (p *probe) discounted(c coupon.Coupon, customer, key, reservationID string) store.Order {
	p.Helper()
	o := p.plain(customer, key)
	snapshot := c.Snapshot()
	o.CouponID, o.Coupon, o.ReservationID = c.ID, &snapshot, reservationID
	o.Quote = p.quote(c)
	o.DiscountAmount = o.Quote.Discount
	return o
}

// checkout returns a request for a place with its order. Every call has new IDs, as
// a retry of a caller has.
func (p *probe) checkout(c coupon.Coupon, customer, key string) store.Reservation {
	p.Helper()
	id := fmt.Sprintf("rsv_%04d", p.next())
	o := p.discounted(c, customer, key, id)
	return store.Reservation{Order: &o, Redemption: redemption.Redemption{
		ID: id, Key: key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromCheckout, OrderID: o.ID, Deadline: o.Deadline, CreatedAt: o.CreatedAt, UpdatedAt: o.CreatedAt,
	}}
}

// exchange returns a request for a place that costs points.
func (p *probe) exchange(c coupon.Coupon, customer, key string) store.Reservation {
	p.Helper()
	n := p.next()
	return store.Reservation{Redemption: redemption.Redemption{
		ID: fmt.Sprintf("rsv_%04d", n), Key: key, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromPoints, Points: 250, PointsState: redemption.PointsPending,
		Deadline: at(900), CreatedAt: at(n), UpdatedAt: at(n),
	}}
}

// key returns a key that was not used yet.
func (p *probe) key() string { return fmt.Sprintf("key-%d", p.next()) }

// reserve keeps a place that must be left.
func (p *probe) reserve(c coupon.Coupon, customer string) store.Reserved {
	p.Helper()
	return p.place(p.checkout(c, customer, p.key()))
}

// place stores a reservation for which there must be a place.
func (p *probe) place(r store.Reservation) store.Reserved {
	p.Helper()
	reserved, err := p.s.Reserve(p.Context(), r)
	p.ok(err, "Reserve")
	if reserved.Replayed {
		p.stop("Reserve with a new key says that it was replayed")
	}
	return reserved
}

// exchanged keeps a place whose points are debited.
func (p *probe) exchanged(c coupon.Coupon, customer string) redemption.Redemption {
	p.Helper()
	reserved := p.place(p.exchange(c, customer, p.key()))
	return p.transition(reserved.Redemption.ID, redemption.Event{Kind: redemption.PointsExchanged, At: at(500)})
}

// opened keeps a place for an order that has a session.
func (p *probe) opened(c coupon.Coupon, customer string) store.Reserved {
	p.Helper()
	reserved := p.reserve(c, customer)
	return p.open(reserved)
}

// open attaches a new session to the order.
func (p *probe) open(r store.Reserved) store.Reserved {
	p.Helper()
	r.Order = p.attach(r.Order.ID, p.session())
	r.Redemption = p.redemption(r.Redemption.ID)
	return r
}

// session returns a session's ID that was not used yet.
func (p *probe) session() string { return fmt.Sprintf("cs_%d", p.next()) }

func attachment(orderID, sessionID string) store.Attachment {
	return store.Attachment{
		OrderID: orderID, SessionID: sessionID, SessionURL: "https://pay.example/" + sessionID, Deadline: at(2000), At: at(600),
	}
}

func (p *probe) attach(orderID, sessionID string) store.Order {
	p.Helper()
	return p.attachAt(orderID, sessionID, 600)
}

// attachAt attaches the session at an instant of the suite's calendar.
func (p *probe) attachAt(orderID, sessionID string, seconds int) store.Order {
	p.Helper()
	a := attachment(orderID, sessionID)
	a.At = at(seconds)
	o, err := p.s.AttachSession(p.Context(), a)
	p.ok(err, "AttachSession")
	return o
}

// settlement is what the processor says of the order's session, with the metadata
// that the session has.
func (p *probe) settlement(kind redemption.EventKind, r store.Reserved, sessionID string) store.Settlement {
	return store.Settlement{
		Event: redemption.Event{
			Kind: kind, At: at(700 + p.next()), SessionID: sessionID, OrderID: r.Order.ID, Deadline: at(5000),
		},
		ReservationID: r.Redemption.ID, CouponID: r.Redemption.CouponID, CustomerID: r.Redemption.CustomerID,
		NewID: fmt.Sprintf("rsv_%04d", p.next()),
	}
}

func (p *probe) settle(t store.Settlement) store.Settled {
	p.Helper()
	settled, err := p.s.Settle(p.Context(), t)
	p.ok(err, "Settle (%s)", t.Event.Kind)
	return settled
}

// settleSession applies what the processor says of the session that the order has.
func (p *probe) settleSession(kind redemption.EventKind, r store.Reserved) store.Settled {
	p.Helper()
	return p.settle(p.settlement(kind, r, r.Order.SessionID))
}

func (p *probe) transition(id string, e redemption.Event) redemption.Redemption {
	p.Helper()
	r, err := p.s.Transition(p.Context(), id, e)
	p.ok(err, "Transition (%s)", e.Kind)
	return r
}

// takeOver is a request to move the reservation to a new order.
func (p *probe) takeOver(c coupon.Coupon, r redemption.Redemption, key string) store.TakeOver {
	p.Helper()
	o := p.discounted(c, r.CustomerID, key, r.ID)
	return store.TakeOver{
		ReservationID: r.ID, FromSessionID: r.SessionID, CouponRevision: c.Revision, Order: o, Deadline: at(3000), At: at(800),
	}
}
