package storetest

import (
	"slices"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func instantClauses() []clause {
	return []clause{
		{"instants are kept in UTC", "instants are kept to the microsecond, in UTC", instantsAreKeptInUTC},
		{"far instants", "instants of the years 1 to 9999 are kept to the microsecond, those of orders and redemptions too, and are compared as instants", farInstants},
		{"instants of other zones", "instants are compared as instants, in whatever zone they are told", instantsOfOtherZones},
		{"a window within a microsecond is refused", "instants are kept to the microsecond: a coupon that does not validate as it would be kept is pricing.ErrInvalid", shortWindowIsRefused},
	}
}

// local is an instant of the suite's calendar in another zone and with nanoseconds.
func local(seconds int) time.Time {
	return at(seconds).In(time.FixedZone("", -(3*3600 + 1800))).Add(789)
}

func instantsAreKeptInUTC(p *probe) {
	c := p.draft(func(c *coupon.Coupon) {
		c.StartsAt, c.ExpiresAt, c.CreatedAt, c.UpdatedAt = local(1), local(2), local(3), local(4)
	})
	p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon")
	c, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	p.kept("the coupon", pair{"StartsAt", c.StartsAt, at(1)}, pair{"ExpiresAt", c.ExpiresAt, at(2)}, pair{"CreatedAt", c.CreatedAt, at(3)}, pair{"UpdatedAt", c.UpdatedAt, at(4)})
	c.StartsAt, c.ExpiresAt, c.UpdatedAt = local(5), local(6), local(7)
	c, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	p.kept("what UpdateCoupon returns", pair{"StartsAt", c.StartsAt, at(5)}, pair{"ExpiresAt", c.ExpiresAt, at(6)}, pair{"CreatedAt", c.CreatedAt, at(3)}, pair{"UpdatedAt", c.UpdatedAt, at(7)})

	r := p.checkout(c, "ann", p.key())
	r.Redemption.CreatedAt, r.Redemption.UpdatedAt, r.Redemption.Deadline = local(8), local(9), local(10)
	r.Order.CreatedAt, r.Order.UpdatedAt, r.Order.Deadline = local(11), local(12), local(13)
	reserved := p.place(r)
	for _, got := range []store.Reserved{reserved, p.reread(reserved)} {
		p.kept("the reservation", pair{"CreatedAt", got.Redemption.CreatedAt, at(8)}, pair{"UpdatedAt", got.Redemption.UpdatedAt, at(9)}, pair{"Deadline", got.Redemption.Deadline, at(10)})
		p.kept("the order", pair{"CreatedAt", got.Order.CreatedAt, at(11)}, pair{"UpdatedAt", got.Order.UpdatedAt, at(12)}, pair{"Deadline", got.Order.Deadline, at(13)})
	}
	due, err := p.s.Due(p.Context(), local(10), 1)
	p.ok(err, "Due")
	same(p, len(due), 1, "the number of reservations that are due at their deadline")
	p.eventsAreKeptInUTC(reserved)
}

func farInstants(p *probe) {
	c := p.coupon()
	var all []redemption.Redemption
	for _, far := range []time.Time{
		time.Date(1, time.January, 2, 0, 0, 0, 1_000, time.UTC), time.Date(1600, time.February, 29, 23, 59, 59, 1_000, time.UTC),
		time.Date(2600, time.February, 28, 0, 0, 0, 999_999_000, time.UTC), time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC),
	} {
		r, plain := p.checkout(c, "ann", p.key()), p.plain("ann", p.key())
		r.Redemption.CreatedAt, r.Redemption.UpdatedAt, r.Redemption.Deadline = far, far, far
		for _, o := range []*store.Order{r.Order, &plain} {
			o.CreatedAt, o.UpdatedAt, o.Deadline = far, far, far
		}
		want := store.Reserved{Redemption: r.Redemption, Order: r.Order.Clone()}
		same(p, p.place(r), want, "what Reserve returns at %s", far)
		same(p, p.reread(want), want, "a reservation and an order of %s", far)
		_, _, err := p.s.CreateOrder(p.Context(), plain)
		p.ok(err, "CreateOrder")
		same(p, p.order(plain.ID), plain, "an order without a coupon of %s", far)
		p.workAt(far, []redemption.Redemption{r.Redemption}, []store.Order{plain})
		p.workAt(far.Add(-time.Microsecond), nil, nil)
		for _, r := range []store.Reserved{want, {Order: plain}} {
			paid := p.settlement(redemption.SessionCompleted, r, p.session())
			paid.Event.At = far
			settled := p.settle(paid)
			same(p, settled.Order, r.Order.After(paid.Event), "an order that was paid at %s", far)
			if settled.Redemption.ID != "" {
				all = slices.Insert(all, 0, settled.Redemption)
			}
		}
		same(p, all[0].CompletedAt, far, "when a redemption was completed")
		same(p, p.redemption(all[0].ID), all[0], "a redemption of %s", far)
	}
	same(p, p.redemptions(store.RedemptionList{PageSize: 1}), all, "the redemptions, newest first")
}

