package storetest

import (
	"fmt"
	"math"
	"time"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/eligibility"
	"github.com/couponkit/couponkit/pricing"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// at returns the instant a number of seconds after the start of the suite's calendar. It has a fraction
// in microseconds.
func at(seconds int) time.Time {
	return time.Date(2026, time.November, 20, 12, 0, 0, 123_456_000, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// terms changes a coupon before it is stored.
type terms func(*coupon.Coupon)

// limits returns the terms of a coupon with these limits. 0 means no limit.
func limits(maxUses, maxUsesPerUser int64) terms {
	return func(c *coupon.Coupon) { c.Limits = coupon.Limits{MaxUses: maxUses, MaxUsesPerUser: maxUsesPerUser} }
}

func named(name string) terms { return func(c *coupon.Coupon) { c.Name = name } }

func described(text string) terms { return func(c *coupon.Coupon) { c.Description = text } }

func coded(code coupon.Code) terms { return func(c *coupon.Coupon) { c.Code = code } }

func inState(s coupon.State) terms { return func(c *coupon.Coupon) { c.State = s } }

func createdAt(t time.Time) terms { return func(c *coupon.Coupon) { c.CreatedAt, c.UpdatedAt = t, t } }

// mirrored returns the terms of a coupon with a mirror of the given revision.
func mirrored(revision int64) terms {
	return func(c *coupon.Coupon) {
		c.Mirror = coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: revision}
	}
}

// mirroredAlone returns the terms of a coupon with a mirror that has no promotion code.
func mirroredAlone(revision int64) terms {
	return func(c *coupon.Coupon) { c.Mirror = coupon.Mirror{CouponID: "co", Revision: revision} }
}

// with returns the coupon with other terms.
func with(c coupon.Coupon, changes ...terms) coupon.Coupon {
	for _, change := range changes {
		change(&c)
	}
	return c
}

// forPoints sets the terms of a coupon that costs points.
func forPoints(c *coupon.Coupon) { c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 250 }

// forAddresses returns the terms of a coupon for these addresses.
func (p *probe) forAddresses(addresses ...string) terms {
	p.Helper()
	emails, err := coupon.NewEmailSet(addresses...)
	p.own(err)
	return func(c *coupon.Coupon) { c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails }
}

func tenPercent() pricing.Discount {
	percent, err := pricing.ParsePercent("10")
	if err != nil {
		panic(err) // ten is a valid percentage
	}
	return pricing.PercentOff(percent)
}

// amountOff returns a discount of an amount in cents.
func (p *probe) amountOff(cents int64) pricing.Discount {
	p.Helper()
	discount, err := pricing.AmountOff(pricing.NewMoney(cents, pricing.EUR()))
	p.own(err)
	return discount
}

func (p *probe) code(text string) coupon.Code {
	p.Helper()
	code, err := coupon.ParseCode(text)
	p.own(err)
	return code
}

// draft returns an unsaved coupon: ten percent off everything, active, without limits.
func (p *probe) draft(changes ...terms) coupon.Coupon {
	p.Helper()
	n := p.next()
	return draft(n, append([]terms{coded(p.code(fmt.Sprintf("CODE-%d", n)))}, changes...)...)
}

// draft returns the coupon with number n, without a code.
func draft(n int, changes ...terms) coupon.Coupon {
	return with(coupon.Coupon{
		ID: fmt.Sprintf("cpn_%04d", n), Name: fmt.Sprintf("coupon %d", n),
		Terms: coupon.Terms{
			Discount: tenPercent(), Currency: pricing.EUR(), Scope: coupon.Scope{AppliesTo: coupon.All},
			Distribution: coupon.General, RefundPolicy: pricing.Keep,
		},
		State: coupon.Active, CreatedAt: at(n), UpdatedAt: at(n), Revision: 1,
	}, changes...)
}

// changeOf returns a change of a coupon. It sets Unlimited if Limits.MaxUses is 0.
func changeOf(kind store.ChangeKind, c coupon.Coupon) store.CouponChange {
	return store.CouponChange{Kind: kind, Coupon: c, Unlimited: c.Limits.MaxUses == 0, By: "admin", At: at(400)}
}

// coupon stores a coupon.
func (p *probe) coupon(changes ...terms) coupon.Coupon {
	p.Helper()
	return p.save(store.CreateCoupon, p.draft(changes...))
}

func (p *probe) save(kind store.ChangeKind, c coupon.Coupon) coupon.Coupon {
	p.Helper()
	return answer(p, store.Store.SaveCoupon, changeOf(kind, c))
}

// edit saves a coupon with changes.
func (p *probe) edit(c coupon.Coupon, changes ...terms) coupon.Coupon {
	p.Helper()
	return p.save(store.EditCoupon, with(c, changes...))
}

func (p *probe) saveFails(kind store.ChangeKind, c coupon.Coupon, want error, what string) {
	p.Helper()
	fails(p, store.Store.SaveCoupon, changeOf(kind, c), want, "%s", what)
}

// someQuote returns a quote. One of its prices is larger than float64 can hold exactly.
func someQuote() pricing.Quote {
	quote, err := pricing.Price(pricing.Cart{Currency: pricing.EUR(), Lines: []pricing.Line{
		{ID: "1", Kind: pricing.Device, ItemID: "phone", Quantity: 3, UnitPrice: 333},
		{ID: "2", Kind: pricing.Plan, ItemID: "basic", Quantity: 1, UnitPrice: 36_028_797_018_963_971, Recurs: pricing.Monthly},
		{ID: "3", Kind: pricing.Shipping, ItemID: "dhl", Quantity: 1, UnitPrice: 490},
	}}, pricing.Terms{Discount: tenPercent()})
	if err != nil {
		panic(err) // the cart is valid
	}
	return quote
}

func claim(counter string, amount, limit int64) eligibility.Claim {
	return eligibility.Claim{Counter: counter, Amount: amount, Limit: limit}
}

// claimsOf returns the claims of a use of the coupon.
func claimsOf(c coupon.Coupon, customer string) []eligibility.Claim {
	return []eligibility.Claim{
		claim(eligibility.CustomerUses(c.ID, customer), 1, c.Limits.MaxUsesPerUser),
		claim(eligibility.CouponUses(c.ID), 1, c.Limits.MaxUses),
	}
}

// checkout returns a request for an order with one use of each coupon. Each call uses new IDs and a new
// key.
func (p *probe) checkout(customer string, coupons ...coupon.Coupon) store.Reservation {
	return checkout(p.next(), customer, coupons...)
}

// checkout returns the request with number n.
func checkout(n int, customer string, coupons ...coupon.Coupon) store.Reservation {
	r := store.Reservation{By: "customer " + customer, Order: redemption.Order{
		ID: fmt.Sprintf("ord_%06d", n), Key: fmt.Sprintf("key-%d", n), Fingerprint: "the same cart", CustomerID: customer,
		State: redemption.OrderOpen, Quote: someQuote(), Metadata: map[string]string{"channel": "web", "empty": ""},
		Claims:   []eligibility.Claim{claim(eligibility.CustomerOrders(customer), 1, 0)},
		Deadline: at(1000), CreatedAt: at(n),
	}}
	for i, c := range coupons {
		r.Order.Coupons = append(r.Order.Coupons, c.Snapshot())
		r.Coupons = append(r.Coupons, store.CouponAt{ID: c.ID, Revision: c.Revision})
		r.Uses = append(r.Uses, redemption.Use{
			ID: fmt.Sprintf("use_%06d_%d", n, i), CouponID: c.ID, CustomerID: customer, OrderID: r.Order.ID,
			State: redemption.Reserved, Origin: redemption.FromCheckout, Discount: int64(100 + i), Currency: pricing.EUR(),
			Claims: claimsOf(c, customer), CreatedAt: at(n),
		})
	}
	return r
}

// claiming adds claims to the first use of a request.
func claiming(r store.Reservation, claims ...eligibility.Claim) store.Reservation {
	r.Uses[0].Claims = append(r.Uses[0].Claims, claims...)
	return r
}

// retry returns a request that replaces an order of the customer.
func (p *probe) retry(old redemption.Order, coupons ...coupon.Coupon) store.Reservation {
	r := p.checkout(old.CustomerID, coupons...)
	r.Order.Replaces = old.ID
	return r
}

// exchange returns a request for a points reservation.
func (p *probe) exchange(customer string, c coupon.Coupon) store.Reservation {
	n := p.next()
	id := fmt.Sprintf("use_%06d_p", n)
	return store.Reservation{By: "customer " + customer, Coupons: []store.CouponAt{{ID: c.ID, Revision: c.Revision}}, Uses: []redemption.Use{{
		ID: id, Key: fmt.Sprintf("key-%d", n), ExchangeID: id, CouponID: c.ID, CustomerID: customer, State: redemption.Reserved,
		Origin: redemption.FromPoints, Points: 250, PointsState: redemption.PointsPending,
		Claims: claimsOf(c, customer), Deadline: at(900), CreatedAt: at(n),
	}}}
}

// taking returns the request with the use of the exchange's coupon changed: it takes the exchange's
// points.
func taking(r store.Reservation, held redemption.Use) store.Reservation {
	for i := range r.Uses {
		if u := &r.Uses[i]; u.CouponID == held.CouponID {
			u.Origin, u.ExchangeID, u.Points, u.PointsState = redemption.FromPoints, held.ExchangeID, held.Points, redemption.PointsDebited
		}
	}
	return r
}

// reserve stores a reservation. It must succeed.
func (p *probe) reserve(r store.Reservation) store.Reserved {
	p.Helper()
	reserved := answer(p, store.Store.Reserve, r)
	if reserved.Replayed {
		p.stop("Reserve with a new key says that it was replayed")
	}
	return reserved
}

func (p *probe) refused(r store.Reservation, want error, what string, args ...any) {
	p.Helper()
	fails(p, store.Store.Reserve, r, want, what, args...)
}

// exchanged stores a points reservation whose points are debited.
func (p *probe) exchanged(customer string, c coupon.Coupon) redemption.Use {
	p.Helper()
	return p.ofUse(redemption.PointsExchanged, p.reserve(p.exchange(customer, c)).Uses[0].ID)
}

// ofUse applies an event of a use.
func (p *probe) ofUse(kind redemption.EventKind, id string) redemption.Use {
	p.Helper()
	return p.apply(redemption.Event{Kind: kind, UseID: id, At: at(950)}).Uses[0]
}

func settlement(e redemption.Event) store.Settlement {
	return store.Settlement{Event: e, By: "processor"}
}

// event returns an event of an order, in the order's session or in a session named after the order. The
// event says that the payment of a canceled order has ended, unless the payment was begun and has no
// session. It says that a payment on its way was looked up.
func event(kind redemption.EventKind, o redemption.Order) redemption.Event {
	e := redemption.Event{Kind: kind, OrderID: o.ID, SessionID: o.SessionID, At: at(1100), Deadline: at(2000)}
	if e.SessionID == "" && (kind == redemption.SessionAttached || kind == redemption.Paid || kind == redemption.PaymentPending || kind == redemption.PaymentOpened) {
		e.SessionID = sessionOf(o.ID)
	}
	if kind == redemption.Paid {
		e.Charge = redemption.Charge{Currency: o.Quote.Currency, Amount: o.Quote.Total}
	}
	e.BegunBy = at(1_000_000)
	e.PaymentOver = givesUp(kind) && (o.SessionID != "" || o.BegunAt.IsZero())
	if kind == redemption.PaymentPending {
		e.AskedAt = math.MaxInt64
	}
	if kind == redemption.PaymentBegun && !o.Deadline.IsZero() {
		e.At = o.Deadline.Add(-time.Microsecond)
	}
	if kind == redemption.SessionAttached {
		e.SessionURL = "https://pay.example/" + e.SessionID
	}
	return e
}

func givesUp(kind redemption.EventKind) bool {
	return kind == redemption.Cancelled || kind == redemption.Lapsed
}

func sessionOf(orderID string) string { return "cs_" + orderID }

func (p *probe) apply(e redemption.Event) store.Settled {
	p.Helper()
	return p.settle(settlement(e))
}

func (p *probe) settle(s store.Settlement) store.Settled {
	p.Helper()
	return answer(p, store.Store.Apply, s)
}

func (p *probe) applyFails(e redemption.Event, want error, what string) {
	p.Helper()
	fails(p, store.Store.Apply, settlement(e), want, "of %s %s", e.Kind, what)
}

// happen applies events to an order, one after another. It returns the order.
func (p *probe) happen(o redemption.Order, kinds ...redemption.EventKind) store.Settled {
	p.Helper()
	for _, kind := range kinds {
		p.apply(event(kind, o))
		o = p.order(o.ID).Order
	}
	return p.order(o.ID)
}

// placed stores a reservation, applies events to its order, and returns the order.
func (p *probe) placed(r store.Reservation, kinds ...redemption.EventKind) store.Settled {
	p.Helper()
	return p.happen(p.reserve(r).Order, kinds...)
}

func (p *probe) order(id string) store.Settled {
	p.Helper()
	return answer(p, store.Store.Order, store.OrderKey{ID: id})
}

// use returns a stored use.
func (p *probe) use(id string) redemption.Use {
	p.Helper()
	uses, err := allPages(usesOf(p.Context(), p.s, store.UseList{}), store.MaxPageSize)
	p.ok(err, "reading all uses")
	found := only(uses, func(u redemption.Use) bool { return u.ID == id })
	same(p, len(found), 1, "how often the use %s is in the list", id)
	return found[0]
}

func (p *probe) count(counter string, reserved, completed int64) {
	p.Helper()
	same(p, answer(p, store.Store.Counts, []string{counter}), []eligibility.Count{{Reserved: reserved, Completed: completed}}, "what %s holds", counter)
}

// uses checks the counter of a coupon's uses.
func (p *probe) uses(c coupon.Coupon, reserved, completed int64) {
	p.Helper()
	p.count(eligibility.CouponUses(c.ID), reserved, completed)
}

// unknown returns a payment for which the store has no order.
func (p *probe) unknown(customer, session string, coupons ...coupon.Coupon) store.Settlement {
	r := p.checkout(customer, coupons...)
	r.Order.State, r.Order.SessionID, r.Order.Key, r.Order.Deadline = redemption.OrderPaid, session, "", time.Time{}
	for i := range r.Uses {
		r.Uses[i].State, r.Uses[i].Origin, r.Uses[i].CompletedAt = redemption.Completed, redemption.FromPayment, at(1100)
	}
	return store.Settlement{By: "processor", Unknown: r, Event: redemption.Event{
		Kind: redemption.Paid, OrderID: "ord_lost", SessionID: session, At: at(1100),
	}}
}
