package storetest

import (
	"fmt"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

// request is a call that can be made on any store, and how it is told.
type request struct {
	told string
	do   func(store.Store) (any, error)
}

// step makes one call on both stores and compares the answers: a new one, or one of the
// last again.
func (h *history) step() {
	h.Helper()
	var call request
	if len(h.asked) > 0 && h.oneIn(8) {
		call = h.asked[len(h.asked)-1-h.random.IntN(min(12, len(h.asked)))]
	} else {
		call = h.draw()
	}
	h.ask(call)
}

// ask makes the call.
func (h *history) ask(call request) {
	h.Helper()
	h.asked = append(h.asked, call)
	h.compare(call.told, call.do)
}

// draw makes up a call.
func (h *history) draw() request {
	makers := []struct {
		weight int
		make   func() request
	}{
		{3, h.createCoupon},
		{5, h.updateCoupon},
		{1, h.deleteCoupon},
		{2, h.confirmMirror},
		{30, h.reserveStep},
		{11, h.takeOverStep},
		{28, h.settleStep},
		{12, h.transitionStep},
		{4, h.leaveStep},
		{10, h.attachStep},
		{3, h.createOrder},
		{5, h.lookUp},
		{5, h.readOne},
		{3, h.listRedemptions},
		{3, h.listCoupons},
		{3, h.due},
	}
	all := 0
	for _, m := range makers {
		all += m.weight
	}
	drawn := h.random.IntN(all)
	for _, m := range makers {
		if drawn -= m.weight; drawn < 0 {
			return m.make()
		}
	}
	return request{}
}

func pick[T any](h *history, from ...T) T { return from[h.random.IntN(len(from))] }

// oneIn is true once in n times.
func (h *history) oneIn(n int) bool { return h.random.IntN(n) == 0 }

// names are those of the coupons; each has other terms.
func names() []string { return []string{"FREE", "TWO", "ONCE", "BOTH", "POINTS", "LISTED"} }

func (h *history) name() string { return pick(h, names()...) }

func (h *history) customer() string { return pick(h, "ann", "bob", "Ann") }

// recent returns one of the last of a list, or something that is not in it.
func (h *history) recent(list []string) string {
	if len(list) == 0 || h.oneIn(10) {
		return pick(h, "", "none", "no\x00ne", strings.Repeat("x", redemption.MaxIDLength+1))
	}
	return list[len(list)-1-min(h.random.IntN(8), h.random.IntN(len(list)))]
}

// recordThat returns a recent redemption, of some that it draws the first that is wanted,
// and what the reference has of it.
func (h *history) recordThat(wanted func(redemption.Redemption) bool) (id string, now redemption.Redemption) {
	for range 8 {
		id = h.recent(h.records)
		if now, _ = h.reference.Redemption(h.Context(), id); wanted(now) {
			break
		}
	}
	return id, now
}

// someOrder returns a recent order, mostly one that was stored.
func (h *history) someOrder() string {
	var id string
	for range 4 {
		if id = h.recent(h.orders); h.stored(id) {
			break
		}
	}
	return id
}

// stored tells whether there is such an order.
func (h *history) stored(order string) bool {
	_, err := h.reference.Order(h.Context(), order)
	return err == nil
}

// sessionOf returns one of the few sessions that an order may get.
func (h *history) sessionOf(order string) string {
	return fmt.Sprintf("cs_%s_%d", order, pick(h, 0, 0, 0, 1))
}

// someKey is a new key, or one that may have been used.
func (h *history) someKey() string {
	if h.oneIn(4) {
		return h.usedKey()
	}
	return h.key()
}

// usedKey is one of the first keys, which may have been used.
func (h *history) usedKey() string {
	return fmt.Sprintf(pick(h, "key-%d", "Key-%d"), 1+h.random.IntN(40))
}

// termsOf returns the terms of the coupon with the name.
func termsOf(p *probe, name string) terms {
	return func(c *coupon.Coupon) {
		c.ID, c.Code = coupon.IDPrefix+name, p.code(name)
		switch name {
		case "TWO":
			c.Limits.MaxUses = 2
		case "ONCE":
			c.Limits.MaxUsesPerUser = 1
		case "BOTH":
			c.Limits = coupon.Limits{MaxUses: 3, MaxUsesPerUser: 2}
		case "POINTS":
			forPoints(c)
		case "LISTED":
			emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
			p.own(err)
			c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails
		}
	}
}

// couponNamed returns a coupon as it is made.
func (h *history) couponNamed(name string) coupon.Coupon {
	h.Helper()
	return h.draft(termsOf(h.probe, name))
}

func (h *history) createCoupon() request { return h.create(h.name()) }

func (h *history) create(name string) request {
	c := h.couponNamed(name)
	if h.gone[c.ID] || h.oneIn(8) {
		c.ID += fmt.Sprint(h.next()) // no coupon gets the ID of one that was deleted
	}
	if h.oneIn(6) {
		c.State = coupon.Pending
	}
	return request{"create " + c.ID, func(s store.Store) (any, error) { return nil, s.CreateCoupon(h.Context(), c) }}
}

func (h *history) updateCoupon() request {
	name := pick(h, h.name(), h.name(), "POINTS", "LISTED") // of the others there are several of a kind
	c, err := h.reference.Coupon(h.Context(), coupon.IDPrefix+name)
	if err != nil {
		c = h.couponNamed(name)
	}
	switch h.random.IntN(8) {
	case 0:
		c.Limits.MaxUses = int64(h.random.IntN(6))
	case 1:
		c.Limits.MaxUsesPerUser = int64(h.random.IntN(4))
	case 2:
		c.State = pick(h, coupon.Active, coupon.Inactive)
	case 3:
		c.Revision += int64(h.random.IntN(2))
	case 4:
		c.AllowedUserEmails = c.AllowedUserEmails.Narrow("ann@example.org")
	case 5, 7:
		c.State, c.Description = coupon.Active, fmt.Sprintf("Änderung %d: 100%% _x_", h.next())
	case 6:
		c.Name = pick(h, "straße", "ÅNGSTRÖM", `back\slash`)
	}
	c.UpdatedAt = at(h.next())
	return request{
		fmt.Sprintf("update %s: %+v %s revision %d", c.ID, c.Limits, c.State, c.Revision),
		func(s store.Store) (any, error) { return s.UpdateCoupon(h.Context(), c) },
	}
}

func (h *history) deleteCoupon() request {
	id, revision := coupon.IDPrefix+h.name(), int64(1+h.random.IntN(6))
	if c, err := h.reference.Coupon(h.Context(), id); err == nil && h.oneIn(2) {
		revision = c.Revision
	}
	h.gone[id] = true
	return request{
		fmt.Sprintf("delete %s revision %d", id, revision),
		func(s store.Store) (any, error) { return nil, s.DeleteCoupon(h.Context(), id, revision) },
	}
}

func (h *history) confirmMirror() request {
	id := coupon.IDPrefix + h.name()
	m := coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: int64(1 + h.random.IntN(3))}
	return request{
		fmt.Sprintf("confirm %s revision %d", id, m.Revision),
		func(s store.Store) (any, error) { return s.ConfirmMirror(h.Context(), id, m) },
	}
}

