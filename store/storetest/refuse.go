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
		{"refusals are rejections", "a refusal of package coupon is a *coupon.Rejection with its reason, in the name of the coupon that was asked for by its ID, and matches no error of package store", refusalsAreRejections},
		{"unknown records are no coupons", "an unknown order or redemption is ErrNotFound, and no refusal of a coupon", unknownRecordsAreNoCoupons},
	}
}

// refused checks that the error is a rejection of the coupon with the one reason.
func (p *probe) refused(err error, couponID string, reason coupon.Reason, what string) {
	p.Helper()
	var rejection *coupon.Rejection
	if !errors.As(err, &rejection) || !slices.Equal(rejection.Reasons, []coupon.Reason{reason}) {
		p.broken("%s returned the error %v, which is no *coupon.Rejection for %s", what, err, reason.Code)
	} else if rejection.CouponID != couponID {
		p.broken("%s returned a rejection of the coupon %q, and not of %q", what, rejection.CouponID, couponID)
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

	notFound, inactive := coupon.Reason{Code: coupon.CouponNotFound}, coupon.Reason{Code: coupon.CouponInactive}
	_, err = p.s.Coupon(ctx, unknown.ID)
	p.refused(err, unknown.ID, notFound, "Coupon")
	_, err = p.s.LookUp(ctx, store.LookUp{CouponID: unknown.ID})
	p.refused(err, unknown.ID, notFound, "LookUp of an ID")
	_, err = p.s.LookUp(ctx, store.LookUp{Code: unknown.Code, CustomerID: "ann"})
	p.refused(err, "", notFound, "LookUp of a code")
	_, err = p.s.UpdateCoupon(ctx, unknown)
	p.refused(err, unknown.ID, notFound, "UpdateCoupon")
	_, err = p.s.ConfirmMirror(ctx, unknown.ID, coupon.Mirror{CouponID: "co", PromotionCodeID: "promo", Revision: 1})
	p.refused(err, unknown.ID, notFound, "ConfirmMirror")
	p.refused(p.s.DeleteCoupon(ctx, unknown.ID, 1), unknown.ID, notFound, "DeleteCoupon")
	_, err = p.s.Reserve(ctx, p.checkout(unknown, "ann", p.key()))
	p.refused(err, unknown.ID, notFound, "Reserve")
	_, err = p.s.TakeOver(ctx, p.takeOver(gone, left, p.key()))
	p.refused(err, gone.ID, notFound, "TakeOver")
	_, err = p.s.Reserve(ctx, p.checkout(off, "ann", p.key()))
	p.refused(err, off.ID, inactive, "Reserve")
	_, err = p.s.TakeOver(ctx, p.takeOver(off, held, p.key()))
	p.refused(err, off.ID, inactive, "TakeOver")
	second := p.draft(coded(c.Code))
	p.refused(p.s.CreateCoupon(ctx, second), second.ID, coupon.Reason{Code: coupon.CodeTaken}, "CreateCoupon")
	full := p.coupon(limits(1, 0))
	p.reserve(full, "ann")
	_, err = p.s.Reserve(ctx, p.checkout(full, "bob", p.key()))
	p.refused(err, full.ID, coupon.Reason{Code: coupon.UsageLimitReached, Params: coupon.Params{MaxUses: 1}}, "Reserve without a place")
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
