package storetest

import (
	"errors"
	"slices"

	"github.com/couponkit/couponkit/coupon"
	"github.com/couponkit/couponkit/redemption"
	"github.com/couponkit/couponkit/store"
)

func refusalClauses() []clause {
	return []clause{
		{"refusals are rejections", "a refusal of package coupon is a *coupon.Rejection with its reason, and matches no error of package store", refusalsAreRejections},
		{"unknown records are no coupons", "an unknown order or redemption is ErrNotFound, and no refusal of a coupon", unknownRecordsAreNoCoupons},
	}
}

// refused checks that the error is a rejection with the one reason.
func (p *probe) refused(err error, code coupon.RejectionCode, what string) {
	p.Helper()
	var rejection *coupon.Rejection
	if !errors.As(err, &rejection) || !slices.Equal(rejection.Reasons, []coupon.Reason{{Code: code}}) {
		p.broken("%s returned the error %v, which is no *coupon.Rejection for %s", what, err, code)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		p.broken("%s returned the error %v, which also matches one of package store", what, err)
	}
}

func refusalsAreRejections(p *probe) {
	ctx, c, gone, unknown := p.Context(), p.coupon(), p.coupon(), p.draft()
	held, left := p.reserve(c, "ann").Redemption, p.reserve(gone, "ann").Redemption
	p.ok(p.s.DeleteCoupon(ctx, gone.ID, gone.Revision), "DeleteCoupon")
	off := c
	off.State = coupon.Inactive
	off, err := p.s.UpdateCoupon(ctx, off)
	p.ok(err, "UpdateCoupon")

	_, err = p.s.Coupon(ctx, unknown.ID)
	p.refused(err, coupon.CouponNotFound, "Coupon")
	_, err = p.s.LookUp(ctx, store.LookUp{CouponID: unknown.ID})
	p.refused(err, coupon.CouponNotFound, "LookUp of an ID")
	_, err = p.s.LookUp(ctx, store.LookUp{Code: unknown.Code, CustomerID: "ann"})
	p.refused(err, coupon.CouponNotFound, "LookUp of a code")
	_, err = p.s.UpdateCoupon(ctx, unknown)
	p.refused(err, coupon.CouponNotFound, "UpdateCoupon")
	_, err = p.s.ConfirmMirror(ctx, unknown.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
	p.refused(err, coupon.CouponNotFound, "ConfirmMirror")
	p.refused(p.s.DeleteCoupon(ctx, unknown.ID, 1), coupon.CouponNotFound, "DeleteCoupon")
	_, err = p.s.Reserve(ctx, p.checkout(unknown, "ann", p.key()))
	p.refused(err, coupon.CouponNotFound, "Reserve")
	_, err = p.s.TakeOver(ctx, p.takeOver(gone, left, p.key()))
	p.refused(err, coupon.CouponNotFound, "TakeOver")
	_, err = p.s.Reserve(ctx, p.checkout(off, "ann", p.key()))
	p.refused(err, coupon.CouponInactive, "Reserve")
	_, err = p.s.TakeOver(ctx, p.takeOver(off, held, p.key()))
	p.refused(err, coupon.CouponInactive, "TakeOver")
	p.refused(p.s.CreateCoupon(ctx, p.draft(coded(c.Code))), coupon.CodeTaken, "CreateCoupon")
}

func unknownRecordsAreNoCoupons(p *probe) {
	ctx, c := p.Context(), p.coupon()
	_, record := p.s.Redemption(ctx, "rsv_unknown")
	_, order := p.s.Order(ctx, "ord_unknown")
	_, byKey := p.s.OrderByKey(ctx, "ann", "unknown")
	_, event := p.s.Transition(ctx, "rsv_unknown", redemption.Event{Kind: redemption.Cancelled, At: at(900)})
	_, session := p.s.AttachSession(ctx, attachment("ord_unknown", p.session()))
	_, over := p.s.TakeOver(ctx, p.takeOver(c, redemption.Redemption{ID: "rsv_unknown", CustomerID: "ann"}, p.key()))
	for call, err := range map[string]error{
		"Redemption": record, "Order": order, "OrderByKey": byKey, "Transition": event, "AttachSession": session, "TakeOver": over,
	} {
		p.fails(err, store.ErrNotFound, "%s of an unknown one", call)
		if errors.Is(err, coupon.ErrNotFound) {
			p.broken("%s of an unknown one returned the error %v, which also says that there is no such coupon", call, err)
		}
	}
}