func (h *history) reserveStep() request {
	name, key := h.name(), h.someKey()
	ask := h.checkout
	if name == "POINTS" {
		ask = h.exchange
		if h.oneIn(2) {
			key = h.usedKey()
		}
	}
	r := ask(h.couponNamed(name), h.customer(), key)
	r.Redemption.Deadline = at(h.next() + 2)
	if r.Order != nil {
		r.Order.Deadline, r.Order.Fingerprint = r.Redemption.Deadline, pick(h, "f", "f", "f", "g")
		h.orders = append(h.orders, r.Order.ID)
	}
	r.CouponRevision = pick(h, int64(0), 0, 0, 0, 0, 1, 2)
	h.records = append(h.records, r.Redemption.ID)
	return request{
		fmt.Sprintf("reserve %s with %s for %s as %s", name, r.Redemption.Key, r.Redemption.CustomerID, r.Redemption.ID),
		func(s store.Store) (any, error) { return s.Reserve(h.Context(), r) },
	}
}

func (h *history) takeOverStep() request {
	id, now := h.recordThat(redemption.Redemption.Live) // else most have ended
	if now.CustomerID == "" || h.oneIn(8) {
		now.CustomerID = h.customer()
	}
	c := h.couponNamed(h.name())
	if now.CouponID != "" {
		c.ID = now.CouponID
	}
	now.ID = id
	t := h.takeOver(c, now, h.someKey())
	t.At = at(h.next())
	t.Deadline, t.CouponRevision = at(h.next()+3), pick(h, int64(0), 0, 0, 1, 2)
	if h.oneIn(5) {
		t.FromSessionID = h.sessionOf(h.recent(h.orders))
	}
	h.orders = append(h.orders, t.Order.ID)
	return request{
		fmt.Sprintf("take over %q from %q with %s for %s as %s", id, t.FromSessionID, t.Order.Key, t.Order.CustomerID, t.Order.ID),
		func(s store.Store) (any, error) { return s.TakeOver(h.Context(), t) },
	}
}

// settleStep is what the processor says of a session.
func (h *history) settleStep() request {
	t := h.event()
	if len(h.settled) > 0 && h.oneIn(4) { // of a session of which it has said something
		kind, at := t.Event.Kind, t.Event.At
		t = h.settled[len(h.settled)-1-h.random.IntN(min(12, len(h.settled)))]
		t.Event.Kind, t.Event.At, t.NewID = kind, at, t.NewID+"-"
	}
	h.settled = append(h.settled, t)
	h.gone[t.CouponID] = true
	return request{
		fmt.Sprintf("settle %s: session %q order %q reservation %q coupon %q customer %q", t.Event.Kind,
			t.Event.SessionID, t.Event.OrderID, t.ReservationID, t.CouponID, t.CustomerID),
		func(s store.Store) (any, error) { return s.Settle(h.Context(), t) },
	}
}

