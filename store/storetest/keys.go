package storetest

import (
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/store"
)

// keyClauses are about what is compared of two requests with one key.
func keyClauses() []clause {
	return []clause{
		{"nothing but the fingerprint is compared", "a key that the customer used before returns the first result: of an order its coupon and fingerprint are compared and nothing else, neither prices nor metadata, deadline nor points", nothingButTheFingerprint},
		{"keys of take-overs", "the order's key of a take-over is idempotent as in Reserve, before the reservation is looked for; with a key of Reserve it returns the first result, and its own key is used for what is no order with the coupon", keysOfTakeOvers},
		{"keys are for ever", "a key that the customer used before returns the first result, however long after", keysAreForEver},
	}
}

func nothingButTheFingerprint(p *probe) {
	c, points := p.coupon(), p.coupon(forPoints)
	dearer := p.quote(coupon.Coupon{Currency: c.Currency})
	change := func(o store.Order) *store.Order {
		o = o.Clone()
		o.Metadata = map[string]string{"channel": "app"}
		o.Quote, o.Deadline = dearer, at(1001)
		o.DiscountAmount = o.Quote.Discount
		return &o
	}
	r := p.checkout(c, "ann", p.key())
	first := p.place(r)
	first.Replayed = true
	r.Order, r.Redemption.Deadline = change(*r.Order), at(1001)
	again, err := p.s.Reserve(p.Context(), r)
	p.ok(err, "Reserve with a used key and other prices, metadata and deadline")
	same(p, again, first, "the result of the key")

	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	cheaper := change(plain)
	cheaper.Quote = p.quote(c)
	cheaper.DiscountAmount = cheaper.Quote.Discount
	order, replayed, err := p.s.CreateOrder(p.Context(), *cheaper)
	p.ok(err, "CreateOrder with a used key and other prices, metadata and deadline")
	same(p, order, plain, "the result of the key")
	same(p, replayed, true, "whether it was replayed")

	over := p.takeOver(c, first.Redemption, p.key())
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	taken.Replayed = true
	over.Order, over.Deadline = *change(over.Order), at(3001)
	again, err = p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver with a used key and other prices, metadata and deadline")
	same(p, again, taken, "the result of the key")

	x := p.exchange(points, "ann", p.key())
	exchanged := p.place(x)
	exchanged.Replayed = true
	x.Redemption.Points, x.Redemption.Deadline = x.Redemption.Points+50, at(901)
	again, err = p.s.Reserve(p.Context(), x)
	p.ok(err, "Reserve by points with a used key, another price and another deadline")
	same(p, again, exchanged, "the result of the key")
	p.invariants()
}

func keysOfTakeOvers(p *probe) {
	c := p.coupon()
	first := p.reserve(c, "ann")
	replayed, err := p.s.TakeOver(p.Context(), p.takeOver(c, first.Redemption, first.Redemption.Key))
	p.ok(err, "TakeOver with the key of Reserve")
	first.Replayed = true
	same(p, replayed, first, "the result of the key")

	over := p.takeOver(c, p.opened(c, "ann").Redemption, p.key())
	taken, err := p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver")
	taken.Replayed = true
	unknown := over
	unknown.ReservationID, unknown.Order.ReservationID = "rsv_unknown", "rsv_unknown"
	replayed, err = p.s.TakeOver(p.Context(), unknown)
	p.ok(err, "TakeOver with a used key, of an unknown reservation")
	same(p, replayed, taken, "the result of the key")
	replayed, err = p.s.Reserve(p.Context(), p.checkout(c, "ann", over.Order.Key))
	p.ok(err, "Reserve with the key of a take-over")
	same(p, replayed, taken, "the result of the key")
	_, _, err = p.s.CreateOrder(p.Context(), p.plain("ann", over.Order.Key))
	p.fails(err, store.ErrKeyReused, "CreateOrder with the key of a take-over")
	_, err = p.s.Reserve(p.Context(), p.exchange(p.coupon(forPoints), "ann", over.Order.Key))
	p.fails(err, store.ErrKeyReused, "Reserve by points with the key of a take-over")

	c.State = coupon.Inactive
	_, err = p.s.UpdateCoupon(p.Context(), c)
	p.ok(err, "UpdateCoupon")
	replayed, err = p.s.TakeOver(p.Context(), over)
	p.ok(err, "TakeOver with a used key, of a coupon that was switched off")
	same(p, replayed, taken, "the result of the key")
	p.invariants()
}

func keysAreForEver(p *probe) {
	c := p.coupon()
	first := p.reserve(c, "ann")
	plain, _, err := p.s.CreateOrder(p.Context(), p.plain("ann", p.key()))
	p.ok(err, "CreateOrder")
	later := func(t time.Time) time.Time { return t.AddDate(3, 0, 0) }

	r := p.checkout(c, "ann", first.Redemption.Key)
	r.Redemption.CreatedAt, r.Redemption.UpdatedAt = later(r.Redemption.CreatedAt), later(r.Redemption.UpdatedAt)
	r.Order.CreatedAt, r.Order.UpdatedAt = r.Redemption.CreatedAt, r.Redemption.UpdatedAt
	again, err := p.s.Reserve(p.Context(), r)
	p.ok(err, "Reserve with a key of three years ago")
	first.Replayed = true
	same(p, again, first, "the result of the key")

	o := p.plain("ann", plain.Key)
	o.CreatedAt, o.UpdatedAt = later(o.CreatedAt), later(o.UpdatedAt)
	order, replayed, err := p.s.CreateOrder(p.Context(), o)
	p.ok(err, "CreateOrder with a key of three years ago")
	same(p, order, plain, "the result of the key")
	same(p, replayed, true, "whether it was replayed")
}
