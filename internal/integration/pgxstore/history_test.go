package pgxstore_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func (h *history) draft(code string) coupon.Coupon {
	c := newCoupon(h.t, code)
	c.CreatedAt, c.UpdatedAt = h.now, h.now
	switch strings.TrimPrefix(code, h.prefix) {
	case "TWO":
		c.Limits.MaxUses = 2
	case "ONCE":
		c.Limits.MaxUsesPerUser = 1
	case "BOTH":
		c.Limits = coupon.Limits{MaxUses: 3, MaxUsesPerUser: 2}
	case "POINTS":
		c.Distribution, c.PointsRequired = coupon.PointsRedeemable, 50
	case "LISTED":
		emails, err := coupon.NewEmailSet("ann@example.org", "bob@example.org")
		if err != nil {
			h.t.Fatal(err)
		}
		c.Distribution, c.AllowedUserEmails = coupon.UserSpecific, emails
	}
	return c
}

func (h *history) createCoupon() (string, func(store.Store) (any, error)) {
	c := h.draft(h.code())
	if h.gone[c.ID] || h.random.IntN(4) == 0 {
		c.ID += fmt.Sprint(h.made) // the IDs of deleted coupons are not used again
	}
	if h.random.IntN(6) == 0 {
		c.State = coupon.Pending
	}
	return "create " + c.ID, func(s store.Store) (any, error) { return nil, s.CreateCoupon(h.ctx(), c) }
}

func (h *history) updateCoupon() (string, func(store.Store) (any, error)) {
	id := h.couponID()
	c, err := h.model.Coupon(h.ctx(), id)
	if err != nil {
		c = h.draft(strings.TrimPrefix(id, coupon.IDPrefix))
	}
	switch h.random.IntN(6) {
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
	case 5:
		c.State = coupon.Active
		c.Description = fmt.Sprintf("Änderung %d: 100%% _x_", h.made)
	}
	c.UpdatedAt = h.now
	return fmt.Sprintf("update %s %+v %s", id, c.Limits, c.State), func(s store.Store) (any, error) {
		return s.UpdateCoupon(h.ctx(), c)
	}
}

func (h *history) deleteCoupon() (string, func(store.Store) (any, error)) {
	id, revision := h.couponID(), int64(1+h.random.IntN(3))
	h.gone[id] = true
	return "delete " + id, func(s store.Store) (any, error) { return nil, s.DeleteCoupon(h.ctx(), id, revision) }
}

func (h *history) confirmMirror() (string, func(store.Store) (any, error)) {
	id := h.couponID()
	m := coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: int64(1 + h.random.IntN(3))}
	return "confirm " + id, func(s store.Store) (any, error) { return s.ConfirmMirror(h.ctx(), id, m) }
}

func (h *history) reserve() (string, func(store.Store) (any, error)) {
	code := h.code()
	key := fmt.Sprintf("k%d", pick(h, h.made, h.made, h.made, h.random.IntN(30)))
	r := checkout(h.draft(code), h.quote, h.customer(), key, h.now)
	r.Redemption.ID += fmt.Sprint("-", h.made)
	r.Order.ID += fmt.Sprint("-", h.made)
	r.Redemption.OrderID, r.Order.ReservationID = r.Order.ID, r.Redemption.ID
	if strings.HasSuffix(code, "POINTS") {
		r.Order = nil
		v := &r.Redemption
		v.Origin, v.OrderID, v.Points, v.PointsState = redemption.FromPoints, "", 50, redemption.PointsPending
	} else {
		h.orders = append(h.orders, r.Order.ID)
		r.Order.Fingerprint = pick(h, "f", "f", "f", "g")
	}
	r.CouponRevision = pick(h, int64(0), 0, 0, 1, 2)
	h.records = append(h.records, r.Redemption.ID)
	return fmt.Sprintf("reserve %s key %s of %s as %s", code, key, r.Redemption.CustomerID, r.Redemption.ID),
		func(s store.Store) (any, error) { return s.Reserve(h.ctx(), r) }
}