// workAt checks what is due at an instant.
func (p *probe) workAt(instant time.Time, records []redemption.Redemption, orders []store.Order) {
	p.Helper()
	due, err := p.s.Due(p.Context(), instant, 10)
	p.ok(err, "Due")
	same(p, due, records, "what is due at %s", instant)
	open, err := p.s.OpenOrders(p.Context(), instant, 10)
	p.ok(err, "OpenOrders")
	same(p, open, orders, "the open orders of %s", instant)
}

func instantsOfOtherZones(p *probe) {
	reserved := p.place(p.exchange(p.coupon(forPoints), "ann", p.key())).Redemption
	plain := p.plain("ann", p.key())
	plain.Deadline = reserved.Deadline
	_, _, err := p.s.CreateOrder(p.Context(), plain)
	p.ok(err, "CreateOrder")
	for _, hours := range []int{-11, -3, 0, 3, 14} {
		zone := time.FixedZone("", hours*3600+1800)
		p.workAt(reserved.Deadline.In(zone), []redemption.Redemption{reserved}, []store.Order{plain})
		p.workAt(reserved.Deadline.Add(-time.Microsecond).In(zone), nil, nil)
	}
}

func shortWindowIsRefused(p *probe) {
	short := func(c *coupon.Coupon) {
		c.StartsAt, c.ExpiresAt = at(1).Add(100*time.Nanosecond), at(1).Add(900*time.Nanosecond)
	}
	refused := p.draft(short)
	p.fails(p.s.CreateCoupon(p.Context(), refused), pricing.ErrInvalid, "CreateCoupon with a window within a microsecond")
	_, err := p.s.Coupon(p.Context(), refused.ID)
	p.fails(err, coupon.ErrNotFound, "Coupon of the one that was refused")
	c := p.coupon()
	changed := c
	short(&changed)
	_, err = p.s.UpdateCoupon(p.Context(), changed)
	p.fails(err, pricing.ErrInvalid, "UpdateCoupon with a window within a microsecond")
	got, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	same(p, got, c, "the coupon whose update was refused")
}

// eventsAreKeptInUTC does the same with the instants of what happens to a reservation.
func (p *probe) eventsAreKeptInUTC(reserved store.Reserved) {
	p.Helper()
	a := attachment(reserved.Order.ID, p.session())
	a.At, a.Deadline = local(14), local(15)
	_, err := p.s.AttachSession(p.Context(), a)
	p.ok(err, "AttachSession")
	got := p.reread(reserved)
	p.kept("the order in a session", pair{"UpdatedAt", got.Order.UpdatedAt, at(14)}, pair{"Deadline", got.Order.Deadline, at(15)})
	p.kept("the reservation in a session", pair{"UpdatedAt", got.Redemption.UpdatedAt, at(14)}, pair{"Deadline", got.Redemption.Deadline, at(15)})
	settle := func(kind redemption.EventKind, seconds int) store.Settled {
		event := p.settlement(kind, got, a.SessionID)
		event.Event.At, event.Event.Deadline = local(seconds), local(seconds+1)
		return p.settle(event)
	}
	r := settle(redemption.SessionUnpaid, 16).Redemption
	p.kept("the reservation that waits", pair{"UpdatedAt", r.UpdatedAt, at(16)}, pair{"Deadline", r.Deadline, at(17)})
	r = settle(redemption.PaymentFailed, 18).Redemption
	p.kept("the reservation that was released", pair{"UpdatedAt", r.UpdatedAt, at(18)}, pair{"ReleasedAt", r.ReleasedAt, at(18)}, pair{"Deadline", r.Deadline, time.Time{}})
	paid := settle(redemption.SessionCompleted, 20)
	r = paid.Redemption
	p.kept("the redemption", pair{"UpdatedAt", r.UpdatedAt, at(20)}, pair{"CompletedAt", r.CompletedAt, at(20)}, pair{"ReleasedAt", r.ReleasedAt, time.Time{}})
	p.kept("the paid order", pair{"UpdatedAt", paid.Order.UpdatedAt, at(20)}, pair{"Deadline", paid.Order.Deadline, time.Time{}})
	same(p, p.redemption(r.ID), r, "the redemption")
	p.othersAreKeptInUTC()
}

