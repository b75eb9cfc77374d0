package storetest

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func instantClauses() []clause {
	return []clause{
		{"instants are kept in UTC", "instants are kept to the microsecond, in UTC", instantsAreKeptInUTC},
	}
}

// instantsAreKeptInUTC gives instants of another zone and with nanoseconds to every
// method, and reads them back.
func instantsAreKeptInUTC(p *probe) {
	zone := time.FixedZone("", -(3*3600 + 1800))
	local := func(seconds int) time.Time { return at(seconds).In(zone).Add(789) }
	c := p.draft(func(c *coupon.Coupon) {
		c.StartsAt, c.ExpiresAt, c.CreatedAt, c.UpdatedAt = local(1), local(2), local(3), local(4)
	})
	p.ok(p.s.CreateCoupon(p.Context(), c), "CreateCoupon")
	c, err := p.s.Coupon(p.Context(), c.ID)
	p.ok(err, "Coupon")
	p.kept("the coupon", [][2]time.Time{{c.StartsAt, at(1)}, {c.ExpiresAt, at(2)}, {c.CreatedAt, at(3)}, {c.UpdatedAt, at(4)}})
	c.StartsAt, c.ExpiresAt, c.UpdatedAt = local(5), local(6), local(7)
	c, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	p.kept("what UpdateCoupon returns", [][2]time.Time{{c.StartsAt, at(5)}, {c.ExpiresAt, at(6)}, {c.CreatedAt, at(3)}, {c.UpdatedAt, at(7)}})

	r := p.checkout(c, "ann", p.key())
	r.Redemption.CreatedAt, r.Redemption.UpdatedAt, r.Redemption.Deadline = local(8), local(9), local(10)
	r.Order.CreatedAt, r.Order.UpdatedAt, r.Order.Deadline = local(11), local(12), local(13)
	reserved := p.place(r)
	for _, got := range []store.Reserved{reserved, p.reread(reserved)} {
		p.kept("the reservation", [][2]time.Time{{got.Redemption.CreatedAt, at(8)}, {got.Redemption.UpdatedAt, at(9)}, {got.Redemption.Deadline, at(10)}})
		p.kept("the order", [][2]time.Time{{got.Order.CreatedAt, at(11)}, {got.Order.UpdatedAt, at(12)}, {got.Order.Deadline, at(13)}})
	}
	due, err := p.s.Due(p.Context(), local(10), 1)
	p.ok(err, "Due")
	same(p, len(due), 1, "the number of reservations that are due at their deadline")
	a := attachment(r.Order.ID, p.session())
	a.At, a.Deadline = local(14), local(15)
	_, err = p.s.AttachSession(p.Context(), a)
	p.ok(err, "AttachSession")
	got := p.reread(reserved)
	p.kept("the order in a session", [][2]time.Time{{got.Order.UpdatedAt, at(14)}, {got.Order.Deadline, at(15)}})
	p.kept("the reservation in a session", [][2]time.Time{{got.Redemption.UpdatedAt, at(14)}, {got.Redemption.Deadline, at(15)}})
	settle := func(kind redemption.EventKind, seconds int) store.Settled {
		event := p.settlement(kind, got, a.SessionID)
		event.Event.At, event.Event.Deadline = local(seconds), local(seconds+1)
		return p.settle(event)
	}
	unpaid := settle(redemption.SessionUnpaid, 16)
	p.kept("the reservation that waits", [][2]time.Time{{unpaid.Redemption.UpdatedAt, at(16)}, {unpaid.Redemption.Deadline, at(17)}})
	failed := settle(redemption.PaymentFailed, 18)
	p.kept("the reservation that was released", [][2]time.Time{{failed.Redemption.UpdatedAt, at(18)}, {failed.Redemption.ReleasedAt, at(18)}, {failed.Redemption.Deadline, time.Time{}}})
	paid := settle(redemption.SessionCompleted, 20)
	p.kept("the redemption", [][2]time.Time{{paid.Redemption.UpdatedAt, at(20)}, {paid.Redemption.CompletedAt, at(20)}, {paid.Redemption.ReleasedAt, time.Time{}}})
	p.kept("the paid order", [][2]time.Time{{paid.Order.UpdatedAt, at(20)}, {paid.Order.Deadline, time.Time{}}})
	same(p, p.redemption(paid.Redemption.ID), paid.Redemption, "the redemption")
}

// kept compares instants that were given with nanoseconds. Cut off or rounded, they
// are the ones wanted or a microsecond later.
func (p *probe) kept(what string, pairs [][2]time.Time) {
	p.Helper()
	for i, pair := range pairs {
		got, want := pair[0], pair[1]
		off := got.Sub(want)
		if got.IsZero() != want.IsZero() || off != 0 && off != time.Microsecond || got.Location() != time.UTC {
			p.broken("instant %d of %s is %v, and not %v", i+1, what, got, want)
		}
	}
}