func (h *history) takeOver() (string, func(store.Store) (any, error)) {
	id := h.record()
	now, _ := h.model.Redemption(h.ctx(), id)
	customer := now.CustomerID
	if customer == "" || h.random.IntN(8) == 0 {
		customer = h.customer()
	}
	c := h.draft(h.code())
	if now.CouponID != "" {
		c.ID = now.CouponID
	}
	r := checkout(c, h.quote, customer, fmt.Sprintf("k%d", pick(h, h.made, h.made, h.random.IntN(30))), h.now)
	r.Order.ID += fmt.Sprint("-", h.made)
	r.Order.ReservationID = id
	h.orders = append(h.orders, r.Order.ID)
	t := store.TakeOver{
		ReservationID: id, FromSessionID: now.SessionID, CouponRevision: pick(h, int64(0), 0, 0, 1, 2), Order: *r.Order,
		Deadline: h.now.Add(2e9), At: h.now,
	}
	if h.random.IntN(5) == 0 {
		t.FromSessionID = h.session(h.order())
	}
	return fmt.Sprintf("take over %s from %q for %s", id, t.FromSessionID, t.Order.ID),
		func(s store.Store) (any, error) { return s.TakeOver(h.ctx(), t) }
}

func (h *history) settle() (string, func(store.Store) (any, error)) {
	t := store.Settlement{
		Event: redemption.Event{
			Kind: pick(h, redemption.SessionCompleted, redemption.SessionCompleted, redemption.SessionUnpaid,
				redemption.PaymentFailed, redemption.SessionExpired),
			At: h.now, OrderID: h.order(), Deadline: h.now.Add(3e9),
		},
		NewID: fmt.Sprintf("%snew%d", h.prefix, h.made),
	}
	if o, err := h.model.Order(h.ctx(), t.Event.OrderID); err == nil {
		t.Event.SessionID = pick(h, h.session(o.ID), o.SessionID)
		t.ReservationID, t.CouponID, t.CustomerID = o.ReservationID, o.CouponID, o.CustomerID
	} else {
		t.Event.SessionID = h.session(pick(h, h.order(), fmt.Sprint(h.made)))
		t.ReservationID = pick(h, "", h.record())
		t.CouponID, t.CustomerID = pick(h, "", h.couponID()), pick(h, "", h.customer())
	}
	switch h.random.IntN(10) { // metadata that got lost
	case 0:
		t.Event.OrderID = ""
	case 1:
		t.ReservationID = ""
	case 2:
		t.CouponID = ""
	}
	if t.Event.SessionID == "" && t.Event.Kind != redemption.SessionExpired {
		t.Event.SessionID = h.session(fmt.Sprint(h.made))
	}
	h.gone[t.CouponID] = true
	return fmt.Sprintf("settle %s: session %q order %q reservation %q coupon %q customer %q", t.Event.Kind,
			t.Event.SessionID, t.Event.OrderID, t.ReservationID, t.CouponID, t.CustomerID),
		func(s store.Store) (any, error) { return s.Settle(h.ctx(), t) }
}

func (h *history) transition() (string, func(store.Store) (any, error)) {
	id := h.record()
	now, _ := h.model.Redemption(h.ctx(), id)
	e := redemption.Event{
		Kind: pick(h, redemption.PointsExchanged, redemption.Cancelled, redemption.Lapsed, redemption.PointsGivenBack),
		At:   h.now, SessionID: now.SessionID,
	}
	if h.random.IntN(5) == 0 {
		e.SessionID = h.session(h.order())
	}
	if e.Kind == redemption.Lapsed && h.random.IntN(2) == 0 {
		e.At = now.Deadline
	}
	return fmt.Sprintf("transition %s: %s session %q", id, e.Kind, e.SessionID),
		func(s store.Store) (any, error) { return s.Transition(h.ctx(), id, e) }
}

func (h *history) attach() (string, func(store.Store) (any, error)) {
	a := store.Attachment{
		OrderID: h.order(), SessionURL: "https://pay.example/" + h.prefix, Deadline: h.now.Add(4e9), At: h.now,
	}
	a.SessionID = h.session(a.OrderID)
	return fmt.Sprintf("attach %s to %s", a.SessionID, a.OrderID), func(s store.Store) (any, error) { return s.AttachSession(h.ctx(), a) }
}