// othersAreKeptInUTC does the same with events that do not come from a session, and with
// an order that has no coupon.
func (p *probe) othersAreKeptInUTC() {
	p.Helper()
	first := p.reserve(p.coupon(), "ann")
	over := p.takeOver(p.coupon(), first.Redemption, p.key())
	over.Order.CouponID, over.CouponRevision = first.Redemption.CouponID, 0
	over.At, over.Deadline = local(22), local(23)
	over.Order.CreatedAt, over.Order.UpdatedAt, over.Order.Deadline = local(24), local(25), local(26)
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	for _, got := range []store.Reserved{taken, p.reread(taken)} {
		p.kept("the reservation that was taken over", pair{"UpdatedAt", got.Redemption.UpdatedAt, at(22)}, pair{"Deadline", got.Redemption.Deadline, at(23)})
		p.kept("its new order", pair{"CreatedAt", got.Order.CreatedAt, at(24)}, pair{"UpdatedAt", got.Order.UpdatedAt, at(25)}, pair{"Deadline", got.Order.Deadline, at(26)})
	}
	p.kept("the order that was left", pair{"UpdatedAt", p.order(first.Order.ID).UpdatedAt, at(22)})
	p.attach(over.Order.ID, "cs_left")
	leaving := p.transition(taken.Redemption.ID, redemption.Event{Kind: redemption.Leaving, At: local(26), SessionID: "cs_left", Deadline: local(28)})
	for _, got := range []redemption.Redemption{leaving, p.redemption(leaving.ID)} {
		p.kept("the reservation that is leaving", pair{"UpdatedAt", got.UpdatedAt, at(26)}, pair{"LeavingUntil", got.LeavingUntil, at(28)})
	}
	released := p.transition(taken.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, SessionID: "cs_left", At: local(27)})
	for _, got := range []redemption.Redemption{released, p.redemption(released.ID)} {
		p.kept("the reservation that was given up", pair{"UpdatedAt", got.UpdatedAt, at(27)}, pair{"ReleasedAt", got.ReleasedAt, at(27)})
	}
	p.kept("its order", pair{"UpdatedAt", p.order(over.Order.ID).UpdatedAt, at(27)})
	payment := p.settlement(redemption.SessionCompleted, store.Reserved{Redemption: redemption.Redemption{CouponID: p.coupon().ID}}, p.session())
	payment.Event.At = local(31)
	paid := p.settle(payment).Redemption
	for _, got := range []redemption.Redemption{paid, p.redemption(paid.ID)} {
		p.kept("a payment without a reservation", pair{"CreatedAt", got.CreatedAt, at(31)}, pair{"UpdatedAt", got.UpdatedAt, at(31)}, pair{"CompletedAt", got.CompletedAt, at(31)})
	}
	plain := p.plain("ann", p.key())
	plain.CreatedAt, plain.UpdatedAt, plain.Deadline = local(28), local(29), local(30)
	o, _, err := p.s.CreateOrder(p.Context(), plain)
	p.ok(err, "CreateOrder")
	for _, got := range []store.Order{o, p.order(o.ID)} {
		p.kept("an order without a coupon", pair{"CreatedAt", got.CreatedAt, at(28)}, pair{"UpdatedAt", got.UpdatedAt, at(29)}, pair{"Deadline", got.Deadline, at(30)})
	}
}

// pair is an instant, by the field's name, and what it should be.
type pair struct {
	field     string
	got, want time.Time
}

// kept compares instants that were given with nanoseconds. Cut off or rounded, they
// are the ones wanted or a microsecond later.
func (p *probe) kept(what string, pairs ...pair) {
	p.Helper()
	for _, pair := range pairs {
		off := pair.got.Sub(pair.want)
		if pair.got.IsZero() != pair.want.IsZero() || off != 0 && off != time.Microsecond || pair.got.Location() != time.UTC {
			p.broken("%s of %s is %v, want %v", pair.field, what, pair.got, pair.want)
		}
	}
}
