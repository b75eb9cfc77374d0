package storetest

import (
	"context"
	"errors"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func contextClauses() []clause {
	return []clause{
		{"ended contexts", "a context that has ended before the call returns its error and changes nothing", endedContexts},
		{"closed stores", "after Close, every method returns ErrClosed; Close may be called again", closedStores},
	}
}

// call is one method with arguments with which it would do something.
type call struct {
	name string
	do   func(ctx context.Context) error
}

// calls are all methods of the store. What they would do can still be done after
// each of them has failed.
func (p *probe) calls() []call {
	p.Helper()
	return append(p.writes(), p.reads()...)
}

func (p *probe) writes() []call {
	p.Helper()
	c := p.coupon(inState(coupon.Pending))
	active := p.coupon()
	fresh := p.draft()
	reserved, opened := p.reserve(active, "ann"), p.opened(active, "ann")
	request := p.checkout(active, "bob", p.key())
	over := p.takeOver(active, reserved.Redemption, p.key())
	paid := p.settlement(redemption.SessionCompleted, opened, opened.Order.SessionID)
	plain := p.plain("ann", p.key())
	return []call{
		{"CreateCoupon", func(ctx context.Context) error { return p.s.CreateCoupon(ctx, fresh) }},
		{"UpdateCoupon", func(ctx context.Context) error {
			changed := active
			changed.Name = "changed"
			_, err := p.s.UpdateCoupon(ctx, changed)
			return err
		}},
		{"ConfirmMirror", func(ctx context.Context) error {
			_, err := p.s.ConfirmMirror(ctx, c.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
			return err
		}},
		{"DeleteCoupon", func(ctx context.Context) error { return p.s.DeleteCoupon(ctx, active.ID, active.Revision) }},
		{"Reserve", func(ctx context.Context) error {
			_, err := p.s.Reserve(ctx, request)
			return err
		}},
		{"TakeOver", func(ctx context.Context) error {
			_, err := p.s.TakeOver(ctx, over)
			return err
		}},
		{"Settle", func(ctx context.Context) error {
			_, err := p.s.Settle(ctx, paid)
			return err
		}},
		{"Transition", func(ctx context.Context) error {
			_, err := p.s.Transition(ctx, reserved.Redemption.ID, redemption.Event{Kind: redemption.Cancelled, At: at(900)})
			return err
		}},
		{"CreateOrder", func(ctx context.Context) error {
			_, _, err := p.s.CreateOrder(ctx, plain)
			return err
		}},
		{"AttachSession", func(ctx context.Context) error {
			_, err := p.s.AttachSession(ctx, attachment(reserved.Order.ID, "cs_new"))
			return err
		}},
	}
}

func (p *probe) reads() []call {
	p.Helper()
	c := p.coupon()
	r := p.reserve(c, "ann")
	return []call{
		{"Coupon", func(ctx context.Context) error {
			_, err := p.s.Coupon(ctx, c.ID)
			return err
		}},
		{"LookUp", func(ctx context.Context) error {
			_, err := p.s.LookUp(ctx, store.LookUp{Code: c.Code, CustomerID: "ann"})
			return err
		}},
		{"ListCoupons", func(ctx context.Context) error {
			_, err := p.s.ListCoupons(ctx, store.CouponList{})
			return err
		}},
		{"Redemption", func(ctx context.Context) error {
			_, err := p.s.Redemption(ctx, r.Redemption.ID)
			return err
		}},
		{"ListRedemptions", func(ctx context.Context) error {
			_, err := p.s.ListRedemptions(ctx, store.RedemptionList{})
			return err
		}},
		{"Due", func(ctx context.Context) error {
			_, err := p.s.Due(ctx, at(9999), 10)
			return err
		}},
		{"Order", func(ctx context.Context) error {
			_, err := p.s.Order(ctx, r.Order.ID)
			return err
		}},
		{"OrderByKey", func(ctx context.Context) error {
			_, err := p.s.OrderByKey(ctx, "ann", r.Order.Key)
			return err
		}},
		{"OpenOrders", func(ctx context.Context) error {
			_, err := p.s.OpenOrders(ctx, at(9999), 10)
			return err
		}},
	}
}

// malformed are all methods of the store with arguments that they refuse or that find
// nothing.
func (p *probe) malformed() []call {
	none := func(name string, do func(ctx context.Context) (any, error)) call {
		return call{name + " of what is malformed", func(ctx context.Context) error {
			_, err := do(ctx)
			return err
		}}
	}
	s, no := p.s, "a\x00"
	return []call{
		none("CreateCoupon", func(ctx context.Context) (any, error) { return nil, s.CreateCoupon(ctx, coupon.Coupon{}) }),
		none("UpdateCoupon", func(ctx context.Context) (any, error) { return s.UpdateCoupon(ctx, coupon.Coupon{}) }),
		none("ConfirmMirror", func(ctx context.Context) (any, error) { return s.ConfirmMirror(ctx, no, coupon.Mirror{CouponID: no}) }),
		none("DeleteCoupon", func(ctx context.Context) (any, error) { return nil, s.DeleteCoupon(ctx, no, 0) }),
		none("Coupon", func(ctx context.Context) (any, error) { return s.Coupon(ctx, no) }),
		none("LookUp", func(ctx context.Context) (any, error) { return s.LookUp(ctx, store.LookUp{}) }),
		none("ListCoupons", func(ctx context.Context) (any, error) { return s.ListCoupons(ctx, store.CouponList{Page: -1}) }),
		none("Reserve", func(ctx context.Context) (any, error) { return s.Reserve(ctx, store.Reservation{}) }),
		none("TakeOver", func(ctx context.Context) (any, error) { return s.TakeOver(ctx, store.TakeOver{}) }),
		none("Settle", func(ctx context.Context) (any, error) { return s.Settle(ctx, store.Settlement{}) }),
		none("Transition", func(ctx context.Context) (any, error) { return s.Transition(ctx, no, redemption.Event{}) }),
		none("Redemption", func(ctx context.Context) (any, error) { return s.Redemption(ctx, no) }),
		none("ListRedemptions", func(ctx context.Context) (any, error) {
			return s.ListRedemptions(ctx, store.RedemptionList{PageSize: -1})
		}),
		none("Due", func(ctx context.Context) (any, error) { return s.Due(ctx, at(0), -1) }),
		none("CreateOrder", func(ctx context.Context) (any, error) {
			o, _, err := s.CreateOrder(ctx, store.Order{})
			return o, err
		}),
		none("AttachSession", func(ctx context.Context) (any, error) { return s.AttachSession(ctx, store.Attachment{OrderID: no}) }),
		none("Order", func(ctx context.Context) (any, error) { return s.Order(ctx, no) }),
		none("OrderByKey", func(ctx context.Context) (any, error) { return s.OrderByKey(ctx, no, no) }),
		none("OpenOrders", func(ctx context.Context) (any, error) { return s.OpenOrders(ctx, at(0), -1) }),
	}
}

// everything is what the store holds, for a comparison.
type everything struct {
	Coupons     []coupon.Coupon
	Redemptions []redemption.Redemption
	Orders      []store.Order
}

func (p *probe) everything() everything {
	p.Helper()
	var all everything
	var err error
	all.Coupons, err = allCoupons(p.Context(), p.s)
	p.ok(err, "ListCoupons")
	all.Redemptions = p.redemptions(store.RedemptionList{})
	for _, r := range all.Redemptions {
		if r.OrderID != "" {
			all.Orders = append(all.Orders, p.order(r.OrderID))
		}
	}
	open, err := p.s.OpenOrders(p.Context(), at(99_999), 1_000)
	p.ok(err, "OpenOrders")
	all.Orders = append(all.Orders, open...)
	return all
}

func endedContexts(p *probe) {
	cancelled, cancel := context.WithCancel(p.Context())
	cancel()
	expired, stop := context.WithDeadline(p.Context(), at(0).AddDate(-20, 0, 0))
	defer stop()
	calls := p.calls()
	before := p.everything()
	for _, ended := range []context.Context{cancelled, expired} {
		for _, call := range calls {
			err := call.do(ended)
			p.fails(err, ended.Err(), "%s with a context that has ended", call.name)
			same(p, p.everything(), before, "what is stored after %s with a context that has ended", call.name)
		}
	}
	for _, call := range p.malformed() {
		p.fails(call.do(cancelled), context.Canceled, "%s with a context that has ended", call.name)
	}
	for _, call := range p.reads() {
		p.ok(call.do(p.Context()), "%s after a context had ended", call.name)
	}
}

func closedStores(p *probe) {
	calls := p.calls()
	p.ok(p.s.Close(), "Close")
	for _, call := range append(calls, p.malformed()...) {
		err := call.do(p.Context())
		p.fails(err, store.ErrClosed, "%s after Close", call.name)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, coupon.ErrNotFound) {
			p.broken("%s after Close looks as if something was not found: %v", call.name, err)
		}
	}
	p.ok(p.s.Close(), "Close for the second time")
}