func (h *history) createOrder() (string, func(store.Store) (any, error)) {
	o := *checkout(h.draft(h.code()), h.quote, h.customer(), fmt.Sprintf("k%d", pick(h, h.made, h.random.IntN(30))), h.now).Order
	o.ID += fmt.Sprint("-", h.made)
	o.CouponID, o.Coupon, o.ReservationID = "", nil, ""
	o.Deadline = h.now.Add(1e9)
	h.orders = append(h.orders, o.ID)
	return "create order " + o.ID, func(s store.Store) (any, error) {
		stored, replayed, err := s.CreateOrder(h.ctx(), o)
		return []any{stored, replayed}, err
	}
}

func (h *history) lookUp() (string, func(store.Store) (any, error)) {
	by := store.LookUp{CustomerID: pick(h, "", h.customer()), Email: pick(h, "", "Ann@example.org", "eve@example.org")}
	if h.random.IntN(2) == 0 {
		by.CouponID = h.couponID()
	} else {
		by.Code, _ = coupon.ParseCode(h.code())
	}
	return fmt.Sprintf("look up %+v", by), func(s store.Store) (any, error) { return s.LookUp(h.ctx(), by) }
}

// read makes one of the calls that change nothing. Lists that span histories are
// compared where the filter keeps to this one.
func (h *history) read() {
	h.t.Helper()
	id, order, customer := h.record(), h.order(), h.customer()
	list := store.RedemptionList{CouponID: h.couponID(), PageSize: 3, State: pick(h, redemption.State(0), redemption.Reserved, redemption.Completed)}
	if h.random.IntN(3) == 0 {
		list.CouponID, list.CustomerID = "", customer
	}
	h.compare("redemption "+id, func(s store.Store) (any, error) { return s.Redemption(h.ctx(), id) })
	h.compare("order "+order, func(s store.Store) (any, error) { return s.Order(h.ctx(), order) })
	key := fmt.Sprintf("k%d", h.random.IntN(h.made))
	h.compare("order by key "+key, func(s store.Store) (any, error) { return s.OrderByKey(h.ctx(), customer, key) })
	for range 4 {
		var next string
		h.compare(fmt.Sprintf("list %+v", list), func(s store.Store) (any, error) {
			answer, err := s.ListRedemptions(h.ctx(), list)
			next = answer.Next
			return answer, err
		})
		if list.After = next; next == "" {
			break
		}
	}
}

// compareAll compares what is left at the end.
func (h *history) compareAll() {
	h.t.Helper()
	for _, id := range h.records {
		h.compare("redemption "+id, func(s store.Store) (any, error) { return s.Redemption(h.ctx(), id) })
	}
	for _, id := range h.orders {
		h.compare("order "+id, func(s store.Store) (any, error) { return s.Order(h.ctx(), id) })
	}
	own := func(id string) bool { return strings.HasPrefix(strings.TrimPrefix(id, redemption.IDPrefix), h.prefix) }
	h.compare("due", func(s store.Store) (any, error) {
		due, err := s.Due(h.ctx(), h.now.Add(1e9), 100_000)
		return slices.DeleteFunc(due, func(r redemption.Redemption) bool { return !own(r.ID) }), err
	})
	h.compare("open orders", func(s store.Store) (any, error) {
		open, err := s.OpenOrders(h.ctx(), h.now.Add(1e9), 100_000)
		return slices.DeleteFunc(open, func(o store.Order) bool { return !strings.HasPrefix(o.CustomerID, h.prefix) }), err
	})
	for _, search := range []string{h.prefix, strings.ToLower(h.prefix) + "tw", "ÄNDERUNG", "100%", "_x_", "%", "_y_", `\`, h.prefix + "\x00"} {
		h.compare("search "+search, func(s store.Store) (any, error) {
			page, err := s.ListCoupons(h.ctx(), store.CouponList{Search: search, PageSize: 100})
			var found []string
			for _, c := range page.Items {
				if own(strings.TrimPrefix(c.ID, coupon.IDPrefix)) {
					found = append(found, c.ID)
				}
			}
			return found, err
		})
	}
}