// event is one of a session: with the metadata that it has, with some of them lost, or of
// one that no order has.
func (h *history) event() store.Settlement {
	t := store.Settlement{Event: redemption.Event{
		Kind: pick(h, redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionUnpaid,
			redemption.PaymentFailed, redemption.SessionExpired),
		At: at(h.next()), OrderID: h.someOrder(), Deadline: at(h.next() + 4),
	}, NewID: fmt.Sprintf("%snew_%d", redemption.IDPrefix, h.next())}
	if h.oneIn(20) {
		t.Event.Kind = pick(h, redemption.Cancelled, redemption.Lapsed, redemption.SessionAttached)
	}
	if o, err := h.reference.Order(h.Context(), t.Event.OrderID); err == nil && !h.oneIn(4) {
		t.Event.SessionID = pick(h, h.sessionOf(o.ID), o.SessionID)
		t.ReservationID, t.CouponID, t.CustomerID = o.ReservationID, o.CouponID, o.CustomerID
	} else {
		t.Event.SessionID = h.sessionOf(pick(h, h.recent(h.orders), fmt.Sprint(h.next())))
		t.ReservationID = pick(h, "", h.recent(h.records))
		t.CouponID, t.CustomerID = coupon.IDPrefix+pick(h, h.name(), "ONCE"), pick(h, "", h.customer())
	}
	switch h.random.IntN(12) {
	case 0:
		t.Event.OrderID = ""
	case 1:
		t.ReservationID = ""
	case 2:
		t.CouponID = ""
	case 3:
		t.CustomerID = ""
	}
	if t.Event.SessionID == "" && t.Event.Kind != redemption.SessionExpired {
		t.Event.SessionID = h.sessionOf(fmt.Sprint(h.next()))
	}
	return t
}

func (h *history) transitionStep() request {
	byPoints := h.oneIn(2)
	id, now := h.recordThat(func(r redemption.Redemption) bool {
		return r.ID != "" && (!byPoints || r.PointsState != redemption.NoPoints)
	})
	e := redemption.Event{
		Kind: pick(h, redemption.PointsExchanged, redemption.Cancelled, redemption.Lapsed, redemption.PointsGivenBack),
		At:   at(h.next()), SessionID: now.SessionID,
	}
	if e.Kind == redemption.PointsGivenBack && (now.PointsState == redemption.PointsPending || now.PointsState == redemption.PointsDebited) {
		e.Kind = redemption.PointsRefused
	}
	if next := h.nextOfPoints(now); byPoints && next != 0 && !h.oneIn(4) {
		e.Kind = next
	}
	if h.oneIn(5) {
		e.SessionID = h.sessionOf(h.recent(h.orders))
	}
	if e.Kind == redemption.Lapsed && h.oneIn(2) {
		e.At = now.Deadline
	}
	return request{
		fmt.Sprintf("transition %q: %s with session %q", id, e.Kind, e.SessionID),
		func(s store.Store) (any, error) { return s.Transition(h.Context(), id, e) },
	}
}

// nextOfPoints is what brings a reservation by points nearer to its end.
func (h *history) nextOfPoints(r redemption.Redemption) redemption.EventKind {
	switch r.PointsState {
	case redemption.PointsPending:
		return pick(h, redemption.PointsExchanged, redemption.PointsExchanged, redemption.PointsRefused)
	case redemption.PointsDebited:
		return redemption.Cancelled
	case redemption.PointsRefundDue, redemption.PointsRefunded:
		return redemption.PointsGivenBack
	case redemption.NoPoints:
	}
	return 0
}

func (h *history) attachStep() request {
	a, other := attachment(h.someOrder(), ""), h.someOrder()
	a.At, a.Deadline = at(h.next()), at(h.next()+5)
	switch {
	case !h.stored(a.OrderID): // which of two faults is told is left to the store
		a.SessionID = h.session()
	case h.oneIn(6) && h.stored(other):
		a.SessionID = h.sessionOf(other) // which that one may have
	case !h.oneIn(20):
		a.SessionID = h.sessionOf(a.OrderID)
	}
	return request{
		fmt.Sprintf("attach %q to %q", a.SessionID, a.OrderID),
		func(s store.Store) (any, error) { return s.AttachSession(h.Context(), a) },
	}
}

func (h *history) createOrder() request {
	o := h.plain(h.customer(), h.someKey())
	o.Deadline = at(h.next() + 1)
	h.orders = append(h.orders, o.ID)
	return request{fmt.Sprintf("create order %s with %s of %s", o.ID, o.Key, o.CustomerID), func(s store.Store) (any, error) {
		stored, replayed, err := s.CreateOrder(h.Context(), o)
		return []any{stored, replayed}, err
	}}
}
